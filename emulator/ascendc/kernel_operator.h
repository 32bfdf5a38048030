// AscendC for the emulator: kernels compile with an ordinary C++20 compiler, and run block by block on the host. Names
// and behaviour are AscendC's as far as docs/npu.md says; this is an implementation of its own.
#pragma once

#include "emulated/reduce.h"
