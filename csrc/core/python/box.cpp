#include "box.h"
#include "bad_text.h"

#include <algorithm>
#include <cstring>

#include "../autograd.h"
#include "../cpp_names.h"
#include "../generator.h"
#include "../gil.h"
#include "../rest.h"
#include "operator_values.h"
#include "types.h"

namespace mt {

thread_local bool g_skips_bad_text = false;

// ---- from Python ----

bool index_like(PyObject* o) { return PyLong_Check(o) || (PyIndex_Check(o) && !tensor_check(o)); }
bool numpy_named(PyObject* o) { return std::strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0; }

namespace {

// The only element of a tensor on a device, which is waited for, as a Python number that `unbox` takes.
template <class F>
bool unbox_item(PyObject* tensor, F&& unbox) {
    PyObject* number = PyObject_CallMethod(tensor, "item", nullptr);
    if (!number) throw PythonError();
    bool fits = unbox(number);
    Py_DECREF(number);
    return fits;
}

// The bytes of a typed storage, which must be of the dtype of the tensor that comes first; null if `o` is none.
PyObject* untyped_storage_of(PyObject* o, const Call& c) {
    PyObject* storage = tensor_check(o) ? nullptr : PyObject_GetAttrString(o, "_untyped_storage");
    PyObject* dtype = storage ? PyObject_GetAttrString(o, "dtype") : nullptr;
    PyErr_Clear();
    const bool typed = storage && storage_of(storage) && dtype && dtype_check(dtype);
    const DType held = typed ? dtype_from_python(dtype) : DType::Undefined;
    Py_XDECREF(dtype);
    Py_XDECREF(storage);  // its owner, an argument of the call, keeps it
    if (!typed) return nullptr;
    MT_CHECK(c.nargs == 0 || c.args[0].tag != Tag::Tensor || c.args[0].t->dtype == held, "Expected a Storage of type ",
             dtype_cpp_name(c.args[0].t->dtype), " or an UntypedStorage, but got type ", dtype_class_name(held),
             " for argument 1 'storage'");
    return storage;
}

}  // namespace

bool unbox_int(PyObject* o, int64_t* v) {
    if (PyLong_CheckExact(o)) {
        int overflow = 0;
        *v = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow) MT_THROW(Value, "Overflow when unpacking long long");
        return true;
    }
    if (PyBool_Check(o)) return false;  // True is no size, index or dimension
    if (index_like(o)) {
        PyObject* i = PyNumber_Index(o);
        if (!i) {
            PyErr_Clear();
            return false;
        }
        *v = PyLong_AsLongLong(i);
        Py_DECREF(i);
        if (*v == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        return true;
    }
    if (tensor_check(o)) {
        Tensor& t = *reinterpret_cast<Tensor*>(o);
        if (t.numel() == 1) settle(t);
        if (t.numel() != 1 || hides_data(t) || is_floating(t.dtype) || is_complex(t.dtype) || t.device.is_meta())
            return false;
        if (t.autograd && requires_grad(t)) return false;
        if (!t.is_cpu()) return unbox_item(o, [&](PyObject* number) { return unbox_int(number, v); });
        TensorRef c = contiguous(t, DType::Int64);
        *v = *c->data<int64_t>();
        return true;
    }
    return false;
}

bool unbox_bool(PyObject* o, const char* function, const char* argument) {
    MT_CHECK_TYPE(PyBool_Check(o), function, "(): argument '", argument, "' must be bool, not ", Py_TYPE(o)->tp_name);
    return o == Py_True;
}

// An item of a list that does not fit is the fault of that argument.
bool unbox_size(PyObject* o, int64_t* to, const Argument& a, Call& c) {
    try {
        return unbox_int(o, to);
    } catch (const Error& e) {
        if (e.kind != ErrorKind::Value) throw;
        MT_THROW(Type, c.name(), "(): argument '", a.name, "' failed to unpack the object with error \"", e.text, "\"");
    }
}

namespace {

bool unbox_double(PyObject* o, double* v) {
    if (PyFloat_Check(o)) {
        *v = PyFloat_AS_DOUBLE(o);
        return true;
    }
    if (PyLong_Check(o)) {
        *v = PyLong_AsDouble(o);
        if (*v == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        return true;
    }
    if (tensor_check(o)) {
        Tensor& t = *reinterpret_cast<Tensor*>(o);
        if (t.numel() == 1) settle(t);
        if (t.numel() != 1 || hides_data(t) || is_complex(t.dtype) || t.device.is_meta()) return false;
        if (t.autograd && requires_grad(t)) return false;
        if (!t.is_cpu()) return unbox_item(o, [&](PyObject* number) { return unbox_double(number, v); });
        TensorRef c = contiguous(t, DType::Float64);
        *v = *c->data<double>();
        return true;
    }
    if (PyComplex_Check(o) || PyUnicode_Check(o)) return false;
    if (PyIndex_Check(o) || (numpy_named(o) && Py_TYPE(o)->tp_as_number && Py_TYPE(o)->tp_as_number->nb_float)) {
        *v = PyFloat_AsDouble(o);
        if (*v == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        return true;
    }
    return false;
}

bool unbox_scalar(PyObject* o, Value* v) {
    if (PyFloat_CheckExact(o)) {
        *v = Value::of(PyFloat_AS_DOUBLE(o));
        return true;
    }
    if (PyBool_Check(o)) {
        *v = Value::of(o == Py_True);
        return true;
    }
    if (PyLong_Check(o)) {
        *v = value_of_integer(o);
        return true;
    }
    if (PyFloat_Check(o)) {
        *v = Value::of(PyFloat_AS_DOUBLE(o));
        return true;
    }
    if (PyComplex_Check(o)) {
        Py_complex z = PyComplex_AsCComplex(o);
        *v = Value::of(c128(z.real, z.imag));
        return true;
    }
    if (tensor_check(o)) {
        Tensor& t = *reinterpret_cast<Tensor*>(o);
        if (t.ndim == 0) settle(t);
        if (t.ndim != 0 || hides_data(t) || t.device.is_meta()) return false;
        if (!t.is_cpu()) return unbox_item(o, [&](PyObject* number) { return unbox_scalar(number, v); });
        if (is_complex(t.dtype)) {
            TensorRef c = contiguous(t, DType::Complex128);
            *v = Value::of(*c->data<c128>());
        } else if (is_floating(t.dtype)) {
            TensorRef c = contiguous(t, DType::Float64);
            *v = Value::of(*c->data<double>());
        } else if (t.dtype == DType::Bool) {
            TensorRef c = contiguous(t);
            *v = Value::of(*c->words<uint8_t>() != 0);
        } else {
            TensorRef c = contiguous(t, DType::Int64);
            *v = Value::of(*c->data<int64_t>());
        }
        return true;
    }
    if (numpy_named(o)) {
        // numpy.bool_, numpy integers and floats
        PyNumberMethods* m = Py_TYPE(o)->tp_as_number;
        if (std::strstr(Py_TYPE(o)->tp_name, "bool")) {
            *v = Value::of(PyObject_IsTrue(o) == 1);
            return true;
        }
        if (m && m->nb_index) {
            int64_t i;
            if (!unbox_int(o, &i)) return false;
            *v = Value::of(i);
            return true;
        }
        if (std::strstr(Py_TYPE(o)->tp_name, "float") && m && m->nb_float) {
            double d = PyFloat_AsDouble(o);
            if (d == -1.0 && PyErr_Occurred()) {
                PyErr_Clear();
                return false;
            }
            *v = Value::of(d);
            return true;
        }
        return false;
    }
    if (PyIndex_Check(o)) {
        int64_t i;
        if (!unbox_int(o, &i)) return false;
        *v = Value::of(i);
        return true;
    }
    return false;
}

// ---- lists ----

bool is_sequence(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

template <class T>
T* take(Call& c, Py_ssize_t n) {
    return static_cast<T*>(c.arena->take(sizeof(T) * static_cast<size_t>(n ? n : 1)));
}

// The items of a list or tuple, each converted by `one(item, &to)`; false if one does not fit.
template <class T, class F>
bool unbox_items(PyObject* o, Call& c, Tag tag, const T** to, Value* v, F&& one) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    T* items = take<T>(c, n);
    for (Py_ssize_t i = 0; i < n; i++) {
        // Asked each time: an item's __index__ may have shortened the list.
        if (i >= PySequence_Fast_GET_SIZE(o) || !one(PySequence_Fast_GET_ITEM(o, i), &items[i])) return false;
    }
    v->tag = tag;
    v->len = static_cast<uint32_t>(n);
    *to = items;
    return true;
}

// int[2] and float[2] may be given as one number.
template <class T>
void repeat(T one, const Argument& a, Call& c, Tag tag, const T** to, Value* v) {
    T* items = take<T>(c, a.list_size);
    std::fill_n(items, a.list_size, one);
    v->tag = tag;
    v->len = static_cast<uint32_t>(a.list_size);
    *to = items;
}

bool unbox_ints(PyObject* o, const Argument& a, Call& c, Value* v) {
    if (is_sequence(o))
        return unbox_items(o, c, Tag::IntList, &v->ints, v,
                           [&](PyObject* item, int64_t* to) { return unbox_size(item, to, a, c); });
    if (a.list_size > 0 && !tensor_check(o)) {
        int64_t one;
        if (unbox_int(o, &one)) {
            repeat(one, a, c, Tag::IntList, &v->ints, v);
            return true;
        }
    }
    return false;
}

bool unbox_doubles(PyObject* o, const Argument& a, Call& c, Value* v) {
    if (is_sequence(o))
        return unbox_items(o, c, Tag::DoubleList, &v->doubles, v,
                           [&](PyObject* item, double* to) { return unbox_double(item, to); });
    double one;
    if (a.list_size == 0 || !PyFloat_Check(o) || !unbox_double(o, &one)) return false;
    repeat(one, a, c, Tag::DoubleList, &v->doubles, v);
    return true;
}

bool unbox_bools(PyObject* o, const Argument& a, Call& c, Value* v) {
    if (!is_sequence(o)) return false;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    MT_CHECK(a.list_size == 0 || n == a.list_size, "Tried to convert a List with ", n,
             " elements to a fixed-size array of size ", a.list_size);
    return unbox_items(o, c, Tag::BoolList, &v->bools, v, [](PyObject* item, bool* to) {
        int truth = PyObject_IsTrue(item);
        if (truth < 0) throw PythonError();
        *to = truth == 1;
        return true;
    });
}

bool unbox_tensors(PyObject* o, bool optional, Call& c, Value* v) {
    if (PyList_Check(o)) {
        // The call borrows the tensors. Another argument's __index__, or another thread, may empty the list meanwhile.
        o = PyList_AsTuple(o);
        if (!o) throw PythonError();
        c.arena->hold(o);
    }
    return is_sequence(o) && unbox_items(o, c, Tag::TensorList, &v->tensors, v, [&](PyObject* item, Tensor** to) {
               if (tensor_check(item)) {
                   *to = reinterpret_cast<Tensor*>(item);
                   return true;
               }
               *to = nullptr;
               return item == Py_None && optional;
           });
}

bool unbox_scalars(PyObject* o, Call& c, Value* v) {
    return is_sequence(o) && unbox_items(o, c, Tag::ScalarList, &v->values, v, unbox_scalar);
}

}  // namespace

Value value_of_integer(PyObject* o) {
    int overflow = 0;
    int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) return Value::of(i);
    const uint64_t whole = PyLong_AsUnsignedLongLong(o);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        MT_THROW(Overflow, "int too big to convert");
    }
    return Value::of_unsigned(whole);
}

bool unbox(PyObject* o, const Argument& a, Call& c, Value* v) {
    switch (a.kind) {
        case ArgKind::Tensor:
            if (tensor_check(o)) {
                v->tag = Tag::Tensor;
                v->t = reinterpret_cast<Tensor*>(o);
                return true;
            }
            if (o == Py_None && a.optional) {
                *v = Value();
                return true;
            }
            return false;
        default:
            break;
    }
    if (o == Py_None) {
        *v = Value();
        if (a.kind == ArgKind::DType) return a.optional || !a.default_text.empty();  // as randint(..., dtype=None)
        if (a.kind == ArgKind::IntList && a.default_text == "[]") {                  // as roll(..., dims=None)
            *v = a.default_value;
            return true;
        }
        return a.optional || a.kind == ArgKind::Any || a.kind == ArgKind::Generator;
    }
    switch (a.kind) {
        case ArgKind::Int: {
            int64_t i;
            if (!unbox_int(o, &i)) return false;
            *v = Value::of(i);
            return true;
        }
        case ArgKind::Float: {
            double d;
            if (!unbox_double(o, &d)) return false;
            *v = Value::of(d);
            return true;
        }
        case ArgKind::Bool:
            if (PyBool_Check(o)) {
                *v = Value::of(o == Py_True);
                return true;
            }
            if (numpy_named(o) && std::strstr(Py_TYPE(o)->tp_name, "bool")) {
                *v = Value::of(PyObject_IsTrue(o) == 1);
                return true;
            }
            return false;
        case ArgKind::Scalar:
        case ArgKind::Complex:
            return unbox_scalar(o, v);
        case ArgKind::Str: {
            if (!PyUnicode_Check(o)) return false;
            Py_ssize_t n;
            const char* s = PyUnicode_AsUTF8AndSize(o, &n);
            if (!s) throw PythonError();
            v->tag = Tag::Str;
            v->str = s;
            v->len = static_cast<uint32_t>(n);
            return true;
        }
        case ArgKind::IntList:
            return unbox_ints(o, a, c, v);
        case ArgKind::FloatList:
            return unbox_doubles(o, a, c, v);
        case ArgKind::BoolList:
            return unbox_bools(o, a, c, v);
        case ArgKind::TensorList:
            return unbox_tensors(o, false, c, v);
        case ArgKind::OptionalTensorList:
            return unbox_tensors(o, true, c, v);
        case ArgKind::ScalarList:
            return unbox_scalars(o, c, v);
        case ArgKind::DType:
            if (dtype_check(o) || o == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
                o == reinterpret_cast<PyObject*>(&PyLong_Type) || o == reinterpret_cast<PyObject*>(&PyBool_Type) ||
                o == reinterpret_cast<PyObject*>(&PyComplex_Type)) {
                *v = Value::of(dtype_from_python(o));
                return true;
            }
            return false;
        case ArgKind::Layout: {
            int64_t i;
            if (!layout_check(o, &i)) return false;
            *v = Value::of(i);
            v->tag = Tag::Layout;
            return true;
        }
        case ArgKind::MemoryFormat: {
            int64_t i;
            if (!memory_format_check(o, &i)) return false;
            *v = Value::of(i);
            v->tag = Tag::MemoryFormat;
            return true;
        }
        case ArgKind::Device:
            if (!device_check(o) && !PyUnicode_Check(o) && !PyLong_CheckExact(o)) return false;
            v->tag = Tag::Device;
            v->device = device_from_python(o);
            return true;
        case ArgKind::Generator:
            if (!generator_check(o)) return false;
            v->tag = Tag::Generator;
            v->obj = o;
            return true;
        case ArgKind::Storage: {
            PyObject* storage = storage_of(o) ? o : untyped_storage_of(o, c);
            if (!storage) return false;
            *v = Value::object(storage);
            return true;
        }
        default:
            *v = Value::object(o);
            return true;
    }
}

// ---- to Python ----

namespace {

template <class F>
PyObject* tuple_of(const Value& v, F&& item) {
    PyObject* t = made(PyTuple_New(v.len));
    for (uint32_t i = 0; i < v.len; i++) PyTuple_SET_ITEM(t, i, made(item(i)));
    return t;
}

}  // namespace

PyObject* box(const Value& v) {
    switch (v.tag) {
        case Tag::None:
            Py_RETURN_NONE;
        case Tag::Tensor:
            Py_INCREF(v.t->py());
            return v.t->py();
        case Tag::Bool:
            return PyBool_FromLong(v.b);
        case Tag::Int:
            return made(v.is_unsigned() ? PyLong_FromUnsignedLongLong(static_cast<uint64_t>(v.i))
                                        : PyLong_FromLongLong(v.i));
        case Tag::Double:
            return made(PyFloat_FromDouble(v.d));
        case Tag::Complex:
            return made(PyComplex_FromDoubles(v.z[0], v.z[1]));
        case Tag::IntList:
            return tuple_of(v, [&](uint32_t i) { return PyLong_FromLongLong(v.ints[i]); });
        case Tag::DoubleList:
            return tuple_of(v, [&](uint32_t i) { return PyFloat_FromDouble(v.doubles[i]); });
        case Tag::BoolList:
            return tuple_of(v, [&](uint32_t i) { return PyBool_FromLong(v.bools[i]); });
        case Tag::TensorList: {
            PyObject* t = made(PyList_New(v.len));
            for (uint32_t i = 0; i < v.len; i++) {
                PyObject* o = v.tensors[i] ? v.tensors[i]->py() : Py_None;
                Py_INCREF(o);
                PyList_SET_ITEM(t, i, o);
            }
            return t;
        }
        case Tag::ScalarList:
            return tuple_of(v, [&](uint32_t i) { return box(v.values[i]); });
        case Tag::Str:
            return made(PyUnicode_DecodeUTF8(v.str, v.len, g_skips_bad_text ? "ignore" : nullptr));
        case Tag::DType: {
            PyObject* o = dtype_object(v.dtype);
            Py_INCREF(o);
            return o;
        }
        case Tag::Device:
            return device_object(v.device);
        case Tag::Layout: {
            PyObject* o = layout_object(v.i);
            Py_INCREF(o);
            return o;
        }
        case Tag::MemoryFormat: {
            PyObject* o = memory_format_object(v.i);
            Py_INCREF(o);
            return o;
        }
        case Tag::Generator:
        case Tag::Object:
            Py_INCREF(v.obj);
            return v.obj;
    }
    Py_RETURN_NONE;
}

void unbox_result(Value& v, PyObject* o, const Argument& spec, const Operator& op) {
    if (spec.kind == ArgKind::Tensor && tensor_check(o)) {
        v = Value::of(reinterpret_cast<Tensor*>(o));
        return;
    }
    const Strict strict(op.user);
    if (o == Py_None && ((spec.kind == ArgKind::Tensor && (spec.optional || !Strict::on())) || !op.user)) {
        Py_DECREF(o);
        v = Value();
        return;
    }
    PyObject* fitted = o;
    std::string type = Py_TYPE(o)->tp_name;
    if (op.user || spec.kind == ArgKind::Tensor) {
        try {
            fitted = operator_object(o, *spec.type);
        } catch (...) {
            Py_DECREF(o);
            throw;
        }
        Py_DECREF(o);
    }
    MT_CHECK(fitted, op.full_name, ": expected a value of type '", spec.type->annotation(),
             "' as result but the kernel returned '", type, "'");
    v = Value::object(fitted);
}

bool left_out(const Call& c, int i) {
    const Argument& a = c.op->schema.args[static_cast<size_t>(i)];
    if (!a.has_default || c.source[i]) return false;
    // Calls from the core have no objects: a value that is the default's counts as left out.
    const Value &v = c.args[i], &d = a.default_value;
    if (v.tag != d.tag) return false;
    switch (v.tag) {
        case Tag::None:
            return true;
        case Tag::Bool:
            return v.b == d.b;
        case Tag::Double:
            return v.d == d.d;
        case Tag::Complex:
            return v.z[0] == d.z[0] && v.z[1] == d.z[1];
        case Tag::DType:
            return v.dtype == d.dtype;
        case Tag::Device:
            return v.device.type == d.device.type && v.device.index == d.device.index;
        case Tag::Int:
        case Tag::Layout:
        case Tag::MemoryFormat:
            return v.i == d.i;
        default:
            return v.ints == d.ints && v.len == d.len;
    }
}

PyObject* box_results(Call& c) {
    if (__builtin_expect(gives_rest(*c.op), 0)) return box_with_rest(c);
    if (c.nrets == 1) {
        Value v = c.rets[0];
        if (v.tag == Tag::Tensor) return v.t->py();
        if (v.tag == Tag::Object) return v.obj;
        return box(v);
    }
    if (c.nrets == 0) Py_RETURN_NONE;
    PyObject* t = made(PyTuple_New(c.nrets));
    for (int i = 0; i < c.nrets; i++) {
        Value v = c.rets[i];
        PyTuple_SET_ITEM(t, i, v.tag == Tag::Tensor ? v.t->py() : v.tag == Tag::Object ? v.obj : box(v));
    }
    if (c.op->return_type) {
        // As tuple.__new__(type, (t,)): the class's own looks at what people give it.
        PyObject* arguments = PyTuple_Pack(1, t);
        Py_DECREF(t);
        PyObject* named = arguments ? PyTuple_Type.tp_new(c.op->return_type, arguments, nullptr) : nullptr;
        Py_XDECREF(arguments);
        return made(named);
    }
    return t;
}

PyObject* box_argument(const Call& c, int i) {
    PyObject* o = c.source[i];
    if (__builtin_expect(has_rest(*c.op) && i == c.nargs - 1, 0)) return rest_of(c);
    if (c.op->user) return operator_argument(c.args[i], o, c.op->schema.args[static_cast<size_t>(i)]);
    if (o && !PyList_Check(o)) {
        // Python's own number, string and tuple of a converted argument is passed on as it came unless conversion
        // changed it.
        const Value& v = c.args[i];
        bool same = v.tag == Tag::Tensor || v.tag == Tag::None || v.tag == Tag::Object ||
                    (v.tag == Tag::DType && dtype_check(o)) || (v.tag == Tag::Device && device_check(o)) ||
                    v.tag == Tag::Layout || v.tag == Tag::MemoryFormat || v.tag == Tag::Generator ||
                    v.tag == Tag::Str || (v.tag == Tag::Int && PyLong_CheckExact(o)) ||
                    (v.tag == Tag::Double && PyFloat_CheckExact(o)) || PyBool_Check(o);
        if (same) {
            Py_INCREF(o);
            return o;
        }
    }
    return box(c.args[i]);
}

}  // namespace mt
