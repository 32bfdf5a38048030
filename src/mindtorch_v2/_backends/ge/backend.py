"""GE as a back end of `torch.compile`, and as a compiler of traced graphs."""

from __future__ import annotations

import itertools
import os
import pathlib
from collections.abc import Callable
from typing import Any

from .compositions import lower
from .config import CompilerConfig
from .execute import Compiled
from .lower import GEConversionError, Program

_numbers = itertools.count()


def dump(program: Program, path: pathlib.Path | str) -> pathlib.Path:
    """Write a GE graph: as protobuf text if the name ends in `.pbtxt`, else as the `.air` file that GE loads."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".pbtxt":
        path.write_text(program.model.text())
    else:
        path.write_bytes(program.model.serialize())
    return path


def _dumped(program: Program, name: str, config: CompilerConfig) -> None:
    if config.debug.graph_dump.type is not None:
        dump(program, pathlib.Path(config.debug.graph_dump.path) / f"{name}.{config.debug.graph_dump.type}")
    if os.environ.get("TORCH_COMPILE_DEBUG") == "1":
        for kind in ("air", "pbtxt"):
            dump(program, pathlib.Path("torch_compile_debug") / f"{name}.{kind}")


def ge_compile(
    graph_module: Any, example_inputs: Any = (), *, config: CompilerConfig | None = None, name: str | None = None
) -> Callable[..., Any]:
    """The callable that runs a traced graph of operators as a GE graph on the NPU.

    Args:
        graph_module: of operators, functional, as `make_fx(functionalize(program))` gives it.
        example_inputs: not looked at: the graph's own meta says what its inputs are.
        config: settings; `mode`, `debug.graph_dump`, `debug.run_eagerly` and the passes count here.
        name: of the graph and of what is dumped.

    Returns:
        a callable with the graph's inputs and results. Tensors of the host are copied to the device.

    Raises:
        GEConversionError: operators without a converter (all are named), or converters that do not fit.
        RuntimeError: no NPU and no emulator, or GE does not take the graph.
    """
    config = config or CompilerConfig()
    name = name or f"ge_graph_{next(_numbers)}"
    for change in (config.post_grad_custom_pre_pass, config.post_grad_custom_post_pass):
        if change is not None:
            change(graph_module)
            graph_module.recompile()
    if config.is_captured():
        return graph_module.forward
    program = lower(graph_module, name)
    _dumped(program, name, config)
    if config.debug.run_eagerly:
        return graph_module.forward
    return Compiled(program, name)


class Backend:
    """A back end of `torch.compile`: forward and backward graphs of operators become GE graphs."""

    def __init__(self, config: CompilerConfig | None = None, **options: Any) -> None:
        if config is not None and not isinstance(config, CompilerConfig):
            raise TypeError(f"compiler_config must be a torchair.CompilerConfig, got {type(config).__name__}")
        self.config = config or CompilerConfig()
        self.options = options
        self.__name__ = "ge"

    def compile(self, graph_module: Any, example_inputs: Any) -> Callable[..., Any]:
        """Compile one graph of operators."""
        return ge_compile(graph_module, example_inputs, config=self.config)

    def __call__(self, graph_module: Any, example_inputs: Any, **kwargs: Any) -> Callable[..., Any]:
        from ..._dynamo.backends.common import aot_autograd  # torch.compile loads back ends

        lowered = aot_autograd(fw_compiler=self.compile, bw_compiler=self.compile, whole=True, **self.options)
        return lowered(graph_module, example_inputs)


def get_npu_backend(
    *, compiler_config: CompilerConfig | None = None, custom_decompositions: dict | None = None
) -> Backend:
    """The back end for `torch.compile(model, backend=...)` that makes GE graphs.

    Args:
        compiler_config: see `CompilerConfig`.
        custom_decompositions: {operator: function} to put in the place of operators before they are converted.

    Raises:
        TypeError: a config that is none.
    """
    options = {"decompositions": custom_decompositions} if custom_decompositions else {}
    return Backend(compiler_config, **options)


def get_compiler(compiler_config: CompilerConfig | None = None) -> Callable[..., Any]:
    """The compiler of graphs of operators alone, for `aot_autograd(fw_compiler=...)`."""
    return Backend(compiler_config).compile


__all__ = [
    "Backend",
    "Compiled",
    "CompilerConfig",
    "GEConversionError",
    "dump",
    "ge_compile",
    "get_compiler",
    "get_npu_backend",
]
