// Calls handed to Python with the operator itself: boxed on the way in, checked and unboxed on the way out.
#include "python_keys.h"

#include <cstring>

#include "above.h"
#include "autograd.h"
#include "python/box.h"
#include "python/custom_function.h"
#include "rest.h"

namespace mt {
namespace {

PyObject* g_handlers[kKeyHandlers] = {};
const char* const kNames[kKeyHandlers] = {"Python", "Batched", "Functionalize", "ForwardMode", "Tracer"};

// Lists of numbers arrive as lists.
PyObject* as_written(const Call& c, int i) {
    PyObject* o = box_argument(c, i);
    Tag tag = c.args[i].tag;
    if (o && PyTuple_Check(o) && (tag == Tag::IntList || tag == Tag::DoubleList || tag == Tag::BoolList))
        Py_SETREF(o, PySequence_List(o));
    if (!o) throw PythonError();
    return o;
}
// Arguments as a user would write them: trailing defaults and keyword-only defaults are left out.
void box_call(const Call& c, PyObject** args, PyObject** kwargs) {
    const Schema& s = c.op->schema;
    int positional = s.positional;
    while (positional > 0) {
        if (!left_out(c, positional - 1)) break;
        positional--;
    }
    const bool rest = has_rest(*c.op);
    *args = made(PyTuple_New(positional));
    for (int i = 0; i < positional; i++) PyTuple_SET_ITEM(*args, i, as_written(c, i));
    if (rest) {
        PyObject* more = rest_of(c);
        Py_SETREF(*args, PySequence_Concat(*args, more));
        Py_DECREF(more);
        if (!*args) throw PythonError();
    }
    *kwargs = made(PyDict_New());
    for (int i = s.positional; i < c.nargs - rest; i++) {
        const Argument& a = s.args[static_cast<size_t>(i)];
        if (left_out(c, i)) continue;
        PyObject* o = as_written(c, i);
        PyDict_SetItem(*kwargs, a.name_object, o);
        Py_DECREF(o);
    }
}

// Takes the reference.
void take_result(Value& v, PyObject* o, const Argument& spec, const Operator& op) {
    bool list = spec.kind == ArgKind::TensorList || spec.kind == ArgKind::OptionalTensorList;
    if (list && PyTuple_Check(o)) {
        PyObject* l = PySequence_List(o);
        Py_DECREF(o);
        if (!l) throw PythonError();
        o = l;
    }
    unbox_result(v, o, spec, op);
}

}  // namespace

bool set_key_handler(const char* name, PyObject* handler) {
    for (int i = 0; i < kKeyHandlers; i++) {
        if (std::strcmp(kNames[i], name) != 0) continue;
        Py_INCREF(handler);
        Py_XSETREF(g_handlers[i], handler);
        return true;
    }
    return false;
}

bool call_key_handler(Call& c, KeyHandler which) {
    PyObject* handler = g_handlers[static_cast<int>(which)];
    MT_CHECK_AS(NotImplemented, handler && c.op->handle, c.op->full_name, ": nothing handles the key ",
                kNames[static_cast<int>(which)]);
    PyObject *args, *kwargs;
    box_call(c, &args, &kwargs);
    PyObject* r = call_python(handler, c.op->handle, args, kwargs);
    Py_DECREF(args);
    Py_DECREF(kwargs);
    if (!r) throw PythonError();
    if (r == Py_NotImplemented) {
        Py_DECREF(r);
        return false;
    }
    const Schema& s = c.op->schema;
    if (gives_rest(*c.op)) {
        take_with_rest(c, r);
        return true;
    }
    if (c.nrets == 0) {
        Py_DECREF(r);
        return true;
    }
    if (c.nrets == 1) {
        take_result(c.rets[0], r, s.returns[0], *c.op);
        return true;
    }
    bool sequence = PyTuple_Check(r) || PyList_Check(r);
    Py_ssize_t count = sequence ? PySequence_Fast_GET_SIZE(r) : 1;
    if (!sequence || count != c.nrets) {
        Py_DECREF(r);
        MT_THROW(Runtime, c.op->full_name, " has ", c.nrets, " results by its schema; a handler returned ", count);
    }
    try {
        for (int i = 0; i < c.nrets; i++) {
            PyObject* o = PySequence_Fast_GET_ITEM(r, i);
            Py_INCREF(o);
            take_result(c.rets[i], o, s.returns[static_cast<size_t>(i)], *c.op);
        }
    } catch (...) {
        Py_DECREF(r);
        throw;
    }
    Py_DECREF(r);
    return true;
}

void call_forward_handler(Call& c) {
    PyObject* handler = g_handlers[static_cast<int>(KeyHandler::ForwardMode)];
    MT_CHECK_AS(NotImplemented, handler && c.op->handle, c.op->full_name, ": forward mode is not set up");
    PyObject *args, *kwargs;
    box_call(c, &args, &kwargs);
    PyObject* results = made(PyTuple_New(c.nrets));
    for (int i = 0; i < c.nrets; i++) PyTuple_SET_ITEM(results, i, box(c.rets[i]));
    PyObject* r = call_python(handler, c.op->handle, args, kwargs, results);
    Py_DECREF(args);
    Py_DECREF(kwargs);
    Py_DECREF(results);
    if (!r) throw PythonError();
    Py_DECREF(r);
}

bool watched_by_python(const Tensor* t) {
    KeySet keys = t ? t->keys | g_thread.include : g_thread.include;
    return keys.has(Key::Python) && !g_thread.exclude.has(Key::Python);
}

TensorRef detached_alias(Tensor& t) {
    if (__builtin_expect(!watched_by_python(&t), 1)) return shallow_alias(t);
    ExcludeKeys below(kAutogradKeys | Key::ADInplaceOrView);
    return call_tensor(g_engine_ops.detach, {Value::of(&t)});
}

namespace {
void answered(Call& c, KeyHandler which) {
    MT_CHECK_AS(NotImplemented, call_key_handler(c, which), c.op->full_name, ": the handler of the key ",
                kNames[static_cast<int>(which)], " returned NotImplemented");
}

template <class F>
void for_each_tensor(Call& c, F f) {
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        const Value& v = c.args[__builtin_ctzll(m)];
        if (v.tag == Tag::Tensor) f(*v.t);
        if (v.tag == Tag::TensorList)
            for (uint32_t i = 0; i < v.len; i++)
                if (v.tensors[i]) f(*v.tensors[i]);
    }
}
}  // namespace

// Few programs need the key: its handler is loaded by the first call.
void run_functionalize(Call& c) {
    if (!g_handlers[static_cast<int>(KeyHandler::Functionalize)]) {
        PyObject* done = call_above("load_functionalization");
        if (!done) throw PythonError();
        Py_DECREF(done);
    }
    answered(c, KeyHandler::Functionalize);
}

void run_python_key(Call& c) { answered(c, KeyHandler::Python); }

// Python puts the call off, or it is run now. What is recorded in other ways is not put off besides.
void run_tracer(Call& c) {
    const KeySet others = KeySet(Key::Python) | Key::Functionalize | Key::Batched;
    const bool below_autograd = !g_thread.inference_mode && !(g_thread.exclude & kAutogradKeys).empty();
    const bool elsewhere = g_thread.transforms || !g_forward_levels.empty() || !g_saved_hooks.empty() ||
                           below_autograd || !(g_thread.include & others).empty();
    if (g_thread.exclude.has(Key::Tracer) || (elsewhere && !tracer_takes_all())) {
        settle_all();
        for_each_tensor(c, [](Tensor& t) {
            settle_pending(t);
            MT_CHECK(!t.keys.has(Key::Tracer), "a tensor is used whose value is being computed");
        });
    } else if (call_key_handler(c, KeyHandler::Tracer)) {
        return;
    }
    ExcludeKeys now(Key::Tracer);
    dispatch(c);
}

void run_batched(Call& c) {
    bool batched = c.op->random;
    for (uint64_t m = c.op->tensor_args; m && !batched; m &= m - 1) {
        const Value& v = c.args[__builtin_ctzll(m)];
        if (v.tag == Tag::Tensor) batched = v.t->keys.has(Key::Batched);
        if (v.tag == Tag::TensorList)
            for (uint32_t i = 0; i < v.len && !batched; i++)
                batched = v.tensors[i] && v.tensors[i]->keys.has(Key::Batched);
    }
    if (batched) {
        answered(c, KeyHandler::Batched);
    } else {
        run(c, c.keys - Key::Batched);  // within vmap, but nothing here is mapped over
    }
}

}  // namespace mt
