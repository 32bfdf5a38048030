"""The command line of the NPU back end.

    python -m mindtorch_v2.npu emulate [options] -- command ...    run a command with the emulator as its CANN
    python -m mindtorch_v2.npu doctor                              inspect this host

Options of `emulate`: --soc NAME (Ascend910B1), --devices N, --memory SIZE (as 512M or 8G), --delay MICROSECONDS before every task on a stream,
--shuffle SEED (random delays), --order SEED (in which the operators of GE graphs run), --poison (fill memory on allocation),
--strict (stop at the first misuse), --inject FUNCTION:NTH:CODE,... (let calls fail), --noop (operators do nothing: what is left is the cost of calling them).
"""

import os
import sys

from mindtorch_v2._backends.npu import aclnn, libraries, quirks, runtime

_VALUES = ("devices", "memory", "delay", "shuffle", "inject", "order", "soc")
_FLAGS = ("noop", "poison", "strict")


def environment(options):
    """What the environment must say for a command to run on the emulator: {name: value}."""
    if not (libraries.EMULATOR / "lib64" / "libascendcl.so").exists():
        raise RuntimeError(f"the emulator was not built with this package: nothing in {libraries.EMULATOR}")
    made = {"ASCEND_HOME_PATH": str(libraries.EMULATOR), "ASCEND_TOOLKIT_HOME": "", "ASCEND_OPP_PATH": ""}
    made.update({f"ASCEND_EMULATOR_{name.upper()}": str(value) for name, value in options.items()})
    return made


def emulate(arguments):
    """Replace this process by the command, on the emulator."""
    options = {}
    while arguments and arguments[0] != "--":
        name, equals, value = arguments.pop(0).removeprefix("--").partition("=")
        if name in _FLAGS and not equals:
            options[name] = 1
        elif name in _VALUES and (equals or arguments):
            options[name] = value if equals else arguments.pop(0)
        else:
            return _usage(f"unknown option --{name}")
    command = arguments[1:]
    if not command:
        return _usage("no command after --")
    os.execvpe(command[0], command, {**os.environ, **environment(options)})


def doctor():
    """Say what this host has of CANN, what is missing, and what to do; returns the exit status."""
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "ASCEND_CUSTOM_OPP_PATH"):
        print(f"{name}: {os.environ.get(name) or '(not set)'}")
    for library in ("libascendcl.so", "libnnopbase.so", "libopapi.so", "libhccl.so"):
        path, tried = libraries.find(library)
        print(f"{library}: {path or 'not found; tried ' + (', '.join(tried) or 'no place: none is named')}")
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


def _usage(problem):
    print(f"python -m mindtorch_v2.npu: {problem}\n\n{__doc__.strip()}", file=sys.stderr)
    return 2


def main(arguments):
    """Run a subcommand; returns the exit status."""
    if arguments and arguments[0] == "emulate":
        return emulate(arguments[1:])
    if arguments == ["doctor"]:
        return doctor()
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if arguments else 2
    return _usage(f"unknown command {arguments[0]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
