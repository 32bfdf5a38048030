// Whether this thread runs the parts of an operator, or of a gradient. Modes see those as calls from C++: a product
// with a number is mul.Scalar there, and nobody says where a new tensor is to be.
#pragma once

namespace mt {

inline thread_local bool g_composing = false;

// Within its life calls are a program's own again: what users wrote is run on the way back.
class ProgramsOwn {
    bool before_ = g_composing;

  public:
    ProgramsOwn() { g_composing = false; }
    ~ProgramsOwn() { g_composing = before_; }
    ProgramsOwn(const ProgramsOwn&) = delete;
    ProgramsOwn& operator=(const ProgramsOwn&) = delete;
};

}  // namespace mt
