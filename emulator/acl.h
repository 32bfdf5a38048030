// The part of Ascend's C interface that the emulator implements, declared here from its names, types and numbers; what
// plug-ins name, too, stands in the header for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../csrc/include/mindtorch/npu/acl.h"

#define EMU_API extern "C" __attribute__((visibility("default")))

using aclmdlRI = void*;
using aclrtTaskGrp = void*;
using aclFloat16 = uint16_t;

struct aclrtExceptionInfo;  // about a task that failed
using aclrtExceptionInfoCallback = void (*)(aclrtExceptionInfo*);
using aclrtCallback = void (*)(void*);
using aclrtHostFunc = void (*)(void*);

struct aclrtUtilizationInfo {  // per cent; -1 where it is not told
    int32_t cubeUtilization, vectorUtilization, aicpuUtilization, memoryUtilization;
    void* utilizationExtend;
};

enum aclrtMemcpyKind : int { kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kInfer = 4 };
enum aclrtMemMallocPolicy : int {};
enum aclrtMemAttr : int {};
enum aclrtRunMode : int {};
enum aclSysParamOpt : int {};
enum aclDeviceInfo : int {};
enum aclrtDevAttr : int {};
enum aclrtStreamStatus : int {};
enum aclrtEventRecordedStatus : int {};
enum aclrtHostRegisterType : int {};
enum aclrtCallbackBlockType : int { kCallbackNoBlock = 0, kCallbackBlock = 1 };
enum aclmdlRICaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };
enum aclmdlRICaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };

// Codes that the emulator itself returns.
constexpr aclError kSuccess = 0;
constexpr aclError kUninitialized = 100001, kRepeatInitialize = 100002, kRepeatFinalize = 100037;
constexpr aclError kRepeatSubscribe = 100033, kStreamNotSubscribed = 100034, kThreadNotSubscribed = 100035;
constexpr aclError kCallbackTimeout = 100036;
constexpr aclError kParamInvalid = 107000, kInvalidDevice = 107001, kContextNull = 107002, kInvalidHandle = 107017;
constexpr aclError kEventTimestamp = 107006;
constexpr aclError kCaptureDependency = 107024, kStreamUnjoined = 107025, kModelCaptured = 107026;
constexpr aclError kStreamCaptured = 107027, kEventCaptured = 107028, kStreamNotCaptured = 107029;
constexpr aclError kCaptureModeNotSupported = 107030, kStreamCaptureImplicit = 107031, kStreamCaptureConflict = 107032;
constexpr aclError kTaskGroupStatus = 107033;
constexpr aclError kStreamCaptureUnmatched = 107036, kModelRunning = 107037, kStreamCaptureWrongThread = 107038;
constexpr aclError kFeatureNotSupported = 207000;
constexpr aclError kOutOfMemory = 207001, kMemoryFree = 207002;
constexpr aclError kAicoreException = 507015, kStreamSyncTimeout = 507046;
constexpr aclnnStatus kParamNull = 161001, kOpParamInvalid = 161002, kRuntimeError = 361001;
constexpr aclnnStatus kInnerNull = 561103, kInnerError = 561000;
