// What an emulated GE operator is written with:
//
//     GE(Add) { RUN(Add, c.in("x1"), c.in("x2"), c.number(int64_t(1)), c.out("y")); }
//
// It calls operators of ACLNN on the stream that the graph runs on; all its sizes are known.
#pragma once

#include "model.h"

namespace emu::ge {

using T = const aclTensor*;
using O = aclTensor*;

struct Instance;  // a loaded graph; execute.cpp

class Call {
  public:
    Call(Instance& instance, int index, aclrtStream stream);
    ~Call();
    Call(const Call&) = delete;

    const Op& op;
    aclrtStream stream;

    // Tensors by the names of the operator's prototype. Null for an optional input that is left out; throws if it must
    // be there.
    T in(const char* name) const;
    T optional(const char* name) const;
    O out(const char* name) const;
    O out(size_t i) const;
    size_t count() const { return op.outputs.size(); }
    const Desc& desc_in(const char* name) const;
    // The tensors of a dynamic input: x0, x1, ...
    std::vector<T> dynamic(const std::string& name) const;
    const Attr& attr(const char* name) const;
    // The numbers of a tensor of integers: of a constant, or read back, which waits for the stream.
    Shape host(const char* name) const;
    double host_real(const char* name) const;

    // Arguments that live until the call is over.
    aclScalar* number(double v);
    aclScalar* number(int64_t v);
    aclIntArray* ints(const Shape& v);
    aclBoolArray* flags(std::initializer_list<bool> v);
    aclTensorList* list(const std::vector<T>& v);
    // Another view of a tensor's memory.
    O view(T of, const Shape& sizes, const Shape& strides, int64_t offset = 0);
    O reshaped(T of, const Shape& sizes);
    // Memory of its own, from run to run.
    O scratch(aclDataType dtype, const Shape& sizes);

    void check(int code, const char* function) const;
    void launch(aclnnStatus (*second)(void*, uint64_t, aclOpExecutor*, aclrtStream), uint64_t size, aclOpExecutor* e,
                const char* function);

  private:
    Instance& instance_;
    int index_;
    int buffers_ = 0;
    std::vector<O> tensors_;
    std::vector<aclScalar*> scalars_;
    std::vector<aclIntArray*> arrays_;
    std::vector<aclBoolArray*> flags_;
    std::vector<aclTensorList*> lists_;
};

Shape sizes_of(T t);
Shape strides_of(T t);

using Kernel = void (*)(Call&);
Kernel kernel_of(const std::string& type);  // null for none
struct Registered {
    Registered(const char* type, Kernel kernel);
};

#define GE(Type)                                                            \
    static void ge_##Type(Call& c);                                         \
    static const ::emu::ge::Registered registered_##Type(#Type, ge_##Type); \
    static void ge_##Type(Call& c)

#define RUN(Op, ...)                                                                        \
    do {                                                                                    \
        uint64_t size_ = 0;                                                                 \
        aclOpExecutor* executor_ = nullptr;                                                 \
        c.check(aclnn##Op##GetWorkspaceSize(__VA_ARGS__, &size_, &executor_), "aclnn" #Op); \
        c.launch(aclnn##Op, size_, executor_, "aclnn" #Op);                                 \
    } while (0)

// Declares an operator of libopapi with the types of its parameters.
#define USES(Op, ...)                                                                                       \
    EMU_API aclnnStatus aclnn##Op##GetWorkspaceSize(__VA_ARGS__, uint64_t* size, aclOpExecutor** executor); \
    EMU_API aclnnStatus aclnn##Op(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream);

}  // namespace emu::ge

EMU_API aclScalar* aclCreateScalar(void* value, aclDataType dtype);
EMU_API aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t n);
EMU_API aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t n);
EMU_API aclTensorList* aclCreateTensorList(const aclTensor* const* values, uint64_t n);
EMU_API aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t rank, aclDataType dtype, const int64_t* strides,
                                   int64_t offset, aclFormat format, const int64_t* storage, uint64_t storage_rank,
                                   void* data);
EMU_API aclnnStatus aclSetRawTensorAddr(aclTensor* t, void* address);
EMU_API aclnnStatus aclDestroyScalar(const aclScalar*);
EMU_API aclnnStatus aclDestroyIntArray(const aclIntArray*);
EMU_API aclnnStatus aclDestroyBoolArray(const aclBoolArray*);
EMU_API aclnnStatus aclDestroyTensorList(const aclTensorList*);
EMU_API aclnnStatus aclDestroyTensor(const aclTensor*);
EMU_API aclError aclrtMalloc(void** p, size_t n, aclrtMemMallocPolicy policy);
EMU_API aclError aclrtFree(void* p);
EMU_API aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t n, aclrtMemcpyKind kind);
EMU_API aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t n, aclrtMemcpyKind kind,
                                  aclrtStream stream);
EMU_API aclError aclrtSynchronizeStream(aclrtStream stream);
