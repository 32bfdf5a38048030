"""The loops behind an operator's call: what its CPU kernel would run, asked of the kernel itself.

A kernel is called on small tensors of the right dtypes while it records (`csrc/core/loops.h`): it hands in its inner loop and
computes nothing. So no list says which operators can be fused, and a fused operator gives its own numbers.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Mapping
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._backends.common.chains import Maker, Place, Step, find
from mindtorch_v2._core import torch_dispatch as _torch_dispatch
from mindtorch_v2._core.torch_dispatch import run_call
from mindtorch_v2._operators.table import facts_of
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.fx import Node
from mindtorch_v2.fx.node import draws
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["ALL", "COLUMNS", "ROW", "Call", "call_of", "recorded", "results_of", "step_of"]

ALL, ROW, COLUMNS = 0, 1, 2  # what an operand has; as in csrc/core/loops.h
_LONGEST_ROW = 1 << 15  # elements: a row has to stay in the second-level cache, with some copies


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    """A call of an operator as loops.

    `loops` are what the kernel handed in, empty for a cast, and on other devices than the CPU, whose back end puts the chain
    together; `asked` are the arguments of `recorded` that give them. `tensors` are the nodes that the places of their operands count,
    `results` the examples of the call's results. `row_dims` says how many of the last dimensions are a row: 0 where the
    loops go over any run of elements.
    """

    node: Node
    loops: tuple[Any, ...]
    tensors: tuple[Node, ...]
    results: tuple[Any, ...]
    row_dims: int
    asked: tuple[Any, ...] = ()

    @property
    def device(self) -> torch.device:
        """Where the results are."""
        return next(each.device for each in self.results if each is not None)


def results_of(node: Node) -> tuple[Any, ...]:
    """The examples of what a node gives, in a tuple."""
    value = node.meta.get("val")
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _is_plain(value: Any, device: torch.device) -> bool:
    return isinstance(value, torch.Tensor) and value.device == device and value.layout is torch.strided


def step_of(node: Node, places: Mapping[Node, int]) -> Step:
    """A node's call by the names of its arguments, for a chain of another device than the CPU."""
    arguments = node.target._schema.arguments
    bound = {each.name: each.default_value for each in arguments}
    bound.update(zip(bound, node.args))
    bound.update(node.kwargs)
    given = {name: Place(places[each]) if isinstance(each, Node) else each for name, each in bound.items()}
    promoted: list[Any] = [
        each.meta["val"] if isinstance(each, Node) else each
        for each in bound.values()
        if isinstance(each, (Node, int, float, complex))
    ]
    common = torch.result_type(*promoted) if len(promoted) == 2 else None
    if len(promoted) == 1:
        common = promoted[0].dtype
    return Step(node.target, given, tuple(each.dtype for each in results_of(node)), common)


def _device_call(node: Node, maker: Maker, nodes: tuple[Node, ...], results: tuple[Any, ...]) -> Call | None:
    """The call where another device's back end can have it in a chain."""
    if any(each is None for each in results):
        return None
    cast = node.target is torch.ops.aten._to_copy.default
    if cast and not _is_cast(node, nodes, results):
        return None
    if not cast and not facts_of(node.target._handle).elementwise:
        return None
    places = {each: place for place, each in enumerate(dict.fromkeys(nodes))}
    dtypes = {place: each.meta["val"].dtype for each, place in places.items()}
    return Call(node, (), nodes, results, 0) if maker.takes(step_of(node, places), dtypes) else None


def call_of(node: Node) -> Call | None:
    """The loops of a node's call; None where it is no such call, or its kernel has none to give."""
    if node.op != "call_function" or not isinstance(node.target, OpOverload) or node.target.namespace != "aten":
        return None
    target = run_call(node.target, node.args)
    handle = target._handle
    if handle.is_view or handle.mutates or draws(target) or "out" in node.kwargs:
        return None
    results = results_of(node)
    device = next((each.device for each in results if isinstance(each, torch.Tensor)), None)
    if device is None or not all(_is_plain(each, device) for each in results if each is not None):
        return None
    maker = find(device.type)
    if device.type != "cpu" and maker is None:
        return None
    given, spec = pytree.tree_flatten((node.args, node.kwargs))
    nodes = tuple(each for each in given if isinstance(each, Node))
    if not nodes or not all(_is_plain(each.meta.get("val"), device) for each in nodes):
        return None
    if maker is not None:
        return _device_call(node, maker, nodes, results)
    if _is_cast(node, nodes, results):
        return Call(node, (), nodes, results, 0)
    constants = tuple(None if isinstance(each, Node) else _hashable(each) for each in given)
    if facts_of(handle).elementwise:
        forms = tuple((each.meta["val"].dtype, (1,) * each.meta["val"].dim()) for each in nodes)
        asked = (target, spec, constants, forms)
        loops = recorded(*asked)
        return Call(node, loops, nodes, results, 0, asked) if _all_elementwise(loops, nodes, results) else None
    return _row_call(node, spec, constants, nodes, results)


def _hashable(value: Any) -> Any:
    """A constant argument with its class: 1, 1.0 and True are not the same to a kernel. The sign of a zero counts as well."""
    return (type(value), value, math.copysign(1.0, value) if isinstance(value, float) else None)


def _is_cast(node: Node, nodes: tuple, results: tuple) -> bool:
    """Whether it copies elements as another dtype, and nothing else."""
    if node.target is not torch.ops.aten._to_copy.default or len(nodes) != 1:
        return False
    return (
        set(node.kwargs) <= {"dtype", "device", "memory_format", "non_blocking"}
        and results[0].shape == nodes[0].meta["val"].shape
        and not results[0].dtype.is_complex
        and not nodes[0].meta["val"].dtype.is_complex
    )


@functools.lru_cache(maxsize=4096)
def recorded(target: OpOverload, spec: Any, constants: tuple, forms: tuple) -> tuple[Any, ...]:
    """The loops that the kernel hands in for tensors of these dtypes and shapes; empty if it gives an error."""
    tensors = []
    with _torch_dispatch.no_modes(), torch.no_grad():
        for dtype, shape in forms:
            tensors.append(torch.zeros(shape, dtype=dtype))
        made = iter(tensors)
        given = [next(made) if each is None else each[1] for each in constants]
        args, kwargs = pytree.tree_unflatten(given, spec)
        try:
            _, loops = _C._record_loops(target, tuple(args), kwargs, tuple(tensors))
        except Exception:  # noqa: BLE001  (a probe: such a call runs as it is, and says itself what is wrong)
            return ()
    return tuple(loops)


def _written_once(loops: tuple, results: tuple) -> bool:
    """Whether each result is written by one loop, and all operands are arguments, results or numbers."""
    written: list[int] = []
    for loop in loops:
        for place, (at, number, _, _) in enumerate(loop.operands):
            if at is None and number is None:
                return False
            if place < loop.outputs:
                if at is None or at >= 0:
                    return False
                written.append(at)
    present = [-1 - k for k, each in enumerate(results) if each is not None]
    return sorted(written) == sorted(present)


def _all_elementwise(loops: tuple, nodes: tuple, results: tuple) -> bool:
    return bool(loops) and all(loop.row < 0 for loop in loops) and _written_once(loops, results)


def _row_call(node: Node, spec: Any, constants: tuple, nodes: tuple, results: tuple) -> Call | None:
    """The call as loops over rows of the last dimensions."""
    first = nodes[0].meta["val"]
    if first.dim() == 0 or not first.numel():
        return None
    for dims in range(1, min(first.dim(), 2) + 1):
        length = math.prod(first.shape[-dims:])
        if length > _LONGEST_ROW:
            return None
        if length == 1:  # as the dimensions before are in a probe: it could not tell over which the call goes
            continue
        forms = tuple((each.meta["val"].dtype, _probe_shape(each.meta["val"], first, dims)) for each in nodes)
        if any(shape is None for _, shape in forms):
            continue
        asked = (node.target, spec, constants, forms)
        loops = recorded(*asked)
        if loops and _fits_rows(loops, nodes, results, first, dims, length):
            return Call(node, loops, nodes, results, dims, asked)
    return None


def _probe_shape(value: Any, first: Any, dims: int) -> tuple | None:
    """One row of `value`."""
    shape = tuple(value.shape)
    if shape == tuple(first.shape[-dims:]):
        return shape
    if value.dim() != first.dim():
        return None
    return (1,) * (len(shape) - dims) + shape[-dims:]


def _fits_rows(loops: tuple, nodes: tuple, results: tuple, first: Any, dims: int, length: int) -> bool:
    if not _written_once(loops, results) or any(loop.row != length for loop in loops):
        return False
    leading, full = tuple(first.shape[:-dims]), tuple(first.shape)
    kept = leading + (1,) * dims
    for loop in loops:
        for at, number, _, reach in loop.operands:
            if number is not None:
                return False
            value = nodes[at].meta["val"] if at >= 0 else results[-1 - at]
            shape = tuple(value.shape)
            if reach == ALL and shape != full:
                return False
            if reach == ROW and shape not in ((kept,) if at >= 0 else (kept, leading)):
                return False
            if reach == COLUMNS and math.prod(shape) != length:
                return False
            if at < 0 and not value.is_contiguous():
                return False
    return True


def is_item(node: Node) -> bool:
    """Whether a node takes one of several results."""
    return node.op == "call_function" and node.target is operator.getitem
