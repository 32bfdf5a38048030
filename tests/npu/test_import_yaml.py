"""Operators of a file in the form of op_plugin_functions.yaml, as a module that registers them."""

import pathlib
import subprocess
import sys
from typing import Any

import pytest

from mindtorch_v2._backends.npu import libraries
from mindtorch_v2.npu import import_yaml
from mindtorch_v2.npu.__main__ import main

pytest.importorskip("yaml", reason="import-yaml reads with PyYAML")
_READ = """
all_version: [v2.1, newest]
official:
custom:
  - func: my_gelu(Tensor self) -> Tensor
    op_api: all_version
    gen_opapi:
      out:
        size: self
        dtype: self
      exec: aclnnFastGelu

  - func: my_product.Tensor(Tensor self, Tensor other, *, Tensor? lambda=None) -> Tensor
    op_api: [v2.1, newest]
    gen_opapi:
      out:
        size: broadcast_ops_npu_output_size(self, other)
        dtype: self
      exec: aclnnMul, self, other, out
  - func: my_gelu_(Tensor(a!) self, Tensor from) -> Tensor(a!)
    gen_opapi:
      exec: aclnnFastGelu, from, self
  - func: my_sums(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)
    gen_opapi:
      y: {size: self, dtype: self}
      rstd:
        size: '{self.size(0), 1L}'
        dtype: at::kFloat
      exec: aclnnRmsNorm
"""
_PROGRAM = """
import mindtorch_v2 as torch, my_operators
x, y = torch.randn(3, 1, device="npu"), torch.randn(4, device="npu")
ours = torch.ops.mine
assert torch.equal(ours.my_gelu(x), torch.ops.npu.npu_fast_gelu(x))
assert torch.equal(ours.my_product(x, y), x * y)
assert ours.my_product(x.to("meta"), y.to("meta")).shape == (3, 4)
assert ours.my_gelu_(x, x.clone()) is x and ours.my_sums(x.to("meta"), x.to("meta"))[1].shape == (3, 1)
made = ours.my_sums(x, torch.ones(1, device="npu"))
assert [each.tolist() for each in made] == [each.tolist() for each in torch.ops.npu.npu_rms_norm(x, torch.ones(1, device="npu"))]
"""


@pytest.mark.skipif(not (libraries.EMULATOR / "lib64" / "libopapi.so").exists(), reason="the emulator is not built")
def test_operators_are_registered_and_run(tmp_path: pathlib.Path, capsys: Any) -> None:
    # YAML takes a list in braces for a mapping, and in quotes for a string.
    text = _READ.replace("'{self.size(0), 1L}'", "{self.size(0), 1L}")
    (tmp_path / "mine.yaml").write_text(text, "utf-8")
    output = tmp_path / "my_operators.py"
    assert main(["import-yaml", str(tmp_path / "mine.yaml"), "--namespace", "mine", "--output", str(output)]) == 0
    assert "4 operators were read, 0 entries were left out" in capsys.readouterr().err
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{_PROGRAM}"
    command = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--", sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def _reason(entry: str) -> str:
    source, read, unread = import_yaml.module_of(f"custom:\n  - func: {entry}", "mine", "mine.yaml")
    assert read == [] and len(unread) == 1 and "library.define" not in source
    return unread[0]


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("", "f: without gen_opapi, its adaptation is C++"),
        ("{structured_inherit: f.out}", "f: structured_inherit: the entry that it names says the rest"),
        ("{out: {size: self, dtype: self}}", "f: no exec"),
        ("{out: {size: rows(self), dtype: self}, exec: aclnnF}", "f: size 'rows(self)' is neither"),
        ("{out: {size: {n.size(0)}, dtype: self}, exec: aclnnF}", "f: size 'n.size(0)' is neither"),
        ("{out: {size: self, dtype: at::kOther}, exec: aclnnF}", "f: dtype 'at::kOther' is neither"),
        ("{out: {size: self}, exec: aclnnF}", "f: result out does not say size and dtype"),
        ("{out: {size: self, dtype: self}, exec: 'aclnnF, self, mode, out'}", "f: exec passes mode, which new_params"),
        ("{exec: aclnnF}", "f: 1 results are returned, but 0 are described"),
    ],
)
def test_what_is_left_out_is_said(rest: str, reason: str) -> None:
    given = f"\n    gen_opapi: {rest}" if rest else ""
    assert _reason(f"f(Tensor self, int n) -> Tensor{given}").startswith(reason)


def test_a_schema_that_is_wrong_is_said() -> None:
    assert _reason("f(Tensor self -> Tensor\n    gen_opapi: {exec: aclnnF}").startswith("f: ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("custom: [", "not YAML: "),
        ("a: 1", "none of the sections official, custom"),
        ("custom:\n  - name: f", "custom: expected entries with func, got {'name': 'f'}"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, problem: str, tmp_path: pathlib.Path, capsys: Any) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text, "utf-8")
    assert main(["import-yaml", str(path)]) == 1
    assert f"import-yaml: {path}: {problem}" in capsys.readouterr().err
    assert main(["import-yaml", str(tmp_path / "absent.yaml")]) == 1


def test_a_file_of_which_nothing_can_be_read_fails(tmp_path: pathlib.Path, capsys: Any) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text("custom:\n  - func: f(Tensor x) -> Tensor\n", "utf-8")
    assert main(["import-yaml", str(path)]) == 1
    out, err = capsys.readouterr()
    assert err.startswith("0 operators were read, 1 entries were left out\n  f: ") and "library.define" not in out
