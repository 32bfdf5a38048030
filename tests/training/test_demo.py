"""The demo on a small corpus: it learns, resumes bit for bit after a kill, and says what is wrong when it stops."""

import csv
import json
import signal
import subprocess
import time
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
    again = run(
        _DEMO / "predict.py",
        "--model",
        tmp_path / "model",
        "here is the hammer number 2",
    )
    assert again.returncode == 0, again.stderr
    assert "-> tools" in again.stdout


def test_resumes_bit_for_bit_after_a_kill(data: list[Path], tmp_path: Path) -> None:
    def arguments(folder: str) -> list[object]:
        return [
            "--data",
            *data,
            "--epochs",
            3,
            "--checkpoint-seconds",
            0,
            "--out",
            tmp_path / folder,
        ]

    whole = run(_DEMO / "train.py", *arguments("whole"))
    assert whole.returncode == 0, whole.stderr

    process = subprocess.Popen(
        command(_DEMO / "train.py", *arguments("killed")),
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    checkpoint, deadline = tmp_path / "killed" / "checkpoint.pt", time.monotonic() + 120
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert checkpoint.exists()
    assert not (tmp_path / "killed" / "results.json").exists(), "ended before it could be killed"

    resumed = run(_DEMO / "train.py", *arguments("killed"), "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "resumed after step" in resumed.stdout
    assert _numbers(tmp_path / "killed") == _numbers(tmp_path / "whole")

    other = run(_DEMO / "train.py", *arguments("killed"), "--resume", "--seed", 5)
    assert other.returncode == 1
    assert "differs in: seed 0, not 5" in other.stderr


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
    ],
)
def test_bad_data_is_named(rows: str, complaint: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text(rows)
    result = run(_DEMO / "train.py", "--data", bad, bad, "--out", tmp_path / "out")
    assert result.returncode == 1
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr
