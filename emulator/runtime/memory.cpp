// Device and pinned host memory.
//
// A device address is a place in a reserved range that nobody may read or write: a program that follows it on the host
// stops there and then. The bytes themselves lie at a fixed distance in a second range, which kernels and copies use.
// Freed memory keeps its address for as long as the range lasts (64 GiB a device), so late users are found out.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "queue.h"

namespace emu {
namespace {

constexpr size_t kSpan = size_t(1) << 36;

// 64 KiB on many machines with ARM processors.
size_t page() {
    static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

struct Block {
    size_t size;      // as asked for
    size_t reserved;  // pages
    bool live;
    int device;
};

struct Memory {
    std::mutex mutex;
    char* addresses = nullptr;
    char* bytes = nullptr;
    std::vector<size_t> next;                // per device: the first address never used
    std::vector<size_t> used;                // per device: bytes allocated
    std::map<uintptr_t, Block> blocks;       // by address, freed ones too
    std::map<uintptr_t, size_t> pinned;      // host memory
    std::map<uintptr_t, uintptr_t> mapped;   // registered host memory -> its device address; 0 if it has none
    std::multimap<size_t, uintptr_t> again;  // freed ranges by size, for when addresses run out
};

Memory& memory() {
    static Memory* m = [] {
        Memory* made = new Memory;
        size_t n = kSpan * static_cast<size_t>(settings().devices);
        auto reserve = [&] {
            void* p = mmap(nullptr, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (p == MAP_FAILED) {
                std::fprintf(stderr, "[emulator] no address space for %zu bytes of device memory\n", n);
                std::abort();
            }
            return static_cast<char*>(p);
        };
        made->addresses = reserve();
        made->bytes = reserve();
        made->next.assign(static_cast<size_t>(settings().devices), 0);
        made->used.assign(static_cast<size_t>(settings().devices), 0);
        return made;
    }();
    return *m;
}

size_t pages(size_t n) { return (n + page() - 1) / page() * page(); }

// The block that an address lies in, or null.
std::pair<const uintptr_t, Block>* block_of(Memory& m, const void* p) {
    uintptr_t at = reinterpret_cast<uintptr_t>(p);
    auto after = m.blocks.upper_bound(at);
    if (after == m.blocks.begin()) return nullptr;
    auto& found = *std::prev(after);
    return at < found.first + found.second.reserved ? &found : nullptr;
}

// A range of a device's addresses, with the memory locked; null if there is none.
char* place(Memory& m, int device, size_t* reserved) {
    const size_t d = static_cast<size_t>(device);
    if (m.next[d] + *reserved <= kSpan) {
        char* p = m.addresses + d * kSpan + m.next[d];
        m.next[d] += *reserved;
        return p;
    }
    for (auto it = m.again.lower_bound(*reserved); it != m.again.end(); ++it) {
        auto found = m.blocks.find(it->second);
        if (found->second.device != device || found->second.reserved != it->first) continue;
        char* p = reinterpret_cast<char*>(it->second);
        *reserved = it->first;
        m.again.erase(it);
        return p;
    }
    return nullptr;
}

int allocate(void** out, size_t size, size_t extra, const char* function) {
    EMU_ENTER(function);
    if (int e = refuse_unsafe(function)) return e;
    if (!out || size == 0)
        return failed(kParamInvalid, text(function, ": ", out ? "a size of 0" : "nowhere to put the address"));
    int device = current_device();
    if (device < 0) return failed(kContextNull, text(function, ": this thread has no device (aclrtSetDevice)"));
    size_t n = (size + 31) / 32 * 32 + extra;
    Memory& m = memory();
    std::lock_guard<std::mutex> lock(m.mutex);
    size_t d = static_cast<size_t>(device);
    if (m.used[d] + n > settings().memory)
        return failed(kOutOfMemory, text(function, ": ", n, " bytes asked for, ", settings().memory - m.used[d], " of ",
                                         settings().memory, " free on device ", device));
    size_t reserved = pages(n) + page();  // an unreadable page behind each block
    char* p = place(m, device, &reserved);
    char* real = p ? p - m.addresses + m.bytes : nullptr;
    if (!p || mprotect(real, pages(n), PROT_READ | PROT_WRITE) != 0)
        return failed(kOutOfMemory, text(function, ": the host has no memory for ", n, " bytes"));
    if (settings().poison) std::memset(real, 0xff, pages(n));
    m.blocks[reinterpret_cast<uintptr_t>(p)] = {n, reserved, true, device};
    m.used[d] += n;
    count(kDeviceMemory, 1);
    *out = p;
    return kSuccess;
}

bool inside(const char* range, const void* p) {
    const char* at = static_cast<const char*>(p);
    return at >= range && at < range + kSpan * static_cast<size_t>(settings().devices);
}

bool is_pinned(const void* p, size_t n) {
    Memory& m = memory();
    std::lock_guard<std::mutex> lock(m.mutex);
    uintptr_t at = reinterpret_cast<uintptr_t>(p);
    auto after = m.pinned.upper_bound(at);
    if (after == m.pinned.begin()) return false;
    auto& [begin, size] = *std::prev(after);
    return at + n <= begin + size;
}

// Checks one side of a copy, and gives the address at which its bytes are.
int side(const char* function, const char* which, const void* p, size_t n, bool device, char** real) {
    if (!p) return failed(kParamInvalid, text(function, ": ", which, " is null"));
    if (is_device_address(p) != device)
        return misused(kParamInvalid,
                       text(function, ": the kind says that ", which, " is on the ", device ? "device" : "host",
                            ", but ", p, " is on the ", device ? "host" : "device"));
    if (!device) {
        *real = static_cast<char*>(const_cast<void*>(p));
        return kSuccess;
    }
    std::string problem = range_problem(p, n);
    if (!problem.empty()) return misused(kParamInvalid, text(function, ": ", which, ": ", problem));
    *real = backing(p);
    return kSuccess;
}

struct Copy {
    char *to, *from;
    bool pageable;  // some host side is not pinned
};
int check_copy(const char* function, void* to, size_t room, const void* from, size_t n, int kind, Copy* c) {
    if (kind == kInfer)
        kind = is_device_address(to) ? (is_device_address(from) ? kDeviceToDevice : kHostToDevice)
                                     : (is_device_address(from) ? kDeviceToHost : kHostToHost);
    if (kind < kHostToHost || kind > kDeviceToDevice)
        return failed(kParamInvalid, text(function, ": kind ", kind, " is not known"));
    if (n == 0 || room < n)
        return failed(kParamInvalid, text(function, ": ", n, " bytes into a destination of ", room));
    bool to_device = kind == kHostToDevice || kind == kDeviceToDevice;
    bool from_device = kind == kDeviceToHost || kind == kDeviceToDevice;
    if (int e = side(function, "the destination", to, n, to_device, &c->to)) return e;
    if (int e = side(function, "the source", from, n, from_device, &c->from)) return e;
    c->pageable = (!to_device && !is_pinned(to, n)) || (!from_device && !is_pinned(from, n));
    return kSuccess;
}

}  // namespace

char* backing(const void* p) { return static_cast<const char*>(p) - memory().addresses + memory().bytes; }
bool is_device_address(const void* p) { return inside(memory().addresses, p); }
const void* from_backing(const void* p) {
    return inside(memory().bytes, p) ? static_cast<const char*>(p) - memory().bytes + memory().addresses : nullptr;
}

std::string range_problem(const void* p, size_t n) {
    Memory& m = memory();
    if (!is_device_address(p)) return text("address ", p, " is not device memory");
    std::lock_guard<std::mutex> lock(m.mutex);
    auto* found = block_of(m, p);
    if (!found) return text("address ", p, " was never allocated");
    auto& [begin, block] = *found;
    size_t offset = reinterpret_cast<uintptr_t>(p) - begin;
    if (!block.live)
        return text("address ", p, " was freed (", block.size, " bytes at ", reinterpret_cast<void*>(begin), ")");
    if (offset + n > block.size)
        return text(n, " bytes at ", p, " reach ", offset + n - block.size, " bytes beyond an allocation of ",
                    block.size);
    return "";
}

size_t leaked_blocks() {
    Memory& m = memory();
    std::lock_guard<std::mutex> lock(m.mutex);
    size_t n = 0;
    for (auto& [p, b] : m.blocks) n += b.live;
    return n;
}

}  // namespace emu

using namespace emu;

EMU_API aclError aclrtMalloc(void** p, size_t size, aclrtMemMallocPolicy) {
    return allocate(p, size, 32, "aclrtMalloc");
}
EMU_API aclError aclrtMallocAlign32(void** p, size_t size, aclrtMemMallocPolicy) {
    return allocate(p, size, 0, "aclrtMallocAlign32");
}

EMU_API aclError aclrtFree(void* p) {
    EMU_ENTER("aclrtFree");
    if (!p) return failed(kParamInvalid, "aclrtFree: the address is null");
    Memory& m = memory();
    size_t size = 0;
    {
        std::lock_guard<std::mutex> lock(m.mutex);
        auto found = m.blocks.find(reinterpret_cast<uintptr_t>(p));
        if (found != m.blocks.end()) size = found->second.size;
    }
    std::string user = pending_user(p, size);
    std::lock_guard<std::mutex> lock(m.mutex);
    auto found = m.blocks.find(reinterpret_cast<uintptr_t>(p));
    if (found == m.blocks.end())
        return misused(kParamInvalid, text("aclrtFree: ", p, " is not the beginning of an allocation"));
    Block& b = found->second;
    if (!b.live) return misused(kParamInvalid, text("aclrtFree: ", p, " was freed before"));
    if (!user.empty()) misused(kMemoryFree, text("aclrtFree: ", p, " is still used by ", user));
    b.live = false;
    m.used[static_cast<size_t>(b.device)] -= b.size;
    char* real = backing(p);
    madvise(real, pages(b.size), MADV_DONTNEED);
    mprotect(real, pages(b.size), PROT_NONE);
    m.again.emplace(b.reserved, found->first);
    count(kDeviceMemory, -1);
    return kSuccess;
}

EMU_API aclError aclrtMallocHost(void** p, size_t size) {
    EMU_ENTER("aclrtMallocHost");
    if (!p || !size) return failed(kParamInvalid, "aclrtMallocHost: a size of 0, or nowhere to put the address");
    if (posix_memalign(p, 64, size))
        return failed(kOutOfMemory, text("aclrtMallocHost: no memory for ", size, " bytes"));
    std::lock_guard<std::mutex> lock(memory().mutex);
    memory().pinned[reinterpret_cast<uintptr_t>(*p)] = size;
    count(kHostMemory, 1);
    return kSuccess;
}
EMU_API aclError aclrtFreeHost(void* p) {
    EMU_ENTER("aclrtFreeHost");
    {
        std::lock_guard<std::mutex> lock(memory().mutex);
        if (!memory().pinned.erase(reinterpret_cast<uintptr_t>(p)))
            return misused(kParamInvalid,
                           text("aclrtFreeHost: ", p, " is not from aclrtMallocHost, or was freed before"));
    }
    std::free(p);
    count(kHostMemory, -1);
    return kSuccess;
}

// Memory of the host that the device reaches, too, at an address of its own: the same pages in the second range.
EMU_API aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
    EMU_ENTER("aclrtHostRegister");
    if (!ptr || !devPtr || !size || type != 0)
        return failed(kParamInvalid,
                      "aclrtHostRegister: an address, a size above 0, the type 0 and a place for the result");
    if (reinterpret_cast<uintptr_t>(ptr) % page())
        return failed(kParamInvalid, text("aclrtHostRegister: ", ptr, " is not the beginning of a page"));
    const int device = current_device();
    if (device < 0) return failed(kContextNull, "aclrtHostRegister: this thread has no device (aclrtSetDevice)");
    Memory& m = memory();
    std::lock_guard<std::mutex> lock(m.mutex);
    const uintptr_t at = reinterpret_cast<uintptr_t>(ptr);
    if (m.mapped.count(at)) return failed(kParamInvalid, text("aclrtHostRegister: ", ptr, " is registered already"));
    size_t reserved = pages(size) + page();
    char* p = place(m, device, &reserved);
    char* real = p ? p - m.addresses + m.bytes : nullptr;
    // A length of 0 asks for a second mapping of the same pages, which private ones cannot have.
    if (!p || mremap(ptr, 0, pages(size), MREMAP_MAYMOVE | MREMAP_FIXED, real) == MAP_FAILED)
        return failed(kParamInvalid, text("aclrtHostRegister: the ", size, " bytes at ", ptr, " are no shared pages"));
    m.blocks[reinterpret_cast<uintptr_t>(p)] = {size, reserved, true, device};
    m.mapped[at] = reinterpret_cast<uintptr_t>(p);
    m.pinned[at] = size;
    *devPtr = p;
    return kSuccess;
}
EMU_API aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
    EMU_ENTER("aclrtHostRegisterV2");
    if (!ptr || !size) return failed(kParamInvalid, "aclrtHostRegisterV2: no address, or a size of 0");
    std::lock_guard<std::mutex> lock(memory().mutex);
    const uintptr_t at = reinterpret_cast<uintptr_t>(ptr);
    if (!memory().mapped.emplace(at, 0).second)
        return failed(kParamInvalid, text("aclrtHostRegisterV2: ", ptr, " is registered already"));
    memory().pinned[at] = size;
    return kSuccess;
}
EMU_API aclError aclrtHostUnregister(void* ptr) {
    EMU_ENTER("aclrtHostUnregister");
    Memory& m = memory();
    const uintptr_t at = reinterpret_cast<uintptr_t>(ptr);
    uintptr_t address = 0;
    size_t size = 0;
    {
        std::lock_guard<std::mutex> lock(m.mutex);
        auto found = m.mapped.find(at);
        if (found == m.mapped.end())
            return failed(kParamInvalid, text("aclrtHostUnregister: ", ptr, " is not registered"));
        address = found->second;
        if (address) size = m.blocks[address].size;
    }
    std::string user = address ? pending_user(reinterpret_cast<void*>(address), size) : "";
    if (!user.empty()) misused(kMemoryFree, text("aclrtHostUnregister: ", ptr, " is still used by ", user));
    std::lock_guard<std::mutex> lock(m.mutex);
    m.mapped.erase(at);
    m.pinned.erase(at);
    if (!address) return kSuccess;
    Block& b = m.blocks[address];
    b.live = false;
    mmap(backing(reinterpret_cast<void*>(address)), pages(b.size), PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    m.again.emplace(b.reserved, address);
    return kSuccess;
}

EMU_API aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t n, aclrtMemcpyKind kind) {
    EMU_ENTER("aclrtMemcpy");
    if (int e = refuse_unsafe("aclrtMemcpy")) return e;
    Copy c;
    if (int e = check_copy("aclrtMemcpy", to, room, from, n, kind, &c)) return e;
    std::memmove(c.to, c.from, n);
    return kSuccess;
}

EMU_API aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t n, aclrtMemcpyKind kind,
                                  aclrtStream stream) {
    EMU_ENTER("aclrtMemcpyAsync");
    Copy c;
    if (int e = check_copy("aclrtMemcpyAsync", to, room, from, n, kind, &c)) return e;
    if (c.pageable)
        if (int e = refuse_unsafe("aclrtMemcpyAsync with pageable host memory")) return e;
    Work w;
    w.name = "aclrtMemcpyAsync";
    if (is_device_address(to)) w.memory.push_back({to, n});
    if (is_device_address(from)) w.memory.push_back({from, n});
    w.run = [c, n] {
        std::memmove(c.to, c.from, n);
        return std::string();
    };
    if (int e = enqueue(stream, std::move(w))) return e;
    // Pageable host memory: the copy is over when the call returns.
    return c.pageable ? drain(stream) : kSuccess;
}

EMU_API aclError aclrtMemset(void* p, size_t room, int32_t value, size_t n) {
    EMU_ENTER("aclrtMemset");
    if (int e = refuse_unsafe("aclrtMemset")) return e;
    if (!n || room < n) return failed(kParamInvalid, text("aclrtMemset: ", n, " bytes in ", room));
    char* real;
    if (int e = side("aclrtMemset", "the memory", p, n, true, &real)) return e;
    std::memset(real, value, n);
    return kSuccess;
}
EMU_API aclError aclrtMemsetAsync(void* p, size_t room, int32_t value, size_t n, aclrtStream stream) {
    EMU_ENTER("aclrtMemsetAsync");
    if (!n || room < n) return failed(kParamInvalid, text("aclrtMemsetAsync: ", n, " bytes in ", room));
    char* real;
    if (int e = side("aclrtMemsetAsync", "the memory", p, n, true, &real)) return e;
    Work w;
    w.name = "aclrtMemsetAsync";
    w.memory.push_back({p, n});
    w.run = [real, value, n] {
        std::memset(real, value, n);
        return std::string();
    };
    return enqueue(stream, std::move(w));
}

EMU_API aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free_bytes, size_t* total) {
    EMU_ENTER("aclrtGetMemInfo");
    int device = current_device();
    if (device < 0) return failed(kContextNull, "aclrtGetMemInfo: this thread has no device (aclrtSetDevice)");
    std::lock_guard<std::mutex> lock(memory().mutex);
    *total = settings().memory;
    *free_bytes = *total - memory().used[static_cast<size_t>(device)];
    return kSuccess;
}
