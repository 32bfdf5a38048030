"""Operators that are functions of Python here: einsum, gradients of numbers, spectra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._core.above import above
from ..table import aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


@composite(
    "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    "Sums of products by Einstein's notation; `path` names the pairs that are multiplied first, one after the other.",
)
def einsum(equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None) -> Tensor:
    if path is not None and len(path) != (2 * (len(tensors) - 1) if len(tensors) > 1 else 1):
        raise RuntimeError(
            "einsum(): expected contraction path given in path parameter to have size 2 * (number of operands - 1)"
        )
    return above.functional().einsum(equation, *tensors)


_DIM, _DIMS = "int? dim=None", "int[] dim"
_SPACINGS = {
    "scalarint": f"Scalar? spacing=None, {_DIM}",
    "scalararray": f"Scalar spacing, {_DIMS}",
    "array": _DIMS,
    "scalarrayint": f"Scalar[] spacing, {_DIM}",
    "scalarrayarray": f"Scalar[] spacing, {_DIMS}",
    "tensorarrayint": f"Tensor[] spacing, {_DIM}",
    "tensorarray": f"Tensor[] spacing, {_DIMS}",
}

for _overload, _arguments in _SPACINGS.items():

    @composite(
        f"gradient.{_overload}(Tensor self, *, {_arguments}, int edge_order=1) -> Tensor[]",
        "Slopes along dimensions, from differences of neighbours.",
    )
    def gradient(
        self: Tensor,
        *,
        spacing: Number | Sequence[Number] | Sequence[Tensor] | None = None,
        dim: int | Sequence[int] | None = None,
        edge_order: int = 1,
    ) -> Sequence[Tensor]:
        return list(above.functional().gradient(self, spacing=spacing, dim=dim, edge_order=edge_order))


@composite(
    "stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True,"
    ' str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None,'
    " bool? align_to_window=None) -> Tensor",
    "Spectra of overlapping windows; with `center` the signal is padded so that windows stand around their places.",
)
def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    if center:
        wide = self.unsqueeze(0) if self.dim() == 1 else self
        half = n_fft // 2
        padded = aten.pad(wide, [half, half], pad_mode)
        self = padded.squeeze(0) if self.dim() == 1 else padded
    return aten.stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)


@composite("flatten_dense_tensors(Tensor[] tensors) -> Tensor", "All elements of the tensors in one vector.", bind="nn")
def flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    return aten.cat([aten.reshape(each.contiguous(), [-1]) for each in tensors])


@composite(
    "unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]",
    "Parts of a vector in the sizes of the tensors.",
    bind="nn",
)
def unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    parts: list[Any] = []
    at = 0
    for each in tensors:
        count = each.numel()
        part = flat.narrow(0, at, count) if count else flat.new_empty([0])
        parts.append(aten.view(part, each.shape))
        at += count
    return parts


@composite("_dim_arange(Tensor like, int dim) -> Tensor", "0, 1, ... along a dimension of `like`.", bind="function")
def _dim_arange(like, dim):
    return aten.arange(like.size(dim), dtype=None, device=like.device)


@composite("_to_cpu(Tensor[] tensors) -> Tensor[]", "The tensors on the host.", bind="function")
def _to_cpu(tensors):
    return [each.cpu() for each in tensors]


@composite(
    "_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor", "`reshape` to sizes in a tensor.", bind="function"
)
def _reshape_from_tensor(self, shape):
    if shape.dim() != 1:
        raise RuntimeError("_reshape_from_tensor: the sizes are expected in a vector")
    return aten.reshape(self, shape.tolist())


_MODES = ("reflect", "replicate", "circular", "constant")


@composite(
    "_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor",
    "`pad` with the mode as a number: reflect, replicate, circular, constant.",
    bind="nn",
)
def _pad_enum(self, pad, mode, value=None):
    if not 0 <= mode < len(_MODES):
        raise RuntimeError(f"Unrecognised padding mode {mode}")
    return aten.pad(self, pad, _MODES[mode], value)


@composite("_stack(Tensor[] tensors, int dim=0) -> Tensor", "`stack` of tensors of one size.", bind="function out")
def _stack(tensors, dim=0):
    return aten.stack(tensors, dim)
