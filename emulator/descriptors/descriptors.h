// Descriptors and executors, as libnnopbase and the operators see them.
#pragma once

#include "../runtime/emulator.h"

namespace emu {

constexpr int kMaxRank = 8;

// A tensor as an operator reads it: a view of device memory.
struct View {
    aclDataType dtype = ACL_DT_UNDEFINED;
    int rank = 0;
    int64_t sizes[kMaxRank] = {}, strides[kMaxRank] = {};
    int64_t offset = 0;
    int64_t storage = 0;  // elements that the storage is said to have
    const char* base = nullptr;
    // Of FRACTAL_NZ, else 0: columns of a block, and the sizes of the matrices that lie in blocks of 16 such rows.
    // Offset and strides are those that the elements would have in rows.
    int64_t block = 0, rows = 0, columns = 0;

    int64_t numel() const {
        int64_t n = 1;
        for (int i = 0; i < rank; i++) n *= sizes[i];
        return n;
    }
};
EMU_SHARED size_t itemsize(aclDataType t);  // 0 for what is not supported
EMU_SHARED const char* dtype_name(aclDataType t);

// Where an element of a FRACTAL_NZ tensor lies that would be the `at`-th in rows: blocks one below the other, then
// those of the next columns.
inline int64_t place_in_blocks(const View& v, int64_t at) {
    int64_t matrix = v.rows * v.columns, row = at % matrix / v.columns, column = at % v.columns;
    int64_t high = (v.rows + 15) / 16, wide = (v.columns + v.block - 1) / v.block;
    return ((at / matrix * wide + column / v.block) * high * 16 + row) * v.block + column % v.block;
}

// What is wrong with a tensor's memory, "" if nothing.
EMU_SHARED std::string memory_problem(const View& v, std::pair<const void*, size_t>* range);

EMU_SHARED bool is_live(const void* descriptor);

}  // namespace emu

struct aclTensor {
    emu::View view;
    aclFormat format;
    int64_t storage_dims[emu::kMaxRank];
    int storage_rank;
    int64_t actual[emu::kMaxRank];  // data-dependent operators state the real sizes here when they have run
    int actual_rank = -1;
};
struct aclScalar {
    aclDataType dtype;
    double real = 0, imaginary = 0;
    int64_t integer = 0;
    bool is_integer() const {
        return dtype != ACL_FLOAT && dtype != ACL_DOUBLE && dtype != ACL_FLOAT16 && dtype != ACL_BF16 &&
               dtype != ACL_FLOAT8_E5M2 && dtype != ACL_FLOAT8_E4M3FN && dtype != ACL_FLOAT8_E8M0;
    }
    double as_double() const { return is_integer() ? static_cast<double>(integer) : real; }
    int64_t as_int() const { return is_integer() ? integer : static_cast<int64_t>(real); }
};
struct aclIntArray {
    std::vector<int64_t> values;
};
struct aclFloatArray {
    std::vector<float> values;
};
struct aclBoolArray {
    std::vector<bool> values;
};
struct aclTensorList {
    std::vector<aclTensor*> values;
};
struct aclScalarList {
    std::vector<aclScalar*> values;
};
struct aclOpExecutor {
    const char* op;
    std::vector<std::pair<const void*, size_t>> memory;
    std::function<void()> run;  // throws std::string
    uint64_t workspace = 0;
    bool repeatable = false;
};

namespace emu {
EMU_SHARED aclOpExecutor* new_executor(const char* op);
EMU_SHARED aclOpExecutor* nothing();  // the executor of every operator where operators do nothing
// The second phase of every operator. Ends the executor's life unless it is repeatable.
EMU_SHARED aclnnStatus launch(const char* function, void* workspace, uint64_t size, aclOpExecutor* executor,
                              aclrtStream stream);
}  // namespace emu
