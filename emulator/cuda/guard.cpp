// Signals of a stream's thread while it runs a kernel or a copy become faults.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>

#include "emulator.h"

namespace emu {

thread_local std::string (*t_place)() = nullptr;

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr size_t kStack = size_t(1) << 16;

struct Guard {
    sigjmp_buf back;
    int signal = 0, kind = 0;
    uintptr_t address = 0;
    Fault fault;
};
// Read in the handler, by whatever thread: a model that calls nothing.
__attribute__((tls_model("initial-exec"))) thread_local Guard* t_guard = nullptr;

struct sigaction g_before[65];

void on_signal(int signal, siginfo_t* info, void* context) {
    if (Guard* guard = t_guard) {
        guard->signal = signal;
        guard->kind = info->si_code;
        guard->address = reinterpret_cast<uintptr_t>(info->si_addr);
        siglongjmp(guard->back, 1);
    }
    const struct sigaction& before = g_before[signal];
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
        sigaction(signal, &before, nullptr);  // it happens again, and then ends the process
    } else {
        before.sa_handler(signal);
    }
}

// Others may have put handlers of theirs there since the last time.
void install() {
    static std::mutex mutex;
    for (int signal : kSignals) {
        struct sigaction now{};
        sigaction(signal, nullptr, &now);
        if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal) continue;
        std::lock_guard<std::mutex> lock(mutex);
        sigaction(signal, nullptr, &now);
        if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal) continue;
        g_before[signal] = now;
        struct sigaction ours{};
        ours.sa_sigaction = on_signal;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(signal, &ours, nullptr);
    }
}

// The handler's own stack: that of a fiber may be what is exhausted.
struct SignalStack {
    void* memory = std::malloc(kStack);
    SignalStack() {
        stack_t s{};
        s.ss_sp = memory;
        s.ss_size = kStack;
        sigaltstack(&s, nullptr);
    }
    ~SignalStack() {
        stack_t s{};
        s.ss_flags = SS_DISABLE;
        sigaltstack(&s, nullptr);
        std::free(memory);
    }
};

}  // namespace

Fault protect(const std::string& name, const std::function<Fault()>& work) {
    static thread_local SignalStack stack;
    if (t_guard) return work();  // inside of one already
    install();
    Guard guard;
    if (sigsetjmp(guard.back, 0)) {
        t_guard = nullptr;
        std::string place = t_place ? t_place() : name;
        t_place = nullptr;
        Fault fault = guard.fault;
        if (guard.signal == SIGFPE)
            fault = {CUDA_ERROR_LAUNCH_FAILED,
                     "integer division by zero, which a GPU answers with an arbitrary number"};
        else if (guard.signal == SIGILL)
            fault = {715, "illegal instruction"};
        else if (guard.signal && guard.kind == SI_KERNEL)  // the processor refused, with no address to tell
            fault = {716, "access to an address that is not aligned as its type, or is none at all"};
        else if (guard.signal)
            fault = {CUDA_ERROR_ILLEGAL_ADDRESS, "access to " + describe_address(guard.address)};
        fault.text = place + ": " + fault.text;
        return fault;
    }
    t_guard = &guard;
    Fault fault = work();
    t_guard = nullptr;
    return fault;
}

void abandon(const Fault& fault) {
    Guard* guard = t_guard;
    guard->fault = fault;
    guard->signal = 0;
    siglongjmp(guard->back, 1);
}

}  // namespace emu
