// Products of matrices of elements that cuBLAS does not multiply: integers and bool. One thread an element of the result.
// The words: T (element type). A tile of both operands is in shared memory.
#pragma once

typedef math_of<T>::type M;

struct Args {
    int64_t m, n, k, batch;
    const T* a;
    const T* b;
    T* out;
    int64_t a_stride[3], b_stride[3], out_stride[3];
};

KERNEL(product, Args) {
    SHARED(M, tile);
    M* left = tile;
    M* right = tile + 16 * 16;
    const int x = threadIdx.x, y = threadIdx.y;
    const int64_t row = static_cast<int64_t>(blockIdx.y) * 16 + y, column = static_cast<int64_t>(blockIdx.x) * 16 + x;
    for (int64_t z = blockIdx.z; z < a.batch; z += gridDim.z) {
        const T* from = a.a + z * a.a_stride[0];
        const T* with = a.b + z * a.b_stride[0];
        M sum = M(0);
        for (int64_t begin = 0; begin < a.k; begin += 16) {
            left[y * 16 + x] = row < a.m && begin + x < a.k ? to<M>(from[row * a.a_stride[1] + (begin + x) * a.a_stride[2]]) : M(0);
            right[y * 16 + x] =
                column < a.n && begin + y < a.k ? to<M>(with[(begin + y) * a.b_stride[1] + column * a.b_stride[2]]) : M(0);
            __syncthreads();
            for (int i = 0; i < 16; i++) sum = static_cast<M>(sum + left[y * 16 + i] * right[i * 16 + x]);
            __syncthreads();
        }
        if (row < a.m && column < a.n)
            a.out[z * a.out_stride[0] + row * a.out_stride[1] + column * a.out_stride[2]] = to<T>(sum);
    }
}
