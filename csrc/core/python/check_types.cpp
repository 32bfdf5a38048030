// What Python hands over for the checks of kernels that MINDTORCH_CHECK_MUTATION and MINDTORCH_CHECK_META ask for.
#include "../check_mutation.h"
#include "../gil.h"
#include "operator_object.h"
#include "types.h"

namespace mt {
namespace {

PyObject *g_copy_for_probe, *g_differs_for_probe;
// _set_mutation_probe(copy(tensor), differs(copy, tensor)): for MINDTORCH_CHECK_MUTATION on other devices than the CPU.
PyObject* py_set_probe(PyObject*, PyObject* args) {
    PyObject *copy, *differs;
    if (!PyArg_ParseTuple(args, "OO:_set_mutation_probe", &copy, &differs)) return nullptr;
    Py_XSETREF(g_copy_for_probe, Py_NewRef(copy));
    Py_XSETREF(g_differs_for_probe, Py_NewRef(differs));
    MutationProbe probe;
    probe.copy = [](PyObject* tensor) { return call_python(g_copy_for_probe, tensor); };
    probe.differs = [](PyObject* before, PyObject* tensor) {
        PyObject* r = call_python(g_differs_for_probe, before, tensor);
        int truth = r ? PyObject_IsTrue(r) : -1;
        Py_XDECREF(r);
        if (truth < 0) throw PythonError();
        return truth == 1;
    };
    set_mutation_probe(probe);
    Py_RETURN_NONE;
}
// _set_meta_probe(expect, compare): see csrc/core/check_mutation.h.
PyObject* py_set_meta_probe(PyObject*, PyObject* args) {
    PyObject *expect, *compare;
    if (!PyArg_ParseTuple(args, "OO:_set_meta_probe", &expect, &compare)) return nullptr;
    set_meta_probe(expect, compare);
    Py_RETURN_NONE;
}

// _watch_first_run(operator, begin): see csrc/core/check_mutation.h.
PyObject* py_watch_first_run(PyObject*, PyObject* args) {
    PyObject* o;
    int begin;
    if (!PyArg_ParseTuple(args, "Op:_watch_first_run", &o, &begin)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        Operator* op = operator_of(o);
        MT_CHECK_TYPE(op, "_watch_first_run: expected an operator, got ", Py_TYPE(o)->tp_name);
        watch_first_run(op, begin);
        return Py_NewRef(Py_None);
    });
}

PyMethodDef functions[] = {{"_watch_first_run", py_watch_first_run, METH_VARARGS, nullptr},
                           {"_set_mutation_probe", py_set_probe, METH_VARARGS, nullptr},
                           {"_set_meta_probe", py_set_meta_probe, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_check_types(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace mt
