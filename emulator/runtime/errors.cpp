// Messages, misuse, error injection, settings, and the report of what is alive.
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
    long all_calls = 0;
    std::vector<Injection> injections;
    bool parsed = false;
    std::map<std::string, long> live;
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

// "function:nth:code,...": the nth call of the function returns the code. "*" counts calls of everything.
void parse(State& s, const std::string& spec) {
    s.injections.clear();
    std::istringstream items(spec);
    std::string item;
    while (std::getline(items, item, ',')) {
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

int injected(const char* function) {
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.parsed) {
        const char* spec = std::getenv("ASCEND_EMULATOR_INJECT");
        parse(s, spec ? spec : "");
        s.parsed = true;
    }
    s.all_calls++;
    long nth = ++s.calls[function];
    for (const Injection& i : s.injections) {
        bool hit = i.function == "*" ? i.nth == s.all_calls : i.function == function && i.nth == nth;
        if (hit) return failed(i.code, text(function, ": injected error ", i.code, " (call ", nth, ")"));
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
        made.devices = static_cast<int>(number("ASCEND_EMULATOR_DEVICES", 1));
        made.memory = bytes_of(std::getenv("ASCEND_EMULATOR_MEMORY"), size_t(8) << 30);
        made.delay_us = static_cast<int>(number("ASCEND_EMULATOR_DELAY", 0));
        made.shuffle = static_cast<unsigned>(number("ASCEND_EMULATOR_SHUFFLE", 0));
        made.poison = number("ASCEND_EMULATOR_POISON", 0) != 0;
        made.strict = number("ASCEND_EMULATOR_STRICT", 0) != 0;
        return made;
    }();
    return s;
}

void count(const char* kind, int change) {
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    s.live[kind] += change;
}

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
    for (auto& [kind, n] : s.live) {
        r += emu::text(comma, emu::quoted(kind), ": ", n);
        comma = ", ";
    }
    r += emu::text("}, \"calls\": ", s.all_calls, ", \"misuses\": ", s.misuses, ", \"messages\": [");
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
    s.all_calls = 0;
}
EMU_API void emulatorForgetMisuses() {
    emu::State& s = emu::state();
    std::lock_guard<std::mutex> lock(s.mutex);
    s.misuses = 0;
    s.messages.clear();
}
EMU_API const char* aclGetRecentErrMsg() { return emu::recent_message(); }
