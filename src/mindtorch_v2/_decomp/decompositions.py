"""Decompositions of operators that have kernels of their own."""

import mindtorch_v2 as torch
from mindtorch_v2._decomp._registry import register_decomposition

aten = torch.ops.aten

__all__ = []


@register_decomposition(aten.silu.default)
def silu(self):
    return self * torch.sigmoid(self)


@register_decomposition(aten.linear.default)
def linear(input, weight, bias=None):
    product = torch.matmul(input, weight.t())
    return product if bias is None else product + bias


@register_decomposition(aten.addmm.default)
def addmm(self, mat1, mat2, *, beta=1, alpha=1):
    product = torch.mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    return product + (self if beta == 1 else self * beta)


@register_decomposition(aten._softmax.default)
def softmax(x, dim, half_to_float):
    x = x.float() if half_to_float else x
    shifted = torch.exp(x - torch.amax(x, dim, keepdim=True))
    return shifted / shifted.sum(dim, keepdim=True)


@register_decomposition(aten._log_softmax.default)
def log_softmax(x, dim, half_to_float):
    x = x.float() if half_to_float else x
    shifted = x - torch.amax(x, dim, keepdim=True)
    return shifted - torch.log(torch.exp(shifted).sum(dim, keepdim=True))


@register_decomposition(aten.native_layer_norm.default)
def native_layer_norm(input, normalized_shape, weight, bias, eps) -> tuple:
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    mean = input.mean(dims, keepdim=True)
    rstd = torch.rsqrt(input.var(dims, correction=0, keepdim=True) + eps)
    out = (input - mean) * rstd
    out = out if weight is None else out * weight
    return out if bias is None else out + bias, mean, rstd
