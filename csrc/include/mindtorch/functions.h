// What at:: has beside the operators: operators written with signs, indexing, factories over given memory.
#pragma once

#include <mindtorch/containers.h>

#include <mindtorch/generated/functions.h>

#include <functional>

namespace c10 {
inline int64_t maybe_wrap_dim(int64_t dim, int64_t n, bool wrap_scalar = true) {
    const int64_t count = n == 0 && wrap_scalar ? 1 : n;
    TORCH_CHECK_INDEX(dim >= -count && dim < count, "Dimension out of range (expected to be in range of [", -count,
                      ", ", count - 1, "], but got ", dim, ")");
    return dim < 0 ? dim + count : dim;
}
}  // namespace c10

namespace c10 {

// Elements of the dimensions before k, and of those between two.
inline int64_t size_to_dim_(int k, IntArrayRef dims) {
    TORCH_CHECK(k >= 0 && static_cast<size_t>(k) <= dims.size(), "size_to_dim_: ", k, " of ", dims);
    return multiply_integers(dims.begin(), dims.begin() + k);
}
inline int64_t size_between_dim_(int k, int l, IntArrayRef dims) {
    TORCH_CHECK(k >= 0 && l >= 0 && static_cast<size_t>(std::max(k, l)) < dims.size(), "size_between_dim_: ", k,
                " and ", l, " of ", dims);
    return k == l ? 1 : multiply_integers(dims.begin() + std::min(k, l) + 1, dims.begin() + std::max(k, l));
}
inline int canonical_axis_index_(int axis, int ndims) {
    TORCH_CHECK(-ndims <= axis && axis < ndims, "canonical_axis_index_: ", axis, " of ", ndims, " dimensions");
    return axis < 0 ? axis + ndims : axis;
}

}  // namespace c10

namespace at {

inline Tensor& Tensor::operator=(const Tensor& o) && { return copy_(o); }
inline Tensor& Tensor::operator=(Tensor&& o) && { return copy_(o); }
inline Tensor& Tensor::operator=(const Scalar& v) && { return fill_(v); }
inline Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy,
                         std::optional<MemoryFormat> f) const {
    return method::to(*this, options, non_blocking, copy, f ? f : options.memory_format_opt());
}
inline Tensor Tensor::to(Device device, ScalarType dtype, bool non_blocking, bool copy,
                         std::optional<MemoryFormat> f) const {
    return to(TensorOptions(dtype).device(device), non_blocking, copy, f);
}
inline Tensor Tensor::to(ScalarType dtype, bool non_blocking, bool copy, std::optional<MemoryFormat> f) const {
    return to(TensorOptions(dtype), non_blocking, copy, f);
}
inline Tensor Tensor::to(const Tensor& other, bool non_blocking, bool copy, std::optional<MemoryFormat> f) const {
    return to(other.device(), other.scalar_type(), non_blocking, copy, f);
}
inline Tensor Tensor::to(std::optional<ScalarType> dtype, std::optional<Layout> layout, std::optional<Device> device,
                         std::optional<bool> pin_memory, bool non_blocking, bool copy,
                         std::optional<MemoryFormat> f) const {
    return method::to(*this, dtype, layout, device, pin_memory, non_blocking, copy, f);
}
inline Tensor Tensor::toType(ScalarType t) const { return to(t); }
inline Tensor Tensor::cpu() const { return to(Device(DeviceType::CPU), scalar_type()); }
inline Tensor Tensor::cuda() const { return to(Device(DeviceType::CUDA), scalar_type()); }
inline Tensor Tensor::data() const { return detach(); }
inline Tensor Tensor::pin_memory(std::optional<Device> device) const {
    return mindtorch::tensor_of(mindtorch::call_method(*this, "pin_memory", {mindtorch::arg(device)}));
}
inline Tensor& Tensor::set_() const { return method::set_(const_cast<Tensor&>(*this)); }
inline Tensor& Tensor::set_(const Tensor& source) const { return method::set_(const_cast<Tensor&>(*this), source); }
inline Tensor& Tensor::set_(const Tensor& source, int64_t offset, IntArrayRef size, IntArrayRef stride) const {
    return method::set_(const_cast<Tensor&>(*this), source, offset, size, stride);
}
}  // namespace at
namespace mindtorch MINDTORCH_HIDDEN {
inline at::Tensor tensor_over(const c10::Storage& s, at::ScalarType dtype, at::IntArrayRef sizes,
                              at::IntArrayRef strides, int64_t offset) {
    mt_storage core = s.unsafeGetStorageImpl()->share_core();
    mt_tensor made = nullptr;
    const int failed = api().tensor_over(core, static_cast<int32_t>(sizes.size()), sizes.data(), strides.data(), offset,
                                         static_cast<uint8_t>(dtype), &made);
    api().storage_release(core);
    check(failed);
    return at::Tensor::steal(made);
}
}  // namespace mindtorch MINDTORCH_HIDDEN
namespace at {
inline Tensor& Tensor::set_(const c10::Storage& source, int64_t offset, IntArrayRef size, IntArrayRef stride) const {
    TORCH_CHECK(source, "set_: the storage is undefined");
    const DimVector dense = mindtorch::strides_of(size, MemoryFormat::Contiguous);
    const auto elements = static_cast<int64_t>(source.nbytes() / itemsize());
    const Tensor over = mindtorch::tensor_over(source, scalar_type(), {elements}, {1}, 0);
    return set_(over, offset, size, stride.empty() ? IntArrayRef(dense) : stride);
}
inline Tensor& Tensor::set_(const c10::Storage& source) const {
    const int64_t n = static_cast<int64_t>(source.nbytes() / itemsize());
    return set_(source, 0, {n});
}
inline bool Tensor::is_conj() const { return mindtorch::call_method(*this, "is_conj").as.boolean != 0; }
inline bool Tensor::is_neg() const { return mindtorch::call_method(*this, "is_neg").as.boolean != 0; }
inline Scalar Tensor::item() const {
    TORCH_CHECK(numel() == 1, "a Tensor with ", numel(), " elements cannot be converted to Scalar");
    return at::_local_scalar_dense(*this);
}
inline Tensor Tensor::operator[](int64_t i) const { return select(0, i); }
inline Tensor Tensor::operator[](const Tensor& i) const {
    return index(c10::List<std::optional<Tensor>>({std::optional<Tensor>(i)}));
}
inline Tensor Tensor::operator-() const { return neg(); }
inline Tensor Tensor::operator~() const { return bitwise_not(); }
inline Tensor& Tensor::operator+=(const Tensor& o) { return add_(o); }
inline Tensor& Tensor::operator+=(const Scalar& o) { return add_(o); }
inline Tensor& Tensor::operator-=(const Tensor& o) { return sub_(o); }
inline Tensor& Tensor::operator-=(const Scalar& o) { return sub_(o); }
inline Tensor& Tensor::operator*=(const Tensor& o) { return mul_(o); }
inline Tensor& Tensor::operator*=(const Scalar& o) { return mul_(o); }
inline Tensor& Tensor::operator/=(const Tensor& o) { return div_(o); }
inline Tensor& Tensor::operator/=(const Scalar& o) { return div_(o); }

// Factories with a place for names of dimensions, of which none are given.
#define MINDTORCH_FACTORY(name)                                                                               \
    inline Tensor name(IntArrayRef size, std::nullopt_t, std::optional<ScalarType> dtype,                     \
                       std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin) { \
        return at::name(size, dtype, layout, device, pin);                                                    \
    }
MINDTORCH_FACTORY(zeros)
MINDTORCH_FACTORY(ones)
MINDTORCH_FACTORY(rand)
MINDTORCH_FACTORY(randn)
#undef MINDTORCH_FACTORY
inline Tensor full(IntArrayRef size, const Scalar& value, std::nullopt_t, std::optional<ScalarType> dtype,
                   std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin) {
    return at::full(size, value, dtype, layout, device, pin);
}
inline Tensor empty(IntArrayRef size, std::nullopt_t, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                    std::optional<Device> device, std::optional<bool> pin, std::optional<MemoryFormat> format) {
    return at::empty(size, dtype, layout, device, pin, format);
}

inline Tensor operator+(const Tensor& a, const Tensor& b) { return a.add(b); }
inline Tensor operator+(const Tensor& a, const Scalar& b) { return a.add(b); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return b.add(a); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return a.sub(b); }
inline Tensor operator-(const Tensor& a, const Scalar& b) { return a.sub(b); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return at::rsub(b, a); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return a.mul(b); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return a.mul(b); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return b.mul(a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return a.div(b); }
inline Tensor operator/(const Tensor& a, const Scalar& b) { return a.div(b); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return b.reciprocal().mul(a); }
inline Tensor operator%(const Tensor& a, const Tensor& b) { return a.remainder(b); }
inline Tensor operator%(const Tensor& a, const Scalar& b) { return a.remainder(b); }
#define MINDTORCH_COMPARE(sign, name, swapped)                                          \
    inline Tensor operator sign(const Tensor& a, const Tensor& b) { return a.name(b); } \
    inline Tensor operator sign(const Tensor& a, const Scalar& b) { return a.name(b); } \
    inline Tensor operator sign(const Scalar& a, const Tensor& b) { return b.swapped(a); }
MINDTORCH_COMPARE(<, lt, gt)
MINDTORCH_COMPARE(<=, le, ge)
MINDTORCH_COMPARE(>, gt, lt)
MINDTORCH_COMPARE(>=, ge, le)
MINDTORCH_COMPARE(==, eq, eq)
MINDTORCH_COMPARE(!=, ne, ne)
MINDTORCH_COMPARE(&, bitwise_and, bitwise_and)
MINDTORCH_COMPARE(|, bitwise_or, bitwise_or)
MINDTORCH_COMPARE(^, bitwise_xor, bitwise_xor)
#undef MINDTORCH_COMPARE

// What `print` shows in Python.
using c10::toString;
inline std::string toString(const Tensor& t) {
    if (!t.defined()) return "[ Tensor (undefined) ]";
    mindtorch::Object text =
        mindtorch::Object::steal(mindtorch::call_python("builtins", "repr", {mindtorch::arg(t)}).as.object);
    mt_value v{};
    mindtorch::check(mindtorch::api().value_of(text.get(), &v));
    return std::string(v.as.string, v.len);
}
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

inline void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
                             std::optional<TensorList> inputs) const {
    mindtorch::call_python(
        "mindtorch_v2.autograd", "backward",
        {mindtorch::arg(*this), mindtorch::arg(gradient), mindtorch::arg(retain_graph), mindtorch::arg(create_graph),
         mindtorch::none(), inputs ? mindtorch::arg(*inputs) : mindtorch::none()});
}

inline void Tensor::retain_grad() const {
    mindtorch::call_python("mindtorch_v2._library.compiled", "retain_grad", {mindtorch::arg(*this)});
}
inline bool Tensor::retains_grad() const {
    return mindtorch::call_python("builtins", "getattr", {mindtorch::arg(*this), mindtorch::arg("retains_grad")})
               .as.boolean != 0;
}

namespace indexing {

using None_t = std::nullopt_t;
struct EllipsisIndexType {};
inline constexpr std::nullopt_t None = std::nullopt;
inline const EllipsisIndexType Ellipsis{};
inline constexpr int64_t INDEX_MIN = std::numeric_limits<int64_t>::min(),
                         INDEX_MAX = std::numeric_limits<int64_t>::max();
struct Slice {
    Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt,
          std::optional<int64_t> step = std::nullopt)
        : given_start(start), given_stop(stop), given_step(step) {
        TORCH_CHECK_VALUE(step != 0, "slice step cannot be zero");
    }
    // As numbers: what is not given has the value that takes everything.
    int64_t step() const { return given_step.value_or(1); }
    int64_t start() const { return given_start.value_or(step() < 0 ? INDEX_MAX : 0); }
    int64_t stop() const { return given_stop.value_or(step() < 0 ? INDEX_MIN : INDEX_MAX); }
    std::optional<int64_t> given_start, given_stop, given_step;
};
struct TensorIndex {
    enum Kind { kNone, kEllipsis, kInt, kBool, kSlice, kTensor } kind;
    TensorIndex(std::nullopt_t) : kind(kNone) {}
    TensorIndex(EllipsisIndexType) : kind(kEllipsis) {}
    TensorIndex(const char* dots) : kind(kEllipsis) {
        TORCH_CHECK_VALUE(std::string_view(dots) == "...",
                          "Expected \"...\" to represent an ellipsis index, but got \"", dots, "\"");
    }
    template <class T, class = std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value>>
    TensorIndex(T i) : kind(kInt), integer(static_cast<int64_t>(i)) {}
    template <class T, class = std::enable_if_t<std::is_same<T, bool>::value>, class = void>
    TensorIndex(T b) : kind(kBool), integer(b) {}
    TensorIndex(Slice s) : kind(kSlice), slice(s) {}
    TensorIndex(Tensor t) : kind(kTensor), tensor(std::move(t)) {}
    int64_t integer = 0;
    Slice slice;
    Tensor tensor;
};

// The view that everything but the tensors selects, and the tensors by dimension of it.
inline Tensor apply_views(const Tensor& self, ArrayRef<TensorIndex> indices,
                          c10::List<std::optional<Tensor>>& tensors) {
    int64_t given = 0;
    for (const TensorIndex& i : indices) {
        if (i.kind == TensorIndex::kInt || i.kind == TensorIndex::kSlice) given++;
        if (i.kind == TensorIndex::kTensor)
            given += i.tensor.scalar_type() == ScalarType::Bool || i.tensor.scalar_type() == ScalarType::Byte
                         ? i.tensor.dim()
                         : 1;
    }
    TORCH_CHECK_INDEX(given <= self.dim(), "too many indices for tensor of dimension ", self.dim());
    Tensor t = self;
    int64_t dim = 0;
    auto keep = [&](Tensor index) {
        while (static_cast<int64_t>(tensors.size()) < dim) tensors.push_back(std::nullopt);
        tensors.push_back(std::move(index));
    };
    for (const TensorIndex& i : indices) {
        switch (i.kind) {
            case TensorIndex::kInt:
                t = t.select(dim, i.integer);
                break;
            case TensorIndex::kSlice:
                TORCH_CHECK_VALUE(i.slice.step() > 0, "step must be greater than zero");
                t = t.slice(dim++, i.slice.given_start, i.slice.given_stop, i.slice.step());
                break;
            case TensorIndex::kEllipsis:
                dim += self.dim() - given;
                break;
            case TensorIndex::kNone:
                t = t.unsqueeze(dim++);
                break;
            case TensorIndex::kBool:
                t = t.unsqueeze(dim);
                keep(at::full({1}, i.integer != 0, TensorOptions(ScalarType::Bool).device(self.device())));
                dim++;
                break;
            case TensorIndex::kTensor: {
                const bool mask =
                    i.tensor.scalar_type() == ScalarType::Bool || i.tensor.scalar_type() == ScalarType::Byte;
                keep(i.tensor);
                dim += mask ? i.tensor.dim() : 1;
                if (mask)
                    for (int64_t k = 1; k < i.tensor.dim(); k++) given += 0;
                break;
            }
        }
    }
    return t;
}

}  // namespace indexing

inline Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
    c10::List<std::optional<Tensor>> tensors;
    Tensor t = indexing::apply_views(*this, indices, tensors);
    if (tensors.empty()) return t.is_same(*this) ? t.alias() : t;
    return t.index(tensors);
}
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
    return index(ArrayRef<indexing::TensorIndex>(indices));
}
inline Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values) {
    c10::List<std::optional<Tensor>> tensors;
    Tensor t = indexing::apply_views(*this, indices, tensors);
    Tensor v = values.device() != device() && values.numel() == 1 ? values.to(device(), values.scalar_type()) : values;
    if (tensors.empty())
        t.copy_(v);
    else
        t.index_put_(tensors, v.scalar_type() == scalar_type() ? v : v.to(scalar_type()));
    return *this;
}
inline Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) {
    return index_put_(indices, at::full({}, value, options()));
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values) {
    return index_put_(ArrayRef<indexing::TensorIndex>(indices), values);
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) {
    return index_put_(ArrayRef<indexing::TensorIndex>(indices), value);
}

// ---- tensors over given memory, and of given numbers ----

inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                        const TensorOptions& options = {}) {
    struct Given {
        void* data;
        std::function<void(void*)> deleter;
    };
    Given* given = deleter ? new Given{data, std::move(deleter)} : nullptr;
    mt_tensor t = nullptr;
    const Device d = options.device();
    mindtorch::check(mindtorch::api().from_blob(data, static_cast<int32_t>(sizes.size()), sizes.data(), strides.data(),
                                                static_cast<uint8_t>(options.dtype().toScalarType()),
                                                mt_device{static_cast<uint8_t>(d.type()), d.index()}, given,
                                                given ? static_cast<mt_release>([](void* p) {
                                                    std::unique_ptr<Given> g(static_cast<Given*>(p));
                                                    g->deleter(g->data);
                                                })
                                                      : nullptr,
                                                &t));
    return mindtorch::with_options(Tensor::steal(t), options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter,
                        const TensorOptions& options = {}) {
    return from_blob(data, sizes, IntArrayRef(), std::move(deleter), options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) {
    return from_blob(data, sizes, strides, std::function<void(void*)>(), options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
    return from_blob(data, sizes, IntArrayRef(), std::function<void(void*)>(), options);
}

// What torch::tensor makes of values of a C++ type: whole numbers are Long, others have the default type.
inline Tensor of_values(const Tensor& values, const TensorOptions& options) {
    const ScalarType type = values.scalar_type();
    const ScalarType own = c10::isIntegralType(type)                           ? ScalarType::Long
                           : c10::isFloatingType(type) && !options.has_dtype() ? c10::get_default_dtype_as_scalartype()
                                                                               : type;
    return mindtorch::with_options(values.to(options.device(), options.dtype_opt().value_or(own)), options);
}
template <class T>
Tensor copied(ArrayRef<T> values) {
    Tensor t = at::empty({static_cast<int64_t>(values.size())}, TensorOptions(c10::CppTypeToScalarType<T>::value));
    std::copy(values.begin(), values.end(), t.data_ptr<T>());
    return t;
}
template <class T>
Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) {
    return of_values(copied(values), options);
}
template <class T>
constexpr bool is_element = std::is_arithmetic<T>::value || c10::is_complex<T>::value ||
                            std::is_same<T, c10::Half>::value || std::is_same<T, c10::BFloat16>::value;
template <class T, class = std::enable_if_t<is_element<T>>>
Tensor tensor(T value, const TensorOptions& options = {}) {
    return tensor(ArrayRef<T>(value), options).reshape(IntArrayRef());
}
template <class T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) {
    return tensor(ArrayRef<T>(values), options);
}
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
    return tensor(ArrayRef<T>(values), options);
}
namespace detail {
// Values in braces, and braces in these.
class TensorDataContainer {
  public:
    TensorDataContainer() : values_(at::empty({0})) {}
    template <class T, class = std::enable_if_t<is_element<T>>>
    TensorDataContainer(T value) : values_(copied(ArrayRef<T>(value)).reshape(IntArrayRef())) {}
    template <class T>
    TensorDataContainer(const std::vector<T>& values) : values_(copied(ArrayRef<T>(values))) {}
    TensorDataContainer(std::initializer_list<TensorDataContainer> list) {
        std::vector<Tensor> all;
        for (const TensorDataContainer& part : list) {
            const Tensor& one = part.values_;
            TORCH_CHECK(all.empty() || one.sizes() == all[0].sizes(),
                        "Expected all sub-lists to have sizes: ", all[0].sizes(),
                        ", but got sub-list with sizes: ", one.sizes());
            TORCH_CHECK(all.empty() || one.scalar_type() == all[0].scalar_type(),
                        "Expected all elements of the tensor to have the same scalar type: ", all[0].scalar_type(),
                        ", but got element of scalar type: ", one.scalar_type());
            all.push_back(one);
        }
        values_ = all.empty() ? at::empty({0}) : at::stack(all);
    }
    const Tensor& values() const { return values_; }

  private:
    Tensor values_;
};
}  // namespace detail
inline Tensor tensor(const detail::TensorDataContainer& values, const TensorOptions& options = {}) {
    return of_values(values.values(), options);
}
inline Tensor wrapped_scalar_tensor(const Scalar& s) {
    mt_tensor t = nullptr;
    mindtorch::check(mindtorch::api().wrapped_number(&s.value(), &t));
    return Tensor::steal(t);
}

}  // namespace at
namespace c10 {
// Beside Scalar, as calls without a namespace find it by its argument.
inline at::Tensor scalar_to_tensor(const Scalar& s, Device d = DeviceType::CPU) {
    return at::scalar_tensor(s, at::TensorOptions(s.type()).device(d));
}
inline void set_default_dtype(caffe2::TypeMeta type) {
    mindtorch::drop(mindtorch::call_python("mindtorch_v2", "set_default_dtype", {mindtorch::arg(type.toScalarType())}));
}
}  // namespace c10
namespace at {
// ---- functions of Python's, which need no operator ----
inline Tensor einsum(std::string_view equation, TensorList operands, OptionalIntArrayRef = std::nullopt) {
    return mindtorch::tensor_of(
        mindtorch::call_python("mindtorch_v2", "einsum", {mindtorch::arg(equation), mindtorch::arg(operands)}));
}
inline ScalarType promote_types(ScalarType a, ScalarType b) {
    return static_cast<ScalarType>(
        mindtorch::call_python("mindtorch_v2", "promote_types", {mindtorch::arg(a), mindtorch::arg(b)}).as.dtype);
}
inline ScalarType promoteTypes(ScalarType a, ScalarType b) { return promote_types(a, b); }
// The sizes of two tensors that are broadcast together.
inline std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b) {
    std::vector<int64_t> all(std::max(a.size(), b.size()));
    for (size_t i = 0; i < all.size(); i++) {
        const int64_t n = i < a.size() ? a[a.size() - 1 - i] : 1, m = i < b.size() ? b[b.size() - 1 - i] : 1;
        TORCH_CHECK(n == m || n == 1 || m == 1, "The size of tensor a (", n, ") must match the size of tensor b (", m,
                    ") at non-singleton dimension ", all.size() - 1 - i);
        all[all.size() - 1 - i] = n == 1 ? m : n;
    }
    return all;
}
inline bool can_cast(ScalarType from, ScalarType to) {
    return mindtorch::call_python("mindtorch_v2", "can_cast", {mindtorch::arg(from), mindtorch::arg(to)}).as.boolean;
}
namespace detail {
template <class A, class B>
ScalarType result_type(const A& a, const B& b) {
    return static_cast<ScalarType>(
        mindtorch::call_python("mindtorch_v2", "result_type", {mindtorch::arg(a), mindtorch::arg(b)}).as.dtype);
}
}  // namespace detail
inline ScalarType result_type(const Tensor& a, const Tensor& b) { return detail::result_type(a, b); }
inline ScalarType result_type(const Tensor& a, const Scalar& b) { return detail::result_type(a, b); }
inline ScalarType result_type(const Scalar& a, const Tensor& b) { return detail::result_type(a, b); }
inline ScalarType result_type(const Scalar& a, const Scalar& b) { return detail::result_type(a, b); }
inline c10::MaybeOwned<Tensor> Tensor::expect_contiguous(MemoryFormat f) const {
    return c10::MaybeOwned<Tensor>::borrowed(is_contiguous(f) ? *this : contiguous(f));
}
inline bool is_floating_point(const Tensor& t) { return t.is_floating_point(); }
inline bool is_complex(const Tensor& t) { return t.is_complex(); }
inline int64_t numel(const Tensor& t) { return t.numel(); }
inline int64_t size(const Tensor& t, int64_t dim) { return t.size(dim); }

inline void set_num_threads(int n) { mindtorch::api().set_num_threads(n); }
inline bool hasCUDA() { return false; }
inline bool hasMKL() { return false; }
inline bool hasMPS() { return false; }
inline bool hasXPU() { return false; }
namespace detail {
template <class... A>
mt_value method_of(const Generator& g, const char* name, A... args) {
    return mindtorch::call_python("mindtorch_v2._library.compiled", "call_method",
                                  {mindtorch::arg(g), mindtorch::arg(name), args...});
}
inline Generator createCPUGenerator(uint64_t seed) {
    const mt_value made = mindtorch::call_python("mindtorch_v2", "Generator", {});
    Generator g(mindtorch::Object::steal(made.as.object));
    g.set_current_seed(seed);
    return g;
}
}  // namespace detail
inline Generator Generator::clone() const {
    const mt_value made = detail::method_of(*this, "clone_state");
    return Generator(mindtorch::Object::steal(made.as.object));
}
inline Tensor Generator::get_state() const { return mindtorch::tensor_of(detail::method_of(*this, "get_state")); }
inline void Generator::set_state(const Tensor& state) {
    mindtorch::drop(detail::method_of(*this, "set_state", mindtorch::arg(state)));
}
inline Generator get_generator_or_default(const std::optional<Generator>& g, const Generator& otherwise) {
    return g && g->defined() ? *g : otherwise;
}
inline void manual_seed(uint64_t seed) {
    Generator g = detail::getDefaultCPUGenerator();
    g.set_current_seed(seed);
}
inline std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors) {
    std::vector<Tensor> all;
    int64_t offset = 0;
    for (const Tensor& t : tensors) {
        all.push_back(flat.narrow(0, offset, t.numel()).view(t.sizes()));
        offset += t.numel();
    }
    return all;
}
inline Tensor flatten_dense_tensors(TensorList tensors) {
    std::vector<Tensor> flat;
    for (const Tensor& t : tensors) flat.push_back(t.contiguous().view({-1}));
    return at::cat(flat);
}

// ---- checks of arguments ----
struct TensorArg {
    Tensor tensor;
    const char* name;
    int pos;
    TensorArg(Tensor t, const char* name, int pos) : tensor(std::move(t)), name(name), pos(pos) {}
    const Tensor* operator->() const { return &tensor; }
    const Tensor& operator*() const { return tensor; }
};
struct TensorGeometryArg : TensorArg {
    using TensorArg::TensorArg;
    TensorGeometryArg(const TensorArg& a) : TensorArg(a) {}
};
using CheckedFrom = const char*;
inline std::ostream& operator<<(std::ostream& s, const TensorArg& t) {
    if (t.pos == 0) return s << "'" << t.name << "'";
    return s << "argument #" << t.pos << " '" << t.name << "'";
}
inline void checkDim(CheckedFrom c, const TensorGeometryArg& t, int64_t dim) {
    TORCH_CHECK(t->dim() == dim, "Expected ", dim, "-dimensional tensor, but got ", t->dim(),
                "-dimensional tensor for ", t, " (while checking arguments for ", c, ")");
}
inline void checkSize(CheckedFrom c, const TensorGeometryArg& t, IntArrayRef sizes) {
    checkDim(c, t, static_cast<int64_t>(sizes.size()));
    TORCH_CHECK(t->sizes().equals(sizes), "Expected tensor of size ", sizes, ", but got tensor of size ", t->sizes(),
                " for ", t, " (while checking arguments for ", c, ")");
}
inline void checkSize(CheckedFrom c, const TensorGeometryArg& t, int64_t dim, int64_t size) {
    TORCH_CHECK(t->size(dim) == size, "Expected tensor to have size ", size, " at dimension ", dim, ", but got size ",
                t->size(dim), " for ", t, " (while checking arguments for ", c, ")");
}
inline void checkNumel(CheckedFrom c, const TensorGeometryArg& t, int64_t n) {
    TORCH_CHECK(t->numel() == n, "Expected tensor for ", t, " to have ", n, " elements; but it actually has ",
                t->numel(), " elements (while checking arguments for ", c, ")");
}
inline void checkContiguous(CheckedFrom c, const TensorGeometryArg& t) {
    TORCH_CHECK(t->is_contiguous(), "Expected contiguous tensor, but got non-contiguous tensor for ", t,
                " (while checking arguments for ", c, ")");
}
inline void checkSameNumel(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
    TORCH_CHECK(a->numel() == b->numel(), "Expected tensor for ", a, " to have same number of elements as tensor for ",
                b, "; but ", a->numel(), " does not equal ", b->numel(), " (while checking arguments for ", c, ")");
}
inline void checkAllContiguous(CheckedFrom c, ArrayRef<TensorArg> all) {
    for (const TensorArg& t : all)
        if (t->defined()) checkContiguous(c, t);
}
inline void checkDefined(CheckedFrom c, const TensorArg& t) {
    TORCH_CHECK(t->defined(), "Expected tensor for ", t,
                " to be non-null, but it was undefined (while checking arguments for ", c, ")");
}
inline void checkAllDefined(CheckedFrom c, ArrayRef<TensorArg> all) {
    for (const TensorArg& t : all) checkDefined(c, t);
}
inline void checkSameSize(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
    TORCH_CHECK(a->sizes().equals(b->sizes()), "Expected tensor for ", a, " to have same size as tensor for ", b,
                "; but ", a->sizes(), " does not equal ", b->sizes(), " (while checking arguments for ", c, ")");
}
inline void checkSameType(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
    TORCH_CHECK(a->type() == b->type(), "Expected tensor for ", a, " to have the same type as tensor for ", b,
                "; but type ", a->toString(), " does not equal ", b->toString(), " (while checking arguments for ", c,
                ")");
}
template <class F>
void check_neighbours(ArrayRef<TensorArg> all, F check) {
    const TensorArg* first = nullptr;
    for (const TensorArg& t : all) {
        if (!t->defined()) continue;
        if (first) check(*first, t);
        first = first ? first : &t;
    }
}
inline void checkAllSameSize(CheckedFrom c, ArrayRef<TensorArg> all) {
    check_neighbours(all, [&](const TensorArg& a, const TensorArg& b) { checkSameSize(c, a, b); });
}
inline void checkAllSameNumel(CheckedFrom c, ArrayRef<TensorArg> all) {
    check_neighbours(all, [&](const TensorArg& a, const TensorArg& b) { checkSameNumel(c, a, b); });
}
inline void checkAllSameType(CheckedFrom c, ArrayRef<TensorArg> all) {
    check_neighbours(all, [&](const TensorArg& a, const TensorArg& b) { checkSameType(c, a, b); });
}
inline void checkSameGPU(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
    TORCH_CHECK(a->device() == b->device(), "Expected tensor for ", a, " and tensor for ", b,
                " to be on one device (while checking arguments for ", c, ")");
}
inline void checkAllSameGPU(CheckedFrom c, ArrayRef<TensorArg> all) {
    check_neighbours(all, [&](const TensorArg& a, const TensorArg& b) { checkSameGPU(c, a, b); });
}
inline void checkScalarType(CheckedFrom c, const TensorArg& t, ScalarType s) {
    TORCH_CHECK(t->scalar_type() == s, "Expected tensor for ", t, " to have scalar type ", c10::toString(s),
                "; but got ", t->toString(), " instead (while checking arguments for ", c, ")");
}
inline void checkScalarTypes(CheckedFrom c, const TensorArg& t, ArrayRef<ScalarType> list) {
    if (std::find(list.begin(), list.end(), t->scalar_type()) != list.end()) return;
    std::ostringstream names;
    for (size_t i = 0; i < list.size(); i++) names << (i ? ", " : "") << list[i];
    TORCH_CHECK(false, "Expected tensor for ", t, " to have one of the following scalar types: ", names.str(),
                "; but got ", t->toString(), " instead (while checking arguments for ", c, ")");
}
inline void checkDeviceType(CheckedFrom c, TensorList tensors, DeviceType d) {
    for (const Tensor& t : tensors)
        TORCH_CHECK(!t.defined() || t.device().type() == d, "Expected tensor to have ", d,
                    " DeviceType, but got tensor with ", t.device().type(),
                    " DeviceType (while checking arguments for ", c, ")");
}
inline void checkBackend(CheckedFrom c, TensorList tensors, c10::Backend backend) {
    for (const Tensor& t : tensors)
        TORCH_CHECK(!t.defined() || t.type().backend() == backend, "Expected tensor to have ", c10::toString(backend),
                    " Backend, but got tensor with ", c10::toString(t.type().backend()),
                    " Backend (while checking arguments for ", c, ")");
}
inline std::optional<Device> device_of(const Tensor& t) {
    return t.defined() ? std::optional<Device>(t.device()) : std::nullopt;
}

}  // namespace at
namespace c10 {
using at::promoteTypes;
}  // namespace c10

#include <mindtorch/cpu_generator.h>
#include <mindtorch/make_tensor.h>
#include <mindtorch/own_device.h>
#include <mindtorch/print.h>
