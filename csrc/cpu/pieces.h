// Floats of any width read and written in pieces of a row: 16-bit ones are widened into a buffer, others used in place.
// The width is looked at once a piece, so that loops are compiled for float and double alone.
#pragma once

#include <algorithm>
#include <memory>

#include "core/typed_kernel.h"
#include "cpu/narrow.h"

namespace mt {

// The type that numbers of `t`, a float, are computed in.
inline DType wide_type(DType t) { return is_reduced_float(t) ? DType::Float32 : t; }

// Asks for n elements of a tensor, or the first of them, before they are needed: a kernel that goes over a row several
// times leaves the memory idle meanwhile, and waits for it at the next row. Addresses behind the last row do no harm.
template <bool kWritten>
inline void fetch_ahead(const char* data, DType type, int64_t at, int64_t n) {
    constexpr int64_t kFew = 512, kMany = 8192, kLine = 64;
    const int64_t size = itemsize(type), bytes = std::min(n * size, kMany);
    if (bytes < kFew) return;
    for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(data + at * size + i, kWritten);
}

// Elements of a contiguous tensor of dtype X, or for X = float of a 16-bit one.
template <class X>
class Reader {
  public:
    explicit Reader(const Tensor& t) : data_(t.raw()), type_(t.dtype) {}
    // The elements [at, at + n): themselves, or copies in `buffer`.
    const X* read(int64_t at, int64_t n, X* buffer) const {
        if constexpr (std::is_same_v<X, float>) {
            if (type_ == DType::BFloat16 || type_ == DType::Float16) {
                if (type_ == DType::BFloat16)
                    widen(reinterpret_cast<const BFloat16*>(data_) + at, buffer, n);
                else
                    widen(reinterpret_cast<const Half*>(data_) + at, buffer, n);
                return buffer;
            }
        }
        return reinterpret_cast<const X*>(data_) + at;
    }
    void fetch(int64_t at, int64_t n) const { fetch_ahead<false>(data_, type_, at, n); }

  private:
    const char* data_;
    DType type_;
};

template <class X>
class Writer {
  public:
    explicit Writer(const Tensor& t) : data_(t.raw()), type_(t.dtype) {}
    // Where to put the elements from `at` on, before done(): their places, or `buffer`.
    X* place(int64_t at, X* buffer) const {
        return is_reduced_float(type_) ? buffer : reinterpret_cast<X*>(data_) + at;
    }
    void done(int64_t at, int64_t n, const X* buffer) const {
        if constexpr (std::is_same_v<X, float>) {
            if (type_ == DType::BFloat16)
                narrow(buffer, reinterpret_cast<BFloat16*>(data_) + at, n);
            else if (type_ == DType::Float16)
                narrow(buffer, reinterpret_cast<Half*>(data_) + at, n);
        }
    }
    void fetch(int64_t at, int64_t n) const { fetch_ahead<true>(data_, type_, at, n); }

  private:
    char* data_;
    DType type_;
};

// Room for a piece of n elements of `t`; none where they are used in place.
template <class X>
std::unique_ptr<X[]> piece_buffer(const Tensor& t, int64_t n) {
    return std::unique_ptr<X[]>(is_reduced_float(t.dtype) ? new X[static_cast<size_t>(n)] : nullptr);
}

}  // namespace mt
