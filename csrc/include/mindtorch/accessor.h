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

// What accessors of any number of dimensions have; programs derive their own from it.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class TensorAccessorBase {
  public:
    using PtrType = typename Traits<T>::PtrType;
    TensorAccessorBase(PtrType data, const Index* sizes, const Index* strides)
        : data_(data), sizes_(sizes), strides_(strides) {}
    c10::ArrayRef<Index> sizes() const { return c10::ArrayRef<Index>(sizes_, N); }
    c10::ArrayRef<Index> strides() const { return c10::ArrayRef<Index>(strides_, N); }
    Index size(Index i) const { return sizes_[i]; }
    Index stride(Index i) const { return strides_[i]; }
    PtrType data() const { return data_; }

  protected:
    PtrType data_;
    const Index* sizes_;
    const Index* strides_;
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class TensorAccessor : public TensorAccessorBase<T, N, Traits, Index> {
  public:
    using TensorAccessorBase<T, N, Traits, Index>::TensorAccessorBase;
    decltype(auto) operator[](Index i) const {
        if constexpr (N == 1) {
            return element(i);
        } else {
            return TensorAccessor<T, N - 1, Traits, Index>(this->data_ + this->strides_[0] * i, this->sizes_ + 1,
                                                           this->strides_ + 1);
        }
    }

  private:
    T& element(Index i) const { return this->data_[this->strides_[0] * i]; }
};

// The same with sizes and strides of its own.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class GenericPackedTensorAccessorBase {
  public:
    using PtrType = typename Traits<T>::PtrType;
    template <class Given>
    GenericPackedTensorAccessorBase(PtrType data, const Given* sizes, const Given* strides) : data_(data) {
        for (size_t i = 0; i < N; i++) {
            sizes_[i] = static_cast<Index>(sizes[i]);
            strides_[i] = static_cast<Index>(strides[i]);
        }
    }
    Index size(Index i) const { return sizes_[i]; }
    Index stride(Index i) const { return strides_[i]; }
    PtrType data() const { return data_; }

  protected:
    PtrType data_;
    Index sizes_[N], strides_[N];
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class GenericPackedTensorAccessor : public GenericPackedTensorAccessorBase<T, N, Traits, Index> {
  public:
    using GenericPackedTensorAccessorBase<T, N, Traits, Index>::GenericPackedTensorAccessorBase;
    decltype(auto) operator[](Index i) const {
        return TensorAccessor<T, N, Traits, Index>(this->data_, this->sizes_, this->strides_)[i];
    }
    // With two dimensions exchanged.
    GenericPackedTensorAccessor transpose(Index a, Index b) const {
        TORCH_CHECK_INDEX(0 <= a && a < static_cast<Index>(N) && 0 <= b && b < static_cast<Index>(N),
                          "Index out of range: dimensions ", a, " and ", b, " of ", N);
        GenericPackedTensorAccessor r = *this;
        std::swap(r.sizes_[a], r.sizes_[b]);
        std::swap(r.strides_[a], r.strides_[b]);
        return r;
    }
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, Index>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;

}  // namespace at
