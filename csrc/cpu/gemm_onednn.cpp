// Matrix products through oneDNN.
#include <signal.h>

#include <omp.h>

#include <atomic>

#include "gemm.h"
#include "int8_product.h"
#include "onednn.h"

namespace mt {

namespace {
std::atomic<dnnl_status_t> g_refused{dnnl_success};  // products run where nothing can be thrown
}

void check_sgemm() {
    if (g_refused.load(std::memory_order_relaxed) != dnnl_success)
        onednn::check(g_refused.exchange(dnnl_success), "sgemm");
}

namespace {
// A signal that arrives within sgemm's AVX-512 code ruins memory (oneDNN 3; a handler that does nothing is enough).
class WithoutSignals {
  public:
    WithoutSignals() : here_(omp_get_thread_num() == 0) {  // worker threads take none anyway: run_ranges
        if (!here_) return;
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    ~WithoutSignals() {
        if (here_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    WithoutSignals(const WithoutSignals&) = delete;
    WithoutSignals& operator=(const WithoutSignals&) = delete;

  private:
    bool here_;
    sigset_t before_;
};
}  // namespace

Sgemm onednn_sgemm() {
    if (!onednn::is_wanted()) return nullptr;
    onednn::api();
    onednn::use_our_thread_count();
    return [](bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
              int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
        WithoutSignals held;
        dnnl_status_t status = onednn::api().dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k,
                                                        alpha, a, lda, b, ldb, beta, c, ldc);
        if (status != dnnl_success) g_refused.store(status, std::memory_order_relaxed);
    };
}

namespace {

// Whether sgemm is the slower one, as measured in docs/decisions/gemm.md: with a layer's weight, which is stored as the
// transpose, while the other operand has few rows; it divides those badly among threads and knows no bias.
bool is_layer_of_few_rows(const Product& p) {
    if (p.batch != 1 || p.a_col != 1 || p.b_row != 1 || p.b_col == 1 || omp_in_parallel()) return false;
    const bool alone = num_threads() == 1;
    const int64_t most_rows = alone ? 512 : p.bias ? 2048 : 1024;
    // A primitive takes 1 ms to create, once for each shape, which a network's layers share. Of many rows, whose number
    // changes from batch to batch, only large products save that much.
    const int64_t least_work = p.m > 512 ? 1 << 28 : p.m < 16 ? 1 << 26 : alone ? 1 << 24 : 1 << 22;
    return p.m <= most_rows && p.m * p.n * p.k >= least_work;
}

bool suits_primitive(const Product& p) {
    if (!onednn::is_wanted() || p.alpha != 1.0 || p.beta != 0.0) return false;
    // bfloat16 as it is, where the processor multiplies pairs; without that, widening is ten times faster than
    // oneDNN's emulation.
    if (p.dtype == DType::BFloat16) return onednn::has_native_bfloat16() && p.batch * p.m * p.n * p.k >= 1 << 15;
    return p.dtype == DType::Float32 && kOneOrder && is_layer_of_few_rows(p);
}

}  // namespace

bool multiplies_bfloat16() { return onednn::is_wanted() && onednn::has_native_bfloat16(); }

bool onednn_product(const Product& p) {
    if (!suits_primitive(p)) return false;
    if (p.batch > 1 && p.a_batch == 0 && p.b_batch == 0) {  // one of the two must have the batch, says oneDNN
        Product one = p;
        one.batch = 1;
        for (int64_t i = 0; i < p.batch; i++) {
            one.c = static_cast<char*>(p.c) + i * p.c_batch * itemsize(p.dtype);
            if (!onednn_product(one)) return false;  // the first, if any
        }
        return true;
    }
    const dnnl_data_type_t type = p.dtype == DType::BFloat16 ? dnnl_bf16 : dnnl_f32;
    onednn::Key key;
    key.add(int64_t{1});
    key.add(int64_t{type});
    for (int64_t v : {p.batch, p.m, p.n, p.k, p.a_batch, p.a_row, p.a_col, p.b_batch, p.b_row, p.b_col, p.c_batch,
                      p.c_row, int64_t(p.bias != nullptr)})
        key.add(v);
    onednn::Primitive& primitive = onednn::cached(key, [&](onednn::Primitive& fresh) {
        bool batched = p.batch > 1;
        auto operand = [&](int64_t batch_stride, int64_t rows, int64_t cols, int64_t row, int64_t col) {
            Dims sizes = batched ? Dims{batch_stride == 0 ? 1 : p.batch, rows, cols} : Dims{rows, cols};
            Dims strides = batched ? Dims{batch_stride == 0 ? rows * cols : batch_stride, row, col} : Dims{row, col};
            return onednn::Operand(sizes, strides, type);
        };
        onednn::Operand a = operand(p.a_batch, p.m, p.k, p.a_row, p.a_col),
                        b = operand(p.b_batch, p.k, p.n, p.b_row, p.b_col),
                        c = operand(p.c_batch, p.m, p.n, p.c_row, 1), bias = operand(0, 1, p.n, p.n, 1);
        const onednn::Api& api = onednn::api();
        dnnl_memory_desc_t da = a.plain(), db = b.plain(), dc = c.plain(), dbias = p.bias ? bias.plain() : nullptr;
        dnnl_primitive_desc_t description = nullptr;
        dnnl_status_t status =
            api.dnnl_matmul_primitive_desc_create(&description, api.engine, da, db, dbias, dc, nullptr);
        for (dnnl_memory_desc_t d : {da, db, dc, dbias})
            if (d) api.dnnl_memory_desc_destroy(d);
        onednn::check(status, "matmul");
        fresh.create(description);
        fresh.bind(DNNL_ARG_SRC, a, dnnl_query_src_md, 0, false);
        fresh.bind(DNNL_ARG_WEIGHTS, b, dnnl_query_weights_md, 0, false);
        fresh.bind(DNNL_ARG_DST, c, dnnl_query_dst_md, 0, true);
        if (p.bias) fresh.bind(DNNL_ARG_BIAS, bias, dnnl_query_weights_md, 1, false);
    });
    void *a = const_cast<void*>(p.a), *b = const_cast<void*>(p.b), *bias = const_cast<void*>(p.bias);
    if (p.bias)
        primitive.execute({a, b, p.c, bias});
    else
        primitive.execute({a, b, p.c});
    return true;
}

bool onednn_int8_product(int64_t m, int64_t n, int64_t k, const void* a, bool a_is_signed, const int8_t* b,
                         int32_t* c) {
    if (!onednn::has_exact_int8() || !onednn::is_wanted() || m * n * k < 1 << 15) return false;
    onednn::Key key;
    for (int64_t word : {int64_t{2}, m, n, k, int64_t{a_is_signed}}) key.add(word);
    onednn::Primitive& primitive = onednn::cached(key, [&](onednn::Primitive& fresh) {
        const onednn::Operand x({m, k}, {k, 1}, a_is_signed ? dnnl_s8 : dnnl_u8), w({k, n}, {1, k}, dnnl_s8),
            y({m, n}, {n, 1}, dnnl_s32);
        const onednn::Api& api = onednn::api();
        dnnl_memory_desc_t dx = x.plain(), dw = w.plain(), dy = y.plain();
        dnnl_primitive_desc_t description = nullptr;
        dnnl_status_t status =
            api.dnnl_matmul_primitive_desc_create(&description, api.engine, dx, dw, nullptr, dy, nullptr);
        for (dnnl_memory_desc_t d : {dx, dw, dy}) api.dnnl_memory_desc_destroy(d);
        onednn::check(status, "matmul of int8");
        fresh.create(description);
        fresh.bind(DNNL_ARG_SRC, x, dnnl_query_src_md, 0, false);
        fresh.bind(DNNL_ARG_WEIGHTS, w, dnnl_query_weights_md, 0, false);
        fresh.bind(DNNL_ARG_DST, y, dnnl_query_dst_md, 0, true);
    });
    primitive.execute({const_cast<void*>(a), const_cast<int8_t*>(b), c});
    return true;
}

}  // namespace mt
