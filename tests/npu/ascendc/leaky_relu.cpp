// Leaky ReLU of halfs for any number of elements: blocks share tiles in turn, and the last tile is copied with padding.
#include "kernel_operator.h"

using AscendC::DataCopyExtParams;
using AscendC::DataCopyPadExtParams;
using AscendC::GlobalTensor;
using AscendC::LocalTensor;
using AscendC::TPipe;
using AscendC::TQue;

namespace {
constexpr uint32_t kTile = 256;
}

class KernelLeakyRelu {
public:
    __aicore__ inline KernelLeakyRelu(TPipe *pipe) : pipe_(pipe) {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t length, float slope)
    {
        length_ = length;
        slope_ = slope;
        xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half *>(x), length);
        yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half *>(y), length);
        pipe_->InitBuffer(in_, 2, kTile * sizeof(half));
        pipe_->InitBuffer(out_, 2, kTile * sizeof(half));
    }
    __aicore__ inline void Process()
    {
        uint32_t tiles = (length_ + kTile - 1) / kTile;
        for (uint32_t tile = AscendC::GetBlockIdx(); tile < tiles; tile += AscendC::GetBlockNum()) {
            uint32_t start = tile * kTile;
            uint32_t count = length_ - start < kTile ? length_ - start : kTile;
            DataCopyExtParams shape{1, static_cast<uint32_t>(count * sizeof(half)), 0, 0, 0};
            LocalTensor<half> x = in_.AllocTensor<half>();
            AscendC::DataCopyPad(x, xGm_[start], shape, DataCopyPadExtParams<half>{false, 0, 0, half(0)});
            in_.EnQue(x);
            x = in_.DeQue<half>();
            LocalTensor<half> y = out_.AllocTensor<half>();
            AscendC::LeakyRelu(y, x, static_cast<half>(slope_), static_cast<int32_t>(count));
            in_.FreeTensor(x);
            out_.EnQue(y);
            y = out_.DeQue<half>();
            AscendC::DataCopyPad(yGm_[start], y, shape);
            out_.FreeTensor(y);
        }
    }

private:
    TPipe *pipe_;
    TQue<AscendC::TPosition::VECIN, 2> in_;
    TQue<AscendC::TPosition::VECOUT, 2> out_;
    GlobalTensor<half> xGm_, yGm_;
    uint32_t length_;
    float slope_;
};

extern "C" __global__ __aicore__ void leaky_relu_custom(GM_ADDR x, GM_ADDR y, uint32_t length, float slope)
{
    TPipe pipe;
    KernelLeakyRelu op(&pipe);
    op.Init(x, y, length, slope);
    op.Process();
}
