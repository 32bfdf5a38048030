"""Python's standard library, which packages need not hold."""

import sys


def is_stdlib_module(module: str) -> bool:
    """Whether a module, by its top name, belongs to Python's standard library.

    >>> from mindtorch_v2.package.package_exporter import is_stdlib_module
    >>> is_stdlib_module("json"), is_stdlib_module("numpy")
    (True, False)
    """
    return module.partition(".")[0] in sys.stdlib_module_names
