// Matrix products through oneDNN.
#include <atomic>

#include "gemm.h"
#include "onednn.h"

namespace mt {

namespace {
std::atomic<dnnl_status_t> g_refused{dnnl_success};  // products run where nothing can be thrown
}

void check_sgemm() {
    if (g_refused.load(std::memory_order_relaxed) != dnnl_success)
        onednn::check(g_refused.exchange(dnnl_success), "sgemm");
}

Sgemm onednn_sgemm() {
    if (!onednn::is_wanted()) return nullptr;
    onednn::api();
    onednn::use_our_thread_count();
    return [](bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
              int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
        dnnl_status_t status = onednn::api().dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k,
                                                        alpha, a, lda, b, ldb, beta, c, ldc);
        if (status != dnnl_success) g_refused.store(status, std::memory_order_relaxed);
    };
}

// bfloat16 as it is, where the processor multiplies pairs; without that, widening is ten times faster than oneDNN's
// emulation.
static constexpr int64_t kOneDnnBfloat16Work = 1 << 15;

bool onednn_bfloat16_product(const Product& p) {
    if (!onednn::is_wanted() || !onednn::has_native_bfloat16()) return false;
    if (p.alpha != 1.0 || p.beta != 0.0 || p.batch * p.m * p.n * p.k < kOneDnnBfloat16Work) return false;
    onednn::Key key;
    key.add(int64_t{1});
    for (int64_t v : {p.batch, p.m, p.n, p.k, p.a_batch, p.a_row, p.a_col, p.b_batch, p.b_row, p.b_col, p.c_batch,
                      p.c_row, int64_t(p.bias != nullptr)})
        key.add(v);
    onednn::Primitive& primitive = onednn::cached(key, [&](onednn::Primitive& fresh) {
        bool batched = p.batch > 1;
        auto operand = [&](int64_t batch_stride, int64_t rows, int64_t cols, int64_t row, int64_t col) {
            Dims sizes = batched ? Dims{batch_stride == 0 ? 1 : p.batch, rows, cols} : Dims{rows, cols};
            Dims strides = batched ? Dims{batch_stride == 0 ? rows * cols : batch_stride, row, col} : Dims{row, col};
            return onednn::Operand(sizes, strides, dnnl_bf16);
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
        onednn::check(status, "bfloat16 matmul");
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

}  // namespace mt
