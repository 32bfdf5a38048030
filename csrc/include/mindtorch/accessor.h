// Elements of a tensor by index, without a check: a pointer with sizes and strides.
#pragma once

#include <mindtorch/types.h>

namespace at {

template <class T>
struct DefaultPtrTraits {
    using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
    using PtrType = T* __restrict;
};

template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class TensorAccessor {
  public:
    using PtrType = typename Traits<T>::PtrType;
    TensorAccessor(T* data, const Index* sizes, const Index* strides) : data_(data), sizes_(sizes), strides_(strides) {}
    c10::ArrayRef<Index> sizes() const { return c10::ArrayRef<Index>(sizes_, N); }
    c10::ArrayRef<Index> strides() const { return c10::ArrayRef<Index>(strides_, N); }
    Index size(Index i) const { return sizes_[i]; }
    Index stride(Index i) const { return strides_[i]; }
    T* data() const { return data_; }
    decltype(auto) operator[](Index i) const {
        if constexpr (N == 1) {
            return element(i);
        } else {
            return TensorAccessor<T, N - 1, Traits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
        }
    }

  private:
    T& element(Index i) const { return data_[strides_[0] * i]; }
    T* data_;
    const Index* sizes_;
    const Index* strides_;
};

// The same with sizes and strides of its own.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class GenericPackedTensorAccessor {
  public:
    using PtrType = typename Traits<T>::PtrType;
    GenericPackedTensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data) {
        for (size_t i = 0; i < N; i++) {
            sizes_[i] = static_cast<Index>(sizes[i]);
            strides_[i] = static_cast<Index>(strides[i]);
        }
    }
    Index size(Index i) const { return sizes_[i]; }
    Index stride(Index i) const { return strides_[i]; }
    T* data() const { return data_; }
    decltype(auto) operator[](Index i) const { return TensorAccessor<T, N, Traits, Index>(data_, sizes_, strides_)[i]; }
    // With two dimensions exchanged.
    GenericPackedTensorAccessor transpose(Index a, Index b) const {
        TORCH_CHECK_INDEX(0 <= a && a < static_cast<Index>(N) && 0 <= b && b < static_cast<Index>(N),
                          "Index out of range: dimensions ", a, " and ", b, " of ", N);
        GenericPackedTensorAccessor r = *this;
        std::swap(r.sizes_[a], r.sizes_[b]);
        std::swap(r.strides_[a], r.strides_[b]);
        return r;
    }

  private:
    T* data_;
    Index sizes_[N], strides_[N];
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;

}  // namespace at
