// Values as text, for messages: what a stream would print. Not by a stream: one takes the C++ library's locales along,
// which a wheel's libraries, each with its own C++ library, would then hold once each.
//
// It needs nothing but the C++ library. A type has another overload of append() beside it, where a call finds it.
#pragma once

#include <clocale>
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

namespace mt {

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
inline void append(std::string& text, double number) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", number);
    std::string digits = buffer;
    const std::string_view point = std::localeconv()->decimal_point;  // as setlocale() may have changed it
    if (const size_t at = digits.find(point); at != std::string::npos) digits.replace(at, point.size(), ".");
    text += digits;
}
inline void append(std::string& text, const void* address) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%#zx", reinterpret_cast<size_t>(address));
    text += buffer;
}

}  // namespace mt
