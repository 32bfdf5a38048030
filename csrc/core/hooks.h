// The hooks of the backward engine: of tensors, and before and after a node.
#pragma once

#include "autograd.h"

namespace mt {

// Hooks see the gradients in `grads` and may replace them by others of the same type, device and size.
void run_tensor_hooks(Node* n, Gradients& grads);  // of the node's outputs as tensors, then those that retain_grad
void run_pre_hooks(Node* n, Gradients& grads);
void run_post_hooks(Node* n, const Gradients& grads, Gradients& out);  // `out`: what the node computed from `grads`

}  // namespace mt
