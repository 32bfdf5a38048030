"""Run a program in several processes, one a rank, as users start them."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAMS = pathlib.Path(__file__).parent / "programs"
SNAPSHOTS = pathlib.Path(__file__).parents[1] / "snapshots" / "distributed"
OURS = (sys.executable, "-m", "mindtorch_v2")
PYTORCH = (sys.executable, "-W", "ignore")


def emulated(*options):
    """Our launcher on two emulated NPUs."""
    return (sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--devices=2", *options, "--", *OURS)


# Our launcher on the emulated GPU; TWO_GPUS in the environment gives it two devices.
ON_GPUS = (sys.executable, "-m", "mindtorch_v2.cuda", "emulate", "--", *OURS)
TWO_GPUS = {"MINDTORCH_CUDA_EMULATED_DEVICES": "2"}

# What the snapshots hold: program, number of ranks, arguments.
RUNS = {
    "collectives": ["collectives.py|2", "collectives.py|3"],
    "functional": ["functional.py|2", "functional.py|3"],
    "hooks": ["hooks.py|2"],
    "joined": ["joined.py|2", "joined.py|3"],
    "methods": ["methods.py|2"],
    "registered": ["registered.py|1", "registered.py|2"],
    "parallel": ["parallel.py|1|single|single clipped", "parallel.py|4|fsdp mixed"],
    "wrapped": ["wrapped.py|2"],
    "training": ["training.py|2"],
}


class Rank:
    """How one process ended."""

    def __init__(self, process, out, err):
        self.status, self.out, self.err = process.returncode, out, err


def run(program, *arguments, size=2, launcher=OURS, device="cpu", seconds=240, environment=None):
    """Start `program STORE RANK SIZE DEVICE arguments...` in `size` processes; a list of `Rank`. None survives this call."""
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as ends:
        processes = []
        for rank in range(size):
            command = [*launcher, str(PROGRAMS / program), f"{place}/store", str(rank), str(size), device, *arguments]
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
            )
            ends.callback(process.wait)
            ends.callback(process.kill)
            processes.append(process)
        ranks = []
        for process in processes:
            out, err = process.communicate(timeout=seconds)
            ranks.append(Rank(process, out, err))
        return ranks


def results(program, size, *arguments, **options):
    """The last line of each rank, as JSON."""
    found = run(program, *arguments, size=int(size), **options)
    for number, rank in enumerate(found):
        assert rank.status == 0, f"rank {number}: {rank.err[-4000:]}"
    return [json.loads(rank.out.splitlines()[-1]) for rank in found]


def launch(program, launcher, size=2, seconds=180):
    """The last line of the first rank of a program, as JSON, started by a launcher (a module)."""
    command = [sys.executable, "-m", launcher, f"--nproc_per_node={size}", str(PROGRAMS / program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])
