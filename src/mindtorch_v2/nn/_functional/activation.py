"""Activations. All take tensors of any shape and return the same shape, unless they say otherwise."""

import warnings

import mindtorch_v2 as torch
from mindtorch_v2._torch_function import hand_over_locals, overridden

from ._bind import op

celu_ = op("celu_")
elu_ = op("elu_")
gelu = op("gelu")
hardshrink = op("hardshrink")
hardtanh_ = op("hardtanh_")
leaky_relu_ = op("leaky_relu_")
logsigmoid = op("log_sigmoid")
prelu = op("prelu")
relu_ = op("relu_")
rrelu_ = op("rrelu_")
selu_ = op("selu_")
softplus = op("softplus")
softshrink = op("softshrink")
threshold_ = op("threshold_")


def _threshold(input, threshold, value, inplace=False):
    """`x` where `x > threshold`, else `value`."""
    if overridden(input):
        return hand_over_locals(_threshold, locals())
    if inplace:
        return torch.threshold_(input, threshold, value)
    return torch.threshold(input, threshold, value)


threshold = _threshold


def relu(input, inplace=False):
    """`max(0, x)`."""
    if overridden(input):
        return hand_over_locals(relu, locals())
    return torch.relu_(input) if inplace else torch.relu(input)


def glu(input, dim=-1):
    """`a * sigmoid(b)` with `a`, `b` the halves of the input along `dim`, which must be even."""
    if overridden(input):
        return hand_over_locals(glu, locals())
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return torch._C._nn.glu(input, dim)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """`x` clamped to [min_val, max_val]."""
    if overridden(input):
        return hand_over_locals(hardtanh, locals())
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return torch._C._nn.hardtanh_(input, min_val, max_val)
    return torch._C._nn.hardtanh(input, min_val, max_val)


def relu6(input, inplace=False):
    """`min(max(0, x), 6)`."""
    if overridden(input):
        return hand_over_locals(relu6, locals())
    return torch._C._nn.relu6_(input) if inplace else torch._C._nn.relu6(input)


def elu(input, alpha=1.0, inplace=False):
    """`x` where positive, else `alpha * (exp(x) - 1)`."""
    if overridden(input):
        return hand_over_locals(elu, locals())
    return torch._C._nn.elu_(input, alpha) if inplace else torch._C._nn.elu(input, alpha)


def selu(input, inplace=False):
    """ELU with the constants that make activations normalize themselves."""
    if overridden(input):
        return hand_over_locals(selu, locals())
    return torch.selu_(input) if inplace else torch.selu(input)


def celu(input, alpha=1.0, inplace=False):
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`."""
    if overridden(input):
        return hand_over_locals(celu, locals())
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """`x` where positive, else `negative_slope * x`."""
    if overridden(input):
        return hand_over_locals(leaky_relu, locals())
    if inplace:
        return torch._C._nn.leaky_relu_(input, negative_slope)
    return torch._C._nn.leaky_relu(input, negative_slope)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """`x` where positive, else `x` times a slope drawn from [lower, upper] (their mean if not `training`)."""
    if overridden(input):
        return hand_over_locals(rrelu, locals())
    if inplace:
        return torch.rrelu_(input, lower, upper, training)
    return torch.rrelu(input, lower, upper, training)


def tanhshrink(input):
    """`x - tanh(x)`."""
    if overridden(input):
        return hand_over_locals(tanhshrink, locals())
    return input - input.tanh()


def softsign(input):
    """`x / (1 + |x|)`."""
    if overridden(input):
        return hand_over_locals(softsign, locals())
    return input / (input.abs() + 1)


def tanh(input):
    """The hyperbolic tangent."""
    return input.tanh()


def sigmoid(input):
    """`1 / (1 + exp(-x))`."""
    return input.sigmoid()


def hardsigmoid(input, inplace=False):
    """`clamp(x / 6 + 1/2, 0, 1)`."""
    if overridden(input):
        return hand_over_locals(hardsigmoid, locals())
    return torch._C._nn.hardsigmoid_(input) if inplace else torch._C._nn.hardsigmoid(input)


def silu(input, inplace=False):
    """`x * sigmoid(x)`."""
    if overridden(input):
        return hand_over_locals(silu, locals())
    return torch._C._nn.silu_(input) if inplace else torch._C._nn.silu(input)


def mish(input, inplace=False):
    """`x * tanh(softplus(x))`."""
    if overridden(input):
        return hand_over_locals(mish, locals())
    return torch._C._nn.mish_(input) if inplace else torch._C._nn.mish(input)


def hardswish(input, inplace=False):
    """`x * clamp(x + 3, 0, 6) / 6`."""
    if overridden(input):
        return hand_over_locals(hardswish, locals())
    return torch._C._nn.hardswish_(input) if inplace else torch._C._nn.hardswish(input)


def _get_softmax_dim(name, ndim, stacklevel):
    """The dimension that old programs leave out."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """`softmax(-x)` along `dim`; computed in `dtype` if given."""
    if overridden(input):
        return hand_over_locals(softmin, locals())
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """`exp(x) / sum(exp(x))` along `dim`; computed in `dtype` if given."""
    if overridden(input):
        return hand_over_locals(softmax, locals())
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """`log(softmax(x))` along `dim`; computed in `dtype` if given."""
    if overridden(input):
        return hand_over_locals(log_softmax, locals())
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Samples of the Gumbel-softmax distribution (Jang et al. 2016); with `hard` one-hot, with soft gradients."""
    if overridden(logits):
        return hand_over_locals(gumbel_softmax, locals())
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    gumbels = -torch.empty_like(logits, memory_format=torch.contiguous_format).exponential_().log()
    y_soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return y_soft
    index = y_soft.max(dim, keepdim=True)[1]
    y_hard = torch.zeros_like(logits, memory_format=torch.contiguous_format).scatter_(dim, index, 1.0)
    # The value is the hard sample's, the gradient the soft one's.
    return y_hard - y_soft.detach() + y_soft
