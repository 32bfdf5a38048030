// Tensors of a user's class: over the data of another tensor, or with no data at all.
#include "subclass.h"

#include <sys/mman.h>

#include <cstring>

#include "../autograd.h"
#include "types.h"

namespace mt {
namespace {

// Whether a class takes calls below autograd over, by a __torch_dispatch__ that is not Tensor's own.
bool handles_dispatch(PyTypeObject* type) {
    if (type == tensor_type() || type == parameter_type()) return false;
    static PyObject* name = PyUnicode_InternFromString("__torch_dispatch__");
    PyObject* own = PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name);
    PyObject* plain = PyObject_GetAttr(reinterpret_cast<PyObject*>(tensor_type()), name);
    PyErr_Clear();
    bool handled = own && own != Py_None && own != plain;
    Py_XDECREF(own);
    Py_XDECREF(plain);
    return handled;
}

PyObject* g_asker = nullptr;

// The bits of a policy by PyTorch's name of it; none for null.
uint8_t questions(const char* policy) {
    if (!policy) return 0;
    if (!strcmp(policy, "sizes")) return kAsksSizes | kAsksStrides;
    MT_CHECK_VALUE(!strcmp(policy, "strides"), "Unknown sizes_strides_policy: ", policy,
                   "; expected 'strides' or 'sizes'");
    return kAsksStrides;
}

}  // namespace

PyObject* asked(PyObject* tensor, const char* what, PyObject* more) {
    PyObject* answer = PyObject_CallFunction(g_asker, "OsO", tensor, what, more ? more : Py_None);
    if (!answer) throw PythonError();
    if (answer != Py_None) return answer;
    Py_DECREF(answer);
    return nullptr;
}

PyObject* keep_class(PyObject* tensor, PyObject*) {
    Tensor& t = as_tensor(tensor);
    t.keys = handles_dispatch(Py_TYPE(tensor)) ? t.keys | Key::Python : t.keys - Key::Python;
    Py_RETURN_NONE;
}

PyObject* ask_class(PyObject*, PyObject* args) {
    PyObject* tensor;
    const char* policy;
    if (!PyArg_ParseTuple(args, "O!s:_ask_class", tensor_base_type(), &tensor, &policy)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        as_tensor(tensor).flags |= questions(policy);
        return Py_NewRef(tensor);
    });
}

PyObject* set_asker(PyObject*, PyObject* function) {
    Py_XSETREF(g_asker, Py_NewRef(function));
    Py_RETURN_NONE;
}

// Address space for tensors that pretend to be larger than what they hold; it counts for nothing until it is touched. A
// block of the allocator would be kept from others, and be memory already where it was in use before.
constexpr size_t kReservedFrom = size_t(256) << 10;

Storage* reserved(size_t nbytes, Device device) {
    struct Region {
        void* data;
        size_t nbytes;
    };
    void* data = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MT_CHECK(data != MAP_FAILED, "no address space for a tensor of ", nbytes, " bytes");
    return storage_wrap(data, nbytes, device, new Region{data, nbytes}, [](void* context) {
        Region* region = static_cast<Region*>(context);
        munmap(region->data, region->nbytes);
        delete region;
    });
}

// _wrapper_subclass(cls, size, strides or None, storage_offset, dtype, device, requires_grad): a tensor of class cls
// that says these things of itself and has no data: its __torch_dispatch__ answers every operator.
PyObject* make_wrapper_subclass(PyObject*, PyObject* args) {
    PyObject *cls, *size, *strides, *dtype, *device;
    long long offset;
    int grad;
    if (!PyArg_ParseTuple(args, "OOOLOOp:_wrapper_subclass", &cls, &size, &strides, &offset, &dtype, &device, &grad))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_base_type()),
                      "cls must be a type (got ", Py_TYPE(cls)->tp_name, ")");
        PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
        MT_CHECK(handles_dispatch(type), type->tp_name, " must define __torch_dispatch__");
        auto ints = [](PyObject* o, Dims& dims) {
            PyObject* seq = PySequence_Fast(o, "expected a sequence of int");
            if (!seq) throw PythonError();
            for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq); i++) {
                int64_t v = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(seq, i));
                if (v == -1 && PyErr_Occurred()) {
                    Py_DECREF(seq);
                    throw PythonError();
                }
                dims.push_back(v);
            }
            Py_DECREF(seq);
        };
        Dims sizes, steps;
        ints(size, sizes);
        if (strides == Py_None)
            steps = contiguous_strides(sizes);
        else
            ints(strides, steps);
        MT_CHECK(offset >= 0, "storage_offset must not be negative, got ", offset);
        if (grad) check_can_require_grad(dtype_from_python(dtype));
        // Memory that nothing touches costs nothing; a kernel that is reached all the same finds it.
        MT_CHECK(sizes.size() == steps.size(), "dimensionality of sizes (", sizes.size(),
                 ") must match dimensionality of strides (", steps.size(), ")");
        const int64_t extent =
            std::max<int64_t>(1, static_cast<int64_t>(storage_bytes_needed(sizes, steps, 1, offset)));
        DType element = dtype_from_python(dtype);
        Device where = device_from_python(device);
        size_t nbytes = static_cast<size_t>(extent) * static_cast<size_t>(itemsize(element));
        bool pages = where.is_cpu() && nbytes >= kReservedFrom;
        TensorRef model = empty_strided(Dims{pages ? 0 : extent}, Dims{1}, element, where);
        Tensor* t = reinterpret_cast<Tensor*>(type->tp_alloc(type, 0));
        if (!t) throw PythonError();
        t->dims_ = t->inline_;
        if (!pages) model->storage->retain();
        t->storage = pages ? reserved(nbytes, where) : model->storage;
        t->dtype = model->dtype;
        t->device = model->device;
        t->keys = model->keys | Key::Python;
        t->flags = model->flags & kInference;
        set_sizes_strides(*t, sizes, steps);
        t->offset = offset;
        AutogradMeta& a = autograd_of(*t);
        a.no_data = true;
        a.requires_grad = grad;
        return t->py();
    });
}
// _make_subclass(cls, data, requires_grad=False, *, dispatch_sizes_strides_policy=None): a tensor of class cls over the
// data of another.
PyObject* make_subclass(PyObject*, PyObject* args, PyObject* kw) {
    static const char* names[] = {"cls", "data", "require_grad", "dispatch_sizes_strides_policy", nullptr};
    PyObject *cls, *data;
    int grad = 0;
    const char* policy = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "OO|p$z:_make_subclass", const_cast<char**>(names), &cls, &data, &grad,
                                     &policy))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_base_type()),
                      "cls must be a type (got ", Py_TYPE(cls)->tp_name, ")");
        MT_CHECK_TYPE(tensor_check(data), "_make_subclass(): argument 'data' must be Tensor, not ",
                      Py_TYPE(data)->tp_name);
        Tensor& d = as_tensor(data);
        settle_pending(d);
        if (grad) check_can_require_grad(d.dtype);
        const uint8_t asks = questions(policy);
        PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
        Tensor* t = reinterpret_cast<Tensor*>(type->tp_alloc(type, 0));
        if (!t) throw PythonError();
        t->dims_ = t->inline_;
        d.storage->retain();
        t->storage = d.storage;
        t->offset = d.offset;
        t->dtype = d.dtype;
        t->device = d.device;
        t->keys = d.keys;
        t->flags = d.flags & kInference;
        set_sizes_strides(*t, d.sizes(), d.strides());
        t->own_version = d.own_version ? new uint32_t(*d.own_version) : nullptr;
        if (parameter_type() && PyType_IsSubtype(type, parameter_type())) t->flags |= kParameter;
        t->keys = handles_dispatch(type) ? t->keys | Key::Python : t->keys - Key::Python;
        if (d.autograd && d.autograd->no_data) autograd_of(*t).no_data = true;
        if (grad) autograd_of(*t).requires_grad = true;
        t->flags |= asks;
        return t->py();
    });
}

}  // namespace mt
