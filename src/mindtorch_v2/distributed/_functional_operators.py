"""The operators `torch.ops._c10d_functional.*`: collectives that return new tensors, and have gradients.

Each is done when it returns: `wait_tensor` hands its tensor back. The older namespace `c10d_functional`, which names a group by its
ranks, calls these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _operations as collectives
from mindtorch_v2.distributed._groups import ProcessGroup, group_of_ranks, resolve_name
from mindtorch_v2.distributed._reduce_op import RedOpType
from mindtorch_v2.library import Library, register_autograd, register_fake

__all__: list[str] = []

Group = ProcessGroup | str  # what PyTorch's operators take for `Any group_name`

_REDUCE = {"avg": RedOpType.AVG, "band": RedOpType.BAND, "bor": RedOpType.BOR, "bxor": RedOpType.BXOR}
_REDUCE |= {"max": RedOpType.MAX, "min": RedOpType.MIN, "product": RedOpType.PRODUCT, "sum": RedOpType.SUM}


def _reduce(name: str) -> RedOpType:
    if name not in _REDUCE:
        raise RuntimeError(f"Unrecognized reduce_op: {name}")
    return _REDUCE[name]


def _group(group: Group) -> ProcessGroup:
    return resolve_name(group) if isinstance(group, str) else group


def _rows(tensor: torch.Tensor, rows: int) -> torch.Tensor:
    """Memory for so many rows like the tensor's; a tensor of no dimension counts as one row."""
    return tensor.new_empty((rows, *tensor.shape[1:]))


def _row_count(tensor: torch.Tensor) -> int:
    return tensor.shape[0] if tensor.dim() else 1


# ---- kernels ----


def all_reduce_(input: torch.Tensor, reduce_op: str, group_name: Group) -> torch.Tensor:
    collectives.all_reduce(input, _reduce(reduce_op), _group(group_name))
    return input


def all_reduce(input: torch.Tensor, reduce_op: str, group_name: Group) -> torch.Tensor:
    return all_reduce_(input.clone(memory_format=torch.contiguous_format), reduce_op, group_name)


def broadcast_(input: torch.Tensor, src: int, group_name: Group) -> torch.Tensor:
    collectives.broadcast(input, group=_group(group_name), group_src=src)
    return input


def broadcast(input: torch.Tensor, src: int, group_name: Group) -> torch.Tensor:
    return broadcast_(input.clone(memory_format=torch.contiguous_format), src, group_name)


def all_gather_into_tensor_out(
    input: torch.Tensor, group_size: int, group_name: Group, *, out: torch.Tensor
) -> torch.Tensor:
    collectives.all_gather_into_tensor(out, input.contiguous(), _group(group_name))
    return out


def all_gather_into_tensor(input: torch.Tensor, group_size: int, group_name: Group) -> torch.Tensor:
    out = _rows(input, group_size * _row_count(input))
    return all_gather_into_tensor_out(input, group_size, group_name, out=out)


def reduce_scatter_tensor_out(
    input: torch.Tensor, reduce_op: str, group_size: int, group_name: Group, *, out: torch.Tensor
) -> torch.Tensor:
    collectives.reduce_scatter_tensor(out, input.contiguous(), _reduce(reduce_op), _group(group_name))
    return out


def reduce_scatter_tensor(input: torch.Tensor, reduce_op: str, group_size: int, group_name: Group) -> torch.Tensor:
    out = _rows(input, _row_count(input) // group_size)
    return reduce_scatter_tensor_out(input, reduce_op, group_size, group_name, out=out)


def all_to_all_single(
    input: torch.Tensor, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int], group_name: Group
) -> torch.Tensor:
    out = _rows(input, sum(output_split_sizes))
    collectives.all_to_all_single(
        out, input.contiguous(), list(output_split_sizes), list(input_split_sizes), _group(group_name)
    )
    return out


def wait_tensor(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _each(kernel: Callable) -> Callable:
    """The collective of a list: that of each tensor."""
    return lambda inputs, *rest: [kernel(each, *rest) for each in inputs]


# ---- shapes without values ----


def _fake_gather(input: torch.Tensor, group_size: int, group_name: Group) -> torch.Tensor:
    return _rows(input, group_size * _row_count(input))


def _fake_scatter(input: torch.Tensor, reduce_op: str, group_size: int, group_name: Group) -> torch.Tensor:
    return _rows(input, _row_count(input) // group_size)


def _fake_exchange(
    input: torch.Tensor, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int], group_name: Group
) -> torch.Tensor:
    return _rows(input, sum(output_split_sizes))


# ---- gradients ----


def _keep_arguments(ctx: Any, inputs: tuple, output: Any) -> None:
    ctx.arguments = inputs[1:]


def _only_sums(operator: str, reduce_op: str) -> None:
    if reduce_op != "sum":
        raise RuntimeError(f"{operator} backward only supports 'sum' reduction, got '{reduce_op}'")


def _grad_of_reduce(ctx: Any, grad: torch.Tensor) -> tuple:
    _only_sums("all_reduce", ctx.arguments[0])
    return torch.ops._c10d_functional.all_reduce(grad.contiguous(), *ctx.arguments), None, None


def _grad_of_gather(ctx: Any, grad: torch.Tensor) -> tuple:
    group_size, group = ctx.arguments
    made = torch.ops._c10d_functional.reduce_scatter_tensor(grad.contiguous(), "sum", group_size, group)
    return made, None, None


def _grad_of_scatter(ctx: Any, grad: torch.Tensor) -> tuple:
    reduce_op, group_size, group = ctx.arguments
    _only_sums("reduce_scatter_tensor", reduce_op)
    made = torch.ops._c10d_functional.all_gather_into_tensor(grad.contiguous(), group_size, group)
    return made, None, None, None


def _grad_of_exchange(ctx: Any, grad: torch.Tensor) -> tuple:
    received, sent, group = ctx.arguments
    return torch.ops._c10d_functional.all_to_all_single(grad.contiguous(), sent, received, group), None, None, None


def _grad_of_wait(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
    return grad


# ---- registration ----

_GATHER = "(Tensor input, int group_size, Any group_name) -> Tensor"
_SCATTER = "(Tensor input, str reduce_op, int group_size, Any group_name) -> Tensor"
_EXCHANGE = "(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, Any group_name) -> Tensor"
# Schema, kernel, and of those that return new tensors: shape without values, gradient.
_OPERATORS: list[tuple[str, Callable, Callable | None, Callable | None]] = [
    (
        "all_reduce(Tensor input, str reduce_op, Any group_name) -> Tensor",
        all_reduce,
        lambda input, *_: torch.empty_like(input),
        _grad_of_reduce,
    ),
    (
        "all_reduce_(Tensor(a!) input, str reduce_op, Any group_name) -> Tensor(a!)",
        all_reduce_,
        lambda input, *_: input,
        None,
    ),
    (
        "all_reduce_coalesced(Tensor[] inputs, str reduce_op, Any group_name) -> Tensor[]",
        _each(all_reduce),
        lambda inputs, *_: [torch.empty_like(each) for each in inputs],
        None,
    ),
    (
        "all_reduce_coalesced_(Tensor[](a!) inputs, str reduce_op, Any group_name) -> Tensor[](a!)",
        _each(all_reduce_),
        lambda inputs, *_: inputs,
        None,
    ),
    (
        "broadcast(Tensor input, int src, Any group_name) -> Tensor",
        broadcast,
        lambda input, *_: torch.empty_like(input),
        None,
    ),
    ("broadcast_(Tensor(a!) input, int src, Any group_name) -> Tensor(a!)", broadcast_, lambda input, *_: input, None),
    (f"all_gather_into_tensor{_GATHER}", all_gather_into_tensor, _fake_gather, _grad_of_gather),
    (
        "all_gather_into_tensor_out(Tensor input, int group_size, Any group_name, *, Tensor(a!) out) -> Tensor(a!)",
        all_gather_into_tensor_out,
        lambda *_, out: out,
        None,
    ),
    (
        "all_gather_into_tensor_coalesced(Tensor[] inputs, int group_size, Any group_name) -> Tensor[]",
        _each(all_gather_into_tensor),
        _each(_fake_gather),
        None,
    ),
    (f"reduce_scatter_tensor{_SCATTER}", reduce_scatter_tensor, _fake_scatter, _grad_of_scatter),
    (
        "reduce_scatter_tensor_out(Tensor input, str reduce_op, int group_size, Any group_name, *, Tensor(a!) out) "
        "-> Tensor(a!)",
        reduce_scatter_tensor_out,
        lambda *_, out: out,
        None,
    ),
    (
        "reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduce_op, int group_size, Any group_name) -> Tensor[]",
        _each(reduce_scatter_tensor),
        _each(_fake_scatter),
        None,
    ),
    (f"all_to_all_single{_EXCHANGE}", all_to_all_single, _fake_exchange, _grad_of_exchange),
    ("wait_tensor(Tensor tensor) -> Tensor", wait_tensor, wait_tensor, _grad_of_wait),
    # In PyTorch it makes a tensor of one whose value is on its way.
    ("_wrap_tensor_autograd(Tensor input) -> Tensor", wait_tensor, wait_tensor, _grad_of_wait),
]
_OLDER: list[tuple[str, Callable]] = [
    (
        "all_reduce(Tensor self, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor",
        lambda self, reduce_op, tag, ranks, size: all_reduce(self, reduce_op.lower(), group_of_ranks(ranks)),
    ),
    (
        "broadcast(Tensor self, int src, str tag, int[] ranks, int group_size) -> Tensor",
        lambda self, src, tag, ranks, size: broadcast(self, src, group_of_ranks(ranks)),
    ),
    (
        "all_gather_into_tensor(Tensor shard, str tag, int[] ranks, int group_size) -> Tensor",
        lambda shard, tag, ranks, size: all_gather_into_tensor(shard, size, group_of_ranks(ranks)),
    ),
    (
        "reduce_scatter_tensor(Tensor input, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor",
        lambda input, reduce_op, tag, ranks, size: reduce_scatter_tensor(
            input, reduce_op.lower(), size, group_of_ranks(ranks)
        ),
    ),
    (
        "all_reduce_coalesced(Tensor[] self, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor[]",
        lambda self, reduce_op, tag, ranks, size: [
            all_reduce(each, reduce_op.lower(), group_of_ranks(ranks)) for each in self
        ],
    ),
    (
        "all_gather_into_tensor_coalesced(Tensor[] shard, str tag, int[] ranks, int group_size) -> Tensor[]",
        lambda shard, tag, ranks, size: [all_gather_into_tensor(each, size, group_of_ranks(ranks)) for each in shard],
    ),
    (
        "reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor[]",
        lambda inputs, reduce_op, tag, ranks, size: [
            reduce_scatter_tensor(each, reduce_op.lower(), size, group_of_ranks(ranks)) for each in inputs
        ],
    ),
    (
        "all_to_all_single(Tensor input, SymInt[]? output_split_sizes, SymInt[]? input_split_sizes, str tag, int[] ranks, "
        "int group_size) -> Tensor",
        lambda input, received, sent, tag, ranks, size: all_to_all_single(
            input, received or _equal(input, size), sent or _equal(input, size), group_of_ranks(ranks)
        ),
    ),
    ("wait_tensor(Tensor self) -> Tensor", wait_tensor),
]


def _equal(tensor: torch.Tensor, parts: int) -> list[int]:
    return [tensor.shape[0] // parts] * parts


# Operators of process groups, which write to what they are given: their results beside the work, and the method that does it.
_PLAIN: list[tuple[str, Callable]] = [
    (
        "allreduce_(Tensor[] tensors, Any process_group, Any reduce_op, Tensor? sparse_indices, bool async_op=True, int timeout=-1)"
        " -> (Tensor[], Any)",
        lambda tensors, group, op, indices, *_: (tensors, group.allreduce(tensors, op)),
    ),
    (
        "allreduce_coalesced_(Tensor[] tensors, Any process_group, Any reduce_op, bool async_op=True, int timeout=-1) -> Any",
        lambda tensors, group, op, *_: group.allreduce_coalesced(tensors, op),
    ),
    (
        "broadcast_(Tensor[] tensors, Any process_group, int root_rank, int root_tensor, bool async_op=True, int timeout=-1)"
        " -> (Tensor[], Any)",
        lambda tensors, group, root, *_: (tensors, group.broadcast(tensors, root)),
    ),
    (
        "reduce_(Tensor[] tensors, Any process_group, Any reduce_op, int root_rank, int root_tensor, bool async_op=True, "
        "int timeout=-1) -> Any",
        lambda tensors, group, op, root, *_: group.reduce(tensors, root, op),
    ),
    (
        "allgather_(Tensor[][] output_tensors, Tensor[] input_tensors, Any process_group, bool async_op=True, int timeout=-1)"
        " -> (Tensor[][], Any)",
        lambda outputs, inputs, group, *_: (outputs, group.allgather(outputs, inputs)),
    ),
    (
        "_allgather_base_(Tensor output_tensor, Tensor input_tensor, Any process_group, bool async_op=True, int timeout=-1)"
        " -> (Tensor, Any)",
        lambda output, input, group, *_: (output, group._allgather_base(output, input)),
    ),
    (
        "allgather_into_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, Any process_group, bool async_op=True) -> Any",
        lambda outputs, inputs, group, *_: group.allgather_into_tensor_coalesced(outputs, inputs),
    ),
    (
        "reduce_scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, Any process_group, Any reduce_op, bool async_op=True, "
        "int timeout=-1) -> (Tensor[], Any)",
        lambda outputs, inputs, group, op, *_: (outputs, group.reduce_scatter(outputs, inputs, op)),
    ),
    (
        "_reduce_scatter_base_(Tensor output_tensor, Tensor input_tensor, Any process_group, Any reduce_op, bool async_op=True, "
        "int timeout=-1) -> (Tensor, Any)",
        lambda output, input, group, op, *_: (output, group._reduce_scatter_base(output, input, op)),
    ),
    (
        "gather_(Tensor[][] output_tensors, Tensor[] input_tensors, Any process_group, int root_rank, bool async_op=True, "
        "int timeout=-1) -> Any",
        lambda outputs, inputs, group, root, *_: group.gather(outputs, inputs, root),
    ),
    (
        "alltoall_(Tensor[] output_tensors, Tensor[] input_tensors, Any process_group, bool async_op=True, int timeout=-1)"
        " -> (Tensor[], Any)",
        lambda outputs, inputs, group, *_: (outputs, group.alltoall(outputs, inputs)),
    ),
    (
        "alltoall_base_(Tensor output, Tensor input, Any process_group, int[] output_split_sizes, int[] input_split_sizes, "
        "bool async_op=True, int timeout=-1) -> Any",
        lambda output, input, group, received, sent, *_: group.alltoall_base(output, input, received, sent),
    ),
]


def packets() -> dict[Any, Any]:
    """The packets of collectives that return new tensors, each with the one of the older namespace by which it is known."""
    new, old = torch.ops._c10d_functional, torch.ops.c10d_functional
    older = {schema.partition("(")[0] for schema, _ in _OLDER} - {"wait_tensor"}
    return {getattr(new, name): getattr(old, name) for name in older}


def _scatter(
    outputs: list[torch.Tensor],
    inputs: list[list[torch.Tensor]],
    group: ProcessGroup,
    root: int,
    async_op: bool = True,
    timeout: int = -1,
) -> tuple[list[torch.Tensor], Any]:
    given = inputs[0] if inputs else None
    work = group._get_backend(outputs[0].device).scatter(outputs[0], given, root, asynchronous=True)
    return outputs, work


def _register() -> list[Library]:
    """Make the operators; they are there as long as the libraries are."""
    library, older, plain = (Library(name, "FRAGMENT") for name in ("_c10d_functional", "c10d_functional", "c10d"))
    for schema, kernel, fake, gradient in _OPERATORS:
        name = library.define(schema).partition("(")[0]
        library.impl(name, kernel, "CompositeExplicitAutograd")
        if fake is not None:
            register_fake(f"_c10d_functional::{name}", fake, lib=library)
        if gradient is not None:
            register_autograd(f"_c10d_functional::{name}", gradient, setup_context=_keep_arguments, lib=library)
    for schema, kernel in _OLDER:
        older.impl(older.define(schema).partition("(")[0], kernel, "CompositeExplicitAutograd")
    plain.define(
        "scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, Any process_group, int root_rank, bool async_op=True, "
        "int timeout=-1) -> (Tensor[], Any)"
    )
    plain.impl("scatter_", _scatter, "CompositeExplicitAutograd")
    for schema, kernel in _PLAIN:
        plain.impl(plain.define(schema).partition("(")[0], kernel, "CompositeExplicitAutograd")
    return [library, older, plain]


_LIBRARIES = _register()
