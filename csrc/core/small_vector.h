// A vector of trivially copyable items that lives on the stack while it is short: sizes and strides.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#ifdef MT_CHECKED
#include <stdexcept>
#endif

#include "text.h"

namespace mt {

// The sanitizers see neither an index beyond a vector's inline part nor one into memory that something else owns: their
// build checks these by itself.
inline void check_index([[maybe_unused]] int64_t i, [[maybe_unused]] int64_t n) {
#ifdef MT_CHECKED
    if (i < 0 || i >= n)
        throw std::logic_error("internal error: index " + std::to_string(i) + " of " + std::to_string(n));
#endif
}

// A view of contiguous items that somebody else owns.
template <class T>
struct Span {
    const T* data = nullptr;
    int64_t size = 0;
    Span() = default;
    Span(const T* d, int64_t n) : data(d), size(n) {}
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // an argument's list outlives the call, for which a Span is made
#endif
    Span(std::initializer_list<T> l) : data(l.begin()), size(static_cast<int64_t>(l.size())) {}
#pragma GCC diagnostic pop
    const T& operator[](int64_t i) const {
        check_index(i, size);
        return data[i];
    }
    const T* begin() const { return data; }
    const T* end() const { return data + size; }
    bool empty() const { return size == 0; }
    bool operator==(const Span& o) const {
        if (size != o.size) return false;
        for (int64_t i = 0; i < size; i++)
            if (!(data[i] == o.data[i])) return false;
        return true;
    }
};
using IntSpan = Span<int64_t>;

// As PyTorch prints a size: [2, 3]
template <class T>
void append(std::string& text, const Span<T>& v) {
    text += '[';
    for (int64_t i = 0; i < v.size; i++) {
        if (i) text += ", ";
        append(text, v[i]);
    }
    text += ']';
}

template <class T, int N>
class SmallVector {
  public:
    SmallVector() = default;
    explicit SmallVector(int64_t n, T fill = T()) { resize(n, fill); }
    SmallVector(Span<T> s) { assign(s); }
    SmallVector(std::initializer_list<T> l) { assign(Span<T>(l.begin(), static_cast<int64_t>(l.size()))); }
    SmallVector(const SmallVector& o) { assign(o); }
    SmallVector& operator=(const SmallVector& o) {
        if (this != &o) assign(o);
        return *this;
    }
    ~SmallVector() {
        if (data_ != inline_) std::free(data_);
    }
    void assign(Span<T> s) {
        reserve(s.size);
        if (s.size) std::memcpy(static_cast<void*>(data_), s.data, sizeof(T) * static_cast<size_t>(s.size));
        size_ = s.size;
    }
    void reserve(int64_t n) {
        if (n <= capacity_) return;
        int64_t want = n > capacity_ * 2 ? n : capacity_ * 2;
        T* p = static_cast<T*>(std::malloc(sizeof(T) * static_cast<size_t>(want)));
        if (!p) throw std::bad_alloc();
        std::memcpy(static_cast<void*>(p), data_, sizeof(T) * static_cast<size_t>(size_));
        if (data_ != inline_) std::free(data_);
        data_ = p;
        capacity_ = want;
    }
    void resize(int64_t n, T fill = T()) {
        reserve(n);
        for (int64_t i = size_; i < n; i++) data_[i] = fill;
        size_ = n;
    }
    void push_back(T v) {
        reserve(size_ + 1);
        data_[size_++] = v;
    }
    void pop_back() { size_--; }
    void insert(int64_t at, T v) {
        push_back(v);
        for (int64_t i = size_ - 1; i > at; i--) data_[i] = data_[i - 1];
        data_[at] = v;
    }
    void erase(int64_t at) {
        for (int64_t i = at; i + 1 < size_; i++) data_[i] = data_[i + 1];
        size_--;
    }
    T& operator[](int64_t i) {
        check_index(i, size_);
        return data_[i];
    }
    const T& operator[](int64_t i) const {
        check_index(i, size_);
        return data_[i];
    }
    T& back() { return data_[size_ - 1]; }
    int64_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    void clear() { size_ = 0; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    operator Span<T>() const { return Span<T>(data_, size_); }

  private:
    T* data_ = inline_;
    int64_t size_ = 0;
    int64_t capacity_ = N;
    T inline_[N];
};
using Dims = SmallVector<int64_t, 6>;

}  // namespace mt
