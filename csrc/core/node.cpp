// Nodes of the autograd graph, what a tensor knows of them, and the node that writes a leaf's gradient.
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "autograd.h"
#include "composing.h"
#include "gil.h"
#include "node_watch.h"
#include "python/types.h"
#include "python_keys.h"
#include "spares.h"
#include "sparse.h"

namespace mt {

EngineOps g_engine_ops;

namespace {
thread_local uint64_t g_sequence = 0;
}

uint64_t next_sequence() { return g_sequence; }

TensorRef engine_add(Tensor& a, Tensor& b) {
    // A dense tensor takes a sparse one up, not the other way round.
    const bool swap = is_sparse(a) && !is_sparse(b);
    return call_tensor(g_engine_ops.add, {Value::of(swap ? &b : &a), Value::of(swap ? &a : &b)});
}

void zero_fill(Tensor& t) {
    if (t.is_cpu() && t.storage->nbytes)
        std::memset(t.storage->data, 0, t.storage->nbytes);
    else if (!t.is_cpu())
        fill(t, Value::of(int64_t(0)));
}

TensorRef engine_zeros(const InputMeta& m) {
    // A mode that records or replaces new tensors sees this one too.
    if (__builtin_expect(watched_by_python(nullptr), 0) && m.device == Device())
        return call_tensor(g_engine_ops.zeros, {ints_of(m.sizes), Value::of(m.dtype)});
    TensorRef z = empty(m.sizes, m.dtype, m.device);
    zero_fill(*z);
    return z;
}

// ---- metadata ----

void check_can_require_grad(DType dtype) {
    MT_CHECK(is_differentiable(dtype), "Only Tensors of floating point and complex dtype can require gradients");
}

namespace {
Spares<void, 64> g_spare_metadata;
}
void* AutogradMeta::operator new(size_t bytes) {
    void* p = g_spare_metadata.take();
    if (!p) p = PyObject_Malloc(bytes);
    if (!p) throw std::bad_alloc();
    return p;
}
void AutogradMeta::operator delete(void* p) {
    if (p && !g_spare_metadata.give(p)) PyObject_Free(p);
}

AutogradMeta& autograd_of(Tensor& t) {
    if (!t.autograd) t.autograd = new AutogradMeta;
    return *t.autograd;
}
namespace {
// A gradient may have a gradient of its own, and so on: freed one after the other, however long the chain.
void drop_gradient(Tensor* grad) {
    thread_local std::vector<Tensor*>* waiting = nullptr;
    if (waiting) {
        try {
            waiting->push_back(grad);
            return;
        } catch (const std::bad_alloc&) {  // then it is freed within the other
        }
    }
    std::vector<Tensor*> next, *const before = std::exchange(waiting, &next);
    Py_DECREF(grad->py());
    while (!next.empty()) {
        Tensor* t = next.back();
        next.pop_back();
        Py_DECREF(t->py());
    }
    waiting = before;
}
}  // namespace

void destroy_autograd(AutogradMeta* a) {
    if (a->view) {
        Py_XDECREF(a->view->base ? a->view->base->py() : nullptr);
        Py_XDECREF(a->view->replay);
        delete a->view;
    }
    Py_XDECREF(reinterpret_cast<PyObject*>(a->grad_fn));
    if (a->grad) drop_gradient(a->grad);
    Py_XDECREF(a->hooks);
    Py_XDECREF(a->post_hooks);
    Py_XDECREF(a->physical ? a->physical->py() : nullptr);
    Py_XDECREF(a->batch_levels);
    Py_XDECREF(a->functional);
    Py_XDECREF(a->pending);
    if (a->tangents) {
        for (const Tangent& g : *a->tangents) Py_DECREF(g.value->py());
        delete a->tangents;
    }
    delete a;
}

// ---- nodes ----

namespace {
// `count` new items at `at`, which moves behind them; null for none.
template <class T>
T* in_room(char*& at, int count) {
    if (!count) return nullptr;
    T* items = reinterpret_cast<T*>(at);
    std::uninitialized_default_construct_n(items, count);
    at += sizeof(T) * static_cast<size_t>(count);
    return items;
}
}  // namespace

namespace {
// Ended nodes of formulas and of leaves, with their rooms. A room is for a few edges and saved tensors, or it is freed.
constexpr size_t kSpareRoom = 256;
Spares<Node, 64> g_spares;

Node* new_node_object(PyTypeObject* type) {
    Node* n = type->tp_basicsize == sizeof(Node) ? g_spares.take() : nullptr;
    if (!n) {
        n = reinterpret_cast<Node*>(type->tp_alloc(type, 0));
        if (!n) throw PythonError();
        return n;
    }
    PyObject_Init(reinterpret_cast<PyObject*>(n), type);
    char* room = n->room;
    size_t room_bytes = n->room_bytes;
    // The size read from the type: of a constant one the compiler makes `rep stos`, which takes as long as all the
    // rest.
    std::memset(reinterpret_cast<char*>(n) + sizeof(PyObject), 0,
                static_cast<size_t>(type->tp_basicsize) - sizeof(PyObject));
    n->room = room;
    n->room_bytes = room_bytes;
    PyObject_GC_Track(n);
    return n;
}
}  // namespace

Node* new_node(PyTypeObject* type, const NodeBehaviour* behaviour, int nedges, int noutputs, int nsaved) {
    Node* n = new_node_object(type);
    n->behaviour = behaviour;
    const size_t bytes = sizeof(InputMeta) * static_cast<size_t>(noutputs) +
                         sizeof(Edge) * static_cast<size_t>(nedges) + sizeof(Saved) * static_cast<size_t>(nsaved);
    if (n->room_bytes < bytes) {
        PyObject_Free(n->room);
        n->room_bytes = std::max(bytes, kSpareRoom);
        n->room = static_cast<char*>(PyObject_Malloc(n->room_bytes));
        if (!n->room) {
            n->room_bytes = 0;
            Py_DECREF(reinterpret_cast<PyObject*>(n));
            throw std::bad_alloc();
        }
    }
    n->nedges = nedges;
    n->noutputs = noutputs;
    n->nsaved = nsaved;
    char* at = n->room;
    n->metas = in_room<InputMeta>(at, noutputs);
    n->edges = in_room<Edge>(at, nedges);
    n->saved = in_room<Saved>(at, nsaved);
    n->sequence = g_sequence++;
    return n;
}

void free_node_object(Node* n) {
    auto end = [n](auto* items, int count) {
        if (!items) return;
        const char* p = reinterpret_cast<const char*>(items);
        if (p < n->room || p >= n->room + n->room_bytes)
            delete[] items;
        else
            std::destroy_n(items, count);
    };
    end(n->metas, n->noutputs);
    end(n->edges, n->nedges);
    end(n->saved, n->nsaved);
    PyTypeObject* type = Py_TYPE(n);
    const bool usual = type->tp_basicsize == sizeof(Node) && n->room_bytes <= kSpareRoom;
    if (!usual || !g_spares.give(n)) {
        PyObject_Free(n->room);
        type->tp_free(n);
    }
    Py_DECREF(type);
}

void describe_output(Node* n, uint32_t nr, const Tensor& t) {
    if (static_cast<int>(nr) >= n->noutputs) {
        InputMeta* grown = new InputMeta[nr + 1];
        for (int i = 0; i < n->noutputs; i++) grown[i] = n->metas[i];
        bool in_room = n->noutputs && reinterpret_cast<char*>(n->metas) == n->room;  // the first of its arrays
        in_room ? static_cast<void>(std::destroy_n(n->metas, n->noutputs)) : delete[] n->metas;
        n->metas = grown;
        n->noutputs = static_cast<int>(nr) + 1;
    }
    InputMeta& m = n->metas[nr];
    m.sizes.clear();
    m.sizes.assign(t.sizes());
    m.dtype = t.dtype;
    m.device = t.device;
}

std::string name_of(const Node* n) {
    const char* name = Py_TYPE(n)->tp_name;
    const char* dot = std::strrchr(name, '.');
    if (dot) name = dot + 1;
    // What PyTorch has written by hand, and not made of a formula ("...Backward0"), shows its namespace.
    bool formula = std::strstr(name, "Backward") && !std::strstr(name, "Backwards");
    bool whole = is_accumulate(n) || is_copy_slices(n) || (n->op && !n->op->user && !formula);
    return whole ? std::string("torch::autograd::") + name : name;
}

std::string forward_name_of(const Node* n) {
    std::string name = name_of(n);
    size_t suffix = name.rfind("Backward");
    if (suffix == std::string::npos || name.find_first_not_of("0123456789", suffix + 8) != std::string::npos)
        return name;
    return name.substr(0, suffix);
}

void throw_released() {
    MT_THROW(Runtime,
             "Trying to backward through the graph a second time (or directly access saved tensors after they have "
             "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
             "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
             "if you need to access saved tensors after calling backward.");
}
void check_not_released(const Node* n) {
    if (n->released) throw_released();
}

PyObject* tuple_of(const Gradients& grads) {
    PyObject* t = made(PyTuple_New(static_cast<Py_ssize_t>(grads.size())));
    for (size_t i = 0; i < grads.size(); i++)
        PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(i), Py_NewRef(grads[i] ? grads[i]->py() : Py_None));
    return t;
}

// ---- AccumulateGrad ----

namespace {

// Gradients of one variable are added by one thread at a time: an addition lets go of the GIL, and two at once would
// lose one of them. The list of those under way is guarded by the GIL; a thread may come again, from within its own
// addition.
class Accumulating {
  public:
    explicit Accumulating(const Node* n) : node_(n) {
        while (elsewhere()) {
            NoGil waiting;
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
        under_way().push_back({n, std::this_thread::get_id()});
    }
    ~Accumulating() {
        auto& all = under_way();
        all.erase(std::find(all.begin(), all.end(), Entry{node_, std::this_thread::get_id()}));
    }
    Accumulating(const Accumulating&) = delete;
    Accumulating& operator=(const Accumulating&) = delete;

  private:
    using Entry = std::pair<const Node*, std::thread::id>;
    static std::vector<Entry>& under_way() {
        static auto* all = [] {
            pthread_atfork(nullptr, nullptr, in_child);
            return new std::vector<Entry>;
        }();
        return *all;
    }
    // The other threads are gone, and will not finish.
    static void in_child() {
        std::erase_if(under_way(), [](const Entry& e) { return e.second != std::this_thread::get_id(); });
    }
    bool elsewhere() const {
        return std::any_of(under_way().begin(), under_way().end(), [this](const Entry& e) {
            return e.first == node_ && e.second != std::this_thread::get_id();
        });
    }
    const Node* node_;
};

// Whether the parts of a sparse gradient lie in memory as those of a new tensor.
bool is_compact(Tensor& grad) {
    PyObject* compact = PyObject_CallMethod(static_cast<PyObject*>(grad.storage->context), "is_compact", nullptr);
    if (!compact) throw PythonError();
    Py_DECREF(compact);
    return compact == Py_True;
}

void accumulate(const Node& n, Tensor& variable, AutogradMeta& a, TensorRef grad) {
    bool graph = g_thread.grad_mode;
    // Others may take the gradient away meanwhile: another thread, or user code where tensors are watched.
    TensorRef old = TensorRef::share(a.grad);
    Tensor* fresh = nullptr;
    if (!old && is_sparse(*grad)) {
        const bool own = !graph && Py_REFCNT(grad->py()) == 1 && !grad->autograd && is_compact(*grad);
        fresh = (own ? std::move(grad) : call_tensor(g_engine_ops.clone, {Value::of(grad.get())})).release();
    } else if (!old) {
        // A gradient is laid out in memory as its variable is, where that is dense.
        bool same_layout =
            variable.is_non_overlapping_and_dense() ? grad->strides() == variable.strides() : grad->is_contiguous();
        // Hooks that run after it are shown the gradient, and what happens to it meanwhile.
        const bool shown = n.post_hooks && PyDict_Size(n.post_hooks) > 0;
        if (!graph && same_layout && Py_REFCNT(grad->py()) == 1 + shown && grad->is_non_overlapping_and_dense() &&
            !is_view(*grad) && (grad->storage->refs.load(std::memory_order_relaxed) == 1 || !requires_grad(*grad))) {
            if (grad->storage->refs.load(std::memory_order_relaxed) == 1 && !grad->autograd)
                fresh = shown ? shallow_alias(*grad).release() : grad.release();
            else
                fresh = call_tensor(g_engine_ops.clone, {Value::of(grad.get())}).release();
        } else {
            Dims strides = variable.is_non_overlapping_and_dense() ? Dims(variable.strides())
                                                                   : contiguous_strides(variable.sizes());
            TensorRef copy = graph || watched_by_python(grad.get())
                                 ? call_tensor(g_engine_ops.new_empty_strided,
                                               {Value::of(grad.get()), ints_of(variable.sizes()), ints_of(strides)})
                                 : empty_strided(variable.sizes(), strides, grad->dtype, grad->device);
            call_tensor(g_engine_ops.copy_inplace, {Value::of(copy.get()), Value::of(grad.get())});
            fresh = copy.release();
        }
    } else if (!graph && (!is_sparse(*old) || is_sparse(*grad))) {
        call_tensor(g_engine_ops.add_inplace, {Value::of(old.get()), Value::of(grad.get())});
        return;
    } else {
        fresh = engine_add(*old, *grad).release();
    }
    Tensor* before = std::exchange(a.grad, fresh);
    Py_XDECREF(before ? before->py() : nullptr);
}

void accumulate_apply(Node* n, Gradients& grads, Gradients&) {
    if (!n->extra || !grads[0]) return;
    Tensor& variable = *reinterpret_cast<Tensor*>(n->extra);
    AutogradMeta& a = autograd_of(variable);
    if (!a.requires_grad) return;
    {
        Accumulating alone(n);
        accumulate(*n, variable, a, std::move(grads[0]));
    }
    if (a.post_hooks && PyDict_Size(a.post_hooks) > 0) {
        PyObject* hooks = PyDict_Values(a.post_hooks);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks); i++) {
            ProgramsOwn own;
            PyObject* r = call_python(PyList_GET_ITEM(hooks, i), variable.py());
            if (!r) {
                Py_DECREF(hooks);
                throw PythonError();
            }
            // PyTorch lets the tensor itself pass, as in-place methods return it.
            const bool fine = r == Py_None || r == variable.py(), tensor = tensor_check(r);
            const std::string kind = Py_TYPE(r)->tp_name;
            Py_DECREF(r);
            if (fine) continue;
            Py_DECREF(hooks);
            MT_CHECK_TYPE(tensor, "expected Variable, but hook returned '", kind, "'");
            MT_THROW(Runtime, "Tensor post accumulate grad hooks should return None.");
        }
        Py_DECREF(hooks);
    }
}
const NodeBehaviour kAccumulate{accumulate_apply};
PyTypeObject* g_accumulate_type = nullptr;

}  // namespace

bool is_accumulate(const Node* n) { return n->behaviour == &kAccumulate; }

Edge gradient_edge(Tensor& t) {
    settle_pending(t);
    if (!t.autograd) return {};
    Node* n = grad_fn_of(t);
    AutogradMeta& a = *t.autograd;
    if (n) {
        Py_INCREF(reinterpret_cast<PyObject*>(n));
        return {n, a.nr};
    }
    if (!a.requires_grad) return {};
    // What is left of graphs that were made before the tensor was given other data keeps the node that knows the old
    // sizes.
    if (!a.accumulator || !(t.sizes() == IntSpan(a.accumulator->metas[0].sizes))) {
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

void share_history(Tensor& from, Tensor& to) {
    Edge history = gradient_edge(from);
    if (!history.node) return;
    AutogradMeta& a = autograd_of(to);
    a.grad_fn = history.node;
    a.nr = history.nr;
}

}  // namespace mt
