// Special functions without branches, so that g++ makes vector code of a loop over them: computed in double, whatever
// the dtype, within a few units of its last digit.
#pragma once

#include <type_traits>

#include "special_math.h"
#include "vecmath.h"

namespace mt::vec {

template <size_t N>
MT_INLINE double polynomial(const double (&c)[N], double x) {
    double sum = c[N - 1];
#pragma GCC unroll 32
    for (size_t i = N - 1; i > 0; i--) sum = fma(sum, x, c[i - 1]);
    return sum;
}

// ---- e^(x^2) erfc(x) ----

// Times 1 + 2x for x from 0, as a polynomial in (x - 4) / (x + 4): Chebyshev's interpolation at 24 places of values
// with 60 digits, within 1e-16.
constexpr double kErfcx[] = {
    1.232995118625552543,     -0.1396211168405624874,     0.01537965210261016195,     0.06809705425468620783,
    -0.1010390660358529367,   0.09373283499865172095,     -0.06633036582050367062,    0.0371675155318431963,
    -0.01619773397992425837,  0.005031970032548695012,    -0.00075777371418388841,    -0.00019925700412184814,
    0.0001506231178516206954, -0.00002439811794207995095, -0.00001122514035444965691, 5.707239573693257427e-6,
    2.980596055322768856e-7,  -8.218020654813044798e-7,   7.111912428010423483e-8,    1.068344292674458649e-7,
    -1.635738398212476799e-8, -1.254482540385551874e-8,   1.571215363831906372e-9,    9.655408225482863737e-10};

MT_INLINE double erfcx(double x) {
    const double a = __builtin_fabs(x), tail = polynomial(kErfcx, (a - 4) / (a + 4)) / 2 / (0.5 + a);
    const double square = x * x, left = fma(x, x, -square), whole = 2 * exp(square) * (1 + left);
    const double made = x < -26.7 ? special::kInf : x < 0 ? whole - tail : a == special::kInf ? 0 : tail;
    return x != x ? x : made;
}
// The logarithm of the normal distribution function.
MT_INLINE double log_ndtr(double x) {
    const double z = x * 0.70710678118654752440, far = log(erfcx(-z) / 2) - x * x / 2, near = log1p(-erfc(z) / 2);
    return x < -1 ? far : near;
}

// ---- modified Bessel functions of the first kind ----

// Up to 8 the power series in x^2 / 4, whose terms are all positive: 1 / k!^2, and 1 / (k! (k + 1)!) of order 1.
constexpr double kI0Series[] = {1.0,
                                1.0,
                                0.25,
                                0.02777777777777777778,
                                0.001736111111111111111,
                                0.00006944444444444444444,
                                1.929012345679012346e-6,
                                3.936759889140841522e-8,
                                6.151187326782564878e-10,
                                7.594058428126623306e-12,
                                7.594058428126623306e-14,
                                6.276081345559192815e-16,
                                4.35838982330499501e-18,
                                2.578928889529582846e-20,
                                1.315780045678358595e-22,
                                5.8479113141260382e-25,
                                2.284340357080483672e-27,
                                7.904291893012054228e-30,
                                2.439596263275325379e-32,
                                6.757884385804225427e-35,
                                1.689471096451056357e-37,
                                3.83100021870987836e-40,
                                7.915289708078261074e-43,
                                1.496274046895701526e-45,
                                2.59769799808281515e-48,
                                4.15631679693250424e-51};
constexpr double kI1Series[] = {1.0,
                                0.5,
                                0.08333333333333333333,
                                0.006944444444444444444,
                                0.0003472222222222222222,
                                0.00001157407407407407407,
                                2.755731922398589065e-7,
                                4.920949861426051902e-9,
                                6.834652585313960975e-11,
                                7.594058428126623306e-13,
                                6.903689480115112096e-15,
                                5.230067787965994012e-17,
                                3.3526075563884577e-19,
                                1.842092063949702033e-21,
                                8.7718669711890573e-24,
                                3.654944571328773875e-26,
                                1.343729621812049219e-28,
                                4.391273273895585682e-31,
                                1.283998033302802831e-33,
                                3.378942192902112713e-36,
                                8.045100459290744556e-39,
                                1.741363735777217436e-41,
                                3.441430307860113511e-44,
                                6.23447519539875636e-47,
                                1.03907919923312606e-49,
                                1.598583383435578554e-52};
// Beyond 8, sqrt(x) e^-x I(x) as a polynomial in 16 / x - 1: Chebyshev's interpolation at 22 places of values with 60
// digits, within 2e-16.
constexpr double kI0Tail[] = {
    0.4021765094450081378,    0.003360551983667876198, 0.0001362160743773726702, 0.00001114303379189304484,
    1.483848150861770913e-6,  2.973597885290273666e-7, 8.871293193604676909e-8,  3.932712308583293642e-8,
    2.162446034312458086e-8,  7.543775238250733808e-9, -7.116744499757987723e-9, -1.335632771743214028e-8,
    -4.270649721363824925e-9, 7.396966587219157964e-9, 5.143208985862284337e-9,  -3.212512951035730219e-9,
    -2.892733366960394452e-9, 1.16613969273145264e-9,  9.544598596408217399e-10, -3.071903284409736378e-10,
    -1.44456662418080385e-10, 4.135870336904037016e-11};
constexpr double kI1Tail[] = {
    0.3893984590258722655,    -0.009749577193235750394, -0.0002192357638187366817, -0.00001503854720140233503,
    -1.834910741621180443e-6, -3.48385512527348076e-7,  -1.000032394498305339e-7,  -4.313034164182435595e-8,
    -2.345311161821713542e-8, -8.417810881556891832e-9, 7.118573210000023999e-9,   1.398623029457534436e-8,
    4.794244492727588644e-9,  -7.500258824785232228e-9, -5.508409408958088235e-9,  3.15812770017061695e-9,
    3.058265402804428762e-9,  -1.115307485189552799e-9, -1.003228319096585747e-9,  2.879529700247324507e-10,
    1.513858549435606112e-10, -3.828309823901464506e-11};

// I_order(|x|), times e^-|x| if it is scaled.
template <int order, bool scaled>
MT_INLINE double bessel_i(double x) {
    const double a = __builtin_fabs(x), near = a < 8 ? a : 8, far = a < 8 ? 8 : a, q = near * near / 4;
    const double series = order ? polynomial(kI1Series, q) * near / 2 : polynomial(kI0Series, q);
    const double tail = polynomial(order ? kI1Tail : kI0Tail, 16 / far - 1) / sqrt(far);
    double made;
    if constexpr (scaled) {
        const double shrunk = series * exp(-near);
        made = a < 8 ? shrunk : tail;
    } else {
        const double most = far < 700 ? far : 700;  // e^x overflows before I(x) does
        const double grown = tail * exp(most) * exp(far - most);
        made = a < 8 ? series : grown;
    }
    made = x != x ? x : made;
    return order ? __builtin_copysign(made, x) : made;
}
MT_INLINE double i0(double x) {
    const double made = bessel_i<0, false>(x), nan = __builtin_nan("");
    return __builtin_fabs(x) == special::kInf ? nan : made;  // as PyTorch
}
MT_INLINE double i0e(double x) { return bessel_i<0, true>(x); }
MT_INLINE double i1(double x) { return bessel_i<1, false>(x); }
MT_INLINE double i1e(double x) { return bessel_i<1, true>(x); }

// ---- the logarithm of the gamma function: its first and second derivative ----

// Both climb ten steps where x is below 10, and end in the asymptotic series; below, they are reflected.
MT_INLINE double digamma(double x) {
    const double y = x < 0 ? 1 - x : x, low = y < 10 ? y : 10;
    double numerator = 0, denominator = 1;  // of the sum of 1 / (y + k)
#pragma GCC unroll 10
    for (int k = 0; k < 10; k++) {
        numerator = fma(numerator, low + k, denominator);
        denominator *= low + k;
    }
    const double steps = numerator / denominator, at = y < 10 ? y + 10 : y, z = 1 / (at * at);
    constexpr double kSeries[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    double made = log(at) - 0.5 / at - z * polynomial(kSeries, z);
    made = y < 10 ? made - steps : made;
    made = y == 10 ? 2.25175258906672110764 : made;
    const double part = x - __builtin_rint(x), slope = special::kPi / tan(special::kPi * part);
    const double nan = __builtin_nan("");
    made = x < 0 ? (part == 0 ? nan : made - slope) : made;
    return x == 0 ? __builtin_copysign(special::kInf, -x) : made;
}

// At a pole the sine of pi x is what rounding leaves of it, in single precision where the argument is of that, as
// PyTorch's.
template <class T>
MT_INLINE double trigamma(T given) {
    const double x = given, y = x < 0.5 ? 1 - x : x, low = y < 10 ? y : 10;
    double numerator = 0, denominator = 1;  // of the sum of 1 / (y + k)^2
#pragma GCC unroll 10
    for (int k = 0; k < 10; k++) {
        const double square = (low + k) * (low + k);
        numerator = fma(numerator, square, denominator);
        denominator *= square;
    }
    const double steps = numerator / denominator, at = y < 10 ? y + 10 : y, z = 1 / (at * at);
    constexpr double kSeries[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
    double made = 1 / at + z / 2 + z / at * polynomial(kSeries, z);
    made = y < 10 ? made + steps : made;
    const T angle = static_cast<T>(special::kPi) * given;
    const double sine = static_cast<T>(sin(static_cast<double>(angle)));
    const double mirrored = special::kPi * special::kPi / (sine * sine) - made;
    return x < 0.5 ? mirrored : made;
}

}  // namespace mt::vec
