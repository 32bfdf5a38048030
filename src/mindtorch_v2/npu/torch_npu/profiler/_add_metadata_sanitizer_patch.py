"""Texts without what PyTorch's trace writer breaks on: quotes, backslashes, control characters.

torch_npu alters the metadata of profiles by these, since a text with such a character makes PyTorch's whole trace unreadable. This
package's writer keeps them all, so that nothing is altered here; programs that write such files themselves have the functions.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

__all__: list[str] = []

_INSTEAD = {'"': "'", "\\": "/"}  # of control characters a space
_NAMES = {
    '"': "double quote", "\\": "backslash", "\n": "newline", "\r": "carriage return", "\t": "tab", "\b": "backspace",
    "\f": "form feed",
}  # fmt: skip


def _sanitize_value(value: Any) -> tuple[str, list[str]]:
    """A text without such characters, and what was replaced.

    >>> from mindtorch_v2.npu.torch_npu.profiler._add_metadata_sanitizer_patch import _sanitize_value
    >>> _sanitize_value('a "b"')
    ("a 'b'", ['2 double quote'])
    """
    text = str(value)
    found = Counter(each for each in text if each in _INSTEAD or ord(each) < 0x20)
    safe = "".join(_INSTEAD.get(each, " ") if each in found else each for each in text)
    return safe, [
        f"{count} {_NAMES.get(each, f'control character U+{ord(each):04X}')}" for each, count in sorted(found.items())
    ]


def _sanitize_json_value(value: Any) -> tuple[str, list[str]]:
    """JSON whose texts have no such characters, and what was replaced; what is no JSON is taken as a text."""
    try:
        document = json.loads(value)
    except (TypeError, ValueError):
        return _sanitize_value(value)
    notes: list[str] = []

    def clean(part: Any) -> Any:
        if isinstance(part, str):
            safe, found = _sanitize_value(part)
            notes.extend(found)
            return safe
        if isinstance(part, dict):
            return {clean(key): clean(each) for key, each in part.items()}
        return [clean(each) for each in part] if isinstance(part, list) else part

    return json.dumps(clean(document), ensure_ascii=False), notes


def _apply_metadata_sanitizer_patch() -> None:
    """Nothing: this package's traces hold every text as it is."""
