"""The command line of the NPU back end.

python -m mindtorch_v2.npu emulate [options] -- command ...    run a command with the emulator as its CANN
python -m mindtorch_v2.npu doctor                              inspect this host
python -m mindtorch_v2.npu verify [options]                    run every operator beside the CPU, and write a report
python -m mindtorch_v2.npu import-yaml FILE [options]          operators of an op_plugin_functions.yaml as a Python module
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any

from mindtorch_v2._backends.npu import aclnn, libraries, quirks, runtime, versions
from mindtorch_v2.npu import import_yaml, precision, verify


def _count(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}")
    return text


def _devices(text):
    if int(_count(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected at least one device, got {text}")
    return text


def _size(text):
    if not re.fullmatch(r"[1-9][0-9]*[KMG]?", text):
        raise argparse.ArgumentTypeError(f"expected bytes, or a number of K, M or G, as 512M or 8G, got {text!r}")
    return text


def _faults(text):
    one = r"(\*|\w+(@\w+)?):\d+:\d+"
    if not re.fullmatch(f"{one}(,{one})*", text):
        raise argparse.ArgumentTypeError(f"expected FUNCTION:NTH:CODE,..., got {text!r}")
    return text


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_v2.npu", description="The NPU back end.", allow_abbrev=False
    )
    commands = parser.add_subparsers(
        dest="subcommand", required=True, metavar="emulate | doctor | verify | import-yaml"
    )
    commands.add_parser("doctor", help="inspect this host")
    check = commands.add_parser(
        "verify", help="run every operator beside the CPU, and write a report", allow_abbrev=False
    )
    check.add_argument(
        "--output", metavar="PATH", default="npu_report.txt", help="where the report goes: npu_report.txt"
    )
    check.add_argument("--only", metavar="TEXT", default="", help="operators with this in their names")
    read = commands.add_parser(
        "import-yaml", help="operators of an op_plugin_functions.yaml as a Python module", allow_abbrev=False
    )
    read.add_argument("file", metavar="FILE", help="in the form of op_plugin_functions.yaml")
    read.add_argument("--namespace", metavar="NAME", default="npu", help="of the operators: npu")
    read.add_argument("--output", metavar="PATH", help="where the module goes; to the standard output without")
    made = commands.add_parser("emulate", help="run a command with the emulator as its CANN", allow_abbrev=False)
    made.add_argument("--soc", metavar="NAME", help="the chip: Ascend910B1")
    made.add_argument("--devices", metavar="N", type=_devices)
    made.add_argument("--memory", metavar="SIZE", type=_size, help="of each device, as 512M or 8G")
    made.add_argument("--delay", metavar="MICROSECONDS", type=_count, help="before every task on a stream")
    made.add_argument("--shuffle", metavar="SEED", type=_count, help="random delays")
    made.add_argument("--order", metavar="SEED", type=_count, help="in which the operators of GE graphs run")
    made.add_argument("--inject", metavar="FUNCTION:NTH:CODE,...", type=_faults, help="let calls fail")
    made.add_argument("--poison", action="store_const", const=1, help="fill memory on allocation")
    made.add_argument("--strict", action="store_const", const=1, help="stop at the first misuse")
    made.add_argument(
        "--precision", choices=["report"], help="compare each operator with float64, and name the first that drifts"
    )
    made.add_argument(
        "--noop", action="store_const", const=1, help="operators do nothing: what is left is the cost of calling them"
    )
    return parser


def environment(options: Any) -> dict[str, str]:
    """The environment that is needed for a command to run on the emulator: {name: value}."""
    if not (libraries.EMULATOR / "lib64" / "libascendcl.so").exists():
        raise RuntimeError(f"the emulator was not built with this package: nothing in {libraries.EMULATOR}")
    made = {"ASCEND_HOME_PATH": str(libraries.EMULATOR), "ASCEND_TOOLKIT_HOME": "", "ASCEND_OPP_PATH": ""}
    if "precision" in options:
        made[precision.VARIABLE] = options.pop("precision")
    # As CANN's set_env.sh does, for libraries that are linked against CANN's.
    further = os.environ.get("LD_LIBRARY_PATH")
    made["LD_LIBRARY_PATH"] = os.pathsep.join([str(libraries.EMULATOR / "lib64"), *([further] if further else [])])
    made.update({f"ASCEND_EMULATOR_{name.upper()}": str(value) for name, value in options.items()})
    return made


def emulate(options: Any, command: list[str]) -> int:
    """Replace this process by the command, on the emulator."""
    os.execvpe(command[0], command, {**os.environ, **environment(options)})


def doctor() -> int:
    """Say what this host has of CANN, what is missing, and what to do; returns the exit status."""
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "ASCEND_CUSTOM_OPP_PATH"):
        print(f"{name}: {os.environ.get(name) or '(not set)'}")
    for library in ("libascendcl.so", "libnnopbase.so", "libopapi.so", "libhccl.so"):
        path, tried = libraries.find(library)
        print(f"{library}: {path or 'not found; tried ' + (', '.join(tried) or 'no place: none is named')}")
    for line in versions.of_this_host():
        print(line)
    devices = [name for name in ("/dev/davinci_manager", "/dev/davinci0") if os.path.exists(name)]
    print(f"driver: {', '.join(devices) or 'no /dev/davinci*: no driver, or no NPU in this host or container'}")
    try:
        started = runtime.get()
    except (RuntimeError, OSError) as error:
        print(f"\nThe runtime does not start: {error}")
        return 1
    print(f"runtime: ACL {'.'.join(map(str, started.version()))}, SoC {started.soc_name() or 'unknown'}", end="")
    print(" (this is the emulator)" if started.libraries.emulated else "")
    for index in range(started.device_count):
        free, total = started.memory_info(index)
        print(f"npu:{index}: {free >> 20} of {total >> 20} MiB free")
    if started.missing:
        print(
            f"functions that libascendcl.so lacks: {' '.join(started.missing)}; what needs them raises NotImplementedError"
        )
    missing = [
        name
        for name in aclnn.signatures()
        if not (started.libraries.operator(name) and started.libraries.operator(name + "GetWorkspaceSize"))
    ]
    print(
        f"operators: {len(aclnn.signatures()) - len(missing)} of {len(aclnn.signatures())} that kernels use are there"
    )
    for name, quirk in quirks.applying(started.soc_name(), started.version()).items():
        print(f"{name}: {quirk.symptom} ({quirk.source}); {quirk.replacement.__name__} is called instead")
    if missing:
        print(f"missing: {' '.join(missing)}\nWhat needs them raises NotImplementedError; a newer CANN may have them.")
    return 0


def main(arguments: list[str]) -> int:
    """Run a subcommand; returns the exit status, or exits with 2 where the arguments are wrong."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    parser = _parser()
    options: dict[str, Any] = vars(parser.parse_args(arguments[:end]))
    command = arguments[end + 1 :]
    subcommand = options.pop("subcommand")
    if subcommand == "doctor":
        return doctor()
    if subcommand == "verify":
        return verify.main(options["output"], options["only"])
    if subcommand == "import-yaml":
        return import_yaml.main(options["file"], options["namespace"], options["output"])
    if not command:
        parser.error("no command after --")
    return emulate({name: value for name, value in options.items() if value is not None}, command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
