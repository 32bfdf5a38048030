// Objects of libraries in C++ that describe a tensor, beside its shape and memory. Whoever calls holds Python's lock.
#pragma once

#include "tensor.h"

namespace mt {

constexpr uint8_t kDescribed = 64;  // of Tensor::flags

struct TensorDescription {
    const char* kind;  // stays; libraries that say the same of it understand each other's objects
    void* object;
    void (*release)(void*);  // called with the object when the tensor goes, or is described anew
    void* (*copy)(void*);    // the object of a copy that shares the memory: detach
};

void describe(Tensor& t, const TensorDescription& d);     // instead of what it had of that kind
void* description_of(const Tensor& t, const char* kind);  // null if there is none of that kind
void copy_descriptions(const Tensor& from, Tensor& to);
void forget_descriptions(Tensor& t);

}  // namespace mt
