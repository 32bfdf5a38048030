"""`torch.nested`: batches of entries of different sizes, without padding (docs/nested.md).

>>> x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
>>> x.shape[0], x.shape[2], x.values().shape
(2, 3, torch.Size([6, 3]))
>>> torch.nn.functional.linear(x, torch.ones(1, 3)).unbind()[0]
tensor([[3.],
        [3.]])
>>> torch.nested.to_padded_tensor(x.sum(-1), 0.0)
tensor([[3., 3., 0., 0.],
        [3., 3., 3., 3.]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from ._internal import ops  # what functions do to NestedTensors
from ._internal.nested_tensor import (
    NestedTensor,
    jagged_from_dense,
    jagged_from_list,
    jagged_from_tensor_and_lengths,
    nested_view_from_values_offsets_lengths,
)
from ._internal.strided import StridedNestedTensor, strided_from_dense, strided_from_list

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def _check_layout(layout: Any) -> None:
    if layout not in (None, torch.strided, torch.jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> torch.Tensor:
    """A nested tensor of tensors with their history: gradients go on to them.

    `ts` is a sequence of tensors, a tensor whose rows are the entries, or a nested tensor. `layout` is `torch.strided`
    (the default; entries may differ in every size) or `torch.jagged` (in one size, and most functions know it).

    >>> torch.nested.as_nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged).unbind()
    (tensor([1., 1.]), tensor([1., 1., 1.]))
    """
    _check_layout(layout)
    if isinstance(ts, (NestedTensor, StridedNestedTensor)):
        if layout not in (None, torch.jagged if isinstance(ts, NestedTensor) else torch.strided):
            raise RuntimeError("Converting between nested tensor layouts is not supported")
        kept = dtype in (None, ts.dtype) and device in (None, ts.device, str(ts.device))
        return ts if kept else ts.to(dtype=dtype or ts.dtype, device=device or ts.device)
    if isinstance(ts, torch.Tensor):
        if ts.dim() < 2:
            raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
        ts = ts.to(device=device, dtype=dtype)
        return jagged_from_dense(ts) if layout == torch.jagged else strided_from_dense(ts)
    if not isinstance(ts, (list, tuple)) or not all(isinstance(t, torch.Tensor) for t in ts):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors")
    if layout == torch.jagged:
        return jagged_from_list(ts, dtype=dtype, device=device)[0]
    dtype = dtype or (ts[0].dtype if ts else None)
    return strided_from_list([t.to(device=device, dtype=dtype, copy=True) for t in ts])


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> torch.Tensor:
    """A nested tensor of its own, a leaf, of copies of tensors, lists or numbers. See :func:`as_nested_tensor` for `layout`.

    >>> torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged).unbind()
    (tensor([1., 1.]), tensor([1., 1., 1.]))
    """
    _check_layout(layout)
    entries = [
        (t.detach() if isinstance(t, torch.Tensor) else torch.as_tensor(t)).to(device=device, dtype=dtype).clone()
        for t in tensor_list
    ]
    if layout != torch.jagged and dtype is None and entries:
        entries = [t.to(entries[0].dtype) for t in entries]
    made = jagged_from_list(entries)[0] if layout == torch.jagged else strided_from_list(entries)
    return made.detach().requires_grad_(requires_grad)


def to_padded_tensor(input: torch.Tensor, padding: float, output_size: Any = None) -> torch.Tensor:
    """A dense tensor of a nested one's entries, each filled up with `padding`.

    >>> torch.nested.to_padded_tensor(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), 0.0)
    tensor([[1., 1., 0.],
            [1., 1., 1.]])
    """
    if not getattr(input, "is_nested", False):
        raise RuntimeError("to_padded_tensor() expects a nested tensor")
    return type(input).__torch_function__(to_padded_tensor, (type(input),), (input, padding, output_size))


def nested_tensor_from_jagged(
    values: torch.Tensor,
    offsets: torch.Tensor | None = None,
    lengths: torch.Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> torch.Tensor:
    """A nested tensor over a buffer, of which `offsets` say where the entries begin, `lengths` how long they are, or both.

    Gradients go on to `values`. Raises RuntimeError where neither is given.

    >>> torch.nested.nested_tensor_from_jagged(torch.arange(5.0), torch.tensor([0, 2, 5])).unbind()
    (tensor([0., 1.]), tensor([2., 3., 4.]))
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)), None
    place = 1 if jagged_dim is None else jagged_dim
    return nested_view_from_values_offsets_lengths(values, offsets, lengths, place, min_seqlen, max_seqlen)


def narrow(tensor: torch.Tensor, dim: int, start: Any, length: Any, layout: Any = torch.strided) -> torch.Tensor:
    """Of each row of a tensor the part from `start` on, `length` long: both numbers, or one for each row.

    >>> torch.nested.narrow(torch.ones(2, 4), 1, torch.tensor([0, 1]), torch.tensor([1, 3]), layout=torch.jagged).unbind()
    (tensor([1.]), tensor([1., 1., 1.]))
    """
    _check_layout(layout)
    starts, lengths = (torch.as_tensor(each).expand(tensor.shape[0]) for each in (start, length))
    if layout == torch.jagged:
        if dim != 1:
            raise RuntimeError("jagged layout only supports dim=1")
        return jagged_from_tensor_and_lengths(tensor, starts, lengths)[0]
    parts = zip(tensor.unbind(), starts.tolist(), lengths.tolist(), strict=True)
    return as_nested_tensor([row.narrow(dim - 1, begin, size) for row, begin, size in parts])


def masked_select(tensor: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Of each row of a tensor what a mask lets count, as a nested tensor; the layout is `torch.jagged`.

    >>> x, mask = torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[True, False, True], [False, True, False]])
    >>> [row.tolist() for row in torch.nested.masked_select(x, mask).unbind()]
    [[1, 3], [5]]
    """
    if tensor.layout != torch.strided or mask.layout != torch.strided:
        raise RuntimeError("torch.nested.masked_select requires a strided tensor and a strided mask")
    tensor, mask = torch.broadcast_tensors(tensor, mask)
    lengths = mask.reshape(mask.shape[0], -1).sum(1)
    return nested_tensor_from_jagged(tensor.masked_select(mask), lengths=lengths)
