// What the processor can do: at::cpu.
#pragma once

#include <mindtorch/ivalue.h>

#include <string>
#include <unordered_map>

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace at {
namespace cpu {

inline std::unordered_map<std::string, c10::IValue> get_cpu_capabilities() {
    const auto dict =
        mindtorch::Object::steal(mindtorch::call_python("mindtorch_v2.cpu", "get_capabilities", {}).as.object);
    mt_object entries = nullptr;
    mindtorch::check(mindtorch::api().entries(dict.get(), &entries));
    const auto list = mindtorch::Object::steal(entries);
    std::unordered_map<std::string, c10::IValue> all;
    for (int64_t i = 0, n = mindtorch::api().length(list.get()); i + 1 < n; i += 2) {
        mt_value name{}, value{};
        mindtorch::check(mindtorch::api().item(list.get(), i, &name));
        mindtorch::check(mindtorch::api().item(list.get(), i + 1, &value));
        all.emplace(std::string(name.as.string, name.len), mindtorch::from<c10::IValue>(value));
    }
    return all;
}
// As torch.cpu answers.
#define MINDTORCH_PROCESSOR_HAS(name, function) \
    inline bool name() { return mindtorch::call_python("mindtorch_v2.cpu", function, {}).as.boolean != 0; }
MINDTORCH_PROCESSOR_HAS(is_avx2_supported, "_is_avx2_supported")
MINDTORCH_PROCESSOR_HAS(is_avx512_supported, "_is_avx512_supported")
MINDTORCH_PROCESSOR_HAS(is_avx512_vnni_supported, "_is_vnni_supported")
MINDTORCH_PROCESSOR_HAS(is_avx512_bf16_supported, "_is_avx512_bf16_supported")
MINDTORCH_PROCESSOR_HAS(is_amx_tile_supported, "_is_amx_tile_supported")
MINDTORCH_PROCESSOR_HAS(is_amx_fp16_supported, "_is_amx_fp16_supported")
#undef MINDTORCH_PROCESSOR_HAS
// Ask the system for the tiles' registers, which a process has not from the start; whether it may use them.
inline bool init_amx() {
#if defined(__linux__) && defined(__x86_64__)
    constexpr long request_permission = 0x1023, tile_data = 18;
    return is_amx_tile_supported() && syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    return false;
#endif
}

}  // namespace cpu
}  // namespace at
