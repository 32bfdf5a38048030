"""A distribution `torch` without modules in this environment, so that pip asks for no PyTorch.

accelerate's wheel (and many others) require the distribution `torch`. With this one in place `pip install accelerate` is
satisfied; `pip list` shows it as `2.13.0+mindtorch`, and `pip uninstall torch` removes all of it. It brings stubs for the
name `torch`, for type checkers, and the command `torchrun`. It holds no module: without the switch `import torch` still
fails.
"""

import base64
import hashlib
import importlib.metadata
import pathlib
import sys
import sysconfig
import zipfile

from mindtorch_v2._as_torch import distribution_metadata, metadata_version, stubs

_SCRIPT = """#!{python}
import sys

from mindtorch_v2.distributed.run import main

if __name__ == "__main__":
    sys.exit(main())
"""


def local_version() -> str:
    """The version that is installed: `MINDTORCH_TORCH_VERSION`, or the one whose behaviour this package has."""
    return f"{metadata_version()}+mindtorch"


def _files() -> dict[str, str]:
    return {
        "METADATA": distribution_metadata(local_version()),
        "WHEEL": "Wheel-Version: 1.0\nGenerator: mindtorch_v2\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": "[console_scripts]\ntorchrun = mindtorch_v2.distributed.run:main\n",
        "top_level.txt": "torch\n",
    }


def write_wheel(folder: str) -> pathlib.Path:
    """Write the distribution as a wheel into `folder`: the same bytes each time. pip installs it, and removes it again."""
    info = f"torch-{local_version()}.dist-info"
    texts = {**dict(stubs.stub_files()), **{f"{info}/{name}": text for name, text in _files().items()}}
    record = [f"{name},sha256={_digest(text)},{len(text.encode())}\n" for name, text in texts.items()]
    texts[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"])
    path = pathlib.Path(folder) / f"torch-{local_version()}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            entry = zipfile.ZipInfo(name)  # of 1980, as no time is given
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, text, zipfile.ZIP_DEFLATED)
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def install() -> str:
    """Write the distribution, instead of what an earlier call wrote; returns a sentence saying what happened.

    Raises RuntimeError if a real PyTorch is installed here: this must not hide it.
    """
    other = [path for path in _installed() if not _is_ours(path)]
    if other:
        raise RuntimeError(f"install-metadata: PyTorch itself is installed here ({other[0]}); nothing was changed")
    for earlier in _written():
        _delete(earlier)
    site = _site()
    folder = site / f"torch-{local_version()}.dist-info"
    texts = {**dict(stubs.stub_files()), **{f"{folder.name}/{name}": text for name, text in _files().items()}}
    texts[f"{folder.name}/INSTALLER"] = "mindtorch_v2\n"
    for name, text in texts.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    names = list(texts)
    command = _scripts() / "torchrun"
    if not command.exists():  # nobody else's is replaced
        command.parent.mkdir(parents=True, exist_ok=True)
        command.write_text(_SCRIPT.format(python=sys.executable))
        command.chmod(0o755)
        names.append(str(command))
    (folder / "RECORD").write_text("".join(f"{name},,\n" for name in (*names, f"{folder.name}/RECORD")))
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
    """Remove the files that RECORD names, and the folders that this leaves empty."""
    site = folder.parent
    files = [site / line.split(",")[0] for line in (folder / "RECORD").read_text().splitlines()]
    for path in files:
        path.unlink(missing_ok=True)
    parents = {parent for path in files for parent in path.parents if site in parent.parents}
    for parent in sorted(parents, key=lambda path: len(path.parts), reverse=True):
        if parent.is_dir() and not any(parent.iterdir()):
            parent.rmdir()


def _site() -> pathlib.Path:
    return pathlib.Path(sysconfig.get_paths()["purelib"])


def _scripts() -> pathlib.Path:
    return pathlib.Path(sysconfig.get_paths()["scripts"])


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
