// Modules whose type is not known where they are called: AnyModule, with a name for Sequential, and functions as
// modules.
#pragma once

#include <mindtorch/nn/module.h>

namespace torch {
namespace nn {

// A module with its forward, which is called with values of exactly the types that it takes.
class AnyModule {
  public:
    AnyModule() = default;
    template <class M, class = std::enable_if_t<std::is_base_of_v<Module, M>>>
    explicit AnyModule(std::shared_ptr<M> module) : module_(std::move(module)), step_(step_of<M>()) {}
    template <class M, class = std::enable_if_t<std::is_base_of_v<Module, std::decay_t<M>>>>
    explicit AnyModule(M&& module) : AnyModule(std::make_shared<std::decay_t<M>>(std::forward<M>(module))) {}
    template <class Contained>
    explicit AnyModule(const ModuleHolder<Contained>& holder) : AnyModule(holder.ptr()) {}

    template <class... A>
    AnyValue any_forward(A&&... a) {
        TORCH_CHECK(!is_empty(), "Cannot call forward() on an empty AnyModule");
        return AnyValue(step_(*module_, {std::any(std::decay_t<A>(std::forward<A>(a)))...}));
    }
    template <class Result = at::Tensor, class... A>
    Result forward(A&&... a) {
        return result<Result>(any_forward(std::forward<A>(a)...).any());
    }
    template <class Result>
    static Result result(std::any value) {
        auto* found = std::any_cast<Result>(&value);
        TORCH_CHECK(found, "Attempted to cast a result of type ", mindtorch::type_text(value.type()),
                    " to a value of type ", mindtorch::type_text(typeid(Result)));
        return std::move(*found);
    }
    template <class M, class = std::enable_if_t<std::is_base_of_v<Module, M>>>
    M& get() {
        TORCH_CHECK(!is_empty(), "Cannot call get() on an empty AnyModule");
        M* found = dynamic_cast<M*>(module_.get());
        TORCH_CHECK(found, "Attempted to cast module of type ", module_->name(), " to type ",
                    mindtorch::type_text(typeid(M)));
        return *found;
    }
    template <class Holder, class Contained = typename Holder::ContainedType>
    Holder get() {
        return Holder(std::shared_ptr<Contained>(module_, &get<Contained>()));
    }
    // As that module or that holder; an error if it is another.
    template <class M, class = std::enable_if_t<std::is_base_of_v<Module, M>>>
    std::shared_ptr<M> ptr() const {
        std::shared_ptr<M> found = std::dynamic_pointer_cast<M>(ptr());
        TORCH_CHECK(found, "Attempted to cast module of type ", ptr()->name(), " to type ",
                    mindtorch::type_text(typeid(M)));
        return found;
    }
    std::shared_ptr<Module> ptr() const {
        TORCH_CHECK(!is_empty(), "Cannot call ptr() on an empty AnyModule");
        return module_;
    }
    const std::type_info& type_info() const { return typeid(*ptr()); }
    bool is_empty() const noexcept { return module_ == nullptr; }
    AnyModule clone(std::optional<at::Device> device = std::nullopt) const {
        AnyModule copy;
        copy.module_ = ptr()->clone(device);
        copy.step_ = step_;
        return copy;
    }
    // The same forward of another module of the type.
    AnyModule with(std::shared_ptr<Module> module) const {
        AnyModule other = *this;
        other.module_ = std::move(module);
        return other;
    }
    std::any call(std::vector<std::any> given) const { return step_(*module_, std::move(given)); }

  private:
    using Step = std::function<std::any(Module&, std::vector<std::any>)>;
    template <class T>
    static T& taken(std::any& value, size_t i) {
        auto* found = std::any_cast<T>(&value);
        TORCH_CHECK(found, "Expected argument #", i, " to be of type ", mindtorch::type_text(typeid(T)),
                    ", but received value of type ", mindtorch::type_text(value.type()));
        return *found;
    }
    // Adds defaults that the module declares for what is not given.
    static void complete(const Module& m, std::vector<std::any>& given, size_t count) {
        const auto defaults = m.forward_defaults();
        const size_t received = given.size();
        for (const auto& [place, value] : defaults)
            if (place == given.size()) given.push_back(value.any());
        const std::string least = defaults.empty() ? "" : c10::str(" at least ", count - defaults.size());
        TORCH_CHECK(given.size() == count, m.name(), "'s forward() method expects", least,
                    defaults.empty() ? " " : " argument(s) and at most ", count, " argument(s), but received ",
                    received, ".",
                    defaults.empty() && received < count
                        ? " If " + m.name() +
                              "'s forward() method has default arguments, please make sure the forward() method is "
                              "declared with a corresponding `FORWARD_HAS_DEFAULT_ARGS` macro."
                        : "");
    }
    template <class M, class R, class... A, size_t... i>
    static Step with_types(std::index_sequence<i...>) {
        return [](Module& m, std::vector<std::any> given) {
            complete(m, given, sizeof...(A));
            return std::any(std::decay_t<R>(dynamic_cast<M&>(m).forward(taken<std::decay_t<A>>(given[i], i)...)));
        };
    }
    template <class M, class R, class C, class... A>
    static Step of(R (C::*)(A...)) {
        return with_types<M, R, A...>(std::index_sequence_for<A...>());
    }
    template <class M, class R, class C, class... A>
    static Step of(R (C::*)(A...) const) {
        return with_types<M, R, A...>(std::index_sequence_for<A...>());
    }
    template <class M, class = void>
    struct OneForward : std::false_type {};
    template <class M>
    struct OneForward<M, std::void_t<decltype(&M::forward)>> : std::true_type {};
    // Of several forwards, or a template: that of one tensor.
    template <class M>
    static Step step_of() {
        if constexpr (OneForward<M>::value)
            return of<M>(&M::forward);
        else
            return with_types<M, at::Tensor, at::Tensor>(std::index_sequence<0>());
    }
    std::shared_ptr<Module> module_;
    Step step_;
};

// A module and its name in a Sequential.
class NamedAnyModule {
  public:
    template <class M>
    NamedAnyModule(std::string name, M&& module) : name_(std::move(name)), module_(std::forward<M>(module)) {}
    NamedAnyModule(std::string name, AnyModule module) : name_(std::move(name)), module_(std::move(module)) {}
    const std::string& name() const noexcept { return name_; }
    AnyModule& module() noexcept { return module_; }
    const AnyModule& module() const noexcept { return module_; }

  private:
    std::string name_;
    AnyModule module_;
};

// A function of a tensor as a module; further arguments are bound.
class FunctionalImpl : public Cloneable<FunctionalImpl> {
  public:
    using Function = std::function<at::Tensor(at::Tensor)>;
    explicit FunctionalImpl(Function function) : function_(std::move(function)) {}
    template <class F, class... A, class = std::enable_if_t<(sizeof...(A) > 0)>>
    explicit FunctionalImpl(F function, A&&... bound)
        : function_([function, held = std::make_tuple(std::forward<A>(bound)...)](at::Tensor x) {
              return std::apply([&](const auto&... a) { return function(x, a...); }, held);
          }) {}
    void reset() override {}
    void pretty_print(std::ostream& stream) const override { stream << "torch::nn::Functional()"; }
    at::Tensor forward(at::Tensor input) { return function_(std::move(input)); }
    at::Tensor operator()(at::Tensor input) { return forward(std::move(input)); }
    bool is_serializable() const override { return false; }

  private:
    Function function_;
};
TORCH_MODULE(Functional);

}  // namespace nn
}  // namespace torch
