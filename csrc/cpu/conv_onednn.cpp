// Convolution through oneDNN's primitives.
//
// Row-major tensors go through the layout that the primitive prefers, with reorders at its edges (3 x 3 in NCHW as it
// stands is up to twice as slow); gradients of images with few channels do better as they stand.
#include "conv.h"
#include "onednn.h"

namespace mt::conv {
namespace {

using onednn::Operand;

enum Kind : int64_t { kForward = 10, kBackwardData, kBackwardWeight };

struct Problem {
    Kind kind;
    const Geometry& g;
    dnnl_data_type_t type;
    Operand image, weight, map, bias;
    bool has_bias, free_layout;

    Problem(Kind kind_, const Geometry& geometry, const Tensor& image_, const Tensor& weight_, const Tensor* bias_,
            const Tensor& map_, bool channels_last)
        : kind(kind_), g(geometry), type(onednn::data_type(image_.dtype)), has_bias(bias_ != nullptr) {
        image = Operand(image_.sizes(), image_.strides(), type);
        map = Operand(map_.sizes(), map_.strides(), onednn::data_type(map_.dtype));
        Dims sizes(weight_.sizes()), strides(weight_.strides());
        if (g.groups > 1) {
            sizes[0] /= g.groups;
            sizes.insert(0, g.groups);
            strides.insert(0, strides[0] * sizes[1]);
        }
        weight = Operand(sizes, strides, onednn::data_type(weight_.dtype));
        if (bias_) bias = Operand(bias_->sizes(), bias_->strides(), type);
        const bool one_by_one = std::all_of(g.kernel.begin(), g.kernel.end(), [](int64_t k) { return k == 1; });
        free_layout = !channels_last && !(one_by_one && g.groups == 1 && kind != kBackwardWeight) &&
                      !(kind == kBackwardData && g.channels <= 4);
    }

    onednn::Key key() const {
        onednn::Key k;
        k.add(int64_t(kind));
        k.add(int64_t(type));
        k.add(int64_t(free_layout) | int64_t(has_bias) << 1);
        for (const Operand* o : {&image, &weight, &map}) {
            k.add(IntSpan(o->sizes, o->ndim));
            k.add(IntSpan(o->strides, o->ndim));
        }
        for (const Dims* d : {&g.stride, &g.padding, &g.dilation}) k.add(*d);
        return k;
    }

    bool make(onednn::Primitive& fresh) const {
        const onednn::Api& api = onednn::api();
        dnnl_dims_t stride, dilation, near, far;
        for (int i = 0; i < g.spatial; i++) {
            stride[i] = g.stride[i], dilation[i] = g.dilation[i] - 1;
            near[i] = g.padding[i], far[i] = g.far_padding(i);
        }
        dnnl_memory_desc_t di = free_layout ? image.any() : image.plain(), dw = weight.any(),
                           dm = free_layout ? map.any() : map.plain(), db = has_bias ? bias.plain() : nullptr;
        dnnl_primitive_desc_t hint = nullptr, made = nullptr;
        dnnl_status_t status = api.dnnl_convolution_forward_primitive_desc_create(
            &hint, api.engine, type == dnnl_u8 ? dnnl_forward_inference : dnnl_forward_training,
            dnnl_convolution_direct, di, dw, kind == kForward ? db : nullptr, dm, stride, dilation, near, far, nullptr);
        if (status == dnnl_success && kind == kBackwardData)
            status = api.dnnl_convolution_backward_data_primitive_desc_create(
                &made, api.engine, dnnl_convolution_direct, di, dw, dm, stride, dilation, near, far, hint, nullptr);
        if (status == dnnl_success && kind == kBackwardWeight)
            status = api.dnnl_convolution_backward_weights_primitive_desc_create(
                &made, api.engine, dnnl_convolution_direct, di, dw, nullptr, dm, stride, dilation, near, far, hint,
                nullptr);
        for (dnnl_memory_desc_t d : {di, dw, dm, db})
            if (d) api.dnnl_memory_desc_destroy(d);
        if (kind == kForward) std::swap(made, hint);
        if (hint) api.dnnl_primitive_desc_destroy(hint);
        if (status != dnnl_success) return false;
        fresh.create(made);
        switch (kind) {
            case kForward:
                fresh.bind(DNNL_ARG_SRC, image, dnnl_query_src_md, 0, false);
                fresh.bind(DNNL_ARG_WEIGHTS, weight, dnnl_query_weights_md, 0, false);
                fresh.bind(DNNL_ARG_DST, map, dnnl_query_dst_md, 0, true);
                if (has_bias) fresh.bind(DNNL_ARG_BIAS, bias, dnnl_query_weights_md, 1, false);
                break;
            case kBackwardData:
                fresh.bind(DNNL_ARG_DIFF_DST, map, dnnl_query_diff_dst_md, 0, false);
                fresh.bind(DNNL_ARG_WEIGHTS, weight, dnnl_query_weights_md, 0, false);
                fresh.bind(DNNL_ARG_DIFF_SRC, image, dnnl_query_diff_src_md, 0, true);
                break;
            case kBackwardWeight:
                fresh.bind(DNNL_ARG_SRC, image, dnnl_query_src_md, 0, false);
                fresh.bind(DNNL_ARG_DIFF_DST, map, dnnl_query_diff_dst_md, 0, false);
                fresh.bind(DNNL_ARG_DIFF_WEIGHTS, weight, dnnl_query_diff_weights_md, 0, true);
        }
        return true;
    }
};

onednn::Primitive* primitive_for(const Problem& problem) {
    if (!onednn::is_wanted() || (problem.type != dnnl_f32 && problem.type != dnnl_bf16)) return nullptr;
    if (problem.type == dnnl_bf16 && !onednn::has_native_bfloat16()) return nullptr;
    onednn::Primitive& p = onednn::cached(problem.key(), [&](onednn::Primitive& fresh) { problem.make(fresh); });
    return p.is_made() ? &p : nullptr;
}

}  // namespace

bool onednn_forward(const Geometry& g, const Tensor& image, const Tensor& weight, const Tensor* bias, Tensor& map,
                    bool channels_last) {
    onednn::Primitive* p = primitive_for(Problem(kForward, g, image, weight, bias, map, channels_last));
    if (!p) return false;
    if (bias)
        p->execute({image.raw(), weight.raw(), map.raw(), bias->raw()});
    else
        p->execute({image.raw(), weight.raw(), map.raw()});
    return true;
}

bool onednn_int8_forward(const Geometry& g, const Tensor& image, const Tensor& weight, Tensor& sums) {
    if (!onednn::is_wanted() || !onednn::has_exact_int8()) return false;
    const Problem problem(kForward, g, image, weight, nullptr, sums, true);
    onednn::Primitive& p = onednn::cached(problem.key(), [&](onednn::Primitive& fresh) { problem.make(fresh); });
    if (!p.is_made()) return false;
    p.execute({image.raw(), weight.raw(), sums.raw()});
    return true;
}

bool onednn_backward_data(const Geometry& g, const Tensor& map, const Tensor& weight, Tensor& image,
                          bool channels_last) {
    onednn::Primitive* p = primitive_for(Problem(kBackwardData, g, image, weight, nullptr, map, channels_last));
    if (!p) return false;
    p->execute({map.raw(), weight.raw(), image.raw()});
    return true;
}

bool onednn_backward_weight(const Geometry& g, const Tensor& image, const Tensor& map, Tensor& weight,
                            bool channels_last) {
    onednn::Primitive* p = primitive_for(Problem(kBackwardWeight, g, image, weight, nullptr, map, channels_last));
    if (!p) return false;
    p->execute({image.raw(), map.raw(), weight.raw()});
    return true;
}

}  // namespace mt::conv
