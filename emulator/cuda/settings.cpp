// Settings, error codes and their names, injected faults, counts of what is alive.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "emulator.h"

namespace emu {

thread_local bool t_in_host_function = false;
std::atomic<long long> g_launches{0}, g_blocks{0};

namespace {

std::atomic<long long> g_counts[kCounted];
std::atomic<bool> g_initialised{false}, g_forked{false}, g_injecting{false};

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

size_t bytes_of(const char* text, size_t otherwise) {
    char* end = nullptr;
    double number = std::strtod(text, &end);
    if (end == text || number <= 0) return otherwise;
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    return static_cast<size_t>(number * static_cast<double>(size_t(1) << shift));
}

Settings read_settings() {
    Settings s{};
    const char* devices = variable("MINDTORCH_CUDA_EMULATED_DEVICES");
    s.devices = *devices ? std::atoi(devices) : 1;
    s.memory = bytes_of(variable("MINDTORCH_CUDA_EMULATED_MEMORY"), size_t(8) << 30);
    s.hostile = static_cast<unsigned>(std::strtoul(variable("MINDTORCH_CUDA_HOSTILE"), nullptr, 10));
    s.noop = std::atoi(variable("MINDTORCH_CUDA_NOOP")) != 0;
    s.blocking = std::atoi(variable("CUDA_LAUNCH_BLOCKING")) != 0;
    return s;
}

// One order of MINDTORCH_CUDA_FAULTS: the n-th call of a function returns a code.
struct Order {
    std::string function;
    long long call;
    int code;
    long long calls = 0;
};
struct Orders {
    std::mutex mutex;
    std::vector<Order> all;
};

// "cuMemAlloc_v2:3=2,cuLaunchKernel:10=700"
void parse_orders(const char* text, std::vector<Order>& all) {
    for (const char* p = text; *p;) {
        const char* end = std::strchr(p, ',');
        std::string one = end ? std::string(p, end) : std::string(p);
        size_t colon = one.rfind(':'), equals = one.rfind('=');
        if (colon == std::string::npos || equals == std::string::npos || equals < colon)
            std::fprintf(stderr, "MINDTORCH_CUDA_FAULTS: '%s' is not of the form function:call=code\n", one.c_str());
        else
            all.push_back(
                {one.substr(0, colon), std::atoll(one.c_str() + colon + 1), std::atoi(one.c_str() + equals + 1)});
        p += one.size() + (end ? 1 : 0);
    }
    g_injecting = !all.empty();
}

Orders& orders() {
    static Orders* made = [] {
        auto* o = new Orders;
        parse_orders(variable("MINDTORCH_CUDA_FAULTS"), o->all);
        return o;
    }();
    return *made;
}

struct Told {
    std::mutex mutex;
    std::string text;
};
Told& last_told() {
    static Told* t = new Told;
    return *t;
}

struct Name {
    int code;
    const char *name, *text;
};
// The codes that programs meet; the texts are ours, in the driver's words where programs look for them.
const Name kNames[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space"},
    {718, "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed because it included changes which violated constraints"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
const Name* name_of(int code) {
    for (const Name& n : kNames)
        if (n.code == code) return &n;
    return nullptr;
}

std::string emulated_text() {
    static const char* names[kCounted] = {"allocations", "allocated_bytes", "pinned", "pinned_bytes", "streams",
                                          "events",      "modules",         "graphs", "graph_execs"};
    std::string text = "{";
    for (int i = 0; i < kCounted; i++)
        text += '"' + std::string(names[i]) + "\": " + std::to_string(g_counts[i].load()) + ", ";
    return text + "\"launches\": " + std::to_string(g_launches.load()) +
           ", \"blocks\": " + std::to_string(g_blocks.load()) + "}";
}

void report_at_exit() {
    const char* path = variable("MINDTORCH_CUDA_REPORT");
    if (!*path) return;
    FILE* file = std::strcmp(path, "stderr") ? std::fopen(path, "a") : stderr;
    if (!file) return;
    std::fprintf(file, "%s\n", emulated_text().c_str());
    if (file != stderr) std::fclose(file);
}

}  // namespace

const Settings& settings() {
    static const Settings s = read_settings();
    return s;
}

void count(Counted kind, long long change) { g_counts[kind] += change; }

void* new_handle() {
    static std::atomic<uintptr_t> next{0x10000};
    return reinterpret_cast<void*>(next += 64);
}

bool is_sticky(int code) {
    return code == CUDA_ERROR_ECC_UNCORRECTABLE || code == CUDA_ERROR_ILLEGAL_ADDRESS || code == 702 ||
           code == CUDA_ERROR_ASSERT || (code >= CUDA_ERROR_HARDWARE_STACK_ERROR && code <= CUDA_ERROR_LAUNCH_FAILED);
}

int injected(const char* function, const char* suffix) {
    static Orders& o = orders();
    if (!g_injecting.load(std::memory_order_relaxed)) return 0;
    std::string name = std::string(function) + suffix;
    std::lock_guard<std::mutex> lock(o.mutex);
    int code = 0;
    for (Order& order : o.all)
        if (order.function == name && ++order.calls == order.call) code = order.code;
    return code;
}

int enter(const char* function, bool needs_init) {
    if (g_forked.load(std::memory_order_relaxed)) return CUDA_ERROR_NOT_INITIALIZED;
    if (needs_init && !g_initialised.load(std::memory_order_acquire)) return CUDA_ERROR_NOT_INITIALIZED;
    if (t_in_host_function) return CUDA_ERROR_NOT_PERMITTED;
    int code = injected(function);
    if (code && is_sticky(code))
        if (Device* device = current_or_null())
            device->fail({code, std::string(function) + ": injected error " + std::to_string(code)});
    return code;
}

void told(const std::string& text) {
    std::fprintf(stderr, "emulated GPU: %s\n", text.c_str());
    std::lock_guard<std::mutex> lock(last_told().mutex);
    last_told().text = text;
}

}  // namespace emu

using namespace emu;

EMULATED_API CUresult cuInit(unsigned flags) {
    if (int code = enter("cuInit", false)) return code;
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (settings().devices < 1 || devices().empty()) return CUDA_ERROR_NO_DEVICE;
    static std::once_flag once;
    std::call_once(once, [] {
        pthread_atfork(nullptr, nullptr, [] { g_forked = true; });  // a child has none of the streams' threads
        std::atexit(report_at_exit);
    });
    g_initialised = true;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDriverGetVersion(int* version) {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    if (int code = injected("cuDriverGetVersion")) return code;
    *version = 13000;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuGetErrorName(CUresult code, const char** text) {
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    const Name* n = name_of(code);
    *text = n ? n->name : nullptr;
    return n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMULATED_API CUresult cuGetErrorString(CUresult code, const char** text) {
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    const Name* n = name_of(code);
    *text = n ? n->text : nullptr;
    return n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// ---- the emulator's own entry points ----

// What is alive, and how much was launched, as JSON; valid until the thread's next call.
EMULATED_API const char* emulated_report() {
    thread_local std::string text;
    text = emulated_text();
    return text.c_str();
}

// The text of the last fault of a kernel or a copy, with the kernel's name; empty if there was none.
EMULATED_API const char* emulated_fault() {
    thread_local std::string text;
    std::lock_guard<std::mutex> lock(last_told().mutex);
    text = last_told().text;
    return text.c_str();
}

// Replaces the orders of MINDTORCH_CUDA_FAULTS; calls are counted from here.
EMULATED_API void emulated_set_faults(const char* text) {
    Orders& o = orders();
    std::lock_guard<std::mutex> lock(o.mutex);
    o.all.clear();
    parse_orders(text ? text : "", o.all);
}

// How many of the orders were carried out.
EMULATED_API int emulated_fired() {
    Orders& o = orders();
    std::lock_guard<std::mutex> lock(o.mutex);
    return static_cast<int>(
        std::count_if(o.all.begin(), o.all.end(), [](const Order& order) { return order.calls >= order.call; }));
}

EMULATED_API int emulated_injected(const char* function) { return enter(function); }
