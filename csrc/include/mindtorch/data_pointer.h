// Pointers that own memory, and what allocates it, by c10's names.
#pragma once

#include <mindtorch/types.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>

namespace c10 {

using DeleterFnPtr = void (*)(void*);
constexpr size_t gAlignment = 64;

// A pointer to memory that is given back with it, and where it lies.
class DataPtr {
  public:
    DataPtr() : DataPtr(nullptr, Device(DeviceType::CPU)) {}
    DataPtr(void* data, Device device) : DataPtr(data, nullptr, [](void*) {}, device) {}
    DataPtr(void* data, void* context, DeleterFnPtr deleter, Device device)
        : data_(data), context_(context, deleter), device_(device) {}
    void* get() const { return data_; }
    void* mutable_get() { return data_; }
    void* get_context() const { return context_.get(); }
    void* release_context() { return context_.release(); }
    DeleterFnPtr get_deleter() const { return context_.get_deleter(); }
    Device device() const { return device_; }
    void clear() {
        context_.reset();
        data_ = nullptr;
    }
    explicit operator bool() const { return data_ != nullptr || context_ != nullptr; }
    void* operator->() const { return data_; }
    std::unique_ptr<void, DeleterFnPtr>&& move_context() { return std::move(context_); }
    template <class T>
    T* cast_context(DeleterFnPtr expected) const {
        return get_deleter() == expected ? static_cast<T*>(get_context()) : nullptr;
    }
    bool compare_exchange_deleter(DeleterFnPtr expected, DeleterFnPtr deleter) {
        if (get_deleter() != expected) return false;
        context_ = std::unique_ptr<void, DeleterFnPtr>(context_.release(), deleter);
        return true;
    }
    // Of a DataPtr whose context is its data.
    bool unsafe_reset_data_and_ctx(void* data_and_context) {
        if (get_deleter() != nullptr && get_context() != data_) return false;
        (void)context_.release();
        context_.reset(data_and_context);
        data_ = data_and_context;
        return true;
    }
    void unsafe_set_device(Device device) { device_ = device; }

  private:
    void* data_;
    std::unique_ptr<void, DeleterFnPtr> context_;
    Device device_;
};

inline bool operator==(const DataPtr& p, std::nullptr_t) noexcept { return !p; }
inline bool operator==(std::nullptr_t, const DataPtr& p) noexcept { return !p; }
inline bool operator!=(const DataPtr& p, std::nullptr_t) noexcept { return static_cast<bool>(p); }
inline bool operator!=(std::nullptr_t, const DataPtr& p) noexcept { return static_cast<bool>(p); }

struct Allocator {
    virtual ~Allocator() = default;
    virtual DataPtr allocate(size_t bytes) = 0;
    virtual DeleterFnPtr raw_deleter() const { return nullptr; }
    virtual bool is_simple_data_ptr(const DataPtr& p) const { return p.get() == p.get_context(); }
    // PyTorch's has no body: a program that asks for it writes one.
    virtual void copy_data(void* to, const void* from, std::size_t bytes) const { default_copy_data(to, from, bytes); }
    void default_copy_data(void* to, const void* from, std::size_t bytes) const {
        if (bytes) std::memcpy(to, from, bytes);
    }
    DataPtr clone(const void* data, std::size_t bytes) {
        DataPtr made = allocate(bytes);
        copy_data(made.mutable_get(), data, bytes);
        return made;
    }
    void* raw_allocate(size_t bytes) { return allocate(bytes).release_context(); }
    void raw_deallocate(void* memory) { raw_deleter()(memory); }
};

// A DataPtr that is given back by any function.
struct InefficientStdFunctionContext {
    static DataPtr makeDataPtr(void* data, std::function<void(void*)> deleter, Device device) {
        struct Given {
            void* data;
            std::function<void(void*)> deleter;
        };
        return DataPtr(
            data, new Given{data, std::move(deleter)},
            [](void* p) {
                const std::unique_ptr<Given> given(static_cast<Given*>(p));
                if (given->deleter) given->deleter(given->data);
            },
            device);
    }
};

inline void free_cpu(void* memory) { std::free(memory); }  // NOLINT
inline void* alloc_cpu(size_t bytes) {
    if (!bytes) return nullptr;
    void* memory = std::aligned_alloc(gAlignment, (bytes + gAlignment - 1) / gAlignment * gAlignment);
    if (!memory) throw std::bad_alloc();
    return memory;
}
inline Allocator* GetCPUAllocator() {
    struct Aligned final : Allocator {
        DataPtr allocate(size_t bytes) override {
            void* memory = alloc_cpu(bytes);
            return DataPtr(memory, memory, &free_cpu, Device(DeviceType::CPU));
        }
        DeleterFnPtr raw_deleter() const override { return &free_cpu; }
        void copy_data(void* to, const void* from, std::size_t bytes) const override {
            default_copy_data(to, from, bytes);
        }
    };
    static Aligned allocator;
    return &allocator;
}
inline Allocator* GetDefaultCPUAllocator() { return GetCPUAllocator(); }

}  // namespace c10
namespace at {
using c10::Allocator;
using c10::DataPtr;
inline Allocator* getCPUAllocator() { return c10::GetCPUAllocator(); }
}  // namespace at
