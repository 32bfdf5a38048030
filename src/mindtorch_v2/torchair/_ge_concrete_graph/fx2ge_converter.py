"""The registration of converters."""

from mindtorch_v2._backends.ge.registry import register_fx_node_ge_converter

__all__ = ["register_fx_node_ge_converter"]
