"""Schemes by which tensors are quantized."""

from __future__ import annotations


class qscheme:
    """A scheme: one scale for a tensor or one for each channel, with a zero point or symmetric.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     q = torch.quantize_per_tensor(torch.tensor([0.5, 1.0]), scale=0.5, zero_point=0, dtype=torch.qint8)
    >>> q.qscheme()
    torch.per_tensor_affine
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.__module__ = __package__.rpartition(".")[0]  # where pickles look for it by its name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


per_tensor_affine = qscheme("per_tensor_affine")
per_channel_affine = qscheme("per_channel_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
