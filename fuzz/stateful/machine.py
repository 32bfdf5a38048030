"""The programs: a state machine of hypothesis, whose states are tensors of both libraries."""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch as theirs
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

import mindtorch_v2 as ours
from fuzz.stateful.compare import alike, difference, plain
from fuzz.stateful.steps import NESTED, OWN, PURE, SPARSE, VIEWS, WRITES, Step

DTYPES = ("float32", "float64", "int64", "int32", "bool", "complex64", "bfloat16")
MOST = 6  # tensors of a program
small = st.integers(-3, 4)
sizes = st.lists(st.integers(0, 4), max_size=3)
counts = {"programs": 0, "steps": 0, "errors": 0}
findings: dict[str, list[str]] = {}
"""In a survey: the shortest program that showed each difference, by the step that did."""
survey = False
MISTAKES = (SystemError, AttributeError, NameError, AssertionError)
UNASKED = {
    "numpy",
    "untyped_storage",
    "element_size",
    "requires_grad",
    "set",
    "dim",
    "size",
    "len",
    "item",
    "tolist",
    "is_floating_point",
    "numel",
    "register_hook",
}
"""What is no operator: the page on differences says that it is not asked about."""
ANOTHER_GENERATION = ("set_", "over ", "data", "own set data", "swap", "resize")
"""Steps after which versions are counted otherwise: here they are the storage's."""
LAST = Path(tempfile.gettempdir()) / f"stateful-{os.getpid()}"
"""The program that runs, for whoever looks at a process that ended."""
asked: dict[Any, list[str]] = {ours: [], theirs: []}
"""What tensors of the program's own classes were asked for, since a step began."""

Arguments = tuple[Any, Any, int, int, list[int]]
Way = Callable[[Any, Step, Arguments], Any]


def _own_class(library: Any) -> type:
    class Own(library.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = getattr(func, "__name__", repr(func)).strip("_")
            if name not in UNASKED:
                asked[library].append("invert" if name == "bitwise_not" else name)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Own


OWN_CLASSES = {ours: _own_class(ours), theirs: _own_class(theirs)}


# ---- ways to do a step ----


def _plainly(library: Any, step: Step, given: Arguments) -> Any:
    return step(library, *given)


def _on_a_thread(library: Any, step: Step, given: Arguments) -> Any:
    box: list[Any] = []

    def work() -> None:
        try:
            box.append(step(library, *given))
        except Exception as error:  # noqa: BLE001  (raised again where it is waited for)
            box.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(box[0], Exception):
        raise box[0]
    return box[0]


def _compiled(library: Any, step: Step, given: Arguments) -> Any:
    if library is theirs:  # its answer is the plain one
        return step(library, *given)
    return ours.compile(lambda: step(library, *given), backend="eager")()


def _captured_whole(library: Any, step: Step, given: Arguments) -> Any:
    """Without breaks, by the default back end; what cannot be captured so is refused before it begins, and is done plainly."""
    if library is theirs:
        return step(library, *given)
    try:
        return ours.compile(lambda: step(library, *given), fullgraph=True)()
    except ours._dynamo.exc.Unsupported:
        return step(library, *given)


def _grad_off(library: Any, step: Step, given: Arguments) -> Any:
    with library.no_grad():
        return step(library, *given)


def _under_vmap(library: Any, step: Step, given: Arguments) -> Any:
    a, *rest = given
    return library.vmap(lambda x: step(library, x, *rest))(a)


def _under_vmap_twice(library: Any, step: Step, given: Arguments) -> Any:
    a, b, *rest = given
    return library.vmap(library.vmap(lambda x, y: step(library, x, y, *rest), in_dims=(0, None)), in_dims=(-1, 0))(a, b)


def _tangent(library: Any, step: Step, given: Arguments) -> Any:
    a, *rest = given
    forward = library.autograd.forward_ad
    with forward.dual_level():
        made = step(library, forward.make_dual(a, library.ones_like(a)), *rest)
        return forward.unpack_dual(made).tangent


def _jvp(library: Any, step: Step, given: Arguments) -> Any:
    a, *rest = given
    return library.func.jvp(lambda x: step(library, x, *rest), (a,), (library.ones_like(a),))[1]


def _gradient(library: Any, step: Step, given: Arguments) -> Any:
    a, *rest = given
    return library.func.grad(lambda x: step(library, x, *rest).sum())(a)


def _gradients_of_rows(library: Any, step: Step, given: Arguments) -> Any:
    a, *rest = given
    return library.vmap(library.func.grad(lambda x: (step(library, x, *rest) ** 2).sum()))(a)


def _functionalized(library: Any, step: Step, given: Arguments) -> Any:
    a, *rest = given
    return library.func.functionalize(lambda x: step(library, x, *rest))(a)


TRANSFORMS = {_under_vmap, _under_vmap_twice, _tangent, _jvp, _gradient, _gradients_of_rows, _functionalized}
"""Their results are compared by sizes, dtype and numbers alone: which memory they have is nobody's promise."""
WAYS: dict[str, Way] = {
    "plain": _plainly,
    "plain too": _plainly,
    "thread": _on_a_thread,
    "compiled": _compiled,
    "captured": _captured_whole,
    "no_grad": _grad_off,
    "vmap": _under_vmap,
    "vmap twice": _under_vmap_twice,
    "tangent": _tangent,
    "jvp": _jvp,
    "grad": _gradient,
    "grad of rows": _gradients_of_rows,
    "functionalize": _functionalized,
}


class Programs(RuleBasedStateMachine):
    """One program, on both sides."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[Any, Any]] = []
        self.kept: list[Any] = []
        self.versions = True
        self.told: list[str] = []
        counts["programs"] += 1

    def _differs(self, text: str) -> None:
        """Raises; in a survey, notes it and begins anew."""
        if not survey:
            raise AssertionError(text)
        key = f"{self.told[-1].split('(')[0]}: {text}"[:150]
        if key not in findings or len(findings[key]) > len(self.told):
            findings[key] = [*self.told, text]
        self.pairs.clear()
        self.versions = True
        self.told.clear()

    # ---- steps ----

    @rule(shape=sizes, dtype=st.sampled_from(DTYPES), grad=st.booleans())
    def make(self, shape: list[int], dtype: str, grad: bool) -> None:
        """A new tensor of whole numbers, which all dtypes hold exactly."""
        self.told.append(f"make {shape} {dtype} {'grad' if grad else ''}")
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
        self,
        name: str,
        step: Step,
        first: int = 0,
        second: int = 0,
        p: int = 0,
        q: int = 0,
        s: list[int] | None = None,
        way: Way = _plainly,
    ) -> None:
        counts["steps"] += 1
        self.versions = self.versions and not name.startswith(ANOTHER_GENERATION)
        if way is _captured_whole:
            if self.kept:  # memory that NumPy has too is no storage that a capture knows
                return
            self.versions = False  # a graph counts what it writes, not how often
        self.told.append(f"{name}({first % len(self.pairs)}, {second % len(self.pairs)}, p={p}, q={q}, s={s})")
        LAST.write_text("\n".join(self.told))
        a, b = self.pairs[first % len(self.pairs)], self.pairs[second % len(self.pairs)]
        special = any(each.is_nested or each.layout is not ours.strided for each in (a[0], b[0]))
        outcome: list[Any] = []
        for side, library in enumerate((ours, theirs)):
            asked[library].clear()
            try:
                outcome.append(way(library, step, (a[side], b[side], p, q, s or [])))
            except Exception as error:  # noqa: BLE001  (both sides' are compared)
                outcome.append(error)
        mine, other = outcome
        if isinstance(other, Exception) or isinstance(mine, Exception):
            counts["errors"] += 1
            if (special or name in SPARSE or name in NESTED) and not isinstance(mine, MISTAKES):
                if isinstance(other, Exception):
                    return  # less is done to sparse and nested tensors there, and other classes say so
            empty = isinstance(other, theirs.Tensor) and not other.numel()
            if empty and isinstance(mine, (RuntimeError, IndexError)):
                return  # what has no elements is looked at no less closely here
            if not (isinstance(mine, Exception) and alike(mine, other)):
                return self._differs(f"ours: {mine!r}, PyTorch's: {other!r}")
            return
        if way is _plainly and not special and name not in NESTED and asked[ours] != asked[theirs]:
            return self._differs(f"asked for: ours {asked[ours]}, PyTorch's {asked[theirs]}")
        if isinstance(other, theirs.Tensor) != isinstance(mine, ours.Tensor):
            return self._differs(f"ours: {mine!r}, PyTorch's: {other!r}")
        if not isinstance(other, theirs.Tensor):
            if isinstance(other, (bool, int, float, complex, str)) and repr(mine) != repr(other):
                return self._differs(f"ours: {mine!r}, PyTorch's: {other!r}")
            return
        if way in TRANSFORMS:
            mine, other = plain(mine).clone(), plain(other).clone()
        if any(mine is each for each, _ in self.pairs) != any(other is each for _, each in self.pairs):
            return self._differs("one side's result is a tensor of the program, the other's is none")
        if not any(mine is each for each, _ in self.pairs):
            self._add(mine, other)

    some = {"first": st.integers(0, 5), "second": st.integers(0, 5), "p": small, "q": small, "s": sizes}

    @precondition(lambda self: self.pairs)
    @rule(name=st.sampled_from(sorted(VIEWS)), way=st.sampled_from(sorted(WAYS)), **some)
    def view(self, name: str, way: str, **given: Any) -> None:
        """A view."""
        if WAYS[way] in (_compiled, _captured_whole) or name.startswith("over ") and WAYS[way] in TRANSFORMS:
            # A captured view shares memory and no history. Storages of what transforms hand out: PyTorch reads where nothing is.
            return
        self._do(f"{name} {way}", VIEWS[name], **given, way=WAYS[way])

    @precondition(lambda self: self.pairs)
    @rule(name=st.sampled_from(sorted(PURE)), way=st.sampled_from(sorted(WAYS)), **some)
    def compute(self, name: str, way: str, **given: Any) -> None:
        """An operator that writes nothing."""
        self._do(f"{name} {way}", PURE[name], **given, way=WAYS[way])

    @precondition(lambda self: self.pairs)
    @rule(name=st.sampled_from(sorted(WRITES)), way=st.sampled_from(["plain", "thread", "captured"]), **some)
    def write(self, name: str, way: str, **given: Any) -> None:
        """A write in place, or another change of a tensor."""
        self._do(f"{name} {way}", WRITES[name], **given, way=WAYS[way])

    @precondition(lambda self: self.pairs)
    @rule(name=st.sampled_from(sorted(SPARSE)), **some)
    def sparse(self, name: str, **given: Any) -> None:
        """What makes sparse tensors, and what is done to them."""
        self._do(name, SPARSE[name], **given)

    @precondition(lambda self: self.pairs)
    @rule(name=st.sampled_from(sorted(NESTED)), **some)
    def nested(self, name: str, **given: Any) -> None:
        """What makes nested tensors, and what is done to them."""
        self._do(name, NESTED[name], **given)
        self.versions = False

    @precondition(lambda self: self.pairs)
    @rule(name=st.sampled_from(sorted(OWN)), **some)
    def own(self, name: str, first: int, **given: Any) -> None:
        """Something that a tensor of the program's own class is asked for: by the same functions."""
        mine, other = self.pairs[first % len(self.pairs)]
        if mine.is_nested or mine.layout is not ours.strided:
            return
        if not isinstance(mine, OWN_CLASSES[ours]):
            mine, other = mine.detach().as_subclass(OWN_CLASSES[ours]), other.detach().as_subclass(OWN_CLASSES[theirs])
            self._add(mine, other)
            first = len(self.pairs) - 1
        self._do(f"own {name}", OWN[name], first, **given)

    @precondition(lambda self: self.pairs)
    @rule(dtype=st.sampled_from(DTYPES), first=st.integers(0, 5))
    def convert(self, dtype: str, first: int) -> None:
        """The same numbers as another dtype."""
        self._do(f"convert {dtype}", lambda t, a, b, p, q, s: a.to(getattr(t, dtype)), first)

    @precondition(lambda self: self.pairs)
    @rule(first=st.integers(0, 5))
    def export(self, first: int) -> None:
        """An array that is kept, and a tensor on its memory."""

        def both(t: Any, a: Any, b: Any, p: int, q: int, s: list[int]) -> Any:
            array = a.numpy()
            self.kept.append(array)
            return t.from_numpy(array)

        self._do("export", both, first)

    @precondition(lambda self: self.pairs)
    @rule(first=st.integers(0, 5), retain=st.booleans())
    def backward(self, first: int, retain: bool) -> None:
        """Gradients of one tensor's sum."""
        self._do("backward", lambda t, a, b, p, q, s: a.sum().backward(retain_graph=retain), first)

    @precondition(lambda self: self.pairs)
    @rule(first=st.integers(0, 5), factor=st.integers(1, 3))
    def hook(self, first: int, factor: int) -> None:
        """A hook that changes a gradient."""

        def register(t: Any, a: Any, b: Any, p: int, q: int, s: list[int]) -> None:
            a.register_hook(lambda grad: grad * factor)

        self._do("hook", register, first)

    @precondition(lambda self: self.pairs)
    @rule(first=st.integers(0, 5), chance=st.integers(0, 49))
    def fork(self, first: int, chance: int) -> None:
        """A child that computes with what it inherited; seldom, as it takes long."""
        if chance != 49:
            return
        tensor = self.pairs[first % len(self.pairs)][0]
        if tensor.is_nested or tensor.layout is not ours.strided:
            return
        child = os.fork()
        if child == 0:
            (plain(tensor).clone() == plain(tensor)).all()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise AssertionError("the child ended by an error")

    # ---- after each step ----

    def check_invariants(self, *arguments: Any, **named: Any) -> None:
        """All pairs are equal."""
        super().check_invariants(*arguments, **named)
        for number, (mine, other) in enumerate(self.pairs):
            problem = difference(mine, other, self.versions)
            if problem:
                self._differs(f"tensor {number}: {problem}")
                break


def run(programs: int, steps: int, number: int) -> None:
    """Make so many programs; the smallest that fails is raised."""
    warnings.simplefilter("ignore")
    chosen = settings(
        max_examples=programs, stateful_step_count=steps, deadline=None, database=None, print_blob=False,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    run_state_machine_as_test(seed(number)(Programs), settings=chosen)
