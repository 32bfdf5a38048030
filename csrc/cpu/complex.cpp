// Complex numbers: angle and conjugate.
#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

using ComplexOnly = Types<c64, c128>;

void angle_cpu(Call& c) {
    DType t = c.tensor(0).dtype;
    if (is_complex(t)) return unary(c, ComplexOnly{}, [](auto a) { return std::arg(a); });
    unary_float(c, Floats{}, []<class T>(T a) -> T { return a != a ? a : a < 0 ? T(3.141592653589793) : T(0); });
}

void conj_physical_cpu(Call& c) {
    if (!is_complex(c.tensor(0).dtype)) return copy_into(c.out(0), c.tensor(0));
    unary(c, ComplexOnly{}, [](auto a) { return std::conj(a); });
}

KERNELS
{
    structured("angle", angle_cpu, kInputMayAlias);
    structured("conj_physical", conj_physical_cpu, kInputMayAlias);
}

}  // namespace
}  // namespace mt
