"""`torch.distributed.run` and `torch.multiprocessing.spawn`, as commands."""

import json
import pathlib
import subprocess
import sys

import pytest

from mindtorch_v2.distributed import run
from mindtorch_v2.distributed.elastic.multiprocessing.errors import ProcessFailure
from mindtorch_v2.distributed.launcher.api import LaunchConfig, elastic_launch

PROGRAM = str(pathlib.Path(__file__).parent / "programs" / "launched.py")
OURS = [sys.executable, "-m", "mindtorch_v2.distributed.run"]


def _launch(*arguments, command=OURS):
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize("command", [OURS, [sys.executable, "-m", "mindtorch_v2", "-m", "torch.distributed.launch"]])
def test_two_processes(command):
    done = _launch("--nproc_per_node=2", PROGRAM, command=command)
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(done.stdout.splitlines()) == ["0 2 0 2 True 3.0", "1 2 1 2 True 3.0"]


def test_a_process_that_fails_ends_the_others():
    done = _launch("--nproc-per-node=2", PROGRAM, "fail")
    assert done.returncode == 1
    assert "rank 1 (local rank 1, pid " in done.stderr and "ended with exit code 7" in done.stderr


@pytest.mark.slow
def test_all_are_started_again():
    done = _launch("--nproc_per_node=2", "--max_restarts=1", PROGRAM, "fail")
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 2


def test_spawned_functions_find_each_other():
    done = _launch(PROGRAM.replace("launched", "spawned"), command=[sys.executable])
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(done.stdout.splitlines()) == ["0 3.0", "1 3.0", "ValueError: after the work"]


def test_functions_are_launched_and_give_their_results():
    done = _launch(PROGRAM.replace("launched", "function_launched"), command=[sys.executable])
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    totals = {str(rank): {"total": [21.0, 21.0], "local": str(rank), "restarts": "0"} for rank in range(2)}
    assert found["spawn"] == found["fork"] == totals
    assert found["restarted"] == {"0": "0", "1": "1"}
    assert found["failed"] == [1, True]
    assert found["command"] == {"0": None, "1": None}


def test_a_rendezvous_that_is_not_there():
    with pytest.raises(NotImplementedError, match='rdzv_backend="etcd" is not implemented'):
        elastic_launch(LaunchConfig(1, 1, 2), print)()


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (["--nnodes=1:2"], ValueError, "several machines need --master_port"),
        (["--nnodes=1:2", "--master_port=1", "--node_rank=0"], ValueError, "--node_rank cannot be given"),
        (["--nnodes=3:2", "--rdzv_endpoint=h:1", "--rdzv_backend=c10d"], ValueError, "the least number is at least 1"),
        (["--nproc_per_node=x"], ValueError, "Unsupported nproc_per_node value: x"),
        (["--nnodes=2"], ValueError, "several machines need --master_port"),
        (["--nnodes=2", "--master_port=1", "--node_rank=2"], ValueError, "--node_rank=2 is not one of the 2 machines"),
    ],
)
def test_what_it_refuses(arguments, kind, text):
    with pytest.raises(kind, match=text):
        run.run(run.parse_args([*arguments, PROGRAM]))


def test_how_a_process_ended():
    ends = {7: "exit code 7", -9: "signal SIGKILL", -40: "signal 40"}
    assert {code: ProcessFailure(0, 1, code, "").how() for code in ends} == ends


def test_the_console_script_leaves_an_installed_pytorch_alone(monkeypatch):
    asked = []
    monkeypatch.setattr(sys, "argv", ["torchrun", "--nproc_per_node=2", "train.py"])
    monkeypatch.setattr(run.subprocess, "call", lambda command: asked.append(command[1:]) or 3)
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: object())
    with pytest.raises(SystemExit, match="3"):
        run.torchrun()
    assert asked == [["-m", "torch.distributed.run", "--nproc_per_node=2", "train.py"]]
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(run, "main", lambda: asked.append("ours"))
    run.torchrun()
    assert asked[1:] == ["ours"]
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(run, "is_torch", lambda: True)  # the name is this package's: no other process for the same
    run.torchrun()
    assert asked[1:] == ["ours", "ours"]


def test_the_console_script_names_itself(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/some/bin/torchrun", "--no-such-option", "train.py"])
    monkeypatch.setattr(run, "is_torch", lambda: True)
    with pytest.raises(SystemExit, match="2"):
        run.torchrun()
    assert "torchrun: error: unrecognized arguments: --no-such-option" in capsys.readouterr().err
