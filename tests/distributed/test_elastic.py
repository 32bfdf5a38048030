"""Launchers that number themselves: machines that come, fail and go, as commands on one machine."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

from mindtorch_v2.distributed import _elastic

PROGRAM = str(pathlib.Path(__file__).parent / "programs" / "elastic.py")
CONFIGURATION = "last_call_timeout=1,join_timeout=60,keep_alive_interval=1,keep_alive_max_attempt=2"


class Machines:
    """Launchers of one job."""

    def __init__(self, folder, nodes, *options):
        self.folder, self.running = folder, []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.command = [
            sys.executable,
            "-m",
            "mindtorch_v2.distributed.run",
            f"--nnodes={nodes}",
            "--rdzv_backend=c10d",
        ]
        self.command += [
            f"--rdzv_endpoint=127.0.0.1:{port}",
            "--rdzv_id=job",
            f"--rdzv_conf={CONFIGURATION}",
            *options,
            PROGRAM,
        ]

    def start(self, *arguments):
        process = subprocess.Popen(
            [*self.command, str(self.folder), *arguments],
            env={**os.environ, "MINDTORCH_JOB_TOKEN": "of this job", "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that it can be killed with its processes, as a machine that fails is
        )
        self.running.append(process)
        return process

    def seen(self):
        path = self.folder / "seen"
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def wait_for(self, *lines):
        deadline = time.monotonic() + 90
        while sorted(self.seen()[-len(lines) :]) != list(lines):
            assert time.monotonic() < deadline, self.seen()
            time.sleep(0.05)

    def finish(self, *processes):
        (self.folder / "finish").touch()
        for process in processes:
            _, said = process.communicate(timeout=90)
            assert process.returncode == 0, said[-3000:]

    def close(self):
        for process in self.running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stderr.close()


@pytest.fixture
def machines(tmp_path):
    made = []
    yield lambda *arguments: made.append(Machines(tmp_path, *arguments)) or made[-1]
    for each in made:
        each.close()


def test_a_failure_on_one_machine_starts_all_again(machines):
    job = machines("2", "--max_restarts=1")
    both = [job.start("fail") for _ in range(2)]
    job.wait_for("0 of 2", "0 of 2", "1 of 2", "1 of 2")
    job.finish(*both)


def test_more_failures_than_are_allowed(machines):
    job = machines("2")
    both = [job.start("fail") for _ in range(2)]
    said = [process.communicate(timeout=90)[1] for process in both]
    assert [process.returncode for process in both] == [1, 1]
    assert any("ended with exit code 5" in each for each in said)


def test_machines_that_come_and_go(machines):
    job = machines("1:2", "--max_restarts=1")
    first = job.start()
    job.wait_for("0 of 1")
    second = job.start()
    job.wait_for("0 of 2", "1 of 2")
    os.killpg(second.pid, signal.SIGKILL)
    job.wait_for("0 of 1")
    job.finish(first)


def test_too_few_machines():
    settings = _elastic.Settings(("127.0.0.1", 0), 2, 3, "join_timeout=0.3")
    job = _elastic.ElasticJob(settings, "job")
    with pytest.raises(RuntimeError, match=r"1 machines came in 0 s, at least 2 are needed"):
        job.run(lambda current, over: None)
    job.close()
