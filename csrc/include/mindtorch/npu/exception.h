// Checks of CANN's codes, and the marks of torch_npu's errors, by its names.
#pragma once

#include <mindtorch/npu/stream.h>

#include <string>

enum class SubModule { PTA = 0, OPS = 1, DIST = 2, GRAPH = 3, PROF = 4 };
enum class ErrCode {
    SUC = 0,
    PARAM = 1,
    TYPE = 2,
    VALUE = 3,
    PTR = 4,
    INTERNAL = 5,
    MEMORY = 6,
    NOT_SUPPORT = 7,
    NOT_FOUND = 8,
    UNAVAIL = 9,
    SYSCALL = 10,
    TIMEOUT = 11,
    PERMISSION = 12,
    ACL = 100,
    HCCL = 200,
    GE = 300
};
namespace mindtorch {
namespace npu MINDTORCH_HIDDEN {
inline std::string error_mark(SubModule module, ErrCode code) {
    static const char* const names[] = {"PTA", "OPS", "DIST", "GRAPH", "PROF"};
    std::string number = std::to_string(static_cast<int>(code));
    number.insert(0, number.size() < 3 ? 3 - number.size() : 0, '0');
    return c10::str("\n[ERROR] ERR0", static_cast<int>(module), number, " ", names[static_cast<int>(module)], " error");
}
}  // namespace npu MINDTORCH_HIDDEN
}  // namespace mindtorch
#define PTA_ERROR(code) ::mindtorch::npu::error_mark(SubModule::PTA, code)
#define OPS_ERROR(code) ::mindtorch::npu::error_mark(SubModule::OPS, code)
#define DIST_ERROR(code) ::mindtorch::npu::error_mark(SubModule::DIST, code)
#define GRAPH_ERROR(code) ::mindtorch::npu::error_mark(SubModule::GRAPH, code)
#define PROF_ERROR(code) ::mindtorch::npu::error_mark(SubModule::PROF, code)

// Raise torch.npu.NPUError where a call of CANN's gives a code.
#define NPU_CHECK_ERROR(call, ...)                                              \
    do {                                                                        \
        if (const int64_t code = static_cast<int64_t>(call))                    \
            ::mindtorch::npu::enqueued(#call, c10_npu::current_device(), code); \
    } while (0)
#define NPU_CHECK_ERROR_WITHOUT_UCE(call, ...) NPU_CHECK_ERROR(call)
#define NPU_CHECK_WARN(call)                                                                        \
    do {                                                                                            \
        if (const int64_t code = static_cast<int64_t>(call)) TORCH_WARN(#call, " returned ", code); \
    } while (0)
#define NPU_CHECK_SUPPORTED_OR_ERROR(call, ...) NPU_CHECK_ERROR(call)
