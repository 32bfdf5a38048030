"""`rearrange`: the dimensions of a tensor by name, in the notation of einops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import mindtorch_v2 as torch

__all__ = ["rearrange"]

_REST = "..."


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
    left, right = _sides(pattern)
    _check_names(left, right, axes_lengths)
    sizes, split = _sizes_of(left, tensor, axes_lengths)
    order = [name for group in right for name in group.names if name != "1"]
    places = {name: place for place, name in enumerate(split)}
    flat = [place for name in order for place in _places(places, sizes, name)]
    offsets = _offsets(split, sizes)
    moved = tensor.reshape([size for name in split for size in sizes[name]])
    moved = moved.permute([offsets[place] + shift for place, shift in flat])
    shape: list[int] = []
    for group in right:
        if group.names == (_REST,) and not group.merged:
            shape += sizes[_REST]
        else:
            shape.append(math.prod(size for name in group.names for size in sizes.get(name, [1])))
    return moved.reshape(shape)


class _Group(NamedTuple):
    """A dimension of one side of a pattern, or its ellipsis."""

    names: tuple[str, ...]
    merged: bool


def _sides(pattern: str) -> tuple[list[_Group], list[_Group]]:
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    return _groups(sides[0]), _groups(sides[1])


def _groups(side: str) -> list[_Group]:
    for character in side.replace(_REST, ""):
        if not (character.isalnum() or character in "_() "):
            raise ValueError(f"Unknown character '{character}'")
    groups: list[_Group] = []
    inside: list[str] | None = None
    for word in side.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(" and inside is None:
            inside = []
        elif word == ")" and inside is not None:
            groups.append(_Group(tuple(inside), True))
            inside = None
        elif word in "()":
            raise ValueError(f"Imbalanced parentheses in expression: '{side}'")
        elif word != "1" and word != _REST and not word.isidentifier():
            raise ValueError(f"Invalid dimension name '{word}' in the expression '{side}'")
        elif inside is not None:
            inside.append(word)
        else:
            groups.append(_Group((word,), False))
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{side}'")
    names = [name for group in groups for name in group.names if name != "1"]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
    return groups


def _check_names(left: list[_Group], right: list[_Group], given: dict[str, int]) -> None:
    before, after = ({name for group in side for name in group.names} - {"1"} for side in (left, right))
    if before != after:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {before ^ after}")
    if any(group.merged and _REST in group.names for group in left):
        raise ValueError("Ellipsis inside parentheses is not allowed on the left side of a rearrange expression")
    if unknown := given.keys() - before:
        raise ValueError(f"Identifiers that are not in the rearrange expression: {sorted(unknown)}")


def _sizes_of(
    left: list[_Group], tensor: torch.Tensor, given: dict[str, int]
) -> tuple[dict[str, list[int]], list[str]]:
    """The sizes that each name stands for, and the names in the order of the tensor's dimensions."""
    named = sum(group.names != (_REST,) for group in left)
    rest = tensor.dim() - named
    if rest < 0 or (rest > 0 and named == len(left)):
        raise ValueError(
            f"Number of dimensions in pattern ({named}) must be equal to the number of dimensions in the tensor "
            f"({tensor.dim()})"
        )
    sizes: dict[str, list[int]] = {}
    split: list[str] = []
    dim = 0
    for group in left:
        if group.names == (_REST,):
            sizes[_REST] = list(tensor.shape[dim : dim + rest])
            split.append(_REST)
            dim += rest
            continue
        for name, size in _split(group, tensor.size(dim), given).items():
            sizes[name] = [size]
            split.append(name)
        dim += 1
    return sizes, split


def _split(group: _Group, size: int, given: dict[str, int]) -> dict[str, int]:
    names = [name for name in group.names if name != "1"]
    known = {name: given[name] for name in names if name in given}
    unknown = [name for name in names if name not in known]
    if len(unknown) > 1:
        raise ValueError(f"cannot infer the sizes of two dimensions at once: {unknown[0]} and {unknown[1]}")
    product = math.prod(known.values())
    if product == 0 or size % product or (not unknown and product != size):
        raise ValueError(f"a dimension of {size} elements cannot be split into ({' '.join(group.names)}) with {known}")
    return {name: known.get(name, size // product) for name in names}


def _places(places: dict[str, int], sizes: dict[str, list[int]], name: str) -> list[tuple[int, int]]:
    return [(places[name], shift) for shift in range(len(sizes[name]))]


def _offsets(split: list[str], sizes: dict[str, list[int]]) -> list[int]:
    offsets, so_far = [], 0
    for name in split:
        offsets.append(so_far)
        so_far += len(sizes[name])
    return offsets
