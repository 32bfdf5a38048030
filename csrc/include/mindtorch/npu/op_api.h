// `EXEC_NPU_CMD(aclnnName, arguments...)`: an ACLNN operator of CANN or of an operator package, called with tensors,
// numbers and lists in the order of its C signature. The descriptors live until the work is enqueued, the workspace
// belongs to the stream.
#pragma once

#include <mindtorch/npu/command.h>

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

inline void* GetOpApiFuncAddr(const char* name) { return mindtorch::npu::symbol(name); }

namespace mindtorch {
namespace npu MINDTORCH_HIDDEN {

inline aclDataType data_type(at::ScalarType type) {
    switch (type) {
        case at::ScalarType::Byte:
            return ACL_UINT8;
        case at::ScalarType::Char:
            return ACL_INT8;
        case at::ScalarType::Short:
            return ACL_INT16;
        case at::ScalarType::Int:
            return ACL_INT32;
        case at::ScalarType::Long:
            return ACL_INT64;
        case at::ScalarType::Half:
            return ACL_FLOAT16;
        case at::ScalarType::Float:
            return ACL_FLOAT;
        case at::ScalarType::Double:
            return ACL_DOUBLE;
        case at::ScalarType::ComplexFloat:
            return ACL_COMPLEX64;
        case at::ScalarType::ComplexDouble:
            return ACL_COMPLEX128;
        case at::ScalarType::Bool:
            return ACL_BOOL;
        case at::ScalarType::BFloat16:
            return ACL_BF16;
        default:
            TORCH_CHECK(false, "EXEC_NPU_CMD: ACLNN has no type for ", c10::toString(type));
    }
}

template <class F>
F* function(const char* name) {
    void* found = symbol(name);
    TORCH_CHECK_NOT_IMPLEMENTED(found != nullptr, name, " is in none of CANN's libraries and operator packages");
    return reinterpret_cast<F*>(found);
}

// A descriptor, destroyed with the object; nothing for an argument that is not given.
template <class T>
class Descriptor {
  public:
    using type = T*;
    Descriptor() = default;
    Descriptor(T* made, int (*destroy)(const T*)) : made_(made), destroy_(destroy) {
        TORCH_CHECK(made != nullptr, "EXEC_NPU_CMD: CANN made no descriptor of an argument");
    }
    Descriptor(Descriptor&& o) noexcept : made_(std::exchange(o.made_, nullptr)), destroy_(o.destroy_) {}
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor() {
        if (made_) destroy_(made_);
    }
    T* get() const { return made_; }
    T* release() { return std::exchange(made_, nullptr); }

  private:
    T* made_ = nullptr;
    int (*destroy_)(const T*) = nullptr;
};
template <class T>
struct Plain {
    using type = T;
    T value;
    T get() const { return value; }
};

inline Descriptor<aclTensor> convert(const at::Tensor& t) {
    if (!t.defined()) return {};
    using Create = aclTensor*(const int64_t*, uint64_t, aclDataType, const int64_t*, int64_t, aclFormat, const int64_t*,
                              uint64_t, void*);
    static Create* const create = function<Create>("aclCreateTensor");
    static auto* const destroy = function<int(const aclTensor*)>("aclDestroyTensor");
    TORCH_CHECK(t.device().is_privateuseone(), "EXEC_NPU_CMD: a tensor is on ", t.device(), ", not on an NPU");
    const at::Storage storage = t.storage();
    const int64_t elements = static_cast<int64_t>(storage.nbytes()) / static_cast<int64_t>(t.element_size());
    return {create(t.sizes().data(), t.sizes().size(), data_type(t.scalar_type()), t.strides().data(),
                   t.storage_offset(), ACL_FORMAT_ND, &elements, 1, storage.mutable_data()),
            destroy};
}
inline Descriptor<aclTensor> convert(const std::optional<at::Tensor>& t) {
    return t ? convert(*t) : Descriptor<aclTensor>();
}
inline Descriptor<aclTensorList> convert(at::TensorList tensors) {
    static auto* const create = function<aclTensorList*(const aclTensor* const*, uint64_t)>("aclCreateTensorList");
    static auto* const destroy = function<int(const aclTensorList*)>("aclDestroyTensorList");
    std::vector<Descriptor<aclTensor>> made;
    std::vector<const aclTensor*> each;
    for (const at::Tensor& t : tensors) made.push_back(convert(t));
    for (Descriptor<aclTensor>& d : made) each.push_back(d.release());  // the list has them from here on
    return {create(each.data(), each.size()), destroy};
}
inline Descriptor<aclTensorList> convert(const std::vector<at::Tensor>& tensors) {
    return convert(at::TensorList(tensors));
}
inline Descriptor<aclScalar> convert(const at::Scalar& s) {
    static auto* const create = function<aclScalar*(void*, aclDataType)>("aclCreateScalar");
    static auto* const destroy = function<int(const aclScalar*)>("aclDestroyScalar");
    if (s.isBoolean()) {
        bool value = s.toBool();
        return {create(&value, ACL_BOOL), destroy};
    }
    if (s.isIntegral(false)) {
        int64_t value = s.toLong();
        return {create(&value, ACL_INT64), destroy};
    }
    TORCH_CHECK(s.isFloatingPoint(), "EXEC_NPU_CMD: complex numbers are not supported");
    double value = s.toDouble();
    return {create(&value, ACL_DOUBLE), destroy};
}
inline Descriptor<aclScalar> convert(const std::optional<at::Scalar>& s) {
    return s ? convert(*s) : Descriptor<aclScalar>();
}
inline Descriptor<aclIntArray> convert(at::IntArrayRef values) {
    static auto* const create = function<aclIntArray*(const int64_t*, uint64_t)>("aclCreateIntArray");
    static auto* const destroy = function<int(const aclIntArray*)>("aclDestroyIntArray");
    return {create(values.data(), values.size()), destroy};
}
inline Descriptor<aclIntArray> convert(const std::vector<int64_t>& values) { return convert(at::IntArrayRef(values)); }
inline Descriptor<aclIntArray> convert(const at::OptionalIntArrayRef& values) {
    return values.has_value() ? convert(*values) : Descriptor<aclIntArray>();
}
inline Descriptor<aclBoolArray> convert(at::ArrayRef<bool> values) {
    static auto* const create = function<aclBoolArray*(const bool*, uint64_t)>("aclCreateBoolArray");
    static auto* const destroy = function<int(const aclBoolArray*)>("aclDestroyBoolArray");
    return {create(values.data(), values.size()), destroy};
}
inline Descriptor<aclFloatArray> convert(at::ArrayRef<double> values) {
    static auto* const create = function<aclFloatArray*(const float*, uint64_t)>("aclCreateFloatArray");
    static auto* const destroy = function<int(const aclFloatArray*)>("aclDestroyFloatArray");
    const std::vector<float> narrow(values.begin(), values.end());
    return {create(narrow.data(), narrow.size()), destroy};
}
inline Plain<aclDataType> convert(at::ScalarType type) { return {data_type(type)}; }
inline Plain<char*> convert(const std::string& text) { return {const_cast<char*>(text.c_str())}; }
inline Plain<const char*> convert(const char* text) { return {text}; }
inline Plain<char*> convert(char* text) { return {text}; }
template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value || std::is_enum<T>::value>>
Plain<T> convert(T value) {
    return {value};
}

// The device of the first tensor among the arguments; -1 for what is none.
template <class T>
int64_t index_of(const T& value) {
    if constexpr (std::is_same<T, at::Tensor>::value)
        return value.defined() ? static_cast<int64_t>(value.device().index()) : -1;
    else if constexpr (std::is_same<T, std::optional<at::Tensor>>::value)
        return value ? index_of(*value) : -1;
    else if constexpr (std::is_same<T, at::TensorList>::value || std::is_same<T, std::vector<at::Tensor>>::value)
        return value.empty() ? -1 : index_of<at::Tensor>(value[0]);
    else
        return -1;
}

template <class... A>
void execute(const char* name, const A&... arguments) {
    int64_t device = -1;
    ((device = device < 0 ? index_of(arguments) : device), ...);
    if (device < 0) device = c10_npu::current_device();
    void* const queue = reinterpret_cast<void*>(stream(device));
    const std::tuple<decltype(convert(arguments))...> made{convert(arguments)...};
    using First = int(typename decltype(convert(arguments))::type..., uint64_t*, aclOpExecutor**);
    using Second = int(void*, uint64_t, aclOpExecutor*, aclrtStream);
    const std::string both(name);
    First* const first = function<First>((both + "GetWorkspaceSize").c_str());
    Second* const second = function<Second>(name);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    const int code = std::apply([&](const auto&... each) { return first(each.get()..., &size, &executor); }, made);
    if (code) enqueued(both + "GetWorkspaceSize", device, code);
    at::Tensor workspace;
    void* memory = nullptr;
    if (size) {
        const c10::Device place(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device));
        workspace = at::empty({static_cast<int64_t>(size)}, at::TensorOptions().dtype(at::kByte).device(place));
        memory = workspace.data_ptr();
    }
    enqueued(both, device, second(memory, size, executor, queue));
}

}  // namespace npu MINDTORCH_HIDDEN
}  // namespace mindtorch

#define EXEC_NPU_CMD(aclnn_api, ...) ::mindtorch::npu::execute(#aclnn_api, __VA_ARGS__)
#define EXEC_NPU_NO_FORMAT_CHECK_CMD(aclnn_api, ...) ::mindtorch::npu::execute(#aclnn_api, __VA_ARGS__)
