// Softmax of each row of a matrix: the row's maximum, exponentials, their sum.
#include "kernel_operator.h"

using namespace AscendC;

class KernelSoftmax {
public:
    __aicore__ inline void Init(TPipe *pipe, GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t columns)
    {
        rows_ = rows;
        columns_ = columns;
        uint32_t bytes = (columns * sizeof(float) + 31) / 32 * 32;
        x_.SetGlobalBuffer((__gm__ float *)x, rows * columns);
        y_.SetGlobalBuffer((__gm__ float *)y, rows * columns);
        pipe->InitBuffer(in_, 1, bytes);
        pipe->InitBuffer(out_, 1, bytes);
        pipe->InitBuffer(work_, bytes);
        pipe->InitBuffer(number_, 32);
    }
    __aicore__ inline void Process()
    {
        DataCopyExtParams shape{1, static_cast<uint32_t>(columns_ * sizeof(float)), 0, 0, 0};
        LocalTensor<float> work = work_.Get<float>();
        LocalTensor<float> number = number_.Get<float>();
        for (uint32_t row = GetBlockIdx(); row < rows_; row += GetBlockNum()) {
            LocalTensor<float> x = in_.AllocTensor<float>();
            DataCopyPad(x, x_[row * columns_], shape, DataCopyPadExtParams<float>{false, 0, 0, 0.0f});
            in_.EnQue(x);
            x = in_.DeQue<float>();
            LocalTensor<float> y = out_.AllocTensor<float>();
            ReduceMax(number, x, work, static_cast<int32_t>(columns_));
            SetFlag<HardEvent::V_S>(EVENT_ID0);
            WaitFlag<HardEvent::V_S>(EVENT_ID0);
            float largest = number.GetValue(0);
            Adds(y, x, -largest, static_cast<int32_t>(columns_));
            PipeBarrier<PIPE_V>();
            Exp(y, y, static_cast<int32_t>(columns_));
            PipeBarrier<PIPE_V>();
            ReduceSum(number, y, work, static_cast<int32_t>(columns_));
            SetFlag<HardEvent::V_S>(EVENT_ID0);
            WaitFlag<HardEvent::V_S>(EVENT_ID0);
            Muls(y, y, 1.0f / number.GetValue(0), static_cast<int32_t>(columns_));
            in_.FreeTensor(x);
            out_.EnQue(y);
            y = out_.DeQue<float>();
            DataCopyPad(y_[row * columns_], y, shape);
            out_.FreeTensor(y);
        }
    }

private:
    TQue<TPosition::VECIN, 1> in_;
    TQue<TPosition::VECOUT, 1> out_;
    TBuf<TPosition::VECCALC> work_, number_;
    GlobalTensor<float> x_, y_;
    uint32_t rows_, columns_;
};

extern "C" __global__ __aicore__ void softmax_custom(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t columns)
{
    TPipe pipe;
    KernelSoftmax op;
    op.Init(&pipe, x, y, rows, columns);
    op.Process();
}
