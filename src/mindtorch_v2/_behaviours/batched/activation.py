"""Rules of vmap for the family activation: each slice's result, made for all slices at once."""

from __future__ import annotations

from ._call import rule
from ._shared import shaped_by_first_two

rule("_prelu_kernel_backward", "log_sigmoid_backward")(shaped_by_first_two)
