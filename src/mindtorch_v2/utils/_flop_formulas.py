"""How many floating point operations operators take: the registry of `torch.utils.flop_counter`.

A product of m x k and k x n counts 2 m n k; additions of a bias, elementwise operators and reductions count nothing.
`linear`, `matmul` and their gradients are one operator each here; `FUSED` says as which of PyTorch's operators they
count, so that counts read as they do there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import mindtorch_v2 as torch

from .._operators.table import facts_of, flops_of
from .._ops import OpOverloadPacket
from ._pytree import tree_map

aten = torch.ops.aten
flop_registry: dict[Any, Callable] = {}


def get_shape(value: Any) -> Any:
    """The shape of a tensor; anything else as it is.

    >>> torch.utils.flop_counter.get_shape(torch.ones(2, 3)), torch.utils.flop_counter.get_shape(4)
    (torch.Size([2, 3]), 4)
    """
    return value.shape if isinstance(value, torch.Tensor) else value


def shape_wrapper(formula: Callable) -> Callable:
    """A formula of shapes as one of tensors: it gets `out_val`, and hands on the shapes of all, `out_shape` among them.

    >>> from mindtorch_v2.utils.flop_counter import shape_wrapper
    >>> formula = shape_wrapper(lambda x_shape, out_shape=None: out_shape[0] * x_shape[1])
    >>> formula(torch.ones(2, 3), out_val=torch.ones(2))
    6
    """

    @functools.wraps(formula)
    def of_tensors(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return of_tensors


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable], Callable]:
    """A decorator: the function counts the operations of `targets`, an operator (`torch.ops.mylib.foo`) or a list of them.

    It is called with the operator's arguments, tensors replaced by their shapes, and `out_shape`; with `get_raw` with
    the tensors themselves and `out_val`. Raises ValueError for what is no operator, RuntimeError where it has a formula.

    >>> from mindtorch_v2.utils.flop_counter import FlopCounterMode, register_flop_formula
    >>> @torch.library.custom_op("docs_flops::square", mutates_args=())
    ... def square(x: torch.Tensor) -> torch.Tensor:
    ...     return x * x
    >>> @register_flop_formula(torch.ops.docs_flops.square)
    ... def _(x_shape, out_shape=None, **kwargs):
    ...     return x_shape[0]
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = square(torch.ones(5))
    >>> counter.get_total_flops()
    5
    """

    def register(formula: Callable) -> Callable:
        if not get_raw:
            formula = shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), JitFunction, or HigherOrderOperator, got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula
        return formula

    return register


def _expect(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _matmul(rows: int, inner: int, columns: int) -> int:
    return 2 * rows * inner * columns


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Sequence[int], b_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Of `mm`: 2 m n k.

    >>> torch.utils.flop_counter.mm_flop((2, 3), (3, 4))
    48
    """
    (m, k), (k2, n) = a_shape, b_shape
    _expect(k == k2, f"matmul: inner dimensions must match (k == k2), got {k} and {k2}")
    return _matmul(m, k, n)


@register_flop_formula(aten.addmm)
def addmm_flop(
    self_shape: Sequence[int], a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any
) -> int:
    """Of `addmm`: those of the product.

    >>> torch.utils.flop_counter.addmm_flop((4,), (2, 3), (3, 4))
    48
    """
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """Of `bmm`: those of each product of the batch.

    >>> torch.utils.flop_counter.bmm_flop((5, 2, 3), (5, 3, 4))
    240
    """
    (b, m, k), (b2, k2, n) = a_shape, b_shape
    _expect(b == b2, f"bmm: batch dimensions must match (b == b2), got {b} and {b2}")
    _expect(k == k2, f"bmm: inner dimensions must match (k == k2), got {k} and {k2}")
    return b * _matmul(m, k, n)


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(
    self_shape: Sequence[int], a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any
) -> int:
    """Of `baddbmm`: those of the products.

    >>> torch.utils.flop_counter.baddbmm_flop((4,), (5, 2, 3), (5, 3, 4))
    240
    """
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(
    x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int], transposed: bool = False
) -> int:
    """Of a convolution: each position of the output (transposed: of the input) meets the whole weight once.

    >>> from mindtorch_v2.utils.flop_counter import conv_flop_count
    >>> conv_flop_count([1, 3, 8, 8], [4, 3, 3, 3], [1, 4, 6, 6])
    7776
    """
    positions = (x_shape if transposed else out_shape)[2:]
    return 2 * x_shape[0] * prod(positions) * prod(w_shape)


@register_flop_formula([aten.convolution, aten._convolution])
def conv_flop(
    x_shape: Sequence[int],
    w_shape: Sequence[int],
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """Of `convolution`.

    >>> from mindtorch_v2.utils.flop_counter import conv_flop
    >>> conv_flop((1, 2, 8), (3, 2, 4), None, [1], [0], [1], False, out_val=(1, 3, 5))
    240
    """
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Sequence[int], x_shape: Sequence[int], w_shape: Sequence[int], _bias: Any, _stride: Any, _padding: Any, _dilation: Any, transposed: bool, _output_padding: Any, _groups: Any,
    output_mask: Any, out_shape: Any,
) -> int:  # fmt: skip
    """Of the gradients of a convolution that `output_mask` asks for, each itself a convolution.

    >>> from mindtorch_v2.utils.flop_counter import conv_backward_flop
    >>> shapes = (1, 3, 5), (1, 2, 8), (3, 2, 4)
    >>> conv_backward_flop(*shapes, None, [1], [0], [1], False, [0], 1, [True, False, False], out_val=[(1, 2, 8)])
    240
    """

    def swapped(shape: Sequence[int]) -> list:
        return [shape[1], shape[0], *shape[2:]]

    count = 0
    if output_mask[0]:  # the gradient goes back through the weight
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], transposed=not transposed)
    if output_mask[1]:  # of input and gradient, the one slides over the other; channels stand where batches did
        slid, over = (x_shape, grad_out_shape) if transposed else (grad_out_shape, x_shape)
        count += conv_flop_count(swapped(over), swapped(slid), swapped(out_shape[1]))
    return count


def sdpa_flop_count(query_shape: Sequence[int], key_shape: Sequence[int], value_shape: Sequence[int]) -> int:
    """Of attention: scores from queries and keys, results from scores and values; a causal mask saves nothing.

    >>> from mindtorch_v2.utils.flop_counter import sdpa_flop_count
    >>> sdpa_flop_count([1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4])
    2048
    """
    b, h, q, d = query_shape
    b2, h2, k, d2 = key_shape
    b3, h3, k3, v = value_shape
    _expect(
        b == b2 == b3 and h2 == h3 and d == d2 and k == k3,
        f"sdpa_flop_count: query/key/value shapes are incompatible: q={query_shape}, k={key_shape}, v={value_shape}",
    )
    _expect(
        h >= h2 and h % h2 == 0,
        f"sdpa_flop_count: query heads ({h}) must be a multiple of key/value heads ({h2})",
    )
    return b * h * (_matmul(q, d, k) + _matmul(q, k, v))


def sdpa_backward_flop_count(
    grad_out_shape: Sequence[int], query_shape: Sequence[int], key_shape: Sequence[int], value_shape: Sequence[int]
) -> int:
    """Of attention's gradients: the scores once more, and two products for each of the two of the forward.

    >>> from mindtorch_v2.utils.flop_counter import sdpa_backward_flop_count
    >>> sdpa_backward_flop_count([1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4])
    5120
    """
    b, h, q, d = query_shape
    b2, h2, k, d2 = key_shape
    b3, h3, k3, v = value_shape
    b4, h4, q4, v4 = grad_out_shape
    _expect(
        b == b2 == b3 == b4 and h2 == h3 and h == h4, "sdpa_backward_flop_count: batch/heads mismatch among tensors"
    )
    _expect(
        h >= h2 and h % h2 == 0,
        f"sdpa_backward_flop_count: query heads ({h}) must be a multiple of key/value heads ({h2})",
    )
    _expect(
        d == d2 and v == v4 and k == k3 and q == q4,
        "sdpa_backward_flop_count: grad_out/value/key/query shapes are incompatible",
    )
    return b * h * (3 * _matmul(q, d, k) + 2 * _matmul(q, v, k))


def _folds(left: Any, right: Any, trained: bool) -> bool:
    """Whether PyTorch multiplies a batch and a matrix (or vector) as one `mm`, rather than as `bmm`."""
    batch, other = (left, right) if left.dim() >= right.dim() else (right, left)
    if batch.dim() < 3 or other.dim() > 2:
        return False
    if trained or other.requires_grad or batch.numel() == 0:
        return True
    sizes, strides = batch.shape, batch.stride()
    return all(strides[i] == strides[i + 1] * sizes[i + 1] for i in range(batch.dim() - 2))


def _as_product(left: Any, right: Any, times: int = 1, trained: bool = False) -> tuple[Any, int] | None:
    """As which operator `left @ right` counts, and how much `times` it is; None for vectors, which count nothing.

    `trained` says that the one with fewer dimensions needs a gradient where the tensor at hand doesn't show it.
    """
    folds = _folds(left, right, trained)
    if right.dim() == 1 and (left.dim() <= 2 or folds) or left.dim() == 1 and right.dim() > 2 and folds:
        return None
    inner = left.size(-1)
    columns = right.size(-1) if right.dim() > 1 else 1
    rows = left.size(-2) if left.dim() > 1 else 1
    batch = torch.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    packet = aten.mm if folds or (left.dim() <= 2 and right.dim() <= 2) else aten.bmm
    return packet, times * prod(batch) * _matmul(rows, inner, columns)


def _linear(input, weight, bias=None):
    joined = bias is not None and bias.dim() == 1 and (input.dim() == 2 or input.is_contiguous())
    if not joined or weight.dim() != 2:
        return _as_product(input, weight.mT if weight.dim() == 2 else weight, trained=weight.requires_grad)
    return aten.addmm, _matmul(prod(input.shape[:-1]), input.size(-1), weight.size(0))


def _linear_backward(input, grad_output, weight, output_mask) -> tuple | None:
    if weight.dim() != 2:
        return None
    return aten.mm, sum(output_mask[:2]) * _matmul(prod(input.shape[:-1]), input.size(-1), weight.size(0))


FUSED: dict[Any, Callable[..., tuple[Any, int] | None]] = {
    aten.linear: _linear,
    aten.linear_backward: _linear_backward,
    aten.matmul: _as_product,
    aten.matmul_backward: lambda grad, left, right, mask: _as_product(left, right, sum(mask)),
}
"""Operators that are several in PyTorch: as which one their operations count there, and how many."""


def stated(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, int] | None:
    """The operator itself and the operations that its row states for a call (`flops=`); None where it states none."""
    counted = flops_of(func._handle, facts_of(func._handle), args, kwargs)
    return None if counted is None else (func.overloadpacket, counted)
