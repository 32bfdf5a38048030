"""The runner of PyTorch's own test files: each end of a test is seen, crashes and endless ones too, and what ran is not run again."""

import importlib
import json
import pathlib
import sys
import types

import pytest

from tests.pytorch_suite import results, worker
from tests.pytorch_suite.__main__ import run

FILE = """
import os, signal, time, unittest

class TestEnds(unittest.TestCase):
    def test_crash(self):
        os.kill(os.getpid(), signal.SIGKILL)
    def test_error(self):
        raise KeyError("x")
    def test_fail(self):
        self.assertEqual(1, 2)
    def test_hang(self):
        time.sleep(60)
    def test_pass(self):
        with open(__file__ + ".runs", "a") as file:
            file.write("x")
    @unittest.skip("not today")
    def test_skip(self):
        pass
    @unittest.expectedFailure
    def test_unexpected(self):
        pass
"""


def test_every_end_of_a_test(tmp_path: pathlib.Path) -> None:
    (tmp_path / "ends.py").write_text(FILE)
    line = run("pytorch", tmp_path, "ends", tmp_path / "out", 2)
    assert line.split() == ["pytorch", "ends", "1", "of", "7", "passed"]
    found = results.read(results.log_of(tmp_path / "out", "pytorch", "ends"))
    assert {name.rpartition("_")[2]: outcome.status for name, outcome in found.items() if name} == {
        "crash": "crash",
        "error": "fail",
        "fail": "fail",
        "hang": "hang",
        "pass": "pass",
        "skip": "skip",
        "unexpected": "fail",
    }
    assert found["ends.TestEnds.test_error"].cause.startswith("KeyError: 'x' @ ends.py:8")
    run("pytorch", tmp_path, "ends", tmp_path / "out", 2)
    assert (tmp_path / "ends.py.runs").read_text() == "x"


def test_a_file_that_cannot_be_imported(tmp_path: pathlib.Path) -> None:
    (tmp_path / "broken.py").write_text("import nobody_has_this")
    run("pytorch", tmp_path, "broken", tmp_path / "out", 2)
    found = results.read(results.log_of(tmp_path / "out", "pytorch", "broken"))
    assert found[""].status == "import"
    assert "nobody_has_this" in found[""].cause


def _write(folder: pathlib.Path, side: str, file: str, outcomes: dict[str, str]) -> None:
    log = results.log_of(folder, side, file)
    log.parent.mkdir(parents=True, exist_ok=True)
    entries = [
        {"id": name, "status": status, "cause": f"E: {name}1" * (status != "pass")} for name, status in outcomes.items()
    ]
    log.write_text("\n".join(map(json.dumps, entries)))


def test_shares_count_what_passes_on_pytorch(tmp_path: pathlib.Path) -> None:
    _write(tmp_path, "pytorch", "test_torch", {"a": "pass", "b": "pass", "c": "fail", "d": "pass", "": "done"})
    _write(tmp_path, "ours", "test_torch", {"a": "pass", "b": "fail", "c": "pass", "": "done"})
    assert results.share(tmp_path, "test_torch")[:2] == (3, 1)
    assert results.causes(tmp_path, "test_torch") == [
        (1, "b", "fail: E: b1"),
        (1, "d", "missing: this test does not exist here"),
    ]
    assert results.record(tmp_path)["test_torch"][:2] == [3, 1]
    _write(tmp_path, "pytorch", "test_nn", {"a": "pass", "": "done"})
    _write(tmp_path, "ours", "test_nn", {"a": "pass"})  # still under way
    assert results.record(tmp_path)["test_torch"][:2] == [3, 1]
    before = {"test_torch": [9, 9, "2026-01-01", ""], "test_nn": [2, 1, "2026-01-01", "a sample of 2 of 9"]}
    merged = results.record(tmp_path, before)
    assert merged["test_nn"] == before["test_nn"]  # it did not run
    assert merged["test_torch"][:2] == [3, 1]
    shown = results.table({"test_torch": [3, 1, "2026-01-02", ""], "test_nn": before["test_nn"]})
    assert "| test_torch | 3 | 1 | 33.3% | 2026-01-02 |" in shown
    assert "| test_nn | 2 | 1 | 50.0% | 2026-01-01, a sample of 2 of 9 |" in shown
    assert "| **user, all** | **5** | **2** | **40.0%** | |" in shown


def test_the_page_shows_the_record() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    shares = json.loads((root / "tests/snapshots/pytorch_suite.json").read_text("utf-8"))
    page = (root / "docs/pytorch-test-files.md").read_text("utf-8")
    assert results.with_table(page, shares) == page
    assert all(0 <= passed <= expected for expected, passed, *_ in shares.values())


def test_what_did_not_pass_runs_again(tmp_path: pathlib.Path) -> None:
    _write(tmp_path, "ours", "test_torch", {"a": "pass", "b": "fail", "c": "hang", "d": "pass", "": "done"})
    log = results.log_of(tmp_path, "ours", "test_torch")
    results.forget_what_did_not_pass(log)
    assert {name: outcome.status for name, outcome in results.read(log).items()} == {"a": "pass", "d": "pass"}
    results.forget_what_did_not_pass(tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_a_module_as_it_was(tmp_path: pathlib.Path) -> None:
    for version in ("wheel", "source"):
        (tmp_path / version / "torch" / "testing" / "_internal").mkdir(parents=True)
        (tmp_path / version / "torch/testing/_internal/parts.py").write_text("")
    finder = worker.InfrastructureFinder(tmp_path / "wheel", tmp_path / "source", ["parts"])
    spec = finder.find_spec("torch.testing._internal.parts")
    assert spec is not None
    assert spec.origin == str(tmp_path / "source/torch/testing/_internal/parts.py")


def test_names_that_the_wheel_lost_come_from_the_version_of_the_tests(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    for version, text in {
        "wheel": "kept = 'new'\n",
        "source": "from torch.testing._internal.parts import kept as now\nkept = 'old'\nlost = now + ' here'\n",
    }.items():
        folder = tmp_path / version / "torch" / "testing" / "_internal"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        (folder / "parts.py").write_text(text)
    (tmp_path / "source/torch/testing/_internal/gone.py").write_text("whole = 1")
    finder = worker.InfrastructureFinder(tmp_path / "wheel", tmp_path / "source")
    ours = {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] == "torch"}

    def restore() -> None:
        for name in [*sys.modules]:
            if name.partition(".")[0] == "torch":
                del sys.modules[name]
        sys.modules.update(ours)

    request.addfinalizer(restore)
    for name in ("torch", "torch.testing"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    parts = importlib.import_module("torch.testing._internal.parts")
    assert (parts.kept, parts.lost) == ("new", "new here")
    with pytest.raises(AttributeError, match="has no attribute 'nobody'"):
        _ = parts.nobody
    assert importlib.import_module("torch.testing._internal.gone").whole == 1
    without = worker.InfrastructureFinder(tmp_path / "wheel")
    assert without.find_spec("torch.testing._internal.gone") is None
