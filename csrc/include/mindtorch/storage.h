// c10::Storage: a counted reference to the memory behind tensors. Programs may make such memory, and derive from
// c10::StorageImpl.
#pragma once

#include <mindtorch/data_pointer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

namespace mindtorch MINDTORCH_HIDDEN {
// Python's lock, under which the core counts its storages.
class PythonLock {
  public:
    PythonLock() : taken_(api().lock_python()) {}
    ~PythonLock() { api().unlock_python(taken_); }
    PythonLock(const PythonLock&) = delete;
    PythonLock& operator=(const PythonLock&) = delete;

  private:
    int taken_;
};
}  // namespace mindtorch MINDTORCH_HIDDEN
namespace c10 {

Allocator* GetAllocator(const DeviceType& type);

// What a program makes is memory of its own: the core has a storage over it as long as a tensor does. What the core
// made has one of these when a program first asks, and it lives as long as the core's; to count a reference to it is to
// count one to that.
struct StorageImpl : intrusive_ptr_target {
    struct use_byte_size_t {};
    StorageImpl(use_byte_size_t, SymInt bytes, DataPtr data, Allocator* allocator, bool resizable)
        : data_(std::move(data)),
          bytes_(static_cast<int64_t>(bytes)),
          device_(data_.device()),
          allocator_(allocator),
          resizable_(resizable) {
        TORCH_CHECK(!resizable || allocator, "For resizable storage, allocator must be provided");
    }
    StorageImpl(use_byte_size_t, const SymInt& bytes, Allocator* allocator, bool resizable)
        : StorageImpl(use_byte_size_t(), bytes, of_allocator(allocator, bytes), allocator, resizable) {}
    StorageImpl() = delete;
    StorageImpl(const StorageImpl&) = delete;
    StorageImpl& operator=(const StorageImpl&) = delete;
    ~StorageImpl() override = default;

    size_t nbytes() const { return static_cast<size_t>(look().bytes); }
    SymInt sym_nbytes() const { return look().bytes; }
    void set_nbytes(size_t bytes) { stand_on(data_ptr().get(), bytes); }
    void unsafe_set_nbytes(size_t bytes) { set_nbytes(bytes); }
    bool resizable() const { return look().resizable != 0; }
    void set_resizable(bool resizable) {
        TORCH_CHECK(!resizable || allocator(), "For resizable storage, allocator must be provided");
        TORCH_CHECK(resizable == this->resizable() || !core_.load(),
                    "set_resizable: tensors have this storage already; say it before they do");
        resizable_ = resizable;
    }
    const void* data() const { return look().data; }
    void* mutable_data() { return look().data; }
    const DataPtr& data_ptr() const {
        void* const at = look().data;
        if (at != data_.get()) data_ = DataPtr(at, device_);  // the core moved it
        return data_;
    }
    DataPtr& mutable_data_ptr() { return const_cast<DataPtr&>(data_ptr()); }
    DataPtr& _mutable_data_ptr_no_checks() { return mutable_data_ptr(); }
    // Other memory of that many bytes; what it had. That does not own it where the core does.
    DataPtr set_data_ptr(DataPtr&& data) {
        data_ptr();
        DataPtr former = std::exchange(data_, std::move(data));
        stand_on(data_.get(), nbytes());
        return former;
    }
    void set_data_ptr_noswap(DataPtr&& data) { set_data_ptr(std::move(data)); }
    void UniqueStorageShareExternalPointer(void* source, size_t bytes, DeleterFnPtr deleter = nullptr) {
        UniqueStorageShareExternalPointer(DataPtr(source, source, deleter ? deleter : [](void*) {}, device_), bytes);
    }
    void UniqueStorageShareExternalPointer(DataPtr&& data, size_t bytes) {
        set_data_ptr_noswap(std::move(data));
        set_nbytes(bytes);
        allocator_ = nullptr;
    }
    void reset() {
        set_data_ptr_noswap(DataPtr(nullptr, device_));
        set_nbytes(0);
    }
    void release_resources() override { data_.clear(); }
    DeviceType device_type() const { return device_.type(); }
    Device device() const { return device_; }
    Allocator* allocator() {
        if (!allocator_ && of_core_ && !device_.is_meta()) allocator_ = GetAllocator(device_.type());
        return allocator_;
    }
    const Allocator* allocator() const { return const_cast<StorageImpl*>(this)->allocator(); }
    void set_allocator(Allocator* allocator) { allocator_ = allocator; }

    // As an intrusive_ptr counts.
    void retain_() const {
        intrusive_ptr_target::retain_();
        if (of_core_) mindtorch::api().storage_retain(core_);
    }
    bool release_() const {
        if (!of_core_) return intrusive_ptr_target::release_();
        const mt_storage core = core_;
        intrusive_ptr_target::release_();
        mindtorch::find_api()->storage_release(core);
        return false;
    }
    bool revive_() const {
        const bool there = intrusive_ptr_target::revive_();
        if (there && of_core_) mindtorch::api().storage_retain(core_);
        return there;
    }
    // Tensors count, as other references do.
    size_t references() const {
        const mt_storage core = core_;
        if (!core) return intrusive_ptr_target::references();
        const auto of_core = static_cast<size_t>(mindtorch::api().storage_references(core));
        return of_core_ ? of_core : intrusive_ptr_target::references() - 1 + of_core;
    }

    // The one that describes a storage of the core.
    static StorageImpl* of(mt_storage core) {
        if (void* known = mindtorch::api().storage_described(core, kind)) return static_cast<StorageImpl*>(known);
        const mindtorch::PythonLock lock;
        if (void* known = mindtorch::api().storage_described(core, kind)) return static_cast<StorageImpl*>(known);
        auto made = std::unique_ptr<StorageImpl>(new StorageImpl(core));
        mindtorch::check(mindtorch::api().storage_describe(core, kind, made.get(), forget, nullptr));
        return made.release();
    }
    // The core's storage over this memory, with a reference for the caller.
    mt_storage share_core() {
        const mindtorch::PythonLock lock;
        if (mt_storage known = core_) {
            mindtorch::api().storage_retain(known);
            return known;
        }
        mt_storage made = nullptr;
        const mt_device d{static_cast<uint8_t>(device_.type()), device_.index()};
        intrusive_ptr_target::retain_();
        const int failed = mindtorch::api().storage_new(data_.get(), bytes_, d, this, let_go, &made);
        if (failed) intrusive_ptr_target::release_();
        mindtorch::check(failed);
        core_ = made;
        mindtorch::check(mindtorch::api().storage_describe(made, kind, this, nullptr, resizable_ ? resized : nullptr));
        return made;
    }

  private:
    // Objects of libraries that say this have one layout: another number with another.
    static constexpr const char* kind = "c10::StorageImpl 1";
    struct Memory {
        void* data;
        int64_t bytes;
        int resizable;
    };
    explicit StorageImpl(mt_storage core) : device_(DeviceType::CPU), core_(core), of_core_(true) {
        mt_device d{};
        Memory m{};
        mindtorch::check(mindtorch::api().storage_look(core, &m.data, &m.bytes, &d, &m.resizable));
        device_ = Device(static_cast<DeviceType>(d.type), d.index);
        data_ = DataPtr(m.data, device_);
        intrusive_ptr_target::retain_();  // the core's
    }
    static DataPtr of_allocator(Allocator* allocator, const SymInt& bytes) {
        TORCH_CHECK(allocator, "a storage without memory needs an allocator");
        return allocator->allocate(static_cast<size_t>(static_cast<int64_t>(bytes)));
    }
    Memory look() const {
        Memory m{data_.get(), bytes_, resizable_};
        mt_device d{};
        if (const mt_storage core = core_)
            mindtorch::check(mindtorch::api().storage_look(core, &m.data, &m.bytes, &d, &m.resizable));
        return m;
    }
    void stand_on(void* data, size_t bytes) {
        bytes_ = static_cast<int64_t>(bytes);
        if (const mt_storage core = core_)
            mindtorch::check(mindtorch::api().storage_change(core, data, bytes_, nullptr, nullptr));
    }
    // The core's storage goes: its reference does.
    static void let_go(void* self) {
        auto* const impl = static_cast<StorageImpl*>(self);
        impl->core_ = nullptr;
        if (impl->intrusive_ptr_target::release_()) delete impl;
    }
    static void forget(void* self) { let_go(self); }
    static int resized(void* self, int64_t bytes) {
        try {
            auto& impl = *static_cast<StorageImpl*>(self);
            const Memory former = impl.look();
            DataPtr fresh = impl.allocator_->allocate(static_cast<size_t>(bytes));
            impl.allocator_->copy_data(fresh.mutable_get(), former.data,
                                       static_cast<size_t>(std::min(bytes, former.bytes)));
            const DataPtr kept = std::exchange(impl.data_, std::move(fresh));
            impl.stand_on(impl.data_.get(), static_cast<size_t>(bytes));
            return 0;
        } catch (...) {
            return mindtorch::report_exception();
        }
    }

    mutable DataPtr data_;
    int64_t bytes_ = 0;
    Device device_;
    Allocator* allocator_ = nullptr;
    std::atomic<mt_storage> core_{nullptr};
    bool resizable_ = false, of_core_ = false;
};

class Storage {
  public:
    using use_byte_size_t = StorageImpl::use_byte_size_t;
    Storage() = default;
    Storage(intrusive_ptr<StorageImpl> impl) : impl_(std::move(impl)) {}
    Storage(use_byte_size_t how, const SymInt& bytes, Allocator* allocator = nullptr, bool resizable = false)
        : impl_(make_intrusive<StorageImpl>(how, bytes, allocator, resizable)) {}
    Storage(use_byte_size_t how, size_t bytes, DataPtr data, Allocator* allocator = nullptr, bool resizable = false)
        : impl_(make_intrusive<StorageImpl>(how, SymInt(static_cast<int64_t>(bytes)), std::move(data), allocator,
                                            resizable)) {}
    Storage(use_byte_size_t how, SymInt bytes, DataPtr data, Allocator* allocator = nullptr, bool resizable = false)
        : impl_(make_intrusive<StorageImpl>(how, bytes, std::move(data), allocator, resizable)) {}
    static Storage create_legacy(Device d) {
        return Storage(use_byte_size_t(), SymInt(0), GetAllocator(d.type()), true);
    }

    size_t nbytes() const { return impl_->nbytes(); }
    SymInt sym_nbytes() const { return impl_->sym_nbytes(); }
    void set_nbytes(size_t bytes) const { impl_->set_nbytes(bytes); }
    bool resizable() const { return impl_->resizable(); }
    const void* data() const { return impl_->data(); }
    void* mutable_data() const { return impl_->mutable_data(); }
    template <class T>
    T* data() const {
        return static_cast<T*>(impl_->mutable_data());
    }
    const DataPtr& data_ptr() const { return impl_->data_ptr(); }
    DataPtr& mutable_data_ptr() const { return impl_->mutable_data_ptr(); }
    DataPtr set_data_ptr(DataPtr&& data) const { return impl_->set_data_ptr(std::move(data)); }
    void set_data_ptr_noswap(DataPtr&& data) const { impl_->set_data_ptr_noswap(std::move(data)); }
    Allocator* allocator() const { return impl_->allocator(); }
    Device device() const { return impl_->device(); }
    DeviceType device_type() const { return impl_->device_type(); }
    StorageImpl* unsafeGetStorageImpl() const noexcept { return impl_.get(); }
    StorageImpl* unsafeReleaseStorageImpl() { return impl_.release(); }
    weak_intrusive_ptr<StorageImpl> getWeakStorageImpl() const { return weak_intrusive_ptr<StorageImpl>(impl_); }
    operator bool() const { return impl_.defined(); }
    size_t use_count() const { return impl_.use_count(); }
    bool unique() const { return impl_.unique(); }
    bool is_alias_of(const Storage& o) const { return impl_ == o.impl_; }
    template <class... A>
    void UniqueStorageShareExternalPointer(A&&... given) {
        TORCH_CHECK(unique(), "UniqueStorageShareExternalPointer can only be called when use_count == 1");
        impl_->UniqueStorageShareExternalPointer(std::forward<A>(given)...);
    }

  private:
    intrusive_ptr<StorageImpl> impl_;
};
inline bool isSharedStorageAlias(const Storage& a, const Storage& b) { return a.is_alias_of(b); }

// What makes the storages of a program's own device, where a program says.
using StorageImplCreateHelper = intrusive_ptr<StorageImpl> (*)(StorageImpl::use_byte_size_t, SymInt bytes, DataPtr,
                                                               Allocator*, bool resizable);
inline StorageImplCreateHelper& storage_maker() {
    static StorageImplCreateHelper maker = nullptr;
    return maker;
}
inline void SetStorageImplCreate(DeviceType type, StorageImplCreateHelper maker) {
    TORCH_CHECK(type == DeviceType::PrivateUse1, "SetStorageImplCreate: storages of ", type, " are the framework's");
    storage_maker() = maker;
}
inline StorageImplCreateHelper GetStorageImplCreate(DeviceType type) {
    return type == DeviceType::PrivateUse1 ? storage_maker() : nullptr;
}
inline intrusive_ptr<StorageImpl> make_storage_impl(StorageImpl::use_byte_size_t how, SymInt bytes, DataPtr data,
                                                    Allocator* allocator, bool resizable,
                                                    std::optional<Device> device = std::nullopt) {
    const StorageImplCreateHelper maker = device ? GetStorageImplCreate(device->type()) : nullptr;
    if (maker) return maker(how, bytes, std::move(data), allocator, resizable);
    return data ? make_intrusive<StorageImpl>(how, bytes, std::move(data), allocator, resizable)
                : make_intrusive<StorageImpl>(how, bytes, allocator, resizable);
}

}  // namespace c10
namespace at {
using c10::Storage;
using c10::StorageImpl;
}  // namespace at
