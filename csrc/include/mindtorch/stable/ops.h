// Operators as C++ functions: torch::stable::name.
#pragma once

#include <mindtorch/stable/values.h>

#include <functional>

// Each library has its own: none may take another one's, made with other headers.
#pragma GCC visibility push(hidden)

namespace torch::stable::detail {

// Any operator by its name, through the dispatcher.
template <class R, class... A>
R call(const char* name, const char* overload, const A&... args) {
    StableIValue stack[sizeof...(A) + 1] = {from(args)..., 0};
    if (torch_call_dispatcher(name, overload, stack, TORCH_ABI_VERSION) != TORCH_SUCCESS)
        throw_exception(name, __FILE__, __LINE__);
    return to<R>(stack[0]);
}
template <class F, class... A>
Tensor made(const char* what, F* function, A... args) {
    AtenTensorHandle h;
    if (function(args..., &h) != TORCH_SUCCESS) throw_exception(what, __FILE__, __LINE__);
    return Tensor(h);
}

}  // namespace torch::stable::detail

namespace torch::stable {

inline Tensor empty_like(const Tensor& self) {
    const std::nullopt_t no = std::nullopt;
    return detail::call<Tensor>("aten::empty_like", "", self, no, no, no, no, no);
}
inline Tensor fill_(const Tensor& self, double value) {
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_aten_fill__Scalar(self.get(), value));
    return self;
}
inline Tensor narrow(Tensor& self, int64_t dim, int64_t start, int64_t length) {
    return detail::made("narrow", aoti_torch_aten_narrow, self.get(), dim, start, length);
}
inline Tensor pad(const Tensor& self, IntHeaderOnlyArrayRef pad, const std::string& mode = "constant",
                  double value = 0.0) {
    return detail::made("pad", aoti_torch_aten_pad, self.get(), pad.data(), static_cast<int64_t>(pad.size()),
                        mode.c_str(), &value);
}
inline Tensor amax(const Tensor& self, IntHeaderOnlyArrayRef dims, bool keepdim = false) {
    return detail::made("amax", aoti_torch_aten_amax, self.get(), dims.data(), static_cast<int64_t>(dims.size()),
                        static_cast<int32_t>(keepdim));
}
inline Tensor amax(const Tensor& self, int64_t dim, bool keepdim = false) {
    return amax(self, IntHeaderOnlyArrayRef(&dim, 1), keepdim);
}
inline Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
    return detail::call<Tensor>("aten::transpose", "int", self, dim0, dim1);
}
inline Tensor zero_(Tensor& self) { return detail::call<Tensor>("aten::zero_", "", self); }
inline Tensor copy_(Tensor& self, const Tensor& src, std::optional<bool> non_blocking = std::nullopt) {
    return detail::call<Tensor>("aten::copy_", "", self, src, non_blocking.value_or(false));
}
inline Tensor clone(const Tensor& self) { return detail::call<Tensor>("aten::clone", "", self, std::nullopt); }
inline Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1) {
    return detail::call<Tensor>("aten::flatten", "using_ints", self, start_dim, end_dim);
}
inline Tensor unsqueeze(const Tensor& self, int64_t dim) {
    return detail::call<Tensor>("aten::unsqueeze", "", self, dim);
}
inline Tensor squeeze(const Tensor& self, int64_t dim) {
    return detail::call<Tensor>("aten::squeeze", "dim", self, dim);
}
inline Tensor select(const Tensor& self, int64_t dim, int64_t index) {
    return detail::call<Tensor>("aten::select", "int", self, dim, index);
}
inline Tensor matmul(const Tensor& self, const Tensor& other) {
    return detail::call<Tensor>("aten::matmul", "", self, other);
}
inline Tensor reshape(const Tensor& self, IntHeaderOnlyArrayRef shape) {
    return detail::call<Tensor>("aten::reshape", "", self, shape);
}
inline Tensor view(const Tensor& self, IntHeaderOnlyArrayRef size) {
    return detail::call<Tensor>("aten::view", "", self, size);
}
inline Tensor contiguous(const Tensor& self, MemoryFormat memory_format = MemoryFormat::Contiguous) {
    return detail::call<Tensor>("aten::contiguous", "", self, memory_format);
}
inline Tensor empty(IntHeaderOnlyArrayRef size, std::optional<ScalarType> dtype = std::nullopt,
                    std::optional<Layout> layout = std::nullopt, std::optional<Device> device = std::nullopt,
                    std::optional<bool> pin_memory = std::nullopt,
                    std::optional<MemoryFormat> memory_format = std::nullopt) {
    return detail::call<Tensor>("aten::empty", "memory_format", size, dtype, layout, device, pin_memory, memory_format);
}
inline Tensor new_empty(const Tensor& self, IntHeaderOnlyArrayRef size, std::optional<ScalarType> dtype = std::nullopt,
                        std::optional<Layout> layout = std::nullopt, std::optional<Device> device = std::nullopt,
                        std::optional<bool> pin_memory = std::nullopt) {
    return detail::call<Tensor>("aten::new_empty", "", self, size, dtype, layout, device, pin_memory);
}
inline Tensor new_zeros(const Tensor& self, IntHeaderOnlyArrayRef size, std::optional<ScalarType> dtype = std::nullopt,
                        std::optional<Layout> layout = std::nullopt, std::optional<Device> device = std::nullopt,
                        std::optional<bool> pin_memory = std::nullopt) {
    return detail::call<Tensor>("aten::new_zeros", "", self, size, dtype, layout, device, pin_memory);
}
inline Tensor to(const Tensor& self, std::optional<ScalarType> dtype = std::nullopt,
                 std::optional<Layout> layout = std::nullopt, std::optional<Device> device = std::nullopt,
                 std::optional<bool> pin_memory = std::nullopt, bool non_blocking = false, bool copy = false,
                 std::optional<MemoryFormat> memory_format = std::nullopt) {
    return detail::call<Tensor>("aten::to", "dtype_layout", self, dtype, layout, device, pin_memory, non_blocking, copy,
                                memory_format);
}
inline Tensor to(const Tensor& self, Device device, bool non_blocking = false, bool copy = false) {
    return to(self, std::nullopt, std::nullopt, device, std::nullopt, non_blocking, copy);
}
inline Tensor sum(const Tensor& self, std::optional<IntHeaderOnlyArrayRef> dim = std::nullopt, bool keepdim = false,
                  std::optional<ScalarType> dtype = std::nullopt) {
    return detail::call<Tensor>("aten::sum", "dim_IntList", self, dim, keepdim, dtype);
}
inline Tensor& sum_out(Tensor& out, const Tensor& self, std::optional<IntHeaderOnlyArrayRef> dim = std::nullopt,
                       bool keepdim = false, std::optional<ScalarType> dtype = std::nullopt) {
    detail::call<Tensor>("aten::sum", "IntList_out", self, dim, keepdim, dtype, out);
    return out;
}

inline Tensor subtract(const Tensor& self, const Tensor& other, double alpha = 1.0) {
    return detail::made("subtract", aoti_torch_aten_subtract_Tensor, self.get(), other.get(), alpha);
}
inline Tensor full(IntHeaderOnlyArrayRef size, double fill_value, std::optional<ScalarType> dtype = std::nullopt,
                   std::optional<Layout> layout = std::nullopt, std::optional<Device> device = std::nullopt,
                   std::optional<bool> pin_memory = std::nullopt) {
    int32_t dtype_ = dtype ? static_cast<int32_t>(*dtype) : 0;
    int32_t layout_ = layout ? detail::layout_number(static_cast<int32_t>(*layout)) : 0;
    int32_t device_ = device ? static_cast<int32_t>(device->type()) : 0;
    int32_t pin_memory_ = pin_memory.value_or(false);
    return detail::made("full", aoti_torch_aten_full, size.data(), static_cast<int64_t>(size.size()), fill_value,
                        dtype ? &dtype_ : nullptr, layout ? &layout_ : nullptr, device ? &device_ : nullptr,
                        device ? device->index() : 0, pin_memory ? &pin_memory_ : nullptr);
}

inline uint32_t get_num_threads() {
    uint32_t n;
    STABLE_TORCH_ERROR_CODE_CHECK(torch_get_num_threads(&n));
    return n;
}
// f(begin, end) for parts of a range, on several threads.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
    STABLE_TORCH_ERROR_CODE_CHECK(torch_parallel_for(
        begin, end, grain_size, [](int64_t b, int64_t e, void* f) { (*static_cast<const F*>(f))(b, e); },
        const_cast<void*>(static_cast<const void*>(&f))));
}

// A tensor over memory of somebody else's, whose elements begin at `data` plus the offset.
inline Tensor from_blob(void* data, IntHeaderOnlyArrayRef sizes, IntHeaderOnlyArrayRef strides, Device device,
                        ScalarType dtype, int64_t storage_offset = 0, Layout layout = Layout::Strided) {
    AtenTensorHandle h;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_create_tensor_from_blob_v2(
        data, static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(), storage_offset,
        static_cast<int32_t>(dtype), static_cast<int32_t>(device.type()), device.index(), &h,
        detail::layout_number(static_cast<int32_t>(layout)), nullptr, 0));
    return Tensor(h);
}
#if MINDTORCH_STABLE_SINCE(11)
// The same; `deleter(data)` runs when nobody needs the memory any more.
template <class F, class = std::enable_if_t<std::is_invocable_v<F, void*>>>
Tensor from_blob(void* data, IntHeaderOnlyArrayRef sizes, IntHeaderOnlyArrayRef strides, Device device,
                 ScalarType dtype, F deleter, int64_t storage_offset = 0, Layout layout = Layout::Strided) {
    auto held = std::make_unique<std::function<void(void*)>>(std::move(deleter));
    AtenTensorHandle h;
    STABLE_TORCH_ERROR_CODE_CHECK(torch_from_blob(
        data, static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(), storage_offset,
        static_cast<int32_t>(dtype), static_cast<int32_t>(device.type()), device.index(), &h,
        detail::layout_number(static_cast<int32_t>(layout)), nullptr, 0,
        [](void* data, void* f) {
            std::unique_ptr<std::function<void(void*)>> held(static_cast<std::function<void(void*)>*>(f));
            (*held)(data);
        },
        held.get()));
    held.release();
    return Tensor(h);
}
#endif

}  // namespace torch::stable

#pragma GCC visibility pop
