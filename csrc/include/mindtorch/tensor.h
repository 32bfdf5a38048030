// at::Tensor: a counted reference to a tensor of the core.
#pragma once

#include <mindtorch/accessor.h>
#include <mindtorch/engines.h>
#include <mindtorch/scalar.h>
#include <mindtorch/storage.h>
#include <mindtorch/tensor_meta.h>

#include <mutex>

namespace c10 {
class DispatchKeySet;
class TensorImpl;
template <class T>
class List;
class IValue;
class Stream;
}  // namespace c10

namespace c10 {
// What Tensor::type().backend() says to programs of before devices and layouts.
enum class Backend {
    CPU,
    CUDA,
    HIP,
    VE,
    FPGA,
    IPU,
    XPU,
    SparseCPU,
    SparseCUDA,
    SparseCsrCPU,
    SparseCsrCUDA,
    XLA,
    Vulkan,
    Metal,
    Meta,
    QuantizedCPU,
    QuantizedCUDA,
    Undefined,
    MkldnnCPU,
    MPS,
    HPU,
    Lazy,
    MTIA,
    PrivateUse1,
    NumOptions
};
inline const char* toString(Backend b) {
    static constexpr const char* names[] = {
        "CPU",           "CUDA",         "HIP",           "VE",  "FPGA",   "IPU",   "XPU",  "SparseCPU",
        "SparseCUDA",    "SparseCsrCPU", "SparseCsrCUDA", "XLA", "Vulkan", "Metal", "Meta", "QuantizedCPU",
        "QuantizedCUDA", "Undefined",    "MkldnnCPU",     "MPS", "HPU",    "Lazy",  "MTIA", "PrivateUseOne"};
    return b < Backend::NumOptions ? names[static_cast<size_t>(b)] : "UNKNOWN_BACKEND";
}
}  // namespace c10
namespace at {
using c10::Backend;

class Tensor;
}  // namespace at
namespace torch {
namespace autograd {
class Node;
}
}  // namespace torch
namespace at {
using TensorList = c10::ArrayRef<Tensor>;
using ITensorListRef = TensorList;
namespace indexing {
struct TensorIndex;
}

// What Tensor::type() gives to programs of before ScalarType and options().
class DeprecatedTypeProperties {
  public:
    DeprecatedTypeProperties(ScalarType t, Device d) : type_(t), device_(d) {}
    ScalarType scalarType() const { return type_; }
    caffe2::TypeMeta typeMeta() const { return caffe2::TypeMeta(type_); }
    bool is_cuda() const { return device_.is_cuda(); }
    bool is_sparse() const { return false; }
    DeviceType device_type() const { return device_.type(); }
    c10::Backend backend() const {
        return device_.is_cuda() ? c10::Backend::CUDA : device_.is_cpu() ? c10::Backend::CPU : c10::Backend::Undefined;
    }
    TensorOptions options(DeviceIndex index = -1) const { return TensorOptions(type_).device(device_.type(), index); }
    operator TensorOptions() const { return options(); }
    std::string toString() const { return c10::DeviceTypeName(device_.type()) + c10::toString(type_) + "Type"; }
    bool operator==(const DeprecatedTypeProperties& o) const {
        return type_ == o.type_ && device_.type() == o.device_.type();
    }
    bool operator!=(const DeprecatedTypeProperties& o) const { return !(*this == o); }

  private:
    ScalarType type_;
    Device device_;
};
// Old programs make them by hand: at::CPU(kByte) where options are asked for.
inline DeprecatedTypeProperties& CPU(ScalarType t) {
    static std::array<std::optional<DeprecatedTypeProperties>, c10::NumScalarTypes> made;
    static std::mutex lock;
    const std::lock_guard<std::mutex> guard(lock);
    auto& one = made.at(static_cast<size_t>(t));
    if (!one) one.emplace(t, Device(DeviceType::CPU));
    return *one;
}
inline DeprecatedTypeProperties& CUDA(ScalarType) {
    mindtorch::fail(MT_ERROR_RUNTIME, "", "there are no tensors on CUDA here");
}
inline std::ostream& operator<<(std::ostream& s, const DeprecatedTypeProperties& t) { return s << t.toString(); }

}  // namespace at
namespace c10 {
struct GeneratorImpl;
}
namespace at {

struct CPUGeneratorImpl;
namespace detail {
// What stands behind a generator that a program derived from c10::GeneratorImpl: own_generator.h.
bool seed_of_own(mt_object generator, uint64_t* seed, bool set);  // whether it is one
// The view of a generator of the framework's, once it was asked for.
struct GeneratorView {
    std::shared_ptr<CPUGeneratorImpl> made;
};
}  // namespace detail
class Generator {
  public:
    Generator() = default;
    explicit Generator(mindtorch::Object o) : object_(std::move(o)), view_(std::make_shared<detail::GeneratorView>()) {}
    explicit Generator(c10::intrusive_ptr<c10::GeneratorImpl> impl);
    // The object behind: a view of the generator, with the lock that all views of it share; or the program's own.
    template <class T = CPUGeneratorImpl>
    T* get() const;
    std::mutex& mutex() const;
    bool defined() const { return static_cast<bool>(object_); }
    mt_object handle() const { return object_.get(); }
    void set_current_seed(uint64_t seed) {
        if (!detail::seed_of_own(handle(), &seed, true))
            mindtorch::check(mindtorch::api().generator_seed(handle(), &seed, 1));
    }
    uint64_t current_seed() const {
        uint64_t seed = 0;
        if (detail::seed_of_own(handle(), &seed, false)) return seed;
        mindtorch::check(mindtorch::api().generator_seed(handle(), &seed, 0));
        return seed;
    }
    uint32_t random() const { return static_cast<uint32_t>(draw(32)); }
    uint64_t random64() const { return draw(64); }
    Device device() const;
    c10::DispatchKeySet key_set() const;
    bool operator==(const Generator& o) const { return handle() == o.handle(); }
    bool operator!=(const Generator& o) const { return !(*this == o); }
    c10::GeneratorImpl* unsafeGetGeneratorImpl() const;
    c10::intrusive_ptr<c10::GeneratorImpl> getIntrusivePtr() const;
    void set_offset(uint64_t offset);
    Generator clone() const;
    Tensor get_state() const;
    void set_state(const Tensor& state);
    uint64_t seed();  // another one each time

  private:
    uint64_t draw(int bits) const {
        uint64_t word = 0;
        mindtorch::check(mindtorch::api().random(handle(), &word, 1, bits));
        return word;
    }
    mindtorch::Object object_;
    std::shared_ptr<detail::GeneratorView> view_;  // copies have it too: what get() gave stays as long as one of them
};
constexpr uint64_t default_rng_seed_val = 67280421310721;
class TensorBase {
  public:
    TensorBase() = default;
    TensorBase(const TensorBase& o) : h_(o.h_) {
        if (h_) mindtorch::api().retain(h_);
    }
    TensorBase(TensorBase&& o) noexcept : h_(std::exchange(o.h_, nullptr)) {}
    TensorBase& operator=(const TensorBase& o) {
        TensorBase copy(o);
        std::swap(h_, copy.h_);
        return *this;
    }
    TensorBase& operator=(TensorBase&& o) noexcept {
        std::swap(h_, o.h_);
        return *this;
    }
    ~TensorBase() {
        if (h_) mindtorch::find_api()->release(h_);
    }

    bool defined() const { return h_ != nullptr; }
    void reset() { *this = TensorBase(); }
    mt_tensor handle() const { return h_; }
    mt_tensor release_handle() { return std::exchange(h_, nullptr); }
    // What a tensor is a reference to, for those who ask it or compare it.
    c10::TensorImpl* unsafeGetTensorImpl() const { return reinterpret_cast<c10::TensorImpl*>(h_); }
    bool is_same(const TensorBase& o) const { return h_ == o.h_; }
    size_t use_count() const { return static_cast<size_t>(mindtorch::api().references(h_)); }
    bool has_storage() const { return defined(); }

    // An undefined tensor has one dimension of no elements, as with PyTorch, and no strides, memory or device.
    int64_t dim() const { return h_ ? mindtorch::api().dim(h_) : 1; }
    int64_t ndimension() const { return dim(); }
    IntArrayRef sizes() const {
        static constexpr int64_t none = 0;
        return h_ ? IntArrayRef(mindtorch::api().sizes(h_), static_cast<size_t>(dim())) : IntArrayRef(&none, 1);
    }
    IntArrayRef strides() const { return IntArrayRef(mindtorch::api().strides(need()), static_cast<size_t>(dim())); }
    c10::SymIntArrayRef sym_sizes() const { return sizes(); }
    c10::SymIntArrayRef sym_strides() const { return strides(); }
    int64_t size(int64_t i) const { return sizes()[static_cast<size_t>(wrap(i))]; }
    int64_t stride(int64_t i) const { return mindtorch::api().strides(need())[wrap(i)]; }
    c10::SymInt sym_size(int64_t i) const { return size(i); }
    c10::SymInt sym_stride(int64_t i) const { return stride(i); }
    int64_t numel() const { return h_ ? mindtorch::api().numel(h_) : 0; }
    c10::SymInt sym_numel() const { return numel(); }
    int64_t storage_offset() const { return mindtorch::api().offset(need()); }
    c10::SymInt sym_storage_offset() const { return storage_offset(); }
    size_t itemsize() const { return c10::elementSize(scalar_type()); }
    int64_t element_size() const { return static_cast<int64_t>(itemsize()); }
    size_t nbytes() const { return static_cast<size_t>(numel()) * itemsize(); }
    ScalarType scalar_type() const {
        return h_ ? static_cast<ScalarType>(mindtorch::api().dtype(h_)) : ScalarType::Undefined;
    }
    caffe2::TypeMeta dtype() const { return caffe2::TypeMeta(scalar_type()); }
    Device device() const {
        TORCH_CHECK(h_, "tensor does not have a device");
        const mt_device d = mindtorch::api().device(h_);
        return Device(static_cast<DeviceType>(d.type), d.index);
    }
    DeviceIndex get_device() const { return device().index(); }
    Layout layout() const { return static_cast<Layout>(mindtorch::api().layout(need())); }
    TensorOptions options() const { return TensorOptions().dtype(scalar_type()).device(device()).layout(layout()); }
    bool is_cpu() const { return device().is_cpu(); }
    bool is_cuda() const { return device().is_cuda(); }
    bool is_meta() const { return device().is_meta(); }
    bool is_mps() const { return device().is_mps(); }
    bool is_xpu() const { return device().is_xpu(); }
    bool is_hip() const { return device().is_hip(); }
    bool is_xla() const { return device().is_xla(); }
    bool is_hpu() const { return device().is_hpu(); }
    bool is_mtia() const { return device().is_mtia(); }
    bool is_maia() const { return device().is_maia(); }
    bool is_ve() const { return device().is_ve(); }
    bool is_lazy() const { return device().is_lazy(); }
    bool is_ipu() const { return device().is_ipu(); }
    bool is_vulkan() const { return device().is_vulkan(); }
    bool is_metal() const { return device().is_metal(); }
    bool is_privateuseone() const { return device().is_privateuseone(); }
    bool is_sparse() const { return layout() == Layout::Sparse; }
    bool is_sparse_csr() const { return layout() == Layout::SparseCsr; }
    bool is_mkldnn() const { return false; }
    bool is_quantized() const { return false; }
    bool is_nested() const { return false; }
    bool is_floating_point() const { return c10::isFloatingType(scalar_type()); }
    bool is_complex() const { return c10::isComplexType(scalar_type()); }
    bool is_signed() const {
        return !(scalar_type() == ScalarType::Byte || scalar_type() == ScalarType::Bool ||
                 (scalar_type() >= ScalarType::UInt16 && scalar_type() <= ScalarType::UInt64));
    }
    bool has_names() const { return false; }
    bool is_inference() const { return flag(MT_FLAG_INFERENCE); }
    bool is_non_overlapping_and_dense() const { return flag(MT_FLAG_NON_OVERLAPPING_AND_DENSE); }
    bool is_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const {
        if (f == MemoryFormat::Contiguous || f == MemoryFormat::Preserve) return flag(MT_FLAG_CONTIGUOUS);
        const int64_t n = f == MemoryFormat::ChannelsLast ? 4 : 5;
        if (dim() != n) return false;
        int64_t expected = 1;
        auto fits = [&](int64_t i) {
            if (size(i) != 1 && stride(i) != expected) return false;
            expected *= size(i);
            return true;
        };
        if (numel() == 0) return true;
        if (!fits(1)) return false;
        for (int64_t i = n - 1; i >= 2; i--)
            if (!fits(i)) return false;
        return fits(0);
    }
    MemoryFormat suggest_memory_format(bool = false) const {
        if (dim() == 4 && !is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast))
            return MemoryFormat::ChannelsLast;
        if (dim() == 5 && !is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast3d))
            return MemoryFormat::ChannelsLast3d;
        return MemoryFormat::Contiguous;
    }

    void* data_ptr() const {
        void* p = nullptr;
        mindtorch::check(mindtorch::api().data(need(), &p));
        return p;
    }
    void* mutable_data_ptr() const { return data_ptr(); }
    const void* const_data_ptr() const { return data_ptr(); }
    template <class T>
    T* data_ptr() const {
        const ScalarType wanted = c10::CppTypeToScalarType<std::remove_const_t<T>>::value;
        TORCH_CHECK(scalar_type() == wanted, "expected scalar type ", c10::toString(wanted), " but found ",
                    c10::toString(scalar_type()));
        return static_cast<T*>(data_ptr());
    }
    template <class T>
    T* mutable_data_ptr() const {
        return data_ptr<T>();
    }
    template <class T>
    const std::remove_const_t<T>* const_data_ptr() const {
        return data_ptr<std::remove_const_t<T>>();
    }
    Storage storage() const { return Storage(c10::intrusive_ptr<c10::StorageImpl>(c10::StorageImpl::of(memory()))); }
    bool is_alias_of(const TensorBase& o) const { return memory() == o.memory(); }
    template <class T, size_t N>
    TensorAccessor<T, N> accessor() const& {
        check_dim(N);
        return TensorAccessor<T, N>(data_ptr<T>(), sizes().data(), strides().data());
    }
    template <class T, size_t N>
    TensorAccessor<T, N> accessor() && = delete;
    template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
    GenericPackedTensorAccessor<T, N, Traits, Index> generic_packed_accessor() const {
        check_dim(N);
        return GenericPackedTensorAccessor<T, N, Traits, Index>(data_ptr<T>(), sizes().data(), strides().data());
    }
    template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
    PackedTensorAccessor32<T, N, Traits> packed_accessor32() const {
        return generic_packed_accessor<T, N, Traits, int32_t>();
    }
    template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
    PackedTensorAccessor64<T, N, Traits> packed_accessor64() const {
        return generic_packed_accessor<T, N, Traits, int64_t>();
    }
    template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
    GenericPackedTensorAccessor<T, N, Traits, Index> packed_accessor() const {
        return generic_packed_accessor<T, N, Traits, Index>();
    }

    bool requires_grad() const { return flag(MT_FLAG_REQUIRES_GRAD); }
    bool is_leaf() const { return flag(MT_FLAG_LEAF); }
    bool is_view() const { return flag(MT_FLAG_VIEW); }
    int64_t _version() const { return mindtorch::api().version_of(need()); }
    c10::DispatchKeySet key_set() const;
    const TensorBase& set_requires_grad(bool on) const {
        mindtorch::check(mindtorch::api().set_requires_grad(need(), on));
        return *this;
    }
    std::string toString() const {
        return (is_sparse() ? "Sparse" : "") + DeprecatedTypeProperties(scalar_type(), device()).toString();
    }

  protected:
    mt_tensor need() const {
        TORCH_CHECK(h_, "this tensor is undefined: it has no sizes, elements or device");
        return h_;
    }
    mt_storage memory() const {
        mt_storage s = nullptr;
        mindtorch::check(mindtorch::api().storage_of(need(), &s));
        return s;
    }
    bool flag(uint32_t bit) const { return (mindtorch::api().flags(need()) & bit) != 0; }
    int64_t wrap(int64_t i) const {
        const int64_t n = dim();
        if (MINDTORCH_UNLIKELY(i < -n || i >= n))
            mindtorch::fail(MT_ERROR_INDEX, "", "Dimension out of range (expected to be in range of [", n ? -n : -1,
                            ", ", n ? n - 1 : 0, "], but got ", i, ")");
        return i < 0 ? i + n : i;
    }
    void check_dim(size_t n) const {
        TORCH_CHECK(dim() == static_cast<int64_t>(n), "TensorAccessor expected ", n, " dims but tensor has ", dim());
    }
    mt_tensor h_ = nullptr;
};
static_assert(sizeof(TensorBase) == sizeof(mt_tensor), "a list of tensors is a list of handles");
}  // namespace at
namespace mindtorch MINDTORCH_HIDDEN {
// The strides of a new tensor of that size and order.
inline at::DimVector strides_of(at::IntArrayRef size, at::MemoryFormat f) {
    TORCH_CHECK(f != at::MemoryFormat::Preserve, "Unsupported memory format ", f);
    const size_t dims = size.size();
    at::DimVector strides(dims);
    int64_t step = 1;
    const auto place = [&](size_t i) {
        strides[i] = step;
        step *= std::max<int64_t>(size[i], 1);
    };
    if (f == at::MemoryFormat::Contiguous) {
        for (size_t i = dims; i-- > 0;) place(i);
        return strides;
    }
    const size_t rank = f == at::MemoryFormat::ChannelsLast ? 4 : 5;
    TORCH_CHECK(dims == rank, "required rank ", rank, " tensor to use ",
                rank == 4 ? "channels_last" : "channels_last_3d", " format");
    place(1);
    for (size_t i = dims; i-- > 2;) place(i);
    place(0);
    return strides;
}
}  // namespace mindtorch MINDTORCH_HIDDEN
namespace c10 {
// The tensor of the core under the name of PyTorch's: its address is the handle. None is made here, and none destroyed.
class TensorImpl {
  public:
    TensorImpl() = delete;
    TensorImpl(const TensorImpl&) = delete;
    int64_t dim() const { return mindtorch::api().dim(handle()); }
    IntArrayRef sizes() const { return IntArrayRef(mindtorch::api().sizes(handle()), static_cast<size_t>(dim())); }
    IntArrayRef strides() const { return IntArrayRef(mindtorch::api().strides(handle()), static_cast<size_t>(dim())); }
    int64_t size(int64_t i) const { return sizes()[static_cast<size_t>(i < 0 ? i + dim() : i)]; }
    int64_t stride(int64_t i) const { return strides()[static_cast<size_t>(i < 0 ? i + dim() : i)]; }
    int64_t numel() const { return mindtorch::api().numel(handle()); }
    int64_t storage_offset() const { return mindtorch::api().offset(handle()); }
    bool is_contiguous() const { return (mindtorch::api().flags(handle()) & MT_FLAG_CONTIGUOUS) != 0; }
    Storage storage() const {
        mt_storage s = nullptr;
        mindtorch::check(mindtorch::api().storage_of(handle(), &s));
        return Storage(intrusive_ptr<StorageImpl>(StorageImpl::of(s)));
    }
    Storage unsafe_storage() const { return storage(); }
    caffe2::TypeMeta dtype() const {
        return caffe2::TypeMeta(static_cast<ScalarType>(mindtorch::api().dtype(handle())));
    }
    size_t itemsize() const { return elementSize(dtype().toScalarType()); }
    bool is_wrapped_number() const { return (mindtorch::api().flags(handle()) & MT_FLAG_WRAPPED_NUMBER) != 0; }
    Device device() const {
        const mt_device d = mindtorch::api().device(handle());
        return Device(static_cast<DeviceType>(d.type), d.index);
    }
    Layout layout() const { return static_cast<Layout>(mindtorch::api().layout(handle())); }
    void* mutable_data() const {
        void* p = nullptr;
        mindtorch::check(mindtorch::api().data(handle(), &p));
        return p;
    }
    const void* data() const { return mutable_data(); }
    bool has_storage() const { return layout() == Layout::Strided; }
    bool storage_initialized() const { return has_storage() && (mutable_data() || numel() == 0); }
    bool requires_grad() const { return (mindtorch::api().flags(handle()) & MT_FLAG_REQUIRES_GRAD) != 0; }
    // As an intrusive_ptr counts.
    void retain_() const { mindtorch::api().retain(handle()); }
    bool release_() const {
        mindtorch::find_api()->release(handle());
        return false;  // the core frees it
    }
    size_t references() const { return static_cast<size_t>(mindtorch::api().references(handle())); }
    void bump_version() { mindtorch::api().bump_version(handle()); }
    DispatchKeySet key_set() const;
    DeviceType device_type() const { return device().type(); }
    void set_backend_meta(intrusive_ptr<BackendMeta> meta) { mindtorch::set_backend_meta(handle(), std::move(meta)); }
    intrusive_ptr<BackendMeta> get_backend_meta_intrusive_ptr() const { return mindtorch::backend_meta_of(handle()); }
    BackendMeta* get_backend_meta() { return get_backend_meta_intrusive_ptr().get(); }
    // Where its elements lie in its memory, which these do not look at.
    void set_sizes_and_strides(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> offset = std::nullopt) {
        TORCH_CHECK(sizes.size() == strides.size(), "dimensionality of sizes (", sizes.size(),
                    ") must match dimensionality of strides (", strides.size(), ")");
        mindtorch::check(mindtorch::api().set_geometry(handle(), static_cast<int32_t>(sizes.size()), sizes.data(),
                                                       strides.data(), offset.value_or(storage_offset())));
    }
    void set_sizes_contiguous(IntArrayRef sizes) {
        mindtorch::check(mindtorch::api().set_geometry(handle(), static_cast<int32_t>(sizes.size()), sizes.data(),
                                                       nullptr, storage_offset()));
    }
    void set_storage_offset(int64_t offset) {
        const std::vector<int64_t> sizes = this->sizes().vec(), strides = this->strides().vec();
        set_sizes_and_strides(sizes, strides, offset);
    }
    void empty_tensor_restride(MemoryFormat format) {
        const std::vector<int64_t> sizes = this->sizes().vec();
        set_sizes_and_strides(sizes, mindtorch::strides_of(sizes, format));
    }

  private:
    mt_tensor handle() const { return reinterpret_cast<mt_tensor>(const_cast<TensorImpl*>(this)); }
};
}  // namespace c10
namespace at {
using c10::TensorImpl;

class Tensor : public TensorBase {
  public:
    Tensor() = default;
    Tensor(const TensorBase& b) : TensorBase(b) {}
    Tensor(TensorBase&& b) noexcept : TensorBase(std::move(b)) {}
    explicit Tensor(c10::intrusive_ptr<c10::TensorImpl> shared)
        : Tensor(steal(reinterpret_cast<mt_tensor>(shared.release()))) {}
    c10::intrusive_ptr<c10::TensorImpl> getIntrusivePtr() const {
        return c10::intrusive_ptr<c10::TensorImpl>(unsafeGetTensorImpl());
    }
    Tensor(const Tensor&) = default;
    Tensor(Tensor&&) noexcept = default;
    Tensor& operator=(const Tensor&) & = default;
    Tensor& operator=(Tensor&&) & noexcept = default;
    // Assigning to what an expression gives writes to its elements: t[0] = u.
    Tensor& operator=(const Tensor& o) &&;
    Tensor& operator=(Tensor&& o) &&;
    Tensor& operator=(const Scalar& v) &&;
    static Tensor steal(mt_tensor h) {
        Tensor t;
        t.h_ = h;
        return t;
    }
    static Tensor share(mt_tensor h) {
        if (h) mindtorch::api().retain(h);
        return steal(h);
    }

    DeprecatedTypeProperties type() const { return DeprecatedTypeProperties(scalar_type(), device()); }
    Tensor to(const TensorOptions& options = {}, bool non_blocking = false, bool copy = false,
              std::optional<MemoryFormat> f = std::nullopt) const;
    Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false,
              std::optional<MemoryFormat> f = std::nullopt) const;
    Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false,
              std::optional<MemoryFormat> f = std::nullopt) const;
    Tensor to(const Tensor& other, bool non_blocking = false, bool copy = false,
              std::optional<MemoryFormat> f = std::nullopt) const;
    Tensor to(std::optional<ScalarType> dtype, std::optional<Layout> layout, std::optional<Device> device,
              std::optional<bool> pin_memory, bool non_blocking, bool copy, std::optional<MemoryFormat> f) const;
    Tensor to(caffe2::TypeMeta dtype, bool non_blocking = false, bool copy = false) const {
        return to(dtype.toScalarType(), non_blocking, copy);
    }
    Tensor to(Device device, caffe2::TypeMeta dtype, bool non_blocking = false, bool copy = false) const {
        return to(device, dtype.toScalarType(), non_blocking, copy);
    }
    // A function of this tensor and more.
    template <class F, class... A>
    auto m(F function, A&&... more) const {
        return function(*this, std::forward<A>(more)...);
    }
    Tensor toType(ScalarType t) const;
    Tensor cpu() const;
    Tensor cuda() const;
    Tensor data() const;
    template <class T>
    T* data() const {
        return data_ptr<T>();
    }
    Tensor variable_data() const { return data(); }
    Tensor tensor_data() const { return data(); }
    void set_data(const Tensor& t) const { mindtorch::check(mindtorch::api().set_data(need(), t.need())); }
    Scalar item() const;
    template <class T>
    T item() const {
        return item().to<T>();
    }
    const Tensor& requires_grad_(bool on = true) const {
        set_requires_grad(on);
        return *this;
    }
    Tensor grad() const {
        mt_tensor g = nullptr;
        mindtorch::check(mindtorch::api().grad(need(), &g));
        return steal(g);
    }
    void set_grad(const Tensor& g) const { mindtorch::check(mindtorch::api().set_grad(need(), g.h_)); }
    class MutableGrad;
    // The gradient as something to assign to.
    MutableGrad mutable_grad() const;
    void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt,
                  bool create_graph = false, std::optional<TensorList> inputs = std::nullopt) const;
    // The node that made it, or null.
    c10::intrusive_ptr<torch::autograd::Node> grad_fn() const;
    // A function of the gradient, called when it is known; what it returns, if anything, takes its place.
    template <class F>
    unsigned register_hook(F&& hook) const;
    void remove_hook(unsigned number) const;
    void print() const;
    uint32_t output_nr() const;
    Tensor _base() const;
    void retain_grad() const;
    bool retains_grad() const;
    Tensor pin_memory(std::optional<Device> device = std::nullopt) const;
    void record_stream(c10::Stream stream) const;
    // This tensor over that memory: all of it, or with sizes and strides.
    Tensor& set_() const;
    Tensor& set_(const Tensor& source) const;
    Tensor& set_(const Tensor& source, int64_t offset, IntArrayRef size, IntArrayRef stride = {}) const;
    Tensor& set_(const c10::Storage& source) const;
    Tensor& set_(const c10::Storage& source, int64_t offset, IntArrayRef size, IntArrayRef stride = {}) const;
    bool is_conj() const;
    bool is_neg() const;
    bool _is_zerotensor() const { return false; }
    bool is_sparse_compressed() const { return options().is_sparse_compressed(); }
    Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
    Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
    Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values);
    Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value);
    Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values);
    Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value);

    c10::MaybeOwned<Tensor> expect_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const;

    Tensor operator[](int64_t i) const;
    Tensor operator[](const Scalar& i) const { return (*this)[i.toLong()]; }
    Tensor operator[](const Tensor& i) const;
    Tensor operator-() const;
    Tensor operator~() const;
    Tensor& operator+=(const Tensor& o);
    Tensor& operator+=(const Scalar& o);
    Tensor& operator-=(const Tensor& o);
    Tensor& operator-=(const Scalar& o);
    Tensor& operator*=(const Tensor& o);
    Tensor& operator*=(const Scalar& o);
    Tensor& operator/=(const Tensor& o);
    Tensor& operator/=(const Scalar& o);

    // From here on from the operators' schemas.
#include <mindtorch/generated/methods.h>
};
inline std::ostream& operator<<(std::ostream& s, const DeprecatedTypeProperties*) = delete;

class Tensor::MutableGrad : public Tensor {
  public:
    explicit MutableGrad(const Tensor& owner) : Tensor(owner.grad()), owner_(owner) {}
    MutableGrad& operator=(const Tensor& g) {
        owner_.set_grad(g);
        Tensor::operator=(g);
        return *this;
    }
    void reset() { *this = Tensor(); }

  private:
    Tensor owner_;
};
inline Tensor::MutableGrad Tensor::mutable_grad() const { return MutableGrad(*this); }

namespace detail {
inline const Generator& getDefaultCPUGenerator() {
    static const Generator* const g = [] {
        mt_object o = nullptr;
        mindtorch::check(mindtorch::api().default_generator(mt_device{0, -1}, &o));
        return new Generator(mindtorch::Object::steal(o));
    }();
    return *g;
}
// One of its own, with its seed.
Generator createCPUGenerator(uint64_t seed = 67280421310721);
}  // namespace detail
template <class T, class... Seed>
Generator make_generator(Seed&&... seed) {
    if constexpr (std::is_same_v<T, CPUGeneratorImpl>)
        return detail::createCPUGenerator(std::forward<Seed>(seed)...);
    else
        return Generator(c10::intrusive_ptr<T>(new T(std::forward<Seed>(seed)...)));
}
template <class T>
T* check_generator(const std::optional<Generator>& g) {
    TORCH_CHECK(g.has_value(), "Expected Generator but received nullopt");
    TORCH_CHECK(g->defined(), "Generator with undefined implementation is not allowed");
    TORCH_CHECK(T::device_type() == g->device().type(), "Expected a '", T::device_type(),
                "' device type for generator but found '", g->device().type(), "'");
    return g->get<T>();
}
template <class T>
T* get_generator_or_default(const std::optional<Generator>& g, const Generator& otherwise) {
    return g.has_value() && g->defined() ? g->get<T>() : otherwise.get<T>();
}

}  // namespace at

namespace c10 {
template <class T>
class List;
}

namespace mindtorch MINDTORCH_HIDDEN {

// ---- arguments and results of operators ----

inline mt_value none() { return mt_value{}; }
inline mt_value arg(const at::Tensor& t) {
    mt_value v{};
    v.tag = t.defined() ? MT_TENSOR : MT_NONE;
    v.as.tensor = t.handle();
    return v;
}
inline mt_value arg(int64_t i) {
    mt_value v{};
    v.tag = MT_INT;
    v.as.integer = i;
    return v;
}
inline mt_value arg(c10::SymInt i) { return arg(static_cast<int64_t>(i)); }
inline mt_value arg(double d) {
    mt_value v{};
    v.tag = MT_DOUBLE;
    v.as.real = d;
    return v;
}
inline mt_value arg(bool b) {
    mt_value v{};
    v.tag = MT_BOOL;
    v.as.boolean = b;
    return v;
}
inline mt_value arg(const c10::Scalar& s) { return s.value(); }
inline mt_value arg(c10::ScalarType t) {
    mt_value v{};
    v.tag = MT_DTYPE;
    v.as.dtype = static_cast<uint8_t>(t);
    return v;
}
inline mt_value arg(const c10::Device& d) {
    mt_value v{};
    v.tag = MT_DEVICE;
    v.as.device = {static_cast<uint8_t>(d.type()), d.index()};
    return v;
}
inline mt_value arg(c10::Layout l) {
    mt_value v{};
    v.tag = MT_LAYOUT;
    v.as.integer = static_cast<int64_t>(l);
    return v;
}
inline mt_value arg(c10::MemoryFormat f) {
    mt_value v{};
    v.tag = MT_MEMORY_FORMAT;
    v.as.integer = static_cast<int64_t>(f);
    return v;
}
inline mt_value arg(std::string_view s) {
    mt_value v{};
    v.tag = MT_STRING;
    v.as.string = s.data();
    v.len = static_cast<uint32_t>(s.size());
    return v;
}
inline mt_value arg(const std::string& s) { return arg(std::string_view(s)); }
inline mt_value arg(const char* s) { return arg(std::string_view(s)); }
inline mt_value arg(const at::Generator& g) {
    mt_value v{};
    v.tag = g.defined() ? MT_GENERATOR : MT_NONE;
    v.as.object = g.handle();
    return v;
}
inline mt_value arg(c10::IntArrayRef list) {
    mt_value v{};
    v.tag = MT_INT_LIST;
    v.as.ints = list.data();
    v.len = static_cast<uint32_t>(list.size());
    return v;
}
inline mt_value arg(c10::SymIntArrayRef list) { return arg(static_cast<c10::IntArrayRef>(list)); }
inline mt_value arg(c10::ArrayRef<double> list) {
    mt_value v{};
    v.tag = MT_DOUBLE_LIST;
    v.as.doubles = list.data();
    v.len = static_cast<uint32_t>(list.size());
    return v;
}
template <size_t n>
mt_value arg(const std::array<bool, n>& list) {
    mt_value v{};
    v.tag = MT_BOOL_LIST;
    v.as.bools = reinterpret_cast<const uint8_t*>(list.data());
    v.len = n;
    return v;
}
inline mt_value arg(at::TensorList list) {
    mt_value v{};
    v.tag = MT_TENSOR_LIST;
    v.as.tensors = reinterpret_cast<const mt_tensor*>(list.data());
    v.len = static_cast<uint32_t>(list.size());
    return v;
}
inline mt_value arg(const c10::OptionalIntArrayRef& list) { return list ? arg(*list) : none(); }
template <class T>
mt_value arg(const std::optional<T>& o) {
    return o ? arg(*o) : none();
}
mt_value arg(const c10::List<std::optional<at::Tensor>>& list);
// The same by name, for generated code.
#define MINDTORCH_PACKER(name, T)                       \
    inline mt_value name(const T& v) { return arg(v); } \
    inline mt_value name##_opt(const std::optional<T>& v) { return v ? arg(*v) : none(); }
MINDTORCH_PACKER(of_tensor, at::Tensor)
MINDTORCH_PACKER(of_int, int64_t)
MINDTORCH_PACKER(of_double, double)
MINDTORCH_PACKER(of_doubles, c10::ArrayRef<double>)
MINDTORCH_PACKER(of_bool, bool)
MINDTORCH_PACKER(of_scalar, c10::Scalar)
MINDTORCH_PACKER(of_string, std::string_view)
MINDTORCH_PACKER(of_dtype, c10::ScalarType)
MINDTORCH_PACKER(of_layout, c10::Layout)
MINDTORCH_PACKER(of_device, c10::Device)
MINDTORCH_PACKER(of_memory_format, c10::MemoryFormat)
MINDTORCH_PACKER(of_generator, at::Generator)
#undef MINDTORCH_PACKER
inline mt_value of_tensors(at::TensorList list) { return arg(list); }
inline mt_value of_ints(c10::IntArrayRef list) { return arg(list); }
inline mt_value of_ints_opt(const c10::OptionalIntArrayRef& list) { return arg(list); }
inline mt_value of_indices(const c10::List<std::optional<at::Tensor>>& list) { return arg(list); }
// Numbers of any kind, as values next to each other.
class Scalars {
  public:
    Scalars(c10::ArrayRef<c10::Scalar> list) {
        for (const c10::Scalar& s : list) values_.push_back(s.value());
    }
    mt_value value() const {
        mt_value v{};
        v.tag = MT_SCALAR_LIST;
        v.as.values = values_.data();
        v.len = static_cast<uint32_t>(values_.size());
        return v;
    }

  private:
    std::vector<mt_value> values_;
};

// While it is there, the first operator that this thread calls runs its own kernel: boundary.h says which.
class OwnKernel {
  public:
    explicit OwnKernel(char which) { api().call_own_kernel(which); }
    ~OwnKernel() { find_api()->call_own_kernel(0); }
    OwnKernel(const OwnKernel&) = delete;
    OwnKernel& operator=(const OwnKernel&) = delete;
};
// An operator, looked up at its first call.
struct Op {
    const char* name;
    const char* overload;
    mt_operator found = nullptr;
    mt_operator get() {
        if (MINDTORCH_UNLIKELY(!found)) {
            found = api().find(name, overload);
            if (!found)
                throw_error(c10::str("the operator ", name, overload[0] ? "." : "", overload,
                                     " is not registered in this mindtorch_v2"),
                            MT_ERROR_NOT_IMPLEMENTED);
        }
        return found;
    }
};
inline void call(Op& op, mt_value* args, int n, mt_value* rets, int nrets) {
    check(api().call(op.get(), args, n, rets, nrets));
}
inline at::Tensor tensor_of(const mt_value& v) { return at::Tensor::steal(v.tag == MT_TENSOR ? v.as.tensor : nullptr); }
inline void drop(const mt_value& v) {
    if (v.tag == MT_TENSOR || v.tag == MT_OBJECT || v.tag == MT_GENERATOR) api().release(v.as.object);
}
inline at::Tensor call_tensor(Op& op, mt_value* args, int n) {
    mt_value r{};
    call(op, args, n, &r, 1);
    return tensor_of(r);
}
// Of operators that write to an argument and return it.
inline void call_writing(Op& op, mt_value* args, int n, int nrets) {
    mt_value r[8] = {};
    call(op, args, n, r, nrets);
    for (int i = 0; i < nrets; i++) drop(r[i]);
}
inline std::vector<at::Tensor> tensors_of(const mt_value& v) {
    Object list = Object::steal(v.as.object);
    std::vector<at::Tensor> all(static_cast<size_t>(api().length(list.get())));
    for (size_t i = 0; i < all.size(); i++) {
        mt_value item{};
        check(api().item(list.get(), static_cast<int64_t>(i), &item));
        all[i] = at::Tensor::share(item.tag == MT_TENSOR ? item.as.tensor : nullptr);
    }
    return all;
}
inline std::vector<at::Tensor> call_tensors(Op& op, mt_value* args, int n) {
    mt_value r{};
    call(op, args, n, &r, 1);
    return tensors_of(r);
}
inline int64_t int_of(const mt_value& v) { return v.as.integer; }
inline int64_t call_int(Op& op, mt_value* args, int n) {
    mt_value r{};
    call(op, args, n, &r, 1);
    return r.as.integer;
}
inline double double_of(const mt_value& v) { return v.as.real; }
inline double call_double(Op& op, mt_value* args, int n) {
    mt_value r{};
    call(op, args, n, &r, 1);
    return double_of(r);
}
inline bool call_bool(Op& op, mt_value* args, int n) {
    mt_value r{};
    call(op, args, n, &r, 1);
    return r.as.boolean;
}
inline c10::Scalar call_scalar(Op& op, mt_value* args, int n) {
    mt_value r{};
    call(op, args, n, &r, 1);
    return c10::Scalar::of(r);
}
// A function of Python, for what no operator does.
inline mt_value call_python(const char* module, const char* name, std::initializer_list<mt_value> args) {
    mt_value r{};
    check(api().call_python(module, name, args.begin(), static_cast<int32_t>(args.size()), &r));
    return r;
}
// A method of Python's tensor.
inline mt_value call_method(const at::Tensor& self, const char* name, std::initializer_list<mt_value> args = {}) {
    const Object method = Object::steal(call_python("builtins", "getattr", {arg(self), arg(name)}).as.object);
    mt_value r{};
    check(api().call_object(method.get(), args.begin(), static_cast<int32_t>(args.size()), &r));
    return r;
}
// What a factory made, as its options say about gradients.
inline at::Tensor with_options(at::Tensor t, const at::TensorOptions& o) {
    if (MINDTORCH_UNLIKELY(o.requires_grad())) t.set_requires_grad(true);
    return t;
}

}  // namespace mindtorch MINDTORCH_HIDDEN
