// How a kernel compiled for the host and the emulated GPU talk with each other. Both sides include this file.
#pragma once

#define EMULATED_KERNEL_VERSION 2

// A thread's indices, and their place in the block as warps are cut from it.
struct emulated_place {
    unsigned x, y, z, linear;
};

enum emulated_operation {
    EMULATED_SYNC,
    EMULATED_SHUFFLE,
    EMULATED_BALLOT,
    EMULATED_MATCH,
    EMULATED_TOGETHER,
    EMULATED_COUNT,
    EMULATED_AND,
    EMULATED_OR,
};

// A block that runs. Its threads are started one after the other, each when the one before has ended or waits.
struct emulated_block {
    unsigned next, count;  // threads that were started, and all
    unsigned current;      // the one that runs
    unsigned index[3], size[3], grid[3];
    const emulated_place* order;  // of the threads
    unsigned char* ended;         // by a thread's place: whether it has returned
    void* shared;
    unsigned long long serial;  // which of all blocks it is
    // A thread waits until all of a warp that the mask names, or all of the block, have come; what it gets then.
    unsigned long long (*warp)(emulated_block* block, unsigned thread, int operation, unsigned mask,
                               unsigned long long value, unsigned source);
    unsigned long long (*barrier)(emulated_block* block, unsigned thread, int operation, int predicate);
    unsigned (*active)(emulated_block* block, unsigned thread);
    // What tensor cores do: when all 32 lanes have come, each with data of its own, `compute` is called with those of all.
    void (*together)(emulated_block* block, unsigned thread, const char* name, void* mine,
                     void (*compute)(void* const* lanes));
    void (*fail)(emulated_block* block, int code, const char* text);  // does not return
};
