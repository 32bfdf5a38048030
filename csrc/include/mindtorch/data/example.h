// What datasets are made of: one example, with a target or without.
#pragma once

#include <mindtorch/archive.h>
#include <mindtorch/functions.h>

#include <exception>

namespace torch {
namespace data {

namespace example {
using NoTarget = void;
}

template <class Data = at::Tensor, class Target = at::Tensor>
struct Example {
    using DataType = Data;
    using TargetType = Target;
    Example() = default;
    Example(Data d, Target t) : data(std::move(d)), target(std::move(t)) {}

    Data data;
    Target target;
};
// Data alone stands for itself.
template <class Data>
struct Example<Data, example::NoTarget> {
    using DataType = Data;
    using TargetType = example::NoTarget;
    Example() = default;
    Example(Data d) : data(std::move(d)) {}  // NOLINT
    operator Data&() { return data; }        // NOLINT
    operator const Data&() const { return data; }

    Data data;
};
using TensorExample = Example<at::Tensor, example::NoTarget>;

// What went wrong on a thread that made examples, for the thread that wanted them.
struct WorkerException : std::exception {
    explicit WorkerException(std::exception_ptr original) : original_exception(std::move(original)) {
        message = "Caught exception in DataLoader worker thread.";
        try {
            std::rethrow_exception(original_exception);
        } catch (const std::exception& e) {
            message += std::string(" Original message: ") + e.what();
        } catch (...) {  // nothing more is known of it
        }
    }
    const char* what() const noexcept override { return message.c_str(); }

    std::exception_ptr original_exception;
    std::string message;
};

}  // namespace data
}  // namespace torch

namespace mindtorch {

// Gives Python's lock up. Whoever waits for a thread of this library does: that thread may want the lock for a call.
class WithoutPython {
  public:
    WithoutPython() : held_(api().leave_python()) {}
    ~WithoutPython() {
        if (held_) api().enter_python(held_);
    }
    WithoutPython(const WithoutPython&) = delete;
    WithoutPython& operator=(const WithoutPython&) = delete;

  private:
    void* held_;
};

}  // namespace mindtorch
