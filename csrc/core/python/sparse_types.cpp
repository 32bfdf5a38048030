// Sparse tensors: sizes over a storage without memory, which stands for an object of Python's that holds indices and
// values. Their operators are written in Python (mindtorch_v2/_behaviours/sparse); no native kernel is registered for
// their keys.
#include "../gil.h"
#include "../sparse.h"
#include "types.h"

namespace mt {
namespace {

void release_sparse(Storage* s) {
    HoldGil held;
    Py_DECREF(static_cast<PyObject*>(s->context));
    delete s;
}

// _make_sparse(sizes, dtype, layout, parts, device): a sparse tensor whose parts are on `device`.
PyObject* make_sparse(PyObject*, PyObject* args) {
    PyObject *size, *dtype, *layout, *parts, *device;
    if (!PyArg_ParseTuple(args, "OOOOO:_make_sparse", &size, &dtype, &layout, &parts, &device)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        int64_t which = 0;
        MT_CHECK_TYPE(layout_check(layout, &which) && sparse_layout_name(static_cast<int>(which)),
                      "_make_sparse expects a sparse layout");
        MT_CHECK_TYPE(PyTuple_Check(size), "_make_sparse expects a tuple of sizes");
        Dims sizes;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(size); i++) {
            int64_t n = PyLong_AsLongLong(PyTuple_GET_ITEM(size, i));
            if (n == -1 && PyErr_Occurred()) throw PythonError();
            MT_CHECK(n >= 0, "Trying to create tensor with negative dimension ", n, ": ", static_cast<IntSpan>(sizes));
            sizes.push_back(n);
        }
        Dims strides(sizes.size());
        DType element = dtype_from_python(dtype);
        const Device place = sparse_device(static_cast<int>(which), device_from_python(device));
        Storage* s = new Storage;
        s->release = release_sparse;
        s->context = Py_NewRef(parts);
        s->resizable = false;
        s->device = place;
        TensorRef made;
        try {
            made = from_storage(s, 0, sizes, strides, element);
        } catch (...) {
            s->drop();
            throw;
        }
        s->drop();
        return made.release()->py();
    });
}

// _sparse_parts(tensor): what holds the parts of a sparse tensor; None for others.
PyObject* sparse_parts(PyObject*, PyObject* o) {
    if (!tensor_check(o) || !is_sparse(as_tensor(o))) Py_RETURN_NONE;
    return Py_NewRef(static_cast<PyObject*>(as_tensor(o).storage->context));
}

// _become_sparse(tensor, other): an in-place operator gave `tensor` the sizes and parts of `other`, of its layout.
PyObject* become_sparse(PyObject*, PyObject* args) {
    PyObject *o, *other;
    if (!PyArg_ParseTuple(args, "OO:_become_sparse", &o, &other)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(tensor_check(o) && tensor_check(other), "_become_sparse expects two Tensors");
        Tensor &t = as_tensor(o), &source = as_tensor(other);
        MT_CHECK(is_sparse(t) && layout_of(t) == layout_of(source) && t.dtype == source.dtype,
                 "_become_sparse expects sparse tensors of one layout and dtype");
        PyObject* before = static_cast<PyObject*>(t.storage->context);
        t.storage->context = Py_NewRef(static_cast<PyObject*>(source.storage->context));
        Py_DECREF(before);
        set_sizes_strides(t, source.sizes(), source.strides());
        return Py_NewRef(o);
    });
}

PyMethodDef functions[] = {{"_make_sparse", make_sparse, METH_VARARGS, nullptr},
                           {"_sparse_parts", sparse_parts, METH_O, nullptr},
                           {"_become_sparse", become_sparse, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

const char* sparse_layout_name(int layout) {
    constexpr const char* kNames[] = {nullptr, "Sparse", nullptr, "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc"};
    return layout >= 0 && layout < 7 ? kNames[layout] : nullptr;
}

Device sparse_device(int layout, Device parts) {
    const bool npu = parts.type == DeviceType::NPU, cuda = parts.type == DeviceType::CUDA;
    const bool meta = parts.type == DeviceType::Meta;
    MT_CHECK_AS(NotImplemented, parts.is_cpu() || meta || ((npu || cuda) && parts.index < kSparseDevices),
                "sparse tensors on the device ", device_name(parts),
                " are not implemented, only on the CPU, on GPUs, NPUs and meta");
    int place = parts.is_cpu() ? 0 : 1 + parts.index + (cuda ? kSparseDevices : 0);
    if (meta) place = kSparsePlaces - 1;
    return {kSparse, static_cast<int8_t>(layout * kSparsePlaces + place)};
}

Device device_of_parts(Device sparse) {
    const int place = static_cast<uint8_t>(sparse.index) % kSparsePlaces;
    if (!place) return Device();
    if (place == kSparsePlaces - 1) return Device{DeviceType::Meta};
    const bool cuda = place > kSparseDevices;
    return {cuda ? DeviceType::CUDA : DeviceType::NPU, static_cast<int8_t>(place - 1 - (cuda ? kSparseDevices : 0))};
}

bool init_sparse_types(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace mt
