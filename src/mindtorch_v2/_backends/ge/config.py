"""Settings of the GE back end, under the names that `torchair.CompilerConfig` has.

Those that steer what this back end does not do are kept and can be read, and the first that is set to another value than the one that holds
is named by a warning, each name once. What torchair does not have is an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

_FLAG = (False, True)
_told: set[str] = set()


class _Section:
    """Attributes with the values that they may have: none are said where any may be."""

    _path = ""
    _allowed: dict[str, tuple] = {}
    _without_effect: dict[str, tuple] = {}  # name -> the value that holds, and the others

    def __init__(self) -> None:
        for name, values in self._without_effect.items():
            object.__setattr__(self, name, values[0] if values else None)

    def __setattr__(self, name: str, value: Any) -> None:
        where = f"{type(self)._path}.{name}"
        known = {**self._allowed, **self._without_effect}
        if name not in known:
            raise AttributeError(
                f"CompilerConfig{type(self)._path} has no setting '{name}' here; it has {', '.join(known) or 'nothing'}"
            )
        allowed = known[name]
        if allowed and value not in allowed:
            raise ValueError(f"CompilerConfig{where} can be {', '.join(map(repr, allowed))}, got {value!r}")
        if name in self._without_effect and value != (allowed[0] if allowed else None) and where not in _told:
            _told.add(where)
            warnings.warn(f"CompilerConfig{where} has no effect here", stacklevel=2)
        object.__setattr__(self, name, value)


def _section(path: str, **without_effect: tuple) -> type[_Section]:
    """A section of settings none of which has an effect."""
    return type("_Settings", (_Section,), {"_path": path, "_without_effect": without_effect})


class _Dump(_Section):
    _path = ".debug.graph_dump"
    _allowed = {"type": (None, "air", "pbtxt"), "path": ()}

    def __init__(self) -> None:
        super().__init__()
        self.type, self.path = None, "."


_Captured = _section(
    ".debug.aclgraph",
    disable_reinplace_inplaceable_ops_pass=_FLAG,
    disable_reinplace_input_mutated_ops_pass=_FLAG,
    disable_mempool_reuse_in_same_fx=_FLAG,
    enable_output_clone=_FLAG,
    static_capture_size_limit=(),
    clone_input=(True, False),
    remove_cat_ops=(True, False),
)
_Summary = _section(".debug.fx_summary", type=(None, "csv"))
_Data = _section(".debug.data_dump", type=(None, "npy"))


class _Debug(_Section):
    _path = ".debug"
    _allowed = {"aclgraph": (), "data_dump": (), "fx_summary": (), "graph_dump": (), "run_eagerly": _FLAG}
    _without_effect = {"deadlock_check": _FLAG}

    def __init__(self) -> None:
        super().__init__()
        self.aclgraph, self.data_dump, self.fx_summary = _Captured(), _Data(), _Summary()
        self.graph_dump, self.run_eagerly = _Dump(), False


_SECTIONS = {
    "aclgraph_config": _section(".aclgraph_config", use_custom_pool=()),
    "aoe_config": _section(".aoe_config", aoe_mode=(), work_path=(), aoe_config_file=()),
    "dump_config": _section(
        ".dump_config",
        enable_dump=_FLAG,
        dump_path=(),
        dump_mode=("all", "input", "output"),
        quant_dumpable=_FLAG,
        dump_data=("tensor", "stats"),
        dump_config_path=(),
        data_dump_stage=("optimized", "original"),
    ),
    "experimental_config": _section(
        ".experimental_config",
        cc_parallel_enable=_FLAG,
        keep_inference_input_mutations=(True, False),
        memory_efficiency=_FLAG,
        frozen_parameter=_FLAG,
        static_model_ops_lower_limit=(),
        jit_compile=(),
        npu_fx_pass=_FLAG,
        aot_config_enable_joint_graph=_FLAG,
        aot_config_output_loss_index=(),
        topology_sorting_strategy=("DFS", "BFS", "RDFS", "StableRDFS"),
        enable_ref_data=_FLAG,
        enable_view_optimize=(True, False),
        remove_noop_ops=(True, False),
        tiling_schedule_optimize=_FLAG,
        pattern_fusion_pass=(True, False),
    ),
    "export": _section(".export", export_mode=_FLAG, export_path_dir=(), export_name=()),
    "fusion_config": _section(".fusion_config", fusion_switch_file=()),
    "ge_config": _section(
        ".ge_config",
        enable_single_stream=_FLAG,
        oo_level=("O3", "O1"),
        oo_constant_folding=(),
        oo_dead_code_elimination=(),
        export_compile_stat=("1", "0", "2"),
        aicore_num=(),
        optimization_switch=(),
    ),
    "inference_config": _section(".inference_config", dynamic_gears_merge_policy=("zip", "product")),
}


class CompilerConfig(_Section):
    """Settings of `get_npu_backend`.

    mode: "max-autotune", a GE graph. "reduce-overhead" and "npugraph_ex" run the traced graph's operators one by one, which a
        warning says once: what torchair captures is not captured.
    debug.run_eagerly: convert, and run the traced graph's own operators instead of the GE graph.
    debug.graph_dump.type: "air" or "pbtxt": write each converted graph to debug.graph_dump.path.
    post_grad_custom_pre_pass, post_grad_custom_post_pass: functions of the traced graph module, called before it is converted.

    The other settings of torchair have no effect, and say so once.
    """

    _allowed = {
        "debug": (),
        "mode": ("max-autotune", "reduce-overhead", "npugraph_ex"),
        "post_grad_custom_post_pass": (),
        "post_grad_custom_pre_pass": (),
        **dict.fromkeys(_SECTIONS, ()),
    }

    post_grad_custom_pre_pass: Callable[[Any], Any] | None
    post_grad_custom_post_pass: Callable[[Any], Any] | None

    def __init__(self) -> None:
        super().__init__()
        self.debug, self.mode = _Debug(), "max-autotune"
        self.post_grad_custom_pre_pass = self.post_grad_custom_post_pass = None
        for name, section in _SECTIONS.items():
            setattr(self, name, section())

    def is_captured(self) -> bool:
        """Whether the mode is one whose graphs torchair captures, which are run operator by operator here."""
        if self.mode == "max-autotune":
            return False
        if "mode" not in _told:
            _told.add("mode")
            warnings.warn(
                f"CompilerConfig.mode {self.mode!r}: the graph's operators are run one by one, nothing is captured; "
                "torch.npu.NPUGraph captures",
                stacklevel=3,
            )
        return True


__all__ = ["CompilerConfig"]
