// cuBLAS: the products that programs of ours call, by their C names.
#include <atomic>
#include <mutex>
#include <set>

#include "blas_status.h"
#include "gemm.h"
#include "services.h"

namespace emu {
namespace {

constexpr int CUBLAS_POINTER_MODE_DEVICE = 1;

struct Handle {
    CUstream stream = nullptr;
    int math_mode = 0, pointer_mode = 0;
    void* workspace = nullptr;
    size_t workspace_size = 0;
};

struct Handles {
    std::mutex mutex;
    std::set<Handle*> all;
};
Handles& handles() {
    static auto* h = new Handles;
    return *h;
}

bool known(Handle* handle) {
    std::lock_guard<std::mutex> lock(handles().mutex);
    return handles().all.count(handle);
}

bool type_of(int value, Type* type) {  // of cudaDataType
    switch (value) {
        case 2:
            *type = Type::half;
            return true;
        case 14:
            *type = Type::bfloat;
            return true;
        case 0:
            *type = Type::single;
            return true;
        case 1:
            *type = Type::real;
            return true;
        case 3:
            *type = Type::byte;
            return true;
        case 10:
            *type = Type::integer;
            return true;
        case 4:
            *type = Type::complex_single;
            return true;
        case 5:
            *type = Type::complex_double;
            return true;
        default:
            return false;
    }
}

constexpr int kFastTf32 = 77;  // CUBLAS_COMPUTE_32F_FAST_TF32

// The type of alpha and beta, for a type of computing and of the result; whether it computes these types at all.
bool scale_of(int compute, Type a, Type b, Type c, Type* scale) {
    if (a != b) return false;
    switch (compute) {
        case 64:
        case 65:
            *scale = Type::half;
            return a == Type::half && c == Type::half;
        case 68:
        case 69:
        case 74:
        case 75:
        case kFastTf32:
            *scale = a == Type::complex_single ? Type::complex_single : Type::single;
            if (a == Type::complex_single || a == Type::single) return c == a;
            if (a == Type::byte) return c == Type::single;
            return (a == Type::half || a == Type::bfloat) && (c == a || c == Type::single);
        case 70:
        case 71:
            *scale = a;
            return (a == Type::real || a == Type::complex_double) && c == a;
        case 72:
        case 73:
            *scale = Type::integer;
            return a == Type::byte && c == Type::integer;
        default:
            return false;
    }
}

struct Job {
    int64_t m, n, k, batches;
    const void *alpha, *beta;  // where they lie, if on the device
    Complex alpha_value, beta_value;
    bool on_device;
    Type scale;
    Matrix a, b, c;
    int64_t stride_a, stride_b, stride_c;  // in elements
    bool arrays;                           // the data are addresses of addresses on the device
};

int64_t size_of(Type type) {
    switch (type) {
        case Type::half:
        case Type::bfloat:
            return 2;
        case Type::byte:
            return 1;
        case Type::real:
        case Type::complex_single:
            return 8;
        case Type::complex_double:
            return 16;
        default:
            return 4;
    }
}

void run(void* data) {
    auto& j = *static_cast<Job*>(data);
    Complex alpha = j.on_device ? load(j.alpha, j.scale, 0) : j.alpha_value;
    Complex beta = j.on_device ? load(j.beta, j.scale, 0) : j.beta_value;
    for (int64_t i = 0; i < j.batches; i++) {
        Matrix a = j.a, b = j.b, c = j.c;
        auto place = [&](Matrix& x, int64_t stride) {
            if (j.arrays)
                x.data = static_cast<void* const*>(x.data)[i];
            else
                x.data = static_cast<char*>(x.data) + i * stride * size_of(x.type);
        };
        place(a, j.stride_a);
        place(b, j.stride_b);
        place(c, j.stride_c);
        gemm(j.m, j.n, j.k, alpha, a, b, beta, c);
    }
}

struct Call {
    const char* name;
    Handle* handle;
    int op_a, op_b;
    int64_t m, n, k;
    const void* alpha;
    const void* a;
    int type_a;
    int64_t leading_a, stride_a;
    const void* b;
    int type_b;
    int64_t leading_b, stride_b;
    const void* beta;
    void* c;
    int type_c;
    int64_t leading_c, stride_c;
    int64_t batches;
    int compute;
    bool arrays;
};

int multiply(const Call& call) {
    if (int code = emulated_injected(call.name)) return code;
    Handle* h = call.handle;
    if (!known(h)) return CUBLAS_STATUS_NOT_INITIALIZED;
    Job job{};
    if (!type_of(call.type_a, &job.a.type) || !type_of(call.type_b, &job.b.type) || !type_of(call.type_c, &job.c.type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!scale_of(call.compute, job.a.type, job.b.type, job.c.type, &job.scale)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (call.compute == kFastTf32)
        for (Matrix* each : {&job.a, &job.b})
            if (each->type == Type::single) each->type = Type::short_single;
    if (call.op_a < 0 || call.op_a > 2 || call.op_b < 0 || call.op_b > 2) return CUBLAS_STATUS_INVALID_VALUE;
    if (call.m < 0 || call.n < 0 || call.k < 0 || call.batches < 0 || !call.alpha || !call.beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    auto least = [](int64_t rows) { return rows > 1 ? rows : 1; };
    if (call.leading_a < least(call.op_a ? call.k : call.m) || call.leading_b < least(call.op_b ? call.n : call.k) ||
        call.leading_c < least(call.m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!call.m || !call.n || !call.batches) return CUBLAS_STATUS_SUCCESS;
    job.m = call.m;
    job.n = call.n;
    job.k = call.k;
    job.batches = call.batches;
    job.on_device = h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
    job.alpha = call.alpha;
    job.beta = call.beta;
    if (!job.on_device) {
        job.alpha_value = load(call.alpha, job.scale, 0);
        job.beta_value = load(call.beta, job.scale, 0);
    }
    auto fill = [](Matrix& x, const void* data, int64_t leading, int op) {
        x.data = const_cast<void*>(data);
        x.leading = leading;
        x.transposed = op != 0;
        x.conjugated = op == 2;
    };
    fill(job.a, call.a, call.leading_a, call.op_a);
    fill(job.b, call.b, call.leading_b, call.op_b);
    fill(job.c, call.c, call.leading_c, 0);
    job.stride_a = call.stride_a;
    job.stride_b = call.stride_b;
    job.stride_c = call.stride_c;
    job.arrays = call.arrays;
    int code =
        emulated_enqueue(h->stream, call.name, run, new Job(job), [](void* data) { delete static_cast<Job*>(data); });
    return code ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace emu

using namespace emu;

#define CUBLAS_ENTER(function)                                                          \
    do {                                                                                \
        if (int code_ = emulated_injected(#function)) return code_;                     \
        if (!known(static_cast<Handle*>(handle))) return CUBLAS_STATUS_NOT_INITIALIZED; \
    } while (0)

EMULATED_API int cublasCreate_v2(void** handle) {
    if (int code = emulated_injected("cublasCreate_v2")) return code;
    CUcontext context = nullptr;
    if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
    if (cuCtxGetCurrent(&context) || !context) return CUBLAS_STATUS_NOT_INITIALIZED;
    auto* made = new Handle;
    std::lock_guard<std::mutex> lock(handles().mutex);
    handles().all.insert(made);
    *handle = made;
    return CUBLAS_STATUS_SUCCESS;
}

EMULATED_API int cublasDestroy_v2(void* handle) {
    CUBLAS_ENTER(cublasDestroy_v2);
    std::lock_guard<std::mutex> lock(handles().mutex);
    handles().all.erase(static_cast<Handle*>(handle));
    delete static_cast<Handle*>(handle);
    return CUBLAS_STATUS_SUCCESS;
}

EMULATED_API int cublasSetStream_v2(void* handle, CUstream stream) {
    CUBLAS_ENTER(cublasSetStream_v2);
    static_cast<Handle*>(handle)->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

EMULATED_API int cublasGetStream_v2(void* handle, CUstream* stream) {
    CUBLAS_ENTER(cublasGetStream_v2);
    *stream = static_cast<Handle*>(handle)->stream;
    return CUBLAS_STATUS_SUCCESS;
}

EMULATED_API int cublasSetMathMode(void* handle, int mode) {
    CUBLAS_ENTER(cublasSetMathMode);
    static_cast<Handle*>(handle)->math_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

EMULATED_API int cublasGetMathMode(void* handle, int* mode) {
    CUBLAS_ENTER(cublasGetMathMode);
    *mode = static_cast<Handle*>(handle)->math_mode;
    return CUBLAS_STATUS_SUCCESS;
}

EMULATED_API int cublasSetPointerMode_v2(void* handle, int mode) {
    CUBLAS_ENTER(cublasSetPointerMode_v2);
    if (mode < 0 || mode > CUBLAS_POINTER_MODE_DEVICE) return CUBLAS_STATUS_INVALID_VALUE;
    static_cast<Handle*>(handle)->pointer_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

EMULATED_API int cublasSetWorkspace_v2(void* handle, void* workspace, size_t size) {
    CUBLAS_ENTER(cublasSetWorkspace_v2);
    static_cast<Handle*>(handle)->workspace = workspace;
    static_cast<Handle*>(handle)->workspace_size = size;
    return CUBLAS_STATUS_SUCCESS;
}

EMULATED_API int cublasGetVersion_v2(void*, int* version) {
    if (!version) return CUBLAS_STATUS_INVALID_VALUE;
    *version = 130000;
    return CUBLAS_STATUS_SUCCESS;
}

EMULATED_API int cublasGemmEx(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
                              int type_a, int leading_a, const void* b, int type_b, int leading_b, const void* beta,
                              void* c, int type_c, int leading_c, int compute, int) {
    return multiply({"cublasGemmEx",
                     static_cast<Handle*>(handle),
                     op_a,
                     op_b,
                     m,
                     n,
                     k,
                     alpha,
                     a,
                     type_a,
                     leading_a,
                     0,
                     b,
                     type_b,
                     leading_b,
                     0,
                     beta,
                     c,
                     type_c,
                     leading_c,
                     0,
                     1,
                     compute,
                     false});
}

EMULATED_API int cublasGemmStridedBatchedEx(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                                            const void* a, int type_a, int leading_a, long long stride_a, const void* b,
                                            int type_b, int leading_b, long long stride_b, const void* beta, void* c,
                                            int type_c, int leading_c, long long stride_c, int batches, int compute,
                                            int) {
    return multiply({"cublasGemmStridedBatchedEx",
                     static_cast<Handle*>(handle),
                     op_a,
                     op_b,
                     m,
                     n,
                     k,
                     alpha,
                     a,
                     type_a,
                     leading_a,
                     stride_a,
                     b,
                     type_b,
                     leading_b,
                     stride_b,
                     beta,
                     c,
                     type_c,
                     leading_c,
                     stride_c,
                     batches,
                     compute,
                     false});
}

EMULATED_API int cublasGemmBatchedEx(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                                     const void* const* a, int type_a, int leading_a, const void* const* b, int type_b,
                                     int leading_b, const void* beta, void* const* c, int type_c, int leading_c,
                                     int batches, int compute, int) {
    return multiply({"cublasGemmBatchedEx",
                     static_cast<Handle*>(handle),
                     op_a,
                     op_b,
                     m,
                     n,
                     k,
                     alpha,
                     a,
                     type_a,
                     leading_a,
                     0,
                     b,
                     type_b,
                     leading_b,
                     0,
                     beta,
                     const_cast<void**>(c),
                     type_c,
                     leading_c,
                     0,
                     batches,
                     compute,
                     true});
}
