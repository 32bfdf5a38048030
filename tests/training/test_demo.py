"""The demo on a small corpus: it learns, resumes bit for bit after a kill, and says what is wrong when it stops."""

import csv
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from programs import command, environment, run

_DEMO = Path(__file__).parent.parent.parent / "examples" / "bert_docstrings"
_WORDS = {
    "animals": ["cat", "dog", "horse", "bird", "fish"],
    "plants": ["tree", "rose", "grass", "moss", "fern"],
    "tools": ["hammer", "saw", "drill", "file", "knife"],
}

pytestmark = [pytest.mark.slow, pytest.mark.no_torch]
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two CSV files: three labels, each told by one word among neutral ones."""
    folder = tmp_path_factory.mktemp("data")
    for half, count in (("train", 240), ("test", 60)):
        with open(folder / f"{half}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for number in range(count):
                label = list(_WORDS)[number % 3]
                word = _WORDS[label][number // 3 % 5]
                writer.writerow([f"here is the {word} number {number % 7} of the list", label])
    return [folder / "train.csv", folder / "test.csv"]


def _numbers(folder: Path) -> dict:
    """results.json without the times."""
    numbers = json.loads((folder / "results.json").read_text())
    for epoch in numbers["history"]:
        del epoch["seconds"]
    return numbers


def test_learns_reports_and_predicts(data: list[Path], tmp_path: Path) -> None:
    result = run(
        _DEMO / "train.py",
        "--data",
        *data,
        "--epochs",
        6,
        "--out",
        tmp_path,
        "here is the dog number 9",
    )
    assert result.returncode == 0, result.stderr
    assert _numbers(tmp_path)["test_accuracy"] == 1.0
    assert "animals" in result.stdout.splitlines()[-1]
    for name in (
        "loss.png",
        "confusion.png",
        "checkpoint.pt",
        "model/model.safetensors",
        "model/tokenizer.json",
    ):
        assert (tmp_path / name).stat().st_size > 0
    numbers = _numbers(tmp_path)
    accuracies = [epoch["test_accuracy"] for epoch in numbers["history"]]
    assert numbers["best_epoch"] == 1 + accuracies.index(max(accuracies))
    assert f"of epoch {numbers['best_epoch']}, the best of 6" in result.stdout
    again = run(
        _DEMO / "predict.py",
        "--model",
        tmp_path / "model",
        "here is the hammer number 2",
    )
    assert again.returncode == 0, again.stderr
    assert "-> tools" in again.stdout


def _arguments(data: list[Path], folder: Path) -> list[object]:
    return ["--data", *data, "--epochs", 3, "--checkpoint-seconds", 0, "--out", folder]


@pytest.fixture(scope="module")
def whole(data: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The numbers of a run that nobody interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    done = run(_DEMO / "train.py", *_arguments(data, folder))
    assert done.returncode == 0, done.stderr
    return _numbers(folder)


def _broken_off(data: list[Path], folder: Path, number: int) -> subprocess.CompletedProcess:
    """A run that gets a signal after its first checkpoint."""
    process = subprocess.Popen(
        command(_DEMO / "train.py", *_arguments(data, folder)),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    checkpoint, deadline = folder / "checkpoint.pt", time.monotonic() + 120
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate()
    assert checkpoint.exists()
    assert not (folder / "results.json").exists(), "ended before it could be stopped"
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def test_ctrl_c_saves_and_says_so(data: list[Path], whole: dict, tmp_path: Path) -> None:
    stopped = _broken_off(data, tmp_path, signal.SIGINT)
    assert stopped.returncode == 130, stopped.stderr
    assert "stopping after this batch, then saving" in stopped.stderr and "saved after step " in stopped.stderr
    assert "Traceback" not in stopped.stderr
    step = int(stopped.stderr.partition("saved after step ")[2].partition(";")[0])
    resumed = run(_DEMO / "train.py", *_arguments(data, tmp_path), "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert f"resumed after step {step} " in resumed.stdout
    assert _numbers(tmp_path) == whole


def test_resumes_bit_for_bit_after_a_kill(data: list[Path], whole: dict, tmp_path: Path) -> None:
    _broken_off(data, tmp_path, signal.SIGKILL)
    resumed = run(_DEMO / "train.py", *_arguments(data, tmp_path), "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "resumed after step" in resumed.stdout
    assert _numbers(tmp_path) == whole

    other = run(_DEMO / "train.py", *_arguments(data, tmp_path), "--resume", "--seed", 5)
    assert other.returncode == 1
    assert "differs in: seed 0, not 5" in other.stderr

    checkpoint = tmp_path / "checkpoint.pt"
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    damaged = run(_DEMO / "train.py", *_arguments(data, tmp_path), "--resume")
    assert damaged.returncode == 1
    assert f"{checkpoint} is no checkpoint, or a damaged one (" in damaged.stderr
    assert "Traceback" not in damaged.stderr


# Its imports take seconds: one process for all the calls that end early.
_CALLS = """
import contextlib, io, json, sys
import train
for line in sys.stdin:
    sys.argv[1:] = json.loads(line)
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = train.main()
        except SystemExit as ended:
            status = ended.code
    print(json.dumps([status, said.getvalue()]), flush=True)
"""
_Train = Callable[[list[str]], tuple[int, str]]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Train]:
    """The demo, called with arguments: its status, and what it wrote to stderr."""
    script = tmp_path_factory.mktemp("calls") / "calls.py"
    script.write_text(_CALLS)
    path = os.pathsep.join([str(_DEMO), environment().get("PYTHONPATH", "")])
    with subprocess.Popen(
        command(script),
        env=environment() | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asks, answers = process.stdin, process.stdout

        def call(arguments: list[str]) -> tuple[int, str]:
            asks.write(json.dumps(arguments) + "\n")
            asks.flush()
            status, said = json.loads(answers.readline())
            return status, said

        yield call
        asks.close()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--batch-size", "0"], "argument --batch-size: expected a whole number above 0, got 0"),
        (["--learning-rate", "nan"], "argument --learning-rate: expected a number above 0, got nan"),
        (["--epochs", "2.5"], "argument --epochs: expected a whole number above 0, got '2.5'"),
        (["--device", "gpu"], "argument --device: 'gpu' cannot be used here: "),
        (["--device", "cuda"], "argument --device: 'cuda' cannot be used here: "),
        (["--out", __file__], f"--out {__file__}: a folder is expected that can be made or is there: File exists"),
    ],
)
def test_bad_arguments_get_a_sentence(train: _Train, arguments: list[str], complaint: str) -> None:
    status, said = train(arguments)
    assert status == 2
    assert complaint in said.strip().splitlines()[-1], said


def test_a_loss_that_is_not_finite_stops_with_a_message(data: list[Path], tmp_path: Path) -> None:
    result = run(
        _DEMO / "train.py",
        "--data",
        *data,
        "--learning-rate",
        "1e38",
        "--epochs",
        4,
        "--out",
        tmp_path,
    )
    assert result.returncode == 1
    assert "stopped: the loss became nan" in result.stderr or "stopped: the loss became inf" in result.stderr
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ("text,label\nonly a text\n", "line 2: expected a text and a label"),
        ("", "no rows"),
        ("text,label\na b c,x\nd e f,x\n", "at least two different labels"),
        ("label,text\nx,a b c\n", "line 1: expected the heading text,label or none, found label,text"),
        (b"text,label\nna\xefve,x\n", "expected text in UTF-8, found byte 0xef"),
    ],
)
def test_bad_data_is_named(train: _Train, rows: str | bytes, complaint: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_bytes(rows if isinstance(rows, bytes) else rows.encode())
    status, said = train(["--data", str(bad), str(bad), "--out", str(tmp_path / "out")])
    assert status == 1
    assert complaint in said
