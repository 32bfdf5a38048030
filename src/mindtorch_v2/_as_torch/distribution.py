"""Puts a metadata-only distribution `torch` into this environment, so that pip asks for no PyTorch.

accelerate's wheel (and many others) require the distribution `torch`. With this metadata in place
`pip install accelerate` is satisfied; `pip list` shows it as `2.13.0+mindtorch`, and `pip uninstall torch` removes it.
It holds no module: without the switch `import torch` still fails.
"""

import importlib.metadata
import pathlib
import sysconfig

from mindtorch_v2._as_torch import distribution_metadata, metadata_version


def local_version() -> str:
    """The version that is installed: `MINDTORCH_TORCH_VERSION`, or the one whose behaviour this package has."""
    return f"{metadata_version()}+mindtorch"


def _files() -> dict[str, str]:
    return {
        "METADATA": distribution_metadata(local_version()),
        "WHEEL": "Wheel-Version: 1.0\nGenerator: mindtorch_v2\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "INSTALLER": "mindtorch_v2\n",
        "top_level.txt": "torch\n",
    }


def install() -> str:
    """Write the metadata, instead of what an earlier call wrote; returns a sentence saying what happened.

    Raises RuntimeError if a real PyTorch is installed here: this must not hide it.
    """
    other = [path for path in _installed() if not _is_ours(path)]
    if other:
        raise RuntimeError(f"install-metadata: PyTorch itself is installed here ({other[0]}); nothing was changed")
    for earlier in _written():
        _delete(earlier)
    folder = _site() / f"torch-{local_version()}.dist-info"
    folder.mkdir(exist_ok=True)
    files = _files()
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "RECORD").write_text("".join(f"{folder.name}/{name},,\n" for name in (*files, "RECORD")))
    return f"torch {local_version()}: metadata written to {folder}"


def remove() -> str:
    """Remove what `install` wrote; returns a sentence saying what happened."""
    written = _written()
    if not written:
        return "torch: no metadata of ours here"
    for folder in written:
        _delete(folder)
    return f"torch: metadata removed from {', '.join(map(str, written))}"


def _delete(folder: pathlib.Path) -> None:
    for name in (*_files(), "RECORD"):
        (folder / name).unlink(missing_ok=True)
    folder.rmdir()


def _site() -> pathlib.Path:
    return pathlib.Path(sysconfig.get_paths()["purelib"])


def _is_ours(folder: pathlib.Path) -> bool:
    return folder.name.endswith("+mindtorch.dist-info")


def _written() -> list[pathlib.Path]:
    return sorted(_site().glob("torch-*+mindtorch.dist-info"))


def _installed() -> list[pathlib.Path]:
    """The metadata folders of every distribution named torch on the path."""
    found = importlib.metadata.MetadataPathFinder.find_distributions(
        importlib.metadata.DistributionFinder.Context(name="torch")
    )
    return [path for path in (getattr(distribution, "_path", None) for distribution in found) if path is not None]
