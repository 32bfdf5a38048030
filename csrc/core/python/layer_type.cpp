// Layers of compiled graphs as Python objects (mindtorch_v2/_lowered/layers.py).
#include "../layer.h"

#include <new>

#include "../autograd.h"
#include "../lazy_views.h"
#include "box.h"
#include "types.h"

namespace mt {
namespace {

struct LayerObject {
    PyObject_HEAD vectorcallfunc call;
    Layer layer;
};

PyObject* layer_call(PyObject* self, PyObject* const* args, size_t nargs, PyObject* keywords) {
    const Layer& layer = reinterpret_cast<LayerObject*>(self)->layer;
    const Py_ssize_t n = PyVectorcall_NARGS(nargs);
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(n == layer.arguments() && !keywords, "this layer takes ", layer.arguments(), " tensors, got ", n);
        SmallVector<Tensor*, 16> inputs;
        std::vector<TensorRef> worked_out;  // the numbers of lazy views: the machine reads memory
        for (Py_ssize_t i = 0; i < n; i++) {
            MT_CHECK_TYPE(tensor_check(args[i]), "argument ", i, " of a layer must be a Tensor, not ",
                          Py_TYPE(args[i])->tp_name);
            Tensor& t = as_tensor(args[i]);
            MT_CHECK(t.is_cpu(), "argument ", i, " of a layer must be on the CPU, got ", device_name(t.device));
            if (is_lazy(t)) worked_out.push_back(materialized(t));
            inputs.push_back(is_lazy(t) ? worked_out.back().get() : &t);
        }
        return layer_machine()->run(layer, inputs.begin()).release()->py();
    });
}

Dims dims_of(PyObject* o) {
    MT_CHECK_TYPE(PyTuple_Check(o), "expected a tuple of int");
    Dims dims;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) {
        const int64_t v = PyLong_AsLongLong(PyTuple_GET_ITEM(o, i));
        if (v == -1 && PyErr_Occurred()) throw PythonError();
        dims.push_back(v);
    }
    return dims;
}

// _Layer(geometry, transposed, has_bias, norm, packs_lent, steps): geometry is (stride, padding, dilation, groups) or
// None for a product, norm (eps, affine) or None, steps are (name, first, second).
PyObject* layer_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *geometry, *norm, *steps;
    int transposed, has_bias, packs_lent;
    if (!PyArg_ParseTuple(args, "OppOpO!:_Layer", &geometry, &transposed, &has_bias, &norm, &packs_lent, &PyTuple_Type,
                          &steps))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        const LayerMachine* machine = layer_machine();
        MT_CHECK_AS(NotImplemented, machine, "no CPU kernels are loaded that run layers");
        Layer layer;
        layer.weight_is_transposed = transposed;
        layer.has_bias = has_bias;
        layer.packs_lent = packs_lent;
        if (geometry != Py_None) {
            PyObject *stride, *padding, *dilation;
            long long groups;
            if (!PyArg_ParseTuple(geometry, "OOOL", &stride, &padding, &dilation, &groups)) throw PythonError();
            layer.is_convolution = true;
            layer.stride = dims_of(stride), layer.padding = dims_of(padding), layer.dilation = dims_of(dilation);
            layer.groups = groups;
            MT_CHECK(layer.stride.size() == 2 && layer.padding.size() == 2 && layer.dilation.size() == 2 && groups > 0,
                     "a layer's convolution has two spatial dimensions");
        }
        if (norm != Py_None) {
            int affine;
            if (!PyArg_ParseTuple(norm, "dp", &layer.eps, &affine)) throw PythonError();
            MT_CHECK(layer.is_convolution, "only a convolution has a norm");
            layer.has_norm = true, layer.is_affine = affine;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); i++) {
            const char* name;
            LayerStep step;
            if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, i), "sdd", &name, &step.first, &step.second))
                throw PythonError();
            step.name = name;
            layer.steps.push_back(std::move(step));
        }
        machine->prepare(layer);
        auto* made = reinterpret_cast<LayerObject*>(type->tp_alloc(type, 0));
        if (!made) throw PythonError();
        made->call = layer_call;
        new (&made->layer) Layer(std::move(layer));
        return reinterpret_cast<PyObject*>(made);
    });
}
void layer_dealloc(PyObject* self) {
    reinterpret_cast<LayerObject*>(self)->layer.~Layer();
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef layer_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(LayerObject, call), READONLY, nullptr},
                               {nullptr, 0, 0, 0, nullptr}};
PyType_Slot layer_slots[] = {SLOT(Py_tp_new, layer_new),
                             SLOT(Py_tp_dealloc, layer_dealloc),
                             SLOT(Py_tp_call, PyVectorcall_Call),
                             SLOT(Py_tp_members, layer_members),
                             {0, nullptr}};
PyType_Spec layer_spec = {"mindtorch_v2._C._Layer", sizeof(LayerObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, layer_slots};

PyObject* layer_steps(PyObject*, PyObject*) {
    return guarded<PyObject*>(nullptr, []() -> PyObject* {
        const LayerMachine* machine = layer_machine();
        const std::vector<std::string> names = machine ? machine->steps() : std::vector<std::string>();
        PyObject* made = PyTuple_New(static_cast<Py_ssize_t>(names.size()));
        if (!made) throw PythonError();
        for (size_t i = 0; i < names.size(); i++) {
            PyObject* name = PyUnicode_FromString(names[i].c_str());
            if (!name) {
                Py_DECREF(made);
                throw PythonError();
            }
            PyTuple_SET_ITEM(made, static_cast<Py_ssize_t>(i), name);
        }
        return made;
    });
}
PyMethodDef functions[] = {{"_layer_steps", layer_steps, METH_NOARGS,
                            "The names of what may follow a sum in a layer of a compiled graph; none if no kernels are "
                            "loaded that run layers."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_layer_type(PyObject* module) {
    PyObject* type = PyType_FromSpec(&layer_spec);
    const bool good =
        type && PyModule_AddObjectRef(module, "_Layer", type) == 0 && PyModule_AddFunctions(module, functions) == 0;
    Py_XDECREF(type);
    return good;
}

}  // namespace mt
