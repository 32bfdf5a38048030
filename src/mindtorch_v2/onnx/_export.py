"""`torch.onnx.export`: a program captured by `torch.export`, written in ONNX."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.torch_dispatch import whole_calls
from mindtorch_v2.export import Dim, ExportedProgram
from mindtorch_v2.export._decompose import decomposed
from mindtorch_v2.onnx._decompositions import table
from mindtorch_v2.onnx._library import NATIVE_OPSET, graphs, quiet, required, script
from mindtorch_v2.onnx._program import ONNXProgram
from mindtorch_v2.onnx._translate import NotWrittenError, Table, kept, translated
from mindtorch_v2.onnx.enums import OperatorExportTypes, TrainingMode
from mindtorch_v2.onnx.errors import OnnxExporterError
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["export", "is_in_onnx_export"]

_OPSETS = range(NATIVE_OPSET, 24)
_DEFAULT_OPSET = 20

_running = 0


def is_in_onnx_export() -> bool:
    """Whether an export to ONNX is running.

    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return _running > 0


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Mapping[Callable[..., Any], Callable[..., Any]] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type[torch.nn.Module]] = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """Write a model in ONNX.

    `model` is a Module, which is captured by `torch.export` with the arguments `args` and `kwargs`, or an ExportedProgram. Returns the
    `ONNXProgram`, and with `f`, a path or a binary file, writes it there too. `dynamic_shapes` is that of `torch.export.export`;
    `dynamic_axes`, the older way to say it, has for each name of an input the dimensions that may differ. With `optimize` constants are
    folded; with `verify` the model is run by onnxruntime and compared; `custom_translation_table` has functions of onnxscript for
    operators; `report` and `dump_exported_program` leave files in `artifacts_dir`. Opsets 18 to 23.

    With `dynamo=False` the arguments mean what they meant in the exporter that went by TorchScript: the model is exported in the
    mode that `training` says, `do_constant_folding` decides instead of `optimize`, and nothing is returned. It is captured the same way.

    OnnxExporterError if the program cannot be captured, or has an operator that onnxscript does not have.

    Needs `pip install 'mindtorch_v2[onnx]'`.

    >>> program = torch.onnx.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> [node.op_type for node in program.model.graph]
    ['Gemm']
    """
    _refuse(profile, operator_export_type, export_modules_as_functions, opset_version)
    with _exporting(), quiet(), _mode_of(model, dynamo, training):
        program = _captured(model, args, kwargs, input_names, dynamic_shapes, dynamic_axes)
        if dump_exported_program:
            Path(artifacts_dir).mkdir(parents=True, exist_ok=True)
            torch.export.save(program, Path(artifacts_dir) / "onnx_export_program.pt2")
        made = _written(program, _by_overload(custom_translation_table or {}))
        _name_ends(made, input_names, output_names)
        _name_sizes(made, dynamic_shapes, dynamic_axes)
        made.opset_imports.update(custom_opsets or {})
        required("onnx_ir.passes.common").RemoveUnusedNodesPass()(made)
        result = ONNXProgram(made, program)
        if optimize if dynamo else do_constant_folding:
            result.optimize()
        wanted = _DEFAULT_OPSET if opset_version is None else opset_version
        if wanted != NATIVE_OPSET:
            script().version_converter.convert_version(made, wanted, fallback=True)
        if verify:
            _compare(result, program)
    if report:
        _write_report(result, program, Path(artifacts_dir))
    if verbose:
        print(made)
    if f is not None:
        _write(result, f, export_params, keep_initializers_as_inputs, external_data if dynamo else None)
    return result if dynamo else None


@contextlib.contextmanager
def _exporting() -> Iterator[None]:
    global _running
    _running += 1
    try:
        yield
    finally:
        _running -= 1


def _written(program: ExportedProgram, own: Table) -> Any:
    """The model of a program, with as few of its operators taken apart as onnxscript allows."""
    whole = kept(program, own)
    while True:
        try:
            with whole_calls():
                taken_apart = decomposed(program, table(), whole)
            return translated(taken_apart, own)
        except NotWrittenError as error:
            if error.target not in whole or error.target in own:
                raise
            whole.remove(error.target)  # not with these arguments: by its parts, then


def _refuse(profile: bool, kind: Any, as_functions: Any, opset: int | None) -> None:
    if profile:
        raise NotImplementedError(
            "torch.onnx.export: profile=True is not implemented; use torch.profiler around the call"
        )
    if kind not in (OperatorExportTypes.ONNX, OperatorExportTypes.ONNX_FALLTHROUGH):
        raise NotImplementedError(
            f"torch.onnx.export: operator_export_type={kind} is not implemented; pass custom_translation_table for operators that ONNX lacks"
        )
    if as_functions:
        raise NotImplementedError(
            "torch.onnx.export: export_modules_as_functions is not implemented, as in PyTorch's exporter"
        )
    if opset is not None and opset not in _OPSETS:
        raise OnnxExporterError(
            f"torch.onnx.export: opset_version must be {_OPSETS.start} to {_OPSETS.stop - 1}, got {opset}"
        )


@contextlib.contextmanager
def _mode_of(model: Any, dynamo: bool, training: TrainingMode) -> Iterator[None]:
    """Put a model into the mode that the older exporter would export it in, for the time of the export."""
    if dynamo or not isinstance(model, torch.nn.Module) or training is TrainingMode.PRESERVE:
        yield
        return
    before = {module: module.training for module in model.modules()}
    model.train(training is TrainingMode.TRAINING)
    try:
        yield
    finally:
        for module, mode in before.items():
            module.training = mode


def _captured(model: Any, args: Any, kwargs: Any, input_names: Any, dynamic_shapes: Any, dynamic_axes: Any) -> Any:
    if isinstance(model, ExportedProgram):
        return model
    if isinstance(args, torch.Tensor) or not isinstance(args, (tuple, list)):
        args = (args,)
    args = tuple(args)
    if args and isinstance(args[-1], dict) and kwargs is None and dynamic_axes is not None:
        args, kwargs = args[:-1], args[-1]  # the older exporter's way to give keyword arguments
    if dynamic_shapes is None and dynamic_axes:
        dynamic_shapes = _shapes_of_axes(args, kwargs or {}, input_names, dynamic_axes)
    if not isinstance(model, torch.nn.Module):
        model = _Called(model)
    try:
        return torch.export.export(
            model, args, dict(kwargs) if kwargs else None, dynamic_shapes=dynamic_shapes, strict=False
        )
    except Exception as error:
        raise OnnxExporterError(
            f"Failed to export the model with torch.export. {type(error).__name__}: {error}"
        ) from error


class _Called(torch.nn.Module):
    """A Module that calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def _shapes_of_axes(args: Any, kwargs: Any, input_names: Any, dynamic_axes: Mapping[str, Any]) -> Any:
    """`dynamic_shapes` of torch.export for the older `dynamic_axes`: {name: {dimension: name of the size}}, or lists of dimensions."""
    leaves, structure = pytree.tree_flatten((args, kwargs))
    names = list(input_names or [])
    made: list[Any] = []
    for place, leaf in enumerate(leaves):
        axes = dynamic_axes.get(names[place]) if place < len(names) else None
        if not isinstance(leaf, torch.Tensor) or not axes:
            made.append(None)
            continue
        made.append({(axis + leaf.dim() if axis < 0 else axis): Dim.AUTO for axis in axes})
    shapes_of_args, shapes_of_kwargs = pytree.tree_unflatten(made, structure)
    return (
        (*shapes_of_args, *shapes_of_kwargs.values()) if not kwargs else [*shapes_of_args, *shapes_of_kwargs.values()]
    )


def _by_overload(table: Mapping[Callable[..., Any], Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """A user's table by overload: a packet stands for its default one."""
    made = {}
    for target, function in table.items():
        made[getattr(target, "default", target) if not hasattr(target, "_schema") else target] = function
    return made


def _name_ends(model: Any, input_names: Sequence[str] | None, output_names: Sequence[str] | None) -> None:
    for what, values, names in (
        ("input", model.graph.inputs, input_names or ()),
        ("output", model.graph.outputs, output_names or ()),
    ):
        if len(names) > len(values):
            raise OnnxExporterError(
                f"torch.onnx.export: {len(names)} {what}_names for {len(values)} {what}s: {list(names)}"
            )
        for value, name in zip(values, names):
            value.name = name


def _name_sizes(model: Any, dynamic_shapes: Any, dynamic_axes: Mapping[str, Any] | None) -> None:
    """Call sizes in the model by the names of the Dims, or by the words, that the user gave for them."""
    wanted: list[Any] = list(dynamic_shapes.values()) if isinstance(dynamic_shapes, Mapping) else dynamic_shapes or []
    if not wanted and dynamic_axes:
        wanted = [dynamic_axes.get(value.name) for value in model.graph.inputs]
    names: dict[str, str] = {}
    for value, spec in zip(model.graph.inputs, wanted):
        pairs = (
            spec.items() if isinstance(spec, Mapping) else enumerate(spec) if isinstance(spec, (list, tuple)) else ()
        )
        for dim, said in pairs:
            name = said if isinstance(said, str) else getattr(said, "__name__", None)
            size = value.shape[dim] if isinstance(dim, int) and value.shape is not None else None
            if name and size is not None and not isinstance(size, int):
                names.setdefault(str(size.value), name)
    for value in _values(model.graph) if names else ():
        for place, size in enumerate(value.shape or ()):
            if not isinstance(size, int) and str(size.value) in names:
                value.shape[place] = names[str(size.value)]


def _values(graph: Any) -> Iterator[Any]:
    yield from graph.inputs
    for node in graph.all_nodes():
        yield from node.outputs


def _compare(result: ONNXProgram, program: ExportedProgram) -> None:
    """Run the model and the program on the example; OnnxExporterError where they differ."""
    args, kwargs = program.example_inputs or ((), {})
    expected = [each for each in pytree.tree_leaves(program.module()(*args, **kwargs)) if each is not None]
    for place, (seen, wanted) in enumerate(zip(result(*args, **kwargs), expected, strict=True)):
        wanted = torch.view_as_real(wanted) if wanted.is_complex() else wanted
        try:
            torch.testing.assert_close(seen, wanted.detach(), rtol=1e-3, atol=1e-4)
        except AssertionError as error:
            raise OnnxExporterError(f"torch.onnx.export: output {place} of the model differs: {error}") from error


def _write_report(result: ONNXProgram, program: ExportedProgram, folder: Path) -> None:
    counts: dict[str, int] = {}
    for node in result.model.graph.all_nodes():
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    rows = "\n".join(f"| {name} | {count} |" for name, count in sorted(counts.items()))
    folder.mkdir(parents=True, exist_ok=True)
    text = f"# Export to ONNX\n\n| operator | nodes |\n|---|--:|\n{rows}\n\n```\n{program.graph}\n```\n"
    (folder / "onnx_export_report.md").write_text(text, encoding="utf-8")


def _write(result: ONNXProgram, f: Any, params: bool, as_inputs: bool, external: bool | None) -> None:
    if not isinstance(f, (str, os.PathLike)):
        buffer = io.BytesIO(graphs().to_proto(result.model).SerializeToString())
        f.write(buffer.getbuffer())
        return
    result.save(f, include_initializers=params, keep_initializers_as_inputs=as_inputs, external_data=external)
