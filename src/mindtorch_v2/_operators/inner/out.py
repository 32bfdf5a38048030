"""`out=` forms whose names or arguments follow from no other row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..table import aten, composite, fill

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


@composite(
    "range.out_(Scalar start, Scalar end, *, Tensor(a!) out) -> Tensor(a!)",
    "`start`, `start + 1`, ... up to and with `end`, into `out`.",
)
def _range_out(start: Number, end: Number, *, out: Tensor) -> Tensor:
    made = aten.range(start, end, 1, dtype=out.dtype, device=out.device)
    return fill(out, made.view(out.shape) if made.numel() == out.numel() else made, warn=False)


def _with_more(name, arguments, first, second) -> None:
    @composite(
        f"{name}.output({arguments}, *, Tensor(a!) {first}, Tensor(b!) {second}) -> (Tensor(a!), Tensor(b!))",
        f"`{name}` into two tensors.",
    )
    def into(*args: Any, **outs: Tensor) -> Any:
        made = getattr(aten, name)(*args)
        return tuple(fill(outs[each], value) for each, value in zip((first, second), made, strict=True))


_NLL = "Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index"
_with_more("nll_loss_forward", _NLL, "output", "total_weight")
_with_more("nll_loss2d_forward", _NLL, "output", "total_weight")
_with_more("multilabel_margin_loss_forward", "Tensor self, Tensor target, int reduction", "output", "is_target")


@composite(
    "adaptive_avg_pool3d_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)",
    "The gradient of `adaptive_avg_pool3d`, into a tensor.",
    explicit=True,
)
def _adaptive_avg_pool3d_backward_out(grad_output, self, *, grad_input):
    return fill(grad_input, aten._adaptive_avg_pool3d_backward(grad_output, self), warn=False)
