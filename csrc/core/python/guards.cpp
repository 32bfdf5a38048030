// Guards of captured graphs: what a tensor looks like, and whether anything that a program read has been touched since.
#include "../autograd.h"
#include "../gil.h"
#include "../registry.h"
#include "types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
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

// The number of dimensions, dtype, device and flags in one number: they are eight bytes one after the other.
static_assert(offsetof(Tensor, dtype) == offsetof(Tensor, ndim) + 4 &&
              offsetof(Tensor, device) == offsetof(Tensor, ndim) + 5 && sizeof(Device) == 2 &&
              offsetof(Tensor, flags) == offsetof(Tensor, ndim) + 7);
uint64_t form_of(const Tensor& t) {
    constexpr auto mask =
        std::bit_cast<uint64_t>(std::array<uint8_t, 8>{255, 255, 255, 255, 255, 255, 255, kGuardedFlags});
    uint64_t form;
    std::memcpy(&form, &t.ndim, 8);
    return form & mask;
}

bool looks_alike(const TensorGuard& guard, PyObject* o) {
    const Look& g = guard.look;
    const int64_t* sizes = guard.sizes;
    if (Py_TYPE(o) != g.kind) return false;
    const Tensor& t = as_tensor(o);
    if (t.keys.bits != g.keys.bits || form_of(t) != g.form) return false;
    if (requires_grad(t) != g.requires_grad || is_leaf(t) != g.leaf) return false;
    const int64_t* found = t.dims_;
    if (!g.dynamic) {
        for (int64_t i = 0; i < 2 * g.ndim; ++i)
            if (found[i] != sizes[i]) return false;
        return true;
    }
    for (int64_t i = 0; i < g.ndim; ++i)
        if (sizes[i] < 0 ? found[i] < 2 : found[i] != sizes[i]) return false;
    return t.is_contiguous();
}

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
    g->sizes = static_cast<int64_t*>(PyMem_Calloc(2 * t.ndim + 1, sizeof(int64_t)));
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
// Tensors that look the same but for their sizes and strides, which stand one after the other in `sizes`.
struct Alike {
    Look look;
    std::vector<const Tensor*> tensors;
    std::vector<int64_t> sizes;
};
// What a call brings: an argument, by its position or by that of its keyword.
struct Place {
    bool keyword;
    Py_ssize_t index;
};
struct Snapshot {
    std::vector<const PyDictObject*> dicts;
    uint64_t newest = 0;                                      // version of these dictionaries
    std::vector<std::pair<PyObject**, PyObject*>> instances;  // where an object has its own dictionary, and which
    std::vector<Pair> classes;                                // an object and its class
    std::vector<std::pair<PyTypeObject*, unsigned int>> types;
    std::vector<std::pair<PyListObject*, PyObject*>> lists;  // and a tuple of what is in it
    std::vector<Pair> cells;
    std::vector<Function> functions;
    std::vector<Alike> alike;
    std::vector<std::pair<const TensorGuard*, PyObject*>> tensors;  // the others
    std::vector<std::pair<const Tensor*, Storage*>> memory;         // where it matters
    std::vector<const void*> known_tensors, known_memory;           // sorted
    ThreadState state;
    DType default_dtype;
    uint64_t cast_settings;
    // Of the call.
    Py_ssize_t positional = 0;
    PyObject* keywords = nullptr;  // a tuple of names
    std::vector<std::pair<Place, const TensorGuard*>> looks;
    std::vector<Place> apart;
    bool apart_memory = false;
    PyObject *rest = nullptr, *full = nullptr;  // functions of (args, kwargs): what else holds of them; every guard
};
struct Watch {
    PyObject_HEAD vectorcallfunc call;
    PyObject* kept;      // what the snapshot points to
    Snapshot* snapshot;  // null: not armed
};

// From 3.12 on dictionaries have no version that all changes raise: then every check is a full one.
#if PY_VERSION_HEX < 0x030C0000
uint64_t version_of(const PyDictObject* d) { return d->ma_version_tag; }
unsigned int version_of(PyTypeObject* t) {
    return PyType_HasFeature(t, Py_TPFLAGS_VALID_VERSION_TAG) ? t->tp_version_tag : 0;
}
constexpr bool kHasVersions = true;
#else
uint64_t version_of(const PyDictObject*) { return 0; }
unsigned int version_of(PyTypeObject*) { return 0; }
constexpr bool kHasVersions = false;
#endif

// A number for what autocast would do in this thread, besides being on: equal settings, equal numbers.
thread_local uint64_t g_cast_settings = 0;

bool same_state(const ThreadState& a, const ThreadState& b) {
    return a.include == b.include && a.exclude == b.exclude && a.grad_mode == b.grad_mode &&
           a.inference_mode == b.inference_mode && a.function_modes_disabled == b.function_modes_disabled &&
           a.device_given == b.device_given && a.function_modes == b.function_modes && a.transforms == b.transforms &&
           a.default_device == b.default_device;
}

// The loops below have no branches, so that many loads are under way at a time: what a check costs is the lines of
// memory that it reads.
template <class T, class U>
uint64_t differ(T* a, U* b) {
    return reinterpret_cast<uintptr_t>(a) ^ reinterpret_cast<uintptr_t>(b);
}

// Every change gives a dictionary a version that none had before: one of them is newer than the newest was.
bool dicts_untouched(const Snapshot& s) {
    uint64_t newer = 0;
    for (const PyDictObject* dict : s.dicts) newer |= s.newest - version_of(dict);
    return static_cast<int64_t>(newer) >= 0;
}
bool objects_untouched(const Snapshot& s) {
    uint64_t changed = 0;
    for (const auto& [place, dict] : s.instances) changed |= differ(*place, dict);
    for (const Pair& p : s.classes) changed |= differ(Py_TYPE(p.object), p.content);
    for (const auto& [type, version] : s.types) changed |= version_of(type) ^ version;
    for (const Pair& p : s.cells) changed |= differ(PyCell_GET(p.object), p.content);
    for (const Function& f : s.functions)
        changed |= differ(f.function->func_code, f.code) | differ(f.function->func_defaults, f.defaults) |
                   differ(f.function->func_kwdefaults, f.keywords) | differ(f.function->func_closure, f.closure);
    return !changed;
}
bool lists_untouched(const Snapshot& s) {
    for (const auto& [list, items] : s.lists) {
        Py_ssize_t n = PyTuple_GET_SIZE(items);
        if (PyList_GET_SIZE(list) != n) return false;
        for (Py_ssize_t i = 0; i < n; ++i)
            if (PyList_GET_ITEM(list, i) != PyTuple_GET_ITEM(items, i)) return false;
    }
    return true;
}

// Whether a tensor's look can be compared without branches: its sizes lie in the tensor itself, so that as many numbers
// can be read there whatever becomes of it, it has no history, and is nothing that vmap made.
bool is_plain(const Look& look) {
    return look.leaf && !look.dynamic && look.ndim <= Tensor::kInlineDims && !look.keys.has(Key::Batched);
}
bool same_but_for_sizes(const Look& a, const Look& b) {
    return a.kind == b.kind && a.keys == b.keys && a.form == b.form && a.requires_grad == b.requires_grad;
}
template <int ndim>
bool unchanged(const Alike& group) {
    static const AutogradMeta none;
    const Look look = group.look;
    const int64_t* sizes = group.sizes.data();
    uint64_t changed = 0;
    for (const Tensor* t : group.tensors) {
        const AutogradMeta& a = t->autograd ? *t->autograd : none;
        changed |= differ(Py_TYPE(t), look.kind) | (t->keys.bits ^ look.keys.bits) | (form_of(*t) ^ look.form);
        changed |= static_cast<uint64_t>(a.requires_grad ^ look.requires_grad) | reinterpret_cast<uintptr_t>(a.grad_fn);
        for (int i = 0; i < 2 * ndim; ++i) changed |= static_cast<uint64_t>(t->inline_[i] ^ sizes[i]);
        sizes += 2 * ndim;
    }
    return !changed;
}
bool unchanged(const Alike& group) {
    switch (group.look.ndim) {
        case 0:
            return unchanged<0>(group);
        case 1:
            return unchanged<1>(group);
        case 2:
            return unchanged<2>(group);
        case 3:
            return unchanged<3>(group);
        case 4:
            return unchanged<4>(group);
        default:
            return unchanged<5>(group);
    }
}
static_assert(Tensor::kInlineDims == 5);
bool tensors_untouched(const Snapshot& s) {
    for (const Alike& group : s.alike)
        if (!unchanged(group)) return false;
    for (const auto& [guard, tensor] : s.tensors)
        if (!looks_alike(*guard, tensor)) return false;
    for (const auto& [tensor, storage] : s.memory)
        if (tensor->storage != storage) return false;
    return true;
}
bool untouched(const Snapshot& s) {
    return same_state(s.state, g_thread) && s.default_dtype == default_dtype() && s.cast_settings == g_cast_settings &&
           dicts_untouched(s) && objects_untouched(s) && lists_untouched(s) && tensors_untouched(s);
}

// ---- what the call brings ----

constexpr Py_ssize_t kFew = 16;

// The values of keywords in their order; false if they are not those that were there, in their order.
bool same_keywords(PyObject* names, PyObject* kwargs, PyObject** values) {
    Py_ssize_t n = PyTuple_GET_SIZE(names);
    if (PyDict_GET_SIZE(kwargs) != n) return false;
    Py_ssize_t place = 0, i = 0;
    PyObject *name, *value;
    while (PyDict_Next(kwargs, &place, &name, &value)) {
        PyObject* expected = PyTuple_GET_ITEM(names, i);
        if (name != expected && (!PyUnicode_Check(name) || PyUnicode_Compare(name, expected) != 0)) return false;
        values[i++] = value;
    }
    return true;
}
// Whether the tensors are other objects, or lie in other storages, than each other and those that are watched.
bool are_apart(const Snapshot& s, bool memory, PyObject* const* tensors, Py_ssize_t n) {
    const auto& known = memory ? s.known_memory : s.known_tensors;
    const void* few[kFew];
    std::vector<const void*> many;
    const void** found = few;
    if (n > kFew) {
        many.resize(n);
        found = many.data();
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (!tensor_check(tensors[i])) return false;
        const void* place = memory ? static_cast<const void*>(as_tensor(tensors[i]).storage) : tensors[i];
        if (std::binary_search(known.begin(), known.end(), place)) return false;
        found[i] = place;
    }
    std::sort(found, found + n);
    return std::adjacent_find(found, found + n) == found + n;
}
bool arguments_hold(const Snapshot& s, PyObject* args, PyObject* kwargs) {
    if (PyTuple_GET_SIZE(args) != s.positional) return false;
    PyObject* few[kFew];
    std::vector<PyObject*> many;
    PyObject** named = few;
    if (PyTuple_GET_SIZE(s.keywords) > kFew) {
        many.resize(PyTuple_GET_SIZE(s.keywords));
        named = many.data();
    }
    if (!same_keywords(s.keywords, kwargs, named)) return false;
    auto at = [&](const Place& p) { return p.keyword ? named[p.index] : PyTuple_GET_ITEM(args, p.index); };
    for (const auto& [place, guard] : s.looks)
        if (!looks_alike(*guard, at(place))) return false;
    if (s.apart.empty()) return true;
    SmallVector<PyObject*, kFew> tensors;
    for (const Place& p : s.apart) tensors.push_back(at(p));
    return are_apart(s, false, tensors.data(), tensors.size()) &&
           (!s.apart_memory || are_apart(s, true, tensors.data(), tensors.size()));
}
PyObject* watch_check(PyObject* self, PyObject*) {
    const Snapshot* s = reinterpret_cast<Watch*>(self)->snapshot;
    return PyBool_FromLong(s && untouched(*s));
}
// watch(args, kwargs): whether every guard holds.
PyObject* watch_call(PyObject* self, PyObject* const* args, size_t count, PyObject* keywords) {
    const Snapshot* s = reinterpret_cast<Watch*>(self)->snapshot;
    if (!s || PyVectorcall_NARGS(count) != 2 || keywords || !PyTuple_Check(args[0]) || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "_Watch expects args and kwargs, after arm()");
        return nullptr;
    }
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        bool same = untouched(*s);
        if (same && !arguments_hold(*s, args[0], args[1])) Py_RETURN_FALSE;
        if (same && s->rest == Py_None) Py_RETURN_TRUE;
        PyObject* ask = Py_NewRef(same ? s->rest : s->full);  // which may arm this watch anew
        PyObject* holds = call_python(ask, args, 2);
        Py_DECREF(ask);
        return holds;
    });
}
// apart(memory, *tensors): whether these tensors are other objects (with `memory`: lie in other storages) than each
// other and those that are watched.
PyObject* watch_apart(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    const Snapshot* s = reinterpret_cast<Watch*>(self)->snapshot;
    if (n < 1 || !s) {
        PyErr_SetString(PyExc_TypeError, "_Watch.apart() expects a flag and tensors, after arm()");
        return nullptr;
    }
    return PyBool_FromLong(are_apart(*s, args[0] == Py_True, args + 1, n - 1));
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

// Whether the class has a version; a look-up gives it one.
bool versioned(PyTypeObject* t) {
    if (!version_of(t)) {
        PyObject* found = PyObject_GetAttrString(reinterpret_cast<PyObject*>(t), "__mro__");
        Py_XDECREF(found);
        PyObject* name = PyUnicode_InternFromString("__init__");
        _PyType_Lookup(t, name);
        Py_XDECREF(name);
        PyErr_Clear();
    }
    return version_of(t);
}
void watch_tensor(Snapshot& s, const TensorGuard* guard, PyObject* o, bool memory) {
    const Tensor& t = as_tensor(o);
    s.known_tensors.push_back(o);
    s.known_memory.push_back(t.storage);
    if (memory) s.memory.emplace_back(&t, t.storage);
    if (!is_plain(guard->look)) {
        s.tensors.emplace_back(guard, o);
        return;
    }
    auto group = std::find_if(s.alike.begin(), s.alike.end(),
                              [&](const Alike& g) { return same_but_for_sizes(g.look, guard->look); });
    if (group == s.alike.end()) group = s.alike.insert(group, {guard->look, {}, {}});
    group->tensors.push_back(&t);
    group->sizes.insert(group->sizes.end(), guard->sizes, guard->sizes + 2 * guard->look.ndim);
}
// Where an argument stands: a number, or the name of a keyword.
Place place_of(PyObject* o, PyObject* keywords) {
    bool keyword = PyUnicode_Check(o);
    Py_ssize_t i = keyword ? PySequence_Index(keywords, o) : PyNumber_AsSsize_t(o, PyExc_IndexError);
    if (i < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "_Watch.arm(): no such argument");
        throw PythonError();
    }
    return {keyword, i};
}

// arm((dicts, instances, classes, types, lists, cells, functions), guards, tensors, memory, call), where `call` is
// (number of positional arguments, keywords, [(argument, guard)], [arguments that are apart], also in memory, rest,
// full)
PyObject* watch_arm(PyObject* self, PyObject* args) {
    PyObject *dicts, *instances, *classes, *types, *lists, *cells, *functions, *guards, *tensors, *looks, *apart;
    PyObject *keywords, *rest, *full;
    Py_ssize_t positional;
    int memory, apart_memory;
    if (!PyArg_ParseTuple(args, "(O!O!O!O!O!O!O!)O!O!p(nO!O!O!pOO):arm", &PyList_Type, &dicts, &PyList_Type, &instances,
                          &PyList_Type, &classes, &PyList_Type, &types, &PyList_Type, &lists, &PyList_Type, &cells,
                          &PyList_Type, &functions, &PyList_Type, &guards, &PyList_Type, &tensors, &memory, &positional,
                          &PyTuple_Type, &keywords, &PyList_Type, &looks, &PyList_Type, &apart, &apart_memory, &rest,
                          &full))
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
        each(instances, [&](PyObject* o) {
            PyObject** place = _PyObject_GetDictPtr(o);  // from here on the object has a dictionary, at this place
            expect(place && *place, "objects with a dictionary");
            keep(o);
            s->instances.emplace_back(place, keep(*place));
        });
        each(dicts, [&](PyObject* o) {
            expect(PyDict_Check(o), "dictionaries");
            auto* d = reinterpret_cast<PyDictObject*>(keep(o));
            s->newest = std::max(s->newest, version_of(d));
            s->dicts.push_back(d);
        });
        each(classes,
             [&](PyObject* o) { s->classes.push_back({keep(o), keep(reinterpret_cast<PyObject*>(Py_TYPE(o)))}); });
        bool versions = true;
        each(types, [&](PyObject* o) {
            expect(PyType_Check(o), "classes");
            auto* t = reinterpret_cast<PyTypeObject*>(keep(o));
            versions = versioned(t) && versions;
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
            watch_tensor(*s, reinterpret_cast<TensorGuard*>(keep(guard)), keep(tensor), memory);
        }
        s->positional = positional;
        s->keywords = keep(keywords);
        each(looks, [&](PyObject* o) {
            expect(PyTuple_Check(o) && PyTuple_GET_SIZE(o) == 2 && Py_TYPE(PyTuple_GET_ITEM(o, 1)) == g_guard_type,
                   "arguments and their guards");
            s->looks.emplace_back(place_of(PyTuple_GET_ITEM(o, 0), keywords),
                                  reinterpret_cast<TensorGuard*>(keep(PyTuple_GET_ITEM(o, 1))));
        });
        each(apart, [&](PyObject* o) { s->apart.push_back(place_of(o, keywords)); });
        for (const Place& p : s->apart) expect(p.keyword || p.index < positional, "arguments");
        for (const auto& look : s->looks) expect(look.first.keyword || look.first.index < positional, "arguments");
        s->apart_memory = apart_memory;
        s->rest = keep(rest);
        s->full = keep(full);
        // Memory is gone through in its order.
        std::sort(s->dicts.begin(), s->dicts.end());
        std::sort(s->known_tensors.begin(), s->known_tensors.end());
        std::sort(s->known_memory.begin(), s->known_memory.end());
        s->state = g_thread;
        s->default_dtype = default_dtype();
        s->cast_settings = g_cast_settings;
        if (!versions) Py_RETURN_FALSE;
        w->snapshot = s.release();
        w->kept = keep.release();
        Py_RETURN_TRUE;
    });
}
PyObject* watch_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    PyObject* self = PyType_GenericNew(type, args, keywords);
    if (self) reinterpret_cast<Watch*>(self)->call = watch_call;
    return self;
}
// ---- the arguments of a graph, and the thread's state, all at once ----

struct Looks {
    PyObject_HEAD vectorcallfunc call;
    PyObject* items;  // a tuple: a guard for each tensor, other values as they are
    ThreadState* state;
    DType default_dtype;
    uint64_t cast_settings;
};

PyObject* looks_call(PyObject* self, PyObject* const* args, size_t nargs, PyObject* keywords) {
    const auto& looks = *reinterpret_cast<Looks*>(self);
    const Py_ssize_t n = PyVectorcall_NARGS(nargs);
    if (keywords || n != PyTuple_GET_SIZE(looks.items) || !same_state(*looks.state, g_thread) ||
        looks.default_dtype != default_dtype() || looks.cast_settings != g_cast_settings)
        Py_RETURN_FALSE;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* item = PyTuple_GET_ITEM(looks.items, i);
        if (Py_TYPE(item) == g_guard_type) {
            if (!looks_alike(*reinterpret_cast<TensorGuard*>(item), args[i])) Py_RETURN_FALSE;
            continue;
        }
        if (item == args[i]) continue;
        if (Py_TYPE(item) != Py_TYPE(args[i])) Py_RETURN_FALSE;
        const int same = PyObject_RichCompareBool(item, args[i], Py_EQ);
        if (same < 0) return nullptr;
        if (!same) Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}
// _Looks(*inputs)
PyObject* looks_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* items = PyTuple_New(PyTuple_GET_SIZE(args));
    if (!items) return nullptr;
    PyObject* nothing = PyTuple_New(0);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
        PyObject* o = PyTuple_GET_ITEM(args, i);
        PyObject* item = tensor_check(o) ? PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(g_guard_type), o,
                                                                        nothing, nullptr)
                                         : Py_NewRef(o);
        if (!item) {
            Py_DECREF(items);
            Py_DECREF(nothing);
            return nullptr;
        }
        PyTuple_SET_ITEM(items, i, item);
    }
    Py_DECREF(nothing);
    auto* state = new (std::nothrow) ThreadState(g_thread);
    auto* made = state ? reinterpret_cast<Looks*>(type->tp_alloc(type, 0)) : nullptr;
    if (!made) {
        delete state;
        Py_DECREF(items);
        return PyErr_NoMemory();
    }
    made->call = looks_call;
    made->items = items;
    made->state = state;
    made->default_dtype = default_dtype();
    made->cast_settings = g_cast_settings;
    return reinterpret_cast<PyObject*>(made);
}
void looks_dealloc(PyObject* self) {
    auto* looks = reinterpret_cast<Looks*>(self);
    Py_XDECREF(looks->items);
    delete looks->state;
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}
PyMemberDef looks_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Looks, call), READONLY, nullptr},
                               {nullptr, 0, 0, 0, nullptr}};
PyType_Slot looks_slots[] = {SLOT(Py_tp_new, looks_new),
                             SLOT(Py_tp_dealloc, looks_dealloc),
                             SLOT(Py_tp_call, PyVectorcall_Call),
                             SLOT(Py_tp_members, looks_members),
                             {0, nullptr}};
PyType_Spec looks_spec = {"mindtorch_v2._C._Looks", sizeof(Looks), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
                          looks_slots};

PyObject* set_cast_settings(PyObject*, PyObject* number) {
    uint64_t settings = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred()) return nullptr;
    g_cast_settings = settings;
    Py_RETURN_NONE;
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
PyMemberDef watch_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Watch, call), READONLY, nullptr},
                               {nullptr, 0, 0, 0, nullptr}};
PyType_Slot watch_slots[] = {SLOT(Py_tp_new, watch_new),           SLOT(Py_tp_dealloc, watch_dealloc),
                             SLOT(Py_tp_call, PyVectorcall_Call),  SLOT(Py_tp_members, watch_members),
                             SLOT(Py_tp_traverse, watch_traverse), SLOT(Py_tp_clear, watch_clear),
                             SLOT(Py_tp_methods, watch_methods),   {0, nullptr}};
PyType_Spec watch_spec = {"mindtorch_v2._C._Watch", sizeof(Watch), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, watch_slots};
PyMethodDef functions[] = {{"_set_cast_settings", set_cast_settings, METH_O,
                            "Tell guards which settings autocast has in this thread: a number for each combination, 0 "
                            "for those of a new thread."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_guards(PyObject* module) {
    g_guard_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&guard_spec));
    PyObject *watch = PyType_FromSpec(&watch_spec), *looks = PyType_FromSpec(&looks_spec);
    return g_guard_type && watch && looks && PyModule_AddObject(module, "_Looks", looks) == 0 &&
           PyModule_AddFunctions(module, functions) == 0 &&
           PyModule_AddObjectRef(module, "_TensorGuard", reinterpret_cast<PyObject*>(g_guard_type)) == 0 &&
           PyModule_AddObject(module, "_Watch", watch) == 0;
}

}  // namespace mt
