// Histories of views and of in-place writes: a write to a view becomes part of its base's history, and the view's own
// history is made anew from that of the base.
#include <algorithm>

#include "autograd.h"
#include "gil.h"
#include "hooks.h"
#include "python/operator_call.h"

namespace mt {

namespace {

// Memory for the gradient of a view's base, of the kind of tensor that the gradient is.
TensorRef base_gradient(const ViewGeometry& g, const Tensor& grad, DType dtype, bool zero) {
    if (grad.keys.has(Key::Functionalize) || grad.keys.has(Key::Batched) || (grad.autograd && grad.autograd->no_data)) {
        Value type;
        type.tag = Tag::DType;
        type.dtype = dtype;
        TensorRef base =
            call_tensor(g_engine_ops.new_empty_strided,
                        {Value::of(const_cast<Tensor*>(&grad)), ints_of(g.base_sizes), ints_of(g.base_strides), type});
        return zero ? call_tensor(g_engine_ops.zero_inplace, {Value::of(base.get())}) : base;
    }
    TensorRef base = empty_strided(g.base_sizes, g.base_strides, dtype, grad.device);
    if (zero) zero_fill(*base);
    return base;
}

// Whether several positions of a view show one element.
bool overlaps(IntSpan sizes, IntSpan strides) {
    SmallVector<std::pair<int64_t, int64_t>, 8> steps;
    for (int64_t d = 0; d < sizes.size; d++)
        if (sizes[d] > 1) steps.push_back({strides[d], sizes[d]});
    std::sort(steps.begin(), steps.end());
    int64_t covered = 0;
    for (auto [step, n] : steps) {
        if (step <= covered) return true;
        covered += (n - 1) * step;
    }
    return false;
}
int64_t reach(IntSpan sizes, IntSpan strides) {
    int64_t last = 1;
    for (int64_t d = 0; d < sizes.size; d++) {
        if (sizes[d] == 0) return 0;
        last += (sizes[d] - 1) * strides[d];
    }
    return last;
}

// grad_fn of a view after its base was written: an as_strided of the base's new history.
void strided_view_apply(Node* n, Gradients& grads, Gradients& out) {
    if (!grads[0]) return;
    ViewGeometry& g = *n->view;
    if (overlaps(g.sizes, g.strides)) {  // what shows an element several times adds up in it
        int64_t first = std::min(g.offset, g.base_offset);
        int64_t extent = std::max(g.offset - first + reach(g.sizes, g.strides),
                                  g.base_offset - first + reach(g.base_sizes, g.base_strides));
        TensorRef memory = call_tensor(g_engine_ops.as_strided_backward,
                                       {Value::of(grads[0].get()), ints_of(IntSpan(&extent, 1)), ints_of(g.sizes),
                                        ints_of(g.strides), Value::of(g.offset - first)});
        out[0] = call_tensor(g_engine_ops.as_strided, {Value::of(memory.get()), ints_of(g.base_sizes),
                                                       ints_of(g.base_strides), Value::of(g.base_offset - first)});
        return;
    }
    TensorRef base = base_gradient(g, *grads[0], grads[0]->dtype, true);
    TensorRef slot = call_tensor(g_engine_ops.as_strided, {Value::of(base.get()), ints_of(g.sizes), ints_of(g.strides),
                                                           Value::of(g.offset - g.base_offset)});
    call_tensor(g_engine_ops.copy_inplace, {Value::of(slot.get()), Value::of(grads[0].get())});
    out[0] = std::move(base);
}
const NodeBehaviour kStridedView{strided_view_apply};
PyTypeObject* g_strided_view_type = nullptr;

// In-place write into a view, seen from the base: the inner node gets the gradient of the written region only.
void copy_slices_apply(Node* n, Gradients& grads, Gradients& out) {
    if (!grads[0]) return;
    check_not_released(n);
    Node* inner = reinterpret_cast<Node*>(n->extra);
    struct Held {  // another backward through this graph may end meanwhile, and release it
        PyObject* object;
        ~Held() { Py_DECREF(object); }
    } held{Py_NewRef(n->extra)};
    ViewGeometry& g = *n->view;
    TensorRef base = base_gradient(g, *grads[0], grads[0]->dtype, false);
    call_tensor(g_engine_ops.copy_inplace, {Value::of(base.get()), Value::of(grads[0].get())});
    TensorRef slot;
    if (g.replay) {
        PyObject* v = call_python(g.replay, base->py());
        if (!v) throw PythonError();
        slot = TensorRef::steal(reinterpret_cast<Tensor*>(v));
    } else {
        slot = call_tensor(g_engine_ops.as_strided, {Value::of(base.get()), ints_of(g.sizes), ints_of(g.strides),
                                                     Value::of(g.offset - g.base_offset)});
    }
    Gradients inner_grads(static_cast<size_t>(std::max(inner->noutputs, 1)));
    inner_grads[0] = call_tensor(g_engine_ops.clone, {Value::of(slot.get())});
    Gradients inner_out(static_cast<size_t>(inner->nedges));
    inner->behaviour->apply(inner, inner_grads, inner_out);
    for (size_t i = 0; i < inner_out.size() && i < out.size(); i++) {
        if (i == 0) {
            if (inner_out[0]) {
                TensorRef g0 = inner_out[0];
                if (!(g0->sizes() == slot->sizes())) {
                    g0 = call_tensor(g_engine_ops.sum_to_size, {Value::of(g0.get()), ints_of(slot->sizes())});
                }
                call_tensor(g_engine_ops.copy_inplace, {Value::of(slot.get()), Value::of(g0.get())});
            } else {
                TensorRef zero = empty(slot->sizes(), slot->dtype, slot->device);
                zero_fill(*zero);
                call_tensor(g_engine_ops.copy_inplace, {Value::of(slot.get()), Value::of(zero.get())});
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
    TensorRef base = base_gradient(g, *grads[0], n->edges[0].node->metas[n->edges[0].nr].dtype, true);
    PyObject* v = call_python(g.replay, base->py());
    if (!v) throw PythonError();
    TensorRef slot = TensorRef::steal(reinterpret_cast<Tensor*>(v));
    call_tensor(g_engine_ops.copy_inplace, {Value::of(slot.get()), Value::of(grads[0].get())});
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

namespace {
// Some views must not be written to while operations are recorded: what made them says why. `other` says what was
// written instead, where it was not the view itself.
void check_creation(const Tensor& t, const char* other) {
    Creation creation = t.autograd->view->creation;
    if (creation == Creation::Default) return;
    const bool inference = creation == Creation::Inference, silent = inference || creation == Creation::NoGrad;
    const std::string mode = std::string("was created in ") + (inference ? "inference" : "no_grad") + " mode";
    std::string start = "A view " + mode;
    if (const Node* n = t.autograd->grad_fn) {
        start = concat("Output ", t.autograd->nr, " of ", forward_name_of(n), " is a view");
        if (silent) start += " of a view which " + mode;
    }
    start += concat(" and ", other ? other : "is being", " modified inplace");
    if (inference)
        start += " in normal mode";
    else if (silent || !t.autograd->grad_fn)
        start += " with grad mode enabled";
    switch (creation) {
        case Creation::Multi:
            MT_THROW(Runtime, start,
                     ". This view is the output of a function that returns multiple views. Such functions do not allow "
                     "the output views to be modified inplace. You should replace the inplace operation by an "
                     "out-of-place one.");
        case Creation::NoGrad:
            MT_THROW(Runtime, start,
                     ". Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
                     "code by moving both the view and the inplace either both inside the no_grad block (if you don't "
                     "want the inplace to be tracked) or both outside (if you want the inplace to be tracked).");
        case Creation::CustomFunction:
            MT_THROW(Runtime, start,
                     ". This view was created inside a custom Function (or because an input was returned as-is) and "
                     "the autograd logic to handle view+inplace would override the custom backward associated with "
                     "the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
                     "this by cloning the output of the custom Function.");
        default:
            MT_THROW(Runtime, start,
                     ". Given that this use case is ambiguous and error-prone, it is forbidden. You can "
                     "clarify your code by moving both the view and the inplace either both inside the inference_mode "
                     "block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to "
                     "be tracked).");
    }
}
}  // namespace

Node* grad_fn_of(Tensor& t) {
    settle_pending(t);
    if (!t.autograd) return nullptr;
    AutogradMeta& a = *t.autograd;
    if (!a.view || a.view->version == t.version()) return a.grad_fn;
    Tensor& base = *a.view->base;
    const bool follows = requires_grad(base);
    if (follows) check_creation(t, "its base or another view of its base has been");
    a.view->version = t.version();
    if (!follows) return a.grad_fn;
    if (!g_strided_view_type) g_strided_view_type = make_node_type(g_engine_ops.as_strided->node_name.c_str());
    Node* n = new_node(g_strided_view_type, a.view->replay ? &kReplayView : &kStridedView, 1, 1, 0);
    n->view = geometry(t, base, a.view->replay);
    n->edges[0] = gradient_edge(base);
    describe_output(n, 0, t);
    Node* old = a.grad_fn;
    if (old && (a.hooks || a.retains_grad)) move_retained(t, old, n, 0);
    a.grad_fn = n;
    a.nr = 0;
    Py_XDECREF(reinterpret_cast<PyObject*>(old));
    return n;
}

void set_history(Tensor& t, Node* n, uint32_t nr) {
    AutogradMeta& a = autograd_of(t);
    Node* old = a.grad_fn;
    if (old && (a.hooks || a.retains_grad)) move_retained(t, old, n, nr);
    Py_INCREF(reinterpret_cast<PyObject*>(n));
    a.grad_fn = n;
    a.nr = nr;
    Py_XDECREF(reinterpret_cast<PyObject*>(old));
    describe_output(n, nr, t);
}

void set_view_history(Tensor& view, Node* n, uint32_t nr) {
    set_history(view, n, nr);
    view.autograd->view->version = view.version();
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

void check_inplace(Tensor& t, bool recorded) {
    if (!g_thread.grad_mode) return;
    if (is_view(t)) {
        const Tensor& base = *t.autograd->view->base;
        if (recorded || requires_grad(t) || requires_grad(base)) check_creation(t, nullptr);
        MT_CHECK(!((requires_grad(t) || requires_grad(base)) && is_leaf(base)),
                 "a view of a leaf Variable that requires grad is being used in an in-place operation.");
        return;
    }
    MT_CHECK(!(requires_grad(t) && is_leaf(t)),
             "a leaf Variable that requires grad is being used in an in-place operation.");
}

}  // namespace mt
