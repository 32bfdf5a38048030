// What threads share, by c10's names.
#pragma once

#include <mutex>
#include <utility>

namespace c10 {

using once_flag = std::once_flag;
using std::call_once;

// A value that is reached under its lock only.
template <class T>
class Synchronized final {
  public:
    Synchronized() = default;
    Synchronized(const T& value) : value_(value) {}        // NOLINT
    Synchronized(T&& value) : value_(std::move(value)) {}  // NOLINT
    Synchronized(const Synchronized&) = delete;
    Synchronized& operator=(const Synchronized&) = delete;
    template <class F>
    auto withLock(F&& f) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return f(value_);
    }
    template <class F>
    auto withLock(F&& f) const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return f(value_);
    }

  private:
    mutable std::mutex mutex_;
    T value_;
};

}  // namespace c10
