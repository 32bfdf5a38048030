"""`python -m mindtorch_v2.ops`: the table of an operator and its kernels."""

import subprocess
import sys

import mindtorch_v2 as torch


def _run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2.ops", *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_one_operator():
    status, said, _ = _run("aten::add.Tensor")
    assert status == 0
    lines = said.splitlines()
    assert lines[0] == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert lines[1] == "  registered by the row add.Tensor of _operators/native/arithmetic.py"
    rows = {line.split()[0]: line.split(None, 1)[1].strip() for line in lines[4:]}
    assert rows["CPU"] == "native"
    assert rows["Meta"] == "the shape rule of the row"
    assert rows["AutogradCPU"] == "the gradient of the row"


def test_operators_of_the_user(tmp_path, monkeypatch):
    (tmp_path / "my_operators.py").write_text(
        "import mindtorch_v2 as torch\n"
        "library = torch.library.Library('mine', 'DEF')\n"
        "library.define('f(Tensor x) -> Tensor')\n"
        "def kernel(x): return x\n"
        "library.impl('f', kernel, 'CPU')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    status, said, error = _run("mine::f", "--import", "my_operators")
    assert status == 0, error
    assert "mine::f(Tensor x) -> Tensor\n  registered by " in said
    assert "my_operators.py:3" in said
    assert "kernel (my_operators.py:4)" in said


def test_listing_and_searching():
    status, said, _ = _run("softmax")
    assert status == 0
    assert all("softmax" in line for line in said.splitlines())
    assert len(said.splitlines()) > 2
    status, _, said = _run("no_such_operator")
    assert (status, said) == (1, "no operator is called no_such_operator\n")


def test_as_a_module_it_is_torch_ops():
    import mindtorch_v2.ops as imported

    assert imported is torch.ops
