// Functions of CANN's runtime that plug-ins call by their names, found where the back end found CANN: nothing is
// linked. One that the CANN at hand lacks gives the code of what is not supported.
#pragma once

#include <mindtorch/npu/acl.h>
#include <mindtorch/npu/ask.h>

// What a device is asked of itself: aclGetDeviceCapability, aclrtGetDeviceInfo.
typedef enum {
    ACL_DEVICE_INFO_UNDEFINED = -1,
    ACL_DEVICE_INFO_AI_CORE_NUM = 0,
    ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
    ACL_DEVICE_INFO_L2_SIZE = 2,
} aclDeviceInfo;
typedef enum {
    ACL_DEV_ATTR_AICPU_CORE_NUM = 1,
    ACL_DEV_ATTR_AICORE_CORE_NUM = 101,
    ACL_DEV_ATTR_CUBE_CORE_NUM = 102,
    ACL_DEV_ATTR_VECTOR_CORE_NUM = 201,
} aclrtDevAttr;
typedef void (*aclrtHostFunc)(void* argument);
typedef enum {
    ACL_MEMCPY_HOST_TO_HOST = 0,
    ACL_MEMCPY_HOST_TO_DEVICE = 1,
    ACL_MEMCPY_DEVICE_TO_HOST = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
    ACL_MEMCPY_DEFAULT = 4,
} aclrtMemcpyKind;

#define MINDTORCH_RUNTIME(name, parameters, ...)                                                            \
    inline aclError name parameters {                                                                       \
        static auto* const found = reinterpret_cast<aclError(*) parameters>(mindtorch::npu::symbol(#name)); \
        return found != nullptr ? found(__VA_ARGS__) : 207000;                                              \
    }
MINDTORCH_RUNTIME(aclGetDeviceCapability, (uint32_t device, aclDeviceInfo what, int64_t* value), device, what, value)
MINDTORCH_RUNTIME(aclrtGetDeviceInfo, (uint32_t device, aclrtDevAttr what, int64_t* value), device, what, value)
MINDTORCH_RUNTIME(aclrtLaunchHostFunc, (aclrtStream stream, aclrtHostFunc function, void* argument), stream, function,
                  argument)
MINDTORCH_RUNTIME(aclrtMemcpy, (void* to, size_t room, const void* from, size_t bytes, aclrtMemcpyKind kind), to, room,
                  from, bytes, kind)
MINDTORCH_RUNTIME(aclrtMemcpyAsync,
                  (void* to, size_t room, const void* from, size_t bytes, aclrtMemcpyKind kind, aclrtStream stream), to,
                  room, from, bytes, kind, stream)
MINDTORCH_RUNTIME(aclrtMemset, (void* to, size_t room, int32_t value, size_t bytes), to, room, value, bytes)
MINDTORCH_RUNTIME(aclrtMemsetAsync, (void* to, size_t room, int32_t value, size_t bytes, aclrtStream stream), to, room,
                  value, bytes, stream)
#undef MINDTORCH_RUNTIME
