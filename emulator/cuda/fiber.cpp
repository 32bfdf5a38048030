#include "fiber.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

// emulated_switch(save, load): keeps the registers that a function must keep on the stack, stores the stack's pointer
// at *save, goes on with the stack at `load`. A new stack looks as if it had been left like that, from emulated_start,
// which calls the function that one of the kept registers names with what another one holds.
extern "C" void emulated_switch(void** save, void* load);
extern "C" void emulated_start();

#if defined(__x86_64__)
asm(R"(
    .text
    .globl emulated_switch
    .hidden emulated_switch
    .type emulated_switch, @function
emulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emulated_switch, .-emulated_switch
    .globl emulated_start
    .hidden emulated_start
    .type emulated_start, @function
emulated_start:
    movq %r12, %rdi
    call *%r13
    ud2
    .size emulated_start, .-emulated_start
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl emulated_switch
    .hidden emulated_switch
    .type emulated_switch, %function
emulated_switch:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size emulated_switch, .-emulated_switch
    .globl emulated_start
    .hidden emulated_start
    .type emulated_start, %function
emulated_start:
    mov x0, x19
    blr x20
    brk #1
    .size emulated_start, .-emulated_start
)");
#else
#error "the emulated GPU switches stacks on x86-64 and aarch64 only"
#endif

namespace emu {
namespace {

// The used ends of stacks are staggered: at equal distances they would compete for the same lines of the caches.
constexpr size_t kStack = size_t(1) << 17, kGuard = 4096, kStagger = 448, kMostStagger = size_t(1) << 15;

}  // namespace

Fiber::Fiber() {
    void* p = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(p);
    mprotect(memory_, kGuard, PROT_NONE);
    static std::atomic<size_t> made{0};
    top_ = memory_ + kStack - made++ * kStagger % kMostStagger / 64 * 64;
}

Fiber::~Fiber() { munmap(memory_, kStack); }

void Fiber::prepare(void (*entry)(void*), void* data) {
    done = false;
    void** top = reinterpret_cast<void**>(top_);
#if defined(__x86_64__)
    // As popped: r15 r14 r13 r12 rbx rbp, then the place to return to. The stack is aligned to 16 bytes where
    // emulated_start calls.
    void** sp = top - 9;
    sp[0] = sp[1] = sp[4] = sp[5] = nullptr;
    sp[2] = reinterpret_cast<void*>(entry);
    sp[3] = data;
    sp[6] = reinterpret_cast<void*>(emulated_start);
    sp[7] = sp[8] = nullptr;
#else
    void** sp = top - 20;
    for (int i = 0; i < 20; i++) sp[i] = nullptr;
    sp[0] = data;
    sp[1] = reinterpret_cast<void*>(entry);
    sp[11] = reinterpret_cast<void*>(emulated_start);
#endif
    inside_ = sp;
}

void Fiber::enter() { emulated_switch(&outside_, inside_); }
void Fiber::leave() { emulated_switch(&inside_, outside_); }

}  // namespace emu
