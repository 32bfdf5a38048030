// Autograd: nodes, edges, saved tensors, view tracking, the engine.
#pragma once

#include <utility>
#include <vector>

#include "registry.h"

namespace mt {

struct Node;

struct Edge {
    Node* node = nullptr;  // strong
    uint32_t nr = 0;
};

// What the gradient flowing into output i of a node has to look like.
struct InputMeta {
    SmallVector<int64_t, 5> sizes;
    DType dtype = DType::Undefined;
    Device device;
};

// A tensor (or other object) kept for backward.
struct Saved {
    PyObject* object = nullptr;  // the tensor, an alias of an output, what a pack hook returned, or any object
    enum Kind : uint8_t { Empty, Input, Output, Packed, Object, ObjectList, Released } kind = Empty;
    bool requires_grad = false;
    bool leaf = false;
    uint32_t nr = 0;             // output number, for outputs
    uint32_t version = 0;        // at the time of saving
    PyObject* unpack = nullptr;  // hook; of an output that was written into a view: weakly, the node of the view
    Edge history;                // of an input that hooks packed
};

using Gradients = std::vector<TensorRef>;

struct NodeBehaviour {
    // Gradients of the inputs from those of the outputs.
    void (*apply)(Node* n, Gradients& grads, Gradients& out);
};

struct Node {
    PyObject_HEAD PyObject* dict;
    PyObject* weakrefs;
    const NodeBehaviour* behaviour;
    const Operator* op;
    Edge* edges;
    InputMeta* metas;
    Saved* saved;
    char* room;  // one block, in which the three arrays lie unless they were made larger later
    size_t room_bytes;
    int nedges, noutputs, nsaved;
    uint64_t sequence;
    bool released;
    bool inplace;            // made by an in-place operator: `self` of the formula is what it was before
    PyObject* pre_hooks;     // dict id -> hook, or null
    PyObject* post_hooks;    // dict id -> hook, or null
    PyObject* tensor_hooks;  // list of (output nr, dict), or null
    PyObject* retains;       // list of (output nr, weakref to tensor), or null
    PyObject* extra;         // AccumulateGrad: the tensor; CopySlices: its inner node
    PyObject* trace;         // anomaly mode: where the forward ran
    struct ViewGeometry* view;
    Node* next_to_free;            // while a graph is taken apart
    std::vector<int>* list_sizes;  // edges per differentiable input, where one of them is a list
};

struct ViewGeometry {
    Dims base_sizes, base_strides, sizes, strides;
    int64_t base_offset, offset;
    PyObject* replay;  // a view that strides cannot express: callable(base) -> view
};

enum class Creation : uint8_t { Default, Multi, NoGrad, Inference, CustomFunction };

struct ViewMeta {
    Tensor* base = nullptr;  // strong
    uint32_t version = 0;    // when grad_fn was made
    Creation creation = Creation::Default;
    PyObject* replay = nullptr;
};

struct Tangent {
    int64_t level;
    Tensor* value;  // strong
};

struct AutogradMeta {
    static void* operator new(size_t bytes);
    static void operator delete(void* p);

    bool requires_grad = false;
    bool retains_grad = false;
    uint32_t nr = 0;
    Node* grad_fn = nullptr;      // strong
    Node* accumulator = nullptr;  // weak
    Tensor* grad = nullptr;       // strong
    ViewMeta* view = nullptr;
    PyObject* hooks = nullptr;                 // the _backward_hooks dict
    PyObject* post_hooks = nullptr;            // post-accumulate hooks dict
    std::vector<Tangent>* tangents = nullptr;  // forward mode: at most one a level
    Tensor* physical = nullptr;                // of a tensor that vmap made: all of it, mapped dimensions first; strong
    PyObject* pending = nullptr;               // what a tensor waits for whose value is put off: deferred.h
    bool no_data = false;              // _make_wrapper_subclass: sizes and strides, but nothing of its own behind
    PyObject* functional = nullptr;    // of a functional tensor: how Python makes its value from its storage's
    PyObject* batch_levels = nullptr;  // the vmap level of each mapped dimension: a tuple of int, ascending
};

AutogradMeta& autograd_of(Tensor& t);  // made if absent
void check_can_require_grad(DType dtype);
void destroy_autograd(AutogradMeta* a);

inline bool requires_grad(const Tensor& t) {
    if (!t.autograd) return false;
    const AutogradMeta& a = *t.autograd;
    // A view that was made while nothing was recorded requires grad as its base does, without a history of its own.
    return a.requires_grad || a.grad_fn || (a.view && is_differentiable(t.dtype) && requires_grad(*a.view->base)) ||
           (a.physical && requires_grad(*a.physical));
}
// A tensor whose memory is not what it stands for: one slice of what vmap maps over, a functional tensor, a sparse one,
// or a wrapper around others.
inline bool hides_data(const Tensor& t) {
    return !(t.keys & (KeySet(Key::Batched) | Key::Functionalize | kSparseKeys)).empty() ||
           (t.autograd && t.autograd->no_data);
}
// Calls that torch.compile put off and that `t` needs, or that write to its memory, are run (null: all of this thread).
// `shown`: the memory can be reached from outside from now on. Needed wherever data or history is read by other means
// than an operator.
void run_put_off(Tensor* t, bool shown = false);
inline bool putting_off() { return (g_thread.include - g_thread.exclude).has(Key::Tracer); }
inline void settle(const Tensor& t) {
    if (__builtin_expect(t.keys.has(Key::Tracer) || putting_off(), 0)) run_put_off(const_cast<Tensor*>(&t));
}
inline void settle_pending(const Tensor& t) {
    if (__builtin_expect(t.keys.has(Key::Tracer), 0)) run_put_off(const_cast<Tensor*>(&t));
}
inline void settle_all() {
    if (__builtin_expect(putting_off(), 0)) run_put_off(nullptr);
}
inline void check_data(const Tensor& t) {
    settle(t);
    MT_CHECK(!hides_data(t), "Cannot access data pointer of Tensor that doesn't have storage");
}
inline bool is_view(const Tensor& t) { return t.autograd && t.autograd->view; }
inline bool is_leaf(const Tensor& t) {
    if (!t.autograd) return true;
    const AutogradMeta& a = *t.autograd;
    return a.physical ? is_leaf(*a.physical) : !a.grad_fn;
}
Node* grad_fn_of(Tensor& t);                   // borrowed; regenerated for a view whose base was written
Edge gradient_edge(Tensor& t);                 // strong reference in the edge; empty if t needs no gradient
void share_history(Tensor& from, Tensor& to);  // gradients of `to`, which has no history, go where those of `from` go
void set_history(Tensor& t, Node* n, uint32_t nr);
void rebase_history(Tensor& t, Node* n, uint32_t nr);
void set_view_history(Tensor& view, Node* n, uint32_t nr);  // of a view that was changed, and its base was not
void check_out_without_gradients(const Call& c);            // RuntimeError if an argument of an out= form requires grad
// Whether `t` may be written to; `recorded`: what is written has a history, if `t` itself has none.
void check_inplace(Tensor& t, bool recorded = false);
void track_view(Tensor& view, Tensor& base, Creation creation);

Node* new_node(PyTypeObject* type, const NodeBehaviour* behaviour, int nedges, int noutputs, int nsaved);
void free_node_object(Node* n);  // of which only edges, metas, saved and their room are left
void describe_output(Node* n, uint32_t nr, const Tensor& t);
[[noreturn]] void throw_released();  // RuntimeError: backward has already freed what a node saved
void check_not_released(const Node* n);
std::string name_of(const Node* n);          // "MulBackward0"
std::string forward_name_of(const Node* n);  // "Mul"
bool is_accumulate(const Node* n);
bool is_copy_slices(const Node* n);
PyObject* tuple_of(const Gradients& grads);  // new reference; None where there is no gradient
PyTypeObject* make_node_type(const char* name);

void save(Saved& s, Tensor* t, bool is_output, uint32_t nr);
void save_object(Saved& s, PyObject* o);  // takes a new reference
PyObject* unpack(Saved& s, Node* owner);  // new reference
// Puts a tensor that is kept through a hook.
void pack_saved(Saved& s, Tensor& t, PyObject* pack, PyObject* unpack_hook);
void clear(Saved& s);
void release(Saved& s);  // a tensor goes, and may not be asked for again; what is no tensor stays
extern thread_local std::vector<std::pair<PyObject*, PyObject*>> g_saved_hooks;
extern thread_local const char* g_saved_hooks_disabled;

// Operators that the engine itself needs, handed over by Python: names stay out of the core.
struct EngineOps {
    Operator *add = nullptr, *add_inplace = nullptr, *as_strided = nullptr, *clone = nullptr, *copy_inplace = nullptr,
             *detach = nullptr, *sum_to_size = nullptr, *to_dtype = nullptr, *real = nullptr,
             *new_empty_strided = nullptr, *zero_inplace = nullptr, *zeros = nullptr, *as_strided_backward = nullptr;
};
extern EngineOps g_engine_ops;
TensorRef engine_add(Tensor& a, Tensor& b);
TensorRef engine_zeros(const InputMeta& m);
void zero_fill(Tensor& t);  // a new tensor: nothing has seen it yet

struct EngineRequest {
    std::vector<std::pair<Edge, TensorRef>> roots;
    std::vector<Edge> inputs;  // borrowed nodes: gradients to capture (or, with accumulate, the only leaves to reach)
    bool keep_graph = false, create_graph = false, accumulate = false;
};
// Runs backward; returns the captured gradients, one an entry of request.inputs (unless accumulate).
Gradients run_backward(EngineRequest& request);
// ---- forward mode ----

extern std::vector<int64_t> g_forward_levels;               // that are alive, innermost last
extern thread_local bool g_forward_mode;                    // whether tangents are looked at on this thread
Tensor* tangent_of(const Tensor& t, int64_t level);         // borrowed; null if there is none
void set_tangent(Tensor& t, int64_t level, Tensor* value);  // null takes it away
bool has_live_tangent(const Tensor& t);
void look_through(const Tensor& view);  // a view that is older than the tangents of its base gets its part of them
inline bool has_tangent(const Tensor& t) {
    if (!t.autograd) return false;
    if (t.autograd->view) look_through(t);
    return t.autograd->tangents && has_live_tangent(t);
}
bool has_tangents(const Call& c);
// Runs the call as `record` does, then lets Python say the tangents of its results.
void run_with_tangents(Call& c, void (*record)(Call&));
void copy_tangents(const Tensor& from, Tensor& to, bool clone = false);
TensorRef without_tangents(Tensor& t, int64_t level);  // of this level and those inside it; the same history

// ---- anomaly mode ----

Node* current_node();            // the node that backward runs on this thread; null if none
void record_trace(Node* n);      // where the forward runs that makes this node
void show_trace(const Node* n);  // as a warning; the Python error in flight stays

bool in_backward();
// Whether the backward under way on this thread will run the node. RuntimeError if there is none.
bool will_run(const Node* n);
// The nodes of the backward under way on this thread, in order; borrowed. RuntimeError if there is none.
std::vector<Node*> order_of_execution();
bool current_task_captures();      // whether it is to give the gradients of its inputs: torch.autograd.grad
bool current_task_keeps_graph();   // true where no backward is under way
int64_t current_task();            // the number of the backward run under way on this thread; -1 if none
bool current_task_is_selective();  // whether it was asked for certain inputs only
extern bool g_anomaly, g_anomaly_check_nan;

}  // namespace mt
