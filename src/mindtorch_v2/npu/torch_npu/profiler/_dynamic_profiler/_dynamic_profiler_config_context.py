"""The wishes of a file."""

from __future__ import annotations

import json
from typing import Any

from .._recording import ProfilerActivity
from ..experimental_config import AiCMetrics, ProfilerLevel, _ExperimentalConfig
from ._dynamic_profiler_utils import DynamicProfilerUtils

__all__ = ["ConfigContext"]


class ConfigContext:
    """The arguments of a profile, from the JSON of a file; what is no value of an argument is its default, with a warning."""

    INSTANT_START_STEP = -1  # the next step, whatever its number
    _LEAST = {"active": (1, 1), "warmup": (0, 0), "start_step": (-1, 0)}  # the least number, and the default

    def __init__(self, json_data: dict[str, Any]) -> None:
        self.is_valid = json_data.get("is_valid", False)
        self.activity_set = self._activities(json_data.get("activities"))
        self.prof_path = json_data.get("prof_dir", "./")
        if not isinstance(self.prof_path, str) or not self.prof_path:
            self._tell(f"prof_dir must be a path, not {self.prof_path!r}")
            self.prof_path = "./"
        self.record_shapes = json_data.get("record_shapes", False)  # `profile` checks these
        self.profile_memory = json_data.get("profile_memory", False)
        self.with_stack = json_data.get("with_stack", False)
        self.with_flops = json_data.get("with_flops", False)
        self.with_modules = json_data.get("with_modules", False)
        self._numbers = {name: self._number(name, json_data) for name in self._LEAST}
        self._analyse = self._switch("analyse", json_data)
        self._async_mode = self._switch("async_mode", json_data)
        self.is_rank = self._switch("is_rank", json_data)
        self._ranks = self._rank_list(json_data.get("rank_list", []))
        self._meta_data = json_data.get("metadata", {})
        self.experimental_config = self._experimental(json_data.get("experimental_config"))

    @staticmethod
    def _tell(message: str) -> None:
        DynamicProfilerUtils.out_log(message, DynamicProfilerUtils.LoggerLevelEnum.WARNING)

    def _activities(self, names: Any) -> set[ProfilerActivity]:
        known = ProfilerActivity.__members__
        wanted = [name.upper() for name in names if isinstance(name, str)] if isinstance(names, list) else []
        for name in set(wanted) - set(known):
            self._tell(f"activities are CPU and NPU, not {name}")
        return {known[name] for name in wanted if name in known}

    def _number(self, name: str, data: dict[str, Any]) -> int:
        least, default = self._LEAST[name]
        value = data.get(name, default)
        if isinstance(value, int) and value >= least:
            return value
        self._tell(f"{name} must be a whole number from {least} on, not {value!r}")
        return default

    def _switch(self, name: str, data: dict[str, Any]) -> bool:
        value = data.get(name, False)
        if not isinstance(value, bool):
            self._tell(f"{name} must be true or false, not {value!r}")
        return value is True

    def _rank_list(self, ranks: Any) -> set[int]:
        if not isinstance(ranks, list):
            self._tell(f"rank_list must be a list of ranks, not {ranks!r}")
            return set()
        return {rank for rank in ranks if isinstance(rank, int) and rank >= 0}

    @staticmethod
    def _experimental(options: Any) -> _ExperimentalConfig | None:
        if not isinstance(options, dict) or not options:
            return None
        given = dict(options)
        for name, kind in (("profiler_level", ProfilerLevel), ("aic_metrics", AiCMetrics)):
            if isinstance(given.get(name), str):
                given[name] = getattr(kind, given[name], given[name])
        return _ExperimentalConfig(**given)

    def valid(self) -> bool:
        """Whether the file could be read, and this process is one of those that are to be profiled."""
        return self.is_valid and (not self.is_rank or DynamicProfilerUtils.get_rank_id() in self._ranks)

    def meta_data(self) -> dict[str, Any]:
        """The values that are added to the profile's files."""
        return self._meta_data if isinstance(self._meta_data, dict) else {}

    def activities(self) -> list[ProfilerActivity]:
        """The activities that are recorded."""
        return sorted(self.activity_set, key=lambda each: each.value)

    def analyse(self) -> bool:
        """Whether tables are made at once."""
        return self._analyse

    def async_mode(self) -> bool:
        """Whether that was to be done beside the program; it is done at once."""
        return self._async_mode

    def active(self) -> int:
        """How many steps are recorded."""
        return self._numbers["active"]

    def warmup(self) -> int:
        """How many steps come before them."""
        return self._numbers["warmup"]

    def start_step(self) -> int:
        """The step from which on; -1: from the next."""
        return self._numbers["start_step"]

    def start(self) -> bool:
        """Whether it is from the next step on."""
        return self.start_step() == self.INSTANT_START_STEP

    @staticmethod
    def profiler_cfg_json_to_bytes(json_dict: dict[str, Any]) -> bytes:
        """The file as bytes."""
        return json.dumps(json_dict).encode()

    @staticmethod
    def bytes_to_profiler_cfg_json(bytes_shm: bytes) -> dict[str, Any]:
        """The file from bytes."""
        return json.loads(bytes_shm.decode())
