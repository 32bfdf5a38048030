"""Every operator beside the CPU, as `verify` does it on a user's own NPU."""

from collections import Counter
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu import verify

# Rows of which verify makes no call: what they give belongs to the device alone, to a graph, or is not defined.
_WITHOUT = {
    "aten::_cross_entropy",  # its statistics are its gradient's alone
    "aten::record_stream",
    "npu::npu_attention_worker_combine",  # they read memory by its address
    "npu::npu_ffn_worker_batching",
    "npu::npu_matmul_compress_dequant",
    "npu::obfuscation_calculate",
    "npu::obfuscation_finalize",
    "npu::obfuscation_initialize",
    "npu::save_npugraph_tensor",
    "npu::save_npugraph_tensor.tensor_list",
}


def test_every_operator_is_called_and_none_fails_or_drifts() -> None:
    found = verify.findings()
    assert [str(each) for each in found if each.verdict in ("fails", "drifts")] == []
    counts = Counter(each.verdict for each in found)
    assert counts["agrees"] > 560 and counts["runs"] > 10
    alone = {each.operator for each in found if each.verdict == "no sample" and each.note != "between processes"}
    assert alone == _WITHOUT, "a row with a kernel for NPUs needs a sample, or a call in npu/_calls_of_main.py"
    between = {each.operator for each in found if each.note == "between processes"}
    assert len(between) == 18 and "npu::npu_mm_all_reduce_base" in between
    assert verify.CALLS.keys() <= {each.operator for each in found}


@pytest.mark.parametrize(
    ("kernel", "verdict", "note"),
    [
        (lambda x: x * 0.9, "drifts", "aten.erf.default: "),
        (lambda x: x.reshape(7, 7, 7), "fails", "float32: shape '[7, 7, 7]' is invalid for input of size 12"),
    ],
)
def test_a_kernel_that_is_wrong_is_named(kernel: Any, verdict: str, note: str, monkeypatch: Any, tmp_path: Any) -> None:
    library = torch.library.Library("aten", "IMPL")
    with pytest.warns(UserWarning, match="Overriding a previously registered kernel"):
        library.impl("erf", kernel, "NPU")
    try:
        (finding,) = [each for each in verify.findings("aten::erf") if each.operator == "aten::erf"]
        assert verify.main(str(tmp_path / "report"), "aten::erf") == 1
    finally:
        library._destroy()
    assert finding.verdict == verdict and finding.note.startswith(note)
    assert (tmp_path / "report").read_text("utf-8").splitlines()[4].startswith(f"{verdict}  ")
    assert [each.verdict for each in verify.findings("aten::erf") if each.operator == "aten::erf"] == ["agrees"]
