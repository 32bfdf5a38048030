// The driver of element-wise kernels: chooses runs of contiguous memory and feeds them to a kernel's loop.
#include "pointwise.h"
#include "core/copy_bytes.h"

#include "convert.h"
#include "narrow.h"
#include "strided.h"

namespace mt {
namespace {

constexpr int64_t kChunk = 512;  // elements of a buffer
constexpr int64_t kBufferBytes = kChunk * 16;
constexpr int64_t kShortRow = 160;  // below, several rows are gathered into one buffer

// Writes n copies of the element at `src`.
void splat(void* dst, const void* src, int64_t size, int64_t n) {
    visit_size(size, [&]<class T>() {
        T v;
        std::memcpy(&v, src, sizeof(T));
        T* d = static_cast<T*>(dst);
        for (int64_t i = 0; i < n; i++) d[i] = v;
    });
}

// One element of the computing type from a number or a one-element tensor.
void load_single(const Operand& o, void* dst) {
    if (o.t)
        cast_run(dst, itemsize(o.dtype), o.dtype, o.t->raw(), 0, o.t->dtype, 1);
    else
        load_number(*o.scalar, o.dtype, dst);
}

// Hands the loop in where one is asked for.
bool is_recorded(const Operand* operands, int count, int outputs, const Loop& loop) {
    LoopRecorder* recorder = LoopRecorder::here();
    if (!recorder) return false;
    std::vector<LoopOperand> found;
    for (int k = 0; k < count; k++) {
        const Operand& o = operands[k];
        found.push_back({o.t, o.t ? Value() : *o.scalar, o.dtype, Reach::All});
    }
    recorder->add(loop, std::move(found), outputs);
    return true;
}

bool same_geometry(const Tensor& a, const Tensor& out) {
    if (a.ndim != out.ndim || a.numel_ != out.numel_ || !(a.sizes() == out.sizes())) return false;
    if (a.is_contiguous() && out.is_contiguous()) return true;
    return out.is_non_overlapping_and_dense() && a.strides() == out.strides();
}

// All tensors are the same dense block: one run. Returns false if they are not.
bool run_flat(const Operand* o, int count, LoopFn loop, const void* f) {
    const Tensor& out = *o[0].t;
    int64_t n = out.numel_;
    bool single[kMaxOperands];
    bool any_single = false;
    if (out.dtype != o[0].dtype || !(out.is_contiguous() || out.is_non_overlapping_and_dense())) return false;
    for (int k = 1; k < count; k++) {
        const Tensor* t = o[k].t;
        single[k] = !t || (t->numel_ == 1 && (n != 1 || t->ndim != out.ndim || t->dtype != o[k].dtype));
        if (single[k])
            any_single = true;
        else if (t->dtype != o[k].dtype || !same_geometry(*t, out))
            return false;
    }
    char* base[kMaxOperands];
    for (int k = 0; k < count; k++) base[k] = k > 0 && single[k] ? nullptr : o[k].t->raw();
    if (!any_single) {
        int64_t size[kMaxOperands];
        if (n <= kGrain) {
            loop(base, n, f);
            return true;
        }
        for (int k = 0; k < count; k++) size[k] = itemsize(o[k].dtype);
        parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
            char* p[kMaxOperands];
            for (int k = 0; k < count; k++) p[k] = base[k] + begin * size[k];
            loop(p, end - begin, f);
        });
        return true;
    }
    alignas(64) char splats[3][kBufferBytes];
    int used = 0;
    int64_t step[kMaxOperands];
    for (int k = 0; k < count; k++) {
        step[k] = itemsize(o[k].dtype);
        if (k == 0 || !single[k]) continue;
        if (used == 3) return false;
        alignas(16) char one[16];
        load_single(o[k], one);
        splat(splats[used], one, step[k], std::min(n, kChunk));
        base[k] = splats[used++];
        step[k] = 0;
    }
    if (n <= kChunk) {
        loop(base, n, f);
        return true;
    }
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i += kChunk) {
            char* p[kMaxOperands];
            for (int k = 0; k < count; k++) p[k] = base[k] + i * step[k];
            loop(p, std::min(kChunk, end - i), f);
        }
    });
    return true;
}

struct Strided {
    const Operand* o;
    int count, outputs;
    LoopFn loop;
    const void* f;
    StridedLoop walk;
    bool direct[kMaxOperands];    // inner rows are contiguous memory of the computing type
    bool whole[kMaxOperands];     // the whole operand is one row
    bool constant[kMaxOperands];  // one element for all
    bool buffered = false;
    alignas(16) char ones[kMaxOperands][16];

    void prepare() {
        walk.start(*o[0].t);
        for (int k = 1; k < count; k++) walk.add(o[k].t && (k < outputs || o[k].t->numel_ != 1) ? o[k].t : nullptr);
        walk.finish();
        for (int k = 0; k < count; k++) {
            int64_t size = itemsize(o[k].dtype);
            constant[k] = k >= outputs && walk.base[k] == nullptr;
            if (constant[k]) load_single(o[k], ones[k]);
            bool same = o[k].t && o[k].t->dtype == o[k].dtype;
            direct[k] = !constant[k] && same && (walk.strides[k][0] == size || walk.sizes[0] == 1);
            int64_t expected = size;
            whole[k] = direct[k];
            for (int64_t d = 0; whole[k] && d < walk.ndim; d++) {
                whole[k] = walk.strides[k][d] == expected;
                expected *= walk.sizes[d];
            }
            buffered = buffered || !direct[k];
        }
    }

    int64_t size_of(int k) const { return itemsize(o[k].dtype); }

    // Rows long enough to be runs of their own.
    void long_rows(int64_t begin, int64_t end) const {
        alignas(64) char buffers[kMaxOperands][kBufferBytes];
        int64_t n0 = walk.sizes[0];
        for (int k = 0; k < count; k++)
            if (constant[k]) splat(buffers[k], ones[k], size_of(k), std::min(n0, kChunk));
        walk.each_row(begin, end, [&](int64_t pos, int64_t length, const int64_t* offsets) {
            int64_t row_end = pos + length;
            char* at[kMaxOperands];
            char* p[kMaxOperands];
            for (int k = 0; k < count; k++) {
                at[k] = constant[k] ? nullptr : walk.base[k] + offsets[k];
                bool repeated = k >= outputs && !constant[k] && walk.strides[k][0] == 0;
                if (repeated) {
                    alignas(16) char one[16];
                    cast_run(one, 16, o[k].dtype, at[k], 0, o[k].t->dtype, 1);
                    splat(buffers[k], one, size_of(k), std::min(row_end - pos, kChunk));
                    at[k] = nullptr;
                }
            }
            while (pos < row_end) {
                int64_t m = buffered ? std::min(kChunk, row_end - pos) : row_end - pos;
                for (int k = 0; k < count; k++) {
                    p[k] = direct[k] && at[k] ? at[k] : buffers[k];
                    if (k >= outputs && at[k] && !direct[k])
                        cast_run(buffers[k], size_of(k), o[k].dtype, at[k], walk.strides[k][0], o[k].t->dtype, m);
                }
                loop(p, m, f);
                for (int k = 0; k < count; k++) {
                    if (!at[k]) continue;
                    if (k < outputs && !direct[k])
                        cast_run(at[k], walk.strides[k][0], o[k].t->dtype, buffers[k], size_of(k), o[k].dtype, m);
                    at[k] += m * walk.strides[k][0];
                }
                pos += m;
            }
        });
    }

    // Elements [pos, pos + m) of operand k, which needs no cast, one after another. Of rows too short for a copy of
    // their own the first elements are moved, then the second ones, and so on.
    void gather(int k, int64_t pos, int64_t m, char* to) const {
        const int64_t n = walk.sizes[0], size = size_of(k), step = walk.strides[k][0], row_step = walk.strides[k][1];
        while (m > 0) {
            const int64_t row = pos / n, first = pos % n;
            const char* from = walk.base[k] + first * step;
            int64_t rest = row;
            for (int64_t d = 1; d < walk.ndim; d++) {
                from += rest % walk.sizes[d] * walk.strides[k][d];
                rest /= walk.sizes[d];
            }
            const int64_t length = std::min(m, n - first);
            const int64_t rows = length < n ? 1 : std::min(m / n, walk.sizes[1] - row % walk.sizes[1]);
            if (step == size && length * size >= 32)
                for (int64_t r = 0; r < rows; r++)
                    copy_bytes(to + r * n * size, from + r * row_step, static_cast<size_t>(length * size));
            else if (step == 0 && length >= 8)
                for (int64_t r = 0; r < rows; r++) splat(to + r * n * size, from + r * row_step, size, length);
            else
                visit_size(size, [&]<class T>() {
                    for (int64_t i = 0; i < length; i++)
                        for (int64_t r = 0; r < rows; r++)
                            std::memcpy(to + (r * n + i) * size, from + r * row_step + i * step, sizeof(T));
                });
            pos += rows * length, m -= rows * length, to += rows * length * size;
        }
    }

    // Short rows: several are gathered into a buffer, worked on as one run, and scattered.
    void short_rows(int64_t begin, int64_t end) const {
        alignas(64) char buffers[kMaxOperands][kBufferBytes];
        for (int k = 0; k < count; k++)
            if (constant[k]) splat(buffers[k], ones[k], size_of(k), std::min(end - begin, kChunk));
        const int64_t n = walk.sizes[0], some = kChunk / n * n;
        for (int64_t pos = begin, m; pos < end; pos += m) {
            m = std::min(some - pos % n, end - pos);  // up to the end of a row
            char* p[kMaxOperands];
            for (int k = 0; k < count; k++) {
                p[k] = whole[k] ? walk.base[k] + pos * size_of(k) : buffers[k];
                if (whole[k] || constant[k] || k < outputs) continue;
                if (o[k].t->dtype == o[k].dtype) {
                    gather(k, pos, m, buffers[k]);
                    continue;
                }
                char* to = buffers[k];
                walk.rows(k, pos, m, [&](int64_t at, int64_t n) {
                    cast_run(to, size_of(k), o[k].dtype, walk.base[k] + at, walk.strides[k][0], o[k].t->dtype, n);
                    to += n * size_of(k);
                });
            }
            loop(p, m, f);
            for (int k = 0; k < outputs; k++) {
                if (whole[k]) continue;
                const char* from = buffers[k];
                walk.rows(k, pos, m, [&](int64_t at, int64_t n) {
                    cast_run(walk.base[k] + at, walk.strides[k][0], o[k].t->dtype, from, size_of(k), o[k].dtype, n);
                    from += n * size_of(k);
                });
            }
        }
    }
};

// What a run over 16-bit floats is given: float's loop, and where its inputs come from.
struct Narrow {
    LoopFn loop;
    const void* f;
    int inputs;
    int64_t item;              // bytes of a result that stays as the loop gives it; 0: a float, to be rounded
    int source[kMaxOperands];  // which run an input is; 0 (that of the output): it is a number
    bool wide[kMaxOperands];   // float already
    float number[kMaxOperands];
};

// Small enough for all blocks to lie in the first-level cache, long enough for the calls of the loop not to count.
constexpr int64_t kNarrowBlock = 256;

template <class D>
void narrow_loop(char* const* p, int64_t n, const void* f) {
    const Narrow& job = *static_cast<const Narrow*>(f);
    alignas(64) float x[kMaxOperands][kNarrowBlock];  // the results first, as the loop has them
    char* block[kMaxOperands];
    for (int k = 0; k <= job.inputs; k++) {
        block[k] = reinterpret_cast<char*>(x[k]);
        if (k > 0 && job.source[k] == 0) std::fill(x[k], x[k] + std::min(kNarrowBlock, n), job.number[k]);
    }
    for (int64_t i = 0; i < n; i += kNarrowBlock) {
        const int64_t m = std::min(kNarrowBlock, n - i);
        for (int k = 1; k <= job.inputs; k++) {
            if (job.source[k] == 0) continue;
            char* from = p[job.source[k]];
            if (job.wide[k])
                block[k] = from + i * 4;
            else
                widen(reinterpret_cast<const D*>(from) + i, x[k], m);
        }
        if (job.item) block[0] = p[0] + i * job.item;
        job.loop(block, m, job.f);
        if (!job.item) narrow(x[0], reinterpret_cast<D*>(p[0]) + i, m);
    }
}

}  // namespace

void load_number(const Value& v, DType dtype, void* dst) {
    switch (v.tag) {
        case Tag::Bool:
            return cast_run(dst, 0, dtype, &v.b, 0, DType::Bool, 1);
        case Tag::Int:
            return cast_run(dst, 0, dtype, &v.i, 0, v.is_unsigned() ? DType::UInt64 : DType::Int64, 1);
        case Tag::Double:
            return cast_run(dst, 0, dtype, &v.d, 0, DType::Float64, 1);
        case Tag::Complex:
            return cast_run(dst, 0, dtype, v.z, 0, DType::Complex128, 1);
        default:
            MT_THROW(Type, "expected a number");
    }
}

void run_narrow(const Operand* operands, int count, DType narrow, const Loop& loop) {
    if (is_recorded(operands, count, 1, loop)) return;
    Narrow job{loop.run, loop.state, count - 1, 0, {}, {}, {}};
    Operand tensors[kMaxOperands] = {operands[0]};
    int used = 1;
    if (operands[0].dtype == DType::Float32)
        tensors[0].dtype = narrow;
    else
        job.item = itemsize(operands[0].dtype);
    for (int k = 1; k < count; k++) {
        const Operand& o = operands[k];
        if (!o.t) {
            job.number[k] = o.scalar->to<float>();
            continue;
        }
        job.source[k] = used;
        job.wide[k] = o.t->dtype != narrow;
        tensors[used++] = {o.t, nullptr, job.wide[k] ? DType::Float32 : narrow};
    }
    const LoopFn run = narrow == DType::BFloat16 ? narrow_loop<BFloat16> : narrow_loop<Half>;
    run_pointwise(tensors, used, 1, {run, &job});
}

void run_pointwise(const Operand* operands, int count, int outputs, const Loop& loop) {
    if (is_recorded(operands, count, outputs, loop)) return;
    if (operands[0].t->numel_ == 0) return;
    if (outputs == 1 && run_flat(operands, count, loop.run, loop.state)) return;
    Strided s{operands, count, outputs, loop.run, loop.state, {}, {}, {}, {}, false, {}};
    s.prepare();
    bool short_rows = s.walk.ndim > 1 && s.walk.sizes[0] < kShortRow;
    parallel_for(s.walk.numel, kGrain / 2,
                 [&](int64_t begin, int64_t end) { short_rows ? s.short_rows(begin, end) : s.long_rows(begin, end); });
}

}  // namespace mt
