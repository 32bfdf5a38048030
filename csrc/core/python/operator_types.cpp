// Operators as Python objects: the handle of one schema, and how kernels are registered through it.
#include <algorithm>
#include <cstring>

#include "../autograd.h"
#include "../bounds.h"
#include "../composing.h"
#include "../copy_on_write.h"
#include "../derived_schema.h"
#include "../late_operators.h"
#include "../python_keys.h"
#include "../rest.h"
#include "../typed_kernel.h"
#include "bind.h"
#include "operator_object.h"
#include "operator_values.h"
#include "schema_types.h"
#include "types.h"

namespace mt {

namespace {

// ---- one operator ----

struct HandleObject {
    PyObject_HEAD PyObject* dict;
    PyObject* weakrefs;
    vectorcallfunc vectorcall;
    Operator* op;
};
PyTypeObject* g_handle_type = nullptr;

Operator* op_of(PyObject* o) { return reinterpret_cast<HandleObject*>(o)->op; }

PyObject* self_itself(PyObject* o, PyObject*) { return Py_NewRef(o); }

PyObject* handle_call(PyObject* o, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    HandleObject* h = reinterpret_cast<HandleObject*>(o);
    CallInput in{args, PyVectorcall_NARGS(nargsf), kwnames};
    return call_operators(&h->op, 1, in);
}

void handle_dealloc(PyObject* o) {
    HandleObject* h = reinterpret_cast<HandleObject*>(o);
    if (h->weakrefs) PyObject_ClearWeakRefs(o);
    Py_CLEAR(h->dict);
    PyTypeObject* type = Py_TYPE(o);
    type->tp_free(o);
    Py_DECREF(type);
}

// ---- the handle's methods: registration ----

PyObject* item_at(PyObject* sequence, Py_ssize_t i) {  // new reference
    PyObject* item = PySequence_GetItem(sequence, i);
    if (!item) throw PythonError();
    return item;
}

Key parse_key(const char* name) {
    Key k = key_from_name(name);
    MT_CHECK(k != Key::Undefined || !std::strcmp(name, "Undefined"), "could not parse dispatch key: ", name);
    return k;
}

// A callable or a compiled kernel as the registry keeps it; None is a fallthrough.
Kernel kernel_of(PyObject* fn, uint32_t flags) {
    Kernel k;
    if (fn == Py_None) {
        k.fallthrough = true;
        return k;
    }
    if (!compiled_kernel(fn, &k.fn)) k.fn = run_python;
    k.python = fn;
    k.flags = flags;
    return k;
}

PyObject* h_impl(PyObject* o, PyObject* args) {
    const char* key;
    PyObject* fn;
    unsigned int flags = 0;
    if (!PyArg_ParseTuple(args, "sO|I:impl", &key, &fn, &flags)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Kernel k;
        if (PyUnicode_Check(fn)) {
            const char* name = utf8_of(fn);
            const NativeKernel* native = find_native_kernel(name);
            if (!native) Py_RETURN_FALSE;
            check_signature(*native->signature, *op_of(o), name, native->structured);
            k.fn = native->structured ? run_structured : op_of(o)->reads_elements ? run_direct : native->fn;
            k.compute = native->fn;
            k.flags = native->flags;
        } else {
            k = kernel_of(fn, flags);
        }
        return PyLong_FromUnsignedLongLong(op_of(o)->set_kernel(parse_key(key), k));
    });
}
PyObject* h_unimpl(PyObject* o, PyObject* args) {
    const char* key;
    unsigned long long id;
    if (!PyArg_ParseTuple(args, "sK:unimpl", &key, &id)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        op_of(o)->erase_kernel(parse_key(key), id);
        Py_RETURN_NONE;
    });
}
// set_shape("rule", ["arg", ...]) or set_shape(callable)
PyObject* h_set_shape(PyObject* o, PyObject* args) {
    PyObject *rule, *names = nullptr;
    if (!PyArg_ParseTuple(args, "O|O:set_shape", &rule, &names)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Operator* op = op_of(o);
        if (PyUnicode_Check(rule)) {
            const NativeShape* native = find_shape_rule(utf8_of(rule));
            MT_CHECK(native, op->full_name, ": no shape rule is called '", utf8_of(rule), "'");
            op->shape_params.clear();
            if (names) {
                for (Py_ssize_t i = 0; i < PySequence_Size(names); i++) {
                    PyObject* n = item_at(names, i);
                    if (PyLong_Check(n)) {
                        op->shape_params.push_back(static_cast<int>(PyLong_AsLong(n)));
                    } else {
                        int at = op->schema.index_of(utf8_of(n));
                        MT_CHECK(at >= 0, op->full_name, ": the shape rule names '", utf8_of(n),
                                 "', which is no argument");
                        op->shape_params.push_back(at);
                    }
                    Py_DECREF(n);
                }
            }
            check_shape_signature(*native->signature, *op, utf8_of(rule), op->shape_params);
            op->shape = native->fn;
        } else {
            Py_INCREF(rule);
            op->shape_python = rule;
        }
        op->resolve();
        Py_RETURN_NONE;
    });
}
// set_formula([(inputs, fn, [(kind, index), ...], tuple), ...], inputs, saved_inputs, saved_results, saved_sizes,
// nondiff mask, node name)
PyObject* h_set_formula(PyObject* o, PyObject* args) {
    PyObject *parts, *inputs, *saved_inputs, *saved_results, *saved_sizes;
    unsigned long long nondiff;
    const char* node_name;
    if (!PyArg_ParseTuple(args, "OOOOOKs:set_formula", &parts, &inputs, &saved_inputs, &saved_results, &saved_sizes,
                          &nondiff, &node_name))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Operator* op = op_of(o);
        auto ints = [](PyObject* seq) {
            std::vector<int> v;
            for (Py_ssize_t i = 0; i < PySequence_Size(seq); i++) {
                PyObject* item = item_at(seq, i);
                v.push_back(static_cast<int>(PyLong_AsLong(item)));
                Py_DECREF(item);
            }
            return v;
        };
        auto f = std::make_unique<Formula>();
        f->inputs = ints(inputs);
        f->saved_inputs = ints(saved_inputs);
        f->saved_results = ints(saved_results);
        f->saved_sizes = ints(saved_sizes);
        f->nondiff = nondiff;
        for (Py_ssize_t i = 0; i < PySequence_Size(parts); i++) {
            PyObject* p = item_at(parts, i);
            PyObject *part_inputs, *fn, *params;
            int tuple;
            if (!PyArg_ParseTuple(p, "OOOp", &part_inputs, &fn, &params, &tuple)) throw PythonError();
            FormulaPart part;
            part.inputs = ints(part_inputs);
            Py_INCREF(fn);
            part.fn = fn;
            part.tuple = tuple;
            for (Py_ssize_t k = 0; k < PySequence_Size(params); k++) {
                PyObject* q = item_at(params, k);
                int kind, index;
                if (!PyArg_ParseTuple(q, "ii", &kind, &index)) throw PythonError();
                Py_DECREF(q);
                // Inputs and results come as their place among what is saved.
                part.params.push_back({static_cast<FormulaArg::Kind>(kind), index});
            }
            f->parts.push_back(std::move(part));
            Py_DECREF(p);
        }
        f->read_for.assign(f->saved_inputs.size(), 0);
        for (const FormulaPart& part : f->parts)
            for (const FormulaArg& p : part.params)
                if (p.kind == FormulaArg::Input)
                    for (int i : part.inputs) f->read_for[static_cast<size_t>(p.index)] |= uint64_t(1) << i;
        op->formula = std::move(f);
        op->node_name = node_name;
        if (const NativeNodeName* named = find_node_name(op->name)) {
            check_signature(*named->signature, *op, op->name.c_str(), true);
            op->node_name_of = named->fn;
        }
        op->resolve();
        Py_RETURN_NONE;
    });
}
PyObject* h_set_return_type(PyObject* o, PyObject* type) {
    Py_INCREF(type);
    op_of(o)->return_type = reinterpret_cast<PyTypeObject*>(type);
    Py_RETURN_NONE;
}
// state(*, reads_elements=..., inplace_view=..., crosses_devices=..., underived=..., takes_numbers=..., unlisted=...,
// quiet_out=..., out_apart=..., written_twice=..., out_dtype=...)
PyObject* h_state(PyObject* o, PyObject* args, PyObject* kwargs) {
    Operator* op = op_of(o);
    int reads = op->reads_elements, view = op->inplace_view, crosses = op->crosses_devices, underived = op->underived;
    int numbers = op->takes_numbers, unlisted = op->unlisted, quiet = op->quiet_out;
    unsigned long long apart = op->out_apart;
    const char *written_twice = op->written_twice.c_str(), *out_dtype = op->out_dtype.c_str();
    static const char* names[] = {"reads_elements", "inplace_view", "crosses_devices", "underived",     "takes_numbers",
                                  "unlisted",       "quiet_out",    "out_apart",       "written_twice", "out_dtype",
                                  nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$pppppppKss:state", const_cast<char**>(names), &reads, &view,
                                     &crosses, &underived, &numbers, &unlisted, &quiet, &apart, &written_twice,
                                     &out_dtype))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        op->reads_elements = reads;
        op->inplace_view = view;
        op->crosses_devices = crosses;
        op->underived = underived;
        op->takes_numbers = numbers;
        op->unlisted = unlisted;
        op->quiet_out = quiet;
        op->out_apart = apart;
        op->written_twice = std::string(written_twice);
        op->out_dtype = std::string(out_dtype);
        op->resolve();
        Py_RETURN_NONE;
    });
}
PyObject* h_show_edges(PyObject* o, PyObject* args) {
    const char* node;
    PyObject* positions;
    if (!PyArg_ParseTuple(args, "sO!:show_edges", &node, &PyTuple_Type, &positions)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        std::vector<int> shown;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positions); i++) {
            long position = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
            if (position == -1 && PyErr_Occurred()) throw PythonError();
            shown.push_back(static_cast<int>(position));
        }
        op_of(o)->shown_edges[node] = std::move(shown);
        Py_RETURN_NONE;
    });
}
PyObject* h_excuse(PyObject* o, PyObject*) {
    op_of(o)->excused = true;
    op_of(o)->resolve();
    Py_RETURN_NONE;
}
PyObject* h_kernels(PyObject* o, PyObject*) {
    PyObject* d = PyDict_New();
    for (auto& [key, stack] : op_of(o)->registered) {
        const Kernel& k = stack.back();
        PyObject* v = k.fallthrough        ? PyUnicode_FromString("fallthrough")
                      : k.fn == run_python ? (Py_INCREF(k.python), k.python)
                                           : PyUnicode_FromString("native");
        PyDict_SetItemString(d, key_name(static_cast<Key>(key)), v);
        Py_DECREF(v);
    }
    return d;
}
PyObject* h_resolved(PyObject* o, PyObject* key) {
    return guarded<PyObject*>(nullptr, [&] {
        Key k = parse_key(utf8_of(key));
        const Operator* op = op_of(o);
        return PyBool_FromLong(static_cast<int>(k) < kKeyCount ? op->table[static_cast<int>(k)].fn != nullptr
                                                               : op->registered.count(static_cast<int>(k)) > 0);
    });
}
// Binds the call of one operator and lets `go` run it.
template <class F>
PyObject* call_bound(Operator* op, const CallInput& in, F go) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        KeptObjects kept;
        Arena arena;
        Call c;
        Value values[64];
        PyObject* source[64];
        c.op = op;
        c.args = values;
        c.source = source;
        c.arena = &arena;
        c.nargs = op->nargs;
        c.nrets = op->nrets;
        c.rets = static_cast<Value*>(arena.take(sizeof(Value) * static_cast<size_t>(op->nrets + 1)));
        std::fill_n(c.rets, op->nrets, Value());
        std::string why;
        if (!bind_operator(*op, in, c, why)) MT_THROW(Runtime, why);
        try {
            go(c);
        } catch (...) {
            release_results(c);
            throw;
        }
        return box_results(c);
    });
}
// redispatch(keyset bits, *args, **kwargs): the kernel of the highest of these keys.
PyObject* h_redispatch(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    if (n < 1 || !PyLong_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "redispatch(keys, *args): the first argument is the key set as an int");
        return nullptr;
    }
    KeySet keys(PyLong_AsUnsignedLongLongMask(args[0]));
    return call_bound(op_of(o), {args + 1, n - 1, kwnames}, [&](Call& c) { run(c, keys); });
}
// registration(key): the id of the kernel that answers the key now; 0 for one derived from the row.
PyObject* h_registration(PyObject* o, PyObject* key) {
    return guarded<PyObject*>(nullptr, [&] {
        const Operator* op = op_of(o);
        const Key k = parse_key(utf8_of(key));
        const Kernel* found = op->registered_kernel(k);
        if (!found && static_cast<int>(k) < kKeyCount) found = &op->table[static_cast<int>(k)];
        return PyLong_FromUnsignedLongLong(found ? found->id : 0);
    });
}
// is_registered(id): whether the registration has not ended.
PyObject* h_is_registered(PyObject* o, PyObject* id) {
    const unsigned long long number = PyLong_AsUnsignedLongLong(id);
    if (PyErr_Occurred()) return nullptr;
    return PyBool_FromLong(op_of(o)->kernel_of(number) != nullptr);
}
// call_kernel(id, keyset bits, *args, **kwargs): the kernel of one registration, even a covered one.
PyObject* h_call_kernel(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    if (n < 2 || !PyLong_Check(args[0]) || !PyLong_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "call_kernel(id, keys, *args): expected two ints");
        return nullptr;
    }
    const Kernel* found = op_of(o)->kernel_of(PyLong_AsUnsignedLongLongMask(args[0]));
    if (!found) {
        PyErr_SetString(PyExc_RuntimeError, "the registration of this kernel has ended");
        return nullptr;
    }
    const Kernel kernel = *found;  // it may end while it runs
    KeySet keys(PyLong_AsUnsignedLongLongMask(args[1]));
    Py_XINCREF(kernel.python);
    PyObject* r = call_bound(op_of(o), {args + 2, n - 2, kwnames}, [&](Call& c) {
        c.kernel = &kernel;
        c.keys = keys;
        kernel.fn(c);
    });
    Py_XDECREF(kernel.python);
    return r;
}
// call_fallback(key, *args, **kwargs): the fallback of a key for this operator, whatever kernel it has for that.
PyObject* h_call_fallback(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    const char* name = n < 1 ? nullptr : PyUnicode_AsUTF8(args[0]);
    const Key key = name ? key_from_name(name) : Key::Undefined;
    if (key == Key::Undefined) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "call_fallback(key, *args): expected a dispatch key");
        return nullptr;
    }
    const Kernel* found = Registry::get().fallback(key);
    if (!found || found->fallthrough) {
        PyErr_Format(PyExc_NotImplementedError, "%s: there is no kernel for the key %s, and no fallback of it",
                     op_of(o)->full_name.c_str(), name);
        return nullptr;
    }
    const Kernel kernel = *found;  // it may end while it runs
    Py_XINCREF(kernel.python);
    PyObject* r = call_bound(op_of(o), {args + 1, n - 1, kwnames}, [&](Call& c) {
        c.kernel = &kernel;
        c.keys = KeySet(key);
        kernel.fn(c);
    });
    Py_XDECREF(kernel.python);
    return r;
}
// below_autograd(*args, **kwargs): the operator as autograd's own kernels call it; nothing is recorded.
PyObject* h_below_autograd(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return call_bound(op_of(o), {args, n, kwnames}, [](Call& c) {
        ExcludeKeys below(kAutogradKeys);
        dispatch(c);
    });
}

PyObject* argument_dict(const Argument& a) {
    PyObject* d = PyDict_New();
    auto set = [&](const char* k, PyObject* v) {
        PyDict_SetItemString(d, k, v);
        Py_DECREF(v);
    };
    set("name", PyUnicode_FromString(a.name.c_str()));
    set("type", PyUnicode_FromString(a.type_text.c_str()));
    set("kwarg_only", PyBool_FromLong(a.keyword_only));
    set("has_default", PyBool_FromLong(a.has_default));
    set("alias", PyUnicode_FromString(a.alias.c_str()));
    set("is_write", PyBool_FromLong(a.writes));
    set("default", a.default_object ? (Py_INCREF(a.default_object), a.default_object) : (Py_INCREF(Py_None), Py_None));
    return d;
}
PyObject* h_arguments(PyObject* o, void*) {
    PyObject* l = PyList_New(0);
    for (const Argument& a : op_of(o)->schema.args) {
        if (is_rest(a)) continue;
        PyObject* d = argument_dict(a);
        PyList_Append(l, d);
        Py_DECREF(d);
    }
    return l;
}
PyObject* h_returns(PyObject* o, void*) {
    PyObject* l = PyList_New(0);
    for (const Argument& a : op_of(o)->schema.returns) {
        if (is_rest(a)) continue;
        PyObject* d = argument_dict(a);
        PyList_Append(l, d);
        Py_DECREF(d);
    }
    return l;
}
PyObject* h_name(PyObject* o, void*) { return PyUnicode_FromString(op_of(o)->name.c_str()); }
PyObject* h_ns(PyObject* o, void*) { return PyUnicode_FromString(op_of(o)->schema.ns.c_str()); }
PyObject* h_overload(PyObject* o, void*) { return PyUnicode_FromString(op_of(o)->schema.overload.c_str()); }
PyObject* h_schema_parts(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] { return schema_object(op_of(o)->schema); });
}
PyObject* h_schema(PyObject* o, void*) { return PyUnicode_FromString(op_of(o)->schema.text().c_str()); }
PyObject* h_sequence(PyObject* o, void*) { return PyLong_FromUnsignedLongLong(op_of(o)->sequence); }
// Overloads that ask for more tensors come first, of those the ones that ask for fewer numbers: a 0-dim tensor would
// pass for a number too.
PyObject* h_precedence(PyObject* o, void*) {
    long place = 0;
    for (const Argument& a : op_of(o)->schema.args) {
        if (a.keyword_only || a.optional) continue;
        if (a.kind == ArgKind::Tensor && !a.has_default) place -= 100;
        if (a.kind == ArgKind::Scalar) place += 1;
    }
    return PyLong_FromLong(place);
}
PyObject* h_form(PyObject* o, void*) {
    const char* forms[] = {"functional", "inplace", "out"};
    return PyUnicode_FromString(forms[static_cast<int>(op_of(o)->form)]);
}
PyObject* h_random(PyObject* o, void*) { return PyBool_FromLong(op_of(o)->random); }
int h_set_random(PyObject* o, PyObject* v, void*) {
    op_of(o)->random = v == Py_True;
    return 0;
}
PyObject* h_is_view(PyObject* o, void*) { return PyBool_FromLong(op_of(o)->is_view); }
PyObject* h_mutates(PyObject* o, void*) { return PyBool_FromLong(op_of(o)->mutates); }
PyObject* h_repr(PyObject* o) { return PyUnicode_FromFormat("<Operator %s>", op_of(o)->full_name.c_str()); }

PyObject* h_set_devices(PyObject* o, PyObject* args) {
    unsigned long long anywhere, on_host, numbers;
    if (!PyArg_ParseTuple(args, "KKK:set_devices", &anywhere, &on_host, &numbers)) return nullptr;
    Operator& op = *op_of(o);
    op.devices = {anywhere, on_host, numbers};
    // What is written has to lie where the kernel writes.
    for (size_t i = 0; i < op.schema.args.size(); i++)
        if (op.schema.args[i].writes) op.devices.numbers &= ~(uint64_t(1) << i);
    Py_RETURN_NONE;
}

PyMethodDef handle_methods[] = {
    {"impl", h_impl, METH_VARARGS,
     "impl(key, kernel) -> id: a callable, the name of a native kernel, or None for fallthrough; it covers what the "
     "key "
     "had. False if no such native kernel."},
    {"unimpl", h_unimpl, METH_VARARGS, "unimpl(key, id): end a registration; what it covered counts again."},
    {"set_devices", h_set_devices, METH_VARARGS,
     "set_devices(anywhere, on_host, numbers): the arguments, a bit each, that need not lie on the device of the "
     "others; "
     "on the CPU too; on the CPU too where they have no dimensions."},
    {"set_shape", h_set_shape, METH_VARARGS, nullptr},
    {"set_formula", h_set_formula, METH_VARARGS, nullptr},
    {"set_return_type", h_set_return_type, METH_O, nullptr},
    {"state", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(h_state)), METH_VARARGS | METH_KEYWORDS,
     "state(*, reads_elements, inplace_view, crosses_devices, underived, takes_numbers, unlisted, quiet_out, "
     "out_apart, written_twice, out_dtype): facts of the row, "
     "before its "
     "kernel is bound."},
    {"show_edges", h_show_edges, METH_VARARGS,
     "show_edges(node, positions): the arguments that next_functions of a node of this name (\"\": of any) lists, in "
     "order; -1 for a number of which PyTorch makes a tensor."},
    {"excuse", h_excuse, METH_NOARGS,
     "The operator's schema is PyTorch's and keeps quiet about a write or an alias: MINDTORCH_CHECK_MUTATION lets it "
     "be."},
    {"kernels", h_kernels, METH_NOARGS, "The kernels registered, by key."},
    {"has_kernel", h_resolved, METH_O, "has_kernel(key): whether a call that reaches this key finds a kernel."},
    {"redispatch", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(h_redispatch)), METH_FASTCALL | METH_KEYWORDS,
     nullptr},
    {"registration", h_registration, METH_O, nullptr},
    {"is_registered", h_is_registered, METH_O, nullptr},
    {"call_kernel", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(h_call_kernel)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"call_fallback", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(h_call_fallback)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"below_autograd", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(h_below_autograd)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__copy__", self_itself, METH_NOARGS, nullptr},
    {"__deepcopy__", self_itself, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef handle_getset[] = {{"name", h_name, nullptr, nullptr, nullptr},
                               {"namespace", h_ns, nullptr, nullptr, nullptr},
                               {"overload", h_overload, nullptr, nullptr, nullptr},
                               {"schema", h_schema, nullptr, nullptr, nullptr},
                               {"schema_parts", h_schema_parts, nullptr, "What _parse_schema gives for it.", nullptr},
                               {"sequence", h_sequence, nullptr, "Its place in the order of definition.", nullptr},
                               {"precedence", h_precedence, nullptr, "Its place among overloads.", nullptr},
                               {"form", h_form, nullptr, nullptr, nullptr},
                               {"random", h_random, h_set_random, "Whether it draws random numbers.", nullptr},
                               {"is_view", h_is_view, nullptr, nullptr, nullptr},
                               {"mutates", h_mutates, nullptr, nullptr, nullptr},
                               {"arguments", h_arguments, nullptr, nullptr, nullptr},
                               {"returns", h_returns, nullptr, nullptr, nullptr},
                               {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef handle_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(HandleObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(HandleObject, weakrefs), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(HandleObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot handle_slots[] = {SLOT(Py_tp_dealloc, handle_dealloc),
                              SLOT(Py_tp_repr, h_repr),
                              SLOT(Py_tp_call, PyVectorcall_Call),
                              SLOT(Py_tp_methods, handle_methods),
                              SLOT(Py_tp_getset, handle_getset),
                              SLOT(Py_tp_members, handle_members),
                              {0, nullptr}};
PyType_Spec handle_spec = {"mindtorch_v2._C.Operator", sizeof(HandleObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           handle_slots};

PyObject* handle_for(Operator* op) {
    if (op->handle) {
        Py_INCREF(op->handle);
        return op->handle;
    }
    HandleObject* h = reinterpret_cast<HandleObject*>(g_handle_type->tp_alloc(g_handle_type, 0));
    h->vectorcall = handle_call;
    h->op = op;
    op->handle = reinterpret_cast<PyObject*>(h);
    Py_INCREF(op->handle);
    return op->handle;
}

// ---- module functions ----

PyObject* py_define(PyObject*, PyObject* args) {
    const char *ns, *text;
    Py_ssize_t size;
    int user = 0;
    if (!PyArg_ParseTuple(args, "ss#|p:_define", &ns, &text, &size, &user)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        Schema s = parse_schema(std::string(text, static_cast<size_t>(size)));
        if (s.ns.empty()) s.ns = ns;
        Operator* op = Registry::get().define(std::move(s));
        op->user = user;
        op->resolve();
        return handle_for(op);
    });
}
std::vector<std::string> split(std::string_view words) {
    std::vector<std::string> each;
    for (size_t at = 0; (at = words.find_first_not_of(' ', at)) != std::string_view::npos;) {
        const size_t end = std::min(words.find(' ', at), words.size());
        each.emplace_back(words.substr(at, end - at));
        at = end;
    }
    return each;
}
// _define_form(operator, form, overload, names=""): the form of a functional operator that follows from its schema;
// "autogen" is an out= form as PyTorch generates it, `names` are those of the tensors to write.
PyObject* py_define_form(PyObject*, PyObject* args) {
    PyObject* o;
    const char *form, *overload, *words = "";
    if (!PyArg_ParseTuple(args, "O!ss|s:_define_form", g_handle_type, &o, &form, &overload, &words)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        const std::string word = form;
        const bool inplace = word == "inplace", generated = word == "autogen";
        MT_CHECK_VALUE(inplace || generated || word == "out", "a form is 'inplace', 'out' or 'autogen', not '", form,
                       "'");
        const Schema& functional = op_of(o)->schema;
        return handle_for(Registry::get().define(inplace ? inplace_schema(functional, overload)
                                                         : out_schema(functional, overload, generated, split(words))));
    });
}
// _set_fallback(key, callable, flags) -> id: a kernel for every operator without one; None for fallthrough.
PyObject* py_set_fallback(PyObject*, PyObject* args) {
    const char* key;
    PyObject* fn;
    unsigned int flags = 0;
    if (!PyArg_ParseTuple(args, "sO|I:_set_fallback", &key, &fn, &flags)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        return PyLong_FromUnsignedLongLong(Registry::get().set_fallback(parse_key(key), kernel_of(fn, flags)));
    });
}
// _erase_fallback(key, id): the fallback that it covered counts again.
PyObject* py_erase_fallback(PyObject*, PyObject* args) {
    const char* key;
    unsigned long long id;
    if (!PyArg_ParseTuple(args, "sK:_erase_fallback", &key, &id)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Registry::get().erase_fallback(parse_key(key), id);
        Py_RETURN_NONE;
    });
}
PyObject* py_key_names(PyObject*, PyObject*) {
    PyObject* names = PyList_New(0);
    for (int i = 0; i < 256; i++) {
        const char* name = key_name(static_cast<Key>(i));
        if (!name) continue;
        PyObject* item = Py_BuildValue("si", name, i);
        PyList_Append(names, item);
        Py_DECREF(item);
    }
    return names;
}
PyObject* py_find(PyObject*, PyObject* args) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        const char *name, *overload;
        if (!PyArg_ParseTuple(args, "ss:_find_operator", &name, &overload)) return nullptr;
        Operator* op = Registry::get().find(name, overload);
        if (!op) Py_RETURN_NONE;
        return handle_for(op);
    });
}
PyObject* py_erase(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Operator* op = operator_of(o);
        MT_CHECK_TYPE(op, "_erase_operator expects an operator");
        Registry::get().erase(op);
        Py_RETURN_NONE;
    });
}
PyObject* py_all(PyObject*, PyObject*) {
    return guarded<PyObject*>(nullptr, [] {
        read_late_operators();
        const std::vector<Operator*> all = Registry::get().all();
        PyObject* l = PyList_New(0);
        if (!l) throw PythonError();
        for (Operator* op : all) {
            PyObject* h = handle_for(op);
            const bool kept = h && PyList_Append(l, h) == 0;
            Py_XDECREF(h);
            if (!kept) {
                Py_DECREF(l);
                throw PythonError();
            }
        }
        return l;
    });
}
// _set_late_operators(reader): what defines the operators that were not defined before the first of them is asked for.
PyObject* py_set_late_operators(PyObject*, PyObject* reader) {
    set_late_operators(reader == Py_None ? nullptr : reader);
    Py_RETURN_NONE;
}
PyObject* py_set_key_handler(PyObject*, PyObject* args) {
    const char* name;
    PyObject* handler;
    if (!PyArg_ParseTuple(args, "sO:_set_key_handler", &name, &handler)) return nullptr;
    if (!set_key_handler(name, handler)) {
        PyErr_Format(PyExc_KeyError, "no key called '%s' is handled in Python", name);
        return nullptr;
    }
    Py_RETURN_NONE;
}
PyObject* py_set_engine_op(PyObject*, PyObject* args) {
    const char* name;
    PyObject* h;
    if (!PyArg_ParseTuple(args, "sO:_set_engine_op", &name, &h)) return nullptr;
    EngineOps& e = g_engine_ops;
    struct {
        const char* name;
        Operator** slot;
    } slots[] = {{"add", &e.add},
                 {"add_", &e.add_inplace},
                 {"as_strided", &e.as_strided},
                 {"clone", &e.clone},
                 {"copy_", &e.copy_inplace},
                 {"detach", &e.detach},
                 {"sum_to_size", &e.sum_to_size},
                 {"to_dtype", &e.to_dtype},
                 {"real", &e.real},
                 {"new_empty_strided", &e.new_empty_strided},
                 {"zero_", &e.zero_inplace},
                 {"zeros", &e.zeros},
                 {"_as_strided_backward", &e.as_strided_backward}};
    for (auto& s : slots)
        if (!std::strcmp(s.name, name)) {
            *s.slot = op_of(h);
            Py_RETURN_NONE;
        }
    PyErr_Format(PyExc_KeyError, "the engine uses no operator called '%s'", name);
    return nullptr;
}

PyObject* py_dispatch_keys(PyObject*, PyObject* o) {
    if (!tensor_check(o)) {
        PyErr_SetString(PyExc_TypeError, "expected a Tensor");
        return nullptr;
    }
    return PyLong_FromUnsignedLongLong(reinterpret_cast<Tensor*>(o)->keys.bits);
}
// _is_wrapped_number(tensor): whether it is a number of Python's that was given where an operator takes a tensor.
PyObject* py_is_wrapped_number(PyObject*, PyObject* o) {
    return PyBool_FromLong(tensor_check(o) && reinterpret_cast<Tensor*>(o)->is_wrapped_number());
}

// _is_wrapper(tensor): whether its class holds the data, as _make_wrapper_subclass makes it.
PyObject* py_is_wrapper(PyObject*, PyObject* o) {
    const Tensor* t = tensor_check(o) ? reinterpret_cast<Tensor*>(o) : nullptr;
    return PyBool_FromLong(t && t->autograd && t->autograd->no_data);
}

// _storage_numel(tensor): how many elements the memory has that it lies in; of one without memory of its own, how many
// it would need.
PyObject* py_storage_numel(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(tensor_check(o), "_storage_numel expects a Tensor");
        const Tensor& t = *reinterpret_cast<Tensor*>(o);
        settle(t);
        const int64_t size = t.itemsize();
        const size_t bytes =
            hides_data(t) ? storage_bytes_needed(t.sizes(), t.strides(), size, t.offset) : t.storage->nbytes;
        return PyLong_FromLongLong(static_cast<int64_t>(bytes) / size);
    });
}

// _alias_on_device(tensor, device): the same memory as a tensor of another device, for back ends whose memory the host
// sees too.
PyObject* py_alias_on_device(PyObject*, PyObject* args) {
    PyObject *o, *device;
    if (!PyArg_ParseTuple(args, "OO:_alias_on_device", &o, &device)) return nullptr;
    if (!tensor_check(o)) {
        PyErr_SetString(PyExc_TypeError, "_alias_on_device expects a Tensor");
        return nullptr;
    }
    return guarded<PyObject*>(nullptr, [&] {
        const Tensor& t = *reinterpret_cast<Tensor*>(o);
        Device d = device_from_python(device);
        before_write(t.storage);
        t.storage->retain();
        Storage* s = storage_wrap(t.storage->data, t.storage->nbytes, d, t.storage,
                                  [](void* context) { static_cast<Storage*>(context)->drop(); });
        TensorRef alias = from_storage(s, t.offset, t.sizes(), t.strides(), t.dtype);
        s->drop();
        return alias.release()->py();
    });
}
// The bit of a key in key sets; 0 for keys that no set holds.
PyObject* py_key_bit(PyObject*, PyObject* name) {
    return guarded<PyObject*>(nullptr, [&] {
        Key k = parse_key(utf8_of(name));
        return PyLong_FromUnsignedLongLong(static_cast<int>(k) < kKeyCount ? KeySet(k).bits : 0);
    });
}
PyObject* py_tls_keys(PyObject*, PyObject*) {
    return Py_BuildValue("KK", static_cast<unsigned long long>(g_thread.include.bits),
                         static_cast<unsigned long long>(g_thread.exclude.bits));
}
PyObject* py_set_tls_keys(PyObject*, PyObject* args) {
    unsigned long long include, exclude;
    if (!PyArg_ParseTuple(args, "KK:_set_tls_keys", &include, &exclude)) return nullptr;
    g_thread.include = KeySet(include);
    g_thread.exclude = KeySet(exclude);
    Py_RETURN_NONE;
}
PyObject* py_is_composing(PyObject*, PyObject*) { return PyBool_FromLong(g_composing); }
PyObject* py_set_composing(PyObject*, PyObject* inside) {
    PyObject* before = PyBool_FromLong(g_composing);
    g_composing = inside == Py_True;
    return before;
}
PyObject* py_has_native(PyObject*, PyObject* name) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        const NativeKernel* k = find_native_kernel(utf8_of(name));
        if (!k) Py_RETURN_NONE;
        return PyUnicode_FromString(k->structured ? "structured" : "direct");
    });
}

PyMethodDef functions[] = {
    {"_define", py_define, METH_VARARGS, "_define(namespace, schema, user=False) -> Operator"},
    {"_define_form", py_define_form, METH_VARARGS,
     "_define_form(operator, form, overload, names='') -> Operator: its in-place or out= form, or the "
     "out= form that PyTorch generates."},
    {"_set_fallback", py_set_fallback, METH_VARARGS, nullptr},
    {"_erase_fallback", py_erase_fallback, METH_VARARGS, nullptr},
    {"_key_names", py_key_names, METH_NOARGS, "Every dispatch key: (name, number)."},
    {"_find_operator", py_find, METH_VARARGS, nullptr},
    {"_erase_operator", py_erase, METH_O, nullptr},
    {"_all_operators", py_all, METH_NOARGS, nullptr},
    {"_set_late_operators", py_set_late_operators, METH_O,
     "_set_late_operators(reader): `reader()` defines the operators that wait for a question; or None."},
    {"_set_key_handler", py_set_key_handler, METH_VARARGS, nullptr},
    {"_set_engine_op", py_set_engine_op, METH_VARARGS, nullptr},
    {"_dispatch_key_bits", py_dispatch_keys, METH_O, nullptr},
    {"_is_wrapped_number", py_is_wrapped_number, METH_O, nullptr},
    {"_storage_numel", py_storage_numel, METH_O, nullptr},
    {"_is_wrapper", py_is_wrapper, METH_O, nullptr},
    {"_alias_on_device", py_alias_on_device, METH_VARARGS, nullptr},
    {"_key_bit", py_key_bit, METH_O, nullptr},
    {"_tls_keys", py_tls_keys, METH_NOARGS, nullptr},
    {"_set_tls_keys", py_set_tls_keys, METH_VARARGS, nullptr},
    {"_is_composing", py_is_composing, METH_NOARGS, "Whether calls are parts of an operator, or of a gradient."},
    {"_set_composing", py_set_composing, METH_O, "_set_composing(bool) -> bool: what it was."},
    {"_native_kernel", py_has_native, METH_O,
     "'structured', 'direct' or None: the kernel of that name in the CPU library."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

Operator* operator_of(PyObject* handle) { return Py_TYPE(handle) == g_handle_type ? op_of(handle) : nullptr; }

bool init_operator_types(PyObject* module) {
    g_handle_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&handle_spec));
    if (!g_handle_type) return false;
    PyModule_AddObjectRef(module, "Operator", reinterpret_cast<PyObject*>(g_handle_type));
    return PyModule_AddFunctions(module, functions) == 0 && init_function_types(module);
}

}  // namespace mt
