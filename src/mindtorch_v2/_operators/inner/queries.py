"""Questions about tensors and dtypes that Python answers with an attribute or a function of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _C
from ..._core.dtype import NUMBERED
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._C import dtype
    from ..._tensor import Tensor
    from ...types import Device, Number


@composite("can_cast(ScalarType from_, ScalarType to) -> bool", "Whether values of one dtype may be kept in another.")
def can_cast(from_: dtype, to: dtype) -> bool:
    return _C.can_cast(from_, to)


@composite(
    "promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
    "The dtype of a result of two dtypes, as its number.",
)
def promote_types(type1: dtype, type2: dtype) -> int:
    return NUMBERED.index(_C.promote_types(type1, type2))


def _result_type(overload, first, second) -> None:
    @composite(
        f"result_type.{overload}({first}, {second}) -> ScalarType",
        "The dtype of the result of arithmetic with both, as its number.",
    )
    def result_type(one: Number | Tensor, other: Number | Tensor) -> int:
        return NUMBERED.index(_C.result_type(one, other))


_result_type("Tensor", "Tensor tensor", "Tensor other")
_result_type("Scalar", "Tensor tensor", "Scalar other")
_result_type("Scalar_Tensor", "Scalar scalar", "Tensor tensor")
_result_type("Scalar_Scalar", "Scalar scalar1", "Scalar scalar2")


def _asked(schema, doc, answer, **words) -> None:
    """The operator of a question that a method or an attribute of tensors answers."""

    @composite(schema, doc, **words)
    def question(self: Tensor, *args: Any) -> Any:
        return answer(self, *args)


_asked("size.int(Tensor self, int dim) -> int", "The size of a dimension.", lambda self, dim: self.size(dim))
_asked("stride.int(Tensor self, int dim) -> int", "The stride of a dimension.", lambda self, dim: self.stride(dim))
_asked("numel(Tensor self) -> int", "The number of elements.", lambda self: self.numel())
_asked("storage_offset(Tensor self) -> int", "Where the elements begin.", lambda self: self.storage_offset())
_asked("get_device(Tensor self) -> int", "The number of the device; -1 on the host.", lambda self: self.get_device())
_asked("output_nr(Tensor self) -> int", "The place among the results of its node.", lambda self: self.output_nr)
_asked("_version(Tensor self) -> int", "How often it was written.", lambda self: self._version)
_asked("is_complex(Tensor self) -> bool", "Whether the dtype is complex.", lambda self: self.is_complex())
_asked(
    "is_floating_point(Tensor self) -> bool", "Whether the dtype is floating.", lambda self: self.is_floating_point()
)
_asked("is_conj(Tensor self) -> bool", "Whether it is a lazy conjugate.", lambda self: self.is_conj())
_asked("is_neg(Tensor self) -> bool", "Whether it is a lazy negative.", lambda self: self.is_neg())
_asked("is_inference(Tensor self) -> bool", "Whether it was made in inference mode.", lambda self: self.is_inference())
_asked("is_leaf(Tensor self) -> bool", "Whether no recorded operator made it.", lambda self: self.is_leaf)
_asked(
    "retains_grad(Tensor self) -> bool",
    "Whether it keeps its gradient, not being a leaf.",
    lambda self: self.retains_grad,
)
_asked(
    "is_distributed(Tensor self) -> bool", "Whether it is in pieces on several devices: never here.", lambda self: False
)
_asked("_is_zerotensor(Tensor self) -> bool", "Whether it is zeros without memory.", lambda self: self._is_zerotensor())
_asked("qscheme(Tensor self) -> QScheme", "How a quantized tensor is quantized.", lambda self: self.qscheme())
_asked(
    "is_set_to(Tensor self, Tensor tensor) -> bool",
    "Whether both are the same elements of one storage, in the same order.",
    lambda self, tensor: self.is_set_to(tensor),
)
_asked(
    "item(Tensor self) -> Scalar",
    "The only element, as a number.",
    lambda self: self.item(),
    tags="data_dependent_output",
)


@composite("_has_same_storage_numel(Tensor self, Tensor other) -> bool", "Whether both storages have as many elements.")
def _has_same_storage_numel(self, other):
    return _C._storage_numel(self) == _C._storage_numel(other)


@composite(
    "_has_compatible_shallow_copy_type(Tensor self, Tensor from) -> bool",
    "Whether `self` can take the place of what `from` is: both of one kind of layout.",
)
def _has_compatible_shallow_copy_type(self, from_):
    return self.layout == from_.layout


@composite(
    "sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> SymBool",
    "Whether the elements are dense in that order: how graphs ask for it.",
    tags="core",
)
def _sym_is_contiguous(self, memory_format=_C.contiguous_format):
    return self.is_contiguous(memory_format=memory_format)


@composite("data(Tensor self) -> Tensor", "The same elements, without history.")
def data(self: Tensor) -> Tensor:
    return self.data


@composite("set_data(Tensor(a!) self, Tensor new_data) -> ()", "Puts other elements in the place of those of `self`.")
def set_data(self: Tensor, new_data: Tensor) -> None:
    self.data = new_data


@composite(
    "requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)",
    "Says whether gradients of the tensor are wanted.",
)
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    return self.requires_grad_(requires_grad)


@composite("retain_grad(Tensor(a!) self) -> ()", "Has a tensor that is no leaf keep its gradient.")
def retain_grad(self: Tensor) -> None:
    self.retain_grad()


@composite(
    "_backward(Tensor self, Tensor[] inputs, Tensor? gradient=None, bool? retain_graph=None, bool create_graph=False)"
    " -> ()",
    "Adds the gradients of `self` to those of the leaves, or of `inputs`.",
)
def _backward(self, inputs, gradient=None, retain_graph=None, create_graph=False):
    self.backward(gradient, retain_graph, create_graph, inputs or None)


@composite(
    "pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)", "A copy in memory that devices read directly."
)
def pin_memory(self: Tensor, device: Device | None = None) -> Tensor:
    return self.pin_memory() if device is None else self.pin_memory(device)


@composite(
    "swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    "`transpose`.",
    samples=[S(T(2, 3, 4), 0, 2)],
)
def swapdims(self: Tensor, dim0: int, dim1: int) -> Tensor:
    return aten.transpose(self, dim0, dim1)
