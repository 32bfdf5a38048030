// Numbers beside 16-bit floats. PyTorch brings numbers and tensors without dimensions to the result's dtype before it
// computes: `x + 0.3` adds the 16-bit number next to 0.3. (Products and quotients keep the number as it is.)
#pragma once

#include "core/kernel.h"

namespace mt {

// A call with those of its arguments that are numbers or such tensors rounded to `dtype`, where that is of 16 bits.
template <size_t N>
class Rounded {
  public:
    Rounded(const Call& c, DType dtype, const int (&positions)[N]) : call(c) {
        if (!is_reduced_float(dtype)) return;
        MT_CHECK(c.nargs <= kMaxArgs, c.name(), ": too many arguments");
        std::copy(c.args, c.args + c.nargs, args_);
        for (size_t k = 0; k < N; k++) {
            Value& v = args_[positions[k]];
            if (v.is_scalar()) {
                v = Value::of(dtype == DType::BFloat16 ? static_cast<double>(v.to<BFloat16>())
                                                       : static_cast<double>(v.to<Half>()));
            } else if (v.tag == Tag::Tensor && v.t->ndim == 0 && v.t->dtype != dtype) {
                held_[k] = contiguous(*v.t, dtype);
                v = Value::of(held_[k].get());
            }
        }
        call.args = args_;
    }
    Rounded(const Rounded&) = delete;
    Rounded& operator=(const Rounded&) = delete;

    Call call;

  private:
    static constexpr int kMaxArgs = 8;
    Value args_[kMaxArgs];
    TensorRef held_[N];
};

}  // namespace mt
