// A loaded graph, with memory for its values.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "operators.h"

namespace emu::ge {

// A kernel of the program for operators of a type that the emulator has none for. It enqueues its work on the stream
// and returns 0. `op` is the serialized OpDef; an output with the name of an input has that input's address.
using Callback = int (*)(const char* op, uint64_t size, void* const* inputs, void* const* outputs, aclrtStream stream);

struct Instance {
    Graph graph;
    std::map<std::pair<int, int>, void*> values;   // (operator, output) -> device memory
    std::map<std::pair<int, int>, void*> scratch;  // (operator, number) -> what kernels need beside
    std::vector<void*> bound;                      // the inputs of the run that is being enqueued
    std::mutex running;

    ~Instance();
    void load();  // throws std::string
    void* address(Edge e) const;
    void* buffer(std::map<std::pair<int, int>, void*>& kept, std::pair<int, int> key, size_t bytes);
    void run(const std::vector<void*>& inputs, const std::vector<void*>& outputs, aclrtStream stream);
};

Callback callback_of(const std::string& type);

}  // namespace emu::ge
