// Differentiable functions in C++: torch::autograd::Function.
#pragma once

#include <mindtorch/functions.h>
#include <mindtorch/hash_map.h>
#include <mindtorch/language.h>
#include <mindtorch/library.h>

#include <cstdlib>

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
            torch::autograd::variable_list back = T::backward(&r->context, std::move(given));
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

// A node of the graph.
class Node {
  public:
    explicit Node(mindtorch::Object node) : node_(std::move(node)) {}
    std::string name() const {
        mindtorch::Object text = mindtorch::Object::steal(
            mindtorch::call_python("mindtorch_v2._library.compiled", "node_name", {mindtorch::object_value(node_)})
                .as.object);
        return mindtorch::from<std::string>(mindtorch::object_value(text));
    }

  private:
    mindtorch::Object node_;
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
inline std::shared_ptr<torch::autograd::Node> Tensor::grad_fn() const {
    const mt_value v =
        mindtorch::call_python("builtins", "getattr", {mindtorch::arg(*this), mindtorch::arg("grad_fn")});
    if (v.tag != MT_OBJECT) return nullptr;
    return std::make_shared<torch::autograd::Node>(mindtorch::Object::steal(v.as.object));
}
template <class F>
unsigned Tensor::register_hook(F&& hook) const {
    // The hook is an operator without a name that anybody knows: that is what Python can call.
    const unsigned number = mindtorch::next_hook();
    const std::string name = mindtorch::hook_name(number);
    torch::Library library(torch::Library::FRAGMENT, "_mindtorch_hooks", "", "Tensor::register_hook", 0);
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
