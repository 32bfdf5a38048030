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
class Items {
  public:
    // Those after the first `needed` may be empty.
    Items(const Call& c, int lists, int needed, const char* name) : name_(name) {
        Span<Tensor*> first = c.tensors(0);
        items_.resize(static_cast<size_t>(first.size));
        for (int l = 0; l < lists; l++) {
            Span<Tensor*> list = c.tensors(l);
            if (list.empty() && l >= needed) {
                for (Item& item : items_) item.data[l] = nullptr;
                continue;
            }
            check_length(c, l, first.size);
            for (int64_t i = 0; i < first.size; i++) add(items_[static_cast<size_t>(i)], l, *first[i], *list[i]);
        }
    }
    void set_steps(const Call& c, int argument) {
        Span<Tensor*> steps = c.tensors(argument);
        check_length(c, argument, static_cast<int64_t>(items_.size()));
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
    static void check_length(const Call& c, int argument, int64_t wanted) {
        MT_CHECK(
            c.tensors(argument).size == wanted, "Expected ", c.op->schema.args[static_cast<size_t>(argument)].name,
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

double number(const Call& c, int i) {
    if (const Tensor* t = c.tensor_or_null(i)) return single(*t);
    return c.real(i);
}
bool skipped(const Call& c, int found_inf) { return c.tensor_or_null(found_inf) && number(c, found_inf) != 0; }
double scale_of(const Call& c, int i) { return c.tensor_or_null(i) ? number(c, i) : 1; }

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
void fused_adam_cpu(Call& c) {
    if (skipped(c, 14)) return;
    double lr = number(c, 6), beta1 = c.real(7), beta2 = c.real(8), decay = c.real(9), eps = c.real(10),
           scale = scale_of(c, 13);
    bool amsgrad = c.boolean(11), maximize = c.boolean(12);
    Items items(c, 5, amsgrad ? 5 : 4, "fused_adam");
    items.set_steps(c, 5);
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

void fused_sgd_cpu(Call& c) {
    if (skipped(c, 11)) return;
    double decay = c.real(3), momentum = c.real(4), lr = number(c, 5), dampening = c.real(6), scale = scale_of(c, 10);
    bool nesterov = c.boolean(7), maximize = c.boolean(8), first = c.boolean(9);
    Items items(c, 3, momentum != 0 ? 3 : 2, "fused_sgd");
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

void fused_adagrad_cpu(Call& c) {
    if (skipped(c, 10)) return;
    double lr = number(c, 4), lr_decay = c.real(5), decay = c.real(6), eps = c.real(7), scale = scale_of(c, 9);
    bool maximize = c.boolean(8);
    Items items(c, 3, 3, "fused_adagrad");
    items.set_steps(c, 3);
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
void fused_rmsprop_cpu(Call& c) {
    double lr = number(c, 5), alpha = c.real(6), eps = c.real(7), decay = c.real(8), momentum = c.real(9);
    bool centered = c.boolean(10), maximize = c.boolean(11);
    Items items(c, 5, 3, "fused_rmsprop");
    MT_CHECK(!centered || !c.tensors(3).empty(), "fused_rmsprop: the centered form needs grad_avgs");
    MT_CHECK(momentum <= 0 || !c.tensors(4).empty(), "fused_rmsprop: momentum needs momentum_buffers");
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
    direct("_fused_rmsprop_", fused_rmsprop_cpu);
    direct("_fused_adam_", fused_adam_cpu<false>);
    direct("_fused_adamw_", fused_adam_cpu<true>);
    direct("_fused_sgd_", fused_sgd_cpu);
    direct("_fused_adagrad_", fused_adagrad_cpu);
}

}  // namespace mt
