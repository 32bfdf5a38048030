// Optimizer steps over lists of tensors: every state of an element is read and written once.
#include <vector>

#include "core/registry.h"
#include "cpu/rows.h"

namespace mt {
namespace {

constexpr int64_t kChunk = 16384;
constexpr int kMaxStates = 5;  // parameter, gradient, up to three states

// One tensor's memory, all of the same type and the parameter's layout.
struct Item {
    DType dtype;
    int64_t n;
    char* data[kMaxStates];
    double step;
};

double single(const Tensor& t) {
    MT_CHECK(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
    return *contiguous(t, DType::Float64)->data<double>();
}

// The tensors of one position of all lists; those laid out unlike the parameter work on a copy that is written back.
struct NamedList {
    const char* argument;
    Span<Tensor*> items;
};

class Items {
  public:
    // Those after the first `needed` may be empty.
    Items(const char* name, int needed, std::initializer_list<NamedList> lists) : name_(name) {
        Span<Tensor*> first = lists.begin()->items;
        items_.resize(static_cast<size_t>(first.size));
        int l = -1;
        for (const auto& [argument, list] : lists) {
            l++;
            if (list.empty() && l >= needed) {
                for (Item& item : items_) item.data[l] = nullptr;
                continue;
            }
            check_length(argument, list, first.size);
            for (int64_t i = 0; i < first.size; i++) add(items_[static_cast<size_t>(i)], l, *first[i], *list[i]);
        }
    }
    void set_steps(Span<Tensor*> steps) {
        check_length("state_steps", steps, static_cast<int64_t>(items_.size()));
        for (int64_t i = 0; i < steps.size; i++) items_[static_cast<size_t>(i)].step = single(*steps[i]);
    }
    // f.template operator()<T>(item, begin, end) over chunks of all tensors, in parallel.
    template <class F>
    void run(const F& f) {
        struct Job {
            size_t item;
            int64_t begin, end;
        };
        std::vector<Job> jobs;
        for (size_t i = 0; i < items_.size(); i++)
            for (int64_t b = 0; b < items_[i].n; b += kChunk) jobs.push_back({i, b, std::min(items_[i].n, b + kChunk)});
        for (const Item& item : items_)
            if (!is_floating(item.dtype) || itemsize(item.dtype) == 1) unsupported_dtype(name_, item.dtype);
        int64_t total = 0;
        for (const Item& item : items_) total += item.n;
        int64_t count = static_cast<int64_t>(jobs.size());
        int64_t grain = std::max<int64_t>(1, count * kGrain / std::max<int64_t>(1, total));
        parallel_for(count, grain, [&](int64_t first, int64_t last) {
            for (int64_t j = first; j < last; j++) {
                const Job& job = jobs[static_cast<size_t>(j)];
                const Item& item = items_[job.item];
                switch (item.dtype) {
                    case DType::Float32:
                        f.template operator()<float>(item, job.begin, job.end);
                        break;
                    case DType::Float64:
                        f.template operator()<double>(item, job.begin, job.end);
                        break;
                    case DType::Float16:
                        f.template operator()<Half>(item, job.begin, job.end);
                        break;
                    default:
                        f.template operator()<BFloat16>(item, job.begin, job.end);
                }
            }
        });
        for (auto& [to, from] : copies_) copy_into(*to, *from);
    }

  private:
    static void check_length(const char* argument, Span<Tensor*> list, int64_t wanted) {
        MT_CHECK(
            list.size == wanted, "Expected ", argument,
            ".size() == n_tensors to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)");
    }
    void add(Item& item, int l, const Tensor& parameter, Tensor& t) {
        if (l == 0) {
            item.dtype = parameter.dtype;
            item.n = parameter.numel();
            item.step = 0;
        }
        MT_CHECK(t.sizes() == parameter.sizes(), name_, ": params, grads and states must have same sizes, got ",
                 parameter.sizes(), " and ", t.sizes());
        if (t.dtype == parameter.dtype && t.is_non_overlapping_and_dense() && t.strides() == parameter.strides()) {
            item.data[l] = t.raw();
            return;
        }
        TensorRef copy = empty_strided(parameter.sizes(), preserved_strides(parameter.sizes(), parameter.strides()),
                                       parameter.dtype);
        if (!parameter.is_non_overlapping_and_dense()) copy = empty(parameter.sizes(), parameter.dtype);
        copy_into(*copy, t);
        item.data[l] = copy->raw();
        copies_.emplace_back(TensorRef::share(&t), std::move(copy));
    }
    const char* name_;
    std::vector<Item> items_;
    std::vector<std::pair<TensorRef, TensorRef>> copies_;
};

bool skipped(const Tensor* found_inf) { return found_inf && single(*found_inf) != 0; }
double scale_of(const Tensor* grad_scale) { return grad_scale ? single(*grad_scale) : 1; }

// A learning rate: a number or a tensor of one.
struct Rate {
    double value;
};

}  // namespace

template <>
struct Parameter<Rate> {
    static constexpr Takes takes{"Rate", kinds(ArgKind::Tensor, ArgKind::Float)};
    static Rate read(const Call& c, int i) {
        const Tensor* t = c.tensor_or_null(i);
        return {t ? single(*t) : c.real(i)};
    }
};

namespace {

// Part [begin, end) of a tensor's memory as floats or doubles; 16-bit memory through a buffer that store() writes back.
template <class T>
class Part {
  public:
    using X = Compute<T>;
    Part(const Item& item, int l, int64_t begin, int64_t end) : n_(end - begin), memory_(nullptr) {
        if (!item.data[l]) return;
        memory_ = reinterpret_cast<T*>(item.data[l]) + begin;
        if constexpr (is_reduced_v<T>) {
            buffer_.resize(static_cast<size_t>(n_));
            widen(memory_, buffer_.data(), n_);
        }
    }
    X* data() {
        if constexpr (is_reduced_v<T>)
            return memory_ ? buffer_.data() : nullptr;
        else
            return memory_;
    }
    void store() {
        if constexpr (is_reduced_v<T>)
            if (memory_) narrow(buffer_.data(), memory_, n_);
    }

  private:
    int64_t n_;
    T* memory_;
    std::vector<float> buffer_;
};

// Undoes a gradient scaler's factor, in the gradient itself; then turns the sign if wanted.
template <class X>
void prepare(X* grad, int64_t n, double scale) {
    if (scale == 1) return;
    X s = static_cast<X>(scale);
    for (int64_t i = 0; i < n; i++) grad[i] /= s;
}

// ---- Adam and AdamW ----

template <bool kDecoupled>
void fused_adam_cpu(Span<Tensor*> self, Span<Tensor*> grads, Span<Tensor*> exp_avgs, Span<Tensor*> exp_avg_sqs,
                    Span<Tensor*> max_exp_avg_sqs, Span<Tensor*> state_steps, Rate rate, double beta1, double beta2,
                    double decay, double eps, bool amsgrad, bool maximize, const Tensor* grad_scale,
                    const Tensor* found_inf) {
    if (skipped(found_inf)) return;
    const double lr = rate.value, scale = scale_of(grad_scale);
    Items items("fused_adam", amsgrad ? 5 : 4,
                {{"self", self},
                 {"grads", grads},
                 {"exp_avgs", exp_avgs},
                 {"exp_avg_sqs", exp_avg_sqs},
                 {"max_exp_avg_sqs", max_exp_avg_sqs}});
    items.set_steps(state_steps);
    items.run([=]<class T>(const Item& item, int64_t begin, int64_t end) {
        using X = Compute<T>;
        Part<T> p(item, 0, begin, end), g(item, 1, begin, end), m(item, 2, begin, end), v(item, 3, begin, end),
            top(item, 4, begin, end);
        X *param = p.data(), *grad = g.data(), *average = m.data(), *square = v.data(), *highest = top.data();
        int64_t n = end - begin;
        prepare(grad, n, scale);
        if (scale != 1) g.store();
        double correction1 = 1 - std::pow(beta1, item.step), correction2 = 1 - std::pow(beta2, item.step);
        X step_size = static_cast<X>(lr / correction1), root = static_cast<X>(1 / std::sqrt(correction2)),
          e = static_cast<X>(eps);
        X b1 = static_cast<X>(1 - beta1), b2 = static_cast<X>(beta2), c2 = static_cast<X>(1 - beta2),
          sign = maximize ? X(-1) : X(1);
        X shrink = kDecoupled ? static_cast<X>(lr * decay) : X(0), add = kDecoupled ? X(0) : static_cast<X>(decay);
        auto step = [=](int64_t i, X s) { param[i] = param[i] - step_size * average[i] / (vec::sqrt(s) * root + e); };
        auto update = [=](int64_t i) {
            X x = param[i], d = grad[i] * sign + add * x;
            param[i] = x - x * shrink;
            average[i] = average[i] + b1 * (d - average[i]);
            return square[i] = square[i] * b2 + c2 * d * d;
        };
        if (amsgrad)
            for (int64_t i = 0; i < n; i++) {
                X s = update(i);
                highest[i] = s > highest[i] || s != s ? s : highest[i];
                step(i, highest[i]);
            }
        else
#pragma GCC ivdep
            for (int64_t i = 0; i < n; i++) step(i, update(i));
        p.store();
        m.store();
        v.store();
        top.store();
    });
}

// ---- SGD ----

void fused_sgd_cpu(Span<Tensor*> self, Span<Tensor*> grads, Span<Tensor*> momentum_buffer_list, double decay,
                   double momentum, Rate given_rate, double dampening, bool nesterov, bool maximize, bool first,
                   const Tensor* grad_scale, const Tensor* found_inf) {
    if (skipped(found_inf)) return;
    const double lr = given_rate.value, scale = scale_of(grad_scale);
    Items items("fused_sgd", momentum != 0 ? 3 : 2,
                {{"self", self}, {"grads", grads}, {"momentum_buffer_list", momentum_buffer_list}});
    items.run([=]<class T>(const Item& item, int64_t begin, int64_t end) {
        using X = Compute<T>;
        Part<T> p(item, 0, begin, end), g(item, 1, begin, end), b(item, 2, begin, end);
        X *param = p.data(), *grad = g.data(), *buffer = b.data();
        int64_t n = end - begin;
        prepare(grad, n, scale);
        if (scale != 1) g.store();
        X rate = static_cast<X>(lr), mu = static_cast<X>(momentum), keep = static_cast<X>(1 - dampening),
          wd = static_cast<X>(decay);
        X sign = maximize ? X(-1) : X(1);
        if (momentum == 0 || !buffer) {
#pragma GCC ivdep
            for (int64_t i = 0; i < n; i++) param[i] -= rate * (grad[i] * sign + wd * param[i]);
        } else {
            X old = first ? X(0) : mu, fresh = first ? X(1) : keep;
            if (first) std::fill(buffer, buffer + n, X(0));
            X direct = nesterov ? X(1) : X(0), through = nesterov ? mu : X(1);
#pragma GCC ivdep
            for (int64_t i = 0; i < n; i++) {
                X d = grad[i] * sign + wd * param[i];
                buffer[i] = old * buffer[i] + fresh * d;
                param[i] -= rate * (direct * d + through * buffer[i]);
            }
        }
        p.store();
        b.store();
    });
}

// ---- Adagrad ----

void fused_adagrad_cpu(Span<Tensor*> self, Span<Tensor*> grads, Span<Tensor*> state_sums, Span<Tensor*> state_steps,
                       Rate given_rate, double lr_decay, double decay, double eps, bool maximize,
                       const Tensor* grad_scale, const Tensor* found_inf) {
    if (skipped(found_inf)) return;
    const double lr = given_rate.value, scale = scale_of(grad_scale);
    Items items("fused_adagrad", 3, {{"self", self}, {"grads", grads}, {"state_sums", state_sums}});
    items.set_steps(state_steps);
    items.run([=]<class T>(const Item& item, int64_t begin, int64_t end) {
        using X = Compute<T>;
        Part<T> p(item, 0, begin, end), g(item, 1, begin, end), s(item, 2, begin, end);
        X *param = p.data(), *grad = g.data(), *sum = s.data();
        int64_t n = end - begin;
        prepare(grad, n, scale);
        if (scale != 1) g.store();
        X rate = static_cast<X>(lr / (1 + (item.step - 1) * lr_decay)), wd = static_cast<X>(decay),
          e = static_cast<X>(eps);
        X sign = maximize ? X(-1) : X(1);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) {
            X d = grad[i] * sign + wd * param[i];
            sum[i] += d * d;
            param[i] -= rate * d / (vec::sqrt(sum[i]) + e);
        }
        p.store();
        s.store();
    });
}

// ---- RMSprop ----

// Every product and sum in the order, and with the roundings, of the step written with operators.
void fused_rmsprop_cpu(Span<Tensor*> self, Span<Tensor*> grads, Span<Tensor*> square_avgs, Span<Tensor*> grad_avgs,
                       Span<Tensor*> momentum_buffers, double lr, double alpha, double eps, double decay,
                       double momentum, bool centered, bool maximize) {
    Items items("fused_rmsprop", 3,
                {{"self", self},
                 {"grads", grads},
                 {"square_avgs", square_avgs},
                 {"grad_avgs", grad_avgs},
                 {"momentum_buffers", momentum_buffers}});
    MT_CHECK(!centered || !grad_avgs.empty(), "fused_rmsprop: the centered form needs grad_avgs");
    MT_CHECK(momentum <= 0 || !momentum_buffers.empty(), "fused_rmsprop: momentum needs momentum_buffers");
    items.run([=]<class T>(const Item& item, int64_t begin, int64_t end) {
        using X = Compute<T>;
        Part<T> p(item, 0, begin, end), g(item, 1, begin, end), s(item, 2, begin, end), a(item, 3, begin, end),
            b(item, 4, begin, end);
        X *param = p.data(), *grad = g.data(), *square = s.data(), *average = a.data(), *buffer = b.data();
        X keep = static_cast<X>(alpha), fresh = static_cast<X>(1 - alpha), e = static_cast<X>(eps),
          wd = static_cast<X>(decay), rate = static_cast<X>(-lr), mu = static_cast<X>(momentum),
          sign = maximize ? X(-1) : X(1);
        auto step = [&]<bool kCentered, bool kMomentum>() {
#pragma GCC ivdep
            for (int64_t i = 0; i < end - begin; i++) {
                X d = grad[i] * sign + wd * param[i];
                X v = square[i] = square[i] * keep + fresh * (d * d);
                if constexpr (kCentered) {
                    X m = average[i] = average[i] + fresh * (d - average[i]);
                    v -= m * m;
                }
                X root = vec::sqrt(v) + e;
                if constexpr (kMomentum)
                    param[i] += rate * (buffer[i] = buffer[i] * mu + d / root);
                else
                    param[i] += rate * d / root;
            }
        };
        if (centered && buffer)
            step.template operator()<true, true>();
        else if (centered)
            step.template operator()<true, false>();
        else if (buffer)
            step.template operator()<false, true>();
        else
            step.template operator()<false, false>();
        p.store();
        s.store();
        a.store();
        b.store();
    });
}

}  // namespace

KERNELS
{
    direct<fused_rmsprop_cpu>("_fused_rmsprop_");
    direct<fused_adam_cpu<false>>("_fused_adam_");
    direct<fused_adam_cpu<true>>("_fused_adamw_");
    direct<fused_sgd_cpu>("_fused_sgd_");
    direct<fused_adagrad_cpu>("_fused_adagrad_");
}

}  // namespace mt
