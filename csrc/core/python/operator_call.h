// Calling an operator by name from C++: the lookup happens once, missing trailing arguments take their defaults.
#pragma once

#include <initializer_list>

#include "../registry.h"

namespace mt {

class OperatorName {
  public:
    constexpr OperatorName(const char* name, const char* overload = "") : name_(name), overload_(overload) {}
    Operator* get() {
        if (!op_) {
            op_ = Registry::get().find(name_, overload_);
            MT_CHECK_AS(NotImplemented, op_, "the operator ", name_, overload_[0] ? "." : "", overload_,
                        " is not registered");
        }
        return op_;
    }
    TensorRef operator()(std::initializer_list<Value> given) { return call_tensor(get(), given); }

  private:
    const char* name_;
    const char* overload_;
    Operator* op_ = nullptr;
};

}  // namespace mt
