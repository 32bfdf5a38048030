// Makes one call of the process fail: the n-th of its kind after `fault_arm`. Preloaded, so that Python, libraries and
// this package all call it. Allocations are told apart by who asks for them.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

// Allocations of this package (and of libstdc++ for it), of oneDNN and OpenBLAS, of everything else; system calls, and
// reads and writes that do a part only.
// The emulators stand for drivers and devices: what they do is not made to fail.
enum Kind { kOurs, kLibraries, kOthers, kSystem, kShort, kInterpreter, kEmulator };

struct Range {
    uintptr_t begin, end;
    Kind kind;
};
Range g_ranges[64];
int g_count = 0;
std::atomic<int> g_kind{-1};  // -1: nothing fails, nothing is counted
std::atomic<long> g_left{0}, g_seen{0};
char g_own[64];
bool g_shown = false;
char* g_what = g_own;  // or memory that the process shares with the one that watches it

int note_library(dl_phdr_info* info, size_t, void*) {
    const char* name = info->dlpi_name;
    Kind kind;
    if (strstr(name, "emulator/lib64"))
        kind = kEmulator;
    else if (strstr(name, "mindtorch") || strstr(name, "/_lib/") || strstr(name, "libstdc++"))
        kind = kOurs;
    else if (strstr(name, "dnnl") || strstr(name, "openblas"))
        kind = kLibraries;
    else if (strstr(name, "libpython"))
        kind = kInterpreter;
    else
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || !(part.p_flags & PF_X) || g_count == 64) continue;
        g_ranges[g_count++] = {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz, kind};
    }
    return 0;
}

Kind asked_by(const void* caller) {
    auto at = reinterpret_cast<uintptr_t>(caller);
    for (int i = 0; i < g_count; i++)
        if (at >= g_ranges[i].begin && at < g_ranges[i].end) return g_ranges[i].kind;
    return kOthers;
}
// The interpreter's own memory for the first frame of a thread: without it CPython's Thread.start waits for ever
// (the thread ends before it says that it has begun), which no program can do anything about.
bool of_the_interpreter(const void* caller) { return asked_by(caller) == kInterpreter; }

// Whether a driver's function is being run: its caller is then not always its own (libstdc++'s strings, threads).
bool within_an_emulator() {
    bool there = false;
    for (int i = 0; i < g_count; i++) there = there || g_ranges[i].kind == kEmulator;
    if (!there) return false;
    const int kind = g_kind.exchange(-1);  // looking takes memory too
    void* frames[64];
    const int n = backtrace(frames, 64);
    g_kind = kind;
    for (int i = 0; i < n; i++)
        if (asked_by(frames[i]) == kEmulator) return true;
    return false;
}

// Counts a call; whether it is the one that fails.
bool fails(Kind kind, const char* what) {
    if (g_kind.load(std::memory_order_relaxed) != kind) return false;
    g_seen.fetch_add(1, std::memory_order_relaxed);
    if (g_left.fetch_sub(1, std::memory_order_relaxed) != 1 || within_an_emulator()) return false;
    strncpy(g_what, what, sizeof g_own - 1);
    if (g_shown) {
        g_kind = -1;
        void* frames[40];
        backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
        g_kind = kind;
    }
    return true;
}
bool memory_fails(const void* caller, const char* what) {
    const int kind = g_kind.load(std::memory_order_relaxed);
    if (kind < 0 || kind > kOthers) return false;
    const Kind by = asked_by(caller) == kInterpreter ? kOthers : asked_by(caller);
    return by == kind && fails(static_cast<Kind>(kind), what);
}

template <class F>
F next(F& known, const char* name) {
    if (!known) known = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
    return known;
}

}  // namespace

#define CALLER __builtin_return_address(0)
#define OPEN extern "C" __attribute__((visibility("default")))

OPEN void fault_arm(int kind, long at) {
    g_count = 0;
    dl_iterate_phdr(note_library, nullptr);
    g_seen = 0;
    g_left = at;
    g_what[0] = 0;
    g_kind = kind;
}
// How many calls of the kind there were.
OPEN long fault_disarm() {
    g_kind = -1;
    return g_seen;
}
// The calls that led to what fails are shown.
OPEN void fault_show() { g_shown = true; }
// Where the name of what failed is written; empty if nothing did. 64 bytes.
OPEN void fault_tell(char* room) { g_what = room; }

// ---- memory ----

OPEN void* malloc(size_t n) { return memory_fails(CALLER, "malloc") ? (errno = ENOMEM, nullptr) : __libc_malloc(n); }
OPEN void* calloc(size_t n, size_t m) {
    return memory_fails(CALLER, "calloc") ? (errno = ENOMEM, nullptr) : __libc_calloc(n, m);
}
OPEN void* realloc(void* p, size_t n) {
    return n && memory_fails(CALLER, "realloc") ? (errno = ENOMEM, nullptr) : __libc_realloc(p, n);
}
OPEN void* memalign(size_t a, size_t n) {
    return memory_fails(CALLER, "memalign") ? (errno = ENOMEM, nullptr) : __libc_memalign(a, n);
}
OPEN void* aligned_alloc(size_t a, size_t n) {
    return memory_fails(CALLER, "aligned_alloc") ? (errno = ENOMEM, nullptr) : __libc_memalign(a, n);
}
OPEN int posix_memalign(void** p, size_t a, size_t n) {
    if (memory_fails(CALLER, "posix_memalign")) return ENOMEM;
    void* made = __libc_memalign(a, n);
    if (!made) return ENOMEM;
    *p = made;
    return 0;
}
namespace {
void* take(const void* caller, size_t n, size_t align = 0) {
    if (memory_fails(caller, "operator new")) throw std::bad_alloc();
    void* p = align ? __libc_memalign(align, n) : __libc_malloc(n ? n : 1);
    if (!p) throw std::bad_alloc();
    return p;
}
void* take_or_null(const void* caller, size_t n) {
    return memory_fails(caller, "operator new(nothrow)") ? nullptr : __libc_malloc(n ? n : 1);
}
}  // namespace
void* operator new(size_t n) { return take(CALLER, n); }
void* operator new[](size_t n) { return take(CALLER, n); }
void* operator new(size_t n, std::align_val_t a) { return take(CALLER, n, size_t(a)); }
void* operator new[](size_t n, std::align_val_t a) { return take(CALLER, n, size_t(a)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return take_or_null(CALLER, n); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return take_or_null(CALLER, n); }
void operator delete(void* p) noexcept { free(p); }
void operator delete[](void* p) noexcept { free(p); }
void operator delete(void* p, size_t) noexcept { free(p); }
void operator delete[](void* p, size_t) noexcept { free(p); }
void operator delete(void* p, std::align_val_t) noexcept { free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { free(p); }

// ---- the system ----

// A call that fails with -1 and an errno.
#define FAILING(result, name, parameters, arguments, error)          \
    OPEN result name parameters {                                    \
        static result(*real) parameters = nullptr;                   \
        if (fails(kSystem, #name)) return errno = error, result(-1); \
        return next(real, #name) arguments;                          \
    }
// One that may also do a part of what was asked.
#define FAILING_OR_SHORT(name, parameters, arguments, error) \
    OPEN ssize_t name parameters {                           \
        static ssize_t(*real) parameters = nullptr;          \
        if (fails(kSystem, #name)) return errno = error, -1; \
        if (n > 1 && fails(kShort, #name)) n = (n + 1) / 2;  \
        return next(real, #name) arguments;                  \
    }

FAILING_OR_SHORT(read, (int f, void* p, size_t n), (f, p, n), EIO)
FAILING_OR_SHORT(pread, (int f, void* p, size_t n, off_t o), (f, p, n, o), EIO)
FAILING_OR_SHORT(pread64, (int f, void* p, size_t n, off64_t o), (f, p, n, o), EIO)
FAILING_OR_SHORT(write, (int f, const void* p, size_t n), (f, p, n), ENOSPC)
FAILING_OR_SHORT(pwrite, (int f, const void* p, size_t n, off_t o), (f, p, n, o), ENOSPC)
FAILING_OR_SHORT(pwrite64, (int f, const void* p, size_t n, off64_t o), (f, p, n, o), ENOSPC)
FAILING_OR_SHORT(send, (int f, const void* p, size_t n, int o), (f, p, n, o), ECONNRESET)
FAILING_OR_SHORT(recv, (int f, void* p, size_t n, int o), (f, p, n, o), ECONNRESET)
FAILING(ssize_t, writev, (int f, const iovec* v, int n), (f, v, n), ENOSPC)
FAILING(ssize_t, sendmsg, (int f, const msghdr* m, int o), (f, m, o), ECONNRESET)
FAILING(ssize_t, recvmsg, (int f, msghdr* m, int o), (f, m, o), ECONNRESET)
FAILING(ssize_t, sendfile64, (int t, int f, off64_t* o, size_t n), (t, f, o, n), EIO)
FAILING(ssize_t, copy_file_range, (int f, off64_t* o, int t, off64_t* p, size_t n, unsigned g), (f, o, t, p, n, g), EIO)
FAILING(int, fsync, (int f), (f), EIO)
FAILING(int, fdatasync, (int f), (f), EIO)
FAILING(int, ftruncate, (int f, off_t n), (f, n), ENOSPC)
FAILING(int, ftruncate64, (int f, off64_t n), (f, n), ENOSPC)
FAILING(int, fchmod, (int f, mode_t m), (f, m), EPERM)
FAILING(int, rename, (const char* a, const char* b), (a, b), EIO)
FAILING(int, link, (const char* a, const char* b), (a, b), EMLINK)
FAILING(int, linkat, (int d, const char* a, int e, const char* b, int g), (d, a, e, b, g), EIO)
FAILING(int, unlink, (const char* a), (a), EIO)
FAILING(int, mkdir, (const char* a, mode_t m), (a, m), ENOSPC)
FAILING(int, flock, (int f, int o), (f, o), ENOLCK)
FAILING(int, fstat64, (int f, struct stat64* s), (f, s), EIO)
FAILING(off64_t, lseek64, (int f, off64_t o, int w), (f, o, w), EIO)
FAILING(int, shm_open, (const char* a, int o, mode_t m), (a, o, m), EMFILE)
FAILING(pid_t, fork, (), (), EAGAIN)
FAILING(int, pipe, (int* f), (f), EMFILE)
FAILING(int, pipe2, (int* f, int o), (f, o), EMFILE)
FAILING(int, dup, (int f), (f), EMFILE)
FAILING(int, eventfd, (unsigned n, int o), (n, o), EMFILE)
FAILING(int, socket, (int d, int t, int p), (d, t, p), EMFILE)
FAILING(int, socketpair, (int d, int t, int p, int* f), (d, t, p, f), EMFILE)
FAILING(int, bind, (int f, const sockaddr* a, socklen_t n), (f, a, n), EADDRINUSE)
FAILING(int, listen, (int f, int n), (f, n), EADDRINUSE)
FAILING(int, connect, (int f, const sockaddr* a, socklen_t n), (f, a, n), ECONNREFUSED)
FAILING(int, accept4, (int f, sockaddr* a, socklen_t* n, int o), (f, a, n, o), EMFILE)
FAILING(int, setsockopt, (int f, int l, int o, const void* p, socklen_t n), (f, l, o, p, n), ENOBUFS)
FAILING(int, epoll_create1, (int o), (o), EMFILE)
FAILING(int, epoll_ctl, (int e, int o, int f, epoll_event* v), (e, o, f, v), ENOMEM)
FAILING(int, mprotect, (void* p, size_t n, int o), (p, n, o), ENOMEM)

#define OPENING(name)                                                                   \
    OPEN int name(const char* path, int flags, ...) {                                   \
        static int (*real)(const char*, int, ...) = nullptr;                            \
        va_list more;                                                                   \
        va_start(more, flags);                                                          \
        const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more);                                                                   \
        if (fails(kSystem, #name)) return errno = EMFILE, -1;                           \
        return next(real, #name)(path, flags, mode);                                    \
    }
OPENING(open)
OPENING(open64)

OPEN void* mmap(void* p, size_t n, int prot, int flags, int f, off_t o) {
    static decltype(&mmap) real = nullptr;
    if (!of_the_interpreter(CALLER) && fails(kSystem, "mmap")) return errno = ENOMEM, MAP_FAILED;
    return next(real, "mmap")(p, n, prot, flags, f, o);
}
OPEN void* mmap64(void* p, size_t n, int prot, int flags, int f, off64_t o) {
    static decltype(&mmap64) real = nullptr;
    if (!of_the_interpreter(CALLER) && fails(kSystem, "mmap64")) return errno = ENOMEM, MAP_FAILED;
    return next(real, "mmap64")(p, n, prot, flags, f, o);
}
OPEN int pthread_create(pthread_t* t, const pthread_attr_t* a, void* (*f)(void*), void* x) {
    static decltype(&pthread_create) real = nullptr;
    if (fails(kSystem, "pthread_create")) return EAGAIN;
    return next(real, "pthread_create")(t, a, f, x);
}
OPEN void* dlopen(const char* name, int flags) {
    static decltype(&dlopen) real = nullptr;
    if (fails(kSystem, "dlopen")) return nullptr;
    return next(real, "dlopen")(name, flags);
}
