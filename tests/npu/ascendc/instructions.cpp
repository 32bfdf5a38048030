// Each vector instruction once: y = instruction(a, b), chosen by a number.
#include "kernel_operator.h"

using namespace AscendC;

namespace {
constexpr int32_t kCount = 128;

template <class T>
void Arithmetic(int32_t which, LocalTensor<T> &y, LocalTensor<T> &a, LocalTensor<T> &b)
{
    T two = static_cast<T>(2);
    switch (which) {
        case 0: return Add(y, a, b, kCount);
        case 1: return Sub(y, a, b, kCount);
        case 2: return Mul(y, a, b, kCount);
        case 3: return Max(y, a, b, kCount);
        case 4: return Min(y, a, b, kCount);
        case 5: return Adds(y, a, two, kCount);
        case 6: return Muls(y, a, two, kCount);
        case 7: return Maxs(y, a, static_cast<T>(0), kCount);
        case 8: return Mins(y, a, static_cast<T>(0), kCount);
        case 9: return Relu(y, a, kCount);
        case 10: return Duplicate(y, two, kCount);
        case 11: {  // every second element, by bits, in steps; the others stay
            uint64_t mask[2] = {0x5555555555555555ull, 0x5555555555555555ull};
            if (sizeof(T) == 4) {
                mask[1] = 0;
            }
            Duplicate(y, two, kCount);
            return Add(y, a, b, mask, static_cast<uint8_t>(kCount * sizeof(T) / 256), {1, 1, 1, 8, 8, 8});
        }
        case 12:  // the first block of 32 bytes of a, again and again
            return Copy(y, a, 256 / sizeof(T), static_cast<uint8_t>(kCount * sizeof(T) / 256), {1, 0, 8, 0});
    }
}
template <class T>
void Floating(int32_t which, LocalTensor<T> &y, LocalTensor<T> &a, LocalTensor<T> &b, LocalTensor<uint8_t> &bits,
              LocalTensor<T> &work)
{
    switch (which) {
        case 20: return Div(y, a, b, kCount);
        case 21: return Exp(y, a, kCount);
        case 22: Abs(y, a, kCount); return Ln(y, y, kCount);
        case 23: return Abs(y, a, kCount);
        case 24: Abs(y, a, kCount); return Sqrt(y, y, kCount);
        case 25: Abs(y, a, kCount); return Rsqrt(y, y, kCount);
        case 26: return Reciprocal(y, a, kCount);
        case 27: return LeakyRelu(y, a, static_cast<T>(0.5f), kCount);
        case 28: Duplicate(y, static_cast<T>(1), kCount); return Axpy(y, a, static_cast<T>(2), kCount);
        case 29: Compare(bits, a, b, CMPMODE::LT, kCount); return Select(y, bits, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, kCount);
        case 30:
            CompareScalar(bits, a, static_cast<T>(0), CMPMODE::GE, kCount);
            return Select(y, bits, a, static_cast<T>(-1), SELMODE::VSEL_TENSOR_SCALAR_MODE, kCount);
        case 31: Duplicate(y, static_cast<T>(0), kCount); return ReduceSum(y, a, work, kCount);
        case 32: Duplicate(y, static_cast<T>(0), kCount); return ReduceMax(y, a, work, kCount);
        case 33: Duplicate(y, static_cast<T>(0), kCount); return ReduceMin(y, a, work, kCount);
        case 34:
            Duplicate(y, static_cast<T>(0), kCount);
            return WholeReduceSum(y, a, 256 / sizeof(T), kCount * sizeof(T) / 256, 1, 1, 8);
        case 35:
            Duplicate(y, static_cast<T>(0), kCount);
            return BlockReduceMax(y, a, kCount * sizeof(T) / 256, 256 / sizeof(T), 1, 1, 8);
        case 36: return Brcb(y, a, static_cast<uint8_t>(kCount * sizeof(T) / 256), {1, 8});
        case 37: return CreateVecIndex(y, static_cast<T>(3), kCount);
    }
}
}

template <class T>
__aicore__ inline void Run(GM_ADDR a, GM_ADDR b, GM_ADDR y, int32_t which)
{
    TPipe pipe;
    TBuf<> buffers[5];
    for (auto &buffer : buffers) {
        pipe.InitBuffer(buffer, kCount * sizeof(T));
    }
    GlobalTensor<T> aGm, bGm, yGm;
    aGm.SetGlobalBuffer((__gm__ T *)a, kCount);
    bGm.SetGlobalBuffer((__gm__ T *)b, kCount);
    yGm.SetGlobalBuffer((__gm__ T *)y, kCount);
    LocalTensor<T> aLocal = buffers[0].Get<T>(), bLocal = buffers[1].Get<T>(), yLocal = buffers[2].Get<T>();
    LocalTensor<T> work = buffers[3].Get<T>();
    LocalTensor<uint8_t> bits = buffers[4].Get<uint8_t>();
    DataCopy(aLocal, aGm, kCount);
    DataCopy(bLocal, bGm, kCount);
    if (which < 20) {
        Arithmetic(which, yLocal, aLocal, bLocal);
    } else if constexpr (!std::is_integral_v<T>) {
        Floating(which, yLocal, aLocal, bLocal, bits, work);
    }
    DataCopy(yGm, yLocal, kCount);
}

extern "C" __global__ __aicore__ void run_float(GM_ADDR a, GM_ADDR b, GM_ADDR y, int32_t which) { Run<float>(a, b, y, which); }
extern "C" __global__ __aicore__ void run_half(GM_ADDR a, GM_ADDR b, GM_ADDR y, int32_t which) { Run<half>(a, b, y, which); }
extern "C" __global__ __aicore__ void run_int(GM_ADDR a, GM_ADDR b, GM_ADDR y, int32_t which) { Run<int32_t>(a, b, y, which); }

template <class D, class S>
__aicore__ inline void Convert(GM_ADDR x, GM_ADDR y, int32_t mode)
{
    TPipe pipe;
    TBuf<> from, to;
    pipe.InitBuffer(from, kCount * sizeof(S));
    pipe.InitBuffer(to, kCount * sizeof(D));
    GlobalTensor<S> xGm;
    GlobalTensor<D> yGm;
    xGm.SetGlobalBuffer((__gm__ S *)x, kCount);
    yGm.SetGlobalBuffer((__gm__ D *)y, kCount);
    LocalTensor<S> source = from.Get<S>();
    LocalTensor<D> result = to.Get<D>();
    DataCopy(source, xGm, kCount);
    Cast(result, source, static_cast<RoundMode>(mode), kCount);
    DataCopy(yGm, result, kCount);
}
extern "C" __global__ __aicore__ void float_to_int(GM_ADDR x, GM_ADDR y, int32_t mode) { Convert<int32_t, float>(x, y, mode); }
extern "C" __global__ __aicore__ void float_to_half(GM_ADDR x, GM_ADDR y, int32_t mode) { Convert<half, float>(x, y, mode); }
extern "C" __global__ __aicore__ void float_to_bfloat16(GM_ADDR x, GM_ADDR y, int32_t mode) { Convert<bfloat16_t, float>(x, y, mode); }
extern "C" __global__ __aicore__ void half_to_float(GM_ADDR x, GM_ADDR y, int32_t mode) { Convert<float, half>(x, y, mode); }
extern "C" __global__ __aicore__ void int_to_float(GM_ADDR x, GM_ADDR y, int32_t mode) { Convert<float, int32_t>(x, y, mode); }

// Parameters of every kind, written back as they came.
extern "C" __global__ __aicore__ void parameters(__gm__ float *y, float a, half b, bfloat16_t c, int64_t d, uint8_t e, bool f, double g)
{
    GlobalTensor<float> yGm;
    yGm.SetGlobalBuffer(y, 8);
    float values[] = {a, b, c, static_cast<float>(d), static_cast<float>(e), f ? 1.0f : 0.0f, static_cast<float>(g), 0.0f};
    for (int i = 0; i < 8; i++) {
        yGm.SetValue(i, values[i]);
    }
}
