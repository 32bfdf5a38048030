// libcudart.so.13: functions of NVIDIA's runtime that libraries with CUDA kernels ask for when they are loaded. Those
// that register kernels return quietly, the others say that there is no device.
#include <cstddef>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
constexpr int kNoDevice = 100;
void* g_handle[1];
}  // namespace

EXPORT void** __cudaRegisterFatBinary(void*) { return g_handle; }
EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
EXPORT void __cudaUnregisterFatBinary(void**) {}
EXPORT void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*) {}
EXPORT void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
EXPORT unsigned __cudaPushCallConfiguration(...) { return kNoDevice; }
EXPORT int __cudaPopCallConfiguration(...) { return kNoDevice; }
EXPORT int __cudaLaunchKernel(...) { return kNoDevice; }
EXPORT int __cudaGetKernel(void** kernel, const void*) {
    *kernel = nullptr;
    return 0;
}
EXPORT int cudaGetDeviceCount(int* count) {
    *count = 0;
    return kNoDevice;
}
EXPORT int cudaGetLastError() { return kNoDevice; }
EXPORT const char* cudaGetErrorString(int error) { return error ? "mindtorch_v2 has no CUDA" : "no error"; }
EXPORT const char* cudaGetErrorName(int error) { return error ? "cudaErrorNoDevice" : "cudaSuccess"; }

#define NO_DEVICE(name) \
    EXPORT int name(...) { return kNoDevice; }
NO_DEVICE(cudaGetDevice)
NO_DEVICE(cudaSetDevice)
NO_DEVICE(cudaGetDeviceProperties)
NO_DEVICE(cudaDeviceGetAttribute)
NO_DEVICE(cudaDeviceSynchronize)
NO_DEVICE(cudaMalloc)
NO_DEVICE(cudaMallocAsync)
NO_DEVICE(cudaMemcpy)
NO_DEVICE(cudaMemcpyAsync)
NO_DEVICE(cudaMemcpy2DAsync)
NO_DEVICE(cudaMemset)
NO_DEVICE(cudaMemsetAsync)
NO_DEVICE(cudaFree)
NO_DEVICE(cudaFreeAsync)
NO_DEVICE(cudaEventCreate)
NO_DEVICE(cudaEventCreateWithFlags)
NO_DEVICE(cudaEventDestroy)
NO_DEVICE(cudaEventRecord)
NO_DEVICE(cudaEventSynchronize)
NO_DEVICE(cudaStreamSynchronize)
NO_DEVICE(cudaStreamWaitEvent)
NO_DEVICE(cudaFuncSetAttribute)
NO_DEVICE(cudaLaunchKernel)
NO_DEVICE(cudaLaunchKernelExC)
NO_DEVICE(cudaGetDriverEntryPointByVersion)
