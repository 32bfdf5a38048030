"""The registration of converters."""

from .._ge_concrete_graph.fx2ge_converter import declare_supported, register_fx_node_ge_converter

__all__ = ["declare_supported", "register_fx_node_ge_converter"]
