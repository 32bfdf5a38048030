// Shape rules that many operators share.
#include "registry.h"
#include "typed_kernel.h"

namespace mt {
namespace {

// like(a, b, ...): output i has the sizes, dtype and dense strides of argument i of the rule.
void like_rule(ShapeCall& c, Each<const Tensor*>) {
    for (int i = 0; i < c.nparams; i++) {
        const Tensor* t = c.tensor_or_null(c.param(i));
        if (t)
            c.output_like(i, *t);
        else
            c.output_none(i);
    }
}

// like_exactly(a): as like, and an out= has to be of that dtype.
void like_exactly_rule(ShapeCall& c, const Tensor& a) {
    if (c.op->form == Form::Out) {
        const DType out = c.tensor(c.op->out_index).dtype;
        MT_CHECK(out == a.dtype, "Found dtype ", dtype_class_name(out), " but expected ", dtype_class_name(a.dtype));
    }
    c.output_like(0, a);
}

// contiguous_like(a, b, ...): the same sizes and dtype, row-major.
void contiguous_like_rule(ShapeCall& c, Each<const Tensor&>) {
    for (int i = 0; i < c.nparams; i++) {
        const Tensor& t = c.tensor(c.param(i));
        c.output(i, t.sizes(), t.dtype);
    }
}

KERNELS
{
    shape<like_rule>("like");
    shape<like_exactly_rule>("like_exactly");
    shape<contiguous_like_rule>("contiguous_like");
}

}  // namespace
}  // namespace mt
