"""The reader of patterns, by functorch's names."""

from mindtorch_v2.func._patterns import (
    AnonymousAxis,
    ParsedExpression,
    _ellipsis,
    parse_pattern,
    validate_rearrange_expressions,
)

__all__ = ["AnonymousAxis", "ParsedExpression", "_ellipsis", "parse_pattern", "validate_rearrange_expressions"]
