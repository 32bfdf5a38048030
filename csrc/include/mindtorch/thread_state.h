// What of a thread's state its calls depend on, for work that goes on in another: keys and the recording of gradients.
#pragma once

#include <mindtorch/keys.h>

#include <utility>

namespace at {

class ThreadLocalState {
  public:
    ThreadLocalState() : records_(c10::GradMode::is_enabled()) {}
    void set_grad_mode(bool enabled) { records_ = enabled; }
    static void setThreadLocalState(const ThreadLocalState& state) {
        mindtorch::api().set_keys_of_thread(state.keys_.included, state.keys_.excluded);
        c10::GradMode::set_enabled(state.records_);
    }

  private:
    c10::impl::LocalKeys keys_;
    bool records_;
};
// The state is this thread's for the life of this object.
class ThreadLocalStateGuard {
  public:
    explicit ThreadLocalStateGuard(const ThreadLocalState& state) { ThreadLocalState::setThreadLocalState(state); }
    ThreadLocalStateGuard(const ThreadLocalStateGuard&) = delete;
    ThreadLocalStateGuard& operator=(const ThreadLocalStateGuard&) = delete;
    ~ThreadLocalStateGuard() { ThreadLocalState::setThreadLocalState(before_); }

  private:
    const ThreadLocalState before_;
};
// A function that runs with this thread's state wherever it is called.
template <class F>
auto wrapPropagateTLSState(F function) {
    return [state = ThreadLocalState(), function = std::move(function)](auto&&... arguments) {
        const ThreadLocalStateGuard guard(state);
        return function(std::forward<decltype(arguments)>(arguments)...);
    };
}

}  // namespace at
