"""PyTorch's answers to what tests ask it: recorded by it once, kept as snapshots, looked up where it is not installed.

A test says `answer(lambda torch: ...)`, once or several times, and gets plain data, the same in each of three ways:

    (default)   what tests/snapshots/recorded holds for this call of this test; a call without an entry fails
    --live      what the installed PyTorch says now
    --record    likewise, and written to the snapshots: to be run with PyTorch, on whole files

An entry is named by the test, its parameters included, and the number of the call in it. So the order of a test's calls and
what they ask have to follow from the test alone. Of large arrays a sample is kept: `matched` picks the same elements of ours.
"""

import base64
import functools
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy
import pytest
from reference import pytorch

_TESTS = Path(__file__).parent.parent
SNAPSHOTS = _TESTS / "snapshots" / "recorded"
_WHOLE = 256  # Arrays of more elements are sampled.


class _Session:
    """The question that is asked now, and the recorded answers."""

    live = False
    record = False
    test = ""
    calls = 0
    recorded: dict[Path, dict[tuple[str, int], Any]] = {}  # one session a process


def configure(config: pytest.Config) -> None:
    """Take over the command line's options."""
    _Session.record = config.getoption("--record")
    _Session.live = config.getoption("--live") or _Session.record


def begin(test: str) -> None:
    """Another test runs: `test` is its node id."""
    _Session.test, _Session.calls = test, 0


def asks(module: ModuleType) -> bool:
    """Whether a test module asks for answers, by itself or through what it imports from this folder."""
    return any(
        getattr(value, "__module__", "") in ("recording", "agreement", "pairs", "expressions")
        for value in vars(module).values()
    )


def answer(ask: Callable[[ModuleType], Any]) -> Any:
    """Answer of `ask(torch)` with the real PyTorch: numbers, texts, bytes, NumPy arrays, lists, tuples and dicts of such."""
    path, test = _place()
    call = (test, _Session.calls)
    _Session.calls += 1
    if _Session.live:
        found = ask(pytorch())
        if _Session.record:
            _Session.recorded.setdefault(path, {})[call] = _encode(found)
        return found
    entries = _entries(path)
    if call not in entries:
        pytest.fail(f"no recorded answer number {call[1]} of {test}: run pytest --record {path.stem} beside PyTorch")
    return _decode(entries[call])


def matched(ours: numpy.ndarray, theirs: Any) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Our array and the recorded one as they can be compared: whole, or by the elements that were kept."""
    assert ours.shape == theirs.shape, f"shape {ours.shape}, expected {theirs.shape}"
    return (ours.ravel()[_kept(ours.size)], theirs.elements) if isinstance(theirs, Sample) else (ours, theirs)


class Sample(NamedTuple):
    """A large array, of which some elements are known."""

    shape: tuple[int, ...]
    elements: numpy.ndarray


def _kept(size: int) -> numpy.ndarray:
    """Positions in a flat array: both ends, where blocks of a kernel begin and end, and some in between."""
    between = numpy.random.default_rng(size).integers(0, size, _WHOLE // 2)
    return numpy.concatenate([numpy.arange(_WHOLE // 4), between, numpy.arange(size - _WHOLE // 4, size)])


def error(ask: Callable[[ModuleType], Any]) -> tuple[list[str], str]:
    """Names of the classes of what `ask(torch)` raises with the real PyTorch, the error's own first, and its text."""

    def raised(torch: ModuleType) -> tuple[list[str], str] | None:
        try:
            ask(torch)
        except Exception as found:  # noqa: BLE001  (whatever it is, it is what is recorded)
            return [kind.__name__ for kind in type(found).__mro__], str(found)
        return None

    found = answer(raised)
    assert found is not None, "PyTorch raises nothing"
    return found


def write() -> None:
    """Replace the entries of the tests that ran, and forget those of tests that are gone."""
    for path, entries in _Session.recorded.items():
        source = (_TESTS / path.relative_to(SNAPSHOTS)).with_suffix(".py").read_text(encoding="utf-8")
        ran = {_function(test) for test, _ in entries}
        kept = {
            call: value
            for call, value in _entries(path).items()
            if _function(call[0]) not in ran and f"def {_function(call[0])}(" in source
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (
            json.dumps([test, call, value], separators=(",", ":")) + "\n"
            for (test, call), value in sorted((kept | entries).items())
        )
        path.write_text("".join(lines), encoding="utf-8")


def _function(test: str) -> str:
    return test.partition("[")[0].rpartition("::")[2]


def _place() -> tuple[Path, str]:
    file, _, test = _Session.test.partition("::")
    path = Path(file)
    inside = path.parts[path.parts.index("tests") + 1 :]
    return SNAPSHOTS.joinpath(*inside).with_suffix(".jsonl"), test


@functools.cache
def _entries(path: Path) -> dict[tuple[str, int], Any]:
    if not path.exists():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(test, call): value for test, call, value in lines}


def _encode(value: Any) -> Any:
    """Plain data as JSON has it; what JSON lacks is an object with one letter."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, tuple):
        return {"t": [_encode(item) for item in value]}
    if isinstance(value, dict):
        return {"d": [[_encode(key), _encode(item)] for key, item in value.items()]}
    if isinstance(value, bytes):
        return {"b": base64.b64encode(value).decode()}
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, numpy.ndarray) and value.size > _WHOLE:
        kept = value.ravel()[_kept(value.size)]
        return {"s": [str(value.dtype), list(value.shape), base64.b64encode(kept.tobytes()).decode()]}
    if isinstance(value, numpy.ndarray):
        return {"a": [str(value.dtype), list(value.shape), base64.b64encode(value.tobytes()).decode()]}
    raise TypeError(f"answers are plain data: {type(value)} is not")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((letter, content),) = value.items()
    if letter == "t":
        return tuple(_decode(item) for item in content)
    if letter == "d":
        return {_decode(key): _decode(item) for key, item in content}
    if letter == "c":
        return complex(*content)
    if letter == "b":
        return base64.b64decode(content)
    dtype, shape, data = content
    numbers = numpy.frombuffer(base64.b64decode(data), dtype=dtype)
    return Sample(tuple(shape), numbers) if letter == "s" else numbers.reshape(shape)
