"""Forward mode of the rows: the tangents of an operator's results from those of its arguments.

Few rows state a forward formula (`tangent=`). An operator that is linear is applied to the tangents. For an element-wise
one the backward formula is its own transpose. Any other is transposed twice: its backward formula is linear in the gradient,
so differentiating that formula by the gradient, with the tangent as weight, gives the tangent of the result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _C
from .._core.autograd import batched
from .._core.autograd.backward import grad
from .._core.autograd.tangents import laid_out
from .table import aten, row_of
from .table.formula import GRAD, RESULT

_UNSUPPORTED = "Trying to use forward AD with {} that does not support it because it has not been implemented yet."


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _C.TensorBase)


class _Call:
    """One call at one level: arguments by name without this level's tangents, the tangents by name, the results."""

    def __init__(self, row: Any, values: dict[str, Any], level: int, results: list) -> None:
        self.row = row
        self.primals = {name: _map(value, lambda t: _C._without_tangents(t, level)) for name, value in values.items()}
        self.tangents = {}
        for name, value in values.items():
            if _is_tensor(value):
                tangent = _C._tangent(value, level)
                if tangent is not None:
                    self.tangents[name] = tangent
            elif isinstance(value, (list, tuple)) and any(_is_tensor(v) for v in value):
                found = [_C._tangent(v, level) if _is_tensor(v) else None for v in value]
                if any(t is not None for t in found):
                    self.tangents[name] = found
        self.results = results

    def of_results(self) -> list:
        """A tangent or None for each result."""
        for key, formula in self.row.grad.items():
            names = key if isinstance(key, tuple) else (key,)
            if getattr(formula, "refuses", False) and any(name in self.tangents for name in names):
                raise NotImplementedError(_UNSUPPORTED.format(self.row.name.partition(".")[0]))
        facts = self.row.facts
        if facts.tangent is not None:
            return [self._by_tangent_formula(facts.tangent)]
        linear = facts.linear or ((self._first(),) if self.row.handle.is_view else ())
        if linear:
            return self._linear(linear)
        if facts.multilinear:
            return [self._product(facts.multilinear)]
        if self._elementwise():
            return [self._by_formula()]
        return self._transposed_twice()

    def _first(self) -> str:
        return self.row.handle.arguments[0]["name"]

    def viewed(self, view: Any, tensor: Any) -> Any:
        """A view of another tensor than the call's first."""
        return self._apply({**self.primals, self._first(): tensor}, view)

    def _apply(self, values: dict[str, Any], operator: Any = None) -> Any:
        args, kwargs = [], {}
        for argument in self.row.handle.arguments:
            if argument["kwarg_only"]:
                kwargs[argument["name"]] = values[argument["name"]]
            else:
                args.append(values[argument["name"]])
        return (operator or self.row.handle)(*args, **kwargs)

    def _by_tangent_formula(self, formula: Callable) -> Any:
        values = []
        for name in formula.__code__.co_varnames[: formula.__code__.co_argcount]:
            if name in self.primals:
                values.append(self.primals[name])
            elif name.removesuffix("_t") in self.tangents:
                values.append(self.tangents[name.removesuffix("_t")])
            else:
                return None  # what moves is another argument
        return formula(*values)

    def _linear(self, names: tuple[str, ...]) -> list:
        if not any(name in self.tangents for name in names):
            return [None] * len(self.results)
        values = dict(self.primals)
        for name in names:
            value, tangent = self.primals[name], self.tangents.get(name)
            if _is_tensor(value):
                values[name] = aten.zeros_like(value) if tangent is None else tangent
            else:
                found = tangent or [None] * len(value)
                values[name] = [aten.zeros_like(v) if t is None else t for v, t in zip(value, found, strict=True)]
        made = self._apply(values)
        return list(made) if isinstance(made, (list, tuple)) else [made]

    def _product(self, names: tuple[str, ...]) -> Any:
        total = None
        for name in names:
            if name in self.tangents:
                part = self._apply({**self.primals, name: self.tangents[name]})
                total = part if total is None else total + part
        return total

    def _elementwise(self) -> bool:
        if not self.row.facts.elementwise or len(self.results) != 1:
            return False
        tensors = [v for v in (*self.primals.values(), *self.results) if _is_tensor(v)]
        return not any(t.is_complex() for t in tensors)

    def _parameters(self, code: Any, grads: tuple, needs: tuple) -> list:
        values = []
        for name in code.co_varnames[: code.co_argcount]:
            if match := GRAD.match(name):
                values.append(grads[int(match[1] or 0)])
            elif name == "grads":
                values.append(grads)
            elif name == "needs":
                values.append(needs)
            elif name in self.primals:
                values.append(self.primals[name])
            elif match := RESULT.match(name):
                values.append(self.results[int(match[1] or 0)])
            elif name.endswith("_geometry"):
                value = self.primals[name.removesuffix("_geometry")]
                values.append((tuple(value.shape), value.stride(), value.storage_offset()))
            else:
                value = self.primals[name.removesuffix("_sizes")]
                if value is None:
                    values.append(None)
                else:
                    values.append(value.shape if _is_tensor(value) else tuple(v.shape for v in value))
        return values

    def _by_formula(self) -> Any:
        (result,) = self.results
        total = None
        for key, formula in self.row.grad.items():
            names = key if isinstance(key, tuple) else (key,)
            for place, name in enumerate(names):
                if name not in self.tangents:
                    continue
                tangent = self.tangents[name]
                if tangent.dtype != result.dtype:
                    tangent = tangent.to(result.dtype)
                if tuple(tangent.shape) != tuple(result.shape):
                    tangent = tangent.expand(result.shape)
                needs = tuple(i == place for i in range(len(names)))
                part = formula(*self._parameters(formula.__code__, (tangent,), needs))
                part = part[place] if isinstance(key, tuple) else part
                if part is not None:
                    total = part if total is None else total + part
        if total is None:
            return None
        total = total if total.dtype == result.dtype else total.to(result.dtype)
        return total if tuple(total.shape) == tuple(result.shape) else total.expand(result.shape)

    def _transposed_twice(self) -> list:
        nondiff = self.row.nondiff
        flat: list = []
        for number, result in enumerate(self.results):
            flat += [(number, r) for r in result] if isinstance(result, (list, tuple)) else [(number, result)]
        with_grad = _C.is_grad_enabled()
        _C._set_grad_enabled(True)
        try:
            seeds = [
                aten.ones_like(r.detach()).requires_grad_()
                if _is_tensor(r) and number not in nondiff and (r.is_floating_point() or r.is_complex())
                else None
                for number, r in flat
            ]
            pulled, weights = self._pulled_back(tuple(seeds))
        finally:
            _C._set_grad_enabled(with_grad)
        wanted = [s for s in seeds if s is not None]
        if not pulled or not wanted:
            return [None] * len(flat)
        for seed in wanted:
            seed._transform_input = True  # a leaf of ours: torch.func need not record on its account
        sources = [*_tensors_of(self.primals), *_tensors_of(self.tangents)]
        record = with_grad and any(t.requires_grad for t in sources)
        made = iter(grad(pulled, wanted, weights, create_graph=record, allow_unused=True))
        return [None if s is None else next(made) for s in seeds]

    def _pulled_back(self, seeds: tuple) -> tuple[list, list]:
        """Gradients that the backward formulas make of ``seeds`` for the arguments with tangents, and those tangents.

        Of tensors: rows with a formula for a list are linear in it, and do not come here.
        """
        pulled, weights = [], []
        for key, formula in self.row.grad.items():
            names = key if isinstance(key, tuple) else (key,)
            if not any(name in self.tangents for name in names):
                continue
            needs = tuple(name in self.tangents for name in names)
            made = formula(*self._parameters(formula.__code__, seeds, needs))
            for name, gradient in zip(names, made if isinstance(key, tuple) else (made,), strict=True):
                tangent = self.tangents.get(name)
                if tangent is None or gradient is None:
                    continue
                if not gradient.requires_grad:
                    if gradient.detach().ne(0).any():
                        raise NotImplementedError(_UNSUPPORTED.format(self.row.name.partition(".")[0]))
                    continue
                if tuple(gradient.shape) != tuple(tangent.shape):
                    gradient = gradient.sum_to_size(tangent.shape)
                pulled.append(gradient)
                weights.append(tangent if tangent.dtype == gradient.dtype else tangent.to(gradient.dtype))
        return pulled, weights


def _tensors_of(values: dict[str, Any]) -> list:
    return [t for v in values.values() for t in (v if isinstance(v, (list, tuple)) else (v,)) if _is_tensor(t)]


def _map(value: Any, fn: Any) -> Any:
    if _is_tensor(value):
        return fn(value)
    if isinstance(value, (list, tuple)) and any(_is_tensor(v) for v in value):
        return [fn(v) if _is_tensor(v) else v for v in value]
    return value


_arguments = functools.cache(lambda op: [(a["name"], a["default"]) for a in op.arguments])


def _named(op: Any, args: tuple, kwargs: dict) -> dict[str, Any]:
    return {
        name: args[position] if position < len(args) else kwargs.get(name, default)
        for position, (name, default) in enumerate(_arguments(op))
    }


@functools.cache
def _view_of(op: Any) -> Any:
    """The operator whose view an in-place operator makes its tensor, `squeeze` of `squeeze_` say; None for one that writes."""
    name = f"{op.namespace}::{op.name.removesuffix('_')}"
    found = _C._find_operator(name, op.overload) or _C._find_operator(name, "int")  # transpose_ is of transpose.int
    return found if found is not None and found.is_view else None


def _write(result: Any, level: int, tangent: Any) -> None:
    """The tangent of a tensor that was written in place: views of it see the change."""
    old = _C._tangent(result, level)
    if old is not None:
        if tangent is None:
            old.zero_()
        elif set(batched.levels_of(tangent)) <= set(batched.levels_of(old)):
            old.copy_(tangent)
        else:
            _C._set_tangent(result, level, laid_out(tangent.expand(result.shape), result))
        return
    if tangent is None:
        return
    base = result._base
    if base is None:
        _C._set_tangent(result, level, laid_out(tangent.expand(result.shape), result))
        return
    whole = aten.zeros_like(base.detach())
    part = whole.as_strided(result.shape, result.stride(), result.storage_offset() - base.storage_offset())
    part.copy_(tangent)
    _C._set_tangent(base, level, whole)
    _C._set_tangent(result, level, part)


def _handle(op: Any, args: tuple, kwargs: dict, results: tuple) -> None:
    """Give the results of a call their tangents, one level after the other, outermost first."""
    row = row_of(op)
    values = _named(op, args, kwargs)
    levels = sorted({level for t in _tensors_of(values) for level in _C._tangent_levels(t)})
    if row is None or row.grad is None:
        raise NotImplementedError(_UNSUPPORTED.format(op.name))
    inplace = op.form == "inplace"
    flat = [r for result in results for r in (result if isinstance(result, (list, tuple)) else (result,))]
    for level in levels:
        plain = [_map(result, lambda t, level=level: _C._without_tangents(t, level)) for result in results]
        if inplace:
            call, old, view = _Call(row, values, level, plain), _C._tangent(flat[0], level), _view_of(op)
            if view is not None and old is not None:  # it is looked at anew, as its tensor is
                _C._set_tangent(flat[0], level, call.viewed(view, old))
            else:
                _write(flat[0], level, call.of_results()[0])
            continue
        made = _Call(row, values, level, plain).of_results()
        for result, tangent in zip(flat, made, strict=True):
            # Whole numbers and truth values do not move with their arguments.
            moves = _is_tensor(result) and (result.dtype.is_floating_point or result.dtype.is_complex)
            if tangent is not None and moves:
                _C._set_tangent(result, level, tangent)


_C._set_key_handler("ForwardMode", _handle)
