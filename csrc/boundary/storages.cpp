// Storages across the boundary: where their memory is, other memory for them, and the objects that describe them.
#include <memory>
#include <string>
#include <unordered_set>

#include "boundary/boundary.h"
#include "core/autograd.h"
#include "core/copy_on_write.h"
#include "core/described_storage.h"
#include "core/foreign.h"
#include "core/functional.h"

namespace mt::boundary {
namespace {

Storage* storage(mt_storage s) { return reinterpret_cast<Storage*>(s); }
mt_storage handle(Storage* s) { return reinterpret_cast<mt_storage>(s); }

int storage_of_tensor(mt_tensor t, mt_storage* out) {
    return reported([&] {
        if (tensor(t)->keys.has(Key::Tracer) || hides_data(*tensor(t))) check_data(*tensor(t));
        *out = handle(tensor(t)->storage);
    });
}
void retain(mt_storage s) { storage(s)->retain(); }
void release(mt_storage s) {
    if (!Py_IsInitialized()) return;
    Locked locked;
    storage(s)->drop();
}
int64_t references(mt_storage s) { return storage(s)->refs.load(); }

// What a library gave, and how it is given back.
struct Given {
    void* context;
    mt_release release;
};
void release_given(void* p) {
    const std::unique_ptr<Given> given(static_cast<Given*>(p));
    if (given->release) given->release(given->context);
}

int make(void* data, int64_t bytes, mt_device d, void* context, mt_release release, mt_storage* out) {
    return reported([&] {
        MT_CHECK(bytes >= 0, "a storage cannot have ", bytes, " bytes");
        auto given = std::make_unique<Given>(Given{context, release});
        *out = handle(storage_wrap(data, static_cast<size_t>(bytes), device(d), given.get(), release_given));
        given.release();
    });
}
int look(mt_storage s, void** data, int64_t* bytes, mt_device* d, int* resizable) {
    // As `data` of a tensor: no lock unless there is something to wait for.
    int status = 0;
    if (__builtin_expect(putting_off() || has_lazy_copies(), 0))
        status = reported([&] {
            settle_all();
            before_write(storage(s));
        });
    *data = storage(s)->data;
    *bytes = static_cast<int64_t>(storage(s)->nbytes);
    *d = boundary::handle(storage(s)->device);
    *resizable = storage(s)->resizable;
    return status;
}
int change(mt_storage s, void* data, int64_t bytes, void* context, mt_release release) {
    return reported([&] {
        MT_CHECK(bytes >= 0, "a storage cannot have ", bytes, " bytes");
        settle_all();
        MT_CHECK(!is_exported(storage(s)),
                 "the memory of a storage cannot be changed while an array or a DLPack capsule uses it");
        auto given = std::make_unique<Given>(Given{context, release});
        storage_replace(storage(s), data, static_cast<size_t>(bytes), given.get(), release_given);
        given.release();
    });
}

// An object of a library, as the core keeps it.
struct Described {
    void* object;
    mt_release release;
    int (*resize)(void*, int64_t);
};
void release_described(void* p) {
    const std::unique_ptr<Described> d(static_cast<Described*>(p));
    if (d->release) d->release(d->object);
}
void resize_by_library(void* p, size_t bytes) {
    const Described d = *static_cast<Described*>(p);
    if (d.resize(d.object, static_cast<int64_t>(bytes))) throw_kept_error();
}
int describe_storage(mt_storage s, const char* kind, void* object, mt_release release, int (*resize)(void*, int64_t)) {
    return reported([&] {
        static auto* kinds = new std::unordered_set<std::string>;
        auto kept = std::make_unique<Described>(Described{object, release, resize});
        describe(storage(s), {kinds->emplace(kind).first->c_str(), kept.get(), release_described,
                              resize ? resize_by_library : nullptr});
        kept.release();
        if (resize) storage(s)->resizable = true;
    });
}
void* described(mt_storage s, const char* kind) {
    if (!storage(s)->described) return nullptr;
    auto* found = static_cast<Described*>(description_of(storage(s), kind));
    return found ? found->object : nullptr;
}

int tensor_over(mt_storage s, int32_t dim, const int64_t* sizes, const int64_t* strides, int64_t offset, uint8_t dtype,
                mt_tensor* out) {
    return reported([&] {
        const IntSpan size(sizes, dim), steps(strides, dim);
        MT_CHECK(offset >= 0, "the offset must be non-negative, got ", offset);
        for (int64_t n : size) MT_CHECK(n >= 0, "sizes must be non-negative, got ", size);
        for (int64_t n : steps) MT_CHECK(n >= 0, "strides must be non-negative, got ", steps);
        *out = boundary::handle(from_storage(storage(s), offset, size, steps, static_cast<DType>(dtype)).release());
    });
}

int storage_of_object(mt_object o, mt_storage* out) {
    return reported([&] {
        Storage* s = mt::storage_of(object(o));
        MT_CHECK_TYPE(s, "an UntypedStorage was expected, got ", Py_TYPE(object(o))->tp_name);
        *out = handle(s);
    });
}
int object_of_storage(mt_storage s, mt_object* out) {
    return reported([&] {
        Owned o(storage_object(storage(s)));
        *out = boundary::handle(o.release());
    });
}

}  // namespace

void fill_storages(mt_boundary& b) {
    b.storage_of = storage_of_tensor;
    b.storage_retain = retain;
    b.storage_release = release;
    b.storage_references = references;
    b.storage_new = make;
    b.storage_look = look;
    b.storage_change = change;
    b.storage_describe = describe_storage;
    b.storage_described = described;
    b.tensor_over = tensor_over;
    b.storage_of_object = storage_of_object;
    b.object_of_storage = object_of_storage;
}

}  // namespace mt::boundary
