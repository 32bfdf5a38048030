"""Embeddings with a weight that is rounded as it will be when it is quantized."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.qat.modules._base import check_float, needed
from mindtorch_v2.nn import functional as F

__all__ = ["Embedding", "EmbeddingBag"]


def _check_scheme(qconfig: Any, word: str) -> None:
    scheme = qconfig.weight().qscheme
    if scheme != torch.per_channel_affine_float_qparams:
        raise AssertionError(
            f"{word} weights requires a qscheme of torch.per_channel_affine_float_qparams Got {scheme}"
        )


def _check(cls: Any, mod: Any, word: str) -> None:
    text = f" qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}"
    check_float(mod, type(mod) is cls._FLOAT_MODULE, text)
    _check_scheme(mod.qconfig, word)


class Embedding(nn.Embedding):
    """`torch.nn.Embedding` whose weight is rounded by `qconfig.weight`.

    >>> qconfig = torch.ao.quantization.default_embedding_qat_qconfig
    >>> torch.ao.nn.qat.Embedding(4, 3, qconfig=qconfig)(torch.tensor([0, 2])).shape
    torch.Size([2, 3])
    """

    _FLOAT_MODULE = nn.Embedding

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
        device: Any = None,
        dtype: Any = None,
        qconfig: Any = None,
    ) -> None:
        where = {"device": device, "dtype": dtype}
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            **where,
        )
        _check_scheme(needed(qconfig), "Embedding")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight(factory_kwargs=where)

    def forward(self, input: Any) -> Any:
        """Rows of the rounded weight."""
        return F.embedding(
            input,
            self.weight_fake_quant(self.weight),
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module that takes the place of a float one, with its weight."""
        _check(cls, mod, "Embedding")
        return cls(
            mod.num_embeddings,
            mod.embedding_dim,
            mod.padding_idx,
            mod.max_norm,
            mod.norm_type,
            mod.scale_grad_by_freq,
            mod.sparse,
            mod.weight,
            qconfig=mod.qconfig,
        )

    def to_float(self) -> Any:
        """A float module with this weight."""
        made = nn.Embedding(
            self.num_embeddings,
            self.embedding_dim,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
            None,
        )
        made.weight = nn.Parameter(self.weight.detach())
        made.train(self.training)
        return made


class EmbeddingBag(nn.EmbeddingBag):
    """`torch.nn.EmbeddingBag` whose weight is rounded by `qconfig.weight`.

    >>> qconfig = torch.ao.quantization.default_embedding_qat_qconfig
    >>> torch.ao.nn.qat.EmbeddingBag(4, 3, qconfig=qconfig)(torch.tensor([[0, 2]])).shape
    torch.Size([1, 3])
    """

    _FLOAT_MODULE = nn.EmbeddingBag

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        where = {"device": device, "dtype": dtype}
        super().__init__(
            num_embeddings,
            embedding_dim,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            _weight,
            include_last_offset,
            padding_idx,
            **where,
        )
        _check_scheme(needed(qconfig), "Embedding Bag")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight(factory_kwargs=where)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """The results of bags of rows of the rounded weight."""
        return F.embedding_bag(
            input,
            self.weight_fake_quant(self.weight),
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module that takes the place of a float one, with its weight."""
        _check(cls, mod, "Embedding Bag")
        return cls(
            mod.num_embeddings,
            mod.embedding_dim,
            mod.max_norm,
            mod.norm_type,
            mod.scale_grad_by_freq,
            mod.mode,
            mod.sparse,
            mod.weight,
            mod.include_last_offset,
            mod.padding_idx,
            qconfig=mod.qconfig,
        )

    def to_float(self) -> Any:
        """A float module with this weight."""
        made = nn.EmbeddingBag(
            self.num_embeddings,
            self.embedding_dim,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            None,
            self.include_last_offset,
            self.padding_idx,
        )
        made.weight = nn.Parameter(self.weight.detach())
        made.train(self.training)
        return made
