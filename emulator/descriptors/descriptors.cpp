// libnnopbase: descriptors of tensors, numbers and arrays, and the life of executors.
#include "descriptors.h"

#include <cstring>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace emu {
namespace {

// Every descriptor alive. Ends are kept for a while, so that a second use of one is not a new one's first.
struct Registry {
    std::mutex mutex;
    std::unordered_map<const void*, Counted> live;
    std::deque<std::function<void()>> ended;
};
Registry& registry() {
    static Registry* r = new Registry;
    return *r;
}

template <class D>
D* begin(D* d, Counted kind) {
    Registry& r = registry();
    std::lock_guard<std::mutex> lock(r.mutex);
    r.live[d] = kind;
    count(kind, 1);
    return d;
}
template <class D>
aclnnStatus end(const D* d, Counted kind, const char* function) {
    if (!d) return kSuccess;
    Registry& r = registry();
    std::lock_guard<std::mutex> lock(r.mutex);
    auto found = r.live.find(d);
    if (found == r.live.end() || found->second != kind)
        return misused(kOpParamInvalid, text(function, ": ", static_cast<const void*>(d),
                                             " is no descriptor of its kind, or was destroyed before"));
    r.live.erase(found);
    count(kind, -1);
    r.ended.push_back([d] { delete d; });
    if (r.ended.size() > 4096) {
        r.ended.front()();
        r.ended.pop_front();
    }
    return kSuccess;
}
bool is_kind(const void* d, Counted kind) {
    Registry& r = registry();
    std::lock_guard<std::mutex> lock(r.mutex);
    auto found = r.live.find(d);
    return found != r.live.end() && found->second == kind;
}

// Fills in what FRACTAL_NZ says of a tensor; "" or what is wrong.
std::string in_blocks(View& v, const int64_t* storage, int storage_rank) {
    if (v.rank < 2) return text("FRACTAL_NZ has at least 2 dimensions, not ", v.rank);
    int64_t down = v.strides[v.rank - 2], along = v.strides[v.rank - 1];
    bool turned = down == 1 && along != 1;  // the matrices are transposed
    v.rows = v.sizes[v.rank - (turned ? 1 : 2)];
    v.columns = v.sizes[v.rank - (turned ? 2 : 1)];
    v.block = 32 / static_cast<int64_t>(itemsize(v.dtype));
    if ((v.rows > 1 && (turned ? along : down) != v.columns) || (v.columns > 1 && (turned ? down : along) != 1))
        return "a FRACTAL_NZ tensor is a view of a part of its matrices";
    int64_t matrices = 1;
    for (int i = v.rank - 3; i >= 0; i--) {
        if (v.sizes[i] > 1 && v.strides[i] != matrices * v.rows * v.columns)
            return "a FRACTAL_NZ tensor is a view of a part of its matrices";
        matrices *= v.sizes[i];
    }
    if (v.offset) return "a FRACTAL_NZ tensor with an offset";
    const int64_t expected[4] = {(v.columns + v.block - 1) / v.block, (v.rows + 15) / 16, 16, v.block};
    bool same = storage_rank >= 4;
    for (int i = 0; same && i < 4; i++) same = storage[storage_rank - 4 + i] == expected[i];
    int64_t before = 1;
    for (int i = 0; i + 4 < storage_rank; i++) before *= storage[i];
    if (!same || before != matrices)
        return text("the storage dims of a FRACTAL_NZ tensor end in ", expected[0], ", ", expected[1], ", 16, ",
                    v.block);
    return "";
}

aclTensor* refuse(const std::string& why) {
    failed(kOpParamInvalid, "aclCreateTensor: " + why);
    return nullptr;
}

}  // namespace

size_t itemsize(aclDataType t) {
    switch (t) {
        case ACL_BOOL:
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_FLOAT8_E5M2:
        case ACL_FLOAT8_E4M3FN:
        case ACL_FLOAT8_E8M0:
            return 1;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16:
            return 2;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32:
            return 4;
        case ACL_DOUBLE:
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_COMPLEX64:
            return 8;
        case ACL_COMPLEX128:
            return 16;
        default:
            return 0;
    }
}
const char* dtype_name(aclDataType t) {
    switch (t) {
        case ACL_FLOAT:
            return "float";
        case ACL_FLOAT16:
            return "float16";
        case ACL_BF16:
            return "bfloat16";
        case ACL_FLOAT8_E5M2:
            return "float8_e5m2";
        case ACL_FLOAT8_E4M3FN:
            return "float8_e4m3fn";
        case ACL_FLOAT8_E8M0:
            return "float8_e8m0";
        case ACL_DOUBLE:
            return "double";
        case ACL_INT8:
            return "int8";
        case ACL_INT16:
            return "int16";
        case ACL_INT32:
            return "int32";
        case ACL_INT64:
            return "int64";
        case ACL_UINT8:
            return "uint8";
        case ACL_UINT16:
            return "uint16";
        case ACL_UINT32:
            return "uint32";
        case ACL_UINT64:
            return "uint64";
        case ACL_BOOL:
            return "bool";
        case ACL_COMPLEX64:
            return "complex64";
        case ACL_COMPLEX128:
            return "complex128";
        default:
            return "an unknown dtype";
    }
}

std::string memory_problem(const View& v, std::pair<const void*, size_t>* range) {
    *range = {nullptr, 0};
    int64_t first = v.offset, last = v.offset;
    for (int i = 0; i < v.rank; i++) {
        if (v.sizes[i] == 0) return "";
        (v.strides[i] < 0 ? first : last) += (v.sizes[i] - 1) * v.strides[i];
    }
    int64_t size = static_cast<int64_t>(itemsize(v.dtype));
    if (!size) return text("dtype ", int(v.dtype), " is not supported");
    if (!v.base) return "the address is null";
    if (v.block) first = 0, last = v.storage - 1;  // a tensor in blocks is all of its storage
    if (first < 0 || last >= v.storage)
        return text("its view reaches element ", first < 0 ? first : last, " of a storage of ", v.storage);
    if (reinterpret_cast<uintptr_t>(v.base) % 32 != 0)
        return text("address ", static_cast<const void*>(v.base), " is not aligned to 32 bytes");
    *range = {v.base + first * size, static_cast<size_t>((last - first + 1) * size)};
    return range_problem(range->first, range->second);
}

bool is_live(const void* d) {
    Registry& r = registry();
    std::lock_guard<std::mutex> lock(r.mutex);
    return r.live.count(d) != 0;
}

aclOpExecutor* new_executor(const char* op) {
    aclOpExecutor* e = new aclOpExecutor;
    e->op = op;
    return begin(e, kExecutors);
}

aclOpExecutor* nothing() {
    static aclOpExecutor e;
    return &e;
}

aclnnStatus launch(const char* function, void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) {
    if (settings().noop) return kSuccess;
    if (!executor) return failed(kParamNull, text(function, ": the executor is null"));
    if (!is_kind(executor, kExecutors))
        return misused(kParamNull, text(function, ": the executor ", executor,
                                        " was used up by an earlier second phase, or never was one"));
    // Whatever happens, this use is the last one.
    struct Spend {
        aclOpExecutor* e;
        ~Spend() {
            if (!e->repeatable) end(e, kExecutors, "");
        }
    } spend{executor};
    if (int code = injected(function)) return code;
    if (std::strcmp(executor->op, function) != 0)
        return misused(kOpParamInvalid, text(function, ": the executor was made for ", executor->op));
    if (executor->workspace > 0 && !workspace)
        return failed(kParamNull,
                      text(function, ": a workspace of ", executor->workspace, " bytes is needed, none was given"));
    if (size < executor->workspace)
        return misused(kOpParamInvalid,
                       text(function, ": the workspace has ", size, " bytes, ", executor->workspace, " are needed"));
    if (executor->workspace) {
        std::string problem = range_problem(workspace, executor->workspace);
        if (!problem.empty()) return misused(kOpParamInvalid, text(function, ": the workspace: ", problem));
    }
    Work w;
    w.name = function;
    w.memory = executor->memory;
    if (executor->workspace) w.memory.push_back({workspace, executor->workspace});
    w.run = [run = executor->run, workspace, n = executor->workspace]() -> std::string {
        char* scratch = n ? backing(workspace) : nullptr;
        if (n) std::memset(scratch, 0x5a, n);
        try {
            run();
        } catch (const std::string& problem) {
            return problem;
        }
        // Nobody else may write to a workspace while its operator runs.
        for (uint64_t i = 0; i < n; i++)
            if (scratch[i] != 0x5a) {
                misused(0, text("a workspace of ", n, " bytes at ", workspace, " was written by other work meanwhile"));
                return "its workspace was written by other work meanwhile";
            }
        return "";
    };
    int code = enqueue(stream, std::move(w));
    return code ? kRuntimeError : kSuccess;
}

}  // namespace emu

using namespace emu;

EMU_API aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t rank, aclDataType dtype, const int64_t* strides,
                                   int64_t offset, aclFormat format, const int64_t* storage, uint64_t storage_rank,
                                   void* data) {
    if (injected("aclCreateTensor")) return nullptr;
    if (rank > kMaxRank || storage_rank > kMaxRank) return refuse(text("rank ", rank, " is above ", kMaxRank));
    if (!itemsize(dtype)) return refuse(text("dtype ", int(dtype), " is not known"));
    if ((rank && (!sizes || !strides)) || (storage_rank && !storage)) return refuse("sizes or strides are null");
    auto* t = new aclTensor;
    View& v = t->view;
    v.dtype = dtype;
    v.rank = static_cast<int>(rank);
    for (uint64_t i = 0; i < rank; i++) {
        v.sizes[i] = sizes[i];
        v.strides[i] = strides[i];
        if (sizes[i] < 0) {
            delete t;
            return refuse(text("a size of ", sizes[i]));
        }
    }
    v.offset = offset;
    v.storage = 1;
    for (uint64_t i = 0; i < storage_rank; i++) v.storage *= t->storage_dims[i] = storage[i];
    t->storage_rank = static_cast<int>(storage_rank);
    v.base = static_cast<const char*>(data);
    t->format = format;
    if (format == ACL_FORMAT_FRACTAL_NZ) {
        std::string problem = in_blocks(v, t->storage_dims, t->storage_rank);
        if (!problem.empty()) {
            delete t;
            return refuse(problem);
        }
    }
    return begin(t, kTensors);
}
EMU_API aclnnStatus aclDestroyTensor(const aclTensor* t) { return end(t, kTensors, "aclDestroyTensor"); }

EMU_API aclScalar* aclCreateScalar(void* value, aclDataType dtype) {
    if (injected("aclCreateScalar")) return nullptr;
    if (!value) {
        failed(kOpParamInvalid, "aclCreateScalar: the value is null");
        return nullptr;
    }
    auto* s = new aclScalar;
    s->dtype = dtype;
    switch (dtype) {
        case ACL_FLOAT:
            s->real = *static_cast<float*>(value);
            break;
        case ACL_DOUBLE:
            s->real = *static_cast<double*>(value);
            break;
        case ACL_BOOL:
            s->integer = *static_cast<bool*>(value);
            break;
        case ACL_INT32:
            s->integer = *static_cast<int32_t*>(value);
            break;
        case ACL_INT64:
            s->integer = *static_cast<int64_t*>(value);
            break;
        default:
            delete s;
            failed(kOpParamInvalid, text("aclCreateScalar: ", dtype_name(dtype), " is not supported by the emulator"));
            return nullptr;
    }
    return begin(s, kScalars);
}
EMU_API aclnnStatus aclDestroyScalar(const aclScalar* s) { return end(s, kScalars, "aclDestroyScalar"); }

EMU_API aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t n) {
    if (injected("aclCreateIntArray")) return nullptr;
    return begin(new aclIntArray{std::vector<int64_t>(values, values + n)}, kArrays);
}
EMU_API aclFloatArray* aclCreateFloatArray(const float* values, uint64_t n) {
    if (injected("aclCreateFloatArray")) return nullptr;
    return begin(new aclFloatArray{std::vector<float>(values, values + n)}, kArrays);
}
EMU_API aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t n) {
    if (injected("aclCreateBoolArray")) return nullptr;
    return begin(new aclBoolArray{std::vector<bool>(values, values + n)}, kArrays);
}
EMU_API aclTensorList* aclCreateTensorList(const aclTensor* const* values, uint64_t n) {
    if (injected("aclCreateTensorList")) return nullptr;
    auto* list = new aclTensorList;
    for (uint64_t i = 0; i < n; i++) list->values.push_back(const_cast<aclTensor*>(values[i]));
    return begin(list, kLists);
}
EMU_API aclnnStatus aclDestroyIntArray(const aclIntArray* a) { return end(a, kArrays, "aclDestroyIntArray"); }
EMU_API aclnnStatus aclDestroyFloatArray(const aclFloatArray* a) { return end(a, kArrays, "aclDestroyFloatArray"); }
EMU_API aclnnStatus aclDestroyBoolArray(const aclBoolArray* a) { return end(a, kArrays, "aclDestroyBoolArray"); }
EMU_API aclnnStatus aclDestroyTensorList(const aclTensorList* list) {
    if (!list) return kSuccess;
    if (is_live(list))
        for (aclTensor* t : list->values)
            if (int code = end(t, kTensors, "aclDestroyTensorList")) return code;
    return end(list, kLists, "aclDestroyTensorList");
}

EMU_API aclnnStatus aclSetRawTensorAddr(aclTensor* t, void* address) {
    if (int code = injected("aclSetRawTensorAddr")) return code;
    if (!t) return failed(kParamNull, "aclSetRawTensorAddr: the tensor is null");
    if (!is_live(t)) return misused(kOpParamInvalid, "aclSetRawTensorAddr: the tensor was destroyed");
    t->view.base = static_cast<const char*>(address);
    t->actual_rank = -1;
    return kSuccess;
}
EMU_API aclnnStatus aclGetRawTensorAddr(const aclTensor* t, void** address) {
    if (!t || !address) return failed(kParamNull, "aclGetRawTensorAddr: an argument is null");
    *address = const_cast<char*>(t->view.base);
    return kSuccess;
}
// The sizes; of the output of a data-dependent operator, once it has run, those that it found. The caller frees them.
EMU_API aclnnStatus aclGetViewShape(const aclTensor* t, int64_t** sizes, uint64_t* rank) {
    if (int code = injected("aclGetViewShape")) return code;
    if (!t || !sizes || !rank) return failed(kParamNull, "aclGetViewShape: an argument is null");
    if (!is_live(t)) return misused(kOpParamInvalid, "aclGetViewShape: the tensor was destroyed");
    bool found = t->actual_rank >= 0;
    *rank = static_cast<uint64_t>(found ? t->actual_rank : t->view.rank);
    *sizes = new int64_t[*rank + 1];
    for (uint64_t i = 0; i < *rank; i++) (*sizes)[i] = found ? t->actual[i] : t->view.sizes[i];
    return kSuccess;
}
EMU_API aclnnStatus aclGetDataType(const aclTensor* t, aclDataType* dtype) {
    if (!t || !dtype) return failed(kParamNull, "aclGetDataType: an argument is null");
    *dtype = t->view.dtype;
    return kSuccess;
}

EMU_API aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* e) {
    if (int code = injected("aclSetAclOpExecutorRepeatable")) return code;
    if (!e) return failed(kInnerNull, "aclSetAclOpExecutorRepeatable: the executor is null");
    if (!is_live(e)) return misused(kInnerError, "aclSetAclOpExecutorRepeatable: the executor was used up");
    e->repeatable = true;
    return kSuccess;
}
EMU_API aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* e) {
    if (!e) return failed(kInnerNull, "aclDestroyAclOpExecutor: the executor is null");
    if (end(e, kExecutors, "aclDestroyAclOpExecutor"))
        return failed(kInnerError, "aclDestroyAclOpExecutor: the second phase has ended this executor's life already");
    return kSuccess;
}
EMU_API aclnnStatus aclnnInit(const char*) { return kSuccess; }
EMU_API aclnnStatus aclnnFinalize() { return kSuccess; }
