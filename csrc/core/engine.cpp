// The backward engine: one graph task, iterative, on the calling thread. Nodes run in order of decreasing sequence
// number once every gradient that flows into them has arrived; each releases what it saved as soon as it has run.
#include <algorithm>
#include <atomic>
#include <queue>

#include "autograd.h"
#include "hooks.h"
#include "node_watch.h"
#include "python/custom_function.h"
#include "python/types.h"
#include "python_keys.h"
#include "sparse.h"

namespace mt {

namespace {

thread_local int g_depth = 0;
// The task that is running on this thread, and whether it was asked for certain inputs only.
thread_local int64_t g_task = -1;
thread_local bool g_task_selective = false;
std::atomic<int64_t> g_next_task{0};

struct RunningTask {
    RunningTask(bool selective, bool grad_mode)
        : task(g_task), task_selective(g_task_selective), mode(std::exchange(g_thread.grad_mode, grad_mode)) {
        g_task = g_next_task.fetch_add(1);
        g_task_selective = selective;
        g_depth++;
    }
    ~RunningTask() {
        g_task = task;
        g_task_selective = task_selective;
        g_thread.grad_mode = mode;
        g_depth--;
    }
    RunningTask(const RunningTask&) = delete;
    RunningTask& operator=(const RunningTask&) = delete;
    int64_t task;
    bool task_selective;
    bool mode;
};

thread_local Node* g_node = nullptr;
struct RunningNode {
    explicit RunningNode(Node* n) : before(std::exchange(g_node, n)) {}
    ~RunningNode() { g_node = before; }
    RunningNode(const RunningNode&) = delete;
    RunningNode& operator=(const RunningNode&) = delete;
    Node* before;
};

// Open-addressing map from node to the index of its state.
class NodeMap {
  public:
    explicit NodeMap(size_t expected = 64) {
        size_t n = 64;
        while (n < expected * 2) n *= 2;
        slots_.assign(n, {nullptr, 0});
    }
    uint32_t* find(const Node* n) {
        size_t mask = slots_.size() - 1;
        for (size_t i = hash(n) & mask;; i = (i + 1) & mask) {
            if (slots_[i].first == n) return &slots_[i].second;
            if (!slots_[i].first) return nullptr;
        }
    }
    // The index of n; a new one (== size before) if it was not there.
    uint32_t insert(const Node* n, bool& fresh) {
        if (count_ * 2 >= slots_.size()) grow();
        size_t mask = slots_.size() - 1;
        for (size_t i = hash(n) & mask;; i = (i + 1) & mask) {
            if (slots_[i].first == n) {
                fresh = false;
                return slots_[i].second;
            }
            if (!slots_[i].first) {
                slots_[i] = {n, static_cast<uint32_t>(count_)};
                fresh = true;
                return static_cast<uint32_t>(count_++);
            }
        }
    }
    size_t size() const { return count_; }

  private:
    static size_t hash(const Node* n) { return (reinterpret_cast<uintptr_t>(n) >> 4) * 0x9E3779B97F4A7C15ull >> 20; }
    void grow() {
        std::vector<std::pair<const Node*, uint32_t>> old(slots_.size() * 2, {nullptr, 0});
        old.swap(slots_);
        size_t mask = slots_.size() - 1;
        for (auto& s : old) {
            if (!s.first) continue;
            size_t i = hash(s.first) & mask;
            while (slots_[i].first) i = (i + 1) & mask;
            slots_[i] = s;
        }
    }
    std::vector<std::pair<const Node*, uint32_t>> slots_;
    size_t count_ = 0;
};

struct State {
    Node* node;
    int dependencies = 0;
    bool needed = true;
    bool queued = false;
    Gradients grads;
    std::vector<std::pair<uint32_t, size_t>> captures;  // output nr, index in request.inputs
};

struct Later {
    bool operator()(const State* a, const State* b) const { return a->node->sequence < b->node->sequence; }
};

class Task {
  public:
    bool will_run(const Node* n) {
        uint32_t* k = map_.find(n);
        return k && (states_[*k]->needed || !states_[*k]->captures.empty());
    }
    bool captures() const { return !request_.accumulate && !request_.inputs.empty(); }
    bool keeps_graph() const { return request_.keep_graph; }
    // All nodes of the run in the order that they have in it, those included that have run. Borrowed.
    std::vector<Node*> order() {
        std::vector<int> waiting(states_.size(), 0);
        for (const auto& s : states_)
            for (int i = 0; i < s->node->nedges; i++)
                if (Node* next = s->node->edges[i].node)
                    if (uint32_t* k = map_.find(next)) waiting[*k]++;
        std::priority_queue<State*, std::vector<State*>, Later> ready;
        std::vector<uint8_t> queued(states_.size(), 0);
        auto queue = [&](uint32_t k) {
            if (!waiting[k] && !std::exchange(queued[k], uint8_t{1})) ready.push(states_[k].get());
        };
        for (auto& [edge, grad] : request_.roots) queue(*map_.find(edge.node));
        std::vector<Node*> nodes;
        while (!ready.empty()) {
            State* s = ready.top();
            ready.pop();
            if (s->needed || !s->captures.empty()) nodes.push_back(s->node);
            for (int i = 0; i < s->node->nedges; i++) {
                uint32_t* k = s->node->edges[i].node ? map_.find(s->node->edges[i].node) : nullptr;
                if (!k) continue;
                waiting[*k]--;
                queue(*k);
            }
        }
        return nodes;
    }
    static thread_local Task* running_;

    explicit Task(EngineRequest& r) : request_(r), captured_(r.accumulate ? 0 : r.inputs.size()) {}
    ~Task() {
        for (auto& s : states_) {
            s->grads.clear();
            Py_DECREF(reinterpret_cast<PyObject*>(s->node));
        }
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    Gradients run() {
        collect();
        if (!request_.inputs.empty()) mark_needed();
        for (auto& [edge, grad] : request_.roots) {
            State& s = state(edge.node);
            add(s, edge.nr, std::move(grad));
        }
        for (auto& [edge, grad] : request_.roots) {
            State& s = state(edge.node);
            if (s.dependencies == 0 && !s.queued) {
                s.queued = true;
                ready_.push(&s);
            }
        }
        RunningTask running(!request_.inputs.empty(), request_.create_graph);
        struct Running {
            Task* outer;
            ~Running() { running_ = outer; }
        } now{std::exchange(running_, this)};
        while (!ready_.empty()) {
            State* s = ready_.top();
            ready_.pop();
            step(*s);
            if (PyErr_CheckSignals() != 0) throw PythonError();
        }
        return std::move(captured_);
    }

  private:
    // Nodes are held so that hooks which rebuild the graph cannot free one under way.
    void collect() {
        std::vector<Node*> stack;
        auto visit = [&](Node* n) {
            bool fresh;
            uint32_t i = map_.insert(n, fresh);
            if (fresh) {
                Py_INCREF(reinterpret_cast<PyObject*>(n));
                states_.push_back(std::make_unique<State>());
                states_.back()->node = n;
                stack.push_back(n);
            }
            return i;
        };
        for (auto& [edge, grad] : request_.roots) visit(edge.node);
        while (!stack.empty()) {
            Node* n = stack.back();
            stack.pop_back();
            for (int i = 0; i < n->nedges; i++) {
                if (!n->edges[i].node) continue;
                uint32_t k = visit(n->edges[i].node);
                states_[k]->dependencies++;
            }
        }
    }
    // With inputs= only nodes on a path to one of them run.
    void mark_needed() {
        for (auto& s : states_) s->needed = false;
        for (size_t i = 0; i < request_.inputs.size(); i++) {
            uint32_t* k = map_.find(request_.inputs[i].node);
            if (!k) continue;
            State& s = *states_[*k];
            if (request_.accumulate) {
                s.needed = true;
            } else {
                s.captures.push_back({request_.inputs[i].nr, i});
            }
        }
        // Reverse topological: depth-first, iterative.
        std::vector<std::pair<uint32_t, int>> stack;
        std::vector<uint8_t> seen(states_.size(), 0);
        for (auto& [edge, grad] : request_.roots) {
            uint32_t r = *map_.find(edge.node);
            if (seen[r]) continue;
            seen[r] = 1;
            stack.push_back({r, 0});
            while (!stack.empty()) {
                auto& [k, next] = stack.back();
                Node* n = states_[k]->node;
                if (next < n->nedges) {
                    Node* child = n->edges[next++].node;
                    if (!child) continue;
                    uint32_t c = *map_.find(child);
                    if (!seen[c]) {
                        seen[c] = 1;
                        stack.push_back({c, 0});
                    }
                } else {
                    uint32_t done = k;
                    stack.pop_back();
                    bool needed = states_[done]->needed;
                    for (int i = 0; i < n->nedges && !needed; i++) {
                        if (!n->edges[i].node) continue;
                        State& c = *states_[*map_.find(n->edges[i].node)];
                        needed = c.needed || !c.captures.empty();
                    }
                    states_[done]->needed = needed;
                }
            }
        }
    }

    State& state(Node* n) { return *states_[*map_.find(n)]; }

    void add(State& s, uint32_t nr, TensorRef grad) {
        if (!grad) return;
        size_t n = std::max<size_t>(static_cast<size_t>(s.node->noutputs), size_t(nr) + 1);
        if (s.grads.size() < n) s.grads.resize(n);
        TensorRef& slot = s.grads[nr];
        if (!slot) {
            slot = std::move(grad);
        } else if (!g_thread.grad_mode && !watched_by_python(slot.get()) && Py_REFCNT(slot->py()) == 1 &&
                   slot->storage->refs.load() == 1 && slot->is_non_overlapping_and_dense() &&
                   slot->dtype == grad->dtype && slot->sizes() == grad->sizes() && !slot->autograd &&
                   Py_TYPE(slot->py()) == tensor_type()) {
            call_tensor(g_engine_ops.add_inplace, {Value::of(slot.get()), Value::of(grad.get())});
        } else {
            slot = is_sparse(*slot) ? engine_add(*grad, *slot) : engine_add(*slot, *grad);  // PyTorch's order
        }
    }

    // What a formula returned, made to fit the input it belongs to: broadcasting undone, dtype and realness restored.
    static void validate(Node* n, Gradients& out) {
        for (int i = 0; i < n->nedges; i++) {
            if (!out[static_cast<size_t>(i)] || !n->edges[i].node) continue;
            TensorRef& g = out[static_cast<size_t>(i)];
            const Edge& e = n->edges[i];
            if (static_cast<int>(e.nr) >= e.node->noutputs) continue;
            const InputMeta& m = e.node->metas[e.nr];
            if (m.dtype == DType::Undefined) continue;
            IntSpan want(m.sizes);
            if (!(g->sizes() == want)) {
                bool fits = g->ndim >= want.size;
                for (int64_t k = 0; fits && k < want.size; k++) {
                    int64_t w = want[want.size - 1 - k], s = g->size(g->ndim - 1 - k);
                    fits = w == s || w == 1;
                }
                MT_CHECK(fits, "Function ", name_of(n), " returned an invalid gradient at index ", i, " - got ",
                         g->sizes(), " but expected shape compatible with ", want);
                g = call_tensor(g_engine_ops.sum_to_size, {Value::of(g.get()), ints_of(want)});
            }
            MT_CHECK(!is_function_node(n) || is_floating(g->dtype) || is_complex(g->dtype) == is_complex(m.dtype),
                     "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, "
                     "but got false.  (Could this error message be improved?  If so, please report an enhancement "
                     "request to PyTorch.)");
            if (is_complex(g->dtype) && !is_complex(m.dtype)) {
                g = call_tensor(g_engine_ops.real, {Value::of(g.get())});
            }
            if (g->dtype != m.dtype && is_differentiable(m.dtype)) {
                g = call_tensor(g_engine_ops.to_dtype, {Value::of(g.get()), Value::of(m.dtype)});
            }
            if (!(g->device == m.device)) {
                if (g->ndim == 0 || (n->op && n->op->crosses_devices)) {
                    Value where;
                    where.tag = Tag::Device;
                    where.device = m.device;
                    g = call_tensor(g_engine_ops.to_dtype, {Value::of(g.get()), Value(), Value(), where});
                }
            }
            MT_CHECK(g->device == m.device, "Function ", name_of(n), " returned an invalid gradient at index ", i,
                     " - expected device ", device_name(m.device), " but got ", device_name(g->device));
        }
    }

    void step(State& s) {
        Node* n = s.node;
        Gradients grads = std::move(s.grads);
        RunningNode running(n);
        grads.resize(static_cast<size_t>(std::max(n->noutputs, 1)));
        if (s.needed || !s.captures.empty()) run_tensor_hooks(n, grads);  // else it is only counted off
        for (auto& [nr, index] : s.captures) {
            if (nr < grads.size() && grads[nr]) captured_[index] = grads[nr];
        }
        if (!s.needed) {
            // Below a captured input nothing else is wanted.
            finish(n, nullptr);
            return;
        }
        WatchedNode watched(n, false);
        // Those of the node, not of its tensors: only where it runs.
        run_pre_hooks(n, grads);
        Gradients out(static_cast<size_t>(n->nedges));
        // A leaf takes its gradient for itself; hooks that run afterwards are to see it.
        Gradients seen;
        if (n->post_hooks && is_accumulate(n)) seen = grads;
        const bool hooked = n->post_hooks;
        try {
            {
                WatchedNode itself(n, true);
                n->behaviour->apply(n, grads, out);
            }
            validate(n, out);
            if (g_anomaly && g_anomaly_check_nan) check_nan(n, out);
        } catch (...) {
            if (g_anomaly) show_trace(n);
            throw;
        }
        // Hooks that were registered while the node ran see that there are gradients, and not which.
        if (!hooked && n->post_hooks) seen.resize(grads.size());
        run_post_hooks(n, seen.empty() ? grads : seen, out);
        grads.clear();
        if (!request_.keep_graph && !is_accumulate(n)) release_saved(n);
        finish(n, &out);
    }

    void finish(Node* n, Gradients* out) {
        for (int i = 0; i < n->nedges; i++) {
            if (!n->edges[i].node) continue;
            State& next = state(n->edges[i].node);
            if (out && (*out)[static_cast<size_t>(i)] && (next.needed || !next.captures.empty()))
                add(next, n->edges[i].nr, std::move((*out)[static_cast<size_t>(i)]));
            if (--next.dependencies == 0 && !next.queued) {
                next.queued = true;
                ready_.push(&next);
            }
        }
    }

    static void release_saved(Node* n) {
        n->released = true;
        for (int i = 0; i < n->nsaved; i++) release(n->saved[i]);
        if (is_copy_slices(n)) {
            if (n->extra) release_saved(reinterpret_cast<Node*>(n->extra));
            Py_CLEAR(n->extra);
        }
    }

    static void check_nan(Node* n, Gradients& out) {
        for (size_t i = 0; i < out.size(); i++) {
            if (!out[i] || !out[i]->is_cpu() || hides_data(*out[i])) continue;
            TensorRef d = contiguous(*out[i], DType::Complex128);
            const c128* values = d->data<c128>();
            const bool found = std::any_of(values, values + d->numel(),
                                           [](c128 v) { return v.real() != v.real() || v.imag() != v.imag(); });
            MT_CHECK(!found, "Function '", name_of(n), "' returned nan values in its ", i, "th output.");
        }
    }

    EngineRequest& request_;
    Gradients captured_;
    NodeMap map_;
    std::vector<std::unique_ptr<State>> states_;
    std::priority_queue<State*, std::vector<State*>, Later> ready_;
};

thread_local Task* Task::running_ = nullptr;

}  // namespace

bool will_run(const Node* n) {
    MT_CHECK(Task::running_, "_get_should_execute_nodes should only be called during the backward pass");
    return Task::running_->will_run(n);
}
bool current_task_captures() { return Task::running_ && Task::running_->captures(); }
std::vector<Node*> order_of_execution() {
    MT_CHECK(Task::running_, "_current_graph_task_execution_order should only be called during the backward pass");
    return Task::running_->order();
}
bool current_task_keeps_graph() { return !Task::running_ || Task::running_->keeps_graph(); }
bool in_backward() { return g_depth > 0; }
Node* current_node() { return g_node; }
int64_t current_task() { return g_task; }
bool current_task_is_selective() { return g_task_selective; }

Gradients run_backward(EngineRequest& request) { return Task(request).run(); }

}  // namespace mt
