"""Rules of vmap for the family dropout: each slice's result, made for all slices at once."""

from __future__ import annotations

from ._call import rule
from ._shared import shaped_by_first_two

rule("_masked_scale")(shaped_by_first_two)
