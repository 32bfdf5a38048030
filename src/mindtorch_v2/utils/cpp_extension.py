"""Operator libraries in C++: `load`, `load_inline`, and the pieces of a setup.py.

The guide is docs/cpp-operators.md. What runs on CUDA is not built here: the functions that ask for it say so.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from mindtorch_v2._core.loading import prepare_for, reporting_failures
from mindtorch_v2._ops import ops
from mindtorch_v2.utils import _cpp_headers, _ninja

__all__ = [
    "BuildExtension",  # noqa: F822  (made when it is asked for)
    "CUDAExtension",
    "CUDA_HOME",
    "CppExtension",
    "SyclExtension",
    "check_compiler_is_gcc",
    "check_compiler_ok_for_platform",
    "get_compiler_abi_compatibility_and_version",
    "get_cxx_compiler",
    "get_default_build_root",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "remove_extension_h_precompiler_headers",
    "verify_ninja_availability",
]

logger = logging.getLogger("torch.utils.cpp_extension")

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
CUDNN_HOME: str | None = None
IS_HIP_EXTENSION = False
IS_WINDOWS = IS_MACOS = False
IS_LINUX = True
LIB_EXT, CLIB_EXT, EXEC_EXT = ".so", ".so", ""
CLIB_PREFIX = "lib"
COMMON_NVCC_FLAGS: list[str] = []
TORCH_LIB_PATH = str(_cpp_headers.library_path())
_TORCH_PATH = str(Path(__file__).resolve().parents[1])  # private in PyTorch too, and imported by programs all the same

_CUDA_SOURCES = (".cu", ".cuh")


def _find_cuda_home():
    return None


def get_cxx_compiler() -> str:
    """The C++ compiler that is used: $CXX, else c++.

    >>> import os
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, CXX="clang++"):
    ...     torch.utils.cpp_extension.get_cxx_compiler()
    'clang++'
    """
    return os.environ.get("CXX", "c++")


def _compiler_version(compiler):
    try:
        return subprocess.run([*compiler.split(), "-v"], capture_output=True, text=True).stderr
    except OSError:
        return ""


def check_compiler_is_gcc(compiler: str) -> bool:
    """Whether it is GCC."""
    return "gcc version" in _compiler_version(compiler)


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Whether it is GCC or clang."""
    version = _compiler_version(compiler)
    return "gcc version" in version or "clang version" in version


def get_compiler_abi_compatibility_and_version(compiler: str) -> Any:
    """(whether the compiler can be used, its version)."""
    from packaging.version import Version  # its cost is not that of importing this module

    found = re.search(r"(?:gcc|clang) version (\d+(?:\.\d+)*)", _compiler_version(compiler))
    if not found:
        return False, Version("0.0.0")
    return Version(found.group(1)) >= Version("5.0.0"), Version(found.group(1))


def is_ninja_available() -> bool:
    """Whether the program ninja is there.

    >>> from unittest import mock
    >>> with mock.patch("shutil.which", return_value=None):
    ...     torch.utils.cpp_extension.is_ninja_available()
    False
    """
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """RuntimeError if the program ninja is not there.

    >>> from unittest import mock
    >>> try:
    ...     with mock.patch("mindtorch_v2.utils.cpp_extension.is_ninja_available", return_value=False):
    ...         torch.utils.cpp_extension.verify_ninja_availability()
    ... except RuntimeError as error:
    ...     print(type(error).__name__)
    RuntimeError
    """
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def remove_extension_h_precompiler_headers() -> None:
    """Delete the precompiled headers of earlier builds."""
    for folder in _cpp_headers.cache_path().glob("precompiled-*"):
        shutil.rmtree(folder, ignore_errors=True)


def get_default_build_root() -> str:
    """Where extensions are built that name no folder: torch_extensions in the user's cache.

    >>> import os
    >>> os.path.basename(torch.utils.cpp_extension.get_default_build_root())
    'torch_extensions'
    """
    return str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torch_extensions")


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """Folders for the compiler's -I: headers written by hand, and those generated from the operators.

    >>> import os
    >>> paths = torch.utils.cpp_extension.include_paths()
    >>> all(os.path.isdir(path) for path in paths)
    True
    """
    _refuse_devices(device_type)
    return _ninja.include_folders() if torch_include_dirs else []


def library_paths(
    device_type: str = "cpu", torch_include_dirs: bool = True, cross_target_platform: Any = None
) -> list[str]:
    """Folders for the linker's -L.

    >>> import os
    >>> [os.path.isdir(path) for path in torch.utils.cpp_extension.library_paths()]
    [True, True]
    """
    _refuse_devices(device_type)
    return _ninja.core_library_folders()


def _refuse_devices(device_type):
    if device_type not in ("cpu", "npu"):  # CANN's own are added by torch_npu.utils.cpp_extension
        raise NotImplementedError(
            f"mindtorch_v2 builds extensions for the CPU and NPUs only; it has no headers or libraries for {device_type!r}"
        )


# ---- building at run time ----

_loaded: dict[tuple, tuple] = {}


def _get_build_directory(name: str, verbose: bool) -> str:
    """The folder, made if need be, in which an extension of this name is built; MindSpeed asks for it by this name."""
    root = os.environ.get("TORCH_EXTENSIONS_DIR")
    if not root:
        # Beside PyTorch's folders, not in them: each would find the other's libraries there.
        version = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}_mindtorch"
        root = os.path.join(get_default_build_root(), version)
    folder = os.path.join(root, name)
    if verbose:
        logger.info("Using %s as PyTorch extensions root...", root)
    os.makedirs(folder, exist_ok=True)
    return folder


def _check_no_devices(with_cuda, with_sycl, sources):
    cuda = [s for s in sources if str(s).endswith(_CUDA_SOURCES)]
    if with_cuda or cuda:
        raise OSError(
            "CUDA_HOME environment variable is not set. Please set it to your CUDA install root. "
            f"(mindtorch_v2 builds extensions for the CPU only{': ' + ', '.join(map(str, cuda)) if cuda else ''})"
        )
    if with_sycl:
        raise NotImplementedError("with_sycl: mindtorch_v2 builds extensions for the CPU only")


def _versioned(name, folder, inputs, sources):
    """The name for these inputs: a module cannot be loaded twice, so that changed ones get a name with a number."""
    key = hashlib.sha256(repr(inputs).encode())
    for source in sources:
        key.update(Path(source).read_bytes())
    version, known = _loaded.get((name, folder), (0, None))
    if known is not None and known != key.hexdigest():
        version += 1
    _loaded[name, folder] = (version, key.hexdigest())
    return f"{name}_v{version}" if version else name


def load(
    name: str,
    sources: Any,
    extra_cflags: list[str] | None = None,
    extra_cuda_cflags: list[str] | None = None,
    extra_sycl_cflags: list[str] | None = None,
    extra_ldflags: list[str] | None = None,
    extra_include_paths: list[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
) -> Any:
    """Compile C++ sources and load the result: a module, or with `is_python_module=False` a library of operators.

    What was built before from the same inputs is loaded at once. RuntimeError with the compiler's words if it fails.
    """
    if is_python_module and is_standalone:
        raise ValueError("`is_python_module` and `is_standalone` are mutually exclusive.")
    sources = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    _check_no_devices(with_cuda, with_sycl, sources)
    folder = str(build_directory) if build_directory is not None else _get_build_directory(name, verbose)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"the build_directory {folder!r} does not exist")
    # One item may hold several flags, as a shell reads them.
    flags, link_flags = ([w for f in given or () for w in shlex.split(f)] for given in (extra_cflags, extra_ldflags))
    includes = [os.path.abspath(os.fspath(path).strip()) for path in extra_include_paths or ()]
    # Not "lock": PyTorch, which builds in the same folder if TORCH_EXTENSIONS_DIR says so, waits until no such file is there.
    with _ninja.Lock(os.path.join(folder, "mindtorch.lock")):
        built = _versioned(name, folder, (flags, link_flags, includes, is_python_module, is_standalone), sources)
        if verbose:
            logger.info("Building extension module %s...", built)
        path = _ninja.build_shared_library(
            built, folder, [os.path.abspath(s) for s in sources], flags, link_flags, includes, verbose, is_standalone
        )
    if not keep_intermediates:
        for made in Path(folder).glob("*.o"):
            made.unlink()
    if is_standalone:
        return path
    if verbose:
        logger.info("Loading extension module %s...", built)
    if not is_python_module:
        ops.load_library(path)
        return path
    return _import(built, path)


def _import(name, path):
    spec: Any = importlib.util.spec_from_file_location(name, path)
    prepare_for(path)
    with reporting_failures():
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def load_inline(
    name: str,
    cpp_sources: str | list[str],
    cuda_sources: Any = None,
    sycl_sources: Any = None,
    functions: Any = None,
    extra_cflags: list[str] | None = None,
    extra_cuda_cflags: list[str] | None = None,
    extra_sycl_cflags: list[str] | None = None,
    extra_ldflags: list[str] | None = None,
    extra_include_paths: list[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> Any:
    """Compile C++ code given as text; `functions` (a name, a list, or names with documentation) become the module's."""
    if cuda_sources or with_cuda:
        _check_no_devices(True, None, ())
    if sycl_sources or with_sycl:
        _check_no_devices(None, True, ())
    sources = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    if not no_implicit_headers:
        sources.insert(0, "#include <torch/extension.h>")
    if functions is not None:
        if isinstance(functions, str):
            functions = [functions]
        if isinstance(functions, (list, tuple)):
            functions = {function: function for function in functions}
        if not isinstance(functions, dict):
            raise ValueError(f"Expected 'functions' to be a list or dict, but was {type(functions)}")
        sources.append("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {")
        for function, text in functions.items():
            wrapped = f"torch::wrap_pybind_function({function})" if with_pytorch_error_handling else function
            sources.append(f'm.def("{function}", {wrapped}, {_quoted(text)});')
        sources.append("}")
    folder = str(build_directory) if build_directory is not None else _get_build_directory(name, verbose)
    path = Path(folder) / "main.cpp"
    text = "\n".join(sources) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return load(
        name,
        [str(path)],
        extra_cflags=extra_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        build_directory=folder,
        verbose=verbose,
        is_python_module=is_python_module,
        keep_intermediates=keep_intermediates,
    )


def _quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


# ---- setup.py ----


def CppExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Any:
    """A setuptools.Extension with what an operator library needs: headers, libraries, C++.

    >>> extension = torch.utils.cpp_extension.CppExtension("mine", ["mine.cpp"])
    >>> extension.name, extension.sources, extension.language
    ('mine', ['mine.cpp'], 'c++')
    """
    import setuptools  # only where something is built

    kwargs["include_dirs"] = [*kwargs.get("include_dirs", ()), *include_paths()]
    kwargs["library_dirs"] = [*kwargs.get("library_dirs", ()), *library_paths()]
    kwargs["libraries"] = [*kwargs.get("libraries", ()), "torch"]
    kwargs["language"] = "c++"
    return setuptools.Extension(name, list(sources), *args, **kwargs)


def CUDAExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> None:
    """OSError that says what is missing: CUDA is not built here.

    >>> try:
    ...     torch.utils.cpp_extension.CUDAExtension("mine", ["mine.cu"])
    ... except OSError as error:
    ...     print(type(error).__name__)
    OSError
    """
    _check_no_devices(True, None, sources)


def SyclExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> None:
    """NotImplementedError: SYCL is not built here.

    >>> try:
    ...     torch.utils.cpp_extension.SyclExtension("mine", ["mine.sycl"])
    ... except NotImplementedError as error:
    ...     print(type(error).__name__)
    NotImplementedError
    """
    _check_no_devices(None, True, sources)


def _make_build_extension():
    from setuptools.command.build_ext import build_ext  # only where something is built

    class BuildExtension(build_ext):
        """The `build_ext` of a setup.py that builds operator libraries.

        Options (`BuildExtension.with_options(...)`): `use_ninja` (True) compiles with ninja, only what changed;
        `no_python_abi_suffix` leaves the interpreter's suffix out of the file name.
        """

        @classmethod
        def with_options(cls, **options: Any) -> Any:
            base: Any = cls

            class WithOptions(base):
                def __init__(self, *args: Any, **kwargs: Any) -> None:
                    super().__init__(*args, **{**kwargs, **options})

            return WithOptions

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.use_ninja = kwargs.pop("use_ninja", True)
            self.no_python_abi_suffix = kwargs.pop("no_python_abi_suffix", False)
            super().__init__(*args, **kwargs)

        def finalize_options(self) -> None:
            super().finalize_options()
            if self.use_ninja:
                if is_ninja_available():
                    self.force = True
                else:
                    logger.warning(
                        "Attempted to use ninja as the BuildExtension backend but we could not find ninja. Falling back to "
                        "using the slow distutils backend."
                    )
                    self.use_ninja = False

        def build_extension(self, ext: Any) -> None:
            device = [s for s in ext.sources if s.endswith(_CUDA_SOURCES)]
            _check_no_devices(None, None, device)
            flags = ext.extra_compile_args
            flags = list(flags.get("cxx", ())) if isinstance(flags, dict) else list(flags or ())
            name = ext.name.rpartition(".")[2]
            flags += [f"-DTORCH_EXTENSION_NAME={name}", "-DTORCH_API_INCLUDE_EXTENSION_H"]
            if not any(flag.startswith(("-std=", "--std=")) for flag in flags):
                flags.append("-std=c++20")
            # Headers that the compiler looks for last, and of which it warns of nothing.
            flags += [word for folder in _ninja.system_folders() for word in ("-isystem", folder)]
            ext.extra_compile_args = flags
            ours = set(include_paths())
            ext.include_dirs = [folder for folder in ext.include_dirs if folder not in ours]
            if self.use_ninja:
                self._compile_with_ninja(ext)
            else:
                ext.extra_compile_args += self._precompiled_header(ext)
            super().build_extension(ext)

        def _precompiled_header(self, ext):
            """Flags for setuptools' own compilation, one file after the other."""
            words = getattr(self.compiler, "compiler_so_cxx", None) or self.compiler.compiler_so
            macros = [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in ext.define_macros]
            undefined = [f"-U{name}" for name in ext.undef_macros]
            return _ninja.precompiled_header_flags(
                [*words[1:], *macros, *undefined, *ext.extra_compile_args], ext.sources
            )

        def _compile_with_ninja(self, ext):
            compiler = self.compiler
            original = compiler.compile

            def compile_all(
                sources: list[str],
                output_dir: Any = None,
                macros: Any = None,
                include_dirs: Any = None,
                debug: Any = 0,
                extra_preargs: Any = None,
                extra_postargs: Any = None,
                depends: Any = None,
            ) -> list[str]:
                compiler.compile = original
                output_dir = output_dir or self.build_temp
                objects = compiler.object_filenames(sources, output_dir=output_dir)
                for made in objects:
                    os.makedirs(os.path.dirname(os.path.abspath(made)), exist_ok=True)
                flags = ["-fPIC", *self._compiler_flags()]
                flags += [f"-D{m[0]}" if m[1] is None else f"-D{m[0]}={m[1]}" for m in macros or () if len(m) == 2]
                includes = [os.path.abspath(folder) for folder in include_dirs or ()]
                _ninja.compile_objects(
                    ext.name.rpartition(".")[2],
                    output_dir,
                    sources,
                    objects,
                    [*flags, *(extra_postargs or ())],
                    includes,
                    True,
                )
                return objects

            compiler.compile = compile_all

        def _compiler_flags(self):
            """Optimisation and warnings as this Python was built with."""
            words = getattr(self.compiler, "compiler_so", [])[1:]
            return [w for w in words if w.startswith(("-O", "-g", "-f", "-m")) and w != "-fPIC"] or ["-O2"]

        def get_ext_filename(self, ext_name: str) -> str:
            filename = super().get_ext_filename(ext_name)
            if self.no_python_abi_suffix:
                suffix = sysconfig.get_config_var("EXT_SUFFIX")
                filename = filename.removesuffix(suffix) + ".so" if filename.endswith(suffix) else filename
            return filename

    return BuildExtension


def __getattr__(name: str) -> Any:
    # Made when it is asked for: setuptools is needed by those who build only.
    if name == "BuildExtension":
        made = globals()["BuildExtension"] = _make_build_extension()
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
