"""Puts a metadata-only distribution `torch` into this environment, so that pip asks for no PyTorch.

accelerate's wheel (and many others) require the distribution `torch`. With this metadata in place
`pip install accelerate` is satisfied; `pip list` shows it as `2.13.0+mindtorch`, and `pip uninstall torch` removes it.
It holds no module: without the switch `import torch` still fails.
"""

import importlib.metadata
import pathlib
import sysconfig

from mindtorch_v2._as_torch import TORCH_VERSION, distribution_metadata

LOCAL_VERSION = f"{TORCH_VERSION}+mindtorch"
_FILES = {
    "METADATA": distribution_metadata(LOCAL_VERSION),
    "WHEEL": "Wheel-Version: 1.0\nGenerator: mindtorch_v2\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "INSTALLER": "mindtorch_v2\n",
    "top_level.txt": "torch\n",
}


def install() -> str:
    """Write the metadata; returns a sentence saying what happened.

    Raises RuntimeError if a real PyTorch is installed here: this must not hide it.
    """
    folder = _folder()
    other = [path for path in _installed() if path != folder]
    if other:
        raise RuntimeError(f"install-metadata: PyTorch itself is installed here ({other[0]}); nothing was changed")
    folder.mkdir(exist_ok=True)
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    record = "".join(f"{folder.name}/{name},,\n" for name in (*_FILES, "RECORD"))
    (folder / "RECORD").write_text(record)
    return f"torch {LOCAL_VERSION}: metadata written to {folder}"


def remove() -> str:
    """Remove what `install` wrote; returns a sentence saying what happened."""
    folder = _folder()
    if not folder.is_dir():
        return "torch: no metadata of ours here"
    for name in (*_FILES, "RECORD"):
        (folder / name).unlink(missing_ok=True)
    folder.rmdir()
    return f"torch {LOCAL_VERSION}: metadata removed from {folder}"


def _folder():
    return pathlib.Path(sysconfig.get_paths()["purelib"]) / f"torch-{LOCAL_VERSION}.dist-info"


def _installed() -> list:
    """The metadata folders of every distribution named torch on the path."""
    found = importlib.metadata.MetadataPathFinder.find_distributions(
        importlib.metadata.DistributionFinder.Context(name="torch")
    )
    return [path for path in (getattr(distribution, "_path", None) for distribution in found) if path is not None]
