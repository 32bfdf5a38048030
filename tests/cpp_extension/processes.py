"""Processes of Python that tests start: under scripts/sanitize they are checked as well, compilers are not."""

import os
import sys

# Of the sanitizers; conftest.py takes it out of the environment, which compilers see, while these tests run.
PRELOADED = {"LD_PRELOAD": preload} if "libasan" in (preload := os.environ.get("LD_PRELOAD", "")) else {}


def environment(**more: str) -> dict[str, str]:
    """The environment in which a process of Python finds what this one has."""
    return {**os.environ, **PRELOADED, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more}
