#include "shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

void release_shared(Storage* s) {
    Shared* shared = static_cast<Shared*>(s->context);
    if (shared->length) munmap(s->data, shared->length);
    close(shared->fd);
    s->data = shared->former_data;
    s->context = shared->former_context;
    s->release = shared->former_release;
    delete shared;
    s->release(s);
}

// Takes the descriptor over: it is closed if this raises.
void* map_shared(int fd, size_t nbytes) {
    if (!nbytes) return nullptr;
    void* p = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED) return p;
    int reason = errno;
    close(fd);
    MT_THROW(Runtime, "unable to mmap ", nbytes, " bytes of shared memory: ", std::strerror(reason), " (", reason, ")");
}

int new_shared_file(size_t nbytes) {
    int fd = memfd_create("torch", MFD_CLOEXEC);
    MT_CHECK(fd >= 0, "unable to open shared memory: ", std::strerror(errno), " (", errno, ")");
    if (ftruncate(fd, static_cast<off_t>(nbytes)) == 0) return fd;
    int reason = errno;
    close(fd);
    MT_THROW(Runtime, "unable to resize shared memory to ", nbytes, " bytes: ", std::strerror(reason), " (", reason,
             ")");
}

// Lets `s` stand on the mapping `data`; the storage's struct goes the way it would have gone.
void stand_on(Storage* s, int fd, void* data, size_t nbytes) {
    s->context = new Shared{fd, nbytes, s->data, s->release, s->context};
    s->release = release_shared;
    s->data = data;
    s->nbytes = nbytes;
    s->resizable = false;
}

}  // namespace

int shared_descriptor(const Storage* s) {
    return s->release == release_shared ? static_cast<const Shared*>(s->context)->fd : -1;
}

void share_storage(Storage* s, bool keep_old) {
    MT_CHECK(s->device.is_cpu() && !is_functional(s), "only storages on the CPU can be moved to shared memory");
    if (shared_descriptor(s) >= 0) return;
    size_t nbytes = s->nbytes;
    int fd = new_shared_file(nbytes);
    void* data = map_shared(fd, nbytes);
    if (nbytes) std::memcpy(data, s->data, nbytes);
    if (!keep_old && s->resizable && !is_foreign(s)) storage_resize(s, 0);
    stand_on(s, fd, data, nbytes);
}

Storage* shared_storage(int fd, size_t nbytes) {
    void* data = map_shared(fd, nbytes);
    Storage* s = storage_alloc(0, Device());
    stand_on(s, fd, data, nbytes);
    return s;
}

}  // namespace mt
