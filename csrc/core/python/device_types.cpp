// Back ends of devices as Python registers them: memory by callables, and structured kernels that Python computes.
#include "../device_memory.h"
#include "../generator.h"
#include "../gil.h"
#include "../registry.h"
#include "box.h"
#include "operator_object.h"
#include "types.h"

namespace mt {
namespace {

// The callables of one device type, kept for ever: storages may outlive everything else.
struct PythonDevice {
    PyObject *allocate, *release, *transfer, *copy, *fill, *across;
    DeviceMemory memory;
};
PythonDevice* g_devices[32] = {};
PyObject* g_loader = nullptr;

PythonDevice& python_device(Device d) { return *g_devices[static_cast<size_t>(d.type) & 31]; }

PyObject* checked(PyObject* o) {
    if (!o) throw PythonError();
    return o;
}

// Calls with new references, which it takes; what the callable returns is dropped.
template <size_t N>
void call(PyObject* fn, PyObject* (&args)[N]) {
    PyObject* r = nullptr;
    bool complete = true;
    for (PyObject* a : args) complete = complete && a;
    if (complete) r = call_python(fn, args, N);
    for (PyObject* a : args) Py_XDECREF(a);
    Py_DECREF(checked(r));
}

void* allocate(size_t nbytes, Device device) {
    PyObject* args[] = {PyLong_FromSize_t(nbytes), PyLong_FromLong(device.index)};
    PyObject* r = call_python(python_device(device).allocate, args, 2);
    for (PyObject* a : args) Py_XDECREF(a);
    void* p = PyLong_AsVoidPtr(checked(r));
    Py_DECREF(r);
    if (!p && PyErr_Occurred()) throw PythonError();
    return p;
}

// Called from wherever the last reference goes, an exception in flight included.
void release(void* data, Device device) {
    if (!Py_IsInitialized()) return;
    HoldGil held;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* args[] = {PyLong_FromVoidPtr(data), PyLong_FromLong(device.index)};
    PyObject* r = call_python(python_device(device).release, args, 2);
    for (PyObject* a : args) Py_XDECREF(a);
    if (!r) PyErr_WriteUnraisable(python_device(device).release);
    Py_XDECREF(r);
    PyErr_Restore(type, value, trace);
}

void transfer(void* to, const void* from, size_t nbytes, Transfer kind, Device device, bool non_blocking,
              const Tensor* host) {
    PyObject* args[] = {PyLong_FromVoidPtr(to),
                        PyLong_FromVoidPtr(const_cast<void*>(from)),
                        PyLong_FromSize_t(nbytes),
                        PyLong_FromLong(static_cast<long>(kind)),
                        PyLong_FromLong(device.index),
                        PyBool_FromLong(non_blocking),
                        Py_NewRef(host ? host->py() : Py_None)};
    call(python_device(device).transfer, args);
}

void copy(Tensor& to, const Tensor& from) {
    PyObject* args[] = {Py_NewRef(to.py()), Py_NewRef(from.py())};
    call(python_device(to.device).copy, args);
}

void fill_with(Tensor& to, const Value& number) {
    PyObject* args[] = {Py_NewRef(to.py()), box(number)};
    call(python_device(to.device).fill, args);
}

void copy_with_device(Tensor& to, const Tensor& from, bool non_blocking) {
    const Device device = to.is_cpu() || to.is_meta() ? from.device : to.device;
    PyObject* args[] = {Py_NewRef(to.py()), Py_NewRef(from.py()), PyBool_FromLong(non_blocking)};
    call(python_device(device).across, args);
}

// _rename_own_device(name): the name of PrivateUse1 from now on.
PyObject* py_rename_own_device(PyObject*, PyObject* name) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        const char* text = PyUnicode_AsUTF8(name);
        if (!text) return nullptr;
        rename_own_device(text);
        Py_RETURN_NONE;
    });
}

// _set_own_generator_maker(make(index)): what makes the generators of a program's own device.
PyObject* py_set_own_generator_maker(PyObject*, PyObject* maker) {
    set_own_generator_maker(maker);
    Py_RETURN_NONE;
}

// _own_device_name() -> (name, whether a program gave it)
PyObject* py_own_device_name(PyObject*, PyObject*) {
    return Py_BuildValue("(sO)", own_device_name().c_str(), own_device_renamed() ? Py_True : Py_False);
}

// _register_device(name, allocate(nbytes, index) -> address, release(address, index),
//                  transfer(to, from, nbytes, kind, index, non_blocking, host), copy(to, from), fill(to, number),
//                  across(to, from, non_blocking) of a device that copies its tensors itself)
PyObject* py_register_device(PyObject*, PyObject* args) {
    const char* name;
    PythonDevice d{};
    if (!PyArg_ParseTuple(args, "sOOOOO|O:_register_device", &name, &d.allocate, &d.release, &d.transfer, &d.copy,
                          &d.fill, &d.across))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Device device = parse_device(name);
        MT_CHECK(!device.is_cpu() && !device.is_meta(), "_register_device: the memory of '", name, "' is the core's");
        for (PyObject* fn : {d.allocate, d.release, d.transfer, d.copy, d.fill}) Py_INCREF(fn);
        Py_XINCREF(d.across);
        d.memory = {allocate, release, transfer, copy, fill_with, d.across ? copy_with_device : nullptr};
        PythonDevice* kept = new PythonDevice(d);  // the one before may still be in use
        g_devices[static_cast<size_t>(device.type) & 31] = kept;
        register_device_memory(device.type, &kept->memory);
        Py_RETURN_NONE;
    });
}

// _set_device_loader(load(name)): called the first time that a device type without a back end is asked for.
PyObject* py_set_loader(PyObject*, PyObject* loader) {
    Py_XSETREF(g_loader, Py_NewRef(loader));
    set_device_loader([](DeviceType type) {
        PyObject* r = PyObject_CallFunction(g_loader, "s", device_type_name(type));
        Py_DECREF(checked(r));
    });
    Py_RETURN_NONE;
}

// _set_current_device(name, index): what this thread means by a device of the type without a number.
PyObject* py_set_current_device(PyObject*, PyObject* args) {
    const char* name;
    int index;
    if (!PyArg_ParseTuple(args, "si:_set_current_device", &name, &index)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        set_current_device_index(parse_device(name).type, static_cast<int8_t>(index));
        Py_RETURN_NONE;
    });
}

// The compute part of a structured kernel in Python: every argument in schema order, then every output.
void compute_in_python(Call& c) {
    const Operator& op = *c.op;
    const int given = op.form == Form::Out ? op.out_index : c.nargs;
    const int outputs = op.form == Form::Out ? op.nargs - op.out_index : op.nrets;
    PyObject* args[80] = {};
    int n = 0;
    bool complete = true;
    for (int i = 0; i < given + outputs && complete; i++) {
        PyObject* o = i < given ? box_argument(c, i)
                                : Py_NewRef(c.rets[i - given].tag == Tag::Tensor ? c.rets[i - given].t->py() : Py_None);
        complete = o;
        if (o) args[n++] = o;
    }
    PyObject* kernel = Py_NewRef(c.kernel->python);
    PyObject* r = complete ? call_python(kernel, args, static_cast<size_t>(n)) : nullptr;
    for (int i = 0; i < n; i++) Py_DECREF(args[i]);
    Py_DECREF(kernel);
    Py_DECREF(checked(r));
}

// _impl_structured(operator, key, compute, flags): a kernel that fills the outputs of the operator's shape rule.
PyObject* py_impl_structured(PyObject*, PyObject* args) {
    PyObject *handle, *fn;
    const char* key;
    unsigned int flags = 0;
    if (!PyArg_ParseTuple(args, "OsO|I:_impl_structured", &handle, &key, &fn, &flags)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Operator* op = operator_of(handle);
        MT_CHECK_TYPE(op, "_impl_structured expects an operator");
        Key k = key_from_name(key);
        MT_CHECK(k != Key::Undefined, "could not parse dispatch key: ", key);
        MT_CHECK(op->shape || op->shape_python, op->full_name,
                 " has no shape rule, which a structured kernel would need; its kernel makes the results itself");
        Kernel kernel;
        kernel.fn = run_structured;
        kernel.compute = compute_in_python;
        kernel.python = fn;
        kernel.flags = flags;
        op->set_kernel(k, kernel);
        Py_RETURN_NONE;
    });
}

// _has_shape_rule(operator): whether kernels of the operator are given their outputs.
PyObject* py_has_shape_rule(PyObject*, PyObject* handle) {
    return guarded<PyObject*>(nullptr, [&] {
        const Operator* op = operator_of(handle);
        MT_CHECK_TYPE(op, "_has_shape_rule expects an operator");
        return PyBool_FromLong(op->shape || op->shape_python);
    });
}

// _describe(tensor) -> bytes that serve as a key: all that a descriptor of the tensor says, as int64. Device index (-1:
// on the host), address of the storage, dtype, rank, offset, elements of the storage, sizes, strides.
PyObject* py_describe(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        if (!tensor_check(o)) {
            PyErr_Format(PyExc_TypeError, "expected a Tensor, not %s", Py_TYPE(o)->tp_name);
            return nullptr;
        }
        const Tensor& t = *reinterpret_cast<Tensor*>(o);
        SmallVector<int64_t, 24> g;
        g.push_back(t.device.is_cpu() || t.device.is_meta() ? -1 : t.device.index);
        g.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(t.storage->data)));
        g.push_back(static_cast<int64_t>(t.dtype));
        g.push_back(t.ndim);
        g.push_back(t.offset);
        g.push_back(static_cast<int64_t>(t.storage->nbytes) / t.itemsize());
        for (int64_t s : t.sizes()) g.push_back(s);
        for (int64_t s : t.strides()) g.push_back(s);
        return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&g[0]), static_cast<Py_ssize_t>(g.size() * 8));
    });
}

PyMethodDef functions[] = {
    {"_describe", py_describe, METH_O, nullptr},
    {"_set_current_device", py_set_current_device, METH_VARARGS, nullptr},
    {"_rename_own_device", py_rename_own_device, METH_O, nullptr},
    {"_set_own_generator_maker", py_set_own_generator_maker, METH_O, nullptr},
    {"_own_device_name", py_own_device_name, METH_NOARGS, nullptr},
    {"_register_device", py_register_device, METH_VARARGS, nullptr},
    {"_set_device_loader", py_set_loader, METH_O, nullptr},
    {"_impl_structured", py_impl_structured, METH_VARARGS, nullptr},
    {"_has_shape_rule", py_has_shape_rule, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool init_device_types(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace mt
