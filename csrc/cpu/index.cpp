// Indexing by tensors: index, index_put and what they share (masks to positions, broadcasting, the shape of the
// result).
#include <vector>

#include "core/copy_bytes.h"
#include "core/overlap.h"
#include "core/typed_kernel.h"
#include "cpu/nonzero.h"
#include "cpu/number.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

// One indexing resolved: the indexed dimensions are replaced by `picks`, offsets into self in elements, in the order of
// the broadcast index tensors. Result sizes are before + index + after; if the indexed dimensions are not adjacent
// `before` is empty and all the others are in `after`, as in NumPy.
struct Plan {
    Dims before, after;                  // sizes
    Dims before_strides, after_strides;  // of self
    Dims index;                          // broadcast sizes of the index tensors
    std::vector<int64_t> picks;
    Dims result() const {
        Dims r(before);
        for (int64_t s : index) r.push_back(s);
        for (int64_t s : after) r.push_back(s);
        return r;
    }
};

std::string shapes_text(const std::vector<TensorRef>& indices) {
    std::string text;
    for (const TensorRef& t : indices) {
        if (!t) continue;
        text += concat(text.empty() ? "" : ", ", t->sizes());
    }
    return text;
}

// Masks become one position tensor per dimension that they cover; the others become int64.
std::vector<TensorRef> positions_of(const Tensor& self, Span<Tensor*> indices) {
    std::vector<TensorRef> result;
    for (Tensor* t : indices) {
        if (!t) {
            result.emplace_back();
            continue;
        }
        switch (t->dtype) {
            case DType::Bool:
            case DType::UInt8: {
                if (t->dtype == DType::UInt8 &&
                    PyErr_WarnEx(PyExc_UserWarning,
                                 "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
                                 "instead.",
                                 1) < 0)
                    throw PythonError();
                int64_t at = static_cast<int64_t>(result.size());
                for (int64_t d = 0; d < t->dim(); d++)
                    MT_CHECK_INDEX(at + d < self.dim() && t->size(d) == self.size(at + d), "The shape of the mask ",
                                   t->sizes(), " at index ", d, " does not match the shape of the indexed tensor ",
                                   self.sizes(), " at index ", at + d);
                if (t->dim() == 0)
                    MT_THROW(Index, "a mask of no dimensions must be turned into a dimension before indexing");
                for (TensorRef& p : nonzero_columns(*t)) result.push_back(std::move(p));
                break;
            }
            case DType::Int64:
                result.push_back(TensorRef::share(t));
                break;
            case DType::Int32: {
                TensorRef wide = empty(t->sizes(), DType::Int64);
                copy_into(*wide, *t);
                result.push_back(std::move(wide));
                break;
            }
            default:
                MT_THROW(Index, "tensors used as indices must be long, int, byte or bool tensors");
        }
    }
    MT_CHECK_INDEX(static_cast<int64_t>(result.size()) <= self.dim(), "too many indices for tensor of dimension ",
                   self.dim(), " (got ", result.size(), ")");
    return result;
}

Plan make_plan(const Tensor& self, Span<Tensor*> given) {
    std::vector<TensorRef> indices = positions_of(self, given);
    Plan plan;
    bool first = true;
    for (const TensorRef& t : indices) {
        if (!t) continue;
        if (first) {
            plan.index.assign(t->sizes());
            first = false;
            continue;
        }
        int64_t n = std::max<int64_t>(plan.index.size(), t->dim());
        Dims wide(n, 1);
        for (int64_t i = 0; i < n; i++) {
            int64_t a = i < plan.index.size() ? plan.index[plan.index.size() - 1 - i] : 1;
            int64_t b = i < t->dim() ? t->size(t->dim() - 1 - i) : 1;
            MT_CHECK_INDEX(a == b || a == 1 || b == 1,
                           "shape mismatch: indexing tensors could not be broadcast together with shapes ",
                           shapes_text(indices));
            wide[n - 1 - i] = a == 1 ? b : a;
        }
        plan.index = wide;
    }
    MT_CHECK(!first, "at least one index tensor is expected");

    int64_t count = numel_of(plan.index);
    plan.picks.assign(static_cast<size_t>(count), 0);
    // Positions of nothing are not looked at, as in PyTorch, unless it is their dimension that holds nothing.
    bool nothing = false;
    for (int64_t d = 0; d < self.dim(); d++) {
        const bool picked = d < static_cast<int64_t>(indices.size()) && indices[static_cast<size_t>(d)];
        MT_CHECK_INDEX(!picked || self.size(d) || !count, "index is out of bounds for dimension with size 0");
        nothing = nothing || (!picked && !self.size(d));
    }
    int64_t first_dim = -1, last_dim = -1, indexed = 0;
    Dims dense = contiguous_strides(plan.index);
    for (size_t k = 0; k < indices.size(); k++) {
        if (!indices[k]) continue;
        const Tensor& t = *indices[k];
        int64_t d = static_cast<int64_t>(k);
        if (first_dim < 0) first_dim = d;
        last_dim = d;
        indexed++;
        Dims strides(plan.index.size(), 0);
        for (int64_t i = 0; i < t.dim(); i++)
            strides[plan.index.size() - t.dim() + i] = t.size(i) == 1 ? 0 : t.stride(i);
        int64_t size = self.size(d), stride = self.stride(d);
        const int64_t* data = t.data<int64_t>();
        int64_t* picks = plan.picks.data();
        int64_t wrong = 0;
        bool out_of_bounds = false;
        StridedWalk<2> walk(plan.index, {dense, strides});
        walk.run([&](const auto& at, int64_t n, const auto& steps) {
            for (int64_t i = 0; i < n; i++) {
                int64_t v = data[at[1] + i * steps[1]];
                if (__builtin_expect(v < -size || v >= size, 0)) {
                    if (!out_of_bounds) wrong = v;
                    out_of_bounds = true;
                    continue;
                }
                picks[at[0] + i * steps[0]] += (v < 0 ? v + size : v) * stride;
            }
        });
        MT_CHECK_INDEX(!out_of_bounds || nothing, "index ", wrong, " is out of bounds for dimension ", indexed - 1,
                       " with size ", size);
    }
    bool adjacent = last_dim - first_dim + 1 == indexed;
    for (int64_t d = 0; d < self.dim(); d++) {
        if (d < static_cast<int64_t>(indices.size()) && indices[static_cast<size_t>(d)]) continue;
        bool lead = adjacent && d < first_dim;
        (lead ? plan.before : plan.after).push_back(self.size(d));
        (lead ? plan.before_strides : plan.after_strides).push_back(self.stride(d));
    }
    return plan;
}

// Offsets of every element of a strided block, row-major.
std::vector<int64_t> offsets_of(IntSpan sizes, IntSpan strides) {
    std::vector<int64_t> offsets(static_cast<size_t>(numel_of(sizes)));
    Dims dense = contiguous_strides(sizes);
    StridedWalk<2> walk(sizes, {dense, strides});
    walk.run([&](const auto& at, int64_t n, const auto& steps) {
        for (int64_t i = 0; i < n; i++) offsets[static_cast<size_t>(at[0] + i * steps[0])] = at[1] + i * steps[1];
    });
    return offsets;
}

bool dense_block(IntSpan sizes, IntSpan strides) {
    int64_t expected = 1;
    for (int64_t d = sizes.size - 1; d >= 0; d--) {
        if (sizes[d] != 1 && strides[d] != expected) return false;
        expected *= sizes[d];
    }
    return true;
}

TensorRef index_cpu(const Tensor& self, Span<Tensor*> indices) {
    Plan plan = make_plan(self, indices);
    TensorRef result = empty(plan.result(), self.dtype);
    if (result->numel() == 0) return result;
    std::vector<int64_t> outer = offsets_of(plan.before, plan.before_strides);
    int64_t picks = static_cast<int64_t>(plan.picks.size()), block = numel_of(plan.after);
    int64_t rows = static_cast<int64_t>(outer.size()) * picks;
    int64_t grain = grain_for(block);
    bool dense = dense_block(plan.after, plan.after_strides);
    std::vector<int64_t> inner = dense ? std::vector<int64_t>() : offsets_of(plan.after, plan.after_strides);
    visit_size(self.itemsize(), [&]<class T>() {
        const T* from = self.words<T>();
        T* to = result->words<T>();
        parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; block == 1 && r < end;) {  // one outer position at a time
                int64_t first = r % picks, n = std::min(end - r, picks - first);
                const T* source = from + outer[static_cast<size_t>(r / picks)];
                const int64_t* pick = plan.picks.data() + first;
                for (int64_t i = 0; i < n; i++) to[r + i] = source[pick[i]];
                r += n;
            }
            for (int64_t r = begin; block > 1 && r < end; r++) {
                const T* source =
                    from + outer[static_cast<size_t>(r / picks)] + plan.picks[static_cast<size_t>(r % picks)];
                T* target = to + r * block;
                if (dense)
                    copy_bytes(target, source, sizeof(T) * static_cast<size_t>(block));
                else
                    for (int64_t i = 0; i < block; i++) target[i] = source[inner[static_cast<size_t>(i)]];
            }
        });
    });
    return result;
}

// Strides of `values` seen as the result's sizes.
Dims value_strides_in(const Tensor& values, const Dims& sizes) {
    int64_t lead = sizes.size() - values.dim();
    bool fits = true;
    for (int64_t d = 0; d < values.dim() && fits; d++) {
        int64_t at = lead + d;
        fits = at < 0 ? values.size(d) == 1 : values.size(d) == sizes[at] || values.size(d) == 1;
    }
    MT_CHECK(fits, "shape mismatch: value tensor of shape ", values.sizes(),
             " cannot be broadcast to indexing result of shape ", IntSpan(sizes));
    return broadcast_strides(values, sizes.size());
}

template <class T, class Put>
void put_all(Tensor& out, const Plan& plan, const Tensor& values, const Dims& value_strides, Put put) {
    Dims outer_strides, inner_strides;
    int64_t nb = plan.before.size(), ni = plan.index.size();
    IntSpan vs(value_strides);
    std::vector<int64_t> outer = offsets_of(plan.before, plan.before_strides);
    std::vector<int64_t> outer_values = offsets_of(plan.before, IntSpan(vs.data, nb));
    std::vector<int64_t> pick_values = offsets_of(plan.index, IntSpan(vs.data + nb, ni));
    StridedWalk<2> walk(plan.after, {IntSpan(plan.after_strides), IntSpan(vs.data + nb + ni, plan.after.size())});
    T* to = out.words<T>();
    const T* from = values.words<T>();
    NoGil nogil(out.numel() > 4 * kGrain);
    for (size_t o = 0; o < outer.size(); o++) {
        for (size_t k = 0; k < plan.picks.size(); k++) {
            T* target = to + outer[o] + plan.picks[k];
            const T* source = from + outer_values[o] + pick_values[k];
            walk.run([&](const auto& at, int64_t n, const auto& steps) {
                T* t = target + at[0];
                const T* s = source + at[1];
                if (steps[0] == 1 && steps[1] == 1)
                    for (int64_t i = 0; i < n; i++) put(t[i], s[i]);
                else
                    for (int64_t i = 0; i < n; i++) put(t[i * steps[0]], s[i * steps[1]]);
            });
        }
    }
}

// One value where the mask is true.
void fill_masked(Tensor& out, const Tensor& mask, const Tensor& value) {
    StridedWalk<2> walk(out.sizes(), {out.strides(), mask.strides()});
    const uint8_t* wanted = mask.words<uint8_t>();
    visit_size(out.itemsize(), [&]<class T>() {
        T *to = out.words<T>(), one = *value.words<T>();
        walk.run_parallel([&](const auto& at, int64_t n, const auto& steps) {
            T* t = to + at[0];
            const uint8_t* m = wanted + at[1];
            if (steps[0] == 1 && steps[1] == 1)
                for (int64_t i = 0; i < n; i++) t[i] = m[i] ? one : t[i];
            else
                for (int64_t i = 0; i < n; i++)
                    if (m[i * steps[1]]) t[i * steps[0]] = one;
        });
    });
}

// Whether a mask is the only index: one element is then filled in, of whatever dtype.
bool is_one_mask(Span<Tensor*> indices) {
    int64_t given = 0;
    bool mask = false;
    for (Tensor* t : indices) {
        if (!t) continue;
        given++;
        mask = is_bool(t->dtype) || t->dtype == DType::UInt8;
    }
    return mask && given == 1;
}

// out (self, already holding its values) with `values` put or added at the indices.
void put_into(Tensor& out, Span<Tensor*> indices, const Tensor& values, bool accumulate) {
    if (out.dtype != values.dtype && values.numel() == 1 && !accumulate && is_one_mask(indices)) {
        MT_CHECK(is_complex(out.dtype) || !is_complex(values.dtype), "value cannot be converted to type ",
                 dtype_name(out.dtype), is_integer(out.dtype) ? "_t" : "", " without overflow");
        return put_into(out, indices, *contiguous(values, out.dtype), false);
    }
    if (out.dtype == values.dtype && indices.size == 1 && indices[0] && is_bool(indices[0]->dtype) &&
        indices[0]->sizes() == out.sizes() && values.numel() == 1 && !accumulate && out.dim() > 0)
        return fill_masked(out, *indices[0], values);
    Plan plan = make_plan(out, indices);
    Dims value_strides = value_strides_in(values, plan.result());
    MT_CHECK(out.dtype == values.dtype, "Index put requires the source and destination dtypes match, got ",
             dtype_class_name(out.dtype), " for the destination and ", dtype_class_name(values.dtype),
             " for the source.");
    if (numel_of(plan.result()) == 0) return;
    if (accumulate && out.dtype == DType::Complex32) {  // has no arithmetic of its own
        TensorRef sum = contiguous(out, DType::Complex64);
        put_into(*sum, indices, *contiguous(values, DType::Complex64), true);
        return copy_into(out, *sum);
    }
    if (accumulate) {
        visit(AllTypes{}, out.dtype, "index_put", [&]<class T>() {
            put_all<T>(out, plan, values, value_strides, [](T& a, const T& b) { a = num::add(a, b); });
        });
    } else {
        visit_size(out.itemsize(),
                   [&]<class T>() { put_all<T>(out, plan, values, value_strides, [](T& a, const T& b) { a = b; }); });
    }
}

void index_put_cpu(Out out, const Tensor& self, Span<Tensor*> indices, const Tensor& values, bool accumulate) {
    if (out->raw() != self.raw()) copy_into(out, self);
    put_into(out, indices, values, accumulate);
}
void index_put_impl_cpu(Out out, const Tensor& self, Span<Tensor*> indices, const Tensor& values, bool accumulate,
                        Unread unsafe) {
    index_put_cpu(out, self, indices, values, accumulate);
}

KERNELS
{
    direct<index_cpu>("index.Tensor");
    direct<index_cpu>("_unsafe_index.Tensor");
    structured<index_put_cpu>("index_put", kInputMayAlias | kWrittenApart);
    structured<index_put_impl_cpu>("_index_put_impl", kInputMayAlias | kWrittenApart);
    structured<index_put_cpu>("_unsafe_index_put", kInputMayAlias);
}

}  // namespace
}  // namespace mt
