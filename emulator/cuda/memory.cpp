// Device memory, pinned host memory and copies.
//
// An allocation of device memory is a mapping of its own whose address is not given again: an access behind its end,
// before its start or after it was freed meets no memory. Its end is moved to the end of its last page, as far as the
// alignment allows; what is left of the pages holds a pattern that is looked at when it is freed.
#include <sys/mman.h>

#include <algorithm>
#include <shared_mutex>

#include "emulator.h"

namespace emu {
namespace {

constexpr size_t kPage = 4096, kAlignment = 512;
constexpr int kNewDevice = 0xA5, kNewHost = 0xA6, kCanary = 0xFD;

struct Allocation {
    uintptr_t begin = 0;
    size_t size = 0;
    Device* device = nullptr;
    char* pages = nullptr;  // the first that may be accessed
    size_t pages_size = 0;
    uint64_t id = 0;
};
struct Pinned {
    uintptr_t begin = 0;
    size_t size = 0;
    Device* device = nullptr;
    bool ours = false;  // allocated, not registered
    uint64_t id = 0;
};

struct Memory {
    std::shared_mutex mutex;
    std::map<uintptr_t, Allocation> device;
    std::map<uintptr_t, Pinned> host;
    std::map<uintptr_t, std::pair<size_t, const char*>> gone;  // the last freed ones, for messages
    std::vector<size_t> used;                                  // bytes of each device
    uintptr_t next = uintptr_t(1) << 44;                       // where the next mapping is asked for
    uint64_t ids = 0;
};
Memory& memory() {
    static Memory* m = [] {
        auto* made = new Memory;
        made->used.resize(devices().size());
        return made;
    }();
    return *m;
}

// With the mutex held.
template <class Map>
auto* holding(Map& map, uintptr_t address) {
    auto at = map.upper_bound(address);
    if (at == map.begin()) return static_cast<decltype(&at->second)>(nullptr);
    --at;
    return address < at->second.begin + at->second.size ? &at->second : nullptr;
}

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

bool map_pages(Memory& m, size_t size, Allocation& a) {
    a.pages_size = round_up(size, kPage);
    size_t whole = a.pages_size + 2 * kPage;
    void* p =
        mmap(reinterpret_cast<void*>(m.next), whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    a.pages = static_cast<char*>(p) + kPage;
    if (mprotect(a.pages, a.pages_size, PROT_READ | PROT_WRITE)) {
        munmap(p, whole);
        return false;
    }
    m.next += round_up(whole, size_t(1) << 21);
    return true;
}

void unmap(const Allocation& a) { munmap(a.pages - kPage, a.pages_size + 2 * kPage); }

bool canaries_stand(const Allocation& a) {
    auto first = reinterpret_cast<uintptr_t>(a.pages);
    auto intact = [](uintptr_t begin, uintptr_t end) {
        for (auto p = begin; p < end; p++)
            if (*reinterpret_cast<unsigned char*>(p) != kCanary) return false;
        return true;
    };
    return intact(first, a.begin) && intact(a.begin + a.size, first + a.pages_size);
}

void remember(Memory& m, uintptr_t begin, size_t size, const char* what) {
    if (m.gone.size() > 256) m.gone.erase(m.gone.begin());
    m.gone[begin] = {size, what};
}

enum class Kind { device, pinned, pageable, invalid };
Kind kind_of(uintptr_t p, size_t n, Device** device) {
    Memory& m = memory();
    std::shared_lock<std::shared_mutex> lock(m.mutex);
    if (Allocation* a = holding(m.device, p)) {
        if (device) *device = a->device;
        return p + n <= a->begin + a->size ? Kind::device : Kind::invalid;
    }
    if (Pinned* h = holding(m.host, p)) return p + n <= h->begin + h->size ? Kind::pinned : Kind::pageable;
    if (p >= uintptr_t(1) << 44 && p < m.next) return Kind::invalid;  // device memory that is none now
    return Kind::pageable;
}

int add_pinned(Pinned h) {
    Memory& m = memory();
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    auto next = m.host.lower_bound(h.begin);
    if (holding(m.host, h.begin) || (next != m.host.end() && next->first < h.begin + h.size))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    h.id = ++m.ids;
    m.host[h.begin] = h;
    count(kPinned, 1);
    count(kPinnedBytes, static_cast<long long>(h.size));
    return CUDA_SUCCESS;
}

int remove_pinned(void* p, bool ours, int missing) {
    Memory& m = memory();
    Pinned h;
    {
        std::shared_lock<std::shared_mutex> lock(m.mutex);
        auto at = m.host.find(reinterpret_cast<uintptr_t>(p));
        if (at == m.host.end() || at->second.ours != ours) return missing;
        h = at->second;
    }
    for (auto& d : devices())
        if (d->retained) wait_for_device(d.get());  // a copy that is under way may use it
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    if (!m.host.erase(h.begin)) return missing;
    count(kPinned, -1);
    count(kPinnedBytes, -static_cast<long long>(h.size));
    if (ours) munmap(p, round_up(h.size, kPage));
    return CUDA_SUCCESS;
}

// A copy on a stream: pageable memory is read at the call, or waited for.
int copy(const char* name, uintptr_t to, uintptr_t from, size_t n, CUstream handle, bool to_device, bool from_device) {
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (!n) return CUDA_SUCCESS;
    Kind target = kind_of(to, n, nullptr), source = kind_of(from, n, nullptr);
    if (target == Kind::invalid || source == Kind::invalid) return CUDA_ERROR_INVALID_VALUE;
    if ((to_device && target == Kind::pageable) || (from_device && source == Kind::pageable))
        return CUDA_ERROR_INVALID_VALUE;
    if (!to || !from) return CUDA_ERROR_INVALID_VALUE;
    if (settings().noop) return CUDA_SUCCESS;
    bool pageable = target == Kind::pageable || source == Kind::pageable;
    if (pageable && capturing(stream)) return refuse_captured(stream);
    auto* destination = reinterpret_cast<void*>(to);
    auto* origin = reinterpret_cast<const void*>(from);
    Work work;
    work.name = name;
    if (source == Kind::pageable) {
        std::shared_ptr<char> staged(static_cast<char*>(std::malloc(n)), std::free);
        if (!staged) return CUDA_ERROR_OUT_OF_MEMORY;
        std::memcpy(staged.get(), origin, n);
        work.run = [=] {
            std::memcpy(destination, staged.get(), n);
            return Fault{};
        };
    } else {
        work.run = [=] {
            std::memmove(destination, origin, n);
            return Fault{};
        };
    }
    if (int code = submit(stream, std::move(work))) return code;
    if (target == Kind::pageable) {
        stream->now().wait();
        return stream->device->sticky;
    }
    return CUDA_SUCCESS;
}

template <class T>
int fill(const char* name, CUdeviceptr p, T value, size_t n, CUstream handle) {
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (!n) return CUDA_SUCCESS;
    if (p % sizeof(T)) return CUDA_ERROR_INVALID_VALUE;
    Kind kind = kind_of(p, n * sizeof(T), nullptr);
    if (kind != Kind::device && kind != Kind::pinned) return CUDA_ERROR_INVALID_VALUE;
    if (settings().noop) return CUDA_SUCCESS;
    auto* begin = reinterpret_cast<T*>(p);
    Work work;
    work.name = name;
    work.run = [=] {
        std::fill(begin, begin + n, value);
        return Fault{};
    };
    return submit(stream, std::move(work));
}

}  // namespace

bool is_device_range(uintptr_t begin, size_t size) { return kind_of(begin, size, nullptr) == Kind::device; }

std::string describe_address(uintptr_t address) {
    Memory& m = memory();
    std::shared_lock<std::shared_mutex> lock(m.mutex);
    char hex[32];
    std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(address));
    std::string text = hex;
    auto bytes = [](size_t n) { return std::to_string(n) + " bytes"; };
    auto after = m.device.upper_bound(address);
    const Allocation* before = after == m.device.begin() ? nullptr : &std::prev(after)->second;
    auto dead = m.gone.upper_bound(address);
    if (dead != m.gone.begin() && address < std::prev(dead)->first + std::prev(dead)->second.first)
        return text + ", " + bytes(address - std::prev(dead)->first) + " into " + bytes(std::prev(dead)->second.first) +
               " of " + std::prev(dead)->second.second + " that were freed";
    if (before && address < before->begin + before->size) return text + ", which is device memory";
    size_t behind = before ? address - (before->begin + before->size) : size_t(-1);
    size_t ahead = after != m.device.end() ? after->first - address : size_t(-1);
    if (behind <= ahead && behind < size_t(1) << 40)
        return text + ", " + bytes(behind) + " behind the end of an allocation of " + bytes(before->size);
    if (ahead < size_t(1) << 40)
        return text + ", " + bytes(ahead) + " before the start of an allocation of " + bytes(after->second.size);
    return text + ", which is no device memory";
}

void reset_memory(Device* device) {
    Memory& m = memory();
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    for (auto at = m.device.begin(); at != m.device.end();) {
        if (at->second.device != device) {
            ++at;
            continue;
        }
        unmap(at->second);
        count(kAllocations, -1);
        count(kAllocatedBytes, -static_cast<long long>(at->second.size));
        at = m.device.erase(at);
    }
    m.used[static_cast<size_t>(device->index)] = 0;
}

}  // namespace emu

using namespace emu;

EMULATED_API CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t size) {
    EMULATED_CURRENT(cuMemAlloc_v2);
    if (!pointer || !size) return CUDA_ERROR_INVALID_VALUE;
    if (int code = refuse_unsafe()) return code;
    Memory& m = memory();
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    size_t& used = m.used[static_cast<size_t>(device->index)];
    if (size > settings().memory || used + size > settings().memory) return CUDA_ERROR_OUT_OF_MEMORY;
    Allocation a;
    if (!map_pages(m, round_up(size, kAlignment), a)) return CUDA_ERROR_OUT_OF_MEMORY;
    auto first = reinterpret_cast<uintptr_t>(a.pages);
    a.begin = first + a.pages_size - round_up(size, kAlignment);
    a.size = size;
    a.device = device;
    a.id = ++m.ids;
    std::memset(a.pages, kCanary, a.begin - first);
    std::memset(reinterpret_cast<void*>(a.begin), kNewDevice, size);
    std::memset(reinterpret_cast<void*>(a.begin + size), kCanary, first + a.pages_size - a.begin - size);
    used += size;
    m.device[a.begin] = a;
    *pointer = a.begin;
    count(kAllocations, 1);
    count(kAllocatedBytes, static_cast<long long>(size));
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuMemFree_v2(CUdeviceptr pointer) {
    EMULATED_CURRENT(cuMemFree_v2);
    if (!pointer) return CUDA_SUCCESS;
    if (int code = refuse_unsafe()) return code;
    Memory& m = memory();
    Device* owner = nullptr;
    {
        std::shared_lock<std::shared_mutex> lock(m.mutex);
        auto at = m.device.find(pointer);
        if (at == m.device.end()) return CUDA_ERROR_INVALID_VALUE;
        owner = at->second.device;
    }
    wait_for_device(owner);
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    auto at = m.device.find(pointer);
    if (at == m.device.end()) return CUDA_ERROR_INVALID_VALUE;
    Allocation a = at->second;
    m.device.erase(at);
    m.used[static_cast<size_t>(owner->index)] -= a.size;
    count(kAllocations, -1);
    count(kAllocatedBytes, -static_cast<long long>(a.size));
    bool intact = canaries_stand(a);
    remember(m, a.begin, a.size, "device memory");
    unmap(a);
    lock.unlock();
    if (!intact)
        owner->fail({CUDA_ERROR_ILLEGAL_ADDRESS, "cuMemFree_v2: bytes beside an allocation of " +
                                                     std::to_string(a.size) + " bytes were written while it lived"});
    return owner->sticky;
}

EMULATED_API CUresult cuMemGetInfo_v2(size_t* available, size_t* total) {
    EMULATED_CURRENT(cuMemGetInfo_v2);
    if (!available || !total) return CUDA_ERROR_INVALID_VALUE;
    Memory& m = memory();
    std::shared_lock<std::shared_mutex> lock(m.mutex);
    *total = settings().memory;
    *available = settings().memory - m.used[static_cast<size_t>(device->index)];
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuMemHostAlloc(void** pointer, size_t size, unsigned flags) {
    EMULATED_CURRENT(cuMemHostAlloc);
    if (!pointer || !size || flags & ~7u) return CUDA_ERROR_INVALID_VALUE;
    if (int code = refuse_unsafe()) return code;
    void* p = mmap(nullptr, round_up(size, kPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    std::memset(p, kNewHost, size);
    *pointer = p;
    return add_pinned({reinterpret_cast<uintptr_t>(p), size, device, true, 0});
}

EMULATED_API CUresult cuMemFreeHost(void* pointer) {
    EMULATED_CURRENT(cuMemFreeHost);
    if (!pointer) return CUDA_SUCCESS;
    if (int code = refuse_unsafe()) return code;
    return remove_pinned(pointer, true, CUDA_ERROR_INVALID_VALUE);
}

EMULATED_API CUresult cuMemHostRegister_v2(void* pointer, size_t size, unsigned flags) {
    EMULATED_CURRENT(cuMemHostRegister_v2);
    if (!pointer || !size || flags & ~15u) return CUDA_ERROR_INVALID_VALUE;
    return add_pinned({reinterpret_cast<uintptr_t>(pointer), size, device, false, 0});
}

EMULATED_API CUresult cuMemHostUnregister(void* pointer) {
    EMULATED_CURRENT(cuMemHostUnregister);
    return remove_pinned(pointer, false, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

EMULATED_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* result, void* pointer, unsigned flags) {
    EMULATED_CURRENT(cuMemHostGetDevicePointer_v2);
    if (!result || flags) return CUDA_ERROR_INVALID_VALUE;
    auto p = reinterpret_cast<uintptr_t>(pointer);
    if (kind_of(p, 1, nullptr) != Kind::pinned) return CUDA_ERROR_INVALID_VALUE;
    *result = p;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t n, CUstream stream) {
    EMULATED_CURRENT(cuMemcpyHtoDAsync_v2);
    return copy("cuMemcpyHtoDAsync_v2", to, reinterpret_cast<uintptr_t>(from), n, stream, true, false);
}

EMULATED_API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t n, CUstream stream) {
    EMULATED_CURRENT(cuMemcpyDtoHAsync_v2);
    return copy("cuMemcpyDtoHAsync_v2", reinterpret_cast<uintptr_t>(to), from, n, stream, false, true);
}

EMULATED_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream) {
    EMULATED_CURRENT(cuMemcpyDtoDAsync_v2);
    return copy("cuMemcpyDtoDAsync_v2", to, from, n, stream, true, true);
}

EMULATED_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                        size_t n, CUstream stream) {
    EMULATED_CURRENT(cuMemcpyPeerAsync);
    Device *target = nullptr, *source = nullptr;
    if (!device_of(to_context) || !device_of(from_context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (n && (kind_of(to, n, &target) != Kind::device || target != device_of(to_context)))
        return CUDA_ERROR_INVALID_VALUE;
    if (n && (kind_of(from, n, &source) != Kind::device || source != device_of(from_context)))
        return CUDA_ERROR_INVALID_VALUE;
    return copy("cuMemcpyPeerAsync", to, from, n, stream, true, true);
}

EMULATED_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream) {
    EMULATED_CURRENT(cuMemcpyAsync);
    return copy("cuMemcpyAsync", to, from, n, stream, false, false);
}

EMULATED_API CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char value, size_t n, CUstream stream) {
    EMULATED_CURRENT(cuMemsetD8Async);
    return fill<uint8_t>("cuMemsetD8Async", p, value, n, stream);
}

EMULATED_API CUresult cuMemsetD16Async(CUdeviceptr p, unsigned short value, size_t n, CUstream stream) {
    EMULATED_CURRENT(cuMemsetD16Async);
    return fill<uint16_t>("cuMemsetD16Async", p, value, n, stream);
}

EMULATED_API CUresult cuMemsetD32Async(CUdeviceptr p, unsigned value, size_t n, CUstream stream) {
    EMULATED_CURRENT(cuMemsetD32Async);
    return fill<uint32_t>("cuMemsetD32Async", p, value, n, stream);
}

EMULATED_API CUresult cuPointerGetAttribute(void* result, int attribute, CUdeviceptr pointer) {
    EMULATED_ENTER(cuPointerGetAttribute);
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    Memory& m = memory();
    std::shared_lock<std::shared_mutex> lock(m.mutex);
    const Allocation* a = holding(m.device, pointer);
    const Pinned* h = a ? nullptr : holding(m.host, pointer);
    if (!a && !h) return CUDA_ERROR_INVALID_VALUE;
    Device* owner = a ? a->device : h->device;
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            *static_cast<CUcontext*>(result) = owner->context;
            break;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned*>(result) = a ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *static_cast<CUdeviceptr*>(result) = pointer;
            break;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            if (a) return CUDA_ERROR_INVALID_VALUE;
            *static_cast<CUdeviceptr*>(result) = pointer;
            break;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            *static_cast<uint64_t*>(result) = a ? a->id : h->id;
            break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<unsigned*>(result) = 0;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(result) = owner->index;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *static_cast<CUdeviceptr*>(result) = a ? a->begin : h->begin;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *static_cast<size_t*>(result) = a ? a->size : h->size;
            break;
        case CU_POINTER_ATTRIBUTE_MAPPED:
            *static_cast<bool*>(result) = true;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
