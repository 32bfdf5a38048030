"""Values in messages of the core: as PyTorch prints them, in every locale."""

import os
import shutil
import subprocess
import sys

import pytest
from recording import error

import mindtorch_v2 as torch

REFUSED = {
    "large": lambda torch: torch.zeros(2).geometric_(1234567.25),
    "small": lambda torch: torch.zeros(2).bernoulli_(-0.0000001234),
    "whole": lambda torch: torch.zeros(2).geometric_(3.0),
    "infinite": lambda torch: torch.zeros(2).geometric_(float("-inf")),
    "no_number": lambda torch: torch.zeros(2).bernoulli_(float("nan")),
    "sizes": lambda torch: torch.zeros(3, 4).view(5, -2),
    "empty_size": lambda torch: torch.zeros(3, 4).view(()),
    "joined": lambda torch: torch.nn.functional.conv2d(torch.zeros(1, 1, 2, 3), torch.zeros(1, 1, 5, 6)),
    "letters": lambda torch: torch.linalg.cholesky(torch.zeros(3)),
    "truth": lambda torch: torch.zeros(3).random_(5, 2),
}

IN_GERMAN = """
import locale
import mindtorch_v2 as torch
locale.setlocale(locale.LC_NUMERIC, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
try:
    torch.zeros(2).geometric_(1.5)
except RuntimeError as refused:
    print(refused)
"""


@pytest.mark.parametrize("name", REFUSED)
def test_values_are_printed_as_pytorchs(name):
    kinds, text = error(REFUSED[name])
    with pytest.raises(RuntimeError) as ours:
        REFUSED[name](torch)
    assert (type(ours.value).__name__, str(ours.value)) == (kinds[0], text)


@pytest.mark.skipif(
    shutil.which("localedef") is None or not os.path.exists("/usr/share/i18n/locales/de_DE"),
    reason="no locale can be made here",
)
def test_the_locale_changes_no_message(tmp_path):
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"], check=True)
    environment = os.environ | {"LOCPATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-c", IN_GERMAN]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "geometric_ expects p to be in (0, 1), but got p=1.5\n"
