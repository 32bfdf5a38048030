// libtorch_cuda.so: functions of the stable ABI for CUDA. There is none here: all fail.
#include <mindtorch/stable/c.h>

#include <cstdlib>
#include <cstring>

#define NO_CUDA                    \
    {                              \
        return AOTI_TORCH_FAILURE; \
    }

AOTITorchError aoti_torch_get_current_cuda_stream(int32_t, void**) NO_CUDA AOTITorchError
    torch_get_cuda_stream_from_pool(bool, int32_t, void**) NO_CUDA AOTITorchError
    torch_set_current_cuda_stream(void*, int32_t)
NO_CUDA
AOTITorchError torch_cuda_stream_synchronize(void*, int32_t)
NO_CUDA
AOTITorchError torch_get_current_cuda_blas_handle(void**) NO_CUDA

    AOTITorchError torch_c10_cuda_check_msg(int32_t err, const char*, const char*, uint32_t, bool, char** error_msg) {
    if (!error_msg) return AOTI_TORCH_FAILURE;
    *error_msg = err ? strdup("CUDA error: mindtorch_v2 has no CUDA") : nullptr;
    return AOTI_TORCH_SUCCESS;
}
void torch_c10_cuda_free_error_msg(char* error_msg) { std::free(error_msg); }
