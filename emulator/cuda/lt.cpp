// cuBLASLt: products with what follows them, by their C names.
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "blas_status.h"
#include "gemm.h"
#include "services.h"

namespace emu {
namespace {

enum : int { kDefault = 1, kRelu = 2, kBias = 4, kGelu = 32, kBiasGradientB = 512 };  // cublasLtEpilogue_t
constexpr int kFastTf32 = 77;

struct Layout {
    int type = 0;
    uint64_t rows = 0, columns = 0;
    int64_t leading = 0, distance = 0;
    int32_t batches = 1;
};
struct Description {
    int compute = 0, scale = 0;
    int32_t transposed_a = 0, transposed_b = 0;
    uint32_t epilogue = kDefault;
    void* bias = nullptr;
};
struct Preference {
    uint64_t workspace = 0;
    uint32_t alignment[4] = {256, 256, 256, 256};
};
struct Algorithm {
    uint64_t data[8];
};
struct Heuristic {
    Algorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

bool type_of(int value, Type* type) {
    switch (value) {
        case 0:
            *type = Type::single;
            return true;
        case 2:
            *type = Type::half;
            return true;
        case 14:
            *type = Type::bfloat;
            return true;
        default:
            return false;
    }
}

// A member of a struct by its number: the bytes are copied if there are as many.
int set(void* member, size_t size, const void* value, size_t given) {
    if (!value || given != size) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(member, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

struct Job {
    Description of;
    Layout a, b, d;
    const char *from_a, *from_b;
    char* to;
    float alpha, beta;
};

double finished(const Job& job, double x, int64_t row) {
    Type type = Type::single;
    type_of(job.d.type, &type);
    if (job.of.epilogue & kBias) x += load(job.of.bias, type, row).re;
    if (job.of.epilogue & kRelu) x = x > 0 || x != x ? x : 0;
    if (job.of.epilogue & kGelu)  // by the hyperbolic tangent
        x = 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

Matrix matrix(const Layout& layout, const char* data, int transposed, int64_t batch, bool shortened) {
    Matrix m;
    type_of(layout.type, &m.type);
    m.data = const_cast<char*>(data) + batch * layout.distance * (m.type == Type::single ? 4 : 2);
    if (m.type == Type::single && shortened) m.type = Type::short_single;
    m.leading = layout.leading;
    m.transposed = transposed != 0;
    return m;
}

void run(void* data) {
    const Job& job = *static_cast<Job*>(data);
    bool shortened = job.of.compute == kFastTf32;
    auto m = static_cast<int64_t>(job.d.rows), n = static_cast<int64_t>(job.d.columns);
    auto k = static_cast<int64_t>(job.of.transposed_a ? job.a.rows : job.a.columns);
    Finish finish = [&](double x, int64_t row) { return finished(job, x, row); };
    for (int32_t i = 0; i < job.d.batches; i++) {
        Matrix b = matrix(job.b, job.from_b, job.of.transposed_b, i, shortened);
        gemm(m, n, k, {job.alpha, 0}, matrix(job.a, job.from_a, job.of.transposed_a, i, shortened), b, {job.beta, 0},
             matrix(job.d, job.to, 0, i, false), job.of.epilogue == kDefault ? nullptr : &finish);
        if (job.of.epilogue == kBiasGradientB)
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t p = 0; p < k; p++)
                    sum += load(b.data, b.type, b.transposed ? j + p * b.leading : p + j * b.leading).re;
                Type type = Type::single;
                type_of(job.d.type, &type);
                store(job.of.bias, type, j, {sum, 0});
            }
    }
}

// What is wrong with a product; 0 if nothing is.
int check(const Description& of, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
    Type type;
    for (const Layout* layout : {&a, &b, &c, &d}) {
        if (!type_of(layout->type, &type) || layout->type != d.type) return CUBLAS_STATUS_NOT_SUPPORTED;
        if (layout->leading < static_cast<int64_t>(layout->rows) || layout->batches != d.batches)
            return CUBLAS_STATUS_INVALID_VALUE;
    }
    uint64_t m = of.transposed_a ? a.columns : a.rows, k = of.transposed_a ? a.rows : a.columns;
    uint64_t n = of.transposed_b ? b.rows : b.columns, kb = of.transposed_b ? b.columns : b.rows;
    if (m != d.rows || n != d.columns || k != kb || c.rows != d.rows || c.columns != d.columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (of.compute != 68 && of.compute != kFastTf32) return CUBLAS_STATUS_NOT_SUPPORTED;
    uint32_t known = kRelu | kBias | kGelu;
    bool good = of.epilogue == kDefault || of.epilogue == kBiasGradientB || !(of.epilogue & ~known);
    return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace
}  // namespace emu

using namespace emu;

EMULATED_API int cublasLtCreate(void** handle) {
    if (int code = emulated_injected("cublasLtCreate")) return code;
    CUcontext context = nullptr;
    if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
    if (cuCtxGetCurrent(&context) || !context) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = new char;
    return CUBLAS_STATUS_SUCCESS;
}
EMULATED_API int cublasLtDestroy(void* handle) {
    delete static_cast<char*>(handle);
    return CUBLAS_STATUS_SUCCESS;
}

EMULATED_API int cublasLtMatmulDescCreate(Description** made, int compute, int scale) {
    if (!made) return CUBLAS_STATUS_INVALID_VALUE;
    *made = new Description{compute, scale};
    return CUBLAS_STATUS_SUCCESS;
}
EMULATED_API int cublasLtMatmulDescDestroy(Description* of) {
    delete of;
    return CUBLAS_STATUS_SUCCESS;
}
EMULATED_API int cublasLtMatmulDescSetAttribute(Description* of, int attribute, const void* value, size_t size) {
    switch (attribute) {
        case 3:
            return set(&of->transposed_a, 4, value, size);
        case 4:
            return set(&of->transposed_b, 4, value, size);
        case 7:
            return set(&of->epilogue, 4, value, size);
        case 8:
            return set(&of->bias, 8, value, size);
        default:
            return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}
EMULATED_API int cublasLtMatrixLayoutCreate(Layout** made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    if (!made) return CUBLAS_STATUS_INVALID_VALUE;
    *made = new Layout{type, rows, columns, leading};
    return CUBLAS_STATUS_SUCCESS;
}
EMULATED_API int cublasLtMatrixLayoutDestroy(Layout* layout) {
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}
EMULATED_API int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, size_t size) {
    switch (attribute) {
        case 5:
            return set(&layout->batches, 4, value, size);
        case 6:
            return set(&layout->distance, 8, value, size);
        default:
            return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}
EMULATED_API int cublasLtMatmulPreferenceCreate(Preference** made) {
    *made = new Preference;
    return CUBLAS_STATUS_SUCCESS;
}
EMULATED_API int cublasLtMatmulPreferenceDestroy(Preference* preference) {
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}
EMULATED_API int cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value,
                                                      size_t size) {
    if (attribute == 1) return set(&preference->workspace, 8, value, size);
    if (attribute >= 5 && attribute <= 8) return set(&preference->alignment[attribute - 5], 4, value, size);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
EMULATED_API int cublasLtMatmulAlgoGetHeuristic(void* handle, const Description* of, const Layout* a, const Layout* b,
                                                const Layout* c, const Layout* d, const Preference* preference,
                                                int wanted, Heuristic* results, int* found) {
    if (int code = emulated_injected("cublasLtMatmulAlgoGetHeuristic")) return code;
    if (!handle || !of || !a || !b || !c || !d || !preference || !results || !found || wanted < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    *found = 0;
    if (int code = check(*of, *a, *b, *c, *d)) return code;
    results[0] = {};
    for (int i = 0; i < 4; i++) results[0].algorithm.data[i] = preference->alignment[i];
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}
EMULATED_API int cublasLtMatmul(void* handle, const Description* of, const float* alpha, const void* a,
                                const Layout* layout_a, const void* b, const Layout* layout_b, const float* beta,
                                const void* c, const Layout* layout_c, void* d, const Layout* layout_d,
                                const Algorithm* algorithm, void*, size_t, CUstream stream) {
    if (int code = emulated_injected("cublasLtMatmul")) return code;
    if (!handle || !of || !alpha || !beta || !layout_a || !layout_b || !layout_c || !layout_d)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (int code = check(*of, *layout_a, *layout_b, *layout_c, *layout_d)) return code;
    if (*beta != 0 && c != d) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (of->epilogue & (kBias | kBiasGradientB) && !of->bias) return CUBLAS_STATUS_INVALID_VALUE;
    if (algorithm) {  // it was found for addresses as aligned as these
        const void* const addresses[] = {a, b, c, d};
        for (int i = 0; i < 4; i++)
            if (algorithm->data[i] && reinterpret_cast<uintptr_t>(addresses[i]) % algorithm->data[i])
                return CUBLAS_STATUS_INVALID_VALUE;
    }
    auto* job = new Job{*of,
                        *layout_a,
                        *layout_b,
                        *layout_d,
                        static_cast<const char*>(a),
                        static_cast<const char*>(b),
                        static_cast<char*>(d),
                        *alpha,
                        *beta};
    int code = emulated_enqueue(stream, "cublasLtMatmul", run, job, [](void* data) { delete static_cast<Job*>(data); });
    return code ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
