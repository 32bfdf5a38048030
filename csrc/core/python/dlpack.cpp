// DLPack in both directions: capsules that hand memory over without a copy.
#include <memory>
#include <string>

#include "../autograd.h"
#include "../copy_on_write.h"
#include "../device_memory.h"
#include "../foreign.h"
#include "../gil.h"
#include "../sparse.h"
#include "deferred.h"
#include "dlpack.h"
#include "tensor_new.h"

namespace mt {
namespace {

using namespace dlpack;

enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
// The protocol's numbers of device types; 12 is for those that it has none for, NPUs among them.
constexpr int32_t kCpu = 1, kCuda = 2, kOther = 12;
constexpr int32_t kMostDims = 1024;
constexpr DLPackVersion kVersion = {1, 0};
constexpr uint64_t kReadOnly = 1;  // of a versioned tensor's flags

// The protocol asks for Python's BufferError.
[[noreturn]] void buffer_error(const std::string& text) {
    PyErr_SetString(PyExc_BufferError, text.c_str());
    throw PythonError();
}

DLDataType dl_type(DType t) {
    uint8_t code = is_complex(t)                                                                         ? kComplex
                   : t == DType::Bool                                                                    ? kBool
                   : t == DType::BFloat16                                                                ? kBfloat
                   : is_floating(t)                                                                      ? kFloat
                   : t == DType::UInt8 || t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64 ? kUInt
                                                                                                         : kInt;
    if (is_float8(t) || t == DType::Float4_e2m1fn_x2)
        MT_THROW(Runtime, "torch.", dtype_name(t), " is not supported by dlpack");
    return {code, static_cast<uint8_t>(itemsize(t) * 8), 1};
}

DType dtype_of_dl(DLDataType t) {
    MT_CHECK(t.lanes == 1, "ATen does not support lanes != 1");
    switch (t.code * 1000 + t.bits) {
        case kUInt * 1000 + 8:
            return DType::UInt8;
        case kUInt * 1000 + 16:
            return DType::UInt16;
        case kUInt * 1000 + 32:
            return DType::UInt32;
        case kUInt * 1000 + 64:
            return DType::UInt64;
        case kInt * 1000 + 8:
            return DType::Int8;
        case kInt * 1000 + 16:
            return DType::Int16;
        case kInt * 1000 + 32:
            return DType::Int32;
        case kInt * 1000 + 64:
            return DType::Int64;
        case kFloat * 1000 + 16:
            return DType::Float16;
        case kFloat * 1000 + 32:
            return DType::Float32;
        case kFloat * 1000 + 64:
            return DType::Float64;
        case kBfloat * 1000 + 16:
            return DType::BFloat16;
        case kComplex * 1000 + 64:
            return DType::Complex64;
        case kComplex * 1000 + 128:
            return DType::Complex128;
        case kBool * 1000 + 8:
            return DType::Bool;
        default:
            buffer_error(concat("Unsupported DLPack element type: code ", int(t.code), ", ", int(t.bits), " bits"));
    }
}

DLDevice dl_device(Device d) {
    if (d.is_cpu()) return {kCpu, 0};
    if (d.type != DeviceType::NPU && d.type != DeviceType::CUDA)
        buffer_error("Cannot pack tensors on " + device_name(d));
    return {d.type == DeviceType::CUDA ? kCuda : kOther, std::max<int32_t>(d.index, 0)};
}
Device device_of_dl(DLDevice d) {
    if (d.device_type == kCpu) return Device();
    MT_CHECK((d.device_type == kCuda || d.device_type == kOther) && d.device_id >= 0 && d.device_id < 128,
             "a tensor in host memory, on an NPU or a GPU of NVIDIA was expected, got DLPack device type ",
             d.device_type, ", number ", d.device_id);
    const Device device{d.device_type == kCuda ? DeviceType::CUDA : DeviceType::NPU, static_cast<int8_t>(d.device_id)};
    load_device(device);
    return device;
}

// What a capsule of ours keeps alive: the storage, and room for the sizes.
struct Exported {
    Storage* storage;
    Dims sizes, strides;
};

void fill_dl(DLTensor& d, const Tensor& t, Exported* e) {
    settle_all();  // what was put off would see what others write
    if (is_sparse(t)) buffer_error("Can't export tensors with layout other than torch.strided");
    check_data(t);
    before_write(t.storage);  // who takes it may write
    d.device = dl_device(t.device);
    d.dtype = dl_type(t.dtype);
    e->sizes.assign(t.sizes());
    e->strides.assign(t.strides());
    // Consumers may read strides of size-one dimensions: give them the plain ones.
    for (int64_t i = 0; i < e->sizes.size(); i++)
        if (e->sizes[i] < 2) e->strides[i] = 1;
    // Operators of devices take aligned addresses and an offset from there.
    d.byte_offset = t.numel() && !t.is_cpu() ? static_cast<uint64_t>(t.offset * t.itemsize()) : 0;
    d.data = t.numel() ? static_cast<char*>(t.raw()) - d.byte_offset : nullptr;
    d.ndim = t.ndim;
    d.shape = e->sizes.data();
    d.strides = e->strides.data();
    note_export(t.storage);  // last: nothing throws any more
    e->storage = t.storage;
}

void drop(void* context) {
    Exported* e = static_cast<Exported*>(context);
    forget_export(e->storage);
    delete e;
}

template <class Managed>
void delete_managed(Managed* m) {
    drop(m->manager_ctx);
    delete m;
}

constexpr const char* kName = "dltensor";
constexpr const char* kNameVersioned = "dltensor_versioned";

// A capsule that nobody consumed still owns its tensor.
template <class Managed>
void destroy_capsule(PyObject* capsule, const char* name) {
    if (!PyCapsule_IsValid(capsule, name)) return;
    Managed* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
    if (m && m->deleter) m->deleter(m);
}
void destroy_plain(PyObject* c) { destroy_capsule<DLManagedTensor>(c, kName); }
void destroy_versioned(PyObject* c) { destroy_capsule<DLManagedTensorVersioned>(c, kNameVersioned); }

// Another library's tensor, given back to it when our storage goes.
template <class Managed>
void release_foreign(void* context) {
    HoldGil held;
    Managed* m = static_cast<Managed*>(context);
    if (m->deleter) m->deleter(m);
}

// Tensors cannot be read-only, as NumPy's arrays can. Once in a process, as for those.
void warn_read_only() {
    static bool warned = false;
    if (warned) return;
    warned = true;
    if (PyErr_WarnEx(
            PyExc_UserWarning,
            "from_dlpack(): the memory is read-only, and tensors have no such mark: a write to this tensor is a "
            "write to memory that others take for unchanged. Copy the array first if the tensor is written to.",
            1) < 0)
        throw PythonError();
}

template <class Managed>
TensorRef import_managed(Managed* m) {
    DLTensor& d = m->dl_tensor;
    const Device device = device_of_dl(d.device);
    DType dtype = dtype_of_dl(d.dtype);
    MT_CHECK(d.ndim >= 0 && d.ndim <= kMostDims && (d.ndim == 0 || d.shape), "from_dlpack(): expected at most ",
             kMostDims, " dimensions and their sizes, got ndim=", d.ndim, d.shape ? "" : " and no shape");
    Dims sizes(IntSpan(d.shape, d.ndim));
    int64_t count = 1;
    bool fits = true;
    for (int64_t s : sizes) {
        MT_CHECK(s >= 0, "from_dlpack(): negative sizes are not supported, got ", IntSpan(sizes));
        fits = !__builtin_mul_overflow(count, s, &count) && fits;
    }
    MT_CHECK(fits, "from_dlpack(): too many elements, sizes are ", IntSpan(sizes));
    MT_CHECK(count == 0 || d.data, "from_dlpack(): ", count, " elements without memory");
    Dims strides = d.strides ? Dims(IntSpan(d.strides, d.ndim)) : contiguous_strides(sizes);
    for (int64_t s : strides)
        MT_CHECK(s >= 0, "from_dlpack(): negative strides are not supported, got ", IntSpan(strides));
    const auto width = static_cast<uint64_t>(itemsize(dtype));
    const bool keeps_base = !device.is_cpu() && d.byte_offset % width == 0;
    const auto offset = static_cast<int64_t>(keeps_base ? d.byte_offset / width : 0);
    size_t bytes = count ? storage_bytes_needed(sizes, strides, itemsize(dtype), offset) : 0;
    char* data = static_cast<char*>(d.data);
    if (data && !keeps_base) data += d.byte_offset;  // what has no elements may have no memory
    Storage* storage = storage_wrap(data, bytes, device, m, release_foreign<Managed>);
    TensorRef t = from_storage(storage, offset, sizes, strides, dtype);
    storage->drop();
    return t;
}

template <class Managed>
Managed* new_managed(const Tensor& t) {
    auto e = std::make_unique<Exported>();
    auto m = std::make_unique<Managed>();
    fill_dl(m->dl_tensor, t, e.get());
    m->manager_ctx = e.release();
    m->deleter = delete_managed<Managed>;
    return m.release();
}

// ---- the same as C functions, for libraries that call them without Python's protocol in between ----

template <class F>
int with_python_error(F&& body) noexcept {
    HoldGil held;
    return guarded<int>(-1, [&] {
        body();
        return 0;
    });
}
const Tensor& tensor_argument(void* o) {
    PyObject* object = static_cast<PyObject*>(o);
    MT_CHECK_TYPE(tensor_check(object), "a torch.Tensor was expected, got ", Py_TYPE(object)->tp_name);
    return as_tensor(object);
}

int exchange_allocate(DLTensor* like, DLManagedTensorVersioned** out, void* context,
                      void (*set_error)(void*, const char* kind, const char* text)) {
    HoldGil held;
    try {
        DType dtype = dtype_of_dl(like->dtype);
        TensorRef t = empty(IntSpan(like->shape, like->ndim), dtype, device_of_dl(like->device));
        *out = new_managed<DLManagedTensorVersioned>(*t);
        (*out)->version = kVersion;
        return 0;
    } catch (...) {
        raise_to_python();
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyObject* text = value ? PyObject_Str(value) : nullptr;
        const char* said = text ? PyUnicode_AsUTF8(text) : nullptr;
        set_error(context, type ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "RuntimeError",
                  said ? said : "a tensor could not be allocated");
        PyErr_Clear();
        Py_XDECREF(text);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        return -1;
    }
}
int exchange_export(void* o, DLManagedTensorVersioned** out) {
    return with_python_error([&] {
        *out = new_managed<DLManagedTensorVersioned>(tensor_argument(o));
        (*out)->version = kVersion;
    });
}
int exchange_import(DLManagedTensorVersioned* m, void** out) {
    return with_python_error([&] {
        if (m->version.major > 1)
            buffer_error(concat("unsupported DLPack version ", m->version.major, ".", m->version.minor));
        if (m->flags & kReadOnly) warn_read_only();
        *out = import_managed(m).release()->py();
    });
}
// Borrowed, as long as the tensor lives and keeps its shape.
int exchange_view(void* o, DLTensor* out) {
    return with_python_error([&] {
        const Tensor& t = tensor_argument(o);
        settle_all();
        if (is_sparse(t)) buffer_error("Can't export tensors with layout other than torch.strided");
        check_data(t);
        before_write(t.storage);
        *out = {t.numel() ? t.raw() : nullptr,
                dl_device(t.device),
                t.ndim,
                dl_type(t.dtype),
                const_cast<int64_t*>(t.dims_),
                const_cast<int64_t*>(t.dims_) + t.ndim,
                0};
    });
}
int exchange_stream(int32_t device_type, int32_t device_id, void** out) {
    *out = nullptr;
    if (device_type == kCpu) return 0;
    return with_python_error([&] {
        const Device device = device_of_dl({device_type, device_id});
        PyObject* module = PyImport_ImportModule("mindtorch_v2._core.exchange");
        PyObject* address = module ? PyObject_CallMethod(module, "current_stream_handle", "si",
                                                         device_type_name(device.type), device_id)
                                   : nullptr;
        Py_XDECREF(module);
        if (!address) throw PythonError();
        *out = PyLong_AsVoidPtr(address);
        Py_DECREF(address);
        if (PyErr_Occurred()) throw PythonError();
    });
}

const DLPackExchangeAPI exchange = {{kVersion, nullptr}, exchange_allocate, exchange_export,
                                    exchange_import,     exchange_view,     exchange_stream};

}  // namespace

std::pair<int32_t, int32_t> dlpack_number(Device d) {
    DLDevice number = dl_device(d);
    return {number.device_type, number.device_id};
}

void check_exportable(const Tensor& t) {
    if (requires_grad(t)) buffer_error("Can't export tensors that require gradient, use tensor.detach()");
    if (t.keys.has(Key::Conjugate)) buffer_error("Can't export tensors with the conjugate bit set");
    if (t.keys.has(Key::Negative)) buffer_error("Can't export tensors with the negative bit set");
    if (t.is_cpu()) return;
    dl_device(t.device);
    PyObject* module = PyImport_ImportModule("mindtorch_v2._core.exchange");
    PyObject* done = module ? PyObject_CallMethod(module, "check_exportable", "O", t.py()) : nullptr;
    Py_XDECREF(module);
    if (!done) throw PythonError();
    Py_DECREF(done);
}

PyObject* tensor_to_dlpack(Tensor& t, bool versioned) {
    check_exportable(t);
    dl_type(t.dtype);
    if (versioned) {
        auto* m = new_managed<DLManagedTensorVersioned>(t);
        m->version = kVersion;
        return PyCapsule_New(m, kNameVersioned, destroy_versioned);
    }
    return PyCapsule_New(new_managed<DLManagedTensor>(t), kName, destroy_plain);
}

TensorRef tensor_from_dlpack(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, kNameVersioned)) {
        auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, kNameVersioned));
        if (m->version.major > 1)
            buffer_error(concat("from_dlpack(): unsupported DLPack version ", m->version.major, ".", m->version.minor));
        if (m->flags & kReadOnly) warn_read_only();
        TensorRef t = import_managed(m);
        PyCapsule_SetName(capsule, "used_dltensor_versioned");
        return t;
    }
    MT_CHECK(PyCapsule_IsValid(capsule, kName),
             "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
             "might have already constructed a tensor from it once.");
    auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
    TensorRef t = import_managed(m);
    PyCapsule_SetName(capsule, "used_dltensor");
    return t;
}

PyObject* dlpack_exchange_api() {
    return PyCapsule_New(const_cast<DLPackExchangeAPI*>(&exchange), "dlpack_exchange_api", nullptr);
}

}  // namespace mt
