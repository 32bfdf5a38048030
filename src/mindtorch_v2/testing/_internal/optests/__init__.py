"""`opcheck` under the name by which tests of operator libraries import it."""

from mindtorch_v2.library import OpCheckError, opcheck

__all__ = ["OpCheckError", "opcheck"]
