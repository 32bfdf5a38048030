"""From a graph for the sizes seen to one for others: `make_fx(tracing_mode="symbolic")`.

The program is traced with the sizes seen, and again with others for which its guards hold. The graphs have to be the same but for
numbers; a number that differs is an expression of the sizes, or the size of a value that the graph has.
"""

import itertools
import operator
import random

import mindtorch_v2 as torch
from mindtorch_v2._subclasses._universes import SymbolicFakeTensor
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from mindtorch_v2._symbolic import Condition, Expression, SymFloat, SymInt, SymNode, constant, symbol
from mindtorch_v2._symbolic.expressions import Symbol
from mindtorch_v2._symbolic.fitting import Fitting, evaluated, primes
from mindtorch_v2._symbolic.numbers import plain, sym_float, sym_int, sym_max, sym_min
from mindtorch_v2.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from mindtorch_v2.fx.node import Node
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["NotOneGraph", "near_sizes", "open_sizes", "sizes_under", "symbolic_arguments"]

_OTHERS = 4  # traces with other sizes
_ATTEMPTS = 16
_LARGE = (1009, 101)  # where primes begin that are tried first
_NUMBERS = (SymInt, SymFloat)


class NotOneGraph(RuntimeError):
    """Raised for a program that is another one for other sizes, without having asked for them."""


def symbolic_arguments(args, allow_non_fake_inputs=False):
    """The arguments with symbols for sizes and ints, and the mode that they are of."""
    leaves = pytree.tree_leaves(args)
    mode = next((leaf.fake_mode for leaf in leaves if isinstance(leaf, FakeTensor)), None)
    if mode is None or mode.shape_env is None:
        mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=allow_non_fake_inputs)
    number = itertools.count()

    def symbolic(leaf):
        name = f"arg{next(number)}"
        if isinstance(leaf, torch.Tensor):
            return mode.from_tensor(leaf, source=name)
        if type(leaf) is int:
            return mode.shape_env.create_symbol(leaf, name, DimDynamic.DYNAMIC)
        return leaf

    return pytree.tree_map(symbolic, args), mode


def _mode_like(mode):
    """A mode for another trace, of which only the sizes seen are looked at."""
    env = ShapeEnv(assume_static_by_default=True)
    env.universes = 1
    return FakeTensorMode(shape_env=env, allow_non_fake_inputs=mode.allow_non_fake_inputs)


def _resized(args, values, like, draw=0):
    """The same arguments for other values of the symbols, and the mode that they are of; `like` is that of `args`."""
    mode = _mode_like(like)
    mode.shape_env.apart_from(values, draw)
    number = itertools.count()
    tensors = {}  # an argument that is given twice is one tensor here as well

    def resized(leaf):
        name = f"arg{next(number)}"
        if isinstance(leaf, SymbolicFakeTensor):
            if id(leaf) not in tensors:
                with torch.no_grad():
                    elem = torch.empty_strided(*sizes_under(leaf, values), dtype=leaf.dtype, device="meta")
                made = mode.wrap(elem, leaf.fake_device)
                tensors[id(leaf)] = made.requires_grad_() if leaf.requires_grad else made
            return tensors[id(leaf)]
        if isinstance(leaf, SymInt):
            return mode.shape_env.create_symbol(leaf.node.expr.evaluate(values), name, DimDynamic.DYNAMIC)
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
    draw = random.Random(0)  # noqa: S311
    own = env.backed_var_to_val
    seen = []
    for attempt in range(first, 2000):
        values = _solved(env, _candidates(env, attempt, draw))
        if values is not None and values not in seen and any(values[name] != own[name] for name in values):
            seen.append(values)
            yield values


def near_sizes(env, count):
    """Up to `count` assignments with values near to those seen."""
    return list(itertools.islice(_other_sizes(env, len(_LARGE)), count)) if _free(env) else []


def sizes_under(fake, values):
    """Sizes and strides of a fake tensor under an assignment."""

    def under(number):
        return number.node.expr.evaluate(values) if isinstance(number, SymInt) else number

    return [under(size) for size in fake.shape], [under(stride) for stride in fake.stride()]


def _free(env):
    return [name for name in env.backed_var_to_val if name not in env.replacements]


def open_sizes(module, args, fake_mode, trace):
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
    if len(tried.modules) < _OTHERS:
        raise NotOneGraph(
            "make_fx(tracing_mode='symbolic'): with other sizes than those seen the program gives another graph: with "
            f"{tried.values}, {type(tried.error).__name__}: {tried.error}"
        ) from tried.error
    _tell_apart(env, own, tried)
    return _Opened(module, tried.modules, [own, *tried.assignments], env).run()


def _open_data(module, args, fake_mode, trace):
    """The same for a program of fixed sizes in which values of tensors are numbers: traced with others for those."""
    own = fake_mode.shape_env.backed_var_to_val
    modules = [module]
    for draw in range(1, _OTHERS + 1):
        other = trace(*_resized(args, own, fake_mode, draw))
        _compare(module, other)
        modules.append(other)
    return _Opened(module, modules, [own] * len(modules), fake_mode.shape_env).run()


def _told(module):
    """A module of which no size may differ: its values have the sizes seen."""
    for node in module.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, SymbolicFakeTensor):
                elem = value._elem
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
    seen = {}
    for expr in map(env.simplify, env.expressions()):
        values = evaluated(expr, [own, *tried.assignments])
        if values is not None and seen.setdefault(values, expr) != expr:
            first = seen[values]
            _try_more(env, tried, lambda v, pair=(first, expr): operator.ne(*(evaluated(e, [v]) for e in pair)))


def _try_more(env, tried, wanted, attempts=3):
    for values in itertools.islice(filter(wanted, _other_sizes(env, len(_LARGE))), attempts):
        if tried(values):
            return


class _Trials:
    """Traces with other sizes: those that gave the same graph, and the last reason why one did not."""

    def __init__(self, module, trace):
        self.modules, self.assignments, self._trace = [module], [], trace
        self.values = self.error = None

    def __call__(self, values):
        """Whether these sizes give the same graph; kept if they do."""
        try:
            other = self._trace(values)
            _compare(self.modules[0], other)
        except Exception as error:  # noqa: BLE001  (for these sizes the program is another one; the last reason is told)
            self.values, self.error = values, error
            return False
        self.modules.append(other)
        self.assignments.append(values)
        return True


def _fix_what_is_fixed(env, own, tried):
    """Sizes of which no other alone gives the same graph (a kernel compares them with a number, say) get a guard.

    Those that may be another alone can be told from each other by these traces.
    """
    for name in _free(env):
        others = (own[name] + 1, 2 * own[name], 3 * own[name] + 2)
        if not any(tried({**own, name: value}) for value in others):
            env.decide(Condition("==", symbol(name), constant(own[name])), (True,))


def _compare(module, other):
    """Raise NotOneGraph unless two graphs are the same but for numbers."""
    first, second = list(module.graph.nodes), list(other.graph.nodes)
    for a, b in zip(first, second):
        if (a.op, a.target) != (b.op, b.target) or not _alike((a.args, a.kwargs), (b.args, b.kwargs)):
            raise NotOneGraph(f"{a.format_node()} became {b.format_node()}")
    if len(first) != len(second):
        raise NotOneGraph(f"{len(first)} nodes became {len(second)}")


def _alike(a, b):
    if isinstance(a, Node):
        return isinstance(b, Node) and a.name == b.name
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, slice):
        return isinstance(b, slice) and _alike((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if _is_number(a) or isinstance(a, _NUMBERS):
        return (_is_number(b) or isinstance(b, _NUMBERS)) and type(plain(a)) is type(plain(b))
    return a == b


def _is_number(value):
    return type(value) in (int, float)


def _exactness(module, args, like, trace):
    """Whether real arguments give the graph: the program is traced with their sizes, and compared, number by number."""

    def holds(real):
        mode = _mode_like(like)
        shown = pytree.tree_map_only(torch.Tensor, mode.from_tensor, tuple(real))
        try:
            traced = trace(pytree.tree_unflatten(pytree.tree_leaves(shown), pytree.tree_structure(args)), mode)
            return _same_numbers(module, traced, shown)
        except Exception:  # noqa: BLE001  (the program is an error with these sizes, or another one)
            return False

    return holds


def _same_numbers(module, traced, args):
    """Whether `traced` is what `module` computes for these arguments."""
    values, theirs = {}, iter(traced.graph.nodes)
    given = iter(pytree.tree_leaves(args))

    def value_of(each):
        return values.get(each.name, each) if isinstance(each, Node) else each

    for node in module.graph.nodes:
        if "expression" in node.meta:
            inputs = torch.fx.node.map_arg(node.args, value_of)
            values[node.name] = inputs[0].shape[inputs[1]] if node.target is _SYM_SIZE else node.target(*inputs)
            continue
        other = next(theirs)
        if node.op == "placeholder":
            values[node.name] = next(given)
        elif isinstance(other.meta.get("val"), torch.Tensor):
            values[node.name] = other.meta["val"]
        mine = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: values[n.name] if _is_plain(values, n) else n)
        if (node.op, node.target) != (other.op, other.target) or not _equal(mine, (other.args, other.kwargs)):
            return False
    return next(theirs, None) is None


def _is_plain(values, node):
    return "expression" in node.meta or _is_number(values.get(node.name))


def _equal(a, b):
    if isinstance(a, Node) or isinstance(b, Node):
        return isinstance(a, Node) and isinstance(b, Node)
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    return plain(a) == plain(b)


# ---- numbers become nodes ----

_SYM_SIZE = torch.ops.aten.sym_size.int
_TARGETS = {
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "IntTrueDiv": operator.truediv, "FloatTrueDiv": operator.truediv,
    "PowByNatural": operator.pow, "FloatPow": operator.pow, "Max": sym_max, "Min": sym_min, "Abs": operator.abs,
    "ToFloat": sym_float, "TruncToInt": sym_int,
}  # fmt: skip


class _Opened:
    """One graph, with nodes in the place of the numbers that differ between its traces."""

    def __init__(self, module, modules, assignments, env):
        self.module, self.graph, self.env = module, module.graph, env
        self.rows = list(zip(*(m.graph.nodes for m in modules)))
        self.assignments = [dict(each) for each in assignments]
        self.fitting = Fitting()
        self.bases = {}  # name of a symbol -> (node that has it, dimension or None)
        self.multiples = {}  # name of a symbol -> a size that is a multiple of it, and something
        self.made = {}  # text of an expression -> its node
        for name in _free(env):
            self.fitting.learn_symbol(name, tuple(each[name] for each in assignments))

    def run(self):
        self._learn_expressions()
        for row in self.rows:
            node = row[0]
            if node.op == "placeholder":
                self._placeholder(row)
            else:
                with self.graph.inserting_before(node):
                    node.args, node.kwargs = self._opened([(each.args, each.kwargs) for each in row], node)
                self._result(row)
        self.module.recompile()
        return self.module

    def _learn_expressions(self):
        """What the program computed of sizes is looked for first."""
        for expr in self.env.expressions():
            values = evaluated(self.env.simplify(expr), self.assignments)
            if values is not None:
                self.fitting.learn(self.env.simplify(expr), values)

    def _placeholder(self, row):
        values = [each.meta.get("val") for each in row]
        if isinstance(values[0], torch.Tensor):
            self._tensor_sizes(row[0], values)
        elif isinstance(values[0], SymInt):
            self.bases.setdefault(str(values[0].node.expr), (row[0], None))

    def _result(self, row):
        values = [each.meta.get("val") for each in row]
        if isinstance(values[0], torch.Tensor):
            self._tensor_sizes(row[0], values)
        elif isinstance(values[0], (list, tuple)) and all(isinstance(v, (list, tuple)) for v in values):
            for parts in zip(*values):
                if all(isinstance(part, SymbolicFakeTensor) for part in parts):
                    self._describe(parts)
        elif isinstance(values[0], SymInt):  # an element of a tensor
            name = str(values[0].node.expr)
            for assignment, value in zip(self.assignments, values):
                assignment[name] = plain(value)
            self.fitting.learn_symbol(name, tuple(map(plain, values)))
            self.bases[name] = (row[0], None)

    def _tensor_sizes(self, node, values):
        if not all(isinstance(value, SymbolicFakeTensor) for value in values):
            return
        self._describe(values)
        for dim, sizes in enumerate(zip(*(tuple(value._elem.shape) for value in values))):
            said = values[0]._told[0][dim]
            if isinstance(said, SymInt):
                self.bases.setdefault(str(said.node.expr), (node, dim))
                for name in said.node.expr.free_symbols:
                    self.multiples.setdefault(name, said.node.expr)
                if self.fitting.known(sizes) is None:
                    self.fitting.learn_symbol(str(said.node.expr), sizes)

    def _describe(self, values):
        """Let the value of a node say its sizes."""
        first = values[0]

        def numbers(rows):
            return [self._described(row) for row in rows]

        elems = [value._elem for value in values]
        first._told = (
            numbers(zip(*(tuple(elem.shape) for elem in elems))),
            numbers(zip(*(elem.stride() for elem in elems))),
            self._described(tuple(elem.storage_offset() for elem in elems)),
        )

    def _described(self, values):
        expr = self.fitting.express(values)
        if expr is None:
            return self.env.derived_of(values)
        if expr.constant is not None:
            return values[0]
        others = evaluated(expr, [self.env.universe(u) for u in range(self.env.universes)])
        return SymInt(SymNode(expr, self.env, int, others or (values[0],) * self.env.universes))

    # ---- arguments ----

    def _opened(self, parts, node):
        """The arguments of a node in all traces, as one."""
        first = parts[0]
        if isinstance(first, (list, tuple)):
            made = [self._opened(row, node) for row in zip(*parts)]
            return type(first)(made) if type(first) in (list, tuple) else made
        if isinstance(first, dict):
            return {key: self._opened([part[key] for part in parts], node) for key in first}
        if isinstance(first, slice):
            return slice(*(self._opened([getattr(p, name) for p in parts], node) for name in ("start", "stop", "step")))
        if isinstance(first, _NUMBERS):
            return self._symbolic(first, parts, node)
        return self._number(parts, node) if _is_number(first) else first

    def _symbolic(self, number, parts, node):
        """What the program gave as a symbolic number: its expression is known."""
        expr = self.env.simplify(number.node.expr)
        if expr.constant is None and expr.free_symbols <= self.bases.keys():
            return self._node(expr, evaluated(expr, self.assignments))
        return self._number(tuple(map(plain, parts)), node)

    def _number(self, values, node):
        if all(value == values[0] for value in values):
            return values[0]
        if isinstance(values[0], float):
            return self._float(values, node)
        found = self.fitting.express(values)
        if found is None:
            raise NotOneGraph(
                f"make_fx(tracing_mode='symbolic'): a number of {node.format_node()} is no known expression"
            )
        return self._node(found, values)

    def _float(self, values, node):
        found = self.fitting.known(values)
        if found is not None:
            return self._node(found, values)
        for each, target, args in (
            (values, sym_float, lambda n: (n,)),
            (tuple(1 / v if v else 0.5 for v in values), operator.truediv, lambda n: (1.0, n)),
            (tuple(v * v for v in values), operator.pow, lambda n: (n, 0.5)),
            (tuple(1 / (v * v) if v else 0.5 for v in values), operator.pow, lambda n: (n, -0.5)),
        ):
            whole = tuple(map(round, each))
            if not all(abs(a - b) <= 1e-12 * abs(b) for a, b in zip(each, whole)) or 0 in whole:
                continue
            if tuple(target(*args(w)) for w in whole) == values:  # to the last bit
                return self._call(target, args(self._number(whole, node)), values, "float")
        raise NotOneGraph(f"make_fx(tracing_mode='symbolic'): a number of {node.format_node()} is no known expression")

    def _node(self, expr, values):
        """The node of an expression."""
        key = str(expr)
        if key not in self.made:
            if key in self.bases:
                node, dim = self.bases[key]
                self.made[key] = (
                    node if dim is None else self._call(_SYM_SIZE, (node, dim), values, expr, "sym_size_int")
                )
            else:
                self.made[key] = self._sum(expr)
        return self.made[key]

    def _sum(self, expr):
        terms = sorted(expr.terms.items(), key=lambda item: item[1] < 0)
        total = None
        so_far = {}
        for monomial, coefficient in terms:
            if total is None:
                so_far[monomial] = coefficient
                total = self._product(monomial, coefficient) if monomial else coefficient
                continue
            so_far[monomial] = coefficient
            part = self._product(monomial, abs(coefficient)) if monomial else abs(coefficient)
            total = self._called(operator.sub if coefficient < 0 else operator.add, (total, part), Expression(so_far))
        return total

    def _product(self, monomial, coefficient):
        total, so_far = None, ()
        for atom in monomial:
            part = self._atom(atom)
            so_far = (*so_far, atom)
            total = part if total is None else self._called(operator.mul, (total, part), Expression({so_far: 1}))
        if coefficient == 1:
            return total
        return self._called(operator.mul, (total, coefficient), Expression({monomial: coefficient}))

    def _atom(self, atom):
        expr = Expression({(atom,): 1})
        if isinstance(atom, Symbol):
            if atom.name not in self.bases and atom.name in self.multiples:
                return self._part(atom.name, expr)
            if atom.name not in self.bases:
                raise NotOneGraph(f"make_fx(tracing_mode='symbolic'): no value of the graph has the size {atom}")
            return self._node(expr, evaluated(expr, self.assignments))
        if atom.name not in _TARGETS:
            raise NotOneGraph(f"make_fx(tracing_mode='symbolic'): {atom.name} of a size has no node")
        args = [each.constant if each.constant is not None else self._node(each, None) for each in atom.args]
        return self._called(_TARGETS[atom.name], tuple(args), expr)

    def _part(self, name, expr):
        """A symbol that no value has as its size: of one that is a multiple of it, and something."""
        size = self.multiples[name]
        start = size.evaluate(dict.fromkeys(size.free_symbols, 0))
        factor = size.evaluate(dict.fromkeys(size.free_symbols, 1)) - start
        if size.minus(expr.times(constant(factor))).constant is None:
            raise NotOneGraph(f"make_fx(tracing_mode='symbolic'): {name} cannot be told from {size}")
        part = self._node(size, evaluated(size, self.assignments))
        if start:
            part = self._called(operator.sub, (part, start), size.minus(constant(start)))
        return self._called(operator.floordiv, (part, factor), expr)

    def _called(self, target, args, expr):
        key = str(expr)
        if key not in self.made:
            self.made[key] = self._call(target, args, evaluated(expr, self.assignments), expr)
        return self.made[key]

    def _call(self, target, args, values, expression, name=None):
        node = self.graph.create_node("call_function", target, args, {}, name=name)
        node.meta["expression"] = str(expression)
        if isinstance(expression, Expression) and values is not None and isinstance(values[0], int):
            node.meta["val"] = self._described(values)
        return node
