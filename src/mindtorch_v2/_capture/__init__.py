"""Whole capture of Python functions and Modules: a graph of torch calls, and the guards under which it holds."""

from mindtorch_v2._capture._result import Capture, Guards, Uncapturable
from mindtorch_v2._capture._trace import capture

__all__ = ["Capture", "Guards", "Uncapturable", "capture"]
