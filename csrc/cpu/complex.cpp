// Complex numbers: angle and conjugate.
#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

using ComplexOnly = Types<c64, c128>;

void angle_cpu(Out out, const Tensor& self) {
    DType t = self.dtype;
    if (is_complex(t)) return unary(out, ComplexOnly{}, self, [](auto a) { return std::arg(a); });
    unary_float(out, Floats{}, self, []<class T>(T a) -> T {
        return a != a ? a : a < 0 ? T(3.141592653589793) : T(0);
    });
}

void conj_physical_cpu(Out out, const Tensor& self) {
    if (!is_complex(self.dtype)) return copy_into(out, self);
    unary(out, ComplexOnly{}, self, [](auto a) { return std::conj(a); });
}

KERNELS
{
    structured<angle_cpu>("angle", kInputMayAlias);
    structured<conj_physical_cpu>("_conj_physical", kInputMayAlias);
}

}  // namespace
}  // namespace mt
