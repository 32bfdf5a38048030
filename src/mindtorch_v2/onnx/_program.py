"""`ONNXProgram`: a model in ONNX's form, which can be saved and, with onnxruntime, run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import IO, Any

import mindtorch_v2 as torch
from mindtorch_v2.export.exported_program import ExportedProgram
from mindtorch_v2.onnx._library import graphs, required, script
from mindtorch_v2.onnx._numbers import array_of, stored, tensor_of
from mindtorch_v2.onnx.errors import OnnxExporterError
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["ONNXProgram"]

_LARGEST_MESSAGE = 2**31 - 1  # of protobuf


class ONNXProgram:
    """A model that `torch.onnx.export` gave.

    `model` is the `onnx_ir.Model`, `model_proto` ONNX's message, `exported_program` the program that it was made of. Calling it
    runs the model with onnxruntime, on the arguments of the program that was exported; results come as a flat list of tensors.

    >>> program = torch.onnx.export(torch.nn.ReLU(), (torch.ones(2),), verbose=False)
    >>> type(program).__name__, [node.op_type for node in program.model.graph]
    ('ONNXProgram', ['Relu'])
    """

    def __init__(self, model: Any, exported_program: ExportedProgram | None) -> None:
        self.model = model
        self.exported_program = exported_program
        self._session: Any = None

    def __repr__(self) -> str:
        return f"ONNXProgram(\n    model=\n{self.model}\n)"

    @property
    def model_proto(self) -> Any:
        """The `onnx.ModelProto`."""
        return graphs().to_proto(self.model)

    def optimize(self) -> None:
        """Fold constants and leave out what has no effect, in place."""
        self.release()
        script().optimizer.optimize(self.model)

    def save(
        self,
        destination: str | os.PathLike[str] | IO[bytes],
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model to a file, by its name or as an open one.

        Models beyond protobuf's limit of 2 GiB, and all with `external_data=True`, have their parameters in a second file beside it,
        `destination` with `.data`. Without initializers the model has no parameters; as inputs they can be given at each run.
        """
        ir = graphs()
        model = self.model if include_initializers and not keep_initializers_as_inputs else self.model.clone()
        initializers = list(model.graph.initializers.values())
        if keep_initializers_as_inputs or not include_initializers:
            model.graph.inputs.extend(each for each in initializers if each not in model.graph.inputs)
        if not include_initializers:
            model.graph.initializers.clear()
        if not isinstance(destination, str | os.PathLike):
            destination.write(ir.to_proto(model).SerializeToString())
            return
        path = os.fspath(destination)
        size = sum(each.const_value.nbytes for each in model.graph.initializers.values())
        if external_data or size > _LARGEST_MESSAGE:
            ir.save(model, path, external_data=f"{os.path.basename(path)}.data")
        else:
            ir.save(model, path)

    def apply_weights(self, state_dict: Mapping[str, torch.Tensor]) -> None:
        """Take other parameters, by their names in the program; a name that the model lacks is left out with a warning."""
        self.release()
        for name, tensor in state_dict.items():
            value = self.model.graph.initializers.get(name)
            if value is None:
                warnings.warn(f"Weight '{name}' not found in the model. Skipped applying.", stacklevel=2)
            else:
                value.const_value = stored(tensor, name)

    def initialize_inference_session(self, initializer: Any = None) -> None:
        """Prepare the model for runs: `initializer` makes a session of onnxruntime of a model's bytes."""
        make = initializer or _session
        self._session = make(self.model_proto.SerializeToString())

    def release(self) -> None:
        """Forget the prepared session."""
        self._session = None

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[torch.Tensor]:
        """Run the model; OnnxExporterError if onnxruntime is not installed."""
        if self._session is None:
            self.initialize_inference_session()
        given = self._arrays(args, kwargs)
        return [tensor_of(each) for each in self._session.run(None, given)]

    def call_reference(self, *args: Any, **kwargs: Any) -> Sequence[torch.Tensor]:
        """Run the model with ONNX's own evaluator, which is slow and says what the operators mean."""
        evaluator = required("onnx.reference").ReferenceEvaluator(self.model_proto)
        return [tensor_of(each) for each in evaluator.run(None, self._arrays(args, kwargs))]

    def _arrays(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        leaves = pytree.tree_leaves((args, _in_order(self.exported_program, kwargs)))
        tensors = [_tensor(each) for each in leaves if each is not None and not isinstance(each, str)]
        names = [each.name for each in self.model.graph.inputs]
        if len(tensors) != len(names):
            raise OnnxExporterError(f"ONNXProgram: expected {len(names)} inputs, {names}, got {len(tensors)}")
        return {name: array_of(tensor) for name, tensor in zip(names, tensors)}


def _in_order(program: ExportedProgram | None, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keyword arguments in the order in which the program was exported with them."""
    examples = program.example_inputs[1] if program is not None and program.example_inputs else {}
    return {name: kwargs[name] for name in [*examples, *kwargs] if name in kwargs}


def _tensor(value: Any) -> torch.Tensor:
    tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def _session(model: bytes) -> Any:
    runtime = required("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
