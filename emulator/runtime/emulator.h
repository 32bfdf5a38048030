// What the emulator's three libraries share: errors, device memory, streams. Not part of Ascend's interface.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../acl.h"

#define EMU_SHARED __attribute__((visibility("default")))

namespace emu {

// A value as text, for messages: what a stream would print. A stream would take the C++ library's locales along.
inline void append(std::string& text, std::string_view part) { text += part; }
inline void append(std::string& text, const char* part) { text += part ? part : "(null)"; }
template <class T>
    requires std::integral<T> || std::is_enum_v<T>
void append(std::string& text, T value) {
    if constexpr (std::is_same_v<T, char>)
        text += value;
    else
        text += std::to_string(+value);
}
EMU_SHARED void append(std::string& text, double number);
EMU_SHARED void append(std::string& text, const void* address);

// A part of a message: a value, which must outlive the statement, and how it becomes text.
class Part {
  public:
    template <class T>
    Part(const T& value) : value_(&value), append_(append_value<T>) {}
    Part(const char* text) : value_(text), append_(append_text) {}  // literals of all lengths alike
    void append_to(std::string& text) const { append_(text, value_); }

  private:
    template <class T>
    static void append_value(std::string& text, const void* value) {
        append(text, *static_cast<const T*>(value));
    }
    static void append_text(std::string& text, const void* part) { append(text, static_cast<const char*>(part)); }

    const void* value_;
    void (*append_)(std::string&, const void*);
};

// Put together out of line: messages made in each place are a third of all code.
EMU_SHARED std::string text_of(std::initializer_list<Part> parts);
template <class... A>
std::string text(const A&... parts) {
    return text_of({Part(parts)...});
}

// ---- errors ----

// Records what was done wrong as this thread's recent error message; returns the code.
EMU_SHARED int failed(int code, const std::string& message);
// The same for misuse that the real device would not report: counted, and printed once a kind.
EMU_SHARED int misused(int code, const std::string& message);
// The code that ASCEND_EMULATOR_INJECT asks this call of a function to return; 0 for none. Counts the call.
EMU_SHARED int injected(const char* function, const char* suffix = "");
EMU_SHARED const char* recent_message();  // and forgets it; null if there is none

// ---- settings, read from the environment once ----

struct Settings {
    int devices;
    size_t memory;     // bytes of each device
    int delay_us;      // before every task on a stream
    unsigned shuffle;  // seed of random delays; 0 for none
    bool poison;       // fill memory on allocation and on free
    bool strict;       // abort on misuse
    std::string soc;   // the name of the chip
    bool noop;         // operators check nothing and do nothing: what is left is the cost of calling them
};
EMU_SHARED const Settings& settings();
// Whether the chip is of the generations A2, A3 or 950, which have more operators than those before.
EMU_SHARED bool is_recent_soc();

// ---- device memory ----

// Addresses that programs see are never readable; kernels read and write the same bytes elsewhere.
EMU_SHARED char* backing(const void* device_address);
EMU_SHARED bool is_device_address(const void* p);
EMU_SHARED const void* from_backing(const void* p);  // the device address whose bytes lie there; null if none
// Empty if [p, p + n) lies in one live allocation of device memory, else what is wrong with it.
EMU_SHARED std::string range_problem(const void* p, size_t n);

// ---- streams ----

// A task returns an empty text, or what went wrong.
using Task = std::function<std::string()>;
struct Work {
    std::string name;                                    // "aclnnAdd"
    std::vector<std::pair<const void*, size_t>> memory;  // device ranges that it uses
    Task run;
    uint32_t task = 0;  // its number on its stream, from 1
};
EMU_SHARED int enqueue(aclrtStream stream, Work work);
EMU_SHARED int current_device();  // -1 without a context

// ---- counts of live objects, for leak reports ----

enum Counted {
    kTensors,
    kScalars,
    kArrays,
    kLists,
    kExecutors,
    kStreams,
    kEvents,
    kDeviceMemory,
    kHostMemory,
    kModels,
    kCountedKinds
};
EMU_SHARED void count(Counted kind, int change);

}  // namespace emu

// Opens every entry point: an injected error returns at once.
#define EMU_ENTER(function)                                    \
    do {                                                       \
        if (int code_ = emu::injected(function)) return code_; \
    } while (0)
