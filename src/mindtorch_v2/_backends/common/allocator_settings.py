"""Options of a back end's allocator, as `PYTORCH_NPU_ALLOC_CONF` and `_set_allocator_settings` write them: "name:value,name:value"."""

from __future__ import annotations

import os
import re
import warnings

_MIB = 1 << 20
_POWERS = 16  # from 1 MiB on that have steps of their own
_LEAST = 512  # bytes of the smallest block
_LEAST_SEGMENT = 10  # MiB: larger blocks have a segment for themselves
_KNOWN = {
    "expandable_segments", "large_segment_size_mb", "max_non_split_rounding_mb", "max_split_size_mb",
    "per_process_memory_fraction", "roundup_power2_divisions", "segment_size_mb",
}  # fmt: skip


class Settings:
    """The options; sizes are bytes.

    Args:
        variable: the environment variable that says them.
    """

    def __init__(self, variable: str) -> None:
        self.variable = variable
        self.segment = 20 * _MIB  # that blocks of 1 to 10 MiB are cut from
        self.largest_split: int | None = None  # larger free blocks serve what is not much smaller than they
        self.rounding = 20 * _MIB  # how much smaller
        self.fraction: float | None = None  # of the device's memory that may be held
        self.divisions: list[int] | None = None  # steps from a power of two to the next, from 1 MiB on

    def read(self, text: str) -> None:
        """Take options over. ValueError for a value that is none; a warning names what has no effect."""
        found: dict[str, str] = {}
        for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text):
            name, colon, value = part.strip().partition(":")
            if not value and name:
                raise ValueError(f"{self.variable}: {name} has no value; options are written name:value,name:value")
            if name and colon:
                found[name.strip()] = value.strip()
        without = sorted(found.keys() - _KNOWN)
        if found.get("expandable_segments", "").lower() == "true":
            without.insert(0, "expandable_segments")
        if without:
            warnings.warn(
                f"{self.variable}: these options have no effect here: {', '.join(without)}; memory is held in segments of fixed sizes",
                stacklevel=2,
            )
        self._read_sizes(found)
        if "roundup_power2_divisions" in found:
            self.divisions = self._read_divisions(found["roundup_power2_divisions"])
        if "per_process_memory_fraction" in found:
            value = found["per_process_memory_fraction"]
            if not re.fullmatch(r"\d*\.?\d+", value) or not 0 <= float(value) <= 1:
                raise ValueError(
                    f"{self.variable}: per_process_memory_fraction must be a number from 0 to 1, but it is {value}"
                )
            self.fraction = float(value)

    def _read_sizes(self, found: dict[str, str]) -> None:
        sizes = {}
        for name in ("large_segment_size_mb", "max_non_split_rounding_mb", "max_split_size_mb", "segment_size_mb"):
            if name in found:
                if not found[name].isdecimal():
                    raise ValueError(f"{self.variable}: {name} must be a whole number of MiB, but it is {found[name]}")
                sizes[name] = int(found[name])
        if found.get("expandable_segments", "").lower() != "true":
            sizes.pop("segment_size_mb", None)
        segment = sizes.get("large_segment_size_mb", sizes.get("segment_size_mb"))
        if segment is not None:
            if segment <= _LEAST_SEGMENT:
                raise ValueError(f"{self.variable}: segments must be larger than {_LEAST_SEGMENT} MiB, not {segment}")
            self.segment = segment * _MIB
        largest = sizes.get("max_split_size_mb")
        if largest is not None:
            if largest * _MIB < self.segment:
                raise ValueError(
                    f"{self.variable}: max_split_size_mb must be at least the size of segments, {self.segment // _MIB}, but it is {largest}"
                )
            self.largest_split = largest * _MIB
        self.rounding = sizes.get("max_non_split_rounding_mb", self.rounding // _MIB) * _MIB

    def _read_divisions(self, text: str) -> list[int]:
        """Of 1 MiB, 2 MiB, 4 MiB and so on: one number for all, or [size:number,...,>:number]."""
        shape = r"[1-9]\d*|\[\d+:\d+(,\d+:\d+)*(,>:\d+)?\]"
        numbers = [int(each) for each in re.findall(r"(?:^|:)(\d+)", text)]
        keys = [int(each) for each in re.findall(r"(\d+):", text)]
        if not re.fullmatch(shape, text) or any(number & (number - 1) for number in [*numbers, *keys]):
            raise ValueError(
                f"{self.variable}: roundup_power2_divisions must be a power of two, or [MiB:number,...,>:number] of powers of two, "
                f"but it is {text}"
            )
        if not keys:
            return numbers * _POWERS
        found = [0] * _POWERS
        last = -1
        for key, number in zip(keys, numbers, strict=False):
            place = min(key.bit_length() - 1, _POWERS - 1)
            found[0 if last < 0 else place : place + 1] = [number] * (place + 1 if last < 0 else 1)
            last = place
        if len(numbers) > len(keys):
            found[last + 1 :] = numbers[-1:] * (_POWERS - 1 - last)
        return found

    def rounded(self, nbytes: int) -> int:
        """Bytes that a request is rounded up to: the next of the steps between two powers of two; 0 where there are none."""
        place = max(0, min(nbytes.bit_length() - 1 - 20, _POWERS - 1))
        steps = self.divisions[place] if self.divisions else 0
        if steps <= 1 or nbytes <= _LEAST * steps:
            return 0
        step = (1 << nbytes.bit_length() - 1) // steps
        return (nbytes + step - 1) // step * step

    def read_environment(self) -> None:
        """Take over what the environment says; called once, before memory is asked for."""
        self.read(os.environ.get(self.variable, ""))
