// Numbers beside 16-bit floats. PyTorch brings numbers and tensors without dimensions to the result's dtype before it
// computes: `x + 0.3` adds the 16-bit number next to 0.3. (Products and quotients keep the number as it is.)
#pragma once

#include "core/typed_kernel.h"

namespace mt {

// Inputs with those that are numbers or such tensors rounded to `dtype`, where that is of 16 bits.
template <size_t N>
class RoundedInputs {
  public:
    RoundedInputs(DType dtype, const Input (&inputs)[N]) {
        const bool narrow = is_reduced_float(dtype);
        for (size_t k = 0; k < N; k++) {
            now_[k] = inputs[k];
            if (!narrow) continue;
            if (inputs[k].number) {
                numbers_[k] =
                    Value::of(dtype == DType::BFloat16 ? static_cast<double>(inputs[k].number->template to<BFloat16>())
                                                       : static_cast<double>(inputs[k].number->template to<Half>()));
                now_[k] = numbers_[k];
            } else if (inputs[k].t->ndim == 0 && inputs[k].t->dtype != dtype) {
                held_[k] = contiguous(*inputs[k].t, dtype);
                now_[k] = *held_[k];
            }
        }
    }
    RoundedInputs(const RoundedInputs&) = delete;
    RoundedInputs& operator=(const RoundedInputs&) = delete;
    const Input& operator[](size_t k) const { return now_[k]; }

  private:
    Input now_[N];
    Value numbers_[N];
    TensorRef held_[N];
};

}  // namespace mt
