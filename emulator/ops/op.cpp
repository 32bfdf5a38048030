// Elements of any dtype and any strides; argument checks; the table of signatures.
#include "op.h"

#include <map>

#include "../ascendc/emulated/float16.h"
#include "../runtime/emulator.h"
#include "float8.h"

EMU_API aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor*);

namespace emu {

namespace {

struct HalfBits {
    uint16_t v;
};
struct BrainBits {
    uint16_t v;
};
struct Truth {
    uint8_t v;
};

template <class C, class E>
C decode(E e) {
    if constexpr (std::is_same_v<E, HalfBits>)
        return static_cast<C>(emulated::half_to_float(e.v));
    else if constexpr (std::is_same_v<E, BrainBits>)
        return static_cast<C>(emulated::bf16_to_float(e.v));
    else if constexpr (is_float8<E>)
        return static_cast<C>(to_float(e));
    else if constexpr (std::is_same_v<E, Truth>)
        return static_cast<C>(e.v != 0);
    else
        return static_cast<C>(e);
}
template <class E, class C>
E encode(C c) {
    if constexpr (std::is_same_v<E, HalfBits>) {
        return {emulated::float_to_half(static_cast<float>(c))};
    } else if constexpr (std::is_same_v<E, BrainBits>) {
        return {emulated::float_to_bf16(static_cast<float>(c))};
    } else if constexpr (is_float8<E>) {
        return from_float<E>(static_cast<float>(c));
    } else if constexpr (std::is_same_v<E, Truth>) {
        return {static_cast<uint8_t>(c != 0)};
    } else if constexpr (std::is_integral_v<E> && !std::is_integral_v<C>) {
        // By way of int64: what does not fit wraps, as a chain of integer conversions would.
        if (!(c > -9.2e18 && c < 9.2e18)) return static_cast<E>(std::numeric_limits<int64_t>::min());
        return static_cast<E>(static_cast<int64_t>(c));
    } else {
        return static_cast<E>(c);
    }
}

template <class F>
void with_element(aclDataType t, F f) {
    switch (t) {
        case ACL_FLOAT:
            return f(float());
        case ACL_DOUBLE:
            return f(double());
        case ACL_FLOAT16:
            return f(HalfBits());
        case ACL_BF16:
            return f(BrainBits());
        case ACL_FLOAT8_E5M2:
            return f(E5M2());
        case ACL_FLOAT8_E4M3FN:
            return f(E4M3());
        case ACL_FLOAT8_E8M0:
            return f(E8M0());
        case ACL_BOOL:
            return f(Truth());
        case ACL_INT8:
            return f(int8_t());
        case ACL_INT16:
            return f(int16_t());
        case ACL_INT32:
            return f(int32_t());
        case ACL_INT64:
            return f(int64_t());
        case ACL_UINT8:
            return f(uint8_t());
        case ACL_UINT16:
            return f(uint16_t());
        case ACL_UINT32:
            return f(uint32_t());
        case ACL_UINT64:
            return f(uint64_t());
        default:
            throw std::string("dtype not supported");
    }
}

// Calls f(position, stride, count, first) for each innermost row, `first` the row-major number of its first element.
template <class F>
void each_row(const View& v, F f) {
    int64_t n = v.numel();
    if (!n) return;
    if (!v.rank) return f(v.offset, int64_t(1), int64_t(1), int64_t(0));
    int last = v.rank - 1;
    int64_t index[kMaxRank] = {}, at = v.offset, length = v.sizes[last];
    for (int64_t first = 0; first < n; first += length) {
        f(at, v.strides[last], length, first);
        for (int d = last - 1; d >= 0; d--) {
            at += v.strides[d];
            if (++index[d] < v.sizes[d]) break;
            at -= v.strides[d] * v.sizes[d];
            index[d] = 0;
        }
    }
}

}  // namespace

template <class C>
std::vector<C> load(const View& v) {
    std::vector<C> r(static_cast<size_t>(v.numel()));
    if (r.empty()) return r;
    const char* real = backing(v.base);
    with_element(v.dtype, [&](auto e) {
        using E = decltype(e);
        const E* from = reinterpret_cast<const E*>(real);
        each_row(v, [&](int64_t at, int64_t stride, int64_t n, int64_t first) {
            C* to = r.data() + first;
            const E* row = from + at;
            if (v.block)
                for (int64_t i = 0; i < n; i++) to[i] = decode<C>(from[place_in_blocks(v, at + i * stride)]);
            else if (stride == 1)
                for (int64_t i = 0; i < n; i++) to[i] = decode<C>(row[i]);
            else
                for (int64_t i = 0; i < n; i++) to[i] = decode<C>(row[i * stride]);
        });
    });
    return r;
}

template <class C>
std::vector<C> load(const View& v, const Shape& shape) {
    View wide = v;
    int rank = static_cast<int>(shape.size()), shift = rank - v.rank;
    wide.rank = rank;
    for (int d = rank - 1; d >= 0; d--) {
        bool own = d >= shift && v.sizes[d - shift] == shape[static_cast<size_t>(d)];
        wide.sizes[d] = shape[static_cast<size_t>(d)];
        wide.strides[d] = own ? v.strides[d - shift] : 0;
    }
    return load<C>(wide);
}

template <class C>
void store(const View& v, const C* from) {
    if (!v.numel()) return;
    char* real = backing(v.base);
    with_element(v.dtype, [&](auto e) {
        using E = decltype(e);
        E* to = reinterpret_cast<E*>(real);
        each_row(v, [&](int64_t at, int64_t stride, int64_t n, int64_t first) {
            E* row = to + at;
            if (stride == 1)
                for (int64_t i = 0; i < n; i++) row[i] = encode<E>(from[first + i]);
            else
                for (int64_t i = 0; i < n; i++) row[i * stride] = encode<E>(from[first + i]);
        });
    });
}

template std::vector<float> load(const View&);
template std::vector<double> load(const View&);
template std::vector<int64_t> load(const View&);
template std::vector<float> load(const View&, const Shape&);
template std::vector<double> load(const View&, const Shape&);
template std::vector<int64_t> load(const View&, const Shape&);
template void store(const View&, const float*);
template void store(const View&, const double*);
template void store(const View&, const int64_t*);

// ---- checks ----

std::string shown(const Shape& s) {
    std::string r = "[";
    for (size_t i = 0; i < s.size(); i++) r += (i ? ", " : "") + std::to_string(s[i]);
    return r + "]";
}
int64_t product(const Shape& s) {
    int64_t n = 1;
    for (int64_t d : s) n *= d;
    return n;
}
void reject_for(std::initializer_list<Part> why) { throw Invalid{kOpParamInvalid, text_of(why)}; }
const View& need(T t, const char* what) {
    if (!t) throw Invalid{kParamNull, text(what, " is null")};
    return t->view;
}
double need_real(S s, const char* what) {
    if (!s) throw Invalid{kParamNull, text(what, " is null")};
    return s->as_double();
}
int64_t wrap(int64_t dim, int64_t rank) {
    int64_t n = rank ? rank : 1;
    if (dim < -n || dim >= n) reject("dimension ", dim, " of a tensor of rank ", rank);
    return dim < 0 ? dim + n : dim;
}
void same_shape(const View& v, const Shape& expected, const char* what) {
    if (shape_of(v) != expected) reject(what, " has the shape ", shown(shape_of(v)), ", expected ", shown(expected));
}
Kind kind_of(aclDataType t) {
    switch (t) {
        case ACL_FLOAT:
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_FLOAT8_E5M2:
        case ACL_FLOAT8_E4M3FN:
        case ACL_FLOAT8_E8M0:
            return Kind::F32;
        case ACL_DOUBLE:
            return Kind::F64;
        case ACL_COMPLEX64:
        case ACL_COMPLEX128:
            reject("complex numbers are not supported by the emulator");
        default:
            return Kind::I64;
    }
}
Shape broadcast(std::initializer_list<const View*> views) {
    Shape r;
    for (const View* v : views) {
        Shape s = shape_of(*v);
        size_t n = std::max(r.size(), s.size());
        Shape a(n - r.size(), 1), b(n - s.size(), 1);
        a.insert(a.end(), r.begin(), r.end());
        b.insert(b.end(), s.begin(), s.end());
        for (size_t d = 0; d < n; d++) {
            if (a[d] != b[d] && a[d] != 1 && b[d] != 1)
                reject("shapes ", shown(r), " and ", shown(s), " do not broadcast");
            a[d] = a[d] == 1 ? b[d] : a[d];
        }
        r = a;
    }
    return r;
}

// ---- registration ----

bool is_private(aclFormat f) {
    return f == ACL_FORMAT_NC1HWC0 || f == ACL_FORMAT_FRACTAL_Z || f == ACL_FORMAT_FRACTAL_NZ ||
           f == ACL_FORMAT_NDC1HWC0 || f == ACL_FRACTAL_Z_3D;
}

void Touched::add(T t) {
    if (!t) return;
    if (!is_live(t)) {
        misused(kOpParamInvalid, text(name, ": a tensor descriptor was destroyed before it was used"));
        reject("a tensor descriptor was destroyed before it was used");
    }
    aclDataType dtype = t->view.dtype;
    bool eight = dtype == ACL_FLOAT8_E5M2 || dtype == ACL_FLOAT8_E4M3FN || dtype == ACL_FLOAT8_E8M0;
    if (eight && settings().soc.rfind("Ascend950", 0) != 0)
        reject("a tensor is of ", dtype_name(dtype), ", which ", settings().soc,
               " does not compute with; Ascend950 does");
    std::pair<const void*, size_t> range;
    std::string problem = memory_problem(t->view, &range);
    if (!problem.empty()) {
        misused(kOpParamInvalid, text(name, ": a tensor of shape ", shown(shape_of(t->view)), ": ", problem));
        reject("a tensor of shape ", shown(shape_of(t->view)), ": ", problem);
    }
    // What is in a format of the hardware's own is read by those that are made for it, as their names say.
    bool made_for_it = std::strstr(name, "Nz") || std::strstr(name, "NZ") || !std::strcmp(name, "aclnnNpuFormatCast");
    if (is_private(t->format) && !made_for_it)
        reject("a tensor of shape ", shown(shape_of(t->view)), " is in the format ", int(t->format),
               ", allowed: ND (2), or NCHW and its kin by rank");
    if (range.second) executor->memory.push_back(range);
}
void Touched::add(const aclScalar* s) {
    if (s && !is_live(s)) {
        misused(kOpParamInvalid, text(name, ": a scalar was destroyed before it was used"));
        reject("a scalar was destroyed before it was used");
    }
}
void Touched::add(TL list) {
    if (!list) return;
    if (!is_live(list)) {
        misused(kOpParamInvalid, text(name, ": a tensor list was destroyed before it was used"));
        reject("a tensor list was destroyed before it was used");
    }
    for (aclTensor* t : list->values) add(static_cast<T>(t));
}

aclnnStatus plan_call(const char* name, MakePlan plan, const void* make, uint64_t* workspace,
                      aclOpExecutor** executor) {
    if (settings().noop) {
        *workspace = 0;
        *executor = nothing();
        return kSuccess;
    }
    if (int code = injected(name, "GetWorkspaceSize")) return code;
    if (!workspace || !executor) return failed(kParamNull, text(name, "GetWorkspaceSize: nowhere to put the executor"));
    aclOpExecutor* made = new_executor(name);
    Touched touched{made, name};
    try {
        Plan p = plan(make, touched);
        made->run = [run = std::move(p.run)] {
            try {
                run();
            } catch (const Invalid& e) {  // what could only be seen while it ran
                throw e.why;
            }
        };
        made->workspace = p.workspace;
    } catch (const Invalid& e) {
        aclDestroyAclOpExecutor(made);
        return failed(e.code, text(name, ": ", e.why));
    }
    *workspace = made->workspace;
    *executor = made;
    return kSuccess;
}

#define EMU_CODE(type, letters)   \
    template <>                   \
    const char* code_of<type>() { \
        return letters;           \
    }
EMU_CODE(const aclTensor*, "T")
EMU_CODE(aclTensor*, "T!")
EMU_CODE(const aclTensorList*, "TL")
EMU_CODE(aclTensorList*, "TL!")
EMU_CODE(const aclScalar*, "S")
EMU_CODE(const aclIntArray*, "IA")
EMU_CODE(const aclBoolArray*, "BA")
EMU_CODE(int64_t, "i64")
EMU_CODE(uint64_t, "u64")
EMU_CODE(int32_t, "i32")
EMU_CODE(int8_t, "i8")
EMU_CODE(bool, "b")
EMU_CODE(double, "f64")
EMU_CODE(float, "f32")
EMU_CODE(const char*, "str")
EMU_CODE(aclDataType, "dt")

namespace {
std::map<std::string, std::string>& signatures() {
    static auto* table = new std::map<std::string, std::string>;
    return *table;
}
}  // namespace
Signature::Signature(const char* name, std::initializer_list<const char*> codes) {
    std::string& all = signatures()[name];
    for (const char* code : codes) all += (all.empty() ? "" : ",") + std::string(code);
}

}  // namespace emu

// For tests: "aclnnAbs T,T!\n..." as the C++ types say.
EMU_API const char* emulatorSignatures() {
    static std::string all;
    all.clear();
    for (auto& [name, codes] : emu::signatures()) all += name + " " + codes + "\n";
    return all.c_str();
}
