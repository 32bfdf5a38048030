// Sorting along a dimension, and what is picked by rank: topk, kthvalue, median, mode.
#include "cpu/sort_keys.h"

namespace mt {
namespace {

// The tensor with `dim` moved last, contiguous: rows of n.
struct SortRows {
    TensorRef x;
    int64_t rows = 1, n = 1;
};
SortRows rows_along(const Tensor& self, int64_t dim) {
    SortRows r;
    Dims sizes, strides;
    for (int64_t d = 0; d < self.ndim; d++) {
        if (d == dim) continue;
        sizes.push_back(self.size(d));
        strides.push_back(self.stride(d));
        r.rows *= self.size(d);
    }
    if (self.ndim > 0) {
        sizes.push_back(self.size(dim));
        strides.push_back(self.stride(dim));
        r.n = self.size(dim);
    }
    r.x = contiguous(*as_strided(self, sizes, strides, self.offset));
    return r;
}

// Writes rows of `width` back into an output whose `dim` may lie anywhere.
class RowsOut {
  public:
    RowsOut(Tensor& out, int64_t dim) : out_(out) {
        Dims sizes, strides;
        for (int64_t d = 0; d < out.ndim; d++)
            if (d != dim) {
                sizes.push_back(out.size(d));
                strides.push_back(out.stride(d));
            }
        if (out.ndim > 0) {
            sizes.push_back(out.size(dim));
            strides.push_back(out.stride(dim));
        }
        view_ = as_strided(out, sizes, strides, out.offset);
        rows_ = view_->is_contiguous() ? view_ : empty(sizes, out.dtype);
    }
    char* data() { return rows_->raw(); }
    void finish() {
        if (rows_.get() != view_.get()) copy_into(*view_, *rows_);
    }

  private:
    Tensor& out_;
    TensorRef view_, rows_;
};

void gather_row(const char* from, char* to, int64_t size, const int64_t* index, int64_t n) {
    visit_size(size, [&]<class B>() {
        const B* f = reinterpret_cast<const B*>(from);
        B* t = reinterpret_cast<B*>(to);
        for (int64_t i = 0; i < n; i++) t[i] = f[index[i]];
    });
}

// load(row, n, keys) makes the keys of a row, all of them or those that matter; pick(keys, spare, n, index) orders them
// and writes `width` positions.
template <class Load, class Pick>
void load_and_pick_rows(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices, int64_t out_dim,
                        int64_t width, const Load& load, const Pick& pick) {
    SortRows v = rows_along(self, dim);
    RowsOut value(values, out_dim), index(indices, out_dim);
    int64_t size = self.itemsize();
    if (v.rows > 0 && v.n > 0)
        with_key(self.dtype, [&]<class Key>() {
            MT_CHECK(v.n < int64_t(1) << 32, "sort: rows of 2^32 elements and more are not supported");
            parallel_for(v.rows, grain_for(8 * v.n), [&](int64_t b, int64_t e) {
                std::vector<Key> keys(static_cast<size_t>(v.n)), spare(static_cast<size_t>(v.n));
                for (int64_t r = b; r < e; r++) {
                    const char* row = v.x->raw() + r * v.n * size;
                    load(row, v.n, keys.data());
                    int64_t* at = reinterpret_cast<int64_t*>(index.data()) + r * width;
                    pick(keys.data(), spare.data(), v.n, at);
                    gather_row(row, value.data() + r * width * size, size, at, width);
                }
            });
        });
    value.finish();
    index.finish();
}

template <class Pick>
void pick_rows(const Tensor& self, int64_t dim, bool descending, Tensor& values, Tensor& indices, int64_t out_dim,
               int64_t width, const Pick& pick) {
    auto load = [&](const char* row, int64_t n, auto* keys) { load_keys(row, self.dtype, n, descending, keys); };
    load_and_pick_rows(self, dim, values, indices, out_dim, width, load, pick);
}

// ---- sort ----

// Words: self, dim.
void sort_shape(ShapeCall& c, const Tensor& self, int64_t dim) {
    wrap_dim(dim, self.ndim);
    MT_CHECK(!is_complex(self.dtype), " Sort does not support complex dtypes on CPU");
    c.output_like(0, self);
    Dims strides = preserved_strides(self.sizes(), self.strides());
    c.output_strided(1, self.sizes(), strides, DType::Int64);
}

template <class Key>
bool less_by_value(const Key& a, const Key& b) {
    return a.key() < b.key();
}
template <class Key>
bool has_equal_neighbours(const Key* keys, int64_t n) {
    return std::adjacent_find(keys, keys + n, [](auto& a, auto& b) { return a.key() == b.key(); }) != keys + n;
}

// Sorted keys in the order in which PyTorch leaves equal ones where it was not asked for a stable order: that of
// std::sort, positions aside. (For the four types of 32 and 64 bits it takes instructions of the processor, and the
// order depends on that; here it is the stable one.)
template <class Key>
void order_equal_keys(Key* keys, Key* spare, int64_t n) {
    if (!has_equal_neighbours(keys, n)) return;
    for (int64_t i = 0; i < n; i++) spare[keys[i].position()] = keys[i];
    std::sort(spare, spare + n, less_by_value<Key>);
    std::copy(spare, spare + n, keys);
}

void sort_into(Out out, const Tensor& self, int64_t dim, bool descending, bool stable) {
    dim = wrap_dim(dim, self.ndim);
    int64_t n = self.ndim ? self.size(dim) : 1;
    const bool ordered = stable || self.itemsize() >= 4;
    pick_rows(self, dim, descending, out[0], out[1], dim, n, [=](auto* keys, auto* spare, int64_t n, int64_t* at) {
        sort_keys(keys, spare, n);
        if (!ordered) order_equal_keys(keys, spare, n);
        for (int64_t i = 0; i < n; i++) at[i] = keys[i].position();
    });
}
void sort_cpu(Out out, const Tensor& self, int64_t dim, bool descending) {
    sort_into(out, self, dim, descending, false);
}
void sort_stable_cpu(Out out, const Tensor& self, std::optional<bool> stable, int64_t dim, bool descending) {
    sort_into(out, self, dim, descending, stable.value_or(false));
}

// ---- topk(self, k, dim, largest, sorted) ----

void topk_shape(ShapeCall& c, const Tensor& self, int64_t k, int64_t given_dim) {
    int64_t dim = wrap_dim(given_dim, self.ndim);
    MT_CHECK(k >= 0 && k <= (self.ndim ? self.size(dim) : 1), "selected index k out of range");
    MT_CHECK_AS(NotImplemented, !is_complex(self.dtype) && !is_wide_unsigned(self.dtype),
                "\"topk_cpu\" not implemented for '", dtype_class_name(self.dtype), "'");
    Dims sizes(self.sizes());
    if (self.ndim) sizes[dim] = k;
    c.output(0, sizes, self.dtype);
    c.output(1, sizes, DType::Int64);
}

// Whether no key of a block satisfies `test`: looked at all at once, without a branch for each.
template <class Word, size_t N, class Test>
bool none_of(const Word (&keys)[N], const Test& test) {
    Word any = 0;
    for (Word key : keys) any |= Word(test(key));
    return !any;
}

// The k least of a row's n keys, in any order. Most are no candidates, which is seen for a block of them at once.
// Whether a key that was left out equals one that was not.
template <class Key>
bool load_least(const char* row, DType dtype, int64_t n, bool descending, int64_t k, Key* keys) {
    constexpr int64_t kBlock = 32;
    bool tied = false;
    with_key_at<Key>(row, dtype, descending, [=, &tied](const auto& key_at) {
        using Word = decltype(key_at(0));
        const int64_t room = std::max(4 * k, kBlock);
        int64_t kept = std::min(n, room), scanned = kept;
        for (int64_t i = 0; i < kept; i++) keys[i] = Key::of(key_at(i), static_cast<uint64_t>(i));
        Word limit = 0;
        auto keep_least = [&] {
            std::nth_element(keys, keys + k - 1, keys + kept);
            const Word now = static_cast<Word>(keys[k - 1].key());
            tied = tied && now == limit;
            for (int64_t i = k; i < kept; i++) tied |= keys[i].key() == now;
            limit = now;
            kept = std::min(kept, k);
        };
        keep_least();
        while (scanned < n) {
            const int64_t count = std::min(n - scanned, kBlock), first = scanned;
            Word block[kBlock];
            for (int64_t j = 0; j < count; j++) block[j] = key_at(first + j);
            scanned += count;
            if (count == kBlock && none_of(block, [limit](Word key) { return key <= limit; })) continue;
            for (int64_t j = 0; j < count; j++) {
                tied |= block[j] == limit;
                if (block[j] >= limit) continue;
                keys[kept++] = Key::of(block[j], static_cast<uint64_t>(first + j));
                if (kept == room) keep_least();
            }
        }
        keep_least();
    });
    return tied;
}

// The first k of a row's n keys and, in their order, those that were among the k least when they came:
// std::partial_sort leaves all others where they are, so that it does the same to these alone. How many they are.
template <class Key>
int64_t load_candidates(const char* row, DType dtype, int64_t n, bool descending, int64_t k, Key* keys) {
    constexpr int64_t kBlock = 64;
    int64_t kept = k;
    with_key_at<Key>(row, dtype, descending, [=, &kept](const auto& key_at) {
        using Word = decltype(key_at(0));
        std::vector<Word> least(static_cast<size_t>(k));  // a heap, the greatest of them on top
        for (int64_t i = 0; i < k; i++) {
            least[static_cast<size_t>(i)] = key_at(i);
            keys[i] = Key::of(key_at(i), static_cast<uint64_t>(i));
        }
        std::make_heap(least.begin(), least.end());
        auto look_at = [&](Word key, int64_t i) {
            if (key >= least.front()) return;
            std::pop_heap(least.begin(), least.end());
            least.back() = key;
            std::push_heap(least.begin(), least.end());
            keys[kept++] = Key::of(key, static_cast<uint64_t>(i));
        };
        int64_t i = k;
        for (; i + kBlock <= n; i += kBlock) {
            Word block[kBlock];
            for (int64_t j = 0; j < kBlock; j++) block[j] = key_at(i + j);
            if (none_of(block, [top = least.front()](Word key) { return key < top; })) continue;
            for (int64_t j = 0; j < kBlock; j++) look_at(block[j], i + j);
        }
        for (; i < n; i++) look_at(key_at(i), i);
    });
    return kept;
}

// The k least of n keys to the front. Which of equal ones, and in which order, is left to the algorithms, positions
// aside: these are the ones that PyTorch calls, so that it is the same.
template <class Key>
void select_least(Key* keys, int64_t n, int64_t k, bool sorted) {
    std::nth_element(keys, keys + k - 1, keys + n, less_by_value<Key>);
    if (sorted) std::sort(keys, keys + k - 1, less_by_value<Key>);
}

void topk_cpu(Out out, const Tensor& self, int64_t k, int64_t given_dim, bool descending, bool sorted) {
    const int64_t dim = wrap_dim(given_dim, self.ndim), size = self.ndim ? self.size(dim) : 1;
    if (k == 0) return;
    load_and_pick_rows(
        self, dim, out[0], out[1], dim, k,
        [&](const char* row, int64_t n, auto* keys) {
            if (k * 64 <= n) {
                const int64_t kept = load_candidates(row, self.dtype, n, descending, k, keys);
                return std::partial_sort(keys, keys + k, keys + kept, less_by_value<std::decay_t<decltype(*keys)>>);
            }
            if (sorted && k * 8 < size) {
                const bool tied = load_least(row, self.dtype, n, descending, k, keys);
                std::sort(keys, keys + k);
                if (!tied && !has_equal_neighbours(keys, k)) return;
            }
            load_keys(row, self.dtype, n, descending, keys);
            select_least(keys, n, k, sorted);
        },
        [&](auto* keys, auto*, int64_t, int64_t* at) {
            for (int64_t i = 0; i < k; i++) at[i] = keys[i].position();
        });
}

// ---- kthvalue(self, k, dim, keepdim), median(self, dim, keepdim), mode(self, dim, keepdim) ----

void check_rank_dim(ShapeCall& c, const Tensor& self, int64_t dim) {
    MT_CHECK_INDEX(self.ndim == 0 || self.size(dim) != 0, c.name(), "(): Expected reduction dim ", dim,
                   " to have non-zero size.");
}
// Words: self, dim, keepdim, k.
void ranked_shape(ShapeCall& c, const Tensor& self, int64_t given_dim, bool keepdim, std::optional<int64_t> k) {
    int64_t dim = wrap_dim(given_dim, self.ndim);
    check_rank_dim(c, self, dim);
    MT_CHECK_AS(NotImplemented,
                !is_complex(self.dtype) && !is_wide_unsigned(self.dtype) &&
                    (!is_bool(self.dtype) || std::string_view(c.name()) == "mode"),
                "\"", c.name(), "_cpu\" not implemented for '", dtype_class_name(self.dtype), "'");
    MT_CHECK(!k || (*k >= 1 && *k <= (self.ndim ? self.size(dim) : 1)),
             "kthvalue(): selected number k out of range for dimension ", dim);
    Dims sizes;
    for (int64_t d = 0; d < self.ndim; d++)
        if (d != dim)
            sizes.push_back(self.size(d));
        else if (keepdim)
            sizes.push_back(1);
    c.output(0, sizes, self.dtype);
    c.output(1, sizes, DType::Int64);
}

// One position a row; the outputs are contiguous, so their dimension does not matter.
template <class Pick>
void pick_one(Out out, const Tensor& self, int64_t dim, const Pick& pick) {
    if (out[0].numel() == 0) return;
    TensorRef value = empty(Dims{out[0].numel(), 1}, self.dtype), index = empty(Dims{out[0].numel(), 1}, DType::Int64);
    pick_rows(self, wrap_dim(dim, self.ndim), false, *value, *index, 1, 1, pick);
    std::memcpy(out[0].raw(), value->raw(), static_cast<size_t>(value->numel() * value->itemsize()));
    std::memcpy(out[1].raw(), index->raw(), static_cast<size_t>(index->numel() * 8));
}

template <class Key>
bool is_nan_key(const Key& k) {
    return k.key() == (sizeof(Key) == 16 ? kNanKey64 : kNanKey32);
}

// Position of the median: NaN if there is one, or of the numbers alone. int64's largest value shares a key with NaN,
// so only floating types look for it.
template <class Key>
int64_t median_position(Key* keys, int64_t n, bool floating, bool ignore_nan) {
    int64_t numbers = n;
    if (floating) {
        Key* end = std::stable_partition(keys, keys + n, [](const Key& k) { return !is_nan_key(k); });
        numbers = end - keys;
        if (numbers < n && (!ignore_nan || numbers == 0)) return end->position();
    }
    Key* middle = keys + (numbers - 1) / 2;
    std::nth_element(keys, middle, keys + numbers);
    return middle->position();
}

// Quickselect by the median of the first, the middle and the last, positions aside: which of equal values comes to
// stand at `k` is what PyTorch's gives.
template <class Key>
void select_among_equals(Key* keys, int64_t n, int64_t k) {
    auto above = [&](int64_t a, int64_t b) { return keys[a].key() > keys[b].key(); };
    auto swap_if_above = [&](int64_t a, int64_t b) {
        if (above(a, b)) std::swap(keys[a], keys[b]);
    };
    int64_t low = 0, high = n - 1;
    while (high > low) {
        if (high == low + 1) return swap_if_above(low, high);
        std::swap(keys[(low + high) / 2], keys[low + 1]);
        swap_if_above(low + 1, high);
        swap_if_above(low, high);
        swap_if_above(low + 1, low);
        int64_t i = low + 1, j = high;
        for (;;) {
            do i++;
            while (above(low, i));
            do j--;
            while (above(j, low));
            if (j < i) break;
            std::swap(keys[i], keys[j]);
        }
        std::swap(keys[low], keys[j]);
        if (j <= k) low = i;
        if (j >= k) high = j - 1;
    }
}

void kthvalue_cpu(Out out, const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
    pick_one(out, self, dim, [k](auto* keys, auto*, int64_t n, int64_t* at) {
        select_among_equals(keys, n, k - 1);
        *at = keys[k - 1].position();
    });
}

template <bool kIgnoreNan>
void median_dim_cpu(Out out, const Tensor& self, int64_t dim, bool keepdim) {
    bool floating = is_floating(self.dtype);
    pick_one(out, self, dim, [floating](auto* keys, auto*, int64_t n, int64_t* at) {
        *at = median_position(keys, n, floating, kIgnoreNan);
    });
}

// The most frequent value, the smallest of equals; the position of the occurrence that std::sort, positions aside, puts
// last, as PyTorch's.
void mode_cpu(Out out, const Tensor& self, int64_t dim, bool keepdim) {
    pick_one(out, self, dim, [](auto* keys, auto*, int64_t n, int64_t* at) {
        std::sort(keys, keys + n, less_by_value<std::remove_pointer_t<decltype(keys)>>);
        int64_t best = 0;
        for (int64_t i = 0; i < n;) {
            int64_t j = i + 1;
            while (j < n && keys[j].key() == keys[i].key()) j++;
            if (j - i > best) {
                best = j - i;
                *at = keys[j - 1].position();
            }
            i = j;
        }
    });
}

// median(self), nanmedian(self): of all elements; NaN for none.
void median_shape(ShapeCall& c, const Tensor& self) {
    MT_CHECK_AS(NotImplemented, !is_complex(self.dtype) && !is_bool(self.dtype) && !is_wide_unsigned(self.dtype),
                "\"median_cpu\" not implemented for '", dtype_class_name(self.dtype), "'");
    c.output(0, IntSpan(), self.dtype);
}
template <bool kIgnoreNan>
void median_cpu(Out out, const Tensor& self) {
    TensorRef x = contiguous(self);
    int64_t n = x->numel();
    if (n == 0) return fill(out, Value::of(is_floating(x->dtype) ? std::numeric_limits<double>::quiet_NaN() : 0.0));
    with_key(x->dtype, [&]<class Key>() {
        std::vector<Key> keys(static_cast<size_t>(n));
        load_keys(x->raw(), x->dtype, n, false, keys.data());
        int64_t at = median_position(keys.data(), n, is_floating(x->dtype), kIgnoreNan), size = x->itemsize();
        std::memcpy(out->raw(), x->raw() + at * size, static_cast<size_t>(size));
    });
}

}  // namespace

KERNELS
{
    shape<sort_shape>("sort");
    shape<topk_shape>("topk");
    shape<ranked_shape>("ranked");
    shape<median_shape>("median");
    structured<sort_cpu>("sort");
    structured<sort_stable_cpu>("sort.stable");
    structured<topk_cpu>("topk");
    structured<kthvalue_cpu>("kthvalue", kContiguousOutputs);
    structured<median_cpu<false>>("median", kContiguousOutputs);
    structured<median_cpu<true>>("nanmedian", kContiguousOutputs);
    structured<median_dim_cpu<false>>("median.dim", kContiguousOutputs);
    structured<median_dim_cpu<true>>("nanmedian.dim", kContiguousOutputs);
    structured<mode_cpu>("mode", kContiguousOutputs);
}

}  // namespace mt
