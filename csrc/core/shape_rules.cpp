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
    shape<contiguous_like_rule>("contiguous_like");
}

}  // namespace
}  // namespace mt
