// A kernel's inner loop as a value: torch.compile asks kernels for their loops, and runs several over one block of
// memory while it lies in the first-level cache (cpu/fused.cpp).
//
// While a thread records, a kernel hands in its loop where it would run it, and computes nothing. So a fused operator
// gives the numbers that the operator gives by itself, and an operator needs nothing to be fused but a kernel on the
// drivers of pointwise.h and row_loop.h.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "value.h"

namespace mt {

// Works on n elements of contiguous memory: p has the outputs, then the inputs. State is what the kernel captured.
using LoopFn = void (*)(char* const* p, int64_t n, const void* state);

struct Loop {
    LoopFn run = nullptr;
    const void* state = nullptr;
    size_t bytes = 0;  // of the state, which may be copied
    Loop(LoopFn fn) : run(fn) {}
    template <class S>
    Loop(LoopFn fn, const S* s) : run(fn), state(s), bytes(std::is_empty_v<S> ? 0 : sizeof(S)) {
        static_assert(std::is_trivially_copyable_v<S>);
    }
};

// What an operand of a loop has.
enum class Reach : uint8_t {
    All,     // an element for each of the loop's
    Row,     // one element for a row
    Columns  // an element for each of a row's, the same in all rows
};

struct LoopOperand {
    const Tensor* t = nullptr;  // null: the number
    Value number;
    DType dtype = DType::Undefined;  // that the loop reads or writes
    Reach reach = Reach::All;
};

// A loop that was handed in, with a copy of its state.
struct RecordedLoop {
    LoopFn run = nullptr;
    std::unique_ptr<std::max_align_t[]> state;
    int64_t row = -1;  // elements of the rows that it works on one at a time; -1: it takes any run of elements
    int outputs = 1;
    std::vector<LoopOperand> operands;
};

class LoopRecorder {
  public:
    LoopRecorder() : thread_(std::this_thread::get_id()), before_(current_.exchange(this)) {}
    ~LoopRecorder() { current_.store(before_); }
    LoopRecorder(const LoopRecorder&) = delete;
    LoopRecorder& operator=(const LoopRecorder&) = delete;
    // The recorder of this thread, or null. Called with the GIL.
    static LoopRecorder* here() {
        LoopRecorder* r = current_.load(std::memory_order_relaxed);
        return r && r->thread_ == std::this_thread::get_id() ? r : nullptr;
    }
    void add(const Loop& loop, std::vector<LoopOperand> operands, int outputs, int64_t row = -1) {
        RecordedLoop made;
        made.run = loop.run;
        if (loop.bytes) {
            made.state.reset(new std::max_align_t[loop.bytes / sizeof(std::max_align_t) + 1]);
            std::memcpy(made.state.get(), loop.state, loop.bytes);
        }
        made.row = row;
        made.outputs = outputs;
        made.operands = std::move(operands);
        loops.push_back(std::move(made));
    }
    std::vector<RecordedLoop> loops;

  private:
    static std::atomic<LoopRecorder*> current_;
    std::thread::id thread_;
    LoopRecorder* before_;
};

}  // namespace mt
