"""Batches cut into micro-batches, and results put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """Along which dimension a tensor is cut.

    >>> from mindtorch_v2.distributed.pipelining.microbatch import TensorChunkSpec
    >>> TensorChunkSpec(1).split_dim
    1
    """

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> tuple[TensorChunkSpec, ...]:
        """One for each dimension given."""
        return tuple(TensorChunkSpec(dim) for dim in chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        """One for each dimension given, by name."""
        return {name: TensorChunkSpec(dim) for name, dim in chunk_dims.items()}


class _Replicate:
    """A value that every micro-batch gets whole."""


class _CustomReducer:
    """How values of micro-batches become one: `reduce_fn(so far, next)`, from `init_value`."""

    def __init__(self, init_value: Any, reduce_fn: Any) -> None:
        self.init_value, self.reduce_fn = init_value, reduce_fn


def _cut(value: Any, spec: Any, chunks: int) -> list[Any]:
    if not isinstance(value, torch.Tensor) or isinstance(spec, _Replicate):
        return [value] * chunks
    size = value.shape[spec.split_dim]
    if size < chunks:
        raise ValueError(f"a dimension of size {size} cannot be cut into {chunks} micro-batches")
    return list(torch.tensor_split(value, chunks, spec.split_dim))


def split_args_kwargs_into_chunks(
    args: tuple,
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: tuple | None = None,
    kwargs_chunk_spec: dict[str, Any] | None = None,
) -> tuple[list[tuple], list[dict[str, Any]]]:
    """The arguments of each micro-batch.

    Args:
        args, kwargs: of the whole batch; tensors are cut along their first dimension, all else goes to each.
        chunks: how many micro-batches.
        args_chunk_spec, kwargs_chunk_spec: a `TensorChunkSpec` for each argument, where it is another dimension.

    >>> from mindtorch_v2.distributed.pipelining.microbatch import split_args_kwargs_into_chunks
    >>> split_args_kwargs_into_chunks((torch.arange(4),), {"training": True}, chunks=2)
    ([(tensor([0, 1]),), (tensor([2, 3]),)], [{'training': True}, {'training': True}])
    """
    values, tree = tree_flatten((args, kwargs or {}))
    specs: list[Any] = [TensorChunkSpec(0)] * len(values)
    if args_chunk_spec is not None or kwargs_chunk_spec is not None:
        given = (
            tuple(args_chunk_spec) if args_chunk_spec is not None else tuple(TensorChunkSpec(0) for _ in args),
            kwargs_chunk_spec if kwargs_chunk_spec is not None else {name: TensorChunkSpec(0) for name in kwargs or {}},
        )
        specs = tree_flatten(given)[0]
        if len(specs) != len(values):
            raise ValueError(
                f"{len(values)} values of arguments, but {len(specs)} chunk specs: there has to be one for each"
            )
    pieces = [_cut(value, spec, chunks) for value, spec in zip(values, specs, strict=True)]
    made = [tree_unflatten([each[i] for each in pieces], tree) for i in range(chunks)]
    return [each[0] for each in made], [each[1] for each in made]


def merge_chunks(chunks: Sequence[Any], chunk_spec: Any = None) -> Any:
    """The result of the whole batch, of those of micro-batches: tensors one after the other, the first of all else.

    >>> from mindtorch_v2.distributed.pipelining.microbatch import TensorChunkSpec, merge_chunks
    >>> merge_chunks([torch.tensor([1, 2]), torch.tensor([3])], TensorChunkSpec(0))
    tensor([1, 2, 3])
    """
    parts = [tree_flatten(each) for each in chunks]
    tree = parts[0][1]
    specs = [TensorChunkSpec(0)] * len(parts[0][0]) if chunk_spec is None else tree_flatten(chunk_spec)[0]
    merged = []
    for place, spec in enumerate(specs):
        values = [part[0][place] for part in parts]
        if isinstance(spec, _CustomReducer):
            total = spec.init_value
            for value in values:
                total = spec.reduce_fn(total, value)
            merged.append(total)
        elif isinstance(spec, TensorChunkSpec) and isinstance(values[0], torch.Tensor) and values[0].dim():
            merged.append(torch.cat(values, spec.split_dim))
        else:
            merged.append(values[0])
    return tree_unflatten(merged, tree)
