"""How a view was made from its base, for views whose strides do not count the base's elements (view_as_real, view(dtype))."""

from __future__ import annotations

from typing import Any

from ... import _C


class Replay:
    """Call the view's operators again on another base: ``replay(base) -> view``."""

    def __init__(self, before: Any, geometry: Any, operator: Any, args: tuple[Any, ...]) -> None:
        self.before = before
        self.geometry = geometry
        self.operator = operator
        self.args = args

    def __call__(self, base: Any) -> Any:
        view = base if self.before is None else self.before(base)
        if self.geometry is not None:
            sizes, strides, offset = self.geometry
            view = _C._find_operator("aten::as_strided", "")(view, sizes, strides, view.storage_offset() + offset)
        return self.operator(view, *self.args)
