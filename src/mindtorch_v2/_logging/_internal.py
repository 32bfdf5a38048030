"""Components (which have a level) and artifacts (which are on or off), and the handler that writes them to stderr."""

from __future__ import annotations

import functools
import logging
import os
from typing import Any

from ._names import ARTIFACTS, COMPONENTS, SAME, SILENT

__all__ = ["ARTIFACTS", "COMPONENTS", "artifact", "getArtifactLogger", "set_logs", "trace_structured", "warning_once"]

trace_log = logging.getLogger(
    "torch.__trace"
)  # PyTorch's name: what `TORCH_TRACE` would write; nothing here writes to it
_on: set[str] = set()
_handled: list[tuple[logging.Logger, logging.Handler]] = []


class _Format(logging.Formatter):
    """The head of PyTorch's lines in short, or what `TORCH_LOGS_FORMAT` says."""

    def format(self, record: logging.LogRecord) -> str:
        own = os.environ.get("TORCH_LOGS_FORMAT")
        if own:
            return logging.Formatter(own).format(record)
        kind = getattr(record, "artifact", None)
        head = f"{record.levelname[0]} {record.filename}:{record.lineno}]"
        return f"{head} [__{kind}] {record.getMessage()}" if kind else f"{head} {record.getMessage()}"


class _ArtifactLogger(logging.LoggerAdapter):
    def process(self, msg: Any, kwargs: Any) -> Any:
        extra: Any = self.extra
        return msg, {**kwargs, "extra": {**kwargs.get("extra", {}), "artifact": extra["artifact"]}}


@functools.cache
def getArtifactLogger(module_qname: str, artifact_name: str) -> Any:  # PyTorch's name
    """The logger of an artifact, to write with at any level; ValueError for a name that is none."""
    if artifact_name not in ARTIFACTS:
        raise ValueError(
            f"Artifact name: {artifact_name} not registered, please call register_artifact({artifact_name})"
        )
    name = module_qname.replace("mindtorch_v2", "torch")
    return _ArtifactLogger(logging.getLogger(f"{name}.__{artifact_name}"), {"artifact": artifact_name})


def is_on(name: str) -> bool:
    """Whether an artifact is switched on."""
    return name in _on


def artifact(name: str, text: str) -> None:
    """Write an artifact, if it is switched on. `text` is a string, or a function that makes it."""
    if name in _on:
        getArtifactLogger("torch._dynamo", name).info("%s", text() if callable(text) else text, stacklevel=3)


def set_logs(*, all: int | None = None, modules: dict[str, Any] | None = None, **settings: Any) -> None:
    """Switch on what is named, and everything else off.

    A component (`dynamo`, `aot`, `distributed`, or `all`) is given a level of `logging`; an artifact (`guards`, `recompiles`,
    `graph_breaks`, `graph_code`, `aot_graphs`, ...) True or False. `modules` maps names of loggers to levels. ValueError
    for an unknown name or a wrong value. It does nothing where the variable `TORCH_LOGS` is set.
    """
    if os.environ.get("TORCH_LOGS") is not None:
        logging.getLogger("torch._logging").warning(
            "Using TORCH_LOGS environment variable for log settings, ignoring call to set_logs"
        )
        return
    _apply(all, settings, modules or {})


def _apply(everything, settings, modules) -> None:
    levels: dict[str, int] = {}
    artifacts: set[str] = set()
    silent: list[str] = []
    if everything is not None:
        levels.update({name: everything for names in COMPONENTS.values() for name in names})
    for name, value in settings.items():
        if name in COMPONENTS:
            if value not in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL):
                raise ValueError(
                    f"Unrecognized log level for component {name}: {value}, valid level values are 10, 20, 30, 40, 50"
                )
            levels.update(dict.fromkeys(COMPONENTS[name], value))
        elif name in ARTIFACTS or name in SAME or name in SILENT:
            if not isinstance(value, bool):
                raise ValueError(f"Expected bool to enable artifact {name}, received {value}")
            if value and name in SILENT:
                silent.append(name)
            elif value:
                artifacts.add(SAME.get(name, name))
        else:
            raise ValueError(f"Unrecognized component or artifact name passed to set_logs: {name}. {_names()}")
    levels.update(modules)
    for logger, handler in _handled:
        logger.removeHandler(handler)
        handler.close()
        logger.setLevel(logging.NOTSET)
        logger.propagate = True
    _handled.clear()
    _on.clear()
    _on.update(artifacts)
    for name, level in levels.items():
        _handle(logging.getLogger(name), level)
    for name in artifacts:
        _handle(getArtifactLogger("torch._dynamo", name).logger, logging.DEBUG)
    if silent:
        logging.getLogger("torch._logging").warning(
            "Nothing will be written of %s: mindtorch_v2 has no such step of a compiler", ", ".join(sorted(silent))
        )


def _handle(logger, level) -> None:
    for handler in _outputs():
        handler.setFormatter(_Format())
        logger.addHandler(handler)
        _handled.append((logger, handler))
    logger.setLevel(level)
    logger.propagate = False


def _names() -> str:
    return f"Components: {', '.join(COMPONENTS)}; artifacts: {', '.join(ARTIFACTS)}"


def _outputs() -> list[logging.Handler]:
    """stderr, and the file that `TORCH_LOGS_OUT` names."""
    path = os.environ.get("TORCH_LOGS_OUT")
    return [logging.StreamHandler(), *([logging.FileHandler(path, encoding="utf-8")] if path else [])]


def parse(text: str) -> Any:
    """`TORCH_LOGS`: names with commas between; `+name` is a component's debug level, `-name` errors only."""
    settings: dict[str, Any] = {}
    modules: dict[str, Any] = {}
    everything: int | None = None
    for item in filter(None, (each.strip() for each in text.split(","))):
        level = {"+": logging.DEBUG, "-": logging.ERROR}.get(item[0], logging.INFO)
        name = item.lstrip("+-")
        if name == "help":
            raise ValueError(_names())
        if name == "all":
            everything = level
        elif name in ARTIFACTS or name in SAME or name in SILENT:
            settings[name] = True
        elif name in COMPONENTS:
            settings[name] = level
        elif "." in name:
            modules[name] = level
        else:
            raise ValueError(f"TORCH_LOGS: unknown name {name!r}. {_names()}")
    return everything, settings, modules


def trace_structured(name: str, *args: Any, **kwargs: Any) -> None:
    """Nothing: there is no structured trace."""


@functools.lru_cache(None)
def warning_once(logger_obj: Any, *args: Any, **kwargs: Any) -> None:
    """Warn through a logger, once for the same message."""
    logger_obj.warning(*args, **kwargs)


if os.environ.get("TORCH_LOGS"):
    _apply(*parse(os.environ["TORCH_LOGS"]))
