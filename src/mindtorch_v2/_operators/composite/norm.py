"""Norms of tensors, vectors and matrices as users call them, weight normalisation and renorm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import _C
from ..._core.dimensions import wrap_dim
from ..._core.dtype import finfo
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


@composite(
    "_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
    "`v` scaled so that its norms over all dimensions but `dim` are `g`.",
    bind="function",
    samples=[S(T(3, 4), T(3, 1))],
)
def _weight_norm(v, g, dim=0):
    return (
        aten._weight_norm_interface(v, g, dim)[0]
        if dim in (0, v.dim() - 1)
        else v * (g / aten.norm_except_dim(v, 2, dim))
    )


def _weight_norm_grad(grad, v, g, dim, result1):
    # The kept norms have no history: a gradient that is to be differentiated makes its own.
    norms = aten.norm_except_dim(v, 2, dim) if _C.is_grad_enabled() else result1
    return aten._weight_norm_interface_backward(grad, v, g, norms, dim)


@composite(
    "_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
    "`v` scaled so that its norms over all dimensions but `dim` are `g`, and the norms it had.",
    bind="function generated_out",
    explicit=True,
    grad={("v", "g"): _weight_norm_grad},
    nondiff=(1,),
    samples=[S(T(3, 4), T(3, 1)), S(T(3, 4), T(1, 4), 1)],
)
def _weight_norm_interface(v, g, dim=0) -> tuple:
    _check_outer(v, dim)
    wide = v.float() if v.element_size() == 2 else v
    norms = aten.norm_except_dim(wide, 2, dim)
    return (wide * (g / norms)).to(v.dtype), norms


@composite(
    "_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim)"
    " -> (Tensor, Tensor)",
    "The gradients of weight normalisation by direction and by norm.",
    bind="function generated_out",
    samples=[S(T(3, 4), T(3, 4), T(3, 1), T(3, 1, low=1), 0), S(T(3, 4), T(3, 4), T(1, 4), T(1, 4, low=1), 1)],
    dtypes="float",
)
def _weight_norm_interface_backward(grad_w, saved_v, saved_g, saved_norms, dim) -> tuple:
    _check_outer(saved_v, dim)
    grad, v, g = (x.to(saved_norms.dtype) for x in (grad_w, saved_v, saved_g))
    others = list(range(1, v.dim())) if dim == 0 else list(range(v.dim() - 1))
    along = (grad * v).sum(others, keepdim=True) if others else grad * v
    into_v = g / saved_norms * (grad - v * along / saved_norms.square())
    return into_v.to(saved_v.dtype), (along / saved_norms).to(saved_g.dtype)


def _check_outer(v, dim) -> None:
    if dim not in (0, v.dim() - 1):
        raise RuntimeError("fused kernels can only be applied for first or last dim")


@composite(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training,"
    " float momentum, float eps, bool cudnn_enabled) -> Tensor",
    "Normalises each channel over all other dimensions.",
    bind="function",
    tags="maybe_aliasing_or_mutating",
    samples=[S(T(3, 4, 2), T(4), T(4), None, None, True, 0.1, 1e-5, True)],
)
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    if input.numel() == 0:
        # Nothing to normalise, but weight and bias stay in the graph.
        result = input.clone()
        if weight is not None:
            result = result * weight.select(0, 0)
        return result if bias is None else result + bias.select(0, 0)
    return aten.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@composite(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,"
    " bool cudnn_enabled=True) -> Tensor",
    "Normalises each sample's groups of channels.",
    bind="function",
    samples=[S(T(2, 4, 3), 2, T(4), T(4))],
)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    n, c = input.size(0), input.size(1)
    for name, x in (("weight", weight), ("bias", bias)):
        if x is not None and (x.dim() != 1 or x.numel() != c):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of"
                f" shape {list(x.shape)} and input of shape {list(input.shape)}"
            )
    places = math.prod(input.shape[2:])
    return aten.native_group_norm(input, weight, bias, n, c, places, num_groups, eps)[0]


@composite(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,"
    " bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    "Normalises each channel of each sample.",
    bind="function",
    samples=[S(T(2, 3, 4), T(3), T(3), None, None, True, 0.1, 1e-5, True)],
)
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    n, c = input.size(0), input.size(1)
    rows = [1, n * c, *input.shape[2:]]

    def repeated(x: Tensor | None) -> Tensor | None:
        return None if x is None else x.repeat(n)

    mean, var = repeated(running_mean), repeated(running_var)
    flat = input.contiguous().view(rows)
    out = aten.batch_norm(
        flat, repeated(weight), repeated(bias), mean, var, use_input_stats, momentum, eps, cudnn_enabled
    )
    if use_input_stats:
        for running, updated in ((running_mean, mean), (running_var, var)):
            if running is not None and updated is not None:
                running.copy_(updated.view([n, c]).mean(0))
    return out.view(input.shape)


@composite(
    "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,"
    " bool cudnn_enable=True) -> Tensor",
    "Layer norm over the trailing dimensions.",
    bind="function",
    functional="layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5)",
    samples=[S(T(3, 4), [4], T(4), T(4)), S(T(2, 3, 4), [3, 4])],
)
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    return aten.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


@composite(
    "norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
    "The norms over all dimensions but `dim`.",
    bind="function",
    samples=[S(3, 4), S(T(3, 4), 2, 1)],
)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    if dim == -1:
        return aten.linalg_vector_norm(v, pow)
    if dim == 0:
        rows = v.contiguous().view([v.size(0), -1])
        return aten.linalg_vector_norm(rows, pow, [1]).view([v.size(0)] + [1] * (v.dim() - 1))
    if dim == v.dim() - 1:
        columns = v.contiguous().view([-1, v.size(-1)])
        return aten.linalg_vector_norm(columns, pow, [0]).view([1] * (v.dim() - 1) + [v.size(-1)])
    return aten.norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


@composite(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    "Slices along `dim` whose p-norm is above `maxnorm`, scaled down to it.",
    bind="function method inplace out",
    out_dtype="exact",
    samples=[S(T(3, 4), 2, 0, 1.0)],
    node="RenormBackward0",
)
def renorm(self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    if self.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.dim()} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive norm degree not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    dim %= self.dim()
    norm = aten.linalg_vector_norm(self, p, [d for d in range(self.dim()) if d != dim], True)
    factor = aten.where(norm > maxnorm, maxnorm / (norm + 1e-7), aten.ones_like(norm))
    return self * factor


@composite(
    "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    "Divides by the root mean square over the trailing dimensions.",
    bind="function",
    functional="rms_norm(input, normalized_shape, weight=None, eps=None)",
    samples=[S(T(3, 4), [4], T(4)), S(T(2, 3, 4), [3, 4], None, 1e-6)],
)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    if input.is_complex() and input.shape[-len(normalized_shape) :] == tuple(normalized_shape):
        eps = finfo(input.dtype).eps if eps is None else eps
        squares = input.square().mean(list(range(-len(normalized_shape), 0)), True)
        scaled = input * (squares + eps).rsqrt()
        return scaled if weight is None else scaled * weight
    return aten._fused_rms_norm(input, normalized_shape, weight, eps)[0]


# ---- linalg ----


def _matrix_norm(self, ord, dim, keepdim, dtype):
    if isinstance(ord, complex):
        raise RuntimeError("linalg.matrix_norm: Expected a non-complex scalar as the order of norm.")
    if self.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(str(d) for d in dim) or 0}")
    x = self if dtype is None else self.to(dtype)
    first, second = (wrap_dim(d, x.dim()) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return aten.linalg_vector_norm(x, 2, [first, second], keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        rest = [d for d in range(x.dim()) if d not in (first, second)]
        values = aten.linalg_svdvals(x.permute([*rest, first, second]))
        if ord == "nuc" or values.size(-1) == 0:
            result = values.sum(-1)
        else:
            result = values.amax(-1) if ord > 0 else values.amin(-1)
        if keepdim:
            for d in sorted((first, second)):
                result = result.unsqueeze(d)
        return result
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, kept = (first, second) if abs(ord) == 1 else (second, first)
    sums = aten.linalg_vector_norm(x, 1, [summed], True)
    if ord > 0 and sums.size(kept) == 0:
        result = sums.sum(kept, True)  # the largest of no sums is 0, as those of no numbers are
    else:
        result = sums.amax(kept, True) if ord > 0 else sums.amin(kept, True)
    return result if keepdim else result.squeeze(max(first, second)).squeeze(min(first, second))


@composite(
    "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    "Norm of matrices, by a number.",
    bind="linalg out",
    out_dtype="linalg.matrix_norm expected out tensor dtype {result} but got: {out}",
)
def linalg_matrix_norm(
    self: Tensor, ord: Number, dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: _C.dtype | None = None
) -> Tensor:
    return _matrix_norm(self, ord, dim, keepdim, dtype)


@composite(
    'linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, '
    "ScalarType? dtype=None) -> Tensor",
    "Norm of matrices, by a name.",
    bind="linalg out",
    out_dtype="linalg.matrix_norm expected out tensor dtype {result} but got: {out}",
)
def linalg_matrix_norm_str(
    self: Tensor,
    ord: str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: _C.dtype | None = None,
) -> Tensor:
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    return _matrix_norm(self, ord, dim, keepdim, dtype)


def _norm(self, ord, dim, keepdim, dtype):
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if dim is None and ord is not None and self.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    if ord is not None and ((dim is not None and len(dim) == 2) or (dim is None and self.dim() == 2)):
        return _matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    if isinstance(ord, str):  # of matrices only: it is told so
        return _matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    return aten.linalg_vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@composite(
    "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    "Norm of vectors or matrices.",
    bind="linalg out",
    out_dtype="linalg.norm expected out tensor dtype {result} but got: {out}",
    samples=[S(T(3, 4)), S(T(3, 4), 1), S(T(5), 3)],
)
def linalg_norm(
    self: Tensor,
    ord: Number | None = None,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: _C.dtype | None = None,
) -> Tensor:
    return _norm(self, ord, dim, keepdim, dtype)


@composite(
    "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "Norm of matrices by name.",
    bind="linalg out",
    out_dtype="linalg.norm expected out tensor dtype {result} but got: {out}",
    samples=[S(T(3, 4), "fro"), S(T(3, 4), "nuc")],
)
def linalg_norm_str(
    self: Tensor, ord: str, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: _C.dtype | None = None
) -> Tensor:
    return _norm(self, ord, dim, keepdim, dtype)


@composite(
    "_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var,"
    " float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    "Batch norm of training: the result, the batch's mean and inverse deviation, and memory that only GPUs reserve.",
    bind="function",
)
def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps) -> tuple:
    result = aten.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*result, aten.empty([0], dtype=_C._dtypes["uint8"], device=input.device))
