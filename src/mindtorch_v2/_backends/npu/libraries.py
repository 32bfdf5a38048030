"""Finding CANN's shared libraries, in the order in which Ascend's own framework adaptor looks for them."""

from __future__ import annotations

import ctypes
import os
import pathlib
from collections.abc import Callable
from typing import Any

_ROOTS = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_USUAL = ("/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann")
_SPLIT = ("libopapi_math.so", "libopapi_nn.so", "libopapi_cv.so", "libopapi_transformer.so")
EMULATOR = pathlib.Path(__file__).parent / "emulator"  # where the build puts the emulator's tree


def roots() -> list[str]:
    """The installations of CANN to look into: what the environment names; else the usual places."""
    named = [os.environ[name] for name in _ROOTS if os.environ.get(name)]
    return list(dict.fromkeys(named)) or [path for path in _USUAL if os.path.isdir(path)]


def find(name: str) -> tuple[str | None, list[str]]:
    """The path of a library of CANN, or None; and the paths that were tried."""
    tried = []
    for root in roots():
        path = os.path.join(root, "lib64", name)
        tried.append(path)
        if os.path.exists(path):
            return path, tried
    for directory in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if directory and os.path.exists(path := os.path.join(directory, name)):
            return path, [*tried, path]
    return None, tried


def custom_operator_libraries() -> list[str]:
    """Users' operator packages, first those of ASCEND_CUSTOM_OPP_PATH, then the installed vendors in their order."""
    paths = [
        os.path.join(entry, "op_api", "lib", "libcust_opapi.so")
        for entry in os.environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(":")
        if entry
    ]
    opp = os.environ.get("ASCEND_OPP_PATH") or next((os.path.join(root, "opp") for root in roots()), "")
    vendors = os.path.join(opp, "vendors")
    config = os.path.join(vendors, "config.ini")
    order: list[str] = []
    if os.path.exists(config):
        with open(config) as lines:
            for line in lines:
                key, _, value = line.partition("=")
                if key.strip() == "load_priority":
                    order = [name.strip() for name in value.split(",") if name.strip()]
    paths += [os.path.join(vendors, name, "op_api", "lib", "libcust_opapi.so") for name in order]
    return paths


def _open(path: str) -> ctypes.CDLL:
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


class Libraries:
    """The loaded libraries: `acl` (runtime), `base` (descriptors) and those that may hold operators.

    RuntimeError that lists every path tried if CANN is not there.
    """

    def __init__(self) -> None:
        self.searched: list[str] = []
        self.acl = self._load("libascendcl.so")
        self.base = self._load("libnnopbase.so")
        self.operators: list[ctypes.CDLL] = []
        for path in custom_operator_libraries():
            self.searched.append(path)
            if os.path.exists(path):
                self.operators.append(_open(path))
        for name in (*_SPLIT, "libopapi.so"):
            at, tried = find(name)
            self.searched += tried
            if at is not None:
                self.operators.append(_open(at))
        self.emulated = hasattr(self.acl, "emulatorReport")

    def _load(self, name: str) -> ctypes.CDLL:
        path, tried = find(name)
        self.searched += tried
        if path is None:
            places = "\n  ".join(tried) if tried else "(ASCEND_HOME_PATH is not set, and no usual place exists)"
            raise RuntimeError(
                f"Ascend's {name} was not found. Tried:\n  {places}\n"
                "On an Ascend host, run `source .../set_env.sh`. Anywhere else, `python -m mindtorch_v2.npu emulate -- "
                "python script.py` runs a program on the emulator."
            )
        return _open(path)

    def operator(self, name: str) -> Callable[..., Any] | None:
        """The C function of that name from the operator libraries; None if none has it."""
        for library in self.operators:
            function = getattr(library, name, None)
            if function is not None:
                return function
        return None
