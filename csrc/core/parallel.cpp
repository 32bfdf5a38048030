// The number of threads, and what a forked child may do with them.
#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <utility>

#include "copy_on_write.h"
#include "kernel.h"

// What OpenMP's threads wait for is told to ThreadSanitizer here, as the OpenMP library is not instrumented
// (docs/decisions/thread-sanitizer.md): whatever came before a parallel region is over before its parts begin, and its
// parts are over before what follows. They are not ordered among themselves.
#if defined(__SANITIZE_THREAD__)
#define MT_SANITIZE_THREAD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MT_SANITIZE_THREAD 1
#endif
#endif
#ifdef MT_SANITIZE_THREAD
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace mt {
namespace {
#ifdef MT_SANITIZE_THREAD
class Region {
  public:
    Region() { __tsan_release(&begins_); }
    ~Region() { __tsan_acquire(&ends_); }
    void enter() { __tsan_acquire(&begins_); }
    void leave() { __tsan_release(&ends_); }

  private:
    char begins_ = 0, ends_ = 0;
};
#define MT_NOT_INSTRUMENTED __attribute__((no_sanitize("thread")))  // nor what the compiler makes of its regions
#else
#define MT_NOT_INSTRUMENTED
struct Region {
    void enter() {}
    void leave() {}
};
#endif
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
// The body of a loop on this thread. It does not throw.
void run_body(RangeFn body, const void* f, int64_t begin, int64_t end) {
    if (!has_lazy_copies()) return body(f, begin, end);
    const bool outer = std::exchange(g_in_parallel_loop, true);
    body(f, begin, end);
    g_in_parallel_loop = outer;
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

MT_NOT_INSTRUMENTED void run_ranges(int64_t n, int64_t grain, RangeFn body, const void* f) {
    if (n <= 0) return;
    int threads = num_threads();
    if (n <= grain || threads == 1 || omp_in_parallel()) {
        NoGil g(n > 4 * grain);
        run_body(body, f, 0, n);
        return;
    }
    int64_t parts = std::min<int64_t>(threads, (n + grain - 1) / grain);
    NoGil g;
    Region region;
#pragma omp parallel num_threads(static_cast<int>(parts))
    {
        region.enter();
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        if (me > 0) refuse_signals();
        int64_t chunk = (n + team - 1) / team;
        int64_t begin = me * chunk, end = std::min(n, begin + chunk);
        if (begin < end) run_body(body, f, begin, end);
        region.leave();
    }
}
}  // namespace mt
