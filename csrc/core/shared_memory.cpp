#include "shared_memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "copy_on_write.h"
#include "error.h"
#include "foreign.h"
#include "functional.h"

namespace mt {
namespace {

// What a shared storage holds besides what it was before.
struct Shared {
    int fd;
    size_t length;
    void* former_data;
    void (*former_release)(Storage*);
    void* former_context;
};

// The storages over shared memory by their files: what comes back to a process, or comes to it twice, is one storage
// there, so that versions and overlaps are seen.
using File = std::pair<dev_t, ino_t>;
std::mutex known_lock;
std::map<File, Storage*>& known() {
    static auto* all = [] {
        pthread_atfork([] { known_lock.lock(); }, [] { known_lock.unlock(); }, [] { known_lock.unlock(); });
        return new std::map<File, Storage*>();
    }();
    return *all;
}

bool file_of(int fd, File* file) {
    struct stat told;
    if (fstat(fd, &told) != 0) return false;
    *file = {told.st_dev, told.st_ino};
    return true;
}

// A reference, unless the last one has gone already.
bool try_retain(Storage* s) {
    int64_t refs = s->refs.load(std::memory_order_relaxed);
    while (refs > 0)
        if (s->refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel)) return true;
    return false;
}

Storage* find_known(int fd, size_t nbytes) {
    File file;
    if (!file_of(fd, &file)) return nullptr;
    auto& all = known();
    std::lock_guard<std::mutex> guard(known_lock);
    auto found = all.find(file);
    return found != all.end() && found->second->nbytes == nbytes && try_retain(found->second) ? found->second : nullptr;
}

void make_known(int fd, Storage* s) {
    File file;
    if (!file_of(fd, &file)) return;
    auto& all = known();
    std::lock_guard<std::mutex> guard(known_lock);
    try {
        all[file] = s;
    } catch (const std::bad_alloc&) {  // it works unknown, too
    }
}

void forget(int fd, const Storage* s) {
    File file;
    if (!file_of(fd, &file)) return;
    auto& all = known();
    std::lock_guard<std::mutex> guard(known_lock);
    auto found = all.find(file);
    if (found != all.end() && found->second == s) all.erase(found);
}

void release_shared(Storage* s) {
    Shared* shared = static_cast<Shared*>(s->context);
    forget(shared->fd, s);
    if (shared->length) munmap(s->data, shared->length);
    close(shared->fd);
    s->data = shared->former_data;
    s->context = shared->former_context;
    s->release = shared->former_release;
    delete shared;
    s->release(s);
}

// A descriptor and its mapping, given back unless a storage takes them over.
class Mapped {
  public:
    Mapped(int fd, size_t nbytes) : shared_(new(std::nothrow) Shared{fd, nbytes, nullptr, nullptr, nullptr}) {
        if (shared_ && nbytes) data_ = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (shared_ && data_ != MAP_FAILED) return;
        int reason = shared_ ? errno : ENOMEM;
        close(fd);
        MT_THROW(Runtime, "unable to mmap ", nbytes, " bytes of shared memory: ", std::strerror(reason), " (", reason,
                 ")");
    }
    ~Mapped() {
        if (!shared_) return;
        if (shared_->length) munmap(data_, shared_->length);
        close(shared_->fd);
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    void* data() const { return data_; }
    // Lets `s` stand on it; the storage's struct goes the way it would have gone. Nothing throws here.
    void carry(Storage* s) {
        shared_->former_data = s->data;
        shared_->former_release = s->release;
        shared_->former_context = s->context;
        s->nbytes = shared_->length;
        s->context = shared_.release();
        s->release = release_shared;
        s->data = data_;
        s->resizable = false;
    }

  private:
    std::unique_ptr<Shared> shared_;
    void* data_ = nullptr;
};

int new_shared_file(size_t nbytes) {
    int fd = memfd_create("torch", MFD_CLOEXEC);
    MT_CHECK(fd >= 0, "unable to open shared memory: ", std::strerror(errno), " (", errno, ")");
    if (ftruncate(fd, static_cast<off_t>(nbytes)) == 0) return fd;
    int reason = errno;
    close(fd);
    MT_THROW(Runtime, "unable to resize shared memory to ", nbytes, " bytes: ", std::strerror(reason), " (", reason,
             ")");
}

}  // namespace

int shared_descriptor(const Storage* s) {
    return s->release == release_shared ? static_cast<const Shared*>(s->context)->fd : -1;
}

void share_storage(Storage* s, bool keep_old) {
    MT_CHECK(s->device.is_cpu() && !is_functional(s), "only storages on the CPU can be moved to shared memory");
    if (shared_descriptor(s) >= 0) return;
    before_write(s);
    size_t nbytes = s->nbytes;
    Mapped mapped(new_shared_file(nbytes), nbytes);
    if (nbytes) std::memcpy(mapped.data(), s->data, nbytes);
    if (!keep_old && s->resizable && !is_foreign(s)) storage_resize(s, 0);
    mapped.carry(s);
    make_known(shared_descriptor(s), s);
}

Storage* shared_storage(int fd, size_t nbytes) {
    if (Storage* here = find_known(fd, nbytes)) {
        close(fd);
        return here;
    }
    Mapped mapped(fd, nbytes);
    Storage* s = storage_alloc(0, Device());
    mapped.carry(s);
    make_known(fd, s);
    return s;
}

}  // namespace mt
