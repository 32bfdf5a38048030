// at::parallel_for and its relatives, over the core's threads.
#pragma once

#include <mindtorch/tensor.h>

namespace at {

namespace internal {
constexpr int64_t GRAIN_SIZE = 32768;
}
inline int64_t divup(int64_t x, int64_t y) { return (x + y - 1) / y; }
inline int get_num_threads() { return mindtorch::api().num_threads(); }
inline int get_thread_num() { return mindtorch::api().thread_number(); }
inline bool in_parallel_region() { return mindtorch::api().in_parallel() != 0; }
inline void init_num_threads() {}
inline void lazy_init_num_threads() {}

// f(begin, end) over parts of the range. Python's lock is given up meanwhile; what f throws comes out here.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
    if (begin >= end) return;
    mindtorch::check(mindtorch::api().parallel_for(
        begin, end, grain_size,
        [](void* p, int64_t b, int64_t e) -> int {
            try {
                (*static_cast<const F*>(p))(b, e);
                return 0;
            } catch (...) {
                return mindtorch::report_exception();
            }
        },
        const_cast<void*>(static_cast<const void*>(&f))));
}
template <class T, class F, class Combine>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain_size, const T& identity, const F& f,
                  const Combine& combine) {
    if (begin >= end) return identity;
    const int64_t grain = grain_size > 0 ? grain_size : 1,
                  parts = std::max<int64_t>(1, std::min<int64_t>(get_num_threads(), divup(end - begin, grain)));
    const int64_t chunk = divup(end - begin, parts);
    std::vector<T> results(static_cast<size_t>(parts), identity);
    parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; i++) {
            const int64_t b = begin + i * chunk, e = std::min(end, b + chunk);
            if (b < e) results[static_cast<size_t>(i)] = f(b, e, identity);
        }
    });
    T all = identity;
    for (const T& r : results) all = combine(all, r);
    return all;
}

// PyTorch may run f on a thread of its pool. Here it has run when this returns: no order is promised there either.
template <class F>
void launch(F f) {
    f();
}

}  // namespace at
