"""Programs on the emulated GPU, and what this host has of CUDA.

python -m mindtorch_v2.cuda emulate -- python script.py     run a program on the emulated GPU
python -m mindtorch_v2.cuda doctor                          the driver, the libraries and the devices that are found
"""

from __future__ import annotations

import argparse
import os
import sys

from mindtorch_v2._backends.cuda import libraries


def _emulate(command: list[str]) -> int:
    if not command:
        print("python -m mindtorch_v2.cuda emulate -- python script.py: no program was given", file=sys.stderr)
        return 2
    if not (libraries.EMULATOR / "libcuda.so.1").exists():
        print(f"The emulated GPU is not built: {libraries.EMULATOR} has no libcuda.so.1", file=sys.stderr)
        return 1
    os.environ[libraries.EMULATED] = "1"
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127


def _doctor() -> int:
    from mindtorch_v2._backends.cuda import api

    if not libraries.has_driver():
        print(
            "driver: none. No libcuda.so.1 is found: install NVIDIA's driver, or take the emulated GPU (emulate -- ...)."
        )
        return 1
    print(f"driver: CUDA {api.driver_version()}{', the emulated one' if libraries.emulated() else ''}")
    missing = 0
    for name in ("cublas", "nccl") if libraries.emulated() else ("nvrtc", "cublas", "nccl"):
        try:
            print(f"{name}: {libraries.find(name)}")
        except OSError as error:
            missing += 1
            print(f"{name}: {error}")
    for index in range(api.device_count()):
        told = api.get_device_properties(index)
        print(f"cuda:{index}: {told.name}, compute capability {told.major}.{told.minor}, {told.total_memory >> 20} MiB")
    print(f"compiled kernels are kept in {api.cache_folder()}")
    return min(missing, 1)


def main(arguments: list[str] | None = None) -> int:
    """See the module; the exit status is 0 where nothing is wrong."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["emulate"]:
        rest = given[1:]
        return _emulate(rest[1:] if rest[:1] == ["--"] else rest)
    parser = argparse.ArgumentParser("python -m mindtorch_v2.cuda", description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("emulate", "doctor"))
    parser.parse_args(given)
    return _doctor()


if __name__ == "__main__":
    sys.exit(main())
