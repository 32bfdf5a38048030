"""From a graph for the sizes seen to one for others: `make_fx(tracing_mode="symbolic")`.

The program is traced with the sizes seen, and again with others for which its guards hold. The graphs have to be the same but for
numbers; a number that differs is an expression of the sizes, or the size of a value that the graph has.
"""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._sizes.environment import DimDynamic, ShapeEnv
from mindtorch_v2._sizes.expressions import Condition, Symbol, constant, symbol
from mindtorch_v2._sizes.fitting import evaluated, primes
from mindtorch_v2._sizes.numbers import SymInt
from mindtorch_v2._sizes.opened import Opened
from mindtorch_v2._sizes.same_graph import NotOneGraph, compare, same_numbers
from mindtorch_v2._sizes.universes import SymbolicFakeTensor
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule


__all__ = ["near_sizes", "open_sizes", "sizes_under", "symbolic_arguments"]

_OTHERS = 4  # traces with other sizes
_ATTEMPTS = 16
_LARGE = (1009, 101)  # where primes begin that are tried first


def symbolic_arguments(
    args: Sequence[int | torch.Tensor], allow_non_fake_inputs: bool = False
) -> tuple[tuple[int | torch.Tensor, ...], FakeTensorMode]:
    """The arguments with symbols for sizes and ints, and the mode that they are of."""
    leaves = pytree.tree_leaves(args)
    mode = next((leaf.fake_mode for leaf in leaves if isinstance(leaf, FakeTensor)), None)
    if mode is None or mode.shape_env is None:
        mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=allow_non_fake_inputs)
    number = itertools.count()

    def symbolic(leaf: Any) -> Any:
        name = f"arg{next(number)}"
        if isinstance(leaf, torch.Tensor):
            return mode.from_tensor(leaf, source=name)
        if type(leaf) is int:
            env: Any = mode.shape_env
            return env.create_symbol(leaf, name, DimDynamic.DYNAMIC)
        return leaf

    return pytree.tree_map(symbolic, args), mode


def _mode_like(mode):
    """A mode for another trace, of which only the sizes seen are looked at."""
    allowed = mode.shape_env.allow_dynamic_output_shape_ops
    env = ShapeEnv(assume_static_by_default=True, allow_dynamic_output_shape_ops=allowed)
    env.universes = 1
    return FakeTensorMode(shape_env=env, allow_non_fake_inputs=mode.allow_non_fake_inputs)


def _resized(args, values, like, draw=0) -> tuple:
    """The same arguments for other values of the symbols, and the mode that they are of; `like` is that of `args`."""
    mode = _mode_like(like)
    mode.shape_env.apart_from(values, draw)
    number = itertools.count()
    tensors = {}  # an argument that is given twice is one tensor here as well

    def resized(leaf: torch.Tensor) -> torch.Tensor:
        name = f"arg{next(number)}"
        if isinstance(leaf, SymbolicFakeTensor):
            if id(leaf) not in tensors:
                with torch.no_grad():
                    elem = torch.empty_strided(*sizes_under(leaf, values), dtype=leaf.dtype, device="meta")
                made = mode.wrap(elem, leaf.fake_device)
                tensors[id(leaf)] = made.requires_grad_() if leaf.requires_grad else made
            return tensors[id(leaf)]
        if isinstance(leaf, SymInt):
            env: Any = mode.shape_env
            return env.create_symbol(leaf.node.expr.evaluate(values), name, DimDynamic.DYNAMIC)
        return leaf

    return pytree.tree_map(resized, args), mode


# ---- other sizes ----


def _candidates(env, attempt, draw):
    """Values for the symbols of arguments: large primes first, then small ones, and such near to what was seen."""
    seen = env.backed_var_to_val
    free = [name for name in seen if name not in env.replacements]
    if attempt < len(_LARGE):
        large = primes(_LARGE[attempt])
        return {**seen, **{name: next(large) for name in free}}
    found = dict(seen)
    for name in free:
        value = seen[name]
        kinds = ((2, 4), (2, 4 * value + 12), (value + 1, value + 3))
        low, high = kinds[(attempt - len(_LARGE)) % 3]
        found[name] = value * draw.randint(2, 5) if draw.random() < 0.2 else draw.randint(low, high)
    return found


def _solved(env, values):
    """The values, with those that a guard says to be equal to others made so; None where a guard does not hold."""
    for guard in env.guards:
        if isinstance(guard.expr, Condition) and guard.expr.relation == "==":
            for one, other in ((guard.expr.left, guard.expr.right), (guard.expr.right, guard.expr.left)):
                names = [str(atom) for monomial in one.terms for atom in monomial if isinstance(atom, Symbol)]
                if str(one) in names and other.free_symbols <= set(values):
                    (values[str(one)],) = evaluated(other, [values]) or (None,)
                    break
    if any(not isinstance(value, int) or value < 2 for value in values.values()):
        return None
    for guard in env.guards:
        held = evaluated(guard.expr, [values])
        if held is not None and not held[0]:
            return None
    return values


def _other_sizes(env, first=0):
    """Assignments of values to the symbols for which the guards hold, as long as there are some."""
    draw = random.Random(0)
    own = env.backed_var_to_val
    seen = []
    for attempt in range(first, 2000):
        values = _solved(env, _candidates(env, attempt, draw))
        if values is not None and values not in seen and any(values[name] != own[name] for name in values):
            seen.append(values)
            yield values


def near_sizes(env: Any, count: int) -> list:
    """Up to `count` assignments with values near to those seen."""
    return list(itertools.islice(_other_sizes(env, len(_LARGE)), count)) if _free(env) else []


def sizes_under(fake: Any, values: Any) -> tuple:
    """Sizes and strides of a fake tensor under an assignment."""

    def under(number: Any) -> Any:
        return number.node.expr.evaluate(values) if isinstance(number, SymInt) else number

    return [under(size) for size in fake.shape], [under(stride) for stride in fake.stride()]


def _free(env) -> list:
    return [name for name in env.backed_var_to_val if name not in env.replacements]


def open_sizes(module: Any, args: Any, fake_mode: Any, trace: Any) -> Any:
    """Make `module`, the trace of a program with the arguments `args`, right for all sizes for which the guards hold.

    `trace(args, mode)` traces again. NotOneGraph if no other sizes give the same graph, or a number in it is no expression.
    """

    env = fake_mode.shape_env
    env.only_of_arguments()
    env.exact = _exactness(module, args, fake_mode, trace)
    own = env.backed_var_to_val
    tried = _Trials(module, lambda values: trace(*_resized(args, values, fake_mode)))
    looked_at = False
    enough = _OTHERS
    for values in itertools.islice(_other_sizes(env), _ATTEMPTS):
        if len(tried.modules) > enough or not _free(env):
            break
        if not tried(values) and not looked_at:
            looked_at = True
            _fix_what_is_fixed(env, own, tried)
            enough = len(tried.modules) - 1 + _OTHERS
    if not _free(env):
        return _open_data(module, args, fake_mode, trace) if env.depends_on_data() else _told(module)
    # Of a range with few sizes all were tried, and nothing can be told wrongly by too few.
    if len(tried.modules) < _OTHERS and (tried.error is not None or not tried.assignments):
        raise NotOneGraph(
            "make_fx(tracing_mode='symbolic'): with other sizes than those seen the program gives another graph: with "
            f"{tried.values}, {type(tried.error).__name__}: {tried.error}"
        ) from tried.error
    _tell_apart(env, own, tried)
    return Opened(module, tried.modules, [own, *tried.assignments], env, _free(env)).run()


def _open_data(module, args, fake_mode, trace):
    """The same for a program of fixed sizes in which values of tensors are numbers: traced with others for those."""
    own = fake_mode.shape_env.backed_var_to_val
    modules = [module]
    for draw in range(1, _OTHERS + 1):
        other = trace(*_resized(args, own, fake_mode, draw))
        compare(module, other)
        modules.append(other)
    return Opened(module, modules, [own] * len(modules), fake_mode.shape_env, _free(fake_mode.shape_env)).run()


def _told(module):
    """A module of which no size may differ: its values have the sizes seen."""
    for node in module.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, SymbolicFakeTensor):
                elem = value._elem
                if elem.layout is torch.strided:
                    value._told = ([*elem.shape], [*elem.stride()], elem.storage_offset())
    return module


def _tell_apart(env, own, tried):
    """Trace with more sizes where those so far cannot tell apart what may differ.

    That is two expressions of the program which came out the same, and a size that always was a multiple of a number.
    """
    for divisor in range(2, 9):
        for name in _free(env):
            if all(not values[name] % divisor for values in (own, *tried.assignments)):
                _try_more(env, tried, lambda values, name=name, divisor=divisor: values[name] % divisor)
    seen: dict[tuple[Any, ...], Any] = {}
    for expr in map(env.simplify, env.expressions()):
        values = evaluated(expr, [own, *tried.assignments])
        if values is not None and seen.setdefault(values, expr) != expr:
            first = seen[values]
            _try_more(env, tried, lambda v, pair=(first, expr): operator.ne(*(evaluated(e, [v]) for e in pair)))


def _try_more(env, tried, wanted, attempts=3) -> None:
    for values in itertools.islice(filter(wanted, _other_sizes(env, len(_LARGE))), attempts):
        if tried(values):
            return


class _Trials:
    """Traces with other sizes: those that gave the same graph, and the last reason why one did not."""

    def __init__(self, module: GraphModule, trace: Callable[..., Any]) -> None:
        self.modules = [module]
        self.assignments: list[Any] = []
        self._trace = trace
        self.values: dict[str, int] | None = None
        self.error: Exception | None = None

    def __call__(self, values: dict[str, int]) -> bool:
        """Whether these sizes give the same graph; kept if they do."""
        try:
            other = self._trace(values)
            compare(self.modules[0], other)
        except Exception as error:  # noqa: BLE001  (for these sizes the program is another one; the last reason is told)
            self.values, self.error = values, error
            return False
        self.modules.append(other)
        self.assignments.append(values)
        return True


def _fix_what_is_fixed(env, own, tried) -> None:
    """Sizes of which no other alone gives the same graph (a kernel compares them with a number, say) get a guard.

    Those that may be another alone can be told from each other by these traces.
    """
    for name in _free(env):
        others = (own[name] + 1, 2 * own[name], 3 * own[name] + 2)
        if not any(tried({**own, name: value}) for value in others):
            env.decide(Condition("==", symbol(name), constant(own[name])), (True,))


def _exactness(module, args, like, trace):
    """Whether real arguments give the graph: the program is traced with their sizes, and compared, number by number."""

    def holds(real: Any) -> Any:
        mode = _mode_like(like)
        shown = pytree.tree_map_only(torch.Tensor, mode.from_tensor, tuple(real))
        try:
            traced = trace(pytree.tree_unflatten(pytree.tree_leaves(shown), pytree.tree_structure(args)), mode)
            return same_numbers(module, traced, shown)
        except Exception:  # noqa: BLE001  (the program is an error with these sizes, or another one)
            return False

    return holds
