"""`PackedSequence`: sequences of different lengths, one step after another."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import mindtorch_v2 as torch

__all__ = ["PackedSequence", "invert_permutation"]

PackedSequence_ = namedtuple("PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])
PackedSequence_.__doc__ = (
    "The fields of a `PackedSequence`, which derives from it.\n\n"
    ">>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])\n"
    ">>> isinstance(packed, torch.nn.utils.rnn.PackedSequence_), packed.data, packed.batch_sizes\n"
    "(True, tensor([1, 3, 2]), tensor([2, 1]))\n"
)


class PackedSequence(PackedSequence_):
    """Sequences of different lengths without padding: all first steps, then all second ones, and so on.

    `data` is `(total steps, *)`; `batch_sizes` (int64, on the CPU) says how many sequences have each step. The
    sequences are sorted by length; `sorted_indices` and `unsorted_indices` lead to that order and back. Made by
    `pack_sequence` and `pack_padded_sequence`.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).batch_sizes
    tensor([2, 1])
    """

    __module__ = "mindtorch_v2.nn.utils.rnn"  # where pickles look for it

    def __new__(
        cls,
        data: torch.Tensor,
        batch_sizes: torch.Tensor | None = None,
        sorted_indices: torch.Tensor | None = None,
        unsorted_indices: torch.Tensor | None = None,
    ) -> PackedSequence:
        return super().__new__(cls, *_packed_sequence_init_args(data, batch_sizes, sorted_indices, unsorted_indices))

    def pin_memory(self) -> PackedSequence:
        """The same with pinned memory."""
        return type(self)(
            self.data.pin_memory(),
            self.batch_sizes,
            None if self.sorted_indices is None else self.sorted_indices.pin_memory(),
            None if self.unsorted_indices is None else self.unsorted_indices.pin_memory(),
        )

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with `data` moved or cast as `Tensor.to` does, and the indices moved along."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        # The indices keep their dtype.
        kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "dtype")}
        moved = [
            None if indices is None else indices.to(data.device, **kwargs)
            for indices in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *moved)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same on a CUDA device."""
        ex = torch.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        if ex.is_cuda:
            return self.to(*args, **kwargs)
        kwargs["device"] = "cuda"
        return self.to(*args, **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same on the CPU."""
        ex = torch.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        if ex.device.type == "cpu":
            return self.to(*args, **kwargs)
        kwargs["device"] = "cpu"
        return self.to(*args, **kwargs)

    def double(self) -> PackedSequence:
        """The same as float64."""
        return self.to(dtype=torch.double)

    def float(self) -> PackedSequence:
        """The same as float32."""
        return self.to(dtype=torch.float)

    def half(self) -> PackedSequence:
        """The same as float16."""
        return self.to(dtype=torch.half)

    def long(self) -> PackedSequence:
        """The same as int64."""
        return self.to(dtype=torch.long)

    def int(self) -> PackedSequence:
        """The same as int32."""
        return self.to(dtype=torch.int)

    def short(self) -> PackedSequence:
        """The same as int16."""
        return self.to(dtype=torch.short)

    def char(self) -> PackedSequence:
        """The same as int8."""
        return self.to(dtype=torch.int8)

    def byte(self) -> PackedSequence:
        """The same as uint8."""
        return self.to(dtype=torch.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether `data` is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether `data` is in pinned memory."""
        return self.data.is_pinned()


def _packed_sequence_init_args(data, batch_sizes=None, sorted_indices=None, unsorted_indices=None) -> tuple:
    """The four fields, from themselves or from a pair `(data, batch_sizes)`."""
    # Unpickling and old programs give the unsorted indices only, or a pair.
    if unsorted_indices is None:
        unsorted_indices = invert_permutation(sorted_indices)
    if batch_sizes is not None:
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. "
                "Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence "
                "and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return data, batch_sizes, sorted_indices, unsorted_indices
    if not (isinstance(data, (list, tuple)) and len(data) == 2):
        raise AssertionError("Expected data to be a list or tuple of length 2")
    return data[0], data[1], sorted_indices, unsorted_indices


def invert_permutation(permutation: torch.Tensor | None) -> torch.Tensor | None:
    """The permutation that undoes a given one, both 1-D tensors of indices; None for None.

    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    output = torch.empty_like(permutation, memory_format=torch.contiguous_format)
    output.scatter_(0, permutation, torch.arange(0, permutation.numel(), device=permutation.device))
    return output
