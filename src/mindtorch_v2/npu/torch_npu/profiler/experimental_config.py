"""`_ExperimentalConfig`: what is asked for of the device's own data."""

from __future__ import annotations

import types
from typing import Any

from .analysis.prof_common_func._constant import Constant, print_info_msg, print_warn_msg

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
]


class ProfilerLevel:
    """How much of the device's own data is asked for."""

    Level0, Level1, Level2 = Constant.LEVEL0, Constant.LEVEL1, Constant.LEVEL2
    Level_none = Constant.LEVEL_NONE


class AiCMetrics:
    """The counters of the device's cores; none are read."""

    PipeUtilization = Constant.AicPipeUtilization
    ArithmeticUtilization = Constant.AicArithmeticUtilization
    Memory = Constant.AicMemory
    MemoryL0 = Constant.AicMemoryL0
    MemoryUB = Constant.AicMemoryUB
    ResourceConflictRatio = Constant.AicResourceConflictRatio
    L2Cache = Constant.AicL2Cache
    MemoryAccess = Constant.AicMemoryAccess
    AiCoreNone = Constant.AicMetricsNone


class ExportType:
    """The kinds of files: a trace and tables beside a database, or the database alone."""

    Db, Text = Constant.Db, Constant.Text


class HostSystem:
    """Parts of the host that could be watched; none is."""

    CPU, MEM, DISK = Constant.CPU, Constant.MEM, Constant.DISK
    NETWORK, OSRT, NUMA = Constant.NETWORK, Constant.OSRT, Constant.NUMA


def _values(names: type) -> set[str]:
    return {value for name, value in vars(names).items() if not name.startswith("_")}


def supported_profiler_level() -> set[str]:
    """The levels that can be asked for."""
    return _values(ProfilerLevel)


def supported_ai_core_metrics() -> set[str]:
    """The counters that can be named; none are read."""
    return _values(AiCMetrics)


def supported_export_type() -> set[str]:
    """The kinds of files that are written."""
    return _values(ExportType)


class _ExperimentalConfig:
    """The wishes for the device's own data: with Level_none none are taken, with Level1 and Level2 statistics of calls too.

    As in torch_npu a value that is none of an option's is set to its default, with a warning; one warning names the options that
    have no effect here. `config()` gives the values that the recording is made with.
    """

    def __init__(
        self,
        profiler_level: str = ProfilerLevel.Level0,
        aic_metrics: str | None = None,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: float | None = None,
        export_type: str | list[str] = ExportType.Text,
        host_sys: list[str] | None = None,
        mstx_domain_include: list[str] | None = None,
        mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        self._profiler_level = _one_of("profiler_level", profiler_level, supported_profiler_level(), Constant.LEVEL0)
        self._l2_cache = _switch("l2_cache", l2_cache, False)
        self._msprof_tx = _switch("msprof_tx", msprof_tx, False)
        self._mstx = _switch("mstx", mstx, False)
        self._data_simplification = _switch("data_simplification", data_simplification, True)
        self.record_op_args = _switch("record_op_args", record_op_args, False)
        self._sys_io = _switch("sys_io", sys_io, False)
        self._sys_interconnection = _switch("sys_interconnection", sys_interconnection, False)
        self._aic_metrics = self._metrics(aic_metrics)
        self._export_type = _kinds(export_type)
        self._op_attr = _switch("op_attr", op_attr, False)
        self._gc_detect_threshold = _threshold(gc_detect_threshold)
        self._host_sys = _names("host_sys", host_sys, _values(HostSystem))
        self._mstx_domain_include = self._domains("mstx_domain_include", mstx_domain_include)
        self._mstx_domain_exclude = self._domains("mstx_domain_exclude", mstx_domain_exclude)
        if self._mstx_domain_include and self._mstx_domain_exclude:
            print_warn_msg(
                "_ExperimentalConfig(): mstx_domain_include and mstx_domain_exclude cannot both be set; only "
                "mstx_domain_include is taken"
            )
            self._mstx_domain_exclude = []
        self._name_those_without_effect()

    def __call__(self) -> NativeConfig:
        return NativeConfig(
            trace_level=self._profiler_level, metrics=self._aic_metrics, l2_cache=self._l2_cache,
            record_op_args=self.record_op_args, msprof_tx=self.tx_enabled, op_attr=self._op_attr,
            host_sys=self._host_sys, mstx_domain_include=self._mstx_domain_include,
            mstx_domain_exclude=self._mstx_domain_exclude, sys_io=self._sys_io,
            sys_interconnection=self._sys_interconnection,
        )  # fmt: skip

    @property
    def export_type(self) -> list[str]:
        """The kinds of files that are written."""
        return self._export_type

    @property
    def with_gc(self) -> bool:
        """Whether collections of garbage are recorded."""
        return self._gc_detect_threshold is not None

    @property
    def gc_detect_threshold(self) -> float | None:
        """The milliseconds from which on a collection of garbage is recorded."""
        return self._gc_detect_threshold

    @property
    def tx_enabled(self) -> bool:
        """Whether ranges of mstx are asked for; they are recorded in any case."""
        return self._msprof_tx or self._mstx

    def _metrics(self, wanted: Any) -> str:
        counts = self._profiler_level in (Constant.LEVEL1, Constant.LEVEL2)
        default = Constant.AicPipeUtilization if counts else Constant.AicMetricsNone
        found = _one_of("aic_metrics", default if wanted is None else wanted, supported_ai_core_metrics(), default)
        if not counts and found != Constant.AicMetricsNone:
            print_warn_msg("_ExperimentalConfig(): aic_metrics belong to Level1 and Level2, and are left out")
            return Constant.AicMetricsNone
        return found

    def _domains(self, name: str, wanted: Any) -> list[str]:
        if not self.tx_enabled:
            if wanted:
                print_warn_msg(f"_ExperimentalConfig(): {name} belongs to mstx=True, and is left out")
            return []
        return _names(name, wanted, None)

    def _name_those_without_effect(self) -> None:
        asked = {
            "aic_metrics": self._aic_metrics not in (Constant.AicMetricsNone, Constant.AicPipeUtilization),
            "l2_cache": self._l2_cache,
            "op_attr": self._op_attr,
            "record_op_args": self.record_op_args,
            "host_sys": bool(self._host_sys),
            "sys_io": self._sys_io,
            "sys_interconnection": self._sys_interconnection,
            "mstx_domain_include": bool(self._mstx_domain_include),
            "mstx_domain_exclude": bool(self._mstx_domain_exclude),
        }
        named = [name for name, wanted in asked.items() if wanted]
        if named:
            print_warn_msg(f"_ExperimentalConfig(): {', '.join(sorted(named))} have no effect here")


class NativeConfig(types.SimpleNamespace):
    """The values of an `_ExperimentalConfig` by the names that the recording knows (`torch_npu._C._profiler._ExperimentalConfig`)."""


def _one_of(name: str, value: Any, allowed: set[str], default: str) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    print_warn_msg(f"_ExperimentalConfig(): {name} must be one of {', '.join(sorted(allowed))}, not {value!r}")
    return default


def _switch(name: str, value: Any, default: bool) -> bool:
    if isinstance(value, bool):
        return value
    if value is not None:
        print_warn_msg(f"_ExperimentalConfig(): {name} must be bool, not {value!r}")
    return default


def _names(name: str, value: Any, allowed: set[str] | None) -> list[str]:
    """A list of texts, each once; empty where it is none, or one is not allowed."""
    if not value:
        return []
    texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
    if not texts or (allowed is not None and not allowed.issuperset(value)):
        words = f"a list of {', '.join(sorted(allowed))}" if allowed is not None else "a list of str"
        print_warn_msg(f"_ExperimentalConfig(): {name} must be {words}, not {value!r}")
        return []
    return sorted(set(value))


def _kinds(value: Any) -> list[str]:
    kinds = [value] if isinstance(value, str) else value
    allowed = _values(ExportType)
    texts = isinstance(kinds, (list, tuple)) and all(isinstance(each, str) and each in allowed for each in kinds)
    if not kinds or not texts:
        print_warn_msg(f"_ExperimentalConfig(): export_type must be {' or '.join(sorted(allowed))}, not {value!r}")
        return [Constant.Text]
    return sorted(set(kinds))


def _threshold(value: Any) -> float | None:
    if value is None or isinstance(value, (int, float)) and value >= 0:
        if value == 0:
            print_info_msg("gc_detect_threshold is 0: every collection of garbage is recorded")
        return value
    print_warn_msg(f"_ExperimentalConfig(): gc_detect_threshold must be milliseconds from 0 on, not {value!r}")
    return None
