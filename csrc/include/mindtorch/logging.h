// LOG, CHECK and their relatives, to the standard error stream. TORCH_CPP_LOG_LEVEL says from which level on: WARNING.
#pragma once

#include <mindtorch/api.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <set>
#include <vector>

namespace c10 {
enum class LogLevel : int { INFO, WARNING, ERROR, FATAL };
}  // namespace c10

namespace mindtorch MINDTORCH_HIDDEN {

inline c10::LogLevel& log_threshold() {
    static c10::LogLevel level = [] {
        const char* given = std::getenv("TORCH_CPP_LOG_LEVEL");
        const char* const names[] = {"INFO", "WARNING", "ERROR", "FATAL"};
        for (int i = 0; given && i < 4; i++)
            if (std::strcmp(given, names[i]) == 0 || (given[0] == '0' + i && !given[1]))
                return static_cast<c10::LogLevel>(i);
        return c10::LogLevel::WARNING;
    }();
    return level;
}

// One line of the log, written when it ends. FATAL ends the program, as with PyTorch.
class LogLine {
  public:
    LogLine(const char* file, int line, c10::LogLevel level) : level_(level) {
        const char* base = std::strrchr(file, '/');
        text_ << '[' << "IWEF"[static_cast<int>(level)] << ' ' << (base ? base + 1 : file) << ':' << line << "] ";
    }
    LogLine(const LogLine&) = delete;
    ~LogLine() {
        if (level_ >= log_threshold()) std::cerr << text_.str() << std::endl;
        if (level_ == c10::LogLevel::FATAL) std::abort();
    }
    std::ostream& stream() { return text_; }

  private:
    std::ostringstream text_;
    c10::LogLevel level_;
};
// Binds looser than << and tighter than ?:
struct LogEnd {
    void operator&(std::ostream&) {}
};

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace mindtorch MINDTORCH_HIDDEN {
// At most a hundred, as a log wants them.
template <class List>
std::ostream& print_all(std::ostream& out, const List& list) {
    int count = 0;
    for (const auto& one : list) {
        if (count == 100) return out << " ...";
        out << (count++ ? " " : "") << one;
    }
    return out;
}
}  // namespace mindtorch MINDTORCH_HIDDEN

// The standard library's lists, as a program that logs prints them.
namespace std {
template <class A, class B>
std::ostream& operator<<(std::ostream& out, const pair<A, B>& both) {
    return out << '(' << both.first << ", " << both.second << ')';
}
template <class... T>
std::ostream& operator<<(std::ostream& out, const vector<T...>& list) {
    return mindtorch::print_all(out, list);
}
template <class... T>
std::ostream& operator<<(std::ostream& out, const set<T...>& list) {
    return mindtorch::print_all(out, list);
}
template <class... T>
std::ostream& operator<<(std::ostream& out, const map<T...>& list) {
    return mindtorch::print_all(out, list);
}
}  // namespace std

namespace c10 {
inline void ShowLogInfoToStderr() { mindtorch::log_threshold() = LogLevel::INFO; }
inline bool InitCaffeLogging(int*, char**) { return true; }
}  // namespace c10

#define MINDTORCH_LOG_LINE(level) ::mindtorch::LogLine(__FILE__, __LINE__, ::c10::LogLevel::level).stream()
#ifndef LOG
#define LOG(level) MINDTORCH_LOG_LINE(level)
#define LOG_IF(level, condition) !(condition) ? static_cast<void>(0) : ::mindtorch::LogEnd() & MINDTORCH_LOG_LINE(level)
#define VLOG(n) LOG_IF(INFO, false)
#define VLOG_IF(n, condition) LOG_IF(INFO, false)
#define VLOG_IS_ON(n) false
#define DLOG(level) LOG(level)
#define LOG_EVERY_N(level, n) LOG(level)
#endif
#ifndef CHECK
#define CHECK(condition) LOG_IF(FATAL, !(condition)) << "Check failed: " #condition " "
#ifdef NDEBUG
#define DCHECK(condition) CHECK(true || (condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif
#endif
