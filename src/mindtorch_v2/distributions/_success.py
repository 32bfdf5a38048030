"""The parts that distributions of a success share: its probability, given as `probs` or as log odds `logits`."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2.distributions.utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class SuccessParameter:
    """A mixin: `probs` or `logits`, whichever was given as a tensor, the other computed at its first use.

    `_param` is the one that was given.
    """

    def _take(self, probs, logits):
        """Set the parameter that is not None; return the batch shape that it makes, () for a number.

        ValueError unless exactly one is given.
        """
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, given = ("probs", probs) if probs is not None else ("logits", logits)
        (self._param,) = broadcast_all(given)
        setattr(self, name, self._param)
        return torch.Size() if isinstance(given, numbers.Number) else self._param.size()

    def _take_with_count(self, total_count, probs, logits):
        """The same beside a number of trials, which broadcasts with it and takes its dtype."""
        given = next((p for p in (probs, logits) if p is not None), 0.0)
        total_count, given = broadcast_all(total_count, given)
        shape = self._take(probs if probs is None else given, logits if logits is None else given)
        self.total_count = total_count.type_as(self._param)
        return shape

    @lazy_property
    def logits(self) -> torch.Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> torch.Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Sequence[int]:
        return self._param.size()
