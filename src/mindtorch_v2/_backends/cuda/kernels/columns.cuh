// Windows of an image as columns of a matrix, and the sums that go back; three spatial dimensions, of which the first may be of size
// 1. The words: IN (element type), Index (int32_t or int64_t). A row of the matrix is a place of a window in a channel.
#pragma once

typedef math_of<IN>::type T;

struct Args {
    int64_t total, channels, samples;
    const IN* in;
    IN* out;
    int64_t row_stride, sample_stride;  // of the matrix; columns of a sample are neighbours
    int64_t size[3], out_size[3], window[3], stride[3], padding[3], dilation[3];
};

KERNEL(columns, Args) {
    Index i = static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) + static_cast<Index>(threadIdx.x);
    if (i >= static_cast<Index>(a.total)) return;
    Index out[3], tap[3], at[3];
    for (int d = 2; d >= 0; d--) out[d] = i % static_cast<Index>(a.out_size[d]), i /= static_cast<Index>(a.out_size[d]);
    const Index sample = i % static_cast<Index>(a.samples), row = i / static_cast<Index>(a.samples);
    Index channel = row;
    for (int d = 2; d >= 0; d--) tap[d] = channel % static_cast<Index>(a.window[d]), channel /= static_cast<Index>(a.window[d]);
    bool inside = true;
    for (int d = 0; d < 3; d++) {
        at[d] = out[d] * static_cast<Index>(a.stride[d]) - static_cast<Index>(a.padding[d]) + tap[d] * static_cast<Index>(a.dilation[d]);
        inside = inside && at[d] >= 0 && at[d] < static_cast<Index>(a.size[d]);
    }
    IN value = to<IN>(T(0));
    if (inside)
        value = a.in[(((sample * a.channels + channel) * a.size[0] + at[0]) * a.size[1] + at[1]) * a.size[2] + at[2]];
    a.out[row * a.row_stride + sample * a.sample_stride + (out[0] * a.out_size[1] + out[1]) * a.out_size[2] + out[2]] = value;
}

// Each element of the image gathers the columns that it went to.
KERNEL(image, Args) {
    Index i = static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) + static_cast<Index>(threadIdx.x);
    if (i >= static_cast<Index>(a.total)) return;
    const Index own = i;
    Index at[3];
    for (int d = 2; d >= 0; d--) at[d] = i % static_cast<Index>(a.size[d]), i /= static_cast<Index>(a.size[d]);
    const Index channel = i % static_cast<Index>(a.channels), sample = i / static_cast<Index>(a.channels);
    T sum = T(0);
    for (Index z = 0; z < a.window[0]; z++)
        for (Index y = 0; y < a.window[1]; y++)
            for (Index x = 0; x < a.window[2]; x++) {
                const Index tap[3] = {z, y, x};
                Index out[3];
                bool meets = true;
                for (int d = 0; d < 3; d++) {
                    const Index from = at[d] + static_cast<Index>(a.padding[d]) - tap[d] * static_cast<Index>(a.dilation[d]);
                    out[d] = from / static_cast<Index>(a.stride[d]);
                    meets = meets && from >= 0 && from % static_cast<Index>(a.stride[d]) == 0 && out[d] < a.out_size[d];
                }
                if (!meets) continue;
                const int64_t row = ((channel * a.window[0] + z) * a.window[1] + y) * a.window[2] + x;
                sum = sum + to<T>(a.in[row * a.row_stride + sample * a.sample_stride +
                                       (out[0] * a.out_size[1] + out[1]) * a.out_size[2] + out[2]]);
            }
    a.out[own] = to<IN>(sum);
}
