"""The names under which programs written for earlier versions of torchair find converters."""

from . import fx2ge_converter, ge_apis, ge_graph

__all__ = ["fx2ge_converter", "ge_apis", "ge_graph"]
