"""Remedies for a native core that does not load. The exception has them, and so has the doctor, which cannot start then.

Nothing of the package can be imported here but this file and Python's own library.
"""

import json
import os
import platform
import sys
from typing import NoReturn

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def raise_with_remedy(error: ImportError) -> NoReturn:
    """Raise the error with what to do about it below its text; print both and end the process if it was to run the doctor."""
    text, advice = str(error), remedy(str(error))
    if _is_doctor(sys.orig_argv):
        if "--json" in sys.orig_argv:
            finding = {"subject": "package", "state": "problem", "text": text, "remedy": advice}
            print(json.dumps({"problems": 1, "findings": [finding]}, indent=1))
        else:
            print(f"PROBLEM package: it cannot be imported: {text}\n          -> {advice}\n\n1 problem.")
        raise SystemExit(1)
    raise ImportError(f"{text}\n{advice}", name=error.name, path=error.path) from None


def _is_doctor(words: list[str]) -> bool:
    return any(pair == ["-m", "mindtorch_v2.doctor"] for pair in map(list, zip(words, words[1:])))


def remedy(text: str) -> str:
    """A sentence that says what to do about an error of the core's import.

    >>> remedy("libdnnl.so.3: cannot open shared object file")
    'oneDNN is missing: pip install onednn-cpu-gomp==2023.2.0'
    """
    if "GLIBC_" in text or "GLIBCXX_" in text:
        found = " ".join(platform.libc_ver()) or "an unknown one"
        return f"This system's C library, {found}, is older than the build asks for: install the wheel (glibc 2.28 or later), or build here."
    if "no CPU kernel library" in text:
        forced = os.environ.get("MINDTORCH_ISA")
        if forced:
            return f"MINDTORCH_ISA={forced} asks for kernels that are not there ({_kernels()}): unset it."
        return f"The kernels here ({_kernels()}) are not for this processor: install the wheel, which has them for every one, or build again: scripts/build in a checkout, pip install . otherwise."
    if "libdnnl" in text:
        return "oneDNN is missing: pip install onednn-cpu-gomp==2023.2.0"
    if "_C'" in text:  # "cannot import name '_C'", "No module named 'mindtorch_v2._C'"
        built = ", ".join(name for name in sorted(os.listdir(_FOLDER)) if name.startswith("_C.") and ".so" in name)
        version = ".".join(map(str, sys.version_info[:2]))
        if built:
            return f"The package was built for another Python ({built}) than this one, {version}: install it with {sys.executable} -m pip."
        return "The native core was not built: pip install . (or scripts/build in a checkout); it needs a C++ compiler: apt-get install g++, or dnf install gcc-c++."
    return f"Install the package again: {sys.executable} -m pip install --force-reinstall mindtorch_v2"


def _kernels() -> str:
    folder = os.path.join(_FOLDER, "_lib")
    start, end = "libmindtorch_cpu_", ".so"
    there = os.listdir(folder) if os.path.isdir(folder) else []
    named = [name[len(start) : -len(end)] for name in sorted(there) if name.startswith(start) and name.endswith(end)]
    return ", ".join(name for name in named if name != "plain") or "none"
