// Memory of others: DLPack capsules of both versions, buffers, and what torch.frombuffer is asked. Sizes, strides,
// types and flags are the fuzzer's; what is taken in and lies within the memory that is there is read and written.
#include <cstdlib>
#include <cstring>

#include "core/python/dlpack.h"
#include "driver.h"

namespace {
using namespace fuzzing;
using namespace mt::dlpack;

constexpr size_t kBytes = 96;

const char* const kProgram = R"(
def use(tensor):
    'Reads and writes all of it. Memory that is not aligned for its dtype is taken in, as in PyTorch, and not looked at here.'
    if tensor.data_ptr() % tensor.itemsize: return
    text = str(tensor.shape) + str(tensor.dtype)
    copy = tensor.clone()
    if not torch.equal(torch.nan_to_num(copy.to(torch.complex128)), torch.nan_to_num(tensor.to(torch.complex128))):
        raise AssertionError('a copy differs')
    tensor.tolist()
    if tensor.numel() and not any(step == 0 for step in tensor.stride()):
        tensor.zero_()
    torch.utils.dlpack.to_dlpack(tensor)
def read(tensor):
    if tensor.data_ptr() % tensor.itemsize == 0: tensor.clone()
def look(tensor):
    'What needs no memory.'
    tensor.shape, tensor.stride(), tensor.numel(), tensor.is_contiguous(), tensor.t() if tensor.dim() == 2 else None
    tensor.untyped_storage().nbytes()
def from_dlpack(exported):
    try: return torch.from_dlpack(exported)
    except AssertionError as error:  # PyTorch's class and text for a GPU that is not there
        if str(error) != 'Torch not compiled with CUDA enabled': raise
        raise RuntimeError(str(error)) from None
frombuffer, asarray = torch.frombuffer, torch.asarray
dtypes = [getattr(torch, name) for name in ('uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'float32', 'float64', 'bfloat16', 'bool',
          'complex64', 'complex128', 'uint16', 'uint32', 'uint64', 'float8_e5m2')]
buffers = [b'', b'x', b'0123456789abcdef' * 3, bytearray(b'0123456789abcdef' * 2), memoryview(bytearray(40))[1:]]
class Exporter:
    def __init__(self, capsule, device): self.capsule, self.device = capsule, device
    def __dlpack__(self, **keywords): return self.capsule
    def __dlpack_device__(self): return self.device
)";

// A producer's side of a capsule: freed by the deleter, once.
struct Made {
    std::vector<int64_t> shape, strides;
    char* memory;
};
int g_alive = 0;
template <class Managed>
void end(Managed* managed) {
    auto* made = static_cast<Made*>(managed->manager_ctx);
    std::free(made->memory);
    delete made;
    delete managed;
    g_alive--;
}

bool within(const DLTensor& t, size_t itemsize) {
    __int128 low = 0, high = 0;
    for (int i = 0; i < t.ndim; i++) {
        if (t.shape[i] == 0) return true;
        __int128 stride = 1;
        if (t.strides)
            stride = t.strides[i];
        else
            for (int j = i + 1; j < t.ndim; j++) stride *= t.shape[j];
        if (t.shape[i] < 0 || t.shape[i] > 1 << 20 || stride > 1 << 20 || stride < -(1 << 20)) return false;
        const __int128 span = (static_cast<__int128>(t.shape[i]) - 1) * stride;
        (span < 0 ? low : high) += span;
    }
    const __int128 start = t.byte_offset;
    return start + low * itemsize >= 0 && start + (high + 1) * itemsize <= kBytes;
}

template <class Managed>
PyObject* capsule(Data& data, bool& usable) {
    auto* made = new Made;
    auto* managed = new Managed{};
    g_alive++;
    const bool tame = data.ConsumeBool();
    DLTensor& t = managed->dl_tensor;
    const auto dims = data.ConsumeIntegralInRange<int>(0, tame ? 3 : 6);
    for (int i = 0; i < dims; i++) {
        made->shape.push_back(tame ? data.ConsumeIntegralInRange<int64_t>(0, 3) : integer(data));
        made->strides.push_back(tame ? data.ConsumeIntegralInRange<int64_t>(0, 3) : integer(data));
    }
    made->memory = static_cast<char*>(std::calloc(1, kBytes));
    t.data = made->memory;
    if (data.ConsumeIntegral<uint8_t>() == 0) t.data = nullptr;
    t.device = {data.ConsumeIntegral<uint8_t>() < 240 ? 1 : data.ConsumeIntegral<int8_t>(), 0};
    t.ndim = data.ConsumeIntegral<uint8_t>() < 250 ? dims : data.ConsumeIntegralInRange<int>(-3, 0);
    t.dtype.code = data.ConsumeIntegralInRange<uint8_t>(0, 8);
    static const uint8_t bits[] = {8, 16, 32, 64, 128, 1, 0, 255};
    t.dtype.bits = bits[data.ConsumeIntegralInRange<size_t>(0, std::size(bits) - 1)];
    t.dtype.lanes = data.ConsumeIntegral<uint8_t>() < 245 ? 1 : data.ConsumeIntegral<uint16_t>();
    t.shape = dims ? made->shape.data() : nullptr;
    t.strides = data.ConsumeBool() && dims ? made->strides.data() : nullptr;
    t.byte_offset = data.ConsumeIntegral<uint8_t>() < 220 ? data.ConsumeIntegralInRange<int>(0, 3) * 16
                                                          : data.ConsumeIntegral<uint64_t>();
    managed->manager_ctx = made;
    managed->deleter = end<Managed>;
    usable = t.data && t.ndim >= 0 && t.dtype.lanes == 1 && within(t, (t.dtype.bits + 7) / 8);
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
        managed->version = {data.ConsumeIntegral<uint8_t>() < 245 ? 1u : 2u, 0};
        managed->flags = data.ConsumeIntegral<uint8_t>() & 3;
        if (managed->version.major != 1) usable = false;
    }
    const char* name = std::is_same_v<Managed, DLManagedTensor> ? "dltensor" : "dltensor_versioned";
    return PyCapsule_New(managed, name, [](PyObject* unused) {
        const char* left = PyCapsule_GetName(unused);
        if (left && (!std::strcmp(left, "dltensor") || !std::strcmp(left, "dltensor_versioned")))
            end(static_cast<Managed*>(PyCapsule_GetPointer(unused, left)));
    });
}

// An object with the buffer protocol whose memory is what it says, in any format.
struct Exporting {
    PyObject_HEAD char format[8];
    Py_ssize_t shape[4], strides[4], itemsize;
    int ndim, readonly;
    char* memory;
};
int lend(PyObject* self, Py_buffer* view, int flags) {
    auto* e = reinterpret_cast<Exporting*>(self);
    *view = {};
    view->buf = e->memory;
    view->obj = Py_NewRef(self);
    view->itemsize = e->itemsize;
    view->len = e->itemsize;
    for (int i = 0; i < e->ndim; i++) view->len *= e->shape[i];
    view->readonly = e->readonly;
    view->ndim = e->ndim;
    view->format = flags & PyBUF_FORMAT ? e->format : nullptr;
    view->shape = e->shape;
    view->strides = e->strides;
    return 0;
}
PyBufferProcs g_procs = {lend, nullptr};
PyTypeObject g_exporting = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* exporting(Data& data) {
    auto* e = PyObject_New(Exporting, &g_exporting);
    const std::string format = data.ConsumeRandomLengthString(sizeof(e->format) - 1);
    std::memset(e->format, 0, sizeof(e->format));
    std::memcpy(e->format, format.data(), format.size());
    static const Py_ssize_t sizes[] = {1, 2, 4, 8, 16, 3};
    e->itemsize = sizes[data.ConsumeIntegralInRange<size_t>(0, 5)];
    e->ndim = data.ConsumeIntegralInRange<int>(0, 4);
    e->readonly = data.ConsumeBool();
    Py_ssize_t step = e->itemsize;
    for (int i = e->ndim - 1; i >= 0; i--) {
        e->shape[i] = data.ConsumeIntegralInRange<Py_ssize_t>(0, 2);
        e->strides[i] = step;
        step *= std::max<Py_ssize_t>(e->shape[i], 1);
    }
    e->memory = static_cast<char*>(std::calloc(1, step));
    return reinterpret_cast<PyObject*>(e);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    start(kProgram);
    g_exporting.tp_name = "fuzzing.Exporting";
    g_exporting.tp_basicsize = sizeof(Exporting);
    g_exporting.tp_flags = Py_TPFLAGS_DEFAULT;
    g_exporting.tp_as_buffer = &g_procs;
    g_exporting.tp_dealloc = [](PyObject* self) {
        std::free(reinterpret_cast<Exporting*>(self)->memory);
        PyObject_Free(self);
    };
    if (PyType_Ready(&g_exporting)) std::abort();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    static PyObject *from_dlpack = found("from_dlpack"), *frombuffer = found("frombuffer"), *asarray = found("asarray"),
                    *use = found("use"), *read = found("read"), *look = found("look"), *dtypes = found("dtypes"),
                    *buffers = found("buffers"), *exporter = found("Exporter");
    Data data(bytes, size);
    const auto kind = data.ConsumeIntegralInRange<int>(0, 4);
    bool usable = true;
    Ref tensor;
    if (kind <= 2) {
        Ref made(kind == 0 ? capsule<DLManagedTensor>(data, usable) : capsule<DLManagedTensorVersioned>(data, usable));
        if (kind == 2) made = Ref(PyObject_CallFunction(exporter, "O(ii)", made.get(), data.ConsumeBool() ? 1 : 2, 0));
        tensor = Ref(PyObject_CallOneArg(from_dlpack, made.get()));
    } else if (kind == 3) {
        Ref keywords(PyDict_New()), buffer(data.ConsumeBool() ? exporting(data) : Py_NewRef(element(buffers, data)));
        PyDict_SetItemString(keywords.get(), "dtype", element(dtypes, data));
        for (const char* name : {"count", "offset"}) {
            if (data.ConsumeBool()) continue;
            Ref number(PyLong_FromLongLong(integer(data)));
            PyDict_SetItemString(keywords.get(), name, number.get());
        }
        Ref args(PyTuple_Pack(1, buffer.get()));
        tensor = Ref(PyObject_Call(frombuffer, args.get(), keywords.get()));
        if (tensor) {  // constants are not ours to write to
            Ref copy(PyObject_CallOneArg(read, tensor.get()));
            is_well(copy.get(), "clone");
            usable = false;
        }
    } else {
        Ref made(exporting(data));
        tensor = Ref(PyObject_CallOneArg(asarray, made.get()));
        usable = false;
    }
    if (is_well(tensor.get(), "import")) {
        Ref seen(PyObject_CallOneArg(usable ? use : look, tensor.get()));
        is_well(seen.get(), "use");
    }
    tensor = Ref();
    if (g_alive) PyGC_Collect();
    if (g_alive) wrong("DLPack", std::to_string(g_alive) + " capsules whose deleter was not called");
    return 0;
}
