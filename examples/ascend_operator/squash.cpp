// x / (1 + |x|), in AscendC: each core takes a part of the numbers, in pieces that fit its buffers.
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t kPiece = 256;

class Squash {
public:
    __aicore__ inline Squash() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t count) {
        part_ = count / GetBlockNum();
        from_.SetGlobalBuffer((__gm__ float*)x + part_ * GetBlockIdx(), part_);
        to_.SetGlobalBuffer((__gm__ float*)y + part_ * GetBlockIdx(), part_);
        pipe_.InitBuffer(in_, 2, kPiece * sizeof(float));
        pipe_.InitBuffer(out_, 2, kPiece * sizeof(float));
    }
    __aicore__ inline void Process() {
        for (uint32_t at = 0; at < part_; at += kPiece) {
            LocalTensor<float> x = in_.AllocTensor<float>();
            DataCopy(x, from_[at], kPiece);
            in_.EnQue(x);
            x = in_.DeQue<float>();
            LocalTensor<float> y = out_.AllocTensor<float>();
            Abs(y, x, kPiece);
            Adds(y, y, 1.0f, kPiece);
            Div(y, x, y, kPiece);
            in_.FreeTensor(x);
            out_.EnQue(y);
            y = out_.DeQue<float>();
            DataCopy(to_[at], y, kPiece);
            out_.FreeTensor(y);
        }
    }

private:
    TPipe pipe_;
    TQue<QuePosition::VECIN, 2> in_;
    TQue<QuePosition::VECOUT, 2> out_;
    GlobalTensor<float> from_, to_;
    uint32_t part_;
};

extern "C" __global__ __aicore__ void squash(GM_ADDR x, GM_ADDR y, uint32_t count) {
    Squash op;
    op.Init(x, y, count);
    op.Process();
}
