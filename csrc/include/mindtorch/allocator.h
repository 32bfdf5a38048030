// Memory of the CPU by c10's names.
#pragma once

#include <mindtorch/types.h>

#include <cstdlib>
#include <cstring>
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

  private:
    void* data_;
    std::unique_ptr<void, DeleterFnPtr> context_;
    Device device_;
};

struct Allocator {
    virtual ~Allocator() = default;
    virtual DataPtr allocate(size_t bytes) = 0;
    virtual DeleterFnPtr raw_deleter() const { return nullptr; }
    void* raw_allocate(size_t bytes) { return allocate(bytes).release_context(); }
    void raw_deallocate(void* memory) { raw_deleter()(memory); }
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
    };
    static Aligned allocator;
    return &allocator;
}
inline Allocator* GetDefaultCPUAllocator() { return GetCPUAllocator(); }
inline Allocator* GetAllocator(DeviceType type) {
    TORCH_CHECK(type == DeviceType::CPU, "there is no allocator of C++ for ", type);
    return GetCPUAllocator();
}

}  // namespace c10
namespace at {
using c10::Allocator;
using c10::DataPtr;
inline Allocator* getCPUAllocator() { return c10::GetCPUAllocator(); }
}  // namespace at
