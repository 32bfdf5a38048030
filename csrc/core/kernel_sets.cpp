#include "kernel_sets.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace mt {
namespace {

#if defined(__aarch64__)
struct Abilities {
    bool byte_products = false, bfloat16 = false;  // sdot; bfdot, bfmmla and smmla
    int vector_bytes = 0;                          // of SVE's registers
};

#if defined(__linux__)
// The bits are the kernel's interface; headers may be older than the processor.
Abilities abilities() {
    constexpr unsigned long kAtomics = 1ul << 8, kRoundedProducts = 1ul << 12, kDotProducts = 1ul << 20,
                            kScalable = 1ul << 22, kInt8Products = 1ul << 13, kBfloat16 = 1ul << 14;
    constexpr unsigned long kSecondWord = 26;
    constexpr int kGetVectorLength = 51;
    const unsigned long first = getauxval(AT_HWCAP), second = getauxval(kSecondWord);
    Abilities found;
    found.byte_products = (first & kDotProducts) && (first & kAtomics) && (first & kRoundedProducts);
    found.bfloat16 = found.byte_products && (second & kInt8Products) && (second & kBfloat16);
    if (first & kScalable) {
        const int length = prctl(kGetVectorLength);
        if (length > 0) found.vector_bytes = length & 0xffff;
    }
    return found;
}
#elif defined(__APPLE__)
bool has(const char* name) {
    int found = 0;
    size_t size = sizeof found;
    return sysctlbyname(name, &found, &size, nullptr, 0) == 0 && found != 0;
}
Abilities abilities() {
    Abilities found;
    found.byte_products = has("hw.optional.arm.FEAT_DotProd");
    found.bfloat16 = found.byte_products && has("hw.optional.arm.FEAT_BF16") && has("hw.optional.arm.FEAT_I8MM");
    return found;
}
#else
Abilities abilities() { return {}; }
#endif
#endif

}  // namespace

std::vector<std::string> kernel_sets() {
    std::vector<std::string> order;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
        order.emplace_back("v4");
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        order.emplace_back("v3");
#elif defined(__aarch64__)
    const Abilities here = abilities();
    if (here.bfloat16 && here.vector_bytes == 32) order.emplace_back("sve256");
    if (here.bfloat16) order.emplace_back("v86");
    if (here.byte_products) order.emplace_back("v82");
#endif
    order.emplace_back("base");
    return order;
}

}  // namespace mt
