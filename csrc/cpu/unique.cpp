// Distinct elements and slices.
#include <numeric>

#include "cpu/sort_keys.h"

namespace mt {
namespace {

TensorRef int64_tensor(const std::vector<int64_t>& v) {
    int64_t n = static_cast<int64_t>(v.size());
    TensorRef t = empty(IntSpan(&n, 1), DType::Int64);
    std::copy(v.begin(), v.end(), t->data<int64_t>());
    return t;
}
TensorRef no_elements() {
    int64_t none = 0;
    return empty(IntSpan(&none, 1), DType::Int64);
}

// Slices of `width` elements in the order `order`; equal neighbours fall into one group.
struct Groups {
    std::vector<int64_t> first;  // the slice that stands for the group
    std::vector<int64_t> counts;
    std::vector<int64_t> inverse;  // group of each slice
};

// `order_of(i)`: the slice at place i of n. `starts(i)`: it differs from the one before.
template <class Order, class Starts>
Groups group(int64_t n, const Order& order_of, const Starts& starts, bool inverse, bool counts) {
    Groups g;
    if (inverse) g.inverse.resize(static_cast<size_t>(n));
    int64_t began = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t here = order_of(i);
        if (i == 0 || starts(i)) {
            if (counts && i > 0) g.counts.push_back(i - began);
            g.first.push_back(here);
            began = i;
        }
        if (inverse) g.inverse[static_cast<size_t>(here)] = static_cast<int64_t>(g.first.size()) - 1;
    }
    if (counts && n > 0) g.counts.push_back(n - began);
    return g;
}

// Slices `first` of x, seen as rows of `bytes`.
void gather_slices(const char* x, int64_t bytes, const std::vector<int64_t>& first, char* to) {
    const int64_t n = static_cast<int64_t>(first.size());
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)
        return visit_size(bytes, [&]<class B>() {
            for (int64_t i = 0; i < n; i++) reinterpret_cast<B*>(to)[i] = reinterpret_cast<const B*>(x)[first[i]];
        });
    for (int64_t i = 0; i < n; i++) std::memcpy(to + i * bytes, x + first[i] * bytes, static_cast<size_t>(bytes));
}

// values, inverse, counts; what was not asked for is empty
using Distinct = std::tuple<TensorRef, TensorRef, TensorRef>;

Distinct with_groups(TensorRef values, const Groups& g, IntSpan inverse_sizes, bool inverse, bool counts) {
    TensorRef of_each = no_elements();
    if (inverse) {
        TensorRef flat = int64_tensor(g.inverse);
        of_each = as_strided(*flat, inverse_sizes, contiguous_strides(inverse_sizes), 0);
    }
    return {std::move(values), std::move(of_each), counts ? int64_tensor(g.counts) : no_elements()};
}

// Runs of equal elements, written down without branches: whether the next element differs is anyone's guess.
template <class T>
Distinct consecutive_runs(const Tensor& x, IntSpan inverse_sizes, bool inverse, bool counts) {
    const int64_t n = x.numel();
    const T* v = x.data<T>();
    TensorRef values = empty(IntSpan(&n, 1), x.dtype);
    std::vector<int64_t> begins(counts ? static_cast<size_t>(n) : 0);
    T* to = values->data<T>();
    TensorRef groups = inverse ? empty(inverse_sizes, DType::Int64) : no_elements();
    int64_t run = -1;
    for (int64_t i = 0; i < n; i++) {
        const bool starts = i == 0 || !(static_cast<Compute<T>>(v[i]) == static_cast<Compute<T>>(v[i - 1]));
        run += starts;
        to[run] = v[i];
        if (inverse) groups->data<int64_t>()[i] = run;
        if (counts) begins[static_cast<size_t>(run)] = starts ? i : begins[static_cast<size_t>(run)];
    }
    const int64_t distinct = run + 1;
    TensorRef result = empty(IntSpan(&distinct, 1), x.dtype);
    std::copy_n(to, distinct, result->data<T>());
    if (!counts) return {std::move(result), std::move(groups), no_elements()};
    TensorRef lengths = empty(IntSpan(&distinct, 1), DType::Int64);
    for (int64_t k = 0; k < distinct; k++)
        lengths->data<int64_t>()[k] =
            (k + 1 < distinct ? begins[static_cast<size_t>(k + 1)] : n) - begins[static_cast<size_t>(k)];
    return {std::move(result), std::move(groups), std::move(lengths)};
}

using UniqueTypes = Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, Bool, c64, c128,
                          uint16_t, uint32_t, uint64_t>;

// Elements of a tensor, sorted; NaN differs from every element, itself included.
Distinct unique_elements(const Tensor& self, bool inverse, bool counts) {
    TensorRef x = contiguous(self);
    int64_t n = x->numel();
    Groups g;
    with_key(x->dtype, [&]<class Key>() {
        std::vector<Key> keys(static_cast<size_t>(n)), spare(keys.size());
        load_keys(x->raw(), x->dtype, n, false, keys.data());
        sort_keys(keys.data(), spare.data(), n);
        const Key* k = keys.data();
        const bool may_be_nan = is_floating(x->dtype);
        const uint64_t nan = sizeof(Key) == 16 ? kNanKey64 : kNanKey32;
        auto starts = [=](int64_t i) { return k[i].key() != k[i - 1].key() || (may_be_nan && k[i].key() == nan); };
        g = group(n, [=](int64_t i) { return k[i].position(); }, starts, inverse, counts);
    });
    int64_t distinct = static_cast<int64_t>(g.first.size());
    TensorRef values = empty(IntSpan(&distinct, 1), x->dtype);
    gather_slices(x->raw(), x->itemsize(), g.first, values->raw());
    return with_groups(std::move(values), g, self.sizes(), inverse, counts);
}

// Slices along a dimension.
Distinct unique_slices(const Tensor& self, int64_t dim, bool sorted, bool inverse, bool counts) {
    dim = wrap_dim(dim, self.ndim);
    MT_CHECK(self.ndim > 0, "unique_dim: expected a tensor of at least one dimension");
    int64_t n = self.size(dim);
    bool empty_elsewhere = self.numel() == 0 && n != 0;
    MT_CHECK(!empty_elsewhere,
             "There are 0 sized dimensions, and they aren't selected by `dim`, so unique cannot be applied");
    // The dimension first.
    Dims sizes(self.sizes()), strides(self.strides());
    std::swap(sizes[0], sizes[dim]);
    std::swap(strides[0], strides[dim]);
    TensorRef x = contiguous(*as_strided(self, sizes, strides, self.offset));
    int64_t width = n ? x->numel() / n : 0;
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t(0));
    Groups g;
    MT_CHECK_AS(NotImplemented, !is_complex(x->dtype), "\"unique_dim\" not implemented for '",
                dtype_class_name(x->dtype), "'");
    TensorRef compared = contiguous(*x, is_floating(x->dtype)       ? DType::Float64  // exactly
                                        : x->dtype == DType::UInt64 ? DType::UInt64
                                                                    : DType::Int64);
    visit(Types<double, int64_t, uint64_t>{}, compared->dtype, "unique_dim", [&]<class T>() {
        const T* v = compared->data<T>();
        if (sorted)
            std::stable_sort(order.begin(), order.end(), [=](int64_t a, int64_t b) {
                for (int64_t i = 0; i < width; i++) {
                    if (v[a * width + i] < v[b * width + i]) return true;
                    if (v[b * width + i] < v[a * width + i]) return false;
                }
                return false;
            });
        const int64_t* slices = order.data();
        auto starts = [=](int64_t i) {
            const T *a = v + slices[i - 1] * width, *b = v + slices[i] * width;
            for (int64_t k = 0; k < width; k++)
                if (a[k] != b[k]) return true;
            return false;
        };
        g = group(n, [=](int64_t i) { return slices[i]; }, starts, inverse, counts);
    });
    int64_t distinct = static_cast<int64_t>(g.first.size());
    sizes[0] = distinct;
    TensorRef values = empty(sizes, x->dtype);
    gather_slices(x->raw(), width * x->itemsize(), g.first, values->raw());
    Dims out_sizes(values->sizes()), out_strides(values->strides());
    std::swap(out_sizes[0], out_sizes[dim]);
    std::swap(out_strides[0], out_strides[dim]);
    TensorRef turned = as_strided(*values, out_sizes, out_strides, 0);
    int64_t count = n;
    return with_groups(dim == 0 ? values : clone(*turned), g, IntSpan(&count, 1), inverse, counts);
}

std::tuple<TensorRef, TensorRef> unique_cpu(const Tensor& self, bool sorted, bool return_inverse) {
    auto [values, inverse, counts] = unique_elements(self, return_inverse, false);
    return {std::move(values), std::move(inverse)};
}
Distinct unique2_cpu(const Tensor& self, bool sorted, bool return_inverse, bool return_counts) {
    return unique_elements(self, return_inverse, return_counts);
}
Distinct unique_consecutive_cpu(const Tensor& self, bool return_inverse, bool return_counts,
                                std::optional<int64_t> dim) {
    if (dim) return unique_slices(self, *dim, false, return_inverse, return_counts);
    TensorRef x = contiguous(self);
    Distinct found;
    visit(UniqueTypes{}, x->dtype, "unique",
          [&]<class T>() { found = consecutive_runs<T>(*x, self.sizes(), return_inverse, return_counts); });
    return found;
}
// PyTorch gives the inverse and the counts whether asked for or not.
Distinct unique_dim_cpu(const Tensor& self, int64_t dim, bool sorted, bool return_inverse, bool return_counts) {
    return unique_slices(self, dim, true, true, true);
}
Distinct unique_dim_consecutive_cpu(const Tensor& self, int64_t dim, bool return_inverse, bool return_counts) {
    return unique_slices(self, dim, false, true, true);
}

}  // namespace

KERNELS
{
    direct<unique_cpu>("_unique");
    direct<unique2_cpu>("_unique2");
    direct<unique_consecutive_cpu>("unique_consecutive");
    direct<unique_dim_cpu>("unique_dim");
    direct<unique_dim_consecutive_cpu>("unique_dim_consecutive");
}

}  // namespace mt
