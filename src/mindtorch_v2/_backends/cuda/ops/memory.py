"""Memory of tensors, and who uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...common import memory_users
from .. import state
from ..stream import Stream
from ..table import kernel

if TYPE_CHECKING:
    from ...._core.stream import Stream as _Stream
    from ...._tensor import Tensor


@kernel("record_stream")
def record_stream(self: Tensor, s: int | _Stream) -> None:
    memory_users.record_stream(self, s, Stream, state.get().memory)
