"""`rearrange`: the dimensions of a tensor by name, in the notation of einops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mindtorch_v2 as torch

from ._patterns import ParsedExpression, _ellipsis, parse_pattern, validate_rearrange_expressions

__all__ = ["rearrange"]


def rearrange(tensor: torch.Tensor | Sequence[torch.Tensor], pattern: str, **axes_lengths: int) -> torch.Tensor:
    """The tensor with its dimensions in another order, split or merged, as `pattern` says: "before -> after".

    Each side names dimensions, separated by spaces; names in parentheses are one dimension, of which the size of all but one
    has to be given by name; `...` is any number of dimensions, `1` one of a single element. A list of tensors counts as
    their stack. Raises ValueError for a pattern that is none or does not fit the tensor. The notation is that of the library
    einops (https://einops.rocks).

    >>> images = torch.zeros(32, 30, 40, 3)
    >>> torch.func.rearrange(images, "b h w c -> b c h w").shape
    torch.Size([32, 3, 30, 40])
    >>> torch.func.rearrange(images, "b (h1 h) (w1 w) c -> (b h1 w1) h w c", h1=2, w1=2).shape
    torch.Size([128, 15, 20, 3])
    """
    if not isinstance(tensor, torch.Tensor):
        tensor = torch.stack(list(tensor))
    left, right = parse_pattern(pattern, axes_lengths)
    validate_rearrange_expressions(left, right, axes_lengths)
    names, sizes = _dimensions(tensor, left, axes_lengths)
    order, shape = [], []
    for group in right.composition:
        within = [i for name in group for i in names.get(str(name), ())]
        order += within
        if group == _ellipsis:
            shape += [sizes[i] for i in within]
        else:
            shape.append(math.prod(sizes[i] for i in within))
    return tensor.reshape(sizes).permute(order).reshape(shape)


def _dimensions(
    tensor: torch.Tensor, left: ParsedExpression, lengths: dict[str, int]
) -> tuple[dict[str, list[int]], list[int]]:
    """The places of each name among dimensions that are all taken apart, and their sizes."""
    shape, several = list(tensor.shape), len(left.composition)
    if left.has_ellipsis:
        several -= 1
        if len(shape) < several:
            raise ValueError(
                f"Number of dimensions in pattern ({several}) must be less than or equal to the number of dimensions in the tensor "
                f"({len(shape)})"
            )
    elif len(shape) != several:
        raise ValueError(
            f"Number of dimensions in pattern ({several}) must be equal to the number of dimensions in the tensor "
            f"({len(shape)})"
        )
    names: dict[str, list[int]] = {}
    sizes: list[int] = []
    at = 0
    for group in left.composition:
        if group == _ellipsis:
            names[_ellipsis] = list(range(len(sizes), len(sizes) + len(shape) - several))
            sizes += shape[at : at + len(shape) - several]
            at += len(shape) - several
            continue
        known = [str(name) for name in group]
        parts = [lengths.get(name) for name in known]
        if parts.count(None) > 1:
            first, second = [name for name, part in zip(known, parts) if part is None][:2]
            raise ValueError(f"cannot infer the sizes of two dimensions at once {first} and {second}")
        product = math.prod(part for part in parts if part is not None)
        if product != shape[at] if None not in parts else product == 0 or shape[at] % product:
            wanted = tuple("?" if part is None else part for part in parts)
            raise ValueError(f"inferred dimension does not evenly fit into larger dimension: {shape[at]} vs {wanted}")
        for name, part in zip(known, parts, strict=True):
            names[name] = [len(sizes)]
            sizes.append(shape[at] // product if part is None else part)
        at += 1
    return names, sizes
