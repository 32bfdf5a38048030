// torch::headeronly: types and lists that need no library at all.
#pragma once

#include <mindtorch/accessor.h>
#include <mindtorch/stable/check.h>

#include <initializer_list>
#include <vector>

// Each library has its own: none may take another one's, made with other headers.
#pragma GCC visibility push(hidden)

namespace torch::headeronly {

using c10::BFloat16;
using c10::bits16;
using c10::bits1x8;
using c10::bits2x4;
using c10::bits4x2;
using c10::bits8;
using c10::complex;
using c10::CppTypeToScalarType;
using c10::DeviceType;
using c10::Float4_e2m1fn_x2;
using c10::Float8_e4m3fn;
using c10::Float8_e4m3fnuz;
using c10::Float8_e5m2;
using c10::Float8_e5m2fnuz;
using c10::Float8_e8m0fnu;
using c10::Half;
using c10::kBFloat16;
using c10::kBool;
using c10::kByte;
using c10::kChar;
using c10::kCPU;
using c10::kCUDA;
using c10::kDouble;
using c10::kFloat;
using c10::kHalf;
using c10::kInt;
using c10::kLong;
using c10::kMeta;
using c10::kPrivateUse1;
using c10::kShort;
using c10::Layout;
using c10::MemoryFormat;
using c10::qint32;
using c10::qint8;
using c10::quint2x4;
using c10::quint4x2;
using c10::quint8;
using c10::ScalarType;
using c10::toString;
namespace impl {
using c10::impl::ScalarTypeToCPPType;
using c10::impl::ScalarTypeToCPPTypeT;
}  // namespace impl

// A view of a list that somebody else keeps.
template <class T>
class HeaderOnlyArrayRef {
  public:
    using value_type = T;
    using iterator = const T*;
    using const_iterator = const T*;
    using size_type = size_t;

    constexpr HeaderOnlyArrayRef() = default;
    constexpr HeaderOnlyArrayRef(const T& one) : data_(&one), size_(1) {}
    constexpr HeaderOnlyArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
    constexpr HeaderOnlyArrayRef(const T* begin, const T* end)
        : data_(begin), size_(static_cast<size_t>(end - begin)) {}
    template <class A>
    HeaderOnlyArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> keeps no list of bool");
    }
    template <size_t N>
    constexpr HeaderOnlyArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
    template <size_t N>
    constexpr HeaderOnlyArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
    constexpr HeaderOnlyArrayRef(const std::initializer_list<T>& list)
        : data_(list.begin() == list.end() ? nullptr : list.begin()), size_(list.size()) {}
    template <class C,
              class = std::enable_if_t<std::is_same_v<std::remove_const_t<decltype(std::declval<C>().data())>, T*> ||
                                       std::is_same_v<decltype(std::declval<C>().data()), const T*>>,
              class = decltype(std::declval<C>().begin())>
    constexpr HeaderOnlyArrayRef(const C& c) : data_(c.data()), size_(c.size()) {}

    constexpr const T* begin() const { return data_; }
    constexpr const T* end() const { return data_ + size_; }
    constexpr const T* cbegin() const { return data_; }
    constexpr const T* cend() const { return data_ + size_; }
    constexpr const T* data() const { return data_; }
    constexpr size_t size() const { return size_; }
    constexpr bool empty() const { return size_ == 0; }
    constexpr const T& operator[](size_t i) const { return data_[i]; }
    const T& at(size_t i) const {
        STD_TORCH_CHECK(i < size_, "HeaderOnlyArrayRef: index ", i, " is out of range, the list has ", size_, " items");
        return data_[i];
    }
    const T& front() const {
        STD_TORCH_CHECK(!empty(), "HeaderOnlyArrayRef: front() of an empty list");
        return data_[0];
    }
    const T& back() const {
        STD_TORCH_CHECK(!empty(), "HeaderOnlyArrayRef: back() of an empty list");
        return data_[size_ - 1];
    }
    HeaderOnlyArrayRef slice(size_t from, size_t n) const {
        STD_TORCH_CHECK(from + n <= size_, "HeaderOnlyArrayRef: slice(", from, ", ", n, ") of a list of ", size_);
        return {data_ + from, n};
    }
    HeaderOnlyArrayRef slice(size_t from) const { return slice(from, size_ - from); }
    std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
    bool equals(HeaderOnlyArrayRef o) const { return size_ == o.size_ && std::equal(begin(), end(), o.begin()); }

  private:
    const T* data_ = nullptr;
    size_t size_ = 0;
};
template <class T>
bool operator==(HeaderOnlyArrayRef<T> a, HeaderOnlyArrayRef<T> b) {
    return a.equals(b);
}
template <class T>
bool operator!=(HeaderOnlyArrayRef<T> a, HeaderOnlyArrayRef<T> b) {
    return !a.equals(b);
}
using IntHeaderOnlyArrayRef = HeaderOnlyArrayRef<int64_t>;

template <class T, size_t N, template <class> class Traits = at::DefaultPtrTraits, class Index = int64_t>
using HeaderOnlyTensorAccessor = at::TensorAccessor<T, N, Traits, Index>;
template <class T, size_t N, template <class> class Traits = at::DefaultPtrTraits, class Index = int64_t>
using HeaderOnlyGenericPackedTensorAccessor = at::GenericPackedTensorAccessor<T, N, Traits, Index>;

}  // namespace torch::headeronly

#pragma GCC visibility pop

namespace c10 {
using torch::headeronly::HeaderOnlyArrayRef;
}
