// How the checks of this folder say what they expect: an exception that names the line where it is not so.
#pragma once

#include <string>

#define EXPECT(condition) TORCH_CHECK(condition, "line ", __LINE__, ": ", #condition)
#define EXPECT_THROW(expression, Kind, part)                                             \
    do {                                                                                 \
        bool thrown = false;                                                             \
        try {                                                                            \
            (void)(expression);                                                          \
        } catch (const Kind& e) {                                                        \
            thrown = true;                                                               \
            EXPECT(std::string(e.what()).find(part) != std::string::npos);               \
        }                                                                                \
        TORCH_CHECK(thrown, "line ", __LINE__, ": nothing was thrown by ", #expression); \
    } while (false)

namespace {

// What `f` throws says; "" where it throws nothing.
template <class F>
[[maybe_unused]] std::string error_of(F&& f) {
    try {
        f();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

[[maybe_unused]] bool said(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace
