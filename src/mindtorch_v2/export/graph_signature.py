"""Roles of inputs and outputs of an exported graph: parameters, buffers, constants, what the user gives and gets."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Mapping, Sequence

__all__ = [
    "ArgumentSpec",
    "ConstantArgument",
    "CustomObjArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
    "TokenArgument",
]


@dataclasses.dataclass
class TensorArgument:
    """A tensor, by the name of its node.

    >>> torch.export.export(torch.nn.ReLU(), (torch.ones(2),)).graph_signature.output_specs[0].arg
    TensorArgument(name='relu')
    """

    name: str


@dataclasses.dataclass
class TokenArgument:
    """A token that orders effects, by the name of its node. No graph has any yet.

    >>> torch.export.graph_signature.TokenArgument(name="token")
    TokenArgument(name='token')
    """

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """An integer that is computed in the graph, by the name of its node.

    >>> torch.export.graph_signature.SymIntArgument(name="sym_size_int")
    SymIntArgument(name='sym_size_int')
    """

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A float that is computed in the graph, by the name of its node.

    >>> torch.export.graph_signature.SymFloatArgument(name="truediv")
    SymFloatArgument(name='truediv')
    """

    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A truth value that is computed in the graph, by the name of its node.

    >>> torch.export.graph_signature.SymBoolArgument(name="gt")
    SymBoolArgument(name='gt')
    """

    name: str


@dataclasses.dataclass
class CustomObjArgument:
    """An object of a class that a library in C++ registered (`torch.classes`), by the name of its node.

    >>> from mindtorch_v2.export.graph_signature import CustomObjArgument
    >>> CustomObjArgument(name="tokenizer", class_fqn="my.Tokenizer").class_fqn
    'my.Tokenizer'
    """

    name: str
    class_fqn: str
    fake_val: object = None


@dataclasses.dataclass
class ConstantArgument:
    """A value that is the same at every call. The name is empty for an output.

    >>> torch.export.graph_signature.ConstantArgument(name="training", value=True)
    ConstantArgument(name='training', value=True)
    """

    name: str
    value: object


ArgumentSpec = (
    TensorArgument | SymIntArgument | SymFloatArgument | SymBoolArgument
    | ConstantArgument | CustomObjArgument | TokenArgument
)  # fmt: skip


class InputKind(enum.Enum):
    """The kinds of inputs.

    >>> program = torch.export.export(torch.nn.PReLU(), (torch.ones(2),))
    >>> [spec.kind.name for spec in program.graph_signature.input_specs]
    ['PARAMETER', 'USER_INPUT']
    """

    USER_INPUT = 1
    PARAMETER = 2
    BUFFER = 3
    CONSTANT_TENSOR = 4
    CUSTOM_OBJ = 5
    TOKEN = 6


class OutputKind(enum.Enum):
    """The kinds of outputs: a result of the user's, or the new value of something that was written.

    >>> program = torch.export.export(torch.nn.PReLU(), (torch.ones(2),))
    >>> [spec.kind.name for spec in program.graph_signature.output_specs]
    ['USER_OUTPUT']
    """

    USER_OUTPUT = 1
    LOSS_OUTPUT = 2
    BUFFER_MUTATION = 3
    PARAMETER_MUTATION = 4
    GRADIENT_TO_PARAMETER = 5
    GRADIENT_TO_USER_INPUT = 6
    USER_INPUT_MUTATION = 7
    TOKEN = 8


def _check_argument(arg) -> None:
    if not isinstance(arg, ArgumentSpec):
        raise AssertionError(f"got {type(arg)}")


def _text_of(arg):
    return arg.name


@dataclasses.dataclass
class InputSpec:
    """An input: its kind, its node, the name in the module that it comes from (`target`), whether a buffer is saved.

    >>> spec = torch.export.export(torch.nn.PReLU(), (torch.ones(2),)).graph_signature.input_specs[0]
    >>> spec.kind.name, spec.arg.name, spec.target
    ('PARAMETER', 'p_weight', 'weight')
    """

    kind: InputKind
    arg: object
    target: str | None
    persistent: bool | None = None

    def __post_init__(self) -> None:
        if self.kind is InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")
        _check_argument(self.arg)

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{_text_of(self.arg)}: {self.kind.name}{target}{persistent}"


@dataclasses.dataclass
class OutputSpec:
    """An output: its kind, its node, and the name of what it is the new value or the gradient of.

    >>> spec = torch.export.export(torch.nn.ReLU(), (torch.ones(2),)).graph_signature.output_specs[0]
    >>> spec.kind.name, spec.arg.name, spec.target
    ('USER_OUTPUT', 'relu', None)
    """

    kind: OutputKind
    arg: object
    target: str | None

    def __post_init__(self) -> None:
        _check_argument(self.arg)

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{_text_of(self.arg)}: {self.kind.name}{target}"


@dataclasses.dataclass
class ExportBackwardSignature:
    """The gradients that a graph with a backward gives.

    >>> from mindtorch_v2.export.graph_signature import ExportBackwardSignature
    >>> ExportBackwardSignature({"grad_1": "weight"}, {}, "loss").gradients_to_parameters
    {'grad_1': 'weight'}
    """

    gradients_to_parameters: dict
    gradients_to_user_inputs: dict
    loss_output: str


_NAMED = (TensorArgument, SymIntArgument, SymFloatArgument, SymBoolArgument, CustomObjArgument)


def _value_or_name(arg):
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


@dataclasses.dataclass
class ExportGraphSignature:
    """The inputs and outputs of a graph, in order.

    Inputs are parameters, buffers, constants, then what the user gives, flattened. Outputs are the new values of what was
    written (in a graph without writes), then what the user gets.

    >>> signature = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(1, 2),)).graph_signature
    >>> signature.parameters, signature.user_outputs
    (('weight', 'bias'), ('linear',))
    """

    input_specs: list
    output_specs: list

    def _targets(self, kind) -> tuple:
        return tuple(s.target for s in self.input_specs if s.kind is kind and isinstance(s.target, str))

    def _inputs(self, kind):
        return types.MappingProxyType(
            {s.arg.name: s.target for s in self.input_specs if s.kind is kind and isinstance(s.arg, _NAMED)}
        )

    def _outputs(self, kind):
        return types.MappingProxyType({s.arg.name: s.target for s in self.output_specs if s.kind is kind})

    @property
    def parameters(self) -> tuple[str, str, str, str]:
        """The names of the parameters in the module."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> Sequence[str]:
        """The names of the buffers in the module."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple:
        """The names of the buffers that are not in the state dict."""
        return tuple(s.target for s in self.input_specs if s.kind is InputKind.BUFFER and not s.persistent)

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the tensors that are neither parameters nor buffers."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def lifted_custom_objs(self) -> Sequence[str]:
        """The names of the objects of classes in C++."""
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def user_inputs(self) -> tuple:
        """The nodes (by name) that the user gives, and the values of constants."""
        return tuple(_value_or_name(s.arg) for s in self.input_specs if s.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple:
        """The nodes (by name) that the user gets, and the values of constants."""
        kinds = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        return tuple(_value_or_name(s.arg) for s in self.output_specs if s.kind in kinds)

    @property
    def inputs_to_parameters(self) -> Mapping:
        """Node to name."""
        return self._inputs(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping:
        """Node to name."""
        return self._inputs(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping:
        """Node to name."""
        return self._inputs(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self) -> dict[str, str]:
        """Node to name."""
        return self._inputs(InputKind.CUSTOM_OBJ)

    @property
    def buffers_to_mutate(self) -> Mapping:
        """The node of the new value to the name of the buffer."""
        return self._outputs(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> dict[str, str]:
        """The node of the new value to the name of the parameter."""
        return self._outputs(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping:
        """The node of the new value to the node of the input."""
        return self._outputs(OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self) -> None:
        """The gradients that the graph gives: None, no graph has a backward."""
        return None

    @property
    def assertion_dep_token(self) -> None:
        """None."""
        return None

    def replace_all_uses(self, old: str, new: str) -> None:
        """Let the signature name `new` where it names the node `old`."""
        for spec in (*self.input_specs, *self.output_specs):
            if isinstance(spec.arg, _NAMED) and spec.arg.name == old:
                spec.arg.name = new
            if isinstance(spec, OutputSpec) and spec.kind is OutputKind.USER_INPUT_MUTATION and spec.target == old:
                spec.target = new

    def __str__(self) -> str:
        inputs, outputs = "\n".join(map(str, self.input_specs)), "\n".join(map(str, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"
