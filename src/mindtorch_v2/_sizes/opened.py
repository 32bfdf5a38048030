"""One graph of several, which are the same but for numbers: nodes stand in the place of those that differ."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._sizes.expressions import Expression, Junction, Symbol, constant
from mindtorch_v2._sizes.fitting import Fitting, evaluated
from mindtorch_v2._sizes.numbers import SymFloat, SymInt, SymNode, plain, sym_float, sym_int, sym_max, sym_min
from mindtorch_v2._sizes.same_graph import SYM_SIZE, NotOneGraph, is_number
from mindtorch_v2._sizes.universes import SymbolicFakeTensor

if TYPE_CHECKING:
    from mindtorch_v2._sizes.environment import ShapeEnv
    from mindtorch_v2.fx.graph_module import GraphModule


__all__ = ["Opened"]

_NUMBERS = (SymInt, SymFloat)
_TARGETS = {
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "IntTrueDiv": operator.truediv, "FloatTrueDiv": operator.truediv,
    "PowByNatural": operator.pow, "FloatPow": operator.pow, "Max": sym_max, "Min": sym_min, "Abs": operator.abs,
    "ToFloat": sym_float, "TruncToInt": sym_int,
}  # fmt: skip
_RELATIONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Opened:
    """One graph, with nodes in the place of the numbers that differ between its traces."""

    def __init__(
        self,
        module: GraphModule,
        modules: Sequence[GraphModule],
        assignments: Sequence[dict[str, int]],
        env: ShapeEnv,
        free: Sequence[str],
    ) -> None:
        self.module, self.graph, self.env = module, module.graph, env
        self.rows = list(zip(*(m.graph.nodes for m in modules)))
        self.assignments = [dict(each) for each in assignments]
        self.fitting = Fitting()
        self.bases: dict[Any, Any] = {}  # name of a symbol -> (node that has it, dimension or None)
        self.multiples: dict[Any, Any] = {}  # name of a symbol -> a size that is a multiple of it, and something
        self.made: dict[Any, Any] = {}  # text of an expression -> its node
        for name in free:
            self.fitting.learn_symbol(name, tuple(each[name] for each in assignments))

    def run(self) -> Any:
        self._learn_expressions()
        for row in self.rows:
            node = row[0]
            if node.op == "placeholder":
                self._placeholder(row)
            else:
                with self.graph.inserting_before(node):
                    if node.op == "output":
                        self._assert_what_was_checked()
                    node.args, node.kwargs = self._opened([(each.args, each.kwargs) for each in row], node)
                self._result(row)
        self.module.recompile()
        return self.module

    def _assert_what_was_checked(self) -> None:
        """Nodes for what `torch._check` said of values that only a run knows."""
        for each in self.env.deferred_runtime_asserts:
            condition = self.env.simplify(each.expr)
            if not all(name in self.bases or name in self.multiples for name in condition.free_symbols):
                continue  # of a size that no value of the graph shows by this name
            holds = self._condition(condition)
            text = f"Runtime assertion failed for expression {condition} on node '{holds.name}'"
            self.graph.call_function(torch.ops.aten._assert_scalar.default, (holds, text))

    def _condition(self, condition) -> Any:
        if isinstance(condition, Junction):
            both = (self._condition(condition.left), self._condition(condition.right))
            return self.graph.call_function(operator.and_ if condition.relation == "&" else operator.or_, both)
        sides = tuple(
            self._node(side, None) if side.constant is None else side.constant
            for side in (condition.left, condition.right)
        )
        return self.graph.call_function(_RELATIONS[condition.relation], sides)

    def _learn_expressions(self):
        """Learn what the program computed of sizes, which is looked for first."""
        for expr in self.env.expressions():
            values = evaluated(self.env.simplify(expr), self.assignments)
            if values is not None:
                self.fitting.learn(self.env.simplify(expr), values)

    def _placeholder(self, row) -> None:
        values = [each.meta.get("val") for each in row]
        if isinstance(values[0], torch.Tensor):
            self._tensor_sizes(row[0], values)
        elif isinstance(values[0], SymInt):
            self.bases.setdefault(str(values[0].node.expr), (row[0], None))

    def _result(self, row) -> None:
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

    def _tensor_sizes(self, node, values) -> None:
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

    def _describe(self, values) -> None:
        """Let the value of a node say its sizes."""
        first = values[0]

        def numbers(rows: Any) -> list:
            return [self._described(row) for row in rows]

        elems = [value._elem for value in values]
        if elems[0].layout is not torch.strided:
            return
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
        return self._number(parts, node) if is_number(first) else first

    def _symbolic(self, number, parts, node):
        """The node of what the program gave as a symbolic number: its expression is known."""
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
                    node if dim is None else self._call(SYM_SIZE, (node, dim), values, expr, "sym_size_int")
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
        total: Any = None
        so_far: tuple[Any, ...] = ()
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
