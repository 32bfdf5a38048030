"""Layers whose parameters lie in oneDNN's layout, for inference: `to_mkldnn(model)`."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F

__all__ = [
    "MkldnnBatchNorm",
    "MkldnnConv1d",
    "MkldnnConv2d",
    "MkldnnConv3d",
    "MkldnnLinear",
    "MkldnnPrelu",
    "to_mkldnn",
]


class _Layer(torch.nn.Module):
    """A layer with tensors of a dense one in oneDNN's layout; what it gives has the layout of what it is given."""

    def __init__(self, dense: torch.nn.Module, names: str, dtype: torch.dtype) -> None:
        super().__init__()
        self.training = False
        for name in names.split():
            value = getattr(dense, name)
            self.register_buffer(name, None if value is None else value.detach().to_mkldnn(dtype))

    def __getstate__(self) -> dict[str, Any]:
        dense = {name: None if value is None else value.to_dense() for name, value in self._buffers.items()}
        return {**self.__dict__, "_buffers": dense}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._buffers = {
            name: None if value is None else value.to_mkldnn() for name, value in state["_buffers"].items()
        }

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self._apply_to(x if x.is_mkldnn else x.to_mkldnn())
        return made if x.is_mkldnn else made.to_dense()

    def _apply_to(self, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class MkldnnLinear(_Layer):
    """A `torch.nn.Linear` in oneDNN's layout.

    >>> dense = torch.nn.Linear(2, 3)
    >>> x = torch.ones(1, 2)
    >>> torch.allclose(MkldnnLinear(dense, torch.float)(x), dense(x))
    True
    """

    def __init__(self, dense_module: torch.nn.Module, dtype: torch.dtype) -> None:
        super().__init__(dense_module, "weight bias", dtype)

    def _apply_to(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight, self.bias)


class _Convolution(_Layer):
    def __init__(self, dense_module: Any, dtype: torch.dtype) -> None:
        super().__init__(dense_module, "weight bias", dtype)
        for name in ("stride", "padding", "dilation", "groups"):
            setattr(self, name, getattr(dense_module, name))

    def _apply_to(self, x: torch.Tensor) -> torch.Tensor:
        convolution = (F.conv1d, F.conv2d, F.conv3d)[len(self.stride) - 1]
        return convolution(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class MkldnnConv1d(_Convolution):
    """A `torch.nn.Conv1d` in oneDNN's layout.

    >>> dense, x = torch.nn.Conv1d(1, 2, 2), torch.ones(1, 1, 3)
    >>> torch.allclose(MkldnnConv1d(dense, torch.float)(x), dense(x))
    True
    """


class MkldnnConv2d(_Convolution):
    """A `torch.nn.Conv2d` in oneDNN's layout.

    >>> dense, x = torch.nn.Conv2d(1, 2, 2), torch.ones(1, 1, 3, 3)
    >>> torch.allclose(MkldnnConv2d(dense, torch.float)(x), dense(x))
    True
    """


class MkldnnConv3d(_Convolution):
    """A `torch.nn.Conv3d` in oneDNN's layout.

    >>> dense, x = torch.nn.Conv3d(1, 2, 2), torch.ones(1, 1, 3, 3, 3)
    >>> torch.allclose(MkldnnConv3d(dense, torch.float)(x), dense(x))
    True
    """


class MkldnnBatchNorm(_Layer):
    """A batch norm of images or volumes in oneDNN's layout.

    AssertionError for one in training mode, and one without statistics and weights of its own.

    >>> dense, x = torch.nn.BatchNorm2d(1).eval(), torch.ones(1, 1, 2, 2)
    >>> torch.allclose(MkldnnBatchNorm(dense)(x), dense(x))
    True
    """

    def __init__(self, dense_module: Any) -> None:
        for holds, text in (
            (not dense_module.training, "Only support eval mode batchnorm for mkldnn path now"),
            (dense_module.track_running_stats, "Only support track_running_stats=True for mkldnn path now"),
            (dense_module.affine, "Only support affine=True for mkldnn path now"),
        ):
            if not holds:
                raise AssertionError(text)
        super().__init__(dense_module, "weight bias running_mean running_var", torch.float)
        self.exponential_average_factor = 0.0 if dense_module.momentum is None else dense_module.momentum
        self.eps = dense_module.eps

    def _apply_to(self, x: torch.Tensor) -> torch.Tensor:
        statistics = (self.running_mean, self.running_var, self.weight, self.bias)
        return F.batch_norm(x, *statistics, False, self.exponential_average_factor, self.eps)


class MkldnnPrelu(_Layer):
    """A `torch.nn.PReLU` in oneDNN's layout.

    >>> MkldnnPrelu(torch.nn.PReLU(), torch.float)(torch.tensor([-4.0, 1.0]))
    tensor([-1.,  1.])
    """

    def __init__(self, dense_module: torch.nn.Module, dtype: torch.dtype) -> None:
        super().__init__(dense_module, "weight", dtype)

    def _apply_to(self, x: torch.Tensor) -> torch.Tensor:
        return F.prelu(x, self.weight)


_LAYERS: dict[type, Any] = {
    torch.nn.Linear: MkldnnLinear,
    torch.nn.Conv1d: MkldnnConv1d,
    torch.nn.Conv2d: MkldnnConv2d,
    torch.nn.Conv3d: MkldnnConv3d,
    torch.nn.BatchNorm2d: lambda module, dtype: MkldnnBatchNorm(module),
    torch.nn.BatchNorm3d: lambda module, dtype: MkldnnBatchNorm(module),
    torch.nn.PReLU: MkldnnPrelu,
}


def to_mkldnn(module: torch.nn.Module, dtype: torch.dtype = torch.float) -> torch.nn.Module:
    """The module with the layers above in the place of dense ones, whose parameters have `dtype`; other modules are changed themselves.

    AssertionError for dtypes but float, bfloat16 and half.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).eval()
    >>> [type(each).__name__ for each in to_mkldnn(model)]
    ['MkldnnLinear', 'ReLU']
    """
    if dtype not in (torch.float, torch.bfloat16, torch.half):
        raise AssertionError("MKLDNN only support float, bfloat16, and half path now")
    made = _LAYERS.get(type(module))
    if made is not None:
        return made(module, dtype)
    for name, child in module.named_children():
        setattr(module, name, to_mkldnn(child, dtype))
    return module
