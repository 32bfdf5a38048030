"""Sequences of different lengths: padded, packed, and between the two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import mindtorch_v2 as torch
from mindtorch_v2.nn._packed import PackedSequence, PackedSequence_, invert_permutation  # noqa: F401  (PyTorch's names here)

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


def pack_padded_sequence(
    input: torch.Tensor, lengths: torch.Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences `(T, B, *)`, with `batch_first` `(B, T, *)`, of the given lengths.

    Lengths must fall, unless `enforce_sorted` is False, which sorts the sequences.

    >>> packed = torch.nn.utils.rnn.pack_padded_sequence(torch.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
    >>> packed.data, packed.batch_sizes
    (tensor([1, 3, 2]), tensor([2, 1]))
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


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple:
    """The inverse of `pack_padded_sequence`: the padded sequences, in their first order, and their lengths.

    `total_length` is the length to pad to, not less than the longest sequence's.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
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


def pad_sequence(
    sequences: Sequence[torch.Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> torch.Tensor:
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


def unpad_sequence(padded_sequences: torch.Tensor, lengths: torch.Tensor, batch_first: bool = False) -> list:
    """The sequences `(L_i, *)` of padded ones, a list: the inverse of `pad_sequence`.

    >>> torch.nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    idx = torch.arange(padded_sequences.shape[1], device=lengths.device)
    return [seq[idx < length] for seq, length in zip(padded_sequences, lengths, strict=False)]


def pack_sequence(sequences: list[torch.Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences `(L_i, *)`, sorted by falling length unless `enforce_sorted` is False.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = torch.as_tensor([v.size(0) for v in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[torch.Tensor]:
    """The sequences `(L_i, *)` of packed ones, a list: the inverse of `pack_sequence`.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded_sequences, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded_sequences, lengths, batch_first=True)
