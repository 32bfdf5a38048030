"""Copies, fills and casts.

`to`, `contiguous` and the cast methods are composites written natively: what they call is recorded, not they.
"""

from ... import _C
from ..._core.dtype import DTYPES
from ..table import S, T, aten, op

_EVERY_DEVICE = "CompositeExplicitAutograd"  # the kernels know the meta device


op(
    "_lazy_clone(Tensor self) -> Tensor",
    "A copy whose memory is copied when it, or the tensor that it was made from, is next written.",
    bind="function method",
    batching="whole",
    linear="self",
    key=_EVERY_DEVICE,
    grad={"self": lambda grad: grad},
    samples=[S(3, 4)],
    dtypes="all",
)

op(
    "_test_parallel_materialize(Tensor self, int num_parallel, bool skip_first=False) -> Tensor",
    "Asks for memory of the tensor's own in a parallel loop, which is refused where it is a lazy copy.",
    bind="function",
    batching="whole",
    key=_EVERY_DEVICE,
    grad=None,
    samples=[S(T(3, 4, grad=False), 1)],
    gives_back=True,
)

op(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    "A copy with another dtype, device or memory order.",
    bind="generated_out",
    takes_numbers=True,
    batching="whole",
    tags="core",
    linear="self",
    cheap=True,
    key=_EVERY_DEVICE,
    grad={"self": lambda grad: grad},
    samples=[S(T(3, 4))],
    dtypes="all",
    node="ToCopyBackward0",
    reads_elements=True,
    crosses_devices=True,
)

op(
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    "A copy of the tensor.",
    bind="function method out",
    out_dtype="exact",
    batching="whole",
    tags="core pointwise",
    out_tags="generated",
    linear="self",
    key=_EVERY_DEVICE,
    grad={"self": lambda grad: grad},
    samples=[S(3, 4)],
    dtypes="all",
)

op(
    "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    "Copies the elements of `src`, broadcast and cast, into `self`.",
    bind="method",
    key=_EVERY_DEVICE,
    takes_numbers=True,
    grad={"self": lambda grad: aten.zeros_like(grad), "src": lambda grad: grad},
    devices={"src": "any"},
    samples=[S(T(3, 4, grad=False), T(4))],
    dtypes="all",
    node="CopyBackwards",
    crosses_devices=True,
)

op(
    "_local_scalar_dense(Tensor self) -> Scalar",
    "The only element as a Python number.",
    tags="core data_dependent_output",
    grad=None,
)

op(
    "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
    "Sets every element to `value`.",
    bind="function method",
    batching="whole",
    key=_EVERY_DEVICE,
    grad={"self": lambda grad: aten.zeros_like(grad)},
    samples=[S(T(3, 4, grad=False), 2)],
    dtypes="all",
)
op(
    "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
    "Sets every element to `value`, a 0-dim tensor.",
    bind="function method",
    key=_EVERY_DEVICE,
    grad={"self": lambda grad: aten.zeros_like(grad), "value": lambda grad: grad.sum()},
    devices={"value": "any"},
    samples=[S(T(3, 4, grad=False), T())],
    dtypes="all",
    node="FillBackward3",
)

op(
    "zero_(Tensor(a!) self) -> Tensor(a!)",
    "Sets every element to 0.",
    bind="function method",
    batching="whole",
    key=_EVERY_DEVICE,
    grad={"self": lambda grad: aten.zeros_like(grad)},
    samples=[S(T(3, 4, grad=False))],
    dtypes="all",
)


# ---- the tensor itself where nothing would change ----

_COMPOSITE = "CompositeImplicitAutograd"
# method_only: PyTorch has no operator of that name or schema, only the method; tests/ops/test_cast.py is its test.
_METHODS = {
    "bfloat16": "bfloat16",
    "bool": "bool",
    "byte": "uint8",
    "cdouble": "complex128",
    "cfloat": "complex64",
    "chalf": "complex32",
    "char": "int8",
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}

for _name, _dtype in _METHODS.items():
    op(
        f"{_name}(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
        f"The tensor as {_dtype}.",
        bind="method",
        grad=None,
        key=_COMPOSITE,
        gives_back=True,
        method_only=True,
    )

op(
    "contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
    "The tensor itself if its memory is in that order, else a copy that is.",
    bind="method",
    grad=None,
    key=_COMPOSITE,
    gives_back=True,
    samples=[S(3, 4)],
    dtypes="all",
)

op(
    "cpu(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
    "The tensor in the memory of the processor.",
    bind="method",
    grad=None,
    key=_COMPOSITE,
    gives_back=True,
    method_only=True,
)

op(
    "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    "The tensor on another device and with another dtype.",
    bind="method",
    grad=None,
    key=_COMPOSITE,
    gives_back=True,
    samples=[S(T(3, 4), _C.device("cpu"), DTYPES["float64"])],
)
op(
    "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    "The tensor with another dtype.",
    bind="method",
    grad=None,
    key=_COMPOSITE,
    gives_back=True,
    samples=[S(T(3, 4), DTYPES["float64"]), S(T(3, 4), DTYPES["int32"])],
)
op(
    "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    "The tensor on another device, with another dtype.",
    bind="method",
    grad=None,
    key=_COMPOSITE,
    gives_back=True,
    samples=[S(T(3, 4), dtype=DTYPES["float64"])],
)
op(
    "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    "The tensor with the device and dtype of `other`.",
    bind="method",
    grad=None,
    key=_COMPOSITE,
    gives_back=True,
    samples=[S(T(3, 4), T(1, dtype="float64"))],
)
# PyTorch's Python arguments are more permissive than its schemas: device and dtype may be None or missing, memory_format goes
# with all.
op(
    "to.prim_Device(Tensor(a) self, Device? device=None, ScalarType? dtype=None, bool non_blocking=False, bool copy=False, *, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    "The tensor on another device, with another dtype.",
    bind="method",
    grad=None,
    key=_COMPOSITE,
    gives_back=True,
    method_only=True,
)

op(
    "type_as(Tensor self, Tensor other) -> Tensor",
    "The tensor with the dtype of `other`.",
    bind="method",
    grad=None,
    key=_COMPOSITE,
    gives_back=True,
    samples=[S(T(3, 4), T(1))],
)
