// torch::optim::LBFGS (Nocedal & Wright, chapter 7) with a strong-Wolfe line search (chapter 3) where it is asked for.
#pragma once

#include <mindtorch/optim/optimizer.h>

#include <deque>

namespace torch {
namespace optim {

struct LBFGSOptions : public OptimizerCloneableOptions<LBFGSOptions> {
    LBFGSOptions(double lr = 1) : lr_(lr) {}
    TORCH_ARG(double, lr) = 1;
    TORCH_ARG(int64_t, max_iter) = 20;
    TORCH_ARG(std::optional<int64_t>, max_eval) = std::nullopt;
    TORCH_ARG(double, tolerance_grad) = 1e-7;
    TORCH_ARG(double, tolerance_change) = 1e-9;
    TORCH_ARG(int64_t, history_size) = 100;
    TORCH_ARG(std::optional<std::string>, line_search_fn) = std::nullopt;

  public:
    template <class F>
    void each(F f) {
        f("lr", lr_), f("max_iter", max_iter_), f("max_eval", max_eval_), f("tolerance_grad", tolerance_grad_);
        f("tolerance_change", tolerance_change_), f("history_size", history_size_);
        f("line_search_fn", line_search_fn_);
    }
};
// Of the first parameter, for all: the last direction and step, and pairs of gradient changes and steps.
struct LBFGSParamState : public OptimizerCloneableParamState<LBFGSParamState> {
    TORCH_ARG(int64_t, func_evals) = 0;
    TORCH_ARG(int64_t, n_iter) = 0;
    TORCH_ARG(double, t) = 0;
    TORCH_ARG(double, prev_loss) = 0;
    TORCH_ARG(at::Tensor, d) = {};
    TORCH_ARG(at::Tensor, H_diag) = {};
    TORCH_ARG(at::Tensor, prev_flat_grad) = {};
    TORCH_ARG(std::vector<at::Tensor>, old_dirs);
    TORCH_ARG(std::vector<at::Tensor>, old_stps);

  public:
    template <class F>
    void each(F f) {
        f("func_evals", func_evals_), f("n_iter", n_iter_), f("t", t_), f("prev_loss", prev_loss_), f("d", d_);
        f("H_diag", H_diag_), f("prev_flat_grad", prev_flat_grad_), f("old_dirs", old_dirs_), f("old_stps", old_stps_);
    }
};

class LBFGS : public Optimizer {
  public:
    explicit LBFGS(const std::vector<OptimizerParamGroup>& groups, LBFGSOptions defaults = {})
        : Optimizer(groups, std::make_unique<LBFGSOptions>(defaults)) {
        TORCH_CHECK(param_groups_.size() == 1, "LBFGS doesn't support per-parameter options (parameter groups)");
        auto& options = static_cast<LBFGSOptions&>(param_groups_[0].options());
        if (!options.max_eval()) options.max_eval(options.max_iter() * 5 / 4);
    }
    explicit LBFGS(std::vector<at::Tensor> params, LBFGSOptions defaults = {})
        : LBFGS({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

    at::Tensor step(LossClosure closure) override {
        TORCH_CHECK(closure != nullptr, "LBFGS requires a closure function");
        c10::NoGradGuard guard;
        const auto& o = static_cast<const LBFGSOptions&>(param_groups_[0].options());
        auto& s = state_of<LBFGSParamState>(parameters().at(0), [](LBFGSParamState&) {});
        const at::Tensor first_loss = loss_of(closure);
        double loss = first_loss.item<double>();
        int64_t evaluations = 1;
        s.func_evals(s.func_evals() + 1);
        at::Tensor grad = flat_grad();
        if (largest(grad) <= o.tolerance_grad()) return first_loss;

        for (int64_t iteration = 1; iteration <= o.max_iter(); iteration++) {
            s.n_iter(s.n_iter() + 1);
            const at::Tensor direction = direction_of(s, grad, o.history_size());
            s.prev_flat_grad(grad.clone());
            const double previous = loss;
            double t = o.lr();
            if (s.n_iter() == 1) t *= std::min(1.0, 1.0 / grad.abs().sum().item<double>());
            s.d(direction).t(t).prev_loss(previous);
            const double slope = grad.dot(direction).item<double>();
            if (slope > -o.tolerance_change()) break;
            int64_t used = 0;
            if (o.line_search_fn()) {
                TORCH_CHECK(*o.line_search_fn() == "strong_wolfe", "only 'strong_wolfe' is supported");
                std::vector<at::Tensor> origin;
                for (const at::Tensor& p : parameters()) origin.push_back(p.clone());
                const Search search{[&](double step) {
                                        move(step, direction);
                                        const double value = loss_of(closure).item<double>();
                                        Point p{step, value, flat_grad(), 0};
                                        p.slope = p.grad.dot(direction).item<double>();
                                        for (size_t i = 0; i < origin.size(); i++) parameters()[i].copy_(origin[i]);
                                        used++;
                                        return p;
                                    },
                                    Point{0, loss, grad, slope}, o.tolerance_change(), *o.max_eval() - evaluations};
                const Point found = search.from(t, largest(direction));
                t = found.t;
                loss = found.loss;
                grad = found.grad;
                move(t, direction);
            } else {
                move(t, direction);
                if (iteration != o.max_iter()) {  // else another evaluation would have no reader
                    loss = loss_of(closure).item<double>();
                    grad = flat_grad();
                    used = 1;
                }
            }
            s.t(t).func_evals(s.func_evals() + used);
            evaluations += used;
            if (evaluations >= *o.max_eval() || largest(grad) <= o.tolerance_grad() ||
                std::abs(t) * largest(direction) <= o.tolerance_change() ||
                std::abs(loss - previous) < o.tolerance_change())
                break;
        }
        return first_loss;
    }

  protected:
    std::unique_ptr<OptimizerParamState> new_state() const override { return std::make_unique<LBFGSParamState>(); }

  private:
    // A trial on the search line.
    struct Point {
        double t, loss;
        at::Tensor grad;
        double slope;
    };
    struct Search {
        std::function<Point(double)> trial;
        Point start;
        double tolerance_change;
        int64_t most;
        static constexpr double c1 = 1e-4, c2 = 0.9;

        bool too_high(const Point& p) const { return p.loss > start.loss + c1 * p.t * start.slope; }
        bool flat(const Point& p) const { return std::abs(p.slope) <= -c2 * start.slope; }
        // Of the cubic through two points, kept within bounds.
        static double minimum(const Point& a, const Point& b, double low, double high) {
            const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
            const double square = d1 * d1 - a.slope * b.slope;
            if (!(square >= 0)) return (low + high) / 2;
            const double d2 = std::sqrt(square);
            const double best = a.t <= b.t ? b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
                                           : a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
            return std::min(std::max(best, low), high);
        }
        // A point with enough decrease and a flat enough slope: outward until one lies between, then inward.
        Point from(double t, double size) const {
            Point previous = start, point = trial(t);
            int64_t iterations = 0;
            std::vector<Point> bracket;
            bool done = false;
            while (iterations < most) {
                if (too_high(point) || (iterations > 1 && point.loss >= previous.loss) || point.slope >= 0) {
                    if (!too_high(point) && flat(point) && !(iterations > 1 && point.loss >= previous.loss)) {
                        bracket = {point};
                        done = true;
                    } else {
                        bracket = {previous, point};
                    }
                    break;
                }
                if (flat(point)) {
                    bracket = {point};
                    done = true;
                    break;
                }
                t = minimum(previous, point, point.t + 0.01 * (point.t - previous.t), point.t * 10);
                previous = point;
                point = trial(t);
                iterations++;
            }
            if (bracket.empty()) bracket = {start, point};
            if (bracket.size() == 1) return bracket[0];
            bool stalled = false;
            size_t low = bracket[0].loss <= bracket[1].loss ? 0 : 1;
            while (!done && iterations < most) {
                if (std::abs(bracket[1].t - bracket[0].t) * size < tolerance_change) break;
                const double left = std::min(bracket[0].t, bracket[1].t), right = std::max(bracket[0].t, bracket[1].t);
                t = minimum(bracket[0], bracket[1], left, right);
                const double margin = 0.1 * (right - left);
                if (std::min(right - t, t - left) < margin) {
                    // Close to an end: the second time in a row, move inward.
                    if (stalled || t >= right || t <= left) {
                        t = std::abs(t - right) < std::abs(t - left) ? right - margin : left + margin;
                        stalled = false;
                    } else {
                        stalled = true;
                    }
                } else {
                    stalled = false;
                }
                point = trial(t);
                iterations++;
                if (too_high(point) || point.loss >= bracket[low].loss) {
                    bracket[1 - low] = point;
                    low = bracket[0].loss <= bracket[1].loss ? 0 : 1;
                } else {
                    if (flat(point))
                        done = true;
                    else if (point.slope * (bracket[1 - low].t - bracket[low].t) >= 0)
                        bracket[1 - low] = bracket[low];
                    bracket[low] = point;
                }
            }
            return bracket[low];
        }
    };

    static double largest(const at::Tensor& t) { return t.abs().max().item<double>(); }
    at::Tensor flat_grad() const {
        std::vector<at::Tensor> views;
        for (const at::Tensor& p : parameters()) {
            const at::Tensor grad = p.grad();
            views.push_back(!grad.defined()    ? at::zeros({p.numel()}, p.options())
                            : grad.is_sparse() ? grad.to_dense().reshape({-1})
                                               : grad.reshape({-1}));
        }
        return at::cat(views, 0);
    }
    void move(double step, const at::Tensor& direction) {
        int64_t offset = 0;
        for (at::Tensor& p : parameters()) {
            p.add_(direction.slice(0, offset, offset + p.numel()).view_as(p), step);
            offset += p.numel();
        }
    }
    // From the history, which is brought up to date: the two-loop recursion (algorithm 7.4).
    static at::Tensor direction_of(LBFGSParamState& s, const at::Tensor& grad, int64_t history) {
        if (s.n_iter() == 1) {
            s.old_dirs().clear();
            s.old_stps().clear();
            s.H_diag(at::ones({}, grad.options()));
            return grad.neg();
        }
        auto &changes = s.old_dirs(), &steps = s.old_stps();
        const at::Tensor change = grad.sub(s.prev_flat_grad()), moved = s.d().mul(s.t());
        const at::Tensor curvature = change.dot(moved);
        if (curvature.item<double>() > 1e-10) {
            if (static_cast<int64_t>(changes.size()) == history) {
                changes.erase(changes.begin());
                steps.erase(steps.begin());
            }
            changes.push_back(change);
            steps.push_back(moved);
            s.H_diag(curvature / change.dot(change));
        }
        std::vector<double> weights(changes.size());
        at::Tensor r = grad.neg();
        auto along = [&](size_t i, const at::Tensor& other) {
            return (other.dot(r) / changes[i].dot(steps[i])).item<double>();
        };
        for (size_t i = changes.size(); i-- > 0;) {
            weights[i] = along(i, steps[i]);
            r.add_(changes[i], -weights[i]);
        }
        r = r * s.H_diag();
        for (size_t i = 0; i < changes.size(); i++) r.add_(steps[i], weights[i] - along(i, changes[i]));
        return r;
    }
};

}  // namespace optim
}  // namespace torch
