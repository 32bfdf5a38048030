// The core's table, and what a failure leaves behind: a text of its thread.
#include <cstring>
#include <stdexcept>

#include "stable/abi.h"

namespace mt::stable {
namespace {

struct Kept {
    std::string text;
    uint64_t count = 0;
};
Kept& kept() {
    thread_local Kept k;
    return k;
}

}  // namespace

const mt_boundary& core() {
    static const mt_boundary* const table =
        mindtorch_boundary(MT_BOUNDARY_VERSION, sizeof(mt_boundary), "libtorch_cpu.so");
    if (__builtin_expect(!table, 0)) fail("libtorch_cpu.so is of a later mindtorch_v2 than libmindtorch_core.so");
    return *table;
}

void fail_with_core_error() {
    const char* text;
    size_t length;
    mt_object exception;
    core().take_error(&text, &length, &exception);
    std::string copy(text, length);
    core().release(exception);
    throw Failure(std::move(copy));
}

void keep_exception() noexcept {
    Kept& k = kept();
    try {
        k.count++;
        throw;
    } catch (const std::exception& e) {
        k.text = e.what();
    } catch (...) {
        k.text = "a C++ exception that is no std::exception";
    }
}
uint64_t failures_of_thread() noexcept { return kept().count; }
const std::string& kept_text() noexcept { return kept().text; }

}  // namespace mt::stable

using namespace mt::stable;

uint64_t aoti_torch_abi_version() { return TORCH_ABI_VERSION; }
const char* torch_exception_get_what() { return kept_text().c_str(); }
const char* torch_exception_get_what_without_backtrace() { return kept_text().c_str(); }

void aoti_torch_warn(const char* func, const char* file, uint32_t line, const char* msg) {
    if (core().warn(msg ? msg : "", "UserWarning", file ? file : "", static_cast<int>(line)) != 0)
        fail_with_core_error();  // warnings as errors
}
void aoti_torch_check(bool cond, const char* func, const char* file, uint32_t line, const char* msg) {
    if (!cond) throw std::runtime_error(msg ? msg : "a check failed, and nothing was said");
}
bool torch_is_warn_always_enabled() {
    mt_value on{};
    guarded(
        [&] { check(core().call_python("mindtorch_v2._core.warn_once", "is_warn_always_enabled", nullptr, 0, &on)); });
    return on.as.boolean;
}
