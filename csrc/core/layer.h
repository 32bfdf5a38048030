// A layer of a compiled graph: a product or a convolution with a weight that is packed once, and what follows it
// (cpu/layer.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "small_vector.h"
#include "tensor.h"

namespace mt {

// What is done with the sum before it is written: a function of it, or one of it and of a further operand of its sizes.
// The machine has names for them.
struct LayerStep {
    std::string name;
    double first = 0, second = 0;  // the function's numbers
    bool takes_operand = false;    // the machine tells when the layer is prepared
};

// The arguments of a call: the input, the weight, the bias where there is one, then of a norm the mean, the variance
// and
// (`affine`) its weight and bias, then the operands of the steps.
struct Layer {
    bool is_convolution = false;
    bool weight_is_transposed = false;  // of a product: its rows are the columns of the result
    bool has_bias = false, has_norm = false, is_affine = false;
    bool packs_lent = false;  // packs memory that others may write as well, such as NumPy
    double eps = 0;           // of the norm
    Dims stride, padding, dilation;
    int64_t groups = 1;
    std::vector<LayerStep> steps;
    std::shared_ptr<void> prepared;  // the machine's own

    int arguments() const {
        int n = 2 + has_bias + (has_norm ? 2 + 2 * is_affine : 0);
        for (const LayerStep& s : steps) n += s.takes_operand;
        return n;
    }
};

struct LayerMachine {
    std::vector<std::string> (*steps)();  // the names of those that it has
    void (*prepare)(Layer& layer);        // raises NotImplementedError for steps that it does not have
    TensorRef (*run)(const Layer& layer, Tensor* const* inputs);
};
void set_layer_machine(const LayerMachine& machine);
const LayerMachine* layer_machine();  // null if no kernels are loaded that have one

}  // namespace mt
