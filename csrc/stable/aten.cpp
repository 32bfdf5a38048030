// Operators that have a function of their own, where a schema's Scalar has no form in the ABI or a caller is older.
#include <cmath>

#include "stable/abi.h"

using namespace mt::stable;

namespace {

mt_value device_value(const int32_t* type, int32_t index) { return type ? value(device_of_new(*type, index)) : none(); }
mt_value optional_dtype(const int32_t* p) { return p ? dtype_value(*p) : none(); }
mt_value optional_layout(const int32_t* p) { return p ? layout_value(*p) : none(); }
mt_value optional_bool(const int32_t* p) { return p ? value(*p != 0) : none(); }
mt_value optional_tensor(AtenTensorHandle h) { return h ? value(tensor(h)) : none(); }
mt_value required(AtenTensorHandle h) { return value(defined(h)); }

// For operators whose result is an argument that the caller has.
void run(const char* name, const char* overload, std::initializer_list<mt_value> args) {
    core().release(call(name, overload, args).as.tensor);
}

}  // namespace

AOTITorchError aoti_torch_aten_amax(AtenTensorHandle self, const int64_t* dim, int64_t dim_len, int32_t keepdim,
                                    AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        *ret = call_for_tensor("aten::amax", "", {required(self), ints(dim, dim_len), value(keepdim != 0)});
    });
}
AOTITorchError aoti_torch_aten_fill__Scalar(AtenTensorHandle self, double v) {
    return guarded([&] { run("aten::fill_", "Scalar", {required(self), value(v)}); });
}
AOTITorchError aoti_torch_aten_full(const int64_t* size, int64_t size_len, double fill_value, int32_t* dtype,
                                    int32_t* layout, int32_t* device, int32_t device_index, int32_t* pin_memory,
                                    AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        *ret = call_for_tensor("aten::full", "",
                               {ints(size, size_len), value(fill_value), optional_dtype(dtype), optional_layout(layout),
                                device_value(device, device_index), optional_bool(pin_memory)});
    });
}
AOTITorchError aoti_torch_aten_narrow(AtenTensorHandle self, int64_t dim, int64_t start, int64_t length,
                                      AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        *ret = call_for_tensor("aten::narrow", "", {required(self), value(dim), value(start), value(length)});
    });
}
static AOTITorchError new_like(const char* name, AtenTensorHandle self, const int64_t* size, int64_t size_len,
                               int32_t* dtype, int32_t* layout, int32_t* device, int32_t device_index,
                               int32_t* pin_memory, AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        *ret = call_for_tensor(name, "",
                               {required(self), ints(size, size_len), optional_dtype(dtype), optional_layout(layout),
                                device_value(device, device_index), optional_bool(pin_memory)});
    });
}
AOTITorchError aoti_torch_aten_new_empty(AtenTensorHandle self, const int64_t* size, int64_t size_len, int32_t* dtype,
                                         int32_t* layout, int32_t* device, int32_t device_index, int32_t* pin_memory,
                                         AtenTensorHandle* ret) {
    return new_like("aten::new_empty", self, size, size_len, dtype, layout, device, device_index, pin_memory, ret);
}
AOTITorchError aoti_torch_aten_new_zeros(AtenTensorHandle self, const int64_t* size, int64_t size_len, int32_t* dtype,
                                         int32_t* layout, int32_t* device, int32_t device_index, int32_t* pin_memory,
                                         AtenTensorHandle* ret) {
    return new_like("aten::new_zeros", self, size, size_len, dtype, layout, device, device_index, pin_memory, ret);
}
AOTITorchError aoti_torch_aten_pad(AtenTensorHandle self, const int64_t* pad, int64_t pad_len, const char* mode,
                                   double* v, AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        *ret = call_for_tensor(
            "aten::pad", "", {required(self), ints(pad, pad_len), value(text(mode, "a mode")), v ? value(*v) : none()});
    });
}
AOTITorchError aoti_torch_aten_subtract_Tensor(AtenTensorHandle self, AtenTensorHandle other, double alpha,
                                               AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        // A whole number is one: a fractional alpha of integers raises.
        const bool whole = std::fabs(alpha) < 0x1p53 && std::trunc(alpha) == alpha;
        *ret = call_for_tensor(
            "aten::subtract", "Tensor",
            {required(self), required(other), whole ? value(static_cast<int64_t>(alpha)) : value(alpha)});
    });
}

AOTITorchError aoti_torch_as_strided(AtenTensorHandle self, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                     AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        const int64_t n = core().dim(defined(self));
        *ret =
            call_for_tensor("aten::as_strided", "", {required(self), ints(sizes_ptr, n), ints(strides_ptr, n), none()});
    });
}
AOTITorchError aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* ret) {
    return guarded(ret, [&] { *ret = call_for_tensor("aten::clone", "", {required(self), none()}); });
}
AOTITorchError aoti_torch_clone_preserve_strides(AtenTensorHandle self, AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        mt_tensor t = defined(self), made = nullptr;
        check(
            core().empty(core().dim(t), core().sizes(t), core().strides(t), core().dtype(t), core().device(t), &made));
        *ret = own(made);
        run("aten::copy_", "", {value(made), value(t), value(false)});
    });
}
AOTITorchError aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle src, int32_t non_blocking) {
    return guarded([&] { run("aten::copy_", "", {required(self), required(src), value(non_blocking != 0)}); });
}
AOTITorchError aoti_torch_tensor_copy_(AtenTensorHandle src, AtenTensorHandle dst) {
    return aoti_torch_copy_(dst, src, 0);
}
AOTITorchError aoti_torch_assign_tensors(AtenTensorHandle src, AtenTensorHandle dst) {
    return guarded([&] { check(core().set_data(defined(dst), defined(src))); });
}
AOTITorchError aoti_torch_zero_(AtenTensorHandle self) {
    return guarded([&] { run("aten::zero_", "", {required(self)}); });
}
AOTITorchError aoti_torch_view_as_real(AtenTensorHandle self, AtenTensorHandle* ret) {
    return guarded(ret, [&] { *ret = call_for_tensor("aten::view_as_real", "", {required(self)}); });
}
AOTITorchError aoti_torch_view_dtype(AtenTensorHandle self, int32_t dtype, AtenTensorHandle* ret) {
    return guarded(ret, [&] { *ret = call_for_tensor("aten::view", "dtype", {required(self), dtype_value(dtype)}); });
}
AOTITorchError aoti_torch_nonzero(AtenTensorHandle self, AtenTensorHandle* ret) {
    return guarded(ret, [&] { *ret = call_for_tensor("aten::nonzero", "", {required(self)}); });
}
AOTITorchError aoti_torch_repeat_interleave_Tensor(AtenTensorHandle repeats, int64_t* output_size,
                                                   AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        *ret = call_for_tensor("aten::repeat_interleave", "Tensor",
                               {required(repeats), output_size ? value(*output_size) : none()});
    });
}
AOTITorchError aoti_torch_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2) {
    return guarded([&] { run("aten::mm", "out", {required(self), required(mat2), required(out)}); });
}
AOTITorchError aoti_torch_bmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2) {
    return guarded([&] { run("aten::bmm", "out", {required(self), required(mat2), required(out)}); });
}
AOTITorchError aoti_torch_addmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat1,
                                    AtenTensorHandle mat2, float beta, float alpha) {
    return guarded([&] {
        run("aten::addmm", "out",
            {required(self), required(mat1), required(mat2), value(static_cast<double>(beta)),
             value(static_cast<double>(alpha)), required(out)});
    });
}
AOTITorchError aoti_torch_index_put_out(AtenTensorHandle out, AtenTensorHandle self, const AtenTensorHandle* indices,
                                        const uint32_t num_indices, const AtenTensorHandle values, bool accumulate) {
    return guarded([&] {
        std::vector<mt_tensor> list;
        if (num_indices > 128) fail("0 to 128 indices were expected, got ", num_indices);
        if (num_indices) expect_pointer(indices, "a list of indices");
        for (uint32_t i = 0; i < num_indices; i++) list.push_back(indices[i] ? tensor(indices[i]) : nullptr);
        mt_value all{};
        all.tag = MT_TENSOR_LIST;
        all.len = num_indices;
        all.as.tensors = list.data();
        run("aten::index_put", "out", {required(self), all, required(values), value(accumulate), required(out)});
    });
}
AOTITorchError aoti_torch_scatter_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim, AtenTensorHandle index,
                                      AtenTensorHandle src) {
    return guarded([&] {
        run("aten::scatter", "src_out", {required(self), value(dim), required(index), required(src), required(out)});
    });
}
AOTITorchError aoti_torch_scatter_reduce_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim,
                                             AtenTensorHandle index, AtenTensorHandle src, const char* reduce,
                                             int32_t include_self) {
    return guarded([&] {
        run("aten::scatter_reduce", "two_out",
            {required(self), value(dim), required(index), required(src), value(text(reduce, "a reduction")),
             value(include_self != 0), required(out)});
    });
}
AOTITorchError aoti_torch_convolution(AtenTensorHandle input, AtenTensorHandle weight, AtenTensorHandle bias,
                                      const int64_t* stride_ptr, int64_t stride_size, const int64_t* padding_ptr,
                                      int64_t padding_size, const int64_t* dilation_ptr, int64_t dilation_size,
                                      int transposed, const int64_t* output_padding_ptr, int64_t output_padding_size,
                                      int64_t groups, AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        *ret = call_for_tensor("aten::convolution", "",
                               {required(input), required(weight), optional_tensor(bias), ints(stride_ptr, stride_size),
                                ints(padding_ptr, padding_size), ints(dilation_ptr, dilation_size),
                                value(transposed != 0), ints(output_padding_ptr, output_padding_size), value(groups)});
    });
}
AOTITorchError aoti_torch__fft_c2c(AtenTensorHandle self, const int64_t* dim_ptr, int64_t dim_size,
                                   int64_t normalization, int32_t forward, AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        *ret = call_for_tensor("aten::_fft_c2c", "",
                               {required(self), ints(dim_ptr, dim_size), value(normalization), value(forward != 0)});
    });
}
