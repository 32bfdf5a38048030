// The machine behind torch.compile: runs the loops of several kernels over blocks that stay in the first-level cache.
//
// The space of elements is walked in memory order. A block of it is loaded (where an input does not lie in that order
// it is gathered), each loop runs over the block, and results go straight to where they belong. Programs of rows take
// whole rows at a time, so that a reduction and what follows it see a row while it is in the cache.
#include "core/fused.h"
#include "core/copy_bytes.h"

#include <algorithm>
#include <memory>

#include "convert.h"
#include "pointwise.h"
#include "strided_walk.h"

namespace mt {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kCache = 24 * 1024;  // of a first-level cache, for the buffers of one block
constexpr int64_t kLargestBlock = 1024, kSmallestBlock = 128;
constexpr int64_t kShortRun = 256;  // of an input: below, several runs are gathered into a block

// What a step does, with places of values in the table of pointers.
struct Action {
    enum Kind : uint8_t { Run, RunRows, Convert, Repeat } kind = Run;
    Reach reach = Reach::All;  // of the elements that it works on
    LoopFn run = nullptr;
    const void* state = nullptr;
    std::vector<int> values;
};

struct Plan {
    std::vector<Action> actions;
    std::vector<int> buffer;     // of a value; -1: it has none of its own
    std::vector<int> output;     // the output that a value is written to; -1: none
    std::vector<bool> is_input;  // also Columns
    int64_t slot = 0;            // bytes of an element of a buffer
    int buffers = 0;
    int64_t space = 1, row = 1;  // elements; of a row, 1 without rows
    int64_t block = 0;           // elements
    Dims sizes;                  // in the order of memory, the innermost first
    std::vector<int64_t> size;   // bytes of an element of each value
    std::vector<std::array<char, 16>> numbers;
};

// The elements of an input along the space.
struct Source {
    enum Form : uint8_t { Dense, Constant, Strided } form = Dense;
    char* base = nullptr;
    int ndim = 0;
    int64_t sizes[16], strides[16];  // the innermost first; in bytes

    void set(const Tensor& t, const FusedProgram& p, const Plan& plan, Reach reach) {
        base = t.raw();
        const int64_t n = p.sizes.size();
        Dims steps = broadcast_strides(t, n);
        const int64_t item = t.itemsize();
        ndim = 0;
        // Of an element for each row the dimensions before the row count: in the order, dimensions of size 1 come
        // first, those of the row among them.
        const int64_t counted = reach == Reach::Row ? n - p.row_dims : n;
        for (int64_t k = n - 1; k >= 0; k--) {
            const int64_t d = p.order[k], size = p.sizes[d], step = steps[d] * item;
            if (size == 1 || d >= counted) continue;
            if (ndim > 0 && step == strides[ndim - 1] * sizes[ndim - 1]) {
                sizes[ndim - 1] *= size;
                continue;
            }
            MT_CHECK(ndim < 16, "tensors of more than 16 dimensions are not fused");
            sizes[ndim] = size;
            strides[ndim++] = step;
        }
        if (ndim == 0) {
            sizes[0] = 1, strides[0] = 0, ndim = 1;
        }
        form = ndim > 1 ? Strided : strides[0] == item ? Dense : strides[0] == 0 ? Constant : Strided;
        if (form == Constant && sizes[0] == 1) form = Constant;
    }

    // Where element `pos` is, and how many follow it in the same run.
    const char* at(int64_t pos, int64_t* left) const {
        *left = sizes[0] - pos % sizes[0];
        const char* p = base + pos % sizes[0] * strides[0];
        int64_t rest = pos / sizes[0];
        for (int d = 1; d < ndim; d++) {
            p += rest % sizes[d] * strides[d];
            rest /= sizes[d];
        }
        return p;
    }
};

template <class T>
void copy_run(char* to, const char* from, int64_t step, int64_t n) {
    T* d = reinterpret_cast<T*>(to);
    if (step == 0) {
        T v;
        std::memcpy(&v, from, sizeof(T));
        for (int64_t i = 0; i < n; i++) d[i] = v;
    } else {
        for (int64_t i = 0; i < n; i++) std::memcpy(d + i, from + i * step, sizeof(T));
    }
}
void copy_run(char* to, const char* from, int64_t step, int64_t size, int64_t n) {
    if (step == size) {
        copy_bytes(to, from, static_cast<size_t>(n * size));
        return;
    }
    visit_size(size, [&]<class T>() { copy_run<T>(to, from, step, n); });
}

// Elements [pos, pos + n), one after another.
void gather(const Source& s, int64_t size, int64_t pos, int64_t n, char* to) {
    int64_t index[16];
    int64_t rest = pos;
    const char* from = s.base;
    for (int d = 0; d < s.ndim; d++) {
        index[d] = rest % s.sizes[d];
        rest /= s.sizes[d];
        from += index[d] * s.strides[d];
    }
    while (true) {
        const int64_t m = std::min(n, s.sizes[0] - index[0]);
        copy_run(to, from, s.strides[0], size, m);
        n -= m;
        if (n <= 0) return;
        to += m * size;
        from -= index[0] * s.strides[0];
        index[0] = 0;
        for (int d = 1; d < s.ndim; d++) {
            from += s.strides[d];
            if (++index[d] < s.sizes[d]) break;
            from -= s.sizes[d] * s.strides[d];
            index[d] = 0;
        }
    }
}

// ---- before the first call ----

// Buffers of values that are needed no more are taken again, at best by the step that reads them last.
void assign_buffers(const FusedProgram& p, Plan& plan) {
    const int count = static_cast<int>(p.values.size()), steps = static_cast<int>(plan.actions.size());
    std::vector<int> last(static_cast<size_t>(count), -1);
    for (int s = 0; s < steps; s++)
        for (int v : plan.actions[static_cast<size_t>(s)].values) last[static_cast<size_t>(v)] = s;
    plan.buffer.assign(static_cast<size_t>(count), -1);
    std::vector<int> unused;
    auto take = [&] {
        if (unused.empty()) return plan.buffers++;
        const int b = unused.back();
        unused.pop_back();
        return b;
    };
    for (const FusedNumber& n : p.numbers) plan.buffer[static_cast<size_t>(n.value)] = plan.buffers++;
    for (int v = 0; v < p.inputs; v++)
        if (p.values[static_cast<size_t>(v)].reach != Reach::Columns)
            plan.buffer[static_cast<size_t>(v)] = plan.buffers++;  // a constant stays for the whole run
    for (int s = 0; s < steps; s++) {
        const Action& a = plan.actions[static_cast<size_t>(s)];
        const int outputs =
            a.kind == Action::Run || a.kind == Action::RunRows ? p.steps[static_cast<size_t>(s)].loop->outputs : 1;
        auto free_inputs = [&] {
            for (size_t k = static_cast<size_t>(outputs); k < a.values.size(); k++) {
                const size_t v = static_cast<size_t>(a.values[k]);
                if (last[v] != s || a.values[k] < p.inputs || plan.buffer[v] < 0 || plan.output[v] >= 0) continue;
                if (std::any_of(p.numbers.begin(), p.numbers.end(),
                                [&](const FusedNumber& n) { return n.value == a.values[k]; }))
                    continue;
                if (std::find(unused.begin(), unused.end(), plan.buffer[v]) == unused.end())
                    unused.push_back(plan.buffer[v]);
            }
        };
        // An element-wise loop may write where it reads, if elements are of the same size.
        bool in_place = a.kind == Action::Run && outputs == 1;
        for (int v : a.values)
            in_place = in_place && plan.size[static_cast<size_t>(v)] == plan.size[static_cast<size_t>(a.values[0])];
        if (in_place) free_inputs();
        for (int k = 0; k < outputs; k++) {
            const size_t v = static_cast<size_t>(a.values[static_cast<size_t>(k)]);
            if (plan.output[v] < 0) plan.buffer[v] = take();
        }
        if (!in_place) free_inputs();
        for (int k = 0; k < outputs; k++) {  // a result that nobody reads
            const size_t v = static_cast<size_t>(a.values[static_cast<size_t>(k)]);
            if (last[v] == s && plan.output[v] < 0) unused.push_back(plan.buffer[v]);
        }
    }
}

void prepare(FusedProgram& p) {
    auto made = std::make_shared<Plan>();
    Plan& plan = *made;
    const size_t count = p.values.size();
    plan.output.assign(count, -1);
    plan.is_input.assign(count, false);
    for (const FusedValue& v : p.values) {
        plan.size.push_back(itemsize(v.dtype));
        plan.slot = std::max(plan.slot, itemsize(v.dtype));
    }
    for (size_t k = 0; k < p.outputs.size(); k++)
        plan.output[static_cast<size_t>(p.outputs[k].value)] = static_cast<int>(k);
    for (const FusedStep& s : p.steps) {
        Action a;
        a.values = s.values;
        const FusedValue& first = p.values[static_cast<size_t>(s.values[0])];
        a.reach = first.reach;
        if (s.loop) {
            a.run = s.loop->run;
            static const std::max_align_t none{};  // a loop that captured nothing reads an object all the same
            a.state = s.loop->state ? s.loop->state.get() : &none;
            a.kind = s.loop->row >= 0 ? Action::RunRows : Action::Run;
            if (a.kind == Action::RunRows) a.reach = Reach::All;
        } else {
            const FusedValue& second = p.values[static_cast<size_t>(s.values[1])];
            a.kind = first.reach == second.reach ? Action::Convert : Action::Repeat;
        }
        plan.actions.push_back(std::move(a));
    }
    const int64_t n = p.sizes.size();
    for (int64_t d = 0; d < n; d++) plan.space *= p.sizes[d];
    for (int64_t d = n - p.row_dims; d < n; d++) plan.row *= p.sizes[d];
    assign_buffers(p, plan);
    const int64_t streams = std::max<int64_t>(1, plan.buffers + static_cast<int64_t>(p.outputs.size()));
    plan.block = std::clamp(kCache / (streams * plan.slot) / 64 * 64, kSmallestBlock, kLargestBlock);
    if (p.row_dims)
        plan.block = std::max<int64_t>(1, plan.block / std::max<int64_t>(1, plan.row)) * std::max<int64_t>(1, plan.row);
    for (const FusedNumber& number : p.numbers) {
        plan.numbers.emplace_back();
        load_number(number.number, p.values[static_cast<size_t>(number.value)].dtype, plan.numbers.back().data());
    }
    p.prepared = std::move(made);
}

// ---- a call ----

struct Job {
    const FusedProgram& p;
    const Plan& plan;
    Tensor* const* outputs;
    std::vector<Source> sources;
    int64_t block, unit;  // elements; no block crosses a multiple of `unit`

    bool dense(int v) const { return sources[static_cast<size_t>(v)].form == Source::Dense; }

    // The elements [begin, end), whole rows of a program of rows.
    void run(int64_t begin, int64_t end) const {
        const int64_t bytes = (block * plan.slot + kAlign - 1) / kAlign * kAlign;
        std::unique_ptr<char[]> memory(new char[static_cast<size_t>(bytes * plan.buffers + kAlign)]);
        char* first = memory.get() + (kAlign - reinterpret_cast<uintptr_t>(memory.get()) % kAlign) % kAlign;
        const size_t count = p.values.size();
        std::vector<char*> own(count, nullptr), at(count, nullptr);
        for (size_t v = 0; v < count; v++)
            if (plan.buffer[v] >= 0) own[v] = first + plan.buffer[v] * bytes;
        at = own;
        const int64_t most = std::min(block, end - begin);
        for (size_t k = 0; k < p.numbers.size(); k++) {
            const size_t v = static_cast<size_t>(p.numbers[k].value);
            copy_run(own[v], plan.numbers[k].data(), 0, plan.size[v], most);
        }
        for (size_t v = 0; v < static_cast<size_t>(p.inputs); v++) {
            const Source& s = sources[v];
            if (p.values[v].reach == Reach::Columns)
                at[v] = s.base;
            else if (s.form == Source::Constant)
                copy_run(own[v], s.base, 0, plan.size[v], most);
        }
        for (int64_t pos = begin, n; pos < end; pos += n) {
            n = std::min({block, end - pos, unit - pos % unit});
            one_block(pos, n, own.data(), at.data());
        }
    }

    void one_block(int64_t pos, int64_t n, char* const* own, char** at) const {
        const int64_t row = plan.row, first_row = p.row_dims ? pos / row : 0, rows = p.row_dims ? n / row : 0;
        auto begin_of = [&](size_t v) { return p.values[v].reach == Reach::All ? pos : first_row; };
        auto length_of = [&](Reach reach) { return reach == Reach::All ? n : reach == Reach::Row ? rows : row; };
        for (size_t v = 0; v < static_cast<size_t>(p.inputs); v++) {
            const Source& s = sources[v];
            const int64_t size = plan.size[v];
            if (p.values[v].reach == Reach::Columns || s.form == Source::Constant) continue;
            if (s.form == Source::Dense) {
                at[v] = s.base + begin_of(v) * size;
                continue;
            }
            const int64_t length = length_of(p.values[v].reach);
            int64_t left;
            const char* from = s.at(begin_of(v), &left);
            if (s.strides[0] == size && left >= length) {
                at[v] = const_cast<char*>(from);
            } else {
                at[v] = own[v];
                gather(s, size, begin_of(v), length, own[v]);
            }
        }
        for (size_t k = 0; k < p.outputs.size(); k++) {
            const size_t v = static_cast<size_t>(p.outputs[k].value);
            at[v] = outputs[k]->raw() + begin_of(v) * plan.size[v];
        }
        for (const Action& a : plan.actions) {
            char* q[kMostStepValues];
            const size_t m = a.values.size();
            for (size_t k = 0; k < m; k++) q[k] = at[a.values[k]];
            switch (a.kind) {
                case Action::Run:
                    a.run(q, length_of(a.reach), a.state);
                    break;
                case Action::RunRows: {
                    int64_t step[kMostStepValues];
                    for (size_t k = 0; k < m; k++) {
                        const size_t v = static_cast<size_t>(a.values[k]);
                        const Reach reach = p.values[v].reach;
                        step[k] = reach == Reach::All ? row * plan.size[v] : reach == Reach::Row ? plan.size[v] : 0;
                    }
                    for (int64_t r = 0; r < rows; r++) {
                        a.run(q, row, a.state);
                        for (size_t k = 0; k < m; k++) q[k] += step[k];
                    }
                    break;
                }
                case Action::Convert: {
                    const size_t to = static_cast<size_t>(a.values[0]), from = static_cast<size_t>(a.values[1]);
                    cast_run(q[0], plan.size[to], p.values[to].dtype, q[1], plan.size[from], p.values[from].dtype,
                             length_of(a.reach));
                    break;
                }
                case Action::Repeat: {
                    const int64_t size = plan.size[static_cast<size_t>(a.values[0])];
                    for (int64_t r = 0; r < rows; r++) copy_run(q[0] + r * row * size, q[1] + r * size, 0, size, row);
                    break;
                }
            }
        }
    }
};

void run(const FusedProgram& p, Tensor* const* inputs, Tensor* const* outputs) {
    const Plan& plan = *static_cast<const Plan*>(p.prepared.get());
    if (plan.space == 0) return;
    Job job{p, plan, outputs, std::vector<Source>(static_cast<size_t>(p.inputs)), plan.block, plan.space};
    std::vector<TensorRef> held;
    for (int v = 0; v < p.inputs; v++) {
        const Tensor* t = inputs[v];
        Source& s = job.sources[static_cast<size_t>(v)];
        const Reach reach = p.values[static_cast<size_t>(v)].reach;
        if (reach == Reach::Columns) {
            held.push_back(contiguous(*t));
            s.base = held.back()->raw();
            continue;
        }
        s.set(*t, p, plan, reach);
        // Rows that are long enough are runs of their own: no block begins in one and ends in the next.
        if (!p.row_dims && s.form == Source::Strided && s.sizes[0] >= kShortRun && plan.space % s.sizes[0] == 0 &&
            (s.sizes[0] < job.unit || job.unit % s.sizes[0]))
            job.unit = s.sizes[0] < job.unit ? s.sizes[0] : job.unit;
    }
    if (p.row_dims) job.unit = plan.space;
    if (job.unit < plan.space && job.unit > job.block) {  // pieces of a row of one length
        const int64_t pieces = (job.unit + job.block - 1) / job.block;
        job.block = std::min(job.block, ((job.unit + pieces - 1) / pieces + 15) / 16 * 16);
    }
    job.block = std::min(job.block, plan.space);
    const int64_t piece = p.row_dims ? std::max<int64_t>(1, job.block / plan.row) * plan.row : job.block;
    const int64_t pieces = (plan.space + piece - 1) / piece;
    const int64_t work = piece * std::max<int64_t>(1, static_cast<int64_t>(plan.actions.size()) / 2);
    parallel_for(pieces, grain_for(work),
                 [&](int64_t b, int64_t e) { job.run(b * piece, std::min(e * piece, plan.space)); });
}

}  // namespace

KERNELS
{
    set_fused_machine({prepare, run});
}

}  // namespace mt
