// Modules of modules, and of parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict.
#pragma once

#include <mindtorch/nn/any.h>

namespace torch {
namespace nn {

// Modules one after another: each takes what the one before it gives, the first what forward() is given.
class SequentialImpl : public Cloneable<SequentialImpl> {
  public:
    using Iterator = std::vector<AnyModule>::iterator;
    using ConstIterator = std::vector<AnyModule>::const_iterator;
    SequentialImpl() = default;
    template <class First, class... Rest,
              class = std::enable_if_t<!std::is_same_v<std::decay_t<First>, SequentialImpl>>>
    explicit SequentialImpl(First&& first, Rest&&... rest) {
        push_back(std::forward<First>(first));
        (push_back(std::forward<Rest>(rest)), ...);
    }
    explicit SequentialImpl(std::initializer_list<NamedAnyModule> named) {
        for (const NamedAnyModule& m : named) push_back(m.name(), m.module());
    }
    explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& named) {
        for (const auto& m : named) push_back(m.key(), m.value());
    }
    void reset() override {}
    std::shared_ptr<Module> clone(const std::optional<at::Device>& device = std::nullopt) const override {
        auto copy = std::make_shared<SequentialImpl>();
        for (size_t i = 0; i < steps_.size(); i++) copy->push_back(children_[i].key(), steps_[i].clone(device));
        return copy;
    }
    void pretty_print(std::ostream& stream) const override { stream << "torch::nn::Sequential"; }

    void push_back(std::string name, AnyModule module) {
        register_module(std::move(name), module.ptr());
        steps_.push_back(std::move(module));
    }
    void push_back(AnyModule module) { push_back(std::to_string(size()), std::move(module)); }
    void push_back(const NamedAnyModule& named) { push_back(named.name(), named.module()); }
    template <class M>
    void push_back(std::string name, std::shared_ptr<M> module) {
        push_back(std::move(name), AnyModule(std::move(module)));
    }
    template <class M>
    void push_back(std::shared_ptr<M> module) {
        push_back(AnyModule(std::move(module)));
    }
    template <class Contained>
    void push_back(std::string name, const ModuleHolder<Contained>& holder) {
        push_back(std::move(name), AnyModule(holder));
    }
    template <class Contained>
    void push_back(const ModuleHolder<Contained>& holder) {
        push_back(AnyModule(holder));
    }
    template <class M, class = std::enable_if_t<std::is_base_of_v<Module, std::decay_t<M>>>>
    void push_back(M&& module) {
        push_back(AnyModule(std::forward<M>(module)));
    }
    template <class M, class = std::enable_if_t<std::is_base_of_v<Module, std::decay_t<M>>>>
    void push_back(std::string name, M&& module) {
        push_back(std::move(name), AnyModule(std::forward<M>(module)));
    }
    template <class Container>
    void extend(const Container& all) {
        for (const auto& m : all) push_back(m);
    }
    template <class Result = at::Tensor, class... A>
    Result forward(A&&... a) {
        TORCH_CHECK(!steps_.empty(), "Cannot call forward() on an empty Sequential");
        std::any value = steps_[0].any_forward(std::forward<A>(a)...).any();
        for (size_t i = 1; i < steps_.size(); i++) value = steps_[i].call({std::move(value)});
        return AnyModule::result<Result>(std::move(value));
    }
    Iterator begin() { return steps_.begin(); }
    Iterator end() { return steps_.end(); }
    ConstIterator begin() const { return steps_.begin(); }
    ConstIterator end() const { return steps_.end(); }
    size_t size() const noexcept { return steps_.size(); }
    bool is_empty() const noexcept { return steps_.empty(); }
    std::shared_ptr<Module> ptr(size_t i) const {
        TORCH_CHECK(i < size(), "Index out of range");
        return children_[i].value();
    }
    std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
    template <class M>
    M& at(size_t i) {
        TORCH_CHECK(i < size(), "Index out of range");
        return steps_[i].get<M>();
    }

  private:
    std::vector<AnyModule> steps_;
};
// Its modules may be given with names, in braces.
class Sequential : public ModuleHolder<SequentialImpl> {
  public:
    using ModuleHolder<SequentialImpl>::ModuleHolder;
    using Impl [[maybe_unused]] = SequentialImpl;
    Sequential() = default;
    Sequential(std::initializer_list<NamedAnyModule> named) : ModuleHolder(std::make_shared<SequentialImpl>(named)) {}
};

// Modules by their numbers.
class ModuleListImpl : public Cloneable<ModuleListImpl> {
  public:
    using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
    ModuleListImpl() = default;
    template <class First, class... Rest,
              class = std::enable_if_t<!std::is_same_v<std::decay_t<First>, ModuleListImpl>>>
    explicit ModuleListImpl(First&& first, Rest&&... rest) {
        push_back(std::forward<First>(first));
        (push_back(std::forward<Rest>(rest)), ...);
    }
    void reset() override {}
    std::shared_ptr<Module> clone(const std::optional<at::Device>& device = std::nullopt) const override {
        auto copy = std::make_shared<ModuleListImpl>();
        for (const auto& m : modules_) copy->push_back(m->clone(device));
        return copy;
    }
    void pretty_print(std::ostream& stream) const override { stream << "torch::nn::ModuleList"; }
    void push_back(std::shared_ptr<Module> module) {
        register_module(std::to_string(size()), module);
        modules_.push_back(std::move(module));
    }
    template <class Contained>
    void push_back(const ModuleHolder<Contained>& holder) {
        push_back(std::shared_ptr<Module>(holder.ptr()));
    }
    template <class M, class = std::enable_if_t<std::is_base_of_v<Module, std::decay_t<M>>>>
    void push_back(M&& module) {
        push_back(std::shared_ptr<Module>(std::make_shared<std::decay_t<M>>(std::forward<M>(module))));
    }
    template <class Container>
    void extend(const Container& all) {
        for (const auto& m : all) push_back(m);
    }
    Iterator begin() { return modules_.begin(); }
    Iterator end() { return modules_.end(); }
    size_t size() const noexcept { return modules_.size(); }
    bool is_empty() const noexcept { return modules_.empty(); }
    std::shared_ptr<Module> ptr(size_t i) const {
        TORCH_CHECK(i < size(), "Index out of range");
        return modules_[i];
    }
    std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
    template <class M>
    M& at(size_t i) {
        return dynamic_cast<M&>(*ptr(i));
    }

  private:
    std::vector<std::shared_ptr<Module>> modules_;
};
TORCH_MODULE(ModuleList);

// Modules by name.
class ModuleDictImpl : public Cloneable<ModuleDictImpl> {
  public:
    using Modules = OrderedDict<std::string, std::shared_ptr<Module>>;
    ModuleDictImpl() = default;
    explicit ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
        update(modules);
    }
    explicit ModuleDictImpl(const Modules& modules) { update(modules.pairs()); }
    void reset() override {}
    std::shared_ptr<Module> clone(const std::optional<at::Device>& device = std::nullopt) const override {
        auto copy = std::make_shared<ModuleDictImpl>();
        for (const auto& m : children_) copy->insert(m.key(), m.value()->clone(device));
        return copy;
    }
    void pretty_print(std::ostream& stream) const override { stream << "torch::nn::ModuleDict"; }
    Modules items() const { return children_; }
    auto begin() { return children_.begin(); }
    auto end() { return children_.end(); }
    size_t size() const noexcept { return children_.size(); }
    bool empty() const noexcept { return children_.is_empty(); }
    bool contains(const std::string& key) const noexcept { return children_.contains(key); }
    std::vector<std::string> keys() const { return children_.keys(); }
    std::vector<std::shared_ptr<Module>> values() const { return children_.values(); }
    void clear() { children_.clear(); }
    std::shared_ptr<Module> pop(const std::string& key) {
        auto module = children_[key];
        unregister_module(key);
        return module;
    }
    void update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
        for (const auto& m : modules) insert(m.first, m.second);
    }
    std::shared_ptr<Module> operator[](const std::string& key) const { return children_[key]; }
    template <class M>
    M& at(const std::string& key) {
        return dynamic_cast<M&>(*children_[key]);
    }

  private:
    void insert(const std::string& key, std::shared_ptr<Module> module) {
        if (contains(key))
            children_[key] = std::move(module);
        else
            register_module(key, std::move(module));
    }
};
TORCH_MODULE(ModuleDict);

// Parameters by their numbers.
class ParameterListImpl : public Cloneable<ParameterListImpl> {
  public:
    ParameterListImpl() = default;
    template <class... T>
    explicit ParameterListImpl(const at::Tensor& first, T&&... rest) {
        append(first);
        (append(std::forward<T>(rest)), ...);
    }
    void reset() override {}
    std::shared_ptr<Module> clone(const std::optional<at::Device>& device = std::nullopt) const override {
        c10::NoGradGuard guard;
        auto copy = std::make_shared<ParameterListImpl>();
        for (const auto& p : parameters_) copy->append(device ? p.value().to(*device) : p.value().clone());
        return copy;
    }
    void pretty_print(std::ostream& stream) const override { stream << "torch::nn::ParameterList"; }
    void append(const at::Tensor& p) { register_parameter(std::to_string(size()), p, p.requires_grad()); }
    template <class Container>
    void extend(const Container& all) {
        for (const auto& p : all) append(p);
    }
    auto begin() { return parameters_.begin(); }
    auto end() { return parameters_.end(); }
    size_t size() const noexcept { return parameters_.size(); }
    bool is_empty() const noexcept { return parameters_.is_empty(); }
    at::Tensor& at(size_t i) {
        TORCH_CHECK(i < size(), "Index out of range");
        return parameters_[i].value();
    }
    at::Tensor& operator[](size_t i) { return at(i); }
};
TORCH_MODULE(ParameterList);

// Parameters by name.
class ParameterDictImpl : public Cloneable<ParameterDictImpl> {
  public:
    ParameterDictImpl() = default;
    explicit ParameterDictImpl(const OrderedDict<std::string, at::Tensor>& all) {
        for (const auto& p : all) insert(p.key(), p.value());
    }
    void reset() override {}
    std::shared_ptr<Module> clone(const std::optional<at::Device>& device = std::nullopt) const override {
        c10::NoGradGuard guard;
        auto copy = std::make_shared<ParameterDictImpl>();
        for (const auto& p : parameters_) copy->insert(p.key(), device ? p.value().to(*device) : p.value().clone());
        return copy;
    }
    void pretty_print(std::ostream& stream) const override { stream << "torch::nn::ParameterDict"; }
    at::Tensor& insert(const std::string& key, const at::Tensor& p) {
        return register_parameter(key, p, p.requires_grad());
    }
    at::Tensor pop(const std::string& key) {
        at::Tensor p = parameters_[key];
        parameters_.erase(key);
        return p;
    }
    std::vector<std::string> keys() const { return parameters_.keys(); }
    std::vector<at::Tensor> values() const { return parameters_.values(); }
    size_t size() const noexcept { return parameters_.size(); }
    bool empty() const noexcept { return parameters_.is_empty(); }
    bool contains(const std::string& key) const noexcept { return parameters_.contains(key); }
    void clear() { parameters_.clear(); }
    at::Tensor& get(const std::string& key) { return parameters_[key]; }
    at::Tensor& operator[](const std::string& key) { return parameters_[key]; }
};
TORCH_MODULE(ParameterDict);

}  // namespace nn
}  // namespace torch
