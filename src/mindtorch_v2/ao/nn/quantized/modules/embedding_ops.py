"""Embeddings with rows of eight or four bits."""

from __future__ import annotations

from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.modules.utils import _hide_packed_params_repr, _quantize_weight

__all__ = ["Embedding", "EmbeddingBag", "EmbeddingPackedParams"]


class EmbeddingPackedParams(nn.Module):
    """The rows of an embedding, packed.

    >>> torch.ao.nn.quantized.modules.embedding_ops.EmbeddingPackedParams(3, 4)._weight().shape
    torch.Size([3, 4])
    """

    _version = 1

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: torch.dtype = torch.quint8) -> None:
        super().__init__()
        self.dtype = dtype
        if dtype not in (torch.quint8, torch.quint4x2):
            raise NotImplementedError(
                f"Unsupported dtype on quantized embedding! Supports quint8 and quint4x2. Got dtype: {dtype}"
            )
        weight = torch._empty_per_channel_affine_quantized(
            [num_embeddings, embedding_dim],
            scales=torch.ones(num_embeddings, dtype=torch.float),
            zero_points=torch.zeros(num_embeddings, dtype=torch.float),
            axis=0,
            dtype=dtype,
        )
        self.set_weight(weight)

    def set_weight(self, weight: Any) -> None:
        """Pack rows."""
        self._packed_weight = torch.ops.quantized.embedding_bag_prepack(weight)

    def _weight(self) -> Any:
        return torch.ops.quantized.embedding_bag_unpack(self._packed_weight)

    def forward(self, x: Any) -> Any:
        """`x` itself."""
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

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
        own = [prefix + "dtype", prefix + "_packed_weight"]
        missing = [name for name in own if name not in state_dict]
        missing_keys.extend(missing)
        if not missing:
            self.dtype = state_dict.pop(own[0])
            self.set_weight(state_dict.pop(own[1]))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def __repr__(self) -> str:
        return repr(self._weight())


class Embedding(nn.Module):
    """An embedding whose rows are quantized, each with a scale and a floating zero point.

    >>> torch.ao.nn.quantized.Embedding(3, 4)(torch.tensor([0, 2])).shape
    torch.Size([2, 4])
    """

    _version = 1

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        dtype: torch.dtype = torch.quint8,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.dtype = num_embeddings, embedding_dim, dtype
        if _weight is None:
            scales = torch.ones(num_embeddings, dtype=torch.float)
            zero_points = torch.zeros(num_embeddings, dtype=torch.float)
            _weight = torch._empty_per_channel_affine_quantized(
                [num_embeddings, embedding_dim], scales=scales, zero_points=zero_points, axis=0, dtype=dtype
            )
            if dtype == torch.quint8:
                _weight.fill_(0.0)
        elif list(_weight.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        if _weight.dtype not in (torch.quint8, torch.quint4x2):
            raise NotImplementedError(f"Unsupported dtype of weight on quantized embedding: {_weight.dtype}")
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        self._packed_params.set_weight(_weight)

    def forward(self, indices: Any) -> Any:
        """The rows of indices, in float32."""
        look = (
            torch.ops.quantized.embedding_4bit if self.dtype == torch.quint4x2 else torch.ops.quantized.embedding_byte
        )
        return look(self._packed_params._packed_weight, indices)

    def _get_name(self) -> str:
        return "QuantizedEmbedding"

    def __repr__(self) -> str:
        return _hide_packed_params_repr(self, EmbeddingPackedParams)

    def extra_repr(self) -> str:
        """Sizes, and how rows are quantized."""
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
            f"dtype={self._packed_params.dtype}, qscheme={self.weight().qscheme()}"
        )

    def set_weight(self, w: Any) -> None:
        """Take quantized rows."""
        self._packed_params.set_weight(w)

    def weight(self) -> Any:
        """The quantized rows."""
        return self._packed_params._weight()

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of an embedding, by its `qconfig` or its fake quantizer."""
        observer = _rows_observer(mod, "Embedding", nn.Embedding)
        made = cls(mod.num_embeddings, mod.embedding_dim, dtype=observer.dtype)
        made.set_weight(_quantize_weight(mod.weight.float(), observer))
        return made

    @classmethod
    def from_reference(cls, ref_embedding: Any) -> Self:
        """The module of a reference module."""
        made = cls(
            ref_embedding.num_embeddings,
            ref_embedding.embedding_dim,
            ref_embedding.padding_idx,
            ref_embedding.max_norm,
            ref_embedding.norm_type,
            ref_embedding.scale_grad_by_freq,
            ref_embedding.sparse,
            ref_embedding.get_quantized_weight(),
            ref_embedding.weight_dtype,
        )
        return made


def _rows_observer(mod: Any, name: str, kind: type) -> Any:
    """The observer of a module's rows, which has seen them."""
    if hasattr(mod, "weight_fake_quant"):
        observer = mod.weight_fake_quant
    else:
        if type(mod) is not kind:
            raise AssertionError(f"nnq.{name}.from_float only works for {kind.__name__}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Embedding input float module must have qconfig defined")
        if mod.qconfig is not None and mod.qconfig.weight is not None:
            observer = mod.qconfig.weight()
        else:
            configs: Any = torch.ao.quantization
            observer = configs.float_qparams_weight_only_qconfig.weight()
    dtype = observer.dtype
    float_qparams = observer.qscheme == torch.per_channel_affine_float_qparams
    if not float_qparams:
        raise AssertionError(f"{name} quantization is only supported with float_qparams_weight_only_qconfig.")
    if dtype not in (torch.quint8, torch.quint4x2):
        raise AssertionError(f"The only supported dtype for nnq.{name} is torch.quint8 and torch.quint4x2, got {dtype}")
    observer(mod.weight)
    return observer


class EmbeddingBag(Embedding):
    """Sums of rows that are quantized, each with a scale and a floating zero point.

    >>> torch.ao.nn.quantized.EmbeddingBag(3, 4)(torch.tensor([0, 2]), torch.tensor([0])).shape
    torch.Size([1, 4])
    """

    _version = 1

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "sum",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        dtype: torch.dtype = torch.quint8,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode, self.pruned_weights, self.include_last_offset = mode, False, include_last_offset

    def forward(
        self, indices: Any, offsets: Any = None, per_sample_weights: Any = None, compressed_indices_mapping: Any = None
    ) -> Any:
        """The sums of the rows of bags, in float32."""
        four = self.dtype == torch.quint4x2
        look = torch.ops.quantized.embedding_bag_4bit if four else torch.ops.quantized.embedding_bag_byte
        return look(
            self._packed_params._packed_weight,
            indices,
            offsets,
            False,
            0,
            self.pruned_weights,
            per_sample_weights,
            compressed_indices_mapping,
            self.include_last_offset,
        )

    def _get_name(self) -> str:
        return "QuantizedEmbeddingBag"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of an embedding bag, by its `qconfig` or its fake quantizer."""
        observer = _rows_observer(mod, "EmbeddingBag", nn.EmbeddingBag)
        made = cls(
            mod.num_embeddings,
            mod.embedding_dim,
            max_norm=mod.max_norm,
            norm_type=mod.norm_type,
            mode=mod.mode,
            include_last_offset=mod.include_last_offset,
            dtype=observer.dtype,
        )
        made.set_weight(_quantize_weight(mod.weight.float(), observer))
        return made

    @classmethod
    def from_reference(cls, ref_embedding_bag: Any) -> Self:
        """The module of a reference module."""
        return cls(
            ref_embedding_bag.num_embeddings,
            ref_embedding_bag.embedding_dim,
            ref_embedding_bag.max_norm,
            ref_embedding_bag.norm_type,
            ref_embedding_bag.scale_grad_by_freq,
            ref_embedding_bag.mode,
            ref_embedding_bag.sparse,
            ref_embedding_bag.get_quantized_weight(),
            ref_embedding_bag.include_last_offset,
            ref_embedding_bag.weight_dtype,
        )
