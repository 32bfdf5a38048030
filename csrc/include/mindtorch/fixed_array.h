// at::detail::Array: a list of a length that is known when the program is compiled, as kernels take them.
#pragma once

namespace at {
namespace detail {

template <class T, int size_>
struct Array {
    T data[size_];
    Array() = default;
    Array(T each) {
        for (T& one : data) one = each;
    }
    T operator[](int i) const { return data[i]; }
    T& operator[](int i) { return data[i]; }
    static constexpr int size() { return size_; }
};

}  // namespace detail
}  // namespace at
