"""Steps of a pipeline: what a rank does with a stage and a micro-batch, and how that is written."""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

__all__ = ["Action", "ComputationType"]


class ComputationType(enum.Enum):
    """Kinds of steps; their values are how they are written."""

    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    UNSHARD = "UNSHARD"
    RESHARD = "RESHARD"
    SEND_F = "SEND_F"
    RECV_F = "RECV_F"
    SEND_B = "SEND_B"
    RECV_B = "RECV_B"
    FULL_BACKWARD = "B"
    OVERLAP_F_B = "OVERLAP_F_B"
    REDUCE_GRAD = "REDUCE_GRAD"

    @staticmethod
    def from_str(action: str) -> ComputationType:
        """The kind that is written so; RuntimeError for what is none."""
        try:
            return ComputationType(action)
        except ValueError:
            raise RuntimeError(f"Invalid computation type {action}") from None


_WRITTEN = re.compile(r"(\d+)(F|I|B|W|UNSHARD|RESHARD|REDUCE_GRAD|SEND_F|RECV_F|SEND_B|RECV_B)(\d*)")


class Action(NamedTuple):
    """A step of a rank: "2F0" is forward of the first micro-batch on stage 2.

    Several that go together are `sub_actions` of one.
    """

    stage_index: int
    computation_type: ComputationType
    microbatch_index: int | None = None
    sub_actions: tuple[Action, ...] | None = None

    def __str__(self) -> str:
        if self.sub_actions is not None:
            return f"({';'.join(map(str, self.sub_actions))}){self.computation_type.value}"
        place = "" if self.microbatch_index is None else self.microbatch_index
        return f"{self.stage_index}{self.computation_type.value}{place}"

    def __repr__(self) -> str:
        return str(self)

    @property
    def is_compute_op(self) -> bool:
        """Whether it computes, rather than to send, receive, gather or free."""
        kinds = ComputationType
        return self.computation_type in (
            kinds.FORWARD,
            kinds.FULL_BACKWARD,
            kinds.BACKWARD_INPUT,
            kinds.BACKWARD_WEIGHT,
            kinds.OVERLAP_F_B,
        )

    @staticmethod
    def from_str(action_string: str) -> Action | None:
        """The step that is written so; None for nothing. RuntimeError for what is no step."""
        text = action_string.strip()
        if not text:
            return None
        if text.startswith("("):
            inside, _, kind = text[1:].partition(")")
            parts = tuple(filter(None, map(Action.from_str, inside.split(";"))))
            return Action(-1, ComputationType.from_str(kind), None, parts)
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise RuntimeError(
                f"Invalid action string: {action_string}, should be formatted as [stage][action type][(microbatch)] e.g. 2F0"
            )
        stage, kind, place = found.groups()
        return Action(int(stage), ComputationType.from_str(kind), int(place) if place else None)


Action.__name__ = Action.__qualname__ = "_Action"
ComputationType.__name__ = ComputationType.__qualname__ = "_ComputationType"
