// Recording: nodes, saved tensors, histories of views and in-place writes, and the Autograd kernel that every row with
// formulas shares.
#include "autograd.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "python/types.h"

namespace mt {

EngineOps g_engine_ops;
thread_local std::vector<std::pair<PyObject*, PyObject*>> g_saved_hooks;
thread_local const char* g_saved_hooks_disabled = nullptr;
bool g_anomaly = false, g_anomaly_check_nan = true;

namespace {
thread_local uint64_t g_sequence = 0;

// One operator with one tensor result, called with borrowed values.
TensorRef call_one(Operator* op, std::initializer_list<Value> args) {
    if (!op) MT_THROW(Runtime, "autograd needs an operator that is not registered");
    Value bound[64], rets[8];
    int i = 0;
    for (const Value& v : args) bound[i++] = v;
    for (; i < op->nargs; i++) bound[i] = op->schema.args[static_cast<size_t>(i)].default_value;
    call_values(op, bound, rets);
    return TensorRef::steal(rets[0].t);
}
Value ints_value(IntSpan s) {
    Value v;
    v.tag = Tag::IntList;
    v.ints = s.data;
    v.len = static_cast<uint32_t>(s.size);
    return v;
}
}  // namespace

TensorRef engine_add(Tensor& a, Tensor& b) { return call_one(g_engine_ops.add, {Value::of(&a), Value::of(&b)}); }

TensorRef engine_zeros(const InputMeta& m) {
    TensorRef z = empty(m.sizes, m.dtype, m.device);
    if (z->is_cpu() && z->numel()) std::memset(z->raw(), 0, static_cast<size_t>(z->numel() * z->itemsize()));
    return z;
}

// ---- metadata ----

AutogradMeta& autograd_of(Tensor& t) {
    if (!t.autograd) t.autograd = new AutogradMeta;
    return *t.autograd;
}
void destroy_autograd(AutogradMeta* a) {
    if (a->view) {
        Py_XDECREF(a->view->base ? a->view->base->py() : nullptr);
        Py_XDECREF(a->view->replay);
        delete a->view;
    }
    Py_XDECREF(reinterpret_cast<PyObject*>(a->grad_fn));
    Py_XDECREF(a->grad ? a->grad->py() : nullptr);
    Py_XDECREF(a->hooks);
    Py_XDECREF(a->post_hooks);
    delete a;
}

// ---- nodes ----

Node* new_node(PyTypeObject* type, const NodeBehaviour* behaviour, int nedges, int noutputs, int nsaved) {
    Node* n = reinterpret_cast<Node*>(type->tp_alloc(type, 0));
    if (!n) throw PythonError();
    n->behaviour = behaviour;
    n->nedges = nedges;
    n->noutputs = noutputs;
    n->nsaved = nsaved;
    n->edges = nedges ? new Edge[static_cast<size_t>(nedges)] : nullptr;
    n->metas = noutputs ? new InputMeta[static_cast<size_t>(noutputs)] : nullptr;
    n->saved = nsaved ? new Saved[static_cast<size_t>(nsaved)] : nullptr;
    n->sequence = g_sequence++;
    return n;
}

void describe_output(Node* n, uint32_t nr, const Tensor& t) {
    if (static_cast<int>(nr) >= n->noutputs) {
        InputMeta* grown = new InputMeta[nr + 1];
        for (int i = 0; i < n->noutputs; i++) grown[i] = n->metas[i];
        delete[] n->metas;
        n->metas = grown;
        n->noutputs = static_cast<int>(nr) + 1;
    }
    InputMeta& m = n->metas[nr];
    m.sizes.clear();
    m.sizes.assign(t.sizes());
    m.dtype = t.dtype;
    m.device = t.device;
}

// ---- saved values ----

void save_object(Saved& s, PyObject* o) {
    Py_XINCREF(o);
    s.object = o;
    s.kind = o ? Saved::Object : Saved::Empty;
}

void save(Saved& s, Tensor* t, bool is_output, uint32_t nr) {
    if (!t) return;
    MT_CHECK(!(t->flags & kInference) || g_thread.inference_mode,
             "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
             "computation tracked by autograd. "
             "To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
             "`torch.no_grad()` instead of "
             "`torch.inference_mode()`.");
    s.nr = nr;
    s.requires_grad = requires_grad(*t);
    s.leaf = is_leaf(*t);
    if (!g_saved_hooks.empty()) {
        auto [pack, unpack_hook] = g_saved_hooks.back();
        TensorRef given = is_output ? shallow_alias(*t) : TensorRef::share(t);
        if (!is_output && s.requires_grad && !s.leaf) {
            s.history = gradient_edge(*t);
        }
        s.version = t->version();
        std::vector<std::pair<PyObject*, PyObject*>> held;
        held.swap(g_saved_hooks);  // a hook's own operations are not packed
        PyObject* packed = PyObject_CallOneArg(pack, given->py());
        held.swap(g_saved_hooks);
        if (!packed) throw PythonError();
        s.object = packed;
        Py_INCREF(unpack_hook);
        s.unpack = unpack_hook;
        s.kind = Saved::Packed;
        return;
    }
    if (is_output && !s.leaf) {
        // An alias without history: the node must not keep itself alive through its own output.
        TensorRef alias = shallow_alias(*t);
        s.object = alias.release()->py();
        s.kind = Saved::Output;
    } else {
        Py_INCREF(t->py());
        s.object = t->py();
        s.kind = Saved::Input;
    }
    s.version = t->version();
}

PyObject* unpack(Saved& s, Node* owner) {
    if (s.kind == Saved::Empty) Py_RETURN_NONE;
    if (s.kind == Saved::Object) {
        Py_INCREF(s.object);
        return s.object;
    }
    if (s.kind == Saved::Packed) {
        PyObject* o = PyObject_CallOneArg(s.unpack, s.object);
        if (!o) throw PythonError();
        if (!tensor_check(o)) {
            Py_DECREF(o);
            MT_THROW(Type, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
                     Py_TYPE(o)->tp_name);
        }
        Tensor* t = reinterpret_cast<Tensor*>(o);
        if (!s.requires_grad || requires_grad(*t)) return o;
        TensorRef again = shallow_alias(*t);
        Py_DECREF(o);
        AutogradMeta& a = autograd_of(*again);
        if (s.history.node) {
            Py_INCREF(reinterpret_cast<PyObject*>(s.history.node));
            a.grad_fn = s.history.node;
            a.nr = s.history.nr;
        } else if (s.leaf) {
            a.requires_grad = true;
        } else if (owner) {
            Py_INCREF(reinterpret_cast<PyObject*>(owner));
            a.grad_fn = owner;
            a.nr = s.nr;
        }
        return again.release()->py();
    }
    Tensor* t = reinterpret_cast<Tensor*>(s.object);
    if (t->version() != s.version) {
        std::string shape = concat("[torch.", dtype_class_name(t->dtype), "Tensor ", t->sizes(), "]");
        std::string producer;
        if (s.kind == Saved::Output && owner) {
            producer = concat(", which is output ", s.nr, " of ",
                              owner->op ? owner->op->node_name : Py_TYPE(owner)->tp_name, ",");
        } else if (t->autograd && t->autograd->grad_fn) {
            Node* n = t->autograd->grad_fn;
            producer = concat(", which is output ", t->autograd->nr, " of ",
                              n->op ? n->op->node_name : Py_TYPE(n)->tp_name, ",");
        }
        MT_THROW(Runtime,
                 "one of the variables needed for gradient computation has been modified by an inplace operation: ",
                 shape, producer, " is at version ", t->version(), "; expected version ", s.version, " instead. Hint: ",
                 g_anomaly ? "the backtrace further above shows the operation that failed to compute its gradient. The "
                             "variable in question was changed in "
                             "there or anywhere later. Good luck!"
                           : "enable anomaly detection to find the operation that failed to compute its gradient, with "
                             "torch.autograd.set_detect_anomaly(True).");
    }
    if (s.kind == Saved::Output && s.requires_grad && owner) {
        TensorRef again = shallow_alias(*t);
        AutogradMeta& a = autograd_of(*again);
        Py_INCREF(reinterpret_cast<PyObject*>(owner));
        a.grad_fn = owner;
        a.nr = s.nr;
        return again.release()->py();
    }
    Py_INCREF(s.object);
    return s.object;
}

void clear(Saved& s) {
    PyObject *o = s.object, *u = s.unpack;
    Node* h = s.history.node;
    s.object = nullptr;
    s.unpack = nullptr;
    s.history.node = nullptr;
    s.kind = Saved::Empty;
    Py_XDECREF(o);
    Py_XDECREF(u);
    Py_XDECREF(reinterpret_cast<PyObject*>(h));
}

// ---- AccumulateGrad ----

namespace {

void accumulate_apply(Node* n, Gradients& grads, Gradients&) {
    if (!n->extra || !grads[0]) return;
    Tensor& variable = *reinterpret_cast<Tensor*>(n->extra);
    AutogradMeta& a = autograd_of(variable);
    if (!a.requires_grad) return;
    TensorRef grad = std::move(grads[0]);
    bool graph = g_thread.grad_mode;
    if (!a.grad) {
        // A gradient is laid out in memory as its variable is, where that is dense.
        bool same_layout =
            variable.is_non_overlapping_and_dense() ? grad->strides() == variable.strides() : grad->is_contiguous();
        if (!graph && same_layout && Py_REFCNT(grad->py()) == 1 && grad->is_non_overlapping_and_dense() &&
            !is_view(*grad) && (grad->storage->refs.load(std::memory_order_relaxed) == 1 || !requires_grad(*grad))) {
            if (grad->storage->refs.load(std::memory_order_relaxed) == 1 && !grad->autograd)
                a.grad = grad.release();
            else
                a.grad = call_one(g_engine_ops.clone, {Value::of(grad.get())}).release();
        } else if (graph) {
            a.grad = call_one(g_engine_ops.clone, {Value::of(grad.get())}).release();
        } else {
            TensorRef copy =
                empty_strided(variable.sizes(),
                              variable.is_non_overlapping_and_dense() ? variable.strides()
                                                                      : IntSpan(contiguous_strides(variable.sizes())),
                              grad->dtype, grad->device);
            call_one(g_engine_ops.copy_inplace, {Value::of(copy.get()), Value::of(grad.get())});
            a.grad = copy.release();
        }
    } else if (!graph) {
        call_one(g_engine_ops.add_inplace, {Value::of(a.grad), Value::of(grad.get())});
    } else {
        Tensor* old = a.grad;
        a.grad = engine_add(*old, *grad).release();
        Py_DECREF(old->py());
    }
    if (a.post_hooks && PyDict_Size(a.post_hooks) > 0) {
        PyObject* hooks = PyDict_Values(a.post_hooks);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks); i++) {
            PyObject* r = PyObject_CallOneArg(PyList_GET_ITEM(hooks, i), variable.py());
            if (!r) {
                Py_DECREF(hooks);
                throw PythonError();
            }
            Py_DECREF(r);
        }
        Py_DECREF(hooks);
    }
}
const NodeBehaviour kAccumulate{accumulate_apply};
PyTypeObject* g_accumulate_type = nullptr;

}  // namespace

bool is_accumulate(const Node* n) { return n->behaviour == &kAccumulate; }

Edge gradient_edge(Tensor& t) {
    if (!t.autograd) return {};
    Node* n = grad_fn_of(t);
    AutogradMeta& a = *t.autograd;
    if (n) {
        Py_INCREF(reinterpret_cast<PyObject*>(n));
        return {n, a.nr};
    }
    if (!a.requires_grad) return {};
    if (!a.accumulator) {
        if (!g_accumulate_type) g_accumulate_type = make_node_type("AccumulateGrad");
        Node* acc = new_node(g_accumulate_type, &kAccumulate, 0, 1, 0);
        g_sequence--;
        acc->sequence = UINT64_MAX;
        Py_INCREF(t.py());
        acc->extra = t.py();
        describe_output(acc, 0, t);
        a.accumulator = acc;  // weak: cleared when the node goes
        return {acc, 0};
    }
    Py_INCREF(reinterpret_cast<PyObject*>(a.accumulator));
    return {a.accumulator, 0};
}

// ---- views and in-place ----

namespace {

// grad_fn of a view after its base was written: an as_strided of the base's new history.
void strided_view_apply(Node* n, Gradients& grads, Gradients& out) {
    if (!grads[0]) return;
    ViewGeometry& g = *n->view;
    TensorRef base = empty_strided(g.base_sizes, g.base_strides, grads[0]->dtype, grads[0]->device);
    if (base->is_cpu() && base->storage->nbytes) std::memset(base->storage->data, 0, base->storage->nbytes);
    TensorRef slot = call_one(g_engine_ops.as_strided, {Value::of(base.get()), ints_value(g.sizes),
                                                        ints_value(g.strides), Value::of(g.offset - g.base_offset)});
    call_one(g_engine_ops.copy_inplace, {Value::of(slot.get()), Value::of(grads[0].get())});
    out[0] = std::move(base);
}
const NodeBehaviour kStridedView{strided_view_apply};
PyTypeObject* g_strided_view_type = nullptr;

// In-place write into a view, seen from the base: the inner node gets the gradient of the written region only.
void copy_slices_apply(Node* n, Gradients& grads, Gradients& out) {
    if (!grads[0]) return;
    MT_CHECK(n->extra,
             "Trying to backward through the graph a second time (or directly access saved tensors after they have "
             "already been freed). Saved intermediate "
             "values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
             "you need to backward through the "
             "graph a second time or if you need to access saved tensors after calling backward.");
    Node* inner = reinterpret_cast<Node*>(n->extra);
    ViewGeometry& g = *n->view;
    TensorRef base = empty_strided(g.base_sizes, g.base_strides, grads[0]->dtype, grads[0]->device);
    call_one(g_engine_ops.copy_inplace, {Value::of(base.get()), Value::of(grads[0].get())});
    TensorRef slot;
    if (g.replay) {
        PyObject* v = PyObject_CallOneArg(g.replay, base->py());
        if (!v) throw PythonError();
        slot = TensorRef::steal(reinterpret_cast<Tensor*>(v));
    } else {
        slot = call_one(g_engine_ops.as_strided, {Value::of(base.get()), ints_value(g.sizes), ints_value(g.strides),
                                                  Value::of(g.offset - g.base_offset)});
    }
    Gradients inner_grads(static_cast<size_t>(std::max(inner->noutputs, 1)));
    inner_grads[0] = call_one(g_engine_ops.clone, {Value::of(slot.get())});
    Gradients inner_out(static_cast<size_t>(inner->nedges));
    inner->behaviour->apply(inner, inner_grads, inner_out);
    for (size_t i = 0; i < inner_out.size() && i < out.size(); i++) {
        if (i == 0) {
            if (inner_out[0]) {
                TensorRef g0 = inner_out[0];
                if (!(g0->sizes() == slot->sizes())) {
                    g0 = call_one(g_engine_ops.sum_to_size, {Value::of(g0.get()), ints_value(slot->sizes())});
                }
                call_one(g_engine_ops.copy_inplace, {Value::of(slot.get()), Value::of(g0.get())});
            } else {
                TensorRef zero = empty(slot->sizes(), slot->dtype, slot->device);
                if (zero->is_cpu() && zero->numel())
                    std::memset(zero->raw(), 0, static_cast<size_t>(zero->numel() * zero->itemsize()));
                call_one(g_engine_ops.copy_inplace, {Value::of(slot.get()), Value::of(zero.get())});
            }
            out[0] = base;
        } else {
            out[i] = std::move(inner_out[i]);
        }
    }
}
const NodeBehaviour kCopySlices{copy_slices_apply};
PyTypeObject* g_copy_slices_type = nullptr;

void replay_view_apply(Node* n, Gradients& grads, Gradients& out) {
    if (!grads[0]) return;
    ViewGeometry& g = *n->view;
    TensorRef base =
        empty_strided(g.base_sizes, g.base_strides, n->edges[0].node->metas[n->edges[0].nr].dtype, grads[0]->device);
    if (base->is_cpu() && base->storage->nbytes) std::memset(base->storage->data, 0, base->storage->nbytes);
    PyObject* v = PyObject_CallOneArg(g.replay, base->py());
    if (!v) throw PythonError();
    TensorRef slot = TensorRef::steal(reinterpret_cast<Tensor*>(v));
    call_one(g_engine_ops.copy_inplace, {Value::of(slot.get()), Value::of(grads[0].get())});
    out[0] = std::move(base);
}
const NodeBehaviour kReplayView{replay_view_apply};

ViewGeometry* geometry(const Tensor& view, const Tensor& base, PyObject* replay) {
    ViewGeometry* g = new ViewGeometry;
    g->base_sizes.assign(base.sizes());
    g->base_strides.assign(base.strides());
    g->sizes.assign(view.sizes());
    g->strides.assign(view.strides());
    g->base_offset = base.offset;
    g->offset = view.offset;
    Py_XINCREF(replay);
    g->replay = replay;
    return g;
}

}  // namespace

bool is_copy_slices(const Node* n) { return n->behaviour == &kCopySlices; }

void track_view(Tensor& view, Tensor& source, Creation creation) {
    AutogradMeta& a = autograd_of(view);
    if (a.view) return;
    ViewMeta* m = new ViewMeta;
    Tensor* base = &source;
    if (is_view(source)) {
        base = source.autograd->view->base;
        if (creation == Creation::Default) creation = source.autograd->view->creation;
    }
    Py_INCREF(base->py());
    m->base = base;
    m->creation = creation;
    m->version = view.version();
    a.view = m;
}

Node* grad_fn_of(Tensor& t) {
    if (!t.autograd) return nullptr;
    AutogradMeta& a = *t.autograd;
    if (!a.view || a.view->version == t.version()) return a.grad_fn;
    Tensor& base = *a.view->base;
    a.view->version = t.version();
    if (!requires_grad(base)) return a.grad_fn;
    MT_CHECK(a.view->creation != Creation::CustomFunction,
             "a view made by a custom Function was modified through its base");
    if (!g_strided_view_type) g_strided_view_type = make_node_type("AsStridedBackward0");
    Node* n = new_node(g_strided_view_type, a.view->replay ? &kReplayView : &kStridedView, 1, 1, 0);
    n->view = geometry(t, base, a.view->replay);
    n->edges[0] = gradient_edge(base);
    describe_output(n, 0, t);
    Node* old = a.grad_fn;
    a.grad_fn = n;
    a.nr = 0;
    Py_XDECREF(reinterpret_cast<PyObject*>(old));
    return n;
}

void set_history(Tensor& t, Node* n, uint32_t nr) {
    AutogradMeta& a = autograd_of(t);
    Node* old = a.grad_fn;
    Py_INCREF(reinterpret_cast<PyObject*>(n));
    a.grad_fn = n;
    a.nr = nr;
    Py_XDECREF(reinterpret_cast<PyObject*>(old));
    describe_output(n, nr, t);
}

void rebase_history(Tensor& t, Node* n, uint32_t nr) {
    AutogradMeta& a = autograd_of(t);
    if (!a.view) {
        set_history(t, n, nr);
        return;
    }
    Tensor& base = *a.view->base;
    describe_output(n, nr, t);
    if (!g_copy_slices_type) g_copy_slices_type = make_node_type("CopySlices");
    int extra = n->nedges > 1 ? n->nedges - 1 : 0;
    Node* slices = new_node(g_copy_slices_type, &kCopySlices, 1 + extra, 1, 0);
    slices->edges[0] = gradient_edge(base);
    for (int i = 0; i < extra; i++) {
        slices->edges[1 + i] = n->edges[1 + i];
        Py_XINCREF(reinterpret_cast<PyObject*>(n->edges[1 + i].node));
    }
    slices->view = geometry(t, base, a.view->replay);
    Py_INCREF(reinterpret_cast<PyObject*>(n));
    slices->extra = reinterpret_cast<PyObject*>(n);
    set_history(base, slices, 0);
    Py_DECREF(reinterpret_cast<PyObject*>(slices));
    a.view->version = t.version() - 1;  // the view's own history is now out of date
    grad_fn_of(t);
}

void check_inplace(Tensor& t, bool) {
    if (!g_thread.grad_mode) return;
    if (t.autograd && t.autograd->view) {
        ViewMeta& v = *t.autograd->view;
        bool base_leaf = requires_grad(*v.base) && is_leaf(*v.base);
        MT_CHECK(!base_leaf, "a view of a leaf Variable that requires grad is being used in an in-place operation.");
        if (requires_grad(t) || requires_grad(*v.base)) {
            std::string producer = t.autograd->grad_fn
                                       ? concat("Output ", t.autograd->nr, " of ",
                                                t.autograd->grad_fn->op ? t.autograd->grad_fn->op->node_name
                                                                        : Py_TYPE(t.autograd->grad_fn)->tp_name)
                                       : std::string("A view");
            MT_CHECK(v.creation != Creation::Multi, producer,
                     " is a view and is being modified inplace. This view is the output of a function that returns "
                     "multiple views. Such functions do not allow "
                     "the output views to be modified inplace. You should replace the inplace operation by an "
                     "out-of-place one.");
            MT_CHECK(v.creation != Creation::NoGrad,
                     "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given "
                     "that this "
                     "use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
                     "the view and the inplace either both "
                     "inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you "
                     "want the inplace to be tracked).");
            MT_CHECK(v.creation != Creation::CustomFunction, producer,
                     " is a view and is being modified inplace. This view was created inside a custom Function (or "
                     "because an input was returned as-is) and the "
                     "autograd logic to handle view+inplace would override the custom backward associated with the "
                     "custom Function, leading to incorrect "
                     "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
                     "Function.");
        }
        return;
    }
    MT_CHECK(!(requires_grad(t) && is_leaf(t)),
             "a leaf Variable that requires grad is being used in an in-place operation.");
}

// ---- the Autograd kernel ----

namespace {

const char* kFreed =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of "
    "the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or "
    "if you need to access saved tensors after calling backward.";

PyObject* gradient_or_none(Gradients& grads, size_t i) {
    PyObject* o = i < grads.size() && grads[i] ? grads[i]->py() : Py_None;
    Py_INCREF(o);
    return o;
}

void formula_apply(Node* n, Gradients& grads, Gradients& out) {
    const Formula& f = *n->op->formula;
    MT_CHECK(!n->released, kFreed);
    bool any = false;
    for (auto& g : grads) any = any || g;
    if (!any) return;
    // Where each differentiable input's edges begin.
    auto count = [&](int k) { return n->list_sizes ? (*n->list_sizes)[static_cast<size_t>(k)] : 1; };
    auto start = [&](int k) {
        if (!n->list_sizes) return k;
        int s = 0;
        for (int j = 0; j < k; j++) s += count(j);
        return s;
    };
    auto is_list = [&](int k) {
        ArgKind kind = n->op->schema.args[static_cast<size_t>(f.inputs[static_cast<size_t>(k)])].kind;
        return kind == ArgKind::TensorList || kind == ArgKind::OptionalTensorList;
    };
    auto wanted = [&](int k) {
        for (int j = start(k), e = j + count(k); j < e; j++)
            if (n->edges[j].node) return true;
        return false;
    };
    auto index_of = [&](int arg) {
        return static_cast<int>(std::find(f.inputs.begin(), f.inputs.end(), arg) - f.inputs.begin());
    };

    for (const FormulaPart& part : f.parts) {
        bool needed = false;
        for (int arg : part.inputs) needed = needed || wanted(index_of(arg));
        if (!needed) continue;
        PyObject* stack[64];
        int na = 0;
        bool failed = false;
        for (const FormulaArg& p : part.params) {
            PyObject* o = nullptr;
            switch (p.kind) {
                case FormulaArg::Grad:
                    if (static_cast<size_t>(p.index) < grads.size() && !grads[static_cast<size_t>(p.index)])
                        o = n->metas[p.index].dtype == DType::Undefined
                                ? (Py_INCREF(Py_None), Py_None)
                                : engine_zeros(n->metas[p.index]).release()->py();
                    else
                        o = gradient_or_none(grads, static_cast<size_t>(p.index));
                    break;
                case FormulaArg::Grads:
                    o = PyTuple_New(static_cast<Py_ssize_t>(grads.size()));
                    for (size_t i = 0; i < grads.size(); i++)
                        PyTuple_SET_ITEM(o, static_cast<Py_ssize_t>(i), gradient_or_none(grads, i));
                    break;
                case FormulaArg::Sizes: {
                    const Edge& e = n->edges[start(index_of(p.index))];
                    o = e.node ? size_object(e.node->metas[e.nr].sizes) : (Py_INCREF(Py_None), Py_None);
                    break;
                }
                case FormulaArg::Input:
                case FormulaArg::Result:
                case FormulaArg::ListSizes:
                    try {
                        Saved& s = n->saved[p.index];
                        if (s.kind == Saved::ObjectList) {
                            o = PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyList_Type), "O", s.object);
                        } else {
                            o = unpack(s, n);
                        }
                    } catch (...) {
                        for (int i = 0; i < na; i++) Py_DECREF(stack[i]);
                        throw;
                    }
                    break;
                case FormulaArg::Needs:
                    o = PyTuple_New(static_cast<Py_ssize_t>(part.inputs.size()));
                    for (size_t i = 0; i < part.inputs.size(); i++)
                        PyTuple_SET_ITEM(o, static_cast<Py_ssize_t>(i),
                                         PyBool_FromLong(wanted(index_of(part.inputs[i]))));
                    break;
            }
            if (!o) {
                failed = true;
                break;
            }
            stack[na++] = o;
        }
        PyObject* r = failed ? nullptr : PyObject_Vectorcall(part.fn, stack, static_cast<size_t>(na), nullptr);
        for (int i = 0; i < na; i++) Py_DECREF(stack[i]);
        if (!r) throw PythonError();

        // o: the gradient of differentiable input k (borrowed).
        auto deliver = [&](int k, PyObject* o) {
            int s = start(k);
            if (is_list(k)) {
                if (o == Py_None) return;
                PyObject* seq = PySequence_Fast(o, "the formula of a tensor list returns a sequence of gradients");
                if (!seq) throw PythonError();
                for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(seq) && j < count(k); j++) {
                    PyObject* g = PySequence_Fast_GET_ITEM(seq, j);
                    if (tensor_check(g))
                        out[static_cast<size_t>(s + j)] = TensorRef::share(reinterpret_cast<Tensor*>(g));
                }
                Py_DECREF(seq);
            } else if (o != Py_None) {
                if (!tensor_check(o))
                    MT_THROW(Type, n->op->node_name, ": the formula of argument '",
                             n->op->schema.args[static_cast<size_t>(f.inputs[static_cast<size_t>(k)])].name,
                             "' returned ", Py_TYPE(o)->tp_name, ", expected a Tensor or None");
                if (n->edges[s].node) out[static_cast<size_t>(s)] = TensorRef::share(reinterpret_cast<Tensor*>(o));
            }
        };
        try {
            if (part.tuple) {
                PyObject* seq = PyTuple_Check(r) || PyList_Check(r) ? r : nullptr;
                if (!seq || PySequence_Fast_GET_SIZE(seq) != static_cast<Py_ssize_t>(part.inputs.size()))
                    MT_THROW(Runtime, n->op->node_name, ": the formula returns one gradient per input it stands for");
                for (size_t i = 0; i < part.inputs.size(); i++)
                    deliver(index_of(part.inputs[i]), PySequence_Fast_GET_ITEM(seq, static_cast<Py_ssize_t>(i)));
            } else {
                deliver(index_of(part.inputs[0]), r);
            }
        } catch (...) {
            Py_DECREF(r);
            throw;
        }
        Py_DECREF(r);
    }
}
const NodeBehaviour kFormula{formula_apply};

bool differentiable_input(const Value& v) {
    if (v.tag == Tag::Tensor) return requires_grad(*v.t);
    if (v.tag == Tag::TensorList)
        for (uint32_t i = 0; i < v.len; i++)
            if (v.tensors[i] && requires_grad(*v.tensors[i])) return true;
    return false;
}

void save_argument(Saved& s, const Call& c, int i, bool overwritten) {
    const Value& v = c.args[i];
    if (v.tag == Tag::Tensor) {
        if (overwritten) {
            ExcludeKeys below(kAutogradKeys);
            TensorRef before = call_one(g_engine_ops.clone, {Value::of(v.t)});
            s.object = before.release()->py();
            s.kind = Saved::Input;
            s.version = reinterpret_cast<Tensor*>(s.object)->version();
            return;
        }
        save(s, v.t, false, 0);
        return;
    }
    PyObject* o = box_argument(c, i);
    s.object = o;
    s.kind = v.tag == Tag::TensorList ? Saved::ObjectList : Saved::Object;
}

}  // namespace

void run_autograd(Call& c) {
    const Operator& op = *c.op;
    KeySet below = c.keys & kBelowAutograd;
    const Formula* f = op.formula.get();
    bool record = false;
    if (g_thread.grad_mode) {
        if (op.form == Form::Out) {
            for (uint64_t m = op.tensor_args; m; m &= m - 1)
                MT_CHECK(!differentiable_input(c.args[__builtin_ctzll(m)]), c.name(),
                         "(): functions with out=... arguments don't support automatic differentiation, but one of the "
                         "arguments requires grad.");
        } else if (f) {
            for (int i : f->inputs) record = record || differentiable_input(c.args[i]);
        }
    }
    if (!record) {
        if (op.form == Form::Inplace && g_thread.grad_mode && c.args[0].tag == Tag::Tensor && c.args[0].t->autograd)
            check_inplace(*c.args[0].t);
        ExcludeKeys guard(kAutogradKeys);
        run(c, below);
        return;
    }
    if (op.self_index >= 0) {
        Tensor& self = c.mutable_tensor(op.self_index);
        check_inplace(self);
    }

    // Edges first: an in-place operator changes the history of its own input.
    int nedges = 0;
    bool lists = false;
    for (int i : f->inputs) {
        const Value& v = c.args[i];
        ArgKind kind = op.schema.args[static_cast<size_t>(i)].kind;
        if (kind == ArgKind::TensorList || kind == ArgKind::OptionalTensorList) {
            lists = true;
            nedges += static_cast<int>(v.len);
        } else {
            nedges++;
        }
    }
    if (!op.node_type) const_cast<Operator&>(op).node_type = make_node_type(op.node_name.c_str());
    size_t kept = f->saved_inputs.size() + f->saved_results.size();
    int nsaved = static_cast<int>(kept + f->saved_sizes.size());
    Node* n = new_node(op.node_type, &kFormula, nedges, op.nrets, nsaved);
    struct Holder {
        Node* n;
        ~Holder() { Py_DECREF(reinterpret_cast<PyObject*>(n)); }
    } holder{n};
    n->op = &op;
    n->inplace = op.form == Form::Inplace;
    if (lists) n->list_sizes = new std::vector<int>;
    int e = 0;
    for (int i : f->inputs) {
        const Value& v = c.args[i];
        if (v.tag == Tag::TensorList) {
            for (uint32_t k = 0; k < v.len; k++, e++)
                if (v.tensors[k]) n->edges[e] = gradient_edge(*v.tensors[k]);
            n->list_sizes->push_back(static_cast<int>(v.len));
        } else {
            if (v.tag == Tag::Tensor) n->edges[e] = gradient_edge(*v.t);
            e++;
            if (lists) n->list_sizes->push_back(1);
        }
    }
    for (size_t k = 0; k < f->saved_inputs.size(); k++) {
        int i = f->saved_inputs[k];
        save_argument(n->saved[k], c, i, op.form == Form::Inplace && i == op.self_index);
    }
    for (size_t k = 0; k < f->saved_sizes.size(); k++) {
        const Value& v = c.args[f->saved_sizes[k]];
        Saved& s = n->saved[kept + k];
        s.object = PyTuple_New(v.len);
        s.kind = Saved::Object;
        for (uint32_t j = 0; j < v.len; j++) {
            PyObject* sizes = v.tensors[j] ? size_object(v.tensors[j]->sizes()) : (Py_INCREF(Py_None), Py_None);
            PyTuple_SET_ITEM(s.object, j, sizes);
        }
    }
    {
        ExcludeKeys guard(kAutogradKeys);
        run(c, below);
    }
    // Histories of the results.
    uint32_t nr = 0;
    for (int i = 0; i < op.nrets; i++) {
        Value& v = c.rets[i];
        if (v.tag == Tag::Tensor) {
            if (!(f->nondiff >> i & 1) && is_differentiable(v.t->dtype)) {
                if (op.form == Form::Inplace)
                    rebase_history(*v.t, n, nr);
                else if (op.mutates && op.self_index >= 0 && v.t == c.args[op.self_index].t)
                    rebase_history(*v.t, n, nr);
                else
                    set_history(*v.t, n, nr);
            }
            nr++;
        } else if (v.tag == Tag::Object && PyList_Check(v.obj)) {
            for (Py_ssize_t k = 0; k < PyList_GET_SIZE(v.obj); k++, nr++) {
                PyObject* o = PyList_GET_ITEM(v.obj, k);
                if (tensor_check(o) && is_differentiable(reinterpret_cast<Tensor*>(o)->dtype))
                    set_history(*reinterpret_cast<Tensor*>(o), n, nr);
            }
        } else {
            nr++;
        }
    }
    if (op.nrets == 0 && op.mutates && op.self_index >= 0 && f) rebase_history(c.mutable_tensor(op.self_index), n, 0);
    for (size_t k = 0; k < f->saved_results.size(); k++) {
        int i = f->saved_results[k];
        Saved& s = n->saved[f->saved_inputs.size() + k];
        Value& v = c.rets[i];
        if (v.tag == Tag::Tensor) {
            save(s, v.t, true, static_cast<uint32_t>(i));
        } else if (v.tag == Tag::Object) {
            save_object(s, v.obj);
        } else if (v.tag != Tag::None) {
            s.object = box(v);
            s.kind = Saved::Object;
        }
    }
    if (g_anomaly) {
        PyObject* m = PyImport_ImportModule("traceback");
        if (m) {
            n->trace = PyObject_CallMethod(m, "format_stack", nullptr);
            Py_DECREF(m);
        }
        PyErr_Clear();
    }
}

// Below autograd: views are tracked, writes are counted.
void run_adinplaceorview(Call& c) {
    const Operator& op = *c.op;
    {
        ExcludeKeys guard(KeySet(Key::ADInplaceOrView));
        run(c, c.keys & kBelowADInplaceOrView);
    }
    if (op.mutates) {
        for (int i = 0; i < op.nargs; i++) {
            if (!op.schema.args[static_cast<size_t>(i)].writes) continue;
            const Value& v = c.args[i];
            if (v.tag == Tag::Tensor) {
                v.t->bump_version();
            } else if (v.tag == Tag::TensorList) {
                for (uint32_t k = 0; k < v.len; k++) v.tensors[k]->bump_version();
            }
        }
        return;
    }
    // What detach returns has no part in its source's history: writing to it changes no gradient.
    if (c.args[0].tag != Tag::Tensor || g_thread.inference_mode || c.op == g_engine_ops.detach) return;
    Tensor& base = *c.args[0].t;
    if (base.flags & kInference) return;
    Creation creation = g_thread.grad_mode ? Creation::Default : Creation::NoGrad;
    auto track = [&](Tensor& view, Creation how) {
        if (&view == &base) return;
        track_view(view, base, how);
        AutogradMeta& a = *view.autograd;
        if (view.dtype != base.dtype || (is_view(base) && base.autograd->view->replay)) {
            // Strides over the base's elements cannot express this view: keep how it was made.
            PyObject* m = PyImport_ImportModule("mindtorch_v2._autograd.view_replay");
            if (!m) throw PythonError();
            PyObject* args = PyTuple_New(c.nargs - 1);
            for (int i = 1; i < c.nargs; i++) PyTuple_SET_ITEM(args, i - 1, box_argument(c, i));
            PyObject* before = is_view(base) && base.autograd->view->replay ? base.autograd->view->replay : Py_None;
            bool strided_base = is_view(base) && !base.autograd->view->replay;
            PyObject* geometry_args = Py_None;
            if (strided_base)
                geometry_args = Py_BuildValue("(NNL)", size_object(base.sizes()), size_object(base.strides()),
                                              static_cast<long long>(base.offset - base.autograd->view->base->offset));
            PyObject* r =
                PyObject_CallMethod(m, "Replay", "OOOO", before, geometry_args, op.handle ? op.handle : Py_None, args);
            Py_DECREF(m);
            Py_DECREF(args);
            if (strided_base) Py_DECREF(geometry_args);
            if (!r) throw PythonError();
            a.view->replay = r;
        } else if (is_view(base) && base.autograd->view->replay) {
            Py_INCREF(base.autograd->view->replay);
            a.view->replay = base.autograd->view->replay;
        }
    };
    for (int i = 0; i < op.nrets; i++) {
        Value& v = c.rets[i];
        if (v.tag == Tag::Tensor) {
            track(*v.t, creation);
        } else if (v.tag == Tag::Object && PyList_Check(v.obj)) {
            for (Py_ssize_t k = 0; k < PyList_GET_SIZE(v.obj); k++)
                if (tensor_check(PyList_GET_ITEM(v.obj, k)))
                    track(*reinterpret_cast<Tensor*>(PyList_GET_ITEM(v.obj, k)),
                          creation == Creation::Default ? Creation::Multi : creation);
        }
    }
}

}  // namespace mt
