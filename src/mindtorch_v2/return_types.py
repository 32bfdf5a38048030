"""The classes of named results, as `torch.return_types.max`: they are made with the operators that return them."""

from mindtorch_v2._ops import _table


def __getattr__(name):
    for (made, _), kind in _table._RETURN_TYPES.items():
        if made == name:
            return kind
    raise AttributeError(f"module 'mindtorch_v2.return_types' has no attribute {name!r}")
