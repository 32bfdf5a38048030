// CUDA C++ for the host's compiler: with this file included first, a kernel's source becomes a shared object that the
// emulated GPU loads as a module. KERNEL and SHARED mean here what base.cuh makes of them for a GPU.
//
// A thread of a block is a call of the kernel's function; where it waits for others it is left for them (block.h). What
// a source sees as threadIdx and so on is set before each thread is started, and again after it waited.
#pragma once

#define ON_CPU 1
#define __CUDA_ARCH__ 900

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "on_cpu/block.h"
#include "on_cpu/vectors.h"

#define EMULATED_EXPORT __attribute__((visibility("default")))
#define __device__
#define __host__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __constant__ static
#define __shared__ static thread_local
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

static thread_local emulated_block* emulated_now;
static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 blockDim, gridDim;
static const int warpSize = 32;

extern "C" EMULATED_EXPORT const int emulated_kernel_version;
extern "C" EMULATED_EXPORT const int emulated_kernel_version = EMULATED_KERNEL_VERSION;

template <class Args, class Body>
inline __attribute__((always_inline)) void emulated_run(const void* args, emulated_block* block, Body body) {
    emulated_now = block;
    blockIdx = {block->index[0], block->index[1], block->index[2]};
    blockDim = {block->size[0], block->size[1], block->size[2]};
    gridDim = {block->grid[0], block->grid[1], block->grid[2]};
    while (block->next < block->count) {
        emulated_place place = block->order[block->next++];
        block->current = place.linear;
        threadIdx = {place.x, place.y, place.z};
        body(*static_cast<const Args*>(args));
        block->ended[place.linear] = 1;
    }
}

#define KERNEL(name, Args)                                                          \
    static inline void name##_body(Args a);                                         \
    extern "C" EMULATED_EXPORT const unsigned name##_bytes;                         \
    extern "C" EMULATED_EXPORT const unsigned name##_bytes = sizeof(Args);          \
    extern "C" EMULATED_EXPORT void name(const void* args, emulated_block* block) { \
        emulated_run<Args>(args, block, [](const Args& a) { name##_body(a); });     \
    }                                                                               \
    static inline void name##_body([[maybe_unused]] Args a)

#define SHARED(type, name) type* name = static_cast<type*>(emulated_now->shared)

#include "on_cpu/atomics.h"
#include "on_cpu/bits.h"
#include "on_cpu/math.h"
#include "on_cpu/warp.h"
