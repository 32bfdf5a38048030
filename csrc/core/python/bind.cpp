#include "bind_errors.h"

#include <alloca.h>

#include <algorithm>

#include "../autograd.h"
#include "../generator.h"
#include "../gil.h"
#include "tensor_new.h"

namespace mt {

bool same_name(PyObject* a, PyObject* b) {
    return a == b || (PyUnicode_GET_LENGTH(a) == PyUnicode_GET_LENGTH(b) && PyUnicode_Compare(a, b) == 0);
}

void check_inference(const Call& c) {
    if (g_thread.inference_mode) return;
    for (int i = 0; i < c.nargs; i++) {
        if (!(c.op->schema.args[static_cast<size_t>(i)].writes && c.args[i].tag == Tag::Tensor &&
              c.args[i].t->flags & kInference))
            continue;
        if (c.op->form == Form::Out && g_thread.grad_mode) check_out_without_gradients(c);
        MT_THROW(Runtime,
                 "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get "
                 "a normal tensor before doing inplace "
                 "update.See https://github.com/pytorch/rfcs/pull/17 for more details.");
    }
}

namespace {

PyObject* g_input;  // interned names that stand for another one in torch.* functions
PyObject *g_axis, *g_dim, *g_keepdims, *g_keepdim, *g_self, *g_x, *g_x1, *g_x2, *g_other, *g_out, *g_pin_memory,
    *g_requires_grad, *g_names;

void init_names() {
    if (g_input) return;
    auto intern = [](const char* s) { return PyUnicode_InternFromString(s); };
    g_axis = intern("axis");
    g_dim = intern("dim");
    g_keepdims = intern("keepdims");
    g_keepdim = intern("keepdim");
    g_self = intern("self");
    g_x = intern("x");
    g_x1 = intern("x1");
    g_x2 = intern("x2");
    g_other = intern("other");
    g_out = intern("out");
    g_pin_memory = intern("pin_memory");
    g_requires_grad = intern("requires_grad");
    g_names = intern("names");
    g_input = intern("input");
}

bool names_argument(PyObject* given, const Argument& a) {
    if (same_name(given, a.name_object)) return true;
    PyObject* n = a.name_object;
    if (n == g_self) return same_name(given, g_input) || same_name(given, g_x) || same_name(given, g_x1);
    if (n == g_input) return same_name(given, g_self) || same_name(given, g_x);
    if (n == g_dim) return same_name(given, g_axis);
    if (n == g_keepdim) return same_name(given, g_keepdims);
    if (n == g_other) return same_name(given, g_x2);
    return false;
}

}  // namespace

bool bind(const Operator& op, const CallInput& in, Call& c, std::string* why) {
    const std::vector<Argument>& spec = op.schema.args;
    int n = op.nargs;
    Py_ssize_t given = in.nargs;
    Py_ssize_t keywords = in.kwnames ? PyTuple_GET_SIZE(in.kwnames) : 0;
    bool one_by_one = false;

    if (given > op.schema.positional) {
        // view(2, 3), permute(0, 1), zeros(2, 3): the trailing int[] may be spelled one by one.
        one_by_one = op.schema.positional > 0;
        if (one_by_one) {
            int last = op.schema.positional - 1;
            one_by_one = spec[static_cast<size_t>(last)].kind == ArgKind::IntList &&
                         spec[static_cast<size_t>(last)].list_size == 0 && last <= 1 &&
                         (last == 0 || spec[0].kind == ArgKind::Tensor);
        }
        if (!one_by_one) {
            if (why) *why = too_many_text(op, in);
            return false;
        }
    }

    int position = static_cast<int>(std::min<Py_ssize_t>(given, op.schema.positional));
    for (int i = 0; i < n; i++) {
        const Argument& a = spec[static_cast<size_t>(i)];
        PyObject* o = nullptr;
        if (i < position) {
            o = in.args[i];
            if (a.kind == ArgKind::IntList && a.list_size == 0 && i == op.schema.positional - 1 && i <= 1 &&
                (one_by_one || index_like(o) || tensor_check(o)) && !(PyTuple_Check(o) || PyList_Check(o))) {
                // one or several loose ints
                Py_ssize_t count = given - i;
                int64_t* out = static_cast<int64_t*>(c.arena->take(sizeof(int64_t) * static_cast<size_t>(count)));
                Py_ssize_t fitting = 0;
                while (fitting < count && unbox_size(in.args[i + fitting], &out[fitting], a, c)) fitting++;
                if (fitting > 0 && fitting < count) {
                    if (why) *why = unpack_text(op, i, fitting, in.args[i + fitting]);
                    return false;
                }
                if (fitting == count) {
                    c.args[i].tag = Tag::IntList;
                    c.args[i].ints = out;
                    c.args[i].len = static_cast<uint32_t>(count);
                    c.source[i] = o;
                    continue;
                }
            }
            if (one_by_one && i == position - 1 && given > position) {
                if (why) *why = too_many_text(op, in);
                return false;
            }
        } else if (keywords) {
            for (Py_ssize_t k = 0; k < keywords; k++) {
                if (names_argument(PyTuple_GET_ITEM(in.kwnames, k), a)) {
                    o = in.args[given + k];
                    break;
                }
            }
        }
        if (!o) {
            if (!a.has_default) {
                if (why) *why = missing_text(op, in, i);
                return false;
            }
            c.args[i] = a.literal.b && a.literal.kind == Literal::Int ? Value::of(int64_t(0)) : a.default_value;
            c.source[i] = nullptr;
            continue;
        }
        if (a.kind == ArgKind::Tensor && Py_TYPE(o) == tensor_type()) {
            c.args[i] = Value::of(reinterpret_cast<Tensor*>(o));
        } else if (!unbox(o, a, c, &c.args[i])) {
            if (why) *why = mismatch_text(op, in, i, i < position, o);
            return false;
        }
        c.source[i] = o;
    }

    // Every keyword must have been used by one argument that was not given by position.
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject* name = PyTuple_GET_ITEM(in.kwnames, k);
        bool used = false, twice = false;
        for (int i = 0; i < n && !used; i++) {
            if (!names_argument(name, spec[static_cast<size_t>(i)])) continue;
            used = true;
            twice = i < position;
        }
        if (used && !twice) continue;
        if (!used) {
            if (op.factory && same_name(name, g_requires_grad)) continue;
            if (same_name(name, g_out) && in.args[given + k] == Py_None) continue;
            if (same_name(name, g_names) && in.args[given + k] == Py_None) continue;
        }
        if (why) *why = keyword_text(op, name, twice);
        return false;
    }
    return true;
}

namespace {

bool has_keyword(const CallInput& in, PyObject* name, PyObject** value) {
    if (!in.kwnames) return false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(in.kwnames); k++)
        if (same_name(PyTuple_GET_ITEM(in.kwnames, k), name)) {
            *value = in.args[in.nargs + k];
            return true;
        }
    return false;
}

// out=(a, b) of an operator with several outputs: one keyword for each of them.
PyObject* call_with_out_tuple(const char* name, Operator* op, const CallInput& in, PyObject* out) {
    int nouts = op->nargs - op->out_index;
    if (PySequence_Fast_GET_SIZE(out) != nouts) {
        PyErr_Format(PyExc_TypeError, "%s(): argument 'out' must be tuple of %d Tensors", name, nouts);
        return nullptr;
    }
    std::vector<PyObject*> args(in.args, in.args + in.nargs);
    PyObject* names = PyList_New(0);
    Py_ssize_t keywords = PyTuple_GET_SIZE(in.kwnames);
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject* n = PyTuple_GET_ITEM(in.kwnames, k);
        if (same_name(n, g_out)) continue;
        PyList_Append(names, n);
        args.push_back(in.args[in.nargs + k]);
    }
    PyObject* items = PyTuple_New(nouts);  // what `out` holds, whatever a subclass says of itself
    for (int i = 0; i < nouts; i++) {
        PyList_Append(names, op->schema.args[static_cast<size_t>(op->out_index + i)].name_object);
        PyTuple_SET_ITEM(items, i, Py_NewRef(PySequence_Fast_GET_ITEM(out, i)));
        args.push_back(PyTuple_GET_ITEM(items, i));
    }
    PyObject* kwnames = PyList_AsTuple(names);
    Py_DECREF(names);
    CallInput again{args.data(), in.nargs, kwnames};
    PyObject* r = call_overloads(name, &op, 1, again);
    Py_DECREF(kwnames);
    Py_DECREF(items);
    return r;
}

PyObject* g_deprecated_forms;

// The result of a call whose arguments are in an order that PyTorch has given up but takes, or NotImplemented.
PyObject* deprecated_form(const char* name, const CallInput& in) {
    PyObject* said = PyUnicode_FromString(name);
    if (!said) return nullptr;
    std::vector<PyObject*> args{said, in.method ? Py_True : Py_False};
    args.insert(args.end(), in.args, in.args + in.nargs + (in.kwnames ? PyTuple_GET_SIZE(in.kwnames) : 0));
    PyObject* r = call_python(g_deprecated_forms, args.data(), static_cast<size_t>(in.nargs) + 2, in.kwnames);
    Py_DECREF(said);
    return r;
}

// Whether an operator gives nothing and writes to its first argument alone, a list: a function of torch hands that
// back.
bool writes_first_list(const Operator& op) {
    if (op.nrets || !op.nargs || !op.schema.args[0].writes || op.schema.args[0].kind != ArgKind::TensorList)
        return false;
    return std::none_of(op.schema.args.begin() + 1, op.schema.args.end(), [](const Argument& a) { return a.writes; });
}

Call call_of(Operator* op, Value* args, PyObject** source, Arena& arena) {
    Call c;
    c.op = op;
    c.args = args;
    c.source = source;
    c.arena = &arena;
    c.nargs = op->nargs;
    c.nrets = op->nrets;
    return c;
}

}  // namespace

PyObject* set_deprecated_forms(PyObject*, PyObject* handler) {
    Py_XSETREF(g_deprecated_forms, Py_NewRef(handler));
    Py_RETURN_NONE;
}

PyObject* call_overloads(const char* name, Operator* const* ops, size_t n, const CallInput& in) {
    init_names();
    try {
        PyObject* out = nullptr;
        bool wants_out = has_keyword(in, g_out, &out) && out != Py_None;
        bool outs_by_name = !wants_out && n == 1 && ops[0]->form == Form::Out;  // out=(a, b), taken apart
        int widest = 0;
        for (size_t i = 0; i < n; i++) widest = std::max(widest, ops[i]->nargs);
        Value* args = static_cast<Value*>(alloca(sizeof(Value) * static_cast<size_t>(widest + 1)));
        PyObject** source = static_cast<PyObject**>(alloca(sizeof(PyObject*) * static_cast<size_t>(widest + 1)));
        Arena arena;
        for (size_t i = 0; i < n; i++) {
            Operator* op = ops[i];
            {
                bool out_form = op->form == Form::Out;
                if (out_form != (wants_out || outs_by_name)) continue;
                if (wants_out && (PyTuple_Check(out) || PyList_Check(out)) && op->nargs - op->out_index > 0 &&
                    out_form) {
                    bool is_list_argument =
                        op->schema.args[static_cast<size_t>(op->out_index)].kind == ArgKind::TensorList;
                    if (!is_list_argument) {
                        if (n > 1) {
                            // Only one overload may fit the remaining arguments: ask each quietly.
                            PyObject* r = call_with_out_tuple(name, op, in, out);
                            if (r || !PyErr_ExceptionMatches(PyExc_TypeError)) return r;
                            PyErr_Clear();
                            continue;
                        }
                        return call_with_out_tuple(name, op, in, out);
                    }
                }
            }
            Call c = call_of(op, args, source, arena);
            if (!bind(*op, in, c, nullptr)) continue;
            if (op->mutates) check_inference(c);
            PyObject* wanted = nullptr;
            const bool wants_grad = op->factory && has_keyword(in, g_requires_grad, &wanted) && wanted != Py_None &&
                                    unbox_bool(wanted, name, "requires_grad");
            c.rets = static_cast<Value*>(arena.take(sizeof(Value) * static_cast<size_t>(op->nrets)));
            std::fill_n(c.rets, op->nrets, Value());
            try {
                dispatch(c);
            } catch (...) {
                release_results(c);
                throw;
            }
            PyObject* r = box_results(c);
            if (r == Py_None && in.nargs && writes_first_list(*op)) {
                Py_DECREF(r);
                return Py_NewRef(in.args[0]);
            }
            // torch.split(...) and the like give tuples; torch.ops.aten.split gives a list.
            if (r && PyList_CheckExact(r)) Py_SETREF(r, PyList_AsTuple(r));
            if (op->factory && in.kwnames && r) {
                if (has_keyword(in, g_pin_memory, &wanted) && wanted == Py_True && !(r = pinned_when_made(r)))
                    return nullptr;
                if (wants_grad) {
                    Tensor& made = as_tensor(r);
                    try {
                        check_can_require_grad(made.dtype);
                    } catch (...) {
                        Py_DECREF(r);
                        throw;
                    }
                    autograd_of(made).requires_grad = true;
                }
            }
            return r;
        }
        if (g_deprecated_forms) {
            PyObject* r = deprecated_form(name, in);
            if (r != Py_NotImplemented) return r;
            Py_DECREF(r);
        }
        throw_no_overload(name, ops, n, in, wants_out || outs_by_name, [&](Operator* op) {
            Call c = call_of(op, args, source, arena);
            std::string text;
            mt::bind(*op, in, c, &text);
            return text;
        });
    } catch (...) {
        raise_to_python();
        return nullptr;
    }
}

}  // namespace mt
