"""Convolutions of quantized tensors."""

from __future__ import annotations

import itertools
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.modules.utils import WeightedQuantizedModule, _quantize_weight, weight_of
from mindtorch_v2.nn import functional

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING = {"zeros", "reflect"}


def _tuple(value: Any, dims: int) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims


class _ConvNd(WeightedQuantizedModule):
    """A convolution of quantized tensors (quint8), with an 8-bit weight."""

    _dims: int
    _transposed = False
    _FLOAT_MODULE: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self._start(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode)

    def _start(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in _PADDING:
            raise ValueError(f"'padding_mode' {padding_mode} is not supported by quantized convolution")
        if self._dims == 3 and padding_mode == "reflect":
            raise AssertionError("Conv3d does not support reflection padding")
        n = self._dims
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = _tuple(kernel_size, n), _tuple(stride, n)
        self.padding: Any = padding if isinstance(padding, str) else _tuple(padding, n)
        self.dilation, self.output_padding = _tuple(dilation, n), _tuple(output_padding, n)
        self.transposed, self.groups, self.padding_mode = self._transposed, groups, padding_mode
        two = (in_channels, out_channels // groups) if self._transposed else (out_channels, in_channels // groups)
        weight = torch._empty_affine_quantized([*two, *self.kernel_size], scale=1, zero_point=0, dtype=torch.qint8)
        self.set_weight_bias(weight, torch.zeros(out_channels, dtype=torch.float) if bias else None)
        self.scale, self.zero_point = 1.0, 0

    def _get_name(self) -> str:
        return f"QuantizedConv{'Transpose' if self._transposed else ''}{self._dims}d"

    def extra_repr(self) -> str:
        """Channels and geometry, and the range of results."""
        n = self._dims
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"scale={self.scale}, zero_point={self.zero_point}"
        )
        for name, usual in (("padding", (0,) * n), ("dilation", (1,) * n), ("output_padding", (0,) * n), ("groups", 1)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text + (", bias=False" if self.bias() is None else "")

    @property
    def _operators(self) -> str:
        return f"conv{'_transpose' if self._transposed else ''}{self._dims}d"

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take a weight (qint8) and a bias."""
        n = self._dims
        padding = self.padding if self.padding_mode == "zeros" else (0,) * n
        outer = (list(self.output_padding),) if self._transposed else ()
        pack = getattr(torch.ops.quantized, f"{self._operators}_prepack")
        self._packed_params = pack(w, b, list(self.stride), list(padding), *outer, list(self.dilation), self.groups)

    def _weight_bias(self) -> tuple[Any, Any]:
        return self._packed_params.unpack()

    def weight(self) -> Any:
        """The quantized weight."""
        return self._weight_bias()[0]

    def bias(self) -> Any:
        """The bias, or None."""
        return self._weight_bias()[1]

    def _input(self, input: Any) -> Any:
        if input.dim() != self._dims + 2:
            shape = ", ".join(("N", "C", *"DHW"[-self._dims :]) if self._dims > 1 else "NCL")
            raise ValueError(f"Input shape must be `({shape})`!")
        if self.padding_mode == "zeros":
            return input
        twice = tuple(itertools.chain.from_iterable((p, p) for p in reversed(self.padding)))
        return functional.pad(input, twice, mode=self.padding_mode)

    def forward(self, input: Any) -> Any:
        """The convolution of a tensor of quint8."""
        run = getattr(torch.ops.quantized, self._operators)
        return run(self._input(input), self._packed_params, self.scale, self.zero_point)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        weight, bias = self._weight_bias()
        destination[prefix + "weight"], destination[prefix + "bias"] = weight, bias
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        own = [prefix + name for name in ("weight", "bias", "scale", "zero_point")]
        missing = [name for name in own if name not in state_dict]
        missing_keys.extend(missing)
        if not missing:
            weight, bias, scale, zero_point = (state_dict.pop(name) for name in own)
            self.set_weight_bias(weight, bias)
            self.scale, self.zero_point = float(scale), int(zero_point)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    @classmethod
    def _empty_of(cls, mod: Any) -> Self:
        """A module of the geometry of `mod`."""
        outer = (mod.output_padding,) if cls._transposed else ()
        last = (mod.groups, mod.bias is not None, mod.dilation) if cls._transposed else ()
        rest = last or (mod.dilation, mod.groups, mod.bias is not None)
        kind: Any = cls
        made: Self = kind(
            mod.in_channels,
            mod.out_channels,
            mod.kernel_size,
            mod.stride,
            mod.padding,
            *outer,
            *rest,
            mod.padding_mode,
        )
        return made

    @classmethod
    def get_qconv(cls, mod: Any, activation_post_process: Any, weight_post_process: Any = None) -> Self:
        """The quantized form of a convolution, given the observers of its results and of its weight."""
        if weight_post_process is None:
            weight_post_process = mod.qconfig.weight()
        weight_post_process(mod.weight)
        if weight_post_process.dtype != torch.qint8:
            raise AssertionError("Weight observer must have a dtype of qint8")
        made = cls._empty_of(mod)
        made.set_weight_bias(_quantize_weight(mod.weight.float(), weight_post_process), mod.bias)
        if activation_post_process is None or activation_post_process.dtype == torch.float:
            return made
        scale, zero_point = activation_post_process.calculate_qparams()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of a convolution that was observed, or trained with fake quantizers."""
        if hasattr(mod, "weight_fake_quant"):
            if hasattr(mod, "bn"):
                _fold_batch_norm(mod)
            if not hasattr(mod, "activation_post_process"):
                raise AssertionError("Input QAT module must have observer attached")
            return cls.get_qconv(mod, mod.activation_post_process, mod.weight_fake_quant)
        fused = _fused(cls, mod)
        if fused is not None:
            post = mod.activation_post_process
            return cls.get_qconv(fused, post, getattr(mod, "weight_fake_quant", None))
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(
                f" nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__} but got: {type(mod)}"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined.")
        return cls.get_qconv(mod, getattr(mod, "activation_post_process", None))

    @classmethod
    def from_reference(cls, ref_qconv: Any, output_scale: Any, output_zero_point: Any) -> Self:
        """The module of a reference module."""
        made = cls._empty_of(ref_qconv)
        made.set_weight_bias(ref_qconv.get_quantized_weight(), ref_qconv.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made


def _fold_batch_norm(mod: Any) -> None:
    mod.weight, mod.bias = nn.utils.fusion.fuse_conv_bn_weights(
        mod.weight,
        mod.bias,
        mod.bn.running_mean,
        mod.bn.running_var,
        mod.bn.eps,
        mod.bn.weight,
        mod.bn.bias,
    )


def _fused(cls: type, mod: Any) -> Any:
    """The convolution within a fused module of floats; None for others."""
    intrinsic = torch.ao.nn.intrinsic
    names = (f"ConvReLU{cls._dims}d", f"ConvAdd{cls._dims}d", f"ConvAddReLU{cls._dims}d")  # type: ignore[attr-defined]  # (its subclasses say)
    kinds = tuple(getattr(intrinsic, name) for name in names if hasattr(intrinsic, name))
    return mod[0] if isinstance(mod, kinds) else None


class _ConvTransposeNd(_ConvNd):
    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._start(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of a transposed convolution that was observed."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f" nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined.")
        observer = weight_of(mod)
        if observer.dtype != torch.qint8:
            raise AssertionError("Weight observer must have a dtype of qint8")
        made = cls._empty_of(mod)
        made.set_weight_bias(_quantize_weight(mod.weight.float(), observer), mod.bias)
        post = getattr(mod, "activation_post_process", None)
        if post is not None and post.dtype != torch.float:
            scale, zero_point = post.calculate_qparams()
            made.scale, made.zero_point = float(scale), int(zero_point)
        return made


class Conv1d(_ConvNd):
    """A convolution of one dimension of quantized tensors; arguments as of `torch.nn.Conv1d`.

    >>> layer = torch.ao.nn.quantized.Conv1d(2, 3, 3)
    >>> layer(torch.quantize_per_tensor(torch.ones(1, 2, 8), 0.1, 0, torch.quint8)).shape
    torch.Size([1, 3, 6])
    """

    _dims, _FLOAT_MODULE = 1, nn.Conv1d


class Conv2d(_ConvNd):
    """A convolution of two dimensions of quantized tensors; arguments as of `torch.nn.Conv2d`.

    >>> layer = torch.ao.nn.quantized.Conv2d(2, 3, 3, padding=1)
    >>> layer(torch.quantize_per_tensor(torch.ones(1, 2, 8, 8), 0.1, 0, torch.quint8)).shape
    torch.Size([1, 3, 8, 8])
    """

    _dims, _FLOAT_MODULE = 2, nn.Conv2d


class Conv3d(_ConvNd):
    """A convolution of three dimensions of quantized tensors; arguments as of `torch.nn.Conv3d`.

    >>> layer = torch.ao.nn.quantized.Conv3d(2, 3, 1)
    >>> layer(torch.quantize_per_tensor(torch.ones(1, 2, 2, 2, 2), 0.1, 0, torch.quint8)).shape
    torch.Size([1, 3, 2, 2, 2])
    """

    _dims, _FLOAT_MODULE = 3, nn.Conv3d


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution of one dimension of quantized tensors; arguments as of `torch.nn.ConvTranspose1d`.

    >>> layer = torch.ao.nn.quantized.ConvTranspose1d(2, 3, 3)
    >>> layer(torch.quantize_per_tensor(torch.ones(1, 2, 8), 0.1, 0, torch.quint8)).shape
    torch.Size([1, 3, 10])
    """

    _dims, _FLOAT_MODULE = 1, nn.ConvTranspose1d


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution of two dimensions of quantized tensors; arguments as of `torch.nn.ConvTranspose2d`.

    >>> layer = torch.ao.nn.quantized.ConvTranspose2d(2, 3, 2, stride=2)
    >>> layer(torch.quantize_per_tensor(torch.ones(1, 2, 4, 4), 0.1, 0, torch.quint8)).shape
    torch.Size([1, 3, 8, 8])
    """

    _dims, _FLOAT_MODULE = 2, nn.ConvTranspose2d


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution of three dimensions of quantized tensors; arguments as of `torch.nn.ConvTranspose3d`.

    >>> layer = torch.ao.nn.quantized.ConvTranspose3d(2, 3, 1)
    >>> layer(torch.quantize_per_tensor(torch.ones(1, 2, 2, 2, 2), 0.1, 0, torch.quint8)).shape
    torch.Size([1, 3, 2, 2, 2])
    """

    _dims, _FLOAT_MODULE = 3, nn.ConvTranspose3d
