"""C++ extensions that call Ascend's operators: `setup.py` as for torch_npu, against this package's headers (docs/cpp-operators.md)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from mindtorch_v2._backends.npu.libraries import find
from mindtorch_v2.utils.cpp_extension import BuildExtension, CppExtension

__all__ = ["BuildExtension", "NpuExtension"]


def NpuExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """`torch.utils.cpp_extension.CppExtension` with CANN's headers before ours, and linked with `libascendcl.so`.

    Where there is no CANN the emulator's library is linked, and CANN's types are this package's.

    Raises:
        RuntimeError: there is neither.
    """
    library, tried = find("libascendcl.so")
    if library is None:
        raise RuntimeError(f"NpuExtension(): libascendcl.so was not found; tried {', '.join(tried) or 'no place'}")
    folder = os.path.dirname(library)
    headers = os.path.join(os.path.dirname(folder), "include")
    kwargs["include_dirs"] = [*([headers] if os.path.isdir(headers) else []), *kwargs.get("include_dirs", [])]
    for option, value in (("library_dirs", folder), ("runtime_library_dirs", folder), ("libraries", "ascendcl")):
        kwargs[option] = [*kwargs.get(option, []), value]
    return CppExtension(name, list(sources), *args, **kwargs)
