"""Signatures of functions, where an annotation may name what is not there.

From Python 3.14 on annotations are evaluated when they are asked for: a name that only type checkers import raises
NameError then.
"""

import inspect
import sys
from typing import Any

if sys.version_info >= (3, 14):
    import annotationlib

    def read_signature(function: Any) -> inspect.Signature:
        """`inspect.signature`; annotations that cannot be evaluated stay references."""
        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)

    def read_annotations(function: Any) -> dict[str, Any]:
        """`inspect.get_annotations`; those that cannot be evaluated are strings, as if they had been quoted."""
        found = annotationlib.get_annotations(function, format=annotationlib.Format.FORWARDREF)
        return {
            name: kind.__forward_arg__ if isinstance(kind, annotationlib.ForwardRef) else kind
            for name, kind in found.items()
        }
else:
    read_signature = inspect.signature
    read_annotations = inspect.get_annotations
