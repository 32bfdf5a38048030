"""Run operators on distributed tensors: choose how the call is to lie, move what lies otherwise, work on the pieces."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2._behaviours import sharded
from mindtorch_v2._behaviours.sharded import (
    Call,
    Operand,
    Partial,
    Placement,
    Replicate,
    Shard,
    Strategy,
    StridedShard,
    bound,
    called,
)
from mindtorch_v2._operators.table.rows import facts_of, row_of
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta, meta_of
from mindtorch_v2.distributed.tensor._redistribute import cost, redistribute_local, reduce_values

__all__ = ["dispatch", "implicit_replication"]

_MOST_DECISIONS = 4096
_decisions: dict[Any, _Decision] = {}
_implicit = False


class _Decision(NamedTuple):
    """How a call runs: its operands' placements, the results' specs and what changes the local call, for each mesh dimension."""

    inputs: tuple[tuple[Placement, ...], ...]
    results: tuple[DTensorSpec, ...]
    locals: tuple[tuple[int, Callable], ...]


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """Within this block, tensors that are not distributed count as whole on every rank where they meet one that is.

    >>> from mindtorch_v2.distributed.tensor import Shard, ones
    >>> from mindtorch_v2.distributed.tensor.experimental import implicit_replication
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> with implicit_replication():
    ...     (ones(2, device_mesh=mesh, placements=[Shard(0)]) + torch.tensor([1.0, 2.0])).full_tensor()
    tensor([2., 3.])
    >>> dist.destroy_process_group()
    """
    global _implicit
    before, _implicit = _implicit, True
    try:
        yield
    finally:
        _implicit = before


class _Place:
    """This rank, as a rule's `local` may ask for it."""

    def __init__(
        self, op: Any, mesh: DeviceMesh, operands: Sequence[DTensorSpec], results: Sequence[DTensorSpec], dim: int
    ) -> None:
        self._op, self._mesh, self._operands, self._results, self._dim = op, mesh, operands, results, dim

    def argument(self, name: str) -> int:
        """The place of an argument in the schema."""
        return [each["name"] for each in self._op.arguments].index(name)

    def result_shape(self, result: int) -> list[int]:
        """The size of this rank's piece of a result."""
        return list(self._results[result].piece()[0])

    def result_offset(self, result: int, dim: int) -> int:
        """Where this rank's piece of a result begins."""
        return self._results[result].piece()[1][dim]

    def offset(self, operand: int, dim: int) -> int:
        """Where this rank's piece of an operand begins."""
        return self._operands[operand].piece()[1][dim]

    def all_reduce(self, tensor: torch.Tensor, reduce_op: str = "sum") -> torch.Tensor:
        """The sum, or what `reduce_op` says, over the ranks along the dimension of the mesh."""
        return reduce_values(tensor, Partial(reduce_op), self._mesh, self._dim)


class _Bound:
    """The arguments of a call, its distributed tensors among them."""

    def __init__(self, handle: Any, kind: type, args: tuple, kwargs: dict[str, Any]) -> None:
        self.handle, self.kind = handle, kind
        self.values = bound(handle, args, kwargs)
        self.tensors: list[torch.Tensor] = []
        self.written: list[int] = []
        for argument, value in zip(handle.arguments, self.values, strict=False):
            for each in value if isinstance(value, list | tuple) else (value,):
                if isinstance(each, torch.Tensor):
                    if argument["is_write"]:
                        self.written.append(len(self.tensors))
                    self.tensors.append(each)
        meshes = [each._spec.mesh for each in self.tensors if isinstance(each, kind)]  # type: ignore[attr-defined]  # (instances of the class asked for)
        self.mesh = max(meshes, key=lambda mesh: mesh.ndim)
        self.specs = [self._spec_of(each) for each in self.tensors]

    def _spec_of(self, tensor: torch.Tensor) -> DTensorSpec:
        if isinstance(tensor, self.kind):
            spec: DTensorSpec = tensor._spec  # type: ignore[attr-defined]  # (instances of the class asked for)
            return spec if spec.mesh is self.mesh or spec.mesh == self.mesh else self._widened(spec)
        if _implicit or (tensor.dim() == 0 or tensor.numel() == 1):
            return DTensorSpec(self.mesh, (Replicate(),) * self.mesh.ndim, meta_of(tensor))
        raise RuntimeError(
            f"{self.handle.namespace}.{self.handle.name}: got mixed torch.Tensor and DTensor, need to convert all "
            "torch.Tensor to DTensor before calling distributed operators!"
        )

    def _widened(self, spec: DTensorSpec) -> DTensorSpec:
        """A tensor on a part of the mesh: along the other dimensions it is the same everywhere."""
        if (
            spec.mesh._root is None
            or spec.mesh._root != self.mesh
            or any(each >= self.mesh.ndim for each in spec.mesh._dims)
        ):
            raise RuntimeError(
                f"{self.handle.namespace}.{self.handle.name}: all distributed tensors of a call must be on one mesh or parts of "
                f"it, got {self.mesh} and {spec.mesh}"
            )
        how: list[Placement] = [Replicate()] * self.mesh.ndim
        for dim, each in zip(spec.mesh._dims, spec.placements, strict=True):
            how[dim] = each
        return DTensorSpec(self.mesh, tuple(how), spec.tensor_meta)

    def is_distributed(self, value: Any) -> bool:
        """Whether a value is a tensor in pieces."""
        return isinstance(value, self.kind)

    def local(self, index: int) -> torch.Tensor:
        tensor = self.tensors[index]
        return tensor._local_tensor if isinstance(tensor, self.kind) else tensor  # type: ignore[attr-defined]  # (instances of the class asked for)

    def with_tensors(self, replaced: Sequence[Any]) -> list[Any]:
        """The arguments with other tensors, in order."""
        given = iter(replaced)

        def put(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return next(given)
            if isinstance(value, list | tuple) and any(isinstance(each, torch.Tensor) for each in value):
                return [put(each) for each in value]
            return value

        return [put(each) for each in self.values]

    def key(self) -> Any:
        # Equal meshes may have groups of their own: one whose groups have ended must not come back from here.
        return self.handle, id(self.mesh), _hashable(self.with_tensors(self.specs))


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def _flat(result: Any) -> list[Any]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [each for each in result if isinstance(each, torch.Tensor)] if isinstance(result, list | tuple) else []


def dispatch(kind: type, func: Any, args: tuple, kwargs: dict[str, Any] | None) -> Any:
    """The result of an operator of which some arguments are distributed tensors of the class `kind`."""
    handle = func._handle if hasattr(func, "_handle") else func
    call = _Bound(handle, kind, args, kwargs or {})
    if handle.form == "out" and call.written:
        return _into(call)
    if call.written and not handle.returns and isinstance(call.values[0], list | tuple):
        return _over_lists(call)
    if handle.random:
        return _drawn(call)
    if sharded.rule_of(handle) is None:
        row = row_of(handle)
        if row is not None and row.body is not None and not call.written:
            return row.body(*call.values)
        return _whole(call)
    if facts_of(handle).sizes_by_values:
        return _whole(call)
    decision = _decide(call)
    if call.mesh.get_coordinate() is None and decision.results and not call.written:
        return _elsewhere(call, decision)
    return _run(call, decision)


def _decide(call: _Bound) -> _Decision:
    try:
        key = call.key()
        found = _decisions.get(key)
    except TypeError:  # something among the arguments cannot be a key
        return _chosen(call)
    if found is None:
        found = _chosen(call)
        if len(_decisions) >= _MOST_DECISIONS:
            _decisions.clear()
        _decisions[key] = found
    return found


def _metas(call: _Bound) -> list[TensorMeta]:
    """Sizes, strides and dtypes of the results, from tensors without elements."""
    with torch._C._DisableTorchDispatch():
        empty = [
            torch.empty_strided(spec.shape, spec.stride, dtype=spec.tensor_meta.dtype, device="meta")
            for spec in call.specs
        ]
        values = [
            "meta" if argument["type"].startswith("Device") and value is not None else value
            for argument, value in zip(call.handle.arguments, call.with_tensors(empty), strict=True)
        ]
        return [meta_of(each) for each in _flat(called(call.handle, values))]


def _chosen(call: _Bound) -> _Decision:
    metas = _metas(call)
    strided = {
        dim: each.split_factor
        for spec in call.specs
        for dim, each in enumerate(spec.placements)
        if isinstance(each, StridedShard)
    }
    if strided:
        plain = [spec.with_placements([_unstrided(each) for each in spec.placements]) for spec in call.specs]
        inputs, outputs, local = _ways(call, metas, plain)
        if not local and all(_nests(call, how, strided) for how in (*inputs, *outputs)):
            inputs, outputs = ([_strided(how, strided) for how in given] for given in (inputs, outputs))
        else:
            inputs, outputs, local = _ways(call, metas, call.specs)
    else:
        inputs, outputs, local = _ways(call, metas, call.specs)
    specs = tuple(DTensorSpec(call.mesh, tuple(how), meta) for how, meta in zip(outputs, metas, strict=True))
    return _Decision(tuple(map(tuple, inputs)), specs, tuple(local))


def _unstrided(placement: Placement) -> Placement:
    return Shard(placement.dim) if isinstance(placement, StridedShard) else placement


def _strided(how: list[Placement], strided: dict[int, int]) -> list[Placement]:
    return [
        StridedShard(each.dim, split_factor=strided[dim]) if dim in strided and isinstance(each, Shard) else each
        for dim, each in enumerate(how)
    ]


def _nests(call: _Bound, how: list[Placement], strided: dict[int, int]) -> bool:
    """Whether a tensor that is cut by the strided dimensions of the mesh is cut by those in which they nest, too."""
    for dim, factor in strided.items():
        mine = how[dim]
        if isinstance(mine, Shard):
            around = [
                call.mesh.size(other)
                for other, each in enumerate(how)
                if other not in strided and each == Shard(mine.dim)
            ]
            if math.prod(around) != factor:
                return False
    return True


def _ways(call: _Bound, metas: list[TensorMeta], given: Sequence[DTensorSpec]) -> tuple[Any, Any, Any]:
    """The placements of operands and results, and what changes the local call, for operands that lie as `given`."""
    mesh, handle = call.mesh, call.handle
    operands = tuple(Operand(index, tuple(spec.shape), spec.tensor_meta.dtype) for index, spec in enumerate(given))
    results = tuple(Operand(index, tuple(meta.shape), meta.dtype) for index, meta in enumerate(metas))
    inputs: list[list[Placement]] = [[] for _ in operands]
    outputs: list[list[Placement]] = [[] for _ in results]
    local: list[tuple[int, Callable]] = []
    for dim in range(mesh.ndim):
        parts = _parts_of(mesh, dim, given, inputs)
        ways = sharded.strategies(Call(handle, call.with_tensors(operands), operands, results, parts, mesh.size(dim)))
        chosen = _cheapest(call, dim, ways, given)
        for mine, placement in zip(inputs, chosen.inputs, strict=True):
            mine.append(placement)
        for mine, placement in zip(outputs, chosen.outputs, strict=True):
            mine.append(placement)
        if chosen.local is not None:
            local.append((dim, chosen.local))
    return inputs, outputs, local


def _parts_of(mesh: DeviceMesh, dim: int, specs: Sequence[DTensorSpec], chosen: list[list[Placement]]) -> Callable:
    """Into how many pieces a dimension of an operand is cut: by what was chosen, this dimension of the mesh, and what is cut still."""

    def parts(operand: Operand, axis: int) -> int:
        axis %= max(1, operand.dim())
        count = mesh.size(dim)
        for other in range(mesh.ndim):
            now = chosen[operand.number][other] if other < dim else specs[operand.number].placements[other]
            if other != dim and isinstance(now, Shard) and now.dim == axis:
                count *= mesh.size(other)
        return count

    return parts


def _cheapest(call: _Bound, dim: int, ways: list[Strategy], given: Sequence[DTensorSpec]) -> Strategy:
    parts = call.mesh.size(dim)
    best, least = None, float("inf")
    for way in ways:
        total = 0.0
        for index, (spec, want) in enumerate(zip(given, way.inputs, strict=True)):
            have = spec.placements[dim]
            if have != want and index in call.written:
                total = float("inf")
                break
            volume = spec.shape.numel() * spec.tensor_meta.dtype.itemsize
            total += cost(have, want, volume, parts)
            if have != want and isinstance(want, Shard) and spec.shape[want.dim] < parts:
                total += volume / parts  # some ranks would have nothing to do
        if total < least:
            best, least = way, total
    if best is None:
        raise RuntimeError(
            f"{call.handle.namespace}.{call.handle.name}: in-place operations that require placement changes are not "
            f"supported: the tensors lie as {[each.placements for each in call.specs]}; redistribute them first"
        )
    return best


def _run(call: _Bound, decision: _Decision) -> Any:
    moved = [
        redistribute_local(call.local(index), spec, wanted)
        for index, (spec, wanted) in enumerate(zip(call.specs, decision.inputs, strict=True))
    ]
    handle = call.handle
    if any(not each.numel() for each in moved) and not decision.locals and not call.written:
        nothing = _nothing(call, decision)
        if nothing is not None:
            return nothing

    def run(values: list[Any]) -> Any:
        return called(handle, values)

    if decision.locals:
        specs = [spec.with_placements(wanted) for spec, wanted in zip(call.specs, decision.inputs, strict=True)]
        for dim, local in decision.locals:
            run = _through(local, run, _Place(handle, call.mesh, specs, decision.results, dim))
    return _wrapped(call, run(call.with_tensors(moved)), decision.results)


def _nothing(call: _Bound, decision: _Decision) -> Any:
    """The results of a rank that has no part of them, for which operators that refuse empty tensors need not be run."""
    sizes = [spec.piece()[0] for spec in decision.results]
    if not sizes or any(0 not in size or 0 in spec.shape for size, spec in zip(sizes, decision.results, strict=True)):
        return None
    listed = call.handle.returns[0]["type"] != "Tensor"
    if not listed and len(call.handle.returns) != len(sizes):  # some results are None
        return None
    device = call.local(0).device
    made = [
        call.kind(torch.empty(size, dtype=spec.tensor_meta.dtype, device=device), spec, requires_grad=False)
        for size, spec in zip(sizes, decision.results, strict=True)
    ]
    return made if listed else made[0] if len(made) == 1 else tuple(made)


def _elsewhere(call: _Bound, decision: _Decision) -> Any:
    """The results on a rank that is not in the mesh: nothing, or a zero for a single number."""
    device = call.local(0).device
    made = []
    for spec in decision.results:
        local = torch.zeros((0,) if spec.ndim else (), dtype=spec.tensor_meta.dtype, device=device)
        made.append(call.kind(local, spec, requires_grad=False))
    return made if call.handle.returns[0]["type"] != "Tensor" else made[0] if len(made) == 1 else tuple(made)


def _through(local: Callable, run: Callable, place: _Place) -> Callable:
    return lambda values: local(run, values, place)


def _wrapped(call: _Bound, result: Any, specs: Sequence[DTensorSpec]) -> Any:
    if call.written and call.handle.returns and call.handle.returns[0]["is_write"]:
        return call.tensors[call.written[0]]
    given = iter(specs)

    def wrap(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            spec = next(given)
            if tuple(value.shape) != spec.piece()[0]:
                raise RuntimeError(
                    f"{call.handle.namespace}.{call.handle.name}: a piece of size {tuple(value.shape)} was made where one of size "
                    f"{spec.piece()[0]} belongs: its sharding rule is wrong"
                )
            return call.kind(value, spec, requires_grad=False)
        return type(value)(map(wrap, value)) if type(value) in (list, tuple) else value

    if isinstance(result, tuple) and type(result) is not tuple:  # a named tuple
        return tuple(map(wrap, result))
    return wrap(result)


def _replicated(call: _Bound) -> list[torch.Tensor]:
    whole = (Replicate(),) * call.mesh.ndim
    return [redistribute_local(call.local(index), spec, whole) for index, spec in enumerate(call.specs)]


def _whole(call: _Bound) -> Any:
    """Every rank computes the whole: for operators without a rule, and where sizes depend on values."""
    for index in call.written:
        if not call.specs[index].is_replicated():
            return _whole_written(call)
    result = called(call.handle, call.with_tensors(_replicated(call)))
    whole = (Replicate(),) * call.mesh.ndim
    return _wrapped(call, result, [DTensorSpec(call.mesh, whole, meta_of(each)) for each in _flat(result)])


def _whole_written(call: _Bound) -> Any:
    """An operator that writes: on whole copies, of which each rank takes its pieces back."""
    whole = (Replicate(),) * call.mesh.ndim
    copies = [each.clone() if index in call.written else each for index, each in enumerate(_replicated(call))]
    result = called(call.handle, call.with_tensors(copies))
    for index in call.written:
        spec = call.specs[index]
        if any(each.is_partial() for each in spec.placements):
            raise RuntimeError(
                f"{call.handle.namespace}.{call.handle.name}: a tensor that lies as {spec.placements} cannot be written; "
                "redistribute it first"
            )
        made = DTensorSpec(call.mesh, whole, meta_of(copies[index]))
        call.local(index).copy_(redistribute_local(copies[index], made, spec.placements))
    return _wrapped(call, result, [DTensorSpec(call.mesh, whole, meta_of(each)) for each in _flat(result)])


def _drawn(call: _Bound) -> Any:
    """Random numbers: every rank draws those of the whole, so that they are what one process would draw."""
    if call.written:
        return _whole_written(call)
    result = called(call.handle, call.with_tensors(_replicated(call)))
    whole = (Replicate(),) * call.mesh.ndim
    (first, *_) = call.specs
    how = tuple(Replicate() if each.is_partial() else each for each in first.placements)
    specs, pieces = [], []
    for each in _flat(result):
        spec = DTensorSpec(call.mesh, whole, meta_of(each))
        if each.shape == first.shape:
            each, spec = redistribute_local(each, spec, how), spec.with_placements(how)
        specs.append(spec)
        pieces.append(each)
    if isinstance(result, torch.Tensor):
        return _wrapped(call, pieces[0], specs)
    return _wrapped(call, tuple(pieces), specs)


def _into(call: _Bound) -> Any:
    """The form `out=`: the result is moved to where `out` lies."""
    outs = [call.tensors[index] for index in call.written]
    functional = row_of(call.handle).handle  # type: ignore[union-attr]  # (it is there)
    names = [each["name"] for each in functional.arguments]
    given = {each["name"]: value for each, value in zip(call.handle.arguments, call.values, strict=True)}
    results = called(functional, [given[name] for name in names])
    for out, result in zip(outs, _flat(results), strict=True):
        if not isinstance(out, call.kind):
            raise RuntimeError(f"{call.handle.namespace}.{call.handle.name}: out= must be a DTensor as the inputs are")
        out.copy_(result)
    return outs[0] if len(outs) == 1 else tuple(outs)


def _over_lists(call: _Bound) -> Any:
    """Write to lists of tensors, element by element: each set of tensors lies as the first of them does."""
    lists = [value for value in call.values if isinstance(value, list | tuple)]
    wanted = {}
    index = 0
    for value in call.values:
        if isinstance(value, list | tuple):
            for place, each in enumerate(value):
                if isinstance(each, torch.Tensor):
                    leader: Any = lists[0][place]
                    if call.is_distributed(leader) and each.shape == leader.shape:
                        wanted[index] = leader._spec.placements
                    index += 1
        elif isinstance(value, torch.Tensor):
            index += 1
    moved = []
    for number, spec in enumerate(call.specs):
        how = wanted.get(number, (Replicate(),) * call.mesh.ndim)
        if number in call.written and isinstance(call.tensors[number], call.kind) and spec.placements != how:
            raise RuntimeError(
                f"{call.handle.namespace}.{call.handle.name}: a tensor that lies as {spec.placements} is written beside one "
                f"that lies as {how}"
            )
        moved.append(redistribute_local(call.local(number), spec, how))
    return called(call.handle, call.with_tensors(moved))
