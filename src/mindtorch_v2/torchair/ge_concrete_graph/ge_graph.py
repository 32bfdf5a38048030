"""Values and types of GE graphs."""

from .._ge_concrete_graph.ge_graph import (
    DataType,
    Format,
    Tensor,
    TensorSpec,
    compat_as_bytes,
    get_default_ge_graph,
    get_invalid_desc,
    next_unique_name,
)

__all__ = [
    "DataType",
    "Format",
    "Tensor",
    "TensorSpec",
    "compat_as_bytes",
    "get_default_ge_graph",
    "get_invalid_desc",
    "next_unique_name",
]
