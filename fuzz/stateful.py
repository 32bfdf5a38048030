"""Programs made up step by step, run here and on PyTorch: `python -m fuzz.stateful [--programs 1000] [--seed 0] [--steps 15]`.

A program has a few tensors, some of them views of each other. Its steps make tensors, views, writes in place, sizes and storages that
change, exports to NumPy, hooks, gradients, other dtypes; a step may run on another thread, in a forked child, or compiled. After each
step every tensor has to have PyTorch's sizes, strides, dtype, history and numbers, and an error where PyTorch has one, of its class.
hypothesis makes the programs, and the smallest one that fails is shown. Needs PyTorch.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch as theirs
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

import mindtorch_v2 as ours

DTYPES = ("float32", "float64", "int64", "int32", "bool", "complex64", "bfloat16")
MOST = 6  # tensors of a program
small = st.integers(-3, 4)
sizes = st.lists(st.integers(0, 4), max_size=3)
counts = {"programs": 0, "steps": 0, "errors": 0}

# Each step: (name, what it does to tensors a and b with numbers p, q and sizes s). What it returns is a new tensor, if it is one.
Step = Callable[[Any, Any, Any, int, int, list[int]], Any]
VIEWS: dict[str, Step] = {
    "view": lambda t, a, b, p, q, s: a.view(s),
    "view -1": lambda t, a, b, p, q, s: a.view(-1),
    "as_strided": lambda t, a, b, p, q, s: a.as_strided(s, [abs(p)] * len(s), abs(q)),
    "transpose": lambda t, a, b, p, q, s: a.transpose(p, q),
    "select": lambda t, a, b, p, q, s: a.select(p, q),
    "narrow": lambda t, a, b, p, q, s: a.narrow(p, q, 1),
    "slice": lambda t, a, b, p, q, s: a[p : p + 2],
    "unsqueeze": lambda t, a, b, p, q, s: a.unsqueeze(p),
    "squeeze": lambda t, a, b, p, q, s: a.squeeze(),
    "expand": lambda t, a, b, p, q, s: a.expand(s),
    "diagonal": lambda t, a, b, p, q, s: a.diagonal(p),
    "unfold": lambda t, a, b, p, q, s: a.unfold(p, 2, 1),
    "flatten": lambda t, a, b, p, q, s: a.flatten(),
    "detach": lambda t, a, b, p, q, s: a.detach(),
    "chunk": lambda t, a, b, p, q, s: a.chunk(2)[-1],
    "permute": lambda t, a, b, p, q, s: a.permute(*range(a.dim() - 1, -1, -1)),
    "real": lambda t, a, b, p, q, s: t.view_as_real(a),
    "T": lambda t, a, b, p, q, s: a.t(),
}
PURE: dict[str, Step] = {
    "add": lambda t, a, b, p, q, s: a + b,
    "mul": lambda t, a, b, p, q, s: a * b,
    "sub scalar": lambda t, a, b, p, q, s: a - p,
    "clone": lambda t, a, b, p, q, s: a.clone(),
    "sum": lambda t, a, b, p, q, s: a.sum(p),
    "where": lambda t, a, b, p, q, s: t.where(a != 0, a, b),
    "cat": lambda t, a, b, p, q, s: t.cat([a, b], p),
    "index": lambda t, a, b, p, q, s: a[[p, q]],
    "mask": lambda t, a, b, p, q, s: a[a == a],
    "matmul": lambda t, a, b, p, q, s: a @ b,
    "reshape": lambda t, a, b, p, q, s: a.reshape(s),
    "flip": lambda t, a, b, p, q, s: a.flip(p),
    "cumsum": lambda t, a, b, p, q, s: a.cumsum(p),
    "contiguous": lambda t, a, b, p, q, s: a.contiguous(),
    "maximum": lambda t, a, b, p, q, s: t.maximum(a, b),
}
WRITES: dict[str, Step] = {
    "add_": lambda t, a, b, p, q, s: a.add_(b),
    "mul_": lambda t, a, b, p, q, s: a.mul_(p),
    "copy_": lambda t, a, b, p, q, s: a.copy_(b),
    "zero_": lambda t, a, b, p, q, s: a.zero_(),
    "fill_": lambda t, a, b, p, q, s: a.fill_(q),
    "index write": lambda t, a, b, p, q, s: a.__setitem__(p, q),
    "slice write": lambda t, a, b, p, q, s: a.__setitem__(slice(p, q), b),
    "mask write": lambda t, a, b, p, q, s: a.__setitem__(a == p, q),
    "t_": lambda t, a, b, p, q, s: a.t_(),
    "unsqueeze_": lambda t, a, b, p, q, s: a.unsqueeze_(p),
    "squeeze_": lambda t, a, b, p, q, s: a.squeeze_(),
    "resize_ smaller": lambda t, a, b, p, q, s: _resize(a, [min(n, 1) for n in s]),
    "set_": lambda t, a, b, p, q, s: a.set_(b),
    "requires_grad_": lambda t, a, b, p, q, s: a.requires_grad_(p % 2 == 0),
    "detach_": lambda t, a, b, p, q, s: a.detach_(),
    "no_grad write": lambda t, a, b, p, q, s: _without(t, lambda: a.add_(p)),
}


def _resize(tensor: Any, size: list[int]) -> Any:
    """To the same sizes PyTorch's does not count as a write, and ours does."""
    return tensor if list(tensor.shape) == size else tensor.resize_(size)


def _without(library: Any, call: Callable[[], Any]) -> Any:
    with library.no_grad():
        return call()


class Programs(RuleBasedStateMachine):
    """One program, on both sides."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[Any, Any]] = []
        self.kept: list[Any] = []
        counts["programs"] += 1

    # ---- steps ----

    @rule(shape=sizes, dtype=st.sampled_from(DTYPES), grad=st.booleans())
    def make(self, shape: list[int], dtype: str, grad: bool) -> None:
        """A new tensor of whole numbers, which all dtypes hold exactly."""
        made = []
        for library in (ours, theirs):
            count = 1
            for size in shape:
                count *= size
            tensor = (library.arange(count) % 5 - 1).to(getattr(library, dtype)).reshape(shape)
            made.append(tensor.requires_grad_() if grad and dtype in ("float32", "float64") else tensor)
        self._add(*made)

    def _add(self, mine: Any, other: Any) -> None:
        if len(self.pairs) == MOST:
            self.pairs.pop(0)
        self.pairs.append((mine, other))

    def _do(
        self, step: Step, first: int, second: int, p: int, q: int, s: list[int], around: Callable[[Any, Any], Any]
    ) -> Any:
        counts["steps"] += 1
        a, b = self.pairs[first % len(self.pairs)], self.pairs[second % len(self.pairs)]
        outcome: list[Any] = []
        for side, library in enumerate((ours, theirs)):
            try:
                outcome.append(
                    around(library, lambda side=side, library=library: step(library, a[side], b[side], p, q, s))
                )
            except Exception as error:  # noqa: BLE001  (both sides' are compared)
                outcome.append(error)
        mine, other = outcome
        if isinstance(other, Exception) or isinstance(mine, Exception):
            counts["errors"] += 1
            if not (isinstance(mine, Exception) and _alike(mine, other)):
                raise AssertionError(f"ours: {mine!r}, PyTorch's: {other!r}")
            return
        if isinstance(other, theirs.Tensor) and not any(mine is each for each, _ in self.pairs):
            self._add(mine, other)

    some = {"first": st.integers(0, 5), "second": st.integers(0, 5), "p": small, "q": small, "s": sizes}

    @precondition(lambda self: self.pairs)
    @rule(name=st.sampled_from(sorted(VIEWS)), **some)
    def view(self, name: str, first: int, second: int, p: int, q: int, s: list[int]) -> None:
        """A view."""
        self._do(VIEWS[name], first, second, p, q, s, lambda library, call: call())

    @precondition(lambda self: self.pairs)
    @rule(
        name=st.sampled_from(sorted(PURE)),
        way=st.sampled_from(("plain", "plain", "thread", "compiled", "inference")),
        **some,
    )
    def compute(self, name: str, way: str, first: int, second: int, p: int, q: int, s: list[int]) -> None:
        """An operator that writes nothing, here or on another thread, plain or captured."""
        if way == "compiled":  # our side only: PyTorch's answer is the plain one
            step = PURE[name]

            def around(library: Any, call: Callable[[], Any]) -> Any:
                return ours.compile(call, backend="eager")() if library is ours else call()

            self._do(step, first, second, p, q, s, around)
        else:
            self._do(
                PURE[name],
                first,
                second,
                p,
                q,
                s,
                {"thread": _on_a_thread, "inference": _grad_off}.get(way, lambda library, call: call()),
            )

    @precondition(lambda self: self.pairs)
    @rule(name=st.sampled_from(sorted(WRITES)), **some)
    def write(self, name: str, first: int, second: int, p: int, q: int, s: list[int]) -> None:
        """A write in place, or another change of a tensor."""
        self._do(WRITES[name], first, second, p, q, s, lambda library, call: call())

    @precondition(lambda self: self.pairs)
    @rule(dtype=st.sampled_from(DTYPES), first=st.integers(0, 5))
    def convert(self, dtype: str, first: int) -> None:
        """The same numbers as another dtype."""
        self._do(lambda t, a, b, p, q, s: a.to(getattr(t, dtype)), first, 0, 0, 0, [], lambda library, call: call())

    @precondition(lambda self: self.pairs)
    @rule(first=st.integers(0, 5))
    def export(self, first: int) -> None:
        """An array that is kept, and a tensor on its memory."""

        def both(t: Any, a: Any, b: Any, p: int, q: int, s: list[int]) -> Any:
            array = a.numpy()
            self.kept.append(array)
            return t.from_numpy(array)

        self._do(both, first, 0, 0, 0, [], lambda library, call: call())

    @precondition(lambda self: self.pairs)
    @rule(first=st.integers(0, 5), retain=st.booleans())
    def backward(self, first: int, retain: bool) -> None:
        """Gradients of one tensor's sum."""
        self._do(
            lambda t, a, b, p, q, s: a.sum().backward(retain_graph=retain),
            first,
            0,
            0,
            0,
            [],
            lambda library, call: call(),
        )

    @precondition(lambda self: self.pairs)
    @rule(first=st.integers(0, 5), factor=st.integers(1, 3))
    def hook(self, first: int, factor: int) -> None:
        """A hook that changes a gradient."""

        def register(t: Any, a: Any, b: Any, p: int, q: int, s: list[int]) -> None:
            a.register_hook(lambda grad: grad * factor)

        self._do(register, first, 0, 0, 0, [], lambda library, call: call())

    @precondition(lambda self: self.pairs)
    @rule(first=st.integers(0, 5), chance=st.integers(0, 49))
    def fork(self, first: int, chance: int) -> None:
        """A child that computes with what it inherited; seldom, as it takes long."""
        if chance != 49:
            return
        tensor = self.pairs[first % len(self.pairs)][0]
        child = os.fork()
        if child == 0:
            (tensor.detach().clone() == tensor.detach()).all()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise AssertionError("the child ended by an error")

    # ---- after each step ----

    def check_invariants(self, *arguments: Any, **named: Any) -> None:
        """All pairs are equal."""
        super().check_invariants(*arguments, **named)
        for number, (mine, other) in enumerate(self.pairs):
            problem = _difference(mine, other)
            if problem:
                raise AssertionError(f"tensor {number}: {problem}")


def _alike(mine: Exception, other: Any) -> bool:
    if not isinstance(other, Exception):
        return False
    return type(mine) is type(other) or (isinstance(mine, type(other)) or isinstance(other, type(mine)))


def _on_a_thread(library: Any, call: Callable[[], Any]) -> Any:
    box: list[Any] = []

    def work() -> None:
        try:
            box.append(call())
        except Exception as error:  # noqa: BLE001  (raised again where it is waited for)
            box.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(box[0], Exception):
        raise box[0]
    return box[0]


def _grad_off(library: Any, call: Callable[[], Any]) -> Any:
    with library.no_grad():
        return call()


def _steps(tensor: Any) -> list[int]:
    """Its strides. Those of single elements say nothing, and arrays of NumPy's lose them here on the way."""
    return [step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size != 1]


def _difference(mine: Any, other: Any) -> str | None:
    facts: list[tuple[str, Any, Any]] = [
        ("sizes", list(mine.shape), list(other.shape)),
        ("strides", _steps(mine), _steps(other)),
        ("offset", mine.storage_offset(), other.storage_offset()),
        ("dtype", str(mine.dtype), str(other.dtype)),
        ("requires_grad", mine.requires_grad, other.requires_grad),
        ("is_leaf", mine.is_leaf, other.is_leaf),
        ("version", mine._version, other._version),
        ("is a view", mine._is_view(), other._is_view()),
    ]
    for name, a, b in facts:
        if a != b:
            return f"{name}: ours {a}, PyTorch's {b}"
    try:
        wanted = other.detach().to(theirs.complex128).tolist()
    except RuntimeError as error:  # its storage was made smaller
        try:
            mine.detach().to(ours.complex128)
        except RuntimeError:
            return None
        return f"PyTorch cannot read it: {error}"
    got = mine.detach().to(ours.complex128).tolist()
    if repr(got) != repr(wanted):
        return f"numbers: ours {got}, PyTorch's {wanted}"
    if mine.is_leaf and (mine.grad is None) != (other.grad is None):
        return f"grad: ours {mine.grad}, PyTorch's {other.grad}"
    if mine.is_leaf and mine.grad is not None and mine.grad.tolist() != other.grad.tolist():
        return f"grad: ours {mine.grad.tolist()}, PyTorch's {other.grad.tolist()}"
    return None


def run(programs: int, steps: int, number: int) -> None:
    """Make so many programs; the smallest that fails is raised."""
    warnings.simplefilter("ignore")
    chosen = settings(
        max_examples=programs, stateful_step_count=steps, deadline=None, database=None, print_blob=False,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    run_state_machine_as_test(seed(number)(Programs), settings=chosen)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m fuzz.stateful", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    started = time.monotonic()
    try:
        run(chosen.programs, chosen.steps, chosen.seed)
    finally:
        print(
            f"{counts['programs']} programs, {counts['steps']} steps, {counts['errors']} of them errors on a side, {time.monotonic() - started:.0f} s"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
