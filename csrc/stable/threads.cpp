// Parallel loops, and this thread's modes.
#include "stable/abi.h"

using namespace mt::stable;

namespace {

struct Loop {
    ParallelFunc function;
    void* context;
};

int run_part(void* p, int64_t begin, int64_t end) {
    const Loop& loop = *static_cast<const Loop*>(p);
    const AOTITorchError status = guarded([&] { loop.function(begin, end, loop.context); });
    if (status != AOTI_TORCH_SUCCESS)
        core().set_error(MT_ERROR_RUNTIME, kept_text().data(), kept_text().size(), nullptr);
    return status;
}

}  // namespace

AOTITorchError torch_parallel_for(int64_t begin, int64_t end, int64_t grain_size, ParallelFunc func, void* ctx) {
    return guarded([&] {
        if (begin >= end) return;
        int64_t count;
        if (__builtin_sub_overflow(end, begin, &count))
            fail("torch_parallel_for: there are more than 2^63 numbers from ", begin, " to ", end);
        expect_pointer(reinterpret_cast<void*>(func), "the body of a parallel loop");
        Loop loop{func, ctx};
        check(core().parallel_for(begin, end, grain_size, run_part, &loop));
    });
}
AOTITorchError torch_get_num_threads(uint32_t* out) {
    return guarded(out, [&] { *out = static_cast<uint32_t>(core().num_threads()); });
}
AOTITorchError torch_get_thread_idx(uint32_t* out) {
    return guarded(out, [&] { *out = static_cast<uint32_t>(core().thread_number()); });
}
bool aoti_torch_grad_mode_is_enabled() { return core().grad_mode() != 0; }
void aoti_torch_grad_mode_set_enabled(bool enabled) { core().set_grad_mode(enabled); }
