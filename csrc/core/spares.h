// Blocks that are made and gone with nearly every call, kept for the next one.
#pragma once

namespace mt {

#ifdef MT_CHECKED
constexpr bool kKeepSpares = false;  // the sanitizer sees who uses one after its end
#else
constexpr bool kKeepSpares = true;
#endif

// Up to `most` blocks of one kind, the last given the first taken. Under the GIL.
template <class T, int most>
class Spares {
  public:
    // Null: none is there.
    T* take() { return count_ ? kept_[--count_] : nullptr; }
    // false: full, the caller frees it.
    bool give(T* block) {
        if (!kKeepSpares || count_ == most) return false;
        kept_[count_++] = block;
        return true;
    }

  private:
    T* kept_[most];
    int count_ = 0;
};

}  // namespace mt
