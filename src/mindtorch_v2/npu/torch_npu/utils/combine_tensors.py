"""Tensors that lie one after the other in one piece of memory, so that one operator does the work of many."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch

__all__ = [
    "get_part_combined_tensor",
    "get_storage_size",
    "is_combined_tensor_valid",
    "npu_change_data_ptr",
    "npu_combine_tensors",
]


def get_storage_size(tensor: torch.Tensor) -> int:
    """The number of elements that the memory behind a tensor holds; of a tensor that was moved into another's those of its own."""
    own = tensor.__dict__.get("_npu_elements")
    return own if own is not None else tensor.untyped_storage().nbytes() // tensor.element_size()


def npu_change_data_ptr(dst: torch.Tensor, src: torch.Tensor, offset: int) -> int:
    """Let a contiguous tensor lie in the memory of another of its dtype, from its element `offset` on; returns 0.

    Raises:
        RuntimeError: it is not contiguous, the dtypes differ, or there is no room.
    """
    if dst.dtype != src.dtype or not dst.is_contiguous():
        raise RuntimeError(
            f"npu_change_data_ptr(): a contiguous tensor of {src.dtype} was expected, but it is one of {dst.dtype}"
        )
    if offset < 0 or offset + dst.numel() > get_storage_size(src):
        raise RuntimeError(
            f"npu_change_data_ptr(): {dst.numel()} elements from {offset} on are not within the {get_storage_size(src)} there are"
        )
    dst._npu_elements = get_storage_size(dst)  # type: ignore[attr-defined]  # (a mark on the tensor)
    dst.data = torch.as_strided(src.detach(), dst.shape, dst.stride(), offset)
    return 0


def npu_combine_tensors(list_of_tensor: Sequence[torch.Tensor], require_copy_value: bool = True) -> torch.Tensor | None:
    """One new tensor, into whose memory the tensors of a list are moved, with their numbers unless told otherwise; None for nothing.

    Raises:
        RuntimeError: they are not contiguous NPU tensors of one dtype.
    """
    for each in list_of_tensor:
        if each is None or each.device.type != "npu" or not each.is_contiguous():
            raise RuntimeError("npu_combine_tensors(): contiguous tensors of an NPU were expected")
        if each.dtype != list_of_tensor[0].dtype:
            raise RuntimeError(
                f"npu_combine_tensors(): one dtype was expected, but they are {list_of_tensor[0].dtype} and {each.dtype}"
            )
    total = sum(get_storage_size(each) for each in list_of_tensor)
    if not total:
        return None
    combined = torch.zeros(total, dtype=list_of_tensor[0].dtype, device=list_of_tensor[0].device)
    place = 0
    with torch.no_grad():
        for each in list_of_tensor:
            size, values = get_storage_size(each), each.detach().clone()
            npu_change_data_ptr(each, combined, place)
            if require_copy_value:
                each.copy_(values)
            place += size
    return combined


def get_part_combined_tensor(combined_tensor: torch.Tensor | None, index: int, size: int) -> torch.Tensor | None:
    """The elements of a combined tensor from `index` on, as a tensor over the same memory; None for none.

    Raises:
        RuntimeError: it has not as many.
    """
    if combined_tensor is None or size == 0:
        return None
    if index + size > get_storage_size(combined_tensor):
        raise RuntimeError(
            f"get_part_combined_tensor(): {index} and {size} are more than the {get_storage_size(combined_tensor)} elements there are"
        )
    return combined_tensor.detach().view(-1)[index : index + size]


def is_combined_tensor_valid(
    combined_tensor: torch.Tensor | None, list_of_tensor: Sequence[torch.Tensor | None]
) -> bool:
    """Whether all tensors of a list are contiguous and lie in the memory of a combined one."""
    if not list_of_tensor:
        return True
    if combined_tensor is None:
        return False
    start = combined_tensor.data_ptr()
    end = start + get_storage_size(combined_tensor) * combined_tensor.element_size()
    return all(each is not None and start <= each.data_ptr() < end and each.is_contiguous() for each in list_of_tensor)
