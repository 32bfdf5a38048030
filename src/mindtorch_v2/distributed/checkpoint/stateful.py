"""Objects that have a state which checkpoints hold."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """An object that `save` asks for its state, and `load` gives it back, where it stands in a state dictionary.

    >>> from mindtorch_v2.distributed.checkpoint.stateful import Stateful
    >>> class Progress:
    ...     step = 7
    ...     def state_dict(self):
    ...         return {"step": self.step}
    ...     def load_state_dict(self, state):
    ...         self.step = state["step"]
    >>> isinstance(Progress(), Stateful)
    True
    """

    def state_dict(self) -> dict[str, Any]:
        """The state; `load` reads into its tensors."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state."""
        ...
