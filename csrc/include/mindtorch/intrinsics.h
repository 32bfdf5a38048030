// The processor's own vector functions, which programs of at::vec expect beside it.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif
