// torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size as Python types.
#include <array>
#include <cstring>
#include <string>

#include "../autograd.h"
#include "../cpp_names.h"
#include "../promotion.h"
#include "types.h"

namespace mt {
namespace {

// ---- dtype ----

struct DTypeObject {
    PyObject_HEAD DType value;
};
std::array<PyObject*, 64> g_dtypes{};
PyTypeObject* g_dtype_type = nullptr;

PyObject* dtype_repr(PyObject* o) {
    return PyUnicode_FromFormat("torch.%s", dtype_name(reinterpret_cast<DTypeObject*>(o)->value));
}
PyObject* dtype_reduce(PyObject* o, PyObject*) {
    return PyUnicode_FromString(dtype_name(reinterpret_cast<DTypeObject*>(o)->value));
}
PyObject* dtype_self(PyObject* o, PyObject*) {
    Py_INCREF(o);
    return o;
}
DType of_dtype(PyObject* o) { return reinterpret_cast<DTypeObject*>(o)->value; }
PyObject* dtype_is_floating(PyObject* o, void*) { return PyBool_FromLong(is_floating(of_dtype(o))); }
PyObject* dtype_is_complex(PyObject* o, void*) { return PyBool_FromLong(is_complex(of_dtype(o))); }
PyObject* dtype_is_signed(PyObject* o, void*) {
    DType t = of_dtype(o);
    if (is_quantized(t)) {
        PyErr_SetString(PyExc_RuntimeError, "isSignedType not supported for quantized types");
        return nullptr;
    }
    if (is_bits(t)) {
        PyErr_SetString(PyExc_RuntimeError, "Bits types are undefined");
        return nullptr;
    }
    bool is_unsigned = (t >= DType::UInt1 && t <= DType::UInt7) || t == DType::UInt8 || t == DType::Bool ||
                       t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64;
    return PyBool_FromLong(!is_unsigned);
}
PyObject* dtype_itemsize(PyObject* o, void*) { return PyLong_FromLongLong(itemsize(of_dtype(o))); }
PyObject* dtype_to_real(PyObject* o, PyObject*) {
    PyObject* r = dtype_object(to_real(of_dtype(o)));
    Py_INCREF(r);
    return r;
}
PyObject* dtype_to_complex(PyObject* o, PyObject*) {
    const DType from = of_dtype(o);
    if (!is_complex(from) && (!is_floating(from) || itemsize(from) == 1)) {
        PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %s", dtype_class_name(from));
        return nullptr;
    }
    PyObject* r = dtype_object(to_complex(of_dtype(o)));
    Py_INCREF(r);
    return r;
}
PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {"__copy__", dtype_self, METH_NOARGS, nullptr},
    {"__deepcopy__", dtype_self, METH_O, nullptr},
    {"to_real", dtype_to_real, METH_NOARGS, "The dtype of the real part."},
    {"to_complex", dtype_to_complex, METH_NOARGS, "The complex dtype whose parts have this dtype."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef dtype_getset[] = {{"is_floating_point", dtype_is_floating, nullptr, nullptr, nullptr},
                              {"is_complex", dtype_is_complex, nullptr, nullptr, nullptr},
                              {"is_signed", dtype_is_signed, nullptr, nullptr, nullptr},
                              {"itemsize", dtype_itemsize, nullptr, nullptr, nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot dtype_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
    {Py_tp_methods, dtype_methods},
    {Py_tp_getset, dtype_getset},
    {Py_tp_doc, const_cast<char*>("The element type of a tensor.\n\n"
                                  ">>> torch.ones(2).dtype, torch.float16.itemsize, torch.int8.is_floating_point\n"
                                  "(torch.float32, 2, False)\n")},
    {0, nullptr}};
PyType_Spec dtype_spec = {"mindtorch_v2.dtype", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

// ---- layout, memory_format: named constants ----

struct ConstantObject {
    PyObject_HEAD int64_t value;
    const char* name;
};
PyObject* constant_repr(PyObject* o) {
    return PyUnicode_FromFormat("torch.%s", reinterpret_cast<ConstantObject*>(o)->name);
}
PyObject* constant_reduce(PyObject* o, PyObject*) {
    return PyUnicode_FromString(reinterpret_cast<ConstantObject*>(o)->name);
}
PyMethodDef constant_methods[] = {{"__reduce__", constant_reduce, METH_NOARGS, nullptr},
                                  {"__copy__", dtype_self, METH_NOARGS, nullptr},
                                  {"__deepcopy__", dtype_self, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
char layout_doc[] =
    "How elements are stored: torch.strided, or a sparse layout such as torch.sparse_coo.\n\n"
    ">>> torch.ones(2).layout, torch.ones(2).to_sparse().layout\n"
    "(torch.strided, torch.sparse_coo)\n";
char format_doc[] =
    "Order of the dimensions in memory: torch.contiguous_format, torch.channels_last and others.\n\n"
    ">>> torch.ones(1, 3, 2, 2).to(memory_format=torch.channels_last).stride()\n"
    "(12, 1, 6, 3)\n";
PyType_Slot layout_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(constant_repr)},
                              {Py_tp_methods, constant_methods},
                              {Py_tp_doc, layout_doc},
                              {0, nullptr}};
PyType_Slot format_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(constant_repr)},
                              {Py_tp_methods, constant_methods},
                              {Py_tp_doc, format_doc},
                              {0, nullptr}};
PyType_Spec layout_spec = {"mindtorch_v2.layout", sizeof(ConstantObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, layout_slots};
PyType_Spec format_spec = {"mindtorch_v2.memory_format", sizeof(ConstantObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, format_slots};
PyTypeObject* g_layout_type = nullptr;
PyTypeObject* g_format_type = nullptr;
std::array<PyObject*, 8> g_layouts{};
std::array<PyObject*, 4> g_formats{};

PyObject* new_constant(PyTypeObject* type, int64_t value, const char* name, PyObject* module) {
    ConstantObject* o = PyObject_New(ConstantObject, type);
    o->value = value;
    o->name = name;
    PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(o));
    return reinterpret_cast<PyObject*>(o);
}

// ---- device ----

struct DeviceObject {
    PyObject_HEAD Device value;
    PyObject* entered;  // stack of what `with device` replaced
};
PyTypeObject* g_device_type = nullptr;
Device of_device(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->value; }

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"type", "index", nullptr};
    PyObject *type = nullptr, *index = nullptr;
    if (kwargs && PyDict_GetItemString(kwargs, "device")) {
        type = PyDict_GetItemString(kwargs, "device");
    } else if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index)) {
        return nullptr;
    }
    return guarded<PyObject*>(nullptr, [&] {
        Device d = device_from_python(type);
        if (index && index != Py_None) {
            MT_CHECK(d.index < 0,
                     "type (string) must not include an index because index was passed explicitly: ", device_name(d));
            long i = PyLong_AsLong(index);
            if (i == -1 && PyErr_Occurred()) throw PythonError();
            MT_CHECK(i >= 0 && i < 128, "Device index must not be negative");
            d.index = static_cast<int8_t>(i);
        }
        return device_object(d);
    });
}
PyObject* device_repr(PyObject* o) {
    Device d = of_device(o);
    if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", device_type_name(d.type));
    return PyUnicode_FromFormat("device(type='%s', index=%d)", device_type_name(d.type), d.index);
}
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(device_name(of_device(o)).c_str()); }
PyObject* device_type_get(PyObject* o, void*) { return PyUnicode_FromString(device_type_name(of_device(o).type)); }
PyObject* device_index_get(PyObject* o, void*) {
    Device d = of_device(o);
    if (d.index < 0) Py_RETURN_NONE;
    return PyLong_FromLong(d.index);
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
    if (!device_check(a) || !device_check(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((of_device(a) == of_device(b)) == (op == Py_EQ));
}
Py_hash_t device_hash(PyObject* o) {
    return (static_cast<Py_hash_t>(of_device(o).type) << 16) + of_device(o).index + 2;
}
PyObject* device_reduce(PyObject* o, PyObject*) {
    Device d = of_device(o);
    if (d.index < 0) return Py_BuildValue("O(s)", g_device_type, device_type_name(d.type));
    return Py_BuildValue("O(si)", g_device_type, device_type_name(d.type), d.index);
}
PyObject* device_enter(PyObject* o, PyObject*) {
    DeviceObject* self = reinterpret_cast<DeviceObject*>(o);
    if (!self->entered) self->entered = PyList_New(0);
    PyObject* saved = Py_BuildValue("(Ni)", device_object(g_thread.default_device), g_thread.device_given ? 1 : 0);
    if (!saved || PyList_Append(self->entered, saved) < 0) return nullptr;
    Py_DECREF(saved);
    g_thread.default_device = self->value;
    g_thread.device_given = true;
    Py_INCREF(o);
    return o;
}
PyObject* device_exit(PyObject* o, PyObject*) {
    DeviceObject* self = reinterpret_cast<DeviceObject*>(o);
    Py_ssize_t n = self->entered ? PyList_GET_SIZE(self->entered) : 0;
    if (n == 0) {
        PyErr_SetString(PyExc_RuntimeError, "device.__exit__ without __enter__");
        return nullptr;
    }
    PyObject* saved = PyList_GET_ITEM(self->entered, n - 1);
    g_thread.default_device = of_device(PyTuple_GET_ITEM(saved, 0));
    g_thread.device_given = PyObject_IsTrue(PyTuple_GET_ITEM(saved, 1));
    PyList_SetSlice(self->entered, n - 1, n, nullptr);
    Py_RETURN_FALSE;
}
void device_dealloc(PyObject* o) {
    Py_XDECREF(reinterpret_cast<DeviceObject*>(o)->entered);
    PyTypeObject* type = Py_TYPE(o);
    type->tp_free(o);
    Py_DECREF(type);
}
// @torch.device("meta") on a function: its body runs with that default device.
PyObject* device_call(PyObject* o, PyObject* args, PyObject*) {
    PyObject* fn = nullptr;
    if (!PyArg_ParseTuple(args, "O:device.__call__", &fn)) return nullptr;
    PyObject* m = PyImport_ImportModule("mindtorch_v2._core.device");
    if (!m) return nullptr;
    PyObject* r = PyObject_CallMethod(m, "decorate", "OO", o, fn);
    Py_DECREF(m);
    return r;
}
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {"__enter__", device_enter, METH_NOARGS, nullptr},
                                {"__exit__", device_exit, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
PyGetSetDef device_getset[] = {{"type", device_type_get, nullptr, nullptr, nullptr},
                               {"index", device_index_get, nullptr, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot device_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(device_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(device_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
    {Py_tp_str, reinterpret_cast<void*>(device_str)},
    {Py_tp_call, reinterpret_cast<void*>(device_call)},
    {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
    {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
    {Py_tp_methods, device_methods},
    {Py_tp_getset, device_getset},
    {Py_tp_doc, const_cast<char*>("Where a tensor lives: a type ('cpu', 'meta', 'npu') and an optional index.\n\n"
                                  ">>> torch.device('npu:1').type, torch.device('npu', 1).index\n"
                                  "('npu', 1)\n"
                                  ">>> with torch.device('meta'):\n"
                                  "...     torch.ones(2).device\n"
                                  "device(type='meta')\n")},
    {0, nullptr}};
PyType_Spec device_spec = {"mindtorch_v2.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, device_slots};

PyTypeObject* g_size_type = nullptr;

}  // namespace

PyObject* dtype_object(DType t) {
    unsigned i = static_cast<unsigned>(t);
    return i < g_dtypes.size() && g_dtypes[i] ? g_dtypes[i] : Py_None;
}
bool dtype_check(PyObject* o) { return Py_TYPE(o) == g_dtype_type; }
bool device_check(PyObject* o) { return Py_TYPE(o) == g_device_type; }
DType dtype_from_python(PyObject* o) {
    if (dtype_check(o)) return of_dtype(o);
    if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::Float64;
    if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::Int64;
    if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
    if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::Complex128;
    MT_THROW(Type, "expected a torch.dtype, but got ", Py_TYPE(o)->tp_name);
}
Device device_from_python(PyObject* o) {
    if (device_check(o)) return of_device(o);
    if (PyUnicode_Check(o)) {
        const char* s = PyUnicode_AsUTF8(o);
        if (!s) throw PythonError();
        return parse_device(s);
    }
    if (PyLong_Check(o)) {
        long i = PyLong_AsLong(o);
        if (i == -1 && PyErr_Occurred()) throw PythonError();
        MT_CHECK(i >= 0 && i < 128, "Device index must not be negative");
        Device d;
        d.type = DeviceType::NPU;
        d.index = static_cast<int8_t>(i);
        return d;
    }
    MT_THROW(Type, "expected a torch.device, str or int, but got ", Py_TYPE(o)->tp_name);
}
PyObject* device_object(Device d) {
    DeviceObject* o = PyObject_New(DeviceObject, g_device_type);
    if (!o) throw PythonError();
    o->value = d;
    o->entered = nullptr;
    return reinterpret_cast<PyObject*>(o);
}
PyObject* layout_object(int64_t v) { return g_layouts[static_cast<size_t>(v)]; }
PyObject* memory_format_object(int64_t v) { return g_formats[static_cast<size_t>(v)]; }
bool layout_check(PyObject* o, int64_t* value) {
    if (Py_TYPE(o) != g_layout_type) return false;
    *value = reinterpret_cast<ConstantObject*>(o)->value;
    return true;
}
bool memory_format_check(PyObject* o, int64_t* value) {
    if (Py_TYPE(o) != g_format_type) return false;
    *value = reinterpret_cast<ConstantObject*>(o)->value;
    return true;
}
PyObject* size_object(IntSpan sizes) {
    PyTypeObject* type = g_size_type ? g_size_type : &PyTuple_Type;
    PyObject* t = type->tp_alloc(type, sizes.size);
    if (!t) throw PythonError();
    for (int64_t i = 0; i < sizes.size; i++) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(sizes[i]));
    return t;
}

static PyObject* py_set_size_type(PyObject*, PyObject* o) {
    Py_INCREF(o);
    g_size_type = reinterpret_cast<PyTypeObject*>(o);
    Py_RETURN_NONE;
}
static PyObject* py_get_default_dtype(PyObject*, PyObject*) {
    PyObject* d = dtype_object(default_dtype());
    Py_INCREF(d);
    return d;
}
static PyObject* py_set_default_dtype(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        settle_all();
        DType t = dtype_from_python(o);
        MT_CHECK_TYPE(is_floating(t), "only floating-point types are supported as the default type");
        set_default_dtype(t);
        Py_RETURN_NONE;
    });
}
static PyObject* py_promote_types(PyObject*, PyObject* args) {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO:promote_types", &a, &b)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        PyObject* d = dtype_object(promote(dtype_from_python(a), dtype_from_python(b)));
        Py_INCREF(d);
        return d;
    });
}
// result_type(a, b): of tensors and numbers.
static PyObject* py_result_type(PyObject*, PyObject* args, PyObject* kw) {
    static const char* names[] = {"tensor", "other", nullptr};
    PyObject* given[2];
    if (PyTuple_GET_SIZE(args) == 2) {
        given[0] = PyTuple_GET_ITEM(args, 0);
        given[1] = PyTuple_GET_ITEM(args, 1);
    } else if (!PyArg_ParseTupleAndKeywords(args, kw, "OO:result_type", const_cast<char**>(names), &given[0],
                                            &given[1])) {
        return nullptr;
    }
    return guarded<PyObject*>(nullptr, [&] {
        ResultType r;
        for (PyObject* o : given) {
            if (tensor_check(o))
                r.add(*reinterpret_cast<Tensor*>(o));
            else if (PyBool_Check(o))
                r.add(Value::of(true));
            else if (PyLong_Check(o))
                r.add(Value::of(int64_t(0)));
            else if (PyFloat_Check(o))
                r.add(Value::of(0.0));
            else if (PyComplex_Check(o))
                r.add(Value::of(c128(0, 0)));
            else
                MT_THROW(Type, "result_type(): expected a Tensor or a number, not ", Py_TYPE(o)->tp_name);
        }
        PyObject* d = dtype_object(r.get());
        Py_INCREF(d);
        return d;
    });
}
static PyObject* py_can_cast(PyObject*, PyObject* args, PyObject* kw) {
    static const char* names[] = {"from_", "to", nullptr};
    PyObject *a, *b;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "OO:can_cast", const_cast<char**>(names), &a, &b)) return nullptr;
    return guarded<PyObject*>(nullptr,
                              [&] { return PyBool_FromLong(can_cast(dtype_from_python(a), dtype_from_python(b))); });
}
static PyObject* py_refused_dtype(PyObject*, PyObject* args) {
    const char* text;
    PyObject *out, *result;
    if (!PyArg_ParseTuple(args, "sOO:_refused_dtype", &text, &out, &result)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        return PyUnicode_FromString(refused_dtype(text, dtype_from_python(out), dtype_from_python(result)).c_str());
    });
}
static PyObject* py_get_default_device(PyObject*, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] { return device_object(g_thread.default_device); });
}
static PyObject* py_set_default_device(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        settle_all();
        g_thread.device_given = o != Py_None;
        g_thread.default_device = o == Py_None ? Device() : device_from_python(o);
        Py_RETURN_NONE;
    });
}
static PyMethodDef module_functions[] = {
    {"_set_size_type", py_set_size_type, METH_O, nullptr},
    {"get_default_dtype", py_get_default_dtype, METH_NOARGS,
     "get_default_dtype($module, /)\n"
     "--\n"
     "\n"
     "The dtype of floats made without one.\n"
     "\n"
     "    >>> torch.get_default_dtype()\n"
     "    torch.float32"},
    {"set_default_dtype", py_set_default_dtype, METH_O,
     "set_default_dtype($module, d, /)\n"
     "--\n"
     "\n"
     "Set the dtype of floats made without one (a floating dtype).\n"
     "\n"
     "Raises TypeError for another.\n"
     "\n"
     "    >>> torch.set_default_dtype(torch.float64)\n"
     "    >>> torch.tensor(1.5).dtype\n"
     "    torch.float64\n"
     "    >>> torch.set_default_dtype(torch.float32)"},
    {"promote_types", py_promote_types, METH_VARARGS,
     "promote_types($module, type1, type2, /)\n"
     "--\n"
     "\n"
     "The dtype that two dtypes promote to.\n"
     "\n"
     "    >>> torch.promote_types(torch.int32, torch.float16)\n"
     "    torch.float16"},
    {"result_type", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_result_type)),
     METH_VARARGS | METH_KEYWORDS,
     "result_type($module, tensor1, tensor2)\n"
     "--\n"
     "\n"
     "The dtype of an arithmetic operation on two tensors or numbers.\n"
     "\n"
     "A number decides only where it is of a higher kind than the tensor.\n"
     "\n"
     "    >>> torch.result_type(torch.tensor([1, 2], dtype=torch.int8), 1.0)\n"
     "    torch.float32"},
    {"can_cast", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_can_cast)), METH_VARARGS | METH_KEYWORDS,
     "can_cast($module, from_, to)\n"
     "--\n"
     "\n"
     "Whether a conversion keeps the kind of number (float to int does not).\n"
     "\n"
     "    >>> torch.can_cast(torch.int32, torch.float32), torch.can_cast(torch.float32, torch.int32)\n"
     "    (True, False)"},
    {"_refused_dtype", py_refused_dtype, METH_VARARGS, nullptr},
    {"_get_default_device", py_get_default_device, METH_NOARGS, nullptr},
    {"_set_default_device", py_set_default_device, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

bool init_scalar_types(PyObject* module) {
    g_dtype_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&dtype_spec));
    g_layout_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&layout_spec));
    g_format_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&format_spec));
    g_device_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&device_spec));
    if (!g_dtype_type || !g_layout_type || !g_format_type || !g_device_type) return false;
    PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(g_dtype_type));
    PyModule_AddObjectRef(module, "layout", reinterpret_cast<PyObject*>(g_layout_type));
    PyModule_AddObjectRef(module, "memory_format", reinterpret_cast<PyObject*>(g_format_type));
    PyModule_AddObjectRef(module, "device", reinterpret_cast<PyObject*>(g_device_type));
    PyObject* all = PyDict_New();
    for (unsigned i = 0; i < g_dtypes.size(); i++) {
        const char* name = dtype_name(static_cast<DType>(i));
        if (!std::strcmp(name, "undefined")) continue;
        DTypeObject* o = PyObject_New(DTypeObject, g_dtype_type);
        o->value = static_cast<DType>(i);
        g_dtypes[i] = reinterpret_cast<PyObject*>(o);
        PyDict_SetItemString(all, name, g_dtypes[i]);
    }
    PyModule_AddObject(module, "_dtypes", all);
    const char* layouts[] = {"strided",    "sparse_coo", "_mkldnn",    "sparse_csr",
                             "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};
    for (size_t i = 0; i < g_layouts.size(); i++)
        g_layouts[i] = new_constant(g_layout_type, static_cast<int64_t>(i), layouts[i], module);
    const char* formats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
    for (size_t i = 0; i < g_formats.size(); i++)
        g_formats[i] = new_constant(g_format_type, static_cast<int64_t>(i), formats[i], module);
    return PyModule_AddFunctions(module, module_functions) == 0;
}

}  // namespace mt
