// Tensors whose values are pending: torch.compile puts calls off (mindtorch_v2/_deferred/calls.py). Such a tensor
// has sizes, dtype and device, and the key Tracer alone, so that no kernel takes it. When its value is there, the
// object becomes an ordinary tensor.
#include "deferred.h"

#include <mutex>
#include <unordered_map>

#include "../autograd.h"
#include "../copy_on_write.h"
#include "../foreign.h"
#include "../gil.h"
#include "../shared_memory.h"
#include "tensor_new.h"
#include "types.h"

namespace mt {

// ---- memory that is reached by other ways ----

namespace {
// Whether anything but a storage holds the object that its bytes belong to.
bool is_shared(PyObject* owner) {
    if (PyBytes_Check(owner)) return false;  // nobody can write to them
    if (Py_REFCNT(owner) > 1 || PyMemoryView_Check(owner)) return true;
    if (!numpy_array_check(owner)) return true;
    PyObject* base = PyObject_GetAttrString(owner, "base");
    if (!base) throw PythonError();
    Py_DECREF(base);
    return base != Py_None && !PyBytes_Check(base);
}
}  // namespace

bool is_exposed(const Tensor& t) {
    if (is_lazy_copy(t.storage) || is_exported(t.storage) || shared_descriptor(t.storage) >= 0) return true;
    if (!is_foreign(t.storage)) return false;
    const void* buffer = foreign_context(t.storage, release_buffer);
    return !buffer || is_shared(static_cast<const Py_buffer*>(buffer)->obj);
}

// ---- pending tensors ----

namespace {

PyObject* g_run_put_off = nullptr;  // callable(tensor or None, shown)

Dims dims_of(PyObject* tuple) {
    MT_CHECK_TYPE(PyTuple_Check(tuple), "expected a tuple of int");
    Dims dims;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        int64_t v = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
        if (v == -1 && PyErr_Occurred()) throw PythonError();
        dims.push_back(v);
    }
    return dims;
}

bool is_pending(const Tensor& t) { return t.autograd && t.autograd->pending; }

// _make_pending(entry, sizes, strides, offset, dtype, device, requires_grad): `entry` is what pending_of gives back.
PyObject* make_pending(PyObject*, PyObject* const* args, Py_ssize_t n) {
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(n == 7, "_make_pending takes 7 arguments");
        Dims sizes = dims_of(args[1]), strides = dims_of(args[2]);
        Storage* nothing = storage_wrap(nullptr, 0, device_from_python(args[5]), nullptr, nullptr);
        TensorRef t = from_storage(nothing, PyLong_AsLongLong(args[3]), sizes, strides, dtype_from_python(args[4]));
        nothing->drop();
        t->keys = Key::Tracer;
        AutogradMeta& a = autograd_of(*t);
        a.no_data = true;
        a.requires_grad = args[6] == Py_True;
        a.pending = Py_NewRef(args[0]);
        return t.release()->py();
    });
}
// _pending_of(tensor): the entry of a pending tensor; None for others.
PyObject* pending_of(PyObject*, PyObject* o) {
    return Py_NewRef(tensor_check(o) && is_pending(as_tensor(o)) ? as_tensor(o).autograd->pending : Py_None);
}
// _pending_requires_grad(tensor): a write gave it a history.
PyObject* pending_requires_grad(PyObject*, PyObject* o) {
    if (tensor_check(o) && is_pending(as_tensor(o))) as_tensor(o).autograd->requires_grad = true;
    Py_RETURN_NONE;
}

void check_result(const Tensor& p, const Tensor& r) {
    MT_CHECK(is_pending(p), "a tensor that is not pending cannot become another");
    MT_CHECK(r.sizes() == p.sizes() && r.dtype == p.dtype && r.device == p.device, "a graph gave a tensor of shape ",
             r.sizes(), ", ", dtype_name(r.dtype), " on ", device_name(r.device), " where one of shape ", p.sizes(),
             ", ", dtype_name(p.dtype), " on ", device_name(p.device), " was expected");
}

// Everything that `r` is, `p` is from here on: the same memory, and the same place in the graph of gradients.
void become(Tensor& p, const Tensor& r, const std::unordered_map<const Tensor*, Tensor*>& places) {
    r.storage->retain();
    std::exchange(p.storage, r.storage)->drop();
    p.offset = r.offset;
    p.keys = r.keys;
    p.flags = r.flags & ~kParameter;
    p.own_version = r.own_version ? new uint32_t(*r.own_version) : nullptr;
    set_sizes_strides(p, r.sizes(), r.strides());
    AutogradMeta& a = *p.autograd;
    a.no_data = false;
    a.requires_grad = false;
    if (r.autograd && r.autograd->grad_fn) {
        a.grad_fn = r.autograd->grad_fn;
        Py_INCREF(reinterpret_cast<PyObject*>(a.grad_fn));
        a.nr = r.autograd->nr;
    }
    if (is_view(r)) {
        a.view = new ViewMeta(*r.autograd->view);
        auto place = places.find(a.view->base);
        if (place != places.end()) a.view->base = place->second;
        Py_INCREF(a.view->base->py());
        Py_XINCREF(a.view->replay);
    }
    Py_CLEAR(a.pending);
}

// _settled(pending, results): each pending tensor becomes its result.
PyObject* settled(PyObject*, PyObject* args) {
    PyObject *pending, *results;
    if (!PyArg_ParseTuple(args, "O!O!:_settled", &PyList_Type, &pending, &PyList_Type, &results)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        const Py_ssize_t n = PyList_GET_SIZE(pending);
        MT_CHECK(PyList_GET_SIZE(results) == n, "a graph gave ", PyList_GET_SIZE(results), " results, expected ", n);
        std::unordered_map<const Tensor*, Tensor*> places;
        for (Py_ssize_t i = 0; i < n; i++) {
            PyObject *p = PyList_GET_ITEM(pending, i), *r = PyList_GET_ITEM(results, i);
            MT_CHECK_TYPE(tensor_check(p) && tensor_check(r), "a graph gave a ", Py_TYPE(r)->tp_name,
                          " where a Tensor was expected");
            check_result(as_tensor(p), as_tensor(r));
            places[&as_tensor(r)] = &as_tensor(p);
        }
        for (Py_ssize_t i = 0; i < n; i++)
            become(as_tensor(PyList_GET_ITEM(pending, i)), as_tensor(PyList_GET_ITEM(results, i)), places);
        Py_RETURN_NONE;
    });
}
// _plain_input(tensor): (which memory, what a graph depends on) of an ordinary tensor whose memory tensors alone reach;
// None for others.
PyObject* plain_input(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        if (!tensor_check_exact(o)) Py_RETURN_NONE;
        Tensor& t = as_tensor(o);
        const KeySet special = t.keys - (kBackendKeys | kAutogradKeys | Key::ADInplaceOrView);
        if (!special.empty() || hides_data(t) || has_tangent(t) || is_exposed(t)) Py_RETURN_NONE;
        const long long facts = requires_grad(t) | is_leaf(t) << 1 | is_view(t) << 2 |
                                (t.flags & kInference ? 1 : 0) << 3 | (t.flags & kWrappedNumber ? 1 : 0) << 4 |
                                static_cast<int>(t.device.type) << 8 | static_cast<long long>(t.device.index + 1) << 16;
        PyObject* sizes = PyTuple_New(2 * t.ndim);
        if (!sizes) throw PythonError();
        for (int64_t i = 0; i < 2 * t.ndim; i++) PyTuple_SET_ITEM(sizes, i, PyLong_FromLongLong(t.dims_[i]));
        return Py_BuildValue("n(ONOL)", reinterpret_cast<Py_ssize_t>(t.storage), Py_TYPE(o), sizes,
                             dtype_object(t.dtype), facts);
    });
}
// _deferred_state(): what of this thread operators depend on, (for single calls: grad mode and autocast, for a graph).
PyObject* deferred_state(PyObject*, PyObject*) {
    const uint64_t casts =
        ((g_thread.include - g_thread.exclude) & kAutocastKeys).bits >> static_cast<int>(Key::AutocastCPU);
    const int call = g_thread.grad_mode | static_cast<int>(casts) << 1;
    const long long graph = g_thread.inference_mode | static_cast<int>(default_dtype()) << 1 |
                            g_thread.device_given << 9 | static_cast<int>(g_thread.default_device.type) << 10 |
                            static_cast<long long>(g_thread.default_device.index + 1) << 18;
    return Py_BuildValue("iL", call, graph);
}
PyObject* py_run_put_off(PyObject*, PyObject*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        settle_all();
        Py_RETURN_NONE;
    });
}
PyObject* exposed(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(tensor_check(o), "_is_exposed expects a Tensor");
        return PyBool_FromLong(is_exposed(as_tensor(o)));
    });
}
PyObject* set_run_put_off(PyObject*, PyObject* callable) {
    Py_XSETREF(g_run_put_off, Py_NewRef(callable));
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_make_pending", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(make_pending)), METH_FASTCALL,
     "A tensor whose value is not there yet."},
    {"_pending_of", pending_of, METH_O, "What a pending tensor waits for; None for other tensors."},
    {"_pending_requires_grad", pending_requires_grad, METH_O, nullptr},
    {"_settled", settled, METH_VARARGS, "Pending tensors become what was computed for them."},
    {"_is_exposed", exposed, METH_O, "Whether something besides tensors may reach the memory of a tensor."},
    {"_plain_input", plain_input, METH_O, nullptr},
    {"_deferred_state", deferred_state, METH_NOARGS, nullptr},
    {"_run_put_off", py_run_put_off, METH_NOARGS, "Run the calls that this thread has put off."},
    {"_set_run_put_off", set_run_put_off, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void run_put_off(Tensor* t, bool shown) {
    if (!g_run_put_off) return;
    PyObject* r = call_python(g_run_put_off, t ? t->py() : Py_None, shown ? Py_True : Py_False);
    if (!r) throw PythonError();
    Py_DECREF(r);
}

bool init_deferred(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace mt
