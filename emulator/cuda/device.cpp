// Devices and their primary contexts.
#include <cstdio>
#include <cstdlib>

#include "emulator.h"

namespace emu {
namespace {

thread_local CUcontext t_context = nullptr;

// The devices that CUDA_VISIBLE_DEVICES shows, in its order: up to the first that is none.
std::vector<int> visible(int existing) {
    std::vector<int> r;
    const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!list) {
        for (int i = 0; i < existing; i++) r.push_back(i);
        return r;
    }
    while (*list) {
        char* end = nullptr;
        long index = std::strtol(list, &end, 10);
        if (end == list || index < 0 || index >= existing) break;
        for (int seen : r)
            if (seen == index) return {};  // the same device twice: none is seen
        r.push_back(static_cast<int>(index));
        list = *end == ',' ? end + 1 : end;
        if (*end && *end != ',') break;
    }
    return r;
}

// By the attribute's number. Figures of a device of compute capability 9.0 with 132 multiprocessors.
const std::map<int, int>& attributes() {
    static const std::map<int, int>* table = new std::map<int, int>{
        {1, 1024},         // threads of a block
        {2, 1024},         // along x
        {3, 1024},         // along y
        {4, 64},           // along z
        {5, 2147483647},   // blocks of a grid along x
        {6, 65535},        // along y
        {7, 65535},        // along z
        {8, 49152},        // shared memory of a block
        {9, 65536},        // constant memory
        {10, 32},          // threads of a warp
        {11, 2147483647},  // pitch
        {12, 65536},       // registers of a block
        {13, 1980000},     // clock rate in kHz
        {14, 512},         // alignment of textures
        {15, 1},           // copies while it computes
        {16, 132},         // multiprocessors
        {17, 0},           // time limit of kernels
        {18, 0},           // integrated
        {19, 1},           // maps host memory
        {20, 0},           // compute mode: default
        {30, 512},         // alignment of surfaces
        {31, 1},           // concurrent kernels
        {32, 1},           // ECC
        {34, 0},           // PCI device
        {35, 0},           // TCC driver
        {36, 2619000},     // memory clock in kHz
        {37, 5120},        // width of the memory's bus in bits
        {38, 52428800},    // L2 cache
        {39, 2048},        // threads of a multiprocessor
        {40, 3},           // copy engines
        {41, 1},           // unified addressing
        {50, 0},           // PCI domain
        {75, 9},           // compute capability
        {76, 0},           // and its minor number
        {78, 1},           // stream priorities
        {79, 1},           // L1 caches global loads
        {80, 1},           // and local ones
        {81, 233472},      // shared memory of a multiprocessor
        {82, 65536},       // registers of a multiprocessor
        {83, 0},           // managed memory
        {84, 0},           // board with several devices
        {85, 0},           // group on that board
        {86, 0},           // native atomics on host memory
        {87, 2},           // speed of float to double
        {88, 0},           // reaches pageable memory
        {89, 0},           // concurrent managed access
        {90, 1},           // preemption
        {91, 1},           // registered host memory by the host's pointer
        {95, 0},           // cooperative launches
        {97, 232448},      // shared memory of a block that asks for it
        {99, 1},           // registers host memory
        {106, 32},         // blocks of a multiprocessor
        {111, 1024},       // shared memory that the system keeps of each block
        {115, 0},          // memory pools
    };
    return *table;
}

Device* device_at(CUdevice index) {
    auto& all = devices();
    return index < 0 || static_cast<size_t>(index) >= all.size() ? nullptr : all[static_cast<size_t>(index)].get();
}

void release_all(Device* device) {
    wait_for_device(device);
    reset_graphs(device);
    reset_modules(device);
    streams().remove_if([&](Stream& s) {
        if (s.device != device) return false;
        std::lock_guard<std::mutex> lock(s.mutex);
        s.closed = true;
        s.arrived.notify_all();
        if (!s.legacy) count(kStreams, -1);
        return true;
    });
    {
        std::lock_guard<std::mutex> lock(device->mutex);
        device->legacy.reset();
    }
    reset_memory(device);
    device->sticky = 0;
}

}  // namespace

std::vector<std::unique_ptr<Device>>& devices() {
    static auto* all = [] {
        auto* made = new std::vector<std::unique_ptr<Device>>;
        for (int physical : visible(settings().devices)) {
            auto d = std::make_unique<Device>();
            d->index = static_cast<int>(made->size());
            d->physical = physical;
            d->context = static_cast<CUcontext>(new_handle());
            made->push_back(std::move(d));
        }
        for (auto& d : *made) d->peers.resize(made->size());
        return made;
    }();
    return *all;
}

Device* device_of(CUcontext context) {
    for (auto& d : devices())
        if (d->context == context) return d.get();
    return nullptr;
}

Device* current_or_null() { return t_context ? device_of(t_context) : nullptr; }

int current(Device** device) {
    if (!t_context) return CUDA_ERROR_INVALID_CONTEXT;
    *device = device_of(t_context);
    if (!*device) return CUDA_ERROR_INVALID_CONTEXT;
    if (!(*device)->retained) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return (*device)->sticky;
}

void Device::fail(const Fault& fault) {
    int none = 0;
    bool first = !is_sticky(fault.code) || sticky.compare_exchange_strong(none, fault.code);
    if (first) told(fault.text);
}

}  // namespace emu

using namespace emu;

EMULATED_API CUresult cuDeviceGetCount(int* number) {
    EMULATED_ENTER(cuDeviceGetCount);
    if (!number) return CUDA_ERROR_INVALID_VALUE;
    *number = static_cast<int>(devices().size());
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDeviceGet(CUdevice* device, int index) {
    EMULATED_ENTER(cuDeviceGet);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(index)) return CUDA_ERROR_INVALID_DEVICE;
    *device = index;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
    EMULATED_ENTER(cuDeviceGetName);
    if (!name || size < 1) return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(device)) return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, static_cast<size_t>(size), "Emulated GPU (mindtorch_v2)");
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    EMULATED_ENTER(cuDeviceTotalMem_v2);
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(device)) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = settings().memory;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
    EMULATED_ENTER(cuDeviceGetAttribute);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    Device* d = device_at(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (attribute == 33) {  // the PCI bus
        *value = d->physical + 1;
        return CUDA_SUCCESS;
    }
    auto at = attributes().find(attribute);
    if (attribute < 1 || attribute > 200) return CUDA_ERROR_INVALID_VALUE;
    *value = at == attributes().end() ? 0 : at->second;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    EMULATED_ENTER(cuDeviceGetUuid_v2);
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    Device* d = device_at(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    std::memset(uuid->bytes, 0x5e, sizeof uuid->bytes);
    uuid->bytes[15] = static_cast<char>(d->physical);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDeviceGetPCIBusId(char* text, int size, CUdevice device) {
    EMULATED_ENTER(cuDeviceGetPCIBusId);
    if (!text || size < 13) return CUDA_ERROR_INVALID_VALUE;
    Device* d = device_at(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(text, static_cast<size_t>(size), "0000:%02X:00.0", (d->physical + 1) & 0xff);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    EMULATED_ENTER(cuDevicePrimaryCtxRetain);
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    Device* d = device_at(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    std::lock_guard<std::mutex> lock(d->mutex);
    d->retained++;
    *context = d->context;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    EMULATED_ENTER(cuDevicePrimaryCtxRelease_v2);
    Device* d = device_at(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    {
        std::lock_guard<std::mutex> lock(d->mutex);
        if (!d->retained) return CUDA_ERROR_INVALID_CONTEXT;
        if (--d->retained) return CUDA_SUCCESS;
    }
    release_all(d);
    return CUDA_SUCCESS;
}

// Forgets all that the device holds, a sticky error too.
EMULATED_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    EMULATED_ENTER(cuDevicePrimaryCtxReset_v2);
    Device* d = device_at(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    release_all(d);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    EMULATED_ENTER(cuDevicePrimaryCtxGetState);
    Device* d = device_at(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard<std::mutex> lock(d->mutex);
    *flags = 0;
    *active = d->retained > 0;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuCtxSetCurrent(CUcontext context) {
    EMULATED_ENTER(cuCtxSetCurrent);
    if (context) {
        Device* d = device_of(context);
        if (!d) return CUDA_ERROR_INVALID_CONTEXT;
        if (!d->retained) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    t_context = context;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuCtxGetCurrent(CUcontext* context) {
    EMULATED_ENTER(cuCtxGetCurrent);
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = t_context;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuCtxGetDevice(CUdevice* index) {
    EMULATED_ENTER(cuCtxGetDevice);
    if (!index) return CUDA_ERROR_INVALID_VALUE;
    Device* d = current_or_null();
    if (!d) return CUDA_ERROR_INVALID_CONTEXT;
    *index = d->index;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuCtxSynchronize() {
    EMULATED_CURRENT(cuCtxSynchronize);
    if (int code = refuse_unsafe()) return code;
    wait_for_device(device);
    return device->sticky;
}

EMULATED_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    EMULATED_CURRENT(cuCtxGetStreamPriorityRange);
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice from, CUdevice to) {
    EMULATED_ENTER(cuDeviceCanAccessPeer);
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(from) || !device_at(to)) return CUDA_ERROR_INVALID_DEVICE;
    *can = from != to;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    EMULATED_CURRENT(cuCtxEnablePeerAccess);
    Device* other = device_of(peer);
    if (!other) return CUDA_ERROR_INVALID_CONTEXT;
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (other == device) return CUDA_ERROR_INVALID_DEVICE;
    std::lock_guard<std::mutex> lock(device->mutex);
    auto at = static_cast<size_t>(other->index);
    if (device->peers[at]) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    device->peers[at] = true;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    EMULATED_CURRENT(cuCtxDisablePeerAccess);
    Device* other = device_of(peer);
    if (!other) return CUDA_ERROR_INVALID_CONTEXT;
    std::lock_guard<std::mutex> lock(device->mutex);
    auto at = static_cast<size_t>(other->index);
    if (!device->peers[at]) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    device->peers[at] = false;
    return CUDA_SUCCESS;
}
