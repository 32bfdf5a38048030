// Kernels with one mistake each. Their names say which.
#include "kernel_operator.h"

using namespace AscendC;

namespace {
struct Vectors {
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 2> out;
    GlobalTensor<float> x, y;

    Vectors(GM_ADDR from, GM_ADDR to)
    {
        x.SetGlobalBuffer((__gm__ float *)from);
        y.SetGlobalBuffer((__gm__ float *)to);
        pipe.InitBuffer(in, 2, 256);
        pipe.InitBuffer(out, 2, 256);
    }
    void Copy(uint32_t from, uint32_t to, uint32_t count)
    {
        LocalTensor<float> line = in.AllocTensor<float>();
        DataCopy(line, x[from], count);
        in.EnQue(line);
        line = in.DeQue<float>();
        DataCopy(y[to], line, count);
        in.FreeTensor(line);
    }
};
}

extern "C" __global__ __aicore__ void right(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    v.Copy(64 * GetBlockIdx(), 64 * GetBlockIdx(), 64);
}
extern "C" __global__ __aicore__ void misaligned_length(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    v.Copy(0, 0, 61);
}
extern "C" __global__ __aicore__ void misaligned_global(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    v.Copy(3, 0, 8);
}
extern "C" __global__ __aicore__ void misaligned_local(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    LocalTensor<float> line = v.in.AllocTensor<float>();
    Duplicate(line, 1.0f, 64);
    Adds(line, line[5], 1.0f, 8);
    v.in.FreeTensor(line);
}
extern "C" __global__ __aicore__ void too_many_buffers(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    TBuf<TPosition::VECCALC> large;
    v.pipe.InitBuffer(large, 184 * 1024 - 1000);
}
extern "C" __global__ __aicore__ void local_overrun(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    v.Copy(0, 0, 72);
}
extern "C" __global__ __aicore__ void queue_depth(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    for (int i = 0; i < 3; i++) {
        LocalTensor<float> line = v.in.AllocTensor<float>();
        v.in.EnQue(line);
    }
}
extern "C" __global__ __aicore__ void empty_queue(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    LocalTensor<float> line = v.in.DeQue<float>();
    v.in.FreeTensor(line);
}
extern "C" __global__ __aicore__ void double_free(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    LocalTensor<float> line = v.in.AllocTensor<float>();
    v.in.FreeTensor(line);
    v.in.FreeTensor(line);
}
extern "C" __global__ __aicore__ void foreign_free(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    LocalTensor<float> line = v.in.AllocTensor<float>();
    v.out.FreeTensor(line);
}
extern "C" __global__ __aicore__ void use_after_free(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    LocalTensor<float> line = v.in.AllocTensor<float>();
    Duplicate(line, 1.0f, 64);
    v.in.FreeTensor(line);
    DataCopy(v.y, line, 64);
}
extern "C" __global__ __aicore__ void global_overrun(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    v.Copy(64 * (GetBlockIdx() + 1), 64 * GetBlockIdx(), 64);
}
extern "C" __global__ __aicore__ void global_bounds_of_the_tensor(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    v.x.SetGlobalBuffer((__gm__ float *)x, 32);
    v.Copy(0, 0, 64);
}
extern "C" __global__ __aicore__ void race(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    v.Copy(64 * GetBlockIdx(), 56 * GetBlockIdx(), 64);
}
extern "C" __global__ __aicore__ void flag_without_wait(GM_ADDR x, GM_ADDR y)
{
    SetFlag<HardEvent::MTE2_V>(EVENT_ID1);
}
extern "C" __global__ __aicore__ void wait_without_flag(GM_ADDR x, GM_ADDR y)
{
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID1);
}
extern "C" __global__ __aicore__ void sync_of_some(GM_ADDR x, GM_ADDR y)
{
    if (GetBlockIdx() != 1) {
        SyncAll();
    }
}
// No mistake: the blocks meet between two rounds of writes to the same places, and then sum into one.
extern "C" __global__ __aicore__ void meeting(GM_ADDR x, GM_ADDR y)
{
    Vectors v(x, y);
    int64_t me = GetBlockIdx(), all = GetBlockNum();
    v.Copy(64 * me, 64 * me, 64);
    SyncAll();
    v.Copy(64 * me, 64 * ((me + 1) % all), 64);
    SyncAll();
    SetAtomicAdd<float>();
    v.Copy(64 * me, 64 * all, 64);
    SetAtomicNone();
}
