"""Kernels written in AscendC: samples as operators with gradients, every instruction, and planted mistakes by name."""

import ctypes
import math
import pathlib
import shutil
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2.npu import KernelLauncher, NPUError, alloc_like, ascendc_load, ascendc_op, tensor_ptr

pytestmark = pytest.mark.skipif(
    not any(shutil.which(c) for c in ("g++", "clang++", "c++")),
    reason="the emulator compiles kernels with a C++ compiler",
)
_SOURCES = pathlib.Path(__file__).parents[1] / "ascendc"


@pytest.fixture(scope="module")
def built(tmp_path_factory: Any) -> Any:
    """Compile a source of tests/npu/ascendc, once."""
    folder = tmp_path_factory.mktemp("ascendc")
    return lambda name: ascendc_load(name, _SOURCES / f"{name}.cpp", build_directory=folder)


def _near(a: Any, b: Any, tolerance: float) -> None:
    torch.testing.assert_close(a.cpu(), b.cpu(), rtol=tolerance, atol=tolerance)


# ---- samples as operators ----


def test_vector_add(built: Any) -> None:
    kernels = built("vector_add")

    @ascendc_op("ascendc_test::vector_add")
    def vector_add(x: Tensor, y: Tensor) -> Tensor:
        out = alloc_like(x)
        kernels.launch("add_custom", 8, [tensor_ptr(x), tensor_ptr(y), tensor_ptr(out), x.numel()])
        return out

    vector_add.register_autograd(lambda ctx, grad: (grad, grad))
    x = torch.randn(8, 1024, device="npu", requires_grad=True)
    y = torch.randn(8, 1024, device="npu", requires_grad=True)
    z = vector_add(x, y)
    _near(z.detach(), x.detach().cpu() + y.detach().cpu(), 0)
    z.backward(z.detach())
    _near(x.grad, z.detach(), 0)
    _near(y.grad, z.detach(), 0)
    fake = vector_add(x.to("meta"), y.to("meta"))
    assert fake.shape == (8, 1024) and fake.is_meta
    assert torch.ops.ascendc_test.vector_add(x, y).grad_fn is not None
    with pytest.raises(NotImplementedError, match="ascendc_test::vector_add"):
        vector_add(x.cpu(), y.cpu())


def test_leaky_relu_of_halfs_with_a_tail(built: Any) -> None:
    kernels = built("leaky_relu")

    @ascendc_op("ascendc_test::leaky_relu")
    def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
        out = alloc_like(x)
        kernels.leaky_relu_custom(4, x.contiguous(), out, x.numel(), slope)
        return out

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.slope = inputs[1]

    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return torch.where(x >= 0, grad, grad * ctx.slope), None

    leaky_relu.register_autograd(backward, setup_context=setup_context)
    x = torch.randn(7, 193).half()
    there = x.npu().requires_grad_()
    y = leaky_relu(there, slope=0.25)
    _near(y.detach(), torch.nn.functional.leaky_relu(x, 0.25), 0)
    y.sum().backward()
    _near(there.grad, torch.where(x >= 0, 1.0, 0.25).half(), 0)


def test_softmax(built: Any) -> None:
    kernels = built("softmax")

    @ascendc_op("ascendc_test::softmax")
    def softmax(x: Tensor) -> Tensor:
        out = alloc_like(x)
        kernels.softmax_custom(3, x.contiguous(), out, x.numel() // x.shape[-1], x.shape[-1])
        return out

    softmax.register_autograd(
        lambda ctx, grad: (ctx.saved_tensors[0] * (grad - (grad * ctx.saved_tensors[0]).sum(-1, keepdim=True)),)[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
    )
    x, weight = torch.randn(4, 5, 77) * 3, torch.randn(4, 5, 77)
    here, there = x.clone().requires_grad_(), x.npu().requires_grad_()
    expected, result = torch.softmax(here, -1), softmax(there)
    _near(result.detach(), expected.detach(), 1e-6)
    (expected * weight).sum().backward()
    (result * weight.npu()).sum().backward()
    _near(there.grad, here.grad, 1e-6)
    strided = x.npu().transpose(1, 2)
    _near(softmax(strided.contiguous()), torch.softmax(x.transpose(1, 2), -1), 1e-6)


class _Tiling(ctypes.Structure):
    _fields_ = (("rows", ctypes.c_uint32), ("columns", ctypes.c_uint32), ("epsilon", ctypes.c_float))


def test_layer_norm_with_a_structure(built: Any) -> None:
    kernels = built("layer_norm")

    @ascendc_op("ascendc_test::layer_norm", like="x")
    def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
        out = alloc_like(x)
        rows = x.numel() // x.shape[-1]
        kernels.layer_norm_custom(min(rows, 4), x, gamma, beta, out, _Tiling(rows, x.shape[-1], eps))
        return out

    def backward(ctx: Any, grad: Any) -> Any:
        x, gamma = ctx.saved_tensors
        with torch.enable_grad():
            again = [t.detach().requires_grad_() for t in (x, gamma)]
            y = torch.nn.functional.layer_norm(again[0], again[0].shape[-1:], again[1])
        return (*torch.autograd.grad(y, again, grad), grad.sum(0), None)

    layer_norm.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[:2]))
    values = torch.randn(9, 64), torch.randn(64), torch.randn(64)
    here = [v.clone().requires_grad_() for v in values]
    there = [v.npu().requires_grad_() for v in values]
    expected = torch.nn.functional.layer_norm(here[0], (64,), here[1], here[2])
    result = layer_norm(*there)
    _near(result.detach(), expected.detach(), 2e-6)
    expected.square().sum().backward()
    result.square().sum().backward()
    for a, b in zip(there, here, strict=True):
        _near(a.grad, b.grad, 1e-4)
    with pytest.raises(ValueError, match="structure of 12 bytes, got 4"):
        kernels.layer_norm_custom(1, *(t.detach() for t in there), there[0].detach(), b"four")


# ---- planted mistakes ----

_MISTAKES = {
    "misaligned_length": (1, "misaligned DataCopy: 244 bytes are not a multiple of 32"),
    "misaligned_global": (1, "misaligned DataCopy: the global address is 12 bytes behind a multiple of 32"),
    "misaligned_local": (1, "misaligned Adds: a local address is 20 bytes behind a multiple of 32"),
    "too_many_buffers": (1, "unified buffer overrun: InitBuffer asks for 187424 bytes"),
    "local_overrun": (1, "unified buffer overrun: DataCopy of 288 bytes at byte 0 of a LocalTensor of 256 bytes"),
    "queue_depth": (1, r"queue depth: AllocTensor \(VECIN\): all 2 buffers are in use"),
    "empty_queue": (1, r"queue depth: DeQue \(VECIN\): the queue is empty"),
    "double_free": (1, r"double FreeTensor \(VECIN\) of a tensor that was freed before"),
    "foreign_free": (1, r"foreign FreeTensor \(VECOUT\): the tensor is from another queue, VECIN"),
    "use_after_free": (1, "use after FreeTensor: DataCopy"),
    "global_overrun": (
        4,
        "block 3: out-of-bounds global read: DataCopy of 256 bytes at byte 1024 of an argument of 1024",
    ),
    "global_bounds_of_the_tensor": (
        1,
        "out-of-bounds global read: DataCopy of 256 bytes at byte 0 of a GlobalTensor of 128",
    ),
    "race": (4, "block 1: race between blocks: DataCopy writes 256 bytes at byte 224, where block 0 wrote too"),
    "flag_without_wait": (1, "SetFlag: event 1 was set, and no WaitFlag followed"),
    "wait_without_flag": (1, "WaitFlag: event 1 was not set; this would hang"),
    "sync_of_some": (4, "SyncAll: 3 of 4 blocks wait, among them block 0, and 1 have ended without it"),
}


@pytest.mark.parametrize("kernel", _MISTAKES)
def test_a_mistake_is_reported_by_name(built: Any, kernel: str) -> None:
    kernels = built("mistakes")
    blocks, message = _MISTAKES[kernel]
    x, y = torch.randn(256, device="npu"), torch.zeros(256, device="npu")
    torch.npu.synchronize()
    kernels.launch(kernel, blocks, [x, y])
    with pytest.raises(NPUError, match=rf"aclrtlaunch_{kernel} failed .*{message}") as caught:
        torch.npu.synchronize()
    assert caught.value.code == 507015
    kernels.launch("right", 4, [x, y])  # the device goes on
    assert torch.equal(x.cpu(), y.cpu())


def test_blocks_that_meet_may_share_memory(built: Any) -> None:
    kernels = built("mistakes")
    x, y = torch.randn(256), torch.zeros(320, device="npu")
    kernels.launch("meeting", 4, [x.npu(), y])
    rows = x.reshape(4, 64)
    found = y.cpu().reshape(5, 64)
    assert torch.equal(found[:4], rows.roll(1, 0))
    _near(found[4], rows.sum(0), 1e-6)


# ---- instructions ----


def _each(which: int, a: Any, b: Any) -> Any:
    step = 256 // a.element_size()
    half = a.dtype == torch.float16
    rows = a.reshape(-1, step)
    padded = torch.zeros_like(a)

    def first(values: Any) -> Any:
        padded[: values.numel()] = values.reshape(-1).to(a.dtype)
        return padded

    wide = a.float()
    block = 32 // a.element_size()
    return (
        {
            0: lambda: a + b,
            1: lambda: a - b,
            2: lambda: a * b,
            3: lambda: torch.maximum(a, b),
            4: lambda: torch.minimum(a, b),
            5: lambda: a + 2,
            6: lambda: a * 2,
            7: lambda: a.clamp(min=0),
            8: lambda: a.clamp(max=0),
            9: lambda: a.clamp(min=0),
            10: lambda: torch.full_like(a, 2),
            11: lambda: torch.where(torch.arange(128) % 2 == 0, a + b, 2).to(a.dtype),
            12: lambda: a[:block].repeat(128 // block),
            20: lambda: a / b,
            21: lambda: a.exp(),
            22: lambda: a.abs().log(),
            23: lambda: a.abs(),
            24: lambda: a.abs().sqrt(),
            25: lambda: a.abs().rsqrt(),
            26: lambda: 1 / a,
            27: lambda: torch.where(a >= 0, a, a * 0.5),
            28: lambda: 1 + a * 2,
            29: lambda: torch.where(a < b, a, b),
            30: lambda: torch.where(a >= 0, a, -1).to(a.dtype),
            31: lambda: first(wide.sum()),
            32: lambda: first(a.max()),
            33: lambda: first(a.min()),
            34: lambda: first(rows.float().sum(1)),
            35: lambda: first(a.reshape(-1, block).amax(1)),
            36: lambda: a[: 128 // block].repeat_interleave(block),
            37: lambda: torch.arange(3, 131).to(a.dtype),
        }[which]()
        if not (half and which == 28)
        else (1 + wide * 2).half()
    )


_INSTRUCTIONS = [("int", which) for which in range(13)]
_INSTRUCTIONS += [(dtype, which) for dtype in ("float", "half") for which in (*range(13), *range(20, 38))]


@pytest.mark.parametrize(("dtype", "which"), _INSTRUCTIONS)
def test_instruction(built: Any, dtype: str, which: int) -> None:
    kernels = built("instructions")
    torch.manual_seed(which)
    a, b = torch.randn(128) * 3, torch.randn(128) * 3
    kind = {"float": torch.float32, "half": torch.float16, "int": torch.int32}[dtype]
    a, b = a.to(kind), b.to(kind)
    out = torch.empty(128, dtype=kind, device="npu")
    kernels.launch(f"run_{dtype}", 1, [a.npu(), b.npu(), out, which])
    _near(out, _each(which, a, b), {"float": 2e-6, "half": 2e-3, "int": 0}[dtype])


_EDGES = [0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.0, 7.25, -7.25, 1e-8, 2049.0, 2050.5, -2049.0, 1.0009765, 3.0009, 6e-5]


@pytest.mark.parametrize(
    ("mode", "to_int"),
    [
        (1, lambda v: round(v)),  # ties to even
        (2, math.floor),
        (3, math.ceil),
        (4, lambda v: int(math.copysign(math.floor(abs(v) + 0.5), v))),
        (5, math.trunc),
    ],
)
def test_casts_round_as_they_are_told(built: Any, mode: int, to_int: Any) -> None:
    kernels = built("instructions")
    x = torch.tensor(_EDGES * 8)
    whole = torch.empty(128, dtype=torch.int32, device="npu")
    kernels.launch("float_to_int", 1, [x.npu(), whole, mode])
    assert whole.tolist() == [to_int(v) for v in x.tolist()]
    for name, kind in (("half", torch.float16), ("bfloat16", torch.bfloat16)):
        short = torch.empty(128, dtype=kind, device="npu")
        kernels.launch(f"float_to_{name}", 1, [x.npu(), short, mode])
        found, near = short.cpu(), x.to(kind)
        for value, got, nearest in zip(x.tolist(), found.tolist(), near.tolist(), strict=True):
            if mode == 1 or got == value:
                assert got == nearest
            elif mode == 2 or (mode == 5 and value > 0):
                assert got < value and (got == nearest or nearest > value)
            elif mode == 3 or mode == 5:
                assert got > value and (got == nearest or nearest < value)
            assert abs(got - value) <= abs(value) * 2**-6 + 6e-8


def test_casts_between_kinds_of_numbers(built: Any) -> None:
    kernels = built("instructions")
    x = torch.randn(128).half()
    wide = torch.empty(128, device="npu")
    kernels.launch("half_to_float", 1, [x.npu(), wide, 0])
    assert torch.equal(wide.cpu(), x.float())
    kernels.launch("int_to_float", 1, [torch.arange(-64, 64, dtype=torch.int32).npu(), wide, 0])
    assert torch.equal(wide.cpu(), torch.arange(-64, 64).float())


# ---- launching ----


def test_parameters_have_the_types_of_the_kernel(built: Any) -> None:
    kernels = built("instructions")
    y = torch.empty(8, device="npu")
    kernels.launch("parameters", 1, [y, 0.1, 0.5, -3.0, -(1 << 40), 200, True, 2.5])
    assert y.tolist() == [torch.tensor(0.1).item(), 0.5, -3.0, -float(1 << 40), 200.0, 1.0, 2.5, 0.0]
    good = [y, 0.1, 0.5, -3.0, -5, 200, True, 2.5]

    def refused(place: int, value: Any, error: Any, message: str) -> None:
        with pytest.raises(error, match=message):
            kernels.launch("parameters", 1, [*good[:place], value, *good[place + 1 :]])

    refused(5, 256, OverflowError, "argument 5 is 256, which is no uint8")
    refused(4, 1.0, TypeError, r"argument 4 has to be an int \(int64\), got the float 1.0")
    refused(0, y.cpu(), TypeError, "argument 0 is a tensor on cpu, expected an NPU")
    refused(0, torch.empty(2, 4, device="npu").t(), ValueError, "strides")
    refused(0, 1.5, TypeError, "argument 0 has to be a tensor, an address or None, got float")
    refused(1, y, TypeError, "argument 1 is a tensor, the kernel takes a float32")
    with pytest.raises(TypeError, match="parameters takes 8 arguments"):
        kernels.launch("parameters", 1, [y])
    for blocks in (0, 65536, True):
        with pytest.raises(ValueError, match="block_dim has to be from 1 to 65535"):
            kernels.launch("parameters", blocks, good)
    with pytest.raises(AttributeError, match=r"has no kernel nothing \(no symbol aclrtlaunch_nothing\)"):
        kernels.launch("nothing", 1, [])


def test_a_stream_may_be_named(built: Any) -> None:
    kernels = built("mistakes")
    side = torch.npu.Stream()
    x, y = torch.randn(256, device="npu"), torch.zeros(256, device="npu")
    side.wait_stream(torch.npu.current_stream())
    kernels.launch("right", 4, [x, y], stream=side)
    side.synchronize()
    assert torch.equal(x.cpu(), y.cpu())


def test_a_kernel_for_another_soc_is_found_out(tmp_path: Any) -> None:
    kernels = ascendc_load("other", _SOURCES / "vector_add.cpp", build_directory=tmp_path, soc_version="Ascend310P3")
    x = torch.zeros(1024, device="npu")
    with pytest.raises(
        RuntimeError, match="add_custom was not launched, .* built for another SoC: this device is Ascend910B1"
    ):
        kernels.add_custom(1, x, x, x, 1024)


def test_what_was_compiled_is_kept_by_its_contents(tmp_path: Any) -> None:
    source, header = tmp_path / "k.cpp", tmp_path / "value.h"
    source.write_text(
        '#include "kernel_operator.h"\n#include "value.h"\n'
        'extern "C" __global__ __aicore__ void put(__gm__ float* y) {\n'
        "    AscendC::GlobalTensor<float> t;\n    t.SetGlobalBuffer(y, 1);\n    t.SetValue(0, VALUE);\n}\n"
    )
    y = torch.zeros(1, device="npu")

    def load(value: str) -> KernelLauncher:
        header.write_text(f"#define VALUE {value}\n")
        return ascendc_load("put", source, build_directory=tmp_path / "cache")

    first = load("1.5f")
    first.launch("put", 1, [y])
    assert y.item() == 1.5
    stamp = pathlib.Path(first.library_path).stat().st_mtime_ns
    again = load("1.5f")
    assert again.library_path == first.library_path and pathlib.Path(again.library_path).stat().st_mtime_ns == stamp
    other = load("2.5f")
    other.launch("put", 1, [y])
    assert other.library_path != first.library_path and y.item() == 2.5
    with pytest.raises(RuntimeError, match=r"the compiler failed(.|\n)*value.h"):
        load("no_such_name")
    assert len(list((tmp_path / "cache").iterdir())) == 2  # and nothing half made


def test_what_cannot_be_loaded_says_why(tmp_path: Any, monkeypatch: Any) -> None:
    with pytest.raises(FileNotFoundError, match="no source"):
        ascendc_load("a", tmp_path / "a.cpp")
    (tmp_path / "a.cpp").write_text('// extern "C" __global__ __aicore__ void commented(GM_ADDR x) {}\nint f();\n')
    with pytest.raises(ValueError, match="no kernel in the sources"):
        ascendc_load("a", tmp_path / "a.cpp")
    with pytest.raises(ValueError, match="identifier"):
        ascendc_load("a b", tmp_path / "a.cpp")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="no C\\+\\+ compiler \\(CXX=no-such-compiler\\)"):
        ascendc_load("add", _SOURCES / "vector_add.cpp", build_directory=tmp_path)


def test_the_derived_fake_is_compared_with_what_the_kernel_returns() -> None:
    @ascendc_op("ascendc_test::half_as_long")
    def half_as_long(x: Tensor) -> Tensor:
        return x[: len(x) // 2].clone()

    x = torch.ones(4, device="npu")
    with pytest.raises(RuntimeError, match=r"result 0 has shape \[2\] .* resembles 'x': \[4\]"):
        half_as_long(x)
    half_as_long.register_fake(lambda x: x.new_empty(len(x) // 2))
    assert half_as_long(x).shape == (2,) and half_as_long(x.to("meta")).shape == (2,)
    with pytest.raises(ValueError, match="`like` has to name a tensor argument"):
        ascendc_op("ascendc_test::no_tensor", _of_a_number)


def _of_a_number(n: int) -> Tensor:
    return torch.empty(n, device="npu")
