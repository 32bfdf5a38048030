// Devices: a type and an index.
#pragma once

#include <cstdint>
#include <string>

namespace mt {

enum class DeviceType : uint8_t { CPU = 0, CUDA = 1, MPS = 13, Meta = 14, XPU = 12, NPU = 20 };

struct Device {
    DeviceType type = DeviceType::CPU;
    int8_t index = -1;  // -1: not given
    bool operator==(const Device& o) const { return type == o.type && index == o.index; }
    bool is_cpu() const { return type == DeviceType::CPU; }
    bool is_meta() const { return type == DeviceType::Meta; }
};

const char* device_type_name(DeviceType t);
std::string device_name(Device d);             // "cpu", "npu:0"
Device parse_device(const std::string& text);  // raises PyTorch's RuntimeError

}  // namespace mt
