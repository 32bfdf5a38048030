// Modules of modules: Sequential and ModuleList.
#pragma once

#include <mindtorch/nn/module.h>

namespace torch {
namespace nn {

// Modules one after another, each of which takes a tensor and gives one.
class SequentialImpl : public Cloneable<SequentialImpl> {
  public:
    SequentialImpl() = default;
    template <class First, class... Rest,
              class = std::enable_if_t<!std::is_same_v<std::decay_t<First>, SequentialImpl>>>
    explicit SequentialImpl(First&& first, Rest&&... rest) {
        push_back(std::forward<First>(first));
        (push_back(std::forward<Rest>(rest)), ...);
    }
    void reset() override {}
    std::shared_ptr<Module> clone(const std::optional<at::Device>& device = std::nullopt) const override {
        auto copy = std::make_shared<SequentialImpl>();
        for (size_t i = 0; i < steps_.size(); i++)
            copy->add(children_[i].key(), children_[i].value()->clone(device), steps_[i]);
        return copy;
    }
    void pretty_print(std::ostream& stream) const override { stream << "torch::nn::Sequential"; }

    template <class M>
    void push_back(std::string name, std::shared_ptr<M> module) {
        add(std::move(name), module,
            [](Module& m, const at::Tensor& x) { return at::Tensor(dynamic_cast<M&>(m).forward(x)); });
    }
    template <class M>
    void push_back(std::shared_ptr<M> module) {
        push_back(std::to_string(size()), std::move(module));
    }
    template <class Contained>
    void push_back(std::string name, const ModuleHolder<Contained>& holder) {
        push_back(std::move(name), holder.ptr());
    }
    template <class Contained>
    void push_back(const ModuleHolder<Contained>& holder) {
        push_back(std::to_string(size()), holder.ptr());
    }
    template <class M, class = std::enable_if_t<std::is_base_of_v<Module, std::decay_t<M>>>>
    void push_back(M&& module) {
        push_back(std::make_shared<std::decay_t<M>>(std::forward<M>(module)));
    }
    template <class Result = at::Tensor>
    Result forward(const at::Tensor& input) {
        TORCH_CHECK(!steps_.empty(), "Cannot call forward() on an empty Sequential");
        at::Tensor x = input;
        for (size_t i = 0; i < steps_.size(); i++) x = steps_[i](*children_[i].value(), x);
        return x;
    }
    size_t size() const noexcept { return steps_.size(); }
    bool is_empty() const noexcept { return steps_.empty(); }
    std::shared_ptr<Module> ptr(size_t i) const {
        TORCH_CHECK(i < size(), "Index out of range");
        return children_[i].value();
    }
    std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
    template <class M>
    M& at(size_t i) {
        return dynamic_cast<M&>(*ptr(i));
    }

  private:
    using Step = std::function<at::Tensor(Module&, const at::Tensor&)>;
    void add(std::string name, std::shared_ptr<Module> module, Step step) {
        register_module(std::move(name), std::move(module));
        steps_.push_back(std::move(step));
    }
    std::vector<Step> steps_;
};
TORCH_MODULE(Sequential);

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

}  // namespace nn
}  // namespace torch
