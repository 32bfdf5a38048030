// Stacks of their own, and switching between them.
#pragma once

#include <cstddef>

namespace emu {

class Fiber {
  public:
    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    // From now on: a call of entry(data) on this stack, which must never return.
    void prepare(void (*entry)(void*), void* data);
    void enter();  // from outside, until leave()
    void leave();  // from within

    unsigned thread = 0;            // the block's thread that waits on it
    unsigned long long result = 0;  // what the thread gets for its waiting
    bool done = false;

  private:
    char *memory_ = nullptr, *top_ = nullptr;
    void* inside_ = nullptr;   // the stack pointer while it is left
    void* outside_ = nullptr;  // that of who entered it
};

}  // namespace emu
