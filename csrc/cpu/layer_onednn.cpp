// Layers of compiled graphs through oneDNN: products and convolutions with packed weights and post-operations.
//
// A weight is packed when a layer meets it, and kept with its storages and their versions: one that was written, or
// another one, is packed again. Memory that others may write without a word is packed at each call.
#include <cmath>

#include "core/foreign.h"
#include "core/layer.h"

#include "memory_format.h"
#include "onednn.h"

namespace mt {
namespace {

using onednn::Operand;

// ---- steps as post-operations ----

struct Function {
    const char* name;  // the operator's, where that has no arguments but its tensors
    dnnl_alg_kind_t kind;
    double first = 0, second = 0;  // its numbers, unless the step says its own
    bool takes_operand = false;
};
constexpr Function kFunctions[] = {
    {"relu", dnnl_eltwise_relu},           {"gelu", dnnl_eltwise_gelu_erf},
    {"gelu_tanh", dnnl_eltwise_gelu_tanh}, {"silu", dnnl_eltwise_swish, 1.0},
    {"sigmoid", dnnl_eltwise_logistic},    {"tanh", dnnl_eltwise_tanh},
    {"clamp", dnnl_eltwise_clip},          {"hardswish", dnnl_eltwise_hardswish, 1.0 / 6, 0.5},
    {"add", dnnl_binary_add, 0, 0, true},  {"mul", dnnl_binary_mul, 0, 0, true}};

const Function& function_of(const LayerStep& step) {
    for (const Function& f : kFunctions)
        if (step.name == f.name) return f;
    MT_THROW(NotImplemented, "layers have no step that is called '", step.name, "'");
}
dnnl_alg_kind_t kind_of(const LayerStep& step) { return function_of(step).kind; }

// ---- packed weights ----

// What a pack was made of. The storage is kept, so that no other one takes its address.
struct Origin {
    Storage* storage;
    void* data;
    int64_t offset;
    uint32_t version;

    explicit Origin(const Tensor& t)
        : storage(t.storage), data(t.storage->data), offset(t.offset), version(t.version()) {}
    bool operator==(const Origin& o) const {
        return storage == o.storage && data == o.data && offset == o.offset && version == o.version;
    }
};

int64_t layout_number(const_dnnl_memory_desc_t layout);  // the same for equal layouts

struct Pack {
    dnnl_memory_desc_t layout = nullptr;
    int64_t number = 0;
    Storage* bytes = nullptr;
    void* data = nullptr;

    Pack(const Tensor& from, const Operand& form, const_dnnl_memory_desc_t to) {
        const onednn::Api& a = onednn::api();
        onednn::check(a.dnnl_memory_desc_clone(&layout, to), "memory descriptor");
        number = layout_number(to);
        bytes = storage_alloc(a.dnnl_memory_desc_get_size(to) + 64, Device());
        data = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(bytes->data) + 63) & ~uintptr_t(63));
        dnnl_memory_desc_t plain = form.plain();
        dnnl_memory_t source = nullptr, target = nullptr;
        dnnl_primitive_desc_t description = nullptr;
        dnnl_primitive_t reorder = nullptr;
        dnnl_status_t status = a.dnnl_memory_create(&source, plain, a.engine, from.raw());
        if (status == dnnl_success) status = a.dnnl_memory_create(&target, to, a.engine, data);
        if (status == dnnl_success)
            status = a.dnnl_reorder_primitive_desc_create(&description, plain, a.engine, to, a.engine, nullptr);
        if (status == dnnl_success) status = a.dnnl_primitive_create(&reorder, description);
        if (status == dnnl_success) {
            dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}};
            NoGil released;
            status = a.dnnl_primitive_execute(reorder, a.stream, 2, args);
        }
        if (reorder) a.dnnl_primitive_destroy(reorder);
        if (description) a.dnnl_primitive_desc_destroy(description);
        if (source) a.dnnl_memory_destroy(source);
        if (target) a.dnnl_memory_destroy(target);
        a.dnnl_memory_desc_destroy(plain);
        if (status != dnnl_success) drop();
        onednn::check(status, "packing of a weight");
    }
    Pack(const Pack&) = delete;
    Pack& operator=(const Pack&) = delete;
    ~Pack() { drop(); }

  private:
    void drop() {
        if (layout) onednn::api().dnnl_memory_desc_destroy(layout);
        if (bytes) bytes->drop();
        layout = nullptr, bytes = nullptr;
    }
};

int64_t layout_number(const_dnnl_memory_desc_t layout) {
    static auto* known = new std::vector<dnnl_memory_desc_t>;  // under the GIL
    const onednn::Api& a = onednn::api();
    for (size_t i = 0; i < known->size(); i++)
        if (a.dnnl_memory_desc_equal((*known)[i], layout)) return static_cast<int64_t>(i) + 1;
    dnnl_memory_desc_t copy;
    onednn::check(a.dnnl_memory_desc_clone(&copy, layout), "memory descriptor");
    known->push_back(copy);
    return static_cast<int64_t>(known->size());
}

// The parameters of a layer as they are used: a norm is folded in.
struct Parameters {
    std::vector<Origin> origins;
    TensorRef bias;
    std::vector<std::shared_ptr<Pack>> packs;  // one for each layout that was asked for, most often one

    Parameters() = default;
    Parameters(const Parameters&) = delete;
    Parameters& operator=(const Parameters&) = delete;
    ~Parameters() {
        for (Origin& o : origins) o.storage->drop();
    }
};

struct Prepared {
    std::shared_ptr<Parameters> current;  // under the GIL
};

// ---- a call ----

// The arguments of a call, taken apart.
struct Arguments {
    const Tensor *x, *weight, *bias = nullptr;
    const Tensor *mean = nullptr, *variance = nullptr, *norm_weight = nullptr, *norm_bias = nullptr;
    Tensor* const* operands;

    Arguments(const Layer& layer, Tensor* const* inputs) : x(inputs[0]), weight(inputs[1]) {
        inputs += 2;
        if (layer.has_bias) bias = *inputs++;
        if (layer.has_norm) mean = inputs[0], variance = inputs[1], inputs += 2;
        if (layer.is_affine) norm_weight = inputs[0], norm_bias = inputs[1], inputs += 2;
        operands = inputs;
    }
    template <class F>
    void each_parameter(const F& f) const {
        for (const Tensor* t : {weight, bias, mean, variance, norm_weight, norm_bias})
            if (t) f(*t);
    }
};

// By how much the norm multiplies the numbers of channel `c`.
double scale_of(const Layer& layer, const Arguments& in, int64_t c) {
    const double of = in.norm_weight ? in.norm_weight->data<float>()[c] : 1.0;
    return of / std::sqrt(double(in.variance->data<float>()[c]) + layer.eps);
}

void check_norm(const Layer& layer, const Arguments& in) {
    if (!layer.has_norm) return;
    for (const Tensor* t : {in.mean, in.variance, in.norm_weight, in.norm_bias})
        MT_CHECK(!t || (t->dtype == DType::Float32 && t->ndim == 1 && t->is_contiguous() &&
                        t->size(0) == in.weight->size(0)),
                 "a layer's norm has float32 numbers, one for each of ", in.weight->size(0), " channels");
}

TensorRef folded_weight(const Layer& layer, const Arguments& in) {
    TensorRef plain = contiguous(*in.weight, DType::Float32);
    if (!layer.has_norm) return plain;
    TensorRef made = empty(plain->sizes(), DType::Float32);
    const int64_t filters = plain->size(0), each = filters ? plain->numel() / filters : 0;
    const float* from = plain->data<float>();
    float* to = made->data<float>();
    for (int64_t c = 0; c < filters; c++) {
        const float scale = static_cast<float>(scale_of(layer, in, c));
        for (int64_t i = c * each; i < (c + 1) * each; i++) to[i] = from[i] * scale;
    }
    return in.weight->dtype == DType::Float32 ? made : contiguous(*made, in.weight->dtype);
}

TensorRef folded_bias(const Layer& layer, const Arguments& in) {
    if (!layer.has_norm) return in.bias ? contiguous(*in.bias) : TensorRef();
    TensorRef before = in.bias ? contiguous(*in.bias, DType::Float32) : TensorRef();
    TensorRef made = empty({in.weight->size(0)}, DType::Float32);
    for (int64_t c = 0; c < in.weight->size(0); c++) {
        const double from = (before ? before->data<float>()[c] : 0.0) - in.mean->data<float>()[c];
        const double after = in.norm_bias ? in.norm_bias->data<float>()[c] : 0.0;
        made->data<float>()[c] = static_cast<float>(from * scale_of(layer, in, c) + after);
    }
    return made;
}

std::shared_ptr<Parameters> parameters_of(const Layer& layer, const Arguments& in) {
    Prepared& kept = *static_cast<Prepared*>(layer.prepared.get());
    std::vector<Origin> origins;
    bool may_keep = true;
    in.each_parameter([&](const Tensor& t) {
        origins.emplace_back(t);
        may_keep &= layer.packs_lent || !(is_lent(t.storage) || t.flags & kInference);
    });
    if (kept.current && kept.current->origins == origins) return kept.current;
    check_norm(layer, in);
    auto made = std::make_shared<Parameters>();
    made->bias = folded_bias(layer, in);
    if (!may_keep) return made;
    for (Origin& o : origins) o.storage->retain();
    made->origins = std::move(origins);
    kept.current = made;
    return made;
}

// The call as oneDNN sees it.
struct Problem {
    const Layer& layer;
    dnnl_data_type_t type;
    Operand x, weight, bias, result;
    int64_t packed_as = 0;  // the layout that a weight has already, if any
    const_dnnl_memory_desc_t packed_layout = nullptr;
    bool has_bias;

    onednn::Key key() const {
        onednn::Key k;
        k.add(int64_t(20) + layer.is_convolution);
        for (int64_t word : {int64_t(type), packed_as, int64_t(has_bias), int64_t(bias.type)}) k.add(word);
        for (const Operand* o : {&x, &weight, &result}) {
            k.add(IntSpan(o->sizes, o->ndim));
            k.add(IntSpan(o->strides, o->ndim));
        }
        if (layer.is_convolution)
            for (const Dims* d : {&layer.stride, &layer.padding, &layer.dilation}) k.add(*d);
        for (const LayerStep& s : layer.steps) {
            int64_t numbers[2];
            std::memcpy(numbers, &s.first, 8);
            std::memcpy(numbers + 1, &s.second, 8);
            for (int64_t word : {int64_t(kind_of(s)), numbers[0], numbers[1]}) k.add(word);
        }
        return k;
    }

    dnnl_primitive_attr_t attributes(const_dnnl_memory_desc_t result_layout) const {
        const onednn::Api& a = onednn::api();
        dnnl_post_ops_t steps;
        dnnl_primitive_attr_t made;
        onednn::check(a.dnnl_post_ops_create(&steps), "post-operations");
        dnnl_status_t status = dnnl_success;
        for (const LayerStep& s : layer.steps) {
            if (status != dnnl_success) break;
            status = s.takes_operand ? a.dnnl_post_ops_append_binary(steps, kind_of(s), result_layout)
                                     : a.dnnl_post_ops_append_eltwise(steps, kind_of(s), static_cast<float>(s.first),
                                                                      static_cast<float>(s.second));
        }
        if (status == dnnl_success) status = a.dnnl_primitive_attr_create(&made);
        if (status == dnnl_success) {
            status = a.dnnl_primitive_attr_set_post_ops(made, steps);
            if (status != dnnl_success) a.dnnl_primitive_attr_destroy(made);
        }
        a.dnnl_post_ops_destroy(steps);
        onednn::check(status, "post-operations");
        return made;
    }

    dnnl_status_t describe(dnnl_primitive_desc_t* made, const_dnnl_memory_desc_t weights) const {
        const onednn::Api& a = onednn::api();
        dnnl_memory_desc_t dx = x.plain(), db = has_bias ? bias.plain() : nullptr, dr = result.plain();
        dnnl_primitive_attr_t attr = attributes(dr);
        dnnl_status_t status;
        if (layer.is_convolution) {
            dnnl_dims_t stride, dilation, near, far;
            for (int i = 0; i < 2; i++) {
                const int64_t kernel = weight.sizes[weight.ndim - 2 + i], reach = (kernel - 1) * layer.dilation[i] + 1;
                stride[i] = layer.stride[i], dilation[i] = layer.dilation[i] - 1;
                near[i] = layer.padding[i];
                // What fits exactly: the last columns may not be reached.
                far[i] = (result.sizes[2 + i] - 1) * stride[i] + reach - x.sizes[2 + i] - near[i];
            }
            status = a.dnnl_convolution_forward_primitive_desc_create(made, a.engine, dnnl_forward_inference,
                                                                      dnnl_convolution_direct, dx, weights, db, dr,
                                                                      stride, dilation, near, far, attr);
        } else {
            status = a.dnnl_matmul_primitive_desc_create(made, a.engine, dx, weights, db, dr, attr);
        }
        a.dnnl_primitive_attr_destroy(attr);
        for (dnnl_memory_desc_t d : {dx, db, dr})
            if (d) a.dnnl_memory_desc_destroy(d);
        return status;
    }

    void make(onednn::Primitive& fresh) const {
        const onednn::Api& a = onednn::api();
        dnnl_primitive_desc_t description = nullptr;
        dnnl_status_t status = packed_layout ? describe(&description, packed_layout) : dnnl_unimplemented;
        if (status != dnnl_success) {
            dnnl_memory_desc_t any = weight.any();
            status = describe(&description, any);
            a.dnnl_memory_desc_destroy(any);
        }
        MT_CHECK_AS(NotImplemented, status == dnnl_success, "oneDNN has no such layer (status ",
                    static_cast<int>(status), ")");
        fresh.create(description);
        fresh.bind(DNNL_ARG_SRC, x, dnnl_query_src_md, 0, false);
        fresh.bind_as_wanted(DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0);
        fresh.bind(DNNL_ARG_DST, result, dnnl_query_dst_md, 0, true);
        if (has_bias) fresh.bind_as_wanted(DNNL_ARG_BIAS, dnnl_query_weights_md, 1);
        int number = 0;
        for (const LayerStep& s : layer.steps) {
            if (s.takes_operand)
                fresh.bind_as_wanted(DNNL_ARG_ATTR_MULTIPLE_POST_OP(number) | DNNL_ARG_SRC_1, dnnl_query_dst_md, 0);
            number++;
        }
    }
};

TensorRef laid_out(const Tensor& t, IntSpan strides) {
    if (is_contiguous_as(t, strides)) return TensorRef::share(&t);
    TensorRef made = empty_strided(t.sizes(), strides, t.dtype);
    copy_into(*made, t);
    return made;
}

// A weight as oneDNN numbers its dimensions: of a product (terms, columns), of groups with a dimension of their own.
Operand weight_form(const Layer& layer, const Tensor& w, dnnl_data_type_t type) {
    Dims sizes(w.sizes()), strides(w.strides());
    if (!layer.is_convolution && layer.weight_is_transposed) {
        std::swap(sizes[0], sizes[1]);
        std::swap(strides[0], strides[1]);
    }
    if (layer.is_convolution && layer.groups > 1) {
        sizes[0] /= layer.groups;
        sizes.insert(0, layer.groups);
        strides.insert(0, strides[0] * sizes[1]);
    }
    return Operand(sizes, strides, type);
}

std::shared_ptr<Pack> pack_for(const Problem& p, const Arguments& in, Parameters& parameters,
                               const_dnnl_memory_desc_t layout) {
    for (const auto& each : parameters.packs)
        if (onednn::api().dnnl_memory_desc_equal(each->layout, layout)) return each;
    TensorRef w = p.layer.has_norm ? folded_weight(p.layer, in) : TensorRef::share(in.weight);
    auto made = std::make_shared<Pack>(*w, weight_form(p.layer, *w, p.type), layout);
    parameters.packs.push_back(made);
    return made;
}

int64_t channels_in(const Layer& layer, const Tensor& w) {
    return layer.is_convolution ? w.size(1) * layer.groups : w.size(layer.weight_is_transposed ? 1 : 0);
}

TensorRef run(const Layer& layer, Tensor* const* inputs) {
    const Arguments in(layer, inputs);
    const Tensor &x = *in.x, &w = *in.weight;
    const dnnl_data_type_t type = onednn::data_type(x.dtype);
    MT_CHECK(type == dnnl_f32 || type == dnnl_bf16, "a layer is of float32 or bfloat16, got ", dtype_name(x.dtype));
    MT_CHECK(w.dtype == x.dtype && (!in.bias || in.bias->dtype == x.dtype), "a layer's input is of ",
             dtype_name(x.dtype), ", its weight of ", dtype_name(w.dtype));
    MT_CHECK(w.ndim == (layer.is_convolution ? 4 : 2) && x.ndim >= (layer.is_convolution ? 4 : 1) &&
                 (!layer.is_convolution || x.ndim == 4) &&
                 x.size(layer.is_convolution ? 1 : x.ndim - 1) == channels_in(layer, w),
             "a layer's input of sizes ", x.sizes(), " does not fit its weight of sizes ", w.sizes());
    TensorRef out, from;
    Problem p{layer, type, {}, weight_form(layer, w, type), {}, {}, 0, nullptr, false};
    const int64_t filters = layer.is_convolution || layer.weight_is_transposed ? w.size(0) : w.size(1);
    MT_CHECK(!in.bias || (in.bias->ndim == 1 && in.bias->size(0) == filters),
             "a layer's bias has one number for each of ", filters, " columns, got ",
             in.bias ? in.bias->sizes() : IntSpan());
    if (layer.is_convolution) {
        Dims sizes{x.size(0), filters};
        for (int i = 0; i < 2; i++) {
            const int64_t reach = layer.dilation[i] * (w.size(2 + i) - 1) + 1;
            sizes.push_back((x.size(2 + i) + 2 * layer.padding[i] - reach) / layer.stride[i] + 1);
            MT_CHECK(x.size(2 + i) + 2 * layer.padding[i] >= reach,
                     "a layer's kernel is larger than its input of sizes ", x.sizes());
        }
        from = laid_out(x, channels_last_strides(x.sizes()));
        out = empty_strided(sizes, channels_last_strides(sizes), x.dtype);
        p.x = Operand(x.sizes(), from->strides(), type);
        p.result = Operand(sizes, out->strides(), type);
    } else {
        Dims sizes(x.sizes());
        sizes[x.ndim - 1] = filters;
        out = empty(sizes, x.dtype);
        const int64_t terms = w.size(layer.weight_is_transposed ? 1 : 0), rows = terms ? x.numel() / terms : 0;
        const bool even = x.ndim == 2 && x.stride(1) == 1 && x.stride(0) >= terms;
        from = even ? TensorRef::share(&x) : contiguous(x);
        p.x = Operand({rows, terms}, {even ? x.stride(0) : terms, 1}, type);
        p.result = Operand({rows, filters}, {filters, 1}, type);
    }
    if (out->numel() == 0) return out;
    MT_CHECK(x.numel() > 0, "a layer's input has no elements");
    std::vector<TensorRef> operands;
    Tensor* const* next = in.operands;
    for (const LayerStep& s : layer.steps) {
        if (!s.takes_operand) continue;
        const Tensor& t = **next++;
        MT_CHECK(t.sizes() == out->sizes() && t.dtype == out->dtype, "a step of a layer takes ", out->sizes(), " of ",
                 dtype_name(out->dtype), ", got ", t.sizes(), " of ", dtype_name(t.dtype));
        operands.push_back(laid_out(t, out->strides()));
    }
    std::shared_ptr<Parameters> parameters = parameters_of(layer, in);
    if (parameters->bias) {
        p.has_bias = true;
        const dnnl_data_type_t of = onednn::data_type(parameters->bias->dtype);
        p.bias = layer.is_convolution ? Operand({filters}, {1}, of) : Operand({1, filters}, {filters, 1}, of);
    }
    if (!parameters->packs.empty()) {
        p.packed_as = parameters->packs[0]->number;
        p.packed_layout = parameters->packs[0]->layout;
    }
    onednn::Primitive& primitive = onednn::cached(p.key(), [&](onednn::Primitive& fresh) { p.make(fresh); });
    std::shared_ptr<Pack> pack = pack_for(p, in, *parameters, primitive.wanted(dnnl_query_weights_md, 0));
    void* data[8] = {from->raw(), pack->data, out->raw()};
    int count = 3;
    if (p.has_bias) data[count++] = parameters->bias->raw();
    for (const TensorRef& t : operands) data[count++] = t->raw();
    primitive.execute(data, count);
    return out;
}

std::vector<std::string> steps() {
    std::vector<std::string> names;
    for (const Function& f : kFunctions) names.emplace_back(f.name);
    return names;
}

void prepare(Layer& layer) {
    MT_CHECK_AS(NotImplemented, onednn::is_wanted(), "layers are run by oneDNN, which the environment says not to use");
    int operands = 0;
    for (LayerStep& s : layer.steps) {
        const Function& f = function_of(s);
        s.takes_operand = f.takes_operand;
        if (s.first == 0 && s.second == 0) s.first = f.first, s.second = f.second;
        operands += f.takes_operand;
    }
    MT_CHECK_AS(NotImplemented, layer.steps.size() <= 4 && operands <= 3, "a layer has at most four steps");
    layer.prepared = std::make_shared<Prepared>();
}

}  // namespace

KERNELS
{
    set_layer_machine({steps, prepare, run});
}

}  // namespace mt
