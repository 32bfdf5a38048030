// torch::optim's optimizers that need gradients only: SGD, Adam, AdamW, Adagrad, RMSprop.
#pragma once

#include <mindtorch/optim/optimizer.h>

namespace torch {
namespace optim {

// ---- SGD ----
struct SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
    SGDOptions(double lr) : lr_(lr) {}
    TORCH_ARG(double, lr);
    TORCH_ARG(double, momentum) = 0;
    TORCH_ARG(double, dampening) = 0;
    TORCH_ARG(double, weight_decay) = 0;
    TORCH_ARG(bool, nesterov) = false;

  public:
    template <class F>
    void each(F f) {
        f("lr", lr_), f("momentum", momentum_), f("dampening", dampening_), f("weight_decay", weight_decay_);
        f("nesterov", nesterov_);
    }
};
struct SGDParamState : public OptimizerCloneableParamState<SGDParamState> {
    TORCH_ARG(at::Tensor, momentum_buffer);

  public:
    template <class F>
    void each(F f) {
        f("momentum_buffer", momentum_buffer_);
    }
};
class SGD : public Optimizer {
  public:
    explicit SGD(const std::vector<OptimizerParamGroup>& groups, SGDOptions defaults)
        : Optimizer(groups, std::make_unique<SGDOptions>(defaults)) {
        TORCH_CHECK(defaults.lr() >= 0, "Invalid learning rate: ", defaults.lr());
        TORCH_CHECK(defaults.momentum() >= 0, "Invalid momentum value: ", defaults.momentum());
        TORCH_CHECK(defaults.weight_decay() >= 0, "Invalid weight_decay value: ", defaults.weight_decay());
        TORCH_CHECK(!defaults.nesterov() || (defaults.momentum() > 0 && defaults.dampening() == 0),
                    "Nesterov momentum requires a momentum and zero dampening");
    }
    explicit SGD(std::vector<at::Tensor> params, SGDOptions defaults)
        : SGD({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

    at::Tensor step(LossClosure closure = nullptr) override {
        c10::NoGradGuard guard;
        at::Tensor loss = loss_of(closure);
        each_gradient<SGDOptions>([&](at::Tensor& p, at::Tensor grad, const SGDOptions& o) {
            if (o.weight_decay() != 0) grad = grad.add(p, o.weight_decay());
            if (o.momentum() != 0) {
                bool first = false;
                auto& kept = state_of<SGDParamState>(p, [&](SGDParamState& s) {
                    s.momentum_buffer(grad.detach().clone());
                    first = true;
                });
                at::Tensor& buffer = kept.momentum_buffer();
                if (!first) buffer.mul_(o.momentum()).add_(grad, 1 - o.dampening());
                grad = o.nesterov() ? grad.add(buffer, o.momentum()) : buffer;
            }
            p.add_(grad, -o.lr());
        });
        return loss;
    }

  protected:
    std::unique_ptr<OptimizerParamState> new_state() const override { return std::make_unique<SGDParamState>(); }
};

// ---- Adam and AdamW, which differ in how weights decay ----
#define MINDTORCH_ADAM(Name, decay)                                                             \
    struct Name##Options : public OptimizerCloneableOptions<Name##Options> {                    \
        Name##Options(double lr = 1e-3) : lr_(lr) {}                                            \
        using betas_t = std::tuple<double, double>;                                             \
        TORCH_ARG(double, lr) = 1e-3;                                                           \
        TORCH_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);                                \
        TORCH_ARG(double, eps) = 1e-8;                                                          \
        TORCH_ARG(double, weight_decay) = decay;                                                \
        TORCH_ARG(bool, amsgrad) = false;                                                       \
                                                                                                \
      public:                                                                                   \
        template <class F>                                                                      \
        void each(F f) {                                                                        \
            f("lr", lr_), f("betas", betas_), f("eps", eps_), f("weight_decay", weight_decay_); \
            f("amsgrad", amsgrad_);                                                             \
        }                                                                                       \
    };                                                                                          \
    struct Name##ParamState : public OptimizerCloneableParamState<Name##ParamState> {           \
        TORCH_ARG(int64_t, step) = 0;                                                           \
        TORCH_ARG(at::Tensor, exp_avg);                                                         \
        TORCH_ARG(at::Tensor, exp_avg_sq);                                                      \
        TORCH_ARG(at::Tensor, max_exp_avg_sq) = {};                                             \
                                                                                                \
      public:                                                                                   \
        template <class F>                                                                      \
        void each(F f) {                                                                        \
            f("step", step_), f("exp_avg", exp_avg_), f("exp_avg_sq", exp_avg_sq_);             \
            f("max_exp_avg_sq", max_exp_avg_sq_);                                               \
        }                                                                                       \
    }
MINDTORCH_ADAM(Adam, 0);
MINDTORCH_ADAM(AdamW, 1e-2);
#undef MINDTORCH_ADAM

template <class Options, class Kept, bool decoupled>
class AdamBase : public Optimizer {
  public:
    explicit AdamBase(const std::vector<OptimizerParamGroup>& groups, Options defaults = {})
        : Optimizer(groups, std::make_unique<Options>(defaults)) {
        const auto [beta1, beta2] = defaults.betas();
        TORCH_CHECK(defaults.lr() >= 0, "Invalid learning rate: ", defaults.lr());
        TORCH_CHECK(defaults.eps() >= 0, "Invalid epsilon value: ", defaults.eps());
        TORCH_CHECK(0 <= beta1 && beta1 < 1.0, "Invalid beta parameter at index 0: ", beta1);
        TORCH_CHECK(0 <= beta2 && beta2 < 1.0, "Invalid beta parameter at index 1: ", beta2);
        TORCH_CHECK(defaults.weight_decay() >= 0, "Invalid weight_decay value: ", defaults.weight_decay());
    }
    explicit AdamBase(std::vector<at::Tensor> params, Options defaults = {})
        : AdamBase({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

    at::Tensor step(LossClosure closure = nullptr) override {
        c10::NoGradGuard guard;
        at::Tensor loss = loss_of(closure);
        this->template each_gradient<Options>([&](at::Tensor& p, at::Tensor grad, const Options& o) {
            TORCH_CHECK(!grad.is_sparse(),
                        "Adam does not support sparse gradients, please consider SparseAdam instead");
            Kept& s = this->template state_of<Kept>(p, [&](Kept& begun) {
                begun.exp_avg(at::zeros_like(p, at::MemoryFormat::Preserve));
                begun.exp_avg_sq(at::zeros_like(p, at::MemoryFormat::Preserve));
                if (o.amsgrad()) begun.max_exp_avg_sq(at::zeros_like(p, at::MemoryFormat::Preserve));
            });
            const auto [beta1, beta2] = o.betas();
            s.step(s.step() + 1);
            const double t = static_cast<double>(s.step());
            const double correction1 = 1 - std::pow(beta1, t), correction2 = 1 - std::pow(beta2, t);
            if (o.weight_decay() != 0) {
                if (decoupled)
                    p.mul_(1 - o.lr() * o.weight_decay());
                else
                    grad = grad.add(p, o.weight_decay());
            }
            s.exp_avg().mul_(beta1).add_(grad, 1 - beta1);
            s.exp_avg_sq().mul_(beta2).addcmul_(grad, grad, 1 - beta2);
            at::Tensor second = s.exp_avg_sq();
            if (o.amsgrad()) {
                at::maximum_out(s.max_exp_avg_sq(), s.max_exp_avg_sq(), second);
                second = s.max_exp_avg_sq();
            }
            const at::Tensor denominator = (second.sqrt() / std::sqrt(correction2)).add_(o.eps());
            p.addcdiv_(s.exp_avg(), denominator, -o.lr() / correction1);
        });
        return loss;
    }

  protected:
    std::unique_ptr<OptimizerParamState> new_state() const override { return std::make_unique<Kept>(); }
};
class Adam : public AdamBase<AdamOptions, AdamParamState, false> {
  public:
    using AdamBase::AdamBase;
};
class AdamW : public AdamBase<AdamWOptions, AdamWParamState, true> {
  public:
    using AdamBase::AdamBase;
};

// ---- Adagrad ----
struct AdagradOptions : public OptimizerCloneableOptions<AdagradOptions> {
    AdagradOptions(double lr = 1e-2) : lr_(lr) {}
    TORCH_ARG(double, lr) = 1e-2;
    TORCH_ARG(double, lr_decay) = 0;
    TORCH_ARG(double, weight_decay) = 0;
    TORCH_ARG(double, initial_accumulator_value) = 0;
    TORCH_ARG(double, eps) = 1e-10;

  public:
    template <class F>
    void each(F f) {
        f("lr", lr_), f("lr_decay", lr_decay_), f("weight_decay", weight_decay_);
        f("initial_accumulator_value", initial_accumulator_value_), f("eps", eps_);
    }
};
struct AdagradParamState : public OptimizerCloneableParamState<AdagradParamState> {
    TORCH_ARG(at::Tensor, sum);
    TORCH_ARG(int64_t, step) = 0;

  public:
    template <class F>
    void each(F f) {
        f("sum", sum_), f("step", step_);
    }
};
class Adagrad : public Optimizer {
  public:
    explicit Adagrad(const std::vector<OptimizerParamGroup>& groups, AdagradOptions defaults = {})
        : Optimizer(groups, std::make_unique<AdagradOptions>(defaults)) {
        TORCH_CHECK(defaults.lr() >= 0, "Invalid learning rate: ", defaults.lr());
        TORCH_CHECK(defaults.lr_decay() >= 0, "Invalid lr_decay value: ", defaults.lr_decay());
        TORCH_CHECK(defaults.weight_decay() >= 0, "Invalid weight_decay value: ", defaults.weight_decay());
        TORCH_CHECK(defaults.initial_accumulator_value() >= 0,
                    "Invalid initial_accumulator_value value: ", defaults.initial_accumulator_value());
        TORCH_CHECK(defaults.eps() >= 0, "Invalid epsilon value: ", defaults.eps());
    }
    explicit Adagrad(std::vector<at::Tensor> params, AdagradOptions defaults = {})
        : Adagrad({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

    at::Tensor step(LossClosure closure = nullptr) override {
        c10::NoGradGuard guard;
        at::Tensor loss = loss_of(closure);
        each_gradient<AdagradOptions>([&](at::Tensor& p, at::Tensor grad, const AdagradOptions& o) {
            auto& s = state_of<AdagradParamState>(p, [&](AdagradParamState& begun) {
                begun.sum(at::full_like(p.detach(), o.initial_accumulator_value(), at::TensorOptions(),
                                        at::MemoryFormat::Preserve));
            });
            s.step(s.step() + 1);
            if (o.weight_decay() != 0) {
                TORCH_CHECK(!grad.is_sparse(), "weight_decay option is not compatible with sparse gradients");
                grad = grad.add(p, o.weight_decay());
            }
            const double rate = o.lr() / (1 + static_cast<double>(s.step() - 1) * o.lr_decay());
            s.sum().addcmul_(grad, grad, 1.0);
            p.addcdiv_(grad, s.sum().sqrt().add_(o.eps()), -rate);
        });
        return loss;
    }

  protected:
    std::unique_ptr<OptimizerParamState> new_state() const override { return std::make_unique<AdagradParamState>(); }
};

// ---- RMSprop ----
struct RMSpropOptions : public OptimizerCloneableOptions<RMSpropOptions> {
    RMSpropOptions(double lr = 1e-2) : lr_(lr) {}
    TORCH_ARG(double, lr) = 1e-2;
    TORCH_ARG(double, alpha) = 0.99;
    TORCH_ARG(double, eps) = 1e-8;
    TORCH_ARG(double, weight_decay) = 0;
    TORCH_ARG(double, momentum) = 0;
    TORCH_ARG(bool, centered) = false;

  public:
    template <class F>
    void each(F f) {
        f("lr", lr_), f("alpha", alpha_), f("eps", eps_), f("weight_decay", weight_decay_);
        f("momentum", momentum_), f("centered", centered_);
    }
};
struct RMSpropParamState : public OptimizerCloneableParamState<RMSpropParamState> {
    TORCH_ARG(int64_t, step) = 0;
    TORCH_ARG(at::Tensor, square_avg);
    TORCH_ARG(at::Tensor, momentum_buffer) = {};
    TORCH_ARG(at::Tensor, grad_avg) = {};

  public:
    template <class F>
    void each(F f) {
        f("step", step_), f("square_avg", square_avg_), f("momentum_buffer", momentum_buffer_);
        f("grad_avg", grad_avg_);
    }
};
class RMSprop : public Optimizer {
  public:
    explicit RMSprop(const std::vector<OptimizerParamGroup>& groups, RMSpropOptions defaults = {})
        : Optimizer(groups, std::make_unique<RMSpropOptions>(defaults)) {
        TORCH_CHECK(defaults.lr() >= 0, "Invalid learning rate: ", defaults.lr());
        TORCH_CHECK(defaults.eps() >= 0, "Invalid epsilon value: ", defaults.eps());
        TORCH_CHECK(defaults.momentum() >= 0, "Invalid momentum value: ", defaults.momentum());
        TORCH_CHECK(defaults.weight_decay() >= 0, "Invalid weight_decay value: ", defaults.weight_decay());
        TORCH_CHECK(defaults.alpha() >= 0, "Invalid alpha value: ", defaults.alpha());
    }
    explicit RMSprop(std::vector<at::Tensor> params, RMSpropOptions defaults = {})
        : RMSprop({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

    at::Tensor step(LossClosure closure = nullptr) override {
        c10::NoGradGuard guard;
        at::Tensor loss = loss_of(closure);
        each_gradient<RMSpropOptions>([&](at::Tensor& p, at::Tensor grad, const RMSpropOptions& o) {
            TORCH_CHECK(!grad.is_sparse(), "RMSprop does not support sparse gradients");
            auto& s = state_of<RMSpropParamState>(p, [&](RMSpropParamState& begun) {
                begun.square_avg(at::zeros_like(p, at::MemoryFormat::Preserve));
                if (o.momentum() > 0) begun.momentum_buffer(at::zeros_like(p, at::MemoryFormat::Preserve));
                if (o.centered()) begun.grad_avg(at::zeros_like(p, at::MemoryFormat::Preserve));
            });
            s.step(s.step() + 1);
            if (o.weight_decay() != 0) grad = grad.add(p, o.weight_decay());
            s.square_avg().mul_(o.alpha()).addcmul_(grad, grad, 1 - o.alpha());
            at::Tensor spread = s.square_avg();
            if (o.centered()) {
                s.grad_avg().mul_(o.alpha()).add_(grad, 1 - o.alpha());
                spread = spread.addcmul(s.grad_avg(), s.grad_avg(), -1);
            }
            const at::Tensor average = spread.sqrt().add_(o.eps());
            if (o.momentum() > 0) {
                s.momentum_buffer().mul_(o.momentum()).addcdiv_(grad, average);
                p.add_(s.momentum_buffer(), -o.lr());
            } else {
                p.addcdiv_(grad, average, -o.lr());
            }
        });
        return loss;
    }

  protected:
    std::unique_ptr<OptimizerParamState> new_state() const override { return std::make_unique<RMSpropParamState>(); }
};

}  // namespace optim
}  // namespace torch
