// Differentiable functions of compiled libraries: each call is a torch.autograd.Function whose bodies are theirs.
#include <vector>

#include "boundary/boundary.h"

namespace mt::boundary {
namespace {

struct FunctionObject {
    PyObject_HEAD const mt_function* function;
    void* context;
    int32_t ninputs;
};
PyTypeObject* g_type = nullptr;

void dealloc(PyObject* o) {
    FunctionObject* f = reinterpret_cast<FunctionObject*>(o);
    PyTypeObject* type = Py_TYPE(o);
    if (f->function && f->function->release) f->function->release(f->context);
    type->tp_free(o);
    Py_DECREF(type);
}

constexpr int kMaxOutputs = 64;

PyObject* forward(PyObject* o, PyObject* node) {
    return guarded<PyObject*>(nullptr, [&] {
        FunctionObject* f = reinterpret_cast<FunctionObject*>(o);
        mt_value outputs[kMaxOutputs];
        int32_t n = 0;
        if (f->function->forward(f->context, handle(node), outputs, kMaxOutputs, &n)) throw_kept_error();
        Owned tuple(PyTuple_New(n));
        for (int32_t i = 0; i < n; i++) {  // tensors or nothing, owned
            mt_tensor t = outputs[i].tag == MT_TENSOR ? outputs[i].as.tensor : nullptr;
            PyTuple_SET_ITEM(tuple.get(), i, t ? tensor(t)->py() : Py_NewRef(Py_None));
        }
        return tuple.release();
    });
}
// backward(node, grads) -> a tuple of one gradient an input.
PyObject* backward(PyObject* o, PyObject* args) {
    PyObject *node, *grads;
    if (!PyArg_ParseTuple(args, "OO!:backward", &node, &PyTuple_Type, &grads)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        FunctionObject* f = reinterpret_cast<FunctionObject*>(o);
        std::vector<mt_tensor> given, results(static_cast<size_t>(f->ninputs), nullptr);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(grads); i++) {
            PyObject* g = PyTuple_GET_ITEM(grads, i);
            given.push_back(tensor_check(g) ? reinterpret_cast<mt_tensor>(g) : nullptr);
        }
        if (f->function->backward(f->context, handle(node), given.data(), static_cast<int32_t>(given.size()),
                                  results.data(), f->ninputs))
            throw_kept_error();
        Owned tuple(PyTuple_New(f->ninputs));
        for (int32_t i = 0; i < f->ninputs; i++) {
            mt_tensor t = results[static_cast<size_t>(i)];
            PyTuple_SET_ITEM(tuple.get(), i, t ? tensor(t)->py() : Py_NewRef(Py_None));
        }
        return tuple.release();
    });
}
PyMethodDef methods[] = {{"forward", forward, METH_O, nullptr},
                         {"backward", backward, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {SLOT(Py_tp_dealloc, dealloc), SLOT(Py_tp_methods, methods), {0, nullptr}};
PyType_Spec spec = {"mindtorch_v2._C.CompiledFunction", sizeof(FunctionObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyObject* tuple_of_tensors(const mt_tensor* tensors, int32_t n) {
    Owned t(PyTuple_New(n));
    for (int32_t i = 0; i < n; i++)
        PyTuple_SET_ITEM(t.get(), i, Py_NewRef(tensors[i] ? tensor(tensors[i])->py() : Py_None));
    return t.release();
}

int function_apply(const mt_function* function, void* context, const mt_tensor* inputs, int32_t ninputs,
                   mt_value* outputs, int32_t max_outputs, int32_t* noutputs) {
    return reported([&] {
        if (!g_type) g_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
        if (!g_type) throw PythonError();
        Owned run(g_type->tp_alloc(g_type, 0));
        FunctionObject* f = reinterpret_cast<FunctionObject*>(run.get());
        f->function = function;
        f->context = context;
        f->ninputs = ninputs;
        Owned name(text(function->name)), tensors(tuple_of_tensors(inputs, ninputs));
        Owned result(call_hook("apply_function", {name.get(), run.get(), tensors.get()}));
        MT_CHECK_TYPE(PyTuple_Check(result.get()) && PyTuple_GET_SIZE(result.get()) <= max_outputs, function->name,
                      ": at most ", max_outputs, " results");
        *noutputs = static_cast<int32_t>(PyTuple_GET_SIZE(result.get()));
        for (int32_t i = 0; i < *noutputs; i++) {
            PyObject* o = PyTuple_GET_ITEM(result.get(), i);
            *values(&outputs[i]) = Value::of(tensor_check(o) ? TensorRef::share(&as_tensor(o)).release() : nullptr);
        }
    });
}

void call_node(mt_object node, const char* method, PyObject* args) {
    Owned held(args), f(PyObject_GetAttrString(object(node), method)), r(PyObject_CallObject(f.get(), held.get()));
}
int node_save(mt_object node, const mt_tensor* tensors, int32_t n) {
    return reported([&] { call_node(node, "save_for_backward", tuple_of_tensors(tensors, n)); });
}
int node_saved(mt_object node, mt_object* out) {
    return reported([&] {
        Owned t(PyObject_GetAttrString(object(node), "saved_tensors"));
        *out = handle(t.release());
    });
}
int node_mark(mt_object node, char what, const mt_tensor* tensors, int32_t n) {
    return reported(
        [&] { call_node(node, what == 'd' ? "mark_dirty" : "mark_non_differentiable", tuple_of_tensors(tensors, n)); });
}
int node_set_materialize(mt_object node, int on) {
    return reported([&] { call_node(node, "set_materialize_grads", PyTuple_Pack(1, on ? Py_True : Py_False)); });
}
int node_needs(mt_object node, int32_t input) {
    int needed = 0;
    reported([&] {
        Owned t(PyObject_GetAttrString(object(node), "needs_input_grad"));
        // The first argument of apply is the function itself.
        needed = PyTuple_Check(t.get()) && input + 1 < PyTuple_GET_SIZE(t.get()) &&
                 PyTuple_GET_ITEM(t.get(), input + 1) == Py_True;
    });
    return needed;
}

}  // namespace

void fill_autograd(mt_boundary& b) {
    b.function_apply = function_apply;
    b.node_save = node_save;
    b.node_saved = node_saved;
    b.node_mark = node_mark;
    b.node_set_materialize = node_set_materialize;
    b.node_needs = node_needs;
}

}  // namespace mt::boundary
