"""Sparsity that grows by a cubic, fast at first."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.ao.pruning.scheduler.base_scheduler import BaseScheduler

__all__ = ["CubicSL"]


class CubicSL(BaseScheduler):
    """From `init_sl` to the sparsifier's level by 1 - (1 - t)^3, as "To prune, or not to prune" (2017) has it.

    Args:
        init_sl, init_t: the first level, and the step from which it grows.
        delta_t, total_t: steps between changes, and how many of those.
        initially_zero: whether it is 0 before `init_t`.

    >>> sparsifier = torch.ao.pruning.WeightNormSparsifier(sparsity_level=0.8)
    >>> sparsifier.prepare(torch.nn.Sequential(torch.nn.Linear(4, 1)), config=None)
    >>> scheduler = torch.ao.pruning.CubicSL(sparsifier, delta_t=1, total_t=2)
    >>> sparsifier.step()
    >>> scheduler.step()
    >>> scheduler.get_last_sl()
    [0.7000000000000001]
    """

    def __init__(
        self,
        sparsifier: Any,
        init_sl: Any = 0.0,
        init_t: Any = 0,
        delta_t: Any = 10,
        total_t: Any = 100,
        initially_zero: Any = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.sparsifier = sparsifier
        self.init_sl, self.init_t = self._make_sure_a_list(init_sl), self._make_sure_a_list(init_t)
        self.delta_t, self.total_t = self._make_sure_a_list(delta_t), self._make_sure_a_list(total_t)
        self.initially_zero = self._make_sure_a_list(initially_zero)
        super().__init__(sparsifier, last_epoch, verbose)

    @staticmethod
    def sparsity_compute_fn(
        s_0: float, s_f: float, t: int, t_0: int, dt: int, n: int, initially_zero: bool = False
    ) -> float:
        """The level of a step."""
        if initially_zero and t < t_0:
            return 0
        level = s_f + (s_0 - s_f) * (1.0 - (t - t_0) / (dt * n)) ** 3
        return max(s_0, min(s_f, level))

    def get_sl(self) -> list[float]:
        """The levels of a step."""
        self._warn_outside_step()
        rows = zip(
            self.init_sl, self.base_sl, self.init_t, self.delta_t, self.total_t, self.initially_zero, strict=True
        )
        return [
            self.sparsity_compute_fn(first, last, self.last_epoch, start, every, count, zero)
            for first, last, start, every, count, zero in rows
        ]
