"""Batch norm in the forms that graphs meet, and its gradients by other names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _nothing(input, dtype=None):
    return input.new_empty([0]) if dtype is None else aten.empty([0], dtype=_C._dtypes[dtype], device=input.device)


@composite(
    "_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,"
    " float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    "Batch norm of evaluation: the result, and three tensors without elements.",
    bind="generated_out",
    samples=[S(T(3, 4), T(4), T(4), T(4, grad=False), T(4, low=1, high=2, grad=False), 0.1, 1e-5)],
)
def _batch_norm_no_update(input, weight, bias, running_mean, running_var, momentum, eps):
    result = aten.native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return (*result, _nothing(input, "uint8"))


@composite(
    "_batch_norm_with_update.out(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean,"
    " Tensor(b!) running_var, float momentum, float eps, *, Tensor(d!) out, Tensor(e!) save_mean, Tensor(f!) save_invstd,"
    " Tensor(g!) reserve) -> (Tensor(d!), Tensor(e!), Tensor(f!), Tensor(g!))",
    "`_batch_norm_with_update` into four tensors.",
    explicit=True,
)
def _batch_norm_with_update_out(
    input, weight, bias, running_mean, running_var, momentum, eps, *, out, save_mean, save_invstd, reserve
):
    made = aten._batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps)
    outs = (out, save_mean, save_invstd)
    for each, value in zip(outs, made, strict=False):
        aten.copy_(aten.resize_(each, value.shape), value)
    return (*outs, reserve)


_BATCH_NORM = (
    "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps, bool cudnn_enabled"
)


@composite(
    f"_batch_norm_impl_index({_BATCH_NORM}) -> (Tensor, Tensor, Tensor, Tensor, int)",
    "Batch norm, and the number of the implementation that computed it: 0, PyTorch's own.",
    bind="function",
    tags="maybe_aliasing_or_mutating",
    samples=[S(T(3, 4), T(4), T(4), None, None, True, 0.1, 1e-5, True)],
)
def _batch_norm_impl_index(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):  # fmt: skip
    if not input.numel():
        result = aten.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)
        return result, *[input.new_zeros([input.size(1)]) for _ in range(2)], _nothing(input, "uint8"), 0
    made = aten.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return (*made, _nothing(input, "uint8"), 0)


@composite(
    "_batch_norm_impl_index_backward(int impl_index, Tensor input, Tensor grad_output, Tensor? weight,"
    " Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var_transform, bool train, float eps,"
    " bool[3] output_mask, Tensor reservedSpace) -> (Tensor, Tensor, Tensor)",
    "The gradients of `_batch_norm_impl_index`.",
)
def _batch_norm_impl_index_backward(
    impl_index, input, grad_output, weight, running_mean, running_var, save_mean, save_var_transform, train, eps,
    output_mask, reservedSpace,
):  # fmt: skip
    if impl_index != 0:
        raise RuntimeError(f"_batch_norm_impl_index_backward: implementation {impl_index} is not one for the host")
    return aten.native_batch_norm_backward(
        grad_output, input, weight, running_mean, running_var, save_mean, save_var_transform, train, eps, output_mask
    )


@composite(
    "batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, Tensor? running_mean, Tensor? running_var,"
    " Tensor? save_mean, Tensor? save_var, bool update, float eps, bool[3] output_mask, Tensor reserve)"
    " -> (Tensor, Tensor, Tensor)",
    "The gradients of `_batch_norm_with_update`, or with `update` off of `_batch_norm_no_update`.",
    explicit=True,
    samples=[
        S(
            T(3, 4, grad=False),
            T(3, 4, grad=False),
            T(4, grad=False),
            None,
            None,
            T(4, grad=False),
            T(4, low=1, grad=False),
            True,
            1e-5,
            [True, True, True],
            T(0, grad=False),
        )
    ],
)
def batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_var: Tensor | None,
    update: bool,
    eps: float,
    output_mask: list[bool],
    reserve: Tensor,
) -> tuple[Tensor, ...]:
    return aten.native_batch_norm_backward(
        grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask
    )


@composite(
    "batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum)"
    " -> (Tensor, Tensor)",
    "The mean and the variance of each channel of a batch, which go into the running ones.",
    bind="generated_out",
    explicit=True,
    samples=[S(T(3, 4), None, None, 0.1)],
)
def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    if not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    others = [0, *range(2, input.dim())]
    var, mean = aten.var_mean(input, others, correction=0)
    count = input.numel() // input.size(1)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(var * (count / (count - 1)), alpha=momentum)
    return mean, var


@composite(
    "_weight_norm_differentiable_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim)"
    " -> (Tensor, Tensor)",
    "The gradients of weight normalisation from operators that have gradients themselves.",
    samples=[S(T(3, 4), T(3, 4), T(3, 1), T(3, 1, low=1), 0)],
    dtypes="float",
)
def _weight_norm_differentiable_backward(grad_w, saved_v, saved_g, saved_norms, dim):
    if dim not in (0, saved_v.dim() - 1):
        raise RuntimeError("Expected dim to be the first or last dimension")
    if not saved_v.size(dim):
        raise RuntimeError(f"cannot tell the norms of a tensor of sizes {list(saved_v.shape)} along dimension {dim}")
    others = [place for place in range(saved_v.dim()) if place != dim]
    along = (grad_w * saved_v).sum(others, keepdim=True)
    to_v = saved_g * (grad_w / saved_norms - saved_v * along / saved_norms.pow(3))
    return to_v, along / saved_norms
