"""These tests run in a process whose GPU is the emulated one; ../test_on_emulator.py starts it. By hand:

MINDTORCH_CUDA_EMULATOR=1 python -m pytest tests/cuda/on_emulator
MINDTORCH_CUDA_HARDWARE=1 python -m pytest tests/cuda/on_emulator    # on a GPU that there is
"""

import os

from mindtorch_v2._backends.cuda import libraries

# A process without the emulator collects nothing here: what it did with the device would show in other tests.
collect_ignore_glob = [] if libraries.emulated() or os.environ.get("MINDTORCH_CUDA_HARDWARE") == "1" else ["test_*.py"]
