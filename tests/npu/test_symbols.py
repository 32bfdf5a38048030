"""Every binding by ctypes and every export of the emulator against the table of the interface, argument by argument."""

import ctypes
import pathlib
import re
from typing import Any

import pytest

from mindtorch_v2._backends.npu import descriptors, hccl, runtime

_HERE = pathlib.Path(__file__).parent
_EMULATOR = _HERE.parents[1] / "emulator"
_HANDLES = {
    "HcclComm",
    "aclrtStream",
    "aclrtEvent",
    "aclrtContext",
    "aclmdlRI",
    "aclrtTaskGrp",
    "aclrtCallback",
    "aclrtExceptionInfoCallback",
}
_NUMBERS = {
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "aclnnStatus": ctypes.c_int32,
}


def _plain(parameter: str) -> str:
    """A parameter's type without its name: "const int64_t*"."""
    words = parameter.replace("*", " * ").split()
    if words[-1] != "*" and len([word for word in words if word not in ("const", "*")]) > 1:
        words.pop()
    return re.sub(r"\s*\*", "*", " ".join(words))


def _table() -> dict[str, tuple[str, list[str]]]:
    lines = [line for name in ("acl", "hccl") for line in (_HERE / f"{name}_functions.tsv").read_text().splitlines()]
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {name: (result, parameters.split(", ") if parameters else []) for name, result, parameters in rows}


def _declared() -> dict[str, tuple[str, list[str]]]:
    """The functions that the emulator's sources export, but for the operators, which a macro makes."""
    found = {}
    for path in sorted(_EMULATOR.rglob("*.cpp")):
        for result, name, parameters in re.findall(
            r"^EMU_API ([\w ]+?\*?) ?\b(\w+)\(([^)]*)\)\s*\{", path.read_text(), re.M
        ):
            found[name] = result.strip(), [_plain(p) for p in parameters.split(",") if p.strip()]
    return found


def _ctype(c_type: str) -> Any:
    if c_type in ("const char*", "char*"):
        return ctypes.c_char_p
    if c_type.endswith("*") or c_type in _HANDLES:
        return ctypes.c_void_p
    return _NUMBERS.get(c_type, ctypes.c_int)  # aclError and the enumerations


@pytest.mark.skipif(not _EMULATOR.is_dir(), reason="the emulator's sources are not here")
def test_the_emulator_exports_the_interface() -> None:
    table, declared = _table(), _declared()
    own = {name for name in declared if name.startswith("emulator")}
    exported = {name: types for name, types in declared.items() if name not in own}
    assert len(exported) > 60 and own
    assert exported == {name: table.get(name) for name in exported}
    missing = {name for name in table if name.startswith("Hccl")} - exported.keys()
    # Rank tables, and settings of which the interface's facts do not say the values.
    assert missing == {
        "HcclCommInitClusterInfo",
        "HcclCommInitClusterInfoConfig",
        "HcclGetCommConfigCapability",
        "HcclGetConfig",
        "HcclSetConfig",
    }


@pytest.mark.parametrize("name", [*runtime.SIGNATURES, *hccl.SIGNATURES, *descriptors.META_SIGNATURES])
def test_a_binding_has_the_types_of_the_interface(name: str) -> None:
    result, parameters = _table()[name]
    library = runtime if name in runtime.SIGNATURES else hccl
    if name in library.SIGNATURES:
        bound_result, bound = library.RESULTS.get(name, ctypes.c_int), library.SIGNATURES[name]
    else:
        bound_result, *bound = descriptors.META_SIGNATURES[name]
    assert [*bound] == [_ctype(parameter) for parameter in parameters]
    assert bound_result == _ctype(result)
