"""New tensors in particular memory: a file's, or pages that stay where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ..._core.dtype import DTYPES
from ..._core.storage import UntypedStorage
from ..table import ROWS, S, T, aten, composite, declare

if TYPE_CHECKING:
    from ..._tensor import Tensor


@composite(
    "_pin_memory(Tensor self, Device? device=None) -> Tensor",
    "A copy in page-locked memory, which an accelerator reads by itself.",
    bind="generated_out",
)
def _pin_memory(self, device=None):
    return self.pin_memory(device)


@composite("is_pinned(Tensor self, Device? device=None) -> bool", "Whether the storage is page-locked memory.")
def is_pinned(self: Tensor, device: _C.device | None = None) -> bool:
    return self.layout == _C.strided and self.untyped_storage().is_pinned()


@composite(
    "from_file(str filename, bool? shared=None, int? size=0, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    "The elements of a file as a tensor of one dimension; with shared=True what is written to one is in the other.",
    bind="function generated_out",
)
def from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: _C.dtype | None = None,
    layout: _C.layout | None = None,
    device: _C.device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    made = aten.empty(0, dtype=dtype, layout=layout, device=device)
    memory = UntypedStorage.from_file(filename, bool(shared), size * made.element_size())
    return made.set_(memory, 0, (size,))


@composite(
    "_shape_as_tensor(Tensor self) -> Tensor", "The sizes as a tensor of int64.", bind="function", samples=[S(T(2, 3))]
)
def _shape_as_tensor(self):
    return _C.tensor(self.shape, dtype=DTYPES["int64"])


declare(
    "record_stream(Tensor(a!) self, Stream s) -> ()",
    "Tell the allocator that work on another stream uses the memory: once freed, it waits for that stream.",
    bind="method",
)
# The schema marks the tensor as written, for its memory is; its values are not.
ROWS["record_stream"].handle.impl("ADInplaceOrView", None)

declare(
    "_copy_from(Tensor self, Tensor dst, bool non_blocking=False) -> Tensor",
    "Copy into `dst`, where one of them lies on a device of a program's own: its kernel is the program's.",
    devices={"dst": "any"},
)
declare(
    "_copy_from_and_resize(Tensor self, Tensor dst) -> Tensor",
    "Copy into `dst`, which takes the size, where one of them lies on a device of a program's own.",
    devices={"dst": "any"},
)
