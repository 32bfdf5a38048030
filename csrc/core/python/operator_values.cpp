// PyTorch's conversions from Python objects to the values of schema types, for operators called through torch.ops.
#include "operator_values.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "../generator.h"
#include "types.h"

namespace mt {

const bool Strict::g_asked = [] {
    const char* value = std::getenv("MINDTORCH_STRICT_SCHEMA");
    return value && *value && std::strcmp(value, "0") != 0;
}();

namespace {
thread_local bool t_strict = false;
}  // namespace

void Strict::begin(bool user) {
    before_ = t_strict;
    t_strict = user;
}
void Strict::end() { t_strict = before_; }
bool Strict::is_on() { return t_strict; }

namespace {

thread_local std::vector<PyObject*> g_kept;

// A conversion that Python refused: not of this type, and nothing to report.
template <class T>
bool refused(T) {
    PyErr_Clear();
    return false;
}

bool text_like(PyObject* o) { return PyUnicode_Check(o) || PyBytes_Check(o); }

// The number behind a dtype, layout or memory format, which PyTorch takes for an int.
bool enum_number(PyObject* o, int64_t* v) {
    if (dtype_check(o)) {
        *v = static_cast<int64_t>(dtype_from_python(o));
        return true;
    }
    return layout_check(o, v) || memory_format_check(o, v);
}

bool to_int64(PyObject* o, int64_t* v) {
    if (PyLong_Check(o)) {
        int overflow = 0;
        *v = PyLong_AsLongLongAndOverflow(o, &overflow);
        return !overflow;
    }
    if (PyFloat_Check(o) || text_like(o) || !PyNumber_Check(o)) return false;
    PyObject* number = PyIndex_Check(o) ? PyNumber_Index(o) : nullptr;
    if (!number) {
        PyErr_Clear();
        number = PyNumber_Long(o);  // what only __int__ makes an int
    }
    if (!number) return refused(0);
    int overflow = 0;
    *v = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    return !overflow;
}
bool to_integer(PyObject* o, TypeKind kind, int64_t* v) {
    if (t_strict && (!PyLong_Check(o) || PyBool_Check(o))) return false;
    // A size is never taken from a tensor of floating numbers.
    if (kind == TypeKind::SymInt && tensor_check(o) && is_floating(reinterpret_cast<Tensor*>(o)->dtype)) return false;
    return (kind != TypeKind::SymInt && enum_number(o, v)) || to_int64(o, v);
}

bool to_real(PyObject* o, double* v) {
    if (PyFloat_Check(o)) {
        *v = PyFloat_AS_DOUBLE(o);
        return true;
    }
    if (t_strict || text_like(o) || PyComplex_Check(o) || !PyNumber_Check(o)) return false;
    *v = PyFloat_AsDouble(o);
    return *v != -1.0 || !PyErr_Occurred() || refused(0);
}

bool to_truth(PyObject* o, bool* v) {
    if (t_strict && !PyBool_Check(o)) return false;
    if (PyBool_Check(o) || o == Py_None) {
        *v = o == Py_True;
        return true;
    }
    PyNumberMethods* number = Py_TYPE(o)->tp_as_number;
    if (!number || !number->nb_bool) return false;
    int truth = PyObject_IsTrue(o);
    *v = truth == 1;
    return truth >= 0 || refused(0);
}

bool to_complex128(PyObject* o, c128* v) {
    if (text_like(o) || (t_strict && !PyComplex_Check(o))) return false;
    Py_complex z = PyComplex_AsCComplex(o);
    *v = c128(z.real, z.imag);
    return z.real != -1.0 || !PyErr_Occurred() || refused(0);
}

bool to_number(PyObject* o, Value* v) {
    if (PyBool_Check(o)) {
        *v = Value::of(o == Py_True);
    } else if (PyFloat_Check(o)) {
        *v = Value::of(PyFloat_AS_DOUBLE(o));
    } else if (PyComplex_Check(o)) {
        Py_complex z = PyComplex_AsCComplex(o);
        *v = Value::of(c128(z.real, z.imag));
    } else if (PyLong_Check(o)) {
        *v = value_of_integer(o);
    } else {
        int64_t i;
        if (t_strict || !(dtype_check(o) || layout_check(o, &i))) return false;
        if (!to_integer(o, TypeKind::Int, &i)) return false;
        *v = Value::of(i);
    }
    return true;
}

bool to_dtype(PyObject* o, DType* v) {
    if (dtype_check(o)) {
        *v = dtype_from_python(o);
        return true;
    }
    int64_t i;
    if (t_strict || layout_check(o, &i) || memory_format_check(o, &i) || !to_int64(o, &i)) return false;
    *v = static_cast<DType>(i);
    return i >= 0 && i < 64 && std::strcmp(dtype_name(*v), "undefined") != 0;
}
bool to_layout(PyObject* o, int64_t* v) {
    if (layout_check(o, v)) return true;
    return !t_strict && !dtype_check(o) && !memory_format_check(o, v) && to_int64(o, v) && *v >= 0 && *v <= 1;
}
bool to_memory_format(PyObject* o, int64_t* v) {
    if (memory_format_check(o, v)) return true;
    return !t_strict && !dtype_check(o) && !layout_check(o, v) && to_int64(o, v) && *v >= 0 && *v <= 3;
}

PyObject* to_text(PyObject* o) {
    if (PyUnicode_CheckExact(o)) return Py_NewRef(o);
    if (PyUnicode_Check(o)) return PyUnicode_FromObject(o);
    if (t_strict || !PyBytes_Check(o)) return nullptr;
    PyObject* s = PyUnicode_FromEncodedObject(o, "utf-8", nullptr);
    if (!s) PyErr_Clear();
    return s;
}

// The items of a sequence or other iterable; null, with no exception set, if it is none. `strictly` leaves out what
// PyTorch does not take for a list of numbers: dicts, tensors and bytes.
PyObject* items_of(PyObject* o, bool strictly) {
    if (PyList_Check(o) || PyTuple_Check(o)) return Py_NewRef(o);
    if (t_strict) return nullptr;
    if (strictly && (text_like(o) || PyDict_Check(o) || tensor_check(o))) return nullptr;
    PyObject* list = PySequence_List(o);
    if (list) return list;
    // Not iterable; or iterating failed in the object's own code, which is an error of its own.
    if (PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();
    if (PyErr_Occurred()) throw PythonError();
    return nullptr;
}

class Items {
  public:
    Items(PyObject* o, bool strictly) : seq_(items_of(o, strictly)) {}
    ~Items() { Py_XDECREF(seq_); }
    Items(const Items&) = delete;
    Items& operator=(const Items&) = delete;
    explicit operator bool() const { return seq_ != nullptr; }
    Py_ssize_t size() const { return PySequence_Fast_GET_SIZE(seq_); }
    PyObject* operator[](Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(seq_, i); }

  private:
    PyObject* seq_;
};

template <class T, class F>
T* converted(const Items& items, Call& c, F convert) {
    Py_ssize_t n = items.size();
    T* out = static_cast<T*>(c.arena->take(sizeof(T) * static_cast<size_t>(n ? n : 1)));
    // Conversions run Python code, which may change the list.
    for (Py_ssize_t i = 0; i < n; i++)
        if (i >= items.size() || !convert(items[i], &out[i])) return nullptr;
    return out;
}
template <class T>
T* repeated(T value, int n, Call& c) {
    T* out = static_cast<T*>(c.arena->take(sizeof(T) * static_cast<size_t>(n)));
    std::fill_n(out, n, value);
    return out;
}

// T[N] takes a list of any length of a user's operator, as in PyTorch.
bool right_length(const Argument& a, Py_ssize_t n) { return !t_strict || a.list_size == 0 || n == a.list_size; }

bool int_list(PyObject* o, const Argument& a, Call& c, Value* v) {
    const Type& list = a.optional ? *a.type->item() : *a.type;
    TypeKind kind = list.item()->kind;
    int64_t one;
    if (kind == TypeKind::Int && a.list_size > 0 && PyLong_Check(o)) {
        if (!to_int64(o, &one) || (t_strict && PyBool_Check(o))) return false;
        v->tag = Tag::IntList;
        v->ints = repeated(one, a.list_size, c);
        v->len = static_cast<uint32_t>(a.list_size);
        return true;
    }
    if (PyUnicode_Check(o)) return false;
    Items items(o, kind == TypeKind::Int);
    if (!items || !right_length(a, items.size())) return false;
    v->ints = converted<int64_t>(items, c, [&](PyObject* item, int64_t* out) { return to_integer(item, kind, out); });
    v->tag = Tag::IntList;
    v->len = static_cast<uint32_t>(items.size());
    return v->ints;
}
bool float_list(PyObject* o, const Argument& a, Call& c, Value* v) {
    v->tag = Tag::DoubleList;
    if (a.list_size > 0 && PyFloat_Check(o)) {
        v->doubles = repeated(PyFloat_AS_DOUBLE(o), a.list_size, c);
        v->len = static_cast<uint32_t>(a.list_size);
        return true;
    }
    Items items(o, true);
    if (!items || !right_length(a, items.size())) return false;
    v->doubles = converted<double>(items, c, to_real);
    v->len = static_cast<uint32_t>(items.size());
    return v->doubles;
}
bool bool_list(PyObject* o, const Argument& a, Call& c, Value* v) {
    Items items(o, true);
    if (!items || !right_length(a, items.size())) return false;
    // What a native kernel reads has the stated length.
    MT_CHECK(c.op->user || a.list_size == 0 || items.size() == a.list_size, "Tried to convert a List with ",
             items.size(), " elements to a fixed-size array of size ", a.list_size);
    v->bools = converted<bool>(items, c, to_truth);
    v->tag = Tag::BoolList;
    v->len = static_cast<uint32_t>(items.size());
    return v->bools;
}
bool scalar_list(PyObject* o, Call& c, Value* v) {
    Items items(o, false);
    if (PyUnicode_Check(o) || !items) return false;
    v->values = converted<Value>(items, c, to_number);
    v->tag = Tag::ScalarList;
    v->len = static_cast<uint32_t>(items.size());
    return v->values;
}
bool tensor_list(PyObject* o, bool optional, Call& c, Value* v) {
    if (!optional && !PyList_Check(o) && !PyTuple_Check(o)) return false;
    // The tensors are borrowed from what is kept; a list itself may change during the call.
    PyObject* kept = PyList_Check(o) ? PyList_AsTuple(o) : items_of(o, false);
    if (!kept && !PyErr_Occurred()) return false;
    KeptObjects::keep(kept);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(kept);
    Tensor** out = static_cast<Tensor**>(c.arena->take(sizeof(Tensor*) * static_cast<size_t>(n ? n : 1)));
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject* item = PySequence_Fast_GET_ITEM(kept, i);
        if (tensor_check(item))
            out[i] = reinterpret_cast<Tensor*>(item);
        else if (item == Py_None && optional)
            out[i] = nullptr;
        else
            return false;
    }
    v->tag = Tag::TensorList;
    v->tensors = out;
    v->len = static_cast<uint32_t>(n);
    return true;
}

// A reference of one's own, given up when the scope ends: also when a conversion throws what the object raised.
class Held {
  public:
    explicit Held(PyObject* o) : object_(o) {}
    ~Held() { Py_XDECREF(object_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    explicit operator bool() const { return object_ != nullptr; }
    PyObject* get() const { return object_; }
    PyObject* release() { return std::exchange(object_, nullptr); }

  private:
    PyObject* object_;
};

PyObject* list_object(PyObject* o, const Type& item) {
    Items items(o, item.is(TypeKind::Int) || item.is(TypeKind::Float) || item.is(TypeKind::Bool));
    if (!items) return nullptr;
    Held list(PyList_New(0));
    for (Py_ssize_t i = 0; i < items.size(); i++) {
        Held each(operator_object(items[i], item));
        if (!each || PyList_Append(list.get(), each.get()) < 0) return nullptr;
    }
    return list.release();
}
PyObject* tuple_object(PyObject* o, const Type& type) {
    if (t_strict && !PyTuple_Check(o)) return nullptr;
    Items items(o, false);
    Py_ssize_t n = static_cast<Py_ssize_t>(type.items.size());
    if (!items || items.size() != n) return nullptr;
    Held tuple(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject* each = i < items.size() ? operator_object(items[i], *type.items[static_cast<size_t>(i)]) : nullptr;
        if (!each) return nullptr;
        PyTuple_SET_ITEM(tuple.get(), i, each);
    }
    return tuple.release();
}
PyObject* dict_object(PyObject* o, const Type& type) {
    if (!t_strict && PyList_Check(o) && PyList_GET_SIZE(o) == 0) return PyDict_New();
    if (!PyDict_Check(o)) return nullptr;
    Held copy(PyDict_Copy(o)), dict(PyDict_New());  // conversions run Python code, which may change the dict
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(copy.get(), &at, &key, &value);) {
        Held k(operator_object(key, *type.items[0]));
        if (!k) return nullptr;
        Held v(operator_object(value, *type.items[1]));
        if (!v || PyDict_SetItem(dict.get(), k.get(), v.get()) < 0) return nullptr;
    }
    return dict.release();
}
// A Union takes what is of a member's own type; nothing is converted from one number type to another.
PyObject* union_object(PyObject* o, const Type& type) {
    for (const TypeRef& member : type.items) {
        int64_t number;
        switch (member->kind) {
            case TypeKind::Int:
                if (memory_format_check(o, &number)) continue;
                if ((!PyLong_Check(o) || PyBool_Check(o)) && !enum_number(o, &number)) continue;
                break;
            case TypeKind::Float:
                if (!PyFloat_Check(o)) continue;
                break;
            case TypeKind::Bool:
                if (!PyBool_Check(o)) continue;
                break;
            case TypeKind::Complex:
                if (!PyComplex_Check(o)) continue;
                break;
            case TypeKind::Tensor:
                if (!tensor_check(o)) continue;
                break;
            default:
                break;
        }
        if (PyObject* fitted = operator_object(o, *member)) return fitted;
    }
    return nullptr;
}

// Whether PyTorch knows a type for the object when it is given for Any.
bool inferable(PyObject* o, int depth = 0) {
    if (o == Py_None || PyUnicode_Check(o) || PyBytes_Check(o) || tensor_check(o) || device_check(o) ||
        dtype_check(o) || generator_check(o) || PyComplex_Check(o) || PyFloat_Check(o))
        return true;
    int64_t i;
    if (PyLong_Check(o) || layout_check(o, &i) || memory_format_check(o, &i)) return to_integer(o, TypeKind::Int, &i);
    if (depth > 32) return false;
    if (PyList_Check(o) || PyTuple_Check(o)) {
        Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
        for (Py_ssize_t k = 0; k < n; k++)
            if (!inferable(PySequence_Fast_GET_ITEM(o, k), depth + 1)) return false;
        return n > 0 || PyTuple_Check(o);
    }
    if (!PyDict_Check(o) || PyDict_GET_SIZE(o) == 0) return false;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);)
        if (!inferable(key, depth + 1) || !inferable(value, depth + 1)) return false;
    return true;
}

// Whether the object is of a type that the schema language knows by its name only.
bool is_named_type(PyObject* o, const Type& type) {
    if (type.is(TypeKind::Var)) return inferable(o);
    if (type.is(TypeKind::Stream) || type.is(TypeKind::Future)) {
        const char* dot = std::strrchr(Py_TYPE(o)->tp_name, '.');
        return type.text() == (dot ? dot + 1 : Py_TYPE(o)->tp_name);
    }
    if (!type.is(TypeKind::Class)) return false;
    PyObject* qualified = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "_qualified");
    const char* name = qualified && PyUnicode_Check(qualified) ? PyUnicode_AsUTF8(qualified) : nullptr;
    const bool same = name && type.name.ends_with(name);
    Py_XDECREF(qualified);
    PyErr_Clear();
    return same;
}

PyObject* passed_through(PyObject* o, bool covered) { return t_strict && !covered ? nullptr : Py_NewRef(o); }

PyObject* object_of(PyObject* o, const Type& type) {
    int64_t i;
    switch (type.kind) {
        case TypeKind::Tensor:
        case TypeKind::Storage:
        case TypeKind::Generator: {
            bool fits = type.kind == TypeKind::Tensor    ? tensor_check(o)
                        : type.kind == TypeKind::Storage ? storage_of(o) != nullptr
                                                         : generator_check(o);
            return fits ? Py_NewRef(o) : nullptr;
        }
        case TypeKind::None:
            return o == Py_None ? Py_NewRef(o) : nullptr;
        case TypeKind::Optional:
            return o == Py_None ? Py_NewRef(o) : operator_object(o, *type.item());
        case TypeKind::Int:
        case TypeKind::SymInt:
            return to_integer(o, type.kind, &i) ? PyLong_FromLongLong(i) : nullptr;
        case TypeKind::Float: {
            double d;
            return to_real(o, &d) ? PyFloat_FromDouble(d) : nullptr;
        }
        case TypeKind::Complex: {
            c128 z;
            return to_complex128(o, &z) ? PyComplex_FromDoubles(z.real(), z.imag()) : nullptr;
        }
        case TypeKind::Bool:
        case TypeKind::SymBool: {
            bool b;
            return to_truth(o, &b) ? PyBool_FromLong(b) : nullptr;
        }
        case TypeKind::Number: {
            Value v;
            return to_number(o, &v) ? box(v) : nullptr;
        }
        case TypeKind::String:
            return to_text(o);
        case TypeKind::ScalarType: {
            DType d;
            return to_dtype(o, &d) ? Py_NewRef(dtype_object(d)) : nullptr;
        }
        case TypeKind::Layout:
            return to_layout(o, &i) ? Py_NewRef(layout_object(i)) : nullptr;
        case TypeKind::MemoryFormat:
            return to_memory_format(o, &i) ? Py_NewRef(memory_format_object(i)) : nullptr;
        case TypeKind::Device:
            return device_check(o) || PyUnicode_Check(o) ? device_object(device_from_python(o)) : nullptr;
        case TypeKind::List:
            return PyUnicode_Check(o) && !type.item()->is(TypeKind::String) ? nullptr : list_object(o, *type.item());
        case TypeKind::Tuple:
            return tuple_object(o, type);
        case TypeKind::Dict:
            return dict_object(o, type);
        case TypeKind::Union:
            return union_object(o, type);
        case TypeKind::Any:
            return passed_through(o, inferable(o));
        default:
            return passed_through(o, is_named_type(o, type));
    }
}

}  // namespace

PyObject* operator_object(PyObject* o, const Type& type) {
    if (Py_EnterRecursiveCall(" while converting an argument of an operator")) throw PythonError();
    PyObject* fitted;
    try {
        fitted = object_of(o, type);
    } catch (...) {
        Py_LeaveRecursiveCall();
        throw;
    }
    Py_LeaveRecursiveCall();
    if (!fitted && PyErr_Occurred()) throw PythonError();
    return fitted;
}

bool operator_value(PyObject* o, const Argument& a, Call& c, Value* v) {
    if (a.kind == ArgKind::Tensor) {
        if (!tensor_check(o) && (o != Py_None || (t_strict && !a.optional))) return false;
        *v = Value::of(o == Py_None ? nullptr : reinterpret_cast<Tensor*>(o));
        return true;
    }
    if (o == Py_None && a.optional) {
        *v = Value();
        return true;
    }
    const Type& type = a.optional ? *a.type->item() : *a.type;
    switch (a.kind) {
        case ArgKind::Int: {
            int64_t i;
            if (!to_integer(o, type.kind, &i)) return false;
            *v = Value::of(i);
            return true;
        }
        case ArgKind::Float: {
            double d;
            if (!to_real(o, &d)) return false;
            *v = Value::of(d);
            return true;
        }
        case ArgKind::Bool: {
            bool b;
            if (!to_truth(o, &b)) return false;
            *v = Value::of(b);
            return true;
        }
        case ArgKind::Complex: {
            c128 z;
            if (!to_complex128(o, &z)) return false;
            *v = Value::of(z);
            return true;
        }
        case ArgKind::Scalar:
            return to_number(o, v);
        case ArgKind::Str: {
            PyObject* text = to_text(o);
            if (!text) return false;
            if (text == o)
                Py_DECREF(text);
            else
                KeptObjects::keep(text);
            Py_ssize_t n;
            v->str = PyUnicode_AsUTF8AndSize(text, &n);
            if (!v->str) throw PythonError();
            v->tag = Tag::Str;
            v->len = static_cast<uint32_t>(n);
            return true;
        }
        case ArgKind::IntList:
            return int_list(o, a, c, v);
        case ArgKind::FloatList:
            return float_list(o, a, c, v);
        case ArgKind::BoolList:
            return bool_list(o, a, c, v);
        case ArgKind::ScalarList:
            return scalar_list(o, c, v) && right_length(a, v->len);
        case ArgKind::TensorList:
        case ArgKind::OptionalTensorList:
            return tensor_list(o, a.kind == ArgKind::OptionalTensorList, c, v) && right_length(a, v->len);
        case ArgKind::DType: {
            DType d;
            if (!to_dtype(o, &d)) return false;
            *v = Value::of(d);
            return true;
        }
        case ArgKind::Layout:
        case ArgKind::MemoryFormat: {
            int64_t i;
            bool layout = a.kind == ArgKind::Layout;
            if (!(layout ? to_layout(o, &i) : to_memory_format(o, &i))) return false;
            *v = Value::of(i);
            v->tag = layout ? Tag::Layout : Tag::MemoryFormat;
            return true;
        }
        case ArgKind::Device:
            if (!device_check(o) && (!text_like(o) || (t_strict && PyBytes_Check(o)))) return false;
            if (PyBytes_Check(o)) {
                o = to_text(o);
                if (!o) return false;
                KeptObjects::keep(o);
            }
            v->tag = Tag::Device;
            v->device = device_from_python(o);
            return true;
        case ArgKind::Generator:
            if (!generator_check(o)) return false;
            v->tag = Tag::Generator;
            v->obj = o;
            return true;
        default: {
            PyObject* fitted = operator_object(o, type);
            if (!fitted) return false;
            if (PyList_Check(fitted) && !right_length(a, PyList_GET_SIZE(fitted))) {
                Py_DECREF(fitted);
                return false;
            }
            *v = fitted == Py_None ? Value() : Value::object(fitted);
            KeptObjects::keep(fitted);
            return true;
        }
    }
}

PyObject* operator_argument(const Value& v, PyObject* source, const Argument& a) {
    switch (v.tag) {
        case Tag::Tensor:
            return Py_NewRef(v.t->py());
        case Tag::Int:
            if (source && PyLong_CheckExact(source) && a.kind != ArgKind::DType) return Py_NewRef(source);
            return box(v);
        case Tag::Double:
            return source && PyFloat_CheckExact(source) ? Py_NewRef(source) : box(v);
        case Tag::Str:
            return source && PyUnicode_CheckExact(source) ? Py_NewRef(source) : box(v);
        case Tag::IntList:
        case Tag::DoubleList:
        case Tag::BoolList:
        case Tag::ScalarList: {
            PyObject* tuple = box(v);
            if (!tuple) return nullptr;
            PyObject* list = PySequence_List(tuple);
            Py_DECREF(tuple);
            return list;
        }
        default:
            return box(v);
    }
}

bool has_type(PyObject* o) { return inferable(o); }

KeptObjects::KeptObjects() : mark_(g_kept.size()) {}
KeptObjects::~KeptObjects() {
    while (g_kept.size() > mark_) {
        PyObject* o = g_kept.back();
        g_kept.pop_back();
        Py_DECREF(o);
    }
}
PyObject* KeptObjects::keep(PyObject* o) {
    if (!o) throw PythonError();
    g_kept.push_back(o);
    return o;
}

}  // namespace mt
