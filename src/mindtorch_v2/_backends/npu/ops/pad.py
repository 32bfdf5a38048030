"""Padding."""

from ..table import aclnn

aclnn("constant_pad_nd", "aclnnConstantPadNd")

for _dims in (1, 2, 3):
    for _kind in ("reflection", "replication"):
        _symbol = f"aclnn{_kind.capitalize()}Pad{_dims}d"
        aclnn(f"{_kind}_pad{_dims}d", _symbol)
        aclnn(f"{_kind}_pad{_dims}d_backward", f"{_symbol}Backward")
