"""`torch._logging`: what the compiler tells, switched on by name: `set_logs(recompiles=True)`, or `TORCH_LOGS=recompiles`."""

from mindtorch_v2._logging._internal import getArtifactLogger, set_logs, trace_structured, warning_once

__all__ = ["getArtifactLogger", "set_logs", "trace_structured", "warning_once"]
