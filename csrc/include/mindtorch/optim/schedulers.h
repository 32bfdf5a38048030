// torch::optim's schedules of learning rates.
#pragma once

#include <mindtorch/optim/optimizer.h>

#include <iostream>
#include <limits>

namespace torch {
namespace optim {

class LRScheduler {
  public:
    LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}
    virtual ~LRScheduler() = default;
    void step() {
        const std::vector<double> rates = get_lrs();
        auto& groups = optimizer_.param_groups();
        TORCH_CHECK(rates.size() == groups.size(), "Number of learning rates not equal to the number of param groups\n",
                    "Number of learning rates given: ", rates.size(), "\nNumber of param groups: ", groups.size());
        for (size_t i = 0; i < rates.size(); i++) groups[i].options().set_lr(rates[i]);
        step_count_++;
    }

  protected:
    // The rate of each group from the next step on.
    virtual std::vector<double> get_lrs() = 0;
    std::vector<double> get_current_lrs() const {
        std::vector<double> rates;
        for (const auto& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
        return rates;
    }
    unsigned step_count_ = 0;

  private:
    Optimizer& optimizer_;
};

class StepLR : public LRScheduler {
  public:
    StepLR(Optimizer& optimizer, const unsigned step_size, const double gamma = 0.1)
        : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {}

  private:
    std::vector<double> get_lrs() override {
        std::vector<double> rates = get_current_lrs();
        if (step_count_ != 0 && step_count_ % step_size_ == 0)
            for (double& rate : rates) rate *= gamma_;
        return rates;
    }
    const unsigned step_size_;
    const double gamma_;
};

// Rates fall when a metric has not become better for a while.
class ReduceLROnPlateauScheduler {
  public:
    enum SchedulerMode { min, max };
    enum ThresholdMode { rel, abs };
    ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min, float factor = 0.1F, int patience = 10,
                               double threshold = 1e-4, ThresholdMode threshold_mode = rel, int cooldown = 0,
                               const std::vector<float>& min_lr = {}, double eps = 1e-8, bool verbose = false)
        : optimizer_(optimizer),
          mode_(mode),
          threshold_mode_(threshold_mode),
          factor_(factor),
          threshold_(threshold),
          eps_(eps),
          patience_(patience),
          cooldown_(cooldown),
          verbose_(verbose),
          floor_(min_lr) {
        TORCH_CHECK(factor < 1.0, "Factor should be < 1.0");
        const size_t groups = optimizer.param_groups().size();
        if (floor_.empty()) floor_.assign(groups, 0);
        TORCH_CHECK(floor_.size() == groups, "Number of learning rates not equal to the number of param groups");
        reset();
    }
    virtual ~ReduceLROnPlateauScheduler() = default;

    void step(float metric) {
        last_epoch_++;
        if (is_better(metric)) {
            best_ = metric;
            bad_ = 0;
        } else {
            bad_++;
        }
        if (wait_ > 0) {
            wait_--;
            bad_ = 0;
        }
        if (bad_ > patience_) {
            reduce();
            wait_ = cooldown_;
            bad_ = 0;
        }
    }

  private:
    void reset() {
        wait_ = bad_ = 0;
        best_ = mode_ == min ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    }
    bool is_better(double a) const {
        const double sign = mode_ == min ? -1 : 1;
        const double bar = threshold_mode_ == rel ? best_ * (1 + sign * threshold_) : best_ + sign * threshold_;
        return mode_ == min ? a < bar : a > bar;
    }
    void reduce() {
        auto& groups = optimizer_.param_groups();
        for (size_t i = 0; i < groups.size(); i++) {
            const double old = groups[i].options().get_lr();
            const double rate = std::max(old * factor_, static_cast<double>(floor_[i]));
            if (old - rate <= eps_) continue;
            groups[i].options().set_lr(rate);
            if (verbose_)
                std::cout << "Epoch " << last_epoch_ << ": reducing learning rate of group " << i << " to " << rate
                          << '\n';
        }
    }

    Optimizer& optimizer_;
    SchedulerMode mode_;
    ThresholdMode threshold_mode_;
    double factor_, threshold_, eps_, best_ = 0;
    int patience_, cooldown_, wait_ = 0, bad_ = 0, last_epoch_ = 0;
    bool verbose_;
    std::vector<float> floor_;
};

}  // namespace optim
}  // namespace torch
