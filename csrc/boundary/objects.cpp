// Python objects across the boundary: what schemas say with lists, dicts, tuples, streams and classes.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "boundary/boundary.h"
#include "core/generator.h"
#include "core/python/bad_text.h"
#include "core/python/box.h"
#include "core/rest.h"

namespace mt::boundary {
namespace {

// A compiled object: what a library keeps behind a Python object.
struct HeldObject {
    PyObject_HEAD void* held;
    mt_release release;
    mt_kernel kernel;
};
PyTypeObject *g_kernel_type = nullptr, *g_object_type = nullptr;

void held_dealloc(PyObject* o) {
    HeldObject* h = reinterpret_cast<HeldObject*>(o);
    PyTypeObject* type = Py_TYPE(o);
    if (h->release) h->release(h->held);
    type->tp_free(o);
    Py_DECREF(type);
}
PyType_Slot kernel_slots[] = {SLOT(Py_tp_dealloc, held_dealloc), {0, nullptr}};
PyType_Spec kernel_spec = {"mindtorch_v2._C.CompiledKernel", sizeof(HeldObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kernel_slots};
PyType_Slot object_slots[] = {SLOT(Py_tp_dealloc, held_dealloc), {0, nullptr}};
PyType_Spec object_spec = {"mindtorch_v2._C.CompiledObject", sizeof(HeldObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, object_slots};

// What a kernel was handed is checked nowhere else: a library that fills a result with rubbish must not crash us.
void check_result(const Call& c, int i) {
    const Argument& a = c.op->schema.returns[static_cast<size_t>(i)];
    const Tag tag = c.rets[i].tag;
    if (a.kind == ArgKind::Tensor) {
        MT_CHECK(tag == Tag::Tensor || tag == Tag::None, c.op->full_name, ": its kernel gave no tensor as result ", i,
                 ", as the schema says: ", c.op->schema.text());
    } else if (tag == Tag::Tensor && a.kind == ArgKind::Any && a.type->kind == TypeKind::Any) {
        c.rets[i].tag = Tag::Object;  // a tensor is an object too
    } else if (tag == Tag::Tensor || tag == Tag::IntList || tag == Tag::TensorList) {
        MT_THROW(Runtime, c.op->full_name, ": its kernel gave a value of another type as result ", i,
                 " than the schema says: ", c.op->schema.text());
    }
}

}  // namespace

PyObject* call_hook(const char* name, std::initializer_list<PyObject*> args) {
    static PyObject* module = PyImport_ImportModule("mindtorch_v2._library.compiled");
    if (!module) {
        module = PyImport_ImportModule("mindtorch_v2._library.compiled");
        if (!module) throw PythonError();
    }
    Owned f(PyObject_GetAttrString(module, name));
    PyObject* r = call_python(f.get(), args.begin(), args.size());
    if (!r) throw PythonError();
    return r;
}
PyObject* text(const char* s) { return s ? PyUnicode_FromString(s) : Py_NewRef(Py_None); }

Value value_of(PyObject* o) {
    Value v;
    int64_t i;
    if (o == Py_None) return v;
    if (tensor_check(o)) return Value::of(reinterpret_cast<Tensor*>(o));
    if (PyBool_Check(o)) return Value::of(o == Py_True);
    if (PyFloat_Check(o)) return Value::of(PyFloat_AS_DOUBLE(o));
    if (PyLong_Check(o)) {
        i = PyLong_AsLongLong(o);
        if (i == -1 && PyErr_Occurred()) throw PythonError();
        return Value::of(i);
    }
    if (PyComplex_Check(o)) return Value::of(c128(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
    if (PyUnicode_Check(o)) {
        Py_ssize_t n;
        v.str = PyUnicode_AsUTF8AndSize(o, &n);
        if (!v.str) throw PythonError();
        v.tag = Tag::Str;
        v.len = static_cast<uint32_t>(n);
        return v;
    }
    if (dtype_check(o)) return Value::of(dtype_from_python(o));
    if (device_check(o)) {
        v.tag = Tag::Device;
        v.device = device_from_python(o);
        return v;
    }
    if (layout_check(o, &i) || memory_format_check(o, &i)) {
        v.tag = layout_check(o, &i) ? Tag::Layout : Tag::MemoryFormat;
        v.i = i;
        return v;
    }
    v = Value::object(o);
    if (generator_check(o)) v.tag = Tag::Generator;
    return v;
}

PyObject* object_of(const Value& v) {
    if (v.tag == Tag::IntList || v.tag == Tag::DoubleList || v.tag == Tag::BoolList || v.tag == Tag::ScalarList) {
        Owned tuple(box(v));  // the core's own boxes are tuples; a list is what the schema language calls one
        PyObject* list = PySequence_List(tuple.get());
        if (!list) throw PythonError();
        return list;
    }
    PyObject* o = box(v);
    if (!o) throw PythonError();
    return o;
}

namespace {

int is_tensor(mt_object o) {
    Locked locked;
    return tensor_check(object(o));
}
int value_of_object(mt_object o, mt_value* out) {
    return reported([&] { *values(out) = value_of(object(o)); });
}
int object_of_value(const mt_value* v, mt_object* out) {
    return reported([&] { *out = handle(object_of(*values(v))); });
}
int list(const mt_value* items, int64_t n, mt_object* out) {
    return reported([&] {
        Owned l(PyList_New(n));
        for (int64_t i = 0; i < n; i++) PyList_SET_ITEM(l.get(), i, object_of(values(items)[i]));
        *out = handle(l.release());
    });
}
int tuple(const mt_value* items, int64_t n, mt_object* out) {
    return reported([&] {
        Owned l(PyTuple_New(n));
        for (int64_t i = 0; i < n; i++) PyTuple_SET_ITEM(l.get(), i, object_of(values(items)[i]));
        *out = handle(l.release());
    });
}
int dict(const mt_value* keys, const mt_value* items, int64_t n, mt_object* out) {
    return reported([&] {
        Owned d(PyDict_New());
        for (int64_t i = 0; i < n; i++) {
            Owned k(object_of(values(keys)[i])), v(object_of(values(items)[i]));
            if (PyDict_SetItem(d.get(), k.get(), v.get()) < 0) throw PythonError();
        }
        *out = handle(d.release());
    });
}
char kind_of(mt_object h) {
    PyObject* o = object(h);
    Locked locked;
    if (PyList_Check(o)) return 'l';
    if (PyTuple_Check(o)) return 't';
    if (PyDict_Check(o)) return 'd';
    if (generator_check(o)) return 'g';
    if (PyObject_TypeCheck(o, g_object_type)) return 'c';
    return 'o';
}
int64_t length(mt_object o) {
    Locked locked;
    Py_ssize_t n = PyObject_Size(object(o));
    if (n < 0) PyErr_Clear();
    return n;
}
int item(mt_object h, int64_t i, mt_value* out) {
    return reported([&] {
        PyObject* o = object(h);
        MT_CHECK_TYPE(PyList_Check(o) || PyTuple_Check(o), "a list or tuple was expected, got ", Py_TYPE(o)->tp_name);
        MT_CHECK_INDEX(i >= 0 && i < PySequence_Fast_GET_SIZE(o), "list index ", i, " is out of range");
        *values(out) = value_of(PySequence_Fast_GET_ITEM(o, i));
    });
}
int entries(mt_object h, mt_object* out) {
    return reported([&] {
        MT_CHECK_TYPE(PyDict_Check(object(h)), "a dict was expected, got ", Py_TYPE(object(h))->tp_name);
        Owned l(PyList_New(0));
        PyObject *k, *v;
        for (Py_ssize_t at = 0; PyDict_Next(object(h), &at, &k, &v);)
            if (PyList_Append(l.get(), k) < 0 || PyList_Append(l.get(), v) < 0) throw PythonError();
        *out = handle(l.release());
    });
}

void call_with(PyObject* f, const mt_value* args, int32_t n, mt_value* result) {
    Owned tuple(PyTuple_New(n));
    for (int32_t i = 0; i < n; i++) PyTuple_SET_ITEM(tuple.get(), i, object_of(values(args)[i]));
    Owned r(or_stay([&] { return PyObject_CallObject(f, tuple.get()); }));
    Value v = value_of(r.get());
    // Owned by the caller: what borrows from the object goes as the object.
    if (v.tag == Tag::Str || v.tag == Tag::Generator) v = Value::object(r.get());
    if (v.tag == Tag::Tensor || v.tag == Tag::Object) r.release();
    *values(result) = v;
}
int call_named(const char* module, const char* name, const mt_value* args, int32_t n, mt_value* result) {
    if (!Py_IsInitialized()) return 1;  // of a static object that goes after the interpreter
    return reported([&] {
        Owned m(PyImport_ImportModule(module));
        Owned f(PyObject_GetAttrString(m.get(), name));
        call_with(f.get(), args, n, result);
    });
}
int call_object(mt_object f, const mt_value* args, int32_t n, mt_value* result) {
    return reported([&] { call_with(object(f), args, n, result); });
}

int object_new(const char* cls, void* held, mt_release release, mt_object* out) {
    return reported([&] {
        Owned name(text(cls));
        Owned type(call_hook("class_named", {name.get()}));
        *out = handle(new_held(reinterpret_cast<PyTypeObject*>(type.get()), held, release));
    });
}
void* object_held(mt_object o, const char** cls) {
    Locked locked;
    if (!PyObject_TypeCheck(object(o), g_object_type)) return nullptr;
    *cls = nullptr;
    PyObject* name = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object(o))), "_qualified");
    if (name) *cls = PyUnicode_AsUTF8(name);  // the class keeps it
    Py_XDECREF(name);
    PyErr_Clear();
    return reinterpret_cast<HeldObject*>(object(o))->held;
}

void run_compiled(Call& c) {
    const HeldObject* k = reinterpret_cast<HeldObject*>(c.kernel->python);
    mt_call call{reinterpret_cast<mt_operator>(const_cast<Operator*>(c.op)),
                 c.keys.bits,
                 handles(c.args),
                 handles(c.rets),
                 c.nargs,
                 c.nrets};
    // What stands behind the schema's arguments comes one by one.
    std::vector<Value> given;
    std::optional<Owned> more;
    if (has_rest(*c.op)) {
        more.emplace(rest_of(c));
        given.assign(c.args, c.args + c.nargs - 1);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(more->get()); i++)
            given.push_back(value_of(PyTuple_GET_ITEM(more->get(), i)));
        call.args = handles(given.data());
        call.nargs = static_cast<int32_t>(given.size());
    }
    // Whatever the kernel does with this thread's keys and modes ends with it.
    Owned kept(Py_NewRef(c.kernel->python));
    if (k->kernel(k->held, &call) != 0) throw_kept_error();
    for (int i = 0; i < c.nrets - gives_rest(*c.op); i++) check_result(c, i);
    if (gives_rest(*c.op))
        MT_CHECK(c.rets[c.nrets - 1].tag == Tag::Object && PyList_Check(c.rets[c.nrets - 1].obj), c.op->full_name,
                 ": its kernel gave no list of the results behind those of the schema: ", c.op->schema.text());
}

}  // namespace

PyObject* new_held(PyTypeObject* type, void* held, mt_release release) {
    MT_CHECK_TYPE(PyType_IsSubtype(type, g_object_type), "a class of compiled objects was expected");
    PyObject* o = type->tp_alloc(type, 0);
    if (!o) throw PythonError();
    reinterpret_cast<HeldObject*>(o)->held = held;
    reinterpret_cast<HeldObject*>(o)->release = release;
    return o;
}
void* held_by(PyObject* o) { return reinterpret_cast<HeldObject*>(o)->held; }

PyObject* new_kernel(mt_kernel fn, void* context, mt_release release) {
    PyObject* o = g_kernel_type->tp_alloc(g_kernel_type, 0);
    if (!o) throw PythonError();
    HeldObject* h = reinterpret_cast<HeldObject*>(o);
    h->held = context;
    h->release = release;
    h->kernel = fn;
    return o;
}

bool init_compiled_types(PyObject* module) {
    g_kernel_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kernel_spec));
    g_object_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&object_spec));
    return g_kernel_type && g_object_type &&
           PyModule_AddObjectRef(module, "CompiledKernel", reinterpret_cast<PyObject*>(g_kernel_type)) == 0 &&
           PyModule_AddObjectRef(module, "CompiledObject", reinterpret_cast<PyObject*>(g_object_type)) == 0;
}

void fill_objects(mt_boundary& b) {
    b.skip_bad_text = [](int asked) {
        const int former = g_skips_bad_text;
        if (asked == 0 || asked == 1) g_skips_bad_text = asked != 0;
        return former;
    };
    b.is_tensor = is_tensor;
    b.value_of = value_of_object;
    b.object_of = object_of_value;
    b.list = list;
    b.tuple = tuple;
    b.dict = dict;
    b.kind_of = kind_of;
    b.length = length;
    b.item = item;
    b.entries = entries;
    b.call_python = call_named;
    b.call_object = call_object;
    b.object_new = object_new;
    b.object_held = object_held;
}

}  // namespace mt::boundary

namespace mt {
bool compiled_kernel(PyObject* o, KernelFn* run) {
    if (Py_TYPE(o) != boundary::g_kernel_type) return false;
    *run = boundary::run_compiled;
    return true;
}
bool is_compiled_kernel(const Kernel& k) { return k.python && Py_TYPE(k.python) == boundary::g_kernel_type; }
}  // namespace mt
