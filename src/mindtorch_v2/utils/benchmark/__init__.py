"""`torch.utils.benchmark`: timing statements, with repetitions, and showing what was measured side by side."""

from ._compare import Compare
from ._measurement import Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from ._timer import Timer, timer

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig", "unit_to_english"]
