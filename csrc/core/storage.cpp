// The caching allocator for CPU memory, and storages.
//
// Small blocks come from size classes of 64 bytes with a free list each. Larger ones are rounded up (to an eighth of
// their size) and kept when freed: a fresh page costs the system several times what a pointwise kernel costs on it.
// Blocks of 2 MiB and more are aligned for and advised to use huge pages.
#include "storage.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "copy_on_write.h"
#include "described_storage.h"
#include "device_memory.h"
#include "error.h"
#include "foreign.h"
#include "functional.h"
#include "spares.h"
#include "uninitialised.h"

namespace mt {

bool g_fill_uninitialised = false;

#ifdef MT_CHECKED
const bool g_keep_memory = false;
#else
const bool g_keep_memory = [] {
    const char* said = std::getenv("MINDTORCH_KEEP_MEMORY");
    return !said || std::strcmp(said, "0") != 0;
}();
#endif

namespace {

constexpr size_t kAlign = 64;
constexpr size_t kSmallLimit = 4096;
constexpr size_t kHuge = size_t(2) << 20;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

size_t block_size(size_t n) {
    if (!g_keep_memory) return n;
    if (n <= kSmallLimit) return round_up(n ? n : 1, kAlign);
    size_t step = kAlign;
    while (step * 16 < n) step *= 2;  // waste below an eighth
    return n >= kHuge ? round_up(round_up(n, step), 4096) : round_up(n, step);
}

// Held for some twenty instructions, or while the system gives memory. One atomic instruction, where std::mutex takes
// two and two calls: a small operator takes and gives back a block each time.
class SpinLock {
  public:
    void lock() {
        for (int tries = 0; held_.exchange(true, std::memory_order_acquire); tries++)
            if (tries > 100) std::this_thread::yield();
    }
    void unlock() { held_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> held_{false};
};

// A thread that holds the lock is not there in a forked child, and its lock would never be given back.
void before_fork();
void after_fork();

class Allocator {
  public:
    SpinLock& lock() { return lock_; }
    void* take(size_t block) {
        if (block > kTooLarge) refuse(block);
        std::lock_guard<SpinLock> lock(lock_);
        stats_.allocations++;
        stats_.allocated += static_cast<int64_t>(block);
        stats_.allocated_peak = std::max(stats_.allocated_peak, stats_.allocated);
        if (!g_keep_memory) {
            // every block is the system's
        } else if (block <= kSmallLimit) {
            auto& list = small_[block / kAlign];
            if (!list.empty()) {
                void* p = list.back();
                list.pop_back();
                hit(block);
                return p;
            }
        } else {
            auto found = large_.find(block);
            if (found != large_.end()) {
                void* p = found->second.back();
                found->second.pop_back();
                if (found->second.empty()) large_.erase(found);
                hit(block);
                return p;
            }
        }
        // Do not sit on cached blocks of other sizes while asking the system for more than was ever in use.
        if (block > kSmallLimit && stats_.cached > 0 &&
            stats_.reserved + static_cast<int64_t>(block) > stats_.reserved_peak &&
            stats_.cached >= stats_.allocated_peak / 4)
            trim(static_cast<int64_t>(block));
        void* p = system(block);
        if (!p) {
            release_all();
            p = system(block);
        }
        if (!p) {
            stats_.allocated -= static_cast<int64_t>(block);
            refuse(block);
        }
        stats_.reserved += static_cast<int64_t>(block);
        stats_.reserved_peak = std::max(stats_.reserved_peak, stats_.reserved);
        return p;
    }
    void give(void* p, size_t block) {
        std::lock_guard<SpinLock> lock(lock_);
        stats_.releases++;
        stats_.allocated -= static_cast<int64_t>(block);
        stats_.cached += static_cast<int64_t>(block);
        if (!g_keep_memory || !kept(p, block)) drop(p, block);
        if (g_keep_memory && block > kSmallLimit && (unasked_ += block) >= kHuge) keep_within_limit();
    }
    void empty() {
        std::lock_guard<SpinLock> lock(lock_);
        release_all();
    }
    MemoryStats stats() {
        std::lock_guard<SpinLock> lock(lock_);
        return stats_;
    }
    void reset_peak() {
        std::lock_guard<SpinLock> lock(lock_);
        stats_.allocated_peak = stats_.allocated;
        stats_.reserved_peak = stats_.reserved;
    }

  private:
    static constexpr size_t kTooLarge = size_t(1) << 56;  // more than an address has bits for; sums of it fit an int64
    [[noreturn]] static void refuse(size_t block) {
        MT_THROW(Runtime,
                 "[enforce fail at alloc_cpu] DefaultCPUAllocator: can't allocate memory: you tried to allocate ",
                 block, " bytes. Error code 12 (Cannot allocate memory)");
    }
    // A block is given back by destructors: where there is no memory to remember it, the system has it back.
    bool kept(void* p, size_t block) {
        try {
            (block <= kSmallLimit ? small_[block / kAlign] : large_[block]).push_back(p);
            return true;
        } catch (const std::bad_alloc&) {
            auto found = large_.find(block);
            if (found != large_.end() && found->second.empty()) large_.erase(found);
            return false;
        }
    }
    void hit(size_t block) {
        stats_.cache_hits++;
        stats_.cached -= static_cast<int64_t>(block);
    }
    static void* system(size_t block) {
        if (block > (size_t(1) << 46)) return nullptr;
        size_t align = block >= kHuge ? kHuge : kAlign;
        void* p = nullptr;
        if (posix_memalign(&p, align, block)) return nullptr;
        if (block >= kHuge) madvise(p, block, MADV_HUGEPAGE);
        return p;
    }
    void drop(void* p, size_t block) {
        std::free(p);
        stats_.cached -= static_cast<int64_t>(block);
        stats_.reserved -= static_cast<int64_t>(block);
    }
    // Where the process may have only so much address space (ulimit -v, a batch system), what is kept for later is
    // missing at once: NumPy, Python and the libraries take theirs from the same.
    void keep_within_limit() {
        unasked_ = 0;
        rlimit limit{};
        if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return;
        const auto most = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, rlim_t(1) << 62) / 16);
        if (stats_.cached > most) trim(stats_.cached - most);
    }
    // Gives back at least `want` bytes of large cached blocks, the largest first.
    void trim(int64_t want) {
        while (want > 0 && !large_.empty()) {
            auto last = std::prev(large_.end());
            size_t block = last->first;
            drop(last->second.back(), block);
            last->second.pop_back();
            if (last->second.empty()) large_.erase(last);
            want -= static_cast<int64_t>(block);
        }
    }
    void release_all() {
        for (auto& [block, list] : large_)
            for (void* p : list) drop(p, block);
        large_.clear();
        for (size_t i = 0; i < std::size(small_); i++) {
            for (void* p : small_[i]) drop(p, i * kAlign);
            small_[i].clear();
        }
    }

    SpinLock lock_;
    std::vector<void*> small_[kSmallLimit / kAlign + 1];
    std::map<size_t, std::vector<void*>> large_;
    size_t unasked_ = 0;  // bytes given back since the limit was asked for
    MemoryStats stats_{};
};

// Never destroyed: tensors may outlive static destruction.
Allocator& allocator() {
    static Allocator* a = [] {
        auto* made = new Allocator;
        pthread_atfork(before_fork, after_fork, after_fork);
        return made;
    }();
    return *a;
}

std::mutex g_exports_mutex;
void before_fork() {
    g_exports_mutex.lock();
    allocator().lock().lock();
}
void after_fork() {
    allocator().lock().unlock();
    g_exports_mutex.unlock();
}

// A small storage and its bytes are one block. The block's size stands in `context`, since the bytes may move out.
constexpr size_t kHeader = kAlign;
static_assert(sizeof(Storage) <= kHeader);

bool holds_own_bytes(const Storage* s) { return s->data == reinterpret_cast<const char*>(s) + kHeader; }

// A storage that was left alone with the bytes in the block of a small one, which it keeps (own_bytes).
void release_tenant(Storage* s) {
    if (s->context) static_cast<Storage*>(s->context)->drop();
    delete s;
}

void release_small(Storage* s) {
    if (s->data && !holds_own_bytes(s)) allocator().give(s->data, s->block);
    size_t block = reinterpret_cast<uintptr_t>(s->context);
    s->~Storage();
    allocator().give(s, block);
}

Storage* small_storage(size_t nbytes) {
    size_t block = block_size(kHeader + nbytes);
    Storage* s = new (allocator().take(block)) Storage;
    s->data = reinterpret_cast<char*>(s) + kHeader;
    s->nbytes = nbytes;
    s->block = block - kHeader;
    s->context = reinterpret_cast<void*>(block);
    s->release = release_small;
    return s;
}

void release_on_device(Storage* s) {
    if (s->data) device_memory(s->device).release(s->data, s->device);
    delete s;
}

void release_owned(Storage* s) {
    if (s->data) allocator().give(s->data, s->block);
    delete s;
}

struct Foreign {
    void* context;
    void (*release)(void*);
};
void release_foreign(Storage* s) {
    Foreign* f = static_cast<Foreign*>(s->context);
    if (f->release) f->release(f->context);
    delete f;
    delete s;
}

}  // namespace

Storage* storage_alloc(size_t nbytes, Device device) {
    if (g_keep_memory && nbytes && nbytes <= kSmallLimit - kHeader && device.is_cpu()) {
        Storage* s = small_storage(nbytes);
        s->device = device;
        return s;
    }
    Storage* s = new Storage;
    s->device = device;
    s->nbytes = nbytes;
    s->release = release_owned;
    if (device.is_meta()) return s;
    if (!device.is_cpu()) {
        s->release = release_on_device;
        try {
            const DeviceMemory& memory = device_memory(device);
            if (nbytes) s->data = memory.allocate(nbytes, device);
        } catch (...) {
            delete s;
            throw;
        }
        return s;
    }
    if (nbytes) {
        s->block = block_size(nbytes);
        try {
            s->data = allocator().take(s->block);
        } catch (...) {
            delete s;
            throw;
        }
    }
    return s;
}

Storage* storage_wrap(void* data, size_t nbytes, Device device, void* context, void (*release_context)(void*)) {
    auto foreign = std::make_unique<Foreign>(Foreign{context, release_context});
    Storage* s = new Storage;
    s->data = data;
    s->nbytes = nbytes;
    s->device = device;
    s->resizable = false;
    s->context = foreign.release();
    s->release = release_foreign;
    return s;
}

bool is_foreign(const Storage* s) { return s->release == release_foreign; }
void* foreign_context(const Storage* s, void (*release)(void*)) {
    if (!is_foreign(s)) return nullptr;
    const Foreign* f = static_cast<const Foreign*>(s->context);
    return f->release == release ? f->context : nullptr;
}

namespace {
// Bytes in place of others, with which the storage is given back.
struct Replaced {
    Foreign now;
    void* former_data;
    void (*former_release)(Storage*);
    void* former_context;
};
void release_replaced(Storage* s) {
    const std::unique_ptr<Replaced> replaced(static_cast<Replaced*>(s->context));
    if (replaced->now.release) replaced->now.release(replaced->now.context);
    s->data = replaced->former_data;
    s->context = replaced->former_context;
    s->release = replaced->former_release;
    s->release(s);
}
}  // namespace

void storage_replace(Storage* s, void* data, size_t nbytes, void* context, void (*release_context)(void*)) {
    before_write(s);
    Foreign former{};
    if (s->release == release_replaced) {
        former = std::exchange(static_cast<Replaced*>(s->context)->now, Foreign{context, release_context});
    } else {
        s->context = new Replaced{{context, release_context}, s->data, s->release, s->context};
        s->release = release_replaced;
    }
    s->data = data;
    s->nbytes = nbytes;
    if (former.release) former.release(former.context);
}

namespace {
std::unordered_map<const Storage*, int>& exports() {
    static auto* counts = new std::unordered_map<const Storage*, int>;
    return *counts;
}
}  // namespace

namespace {
// Storages of our own memory that were exported once are told apart by their functions for ever: who exported them may
// have written, and write again, what no version tells of.
void release_small_lent(Storage* s) { release_small(s); }
void release_owned_lent(Storage* s) { release_owned(s); }
}  // namespace

bool is_lent(const Storage* s) { return s->release != release_small && s->release != release_owned; }

void note_export(Storage* s) {
    before_write(s);
    std::lock_guard<std::mutex> lock(g_exports_mutex);
    exports()[s]++;
    if (s->release == release_small) s->release = release_small_lent;
    if (s->release == release_owned) s->release = release_owned_lent;
    s->retain();  // nothing throws any more
}
void forget_export(Storage* s) {
    {
        std::lock_guard<std::mutex> lock(g_exports_mutex);
        if (--exports()[s] == 0) exports().erase(s);
    }
    s->drop();
}
bool is_exported(const Storage* s) {
    std::lock_guard<std::mutex> lock(g_exports_mutex);
    return exports().count(s) > 0;
}

void storage_resize(Storage* s, size_t nbytes) {
    MT_CHECK(s->resizable && !is_exported(s), "Trying to resize storage that is not resizable");
    if (resize_described(s, nbytes)) return;
    before_write(s);
    if (s->device.is_meta() || is_functional(s)) {
        s->nbytes = nbytes;
        return;
    }
    if (!s->device.is_cpu()) {
        const DeviceMemory& memory = device_memory(s->device);
        void* fresh = nbytes ? memory.allocate(nbytes, s->device) : nullptr;
        size_t kept = std::min(nbytes, s->nbytes);
        if (s->data && kept) memory.transfer(fresh, s->data, kept, Transfer::Within, s->device, true, nullptr);
        if (s->data) memory.release(s->data, s->device);
        s->data = fresh;
        s->nbytes = nbytes;
        return;
    }
    size_t block = nbytes ? block_size(nbytes) : 0;
    const bool tenant = s->release == release_tenant;
    bool own = s->data && (tenant || holds_own_bytes(s));
    if (own ? !nbytes || nbytes > s->block : block != s->block) {
        void* fresh = block ? allocator().take(block) : nullptr;
        if (s->data && fresh) std::memcpy(fresh, s->data, std::min(nbytes, s->nbytes));
        if (s->data && !own) allocator().give(s->data, s->block);
        s->data = fresh;
        s->block = block;
        if (tenant) {
            s->release = release_owned;
            static_cast<Storage*>(std::exchange(s->context, nullptr))->drop();
        }
    }
    s->nbytes = nbytes;
}

// ---- bytes that are copied when they are written ----

std::atomic<int64_t> g_lazy_copies{0};
thread_local bool g_in_parallel_loop = false;

namespace {
// Bytes that several storages show. They are a block of the allocator's, or lie in that of a small storage, which is
// kept.
struct Shared {
    void* data;
    size_t block;
    Storage* home;  // the small storage, which may be one of those that share; else null
    int members = 0;
};
// What a storage is but for its bytes.
struct Member {
    Shared* shared;
    void (*release)(Storage*);
    void* context;
};

void release_member(Storage* s);

Member* member_of(const Storage* s) {
    return s->release == release_member ? static_cast<Member*>(s->context) : nullptr;
}

// All of these with g_exports_mutex held. What `leave` returns is to be dropped without it.
void join(Storage* s, std::unique_ptr<Member> member) {
    member->shared->members++;
    s->release = release_member;
    s->context = member.release();
    g_lazy_copies++;
}
Storage* leave(Storage* s) {
    std::unique_ptr<Member> member(member_of(s));
    s->release = member->release;
    s->context = member->context;
    g_lazy_copies--;
    Shared* shared = member->shared;
    shared->members--;
    // A small storage that is left alone with its own bytes shares nothing any more.
    Storage* home = shared->home;
    const Member* last = home ? member_of(home) : nullptr;
    if (shared->members == 1 && last && last->shared == shared) {
        std::unique_ptr<Member> it(member_of(home));
        home->release = it->release;
        home->context = it->context;
        g_lazy_copies--;
        shared->members = 0;
    }
    return home;
}
// After `leave`: forgets bytes that nobody shares any more, all but themselves; whether it did.
bool forget(Shared* shared) {
    if (shared->members) return false;
    delete shared;
    return true;
}

void release_member(Storage* s) {
    Storage* home;
    {
        std::lock_guard<std::mutex> lock(g_exports_mutex);
        Shared* shared = member_of(s)->shared;
        void* data = std::exchange(s->data, nullptr);
        const size_t block = shared->block;
        home = leave(s);
        if (!forget(shared)) {
            home = nullptr;
        } else if (!home) {
            allocator().give(data, block);
        }
    }
    s->release(s);
    if (home) home->drop();
}
}  // namespace

bool is_lazy_copy(const Storage* s) { return s->release == release_member; }

Storage* lazy_clone(Storage* s) {
    std::lock_guard<std::mutex> lock(g_exports_mutex);
    const bool ours = is_lazy_copy(s) || s->release == release_small || s->release == release_owned;
    if (!s->device.is_cpu() || !s->data || !ours) return nullptr;
    auto made = std::make_unique<Storage>();
    auto own = std::make_unique<Member>(), theirs = std::make_unique<Member>();
    Member* member = member_of(s);
    if (!member) {
        Storage* home = holds_own_bytes(s) ? s : nullptr;
        *own = {new Shared{s->data, s->block, home}, s->release, s->context};
        if (home) home->retain();
        member = own.get();
        join(s, std::move(own));
    }
    made->data = s->data;
    made->nbytes = s->nbytes;
    made->block = s->block;
    *theirs = {member->shared, release_owned, nullptr};
    join(made.get(), std::move(theirs));
    return made.release();
}

void own_bytes(Storage* s) {
    Storage* home;
    {
        std::lock_guard<std::mutex> lock(g_exports_mutex);
        Member* member = member_of(s);
        if (!member) return;
        MT_CHECK(!g_in_parallel_loop,
                 "Materializing a storage in the loop function of at::parallel_for is forbidden: write the tensor, or "
                 "ask for its address, before the loop");
        Shared* shared = member->shared;
        const bool alone = shared->members == 1;
        if (!alone) {
            const size_t block = block_size(s->nbytes);
            void* fresh = allocator().take(block);
            std::memcpy(fresh, s->data, s->nbytes);
            s->data = fresh;
            s->block = block;
        }
        home = leave(s);
        if (!forget(shared)) {
            home = nullptr;
        } else if (alone && home && home != s) {
            s->release = release_tenant;
            s->context = std::exchange(home, nullptr);
        }
    }
    if (home) home->drop();
}

MemoryStats memory_stats() { return allocator().stats(); }
void reset_peak_memory_stats() { allocator().reset_peak(); }
void empty_cache() { allocator().empty(); }

}  // namespace mt
