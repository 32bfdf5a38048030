// Dropout: mask and scaling in one pass over the data, with the numbers of PyTorch's generic generator path.
#include "core/generator.h"
#include "cpu/reduce.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

constexpr int64_t kBlock = 4096;

// y = mask ? x * scale : x * 0 (so that NaN and infinity show), in the compute type.
template <class T>
void scale_by_mask(const T* x, const uint8_t* mask, double scale, T* y, int64_t n) {
    using X = Compute<T>;
    X s = static_cast<X>(scale);
    if constexpr (is_reduced_v<T>) {
        float buffer[kBlock];
        for (int64_t i = 0; i < n; i += kBlock) {
            int64_t m = std::min(kBlock, n - i);
            widen(x + i, buffer, m);
            for (int64_t j = 0; j < m; j++) buffer[j] *= mask[i + j] ? s : 0.0f;
            narrow(buffer, y + i, m);
        }
    } else {
        for (int64_t i = 0; i < n; i++) y[i] = x[i] * (mask[i] ? s : X(0));
    }
}

// A dense tensor's elements in memory order: itself, or a contiguous copy.
TensorRef in_order_of(const Tensor& like, const Tensor& t, DType type) {
    if (t.dtype == type && t.strides() == like.strides() && like.is_non_overlapping_and_dense())
        return TensorRef::share(&t);
    TensorRef r = empty_strided(like.sizes(), like.strides(), type);
    copy_into(*r, t);
    return r;
}

// Words: input, or input and mask dtype. y like input; bool mask.
void dropout_shape(ShapeCall& c, const Tensor& input) {
    MT_CHECK(is_floating(input.dtype) || is_complex(input.dtype),
             "result type Float can't be cast to the desired output type ", dtype_class_name(input.dtype));
    c.output_like(0, input);
    c.output_like(1, input, DType::Bool);
}

// The words are drawn by one thread, since the stream is one; the scaling follows block by block while both are in
// cache.
template <class T>
void drop(Mt19937& engine, const T* x, double keep, double scale, T* y, uint8_t* mask, int64_t n) {
    for (int64_t i = 0; i < n; i += kBlock) {
        int64_t m = std::min(kBlock, n - i);
        bernoulli_bytes(engine, keep, mask + i, m);
        scale_by_mask(x + i, mask + i, scale, y + i, m);
    }
}

// native_dropout(input, p, train) and _fused_dropout(input, p, generator), p the probability to drop resp. to keep
void dropout_into(Out out, const Tensor& input, double keep, bool train, Generator& generator) {
    Tensor &y = out[0], &mask = out[1];
    if (!train) {
        copy_into(y, input);
        fill(mask, Value::of(true));
        return;
    }
    double scale = keep == 0 ? 0 : 1 / keep;
    TensorRef x = in_order_of(y, input, y.dtype);
    GeneratorLock lock(generator);
    int64_t n = y.numel();
    visit(FloatTypes{}, y.dtype, "dropout", [&]<class T>() {
        NoGil nogil(n > 4 * kGrain);
        drop(lock.engine(), x->data<T>(), keep, scale, y.data<T>(), mask.words<uint8_t>(), n);
    });
}

void native_dropout_cpu(Out out, const Tensor& input, double p, std::optional<bool> train) {
    dropout_into(out, input, 1 - p, !train || *train, default_generator());
}
void fused_dropout_cpu(Out out, const Tensor& self, double p, Generator& generator) {
    dropout_into(out, self, p, true, generator);
}

// native_dropout_backward(grad_output, mask, scale): a product of the three. Whole numbers become floating.
void dropout_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& mask) {
    MT_CHECK(mask.itemsize() == 1, c.name(), "(): expected a mask of bool or uint8, but got ", dtype_name(mask.dtype));
    if (grad.sizes() == mask.sizes() && is_differentiable(grad.dtype))
        c.output_like(0, grad);
    else
        c.output(0, broadcast_sizes(grad.sizes(), mask.sizes()),
                 is_differentiable(grad.dtype) ? grad.dtype : default_dtype());
}

void native_dropout_backward_cpu(Out out, const Tensor& grad_output, const Tensor& given_mask, double scale) {
    auto shown = [&](const Tensor& t) {
        return as_strided(t, out->sizes(), broadcast_strides(t, out->dim()), t.offset);
    };
    TensorRef grad = in_order_of(out, *shown(grad_output), out->dtype),
              mask = in_order_of(out, *shown(given_mask), given_mask.dtype);
    visit(FloatTypes{}, out->dtype, "native_dropout_backward", [&]<class T>() {
        parallel_for(out->numel(), kGrain, [&](int64_t b, int64_t e) {
            scale_by_mask(grad->data<T>() + b, mask->words<uint8_t>() + b, scale, out->data<T>() + b, e - b);
        });
    });
}

}  // namespace

KERNELS
{
    shape<dropout_shape>("dropout");
    shape<dropout_backward_shape>("dropout_backward");
    structured<native_dropout_cpu>("native_dropout");
    structured<fused_dropout_cpu>("_fused_dropout");
    structured<native_dropout_backward_cpu>("native_dropout_backward");
    structured<native_dropout_backward_cpu>("_masked_scale");
}

}  // namespace mt
