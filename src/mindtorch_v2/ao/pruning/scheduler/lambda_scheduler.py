"""Sparsity by a function of the step."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.ao.pruning.scheduler.base_scheduler import BaseScheduler

__all__ = ["LambdaSL"]


class LambdaSL(BaseScheduler):
    """The sparsifier's level times a function of the step, or of each group's function.

    >>> sparsifier = torch.ao.pruning.WeightNormSparsifier(sparsity_level=0.8)
    >>> sparsifier.prepare(torch.nn.Sequential(torch.nn.Linear(4, 1)), config=None)
    >>> scheduler = torch.ao.pruning.LambdaSL(sparsifier, lambda epoch: 0.5**epoch)
    >>> sparsifier.step()
    >>> scheduler.step()
    >>> scheduler.get_last_sl()
    [0.4]
    """

    def __init__(self, sparsifier: Any, sl_lambda: Any, last_epoch: int = -1, verbose: bool = False) -> None:
        self.sparsifier = sparsifier
        count = len(sparsifier.groups)
        if not isinstance(sl_lambda, list | tuple):
            sl_lambda = [sl_lambda] * count
        elif len(sl_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(sl_lambda)}")
        self.sl_lambdas = list(sl_lambda)
        super().__init__(sparsifier, last_epoch, verbose)

    def get_sl(self) -> list[float]:
        """The levels of a step."""
        self._warn_outside_step()
        return [level * by(self.last_epoch) for by, level in zip(self.sl_lambdas, self.base_sl, strict=True)]
