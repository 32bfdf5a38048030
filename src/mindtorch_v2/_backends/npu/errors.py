"""The one exception of the NPU back end, and what CANN's codes mean."""

from __future__ import annotations

from mindtorch_v2._core.errors import AcceleratorError, OutOfMemoryError

from .faults import Origin

_RUNTIME = {
    100000: "invalid parameter",
    100001: "not initialised",
    100002: "initialised before",
    100037: "finalised before",
    107000: "invalid parameter",
    107001: "invalid device",
    107002: "no context on this thread",
    107003: "stream of another context",
    107006: "event without a time stamp",
    107008: "address not aligned",
    107015: "no callback registered for the stream",
    107017: "invalid handle",
    107019: "timeout of a wait",
    107020: "timeout of a task",
    107022: "task of the device aborted",
    107024: "event recorded outside of the capture",
    107025: "a stream that joined the capture was not joined back",
    107026: "model is being captured",
    107027: "stream is being captured",
    107028: "event is being captured",
    107029: "stream is not being captured",
    107030: "not allowed in this capture mode",
    107031: "the default stream cannot be captured",
    107032: "event and stream belong to different captures",
    107033: "a task group is open, or none is",
    107036: "capture was begun on another stream",
    107037: "model is being executed",
    107038: "capture was begun by another thread",
    161001: "a parameter is a null pointer",
    161002: "a parameter is invalid",
    207000: "feature not supported",
    207001: "out of memory",
    207002: "memory could not be freed",
    207004: "no device",
    207005: "no resources left",
    207006: "no permission",
    207007: "no event left",
    207008: "no stream left",
    207018: "out of memory on the device",
    361001: "the runtime reported an error",
    500000: "internal error",
    507000: "internal error of the runtime",
    507011: "execution of a model failed",
    507013: "no data on the device",
    507014: "timeout of an AI core",
    507015: "exception on an AI core",
    507018: "exception on an AI CPU",
    507033: "communication with the device failed",
    507034: "timeout of a vector core",
    507035: "exception on a vector core",
    507046: "timeout while synchronising a stream",
    507047: "timeout while synchronising an event",
    561000: "internal error of an operator",
    561001: "internal error while inferring shapes",
    561002: "internal error while tiling",
    561003: "no kernel found for the operator",
    561103: "internal error: null pointer",
    561107: "the operator package was not found (ASCEND_OPP_PATH)",
    561112: "the operator's kernel package was not found",
}
OUT_OF_MEMORY = frozenset({207001, 207018})


def meaning(code: int) -> str:
    """The meaning of a return code of ACL or ACLNN stands for, in a few words."""
    return _RUNTIME.get(code, "error")


class NPUError(AcceleratorError):
    """A call of Ascend's runtime or of an operator that failed.

    Attributes: `function` (the call), `code` (what it returned), `meaning` (of the code), `detail` (CANN's own message,
    possibly empty), `origin` (for work that failed after it was enqueued: operator, filename, line and function of the program; or
    None).
    """

    def __init__(
        self, function: str, code: int, detail: str = "", note: str = "", origin: Origin | None = None
    ) -> None:
        self.function, self.code, self.detail, self.origin = function, code, detail, origin
        self.meaning = meaning(code)
        text = f"{function} returned {code} ({self.meaning})"
        if detail:
            text += f": {detail}"
        if origin is not None:
            text += f"\n{origin}"
        super().__init__(f"{text}\n{note}" if note else text)


class NPUOutOfMemoryError(NPUError, OutOfMemoryError):
    """No device memory left, after the cache was given back."""
