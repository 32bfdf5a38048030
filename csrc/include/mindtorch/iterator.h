// at::TensorIterator: operands of one shape, walked together, and the loops that apply a function to their elements.
#pragma once

#include <mindtorch/dispatch.h>
#include <mindtorch/function_traits.h>
#include <mindtorch/functions.h>
#include <mindtorch/parallel.h>
#include <mindtorch/vec.h>

#include <bitset>

namespace at {

class TensorIteratorConfig;

struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
};

// Operands are outputs, then inputs. Dimensions are in the order of memory of the first operand, the fastest first, and
// those that follow each other in the memory of all operands are one.
struct TensorIteratorBase {
    int ndim() const { return static_cast<int>(shape_.size()); }
    IntArrayRef shape() const { return shape_; }
    int64_t numel() const { return numel_; }
    int ntensors() const { return static_cast<int>(operands_.size()); }
    int noutputs() const { return outputs_; }
    int ninputs() const { return ntensors() - outputs_; }
    const Tensor& tensor(int64_t i) const { return at(i).tensor; }
    const Tensor& output(int64_t i = 0) const { return at(i).original; }
    const Tensor& input(int64_t i = 0) const { return at(outputs_ + i).tensor; }
    ScalarType dtype(int64_t i = 0) const { return at(i).tensor.scalar_type(); }
    ScalarType input_dtype(int64_t i = 0) const { return dtype(outputs_ + i); }
    ScalarType common_dtype() const {
        TORCH_CHECK(common_ != ScalarType::Undefined, "the operands of this iterator have no common dtype");
        return common_;
    }
    Device device(int64_t i = 0) const { return at(i).tensor.device(); }
    DeviceType device_type(int64_t i = 0) const { return device(i).type(); }
    int64_t element_size(int64_t i) const { return at(i).tensor.element_size(); }
    IntArrayRef strides(int64_t i) const { return at(i).strides; }  // in bytes
    void* data_ptr(int64_t i) const { return at(i).data; }
    bool is_scalar(int64_t i) const { return at(i).tensor.numel() == 1; }
    using DimMask = std::bitset<64>;
    // A dimension along which no output moves.
    bool is_dim_reduced(int d) const {
        for (int i = 0; i < outputs_; i++)
            if (at(i).strides[static_cast<size_t>(d)] == 0 && shape_[static_cast<size_t>(d)] > 1) return true;
        return false;
    }
    int num_reduce_dims() const {
        int count = 0;
        for (int d = 0; d < ndim(); d++) count += is_dim_reduced(d);
        return count;
    }
    int64_t num_output_elements() const {
        int64_t count = 1;
        for (int d = 0; d < ndim(); d++)
            if (!is_dim_reduced(d)) count *= shape_[static_cast<size_t>(d)];
        return count;
    }
    bool is_cpu_scalar(int64_t i) const { return is_scalar(i) && device(i).is_cpu(); }
    bool is_contiguous() const {
        if (numel_ == 1) return true;
        if (ndim() != 1) return false;
        for (int i = 0; i < ntensors(); i++)
            if (at(i).strides[0] != element_size(i)) return false;
        return true;
    }
    // Copies what was computed in the common dtype into outputs of another one.
    void cast_outputs() {
        for (int i = 0; i < outputs_; i++)
            if (!at(i).original.is_same(at(i).tensor)) at(i).original.copy_(at(i).tensor);
    }

    // loop(pointers, strides in bytes, n), or loop(pointers, strides of two dimensions, n, m).
    template <class Loop>
    void serial_for_each(const Loop& loop, Range range) const {
        const size_t count = operands_.size(), dims = shape_.size();
        std::vector<char*> data(count);
        std::vector<int64_t> steps(2 * count, 0);
        for (size_t a = 0; a < count; a++) steps[a] = dims ? operands_[a].strides[0] : 0;
        for (int64_t begin = range.begin, end = range.end; begin < end;) {
            int64_t rest = begin, n = dims ? std::min(shape_[0] - begin % shape_[0], end - begin) : 1;
            for (size_t a = 0; a < count; a++) data[a] = static_cast<char*>(operands_[a].data);
            for (size_t d = 0; d < dims; rest /= shape_[d], d++)
                for (size_t a = 0; a < count; a++) data[a] += rest % shape_[d] * operands_[a].strides[d];
            if constexpr (std::is_invocable_v<const Loop&, char**, const int64_t*, int64_t, int64_t>)
                loop(data.data(), steps.data(), n, int64_t{1});
            else
                loop(data.data(), steps.data(), n);
            begin += n;
        }
    }
    template <class Loop>
    void for_each(const Loop& loop, int64_t grain_size = internal::GRAIN_SIZE) const {
        parallel_for(0, numel_, grain_size, [&](int64_t b, int64_t e) { serial_for_each(loop, {b, e}); });
    }

  protected:
    struct Operand {
        Tensor original, tensor;
        std::vector<int64_t> strides;
        void* data = nullptr;
    };
    const Operand& at(int64_t i) const {
        TORCH_CHECK_INDEX(i >= 0 && i < ntensors(), "operand ", i, " of an iterator over ", ntensors());
        return operands_[static_cast<size_t>(i)];
    }
    Operand& at(int64_t i) { return const_cast<Operand&>(std::as_const(*this).at(i)); }
    // Dimensions in the order of memory; neighbours that all operands can walk as one are joined.
    void order(IntArrayRef shape) {
        std::vector<size_t> dims;
        for (size_t d = shape.size(); d-- > 0;)
            if (shape[d] != 1) dims.push_back(d);
        auto reduced = [&](size_t d) {
            for (int i = 0; i < outputs_; i++)
                if (operands_[static_cast<size_t>(i)].strides[d] == 0) return true;
            return false;
        };
        std::stable_sort(dims.begin(), dims.end(), [&](size_t a, size_t b) {
            if (reduced(a) != reduced(b)) return reduced(a);
            for (const Operand& o : operands_)
                if (o.strides[a] && o.strides[b] && o.strides[a] != o.strides[b]) return o.strides[a] < o.strides[b];
            return false;
        });
        std::vector<std::vector<int64_t>> kept(operands_.size());
        shape_.clear();
        for (size_t d : dims) {
            bool join = !shape_.empty();
            for (size_t a = 0; a < operands_.size(); a++)
                join = join && kept[a].back() * shape_.back() == operands_[a].strides[d];
            if (join) {
                shape_.back() *= shape[d];
                continue;
            }
            shape_.push_back(shape[d]);
            for (size_t a = 0; a < operands_.size(); a++) kept[a].push_back(operands_[a].strides[d]);
        }
        for (size_t a = 0; a < operands_.size(); a++) operands_[a].strides = std::move(kept[a]);
    }
    friend class TensorIteratorConfig;
    std::vector<Operand> operands_;
    std::vector<int64_t> shape_;
    int64_t numel_ = 0;
    int outputs_ = 0;
    ScalarType common_ = ScalarType::Undefined;
};

struct TensorIterator : TensorIteratorBase {
    static TensorIterator unary_op(const Tensor& out, const Tensor& a);
    static TensorIterator binary_op(const Tensor& out, const Tensor& a, const Tensor& b);
    static TensorIterator borrowing_binary_op(const Tensor& out, const Tensor& a, const Tensor& b) {
        return binary_op(out, a, b);
    }
    static TensorIterator comparison_op(const Tensor& out, const Tensor& a, const Tensor& b);
    static TensorIterator nullary_op(const Tensor& out);
    static TensorIterator borrowing_nullary_op(const Tensor& out) { return nullary_op(out); }
    // Outputs have the input's dimensions, of size one where it is reduced.
    static TensorIterator reduce_op(Tensor& out, const Tensor& a);
    static TensorIterator reduce_op(Tensor& out1, Tensor& out2, const Tensor& a);
};

class TensorIteratorConfig {
  public:
#define MINDTORCH_OPERAND(name, list)             \
    TensorIteratorConfig& name(const Tensor& t) { \
        list.push_back(t);                        \
        return *this;                             \
    }
    MINDTORCH_OPERAND(add_output, outputs_)
    MINDTORCH_OPERAND(add_owned_output, outputs_)
    MINDTORCH_OPERAND(add_borrowed_output, outputs_)
    MINDTORCH_OPERAND(add_input, inputs_)
    MINDTORCH_OPERAND(add_const_input, inputs_)
    MINDTORCH_OPERAND(add_owned_input, inputs_)
    MINDTORCH_OPERAND(add_owned_const_input, inputs_)
    MINDTORCH_OPERAND(add_borrowed_input, inputs_)
    MINDTORCH_OPERAND(add_borrowed_const_input, inputs_)
#undef MINDTORCH_OPERAND
#define MINDTORCH_SETTING(name)           \
    TensorIteratorConfig& name(bool on) { \
        name##_ = on;                     \
        return *this;                     \
    }
    MINDTORCH_SETTING(set_check_mem_overlap)
    MINDTORCH_SETTING(check_all_same_dtype)
    MINDTORCH_SETTING(check_all_same_device)
    MINDTORCH_SETTING(enforce_safe_casting_to_output)
    MINDTORCH_SETTING(enforce_linear_iteration)
    MINDTORCH_SETTING(promote_inputs_to_common_dtype)
    MINDTORCH_SETTING(promote_integer_inputs_to_float)
    MINDTORCH_SETTING(cast_common_dtype_to_outputs)
    MINDTORCH_SETTING(allow_cpu_scalars)
    MINDTORCH_SETTING(resize_outputs)
    MINDTORCH_SETTING(is_reduction)
#undef MINDTORCH_SETTING
    TensorIteratorConfig& declare_static_dtype(ScalarType t) {
        static_dtype_ = t;
        return *this;
    }
    TensorIteratorConfig& declare_static_device(Device d) {
        static_device_ = d;
        return *this;
    }
    TensorIteratorConfig& declare_static_dtype_and_device(ScalarType t, Device d) {
        return declare_static_dtype(t).declare_static_device(d);
    }
    TensorIteratorConfig& declare_static_shape(IntArrayRef shape) {
        static_shape_ = shape.vec();
        return *this;
    }

    TensorIterator build() {
        TORCH_CHECK(!outputs_.empty() || !inputs_.empty(), "a TensorIterator needs an operand");
        TensorIterator made;
        made.outputs_ = static_cast<int>(outputs_.size());
        made.common_ = dtype();
        const Device device = this->device();
        const std::vector<int64_t> shape = this->shape();
        for (const Tensor& given : outputs_) {
            Tensor t = given;
            const ScalarType wanted = made.common_;
            if (!t.defined()) t = at::empty(shape, TensorOptions(static_dtype_.value_or(wanted)).device(device));
            if (t.sizes() != IntArrayRef(shape) && !is_reduction_) {
                TORCH_CHECK(resize_outputs_ && !static_shape_, "the output has sizes ", t.sizes(),
                            ", the operands together ", IntArrayRef(shape));
                t.resize_(shape);
            }
            const bool cast = cast_common_dtype_to_outputs_ && t.scalar_type() != wanted;
            if (cast || enforce_safe_casting_to_output_)
                TORCH_CHECK(at::can_cast(wanted, t.scalar_type()), "result type ", wanted,
                            " can't be cast to the desired output type ", t.scalar_type());
            if (set_check_mem_overlap_)
                for (int64_t d = 0; d < t.dim(); d++)
                    TORCH_CHECK(t.stride(d) != 0 || t.size(d) < 2,
                                "unsupported operation: more than one element of the written-to tensor refers to a "
                                "single memory location. Please clone() the tensor before performing the operation.");
            made.operands_.push_back({t, cast ? at::empty_like(t, t.options().dtype(wanted)) : t, {}, nullptr});
        }
        for (const Tensor& given : inputs_) {
            Tensor t = promotes() ? given.to(made.common_) : given;
            made.operands_.push_back({given, t, {}, nullptr});
        }
        for (auto& o : made.operands_) {
            TORCH_CHECK(o.tensor.device().is_cpu(), "TensorIterator walks memory of the CPU, the operand is on ",
                        o.tensor.device());
            Tensor expanded = o.tensor.expand(shape);
            for (int64_t s : expanded.strides()) o.strides.push_back(s * o.tensor.element_size());
            o.data = o.tensor.data_ptr();
        }
        made.numel_ = c10::multiply_integers(shape);
        if (made.numel_ == 0)
            for (auto& o : made.operands_) o.strides.clear();
        else
            made.order(shape);
        return made;
    }

  private:
    bool promotes() const { return promote_inputs_to_common_dtype_ || promote_integer_inputs_to_float_; }
    ScalarType dtype() const {
        if (static_dtype_) return *static_dtype_;
        ScalarType t = ScalarType::Undefined;
        if (promotes()) {
            Tensor all;
            for (const Tensor& x : inputs_)
                t = all.defined() ? at::result_type(all, x) : x.scalar_type(), all = with(all, x, t);
            if (promote_integer_inputs_to_float_ && at::isIntegralType(t, true))
                t = c10::get_default_dtype_as_scalartype();
            return t;
        }
        for (const auto* list : {&inputs_, &outputs_})
            for (const Tensor& x : *list) {
                if (!x.defined()) continue;
                if (t == ScalarType::Undefined) t = x.scalar_type();
                TORCH_CHECK(!check_all_same_dtype_ || x.scalar_type() == t, "Found dtype ", x.scalar_type(),
                            " but expected ", t);
            }
        TORCH_CHECK(t != ScalarType::Undefined, "a TensorIterator without inputs needs a dtype or an output");
        return t;
    }
    // Stands for the inputs so far where the next one's type is asked for: dimensions outweigh 0-dim tensors.
    static Tensor with(const Tensor& all, const Tensor& x, ScalarType t) {
        const bool dims = x.dim() > 0 || (all.defined() && all.dim() > 0);
        return dims ? at::empty({0}, TensorOptions(t)) : at::empty({}, TensorOptions(t));
    }
    Device device() const {
        if (static_device_) return *static_device_;
        std::optional<Device> found;
        for (const auto* list : {&outputs_, &inputs_})
            for (const Tensor& x : *list) {
                if (!x.defined() || (allow_cpu_scalars_ && x.dim() == 0)) continue;
                if (!found) found = x.device();
                TORCH_CHECK(!check_all_same_device_ || x.device() == *found,
                            "Expected all tensors to be on the same device, but found at least two devices, ", *found,
                            " and ", x.device(), "!");
            }
        return found.value_or(Device(DeviceType::CPU));
    }
    std::vector<int64_t> shape() const {
        if (static_shape_) return *static_shape_;
        std::vector<int64_t> all;
        bool any = false;
        for (const auto* list : {&inputs_, &outputs_})
            for (const Tensor& x : *list) {
                if (!x.defined() || (list == &outputs_ && any && resize_outputs_)) continue;
                all = any ? at::infer_size(all, x.sizes()) : x.sizes().vec();
                any = true;
            }
        return all;
    }
    std::vector<Tensor> outputs_, inputs_;
    std::optional<ScalarType> static_dtype_;
    std::optional<Device> static_device_;
    std::optional<std::vector<int64_t>> static_shape_;
    bool set_check_mem_overlap_ = true, check_all_same_dtype_ = true, check_all_same_device_ = true,
         enforce_safe_casting_to_output_ = false, enforce_linear_iteration_ = false,
         promote_inputs_to_common_dtype_ = false, promote_integer_inputs_to_float_ = false,
         cast_common_dtype_to_outputs_ = false, allow_cpu_scalars_ = false, resize_outputs_ = true,
         is_reduction_ = false;
};

inline TensorIterator TensorIterator::unary_op(const Tensor& out, const Tensor& a) {
    return TensorIteratorConfig()
        .add_output(out)
        .add_input(a)
        .check_all_same_dtype(false)
        .cast_common_dtype_to_outputs(true)
        .promote_inputs_to_common_dtype(true)
        .build();
}
inline TensorIterator TensorIterator::binary_op(const Tensor& out, const Tensor& a, const Tensor& b) {
    return TensorIteratorConfig()
        .add_output(out)
        .add_input(a)
        .add_input(b)
        .allow_cpu_scalars(true)
        .promote_inputs_to_common_dtype(true)
        .cast_common_dtype_to_outputs(true)
        .enforce_safe_casting_to_output(true)
        .build();
}
inline TensorIterator TensorIterator::comparison_op(const Tensor& out, const Tensor& a, const Tensor& b) {
    const Tensor result =
        out.defined() ? out : at::empty(at::infer_size(a.sizes(), b.sizes()), a.options().dtype(kBool));
    TensorIteratorConfig config;
    config.add_output(result).add_input(a).add_input(b).allow_cpu_scalars(true).promote_inputs_to_common_dtype(true);
    return config.build();
}
inline TensorIterator TensorIterator::reduce_op(Tensor& out, const Tensor& a) {
    return TensorIteratorConfig()
        .set_check_mem_overlap(false)
        .add_output(out)
        .add_input(a)
        .resize_outputs(false)
        .is_reduction(true)
        .promote_inputs_to_common_dtype(true)
        .build();
}
inline TensorIterator TensorIterator::reduce_op(Tensor& out1, Tensor& out2, const Tensor& a) {
    TORCH_CHECK(out1.sizes() == out2.sizes(), "reduce_op(): expected both outputs to have same dims, but output1 has ",
                out1.sizes(), " and output2 has ", out2.sizes());
    return TensorIteratorConfig()
        .set_check_mem_overlap(false)
        .add_output(out1)
        .add_output(out2)
        .add_input(a)
        .resize_outputs(false)
        .is_reduction(true)
        .check_all_same_dtype(false)
        .build();
}
inline TensorIterator TensorIterator::nullary_op(const Tensor& out) {
    return TensorIteratorConfig().add_output(out).check_all_same_dtype(false).resize_outputs(false).build();
}

namespace native {

namespace detail {
template <class F>
struct Traits : Traits<decltype(&F::operator())> {};
template <class R, class... A>
struct Traits<R (*)(A...)> {
    using Result = R;
    using Arguments = std::tuple<std::decay_t<A>...>;
};
template <class C, class R, class... A>
struct Traits<R (C::*)(A...) const> : Traits<R (*)(A...)> {};
template <class C, class R, class... A>
struct Traits<R (C::*)(A...)> : Traits<R (*)(A...)> {};

template <class T>
struct Outputs {
    static constexpr int count = 1;
    static void store(const T& v, char* const* data, const int64_t* steps, int64_t i) {
        *reinterpret_cast<T*>(data[0] + i * steps[0]) = v;
    }
    static void check(const TensorIteratorBase& iter) { expect<T>(iter, 0); }
    template <class V>
    static void expect(const TensorIteratorBase& iter, int i) {
        TORCH_CHECK(iter.dtype(i) == c10::CppTypeToScalarType<V>::value, "the function has ",
                    c10::CppTypeToScalarType<V>::value, " where operand ", i, " of the iterator has ", iter.dtype(i));
    }
};
template <class... T>
struct Outputs<std::tuple<T...>> {
    static constexpr int count = sizeof...(T);
    static void store(const std::tuple<T...>& v, char* const* data, const int64_t* steps, int64_t i) {
        store_all(v, data, steps, i, std::index_sequence_for<T...>());
    }
    static void check(const TensorIteratorBase& iter) {
        int i = 0;
        (Outputs<int>::expect<T>(iter, i++), ...);
    }

  private:
    template <size_t... k>
    static void store_all(const std::tuple<T...>& v, char* const* data, const int64_t* steps, int64_t i,
                          std::index_sequence<k...>) {
        ((*reinterpret_cast<T*>(data[k] + i * steps[k]) = std::get<k>(v)), ...);
    }
};

// A function that gives nothing, of an iterator without outputs.
template <>
struct Outputs<void> {
    static constexpr int count = 0;
    static void check(const TensorIteratorBase&) {}
};

template <class F, class Out, class... A, size_t... k>
void run(TensorIteratorBase& iter, const F& op, int64_t grain, Out, std::tuple<A...>*, std::index_sequence<k...>) {
    static constexpr size_t outs = static_cast<size_t>(Out::count),
                            all = outs + sizeof...(A);  // for clang, in the lambda
    TORCH_CHECK(iter.noutputs() == Out::count && iter.ninputs() == static_cast<int>(sizeof...(A)),
                "the function takes ", sizeof...(A), " and gives ", outs, " values, the iterator has ", iter.ninputs(),
                " inputs and ", iter.noutputs(), " outputs");
    Out::check(iter);
    (Outputs<int>::expect<A>(iter, static_cast<int>(outs + k)), ...);
    auto loop = [&op](char* const* given, const int64_t* strides, int64_t n) {
        char* data[all];
        int64_t steps[all];
        for (size_t a = 0; a < all; a++) data[a] = given[a], steps[a] = strides[a];
        for (int64_t i = 0; i < n; i++) {
            if constexpr (outs == 0)
                op(*reinterpret_cast<const A*>(data[outs + k] + i * steps[outs + k])...);
            else
                Out::store(op(*reinterpret_cast<const A*>(data[outs + k] + i * steps[outs + k])...), data, steps, i);
        }
    };
    if (grain)
        iter.for_each(loop, grain);
    else
        iter.serial_for_each(loop, {0, iter.numel()});
    iter.cast_outputs();
}
template <class F>
void run(TensorIteratorBase& iter, const F& op, int64_t grain) {
    using T = Traits<F>;
    using Arguments = typename T::Arguments;
    run(iter, op, grain, Outputs<typename T::Result>(), static_cast<Arguments*>(nullptr),
        std::make_index_sequence<std::tuple_size<Arguments>::value>());
}
}  // namespace detail

template <class F>
void cpu_kernel(TensorIteratorBase& iter, F&& op, int64_t grain_size = at::internal::GRAIN_SIZE) {
    detail::run(iter, op, std::max<int64_t>(1, grain_size));
}
// The loop over elements is the one that the compiler makes vectors of: the function of vectors gives the same values.
template <bool check_dynamic_cast = true, class F, class V>
void cpu_kernel_vec(TensorIteratorBase& iter, F&& op, V&&, int64_t grain_size = at::internal::GRAIN_SIZE) {
    cpu_kernel(iter, op, grain_size);
}
template <class F>
void cpu_kernel_multiple_outputs(TensorIteratorBase& iter, F&& op, int64_t grain_size = at::internal::GRAIN_SIZE) {
    cpu_kernel(iter, op, grain_size);
}
// In order, on this thread.
template <class F>
void cpu_serial_kernel(TensorIteratorBase& iter, F&& op) {
    detail::run(iter, op, 0);
}
template <class F, class V>
void cpu_serial_kernel_vec(TensorIteratorBase& iter, F&& op, V&&) {
    detail::run(iter, op, 0);
}

}  // namespace native
}  // namespace at
