"""Settings of the back end."""

from mindtorch_v2._backends.ge.config import CompilerConfig

__all__ = ["CompilerConfig"]
