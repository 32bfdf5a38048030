// Blocks that are made and gone with nearly every call, kept for the next one.
#pragma once

namespace mt {

// Whether blocks are kept for reuse: not where every allocation is to be seen, by a sanitizer or by what makes them
// fail (tools/faults; MINDTORCH_KEEP_MEMORY=0).
extern const bool g_keep_memory;

// Up to `most` blocks of one kind, the last given the first taken. Under the GIL.
template <class T, int most>
class Spares {
  public:
    // Null: none is there.
    T* take() { return count_ ? kept_[--count_] : nullptr; }
    // false: full, the caller frees it.
    bool give(T* block) {
        if (!g_keep_memory || count_ == most) return false;
        kept_[count_++] = block;
        return true;
    }

  private:
    T* kept_[most];
    int count_ = 0;
};

}  // namespace mt
