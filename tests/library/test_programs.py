"""Programs of users: operators defined, implemented for several devices, differentiated and checked, as `import torch`."""

import subprocess
import sys
import textwrap

import pytest
from programs import lines_of

import mindtorch_v2 as torch

FUNCTIONS = """
    import torch
    from torch.autograd import Function

    # Old-style
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

    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    output = MyReLU.apply(x)
    output.sum().backward()
    assert output.tolist() == [0, 2] and x.grad.tolist() == [0, 1]

    # New-style
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

    x = torch.tensor([3.0], requires_grad=True)
    y = torch.tensor([5.0], requires_grad=True)
    output = MyMul.apply(x, y)
    output.backward()
    assert (output.item(), x.grad.item(), y.grad.item()) == (15, 5, 3)
"""

LIBRARY = """
    import torch
    from torch.library import Library

    def my_add_cpu(x, y):
        return x + y

    def my_add_npu(x, y):
        return ("npu", x, y)[1]

    lib = Library("myops", "DEF")
    lib.define("my_add(Tensor x, Tensor y) -> Tensor")
    lib.impl("my_add", my_add_cpu, "CPU")
    lib.impl("my_add", my_add_npu, "NPU")
    x = torch.ones(2)
    assert torch.ops.myops.my_add(x, x).tolist() == [2, 2]
    there = torch._C._alias_on_device(x, "npu")
    assert torch.ops.myops.my_add(there, there) is there

    @torch.library.register_fake("myops::my_add")
    def my_add_fake(x, y):
        return torch.empty_like(x)

    assert torch.ops.myops.my_add(x.to("meta"), x.to("meta")).is_meta
"""

DECORATORS = """
    import torch

    torch.library.define("myops::my_add", "(Tensor x, Tensor y) -> Tensor")

    @torch.library.impl("myops::my_add", "CPU")
    def my_add_cpu(x, y):
        return x + y

    assert torch.ops.myops.my_add(torch.ones(1), torch.ones(1)).item() == 2
"""

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
        return torch._C._alias_on_device(torch.ones(2), "npu")

    def setup(ctx, inputs, output):
        x, y, scale = inputs
        ctx.save_for_backward(y)
        ctx.scale = scale

    def backward(ctx, grad):
        y, = ctx.saved_tensors
        return grad, grad * ctx.scale, None

    scaled_add.register_autograd(backward, setup_context=setup)

    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    z = scaled_add(x, y, scale=2.0)
    z.sum().backward()
    assert z.tolist() == [3, 3] and x.grad.tolist() == [1, 1] and y.grad.tolist() == [2, 2]
    assert scaled_add(x, y).tolist() == [2, 2]
    assert scaled_add(y=y, x=x).tolist() == [2, 2]
    assert scaled_add(x.to("meta"), y.to("meta")).is_meta
    there = torch._C._alias_on_device(torch.ones(2), "npu")
    assert scaled_add(there, there).device.type == "npu"
    torch.library.opcheck(scaled_add, (x, y), {"scale": 2.0})
"""


@pytest.mark.parametrize(
    "program", [FUNCTIONS, LIBRARY, DECORATORS, CUSTOM_OP], ids="functions library decorators custom_op".split()
)
def test_programs(program):
    lines_of(program)


# ---- several back ends ----


@pytest.fixture
def npu():
    """A tensor of a device without a back end: its memory is the host's."""
    return torch._C._alias_on_device(torch.arange(3.0), "npu:0")


def test_a_tensor_of_another_device(npu):
    assert npu.device == torch.device("npu", 0)
    assert torch._C._dispatch_keys(npu).has("PrivateUse1")
    assert repr(torch._C._dispatch_keys(npu)) == "DispatchKeySet(PrivateUse1, ADInplaceOrView, AutogradPrivateUse1)"
    with pytest.raises(NotImplementedError, match="'aten::igamma' with arguments from the 'NPU' backend"):
        torch.igamma(npu, npu)


def test_the_device_chooses_the_kernel(npu):
    ran = []
    with torch.library._scoped_library("devices", "DEF") as library:
        library.define("f(Tensor x, int k=1) -> Tensor")
        for key in ("CPU", "PrivateUse1", "Meta"):
            library.impl("f", lambda x, k=1, key=key: ran.append((key, k)) or x, key)
        f = torch.ops.devices.f
        f(torch.ones(1)), f(npu, k=3), f(torch.ones(1, device="meta"))
        assert ran == [("CPU", 1), ("PrivateUse1", 3), ("Meta", 1)]
        assert f.default.has_kernel_for_dispatch_key("NPU")
        assert not f.default.has_kernel_for_dispatch_key(torch._C.DispatchKey.CUDA)


def test_a_missing_back_end_says_which_there_are(npu):
    with torch.library._scoped_library("devices", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x, "CPU")
        with pytest.raises(
            NotImplementedError, match=r"from the 'NPU' backend.*only available for these backends: \[CPU\]"
        ):
            torch.ops.devices.f(npu)


@pytest.mark.parametrize("key", [name for name in torch._C.DispatchKey.__members__ if name != "Undefined"])
def test_every_key_takes_kernels(key):
    with torch.library._scoped_library("devices", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x, key)
        assert torch.ops.devices.f.default.has_kernel_for_dispatch_key(key)
    assert torch._C.DispatchKey[key] in torch._C.DispatchKey


PYTORCH_KEYS = """
CompositeExplicitAutogradNonFunctional CompositeExplicitAutograd CompositeImplicitAutogradNestedTensor
CompositeImplicitAutograd AutogradNestedTensor AutogradOther Autograd Conjugate ZeroTensor Negative BackendSelect
ADInplaceOrView PythonTLSSnapshot Python FuncTorchDynamicLayerFrontMode FuncTorchDynamicLayerBackMode
FuncTorchBatchedDecomposition FuncTorchBatched FuncTorchVmapMode FuncTorchGradWrapper PythonDispatcher PreDispatch
Functionalize AutocastCPU AutocastMPS AutocastXPU AutocastHPU AutocastIPU AutocastCUDA AutocastPrivateUse1 CPU CUDA HIP XLA
MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta QuantizedCPU QuantizedPrivateUse1 SparseCPU
SparseCsrCUDA NestedTensorMeta AutogradCPU AutogradCUDA AutogradXLA AutogradPrivateUse1 AutogradMeta
"""


def test_keys_have_the_names_of_pytorch():
    assert set(PYTORCH_KEYS.split()) <= set(torch._C.DispatchKey.__members__)
    assert torch._C.DispatchKey.NPU is torch._C.DispatchKey.PrivateUse1
    assert str(torch._C.DispatchKey.CPU) == "DispatchKey.CPU"


def test_behaviours_stack_by_priority():
    order = []
    keys = torch._C.DispatchKeySet

    def through(key):
        def kernel(keyset, x):
            order.append(key)
            below = keys.from_raw_repr(int(keyset) & ((1 << torch._C.DispatchKey[key].value) - 1))
            return torch.ops.stacked.f.default.redispatch(below, x)

        return kernel

    with torch.library._scoped_library("stacked", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: order.append("CPU") or x * 2, "CPU")
        for key in ("BackendSelect", "AutogradCPU", "AutocastCPU", "Functionalize"):
            library.impl("f", through(key), key, with_keyset=True)
        torch.ops.stacked.f(torch.ones(1))
        assert order == ["AutogradCPU", "BackendSelect", "CPU"]
        order.clear()
        with torch.autocast("cpu"), torch._C._IncludeDispatchKeyGuard(torch._C.DispatchKey.Functionalize):
            torch.ops.stacked.f(torch.ones(1))
        assert order == ["AutocastCPU", "AutogradCPU", "Functionalize", "BackendSelect", "CPU"]
        order.clear()
        with torch._C._AutoDispatchBelowAutograd():
            torch.ops.stacked.f(torch.ones(1))
        assert order == ["BackendSelect", "CPU"]


def test_fallbacks(npu):
    seen = []
    library = torch.library.Library("_", "IMPL")
    try:
        library.fallback(lambda op, *args, **kwargs: seen.append((str(op), args, kwargs)) or args[0], "PrivateUse1")
        assert torch.igamma(npu, npu) is npu
        assert seen == [("aten.igamma.default", (npu, npu), {})]
        library.fallback(torch.library.fallthrough_kernel, "PrivateUse1")
        with pytest.raises(NotImplementedError):
            torch.igamma(npu, npu)
    finally:
        library._destroy()
    with pytest.raises(NotImplementedError):
        torch.igamma(npu, npu)


def test_a_fallthrough_is_skipped():
    with torch.library._scoped_library("skipped", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x * 2, "CompositeImplicitAutograd")
        library.impl("f", torch.library.fallthrough_kernel, "AutogradCPU")
        library.impl("f", lambda x: x * 3, "CPU")
        assert torch.ops.skipped.f(torch.ones(1)).tolist() == [3]


def test_kernels_go_with_their_library():
    library = torch.library.Library("goes", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * 2, "CPU")
    other = torch.library.Library("goes", "IMPL")
    other.impl("f", lambda x: x, "Meta")
    assert torch.ops.goes.f(torch.ones(1, device="meta")).is_meta
    del other
    with pytest.raises(NotImplementedError):
        torch.ops.goes.f(torch.ones(1, device="meta"))
    assert torch.ops.goes.f(torch.ones(1)).tolist() == [2]
    del library
    assert not hasattr(torch.ops.goes, "f")


def test_a_kernel_can_be_held():
    with torch.library._scoped_library("held", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x * 2, "CPU")
        kernel = torch.library.get_kernel("held::f", "CPU")
        with pytest.warns(UserWarning, match="Overriding"):
            library.impl("f", lambda x: x * 5, "CPU")
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
        assert kernel.call_boxed(keys, torch.ones(1)).tolist() == [2]
        assert torch.ops.held.f(torch.ones(1)).tolist() == [5]
        with pytest.raises(RuntimeError, match="no kernel for CUDA for held::f"):
            torch.library.get_kernel("held::f", "CUDA")
        with pytest.raises(RuntimeError, match="operator held::g does not exist"):
            torch.library.get_kernel("held::g", "CPU")


@pytest.mark.parametrize("make", [torch.library.triton_op, lambda *a, **k: torch.library.wrap_triton(lambda: 0)])
def test_triton_is_refused(make):
    with pytest.raises(NotImplementedError, match="torch.library.custom_op"):
        make("a::b", lambda x: x, mutates_args=())


# ---- honesty of schemas ----

HONESTY = """
    import numpy as np
    import torch

    torch.library.define("honest::quiet", "(Tensor x, Tensor[] ys, Tensor(a!) z) -> Tensor")
    mode = {}

    @torch.library.impl("honest::quiet", ["cpu", "npu"])
    def quiet(x, ys, z):
        write = mode.get("write")
        target = {"x": x, "ys": ys and ys[-1], "z": z}.get(write)
        if target is not None:
            host = target if target.device.type == "cpu" else mode["host"]
            host.numpy()[...] = 7
        return x if mode.get("alias") else torch.zeros(1)

    def run(**how):
        mode.clear()
        mode.update(how)
        tensors = [torch.ones(2) for _ in range(3)]
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                torch.ops.honest.quiet(tensors[0], [tensors[1]], tensors[2])
            except RuntimeError as error:
                return str(error)
        return [str(each.message) for each in seen]

    import warnings
    print(run(write="z"))
    print(run(write="x"))
    print(run(write="ys"))
    print(run(write="z", alias=True))
    print(run())
    host = torch.ones(2)
    mode.clear()
    mode.update(write="x", host=host)
    to_host = lambda tensor: torch._C._alias_on_device(tensor, "cpu")
    npu = torch.library.Library("aten", "IMPL", "PrivateUse1")
    npu.impl("clone", lambda x, memory_format=None: torch._C._alias_on_device(to_host(x).clone(), "npu"))
    npu.impl("equal", lambda x, y: torch.equal(to_host(x), to_host(y)))
    there = torch._C._alias_on_device(host, "npu")
    try:
        torch.ops.honest.quiet(there, [], torch._C._alias_on_device(torch.ones(2), "npu"))
    except (RuntimeError, NotImplementedError) as error:
        print(str(error))
    x = torch.ones(3)
    x += 1
    x[1:].mul_(2)
    y = (x.view(3, 1).t() @ x).relu_()
    torch.nn.functional.batch_norm(torch.ones(2, 3), torch.zeros(3), torch.ones(3), training=True)
"""


def test_undeclared_writes_are_found_in_a_running_program():
    import os

    said = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "-"],
        input=textwrap.dedent(HONESTY),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"MINDTORCH_CHECK_MUTATION": "1"},
    )
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[0] == "[]"
    assert lines[1] == (
        "honest::quiet: the kernel wrote to the argument 'x', which its schema does not mark as written. Schema: "
        "honest::quiet(Tensor x, Tensor[] ys, Tensor(a!) z) -> Tensor. It should be: "
        "honest::quiet(Tensor(a0!) x, Tensor[] ys, Tensor(a!) z) -> Tensor"
    )
    assert "the argument 'ys'" in lines[2]
    assert "honest::quiet(Tensor x, Tensor[](a1!) ys, Tensor(a!) z) -> Tensor" in lines[2]
    assert "result 0 shares memory with the argument 'x'" in lines[3]
    assert "It should be: honest::quiet(Tensor(a0) x, Tensor[] ys, Tensor(a!) z) -> Tensor(a0)" in lines[3]
    assert "marks the argument 'z' as written, but the kernel did not write to it" in lines[4]
    assert "the kernel wrote to the argument 'x'" in lines[5]


def test_opcheck_warns_of_marks_without_writes():
    @torch.library.custom_op("honest::marked", mutates_args={"x"})
    def marked(x: torch.Tensor) -> None:
        return None

    with pytest.warns(UserWarning, match="marks x as written, but the call did not change it"):
        torch.library.opcheck(marked, (torch.ones(2),), test_utils="test_schema")


def test_opcheck_of_an_operator_that_only_writes():
    library = torch.library.Library("writes_only", "FRAGMENT")
    library.define("added(Tensor a, Tensor b, Tensor(a!) out) -> ()")
    library.define("both(Tensor a, Tensor(a!) out) -> Tensor")
    library.impl("added", lambda a, b, out: (out.copy_(a + b), None)[1], "CPU")
    library.impl("both", lambda a, out: out.copy_(a) + 1, "CPU")
    x = torch.ones(2)
    found = torch.library.opcheck(torch.ops.writes_only.added.default, (x, x, torch.zeros(2)))
    assert set(found.values()) == {"SUCCESS"}  # it gives nothing, and so needs no fake kernel
    with pytest.raises(torch.library.OpCheckError, match="test_faketensor"):
        torch.library.opcheck(torch.ops.writes_only.both.default, (x, torch.zeros(2)))


def test_opcheck_of_writes_to_a_part_of_two_dimensions():
    @torch.library.custom_op("programs::put_row", mutates_args=("rows",))
    def put_row(rows: torch.Tensor, row: torch.Tensor, at: int) -> None:
        rows[at].copy_(row)

    put_row.register_fake(lambda rows, row, at: None)
    found = torch.library.opcheck(torch.ops.programs.put_row.default, (torch.zeros(3, 4), torch.ones(4), 1))
    assert set(found.values()) == {"SUCCESS"}


def test_opcheck_finds_undeclared_aliases():
    with torch.library._scoped_library("honest2", "FRAGMENT") as library:
        library.define("same(Tensor x) -> Tensor")
        library.impl("same", lambda x: x, "CPU")
        with pytest.raises(
            torch.library.OpCheckError, match="Argument x is not defined to alias output but was aliasing"
        ):
            torch.library.opcheck(torch.ops.honest2.same.default, (torch.ones(2),))
