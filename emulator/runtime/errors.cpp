// Messages, misuse, error injection, settings, and the report of what is alive.
#include <algorithm>
#include <atomic>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "emulator.h"

namespace emu {
namespace {

thread_local std::string t_message, t_handed_out;
thread_local bool t_has_message = false;

struct Injection {
    std::string function;
    long nth;
    int code;
};

struct State {
    std::mutex mutex;
    std::map<std::string, long> calls;
    std::vector<Injection> injections;
    bool parsed = false;
    long misuses = 0;
    std::vector<std::string> messages;
    std::set<std::string> printed;
    std::string report;
};
State& state() {
    static State* s = new State;  // outlives static destruction: streams may still run
    return *s;
}

size_t bytes_of(const char* s, size_t otherwise) {
    if (!s || !*s) return otherwise;
    char* end = nullptr;
    double v = std::strtod(s, &end);
    switch (end ? *end : 0) {
        case 'K':
        case 'k':
            v *= 1 << 10;
            break;
        case 'M':
        case 'm':
            v *= 1 << 20;
            break;
        case 'G':
        case 'g':
            v *= 1 << 30;
            break;
        default:
            break;
    }
    return v > 0 ? static_cast<size_t>(v) : otherwise;
}

long number(const char* name, long otherwise) {
    const char* s = std::getenv(name);
    return s && *s ? std::strtol(s, nullptr, 10) : otherwise;
}

// What stands between the commas of a list.
std::vector<std::string> parts_of(const std::string& list) {
    std::vector<std::string> parts;
    for (size_t from = 0; from <= list.size();) {
        const size_t comma = std::min(list.find(',', from), list.size());
        parts.push_back(list.substr(from, comma - from));
        from = comma + 1;
    }
    return parts;
}

// How many of the devices ASCEND_RT_VISIBLE_DEVICES names, up to the first that there is not; all without it.
int visible(int devices) {
    const char* named = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
    if (!named || !*named) return devices;
    int count = 0;
    for (const std::string& item : parts_of(named)) {
        char* end = nullptr;
        const long id = std::strtol(item.c_str(), &end, 10);
        if (item.empty() || *end || id < 0 || id >= devices) break;
        count++;
    }
    return count;
}

// "function:nth:code,...": the nth call of the function returns the code. "*" counts calls of everything.
void parse(State& s, const std::string& spec) {
    s.injections.clear();
    for (const std::string& item : parts_of(spec)) {
        size_t last = item.rfind(':'), middle = last == std::string::npos ? last : item.rfind(':', last - 1);
        if (middle == std::string::npos) {
            if (!item.empty())
                std::fprintf(stderr, "[emulator] ASCEND_EMULATOR_INJECT: '%s' is not function:nth:code\n",
                             item.c_str());
            continue;
        }
        s.injections.push_back({item.substr(0, middle), std::atol(item.substr(middle + 1).c_str()),
                                std::atoi(item.substr(last + 1).c_str())});
    }
}

}  // namespace

std::string text_of(std::initializer_list<Part> parts) {
    std::string text;
    for (const Part& part : parts) part.append_to(text);
    return text;
}
void append(std::string& text, double number) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", number);
    std::string digits = buffer;
    const std::string_view point = std::localeconv()->decimal_point;  // as setlocale() may have changed it
    if (const size_t at = digits.find(point); at != std::string::npos) digits.replace(at, point.size(), ".");
    text += digits;
}
void append(std::string& text, const void* address) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%#zx", reinterpret_cast<size_t>(address));
    text += buffer;
}

int failed(int code, const std::string& message) {
    t_message = message;
    t_has_message = true;
    return code;
}

int misused(int code, const std::string& message) {
    State& s = state();
    bool print;
    {
        std::lock_guard<std::mutex> lock(s.mutex);
        s.misuses++;
        if (s.messages.size() < 100) s.messages.push_back(message);
        print = s.printed.insert(message.substr(0, message.find(' '))).second;
    }
    if (print || settings().strict) std::fprintf(stderr, "[emulator] %s\n", message.c_str());
    if (settings().strict) std::abort();
    return failed(code, message);
}

std::atomic<long> g_calls{0};
std::atomic<bool> g_injecting{true};  // until the environment was looked at

int injected(const char* function, const char* suffix) {
    long number = ++g_calls;
    if (!g_injecting.load(std::memory_order_relaxed)) return 0;
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.parsed) {
        const char* spec = std::getenv("ASCEND_EMULATOR_INJECT");
        parse(s, spec ? spec : "");
        s.parsed = true;
    }
    g_injecting = !s.injections.empty();
    std::string name = std::string(function) + suffix;
    long nth = ++s.calls[name];
    for (const Injection& i : s.injections) {
        bool hit = i.function == "*" ? i.nth == number : i.function == name && i.nth == nth;
        if (hit) return failed(i.code, text(name, ": injected error ", i.code, " (call ", nth, ")"));
    }
    return 0;
}

const char* recent_message() {
    if (!t_has_message) return nullptr;
    t_handed_out = t_message;
    t_has_message = false;
    return t_handed_out.c_str();
}

const Settings& settings() {
    static const Settings s = [] {
        Settings made;
        made.devices = visible(static_cast<int>(number("ASCEND_EMULATOR_DEVICES", 1)));
        made.memory = bytes_of(std::getenv("ASCEND_EMULATOR_MEMORY"), size_t(8) << 30);
        made.delay_us = static_cast<int>(number("ASCEND_EMULATOR_DELAY", 0));
        made.shuffle = static_cast<unsigned>(number("ASCEND_EMULATOR_SHUFFLE", 0));
        made.poison = number("ASCEND_EMULATOR_POISON", 0) != 0;
        made.strict = number("ASCEND_EMULATOR_STRICT", 0) != 0;
        const char* soc = std::getenv("ASCEND_EMULATOR_SOC");
        made.soc = soc && *soc ? soc : "Ascend910B1";
        made.noop = number("ASCEND_EMULATOR_NOOP", 0) != 0;
        return made;
    }();
    return s;
}

bool is_recent_soc() {
    const std::string& soc = settings().soc;
    for (const char* family : {"Ascend910B", "Ascend910_", "Ascend950"})
        if (soc.rfind(family, 0) == 0) return true;
    return false;
}

namespace {
std::atomic<long> g_live[kCountedKinds];
const char* const kCountedNames[kCountedKinds] = {"tensors", "scalars", "arrays",        "lists",       "executors",
                                                  "streams", "events",  "device memory", "host memory", "models"};
}  // namespace
void count(Counted kind, int change) { g_live[kind] += change; }

namespace {
std::string quoted(const std::string& s) {
    std::string r = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\') r += '\\';
        r += c == '\n' ? ' ' : c;
    }
    return r + "\"";
}
}  // namespace
}  // namespace emu

// ---- extensions, for tests: no such functions exist in CANN ----

// JSON: {"live": {kind: n}, "calls": n, "misuses": n, "messages": [...]}. Valid until the next call.
EMU_API const char* emulatorReport() {
    emu::State& s = emu::state();
    std::lock_guard<std::mutex> lock(s.mutex);
    std::string r = "{\"live\": {";
    const char* comma = "";
    for (int kind = 0; kind < emu::kCountedKinds; kind++) {
        r += emu::text(comma, emu::quoted(emu::kCountedNames[kind]), ": ", emu::g_live[kind].load());
        comma = ", ";
    }
    r += emu::text("}, \"calls\": ", emu::g_calls.load(), ", \"misuses\": ", s.misuses, ", \"messages\": [");
    comma = "";
    for (const std::string& m : s.messages) {
        r += comma + emu::quoted(m);
        comma = ", ";
    }
    s.report = r + "]}";
    return s.report.c_str();
}
// Replaces ASCEND_EMULATOR_INJECT and starts counting calls anew.
EMU_API void emulatorInject(const char* spec) {
    emu::State& s = emu::state();
    std::lock_guard<std::mutex> lock(s.mutex);
    emu::parse(s, spec ? spec : "");
    s.parsed = true;
    s.calls.clear();
    emu::g_calls = 0;
    emu::g_injecting = true;
}
EMU_API void emulatorForgetMisuses() {
    emu::State& s = emu::state();
    std::lock_guard<std::mutex> lock(s.mutex);
    s.misuses = 0;
    s.messages.clear();
}
EMU_API const char* aclGetRecentErrMsg() { return emu::recent_message(); }
