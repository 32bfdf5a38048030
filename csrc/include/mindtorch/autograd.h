// Differentiable functions in C++: torch::autograd::Function.
#pragma once

#include <mindtorch/functions.h>
#include <mindtorch/hash_map.h>
#include <mindtorch/language.h>
#include <mindtorch/library.h>

#include <cstdlib>
#include <map>
#include <mutex>

namespace torch {
using namespace at;

namespace autograd {
using Variable = at::Tensor;
using variable_list = std::vector<Variable>;
using tensor_list = std::vector<at::Tensor>;
using c10::AutoGradMode;
using c10::GradMode;

// What forward leaves for backward.
class AutogradContext {
  public:
    AutogradContext() = default;
    AutogradContext(const AutogradContext&) = delete;
    AutogradContext& operator=(const AutogradContext&) = delete;

    c10::Dict<std::string, c10::IValue> dict_saved() const { return dict_; }
    ska::flat_hash_map<std::string, c10::IValue> saved_data;

    void save_for_backward(variable_list tensors) {
        const std::vector<mt_tensor> h = handles(tensors);
        mindtorch::check(mindtorch::api().node_save(node_, h.data(), static_cast<int32_t>(h.size())));
    }
    variable_list get_saved_variables() const {
        mt_object tuple = nullptr;
        mindtorch::check(mindtorch::api().node_saved(node_, &tuple));
        mindtorch::Object held = mindtorch::Object::steal(tuple);
        return mindtorch::from<variable_list>(mindtorch::object_value(held));
    }
    void mark_dirty(const variable_list& tensors) { mark('d', tensors); }
    void mark_non_differentiable(const variable_list& tensors) { mark('n', tensors); }
    void set_materialize_grads(bool on) { mindtorch::check(mindtorch::api().node_set_materialize(node_, on)); }
    // Of the tensors among the inputs, in order: other inputs are not counted.
    bool needs_input_grad(size_t tensor) const {
        TORCH_CHECK(tensor < tensors_.size(), "Index out of range");
        return mindtorch::api().node_needs(node_, tensors_[tensor]) != 0;
    }
    bool needs_input_grad(std::initializer_list<std::pair<size_t, size_t>> ranges) const {
        for (const auto& r : ranges)
            for (size_t i = r.first; i < r.second; i++)
                if (needs_input_grad(i)) return true;
        return false;
    }
    void set_node(mt_object node) { node_ = node; }
    void add_tensor(int32_t input) { tensors_.push_back(input); }

  private:
    static std::vector<mt_tensor> handles(const variable_list& tensors) {
        std::vector<mt_tensor> all;
        for (const Variable& t : tensors) all.push_back(t.handle());
        return all;
    }
    void mark(char what, const variable_list& tensors) {
        const std::vector<mt_tensor> h = handles(tensors);
        mindtorch::check(mindtorch::api().node_mark(node_, what, h.data(), static_cast<int32_t>(h.size())));
    }
    c10::Dict<std::string, c10::IValue> dict_;
    std::vector<int32_t> tensors_;  // positions of the inputs that are tensors
    mt_object node_ = nullptr;      // while forward or backward runs
};

}  // namespace autograd
}  // namespace torch

namespace mindtorch MINDTORCH_HIDDEN {

// The inputs of apply, one by one: a tensor, or null for anything else.
struct Inputs {
    std::vector<mt_tensor> tensors;
    void add(const at::Tensor& t) { tensors.push_back(t.handle()); }
    void add(const std::optional<at::Tensor>& t) { tensors.push_back(t ? t->handle() : nullptr); }
    void add(const std::vector<at::Tensor>& list) {
        for (const at::Tensor& t : list) add(t);
    }
    void add(at::TensorList list) {
        for (const at::Tensor& t : list) add(t);
    }
    template <class T>
    void add(const T&) {
        tensors.push_back(nullptr);
    }
};
inline int give_outputs(const at::Tensor& t, mt_value* outputs, int32_t) {
    outputs[0] = owned(pack(t));
    return 1;
}
inline int give_outputs(const std::vector<at::Tensor>& all, mt_value* outputs, int32_t most) {
    TORCH_CHECK(all.size() <= static_cast<size_t>(most), "a function gives at most ", most, " tensors, this one gave ",
                all.size());
    for (size_t i = 0; i < all.size(); i++) outputs[i] = owned(pack(all[i]));
    return static_cast<int>(all.size());
}
inline void take_outputs(at::Tensor& t, const mt_value* outputs, int32_t n) {
    t = n ? tensor_of(outputs[0]) : at::Tensor();
}
inline void take_outputs(std::vector<at::Tensor>& all, const mt_value* outputs, int32_t n) {
    for (int32_t i = 0; i < n; i++) all.push_back(tensor_of(outputs[i]));
}
inline std::string type_text(const std::type_info& type) { return c10::demangle(type.name()); }

// One call of apply, kept as long as the graph.
template <class T, class... A>
struct Recorded {
    torch::autograd::AutogradContext context;
    std::tuple<A...>* args = nullptr;  // during forward
    std::vector<bool> is_tensor;

    static int forward(void* p, mt_object node, mt_value* outputs, int32_t most, int32_t* n) {
        Recorded* r = static_cast<Recorded*>(p);
        try {
            r->context.set_node(node);
            auto result =
                std::apply([&](auto&&... a) { return T::forward(&r->context, std::forward<decltype(a)>(a)...); },
                           std::move(*r->args));
            r->context.set_node(nullptr);
            *n = give_outputs(result, outputs, most);
            return 0;
        } catch (...) {
            return report_exception();
        }
    }
    static int backward(void* p, mt_object node, const mt_tensor* grads, int32_t ngrads, mt_tensor* results,
                        int32_t nresults) {
        Recorded* r = static_cast<Recorded*>(p);
        try {
            torch::autograd::variable_list given;
            for (int32_t i = 0; i < ngrads; i++) given.push_back(at::Tensor::share(grads[i]));
            r->context.set_node(node);
            torch::autograd::variable_list back = T::backward(&r->context, given);  // some take a reference
            r->context.set_node(nullptr);
            while (back.size() > static_cast<size_t>(nresults) && !back.back().defined()) back.pop_back();
            TORCH_CHECK(back.size() == static_cast<size_t>(nresults), "function ", name(),
                        " returned an incorrect number of gradients (expected ", nresults, ", got ", back.size(), ")");
            for (size_t i = 0; i < back.size(); i++) {
                TORCH_CHECK(r->is_tensor[i] || !back[i].defined(), "function ", name(),
                            " returned a gradient different than None at position ", i + 1,
                            ", but the corresponding forward input was not a Variable");
                results[i] = back[i].release_handle();
            }
            return 0;
        } catch (...) {
            return report_exception();
        }
    }
    static const std::string& name() {
        static const std::string text = "CppNode<" + type_text(typeid(T)) + ">";
        return text;
    }
    static const mt_function& functions() {
        static const mt_function f{name().c_str(), forward, backward,
                                   [](void* p) { delete static_cast<Recorded*>(p); }};
        return f;
    }
};

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace torch {
namespace autograd {

template <class T>
struct Function {
    template <class X = T, class... A>
    static auto apply(A&&... args)
        -> std::decay_t<decltype(X::forward(static_cast<AutogradContext*>(nullptr), std::forward<A>(args)...))> {
        using Result =
            std::decay_t<decltype(X::forward(static_cast<AutogradContext*>(nullptr), std::forward<A>(args)...))>;
        static_assert(std::is_same<Result, at::Tensor>::value || std::is_same<Result, variable_list>::value,
                      "the forward of a torch::autograd::Function returns a Tensor or a variable_list");
        using Call = mindtorch::Recorded<T, A&&...>;
        mindtorch::Inputs inputs;
        (inputs.add(args), ...);
        std::tuple<A&&...> given(std::forward<A>(args)...);
        Call* call = new Call;
        call->args = &given;
        for (mt_tensor t : inputs.tensors) {
            if (t) call->context.add_tensor(static_cast<int32_t>(call->is_tensor.size()));
            call->is_tensor.push_back(t != nullptr);
        }
        mt_value outputs[64];
        int32_t n = 0;
        mindtorch::check(mindtorch::api().function_apply(&Call::functions(), call, inputs.tensors.data(),
                                                         static_cast<int32_t>(inputs.tensors.size()), outputs, 64, &n));
        Result result;
        mindtorch::take_outputs(result, outputs, n);
        return result;
    }
};

class Node;
// Where a gradient goes: a node, and which of its inputs. One that C++ made knows the tensor whose gradient it is.
struct Edge {
    Edge();
    Edge(c10::intrusive_ptr<Node> f, uint32_t n, Variable of = {});
    Edge(const Edge&);
    Edge(Edge&&) noexcept;
    Edge& operator=(const Edge&);
    Edge& operator=(Edge&&) noexcept;
    ~Edge();
    bool is_valid() const;
    c10::intrusive_ptr<Node> function;
    uint32_t input_nr = 0;
    Variable variable;
};
using edge_list = std::vector<Edge>;

// A node of the graph: one that was found there, or the base of a program's own, whose `apply` is its derivative.
class Node : public c10::intrusive_ptr_target {
  public:
    explicit Node(mindtorch::Object node) : node_(std::move(node)) {}
    explicit Node(edge_list next = {}) : next_(std::move(next)) {}
    explicit Node(uint64_t /*sequence*/, edge_list next = {}) : Node(std::move(next)) {}
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    virtual ~Node() = default;
    virtual std::string name() const {
        if (!node_) return mindtorch::type_text(typeid(*this));
        mindtorch::Object text = mindtorch::Object::steal(
            mindtorch::call_python("mindtorch_v2._library.compiled", "node_name", {mindtorch::object_value(node_)})
                .as.object);
        return mindtorch::from<std::string>(mindtorch::object_value(text));
    }
    // The gradients of its inputs, from those of its outputs.
    virtual variable_list apply(variable_list&& gradients) {
        TORCH_CHECK(node_, "the node ", name(), " has no apply");
        std::vector<mindtorch::Packed> packed;
        std::vector<mt_value> args;
        for (const Variable& g : gradients) packed.push_back(mindtorch::pack(g));
        for (const mindtorch::Packed& p : packed) args.push_back(p.v);
        mt_value r{};
        mindtorch::check(mindtorch::api().call_object(node_.get(), args.data(), static_cast<int32_t>(args.size()), &r));
        if (r.tag == MT_TENSOR) return {Variable::steal(r.as.tensor)};
        mindtorch::Object held = mindtorch::Object::steal(r.as.object);
        return mindtorch::from<variable_list>(mindtorch::object_value(held));
    }
    variable_list operator()(variable_list&& gradients) { return apply(std::move(gradients)); }
    virtual void release_variables() {}
    c10::intrusive_ptr<Node> getptr() { return c10::intrusive_ptr<Node>(this); }
    void set_next_edges(edge_list&& next) { next_ = std::move(next); }
    void set_next_edge(size_t i, Edge edge) { next_.at(i) = std::move(edge); }
    void add_next_edge(Edge edge) { next_.push_back(std::move(edge)); }
    const Edge& next_edge(size_t i) const { return next_.at(i); }
    const edge_list& next_edges() const { return next_; }
    edge_list& next_edges() { return next_; }
    uint32_t num_outputs() const { return static_cast<uint32_t>(next_.size()); }
    uint32_t num_inputs() const { return inputs_; }
    uint32_t add_input_metadata(const at::Tensor&) { return inputs_++; }
    bool should_compute_output(size_t i) const { return next_.at(i).is_valid(); }
    bool task_should_compute_output(size_t i) const { return should_compute_output(i); }
    bool is_executable() const {
        for (const Edge& e : next_)
            if (e.is_valid()) return true;
        return false;
    }

  private:
    mindtorch::Object node_;  // of Python's; none of a program's own
    edge_list next_;
    uint32_t inputs_ = 0;
};

inline Edge::Edge() = default;
inline Edge::Edge(c10::intrusive_ptr<Node> f, uint32_t n, Variable of)
    : function(std::move(f)), input_nr(n), variable(std::move(of)) {}
inline Edge::Edge(const Edge&) = default;
inline Edge::Edge(Edge&&) noexcept = default;
inline Edge& Edge::operator=(const Edge&) = default;
inline Edge& Edge::operator=(Edge&&) noexcept = default;
inline Edge::~Edge() = default;
inline bool Edge::is_valid() const { return function.defined() || (variable.defined() && variable.requires_grad()); }
inline bool operator==(const Edge& a, const Edge& b) { return a.function == b.function && a.input_nr == b.input_nr; }
inline bool operator!=(const Edge& a, const Edge& b) { return !(a == b); }

inline Edge gradient_edge(const Variable& of) {
    return of.defined() ? Edge(of.grad_fn(), of.grad_fn() ? of.output_nr() : 0, of) : Edge();
}
namespace detail {
inline void add_edges(edge_list& all, const Variable& of) { all.push_back(gradient_edge(of)); }
inline void add_edges(edge_list& all, const std::optional<Variable>& of) {
    all.push_back(of ? gradient_edge(*of) : Edge());
}
inline void add_edges(edge_list& all, at::TensorList of) {
    for (const Variable& each : of) add_edges(all, each);
}
}  // namespace detail
// The edges to where tensors come from, for a node that takes them.
template <class... V>
edge_list collect_next_edges(V&&... of) {
    edge_list all;
    (detail::add_edges(all, std::forward<V>(of)), ...);
    return all;
}
template <class... V>
bool compute_requires_grad(V&&... of) {
    if (!GradMode::is_enabled()) return false;
    for (const Edge& e : collect_next_edges(std::forward<V>(of)...))
        if (e.variable.defined() && e.variable.requires_grad()) return true;
    return false;
}

}  // namespace autograd
}  // namespace torch

namespace mindtorch MINDTORCH_HIDDEN {
// Outputs that a node of a program's own gets as its own.
struct Adopted {
    std::shared_ptr<void> kept;  // what holds the node
    torch::autograd::Node* node;
    std::vector<at::Tensor> outputs;  // until forward has run
    uint32_t first = 0;               // the number of the first of them among all inputs of the node's

    static int forward(void* p, mt_object, mt_value* outputs, int32_t most, int32_t* n) {
        Adopted* a = static_cast<Adopted*>(p);
        try {
            for (at::Tensor& t : a->outputs) t = t.detach();
            *n = give_outputs(a->outputs, outputs, most);
            a->outputs.clear();
            return 0;
        } catch (...) {
            return report_exception();
        }
    }
    static int backward(void* p, mt_object, const mt_tensor* grads, int32_t ngrads, mt_tensor* results,
                        int32_t nresults) {
        Adopted* a = static_cast<Adopted*>(p);
        try {
            torch::autograd::variable_list given(a->node->num_inputs());
            for (int32_t i = 0; i < ngrads; i++)
                given.at(a->first + static_cast<size_t>(i)) = at::Tensor::share(grads[i]);
            torch::autograd::variable_list back = (*a->node)(std::move(given));
            TORCH_CHECK(back.size() == static_cast<size_t>(nresults), "the node ", a->node->name(), " has ", nresults,
                        " edges, and its apply gave ", back.size(), " gradients");
            for (size_t i = 0; i < back.size(); i++) results[i] = back[i].release_handle();
            return 0;
        } catch (...) {
            return report_exception();
        }
    }
};
// The function's name is the node's, and stays as long as the program.
inline const mt_function& adopted_functions(const torch::autograd::Node& node) {
    static std::mutex lock;
    static std::map<std::string, mt_function> all;
    const std::lock_guard<std::mutex> guard(lock);
    const auto at = all.emplace(node.name(), mt_function{}).first;
    at->second = mt_function{at->first.c_str(), Adopted::forward, Adopted::backward,
                             [](void* p) { delete static_cast<Adopted*>(p); }};
    return at->second;
}
}  // namespace mindtorch MINDTORCH_HIDDEN

namespace torch {
namespace autograd {

// Makes the node, whose edges are set, that which made the variables: they are other tensors over the same memory then.
inline void set_history(variable_list& variables, Node* node, std::shared_ptr<void> kept) {
    if (!node || !node->is_executable()) return;
    std::vector<mt_tensor> inputs;
    for (const Edge& e : node->next_edges()) inputs.push_back(e.variable.defined() ? e.variable.handle() : nullptr);
    auto* adopted = new mindtorch::Adopted{std::move(kept), node, variables, node->num_inputs()};
    for (const Variable& v : variables) node->add_input_metadata(v);
    mt_value outputs[64];
    int32_t n = 0;
    mindtorch::check(mindtorch::api().function_apply(&mindtorch::adopted_functions(*node), adopted, inputs.data(),
                                                     static_cast<int32_t>(inputs.size()), outputs, 64, &n));
    for (int32_t i = 0; i < n; i++) variables[static_cast<size_t>(i)] = mindtorch::tensor_of(outputs[i]);
}
// The node is held as PyTorch holds it, or by a std::shared_ptr, as up to 2.12.
template <class Pointer>
auto set_history(const variable_list& variables, const Pointer& node)
    -> decltype(static_cast<Node*>(node.get()), void()) {
    set_history(const_cast<variable_list&>(variables), node.get(), std::make_shared<Pointer>(node));
}
template <class Pointer>
auto set_history(const Variable& variable, const Pointer& node) -> decltype(static_cast<Node*>(node.get()), void()) {
    variable_list one{variable};
    set_history(one, node);
    const_cast<Variable&>(variable) = std::move(one[0]);
}
template <class Pointer>
void create_gradient_edge(Variable& variable, const Pointer& node) {
    set_history(variable, node);
}

// A tensor that a node keeps; it may not have been written to meanwhile.
class SavedVariable {
  public:
    SavedVariable() = default;
    SavedVariable(const Variable& kept, bool /*is_output*/, bool /*is_inplace_on_view*/ = false)
        : kept_(kept), version_(kept.defined() ? kept._version() : 0) {}
    SavedVariable(const std::optional<Variable>& kept, bool is_output, bool in_place = false)
        : SavedVariable(kept.value_or(Variable()), is_output, in_place) {}
    Variable unpack(const c10::intrusive_ptr<Node>& = nullptr) const {
        TORCH_CHECK(!kept_.defined() || kept_._version() == version_,
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    "it is at version ",
                    kept_.defined() ? kept_._version() : 0, "; expected version ", version_, " instead.");
        return kept_;
    }
    void reset_data() { kept_ = Variable(); }

  private:
    Variable kept_;
    int64_t version_ = 0;
};

// torch.autograd.set_detect_anomaly, from C++.
struct AnomalyMode {
    static bool is_enabled() {
        return mindtorch::call_python("mindtorch_v2._C", "is_anomaly_enabled", {}).as.boolean != 0;
    }
    static bool should_check_nan() {
        return mindtorch::call_python("mindtorch_v2._C", "is_anomaly_check_nan_enabled", {}).as.boolean != 0;
    }
    static void set_enabled(bool on, bool check_nan = true) {
        mindtorch::drop(mindtorch::call_python("mindtorch_v2.autograd", "set_detect_anomaly",
                                               {mindtorch::arg(on), mindtorch::arg(check_nan)}));
    }
};
class DetectAnomalyGuard {
  public:
    explicit DetectAnomalyGuard(bool check_nan = true)
        : on_(AnomalyMode::is_enabled()), checked_(AnomalyMode::should_check_nan()) {
        AnomalyMode::set_enabled(true, check_nan);
    }
    ~DetectAnomalyGuard() { AnomalyMode::set_enabled(on_, checked_); }
    DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;

  private:
    bool on_, checked_;
};

inline bool any_variable_requires_grad(const variable_list& tensors) {
    for (const Variable& t : tensors)
        if (t.defined() && t.requires_grad()) return true;
    return false;
}
inline void increment_version(const at::Tensor& t) { mindtorch::api().bump_version(t.handle()); }
inline Variable make_variable(at::Tensor t, bool requires_grad = false) {
    if (requires_grad) t.set_requires_grad(true);
    return t;
}
inline variable_list grad(const variable_list& outputs, const variable_list& inputs,
                          const variable_list& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                          bool create_graph = false, bool allow_unused = false) {
    mt_value r = mindtorch::call_python(
        "mindtorch_v2.autograd", "grad",
        {mindtorch::arg(at::TensorList(outputs)), mindtorch::arg(at::TensorList(inputs)),
         grad_outputs.empty() ? mindtorch::none() : mindtorch::arg(at::TensorList(grad_outputs)),
         mindtorch::arg(retain_graph), mindtorch::arg(create_graph), mindtorch::arg(allow_unused)});
    mindtorch::Object held = mindtorch::Object::steal(r.as.object);
    return mindtorch::from<variable_list>(mindtorch::object_value(held));
}
inline void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                     std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                     const variable_list& inputs = {}) {
    mindtorch::call_python("mindtorch_v2.autograd", "backward",
                           {mindtorch::arg(at::TensorList(tensors)),
                            grad_tensors.empty() ? mindtorch::none() : mindtorch::arg(at::TensorList(grad_tensors)),
                            mindtorch::arg(retain_graph), mindtorch::arg(create_graph), mindtorch::none(),
                            inputs.empty() ? mindtorch::none() : mindtorch::arg(at::TensorList(inputs))});
}

}  // namespace autograd
}  // namespace torch

namespace mindtorch MINDTORCH_HIDDEN {
// Hooks of this library are told from another's by an address.
inline unsigned next_hook() {
    static std::atomic<unsigned> count{0};
    return count++;
}
inline std::string hook_name(unsigned number) {
    static const char own = 0;
    return c10::str("hook_", reinterpret_cast<uintptr_t>(&own), "_", number);
}
}  // namespace mindtorch MINDTORCH_HIDDEN

namespace at {
inline c10::intrusive_ptr<torch::autograd::Node> Tensor::grad_fn() const {
    const mt_value v =
        mindtorch::call_python("builtins", "getattr", {mindtorch::arg(*this), mindtorch::arg("grad_fn")});
    if (v.tag != MT_OBJECT) return nullptr;
    return c10::make_intrusive<torch::autograd::Node>(mindtorch::Object::steal(v.as.object));
}
template <class F>
unsigned Tensor::register_hook(F&& hook) const {
    // The hook is an operator without a name that anybody knows: that is what Python can call.
    const unsigned number = mindtorch::next_hook();
    const std::string name = mindtorch::hook_name(number);
    auto& library = *new torch::Library(torch::Library::FRAGMENT, "_mindtorch_hooks", "", "Tensor::register_hook", 0);
    library.def((name + "(Tensor grad) -> Tensor").c_str(),
                [f = std::forward<F>(hook)](const Tensor& grad) mutable -> Tensor {
                    if constexpr (std::is_void<decltype(f(grad))>::value) {
                        f(grad);
                        return grad;
                    } else {
                        Tensor changed = f(grad);
                        return changed.defined() ? changed : grad;
                    }
                });
    mindtorch::call_python("mindtorch_v2._library.compiled", "add_hook", {mindtorch::arg(*this), mindtorch::arg(name)});
    return number;
}
inline void Tensor::remove_hook(unsigned number) const {
    mindtorch::call_python("mindtorch_v2._library.compiled", "remove_hook",
                           {mindtorch::arg(mindtorch::hook_name(number))});
}
inline uint32_t Tensor::output_nr() const {
    return static_cast<uint32_t>(
        mindtorch::call_python("builtins", "getattr", {mindtorch::arg(*this), mindtorch::arg("output_nr")}).as.integer);
}
inline Tensor Tensor::_base() const {
    const mt_value v = mindtorch::call_python("builtins", "getattr", {mindtorch::arg(*this), mindtorch::arg("_base")});
    TORCH_CHECK(v.tag == MT_TENSOR, "Can't get base of non-view Tensor");
    return Tensor::steal(v.as.tensor);
}
}  // namespace at
