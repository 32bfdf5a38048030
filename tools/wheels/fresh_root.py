"""Try a wheel in a new Debian without a compiler: `python -m tools.wheels.fresh_root` (as root; needs debootstrap).

Two commands run in it, as a stranger would: `pip install` of the wheel, and a program; then the tests that are named. What
pip needs beside the wheel comes from the index that pip is set to. `--python 3.13` takes the release that has that
Python: Debian's, or for 3.12 Ubuntu's.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from . import parts

_ROOT = Path(__file__).parents[2]
# A shell's command in the root, which has a /proc of its own there that ends with the command.
_INSIDE = ("unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" /bin/sh -c "$1"')
_COMPILERS = ("gcc", "g++", "cc", "c++", "clang", "cmake", "ninja")
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_PROGRAM = """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(512, 20)
y = (x[:, :3].sum(1) > 0).long()
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(60):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
image = nn.Conv2d(3, 8, 3)(torch.randn(4, 3, 32, 32))
assert loss.item() < 0.1 and image.shape == (4, 8, 30, 30)
assert torch.equal(torch.linalg.inv(torch.eye(3) * 2), torch.eye(3) / 2)
print(f"trained to {loss.item():.4f} with {torch.__file__}")
"""


def main() -> int:
    """Make the root if it is not there, install, run; the status of what failed, 0 if nothing did."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheels.fresh_root", description=__doc__)
    parser.add_argument("--python", default="3.11", choices=sorted(parts.SUITES), help="the wheel's")
    parser.add_argument("--dist", type=Path, default=_ROOT / "dist")
    parser.add_argument("--work", type=Path, default=_ROOT / "build" / "wheels", help="for what is kept between calls")
    parser.add_argument("tests", nargs="*", help="tests of the checkout, to run on the wheel: tests/core ...")
    chosen = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("this needs root and debootstrap: apt-get install debootstrap", file=sys.stderr)
        return 2
    python = f"python{chosen.python}"
    root = chosen.work.resolve() / f"fresh-root-{chosen.python}"
    if not (root / "usr" / "bin" / python).exists():
        packages = f"{python},{python}-venv,ca-certificates"
        address, options = parts.archive(parts.SUITES[chosen.python], chosen.work.resolve())
        command = ["debootstrap", "--variant=minbase", f"--include={packages}", *options, parts.SUITES[chosen.python]]
        subprocess.run([*command, str(root), address, *parts.script(parts.SUITES[chosen.python])], check=True)
    found = [name for name in _COMPILERS if (root / "usr" / "bin" / name).exists()]
    if found:
        print(f"{root} has {', '.join(found)}: it is no root without a compiler", file=sys.stderr)
        return 2
    shutil.rmtree(root / "dist", ignore_errors=True)
    shutil.copytree(chosen.dist, root / "dist")
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    if _CERTIFICATES.exists():
        shutil.copy(_CERTIFICATES, root / str(_CERTIFICATES).lstrip("/"))
    (root / "program.py").write_text(_PROGRAM)
    steps = [
        f"rm -rf /try && {python} -m venv /try",
        "/try/bin/pip install --quiet --no-index --find-links /dist --no-deps mindtorch_v2 && "
        "/try/bin/pip install --quiet --find-links /dist mindtorch_v2",
        "/try/bin/python -m mindtorch_v2 /program.py",
        "/try/bin/python -m mindtorch_v2.doctor",
        *_test_steps(root, chosen.tests),
        "/try/bin/pip uninstall --quiet --yes mindtorch_v2 && "
        "! find /try -iname '*mindtorch*' -o -name torchrun -o -name torch | grep .",
    ]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    for step in steps:
        print(f"$ {step}", flush=True)
        done = subprocess.run([*_INSIDE, str(root), step], env=environment, check=False)
        if done.returncode:
            print(f"status {done.returncode}", file=sys.stderr)
            return done.returncode
    return 0


def _test_steps(root: Path, tests: list[str]) -> list[str]:
    """Commands that run these tests on what is installed in the root, where a copy of all tests is put; none without."""
    if not tests:
        return []
    checkout = root / "checkout"
    shutil.rmtree(checkout, ignore_errors=True)
    for name in ("tests", "tools"):
        shutil.copytree(_ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_ROOT / "pytest.ini", checkout)
    names = " ".join(shlex.quote(name) for name in tests)
    return [
        "/try/bin/pip install --quiet pytest hypothesis psutil",
        f"cd /checkout && /try/bin/python -m pytest {names}",
    ]


if __name__ == "__main__":
    sys.exit(main())
