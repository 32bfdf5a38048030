"""Names of modules that come out of packages: each importer puts a parent of its own before them.

So that `models` of one package, `models` of another and `models` of the environment go side by side in tracebacks and pickles.
"""

import itertools
import re

_PARENT = re.compile(r"<torch_package_\d+>")
_count = itertools.count()


class PackageMangler:
    """The parent of one importer's modules: every instance has its own.

    >>> from mindtorch_v2.package.package_importer import PackageMangler, demangle
    >>> mangler = PackageMangler()
    >>> demangle(mangler.mangle("mine")), mangler.mangle("mine") == mangler.mangle("mine")
    ('mine', True)
    """

    def __init__(self) -> None:
        self._mangle_parent = f"<torch_package_{next(_count)}>"

    def mangle(self, name: str) -> str:
        """The name below this importer's parent."""
        assert name, "a module's name must not be empty"
        return f"{self._mangle_parent}.{name}"

    def demangle(self, mangled: str) -> str:
        """The name without this importer's parent; names of others as they are."""
        return mangled.removeprefix(f"{self._mangle_parent}.")

    def parent_name(self) -> str:
        """The parent's own name."""
        return self._mangle_parent


def is_mangled(name: str) -> bool:
    """Whether a name has an importer's parent before it.

    >>> from mindtorch_v2.package._mangling import PackageMangler, is_mangled
    >>> is_mangled(PackageMangler().mangle("mine.model")), is_mangled("mine.model")
    (True, False)
    """
    return _PARENT.match(name) is not None


def demangle(name: str) -> str:
    """The name without any importer's parent; "" for a parent alone.

    >>> from mindtorch_v2.package._mangling import PackageMangler, demangle
    >>> demangle(PackageMangler().mangle("mine.model"))
    'mine.model'
    """
    return name.partition(".")[2] if is_mangled(name) else name


def get_mangle_prefix(name: str) -> str:
    """The importer's parent before a name; a name without one as it is."""
    return name.partition(".")[0] if is_mangled(name) else name
