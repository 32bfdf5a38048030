"""`infer_schema` under the name of PyTorch's module."""

from __future__ import annotations

import functools
import operator
import types
import typing
from typing import Any

from mindtorch_v2._library.infer import SUPPORTED_PARAM_TYPES, SUPPORTED_RETURN_TYPES, infer_schema

__all__ = ["SUPPORTED_PARAM_TYPES", "SUPPORTED_RETURN_TYPES", "infer_schema", "tuple_to_list"]


def tuple_to_list(tuple_type: Any) -> Any:
    """The list type that stands for a tuple type in a schema: ``tuple[int, float]`` gives ``list[int | float]``."""
    kinds = [kind for kind in typing.get_args(tuple_type) if kind is not ...]
    return types.GenericAlias(list, (functools.reduce(operator.or_, kinds),)) if kinds else list
