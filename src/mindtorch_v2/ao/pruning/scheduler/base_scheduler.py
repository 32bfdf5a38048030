"""The base of schedulers: the level of sparsity of each tensor, from step to step."""

from __future__ import annotations

import functools
import warnings
import weakref
from typing import Any

from mindtorch_v2.ao.pruning.sparsifier.base_sparsifier import BaseSparsifier

__all__ = ["BaseScheduler"]


def _counted(step: Any) -> Any:
    """A sparsifier's step, that counts its calls."""
    if getattr(step, "_with_counter", False):
        return step
    of, function = weakref.ref(step.__self__), step.__func__

    @functools.wraps(function)
    def counting(*args: Any, **kwargs: Any) -> Any:
        sparsifier = of()
        assert sparsifier is not None
        sparsifier._step_count += 1
        return function(sparsifier, *args, **kwargs)

    counting._with_counter = True  # type: ignore[attr-defined]  # (a mark)
    return counting


class BaseScheduler:
    """The base of schedulers. A class of its own gives in `get_sl` the levels of the step `last_epoch`.

    >>> class Halving(torch.ao.pruning.BaseScheduler):
    ...     def get_sl(self):
    ...         return [level / 2**self.last_epoch for level in self.base_sl]
    >>> sparsifier = torch.ao.pruning.WeightNormSparsifier(sparsity_level=0.8)
    >>> sparsifier.prepare(torch.nn.Sequential(torch.nn.Linear(4, 1)), config=None)
    >>> scheduler = Halving(sparsifier)
    >>> sparsifier.step()
    >>> scheduler.step()
    >>> scheduler.get_last_sl()
    [0.4]
    """

    def __init__(self, sparsifier: BaseSparsifier, last_epoch: int = -1, verbose: bool = False) -> None:
        if not isinstance(sparsifier, BaseSparsifier):
            raise TypeError(f"{type(sparsifier).__name__} is not an instance of torch.ao.pruning.BaseSparsifier")
        self.sparsifier: Any
        self.sparsifier = sparsifier
        self.base_sl = [group["sparsity_level"] for group in sparsifier.groups]
        self.last_epoch = last_epoch
        self.sparsifier.step = _counted(self.sparsifier.step)
        self.sparsifier._step_count = 0
        self._step_count = 0
        self.verbose = verbose
        self._get_sl_called_within_step = False
        self.step()

    def state_dict(self) -> dict[str, Any]:
        """All but the sparsifier."""
        return {key: value for key, value in self.__dict__.items() if key != "sparsifier"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state as `state_dict` gives it."""
        self.__dict__.update(state_dict)

    def get_last_sl(self) -> list[float]:
        """The levels that the last step set."""
        return self._last_sl

    def _warn_outside_step(self) -> None:
        if not self._get_sl_called_within_step:
            warnings.warn(
                "To get the last sparsity level computed by the scheduler, please use `get_last_sl()`.", stacklevel=3
            )

    def get_sl(self) -> list[float]:
        """The levels of a step; NotImplementedError where a class does not say."""
        self._warn_outside_step()
        raise NotImplementedError

    def print_sl(self, is_verbose: bool, group: int, sl: float, epoch: int | None = None) -> None:
        """Print a level."""
        if is_verbose and epoch is None:
            print(f"Adjusting sparsity level of group {group} to {sl:.4e}.")
        elif is_verbose:
            print(f"Epoch {epoch:5d}: adjusting sparsity level of group {group} to {sl:.4e}.")

    def __repr__(self) -> str:
        return f"{type(self).__name__} (\nSparsifier {self.sparsifier}\n    base_sl: {self.base_sl}\n)"

    def step(self, epoch: int | None = None) -> None:
        """Set the levels of the next step."""
        if self._step_count == 1:
            if not hasattr(self.sparsifier.step, "_with_counter"):
                warnings.warn(
                    "Seems like `sparsifier.step()` has been overridden after sparsity scheduler initialization. Please, "
                    "make sure to call `sparsifier.step()` before `scheduler.step()`.",
                    UserWarning,
                    stacklevel=2,
                )
            elif self.sparsifier._step_count < 1:
                warnings.warn(
                    "Detected call of `scheduler.step()` before `sparsifier.step()`. You have to make sure you run the "
                    "sparsifier.step() BEFORE any calls to the scheduler.step().",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        self._get_sl_called_within_step = True
        try:
            self.last_epoch += 1
            levels = self.get_sl()
        finally:
            self._get_sl_called_within_step = False
        for index, (group, level) in enumerate(zip(self.sparsifier.groups, levels, strict=False)):
            group["sparsity_level"] = level
            self.print_sl(self.verbose, index, level, epoch)
        self._last_sl = [group["sparsity_level"] for group in self.sparsifier.groups]
        self.sparsifier.enable_mask_update = True

    def _make_sure_a_list(self, var: Any) -> list[Any]:
        """A value for each group; ValueError for a list of another length."""
        count = len(self.sparsifier.groups)
        if not isinstance(var, list | tuple):
            return [var] * count
        if len(var) != count:
            raise ValueError(f"Expected variable of length {count}, but got {len(var)}")
        return list(var)
