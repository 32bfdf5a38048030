"""Tensors that lie one after the other in one piece of memory, so that one operator does the work of many."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch

__all__ = ["get_part_combined_tensor", "is_combined_tensor_valid", "npu_combine_tensors"]


def _elements(tensor: torch.Tensor) -> int:
    """How many elements the memory behind a tensor holds."""
    return tensor.untyped_storage().nbytes() // tensor.element_size()


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
    total = sum(_elements(each) for each in list_of_tensor)
    if not total:
        return None
    combined = torch.zeros(total, dtype=list_of_tensor[0].dtype, device=list_of_tensor[0].device)
    place = 0
    with torch.no_grad():
        for each in list_of_tensor:
            size, values = _elements(each), each.detach().clone()
            each.data = combined[place : place + each.numel()].view(each.shape)
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
    if index + size > _elements(combined_tensor):
        raise RuntimeError(
            f"get_part_combined_tensor(): {index} and {size} are more than the {_elements(combined_tensor)} elements there are"
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
    end = start + _elements(combined_tensor) * combined_tensor.element_size()
    return all(each is not None and start <= each.data_ptr() < end and each.is_contiguous() for each in list_of_tensor)
