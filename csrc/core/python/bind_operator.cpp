// Binding of calls to operators, torch.ops.ns.name(...), with PyTorch's errors.
#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "../rest.h"
#include "bind_errors.h"
#include "operator_values.h"

namespace mt {
namespace {

std::string class_name(PyObject* o) {
    const char* name = Py_TYPE(o)->tp_name;
    const char* dot = std::strrchr(name, '.');
    return dot ? dot + 1 : name;
}

std::string shown(PyObject* o, PyObject* (*show)(PyObject*)) {
    PyObject* text = show(o);
    const char* s = text ? PyUnicode_AsUTF8(text) : nullptr;
    if (!s) PyErr_Clear();
    std::string result = s ? s : "<" + class_name(o) + " object that cannot be shown>";
    Py_XDECREF(text);
    return result;
}

std::string wrong_type(const Operator& op, int i, PyObject* o) {
    const Argument& a = op.schema.args[static_cast<size_t>(i)];
    std::string text =
        concat(op.schema.full_name(), "() Expected a value of type '", a.type->value_annotation(), "' for argument '",
               a.name, "' but instead found type '", class_name(o), "'.\nPosition: ", i,
               "\nValue: ", shown(o, PyObject_Repr), "\nDeclaration: ", op.schema.text());
    if (a.kind == ArgKind::Tensor)
        text += "\nCast error details: Unable to cast " + shown(o, PyObject_Str) + " to Tensor";
    if (Strict::on()) text += "\nMINDTORCH_STRICT_SCHEMA=1: nothing is converted.";
    if (a.kind == ArgKind::Scalar) text += "\nCast error details: Cannot cast " + shown(o, PyObject_Str) + " to number";
    return text;
}

std::string surplus_keyword(const Operator& op, const CallInput& in, int position) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(in.kwnames); k++) {
        PyObject* name = PyTuple_GET_ITEM(in.kwnames, k);
        bool known = false;
        for (int i = 0; i < op.nargs; i++) {
            const Argument& a = op.schema.args[static_cast<size_t>(i)];
            if (is_rest(a) || !same_name(name, a.name_object)) continue;
            if (i < position)
                return concat(op.schema.full_name(), "() argument '", a.name,
                              "' specified twice: by position and by keyword. Declaration: ", op.schema.text());
            known = true;
        }
        if (!known)
            return concat("Unknown keyword argument '", shown(name, PyObject_Str), "' for operator '",
                          op.schema.full_name(), "'. Schema: ", op.schema.text());
    }
    return "";
}

// Why a call does not fit, when MINDTORCH_STRICT_SCHEMA asks for the rule that it breaks; "" if the form of it does.
// PyTorch says of most of these how many arguments there were.
std::string broken_rule(const Operator& op, const CallInput& in) {
    const Schema& s = op.schema;
    const Py_ssize_t keywords = in.kwnames ? PyTuple_GET_SIZE(in.kwnames) : 0;
    const int named = op.nargs - has_rest(op);
    auto why = [&](auto... words) { return concat(s.full_name(), "() ", words..., ". Declaration: ", s.text()); };
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject* name = PyTuple_GET_ITEM(in.kwnames, k);
        int i = 0;
        while (i < named && !same_name(name, s.args[static_cast<size_t>(i)].name_object)) i++;
        if (i == named) return why("unexpected keyword '", shown(name, PyObject_Str), "'");
        if (i < s.positional && i < in.nargs)
            return why("argument '", s.args[static_cast<size_t>(i)].name,
                       "' specified twice: by position and by keyword");
    }
    if (in.nargs > s.positional && !has_rest(op)) {
        const Py_ssize_t surplus = in.nargs - s.positional;
        if (surplus <= named - s.positional)
            return why("keyword-only argument '", s.args[static_cast<size_t>(in.nargs - 1)].name,
                       "' passed as positional");
        return why("takes ", s.positional, " positional argument(s) but ", in.nargs, " was/were given");
    }
    for (int i = 0; i < named; i++) {
        const Argument& a = s.args[static_cast<size_t>(i)];
        if (a.has_default || (i < s.positional && i < in.nargs)) continue;
        bool given = false;
        for (Py_ssize_t k = 0; k < keywords; k++)
            given = given || same_name(PyTuple_GET_ITEM(in.kwnames, k), a.name_object);
        if (!given) return why("missing required argument '", a.name, "'");
    }
    return "";
}

PyObject* keyword(const CallInput& in, const Argument& a) {
    Py_ssize_t n = PyTuple_GET_SIZE(in.kwnames);
    for (Py_ssize_t k = 0; k < n; k++)
        if (PyTuple_GET_ITEM(in.kwnames, k) == a.name_object) return in.args[in.nargs + k];
    for (Py_ssize_t k = 0; k < n; k++)
        if (same_name(PyTuple_GET_ITEM(in.kwnames, k), a.name_object)) return in.args[in.nargs + k];
    return nullptr;
}

}  // namespace

PyObject* number_tensor(PyObject* o) {
    TensorRef t;
    int overflow = 0;
    if (PyBool_Check(o))
        t = wrapped_number(o == Py_True);
    else if (PyLong_Check(o))
        t = wrapped_number(static_cast<int64_t>(PyLong_AsLongLongAndOverflow(o, &overflow)));
    else if (PyFloat_Check(o))
        t = wrapped_number(PyFloat_AS_DOUBLE(o));
    else if (PyComplex_Check(o))
        t = wrapped_number(c128(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
    return t && !overflow ? t.release()->py() : nullptr;
}

bool bind_operator(const Operator& op, const CallInput& in, Call& c, std::string& why) {
    const Schema& s = op.schema;
    const Py_ssize_t keywords = in.kwnames ? PyTuple_GET_SIZE(in.kwnames) : 0, given = in.nargs;
    const bool rest = has_rest(op);
    const int named = op.nargs - rest;
    const Strict strict(op.user);
    if (__builtin_expect(Strict::on(), 0)) {
        why = broken_rule(op, in);
        if (!why.empty()) return false;
    }
    if (given + keywords > named && !rest) {
        why = concat(s.full_name(), "() expected at most ", op.nargs, " argument(s) but received ", given + keywords,
                     " argument(s). Declaration: ", s.text());
        return false;
    }
    Py_ssize_t used = 0;
    for (int i = 0; i < named; i++) {
        const Argument& a = s.args[static_cast<size_t>(i)];
        PyObject* o = nullptr;
        if (i < given && (!rest || i < s.positional)) {
            if (__builtin_expect(a.keyword_only, 0)) {
                why = concat(s.full_name(), "() takes ", s.positional, " positional argument(s) but ", given,
                             " was/were given.  Declaration: ", s.text());
                return false;
            }
            o = in.args[i];
        } else if (used < keywords && (o = keyword(in, a))) {
            used++;
        }
        if (!o) {
            if (__builtin_expect(!a.has_default, 0)) {
                why = concat(s.full_name(), "() is missing value for argument '", a.name, "'. Declaration: ", s.text());
                return false;
            }
            c.args[i] = a.default_value;
            c.source[i] = nullptr;
            continue;
        }
        if (__builtin_expect(!operator_value(o, a, c, &c.args[i]), 0)) {
            const bool numbers = a.kind == ArgKind::Tensor && (op.takes_numbers || s.ns == "prims") && !Strict::on();
            PyObject* number = numbers ? number_tensor(o) : nullptr;
            if (!number) {
                why = wrong_type(op, i, o);
                return false;
            }
            c.args[i] = Value::of(reinterpret_cast<Tensor*>(KeptObjects::keep(number)));
        }
        c.source[i] = o;
    }
    if (__builtin_expect(rest, 0)) {
        const Py_ssize_t first = std::min<Py_ssize_t>(given, s.positional);
        for (Py_ssize_t i = first; i < given && Strict::on(); i++)
            if (!has_type(in.args[i])) {
                why = concat(s.full_name(), "() argument ", i, " is of the type '", class_name(in.args[i]),
                             "', for which the schema language has none. Declaration: ", s.text());
                return false;
            }
        bind_rest(in.args + first, given - first, c);
    }
    if (used == keywords) return true;
    why = surplus_keyword(op, in, static_cast<int>(given));
    return false;
}

PyObject* call_operators(Operator* const* ops, size_t n, const CallInput& in) {
    try {
        KeptObjects kept;
        Arena arena;
        int widest = 0, results = 0;
        for (size_t i = 0; i < n; i++) {
            widest = std::max(widest, ops[i]->nargs);
            results = std::max(results, ops[i]->nrets);
        }
        Value* args = static_cast<Value*>(alloca(sizeof(Value) * static_cast<size_t>(widest + 1)));
        PyObject** source = static_cast<PyObject**>(alloca(sizeof(PyObject*) * static_cast<size_t>(widest + 1)));
        Value* rets = static_cast<Value*>(arena.take(sizeof(Value) * static_cast<size_t>(results + 1)));
        std::string reasons;
        for (size_t i = 0; i < n; i++) {
            Call c;
            c.op = ops[i];
            c.args = args;
            c.source = source;
            c.rets = rets;
            c.arena = &arena;
            c.nargs = ops[i]->nargs;
            c.nrets = ops[i]->nrets;
            std::string why;
            if (!bind_operator(*ops[i], in, c, why)) {
                if (n == 1) MT_THROW(Runtime, why);
                reasons += why + "\n\n";
                continue;
            }
            if (ops[i]->mutates) check_inference(c);
            std::fill_n(rets, c.nrets, Value());
            try {
                dispatch(c);
            } catch (...) {
                release_results(c);
                throw;
            }
            return box_results(c);
        }
        MT_THROW(Runtime, "Overloaded torch operator invoked from Python failed to match any schema:\n", reasons);
    } catch (...) {
        raise_to_python();
        return nullptr;
    }
}

}  // namespace mt
