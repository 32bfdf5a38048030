// RECORD_FUNCTION: ranges of a program that profilers take down.
#pragma once

#include <mindtorch/ivalue.h>

#include <chrono>

namespace at {

enum class RecordScope : uint8_t {
    FUNCTION = 0,
    BACKWARD_FUNCTION,
    TORCHSCRIPT_FUNCTION,
    KERNEL_FUNCTION_DTYPE,
    CUSTOM_CLASS,
    BUILD_FEATURE,
    LITE_INTERPRETER,
    USER_SCOPE,
    STATIC_RUNTIME_OP,
    STATIC_RUNTIME_MODEL,
    NUM_SCOPES
};

// While it lives, if a profiler is on: what lies between before() and its end, or that of end().
class RecordFunction {
  public:
    explicit RecordFunction(RecordScope scope = RecordScope::FUNCTION)
        : scope_(scope), active_(mindtorch::api().recorders() != 0) {}
    RecordFunction(const RecordFunction&) = delete;
    RecordFunction& operator=(const RecordFunction&) = delete;
    ~RecordFunction() { end(); }

    bool isActive() const { return active_; }
    RecordScope scope() const { return scope_; }
    const char* name() const { return name_.c_str(); }
    void before(const char* name, int64_t /*sequence*/ = -1) { begin(name); }
    void before(std::string name, int64_t /*sequence*/ = -1) { begin(std::move(name)); }
    template <class Args>
    void before(const char* name, const Args& /*inputs*/, int64_t /*sequence*/ = -1) {
        begin(name);
    }
    template <class Args>
    void before(std::string name, const Args& /*inputs*/, int64_t /*sequence*/ = -1) {
        begin(std::move(name));
    }
    void end() {
        if (!std::exchange(begun_, false)) return;
        try {
            mindtorch::call_python("mindtorch_v2.autograd._profiler_recorder", "take_range",
                                   {mindtorch::arg(std::string_view(name_)), mindtorch::arg(start_),
                                    mindtorch::arg(now()), mindtorch::arg(scope_ == RecordScope::USER_SCOPE)});
        } catch (
            const std::exception&) {  // at the end of a range that an exception leaves, there is no place for another
        }
    }

  private:
    static int64_t now() {  // as Python's perf_counter_ns
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
    void begin(std::string name) {
        if (!active_) return;
        name_ = std::move(name);
        begun_ = true;
        start_ = now();
    }
    RecordScope scope_;
    bool active_, begun_ = false;
    int64_t start_ = 0;
    std::string name_;
};

// Whether a range would be taken down.
inline bool hasCallbacks() { return mindtorch::api().recorders() != 0; }

}  // namespace at

namespace torch {
namespace autograd {
namespace profiler {
using at::RecordFunction;

// A range that a program opens, and ends by `record.end()` or with the last reference.
struct PythonRecordFunction : c10::intrusive_ptr_target {
    at::RecordFunction record;
    explicit PythonRecordFunction(at::RecordScope scope = at::RecordScope::FUNCTION) : record(scope) {}
};
inline c10::intrusive_ptr<PythonRecordFunction> record_function_enter_new(
    const std::string& name, const std::optional<std::string>& /*args*/ = std::nullopt) {
    auto made = c10::make_intrusive<PythonRecordFunction>(at::RecordScope::USER_SCOPE);
    made->record.before(name);
    return made;
}
}  // namespace profiler
}  // namespace autograd
}  // namespace torch

// Inputs are not looked at unless a profiler is on; a third argument is the number of a node of the backward pass.
#define RECORD_FUNCTION_WITH_SCOPE(scope, name, inputs, ...)                \
    at::RecordFunction C10_CONCATENATE(mindtorch_record_, __LINE__)(scope); \
    if (C10_CONCATENATE(mindtorch_record_, __LINE__).isActive())            \
    C10_CONCATENATE(mindtorch_record_, __LINE__).before(name, inputs, ##__VA_ARGS__)
#define RECORD_FUNCTION(name, inputs, ...) \
    RECORD_FUNCTION_WITH_SCOPE(at::RecordScope::FUNCTION, name, inputs, ##__VA_ARGS__)
#define RECORD_FUNCTION_WITH_INPUTS_OUTPUTS(name, inputs, outputs, ...) RECORD_FUNCTION(name, inputs, ##__VA_ARGS__)
#define RECORD_TORCHSCRIPT_FUNCTION(name, inputs) \
    RECORD_FUNCTION_WITH_SCOPE(at::RecordScope::TORCHSCRIPT_FUNCTION, name, inputs)
#define RECORD_USER_SCOPE_WITH_INPUTS(name, inputs) \
    RECORD_FUNCTION_WITH_SCOPE(at::RecordScope::USER_SCOPE, name, inputs)
#define RECORD_USER_SCOPE(name) RECORD_USER_SCOPE_WITH_INPUTS(name, std::vector<c10::IValue>{})
