"""Whether an object came out of a package."""

from types import ModuleType
from typing import Any

from mindtorch_v2.package._mangling import is_mangled


def is_from_package(obj: Any) -> bool:
    """Whether a module, or else the class of an object, was loaded by a `PackageImporter`.

    >>> import json
    >>> is_from_package(json)
    False
    """
    return is_mangled(obj.__name__ if isinstance(obj, ModuleType) else type(obj).__module__)
