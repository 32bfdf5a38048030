"""The logger of conversions."""

import logging

__all__ = ["logger"]

logger = logging.getLogger("torchair")
