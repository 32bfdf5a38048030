"""What reads patterns, by the names that functorch has for it."""

from mindtorch_v2.func._patterns import (
    AnonymousAxis,
    ParsedExpression,
    _ellipsis,
    parse_pattern,
    validate_rearrange_expressions,
)

__all__ = ["AnonymousAxis", "ParsedExpression", "_ellipsis", "parse_pattern", "validate_rearrange_expressions"]
