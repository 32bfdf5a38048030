"""`torch.masked`: reductions and normalisations of the elements that a mask leaves in, and tensors that carry their mask.

The functions take a plain tensor and `mask=`, True where an element counts; a :class:`MaskedTensor` has both, and the
operators of torch respect it (docs/masked.md).

    >>> x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> mask = torch.tensor([[True, False, True], [False, False, False]])
    >>> torch.masked.sum(x, 1, mask=mask)
    tensor([4., 0.])
    >>> torch.masked.mean(x, 1, mask=mask)
    tensor([2., nan])
    >>> torch.masked.as_masked_tensor(x, mask).sum(1).to_tensor(-1.0)
    tensor([ 4., -1.])
"""

from ._layouts import _input_mask, _where
from ._layouts import canonical_dim as _canonical_dim
from ._ops import (
    _combine_input_and_mask,
    _output_mask,
    _reduction_identity,
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)
from .maskedtensor.core import MaskedTensor, is_masked_tensor
from .maskedtensor.creation import as_masked_tensor, masked_tensor

__all__ = [
    "MaskedTensor",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]
