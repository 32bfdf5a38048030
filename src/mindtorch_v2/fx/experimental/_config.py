"""Settings of PyTorch's symbolic sizes, with the values that it has: accepted, and without effect here."""

from __future__ import annotations

from mindtorch_v2._core.settings import Patch

backed_size_oblivious = False
extended_debug_cpp = False
print_specializations = False
translation_validation = False
use_duck_shape = True

patch = Patch(__name__)
