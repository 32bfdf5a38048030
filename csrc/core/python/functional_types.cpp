// Functional tensors: sizes and strides over a storage without memory, whose value Python keeps and replaces at each
// write. Whatever aliases the storage, made here or by an operator, is a functional tensor too.
#include "../autograd.h"
#include "../functional.h"
#include "../gil.h"
#include "../lazy_views.h"
#include "types.h"

namespace mt {
namespace {

void release_functional(Storage* s) {
    HoldGil held;
    Py_DECREF(static_cast<PyObject*>(s->context));
    delete s;
}

PyObject* state_of(const Storage* s) {
    return s->release == release_functional ? static_cast<PyObject*>(s->context) : nullptr;
}

// _make_functional(value, state): a tensor that shows the sizes, strides, offset, dtype and device of `value`, over a
// new storage that stands for `state`.
PyObject* make_functional(PyObject*, PyObject* args) {
    PyObject *value, *state;
    if (!PyArg_ParseTuple(args, "OO:_make_functional", &value, &state)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(tensor_check(value), "_make_functional expects a Tensor");
        const Tensor& v = as_tensor(value);
        Storage* s = new Storage;
        s->release = release_functional;
        s->context = Py_NewRef(state);
        s->nbytes = v.storage->nbytes;
        TensorRef made;
        try {
            s->device = functional_device(v.device);
            made = from_storage(s, v.offset, v.sizes(), v.strides(), v.dtype);
        } catch (...) {
            s->drop();
            throw;
        }
        s->drop();
        made->flags |= v.flags & kWrappedNumber;
        return made.release()->py();
    });
}
// _functional_parts(tensor) -> (state of the storage, what _set_functional gave or None); None for other tensors.
PyObject* functional_parts(PyObject*, PyObject* o) {
    if (!tensor_check(o) || !as_tensor(o).keys.has(Key::Functionalize)) Py_RETURN_NONE;
    const Tensor& t = as_tensor(o);
    PyObject* state = state_of(t.storage);
    PyObject* own = t.autograd ? t.autograd->functional : nullptr;
    return PyTuple_Pack(2, state ? state : Py_None, own ? own : Py_None);
}
// _set_functional(tensor, how its value follows from that of its storage; None: from its sizes and strides)
PyObject* set_functional(PyObject*, PyObject* args) {
    PyObject *o, *own;
    if (!PyArg_ParseTuple(args, "OO:_set_functional", &o, &own)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(tensor_check(o), "_set_functional expects a Tensor");
        Py_XSETREF(autograd_of(as_tensor(o)).functional, Py_NewRef(own));
        Py_RETURN_NONE;
    });
}
// _refresh_keys(tensor): after set_ gave it a storage of another kind.
PyObject* py_refresh_keys(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(tensor_check(o), "_refresh_keys expects a Tensor");
        refresh_keys(as_tensor(o));
        Py_RETURN_NONE;
    });
}
// _may_be_lazy(tensor): whether conjugates and negatives of it can be views.
PyObject* py_may_be_lazy(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(tensor_check(o), "_may_be_lazy expects a Tensor");
        return PyBool_FromLong(may_be_lazy(as_tensor(o)));
    });
}
// _set_conj(tensor, on), _set_neg(tensor, on): whether the tensor shows the conjugates, or negatives, of its memory.
template <Key K>
PyObject* py_set_lazy(PyObject*, PyObject* const* args, Py_ssize_t n) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(n == 2 && tensor_check(args[0]) && PyBool_Check(args[1]),
                      K == Key::Conjugate ? "_set_conj" : "_set_neg", " expects a Tensor and a bool");
        Tensor& t = as_tensor(args[0]);
        if (args[1] == Py_False) {
            t.keys = t.keys - K;
        } else {
            MT_CHECK(K == Key::Negative || is_complex(t.dtype), "_set_conj expects a complex tensor, but got ",
                     dtype_name(t.dtype));
            t.keys = t.keys | K;
        }
        Py_RETURN_NONE;
    });
}
// _functional_storage(storage): the state that a storage stands for; None for one with memory.
PyObject* functional_storage(PyObject*, PyObject* o) {
    Storage* s = storage_of(o);
    PyObject* state = s ? state_of(s) : nullptr;
    return Py_NewRef(state ? state : Py_None);
}

PyMethodDef functions[] = {
    {"_make_functional", make_functional, METH_VARARGS, nullptr},
    {"_functional_parts", functional_parts, METH_O, nullptr},
    {"_set_functional", set_functional, METH_VARARGS, nullptr},
    {"_refresh_keys", py_refresh_keys, METH_O, nullptr},
    {"_may_be_lazy", py_may_be_lazy, METH_O, nullptr},
    {"_functional_storage", functional_storage, METH_O, nullptr},
    {"_set_conj", reinterpret_cast<PyCFunction>(py_set_lazy<Key::Conjugate>), METH_FASTCALL, nullptr},
    {"_set_neg", reinterpret_cast<PyCFunction>(py_set_lazy<Key::Negative>), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_functional_types(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace mt
