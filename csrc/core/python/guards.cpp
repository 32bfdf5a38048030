// Guards of captured graphs: what a tensor looks like, and whether anything that a program read has been touched since.
#include "../autograd.h"
#include "../registry.h"
#include "types.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace mt {
namespace {

// ---- what a tensor looks like ----

struct Look {
    PyTypeObject* kind;
    KeySet keys;
    uint64_t form;
    int32_t ndim;
    bool requires_grad, leaf;
    bool dynamic;  // some sizes may differ (they are -1); then the tensor is contiguous
};
struct TensorGuard {
    PyObject_HEAD vectorcallfunc call;
    Look look;       // its class is a strong reference
    int64_t* sizes;  // strides after them
};
constexpr uint8_t kGuardedFlags = kInference | kWrappedNumber;

// The number of dimensions, dtype, device and flags in one number, which compilers load as one.
uint64_t form_of(const Tensor& t) {
    auto byte = [](auto value) { return static_cast<uint64_t>(static_cast<uint8_t>(value)); };
    return static_cast<uint32_t>(t.ndim) | byte(t.dtype) << 32 | byte(t.device.type) << 40 |
           byte(t.device.index) << 48 | byte(t.flags & kGuardedFlags) << 56;
}

// Sizes and strides of up to this many dimensions are compared without a branch that depends on how many there are: the
// weights and biases of a model take turns. So many numbers can always be read, on both sides.
constexpr int kFewDims = 2;
constexpr uint64_t kCounts[kFewDims + 1][2 * kFewDims] = {{}, {~0ull, ~0ull}, {~0ull, ~0ull, ~0ull, ~0ull}};
static_assert(kFewDims <= Tensor::kInlineDims);

bool looks_so(const Look& g, const int64_t* sizes, PyObject* o) {
    if (Py_TYPE(o) != g.kind) return false;
    const Tensor& t = as_tensor(o);
    if (t.keys.bits != g.keys.bits || form_of(t) != g.form) return false;
    if (requires_grad(t) != g.requires_grad || is_leaf(t) != g.leaf) return false;
    const int64_t* found = t.dims_;
    if (!g.dynamic) {
        if (g.ndim <= kFewDims) {
            const uint64_t* counts = kCounts[g.ndim];
            auto differ = [&](int i) { return static_cast<uint64_t>(found[i] ^ sizes[i]) & counts[i]; };
            return !(differ(0) | differ(1) | differ(2) | differ(3));
        }
        for (int64_t i = 0; i < 2 * g.ndim; ++i)
            if (found[i] != sizes[i]) return false;
        return true;
    }
    for (int64_t i = 0; i < g.ndim; ++i)
        if (sizes[i] < 0 ? found[i] < 2 : found[i] != sizes[i]) return false;
    return t.is_contiguous();
}
bool looks_alike(const TensorGuard& g, PyObject* o) { return looks_so(g.look, g.sizes, o); }

PyObject* guard_call(PyObject* self, PyObject* const* args, size_t n, PyObject* keywords) {
    if (PyVectorcall_NARGS(n) != 1 || keywords) {
        PyErr_SetString(PyExc_TypeError, "a tensor's guard takes one argument");
        return nullptr;
    }
    return PyBool_FromLong(looks_alike(*reinterpret_cast<TensorGuard*>(self), args[0]));
}
PyObject* guard_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *o, *dynamic;
    if (!PyArg_ParseTuple(args, "OO!:_TensorGuard", &o, &PyTuple_Type, &dynamic)) return nullptr;
    if (!tensor_check(o)) {
        PyErr_Format(PyExc_TypeError, "_TensorGuard expects a Tensor, not %s", Py_TYPE(o)->tp_name);
        return nullptr;
    }
    const Tensor& t = as_tensor(o);
    auto* g = reinterpret_cast<TensorGuard*>(type->tp_alloc(type, 0));
    if (!g) return nullptr;
    g->call = guard_call;
    g->look.kind = reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(o))));
    g->look.keys = t.keys;
    g->look.form = form_of(t);
    g->look.requires_grad = requires_grad(t);
    g->look.leaf = is_leaf(t);
    g->look.ndim = t.ndim;
    g->sizes = static_cast<int64_t*>(PyMem_Calloc(2 * t.ndim + 2 * kFewDims, sizeof(int64_t)));
    if (!g->sizes) {
        Py_DECREF(g);
        return PyErr_NoMemory();
    }
    for (int64_t i = 0; i < 2 * t.ndim; ++i) g->sizes[i] = t.dims_[i];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dynamic); ++i) {
        Py_ssize_t d = PyNumber_AsSsize_t(PyTuple_GET_ITEM(dynamic, i), PyExc_IndexError);
        if (d < 0 || d >= t.ndim) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "_TensorGuard: no such dimension");
            Py_DECREF(g);
            return nullptr;
        }
        g->sizes[d] = -1;
        g->look.dynamic = true;
    }
    return reinterpret_cast<PyObject*>(g);
}
void guard_dealloc(PyObject* self) {
    auto* g = reinterpret_cast<TensorGuard*>(self);
    Py_XDECREF(reinterpret_cast<PyObject*>(g->look.kind));
    PyMem_Free(g->sizes);
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}
PyMemberDef guard_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(TensorGuard, call), READONLY, nullptr},
                               {nullptr, 0, 0, 0, nullptr}};
PyType_Slot guard_slots[] = {SLOT(Py_tp_new, guard_new),
                             SLOT(Py_tp_dealloc, guard_dealloc),
                             SLOT(Py_tp_call, PyVectorcall_Call),
                             SLOT(Py_tp_members, guard_members),
                             {0, nullptr}};
PyType_Spec guard_spec = {"mindtorch_v2._C._TensorGuard", sizeof(TensorGuard), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, guard_slots};
PyTypeObject* g_guard_type;

// ---- whether anything was touched ----

struct Pair {
    PyObject *object, *content;
};
struct Function {
    PyFunctionObject* function;
    PyObject *code, *defaults, *keywords, *closure;
};
struct Snapshot {
    std::vector<std::pair<PyDictObject*, uint64_t>> dicts;
    std::vector<std::pair<PyObject**, PyObject*>> instances;  // where an object has its own dictionary, and which
    std::vector<Pair> classes;                                // an object and its class
    std::vector<std::pair<PyTypeObject*, unsigned int>> types;
    std::vector<std::pair<PyListObject*, PyObject*>> lists;  // and a tuple of what is in it
    std::vector<Pair> cells;
    std::vector<Function> functions;
    std::vector<std::pair<Look, PyObject*>> tensors;
    std::vector<int64_t> sizes;                            // and strides, of all of them
    std::vector<Storage*> memory;                          // of the tensors, where it matters
    std::vector<const void*> known_tensors, known_memory;  // sorted
    ThreadState state;
    DType default_dtype;
};
struct Watch {
    PyObject_HEAD PyObject* kept;  // what the snapshot points to
    Snapshot* snapshot;            // null: not armed
};

// From 3.12 on dictionaries have no version that all changes raise: then every check is a full one.
#if PY_VERSION_HEX < 0x030C0000
uint64_t version_of(PyDictObject* d) { return d->ma_version_tag; }
unsigned int version_of(PyTypeObject* t) {
    return PyType_HasFeature(t, Py_TPFLAGS_VALID_VERSION_TAG) ? t->tp_version_tag : 0;
}
constexpr bool kHasVersions = true;
#else
uint64_t version_of(PyDictObject*) { return 0; }
unsigned int version_of(PyTypeObject*) { return 0; }
constexpr bool kHasVersions = false;
#endif

bool same_state(const ThreadState& a, const ThreadState& b) {
    return a.include == b.include && a.exclude == b.exclude && a.grad_mode == b.grad_mode &&
           a.inference_mode == b.inference_mode && a.function_modes_disabled == b.function_modes_disabled &&
           a.device_given == b.device_given && a.function_modes == b.function_modes && a.transforms == b.transforms &&
           a.default_device == b.default_device;
}

bool untouched(const Snapshot& s) {
    if (!same_state(s.state, g_thread) || s.default_dtype != default_dtype()) return false;
    uint64_t changed = 0;  // without branches, so that many loads are under way at a time
    for (const auto& [dict, version] : s.dicts) changed |= version_of(dict) ^ version;
    if (changed) return false;
    for (const auto& [place, dict] : s.instances)
        if (*place != dict) return false;
    for (const Pair& p : s.classes)
        if (reinterpret_cast<PyObject*>(Py_TYPE(p.object)) != p.content) return false;
    for (const auto& [type, version] : s.types)
        if (version_of(type) != version) return false;
    for (const auto& [list, items] : s.lists) {
        Py_ssize_t n = PyTuple_GET_SIZE(items);
        if (PyList_GET_SIZE(list) != n) return false;
        for (Py_ssize_t i = 0; i < n; ++i)
            if (PyList_GET_ITEM(list, i) != PyTuple_GET_ITEM(items, i)) return false;
    }
    for (const Pair& p : s.cells)
        if (PyCell_GET(p.object) != p.content) return false;
    for (const Function& f : s.functions)
        if (f.function->func_code != f.code || f.function->func_defaults != f.defaults ||
            f.function->func_kwdefaults != f.keywords || f.function->func_closure != f.closure)
            return false;
    const int64_t* sizes = s.sizes.data();
    for (const auto& [look, tensor] : s.tensors) {
        if (!looks_so(look, sizes, tensor)) return false;
        sizes += 2 * look.ndim;
    }
    for (size_t i = 0; i < s.memory.size(); ++i)
        if (as_tensor(s.tensors[i].second).storage != s.memory[i]) return false;
    return true;
}

PyObject* watch_check(PyObject* self, PyObject*) {
    const Snapshot* s = reinterpret_cast<Watch*>(self)->snapshot;
    return PyBool_FromLong(s && untouched(*s));
}
// apart(memory, *tensors): whether these tensors are other objects (with `memory`: lie in other storages) than each
// other and those that are watched.
PyObject* watch_apart(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    const Snapshot* s = reinterpret_cast<Watch*>(self)->snapshot;
    if (n < 1 || !s) {
        PyErr_SetString(PyExc_TypeError, "_Watch.apart() expects a flag and tensors, after arm()");
        return nullptr;
    }
    bool memory = args[0] == Py_True;
    const auto& known = memory ? s->known_memory : s->known_tensors;
    const void* few[16];
    std::vector<const void*> many;
    const void** found = few;
    if (n > 16) {
        many.resize(n);
        found = many.data();
    }
    for (Py_ssize_t i = 1; i < n; ++i) {
        if (!tensor_check(args[i])) Py_RETURN_FALSE;
        const void* place = memory ? static_cast<const void*>(as_tensor(args[i]).storage) : args[i];
        if (std::binary_search(known.begin(), known.end(), place)) Py_RETURN_FALSE;
        found[i] = place;
    }
    std::sort(found + 1, found + n);
    return PyBool_FromLong(std::adjacent_find(found + 1, found + n) == found + n);
}
void disarm(Watch* w) {
    delete w->snapshot;
    w->snapshot = nullptr;
    Py_CLEAR(w->kept);
}

// What the snapshot points to is owned by a list.
class Keeper {
  public:
    Keeper() : list_(PyList_New(0)) {
        if (!list_) throw PythonError();
    }
    ~Keeper() { Py_XDECREF(list_); }
    PyObject* operator()(PyObject* o) {
        if (o && PyList_Append(list_, o) < 0) throw PythonError();
        return o;
    }
    PyObject* release() { return std::exchange(list_, nullptr); }

  private:
    PyObject* list_;
};
void expect(bool right, const char* what) {
    if (!right) {
        PyErr_Format(PyExc_TypeError, "_Watch.arm(): %s expected", what);
        throw PythonError();
    }
}

// arm(dicts, instances, classes, types, lists, cells, functions, guards, tensors, with_memory)
PyObject* watch_arm(PyObject* self, PyObject* args) {
    PyObject *dicts, *instances, *classes, *types, *lists, *cells, *functions, *guards, *tensors;
    int with_memory;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!O!O!O!p:arm", &PyList_Type, &dicts, &PyList_Type, &instances, &PyList_Type,
                          &classes, &PyList_Type, &types, &PyList_Type, &lists, &PyList_Type, &cells, &PyList_Type,
                          &functions, &PyList_Type, &guards, &PyList_Type, &tensors, &with_memory))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        auto* w = reinterpret_cast<Watch*>(self);
        disarm(w);
        if (!kHasVersions) Py_RETURN_FALSE;
        Keeper keep;
        auto s = std::make_unique<Snapshot>();
        auto each = [](PyObject* list, auto&& f) {
            for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) f(PyList_GET_ITEM(list, i));
        };
        each(dicts, [&](PyObject* o) {
            expect(PyDict_Check(o), "dictionaries");
            auto* d = reinterpret_cast<PyDictObject*>(keep(o));
            s->dicts.emplace_back(d, version_of(d));
        });
        each(instances, [&](PyObject* o) {
            PyObject** place = _PyObject_GetDictPtr(o);  // from here on the object has a dictionary, at this place
            expect(place && *place, "objects with a dictionary");
            keep(o);
            s->instances.emplace_back(place, keep(*place));
        });
        each(classes,
             [&](PyObject* o) { s->classes.push_back({keep(o), keep(reinterpret_cast<PyObject*>(Py_TYPE(o)))}); });
        bool versions = true;
        each(types, [&](PyObject* o) {
            expect(PyType_Check(o), "classes");
            auto* t = reinterpret_cast<PyTypeObject*>(keep(o));
            if (!version_of(t)) {  // a look-up gives it a version
                PyObject* found = PyObject_GetAttrString(o, "__mro__");
                Py_XDECREF(found);
                PyObject* name = PyUnicode_InternFromString("__init__");
                _PyType_Lookup(t, name);
                Py_XDECREF(name);
                PyErr_Clear();
            }
            versions = versions && version_of(t);
            s->types.emplace_back(t, version_of(t));
        });
        each(lists, [&](PyObject* o) {
            expect(PyList_Check(o), "lists");
            PyObject* items = PyList_AsTuple(o);
            if (!items) throw PythonError();
            keep(o);
            keep(items);
            Py_DECREF(items);
            s->lists.emplace_back(reinterpret_cast<PyListObject*>(o), items);
        });
        each(cells, [&](PyObject* o) {
            expect(PyCell_Check(o), "cells");
            s->cells.push_back({keep(o), keep(PyCell_GET(o))});
        });
        each(functions, [&](PyObject* o) {
            expect(PyFunction_Check(o), "functions");
            auto* f = reinterpret_cast<PyFunctionObject*>(keep(o));
            s->functions.push_back(
                {f, keep(f->func_code), keep(f->func_defaults), keep(f->func_kwdefaults), keep(f->func_closure)});
        });
        expect(PyList_GET_SIZE(guards) == PyList_GET_SIZE(tensors), "a guard for each tensor");
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(guards); ++i) {
            PyObject *guard = PyList_GET_ITEM(guards, i), *tensor = PyList_GET_ITEM(tensors, i);
            expect(Py_TYPE(guard) == g_guard_type && tensor_check(tensor), "tensors and their guards");
            keep(guard);  // which owns the class
            const auto* g = reinterpret_cast<TensorGuard*>(guard);
            s->tensors.emplace_back(g->look, keep(tensor));
            s->sizes.insert(s->sizes.end(), g->sizes, g->sizes + 2 * g->look.ndim);
            s->known_tensors.push_back(tensor);
            s->known_memory.push_back(as_tensor(tensor).storage);
            if (with_memory) s->memory.push_back(as_tensor(tensor).storage);
        }
        s->sizes.resize(s->sizes.size() + 2 * kFewDims);
        // Memory is gone through in its order.
        std::sort(s->dicts.begin(), s->dicts.end());
        std::sort(s->known_tensors.begin(), s->known_tensors.end());
        std::sort(s->known_memory.begin(), s->known_memory.end());
        s->state = g_thread;
        s->default_dtype = default_dtype();
        if (!versions) Py_RETURN_FALSE;
        w->snapshot = s.release();
        w->kept = keep.release();
        Py_RETURN_TRUE;
    });
}
int watch_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(reinterpret_cast<Watch*>(self)->kept);
    Py_VISIT(Py_TYPE(self));
    return 0;
}
int watch_clear(PyObject* self) {
    disarm(reinterpret_cast<Watch*>(self));
    return 0;
}
void watch_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    disarm(reinterpret_cast<Watch*>(self));
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}
PyMethodDef watch_methods[] = {
    {"arm", watch_arm, METH_VARARGS, "Remember how all of this is now; False if it cannot be told when it changes."},
    {"apart", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(watch_apart)), METH_FASTCALL,
     "apart(memory, *tensors): whether they are others than each other and the watched ones."},
    {"check", watch_check, METH_NOARGS, "Whether nothing was touched since."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot watch_slots[] = {SLOT(Py_tp_new, PyType_GenericNew),   SLOT(Py_tp_dealloc, watch_dealloc),
                             SLOT(Py_tp_traverse, watch_traverse), SLOT(Py_tp_clear, watch_clear),
                             SLOT(Py_tp_methods, watch_methods),   {0, nullptr}};
PyType_Spec watch_spec = {"mindtorch_v2._C._Watch", sizeof(Watch), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                          watch_slots};

}  // namespace

bool init_guards(PyObject* module) {
    g_guard_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&guard_spec));
    PyObject* watch = PyType_FromSpec(&watch_spec);
    return g_guard_type && watch &&
           PyModule_AddObjectRef(module, "_TensorGuard", reinterpret_cast<PyObject*>(g_guard_type)) == 0 &&
           PyModule_AddObject(module, "_Watch", watch) == 0;
}

}  // namespace mt
