"""MaskedTensors of data and masks."""

from __future__ import annotations

from typing import Any

from .core import MaskedTensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A MaskedTensor of its own: a leaf with copies of data and mask.

    >>> x = torch.masked.masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))
    >>> x.exp()
    MaskedTensor(
      [  2.7183,       --]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> Any:
    """A MaskedTensor of data with history: gradients go on to the data.

    >>> torch.masked.as_masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False])).get_mask()
    tensor([ True, False])
    """
    return MaskedTensor._from_values(data, mask)
