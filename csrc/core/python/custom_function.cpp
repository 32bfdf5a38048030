// torch.autograd.Function: apply, the context, and the way back through the user's backward.
#include "custom_function.h"

#include "../composing.h"
#include "../gil.h"
#include "operator_call.h"
#include "types.h"

namespace mt {
namespace {

PyTypeObject* g_function_type = nullptr;
// What a Function has that overrides nothing, to tell what was overridden.
PyObject *g_default_backward = nullptr, *g_default_vjp = nullptr, *g_default_setup = nullptr;
PyObject* g_transformed = nullptr;  // callable(cls, args, kwargs): apply under vmap, forward mode or a transform
struct Names {
    PyObject *backward, *vjp, *forward, *setup_context, *backward_cls, *forward_cls, *clear_on_access, *boxed;
} g_names;

FunctionNode* as_function(PyObject* o) { return static_cast<FunctionNode*>(reinterpret_cast<Node*>(o)); }

class Ref {
  public:
    explicit Ref(PyObject* o) : o_(o) {
        if (!o) throw PythonError();
    }
    Ref(const Ref&) = delete;
    Ref& operator=(const Ref&) = delete;
    ~Ref() { Py_XDECREF(o_); }
    PyObject* get() const { return o_; }
    PyObject* release() { return std::exchange(o_, nullptr); }

  private:
    PyObject* o_;
};

struct GradModeOff {
    bool before = std::exchange(g_thread.grad_mode, false);
    ~GradModeOff() { g_thread.grad_mode = before; }
};

bool contains(PyObject* tuple, PyObject* o) {
    if (!tuple || !PyTuple_Check(tuple)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
        if (PyTuple_GET_ITEM(tuple, i) == o) return true;
    return false;
}

// ---- backward ----

// The user's backward or vjp: whichever the class overrides.
PyObject* user_backward(FunctionNode* n) {
    Ref cls(PyObject_GetAttr(reinterpret_cast<PyObject*>(n), g_names.forward_cls));
    Ref backward(PyObject_GetAttr(cls.get(), g_names.backward));
    Ref vjp(PyObject_GetAttr(cls.get(), g_names.vjp));
    bool has_vjp = vjp.get() != g_default_vjp;
    MT_CHECK(!has_vjp || backward.get() == g_default_backward,
             "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement "
             "one of them.");
    return has_vjp ? vjp.release() : backward.release();
}

bool boxed_gradients(FunctionNode* n) {
    Ref cls(PyObject_GetAttr(reinterpret_cast<PyObject*>(n), g_names.forward_cls));
    Ref boxed(PyObject_GetAttr(cls.get(), g_names.boxed));
    return boxed.get() == Py_True;
}

void function_backward(Node* node, Gradients& grads, Gradients& out) {
    FunctionNode* n = static_cast<FunctionNode*>(node);
    const char* name = Py_TYPE(n)->tp_name;
    for (size_t i = 0; i < grads.size() && i < static_cast<size_t>(n->noutputs); i++)
        if (!grads[i] && !n->keep_absent_grads && n->metas[i].dtype != DType::Undefined)
            grads[i] = engine_zeros(n->metas[i]);
    size_t given = static_cast<size_t>(n->noutputs);
    Ref fn(user_backward(n));
    std::vector<PyObject*> stack(given + 1);
    stack[0] = reinterpret_cast<PyObject*>(n);
    for (size_t i = 0; i < given; i++) stack[i + 1] = i < grads.size() && grads[i] ? grads[i]->py() : Py_None;
    PyObject* returned;
    ProgramsOwn own;
    if (boxed_gradients(n)) {
        Ref list(PyList_New(static_cast<Py_ssize_t>(given)));
        for (size_t i = 0; i < given; i++) {
            Py_INCREF(stack[i + 1]);
            PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), stack[i + 1]);
        }
        grads.clear();  // the list alone holds them: backward may free each as soon as it has used it
        returned = call_python(fn.get(), stack[0], list.get());
    } else {
        returned = call_python(fn.get(), stack.data(), given + 1);
    }
    if (!returned) throw PythonError();
    Ref result(PyTuple_Check(returned) ? returned : PyTuple_Pack(1, returned));
    if (!PyTuple_Check(returned)) Py_DECREF(returned);
    Py_ssize_t count = PyTuple_GET_SIZE(result.get()), expected = n->ninputs;
    bool surplus_is_none = true;
    for (Py_ssize_t i = expected; i < count; i++)
        surplus_is_none = surplus_is_none && PyTuple_GET_ITEM(result.get(), i) == Py_None;
    if (count > expected && surplus_is_none) count = expected;
    MT_CHECK(count == expected, "function ", name, " returned an incorrect number of gradients (expected ", expected,
             ", got ", count, ")");
    size_t edge = 0;
    for (Py_ssize_t i = 0; i < expected; i++) {
        PyObject* g = PyTuple_GET_ITEM(result.get(), i);
        if (!n->input_is_tensor[i]) {
            MT_CHECK(g == Py_None, "function ", name, " returned a gradient different than None at position ", i + 1,
                     ", but the corresponding forward input was not a Variable");
            continue;
        }
        if (g != Py_None) {
            MT_CHECK(tensor_check(g), "expected Variable or None (got ", Py_TYPE(g)->tp_name, ")");
            if (edge < out.size()) out[edge] = TensorRef::share(&as_tensor(g));
        }
        edge++;
    }
}
const NodeBehaviour kFunction{function_backward};

// ---- apply ----

// What becomes of one tensor that forward returned.
class Outputs {
  public:
    Outputs(FunctionNode* ctx, PyObject* const* args, Py_ssize_t nargs, bool recorded, Py_ssize_t count)
        : ctx_(ctx), args_(args), nargs_(nargs), recorded_(recorded), count_(count) {}

    PyObject* wrap(PyObject* o, uint32_t nr) {
        if (!tensor_check(o)) {
            if (recorded_) describe_nothing(nr);
            Py_INCREF(o);
            return o;
        }
        TensorRef t = TensorRef::share(&as_tensor(o));
        bool input = false;
        for (Py_ssize_t i = 0; i < nargs_; i++) input = input || args_[i] == o;
        bool dirty = contains(ctx_->dirty, o);
        bool differentiable = recorded_ && !contains(ctx_->non_differentiable, o) && is_differentiable(t->dtype);
        if (!differentiable) {
            t = without_gradient(t, input, dirty);
            if (recorded_) ctx_->keep_absent_non_diff ? describe_nothing(nr) : describe_output(ctx_, nr, *t);
        } else if (dirty) {
            written(*t, input, nr);
        } else {
            if (input) t = alias(*t);
            set_history(*t, ctx_, nr);
            if (is_view(*t)) t->autograd->view->version = t->version();
        }
        if (is_view(*t) && !(input && dirty)) {
            t->autograd->view->creation = Creation::CustomFunction;
            views_.push_back(t);
        }
        differentiable_ += differentiable;
        return t.release()->py();
    }
    ~Outputs() {
        if (differentiable_ > 1)
            for (TensorRef& v : views_) v->autograd->view->creation = Creation::Multi;
    }

  private:
    void describe_nothing(uint32_t nr) {
        TensorRef none = empty(IntSpan(), DType::Float32);
        describe_output(ctx_, nr, *none);
        ctx_->metas[nr] = InputMeta();
    }
    static TensorRef alias(Tensor& t) {
        static OperatorName op("aten::alias");
        GradModeOff off;
        return op({Value::of(&t)});
    }
    static TensorRef without_gradient(const TensorRef& t, bool input, bool dirty) {
        static OperatorName detach("aten::detach");
        if (!requires_grad(*t)) return t;
        if (input || !is_view(*t)) return dirty && !is_leaf(*t) ? t : detach({Value::of(t.get())});
        return t;
    }
    void written(Tensor& t, bool input, uint32_t nr) {
        MT_CHECK(!(is_leaf(t) && requires_grad(t)),
                 "a leaf Variable that requires grad has been used in an in-place operation.");
        if (!input && PyErr_WarnEx(PyExc_UserWarning,
                                   "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an "
                                   "input, there is no need to pass it to mark_dirty().",
                                   1) < 0)
            throw PythonError();
        if (is_view(t)) {
            MT_CHECK(count_ == 1,
                     "If your Function modifies inplace an input that is a view of another Tensor, your Function "
                     "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
                     "should either make sure the input is not a view (using .clone() for example) or make your "
                     "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
                     "inplace that returns a single Tensor and a second one that does the other operations). You can "
                     "ask on the forum https://discuss.pytorch.org/ if you need help to do this change.");
            const Tensor& base = *t.autograd->view->base;
            MT_CHECK(!(is_leaf(base) && requires_grad(base)),
                     "a view of a leaf Variable that requires grad is being used in an in-place operation.");
        }
        rebase_history(t, ctx_, nr);
    }

    FunctionNode* ctx_;
    PyObject* const* args_;
    Py_ssize_t nargs_;
    bool recorded_;
    Py_ssize_t count_;
    std::vector<TensorRef> views_;
    int differentiable_ = 0;
};

void count_writes(FunctionNode* ctx) {
    if (!ctx->dirty) return;
    MT_CHECK(PyTuple_Check(ctx->dirty), "dirty_tensors attribute is expected to be a tuple but is ",
             Py_TYPE(ctx->dirty)->tp_name);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ctx->dirty); i++) {
        PyObject* o = PyTuple_GET_ITEM(ctx->dirty, i);
        MT_CHECK(tensor_check(o), "mark_dirty can only accept variables, but argument ", i, " is of type ",
                 Py_TYPE(o)->tp_name);
        as_tensor(o).bump_version();
    }
}

void keep_saved(FunctionNode* ctx, bool recorded) {
    PyObject* given = std::exchange(ctx->to_save, nullptr);
    if (!given) return;
    Ref tensors(given);
    MT_CHECK(PyTuple_Check(given), "saved_variables must be a tuple");
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject* t = PyTuple_GET_ITEM(given, i);
        MT_CHECK_TYPE(t == Py_None || tensor_check(t), "save_for_backward can only save variables, but argument ", i,
                      " is of type ", Py_TYPE(t)->tp_name);
    }
    if (!recorded || !count) return;
    ctx->saved = new Saved[static_cast<size_t>(count)];
    ctx->nsaved = static_cast<int>(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject* o = PyTuple_GET_ITEM(given, i);
        if (o == Py_None) continue;
        Tensor& t = as_tensor(o);
        bool output = t.autograd && t.autograd->grad_fn == static_cast<Node*>(ctx);
        save(ctx->saved[i], &t, output, output ? t.autograd->nr : 0);
    }
}

// A Function with setup_context sees every argument of its forward: defaults filled in, keywords in their place.
bool forward_takes(PyObject* forward, Py_ssize_t count) {
    if (!PyFunction_Check(forward)) return false;
    PyCodeObject* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(forward));
    return code->co_argcount == count && code->co_kwonlyargcount == 0 &&
           !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
}

bool needs_transform(PyObject* o) {
    if (!tensor_check(o)) return false;
    return as_tensor(o).keys.has(Key::Batched) || has_tangent(as_tensor(o));
}

PyObject* apply_recording(PyObject* cls, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    Ref setup(PyObject_GetAttr(cls, g_names.setup_context));
    Ref forward(PyObject_GetAttr(cls, g_names.forward));
    bool new_style = setup.get() != g_default_setup;
    Ref type(PyObject_GetAttr(cls, g_names.backward_cls));

    int ntensors = 0;
    bool any = false;
    PyObject* needs = PyTuple_New(n);
    if (!needs) throw PythonError();
    for (Py_ssize_t i = 0; i < n; i++) {
        bool tensor = tensor_check(args[i]);
        bool wanted = tensor && requires_grad(as_tensor(args[i]));
        ntensors += tensor;
        any = any || wanted;
        PyTuple_SET_ITEM(needs, i, PyBool_FromLong(wanted));
    }
    bool recorded = any && g_thread.grad_mode;
    Node* node;
    try {
        node = new_node(reinterpret_cast<PyTypeObject*>(type.get()), &kFunction, recorded ? ntensors : 0, 0, 0);
    } catch (...) {
        Py_DECREF(needs);
        throw;
    }
    FunctionNode* ctx = static_cast<FunctionNode*>(node);
    Ref holder(reinterpret_cast<PyObject*>(node));
    ctx->needs_input_grad = needs;
    ctx->ninputs = static_cast<int>(n);
    ctx->input_is_tensor = static_cast<uint8_t*>(std::malloc(static_cast<size_t>(n) + 1));
    if (!ctx->input_is_tensor) throw std::bad_alloc();
    for (Py_ssize_t i = 0, e = 0; i < n; i++) {
        ctx->input_is_tensor[i] = tensor_check(args[i]);
        if (recorded && ctx->input_is_tensor[i]) node->edges[e++] = gradient_edge(as_tensor(args[i]));
    }

    PyObject* returned;
    {
        GradModeOff off;
        if (new_style) {
            returned = call_python(forward.get(), args, static_cast<size_t>(n), kwnames);
            if (!returned) throw PythonError();
            Ref held(returned);
            Ref inputs(PyTuple_New(n));
            for (Py_ssize_t i = 0; i < n; i++) {
                Py_INCREF(args[i]);
                PyTuple_SET_ITEM(inputs.get(), i, args[i]);
            }
            PyObject* stack[] = {holder.get(), inputs.get(), returned};
            Ref nothing(call_python(setup.get(), stack, 3));
            held.release();
        } else {
            Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
            std::vector<PyObject*> stack(static_cast<size_t>(n + keywords) + 1);
            stack[0] = holder.get();
            std::copy(args, args + n + keywords, stack.begin() + 1);
            returned = call_python(forward.get(), stack.data(), static_cast<size_t>(n) + 1, kwnames);
            if (!returned) throw PythonError();
        }
    }
    Ref held(returned);
    count_writes(ctx);
    bool many = PyTuple_Check(returned);
    Py_ssize_t count = many ? PyTuple_GET_SIZE(returned) : 1;
    PyObject* result;
    {
        Outputs outputs(ctx, args, n, recorded, count);
        if (many) {
            Ref wrapped(PyTuple_New(count));
            for (Py_ssize_t i = 0; i < count; i++)
                PyTuple_SET_ITEM(wrapped.get(), i,
                                 outputs.wrap(PyTuple_GET_ITEM(returned, i), static_cast<uint32_t>(i)));
            result = wrapped.release();
        } else {
            result = outputs.wrap(returned, 0);
        }
    }
    Ref kept(result);
    keep_saved(ctx, recorded);
    if (g_anomaly && recorded) record_trace(node);
    return kept.release();
}

PyObject* function_apply(PyObject* cls, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        settle_all();
        ExcludeKeys now(tracer_takes_all() ? KeySet() : KeySet(Key::Tracer));
        bool transformed = g_thread.transforms > 0;
        for (Py_ssize_t i = 0; i < n && !transformed; i++) transformed = needs_transform(args[i]);
        bool bind = kwnames && PyTuple_GET_SIZE(kwnames);
        if (!transformed && !bind) {
            Ref setup(PyObject_GetAttr(cls, g_names.setup_context));
            if (setup.get() != g_default_setup) {
                Ref forward(PyObject_GetAttr(cls, g_names.forward));
                bind = !forward_takes(forward.get(), n);
            }
        }
        if (!transformed && !bind) return apply_recording(cls, args, n, nullptr);
        Ref positional(PyTuple_New(n));
        for (Py_ssize_t i = 0; i < n; i++) {
            Py_INCREF(args[i]);
            PyTuple_SET_ITEM(positional.get(), i, args[i]);
        }
        Ref keywords(PyDict_New());
        for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); k++)
            PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, k), args[n + k]);
        return call_python(g_transformed, cls, positional.get(), keywords.get());
    });
}
// What Python calls once it has put the arguments in order.
PyObject* function_record(PyObject* cls, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded<PyObject*>(nullptr, [&] { return apply_recording(cls, args, n, kwnames); });
}

// ---- the context's attributes ----

PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
    return guarded<PyObject*>(nullptr,
                              [&] { return reinterpret_cast<PyObject*>(new_node(type, &kFunction, 0, 0, 0)); });
}
PyObject* get_saved(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] {
        FunctionNode* n = as_function(o);
        if (n->in_jvp) return n->saved_for_forward ? Py_NewRef(n->saved_for_forward) : made(PyTuple_New(0));
        if (n->nsaved) check_not_released(n);
        Ref t(made(PyTuple_New(n->nsaved)));
        for (int i = 0; i < n->nsaved; i++) PyTuple_SET_ITEM(t.get(), i, unpack(n->saved[i], n));
        if (n->nsaved) {
            Ref cls(PyObject_GetAttr(o, g_names.forward_cls));
            Ref wanted(PyObject_GetAttr(cls.get(), g_names.clear_on_access));
            const int clears = PyObject_IsTrue(wanted.get());
            if (clears < 0) throw PythonError();
            if (clears) {
                for (int i = 0; i < n->nsaved; i++) clear(n->saved[i]);
                n->released = true;
            }
        }
        return t.release();
    });
}
PyObject* get_saved_variables(PyObject* o, void* closure) {
    if (PyErr_WarnEx(PyExc_DeprecationWarning, "'saved_variables' is deprecated; use 'saved_tensors'", 1) < 0)
        return nullptr;
    return get_saved(o, closure);
}
PyObject* get_raw_saved(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] {
        FunctionNode* n = as_function(o);
        if (n->nsaved) check_not_released(n);
        Ref t(made(PyTuple_New(n->nsaved)));
        for (int i = 0; i < n->nsaved; i++) PyTuple_SET_ITEM(t.get(), i, saved_tensor_object(n, i));
        return t.release();
    });
}
template <PyObject* FunctionNode::* field>
PyObject* get_object(PyObject* o, void*) {
    PyObject* v = as_function(o)->*field;
    if (!v) Py_RETURN_NONE;
    Py_INCREF(v);
    return v;
}
template <PyObject* FunctionNode::* field>
int set_object(PyObject* o, PyObject* v, void*) {
    if (v == Py_None) v = nullptr;
    Py_XINCREF(v);
    Py_XSETREF(as_function(o)->*field, v);
    return 0;
}
template <bool FunctionNode::* field>
int set_materialize(PyObject* o, PyObject* v, void* name) {
    if (!v || !PyBool_Check(v)) {
        PyErr_Format(
            PyExc_TypeError,
            "set_materialize_grads received an invalid combination of arguments - got (), but expected (bool)");
        return -1;
    }
    static_cast<void>(name);
    as_function(o)->*field = v != Py_True;
    return 0;
}
int set_in_jvp(PyObject* o, PyObject* v, void*) {
    as_function(o)->in_jvp = v == Py_True;
    return 0;
}
PyObject* unreadable(PyObject*, void* name) {
    PyErr_Format(PyExc_AttributeError, "attribute '%s' of 'torch._C._FunctionBase' objects is not readable",
                 static_cast<const char*>(name));
    return nullptr;
}
PyObject* get_non_diff(PyObject* o, void*) { return PyBool_FromLong(!as_function(o)->keep_absent_non_diff); }
PyObject* get_fills_absent(PyObject* o, void*) { return PyBool_FromLong(!as_function(o)->keep_absent_grads); }
PyObject* get_requires_grad(PyObject* o, void*) {
    Node* n = as_function(o);
    for (int i = 0; i < n->nedges; i++)
        if (n->edges[i].node) Py_RETURN_TRUE;
    Py_RETURN_FALSE;
}

PyObject* maybe_clear(PyObject* o, PyObject*) {
    Node* n = as_function(o);
    for (int i = 0; i < n->nsaved; i++) clear(n->saved[i]);
    Py_RETURN_NONE;
}

char kInJvp[] = "_in_jvp";
char kMaterialize[] = "materialize_grads";
PyGetSetDef getset[] = {
    {"to_save", get_object<&FunctionNode::to_save>, set_object<&FunctionNode::to_save>, nullptr, nullptr},
    {"dirty_tensors", get_object<&FunctionNode::dirty>, set_object<&FunctionNode::dirty>, nullptr, nullptr},
    {"non_differentiable", get_object<&FunctionNode::non_differentiable>, set_object<&FunctionNode::non_differentiable>,
     nullptr, nullptr},
    {"saved_for_forward", get_object<&FunctionNode::saved_for_forward>, set_object<&FunctionNode::saved_for_forward>,
     nullptr, nullptr},
    {"_in_jvp", unreadable, set_in_jvp, nullptr, kInJvp},
    {"needs_input_grad", get_object<&FunctionNode::needs_input_grad>, set_object<&FunctionNode::needs_input_grad>,
     "Which arguments of apply need a gradient.", nullptr},
    {"materialize_grads", unreadable, set_materialize<&FunctionNode::keep_absent_grads>, nullptr, kMaterialize},
    {"_materialize_non_diff_grads", get_non_diff, set_materialize<&FunctionNode::keep_absent_non_diff>, nullptr,
     nullptr},
    {"_fills_absent_grads", get_fills_absent, nullptr, nullptr, nullptr},
    {"saved_tensors", get_saved, nullptr, "What save_for_backward kept.", nullptr},
    {"saved_variables", get_saved_variables, nullptr, "Deprecated: saved_tensors.", nullptr},
    {"_raw_saved_tensors", get_raw_saved, nullptr, nullptr, nullptr},
    {"requires_grad", get_requires_grad, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {
    {"apply", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function_apply)),
     METH_CLASS | METH_FASTCALL | METH_KEYWORDS, "apply(*args, **kwargs): run forward and record it."},
    {"_apply_recording", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function_record)),
     METH_CLASS | METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"maybe_clear_saved_tensors", maybe_clear, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

#define SLOT(id, fn) {id, reinterpret_cast<void*>(fn)}
PyType_Slot slots[] = {SLOT(Py_tp_new, function_new),
                       SLOT(Py_tp_methods, methods),
                       SLOT(Py_tp_getset, getset),
                       SLOT(Py_tp_dealloc, node_dealloc),
                       SLOT(Py_tp_traverse, node_traverse),
                       SLOT(Py_tp_clear, node_clear),
                       {0, nullptr}};
PyType_Spec spec = {"mindtorch_v2._C._FunctionBase", sizeof(FunctionNode), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

PyObject* set_defaults(PyObject*, PyObject* args) {
    PyObject *backward, *vjp, *setup, *transformed;
    if (!PyArg_ParseTuple(args, "OOOO:_set_function_defaults", &backward, &vjp, &setup, &transformed)) return nullptr;
    auto keep = [](PyObject** slot, PyObject* o) {
        Py_INCREF(o);
        Py_XSETREF(*slot, o);
    };
    keep(&g_default_backward, backward);
    keep(&g_default_vjp, vjp);
    keep(&g_default_setup, setup);
    keep(&g_transformed, transformed);
    Py_RETURN_NONE;
}
PyObject* change_transforms(PyObject*, PyObject* args) {
    int change;
    if (!PyArg_ParseTuple(args, "i:_change_transforms", &change)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        if (change) settle_all();
        g_thread.transforms += change;
        return PyLong_FromLong(g_thread.transforms);
    });
}
PyObject* set_tracer_takes_all(PyObject*, PyObject* o) {
    return PyBool_FromLong(std::exchange(tracer_takes_all(), o == Py_True));
}
PyMethodDef functions[] = {
    {"_set_tracer_takes_all", set_tracer_takes_all, METH_O,
     "Give every call to the handler of Tracer; says if it did."},
    {"_set_function_defaults", set_defaults, METH_VARARGS, nullptr},
    {"_change_transforms", change_transforms, METH_VARARGS, "How many transforms of torch.func are under way here."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool& tracer_takes_all() {
    thread_local bool all = false;
    return all;
}
bool is_function_node(const Node* n) { return n->behaviour == &kFunction; }
int traverse_function_node(FunctionNode* n, visitproc visit, void* arg) {
    Py_VISIT(n->to_save);
    Py_VISIT(n->dirty);
    Py_VISIT(n->non_differentiable);
    Py_VISIT(n->saved_for_forward);
    Py_VISIT(n->needs_input_grad);
    return 0;
}
void clear_function_node(FunctionNode* n) {
    Py_CLEAR(n->to_save);
    Py_CLEAR(n->dirty);
    Py_CLEAR(n->non_differentiable);
    Py_CLEAR(n->saved_for_forward);
    Py_CLEAR(n->needs_input_grad);
    std::free(std::exchange(n->input_is_tensor, nullptr));
    n->ninputs = 0;
}

bool init_custom_function(PyObject* module, PyTypeObject* node_type) {
    g_names = {PyUnicode_InternFromString("backward"),
               PyUnicode_InternFromString("vjp"),
               PyUnicode_InternFromString("forward"),
               PyUnicode_InternFromString("setup_context"),
               PyUnicode_InternFromString("_backward_cls"),
               PyUnicode_InternFromString("_forward_cls"),
               PyUnicode_InternFromString("clear_saved_tensors_on_access"),
               PyUnicode_InternFromString("boxed_grads_call")};
    PyObject* bases = PyTuple_Pack(1, node_type);
    g_function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases));
    Py_DECREF(bases);
    if (!g_function_type) return false;
    PyModule_AddObjectRef(module, "_FunctionBase", reinterpret_cast<PyObject*>(g_function_type));
    return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace mt
