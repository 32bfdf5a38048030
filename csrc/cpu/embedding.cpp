// Tables looked up by row: embedding, embedding_bag and their gradients.
#include <cmath>
#include <vector>

#include "core/copy_bytes.h"
#include "core/typed_kernel.h"

namespace mt {
namespace {

void check_indices(const Tensor& indices, const char* op) {
    MT_CHECK(indices.dtype == DType::Int64 || indices.dtype == DType::Int32,
             "Expected tensor for argument #1 'indices' to have one of the "
             "following scalar types: Long, Int; but got torch.",
             dtype_class_name(indices.dtype), "Tensor instead (while checking arguments for ", op, ")");
}

TensorRef dense64(const Tensor& indices) {
    TensorRef dense = contiguous(indices);
    if (dense->dtype == DType::Int64) return dense;
    TensorRef wide = empty(dense->sizes(), DType::Int64);
    copy_into(*wide, *dense);
    return wide;
}

void embedding_shape(ShapeCall& c, const Tensor& weight, const Tensor& indices) {
    MT_CHECK(weight.dim() == 2, "'weight' must be 2-D");
    check_indices(indices, "embedding");
    Dims sizes(indices.sizes());
    sizes.push_back(weight.size(1));
    c.output(0, sizes, weight.dtype);
}

void embedding_cpu(Out out, const Tensor& weight, const Tensor& given_indices, int64_t padding_idx,
                   bool scale_grad_by_freq, bool sparse) {
    TensorRef indices = dense64(given_indices),
              table = weight.stride(1) == 1 || weight.size(1) <= 1 ? TensorRef::share(&weight) : contiguous(weight);
    const int64_t* rows = indices->data<int64_t>();
    int64_t n = indices->numel(), count = weight.size(0), bytes = weight.size(1) * weight.itemsize();
    uint64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong |= static_cast<uint64_t>(rows[i] < 0 || rows[i] >= count);
    MT_CHECK_INDEX(!wrong, "index out of range in self");
    if (bytes == 0 || n == 0) return;
    int64_t stride = table->stride(0) * weight.itemsize();
    const char* from = table->raw();
    char* to = out->raw();
    parallel_for(n, std::max<int64_t>(1, 4 * kGrain / bytes), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            copy_bytes(to + i * bytes, from + rows[i] * stride, static_cast<size_t>(bytes));
    });
}

void check_table_size(int64_t rows) { MT_CHECK(rows >= 0, "zeros: Dimension size must be non-negative."); }

// args: grad_output, indices, num_weights, padding_idx, scale_grad_by_freq
void embedding_dense_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& indices, int64_t num_weights) {
    check_indices(indices, "embedding_dense_backward");
    MT_CHECK_INDEX(grad.dim() > 0, "Dimension specified as -1 but tensor has no dimensions");
    int64_t sizes[2] = {num_weights, grad.size(grad.dim() - 1)};
    check_table_size(sizes[0]);
    const int64_t rows[2] = {indices.numel(), sizes[1]};
    MT_CHECK(grad.numel() == rows[0] * rows[1], "shape '", IntSpan(rows, 2), "' is invalid for input of size ",
             grad.numel());
    c.output(0, IntSpan(sizes, 2), grad.dtype);
}

void embedding_dense_backward_cpu(Out out, const Tensor& grad_output, const Tensor& given_indices, int64_t weights,
                                  int64_t padding, bool scale_grad_by_freq) {
    TensorRef grad = contiguous(grad_output), indices = dense64(given_indices);
    int64_t n = indices->numel(), width = out->size(1);
    if (out->numel() > 0) std::memset(out->raw(), 0, static_cast<size_t>(out->numel() * out->itemsize()));
    const int64_t* rows = indices->data<int64_t>();
    std::vector<int64_t> counts;
    if (scale_grad_by_freq) {
        counts.assign(static_cast<size_t>(weights), 0);
        for (int64_t i = 0; i < n; i++)
            if (rows[i] >= 0 && rows[i] < weights) counts[static_cast<size_t>(rows[i])]++;
    }
    visit(FloatTypes{}, out->dtype, "embedding_dense_backward", [&]<class T>() {
        const T* from = grad->data<T>();
        T* to = out->data<T>();
        // Each thread owns a range of table rows and reads all the indices: no two write one row, order is kept.
        int64_t parts = n * width > kGrain ? num_threads() : 1, share = (weights + parts - 1) / parts;
        parallel_for(parts, 1, [&](int64_t first, int64_t last) {
            int64_t low = first * share, high = std::min(weights, last * share);
            for (int64_t i = 0; i < n; i++) {
                int64_t r = rows[i];
                if (r == padding || r < low || r >= high) continue;
                const T* s = from + i * width;
                T* t = to + r * width;
                using Acc = opmath_t<T>;
                if (counts.empty()) {
                    for (int64_t j = 0; j < width; j++) t[j] = T(static_cast<Acc>(t[j]) + static_cast<Acc>(s[j]));
                } else {
                    Acc scale = Acc(1) / static_cast<Acc>(counts[static_cast<size_t>(r)]);
                    for (int64_t j = 0; j < width; j++)
                        t[j] = T(static_cast<Acc>(t[j]) + static_cast<Acc>(s[j]) * scale);
                }
            }
        });
    });
}

// Rows that are looked up and longer than max_norm are shortened to it, in place.
Tensor& embedding_renorm_cpu(Tensor& self, const Tensor& given_indices, double max_norm, double p) {
    MT_CHECK(self.dim() == 2, "Expected 2-dimensional tensor, but got ", self.dim(),
             "-dimensional tensor for argument #1 'self' (while checking arguments for embedding_renorm_)");
    MT_CHECK(given_indices.dtype == DType::Int64 || given_indices.dtype == DType::Int32,
             "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
             "torch.",
             dtype_class_name(given_indices.dtype), "Tensor instead (while checking arguments for embedding_renorm_)");
    TensorRef indices = dense64(given_indices);
    std::vector<int64_t> rows(indices->data<int64_t>(), indices->data<int64_t>() + indices->numel());
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    int64_t width = self.size(1), step = self.stride(1);
    visit(FloatTypes{}, self.dtype, "embedding_renorm_", [&]<class T>() {
        for (int64_t r : rows) {
            MT_CHECK_INDEX(r >= 0 && r < self.size(0), "index out of range in self");
            T* row = self.data<T>() + r * self.stride(0);
            double norm = 0;
            for (int64_t j = 0; j < width; j++) {
                double v = std::fabs(static_cast<double>(static_cast<opmath_t<T>>(row[j * step])));
                if (p == INFINITY)
                    norm = std::max(norm, v);
                else
                    norm += p == 2 ? v * v : p == 1 ? v : std::pow(v, p);
            }
            if (p != INFINITY) norm = p == 2 ? std::sqrt(norm) : p == 1 ? norm : std::pow(norm, 1 / p);
            if (norm <= max_norm) continue;
            opmath_t<T> scale = static_cast<opmath_t<T>>(max_norm / (norm + 1e-7));
            for (int64_t j = 0; j < width; j++) row[j * step] = T(static_cast<opmath_t<T>>(row[j * step]) * scale);
        }
    });
    return self;
}

// ---- embedding_bag ----

enum BagMode { kSum = 0, kMean = 1, kMax = 2 };

struct Bags {
    TensorRef indices, bag_of, sizes;  // int64
    int64_t count;
};

Bags make_bags(const Tensor& indices, const Tensor& offsets, bool include_last_offset) {
    MT_CHECK(indices.dim() == 1, "input has to be a 1D or 2D Tensor, but got Tensor of dimension ", indices.dim());
    MT_CHECK(offsets.dim() == 1, "offsets has to be a 1D Tensor, but got Tensor of dimension ", offsets.dim());
    Bags bags;
    bags.indices = dense64(indices);
    TensorRef starts = dense64(offsets);
    const int64_t* s = starts->data<int64_t>();
    int64_t n = indices.numel(), given = offsets.numel();
    if (include_last_offset) MT_CHECK(given >= 1, "include_last_offset: number of offset should be at least 1");
    bags.count = include_last_offset ? given - 1 : given;
    if (given > 0) {
        MT_CHECK(s[0] == 0,
                 "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                 "However, got ",
                 s[0]);
        MT_CHECK(s[given - 1] <= n, "offsets[-1] can not be greater than input's length ", n,
                 " but got offsets[-1] of ", s[given - 1]);
    }
    bags.bag_of = zeros(IntSpan(&n, 1), DType::Int64);
    bags.sizes = zeros(IntSpan(&bags.count, 1), DType::Int64);
    for (int64_t b = 0; b < bags.count; b++) {
        int64_t from = s[b], to = b + 1 < given ? s[b + 1] : n;
        MT_CHECK(from >= 0 && from <= to && to <= n, "embedding_bag(): offsets must not decrease");
        bags.sizes->data<int64_t>()[b] = to - from;
        for (int64_t i = from; i < to; i++) bags.bag_of->data<int64_t>()[i] = b;
    }
    return bags;
}

// args: weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
// padding_idx
std::tuple<TensorRef, TensorRef, TensorRef, TensorRef> embedding_bag_cpu(const Tensor& weight, const Tensor& indices,
                                                                         const Tensor& offsets, bool scale_grad_by_freq,
                                                                         int64_t mode, bool sparse, const Tensor* scale,
                                                                         bool include_last_offset, int64_t padding) {
    check_indices(indices, "embedding_bag");
    check_indices(offsets, "embedding_bag");
    MT_CHECK(weight.dim() == 2, "weight has to be a 2D Tensor, but got Tensor of dimension ", weight.dim());
    MT_CHECK(mode >= kSum && mode <= kMax, "`mode` must be sum, mean, or max.");
    int64_t width = weight.size(1);
    MT_CHECK(!scale || mode == kSum,
             "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum'");
    Bags bags = make_bags(indices, offsets, include_last_offset);
    MT_CHECK(!scale || scale->dtype == weight.dtype,
             "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
             "'per_sample_weights'; but type torch.",
             dtype_class_name(weight.dtype), "Tensor does not equal torch.",
             scale ? dtype_class_name(scale->dtype) : "", "Tensor (while checking arguments for embedding_bag)");
    MT_CHECK(!scale || scale->numel() == bags.indices->numel(), "embedding_bag: expected per_sample_weights of ",
             bags.indices->numel(), " elements, as many as there are indices, but got ", scale->numel());
    TensorRef table = contiguous(weight), scales = scale ? contiguous(*scale, weight.dtype) : TensorRef();
    int64_t out_sizes[2] = {bags.count, width}, n = bags.indices->numel();
    TensorRef out = zeros(IntSpan(out_sizes, 2), weight.dtype);
    TensorRef winners = mode == kMax ? zeros(IntSpan(out_sizes, 2), DType::Int64) : TensorRef::share(bags.sizes.get());
    const int64_t *rows = bags.indices->data<int64_t>(), *bag_of = bags.bag_of->data<int64_t>();
    int64_t* sizes = bags.sizes->data<int64_t>();
    int64_t covered = 0;
    for (int64_t b = 0; b < bags.count; b++) covered += sizes[b];
    for (int64_t i = 0; i < n; i++) {
        MT_CHECK(rows[i] >= 0 && rows[i] < weight.size(0),
                 "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be ", rows[i]);
        if (rows[i] == padding && i < covered) sizes[bag_of[i]]--;
    }
    visit(FloatTypes{}, weight.dtype, "embedding_bag", [&]<class T>() {
        using Acc = opmath_t<T>;
        const T* w = table->data<T>();
        T* o = out->data<T>();
        std::vector<Acc> sum(static_cast<size_t>(width));
        int64_t i = 0;
        for (int64_t b = 0; b < bags.count; b++) {
            std::fill(sum.begin(), sum.end(), Acc(0));
            bool first = true;
            for (; i < covered && bag_of[i] == b; i++) {
                if (rows[i] == padding) continue;
                const T* row = w + rows[i] * width;
                Acc s = scales ? static_cast<Acc>(scales->data<T>()[i]) : Acc(1);
                for (int64_t j = 0; j < width; j++) {
                    Acc v = static_cast<Acc>(row[j]);
                    Acc& a = sum[static_cast<size_t>(j)];
                    if (mode != kMax) {
                        a += v * s;
                    } else if (first || v > a) {
                        a = v;
                        winners->data<int64_t>()[b * width + j] = rows[i];
                    }
                }
                first = false;
            }
            Acc divide = mode == kMean && sizes[b] > 0 ? static_cast<Acc>(sizes[b]) : Acc(1);
            for (int64_t j = 0; j < width; j++) o[b * width + j] = T(sum[static_cast<size_t>(j)] / divide);
        }
    });
    if (mode != kMax) winners = clone(*bags.sizes);
    return {std::move(out), std::move(bags.bag_of), TensorRef::share(bags.sizes.get()), std::move(winners)};
}

// args: grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
// per_sample_weights, padding_idx
void embedding_bag_dense_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& indices,
                                        const Tensor& offset2bag, const Tensor& bag_size, const Tensor& maximum_indices,
                                        int64_t num_weights, Unread scale_grad_by_freq, int64_t mode,
                                        const Tensor* per_sample_weights) {
    wrap_dim(1, grad.dim());
    MT_CHECK(grad.dim() == 2, c.name(), "(): expected a 2D gradient, but got one of size ", grad.sizes());
    int64_t sizes[2] = {num_weights, grad.size(1)};
    check_table_size(sizes[0]);
    for (const Tensor* t : {&indices, &offset2bag, &bag_size, &maximum_indices}) check_indices(*t, "embedding_bag");
    auto check = [&](const char* what, int64_t has, int64_t wanted) {
        MT_CHECK(has == wanted, c.name(), "(): expected ", what, " of ", wanted, " elements, but got ", has);
    };
    if (mode == kMax) {
        check("maximum_indices", maximum_indices.numel(), grad.numel());
        check("bag_size", bag_size.numel(), grad.size(0));
    } else {
        check("offset2bag", offset2bag.numel(), indices.numel());
        if (mode == kMean) check("bag_size", bag_size.numel(), grad.size(0));
        if (const Tensor* scale = per_sample_weights) check("per_sample_weights", scale->numel(), indices.numel());
    }
    c.output(0, IntSpan(sizes, 2), grad.dtype);
}
void embedding_bag_dense_backward_cpu(Out out, const Tensor& given_grad, const Tensor& given_indices,
                                      const Tensor& offset2bag, const Tensor& bag_size, const Tensor& maximum_indices,
                                      int64_t weights, bool scale_grad_by_freq, int64_t mode, const Tensor* scale,
                                      int64_t padding) {
    TensorRef grad = contiguous(given_grad), indices = dense64(given_indices), bag_of = dense64(offset2bag),
              sizes = dense64(bag_size), winners = dense64(maximum_indices);
    int64_t width = out->size(1), bags = grad->size(0);
    TensorRef scales = scale ? contiguous(*scale, out->dtype) : TensorRef();
    if (out->numel() > 0) std::memset(out->raw(), 0, static_cast<size_t>(out->numel() * out->itemsize()));
    const int64_t* rows = indices->data<int64_t>();
    int64_t n = indices->numel();
    auto within = [](int64_t i, int64_t count) { MT_CHECK_INDEX(i >= 0 && i < count, "index out of range in self"); };
    if (mode == kMax) {
        for (int64_t i = 0; i < bags * width; i++)
            if (sizes->data<int64_t>()[i / width] != 0) within(winners->data<int64_t>()[i], weights);
    } else {
        for (int64_t i = 0; i < n; i++) {
            within(rows[i], weights);
            within(bag_of->data<int64_t>()[i], bags);
        }
    }
    std::vector<int64_t> counts;
    if (scale_grad_by_freq && mode != kMax) {
        counts.assign(static_cast<size_t>(weights), 0);
        for (int64_t i = 0; i < n; i++) counts[static_cast<size_t>(rows[i])]++;
    }
    visit(FloatTypes{}, out->dtype, "embedding_bag_dense_backward", [&]<class T>() {
        using Acc = opmath_t<T>;
        const T* g = grad->data<T>();
        T* o = out->data<T>();
        if (mode == kMax) {
            for (int64_t b = 0; b < bags; b++) {
                if (sizes->data<int64_t>()[b] == 0) continue;
                for (int64_t j = 0; j < width; j++) {
                    T& t = o[winners->data<int64_t>()[b * width + j] * width + j];
                    t = T(static_cast<Acc>(t) + static_cast<Acc>(g[b * width + j]));
                }
            }
            return;
        }
        for (int64_t i = 0; i < n; i++) {
            if (rows[i] == padding) continue;
            int64_t b = bag_of->data<int64_t>()[i];
            Acc s = scales ? static_cast<Acc>(scales->data<T>()[i]) : Acc(1);
            if (!counts.empty()) s /= static_cast<Acc>(counts[static_cast<size_t>(rows[i])]);
            if (mode == kMean) s /= static_cast<Acc>(std::max<int64_t>(1, sizes->data<int64_t>()[b]));
            for (int64_t j = 0; j < width; j++) {
                T& t = o[rows[i] * width + j];
                t = T(static_cast<Acc>(t) + static_cast<Acc>(g[b * width + j]) * s);
            }
        }
    });
}

// args: grad, weight, indices, offsets, offset2bag, mode, padding_idx
void per_sample_weights_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& weight, const Tensor& indices,
                                       Unread offsets, const Tensor& offset2bag, int64_t mode) {
    MT_CHECK(mode == kSum, "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
    MT_CHECK(grad.dim() == 2, c.name(), "(): expected a 2D gradient, but got one of size ", grad.sizes());
    check_indices(indices, "embedding_bag");
    check_indices(offset2bag, "embedding_bag");
    MT_CHECK(indices.dim() == 1, "input has to be a 1D Tensor, but got Tensor of dimension ", indices.dim());
    MT_CHECK(weight.dim() == 2 && weight.size(1) == grad.size(1), c.name(), "(): expected weight to have ",
             grad.size(1), " columns, but got one of size ", weight.sizes());
    MT_CHECK(weight.dtype == grad.dtype, "expected scalar type ", dtype_class_name(grad.dtype), " but found ",
             dtype_class_name(weight.dtype));
    MT_CHECK(offset2bag.numel() == indices.numel(), c.name(), "(): expected offset2bag of ", indices.numel(),
             " elements, but got ", offset2bag.numel());
    c.output(0, indices.sizes(), grad.dtype);
}
void per_sample_weights_backward_cpu(Out out, const Tensor& given_grad, const Tensor& weight,
                                     const Tensor& given_indices, const Tensor& offsets, const Tensor& offset2bag,
                                     int64_t mode, int64_t padding) {
    TensorRef grad = contiguous(given_grad), table = contiguous(weight), indices = dense64(given_indices),
              bag_of = dense64(offset2bag);
    int64_t width = table->size(1), n = indices->numel();
    visit(FloatTypes{}, out->dtype, "_embedding_bag_per_sample_weights_backward", [&]<class T>() {
        using Acc = opmath_t<T>;
        for (int64_t i = 0; i < n; i++) {
            int64_t r = indices->data<int64_t>()[i], b = bag_of->data<int64_t>()[i];
            Acc sum = 0;
            MT_CHECK_INDEX(r == padding || (r >= 0 && r < table->size(0) && b >= 0 && b < grad->size(0)),
                           "index out of range in self");
            if (r != padding)
                for (int64_t j = 0; j < width; j++)
                    sum += static_cast<Acc>(grad->data<T>()[b * width + j]) *
                           static_cast<Acc>(table->data<T>()[r * width + j]);
            out->data<T>()[i] = T(sum);
        }
    });
}

KERNELS
{
    structured<embedding_cpu>("embedding", kContiguousOutputs);
    shape<embedding_shape>("embedding");
    structured<embedding_dense_backward_cpu>("embedding_dense_backward", kContiguousOutputs);
    shape<embedding_dense_backward_shape>("embedding_dense_backward");
    direct<embedding_renorm_cpu>("embedding_renorm_");
    direct<embedding_bag_cpu>("_embedding_bag");
    direct<embedding_bag_cpu>("_embedding_bag_forward_only");
    structured<embedding_bag_dense_backward_cpu>("_embedding_bag_dense_backward", kContiguousOutputs);
    shape<embedding_bag_dense_backward_shape>("_embedding_bag_dense_backward");
    structured<per_sample_weights_backward_cpu>("_embedding_bag_per_sample_weights_backward", kContiguousOutputs);
    shape<per_sample_weights_backward_shape>("_embedding_bag_per_sample_weights_backward");
}

}  // namespace
}  // namespace mt
