// The hooks of the backward engine: of tensors, and before and after a node.
#pragma once

#include "autograd.h"

namespace mt {

PyObject* referent(PyObject* weak);  // what a weak reference stands for: a new reference; null if it is gone
void retain_grad(Tensor& t);         // no leaf: backward writes its gradient to .grad
// A tensor that was written to gets another node: hooks stay with the old one, which stands for the value that they
// were put on; what retains the gradient goes with the tensor.
void move_retained(Tensor& t, Node* old, Node* fresh, uint32_t nr);

// Hooks see the gradients in `grads` and may replace them by others of the same type, device and size.
void run_tensor_hooks(Node* n, Gradients& grads);  // of the node's outputs as tensors, then those that retain_grad
void run_pre_hooks(Node* n, Gradients& grads);
void run_post_hooks(Node* n, const Gradients& grads, Gradients& out);  // `out`: what the node computed from `grads`

}  // namespace mt
