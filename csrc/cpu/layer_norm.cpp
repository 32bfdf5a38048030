// Layer norm and RMS norm over the trailing dimensions.
#include <memory>
#include <vector>

#include "cpu/parameter_dtype.h"
#include "cpu/row_loop.h"
#include "cpu/rows.h"

namespace mt {
namespace {

struct Extent {
    int64_t rows = 1, n = 1;
};
Extent extent_of(const Tensor& input, int64_t trailing) {
    Extent e;
    for (int64_t d = 0; d < input.ndim; d++) (d < input.ndim - trailing ? e.rows : e.n) *= input.size(d);
    return e;
}

void check_normalized_shape(const Tensor& input, IntSpan shape, const Tensor* weight, const Tensor* bias) {
    MT_CHECK(shape.size >= 1,
             "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
             "normalized_shape = ",
             shape);
    MT_CHECK(!weight || weight->sizes() == shape,
             "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
             weight ? weight->sizes() : IntSpan(), " and normalized_shape = ", shape);
    MT_CHECK(!bias || bias->sizes() == shape,
             "Expected bias to be of same shape as normalized_shape, but got bias of shape ",
             bias ? bias->sizes() : IntSpan(), " and normalized_shape = ", shape);
    bool fits = input.ndim >= shape.size;
    for (int64_t i = 0; fits && i < shape.size; i++) fits = input.size(input.ndim - shape.size + i) == shape[i];
    if (fits) return;
    std::string expected;
    for (int64_t i = 0; i < shape.size; i++) expected += concat(i ? ", " : "", shape[i]);
    MT_THROW(Runtime, "Given normalized_shape=", shape, ", expected input with shape [*", shape.size ? ", " : "",
             expected, "], but got input of size", input.sizes());
}

// The statistics' shape: the leading sizes, then ones. Statistics of 16-bit inputs with float weights are float.
void statistics_output(ShapeCall& c, int index, const Tensor& input, int64_t trailing, DType dtype) {
    Dims sizes(input.sizes());
    for (int64_t d = input.ndim - trailing; d < input.ndim; d++) sizes[d] = 1;
    c.output(index, sizes, dtype);
}

DType statistics_type(const Tensor& input, const Tensor* weight) {
    return is_reduced_float(input.dtype) && weight && weight->dtype == DType::Float32 ? DType::Float32 : input.dtype;
}

// Words: input, normalized_shape, weight, bias.
void layer_norm_shape(ShapeCall& c, const Tensor& input, IntSpan shape, const Tensor* weight, const Tensor* bias) {
    check_normalized_shape(input, shape, weight, bias);
    MT_CHECK_AS(NotImplemented, is_floating(input.dtype), "\"LayerNormKernelImpl\" not implemented for '",
                dtype_class_name(input.dtype), "'");
    c.output(0, input.sizes(), input.dtype);
    for (int i = 1; i < 3; i++) statistics_output(c, i, input, shape.size, statistics_type(input, weight));
}

// Words: input, normalized_shape, weight.
void rms_norm_shape(ShapeCall& c, const Tensor& input, IntSpan shape, const Tensor* weight) {
    check_normalized_shape(input, shape, weight, nullptr);
    c.output_like(0, input);  // as the product with a scale of each row
    statistics_output(c, 1, input, shape.size, wide_type(input.dtype));
}

// Words: input, output_mask, then the tensors that the further gradients are like.
void norm_backward_shape(ShapeCall& c, const Tensor& input, Span<bool> mask, const Tensor* weight, const Tensor* bias) {
    const Tensor* of_results[] = {&input, weight, bias};
    MT_CHECK(mask.size == c.nrets, c.name(), ": expected ", c.nrets, " flags");
    for (int i = 0; i < c.nrets; i++) {
        const Tensor* like = of_results[i];
        if (!mask[i] || !like)
            c.output_none(i);
        else
            c.output(i, like->sizes(), like->dtype);
    }
}

TensorRef as_type(const Tensor* t, DType type) { return t ? contiguous(*t, type) : TensorRef(); }
template <class X>
const X* data_or_null(const TensorRef& t) {
    return t ? t->data<X>() : nullptr;
}

// ---- forward ----

struct NormRow {
    double eps;
    bool weight, bias;
};
// p: result, the mean if it is centred, 1 / deviation, row, weight and bias where there are any
template <class X, bool kCentred>
void norm_row(char* const* p, int64_t size, const void* state) {
    const NormRow& job = *static_cast<const NormRow*>(state);
    X *to = reinterpret_cast<X*>(p[0]), *rstd = reinterpret_cast<X*>(p[1 + kCentred]);
    const X* from = reinterpret_cast<const X*>(p[2 + kCentred]);
    const X* weight = job.weight ? reinterpret_cast<const X*>(p[3 + kCentred]) : nullptr;
    const X* bias = job.bias ? reinterpret_cast<const X*>(p[3 + kCentred + job.weight]) : nullptr;
    X n = static_cast<X>(size);
    X m = kCentred ? lane_sum<X>(size, [=](int64_t i) { return from[i]; }) / n : X(0);
    X spread = lane_sum<X>(size, [=](int64_t i) {
        X d = from[i] - m;
        return d * d;
    });
    X scale = X(1) / std::sqrt(spread / n + static_cast<X>(job.eps));
    if (weight && bias)
        for (int64_t i = 0; i < size; i++) to[i] = vec::fma((from[i] - m) * scale, weight[i], bias[i]);
    else if (weight)
        for (int64_t i = 0; i < size; i++) to[i] = (from[i] - m) * scale * weight[i];
    else if (bias)
        for (int64_t i = 0; i < size; i++) to[i] = (from[i] - m) * scale + bias[i];
    else
        for (int64_t i = 0; i < size; i++) to[i] = (from[i] - m) * scale;
    if (kCentred) *reinterpret_cast<X*>(p[1]) = m;
    *rstd = scale;
}

// The tensors are the call's own, of any float dtype.
template <class X, bool kCentred>
bool record_norm(int64_t n, const Tensor& x, const Tensor* weight, const Tensor* bias, double eps, const Tensor& y,
                 const Tensor* mean, const Tensor& rstd) {
    constexpr DType kType = dtype_of<X>::value;
    const NormRow job{eps, weight != nullptr, bias != nullptr};
    return record_row_loop({norm_row<X, kCentred>, &job}, n, 2 + kCentred,
                           {{&y, kType, Reach::All},
                            {mean, kType, Reach::Row},
                            {&rstd, kType, Reach::Row},
                            {&x, kType, Reach::All},
                            {weight, kType, Reach::Columns},
                            {bias, kType, Reach::Columns}});
}

template <class X, bool kCentred>
void norm_rows(const Extent& s, const Tensor& x, const Tensor* weight, const Tensor* bias, double eps, const Tensor& y,
               const Tensor* mean, const Tensor& rstd) {
    const NormRow job{eps, weight != nullptr, bias != nullptr};
    parallel_for(s.rows, grain_for(s.n), [&](int64_t b, int64_t e) {
        RowIn<X> in(x, s.n);
        RowOut<X> out(y, s.n);
        for (int64_t r = b; r < e; r++) {
            char* p[6] = {reinterpret_cast<char*>(out.at(r))};
            int k = 1;
            if (kCentred) p[k++] = reinterpret_cast<char*>(mean->data<X>() + r);
            p[k++] = reinterpret_cast<char*>(rstd.data<X>() + r);
            p[k++] = const_cast<char*>(reinterpret_cast<const char*>(in.read(r)));
            if (weight) p[k++] = weight->raw();
            if (bias) p[k++] = bias->raw();
            norm_row<X, kCentred>(p, s.n, &job);
            out.done(r);
        }
    });
}

void native_layer_norm_cpu(Out out, const Tensor& input, IntSpan normalized_shape, const Tensor* given_weight,
                           const Tensor* given_bias, double eps) {
    DType type = input.dtype, wide = wide_type(type);
    check_parameter_dtypes(input, {given_weight, given_bias});
    Extent s = extent_of(input, normalized_shape.size);
    TensorRef x = contiguous(input), weight = as_type(given_weight, wide), bias = as_type(given_bias, wide);
    Converted mean(out[1], wide), rstd(out[2], wide);
    visit(PlainFloatTypes{}, wide, "LayerNormKernelImpl", [&]<class X>() {
        if (record_norm<X, true>(s.n, input, given_weight, given_bias, eps, out[0], &out[1], out[2])) return;
        norm_rows<X, true>(s, *x, weight.get(), bias.get(), eps, out[0], &mean.tensor(), rstd.tensor());
    });
    mean.finish();
    rstd.finish();
}

void fused_rms_norm_cpu(Out out, const Tensor& input, IntSpan normalized_shape, const Tensor* given_weight,
                        std::optional<double> given_eps) {
    DType type = out[0].dtype, wide = wide_type(type);
    Extent s = extent_of(input, normalized_shape.size);
    double eps = std::numeric_limits<double>::epsilon();
    if (!!given_eps)
        eps = *given_eps;
    else if (wide == DType::Float32)
        eps = std::numeric_limits<float>::epsilon();
    TensorRef x = contiguous(input, type), weight = as_type(given_weight, wide);
    Converted rstd(out[1], wide);
    visit(PlainFloatTypes{}, wide, "rms_norm", [&]<class X>() {
        if (record_norm<X, false>(s.n, input, given_weight, nullptr, eps, out[0], nullptr, out[1])) return;
        norm_rows<X, false>(s, *x, weight.get(), nullptr, eps, out[0], nullptr, rstd.tensor());
    });
    rstd.finish();
}

// ---- backward ----

// Column sums of one thread: float lanes that are emptied into doubles every kBlock rows.
template <class X>
class ColumnSums {
  public:
    explicit ColumnSums(int64_t n) : n_(n), lanes_(new X[n]()), totals_(new double[n]()) {}
    X* lanes() { return lanes_.get(); }
    void row_done() {
        if (++rows_ == 64) flush();
    }
    void add_to(double* totals) {
        flush();
        for (int64_t i = 0; i < n_; i++) totals[i] += totals_[i];
    }

  private:
    void flush() {
        for (int64_t i = 0; i < n_; i++) {
            totals_[i] += lanes_[i];
            lanes_[i] = 0;
        }
        rows_ = 0;
    }
    int64_t n_;
    int rows_ = 0;
    std::unique_ptr<X[]> lanes_;
    std::unique_ptr<double[]> totals_;
};

template <class X, bool kCentred>
void norm_backward_rows(const Extent& s, const Tensor& grad, const Tensor& x, const X* mean, const X* rstd,
                        const X* weight, const Tensor* dx, double* dweight, double* dbias) {
    const bool columns = dweight || dbias;
    // Sums over columns are made in blocks of rows that the number of threads has no part in, and added in their order:
    // the same numbers each time.
    const int64_t block = columns ? std::max<int64_t>(32, (s.rows + 31) / 32) : std::max<int64_t>(1, s.rows);
    const int64_t blocks = columns ? (s.rows + block - 1) / block : 0;
    std::vector<ColumnSums<X>> weights, biases;
    for (int64_t i = 0; i < blocks; i++) {
        weights.emplace_back(s.n);
        biases.emplace_back(s.n);
    }
    auto rows = [&](int64_t b, int64_t e, ColumnSums<X>& weight_sums, ColumnSums<X>& bias_sums) {
        RowIn<X> grad_in(grad, s.n), x_in(x, s.n);
        RowOut<X> out(dx ? *dx : x, s.n);
        X *dw = weight_sums.lanes(), *db = bias_sums.lanes();
        for (int64_t r = b; r < e; r++) {
            const X* g = grad_in.read(r);
            const X* v = x_in.read(r);
            X m = kCentred ? mean[r] : X(0), k = rstd[r];
            if (columns)
                for (int64_t i = 0; i < s.n; i++) {
                    dw[i] += g[i] * ((v[i] - m) * k);
                    if (kCentred) db[i] += g[i];
                }
            weight_sums.row_done();
            bias_sums.row_done();
            if (!dx) continue;
            X* to = out.at(r);
            X along, level = 0;  // components of the gradient along the normalised row and along ones
            if (weight) {
                along = lane_sum<X>(s.n, [=](int64_t i) { return g[i] * weight[i] * (v[i] - m); });
                if (kCentred) level = lane_sum<X>(s.n, [=](int64_t i) { return g[i] * weight[i]; });
            } else {
                along = lane_sum<X>(s.n, [=](int64_t i) { return g[i] * (v[i] - m); });
                if (kCentred) level = lane_sum<X>(s.n, [=](int64_t i) { return g[i]; });
            }
            X n = static_cast<X>(s.n), p = -along * k * k * k / n, q = kCentred ? -level * k / n : X(0);
            if (weight)
                for (int64_t i = 0; i < s.n; i++) to[i] = vec::fma(k * g[i], weight[i], vec::fma(p, v[i] - m, q));
            else
                for (int64_t i = 0; i < s.n; i++) to[i] = vec::fma(k, g[i], vec::fma(p, v[i] - m, q));
            out.done(r);
        }
    };
    if (!columns) {
        parallel_for(s.rows, grain_for(s.n), [&](int64_t b, int64_t e) {
            ColumnSums<X> none(0);
            rows(b, e, none, none);
        });
        return;
    }
    parallel_for(blocks, std::max<int64_t>(1, grain_for(s.n) / block), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++)
            rows(i * block, std::min(s.rows, (i + 1) * block), weights[static_cast<size_t>(i)],
                 biases[static_cast<size_t>(i)]);
    });
    for (int64_t i = 0; i < blocks; i++) {
        if (dweight) weights[static_cast<size_t>(i)].add_to(dweight);
        if (dbias) biases[static_cast<size_t>(i)].add_to(dbias);
    }
}

void store(const double* totals, Tensor* out) {
    if (!out) return;
    TensorRef t = empty(out->sizes(), DType::Float64);
    std::copy(totals, totals + t->numel(), t->data<double>());
    copy_into(*out, *t);
}

// What a caller of the gradient's operator may get wrong: the sizes of what forward gave.
void check_backward(const char* op, const Tensor& grad, const Tensor& input, IntSpan shape, const Extent& s,
                    std::initializer_list<const Tensor*> of_rows, std::initializer_list<const Tensor*> of_columns) {
    MT_CHECK(shape.size <= input.ndim && grad.sizes() == input.sizes(), op, ": the gradient's sizes ", grad.sizes(),
             " are not the input's, ", input.sizes());
    for (const Tensor* t : of_rows)
        MT_CHECK(!t || t->numel() == s.rows, op, ": statistics should contain ", s.rows, " elements");
    for (const Tensor* t : of_columns)
        MT_CHECK(!t || t->numel() == s.n, op, ": weights should contain ", s.n, " elements");
}

void native_layer_norm_backward_cpu(Out out, const Tensor& grad_out, const Tensor& input, IntSpan normalized_shape,
                                    const Tensor& given_mean, const Tensor& given_rstd, const Tensor* given_weight,
                                    const Tensor* bias, Span<bool> output_mask) {
    DType type = input.dtype, wide = wide_type(type);
    Extent s = extent_of(input, normalized_shape.size);
    check_backward(out.name(), grad_out, input, normalized_shape, s, {&given_mean, &given_rstd}, {given_weight, bias});
    TensorRef grad = contiguous(grad_out, type), x = contiguous(input);
    TensorRef mean = contiguous(given_mean, wide), rstd = contiguous(given_rstd, wide),
              weight = as_type(given_weight, wide);
    Tensor *dx = out.or_null(0), *dweight = out.or_null(1), *dbias = out.or_null(2);
    std::unique_ptr<double[]> sums(new double[2 * s.n]());
    visit(PlainFloatTypes{}, wide, "LayerNormBackwardKernelImpl", [&]<class X>() {
        norm_backward_rows<X, true>(s, *grad, *x, mean->data<X>(), rstd->data<X>(), data_or_null<X>(weight), dx,
                                    dweight ? sums.get() : nullptr, dbias ? sums.get() + s.n : nullptr);
    });
    store(sums.get(), dweight);
    store(sums.get() + s.n, dbias);
}

void fused_rms_norm_backward_cpu(Out out, const Tensor& grad_out, const Tensor& input, IntSpan normalized_shape,
                                 const Tensor& given_rstd, const Tensor* given_weight, Span<bool> output_mask) {
    DType type = input.dtype, wide = wide_type(type);
    Extent s = extent_of(input, normalized_shape.size);
    check_backward(out.name(), grad_out, input, normalized_shape, s, {&given_rstd}, {given_weight});
    TensorRef grad = contiguous(grad_out, type), x = contiguous(input), rstd = contiguous(given_rstd, wide);
    TensorRef weight = as_type(given_weight, wide);
    Tensor *dx = out.or_null(0), *dweight = out.or_null(1);
    std::unique_ptr<double[]> sums(new double[s.n]());
    visit(PlainFloatTypes{}, wide, "rms_norm_backward", [&]<class X>() {
        norm_backward_rows<X, false>(s, *grad, *x, nullptr, rstd->data<X>(), data_or_null<X>(weight), dx,
                                     dweight ? sums.get() : nullptr, nullptr);
    });
    store(sums.get(), dweight);
}

}  // namespace

KERNELS
{
    shape<layer_norm_shape>("layer_norm");
    shape<rms_norm_shape>("rms_norm");
    shape<norm_backward_shape>("norm_backward");
    structured<native_layer_norm_cpu>("native_layer_norm", kContiguousOutputs);
    structured<native_layer_norm_backward_cpu>("native_layer_norm_backward", kContiguousOutputs);
    structured<fused_rms_norm_cpu>("_fused_rms_norm", kContiguousOutputs);
    structured<fused_rms_norm_backward_cpu>("_fused_rms_norm_backward", kContiguousOutputs);
}

}  // namespace mt
