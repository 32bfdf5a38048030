"""The results of GE operators: dtype and shape of every output, by the rule that `prototypes.tsv` names.

A rule gets the operator (inputs and attributes are there) and returns a pair for each output; None stands for a shape that
only a run can tell. ValueError says what does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .graph import Op, Tensor
from .types import DataType

Outputs = list[tuple[DataType | None, list[int] | None]]
RULES: dict[str, Callable[[Op], Outputs]] = {}


def rule(function: Callable[[Op], Outputs]) -> Callable[[Op], Outputs]:
    RULES[function.__name__.rstrip("_")] = function
    return function


def infer(op: Op, name: str) -> None:
    """Give the operator's outputs dtype and shape. ValueError names the operator if its inputs do not fit."""
    inputs = [value for _, value in op.inputs if value is not None]
    if any(value.dtype is None or value.shape is None for value in inputs):
        return  # behind an operator without a rule
    try:
        found = RULES[name](op)
    except ValueError as error:
        raise ValueError(f"{op.type} ({op.name}): {error}; its inputs are {inputs}") from None
    for out, (dtype, shape) in zip(op.values, found, strict=True):
        out.dtype, out.shape = dtype, shape


def _in(op: Op, name: str) -> Tensor:
    value = dict(op.inputs).get(name)
    if value is None:
        raise ValueError(f"the input '{name}' is missing")
    return value


def _shape(value: Tensor) -> list[int]:
    assert value.shape is not None
    return value.shape


def _constant(op: Op, name: str) -> list:
    value = _in(op, name).value
    if value is None:
        raise ValueError(f"the input '{name}' must be a constant")
    return value


def _attr(op: Op, name: str) -> Any:
    return op.attrs[name].value


def broadcast_shapes(*shapes: list[int]) -> list[int]:
    """The shape that these are broadcast to. ValueError if they do not fit."""
    made: list[int] = []
    for dims in zip(*[[1] * (max(map(len, shapes)) - len(s)) + s for s in shapes], strict=True):
        sizes = {d for d in dims if d != 1}
        if len(sizes) > 1:
            raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
        made.append(sizes.pop() if sizes else 1)
    return made


@rule
def none(op: Op) -> Outputs:
    return []


@rule
def same(op: Op) -> Outputs:
    first = op.inputs[0][1]
    assert first is not None
    return [(first.dtype, first.shape)]


def _alike(op: Op, *names: str) -> list[Tensor]:
    values = [_in(op, name) for name in names]
    if len({value.dtype for value in values}) > 1:
        kinds = ", ".join(v.dtype.name for v in values if v.dtype is not None)
        raise ValueError(f"its inputs must have one dtype, got {kinds}: use ge.Cast")
    return values


@rule
def broadcast(op: Op) -> Outputs:
    a, b = _alike(op, "x1", "x2")
    return [(a.dtype, broadcast_shapes(_shape(a), _shape(b)))]


@rule
def compare(op: Op) -> Outputs:
    return [(DataType.DT_BOOL, broadcast(op)[0][1])]


@rule
def truth(op: Op) -> Outputs:
    return [(DataType.DT_BOOL, _in(op, "x").shape)]


@rule
def select(op: Op) -> Outputs:
    a, b = _alike(op, "then", "else")
    return [(a.dtype, broadcast_shapes(_shape(_in(op, "condition")), _shape(a), _shape(b)))]


@rule
def cast(op: Op) -> Outputs:
    return [(DataType(_attr(op, "dst_type")), _in(op, "x").shape)]


@rule
def searched(op: Op) -> Outputs:
    _, values = _alike(op, "sorted_sequence", "values")
    return [(DataType(_attr(op, "dtype")), values.shape)]


@rule
def sized(op: Op) -> Outputs:
    x, shape = _in(op, "x"), _constant(op, "shape")
    if op.type == "Reshape" and math.prod(shape) != math.prod(_shape(x)):
        raise ValueError(f"{math.prod(_shape(x))} elements cannot have the shape {shape}")
    if op.type == "BroadcastTo" and broadcast_shapes(_shape(x), list(shape)) != list(shape):
        raise ValueError(f"it cannot be broadcast to {shape}")
    return [(x.dtype, list(shape))]


@rule
def transpose(op: Op) -> Outputs:
    x, perm = _in(op, "x"), _constant(op, "perm")
    if sorted(perm) != list(range(x.rank)):
        raise ValueError(f"perm {perm} is no order of {x.rank} dimensions")
    return [(x.dtype, [_shape(x)[d] for d in perm])]


@rule
def strided_slice(op: Op) -> Outputs:
    x = _in(op, "x")
    limits = zip(_shape(x), *(_constant(op, n) for n in ("begin", "end", "strides")), strict=True)
    return [(x.dtype, [len(range(*slice(b, e, s).indices(size))) for size, b, e, s in limits])]


@rule
def concat(op: Op) -> Outputs:
    values = [value for _, value in op.inputs if value is not None]
    if len({value.dtype for value in values}) > 1:
        raise ValueError("its inputs must have one dtype: use ge.Cast")
    dim = _attr(op, "concat_dim") % values[0].rank
    shape = list(_shape(values[0]))
    for value in values[1:]:
        if _shape(value)[:dim] + _shape(value)[dim + 1 :] != shape[:dim] + shape[dim + 1 :]:
            raise ValueError(f"the inputs differ beside dimension {dim}")
    shape[dim] = sum(_shape(value)[dim] for value in values)
    return [(values[0].dtype, shape)]


@rule
def split(op: Op) -> Outputs:
    x, sizes, dim = _in(op, "x"), _constant(op, "size_splits"), _constant(op, "split_dim")[0] % _in(op, "x").rank
    if sum(sizes) != _shape(x)[dim]:
        raise ValueError(f"sizes {sizes} do not make dimension {dim} of {x.shape}")
    return [(x.dtype, [*_shape(x)[:dim], size, *_shape(x)[dim + 1 :]]) for size in sizes]


@rule
def gather(op: Op) -> Outputs:
    x, axis = _in(op, "x"), _constant(op, "axis")[0] % _in(op, "x").rank
    return [(x.dtype, [*_shape(x)[:axis], *_shape(_in(op, "indices")), *_shape(x)[axis + 1 :]])]


@rule
def gather_elements(op: Op) -> Outputs:
    return [(_in(op, "x").dtype, _in(op, "index").shape)]


@rule
def index(op: Op) -> Outputs:
    x, mask = _in(op, "x"), _constant(op, "indexed_sizes")
    indices = [value for name, value in op.inputs if name.startswith("indices") and value is not None]
    if any(value.dtype not in (DataType.DT_INT64, DataType.DT_INT32) for value in indices):
        raise ValueError("indices must be integers")
    chosen = broadcast_shapes(*(_shape(value) for value in indices))
    places = [d for d, taken in enumerate(mask) if taken]
    rest = [size for d, size in enumerate(_shape(x)) if d not in places]
    together = places == list(range(places[0], places[0] + len(places)))
    at = places[0] if together else 0
    return [(x.dtype, [*rest[:at], *chosen, *rest[at:]])]


@rule
def pad(op: Op) -> Outputs:
    x, flat = _in(op, "x"), _constant(op, "paddings")
    pairs = zip(_shape(x), flat[::2], flat[1::2], strict=True)
    return [(x.dtype, [size + before + after for size, before, after in pairs])]


@rule
def reduce(op: Op) -> Outputs:
    x, axes = _in(op, "x"), [d % max(_in(op, "x").rank, 1) for d in _constant(op, "axes")]
    keep = _attr(op, "keep_dims")
    return [(x.dtype, [1 if d in axes else s for d, s in enumerate(_shape(x)) if keep or d not in axes])]


@rule
def reduce_truth(op: Op) -> Outputs:
    return [(DataType.DT_BOOL, reduce(op)[0][1])]


@rule
def argmax(op: Op) -> Outputs:
    x, dim = _in(op, "x"), _constant(op, "dimension")[0] % _in(op, "x").rank
    return [(_attr(op, "dtype"), [s for d, s in enumerate(_shape(x)) if d != dim])]


def _product(op: Op, first: str, second: str) -> Outputs:
    a, b = _alike(op, "x1", "x2")
    left, right = list(_shape(a)), list(_shape(b))
    if len(left) < 2 or len(right) < 2:
        raise ValueError("its inputs must be matrices")
    if _attr(op, first):
        left[-2:] = left[:-3:-1]
    if _attr(op, second):
        right[-2:] = right[:-3:-1]
    if left[-1] != right[-2]:
        raise ValueError(f"matrices of {left[-2:]} and {right[-2:]} have no product")
    return [(a.dtype, [*broadcast_shapes(left[:-2], right[:-2]), left[-2], right[-1]])]


@rule
def matmul(op: Op) -> Outputs:
    if _in(op, "x1").rank != 2 or _in(op, "x2").rank != 2:
        raise ValueError("its inputs must have two dimensions: use ge.BatchMatMulV2")
    return _product(op, "transpose_x1", "transpose_x2")


@rule
def batch_matmul(op: Op) -> Outputs:
    return _product(op, "adj_x1", "adj_x2")


@rule
def conv(op: Op) -> Outputs:
    x, kernel = _alike(op, "x", "filter")
    strides, pads, dilations = (_attr(op, name) for name in ("strides", "pads", "dilations"))
    if _attr(op, "data_format") != "NCHW":
        raise ValueError("only the layout NCHW is known here")
    sizes = [
        (_shape(x)[d] + sum(pads[2 * d - 4 : 2 * d - 2]) - dilations[d] * (_shape(kernel)[d] - 1) - 1) // strides[d] + 1
        for d in (2, 3)
    ]
    return [(x.dtype, [_shape(x)[0], _shape(kernel)[0], *sizes])]


@rule
def conv_grad(op: Op) -> Outputs:
    size = "input_size" if op.type == "Conv2DBackpropInput" else "filter_size"
    return [(_in(op, "out_backprop").dtype, list(_constant(op, size)))]


@rule
def layer_norm(op: Op) -> Outputs:
    x, inner = _in(op, "x"), _constant(op, "normalized_shape")
    if _shape(x)[x.rank - len(inner) :] != list(inner):
        raise ValueError(f"its last dimensions are not {inner}")
    outer = [*_shape(x)[: x.rank - len(inner)], *[1] * len(inner)]
    kind = x.dtype if x.dtype == DataType.DT_DOUBLE else DataType.DT_FLOAT
    return [(x.dtype, x.shape), (kind, outer), (kind, outer)]


@rule
def layer_norm_grad(op: Op) -> Outputs:
    x, gamma = _in(op, "x"), _in(op, "gamma")
    return [(x.dtype, x.shape), (gamma.dtype, gamma.shape), (gamma.dtype, gamma.shape)]


@rule
def nll_loss(op: Op) -> Outputs:
    x, target = _in(op, "x"), _in(op, "target")
    return [(x.dtype, target.shape if _attr(op, "reduction") == "none" else []), (x.dtype, [])]


@rule
def embedding_grad(op: Op) -> Outputs:
    grad = _in(op, "grad")
    return [(grad.dtype, [_attr(op, "num_weights"), _shape(grad)[-1]])]


@rule
def fill(op: Op) -> Outputs:
    return [(_in(op, "value").dtype, list(_constant(op, "dims")))]


@rule
def range_(op: Op) -> Outputs:
    start, limit, delta = (_constant(op, name)[0] for name in ("start", "limit", "delta"))
    if delta == 0 or (limit - start) * delta < 0:
        raise ValueError(f"from {start} to {limit} in steps of {delta} there is no way")
    return [(_in(op, "start").dtype, [math.ceil((limit - start) / delta)])]


@rule
def bernoulli(op: Op) -> Outputs:
    return [(_attr(op, "dtype"), list(_constant(op, "shape")))]
