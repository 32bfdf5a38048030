"""GGUF files, as llama.cpp writes them: weights stay in their blocks of few bits, and are multiplied as they are.

The `gguf` package reads the file (`pip install gguf`). transformers' own `gguf_file=` works as well; it unpacks every weight.

>>> from mindtorch_v2.gguf import PackedLinear, PackedTensor
>>> data = torch.zeros(3, 34, dtype=torch.uint8)  # three rows of one block: a scale, then 32 numbers
>>> layer = PackedLinear(PackedTensor(data, "Q8_0"))
>>> layer(torch.ones(2, 32)).shape
torch.Size([2, 3])
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.serialization._gguf_header import check_header

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor

__all__ = ["FORMATS", "PackedEmbedding", "PackedLinear", "PackedTensor", "load_causal_lm", "read"]

FORMATS = ("Q8_0", "Q4_0", "Q4_K", "Q6_K")
"""The formats whose blocks are multiplied as they are. Other ones become float32 when a file is read."""


class PackedTensor:
    """A matrix of few bits: `data` has its rows of blocks (uint8), `format` is one of `FORMATS`.

    ValueError for another format, RuntimeError for rows that are no blocks of it.
    """

    def __init__(self, data: Tensor, format: str) -> None:
        self.data, self.format = data, format
        columns = torch.ops.mindtorch.packed_unpack(data[:0], format).shape[1]
        self.shape = torch.Size([data.shape[0], columns])

    def unpack(self) -> Tensor:
        """The matrix in float32."""
        return torch.ops.mindtorch.packed_unpack(self.data, self.format)

    def __repr__(self) -> str:
        return f"PackedTensor({self.format}, shape={tuple(self.shape)})"


class PackedLinear(nn.Module):
    """A linear layer whose weight stays packed: x (*, columns) in float32 or 16 bits gives (*, rows) in the same dtype.

    The weight is a buffer of uint8 and has no gradient.
    """

    def __init__(self, weight: PackedTensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.format = weight.format
        self.register_buffer("packed", weight.data)
        self.register_buffer("bias", bias)

    def forward(self, input: Tensor) -> Tensor:
        """x times the transpose of the weight, plus the bias."""
        result = torch.ops.mindtorch.packed_linear(input, self.packed, self.format)
        return result if self.bias is None else result + self.bias.to(result.dtype)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, format={self.format}, "
            f"bias={self.bias is not None}"
        )


class PackedEmbedding(nn.Module):
    """Rows of a packed matrix by their numbers: (*) of whole numbers gives (*, columns) in `dtype`.

    Only the rows that are asked for are unpacked. IndexError for a number that is none of a row. There is no gradient.

    >>> from mindtorch_v2.gguf import PackedEmbedding, PackedTensor
    >>> words = PackedEmbedding(PackedTensor(torch.zeros(3, 34, dtype=torch.uint8), "Q8_0"), torch.bfloat16)
    >>> words(torch.tensor([[2, 0]])).shape
    torch.Size([1, 2, 32])
    """

    def __init__(
        self, weight: PackedTensor, dtype: torch.dtype = torch.float32, padding_idx: int | None = None
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = weight.shape
        self.format, self.dtype, self.padding_idx = weight.format, dtype, padding_idx
        self.register_buffer("packed", weight.data)

    def forward(self, input: Tensor) -> Tensor:
        """The rows, one for each number of `input`."""
        rows = nn.functional.embedding(input.reshape(-1), self.packed)
        made = torch.ops.mindtorch.packed_unpack(rows, self.format).to(self.dtype)
        return made.reshape(*input.shape, self.embedding_dim)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, format={self.format}, dtype={self.dtype}"


def _reader(path: str | os.PathLike) -> Any:
    try:
        import gguf
    except ImportError:
        raise ImportError("reading GGUF files needs the package 'gguf': pip install gguf") from None
    try:
        check_header(path)
        return gguf.GGUFReader(os.fspath(path))
    except (ValueError, KeyError, IndexError, OverflowError, TypeError, MemoryError) as error:
        raise RuntimeError(f"{os.fspath(path)} is no GGUF file, or not a whole one: {error}") from error


def _tensor(found: Any) -> Tensor | PackedTensor:
    """A tensor of the file; its memory is the file's, mapped, unless it has to be unpacked."""
    import gguf

    kind = found.tensor_type.name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the memory is read-only: it is not written
        if kind in ("F32", "F16", "F64", "I8", "I16", "I32", "I64"):
            return torch.from_numpy(found.data)
        if kind == "BF16":
            return torch.from_numpy(found.data.view("uint8")).view(torch.bfloat16)
        if kind in FORMATS and found.data.ndim == 2:
            return PackedTensor(torch.from_numpy(found.data), kind)
    try:
        return torch.from_numpy(gguf.quants.dequantize(found.data, found.tensor_type))
    except ValueError as error:
        raise RuntimeError(f"the tensor '{found.name}' of a GGUF file is damaged: {error}") from error
    except NotImplementedError:
        raise NotImplementedError(
            f"the tensor '{found.name}' has the GGUF type {kind}, which neither this package nor 'gguf' can unpack"
        ) from None


def read(path: str | os.PathLike) -> dict[str, Tensor | PackedTensor]:
    """The tensors of a file by their names in it; matrices in one of `FORMATS` stay packed.

    Their memory is the file's, which is mapped: what is not used is not read. RuntimeError for a file that is no whole one,
    FileNotFoundError where there is none; NotImplementedError names a type that
    cannot be unpacked; ImportError if the package `gguf` is missing.
    """
    return {found.name: _tensor(found) for found in _reader(path).tensors}


def load_causal_lm(path: str | os.PathLike, dtype: torch.dtype = torch.float32) -> nn.Module:
    """A language model of transformers from a GGUF file, its linear layers and its table of words packed; the rest is of `dtype`.

    For the architectures that transformers reads GGUF files of. transformers must run on this package
    (`mindtorch_v2.as_torch()` before it is imported). ValueError where a file lacks a weight of the model.
    """
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import (
        TENSOR_PROCESSORS,
        TensorProcessor,
        get_gguf_hf_weights_map,
        load_gguf_checkpoint,
    )

    folder, name = os.path.split(os.fspath(path))
    config = AutoConfig.from_pretrained(folder or ".", gguf_file=name)
    settings = load_gguf_checkpoint(os.fspath(path), return_tensors=False)["config"]
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    processor = TENSOR_PROCESSORS.get(config.model_type, TensorProcessor)(config=settings)
    names = get_gguf_hf_weights_map(model, processor)
    for found in _reader(path).tensors:
        target = names.get(found.name)
        if target is not None:
            _place(model, target, _rearranged(found, processor), dtype)
    _tie(model)
    _fill_buffers(model, config)
    missing = [each for each, value in model.named_parameters() if value.is_meta]
    if missing:
        raise ValueError(f"{name} has no weights for {', '.join(missing[:4])}{' and others' if missing[4:] else ''}")
    return model.eval()


def _rearranged(found: Any, processor: Any) -> Tensor | PackedTensor:
    """A tensor as transformers has it: some files have rows in another order, which packed rows follow as they are."""
    import numpy

    value = _tensor(found)
    if isinstance(value, PackedTensor):
        rows = numpy.arange(value.shape[0], dtype=numpy.int64)[:, None]
        try:
            order = processor.process(rows, name=found.name).weights
        except (ValueError, IndexError, TypeError):
            order = None  # it does not move rows alone
        if order is not None and order.shape == rows.shape and (numpy.sort(order, 0) == rows).all():
            if (order == rows).all():
                return value
            return PackedTensor(value.data[torch.from_numpy(numpy.ascontiguousarray(order[:, 0]))], value.format)
        value = value.unpack()
    return torch.from_numpy(numpy.array(processor.process(value.float().numpy(), name=found.name).weights))


def _place(model: nn.Module, target: str, value: Tensor | PackedTensor, dtype: torch.dtype) -> None:
    """Put a tensor where the model has it."""
    owner_name, _, attribute = target.rpartition(".")
    owner = model.get_submodule(owner_name)
    if isinstance(value, PackedTensor):
        if isinstance(owner, nn.Linear) and attribute == "weight":
            above, _, own = owner_name.rpartition(".")
            bias = owner.bias
            setattr(model.get_submodule(above), own, PackedLinear(value, bias))
            return
        if type(owner) is nn.Embedding and owner is model.get_input_embeddings():
            model.set_input_embeddings(PackedEmbedding(value, dtype, owner.padding_idx))
            return
        value = value.unpack()
    if isinstance(owner, PackedLinear):
        owner.bias = value.to(dtype)
        return
    setattr(owner, attribute, nn.Parameter(value.to(dtype), requires_grad=False))


def _tie(model: nn.Module) -> None:
    """Weights that a file has once and a model twice; a packed table of words is the last layer's weight as it is."""
    words, last = model.get_input_embeddings(), model.get_output_embeddings()
    if not isinstance(words, PackedEmbedding):
        model.tie_weights()
    elif isinstance(last, nn.Linear) and last.weight.is_meta:
        model.set_output_embeddings(PackedLinear(PackedTensor(words.packed, words.format), last.bias))


def _fill_buffers(model: nn.Module, config: Any) -> None:
    """Buffers that no file has (frequencies of rotary embeddings): made anew by the modules' own classes."""
    for module in model.modules():
        if any(buffer is not None and buffer.is_meta for buffer in module._buffers.values()):
            fresh = type(module)(config)  # such modules take the configuration
            for name, buffer in fresh._buffers.items():
                module._buffers[name] = buffer
            for name, value in vars(fresh).items():
                if isinstance(value, torch.Tensor):
                    setattr(module, name, value)
