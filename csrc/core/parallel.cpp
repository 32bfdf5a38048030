// The number of threads, and what a forked child may do with them.
#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>

#include "kernel.h"

namespace mt {
namespace {
std::atomic<int> g_threads{0};
// GNU OpenMP's pool does not survive fork: a child that enters a parallel region hangs. It works on one thread instead.
void in_child() { g_threads.store(1); }
// A worker takes no signals: Python looks after them on its main thread, and oneDNN's products do not survive one.
void refuse_signals() {
    thread_local bool refused = false;
    if (refused) return;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    refused = true;
}
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

void run_ranges(int64_t n, int64_t grain, RangeFn body, const void* f) {
    if (n <= 0) return;
    int threads = num_threads();
    if (n <= grain || threads == 1 || omp_in_parallel()) {
        NoGil g(n > 4 * grain);
        body(f, 0, n);
        return;
    }
    int64_t parts = std::min<int64_t>(threads, (n + grain - 1) / grain);
    NoGil g;
#pragma omp parallel num_threads(static_cast<int>(parts))
    {
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        if (me > 0) refuse_signals();
        int64_t chunk = (n + team - 1) / team;
        int64_t begin = me * chunk, end = std::min(n, begin + chunk);
        if (begin < end) body(f, begin, end);
    }
}
}  // namespace mt
