// torch::save and torch::load of tensors, modules and optimizers; pickles of values, which torch.load of Python reads.
#pragma once

#include <mindtorch/nn/module.h>

namespace torch {
namespace serialize {

inline OutputArchive& operator<<(OutputArchive& archive, const at::Tensor& tensor) {
    archive.write("0", tensor);
    return archive;
}
inline InputArchive& operator>>(InputArchive& archive, at::Tensor& tensor) {
    archive.read("0", tensor);
    return archive;
}

template <class M, class = std::enable_if_t<std::is_base_of_v<nn::Module, M>>>
OutputArchive& operator<<(OutputArchive& archive, const std::shared_ptr<M>& module) {
    TORCH_CHECK(module != nullptr, "Cannot serialize empty module");
    module->save(archive);
    return archive;
}
template <class M, class = std::enable_if_t<std::is_base_of_v<nn::Module, M>>>
InputArchive& operator>>(InputArchive& archive, const std::shared_ptr<M>& module) {
    TORCH_CHECK(module != nullptr, "Cannot deserialize empty module");
    module->load(archive);
    return archive;
}

}  // namespace serialize

// Anything that an archive takes with <<: tensors, modules and their holders, optimizers. `to`: a path or a stream.
template <class Value, class... To>
void save(const Value& value, To&&... to) {
    serialize::OutputArchive archive;
    archive << value;
    archive.save_to(std::forward<To>(to)...);
}
template <class... To>
void save(const std::vector<at::Tensor>& tensors, To&&... to) {
    serialize::OutputArchive archive;
    for (size_t i = 0; i < tensors.size(); i++) archive.write(std::to_string(i), tensors[i]);
    archive.save_to(std::forward<To>(to)...);
}
// `from`: a path or a stream, and a device.
template <class Value, class... From>
void load(Value& value, From&&... from) {
    serialize::InputArchive archive;
    archive.load_from(std::forward<From>(from)...);
    archive >> value;
}
template <class... From>
void load(std::vector<at::Tensor>& tensors, From&&... from) {
    serialize::InputArchive archive;
    archive.load_from(std::forward<From>(from)...);
    at::Tensor read;
    for (size_t i = 0; archive.try_read(std::to_string(i), read); i++) tensors.push_back(read);
}

// The bytes of a file as torch.save writes it, with one value.
inline std::vector<char> pickle_save(const c10::IValue& value) {
    const mindtorch::Packed packed = mindtorch::pack(value);
    const mt_value text = mindtorch::call_python("mindtorch_v2.utils._cpp_archive", "pickle_text", {packed.v});
    const std::string bytes = mindtorch::bytes_of(mindtorch::taken(text).toStringRef());
    return std::vector<char>(bytes.begin(), bytes.end());
}
inline c10::IValue pickle_load(const std::vector<char>& bytes) {
    const std::string letters = mindtorch::text_of({bytes.data(), bytes.size()});
    return mindtorch::taken(
        mindtorch::call_python("mindtorch_v2.utils._cpp_archive", "value_of_pickle", {mindtorch::arg(letters)}));
}

namespace jit {
using torch::pickle_load;
using torch::pickle_save;
}  // namespace jit
}  // namespace torch
