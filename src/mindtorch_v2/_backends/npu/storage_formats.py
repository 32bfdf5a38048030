"""Storage formats: in which order the elements of a tensor lie in the device's memory.

A format belongs to a storage, not to a tensor: what a tensor's sizes, strides and offset say is the order that its elements would
have in rows, whatever the memory holds, and every view of the storage sees the same numbers. Operators that are made for a format
(`READERS`) read it as it lies. For all others, and for copies to the host, what they read is put into rows first, and
what they wrote is put back. Both ways are one operator, aclnnNpuFormatCast.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import _C


class Format(enum.IntEnum):
    """The formats and their numbers."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33
    NC = 35
    NCL = 47
    FRACTAL_NZ_C0_16 = 50
    FRACTAL_NZ_C0_32 = 51
    FRACTAL_NZ_C0_2 = 52
    FRACTAL_NZ_C0_4 = 53
    FRACTAL_NZ_C0_8 = 54


# Formats whose elements lie in rows: names for what the dimensions mean.
IN_ROWS = frozenset({Format.NCHW, Format.NHWC, Format.ND, Format.HWCN, Format.NDHWC, Format.NCDHW})
_BY_RANK = {4: Format.NCHW, 5: Format.NCDHW}
_ROWS_OF_A_BLOCK = 16
_BYTES_OF_A_BLOCK_ROW = 32
_MAX_RANK = 6  # of what is cast to FRACTAL_NZ: a block has two dimensions more
_WIDTHS = (1, 2, 4)  # bytes of elements that the blocks are made for
_HEAD = 6  # of `_C._describe`: device, address, dtype, rank, offset, elements; then sizes and strides


def _blocks(size: int, block: int) -> int:
    return -(-size // block)


def _of_pictures(format: Format, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes as the formats of pictures read them: fewer than four dimensions are the channels, the height and the width of one."""
    if format in (Format.NC1HWC0, Format.FRACTAL_Z) and len(sizes) < 4:
        return (1, *sizes, *(1,) * (3 - len(sizes)))
    return sizes


def sizes_in(format: Format, sizes: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The sizes of what lies in memory. RuntimeError for what the format does not take."""
    rank = {Format.NC1HWC0: 4, Format.FRACTAL_Z: 4, Format.NDC1HWC0: 5, Format.FRACTAL_Z_3D: 5}.get(format)
    if rank is not None and len(sizes) != rank:
        raise RuntimeError(f"npu_format_cast(): {format.name} takes {rank} dimensions, but the sizes are {list(sizes)}")
    if itemsize not in _WIDTHS:
        raise RuntimeError(
            f"npu_format_cast(): {format.name} takes elements of 1, 2 or 4 bytes, but these have {itemsize}"
        )
    wide, high = _BYTES_OF_A_BLOCK_ROW // itemsize, _ROWS_OF_A_BLOCK
    if format == Format.FRACTAL_NZ:
        if not 2 <= len(sizes) <= _MAX_RANK:
            raise RuntimeError(
                f"npu_format_cast(): FRACTAL_NZ takes 2 to {_MAX_RANK} dimensions, but the sizes are {list(sizes)}"
            )
        *before, rows, columns = sizes
        return (*before, _blocks(columns, wide), _blocks(rows, high), high, wide)
    if format == Format.NC1HWC0:
        n, c, h, w = sizes
        return n, _blocks(c, wide), h, w, wide
    if format == Format.FRACTAL_Z:
        n, c, h, w = sizes
        return _blocks(c, wide), h, w, _blocks(n, high), high, wide
    if format == Format.NDC1HWC0:
        n, c, d, h, w = sizes
        return n, d, _blocks(c, wide), h, w, wide
    if format == Format.FRACTAL_Z_3D:
        n, c, d, h, w = sizes
        return d, _blocks(c, wide), h, w, _blocks(n, high), high, wide
    raise RuntimeError(
        f"npu_format_cast(): tensors are not laid out as {format.name} here; use ND (2) or FRACTAL_NZ (29)"
    )


def _product(sizes: tuple[int, ...]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


class Layout(NamedTuple):
    """How a storage that is not in rows is laid out: what a descriptor of it says."""

    format: Format
    sizes: tuple[int, ...]  # of the tensor that was laid out, in rows
    stored: tuple[int, ...]  # of what lies in memory
    dtype: int  # its number
    nbytes: int  # of what lies in memory

    @property
    def in_rows(self) -> int:
        """The bytes of the elements without padding."""
        return self.nbytes // _product(self.stored) * _product(self.sizes)

    @property
    def is_in_rows(self) -> bool:
        """Whether this is the order of rows too: the matrices are one block wide and full."""
        return self.format == Format.FRACTAL_NZ and self.sizes[-2:] == (
            self.stored[-3] * self.stored[-2],
            self.stored[-1],
        )

    def is_of(self, sizes: tuple[int, ...]) -> bool:
        """Whether a tensor of these sizes, from the storage's begin on, is all of it."""
        return _of_pictures(self.format, sizes) == self.sizes

    def key(self, device: int, address: int) -> bytes:
        """All of the storage, as `_C._describe` would say it."""
        strides = [1]
        for size in reversed(self.sizes[1:]):
            strides.append(strides[-1] * size)
        elements = _product(self.stored)
        head = (device, address, self.dtype, len(self.sizes), 0, elements)
        return struct.pack(f"{_HEAD + 2 * len(self.sizes)}q", *head, *self.sizes, *reversed(strides))

    def is_read_by(self, key: bytes) -> bool:
        """Whether a tensor is all of the storage, or its matrices transposed, as the readers of FRACTAL_NZ take it."""
        if self.format != Format.FRACTAL_NZ:
            return False
        _, address, dtype, rank, offset, _, *dims = struct.unpack(f"{len(key) // 8}q", key)
        if dtype != self.dtype or offset or rank != len(self.sizes):
            return False
        sizes, strides = dims[:rank], dims[rank:]
        whole = struct.unpack(f"{_HEAD + 2 * rank}q", self.key(0, address))[_HEAD:]
        own = [*whole[:rank]], [*whole[rank:]]
        if (sizes, strides) == own:
            return True
        for each in own:
            each[-1], each[-2] = each[-2], each[-1]
        return (sizes, strides) == own


class Reader(NamedTuple):
    """An operator that does what another does, with one argument in FRACTAL_NZ."""

    symbol: str
    place: int  # of that argument, in both
    arrange: Callable[..., tuple | None] | None = None  # from the arguments of the other, None for what it does not do


def _quant_matmul(x1: Any, x2: Any, scale: Any, offset: Any, by_row: Any, bias: Any, *rest: Any) -> tuple:
    transpose1, transpose2, out = rest
    return x1, x2, by_row, scale, None, None, offset, None, bias, transpose1, transpose2, 0, out


def _grouped_matmul(*arguments: Any) -> tuple | None:
    *before, out, features, scales = arguments
    return None if before[13] != 0 else (*before, None, 0, out, features, scales)


READERS = {
    "aclnnAddmm": Reader("aclnnAddmmWeightNz", 2),
    "aclnnBatchMatMul": Reader("aclnnBatchMatMulWeightNz", 1),
    "aclnnGroupedMatmulV4": Reader("aclnnGroupedMatmulWeightNz", 1, _grouped_matmul),
    "aclnnMatmul": Reader("aclnnMatmulWeightNz", 1),
    "aclnnMm": Reader("aclnnMatmulWeightNz", 1),
    "aclnnQuantMatmulV4": Reader("aclnnQuantMatmulWeightNz", 1, _quant_matmul),
    "aclnnTransposeBatchMatMul": Reader("aclnnTransposeBatchMatMulWeightNz", 1),
    "aclnnWeightQuantBatchMatmulV2": Reader("aclnnWeightQuantBatchMatmulNz", 1),
}
_HALVES = (5, 15)  # numbers of float16 and bfloat16, which the products of floating numbers take
_READ = {
    "aclnnGroupedMatmulWeightNz": (*_HALVES, 1),
    "aclnnQuantMatmulWeightNz": (1,),
    "aclnnWeightQuantBatchMatmulNz": (1,),
}


def is_read(symbol: str, dtype: int) -> bool:
    """Whether a reader takes elements of the dtype of this number."""
    return dtype in _READ.get(symbol, _HALVES)


class StorageFormats:
    """The storages of the process that have a format of their own, by device and address."""

    def __init__(self) -> None:
        self.in_blocks: dict[tuple[int, int], Layout] = {}
        self.named: dict[tuple[int, int], Format] = {}  # those in rows whose name is not that of their rank

    def forget(self, index: int, address: int) -> None:
        """Forget a storage that was given back."""
        self.in_blocks.pop((index, address), None)
        self.named.pop((index, address), None)

    def of(self, device: int, address: int, rank: int) -> Format:
        """The format of a storage, that of an ordinary tensor of so many dimensions if it has none of its own."""
        found = self.in_blocks.get((device, address))
        if found is not None:
            return found.format
        return self.named.get((device, address), _BY_RANK.get(rank, Format.ND))

    def around(self, index: int, address: int) -> tuple[int, Layout] | None:
        """The storage in blocks that an address lies in, and where it begins."""
        for (device, begin), layout in list(self.in_blocks.items()):
            if device == index and begin <= address < begin + layout.nbytes:
                return begin, layout
        return None


def described(key: bytes) -> tuple[int, int]:
    """Device and address of what `_C._describe` says."""
    device, address = struct.unpack_from("2q", key)
    return device, address


def reach(key: bytes, nbytes: int) -> int:
    """The bytes up to the end of a tensor's last element, of a storage of so many."""
    _, _, _, rank, offset, elements, *dims = struct.unpack(f"{len(key) // 8}q", key)
    last = sum((size - 1) * step for size, step in zip(dims[:rank], dims[rank:], strict=True))
    return (offset + last + 1) * (nbytes // elements)


def moved(key: bytes, address: int) -> bytes:
    """The same tensor over another storage."""
    return key[:8] + struct.pack("q", address) + key[16:]


def layout_of(tensor: Any, format: Format) -> Layout:
    """The layout of a format for a tensor. RuntimeError for what the format does not take."""
    sizes = _of_pictures(format, tuple(tensor.shape))
    stored = sizes_in(format, sizes, tensor.element_size())
    dtype = struct.unpack_from("3q", _C._describe(tensor))[2]
    return Layout(format, sizes, stored, dtype, _product(stored) * tensor.element_size())
