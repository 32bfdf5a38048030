"""How a module's parameters are cut and its inputs and outputs lie, when it works on several ranks at once."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.tensor._api import DTensor, distribute_module, distribute_tensor
from mindtorch_v2.distributed.tensor.placement_types import Placement, Replicate, Shard

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]

Module = torch.nn.Module
Layouts = Placement | Sequence[Placement | None] | None


class ParallelStyle(abc.ABC):
    """A way for `parallelize_module` to treat a module.

    >>> from mindtorch_v2.distributed.tensor.parallel import ColwiseParallel
    >>> from mindtorch_v2.distributed.tensor.parallel.style import ParallelStyle
    >>> isinstance(ColwiseParallel(), ParallelStyle)
    True
    """

    src_data_rank: int | None = 0
    _shown: tuple[str, ...] = ()  # the attributes that its text has, which are the arguments that it was made with

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
        return f"{type(self).__name__}({values})"

    @abc.abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """The module, whose parameters are distributed over the mesh."""


def _lying(value: Any, mesh: DeviceMesh, layout: Placement, desired: Placement) -> Any:
    """A tensor that lies as `layout`, moved to lie as `desired`; what is no tensor stays."""
    if not isinstance(value, torch.Tensor):
        return value
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, (layout,), run_check=False)
    return value if value.placements == (desired,) else value.redistribute(placements=(desired,))


def _handed_out(value: Any, layout: Placement, local: bool) -> Any:
    if not isinstance(value, DTensor):
        return value
    if value.placements != (layout,):
        value = value.redistribute(placements=(layout,))
    return value.to_local() if local else value


def _put(module: Module, name: str, mesh: DeviceMesh, placement: Placement, source: int | None) -> None:
    """Distribute a parameter of a module, if it has it."""
    parameter = module._parameters.get(name)
    if parameter is not None:
        made = distribute_tensor(parameter.detach(), mesh, [placement], src_data_rank=source)
        module.register_parameter(name, torch.nn.Parameter(made, requires_grad=parameter.requires_grad))


class ColwiseParallel(ParallelStyle):
    """A Linear whose output features, or an Embedding whose features, are cut over the ranks.

    Args:
        input_layouts: how the input lies; `Replicate()` by default, which is what the module works on.
        output_layouts: how the output is to lie; `Shard(-1)`, which it does, by default.
        use_local_output: whether this rank's piece is given out, and not the `DTensor`.

    >>> from mindtorch_v2.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> parallelize_module(torch.nn.Linear(2, 4), mesh, ColwiseParallel()).weight.placements
    (Shard(dim=0),)
    >>> dist.destroy_process_group()
    """

    _shown = ("input_layouts", "output_layouts", "use_local_output")

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = (input_layouts or Replicate(),)
        self.output_layouts = (output_layouts or Shard(-1),)
        self.desired_input_layouts = (Replicate(),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if not isinstance(module, torch.nn.Linear | torch.nn.Embedding):
            raise NotImplementedError("ColwiseParallel currently only support nn.Linear and nn.Embedding!")
        cut = 0 if isinstance(module, torch.nn.Linear) else 1

        def partition(name: str, each: Module, mesh: DeviceMesh) -> None:
            _put(each, "weight", mesh, Shard(cut), self.src_data_rank)
            _put(each, "bias", mesh, Shard(0), self.src_data_rank)

        return _with_ends(self, module, device_mesh, partition)


class RowwiseParallel(ParallelStyle):
    """A Linear whose input features, or an Embedding whose rows, are cut over the ranks; the ranks' outputs are summed.

    Args:
        input_layouts: how the input lies; `Shard(-1)` by default (for an Embedding give `Replicate()`).
        output_layouts: how the output is to lie; `Replicate()` by default, `Shard(1)` for sequence parallelism.
        use_local_output: whether this rank's piece is given out, and not the `DTensor`.

    >>> from mindtorch_v2.distributed.tensor.parallel import RowwiseParallel, parallelize_module
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> parallelize_module(torch.nn.Linear(2, 4), mesh, RowwiseParallel()).weight.placements
    (Shard(dim=1),)
    >>> dist.destroy_process_group()
    """

    _shown = ("input_layouts", "output_layouts", "use_local_output")

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = (input_layouts or Shard(-1),)
        self.output_layouts = (output_layouts or Replicate(),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if isinstance(module, torch.nn.Linear):
            self.desired_input_layouts: tuple[Placement, ...] = (Shard(-1),)
            cut = 1
        elif isinstance(module, torch.nn.Embedding):
            self.desired_input_layouts = (Replicate(),)
            cut = 0
        else:
            raise NotImplementedError("RowwiseParallel currently only support nn.Linear and nn.Embedding!")

        def partition(name: str, each: Module, mesh: DeviceMesh) -> None:
            _put(each, "weight", mesh, Shard(cut), self.src_data_rank)
            _put(each, "bias", mesh, Replicate(), self.src_data_rank)

        return _with_ends(self, module, device_mesh, partition)


def _of_rank(placement: Placement, rank: int) -> Placement:
    """A placement whose dimension is counted from the front."""
    return Shard(placement.dim % rank) if isinstance(placement, Shard) and placement.dim < 0 else placement


def _with_ends(style: Any, module: Module, mesh: DeviceMesh, partition: Any) -> Module:
    """The module distributed, with its first input and its output moved as the style says."""

    def before(mod: Module, inputs: Any, mesh: DeviceMesh) -> Any:
        (first, *rest) = inputs
        rank = first.dim() if isinstance(first, torch.Tensor) else 0
        layout, desired = (_of_rank(each[0], rank) for each in (style.input_layouts, style.desired_input_layouts))
        return (_lying(first, mesh, layout, desired), *rest)

    def after(mod: Module, outputs: Any, mesh: DeviceMesh) -> Any:
        rank = outputs.dim() if isinstance(outputs, torch.Tensor) else 0
        return _handed_out(outputs, _of_rank(style.output_layouts[0], rank), style.use_local_output)

    return distribute_module(module, mesh, partition, before, after)


class SequenceParallel(ParallelStyle):
    """A module whose parameters are replicated, and whose input is cut along the sequence: norms, dropout.

    Args:
        sequence_dim: the dimension of the sequence.
        use_local_output: whether this rank's piece is given out, and not the `DTensor`.

    >>> from mindtorch_v2.distributed.tensor.parallel import SequenceParallel, parallelize_module
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> norm = parallelize_module(torch.nn.LayerNorm(2), mesh, SequenceParallel())
    >>> norm(torch.tensor([[[1.0, 3.0]]])).placements
    (Shard(dim=1),)
    >>> dist.destroy_process_group()
    """

    _shown = ("sequence_dim", "use_local_output")

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim, self.sequence_sharding = sequence_dim, (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        cut = self.sequence_sharding[0]

        def partition(name: str, each: Module, mesh: DeviceMesh) -> None:
            for own in list(each._parameters):
                _put(each, own, mesh, Replicate(), self.src_data_rank)

        def before(mod: Module, inputs: Any, mesh: DeviceMesh) -> Any:
            (first, *rest) = inputs
            if not isinstance(first, torch.Tensor):
                raise ValueError(f"expecting input of {mod} to be a torch.Tensor or DTensor, but got {first}")
            return (_lying(first, mesh, cut, cut), *rest)

        def after(mod: Module, outputs: Any, mesh: DeviceMesh) -> Any:
            return outputs.to_local() if self.use_local_output and isinstance(outputs, DTensor) else outputs

        return distribute_module(module, device_mesh, partition, before, after)


def _listed(layouts: Layouts) -> tuple[Placement | None, ...] | None:
    return None if layouts is None else (layouts,) if isinstance(layouts, Placement) else tuple(layouts)


class PrepareModuleInput(ParallelStyle):
    """Inputs of a module, made distributed tensors and moved before its forward.

    Args:
        input_layouts: how each positional input lies; None for one that stays as it is.
        desired_input_layouts: how each is to lie.
        input_kwarg_layouts, desired_input_kwarg_layouts: the same for keyword arguments, by name.
        use_local_output: whether the module gets this rank's pieces, and not `DTensor`.

    >>> from mindtorch_v2.distributed.tensor import Replicate, Shard
    >>> from mindtorch_v2.distributed.tensor.parallel import PrepareModuleInput, parallelize_module
    >>> style = PrepareModuleInput(
    ...     input_layouts=(Shard(0),), desired_input_layouts=(Replicate(),), use_local_output=True
    ... )
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> parallelize_module(torch.nn.ReLU(), mesh, style)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    >>> dist.destroy_process_group()
    """

    _shown = (
        "input_layouts",
        "desired_input_layouts",
        "input_kwarg_layouts",
        "desired_input_kwarg_layouts",
        "use_local_output",
    )

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts, self.desired_input_layouts = _listed(input_layouts), _listed(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.with_kwargs = input_kwarg_layouts is not None
        if len(self.input_kwarg_layouts) != len(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _moved(self, value: Any, mesh: DeviceMesh, layout: Placement | None, desired: Placement | None) -> Any:
        if layout is None or not isinstance(value, torch.Tensor):
            return value
        made = _lying(value, mesh, layout, desired or layout)
        return made.to_local() if self.use_local_output else made

    def _inputs(self, inputs: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts is None:
            return inputs
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(given) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        desired: Any = self.desired_input_layouts
        return tuple(
            self._moved(*each) for each in zip(given, [mesh] * len(given), self.input_layouts, desired, strict=True)
        )

    def _before(self, module: Module, args: Any, kwargs: Any, mesh: DeviceMesh) -> tuple:
        made = {
            name: self._moved(
                value, mesh, self.input_kwarg_layouts.get(name), self.desired_input_kwarg_layouts.get(name)
            )
            for name, value in kwargs.items()
        }
        return self._inputs(args, mesh), made

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_pre_hook(
            lambda mod, args, kwargs: self._before(mod, args, kwargs, device_mesh), with_kwargs=True
        )
        return module


class PrepareModuleOutput(ParallelStyle):
    """Outputs of a module, made distributed tensors and moved after its forward.

    Args:
        output_layouts: how each output lies; None for one that stays as it is.
        desired_output_layouts: how each is to lie.
        use_local_output: whether this rank's pieces are given out, and not `DTensor`.

    >>> from mindtorch_v2.distributed.tensor import Replicate, Shard
    >>> from mindtorch_v2.distributed.tensor.parallel import PrepareModuleOutput, parallelize_module
    >>> style = PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=Replicate())
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> parallelize_module(torch.nn.ReLU(), mesh, style)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    >>> dist.destroy_process_group()
    """

    _shown = ("output_layouts", "desired_output_layouts", "use_local_output")

    def __init__(
        self, *, output_layouts: Layouts, desired_output_layouts: Layouts, use_local_output: bool = True
    ) -> None:
        self.output_layouts: Any = _listed(output_layouts)
        self.desired_output_layouts: Any = _listed(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(_listed(output_layouts) or ()) != len(_listed(desired_output_layouts) or ()):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _after(self, outputs: Any, mesh: DeviceMesh) -> Any:
        given = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(given) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        made = []
        for value, layout, desired in zip(given, self.output_layouts, self.desired_output_layouts, strict=True):
            if layout is None:
                made.append(value)
            else:
                moved = _lying(value, mesh, layout, desired)
                made.append(moved.to_local() if self.use_local_output else moved)
        return tuple(made) if isinstance(outputs, tuple) else made[0]

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_hook(lambda mod, inputs, outputs: self._after(outputs, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """`PrepareModuleInput` and `PrepareModuleOutput` of one module.

    >>> from mindtorch_v2.distributed.tensor import Replicate, Shard
    >>> from mindtorch_v2.distributed.tensor.parallel import PrepareModuleInputOutput, parallelize_module
    >>> cut, whole = Shard(0), Replicate()
    >>> style = PrepareModuleInputOutput(
    ...     input_layouts=cut, desired_input_layouts=whole, output_layouts=whole, desired_output_layouts=cut
    ... )
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> parallelize_module(torch.nn.ReLU(), mesh, style)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
