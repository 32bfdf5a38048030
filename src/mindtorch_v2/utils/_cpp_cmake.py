"""The files of CMake that `find_package(Torch)` reads: where the headers and libraries for extensions lie."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["package_files"]

_CONFIG = """\
# Made for find_package(Torch). Gives the targets torch, torch_cpu, torch_python and c10, which stand for one library, and
# TORCH_INCLUDE_DIRS, TORCH_LIBRARIES, TORCH_LIBRARY, C10_LIBRARY, TORCH_CXX_FLAGS, TORCH_INSTALL_PREFIX.
get_filename_component(TORCH_INSTALL_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(TORCH_INCLUDE_DIRS %(includes)s)
set(TORCH_LIBRARY "${TORCH_INSTALL_PREFIX}/lib/libtorch.so")
set(C10_LIBRARY "${TORCH_INSTALL_PREFIX}/lib/libc10.so")
set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=1")
set(TORCH_LIBRARIES torch)
set(TORCH_DEFINITIONS "")

if(NOT TARGET torch)
  # The files with PyTorch's names are text that sends the linker on, so that the targets are interfaces: CMake would take
  # the files for libraries and tell the loader to look for them.
  foreach(_mindtorch_name torch torch_library torch_cpu torch_python c10)
    add_library(${_mindtorch_name} INTERFACE IMPORTED)
    set_target_properties(${_mindtorch_name} PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${TORCH_INCLUDE_DIRS}"
      INTERFACE_COMPILE_FEATURES cxx_std_17
      INTERFACE_LINK_LIBRARIES "${TORCH_LIBRARY}")
    set_property(TARGET ${_mindtorch_name} PROPERTY INTERFACE_COMPILE_OPTIONS
      "$<$<COMPILE_LANGUAGE:CXX>:${TORCH_CXX_FLAGS}>")
  endforeach()
  unset(_mindtorch_name)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Torch DEFAULT_MSG TORCH_LIBRARY TORCH_INCLUDE_DIRS)
"""

_VERSION = """\
set(PACKAGE_VERSION "%(version)s")
if(PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"""


def package_files(version: str, includes: Sequence[str]) -> dict[str, str]:
    """File name below the prefix -> its text. `includes` are folders of headers besides the prefix itself."""
    folders = ['"${TORCH_INSTALL_PREFIX}"', *(f'"{folder}"' for folder in includes)]
    return {
        "share/cmake/Torch/TorchConfig.cmake": _CONFIG % {"includes": " ".join(folders)},
        "share/cmake/Torch/TorchConfigVersion.cmake": _VERSION % {"version": version},
    }
