// C++ values and StableIValues: `from(value)` makes one, `to<T>(cell)` takes the value out.
#pragma once

#include <mindtorch/stable/objects.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

// Each library has its own: none may take another one's, made with other headers.
#pragma GCC visibility push(hidden)

namespace torch::stable::detail {

// How a type is encoded; others than these are an error of the compiler.
template <class T, class = void>
struct Encoding {
    static_assert(!sizeof(T),
                  "this type has no form in the stable ABI; docs/cpp-operators.md of mindtorch_v2 lists those that do");
};

template <class T>
StableIValue from(const T& value) {
    return Encoding<T>::from(value);
}
template <class T>
T to(StableIValue cell) {
    return Encoding<T>::to(cell);
}

template <class T>
struct Bytes {
    static StableIValue from(const T& value) {
        StableIValue cell = 0;
        std::memcpy(&cell, &value, sizeof(T));
        return cell;
    }
    static T to(StableIValue cell) {
        T value;
        std::memcpy(&value, &cell, sizeof(T));
        return value;
    }
};
template <class T>
struct Encoding<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
    static_assert(sizeof(T) <= 8);
    static StableIValue from(T value) { return static_cast<StableIValue>(static_cast<int64_t>(value)); }
    static T to(StableIValue cell) { return static_cast<T>(cell); }
};
template <>
struct Encoding<double> : Bytes<double> {};
template <>
struct Encoding<float> {
    static StableIValue from(float value) { return Bytes<double>::from(value); }
    static float to(StableIValue cell) { return static_cast<float>(Bytes<double>::to(cell)); }
};
template <>
struct Encoding<bool> {
    static StableIValue from(bool value) { return value; }
    static bool to(StableIValue cell) { return (cell & 0xff) != 0; }
};
template <>
struct Encoding<ScalarType> {
    static StableIValue from(ScalarType t) { return static_cast<StableIValue>(t); }
    static ScalarType to(StableIValue cell) { return static_cast<ScalarType>(static_cast<int32_t>(cell)); }
};
template <>
struct Encoding<Layout> {
    static StableIValue from(Layout l) { return static_cast<StableIValue>(layout_number(static_cast<int32_t>(l))); }
    static Layout to(StableIValue cell) { return static_cast<Layout>(layout_number(static_cast<int32_t>(cell))); }
};
template <>
struct Encoding<MemoryFormat> {
    static StableIValue from(MemoryFormat f) { return static_cast<StableIValue>(f); }
    static MemoryFormat to(StableIValue cell) { return static_cast<MemoryFormat>(static_cast<int32_t>(cell)); }
};
template <>
struct Encoding<DeviceType> {
    static StableIValue from(DeviceType t) { return static_cast<StableIValue>(t); }
    static DeviceType to(StableIValue cell) { return static_cast<DeviceType>(static_cast<int32_t>(cell)); }
};
template <>
struct Encoding<Device> {
    static StableIValue from(const Device& d) {
        return static_cast<uint64_t>(static_cast<int32_t>(d.type())) << 32 | static_cast<uint32_t>(d.index());
    }
    static Device to(StableIValue cell) {
        return Device(static_cast<DeviceType>(static_cast<int32_t>(cell >> 32)), static_cast<int32_t>(cell));
    }
};
template <>
struct Encoding<std::nullopt_t> {
    static StableIValue from(std::nullopt_t) { return 0; }
};

template <>
struct Encoding<AtenTensorHandle> : Bytes<AtenTensorHandle> {};
template <>
struct Encoding<Tensor> {
    static StableIValue from(const Tensor& t) {  // a handle more
        AtenTensorHandle other;
        STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(t.get(), &other));
        return Bytes<AtenTensorHandle>::from(other);
    }
    static Tensor to(StableIValue cell) { return Tensor(Bytes<AtenTensorHandle>::to(cell)); }
};
#if MINDTORCH_STABLE_SINCE(13)
template <>
struct Encoding<Generator> {
    static StableIValue from(const Generator& g) {
        AtenGeneratorHandle other;
        STABLE_TORCH_ERROR_CODE_CHECK(torch_new_generator_handle(g.get(), &other));
        return Bytes<AtenGeneratorHandle>::from(other);
    }
    static Generator to(StableIValue cell) { return Generator(Bytes<AtenGeneratorHandle>::to(cell)); }
};
#endif

// A cell of its own, made and freed as every version does.
template <class T>
struct Encoding<std::optional<T>> {
    static StableIValue from(const std::optional<T>& value) {
        if (!value) return 0;
        auto cell = std::make_unique<StableIValue>(detail::from(*value));
        return Bytes<StableIValue*>::from(cell.release());
    }
    static std::optional<T> to(StableIValue cell) {
        if (!cell) return std::nullopt;
        std::unique_ptr<StableIValue> inner(Bytes<StableIValue*>::to(cell));
        return detail::to<T>(*inner);
    }
};

template <>
struct Encoding<std::string_view> {
    static StableIValue from(std::string_view text) {
        StringHandle h;
        STABLE_TORCH_ERROR_CODE_CHECK(torch_new_string_handle(text.data(), text.size(), &h));
        return Bytes<StringHandle>::from(h);
    }
};
template <>
struct Encoding<std::string> {
    static StableIValue from(const std::string& text) { return Encoding<std::string_view>::from(text); }
    static std::string to(StableIValue cell) {
        const std::unique_ptr<std::remove_pointer_t<StringHandle>, void (*)(StringHandle)> h(
            Bytes<StringHandle>::to(cell), [](StringHandle s) { (void)torch_delete_string(s); });
        size_t length;
        const char* text;
        STABLE_TORCH_ERROR_CODE_CHECK(torch_string_length(h.get(), &length));
        STABLE_TORCH_ERROR_CODE_CHECK(torch_string_c_str(h.get(), &text));
        return std::string(text, length);
    }
};
template <>
struct Encoding<const char*> {
    static StableIValue from(const char* text) { return Encoding<std::string_view>::from(text); }
};
template <size_t N>
struct Encoding<char[N]> : Encoding<const char*> {};

class OwnList {
  public:
    explicit OwnList(StableListHandle h) : h_(h) {}
    OwnList(const OwnList&) = delete;
    OwnList& operator=(const OwnList&) = delete;
    ~OwnList() {
        if (h_) (void)torch_delete_list(h_);
    }
    StableListHandle get() const { return h_; }
    StableListHandle release() { return std::exchange(h_, nullptr); }

  private:
    StableListHandle h_;
};
template <class T>
struct Encoding<headeronly::HeaderOnlyArrayRef<T>> {
    static StableIValue from(headeronly::HeaderOnlyArrayRef<T> items) {
        StableListHandle made;
        STABLE_TORCH_ERROR_CODE_CHECK(torch_new_list_reserve_size(items.size(), &made));
        OwnList list(made);
        for (const T& item : items)
            STABLE_TORCH_ERROR_CODE_CHECK(torch_list_push_back(list.get(), detail::from<T>(item)));
        return Bytes<StableListHandle>::from(list.release());
    }
};
template <class T>
struct Encoding<std::vector<T>> {
    static StableIValue from(const std::vector<T>& items) {
        StableListHandle made;
        STABLE_TORCH_ERROR_CODE_CHECK(torch_new_list_reserve_size(items.size(), &made));
        OwnList list(made);
        for (const auto& item : items)
            STABLE_TORCH_ERROR_CODE_CHECK(torch_list_push_back(list.get(), detail::from<T>(item)));
        return Bytes<StableListHandle>::from(list.release());
    }
    static std::vector<T> to(StableIValue cell) {
        OwnList list(Bytes<StableListHandle>::to(cell));
        size_t n;
        STABLE_TORCH_ERROR_CODE_CHECK(torch_list_size(list.get(), &n));
        std::vector<T> items;
        items.reserve(n);
        for (size_t i = 0; i < n; i++) {
            StableIValue item;
            STABLE_TORCH_ERROR_CODE_CHECK(torch_list_get_item(list.get(), i, &item));
            items.push_back(detail::to<T>(item));
        }
        return items;
    }
};

}  // namespace torch::stable::detail

// Libraries that were written for PyTorch 2.9 say these two without a namespace.
using torch::stable::detail::from;
using torch::stable::detail::to;

#pragma GCC visibility pop
