// Kernels written in Python: how they are called, and what becomes of their results.
#include <algorithm>

#include "autograd.h"
#include "gil.h"
#include "python/box.h"
#include "registry.h"
#include "rest.h"

namespace mt {
namespace {

// Whether a call has to be recorded: some tensor argument takes part in a graph.
bool records(const Call& c) {
    if (!g_thread.grad_mode) return false;
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        const Value& v = c.args[__builtin_ctzll(m)];
        if (v.tag == Tag::Tensor) {
            if (requires_grad(*v.t)) return true;
        } else if (v.tag == Tag::TensorList) {
            for (uint32_t i = 0; i < v.len; i++)
                if (v.tensors[i] && requires_grad(*v.tensors[i])) return true;
        }
    }
    return false;
}

bool same_value(const Value& a, const Value& b) {
    if (a.tag != b.tag) return a.is_scalar() && b.is_scalar() && a.as_complex() == b.as_complex();
    switch (a.tag) {
        case Tag::None:
            return true;
        case Tag::Bool:
        case Tag::Int:
        case Tag::Double:
        case Tag::Complex:
            return a.as_complex() == b.as_complex();
        case Tag::Str:
            return std::string_view(a.str, a.len) == std::string_view(b.str, b.len);
        case Tag::IntList:
            return a.len == b.len && std::equal(a.ints, a.ints + a.len, b.ints);
        case Tag::DoubleList:
            return a.len == b.len && std::equal(a.doubles, a.doubles + a.len, b.doubles);
        case Tag::BoolList:
            return a.len == b.len && std::equal(a.bools, a.bools + a.len, b.bools);
        case Tag::DType:
            return a.dtype == b.dtype;
        case Tag::Layout:
        case Tag::MemoryFormat:
            return a.i == b.i;
        case Tag::Device:
            return a.device.type == b.device.type && a.device.index == b.device.index;
        default:
            return false;
    }
}

// Whether argument i is what the schema gives anyway: PyTorch leaves it out of the call of a Python kernel. Arguments
// that C++ gives have no object to come from.
bool is_default(const Call& c, int i) {
    const Argument& a = c.op->schema.args[static_cast<size_t>(i)];
    if (!a.has_default) return false;
    return (!c.source[i] || c.op->user) && same_value(c.args[i], a.default_value);
}

template <class F>
void for_each_tensor(const Value& v, F f) {
    if (v.tag == Tag::Tensor) {
        f(v.t);
    } else if (v.tag == Tag::TensorList) {
        for (uint32_t i = 0; i < v.len; i++)
            if (v.tensors[i]) f(v.tensors[i]);
    } else if (v.tag == Tag::Object && PyList_Check(v.obj)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(v.obj); i++)
            if (tensor_check(PyList_GET_ITEM(v.obj, i))) f(reinterpret_cast<Tensor*>(PyList_GET_ITEM(v.obj, i)));
    }
}

// Results that share memory with arguments or each other would be silently wrong in a graph.
void check_results_are_new(const Call& c, PyObject* kernel) {
    SmallVector<const Storage*, 16> seen;
    for (int i = 0; i < c.nargs; i++) for_each_tensor(c.args[i], [&](const Tensor* t) { seen.push_back(t->storage); });
    for (int i = 0; i < c.nrets; i++) {
        if (c.op->schema.returns[static_cast<size_t>(i)].alias_info.present) continue;
        for_each_tensor(c.rets[i], [&](const Tensor* t) {
            for (const Storage* s : seen) {
                if (s != t->storage) continue;
                PyObject* module = PyObject_GetAttrString(kernel, "__module__");
                if (!module) PyErr_Clear();
                std::string where =
                    module && PyUnicode_Check(module) && PyUnicode_AsUTF8(module) ? PyUnicode_AsUTF8(module) : "???";
                PyErr_Clear();
                Py_XDECREF(module);
                MT_THROW(Runtime, c.op->name, " (with implementation in ", where,
                         "): The output of this custom operator (1) must not also be an input to this custom operator "
                         "and (2) may not alias any inputs to this custom operator or other returns. The most common "
                         "way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. "
                         "Please instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or "
                         "refactor the custom operator to not return y.");
            }
            seen.push_back(t->storage);
        });
    }
}

void take_results(Call& c, PyObject* r) {
    const Operator& op = *c.op;
    if (gives_rest(op)) {
        take_with_rest(c, r);
        return;
    }
    if (c.nrets == 0) {
        bool none = r == Py_None;
        Py_DECREF(r);
        MT_CHECK(none, "Expected PythonKernelHolder for ", op.full_name,
                 " to return None but it returned something else instead.");
        return;
    }
    if (c.nrets == 1) {
        unbox_result(c.rets[0], r, op.schema.returns[0], op);
        return;
    }
    PyObject* seq = PyTuple_Check(r) || PyList_Check(r) ? PySequence_Fast(r, "") : nullptr;
    std::string type = Py_TYPE(r)->tp_name;
    Py_DECREF(r);
    MT_CHECK_TYPE(seq, "Object of type '", type, "' is not an instance of 'sequence': ", op.full_name,
                  " must return a tuple of ", c.nrets, " values, as its schema says: ", op.schema.text());
    if (PySequence_Fast_GET_SIZE(seq) != c.nrets) {
        Py_ssize_t given = PySequence_Fast_GET_SIZE(seq);
        Py_DECREF(seq);
        MT_THROW(Runtime, op.full_name, " must return ", c.nrets, " values, as its schema says, but returned ", given,
                 ". Schema: ", op.schema.text());
    }
    try {
        for (int i = 0; i < c.nrets; i++)
            unbox_result(c.rets[i], Py_NewRef(PySequence_Fast_GET_ITEM(seq, i)),
                         op.schema.returns[static_cast<size_t>(i)], op);
    } catch (...) {
        Py_DECREF(seq);
        throw;
    }
    Py_DECREF(seq);
}

// References that a call of Python holds until it is over.
struct Stack {
    SmallVector<PyObject*, 66> items;
    PyObject* kwnames = nullptr;
    void push(PyObject* o) {
        if (!o) throw PythonError();
        items.push_back(o);
    }
    ~Stack() {
        for (PyObject* o : items) Py_DECREF(o);
        Py_XDECREF(kwnames);
    }
};

}  // namespace

void run_python(Call& c) {
    const Operator& op = *c.op;
    const Schema& s = op.schema;
    const uint32_t flags = c.kernel->flags;
    if (flags & kOnlyRecording && !records(c)) {
        ExcludeKeys below(kAutogradKeys);
        run(c, c.keys & kBelowAutograd);
        return;
    }
    // An operator of our own in Python reads its tensors as they come; a user's kernel may take None for one.
    if (!op.user && !(flags & kTakesOperator))
        for (int i = 0; i < c.nargs; i++) {
            const Argument& a = s.args[static_cast<size_t>(i)];
            if (a.kind == ArgKind::Tensor && !a.optional && c.is_none(i)) c.missing_tensor(i);
        }
    Stack stack;
    if (flags & kTakesOperator) stack.push(Py_NewRef(op.handle ? op.handle : Py_None));
    if (flags & kTakesKeys) stack.push(PyLong_FromUnsignedLongLong(c.keys.bits));
    int positional = s.positional;
    const bool rest = has_rest(op);
    while (positional > 0 && is_default(c, positional - 1)) positional--;
    for (int i = 0; i < c.nargs && i < positional; i++) {
        if (s.args[static_cast<size_t>(i)].keyword_only) break;
        stack.push(box_argument(c, i));
    }
    if (rest) {
        PyObject* more = rest_of(c);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(more); i++) stack.push(Py_NewRef(PyTuple_GET_ITEM(more, i)));
        Py_DECREF(more);
    }
    const size_t given = stack.items.size();
    const int named = c.nargs - rest;
    int keywords = 0;
    for (int i = s.positional; i < named; i++) keywords += !is_default(c, i);
    if (keywords) {
        stack.kwnames = PyTuple_New(keywords);
        int k = 0;
        for (int i = s.positional; i < named; i++) {
            if (is_default(c, i)) continue;
            PyTuple_SET_ITEM(stack.kwnames, k++, Py_NewRef(s.args[static_cast<size_t>(i)].name_object));
            stack.push(box_argument(c, i));
        }
    }
    // The kernel may be replaced while it runs.
    PyObject* kernel = Py_NewRef(c.kernel->python);
    PyObject* r = call_python(kernel, stack.items.data(), given, stack.kwnames);
    try {
        if (!r) throw PythonError();
        take_results(c, r);
        if (flags & kResultsAreNew) check_results_are_new(c, kernel);
    } catch (...) {
        Py_DECREF(kernel);
        throw;
    }
    Py_DECREF(kernel);
}

void release_results(Call& c) {
    for (int i = 0; i < c.nrets; i++) {
        if (c.rets[i].tag == Tag::Tensor) Py_DECREF(c.rets[i].t->py());
        if (c.rets[i].tag == Tag::Object) Py_DECREF(c.rets[i].obj);
        c.rets[i] = Value();
    }
}

}  // namespace mt
