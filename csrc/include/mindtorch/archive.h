// torch::serialize archives: named values as text, which this library reads again.
#pragma once

#include <mindtorch/ivalue.h>

#include <fstream>
#include <iterator>

namespace mindtorch MINDTORCH_HIDDEN {

// What call_python gave, which is the caller's.
inline c10::IValue taken(const mt_value& value) {
    const Object object =
        Object::steal(value.tag == MT_OBJECT || value.tag == MT_GENERATOR ? value.as.object : nullptr);
    const at::Tensor tensor = value.tag == MT_TENSOR ? at::Tensor::steal(value.as.tensor) : at::Tensor();
    return from<c10::IValue>(value);
}

// Bytes cross the boundary as a text, each as the character of its number.
inline std::string text_of(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char byte : bytes) {
        const auto letter = static_cast<unsigned char>(byte);
        if (letter >= 0x80) text.push_back(static_cast<char>(0xc0 | (letter >> 6)));
        text.push_back(static_cast<char>(letter < 0x80 ? letter : 0x80 | (letter & 0x3f)));
    }
    return text;
}
inline std::string bytes_of(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    for (size_t i = 0; i < text.size(); i++) {
        const auto letter = static_cast<unsigned char>(text[i]);
        bytes.push_back(static_cast<char>(
            letter < 0x80 ? letter : ((letter & 3) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3f)));
    }
    return bytes;
}

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace torch {
namespace serialize {

class OutputArchive final {
  public:
    void write(const std::string& key, const c10::IValue& value) { values_.insert_or_assign(key, value); }
    void write(const std::string& key, const at::Tensor& tensor, bool /*is_buffer*/ = false) {
        values_.insert_or_assign(key, c10::IValue(tensor));
    }
    void save_to(std::ostream& stream) {
        const mindtorch::Packed packed = mindtorch::pack(values_);
        const mt_value text = mindtorch::call_python("mindtorch_v2.utils._cpp_archive", "text_of", {packed.v});
        stream << mindtorch::taken(text).toStringRef();
    }
    void save_to(const std::string& path) {
        std::ofstream file(path);
        save_to(file);
        TORCH_CHECK(file.good(), "the archive could not be written to ", path);
    }

  private:
    c10::Dict<std::string, c10::IValue> values_;
};

class InputArchive final {
  public:
    void load_from(std::istream& stream, std::optional<at::Device> device = std::nullopt) {
        const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
        const mt_value read = mindtorch::call_python("mindtorch_v2.utils._cpp_archive", "values_of",
                                                     {mindtorch::arg(text), mindtorch::arg(device)});
        const mindtorch::Object held = mindtorch::Object::steal(read.as.object);
        values_ = mindtorch::from<c10::Dict<std::string, c10::IValue>>(mindtorch::object_value(held));
    }
    void load_from(const std::string& path, std::optional<at::Device> device = std::nullopt) {
        std::ifstream file(path);
        TORCH_CHECK(file.good(), "there is no archive at ", path);
        load_from(file, device);
    }
    bool try_read(const std::string& key, c10::IValue& value) {
        if (!values_.contains(key)) return false;
        value = values_.at(key);
        return true;
    }
    bool try_read(const std::string& key, at::Tensor& tensor, bool /*is_buffer*/ = false) {
        c10::IValue value;
        if (!try_read(key, value)) return false;
        tensor = value.toTensor();
        return true;
    }
    void read(const std::string& key, c10::IValue& value) {
        if (!try_read(key, value))  // no c10::Error, as PyTorch's is none either
            throw std::runtime_error("the archive does not have a field with name '" + key + "'");
    }
    void read(const std::string& key, at::Tensor& tensor, bool is_buffer = false) {
        TORCH_CHECK(try_read(key, tensor, is_buffer), "No such serialized tensor '", key, "'");
    }
    std::vector<std::string> keys() const {
        std::vector<std::string> all;
        for (const auto& e : values_) all.push_back(e.key());
        return all;
    }

  private:
    c10::Dict<std::string, c10::IValue> values_;
};

}  // namespace serialize
}  // namespace torch
