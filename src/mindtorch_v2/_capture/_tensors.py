"""Tensors as the program sees them: their attributes and methods, of which some are known, some recorded and some refused.

Owns no state: the graph knows the tensors, and their attributes in Python are sources and writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._methods import TensorMethod
from mindtorch_v2._capture._sources import Attribute, Dictionary, Item, absent, look_up
from mindtorch_v2._subclasses.fake_tensor import DataDependentOutputException, FakeTensor

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["METHODS_REFUSED", "Tensors"]

_TENSOR_FACTS = frozenset(
    "dtype device requires_grad is_leaf layout ndim is_cpu is_cuda is_hpu is_ipu is_maia is_meta is_mkldnn is_mps is_mtia "
    "is_nested is_npu is_quantized is_sparse is_sparse_csr is_vulkan is_xla is_xpu itemsize".split()
)
_TENSOR_PROPERTIES = frozenset("H T mH mT real imag data".split())
_VALUE_METHODS = frozenset(
    "item tolist numpy __bool__ __int__ __float__ __index__ __complex__ is_nonzero equal allclose data_ptr untyped_storage "
    "storage _typed_storage __array__ __dlpack__ __contains__ nonzero is_set_to".split()
)
_FACT_METHODS = frozenset(
    "dim ndimension stride element_size is_contiguous is_floating_point is_complex is_conj is_neg is_signed is_inference "
    "get_device dim_order is_same_size".split()
)
_REFUSED_METHODS = frozenset(
    "backward register_hook register_post_accumulate_grad_hook retain_grad share_memory_ pin_memory __reduce_ex__ "
    "__deepcopy__ __setstate__ set_ resize_ module_load storage_offset is_pinned is_shared _is_view has_names".split()
)
METHODS_REFUSED = _VALUE_METHODS | _REFUSED_METHODS
"""Methods that a graph has no place for, or only where more is known of the tensor."""


def _is_one_unknown_number(tensor):
    """Whether `item` of a fake tensor has to wait for its data."""
    return (
        isinstance(tensor, FakeTensor)
        and tensor.constant is None
        and tensor.numel() == 1
        and not tensor.dtype.is_complex
        and tensor.dtype is not torch.bool
    )


class Tensors:
    """Part of a recorder: attributes and methods of tensors."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.graph = trace.graph
        self.sources = trace.sources
        self.guards = trace.guards
        self.writes = trace.writes

    def attribute(self, tensor: Any, name: str) -> Any:
        """`tensor.name`: a fact, a recorded property, or a method."""
        if name == "shape":
            return self.graph.shape_of(tensor)
        if name == "ndim":
            return self.graph.fact(tensor, "dim")
        if name == "grad_fn":
            if tensor.grad_fn is not None:
                self.trace.refuse("the grad_fn of a tensor", "autograd")
            return None
        if name in _TENSOR_FACTS:
            return getattr(tensor, name)
        if name == "__class__":
            return self.graph.real_class(tensor)
        given = self.graph.input_of(tensor)
        if name in _TENSOR_PROPERTIES:
            return self.graph.record("call_function", getattr, (tensor, name), {})
        if name == "nbytes":
            return self.trace.operators.binary("mul", self.numel(tensor), tensor.itemsize)
        if name == "grad":
            if given is None:
                return None
            return self.sources.wrap(given.real.grad, self.sources.source(Attribute, given.source, "grad"))
        written = self.writes.to(tensor)
        if written is not None and name in written.values:
            return written.values[name]
        kind = self.graph.real_class(tensor)
        attribute = look_up(kind, name, absent)
        if attribute is absent:
            if given is None:
                raise AttributeError(f"'Tensor' object has no attribute '{name}'")
            where, values = self.sources.source(Dictionary, given.source), given.real.__dict__
            if name not in values:
                self.guards.note("absent", where, name)
                raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
            return self.sources.wrap(values[name], self.sources.source(Item, where, name))
        if not callable(attribute):
            self.trace.refuse(f"the attribute {name!r} of a tensor cannot be captured", "tensor_attribute")
        return TensorMethod(tensor, name)

    def method(self, tensor: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of a method of a tensor."""
        if name in ("size",):
            shape = self.graph.shape_of(tensor)
            return shape[args[0] if args else kwargs["dim"]] if args or kwargs else shape
        if name in ("numel", "nelement"):
            return self.numel(tensor)
        if name == "__len__":
            return self.trace.items.length(tensor)
        if name == "__iter__":
            return iter(self.trace.iteration.over(tensor))
        if name in _VALUE_METHODS:
            known = not self.graph.is_dynamic(tensor)
            if (
                self.graph.records_data
                and name == "item"
                and not args
                and not kwargs
                and _is_one_unknown_number(tensor)
            ):
                return self.graph.number_of(tensor)
            if known and name in ("item", "tolist", "__bool__", "__int__", "__float__", "__index__"):
                try:
                    return getattr(tensor, name)(*args)
                except DataDependentOutputException:
                    pass
            self.trace.refuse(f"Tensor.{name}() depends on values", "data_dependent")
        if name in _FACT_METHODS:
            return self.graph.fact(tensor, name, args, kwargs)
        if name in _REFUSED_METHODS:
            self.trace.refuse(
                f"Tensor.{name}() cannot be captured", "autograd" if name == "backward" else "tensor_method"
            )
        if name == "type" and not args and not kwargs:
            return tensor.type()
        if name == "__getitem__":
            return self.trace.items.get(tensor, args[0])
        if name == "__setitem__":
            return self.trace.items.set(args[1], tensor, args[0])
        if name == "requires_grad_" and self.graph.input_of(tensor) is not None:
            self.trace.refuse("requires_grad_() of an input", "write")
        args, kwargs = self.trace.calls.prepared(args, kwargs)
        result = self.graph.record("call_method", name, (tensor, *args), kwargs)
        if name in ("to", "type") and not isinstance(result, torch.Tensor):
            self.trace.refuse(f"the result of Tensor.{name}()", "result")
        return result

    def numel(self, tensor: Any) -> int:
        """`tensor.numel()`."""
        if not self.graph.is_dynamic(tensor):
            return tensor.numel()
        return self.graph.shape_of(tensor).numel()
