// Shape rules of element-wise operators: broadcasting, type promotion, and the memory order of the result.
//
// pointwise        promoted dtype of the named arguments (tensors or numbers)
// pointwise_float  the same, integers become the default floating dtype
// pointwise_bool   bool
// pointwise_noop   dtype of the first named tensor
// pointwise_real   dtype of the promotion, complex becomes its real dtype
// pointwise_angle  the same, integers become the default floating dtype
// pointwise_square promoted dtype, bool becomes int64
// div_mode         as pointwise, or pointwise_float where the third named argument (the rounding mode) is None
// masked_fill      dtype of the first named tensor, row-major
// where            the first named argument takes part in the shape only
#include "core/promotion.h"
#include "core/registry.h"
#include "core/typed_kernel.h"

namespace mt {
namespace {

constexpr int kMaxTensors = 8;

struct Inputs {
    const Tensor* tensors[kMaxTensors];
    int n = 0;
};

Inputs tensors_of(const ShapeCall& c) {
    Inputs in;
    for (int k = 0; k < c.nparams && in.n < kMaxTensors; k++)
        if (const Tensor* t = c.tensor_or_null(c.param(k))) in.tensors[in.n++] = t;
    MT_CHECK(in.n > 0, c.name(), "(): expected at least one tensor argument");
    return in;
}

bool same_layout(const Inputs& in) {
    const Tensor* a = in.tensors[0];
    for (int k = 1; k < in.n; k++) {
        const Tensor* b = in.tensors[k];
        if (!(a->sizes() == b->sizes() && a->strides() == b->strides())) return false;
    }
    return true;
}

Dims common_sizes(const Inputs& in) {
    Dims sizes(in.tensors[0]->sizes());
    for (int k = 1; k < in.n; k++) {
        IntSpan b = in.tensors[k]->sizes();
        if (IntSpan(sizes) == b) continue;
        int64_t nd = std::max(sizes.size(), b.size);
        Dims out(nd, 1);
        for (int64_t d = nd - 1; d >= 0; d--) {  // of several that do not fit the last is named
            int64_t da = d - (nd - sizes.size()), db = d - (nd - b.size);
            int64_t sa = da < 0 ? 1 : sizes[da], sb = db < 0 ? 1 : b[db];
            MT_CHECK(sa == sb || sa == 1 || sb == 1, "The size of tensor a (", sa,
                     ") must match the size of tensor b (", sb, ") at non-singleton dimension ", d);
            out[d] = sa == 1 ? sb : sa;
        }
        sizes = out;
    }
    return sizes;
}

// Memory order of the result: dimensions sorted by the strides of the inputs, first input first, ties left as they are.
// Returns false when the order is the usual row-major one.
bool output_order(const Inputs& in, const Dims& sizes, Dims& strides) {
    int64_t nd = sizes.size();
    auto stride = [&](const Tensor* t, int64_t d) -> int64_t {
        int64_t own = d - (nd - t->ndim);
        return own < 0 || (t->size(own) == 1 && sizes[d] != 1) ? 0 : t->stride(own);
    };
    // > 0: dimension a lies inside b in memory order is wrong, swap; < 0: right; 0: no input tells.
    auto compare = [&](int64_t a, int64_t b) {
        for (int k = 0; k < in.n; k++) {
            const Tensor* t = in.tensors[k];
            int64_t sa = stride(t, a), sb = stride(t, b);
            if (sa == 0 || sb == 0) continue;
            if (sa != sb) return sa < sb ? -1 : 1;
            if (sizes[a] > sizes[b]) return 1;
        }
        return 0;
    };
    Dims order(nd);
    for (int64_t i = 0; i < nd; i++) order[i] = nd - 1 - i;
    for (int64_t i = 1; i < nd; i++) {
        int64_t moving = i;
        for (int64_t j = i - 1; j >= 0; j--) {
            int cmp = compare(order[j], order[moving]);
            if (cmp > 0) {
                std::swap(order[j], order[moving]);
                moving = j;
            } else if (cmp < 0) {
                break;
            }
        }
    }
    bool usual = true;
    for (int64_t i = 0; i < nd; i++) usual = usual && order[i] == nd - 1 - i;
    if (usual) return false;
    strides.resize(nd);
    int64_t step = 1;
    for (int64_t i = 0; i < nd; i++) {
        strides[order[i]] = step;
        step *= std::max<int64_t>(sizes[order[i]], 1);
    }
    return true;
}

void state_output(ShapeCall& c, const Inputs& in, DType dtype) {
    const Tensor* a = in.tensors[0];
    if (same_layout(in)) {
        if (a->is_contiguous())
            c.output(0, a->sizes(), dtype);
        else if (a->is_non_overlapping_and_dense())
            c.output_strided(0, a->sizes(), a->strides(), dtype);
        else {
            Dims sizes(a->sizes()), strides;
            output_order(in, sizes, strides) ? c.output_strided(0, sizes, strides, dtype) : c.output(0, sizes, dtype);
        }
    } else {
        Dims sizes = common_sizes(in), strides;
        bool all_contiguous = true;
        for (int k = 0; k < in.n; k++) all_contiguous = all_contiguous && in.tensors[k]->is_contiguous();
        if (all_contiguous && sizes.size() == a->ndim && IntSpan(sizes) == a->sizes())
            c.output(0, sizes, dtype);
        else if (output_order(in, sizes, strides))
            c.output_strided(0, sizes, strides, dtype);
        else
            c.output(0, sizes, dtype);
    }
    if (in.n > 1)
        for (int k = 0; k < in.n; k++)
            if (!(in.tensors[k]->ndim == 0 && in.tensors[k]->is_cpu())) {
                c.set_device(0, in.tensors[k]->device);
                break;
            }
}

DType result_type(const ShapeCall& c, int from = 0) {
    // Tensors with dimensions, all of one dtype: nothing to promote.
    DType one = DType::Undefined;
    bool plain = true;
    for (int k = from; k < c.nparams && plain; k++) {
        const Value& v = c.args[c.param(k)];
        plain = v.tag == Tag::Tensor && v.t->ndim > 0 && (k == from || v.t->dtype == one);
        if (k == from && plain) one = v.t->dtype;
    }
    if (plain && one != DType::Undefined) return one;
    ResultType r;
    for (int k = from; k < c.nparams; k++) r.add(c.args[c.param(k)]);
    return r.get();
}

void pointwise(ShapeCall& c, Each<std::optional<Input>>) {
    Inputs in = tensors_of(c);
    state_output(c, in, result_type(c));
}

void pointwise_float(ShapeCall& c, Each<std::optional<Input>>) {
    Inputs in = tensors_of(c);
    DType t = result_type(c);
    state_output(c, in, is_differentiable(t) ? t : default_dtype());
}

void pointwise_bool(ShapeCall& c, Each<std::optional<Input>>) {
    Inputs in = tensors_of(c);
    state_output(c, in, DType::Bool);
}

void pointwise_noop(ShapeCall& c, Each<std::optional<Input>>) {
    Inputs in = tensors_of(c);
    state_output(c, in, in.tensors[0]->dtype);
}

void pointwise_real(ShapeCall& c, Each<std::optional<Input>>) {
    Inputs in = tensors_of(c);
    DType t = result_type(c);
    MT_CHECK(!is_complex(t) || c.op->form != Form::Inplace, "In-place abs is not supported for complex tensors.");
    if (c.op->form == Form::Out && !is_complex(t)) {
        const DType out = c.tensor(c.op->out_index).dtype;
        MT_CHECK(out == t, "Found dtype ", dtype_class_name(out), " but expected ", dtype_class_name(t));
    }
    state_output(c, in, is_complex(t) ? to_real(t) : t);
}

void pointwise_angle(ShapeCall& c, Each<std::optional<Input>>) {
    Inputs in = tensors_of(c);
    DType t = result_type(c);
    state_output(c, in, is_complex(t) ? to_real(t) : is_floating(t) ? t : default_dtype());
}

void pointwise_square(ShapeCall& c, Each<std::optional<Input>>) {
    Inputs in = tensors_of(c);
    DType t = result_type(c);
    state_output(c, in, is_bool(t) ? DType::Int64 : t);
}

void div_mode(ShapeCall& c, const Tensor& self, Input other, std::optional<std::string_view> mode) {
    if (!mode) return pointwise_float(c, {});
    MT_CHECK(mode == "trunc" || mode == "floor",
             "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode, "'");
    pointwise(c, {});
}

void masked_fill(ShapeCall& c, Each<std::optional<Input>>) {
    Inputs in = tensors_of(c);
    c.output(0, common_sizes(in), in.tensors[0]->dtype);
}

void where_shape(ShapeCall& c, Each<std::optional<Input>>) {
    Inputs in = tensors_of(c);
    state_output(c, in, result_type(c, 1));
}

KERNELS
{
    shape<pointwise>("pointwise");
    shape<pointwise_float>("pointwise_float");
    shape<pointwise_bool>("pointwise_bool");
    shape<pointwise_noop>("pointwise_noop");
    shape<pointwise_real>("pointwise_real");
    shape<pointwise_angle>("pointwise_angle");
    shape<pointwise_square>("pointwise_square");
    shape<div_mode>("div_mode");
    shape<masked_fill>("masked_fill");
    shape<where_shape>("where");
}

}  // namespace
}  // namespace mt
