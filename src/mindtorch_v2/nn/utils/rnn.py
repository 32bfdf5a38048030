"""Sequences of different lengths: padded, packed, and between the two."""

from collections import namedtuple
from collections.abc import Iterable

import mindtorch_v2 as torch

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
    "pack_sequence",
    "unpack_sequence",
]

PackedSequence_ = namedtuple(
    "PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"], defaults=(None, None)
)


class PackedSequence(PackedSequence_):
    """Sequences of different lengths without padding: all first steps, then all second ones, and so on.

    `data` is `(total steps, *)`; `batch_sizes` (int64, on the CPU) says how many sequences have each step. The
    sequences are sorted by length; `sorted_indices` and `unsorted_indices` lead to that order and back. Made by
    `pack_sequence` and `pack_padded_sequence`.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        return super().__new__(cls, *_packed_sequence_init_args(data, batch_sizes, sorted_indices, unsorted_indices))

    def pin_memory(self):
        """The same with pinned memory."""
        return type(self)(
            self.data.pin_memory(),
            self.batch_sizes,
            None if self.sorted_indices is None else self.sorted_indices.pin_memory(),
            None if self.unsorted_indices is None else self.unsorted_indices.pin_memory(),
        )

    def to(self, *args, **kwargs):
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

    def cuda(self, *args, **kwargs):
        """The same on a CUDA device."""
        ex = torch.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        if ex.is_cuda:
            return self.to(*args, **kwargs)
        kwargs["device"] = "cuda"
        return self.to(*args, **kwargs)

    def cpu(self, *args, **kwargs):
        """The same on the CPU."""
        ex = torch.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        if ex.device.type == "cpu":
            return self.to(*args, **kwargs)
        kwargs["device"] = "cpu"
        return self.to(*args, **kwargs)

    def double(self):
        """The same as float64."""
        return self.to(dtype=torch.double)

    def float(self):
        """The same as float32."""
        return self.to(dtype=torch.float)

    def half(self):
        """The same as float16."""
        return self.to(dtype=torch.half)

    def long(self):
        """The same as int64."""
        return self.to(dtype=torch.long)

    def int(self):
        """The same as int32."""
        return self.to(dtype=torch.int)

    def short(self):
        """The same as int16."""
        return self.to(dtype=torch.short)

    def char(self):
        """The same as int8."""
        return self.to(dtype=torch.int8)

    def byte(self):
        """The same as uint8."""
        return self.to(dtype=torch.uint8)

    @property
    def is_cuda(self):
        """Whether `data` is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self):
        """Whether `data` is in pinned memory."""
        return self.data.is_pinned()


def _packed_sequence_init_args(data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
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


def invert_permutation(permutation):
    """The permutation that undoes a given one, both 1-D tensors of indices; None for None."""
    if permutation is None:
        return None
    output = torch.empty_like(permutation, memory_format=torch.contiguous_format)
    output.scatter_(0, permutation, torch.arange(0, permutation.numel(), device=permutation.device))
    return output


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs padded sequences `(T, B, *)`, with `batch_first` `(B, T, *)`, of the given lengths.

    Lengths must fall, unless `enforce_sorted` is False, which sorts the sequences.
    """
    if not isinstance(lengths, torch.Tensor):
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
    else:
        lengths = lengths.to(dtype=torch.int64)
    if enforce_sorted:
        sorted_indices = None
    else:
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = torch._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The inverse of `pack_padded_sequence`: the padded sequences, in their first order, and their lengths.

    `total_length` is the length to pad to, not less than the longest sequence's.
    """
    max_seq_length = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < max_seq_length:
            raise ValueError(
                "Expected total_length to be at least the length "
                "of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {max_seq_length}"
            )
        max_seq_length = total_length
    padded_output, lengths = torch._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, max_seq_length
    )
    unsorted_indices = sequence.unsorted_indices
    if unsorted_indices is not None:
        batch_dim = 0 if batch_first else 1
        return padded_output.index_select(batch_dim, unsorted_indices), lengths[unsorted_indices.cpu()]
    return padded_output, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stacks sequences `(L_i, *)`, padded to the longest: `(T, B, *)`, with `batch_first` `(B, T, *)`.

    >>> import mindtorch_v2 as torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(1)], batch_first=True)
    tensor([[1., 1.],
            [1., 0.]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    return torch._C._nn.pad_sequence(tuple(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences `(L_i, *)` of padded ones, a list: the inverse of `pad_sequence`."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    idx = torch.arange(padded_sequences.shape[1], device=lengths.device)
    return [seq[idx < length] for seq, length in zip(padded_sequences, lengths, strict=False)]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs sequences `(L_i, *)`, sorted by falling length unless `enforce_sorted` is False."""
    lengths = torch.as_tensor([v.size(0) for v in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences `(L_i, *)` of packed ones, a list: the inverse of `pack_sequence`."""
    padded_sequences, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded_sequences, lengths, batch_first=True)
