"""The design document of custom operators, demand by demand: Function, Library, custom_op, kernels in AscendC.

Its examples run as programs of `torch`. Those of AscendC need a device: tests/npu/on_emulator/test_ascendc.py has them.
"""

import pytest
from programs import lines_of

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.keys import DispatchKey
from mindtorch_v2._dispatch.registry import _dispatch_key_from_string
from mindtorch_v2.autograd import Function
from mindtorch_v2.library import CustomOpHandle, Library

OLD_AND_NEW_STYLE = """
import torch
from torch.autograd import Function

class MyReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        grad = grad_output.clone()
        grad[input < 0] = 0
        return (grad,)

class MyMul(Function):
    @staticmethod
    def forward(a, b):
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        a, b = inputs
        ctx.save_for_backward(a, b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * b, grad_output * a

x = torch.tensor([-1.0, 2.0], requires_grad=True)
output = MyReLU.apply(x)
output.sum().backward()
print(output.tolist(), x.grad.tolist())
x, y = (torch.tensor([v], requires_grad=True) for v in (2.0, 3.0))
output = MyMul.apply(x, y)
output.backward()
print(output.tolist(), x.grad.tolist(), y.grad.tolist(), MyReLU._new_style, MyMul._new_style)
"""


def test_functions_of_both_styles():
    assert lines_of(OLD_AND_NEW_STYLE) == ["[0.0, 2.0] [0.0, 1.0]", "[6.0] [3.0] [2.0] False True"]


def test_a_context_says_what_is_saved_written_and_not_differentiable():
    seen = {}

    class Split(Function):
        @staticmethod
        def forward(ctx, x, counts):
            ctx.save_for_backward(x)
            whole = x.floor()
            ctx.mark_non_differentiable(whole)
            ctx.mark_dirty(counts)
            ctx.set_materialize_grads(False)
            seen["needs"] = ctx.needs_input_grad
            seen["fields"] = len(ctx._to_save), len(ctx._dirty), len(ctx._non_differentiable), ctx._materialize_grads
            return x - whole, whole, counts.add_(1)

        @staticmethod
        def backward(ctx, rest, whole, counts):
            seen["grads"] = rest is not None, whole, counts
            (x,) = ctx.saved_tensors
            return rest * x, None

    x, counts = torch.tensor([1.5], requires_grad=True), torch.zeros(1)
    rest, whole, written = Split.apply(x, counts)
    assert written is counts and counts.tolist() == [1] and not whole.requires_grad and whole.grad_fn is None
    rest.backward()
    assert x.grad.tolist() == [1.5]
    assert seen == {"needs": (True, False), "fields": (1, 1, 1, False), "grads": (True, None, None)}


def test_a_context_is_wired_into_a_node_of_the_graph():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(1, requires_grad=True)
    y = Twice.apply(x)
    assert y.requires_grad and type(y.grad_fn).__name__ == "TwiceBackward"
    assert y.grad_fn.next_functions[0][0].variable is x and y.grad_fn.saved_tensors[0] is not None
    with torch.no_grad():
        assert Twice.apply(x).grad_fn is None


def test_values_that_are_no_tensors_go_along():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x, scale):
            return x * scale

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    assert Scaled.apply(torch.ones(1), 3.0).tolist() == [3]


LIBRARY = """
import torch

lib = torch.library.Library("myops", "DEF")
lib.define("my_add(Tensor x, Tensor y) -> Tensor")

def my_add_cpu(x, y):
    return x + y

def my_add_npu(x, y):
    return torch._C._alias_on_device(torch._C._alias_on_device(x, "cpu") + torch._C._alias_on_device(y, "cpu"), "npu")

lib.impl("my_add", my_add_cpu, "CPU")
lib.impl("my_add", my_add_npu, "NPU")

@torch.library.register_fake("myops::my_add")
def my_add_fake(x, y):
    return torch.empty_like(x)

x, y = torch.ones(2), torch.full((2,), 2.0)
print(torch.ops.myops.my_add(x, y).tolist())
x, y = (torch._C._alias_on_device(t, "npu") for t in (x, y))
print(torch.ops.myops.my_add(x, y).device.type, torch._C._alias_on_device(torch.ops.myops.my_add(x, y), "cpu").tolist())
print(torch.ops.myops.my_add(torch.empty(3, device="meta"), torch.empty(3, device="meta")).shape)
lib.define("other(Tensor x, Tensor y) -> Tensor")

@torch.library.impl("myops::other", "CPU")
def other_cpu(x, y):
    return x - y

print(torch.ops.myops.other(torch.ones(1), torch.ones(1)).tolist())
"""


def test_a_library_defines_operators_and_registers_kernels():
    assert lines_of(LIBRARY) == ["[3.0, 3.0]", "npu [3.0, 3.0]", "torch.Size([3])", "[0.0]"]


@pytest.mark.parametrize("kind", ["DEF", "FRAGMENT", "IMPL"])
def test_a_library_takes_every_kind(kind):
    Library(f"design_{kind.lower()}", kind)._destroy()
    with pytest.raises(ValueError, match="Unsupported kind"):
        Library("design_kind", "OTHER")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("CPU", DispatchKey.CPU),
        ("NPU", DispatchKey.NPU),
        ("PrivateUse1", DispatchKey.NPU),
        ("Meta", DispatchKey.Meta),
        ("Autograd", DispatchKey.Autograd),
        ("AutogradCPU", DispatchKey.AutogradCPU),
        ("AutogradNPU", DispatchKey.AutogradNPU),
        ("AutogradPrivateUse1", DispatchKey.AutogradNPU),
        ("CompositeImplicitAutograd", DispatchKey.CompositeImplicitAutograd),
    ],
)
def test_keys_by_their_names(text, key):
    assert _dispatch_key_from_string(text) is key


CUSTOM_OP = """
import torch
from torch import Tensor
from torch.library import custom_op

@custom_op("myops::scaled_add", mutates_args=())
def scaled_add(x: Tensor, y: Tensor, scale: float = 1.0) -> Tensor:
    return x + scale * y

@scaled_add.register_fake
def _(x, y, scale=1.0):
    return torch.empty_like(x)

@scaled_add.register_kernel("npu")
def _(x, y, scale=1.0):
    x, y = (torch._C._alias_on_device(t, "cpu") for t in (x, y))
    return torch._C._alias_on_device(x + scale * y, "npu")

def setup(ctx, inputs, output):
    x, y, scale = inputs
    ctx.save_for_backward(y)
    ctx.scale = scale

def backward(ctx, grad):
    y, = ctx.saved_tensors
    return grad, grad * ctx.scale, None

scaled_add.register_autograd(backward, setup_context=setup)

x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
z = scaled_add(x, y, scale=2.0)
z.sum().backward()
print(z.tolist(), x.grad.tolist(), y.grad.tolist())
print(torch.ops.myops.scaled_add.default._schema)
print(scaled_add(torch.empty(3, device="meta"), torch.empty(3, device="meta")).shape)
x, y = (torch._C._alias_on_device(torch.ones(2), "npu") for _ in range(2))
print(scaled_add(x, y).device.type)
"""


def test_an_operator_from_a_function_with_everything_that_is_registered_for_it():
    assert lines_of(CUSTOM_OP) == [
        "[3.0, 3.0] [1.0, 1.0] [2.0, 2.0]",
        "myops::scaled_add(Tensor x, Tensor y, float scale=1.) -> Tensor",
        "torch.Size([3])",
        "npu",
    ]


def test_a_handle_made_by_a_call():
    handle = CustomOpHandle("design_handle::twice", "twice(Tensor x) -> Tensor", lambda x: x * 2, ())
    handle.register_fake(lambda x: torch.empty_like(x))
    handle.register_kernel("npu")(lambda x: x)
    handle.register_autograd(lambda ctx, grad: grad * 2, setup_context=lambda ctx, inputs, output: None)
    x = torch.ones(1, requires_grad=True)
    handle(x).backward()
    assert handle(x).tolist() == [2] and x.grad.tolist() == [2]


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (torch.Tensor, "Tensor"),
        (int, "SymInt"),  # as PyTorch writes int: sizes may be symbols
        (float, "float"),
        (bool, "bool"),
        (torch.Tensor | None, "Tensor?"),
        (list[int], "SymInt[]"),
    ],
)
def test_schemas_follow_from_annotations(annotation, schema):
    def op(x):
        return x

    op.__annotations__ = {"x": annotation, "return": torch.Tensor}
    assert torch.library.infer_schema(op, mutates_args=()) == f"({schema} x) -> Tensor"


def test_a_fake_of_one_tensor_is_made_for_kernels_in_ascendc():
    from mindtorch_v2.npu import ascendc_op

    @ascendc_op("design_ascendc::vector_add")
    def vector_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        raise AssertionError("no kernel runs for shapes")

    x = torch.empty(2, 3, device="meta")
    assert vector_add(x, x).shape == (2, 3)
    vector_add.register_fake(lambda x, y: torch.empty(1, device="meta"))
    assert vector_add(x, x).shape == (1,)
    with pytest.raises(NotImplementedError, match="design_ascendc::vector_add"):
        vector_add(torch.ones(1), torch.ones(1))
