"""Which keys a query of Ascend's attention attends to: a mask of the caller's, or one of the modes."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .checks import require, require_choice, require_dtype

WITHOUT_END = 2147483647
_GIVEN, _WHOLE, _CAUSAL_TOP, _CAUSAL_BOTTOM, _BAND, _PREFIX, _PREFIX_SMALL = range(7)
_COMPRESSED = {
    _CAUSAL_TOP: (2048, 2048),
    _CAUSAL_BOTTOM: (2048, 2048),
    _BAND: (2048, 2048),
    _PREFIX_SMALL: (3072, 2048),
}


class Masking(NamedTuple):
    """The masking of one call."""

    operator: str
    mask: Any
    mode: int
    before: int  # how many keys back from its own a query sees
    after: int
    prefix: Any
    q_ends: Any
    kv_ends: Any

    @staticmethod
    def of(
        operator: str,
        mask: Any,
        mode: int,
        before: int,
        after: int,
        prefix: Any,
        q_ends: Any,
        kv_ends: Any,
        layout: str,
        dtypes: tuple[str, ...] = ("bool", "uint8"),
    ) -> Masking:
        """Hold the arguments to what is documented, and refuse what is not; `dtypes` are the mask's."""
        require_choice(operator, "sparse_mode", mode, tuple(range(7)))
        if mask is not None:
            require_dtype(operator, "atten_mask", mask, dtypes)
            wanted = _COMPRESSED.get(mode)
            require(
                wanted is None or tuple(mask.shape) == wanted,
                operator,
                f"sparse_mode {mode} takes the compressed atten_mask of sizes {wanted}, but it has {tuple(mask.shape)}",
            )
        packed = layout == "TND"
        if packed:
            require(
                q_ends is not None and kv_ends is not None,
                operator,
                "layout TND takes actual_seq_qlen and actual_seq_kvlen, the ends of the sequences",
            )
            require(
                len(q_ends) == len(kv_ends) > 0,
                operator,
                f"actual_seq_qlen and actual_seq_kvlen must be as long, but they have {len(q_ends)} and {len(kv_ends)}",
            )
            require(mode not in (_PREFIX,), operator, "sparse_mode 5 is not for layout TND")
        if mode in (_PREFIX, _PREFIX_SMALL):
            require(prefix is not None, operator, f"sparse_mode {mode} takes prefix, a number for each sequence")
        return Masking(operator, mask, mode, before, after, prefix, q_ends, kv_ends)

    def packed(self, queries: int, keys: int) -> list[tuple[int, int, int, int]]:
        """First and last query and key of each sequence of a packed call."""
        found, q0, k0 = [], 0, 0
        for q1, k1 in zip(self.q_ends, self.kv_ends, strict=True):
            require(
                q0 <= q1 <= queries and k0 <= k1 <= keys,
                self.operator,
                f"the ends of sequences must not fall and end within the {queries} queries and {keys} keys, "
                f"but they are {list(self.q_ends)} and {list(self.kv_ends)}",
            )
            found.append((q0, q1, k0, k1))
            q0, k0 = q1, k1
        require(
            q0 == queries and k0 == keys,
            self.operator,
            f"the sequences end at query {q0} of {queries} and key {k0} of {keys}: they must take all",
        )
        return found

    def hidden(
        self, number: int, first: int, last: int, queries: int, keys: int, device: Any, of: tuple[int, int]
    ) -> Any:
        """True where queries `first` to `last` of a sequence do not see a key of the range `of`; None where they see all."""
        if self.mask is None:  # then modes and counts have no effect
            return None
        if self.mode == _WHOLE or self.mode == _PREFIX:
            return self._given(number, first, last, queries, keys)[..., slice(*of)]
        if self.mode == _GIVEN:
            given = self._given(number, first, last, queries, keys)[..., slice(*of)]
            if self.before >= queries and self.after >= keys:
                return given
            return given | self._band(first, last, of, 0, self.before, self.after, device)
        shift = keys - queries
        if self.mode == _CAUSAL_TOP:
            return self._band(first, last, of, 0, WITHOUT_END, 0, device)
        if self.mode == _BAND:
            return self._band(first, last, of, shift, self.before, self.after, device)
        causal = self._band(first, last, of, shift, WITHOUT_END, 0, device)
        if self.mode == _CAUSAL_BOTTOM:
            return causal
        numbers = self.prefix if number < 0 else [self.prefix[number]]
        return causal & (aten.arange(*of, device=device) >= _column(numbers, device))

    def seen(self, first: int, last: int, queries: int, keys: int) -> tuple[int, int]:
        """The first key, and the one behind the last, that queries `first` to `last` may see by their mode alone."""
        if self.mask is None or self.mode not in (_GIVEN, _CAUSAL_TOP, _CAUSAL_BOTTOM, _BAND):
            return 0, keys
        if self.mode == _GIVEN and self.before >= queries and self.after >= keys:
            return 0, keys
        shift = 0 if self.mode in (_GIVEN, _CAUSAL_TOP) else keys - queries
        before, after = (self.before, self.after) if self.mode in (_GIVEN, _BAND) else (WITHOUT_END, 0)
        begin = 0 if before >= WITHOUT_END else max(first + shift - before, 0)
        end = keys if after >= WITHOUT_END else min(last + shift + after, keys)
        return (begin, end) if begin < end else (0, min(keys, 1))  # one, that is hidden

    def is_causal(self, queries: int, keys: int) -> bool | None:
        """Whether each query sees its own key and those before it, and no others; False if all see all, None if neither."""
        if self.mask is None or (self.mode == _CAUSAL_BOTTOM and queries == 1):
            return False
        causal = self.mode == _CAUSAL_TOP or (self.mode == _CAUSAL_BOTTOM and queries == keys)
        return True if causal else None

    def seen_by_all(self, first: int, queries: int, keys: int) -> int:
        """The key before which queries from `first` on see all, by a causal mode; 0 for any other."""
        if self.mask is None or self.mode not in (_CAUSAL_TOP, _CAUSAL_BOTTOM):
            return 0
        return max(first + 1 + (keys - queries if self.mode == _CAUSAL_BOTTOM else 0), 0)

    def _given(self, number: int, first: int, last: int, queries: int, keys: int) -> Any:
        mask = self.mask
        require(
            mask.dim() in (2, 4) and mask.shape[-2] >= queries and mask.shape[-1] >= keys,
            self.operator,
            f"atten_mask must be (queries, keys), or (1 or batch, 1 or heads, queries, keys), of at least {queries} and "
            f"{keys}; its sizes are {list(mask.shape)}",
        )
        require(
            number >= 0 or (mask.shape[-2] == queries and mask.shape[-1] == keys),
            self.operator,
            f"atten_mask must end in sizes {queries} and {keys}, but its sizes are {list(mask.shape)}",
        )
        return mask[..., first:last, :keys].to(DTYPES["bool"])

    @staticmethod
    def _band(first: int, last: int, of: tuple[int, int], shift: int, before: int, after: int, device: Any) -> Any:
        own = aten.arange(first, last, device=device).unsqueeze(-1) + shift
        key = aten.arange(*of, device=device)
        hidden = key > own + after if after < WITHOUT_END else None
        if before < WITHOUT_END:
            behind = key < own - before
            hidden = behind if hidden is None else hidden | behind
        return (
            aten.zeros([last - first, of[1] - of[0]], dtype=DTYPES["bool"], device=device) if hidden is None else hidden
        )


def _column(numbers: Any, device: Any) -> Any:
    """Whole numbers as (n, 1, 1, 1)."""
    column = aten.zeros([len(numbers), 1, 1, 1], dtype=DTYPES["int64"], device=device)
    for i, number in enumerate(numbers):
        column[i] = number
    return column
