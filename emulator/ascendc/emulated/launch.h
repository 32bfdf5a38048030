// What compiled AscendC kernels and the emulator's runtime say to each other, in C. Not part of Ascend's interface.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// One block of a launch, as its kernel sees it.
struct EmulatorBlock {
    uint32_t index, count;
    void* core;  // the kernel side's own state
};

struct EmulatorKernel {
    const char* name;
    const char* soc;        // what it was built for, "Ascend910B1"
    void (*run)(void*);     // one block, on a stack of its own
    void* arguments;        // owned by the launch
    void (*drop)(void*);    // destroys them
    const void** pointers;  // the arguments that are addresses of the device
    uint32_t pointer_count;
};

// Queues the blocks of a kernel on a stream; 0, or an error of the runtime.
uint32_t emulatorLaunch(const EmulatorKernel* kernel, uint32_t blocks, void* stream);
// The ranges that the next launch of this thread may touch: those of the tensors that it was given.
void emulatorAllow(const void* const* begins, const size_t* sizes, size_t count);

// For kernels, while one of their blocks runs.
EmulatorBlock* emulatorCurrentBlock();
[[noreturn]] void emulatorFault(const char* problem);  // ends the block; the stream reports the error
// The bytes of device memory [address, address + size), which a kernel may touch there. `access`: 'r' read, 'w' write,
// 'a' one step of an atomic sum.
char* emulatorGlobal(const void* address, size_t size, char access, const char* operation);
const void* emulatorBacking(const void* address);  // where a kernel finds the bytes of a device address
void emulatorSyncAll();                            // waits for the other blocks
}
