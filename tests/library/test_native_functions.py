"""Operators made of functions that were compiled without PyTorch, and the C functions that such code takes tensors by."""

import ctypes
import shutil
import subprocess

import pytest

import mindtorch_v2 as torch

SOURCE = r"""
#include <stdint.h>
int scale(float* out, const float* x, double factor, int64_t n) {
    if (factor < 0) return 7;
    for (int64_t i = 0; i < n; i++) out[i] = (float)(x[i] * factor);
    return 0;
}
void add_one(float* x, int64_t n) { for (int64_t i = 0; i < n; i++) x[i] += 1; }
void seen(void* stream, int64_t* out) { *out = (int64_t)stream; }
void kinds(double* out, const char* text, _Bool b, void* nothing, int64_t i) {
    *out = text[0] + (b ? 0.5 : 0) + (nothing ? 1000 : 0) + i;
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("it needs a C compiler")
    folder = tmp_path_factory.mktemp("native")
    (folder / "native.c").write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "native.c", "-o", "native.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "native.so"))


@pytest.fixture
def scale(compiled, request):
    """A new operator for each test."""
    name = request.node.name.partition("[")[0]
    return torch.library.from_ctypes(
        compiled.scale,
        f"native_{name}::scale(Tensor x, float factor=2.0) -> Tensor",
        out=lambda x, factor=2.0: torch.empty_like(x),
        args=lambda outputs, x, factor: (outputs[0], x, factor, x.numel()),
    )


def test_a_function(scale):
    x = torch.arange(4.0)
    assert scale(x, 3.0).tolist() == [0, 3, 6, 9]
    assert scale(x).tolist() == [0, 2, 4, 6]
    assert scale(x, factor=0.5).tolist() == [0, 0.5, 1, 1.5]
    with pytest.raises(RuntimeError, match="native_test_a_function::scale: the compiled function returned 7"):
        scale(x, -1.0)


def test_it_is_an_operator(scale):
    """Fake, gradient, graph: as with every other one."""
    x = torch.arange(4.0)
    assert scale(x.to("meta"), 3.0).device.type == "meta"
    torch.library.register_autograd(scale, lambda ctx, g: (g * ctx.factor, None), setup_context=_keep_factor)
    p = torch.ones(3, requires_grad=True)
    scale(p, 4.0).sum().backward()
    assert p.grad.tolist() == [4, 4, 4]
    assert set(torch.library.opcheck(scale, (p, 1.5)).values()) == {"SUCCESS"}
    compiled = torch.compile(lambda x: scale(x, 3.0) + 1, backend="eager", fullgraph=True)
    assert compiled(x).tolist() == [1, 4, 7, 10]


def _keep_factor(ctx, inputs, output):
    ctx.factor = inputs[1]


def test_a_function_that_writes(compiled):
    compiled.add_one.restype = None
    add_one = torch.library.from_ctypes(
        compiled.add_one, "native_writes::add_one(Tensor(a!) x) -> ()", args=lambda outputs, x: (x, x.numel())
    )
    x = torch.zeros(3)
    before = x._version
    assert add_one(x) is None
    assert x.tolist() == [1, 1, 1] and x._version == before + 1
    assert add_one(torch.zeros(3, device="meta")) is None


def test_arguments_of_all_kinds(compiled):
    compiled.kinds.restype = None
    kinds = torch.library.from_ctypes(
        compiled.kinds,
        "native_kinds::kinds(Tensor like, str s, bool b, Tensor? t, int i) -> Tensor",
        out=lambda like, *_: torch.empty((), dtype=torch.float64),
        args=lambda outputs, like, *rest: (outputs[0], *rest),
    )
    like = torch.zeros(1)
    assert kinds(like, "A", True, None, 1).item() == 66.5
    assert kinds(like, "A", False, like, -1).item() == 1064
    compiled.seen.restype = None
    seen = torch.library.from_ctypes(
        compiled.seen,
        "native_kinds::seen(Tensor x) -> Tensor",
        out=lambda x: torch.empty(1, dtype=torch.int64),
        args=lambda outputs, x: (None, outputs[0]),
    )
    assert seen(like).tolist() == [0]
    wrong = torch.library.from_ctypes(
        compiled.seen, "native_kinds::wrong(Tensor[] x) -> ()", args=lambda outputs, x: (x,)
    )
    with pytest.raises(TypeError, match="native_kinds::wrong: list has no form in C here"):
        wrong([like])


def test_what_does_not_fit(compiled):
    for schema, out, text in [
        ("f(Tensor x) -> Tensor", lambda x: x, "a schema with a namespace was expected"),
        ("native_wrong::f(Tensor x) -> Tensor", None, "say how its outputs are made"),
        ("native_wrong::f(Tensor(a!) x) -> ()", lambda x: x, "out= makes nothing that is needed"),
        ("native_wrong::f(Tensor x) -> int", lambda x: x, "results are tensors"),
    ]:
        with pytest.raises(ValueError, match=text):
            torch.library.from_ctypes(compiled.add_one, schema, out=out)
    with pytest.raises(TypeError, match="a function of a ctypes library was expected, got function"):
        torch.library.from_ctypes(lambda: None, "native_wrong::f(Tensor x) -> ()")
    with pytest.raises(TypeError, match="a function or a path was expected, got int"):
        torch.library.from_tvm_ffi(3, "native_wrong::f(Tensor x) -> ()")
    two = torch.library.from_ctypes(
        compiled.add_one, "native_wrong::two(Tensor x) -> (Tensor, Tensor)", out=lambda x: torch.empty_like(x)
    )
    with pytest.raises(RuntimeError, match="out= made 1 tensors, the schema has 2 results"):
        two(torch.ones(1))


def test_tensors_without_plain_memory(scale):
    with pytest.raises(NotImplementedError, match="SparseCPU"):
        scale(torch.ones(2).to_sparse(), 1.0)


def test_a_function_of_tvm_ffi():
    """The order of arguments, with a stand-in that is called as such functions are."""
    calls = []

    def function(*args):
        calls.append(args)
        args[0].copy_(args[1] * args[2])

    first = torch.library.from_tvm_ffi(
        function, "native_ffi::first(Tensor x, float f) -> Tensor", out=lambda x, f: torch.empty_like(x), out_first=True
    )
    assert first(torch.ones(2), 3.0).tolist() == [3, 3]
    assert len(calls) == 1
    into = torch.library.from_tvm_ffi(
        lambda x, y: calls.append(y.copy_(x + 1)), "native_ffi::into(Tensor x, Tensor(a!) y) -> ()"
    )
    y = torch.zeros(2)
    assert into(torch.ones(2), y) is None and y.tolist() == [2, 2]


def test_libraries_of_tvm_ffi():
    """A real one where the package is there: its functions, errors and allocations."""
    ffi = pytest.importorskip("tvm_ffi.cpp", reason="apache-tvm-ffi is not installed")
    module = ffi.load_inline(
        "native_tvm",
        cpp_sources="""
        #include <tvm/ffi/extra/c_env_api.h>
        void scale(tvm::ffi::TensorView x, double f, tvm::ffi::TensorView y) {
            TVM_FFI_CHECK(f >= 0, ValueError) << "negative";
            for (int64_t i = 0; i < x.numel(); i++)
                static_cast<float*>(y.data_ptr())[i] = static_cast<float*>(x.data_ptr())[i] * f;
        }
        tvm::ffi::Tensor same(tvm::ffi::TensorView x) {
            return tvm::ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, x.shape(), x.dtype(), x.device());
        }
        """,
        functions=["scale", "same"],
    )
    scale = torch.library.from_tvm_ffi(
        module["scale"], "native_tvm::scale(Tensor x, float f) -> Tensor", out=lambda x, f: torch.empty_like(x)
    )
    assert scale(torch.arange(3.0), 2.0).tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="negative"):
        scale(torch.ones(1), -1.0)
    made = module.same(torch.ones(2, 3, dtype=torch.bfloat16))
    assert type(made) is torch.Tensor and made.shape == (2, 3) and made.dtype == torch.bfloat16


# ---- the exchange of DLPack by C functions ----


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.PYFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    ]


_SetError = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
_P = ctypes.c_void_p


class _Exchange(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("earlier", _P),
        ("allocate", ctypes.PYFUNCTYPE(ctypes.c_int, _P, _P, _P, _SetError)),
        ("from_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, _P)),
        ("to_object", ctypes.PYFUNCTYPE(ctypes.c_int, _P, _P)),
        ("view", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, _P)),
        ("stream", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, _P)),
    ]


@pytest.fixture(scope="module")
def exchange():
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return _Exchange.from_address(pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def test_the_capsule(exchange):
    assert exchange.major == 1 and exchange.earlier is None
    assert "__dlpack_c_exchange_api__" not in torch.ones(1).__dict__  # of the class, which is where libraries look


def test_a_view_of_a_tensor(exchange):
    x = torch.arange(6.0).reshape(2, 3).t()[1:]
    seen = _DLTensor()
    assert exchange.view(x, ctypes.addressof(seen)) == 0
    assert (seen.data, seen.device_type, seen.ndim) == (x.data_ptr(), 1, 2)
    assert (seen.shape[:2], seen.strides[:2]) == ([2, 2], [1, 3])
    assert (seen.code, seen.bits, seen.lanes, seen.byte_offset) == (2, 32, 1, 0)
    with pytest.raises(TypeError, match="a torch.Tensor was expected, got list"):
        exchange.view([], ctypes.addressof(seen))
    with pytest.raises(BufferError, match="torch.strided"):
        exchange.view(torch.ones(2).to_sparse(), ctypes.addressof(seen))


def test_there_and_back(exchange):
    x = torch.arange(3.0)
    managed, back = ctypes.POINTER(_Managed)(), ctypes.py_object()
    assert exchange.from_object(x, ctypes.addressof(managed)) == 0
    assert managed.contents.major == 1 and managed.contents.tensor.data == x.data_ptr()
    assert exchange.to_object(managed, ctypes.addressof(back)) == 0
    assert back.value.data_ptr() == x.data_ptr() and back.value.tolist() == [0, 1, 2]


def test_an_allocation(exchange):
    like = _DLTensor(None, 1, 0, 2, 0, 64, 1, (ctypes.c_int64 * 2)(2, 3), None, 0)
    managed, back, errors = ctypes.POINTER(_Managed)(), ctypes.py_object(), []
    set_error = _SetError(lambda context, kind, text: errors.append((context, kind, text)))
    assert exchange.allocate(ctypes.addressof(like), ctypes.addressof(managed), 5, set_error) == 0
    assert exchange.to_object(managed, ctypes.addressof(back)) == 0
    assert back.value.shape == (2, 3) and back.value.dtype == torch.int64
    like.bits = 7
    assert exchange.allocate(ctypes.addressof(like), ctypes.addressof(managed), 5, set_error) == -1
    assert errors == [(5, b"BufferError", b"Unsupported DLPack element type: code 0, 7 bits")]


def test_the_stream_of_a_cpu(exchange):
    address = ctypes.c_void_p(1)
    assert exchange.stream(1, 0, ctypes.addressof(address)) == 0 and address.value is None
