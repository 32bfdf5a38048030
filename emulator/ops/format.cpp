// Casts of storage formats: the same elements in rows or in blocks. Padding is zero.
#include "op.h"

using namespace emu;

namespace {

// One dimension of what lies in memory: all of a dimension of the tensor, or its blocks, or what is within one.
struct Part {
    int of;
    enum { All, Outer, Inner } kind;
    int64_t block;
};
struct Laid {
    std::vector<Part> parts;
    Shape sizes;  // of what lies in memory
};

Laid laid(aclFormat format, const View& v) {
    int64_t width = 32 / static_cast<int64_t>(itemsize(v.dtype));
    Laid r;
    auto all = [&](int d) { r.parts.push_back({d, Part::All, 1}); };
    auto outer = [&](int d, int64_t n) { r.parts.push_back({d, Part::Outer, n}); };
    auto inner = [&](int d, int64_t n) { r.parts.push_back({d, Part::Inner, n}); };
    auto rank = [&](int n, const char* name) {
        if (v.rank != n) reject(name, " takes ", n, " dimensions, not ", v.rank);
    };
    switch (format) {
        case ACL_FORMAT_FRACTAL_NZ:
            for (int d = 0; d < v.rank - 2; d++) all(d);
            outer(v.rank - 1, width), outer(v.rank - 2, 16), inner(v.rank - 2, 16), inner(v.rank - 1, width);
            break;
        case ACL_FORMAT_NC1HWC0:
            rank(4, "NC1HWC0");
            all(0), outer(1, width), all(2), all(3), inner(1, width);
            break;
        case ACL_FORMAT_FRACTAL_Z:
            rank(4, "FRACTAL_Z");
            outer(1, width), all(2), all(3), outer(0, 16), inner(0, 16), inner(1, width);
            break;
        case ACL_FORMAT_NDC1HWC0:
            rank(5, "NDC1HWC0");
            all(0), all(2), outer(1, width), all(3), all(4), inner(1, width);
            break;
        case ACL_FRACTAL_Z_3D:
            rank(5, "FRACTAL_Z_3D");
            all(2), outer(1, width), all(3), all(4), outer(0, 16), inner(0, 16), inner(1, width);
            break;
        default:
            for (int d = 0; d < v.rank; d++) all(d);
    }
    for (const Part& p : r.parts) {
        int64_t n = v.sizes[p.of];
        r.sizes.push_back(p.kind == Part::All ? n : p.kind == Part::Outer ? (n + p.block - 1) / p.block : p.block);
    }
    return r;
}
// The number in memory of an element.
int64_t place(const Laid& l, const int64_t* index) {
    int64_t at = 0;
    for (size_t i = 0; i < l.parts.size(); i++) {
        const Part& p = l.parts[i];
        int64_t x = index[p.of];
        at = at * l.sizes[i] + (p.kind == Part::All ? x : p.kind == Part::Outer ? x / p.block : x % p.block);
    }
    return at;
}
// How many elements of the last dimension lie side by side.
int64_t run_of(const Laid& l, const View& v) {
    const Part& last = l.parts.back();
    if (last.of != v.rank - 1) return 1;
    return last.kind == Part::All ? v.sizes[v.rank - 1] : last.block;
}

Laid checked(T t, const char* what) {
    const View& v = need(t, what);
    Laid l = laid(t->format, v);
    int64_t n = 1, step = 1;
    for (int i = 0; i < t->storage_rank; i++) n *= t->storage_dims[i];
    if (n < product(l.sizes)) reject(what, " has a storage of ", n, " elements, needed: ", product(l.sizes));
    if (is_private(t->format) && Shape(t->storage_dims, t->storage_dims + t->storage_rank) != l.sizes)
        reject(what, " has storage dims that are not ", shown(l.sizes));
    for (int d = v.rank - 1; d >= 0; step *= v.sizes[d--])
        if (v.sizes[d] > 1 && v.strides[d] != step) reject(what, " is not contiguous");
    if (v.offset) reject(what, " begins at element ", v.offset, " of its storage");
    return l;
}

Plan NpuFormatCast(T source, O target) {
    Laid from = checked(source, "srcTensor"), to = checked(target, "dstTensor");
    View a = source->view, b = target->view;
    if (a.dtype != b.dtype) reject("a cast of ", dtype_name(a.dtype), " to ", dtype_name(b.dtype));
    same_shape(b, shape_of(a), "dstTensor");
    return {[=] {
        size_t size = itemsize(a.dtype);
        const char* in = backing(a.base);
        char* out = backing(b.base);
        if (product(to.sizes) != a.numel()) std::memset(out, 0, static_cast<size_t>(product(to.sizes)) * size);
        int64_t index[kMaxRank] = {}, run = std::min(run_of(from, a), run_of(to, b)), n = a.numel();
        while (n > 0) {
            int64_t& last = index[a.rank - 1];
            int64_t length = std::min(run, a.sizes[a.rank - 1] - last);
            std::memcpy(out + static_cast<size_t>(place(to, index)) * size,
                        in + static_cast<size_t>(place(from, index)) * size, static_cast<size_t>(length) * size);
            n -= length;
            last += length;
            for (int d = a.rank - 1; d > 0 && index[d] == a.sizes[d]; d--) index[d] = 0, index[d - 1]++;
        }
    }};
}

}  // namespace

ACLNN(NpuFormatCast, T, O)
