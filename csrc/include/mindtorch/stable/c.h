/* PyTorch's stable ABI: the C functions that compiled libraries of operators call. They are the same for every library
 * and every version; here libtorch_cpu.so has them (csrc/stable), elsewhere PyTorch's own.
 *
 * A StableIValue is 64 bits that hold one argument or result, as the operator's schema says: a number in the low bytes,
 * a handle for a tensor, string, list or generator, a pointer to a cell of its own for an optional value that is there,
 * 0 for None. Who reads a handle out of one owns it. Functions return 0, or 1 and keep a text for
 * torch_exception_get_what. */
#ifndef MINDTORCH_STABLE_C_H
#define MINDTORCH_STABLE_C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AOTI_TORCH_EXPORT __attribute__((visibility("default")))

/* A version is a number: major, minor, patch from the highest byte on. */
#define MINDTORCH_STABLE_VERSION(major, minor, patch) (major##ULL << 56 | minor##ULL << 48 | patch##ULL << 40)
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 13
#define TORCH_VERSION_PATCH 0
#define TORCH_ABI_VERSION MINDTORCH_STABLE_VERSION(2, 13, 0)
#define TORCH_VERSION_2_10_0 MINDTORCH_STABLE_VERSION(2, 10, 0)
#define TORCH_VERSION_2_11_0 MINDTORCH_STABLE_VERSION(2, 11, 0)
#define TORCH_VERSION_2_12_0 MINDTORCH_STABLE_VERSION(2, 12, 0)
#define TORCH_VERSION_2_13_0 MINDTORCH_STABLE_VERSION(2, 13, 0)
/* The oldest PyTorch that a library is to run with: the C++ headers use no function that came later. */
#ifdef TORCH_TARGET_VERSION
#define TORCH_FEATURE_VERSION TORCH_TARGET_VERSION
#else
#define TORCH_FEATURE_VERSION TORCH_ABI_VERSION
#endif
#if TORCH_FEATURE_VERSION < TORCH_VERSION_2_10_0
#error "TORCH_TARGET_VERSION: libraries for PyTorch before 2.10 cannot be made"
#endif
#define MINDTORCH_STABLE_SINCE(minor) (TORCH_FEATURE_VERSION >= MINDTORCH_STABLE_VERSION(2, minor, 0))

typedef int32_t AOTITorchError;
#define AOTI_TORCH_SUCCESS 0
#define AOTI_TORCH_FAILURE 1

typedef uint64_t StableIValue;
typedef struct AtenTensorOpaque* AtenTensorHandle;
typedef struct AtenGeneratorOpaque* AtenGeneratorHandle;
typedef struct StreamOpaque* StreamHandle;
typedef struct DeviceGuardOpaque* DeviceGuardHandle;
typedef struct StableListOpaque* StableListHandle;
typedef struct StringOpaque* StringHandle;
typedef struct TorchLibraryOpaque* TorchLibraryHandle;
typedef void (*ParallelFunc)(int64_t begin, int64_t end, void* ctx);

/* Numbers of the running library, each a function without arguments. */
#define MINDTORCH_STABLE_NUMBERS(_)                  \
    _(aoti_torch_device_type_cpu, 0)                 \
    _(aoti_torch_device_type_cuda, 1)                \
    _(aoti_torch_device_type_xpu, 12)                \
    _(aoti_torch_device_type_mps, 13)                \
    _(aoti_torch_device_type_meta, 14)               \
    _(aoti_torch_device_type_privateuse1, 20)        \
    _(aoti_torch_dtype_uint8, 0)                     \
    _(aoti_torch_dtype_int8, 1)                      \
    _(aoti_torch_dtype_int16, 2)                     \
    _(aoti_torch_dtype_int32, 3)                     \
    _(aoti_torch_dtype_int64, 4)                     \
    _(aoti_torch_dtype_float16, 5)                   \
    _(aoti_torch_dtype_float32, 6)                   \
    _(aoti_torch_dtype_float64, 7)                   \
    _(aoti_torch_dtype_complex32, 8)                 \
    _(aoti_torch_dtype_complex64, 9)                 \
    _(aoti_torch_dtype_complex128, 10)               \
    _(aoti_torch_dtype_bool, 11)                     \
    _(aoti_torch_dtype_bfloat16, 15)                 \
    _(aoti_torch_dtype_float8_e5m2, 23)              \
    _(aoti_torch_dtype_float8_e4m3fn, 24)            \
    _(aoti_torch_dtype_float8_e5m2fnuz, 25)          \
    _(aoti_torch_dtype_float8_e4m3fnuz, 26)          \
    _(aoti_torch_dtype_uint16, 27)                   \
    _(aoti_torch_dtype_uint32, 28)                   \
    _(aoti_torch_dtype_uint64, 29)                   \
    _(aoti_torch_dtype_float8_e8m0fnu, 44)           \
    _(aoti_torch_dtype_float4_e2m1fn_x2, 45)         \
    _(torch_dtype_float8_e8m0fnu, 44)                \
    _(torch_dtype_float4_e2m1fn_x2, 45)              \
    _(aoti_torch_layout_strided, 0)                  \
    _(aoti_torch_layout_sparse_coo, 1)               \
    _(aoti_torch_layout_sparse_csr, 2)               \
    _(aoti_torch_layout__mkldnn, 3)                  \
    _(aoti_torch_layout_sparse_csc, 4)               \
    _(aoti_torch_layout_sparse_bsr, 5)               \
    _(aoti_torch_layout_sparse_bsc, 6)               \
    _(aoti_torch_layout_jagged, 7)                   \
    _(aoti_torch_memory_format_contiguous_format, 0) \
    _(aoti_torch_memory_format_preserve_format, 1)   \
    _(aoti_torch_memory_format_channels_last, 2)     \
    _(aoti_torch_memory_format_channels_last_3d, 3)  \
    _(torch_tag_core, 0)                             \
    _(torch_tag_cudagraph_unsafe, 1)                 \
    _(torch_tag_data_dependent_output, 2)            \
    _(torch_tag_dynamic_output_shape, 3)             \
    _(torch_tag_flexible_layout, 4)                  \
    _(torch_tag_generated, 5)                        \
    _(torch_tag_inplace_view, 7)                     \
    _(torch_tag_maybe_aliasing_or_mutating, 8)       \
    _(torch_tag_needs_contiguous_strides, 9)         \
    _(torch_tag_needs_exact_strides, 10)             \
    _(torch_tag_needs_fixed_stride_order, 11)        \
    _(torch_tag_nondeterministic_bitwise, 12)        \
    _(torch_tag_nondeterministic_seeded, 13)         \
    _(torch_tag_out_variant, 15)                     \
    _(torch_tag_pointwise, 16)                       \
    _(torch_tag_pt2_compliant_tag, 17)               \
    _(torch_tag_reduction, 18)                       \
    _(torch_tag_view_copy, 19)

#ifdef __cplusplus
extern "C" {
#endif

#define MINDTORCH_STABLE_DECLARE(name, number) AOTI_TORCH_EXPORT int32_t name(void);
MINDTORCH_STABLE_NUMBERS(MINDTORCH_STABLE_DECLARE)
#undef MINDTORCH_STABLE_DECLARE

/* errors and versions */
AOTI_TORCH_EXPORT uint64_t aoti_torch_abi_version(void);
AOTI_TORCH_EXPORT void aoti_torch_warn(const char* func, const char* file, uint32_t line, const char* msg);
AOTI_TORCH_EXPORT const char* torch_exception_get_what(void);
AOTI_TORCH_EXPORT const char* torch_exception_get_what_without_backtrace(void);
AOTI_TORCH_EXPORT bool torch_is_warn_always_enabled(void);
AOTI_TORCH_EXPORT void aoti_torch_check(bool cond, const char* func, const char* file, uint32_t line, const char* msg);

/* handles of tensors */
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle orig_handle,
                                                              AtenTensorHandle* new_handle);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_new_uninitialized_tensor(AtenTensorHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_assign_tensors(AtenTensorHandle src, AtenTensorHandle dst);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_assign_tensors_out(AtenTensorHandle src, AtenTensorHandle* ret_dst);

/* what a tensor is */
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** ret_data_ptr);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* ret_device_index);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* ret_device_type);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* ret_dim);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* ret_dtype);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_layout(AtenTensorHandle tensor, int32_t* ret_layout);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* ret_numel);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_size(AtenTensorHandle tensor, int64_t d, int64_t* ret_size);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** ret_sizes);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* ret_storage_offset);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t* ret_size);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_stride(AtenTensorHandle tensor, int64_t d, int64_t* ret_stride);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** ret_strides);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_is_contiguous(AtenTensorHandle tensor, bool* ret_is_contiguous);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_is_defined(AtenTensorHandle tensor, bool* ret_is_defined);
AOTI_TORCH_EXPORT AOTITorchError torch_get_const_data_ptr(AtenTensorHandle tensor, const void** ret_data_ptr);
AOTI_TORCH_EXPORT AOTITorchError torch_get_mutable_data_ptr(AtenTensorHandle tensor, void** ret_data_ptr);
AOTI_TORCH_EXPORT AOTITorchError torch_set_requires_grad(AtenTensorHandle tensor, bool requires_grad);
AOTI_TORCH_EXPORT AOTITorchError torch_has_storage(AtenTensorHandle tensor, bool* ret_has_storage);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_storage_numel(AtenTensorHandle tensor, int64_t* ret_numel);

/* element types */
AOTI_TORCH_EXPORT size_t aoti_torch_dtype_element_size(int32_t dtype);

/* tensors over memory that somebody else has, and new ones */
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_create_tensor_from_blob_v2(
    void* data, int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr, int64_t storage_offset,
    int32_t dtype, int32_t device_type, int32_t device_index, AtenTensorHandle* ret, int32_t layout,
    const uint8_t* opaque_metadata, int64_t opaque_metadata_size);
AOTI_TORCH_EXPORT AOTITorchError torch_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr,
                                                 const int64_t* strides_ptr, int64_t storage_offset, int32_t dtype,
                                                 int32_t device_type, int32_t device_index, AtenTensorHandle* ret,
                                                 int32_t layout, const uint8_t* opaque_metadata,
                                                 int64_t opaque_metadata_size, void (*deleter)(void* data, void* ctx),
                                                 void* deleter_ctx);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t ndim,
                                                                const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                                                int64_t storage_offset,
                                                                AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr,
                                                                    const int64_t* strides_ptr, int64_t storage_offset,
                                                                    int32_t dtype, int32_t device_type,
                                                                    int32_t device_index, AtenTensorHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes_ptr,
                                                          const int64_t* strides_ptr, int32_t dtype,
                                                          int32_t device_type, int32_t device_index,
                                                          AtenTensorHandle* ret_new_tensor);

/* values of tensors with one element, and tensors of a number */
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_bool(AtenTensorHandle tensor, bool* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_int32(AtenTensorHandle tensor, int32_t* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_int64(AtenTensorHandle tensor, int64_t* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_float32(AtenTensorHandle tensor, float* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_float64(AtenTensorHandle tensor, double* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_int16(AtenTensorHandle tensor, int16_t* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_int8(AtenTensorHandle tensor, int8_t* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_uint16(AtenTensorHandle tensor, uint16_t* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_uint32(AtenTensorHandle tensor, uint32_t* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_uint64(AtenTensorHandle tensor, uint64_t* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_item_uint8(AtenTensorHandle tensor, uint8_t* ret_value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_bool(bool value, AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_float32(float value, AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_float64(double value, AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_int16(int16_t value, AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_int32(int32_t value, AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_int64(int64_t value, AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_int8(int8_t value, AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_uint16(uint16_t value, AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_uint32(uint32_t value, AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_uint64(uint64_t value, AtenTensorHandle* ret_new_tensor);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_uint8(uint8_t value, AtenTensorHandle* ret_new_tensor);

/* operators */
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_call_dispatcher(const char* op_name, const char* overload_name,
                                                            StableIValue* stack);
AOTI_TORCH_EXPORT AOTITorchError torch_call_dispatcher(const char* op_name, const char* overload_name,
                                                       StableIValue* stack, uint64_t extension_build_version);

/* registration */
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_delete_library_object(TorchLibraryHandle tlh);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_library_def(TorchLibraryHandle self, const char* schema);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_library_impl(TorchLibraryHandle self, const char* name,
                                                         void (*fn)(StableIValue*, uint64_t, uint64_t));
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_library_init_def(const char* ns, const char* file, uint32_t line,
                                                             TorchLibraryHandle* ret_new_torch_lib);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_library_init_fragment(const char* ns, const char* file, uint32_t line,
                                                                  TorchLibraryHandle* ret_new_torch_lib);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_library_init_impl(const char* ns, const char* k, const char* file,
                                                              uint32_t line, TorchLibraryHandle* ret_new_torch_lib);
AOTI_TORCH_EXPORT AOTITorchError torch_library_def_with_tags(TorchLibraryHandle self, const char* schema,
                                                             const int32_t* tags, int32_t num_tags);
AOTI_TORCH_EXPORT AOTITorchError torch_library_impl(TorchLibraryHandle self, const char* name,
                                                    void (*fn)(StableIValue*, uint64_t, uint64_t),
                                                    uint64_t extension_build_version);
AOTI_TORCH_EXPORT AOTITorchError torch_library_set_python_module(TorchLibraryHandle self, const char* pymodule,
                                                                 const char* context);

/* cells, lists, strings */
AOTI_TORCH_EXPORT AOTITorchError torch_delete_list(StableListHandle list_handle);
AOTI_TORCH_EXPORT AOTITorchError torch_delete_stable_ivalue(StableIValue* value);
AOTI_TORCH_EXPORT AOTITorchError torch_delete_string(StringHandle handle);
AOTI_TORCH_EXPORT AOTITorchError torch_list_get_item(StableListHandle list_handle, size_t index, StableIValue* element);
AOTI_TORCH_EXPORT AOTITorchError torch_list_push_back(StableListHandle list_handle, StableIValue element);
AOTI_TORCH_EXPORT AOTITorchError torch_list_size(StableListHandle list_handle, size_t* size);
AOTI_TORCH_EXPORT AOTITorchError torch_new_list_reserve_size(size_t size, StableListHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError torch_new_stable_ivalue(StableIValue** ret_value);
AOTI_TORCH_EXPORT AOTITorchError torch_new_string_handle(const char* data, size_t length, StringHandle* handle);
AOTI_TORCH_EXPORT AOTITorchError torch_parse_device_string(const char* device_string, uint32_t* out_device_type,
                                                           int32_t* out_device_index);
AOTI_TORCH_EXPORT AOTITorchError torch_string_c_str(StringHandle handle, const char** data);
AOTI_TORCH_EXPORT AOTITorchError torch_string_length(StringHandle handle, size_t* length);
AOTI_TORCH_EXPORT AOTITorchError torch_list_set_item(StableListHandle list_handle, size_t index, StableIValue element);

/* generators */
AOTI_TORCH_EXPORT AOTITorchError torch_delete_generator(AtenGeneratorHandle generator);
AOTI_TORCH_EXPORT AOTITorchError torch_generator_get_device(AtenGeneratorHandle generator, int32_t* ret_device_type,
                                                            int32_t* ret_device_index);
AOTI_TORCH_EXPORT AOTITorchError torch_new_generator_handle(AtenGeneratorHandle self,
                                                            AtenGeneratorHandle* ret_new_generator);

/* devices and streams */
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_create_device_guard(int32_t device_index, DeviceGuardHandle* ret_guard);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_delete_device_guard(DeviceGuardHandle guard);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_delete_stream(StreamHandle stream);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_device_guard_set_index(DeviceGuardHandle guard, int32_t device_index);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device_index, void** ret_stream);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_current_device_index(int32_t* ret_device_index);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_current_stream(int32_t device_index, StreamHandle* ret_stream);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_stream_id(StreamHandle stream, int64_t* ret_stream_id);
AOTI_TORCH_EXPORT AOTITorchError torch_c10_cuda_check_msg(int32_t err, const char* filename, const char* function_name,
                                                          uint32_t line_number, bool include_device_assertions,
                                                          char** error_msg);
AOTI_TORCH_EXPORT void torch_c10_cuda_free_error_msg(char* error_msg);
AOTI_TORCH_EXPORT AOTITorchError torch_cuda_stream_synchronize(void* stream, int32_t device_index);
AOTI_TORCH_EXPORT AOTITorchError torch_get_cuda_stream_from_pool(bool high_priority, int32_t device_index,
                                                                 void** ret_stream);
AOTI_TORCH_EXPORT AOTITorchError torch_get_current_cuda_blas_handle(void** ret_handle);
AOTI_TORCH_EXPORT AOTITorchError torch_set_current_cuda_stream(void* stream, int32_t device_index);
AOTI_TORCH_EXPORT AOTITorchError torch_stream_native_handle(StreamHandle stream, void** ret_native_handle);

/* this thread, and threads */
AOTI_TORCH_EXPORT AOTITorchError torch_get_num_threads(uint32_t* out_num_threads);
AOTI_TORCH_EXPORT AOTITorchError torch_parallel_for(int64_t begin, int64_t end, int64_t grain_size, ParallelFunc func,
                                                    void* ctx);
AOTI_TORCH_EXPORT bool aoti_torch_grad_mode_is_enabled(void);
AOTI_TORCH_EXPORT void aoti_torch_grad_mode_set_enabled(bool enabled);
AOTI_TORCH_EXPORT AOTITorchError torch_get_thread_idx(uint32_t* out_thread_idx);

/* objects of Python, with its lock held */
AOTI_TORCH_EXPORT AOTITorchError torch_device_from_pyobject(void* py_obj, int32_t* ret_device_type,
                                                            int32_t* ret_device_index);
AOTI_TORCH_EXPORT AOTITorchError torch_device_to_pyobject(int32_t device_type, int32_t device_index, void** ret);
AOTI_TORCH_EXPORT AOTITorchError torch_dtype_from_pyobject(void* py_obj, int32_t* ret_dtype);
AOTI_TORCH_EXPORT AOTITorchError torch_dtype_to_pyobject(int32_t dtype, void** ret);
AOTI_TORCH_EXPORT AOTITorchError torch_is_tensor_pyobject(void* py_obj, bool* ret);
AOTI_TORCH_EXPORT AOTITorchError torch_tensor_from_pyobject(void* py_obj, AtenTensorHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError torch_tensor_to_pyobject(AtenTensorHandle ath, void* py_type, void** ret);

/* operators that programs may call by a function of their own */
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_amax(AtenTensorHandle self, const int64_t* dim, int64_t dim_len,
                                                      int32_t keepdim, AtenTensorHandle* ret0);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_fill__Scalar(AtenTensorHandle self, double value);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_full(const int64_t* size, int64_t size_len, double fill_value,
                                                      int32_t* dtype, int32_t* layout, int32_t* device,
                                                      int32_t device_index, int32_t* pin_memory,
                                                      AtenTensorHandle* ret0);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_narrow(AtenTensorHandle self, int64_t dim, int64_t start,
                                                        int64_t length, AtenTensorHandle* ret0);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_new_empty(AtenTensorHandle self, const int64_t* size, int64_t size_len,
                                                           int32_t* dtype, int32_t* layout, int32_t* device,
                                                           int32_t device_index, int32_t* pin_memory,
                                                           AtenTensorHandle* ret0);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_new_zeros(AtenTensorHandle self, const int64_t* size, int64_t size_len,
                                                           int32_t* dtype, int32_t* layout, int32_t* device,
                                                           int32_t device_index, int32_t* pin_memory,
                                                           AtenTensorHandle* ret0);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_pad(AtenTensorHandle self, const int64_t* pad, int64_t pad_len,
                                                     const char* mode, double* value, AtenTensorHandle* ret0);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_subtract_Tensor(AtenTensorHandle self, AtenTensorHandle other,
                                                                 double alpha, AtenTensorHandle* ret0);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch__fft_c2c(AtenTensorHandle self, const int64_t* dim_ptr, int64_t dim_size,
                                                     int64_t normalization, int32_t forward, AtenTensorHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_addmm_out(AtenTensorHandle out, AtenTensorHandle self,
                                                      AtenTensorHandle mat1, AtenTensorHandle mat2, float beta,
                                                      float alpha);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_as_strided(AtenTensorHandle self, const int64_t* sizes_ptr,
                                                       const int64_t* strides_ptr, AtenTensorHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_bmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_clone_preserve_strides(AtenTensorHandle self, AtenTensorHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_convolution(AtenTensorHandle input, AtenTensorHandle weight,
                                                        AtenTensorHandle bias, const int64_t* stride_ptr,
                                                        int64_t stride_size, const int64_t* padding_ptr,
                                                        int64_t padding_size, const int64_t* dilation_ptr,
                                                        int64_t dilation_size, int transposed,
                                                        const int64_t* output_padding_ptr, int64_t output_padding_size,
                                                        int64_t groups, AtenTensorHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle src, int32_t non_blocking);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_index_put_out(AtenTensorHandle out, AtenTensorHandle self,
                                                          const AtenTensorHandle* indices, const uint32_t num_indices,
                                                          const AtenTensorHandle values, bool accumulate);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_nonzero(AtenTensorHandle self, AtenTensorHandle* out);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_repeat_interleave_Tensor(AtenTensorHandle repeats, int64_t* output_size,
                                                                     AtenTensorHandle* out);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scatter_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim,
                                                        AtenTensorHandle index, AtenTensorHandle src);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_scatter_reduce_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim,
                                                               AtenTensorHandle index, AtenTensorHandle src,
                                                               const char* reduce, int32_t include_self);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_tensor_copy_(AtenTensorHandle src, AtenTensorHandle dst);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_view_as_real(AtenTensorHandle self, AtenTensorHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_view_dtype(AtenTensorHandle self, int32_t dtype, AtenTensorHandle* ret);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_zero_(AtenTensorHandle self);

#ifdef __cplusplus
}
#endif

#endif
