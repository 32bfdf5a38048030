// Names and rules of dtypes, devices and dispatch keys.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cpp_names.h"
#include "device_memory.h"
#include "dtype.h"
#include "error.h"
#include "keys.h"
#include "value.h"

namespace mt {

namespace {
struct Names {
    DType dtype;
    const char* name;
    const char* class_name;
};
constexpr Names kNames[] = {
    {DType::UInt8, "uint8", "Byte"},
    {DType::Int8, "int8", "Char"},
    {DType::Int16, "int16", "Short"},
    {DType::Int32, "int32", "Int"},
    {DType::Int64, "int64", "Long"},
    {DType::Float16, "float16", "Half"},
    {DType::Float32, "float32", "Float"},
    {DType::Float64, "float64", "Double"},
    {DType::Complex32, "complex32", "ComplexHalf"},
    {DType::Complex64, "complex64", "ComplexFloat"},
    {DType::Complex128, "complex128", "ComplexDouble"},
    {DType::Bool, "bool", "Bool"},
    {DType::BFloat16, "bfloat16", "BFloat16"},
    {DType::Float8_e5m2, "float8_e5m2", "Float8_e5m2"},
    {DType::Float8_e4m3fn, "float8_e4m3fn", "Float8_e4m3fn"},
    {DType::Float8_e5m2fnuz, "float8_e5m2fnuz", "Float8_e5m2fnuz"},
    {DType::Float8_e4m3fnuz, "float8_e4m3fnuz", "Float8_e4m3fnuz"},
    {DType::UInt16, "uint16", "UInt16"},
    {DType::UInt32, "uint32", "UInt32"},
    {DType::UInt64, "uint64", "UInt64"},
    {DType::Float8_e8m0fnu, "float8_e8m0fnu", "Float8_e8m0fnu"},
    {DType::QInt8, "qint8", "QInt8"},
    {DType::QUInt8, "quint8", "QUInt8"},
    {DType::QInt32, "qint32", "QInt32"},
    {DType::QUInt4x2, "quint4x2", "QUInt4x2"},
    {DType::QUInt2x4, "quint2x4", "QUInt2x4"},
    {DType::Bits1x8, "bits1x8", "Bits1x8"},
    {DType::Bits2x4, "bits2x4", "Bits2x4"},
    {DType::Bits4x2, "bits4x2", "Bits4x2"},
    {DType::Bits8, "bits8", "Bits8"},
    {DType::Bits16, "bits16", "Bits16"},
    {DType::UInt1, "uint1", "UInt1"},
    {DType::UInt2, "uint2", "UInt2"},
    {DType::UInt3, "uint3", "UInt3"},
    {DType::UInt4, "uint4", "UInt4"},
    {DType::UInt5, "uint5", "UInt5"},
    {DType::UInt6, "uint6", "UInt6"},
    {DType::UInt7, "uint7", "UInt7"},
    {DType::Int1, "int1", "Int1"},
    {DType::Int2, "int2", "Int2"},
    {DType::Int3, "int3", "Int3"},
    {DType::Int4, "int4", "Int4"},
    {DType::Int5, "int5", "Int5"},
    {DType::Int6, "int6", "Int6"},
    {DType::Int7, "int7", "Int7"},
    {DType::Float4_e2m1fn_x2, "float4_e2m1fn_x2", "Float4_e2m1fn_x2"},
};
DType g_default_dtype = DType::Float32;

// Kinds in the order in which one absorbs the other.
int kind(DType t) { return is_complex(t) ? 3 : is_floating(t) ? 2 : is_integer(t) ? 1 : 0; }
}  // namespace

const char* dtype_name(DType t) {
    for (const Names& n : kNames)
        if (n.dtype == t) return n.name;
    return "undefined";
}
const char* dtype_class_name(DType t) {
    for (const Names& n : kNames)
        if (n.dtype == t) return n.class_name;
    return "Undefined";
}
DType default_dtype() { return g_default_dtype; }
void set_default_dtype(DType t) { g_default_dtype = t; }

DType to_real(DType t) {
    return t == DType::Complex32    ? DType::Float16
           : t == DType::Complex64  ? DType::Float32
           : t == DType::Complex128 ? DType::Float64
                                    : t;
}
DType to_complex(DType t) {
    switch (t) {
        case DType::Float16:
            return DType::Complex32;
        case DType::BFloat16:
        case DType::Float32:
            return DType::Complex64;
        case DType::Float64:
            return DType::Complex128;
        default:
            return is_complex(t) ? t : g_default_dtype == DType::Float64 ? DType::Complex128 : DType::Complex64;
    }
}

DType promote(DType a, DType b) {
    if (a == b) return a;
    if (a == DType::Undefined) return b;
    if (b == DType::Undefined) return a;
    int ka = kind(a), kb = kind(b);
    if (is_quantized(a) || is_quantized(b))
        MT_THROW(Runtime,
                 "promoteTypes with quantized numbers is not handled yet; figure out what the correct rules should be, "
                 "offending types: ",
                 dtype_class_name(a), " ", dtype_class_name(b));
    if (is_bits(a) || is_bits(b) || is_short_integer(a) || is_short_integer(b))
        MT_THROW(Runtime, "Promotion from ", dtype_class_name(a), " and ", dtype_class_name(b), " is unsupported.");
    if (is_float8(a) || is_float8(b) || a == DType::Float4_e2m1fn_x2 || b == DType::Float4_e2m1fn_x2)
        MT_THROW(Runtime, "Promotion for Float8 Types is not supported, attempted to promote ", dtype_class_name(a),
                 " and ", dtype_class_name(b));
    if (ka == 3 || kb == 3) {
        DType c = ka == 3 ? a : b, o = ka == 3 ? b : a;
        if (kind(o) < 2) return c;
        if (kind(o) == 3) return itemsize(c) > itemsize(o) ? c : o;
        if (o == DType::Float64) return DType::Complex128;
        if (c == DType::Complex32 && (o == DType::Float32 || o == DType::BFloat16)) return DType::Complex64;
        return c;
    }
    if (ka != kb) return ka > kb ? a : b;
    if (ka == 2) {
        if (itemsize(a) == itemsize(b)) return DType::Float32;  // half with bfloat16
        return itemsize(a) > itemsize(b) ? a : b;
    }
    // Integers. uint8 with a signed byte needs the next size; wider unsigned types do not mix.
    auto wide_unsigned = [](DType t) { return t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64; };
    if (wide_unsigned(a) || wide_unsigned(b)) {
        DType u = wide_unsigned(a) ? a : b, o = wide_unsigned(a) ? b : a;
        if (o == DType::UInt8) return u;
        if (wide_unsigned(o)) return itemsize(u) > itemsize(o) ? u : o;
        MT_THROW(Runtime, "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ",
                 dtype_class_name(a), " and ", dtype_class_name(b));
    }
    if (a == DType::UInt8 || b == DType::UInt8) {
        DType o = a == DType::UInt8 ? b : a;
        return o == DType::Int8 ? DType::Int16 : o;
    }
    return itemsize(a) > itemsize(b) ? a : b;
}

bool can_cast(DType from, DType to) {
    if (is_complex(from) && !is_complex(to)) return false;
    if (is_floating(from) && !is_floating(to) && !is_complex(to)) return false;
    if (from != DType::Bool && to == DType::Bool) return false;
    return true;
}

DType Value::scalar_dtype() const {
    switch (tag) {
        case Tag::Bool:
            return DType::Bool;
        case Tag::Int:
            return DType::Int64;
        case Tag::Complex:
            return to_complex(default_dtype());
        default:
            return default_dtype();
    }
}

const char* dtype_cpp_name(DType t) {
    switch (t) {
        case DType::Float32:
            return "float";
        case DType::Float64:
            return "double";
        case DType::Float16:
            return "c10::Half";
        case DType::BFloat16:
            return "c10::BFloat16";
        case DType::Int64:
            return "long int";
        case DType::Int32:
            return "int";
        case DType::Int16:
            return "short int";
        case DType::Int8:
            return "signed char";
        case DType::UInt8:
            return "unsigned char";
        case DType::UInt16:
            return "short unsigned int";
        case DType::UInt32:
            return "unsigned int";
        case DType::UInt64:
            return "long unsigned int";
        case DType::Bool:
            return "bool";
        case DType::Complex64:
            return "c10::complex<float>";
        case DType::Complex128:
            return "c10::complex<double>";
        default:
            return dtype_name(t);
    }
}

std::string refused_dtype(std::string_view text, DType out, DType result) {
    const std::pair<std::string_view, const char*> names[] = {{"{out}", dtype_class_name(out)},
                                                              {"{result}", dtype_class_name(result)},
                                                              {"{out_cpp}", dtype_cpp_name(out)},
                                                              {"{result_cpp}", dtype_cpp_name(result)}};
    std::string said(text);
    for (auto [mark, name] : names)
        for (size_t at = said.find(mark); at != std::string::npos; at = said.find(mark))
            said.replace(at, mark.size(), name);
    return said;
}

const char* device_type_name(DeviceType t) {
    switch (t) {
        case DeviceType::CPU:
            return "cpu";
        case DeviceType::CUDA:
            return "cuda";
        case DeviceType::MPS:
            return "mps";
        case DeviceType::XPU:
            return "xpu";
        case DeviceType::NPU:
            return own_device_name().c_str();
        default:
            return "meta";
    }
}
std::string device_name(Device d) {
    std::string s = device_type_name(d.type);
    if (d.index >= 0) s += ":" + std::to_string(d.index);
    return s;
}
Device parse_device(const std::string& text) {
    size_t colon = text.find(':');
    std::string type = text.substr(0, colon);
    Device d;
    bool known = true;
    if (type == "cpu")
        d.type = DeviceType::CPU;
    else if (type == "meta")
        d.type = DeviceType::Meta;
    else if (type == own_device_name() || type == "privateuseone")
        d.type = DeviceType::NPU;
    else if (type == "cuda")
        d.type = DeviceType::CUDA;
    else if (type == "mps")
        d.type = DeviceType::MPS;
    else if (type == "xpu")
        d.type = DeviceType::XPU;
    else
        known = false;
    bool digits = true;
    if (colon != std::string::npos) {
        digits = colon + 1 < text.size();
        for (size_t i = colon + 1; i < text.size(); i++) digits = digits && text[i] >= '0' && text[i] <= '9';
        digits = digits && (text[colon + 1] != '0' || colon + 2 == text.size());
        if (digits && text.size() - colon <= 4) d.index = static_cast<int8_t>(std::atoi(text.c_str() + colon + 1));
    }
    MT_CHECK(!text.empty(), "Device string must not be empty");
    const bool name = std::all_of(type.begin(), type.end(),
                                  [](char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)); });
    MT_CHECK(digits && name, "Invalid device string: '", text, "'");
    MT_CHECK(known, "Expected one of cpu, cuda, ", own_device_name(),
             ", mps, xpu, meta device type at start of device string: ", type);
    return d;
}

namespace {
constexpr const char* kKeyNames[] = {"Undefined",
                                     "CPU",
                                     "CUDA",
                                     "NPU",
                                     "XPU",
                                     "Meta",
                                     "SparseCPU",
                                     "SparseCsrCPU",
                                     "QuantizedCPU",
                                     "MixedDevices",
                                     "BackendSelect",
                                     "Python",
                                     "Functionalize",
                                     "Conjugate",
                                     "Negative",
                                     "ADInplaceOrView",
                                     "AutogradOther",
                                     "AutogradCPU",
                                     "AutogradCUDA",
                                     "AutogradNPU",
                                     "AutogradXPU",
                                     "AutogradMeta",
                                     "Tracer",
                                     "AutocastCPU",
                                     "AutocastCUDA",
                                     "AutocastNPU",
                                     "FuncTorchBatched",
                                     "PythonTLSSnapshot",
                                     "PythonDispatcher",
                                     "Count",
                                     "Autograd",
                                     "CompositeExplicitAutograd",
                                     "CompositeImplicitAutograd",
                                     "CompositeExplicitAutogradNonFunctional"};

// Further keys of PyTorch's. Kernels may be registered for them; no tensor here ever has one.
constexpr int kFirstOther = 64;
constexpr const char* kOtherBackends[] = {"HIP",  "XLA",  "MPS",  "IPU",         "HPU",        "VE",
                                          "Lazy", "MTIA", "MAIA", "PrivateUse2", "PrivateUse3"};
constexpr const char* kOtherKeys[] = {"ZeroTensor",
                                      "FuncTorchDynamicLayerFrontMode",
                                      "FuncTorchDynamicLayerBackMode",
                                      "FuncTorchBatchedDecomposition",
                                      "FuncTorchVmapMode",
                                      "FuncTorchGradWrapper",
                                      "PreDispatch",
                                      "CompositeImplicitAutogradNestedTensor",
                                      "AutogradNestedTensor",
                                      "AutocastMPS",
                                      "AutocastXPU",
                                      "AutocastHPU",
                                      "AutocastIPU",
                                      "AutocastMTIA",
                                      "AutocastMAIA",
                                      "AutocastXLA",
                                      "BatchedNestedTensor",
                                      "CustomRNGKeyId",
                                      "DeferredInit",
                                      "FPGA",
                                      "Fake",
                                      "Metal",
                                      "MkldnnCPU",
                                      "Vulkan"};

const std::vector<std::string>& other_keys() {
    static const std::vector<std::string>* names = [] {
        auto* all = new std::vector<std::string>;
        for (const char* prefix : {"", "Autograd"})
            for (const char* backend : kOtherBackends) all->push_back(std::string(prefix) + backend);
        for (const char* prefix : {"Quantized", "Sparse", "SparseCsr", "NestedTensor"}) {
            for (const char* backend : {"CPU", "CUDA", "PrivateUse1", "XPU", "Meta"}) {
                std::string name = std::string(prefix) + backend;
                if (name != "SparseCPU" && name != "SparseCsrCPU" && name != "QuantizedCPU") all->push_back(name);
            }
            for (const char* backend : kOtherBackends) all->push_back(std::string(prefix) + backend);
        }
        for (const char* name : kOtherKeys) all->push_back(name);
        return all;
    }();
    return *names;
}
}  // namespace

const char* key_name(Key k) {
    size_t i = static_cast<size_t>(k);
    if (i < std::size(kKeyNames)) return kKeyNames[i];
    if (i < kFirstOther || i - kFirstOther >= other_keys().size()) return nullptr;
    return other_keys()[i - kFirstOther].c_str();
}
Key key_from_name(const char* name) {
    for (size_t i = 0; i < std::size(kKeyNames); i++)
        if (i != static_cast<size_t>(Key::Count) && !std::strcmp(kKeyNames[i], name)) return static_cast<Key>(i);
    if (!std::strcmp(name, "PrivateUse1")) return Key::NPU;
    if (!std::strcmp(name, "AutogradPrivateUse1")) return Key::AutogradNPU;
    if (!std::strcmp(name, "AutocastPrivateUse1")) return Key::AutocastNPU;
    if (!std::strcmp(name, "Batched")) return Key::Batched;
    const std::vector<std::string>& others = other_keys();
    auto found = std::find(others.begin(), others.end(), name);
    return found == others.end() ? Key::Undefined
                                 : static_cast<Key>(kFirstOther + static_cast<size_t>(found - others.begin()));
}

}  // namespace mt
