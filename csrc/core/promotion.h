// PyTorch's result type: tensors with dimensions decide first, then 0-dim tensors, then Python numbers; a lower group
// counts only where it is of a higher kind (bool < integer < floating < complex).
#pragma once

#include "value.h"

namespace mt {

class ResultType {
  public:
    void add(const Tensor& t) {
        if (t.is_wrapped_number())
            add_number(t.dtype);
        else if (t.ndim > 0)
            join(dimensioned_, t.dtype);
        else
            join(zero_dim_, t.dtype);
    }
    void add(const Value& v) {
        if (v.tag == Tag::Tensor)
            add(*v.t);
        else if (v.is_scalar())
            add_number(v.scalar_dtype());
    }
    DType get() const { return over(dimensioned_, over(zero_dim_, number_)); }

  private:
    static void join(DType& into, DType t) { into = into == DType::Undefined || into == t ? t : promote(into, t); }
    void add_number(DType t) {
        join(number_, mt::is_complex(t) ? to_complex(default_dtype()) : mt::is_floating(t) ? default_dtype() : t);
    }
    // What `high` becomes beside `low` of a group that yields to it.
    static DType over(DType high, DType low) {
        if (high == DType::Undefined) return low;
        if (low == DType::Undefined || high == low || mt::is_complex(high)) return high;
        if (mt::is_floating(high)) return mt::is_complex(low) ? to_complex(high) : high;
        if (high == DType::Bool || mt::is_floating(low) || mt::is_complex(low)) return promote(high, low);
        return high;
    }
    DType dimensioned_ = DType::Undefined, zero_dim_ = DType::Undefined, number_ = DType::Undefined;
};

}  // namespace mt
