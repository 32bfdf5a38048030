// Layer norm of rows; sizes and epsilon come in a structure, as tiling data do.
#include "kernel_operator.h"
#include "layer_norm_tiling.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void layer_norm_custom(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y,
                                                        LayerNormTiling tiling)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> rows;
    TBuf<> parameters, scratch, number;
    int32_t n = static_cast<int32_t>(tiling.columns);
    uint32_t bytes = tiling.columns * sizeof(float);
    pipe.InitBuffer(rows, 2, bytes);
    pipe.InitBuffer(parameters, 2 * bytes);
    pipe.InitBuffer(scratch, 2 * bytes);
    pipe.InitBuffer(number, 32);
    GlobalTensor<float> xGm, yGm, gammaGm, betaGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, tiling.rows * tiling.columns);
    yGm.SetGlobalBuffer((__gm__ float *)y, tiling.rows * tiling.columns);
    gammaGm.SetGlobalBuffer((__gm__ float *)gamma, tiling.columns);
    betaGm.SetGlobalBuffer((__gm__ float *)beta, tiling.columns);
    LocalTensor<float> g = parameters.Get<float>(tiling.columns);
    LocalTensor<float> b = parameters.GetWithOffset<float>(tiling.columns, bytes);
    LocalTensor<float> centred = scratch.Get<float>(tiling.columns);
    LocalTensor<float> squares = scratch.GetWithOffset<float>(tiling.columns, bytes);
    LocalTensor<float> sum = number.Get<float>();
    DataCopy(g, gammaGm, tiling.columns);
    DataCopy(b, betaGm, tiling.columns);
    TEventID copied = pipe.FetchEventID(HardEvent::MTE2_V);
    SetFlag<HardEvent::MTE2_V>(copied);
    WaitFlag<HardEvent::MTE2_V>(copied);
    for (uint32_t row = GetBlockIdx(); row < tiling.rows; row += GetBlockNum()) {
        LocalTensor<float> line = rows.AllocTensor<float>();
        DataCopy(line, xGm[row * tiling.columns], tiling.columns);
        rows.EnQue(line);
        line = rows.DeQue<float>();
        ReduceSum(sum, line, squares, n);
        float mean = sum.GetValue(0) / n;
        Adds(centred, line, -mean, n);
        Mul(squares, centred, centred, n);
        ReduceSum(sum, squares, line, n);
        Duplicate(sum, sum.GetValue(0) / n + tiling.epsilon, 8);
        Sqrt(sum, sum, 8);
        Muls(centred, centred, 1.0f / sum.GetValue(0), n);
        Mul(centred, centred, g, n);
        Add(line, centred, b, n);
        rows.EnQue(line);
        line = rows.DeQue<float>();
        DataCopy(yGm[row * tiling.columns], line, tiling.columns);
        rows.FreeTensor(line);
    }
}
