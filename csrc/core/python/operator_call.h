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
    // The first result, which must be a tensor.
    TensorRef operator()(std::initializer_list<Value> given) {
        Operator* op = get();
        Value args[kMaxArgs];
        Value rets[kMaxResults];
        MT_CHECK(op->nargs <= kMaxArgs && op->nrets <= kMaxResults, name_,
                 ": too many arguments for a call from the core");
        int n = 0;
        for (const Value& v : given) args[n++] = v;
        for (; n < op->nargs; n++) args[n] = op->schema.args[static_cast<size_t>(n)].default_value;
        call_values(op, args, rets);
        if (op->nrets == 0 || rets[0].tag != Tag::Tensor) return TensorRef();
        return TensorRef::steal(rets[0].t);
    }

  private:
    static constexpr int kMaxArgs = 12, kMaxResults = 2;
    const char* name_;
    const char* overload_;
    Operator* op_ = nullptr;
};

inline Value ints_of(const Dims& d) {
    Value v;
    v.tag = Tag::IntList;
    v.ints = d.data();
    v.len = static_cast<uint32_t>(d.size());
    return v;
}

}  // namespace mt
