"""The command line, and the runs that are compared."""

from __future__ import annotations

import argparse
import collections
import contextlib
import copy
import hashlib
import random
import signal
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fuzz.captured
import mindtorch_v2 as torch
from fuzz.captured.programs import Statement, Writer, source

WAYS = ("whole", "breaks")
Unsupported = torch._dynamo.exc.Unsupported
CALLS = ((3, 1), (3, 1), (3, 2), (4, 2), (3, 1), (2, 0))
"""Of each function: the size of its tensors, and `n`."""


_FOLDER = tempfile.TemporaryDirectory(prefix="captured-")


class World:
    """A program, and all that it may change."""

    def __init__(self, text: str, grad: bool) -> None:
        module = types.ModuleType("made_up")
        module.__dict__.update(torch=torch, functional=torch.nn.functional)
        path = Path(_FOLDER.name) / f"{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}.py"
        path.write_text(text)  # where a capture looks for it
        exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
        self.module, self.grad = module, grad
        self.function, self.around = module.make()
        self.tensors = [torch.arange(3.0), torch.ones(3)]
        self.numbers, self.table, self.counts = [1, 2], {"a": torch.full((3,), 2.0)}, {"a": 1}
        self.marks, self.line, self.box = {1}, collections.deque([torch.ones(3)]), module.Box(torch.zeros(3))
        self.given: list[Any] = []

    def call(self, function: Callable[..., Any], size: int, n: int) -> Any:
        """Outcome of one call: a result, or an exception."""
        x = torch.arange(float(size)) + 0.5
        y = torch.full((size,), 2.0)
        if self.grad:
            x.requires_grad_()
        self.given = [x, y]
        try:
            result = function(
                x, y, n, self.tensors, self.numbers, self.table, self.counts, self.marks, self.line, self.box
            )
        except Exception as error:  # noqa: BLE001  (it is compared)
            return error
        if isinstance(result, torch.Tensor) and result.requires_grad:
            try:
                result.sum().backward(retain_graph=True)
            except RuntimeError as error:
                return [result, type(error).__name__]
        return result

    def state(self) -> Any:
        """All that it may have changed, and which of it is the same object."""
        found: list[Any] = [
            self.given, self.tensors, self.numbers, self.table, self.counts, self.marks, list(self.line), vars(self.box),
            self.module.total, self.module.seen, self.around(),
        ]  # fmt: skip
        return found


def plain(value: Any, known: dict[int, int]) -> Any:
    """Facts of a value that are compared; tensors that are one object, or share memory, are told by number."""
    if isinstance(value, torch.Tensor):
        number = known.setdefault(id(value), len(known))
        memory = known.setdefault(value.untyped_storage().data_ptr() or -1, len(known))
        grad = plain(value.grad.tolist(), known) if value.is_leaf and value.grad is not None else None
        return ("tensor", number, memory, value.requires_grad, value.is_leaf, grad, [_short(v) for v in value.detach().flatten().tolist()])  # fmt: skip
    if isinstance(value, dict):
        return [(key, plain(each, known)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(each, known) for each in value]
    if isinstance(value, Exception):
        return (type(value).__name__, str(value) if not isinstance(value, (RuntimeError, AssertionError)) else "")
    if isinstance(value, float):
        return _short(value)
    if isinstance(value, int) and value.bit_length() > 1000:
        return value % ((1 << 89) - 1)  # as text it would be too long for Python
    return repr(value)


def _short(value: float) -> str:
    return f"{value:.4g}" if value == value and abs(value) > 1e-6 else repr(value + 0.0 if value == value else value) if value != value else "0"


def outcome(text: str, way: str, grad: bool) -> tuple[str | None, int]:
    """Difference that the captured function makes, None if it makes none; and how many calls were captured."""
    torch.compiler.reset()
    one, two = World(text, grad), World(text, grad)
    captured = torch.compile(two.function, fullgraph=way == "whole", backend="eager" if grad else "inductor")
    done = 0
    for number, (size, n) in enumerate(CALLS):
        known: dict[int, int] = {}
        before = plain(two.state()[1:], known)
        known_after: dict[int, int] = {}
        got = two.call(captured, size, n)
        if isinstance(got, Unsupported) and way == "whole":
            after = plain(two.state()[1:], known_after)
            if before != after:
                return f"call {number}: refused ({str(got)[:80]!r}), and changed {_where(before, after)}", done
            return None, done
        done += 1
        wanted = one.call(one.function, size, n)
        names_a: dict[int, int] = {}
        names_b: dict[int, int] = {}
        a, b = plain([got, two.state()], names_a), plain([wanted, one.state()], names_b)
        if a != b:
            return f"call {number}: captured, plain: {_where(a, b)}", done
        if isinstance(wanted, Exception):
            return None, done
    return None, done


def _where(a: Any, b: Any) -> str:
    names = ["given", "tensors", "numbers", "table", "counts", "marks", "line", "box", "total", "seen", "around"]
    if len(a) == 2 and isinstance(a[1], list) and len(a[1]) == len(names):
        if a[0] != b[0]:
            return f"result {a[0]} and {b[0]}"
        a, b = a[1], b[1]
    else:
        names = names[1:]
    return "; ".join(f"{name} {x} and {y}" for name, x, y in zip(names, a, b, strict=True) if x != y)


def smaller(body: list[Statement], still: Callable[[list[Statement]], bool]) -> list[Statement]:
    """A program with fewer statements of which `still` holds."""
    changed = True
    while changed:
        changed = False
        for candidate in _without_one(body):
            if still(candidate):
                body, changed = candidate, True
                break
    return body


def _without_one(body: list[Statement]) -> Any:
    for place, each in enumerate(body):
        yield [*body[:place], *body[place + 1 :]]
        for number, (_, inner) in enumerate(each.blocks):
            yield [*body[:place], *inner, *body[place + 1 :]]
            for less in _without_one(inner):
                copied = copy.deepcopy(each)
                copied.blocks[number] = (copied.blocks[number][0], less)
                yield [*body[:place], copied, *body[place + 1 :]]


class _TooLongError(BaseException):
    """Raised in a program that does not end; no Exception, which it might catch."""


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    def end(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ends(text: str, grad: bool) -> bool:
    """Whether a program ends where it is not captured: some of those that are drawn go round for ever."""
    world = World(text, grad)
    try:
        with _within(5):
            for size, n in CALLS:
                world.call(world.function, size, n)
    except _TooLongError:
        return False
    return True


def _problem(body: list[Statement], way: str, grad: bool) -> tuple[str | None, int]:
    text = source(body)
    try:
        compile(text, "<made up>", "exec")
    except SyntaxError:
        return None, 0
    if not _ends(text, grad):
        return None, 0
    try:
        with _within(120):
            return outcome(text, way, grad)
    except _TooLongError:
        return "captured, it does not end", 0
    except Exception:  # noqa: BLE001  (of the comparison itself)
        return "the comparison ended: " + traceback.format_exc()[-600:], 0


def main() -> None:
    """Draw programs, and compare."""
    parser = argparse.ArgumentParser(
        prog="python -m fuzz.captured", description=fuzz.captured.__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0, help="end after so long, however far it is")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--survey", action="store_true", help="go on after a difference")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    started, found, done, calls, refused = time.monotonic(), 0, 0, 0, 0
    seen: set[str] = set()
    for number in range(chosen.programs):
        if chosen.seconds and time.monotonic() - started > chosen.seconds:
            break
        draw = random.Random(f"{chosen.seed}/{number}")
        body = Writer(draw).body(draw.randint(2, 7))
        way, grad = draw.choice(WAYS), draw.random() < 0.4
        problem, count = _problem(body, way, grad)
        done, calls, refused = done + 1, calls + count, refused + (count == 0)
        if problem is None:
            continue
        short = smaller(body, lambda less, way=way, grad=grad: _problem(less, way, grad)[0] is not None)
        problem, text = _problem(short, way, grad)[0], "".join(each.text("") for each in short)
        if text in seen:
            continue
        seen.add(text)
        found += 1
        print(f"---- program {number}, {way}{', with gradients' if grad else ''}\n{text}{problem}", flush=True)
        if not chosen.survey:
            break
    print(f"{done} programs, {calls} captured calls, {refused} refused at once, {found} differences, {time.monotonic() - started:.0f} s")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
