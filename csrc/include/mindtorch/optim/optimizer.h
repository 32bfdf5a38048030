// torch::optim::Optimizer: groups of parameters with their options, what is kept of each parameter, and how both are
// saved.
#pragma once

#include <mindtorch/nn/module.h>

#include <memory>
#include <unordered_map>

namespace torch {
namespace optim {

// The options of a group. Those of an optimizer name their fields in `each(f)`, by which they are compared and saved.
class OptimizerOptions {
  public:
    OptimizerOptions() = default;
    OptimizerOptions(const OptimizerOptions&) = default;
    OptimizerOptions& operator=(const OptimizerOptions&) = default;
    virtual ~OptimizerOptions() = default;
    // Options of no optimizer stand where none are given.
    virtual std::unique_ptr<OptimizerOptions> clone() const { return std::make_unique<OptimizerOptions>(*this); }
    virtual double get_lr() const { refuse("get_lr"); }
    virtual void set_lr(double) { refuse("set_lr"); }
    virtual void save(serialize::OutputArchive&, const std::string&) const { refuse("save"); }
    virtual void load(serialize::InputArchive&, const std::string&) { refuse("load"); }

  private:
    [[noreturn]] static void refuse(const char* name) {
        mindtorch::fail(MT_ERROR_NOT_IMPLEMENTED, "", name, "() is of the options of an optimizer");
    }
};
// What is kept of a parameter between steps.
class OptimizerParamState {
  public:
    OptimizerParamState() = default;
    OptimizerParamState(const OptimizerParamState&) = default;
    OptimizerParamState& operator=(const OptimizerParamState&) = default;
    virtual ~OptimizerParamState() = default;
    virtual std::unique_ptr<OptimizerParamState> clone() const = 0;
    virtual void save(serialize::OutputArchive& archive, const std::string& prefix) const = 0;
    virtual void load(serialize::InputArchive& archive, const std::string& prefix) = 0;
};

// Both, for a class whose fields `each(f)` gives to `f(name, field)`.
template <class Derived, class Base>
class WithFields : public Base {
  public:
    std::unique_ptr<Base> clone() const override { return std::make_unique<Derived>(self()); }
    void save(serialize::OutputArchive& archive, const std::string& prefix) const override {
        const_cast<Derived&>(self()).each(
            [&](const char* name, const auto& field) { archive.write(prefix + name, c10::IValue(field)); });
    }
    void load(serialize::InputArchive& archive, const std::string& prefix) override {
        static_cast<Derived&>(*this).each([&](const char* name, auto& field) {
            c10::IValue value;
            archive.read(prefix + name, value);
            using Field = std::decay_t<decltype(field)>;
            if constexpr (std::is_same_v<Field, at::Tensor>)
                field = value.isNone() ? at::Tensor() : value.toTensor();
            else
                field = value.template to<Field>();
        });
    }
    friend bool operator==(const Derived& a, const Derived& b) { return a.values() == b.values(); }
    friend bool operator!=(const Derived& a, const Derived& b) { return !(a == b); }

  private:
    const Derived& self() const { return static_cast<const Derived&>(*this); }
    c10::IValue::Items values() const {
        c10::IValue::Items all;
        const_cast<Derived&>(self()).each([&](const char*, const auto& field) { all.emplace_back(field); });
        return all;
    }
};
template <class Derived>
using OptimizerCloneableParamState = WithFields<Derived, OptimizerParamState>;
template <class Derived>
class OptimizerCloneableOptions : public WithFields<Derived, OptimizerOptions> {
  public:
    double get_lr() const override { return static_cast<const Derived&>(*this).lr(); }
    void set_lr(double lr) override { static_cast<Derived&>(*this).lr(lr); }
};

class OptimizerParamGroup {
  public:
    OptimizerParamGroup(std::vector<at::Tensor> params) : params_(std::move(params)) {}
    OptimizerParamGroup(std::vector<at::Tensor> params, std::unique_ptr<OptimizerOptions> options)
        : params_(std::move(params)), options_(std::move(options)) {}
    OptimizerParamGroup(const OptimizerParamGroup& other)
        : params_(other.params_), options_(other.options_ ? other.options_->clone() : nullptr) {}
    OptimizerParamGroup& operator=(const OptimizerParamGroup& other) {
        params_ = other.params_;
        options_ = other.options_ ? other.options_->clone() : nullptr;
        return *this;
    }
    OptimizerParamGroup(OptimizerParamGroup&&) noexcept = default;
    OptimizerParamGroup& operator=(OptimizerParamGroup&&) noexcept = default;
    ~OptimizerParamGroup() = default;

    bool has_options() const { return options_ != nullptr; }
    OptimizerOptions& options() {
        TORCH_CHECK(has_options());
        return *options_;
    }
    const OptimizerOptions& options() const {
        TORCH_CHECK(has_options());
        return *options_;
    }
    void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
    std::vector<at::Tensor>& params() { return params_; }
    const std::vector<at::Tensor>& params() const { return params_; }

  private:
    std::vector<at::Tensor> params_;
    std::unique_ptr<OptimizerOptions> options_;
};

class Optimizer {
  public:
    using LossClosure = std::function<at::Tensor()>;
    using State = std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>;

    Optimizer(const Optimizer&) = delete;
    Optimizer(Optimizer&&) = default;
    Optimizer& operator=(Optimizer&&) = default;
    explicit Optimizer(const std::vector<OptimizerParamGroup>& groups, std::unique_ptr<OptimizerOptions> defaults)
        : defaults_(std::move(defaults)) {
        for (const OptimizerParamGroup& g : groups) add_param_group(g);
    }
    explicit Optimizer(std::vector<at::Tensor> params, std::unique_ptr<OptimizerOptions> defaults)
        : Optimizer({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
    virtual ~Optimizer() = default;

    virtual at::Tensor step(LossClosure closure = nullptr) = 0;

    void add_param_group(const OptimizerParamGroup& group) {
        for (const at::Tensor& p : group.params()) TORCH_CHECK(p.is_leaf(), "can't optimize a non-leaf Tensor");
        OptimizerParamGroup added(group);
        if (!added.has_options()) added.set_options(defaults_->clone());
        param_groups_.push_back(std::move(added));
    }
    // To the first group.
    void add_parameters(const std::vector<at::Tensor>& params) {
        auto& all = param_groups_.at(0).params();
        all.insert(all.end(), params.begin(), params.end());
    }
    void zero_grad(bool set_to_none = true) {
        for (OptimizerParamGroup& g : param_groups_)
            for (at::Tensor& p : g.params()) {
                at::Tensor grad = p.grad();
                if (!grad.defined()) continue;
                if (set_to_none) {
                    p.mutable_grad() = at::Tensor();
                } else {
                    grad.detach_();
                    grad.zero_();
                }
            }
    }
    const std::vector<at::Tensor>& parameters() const noexcept { return param_groups_.at(0).params(); }
    std::vector<at::Tensor>& parameters() noexcept { return param_groups_.at(0).params(); }
    size_t size() const noexcept {
        size_t n = 0;
        for (const OptimizerParamGroup& g : param_groups_) n += g.params().size();
        return n;
    }
    OptimizerOptions& defaults() noexcept { return *defaults_; }
    const OptimizerOptions& defaults() const noexcept { return *defaults_; }
    std::vector<OptimizerParamGroup>& param_groups() noexcept { return param_groups_; }
    const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return param_groups_; }
    State& state() noexcept { return state_; }
    const State& state() const noexcept { return state_; }

    virtual void save(serialize::OutputArchive& archive) const {
        archive.write("groups", c10::IValue(static_cast<int64_t>(param_groups_.size())));
        each_place([&](const std::string& group, const OptimizerParamGroup& g) {
            archive.write(group + "size", c10::IValue(static_cast<int64_t>(g.params().size())));
            g.options().save(archive, group);
            for (size_t i = 0; i < g.params().size(); i++) {
                const auto kept = state_.find(g.params()[i].unsafeGetTensorImpl());
                const std::string prefix = group + std::to_string(i) + ".";
                archive.write(prefix + "has_state", c10::IValue(kept != state_.end()));
                if (kept != state_.end()) kept->second->save(archive, prefix);
            }
        });
    }
    // Into an optimizer with as many parameters in each group.
    virtual void load(serialize::InputArchive& archive) {
        c10::IValue value;
        archive.read("groups", value);
        TORCH_CHECK(value.toInt() == static_cast<int64_t>(param_groups_.size()),
                    "loaded state dict has a different number of parameter groups");
        each_place([&](const std::string& group, const OptimizerParamGroup& constant) {
            auto& g = const_cast<OptimizerParamGroup&>(constant);
            archive.read(group + "size", value);
            TORCH_CHECK(
                value.toInt() == static_cast<int64_t>(g.params().size()),
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group");
            g.options().load(archive, group);
            for (size_t i = 0; i < g.params().size(); i++) {
                const std::string prefix = group + std::to_string(i) + ".";
                archive.read(prefix + "has_state", value);
                if (!value.toBool()) continue;
                auto kept = new_state();
                kept->load(archive, prefix);
                state_[g.params()[i].unsafeGetTensorImpl()] = std::move(kept);
            }
        });
    }

  protected:
    std::vector<OptimizerParamGroup> param_groups_;
    State state_;
    std::unique_ptr<OptimizerOptions> defaults_;

    // What a parameter begins with when its state is loaded.
    virtual std::unique_ptr<OptimizerParamState> new_state() const {
        TORCH_CHECK(false, "this optimizer has no state that could be loaded");
    }
    // The loss, with gradients, where a closure computes it.
    static at::Tensor loss_of(const LossClosure& closure) {
        if (!closure) return at::Tensor();
        c10::AutoGradMode enabled(true);
        return closure();
    }
    template <class S>
    S& state_of(const at::Tensor& p, const std::function<void(S&)>& begin) {
        auto& kept = state_[p.unsafeGetTensorImpl()];
        if (!kept) {
            auto made = std::make_unique<S>();
            begin(*made);
            kept = std::move(made);
        }
        return static_cast<S&>(*kept);
    }
    // The parameters that have gradients, with the options of their group.
    template <class Options, class F>
    void each_gradient(F&& f) {
        for (OptimizerParamGroup& g : param_groups_)
            for (at::Tensor& p : g.params())
                if (p.grad().defined()) f(p, p.grad(), static_cast<Options&>(g.options()));
    }

  private:
    template <class F>
    void each_place(F&& f) const {
        for (size_t i = 0; i < param_groups_.size(); i++) f("group" + std::to_string(i) + ".", param_groups_[i]);
    }
};

inline serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Optimizer& optimizer) {
    optimizer.save(archive);
    return archive;
}
inline serialize::InputArchive& operator>>(serialize::InputArchive& archive, Optimizer& optimizer) {
    optimizer.load(archive);
    return archive;
}

}  // namespace optim
}  // namespace torch
