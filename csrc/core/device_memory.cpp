// Memory of devices other than the CPU: the table of back ends, and copies between memories.
#include "device_memory.h"

#include "kernel.h"

namespace mt {
namespace {

const DeviceMemory* g_memory[32] = {};
void (*g_load)(DeviceType) = nullptr;
thread_local bool g_non_blocking = false;
thread_local int8_t g_current_device[32] = {};

const DeviceMemory*& slot(DeviceType type) { return g_memory[static_cast<size_t>(type) & 31]; }
struct OwnDevice {
    std::string name = "npu";
    bool renamed = false;
};
OwnDevice& own_device() {
    static OwnDevice device;
    return device;
}
bool has_own_memory(Device d) { return !d.is_cpu() && !d.is_meta(); }

bool same_layout(const Tensor& a, const Tensor& b) {
    return a.is_contiguous() && b.is_contiguous() && a.dtype == b.dtype && a.sizes() == b.sizes();
}

void raw(Tensor& to, const Tensor& from, Transfer kind, Device device, bool non_blocking, const Tensor* host) {
    size_t nbytes = static_cast<size_t>(to.numel() * to.itemsize());
    if (nbytes) device_memory(device).transfer(to.raw(), from.raw(), nbytes, kind, device, non_blocking, host);
}

// The host lays out and casts what it can: a transfer moves one block.
void copy_to_device(Tensor& to, const Tensor& from) {
    if (to.is_contiguous() && to.sizes() == from.sizes()) {
        TensorRef block = contiguous(from, to.dtype);
        raw(to, *block, Transfer::ToDevice, to.device, NonBlocking::wanted() && block.get() == &from, block.get());
        return;
    }
    TensorRef block = contiguous(from);
    TensorRef there = empty(from.sizes(), from.dtype, to.device);
    raw(*there, *block, Transfer::ToDevice, to.device, false, block.get());
    device_memory(to.device).copy(to, *there);
}

void copy_to_host(Tensor& to, const Tensor& from) {
    TensorRef block = TensorRef::share(&from);
    if (!from.is_contiguous()) {
        block = empty(from.sizes(), from.dtype, from.device);
        device_memory(from.device).copy(*block, from);
    }
    if (same_layout(to, *block)) return raw(to, *block, Transfer::ToHost, from.device, NonBlocking::wanted(), &to);
    TensorRef here = empty(from.sizes(), from.dtype);
    raw(*here, *block, Transfer::ToHost, from.device, false, here.get());
    copy_into(to, *here);
}

}  // namespace

void register_device_memory(DeviceType type, const DeviceMemory* memory) { slot(type) = memory; }
void set_device_loader(void (*load)(DeviceType)) { g_load = load; }
int8_t current_device_index(DeviceType type) { return g_current_device[static_cast<size_t>(type) & 31]; }
void set_current_device_index(DeviceType type, int8_t index) {
    g_current_device[static_cast<size_t>(type) & 31] = index;
}
bool has_back_end(DeviceType type) { return slot(type); }

const std::string& own_device_name() { return own_device().name; }
bool own_device_renamed() { return own_device().renamed; }
void rename_own_device(const std::string& name) {
    bool taken = false;
    for (DeviceType t : {DeviceType::CPU, DeviceType::CUDA, DeviceType::MPS, DeviceType::XPU, DeviceType::Meta})
        taken = taken || name == device_type_name(t);
    for (const char* other : {"mtia", "hip", "xla", "hpu", "ipu", "vulkan"}) taken = taken || name == other;
    MT_CHECK(!taken, "Cannot register privateuse1 backend with in-tree device name: ", name);
    OwnDevice& device = own_device();
    if (name == device.name) return;
    const bool nameless = device.name == "privateuseone";  // a program's own, and the program has not named it
    MT_CHECK(nameless || (!device.renamed && !has_back_end(DeviceType::NPU)),
             "torch.register_privateuse1_backend() has already been set! Current backend: ", device.name);
    device.name = name;
    device.renamed = true;
}

void load_device(Device device) {
    if (!has_own_memory(device) || slot(device.type)) return;
    if (g_load) g_load(device.type);
}

const DeviceMemory& device_memory(Device device) {
    if (__builtin_expect(!slot(device.type), 0)) {
        load_device(device);
        MT_CHECK(slot(device.type), "cannot allocate memory on device '", device_name(device),
                 "': no back end is registered for it");
    }
    return *slot(device.type);
}

void copy_across(Tensor& to, const Tensor& from) {
    if (to.numel() == 0) return;
    if (const DeviceMemory& memory = device_memory(has_own_memory(to.device) ? to.device : from.device); memory.across)
        return memory.across(to, from, NonBlocking::wanted());
    if (to.is_cpu()) return copy_to_host(to, from);
    if (from.is_cpu()) return copy_to_device(to, from);
    if (to.device == from.device) return device_memory(to.device).copy(to, from);
    TensorRef here = empty(from.sizes(), from.dtype);
    copy_to_host(*here, from);
    copy_to_device(to, *here);
}

NonBlocking::NonBlocking(bool wanted) : before_(g_non_blocking) { g_non_blocking = wanted; }
NonBlocking::~NonBlocking() { g_non_blocking = before_; }
bool NonBlocking::wanted() { return g_non_blocking; }

}  // namespace mt
