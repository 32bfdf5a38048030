"""`examples/chat` trains its small model and writes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_it_trains_and_writes():
    pytest.importorskip("transformers")
    command = [sys.executable, "-m", "mindtorch_v2", "examples/chat/chat.py", "--steps", "3", "--tokens", "4"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    said = done.stderr.decode()
    assert done.returncode == 0, said
    assert done.stdout.startswith(b"Return the") and re.search(r"\d+ tokens in [\d.]+ s: [\d.]+ tokens/s", said)
