// A fused program: loops of several kernels, run block by block over one space of elements (cpu/fused.cpp).
#pragma once

#include "loops.h"
#include "small_vector.h"

namespace mt {

constexpr int kMostStepValues = 12;

struct FusedValue {
    DType dtype = DType::Undefined;
    Reach reach = Reach::All;
};

// One loop, and the values that it writes and reads; without a loop it converts (dtypes differ) or repeats (a Row's
// elements over their rows).
struct FusedStep {
    const RecordedLoop* loop = nullptr;
    std::vector<int> values;
};

struct FusedNumber {
    int value = 0;
    Value number;
};

struct FusedOutput {
    int value = 0;
    Dims sizes, strides;
};

// Values are numbered: the inputs first. The space has `sizes`, walked in `order` (of dimensions, the outermost first);
// of a program of rows the last `row_dims` dimensions are a row.
struct FusedProgram {
    Dims sizes, order;
    int64_t row_dims = 0;
    int inputs = 0;
    std::vector<FusedValue> values;
    std::vector<FusedNumber> numbers;
    std::vector<FusedStep> steps;
    std::vector<FusedOutput> outputs;
    std::shared_ptr<void> prepared;  // the machine's own
};

// Inputs have the dtypes that the program says, and sizes that broadcast to its space; outputs are as it says.
struct FusedMachine {
    void (*prepare)(FusedProgram& program);
    void (*run)(const FusedProgram& program, Tensor* const* inputs, Tensor* const* outputs);
};
void set_fused_machine(const FusedMachine& machine);
const FusedMachine& fused_machine();  // raises if no kernels are loaded

}  // namespace mt
