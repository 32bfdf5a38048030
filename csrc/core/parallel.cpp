// The number of threads, and what a forked child may do with them.
#include <pthread.h>

#include <atomic>

#include "kernel.h"

namespace mt {
namespace {
std::atomic<int> g_threads{0};
// GNU OpenMP's pool does not survive fork: a child that enters a parallel region hangs. It works on one thread instead.
void in_child() { g_threads.store(1); }
int initial_threads() {
    pthread_atfork(nullptr, nullptr, in_child);
    return omp_get_max_threads();
}
}  // namespace

int num_threads() {
    int n = g_threads.load(std::memory_order_relaxed);
    if (n == 0) {
        n = initial_threads();
        g_threads.store(n);
    }
    return n;
}
void set_num_threads(int n) {
    num_threads();
    g_threads.store(n);
}
}  // namespace mt
