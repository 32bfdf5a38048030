"""The support matrix: what it says, in every format, and before a device is there."""

import html.parser
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import status
from mindtorch_v2._operators.table import every_row


def _here(name: str) -> list[str]:
    return [status.OP_STATUS[name][device] for device in ("cpu", "meta")]


def test_where_operators_run() -> None:
    assert _here("add.Tensor") == ["native", "native"]
    assert _here("deg2rad") == ["composite", "composite"]
    assert _here("view") == ["native", "native"]
    assert status.DEVICES == ("cpu", "cuda", "npu", "meta")
    assert all(tuple(status.status(row)) == status.DEVICES for row in every_row().values())
    assert len(status.OP_STATUS) == len(every_row()) == len(list(status.OP_STATUS))
    assert set(status.OP_STATUS) == set(every_row())
    with pytest.raises(KeyError):
        _ = status.OP_STATUS["no such operator"]
    with pytest.raises(KeyError, match="no device or provider is called 'tpu'"):
        _ = status.OP_STATUS["add"]["tpu"]


def test_names_as_users_know_them() -> None:
    assert status.OP_STATUS["add"] == status.OP_STATUS["add.Tensor"]
    assert status.OP_STATUS["softmax"] == status.OP_STATUS["softmax.int"]
    assert status.OP_STATUS["aten::gelu"] == status.OP_STATUS["gelu"] == status.OP_STATUS["gelu.default"]
    assert status.OP_STATUS["gelu"]["ascend"] == status.OP_STATUS["gelu"]["npu"] == "native"
    torch.ops.npu.npu_rms_norm
    assert status.OP_STATUS["npu::npu_rms_norm"]["cpu"] in ("native", "composite")


_BEFORE_AND_AFTER = """
import sys
from mindtorch_v2.status import OP_STATUS
device = sys.argv[1]
before = {name: dict(found) for name, found in OP_STATUS.items()}
assert before["mm"][device] == "native"
with open("/proc/self/maps") as file:
    loaded = file.read()
assert "libcuda.so" not in loaded and "libascendcl.so" not in loaded
import mindtorch_v2 as torch
torch.ones(2, device=device)
assert before == {name: dict(found) for name, found in OP_STATUS.items()}
"""


@pytest.mark.parametrize("device", ["npu", "cuda"])
def test_the_same_before_and_after_a_device_is_there(device: str) -> None:
    emulated = [sys.executable, "-m", f"mindtorch_v2.{device}", "emulate", "--"]
    command = [*emulated, sys.executable, "-c", _BEFORE_AND_AFTER, device]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_provider_has_a_column_while_it_is_there() -> None:
    status.add_provider("test provider", lambda row: row.name == "relu")
    try:
        assert status.OP_STATUS["relu"]["test provider"] == "native"
        assert status.OP_STATUS["sin"]["test provider"] == "missing"
    finally:
        status.remove_provider("test provider")
    assert "test provider" not in status.OP_STATUS["relu"]
    with pytest.raises(ValueError, match="is a device"):
        status.add_provider("cpu", lambda row: True)


class _Cells(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


def test_formats(capsys, tmp_path) -> None:
    assert status.main(["deg2rad"]) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0].split() == ["operator", *status.DEVICES]
    assert text[1].split() == ["deg2rad", *["composite"] * 4]
    assert "cpu: 0 native, 1 composite, 0 missing" in text
    assert status.main(["deg2rad", "--format", "markdown"]) == 0
    assert "| `deg2rad` | composite | composite | composite | composite |" in capsys.readouterr().out
    file = tmp_path / "matrix.html"
    assert status.main(["--format", "html", "-o", str(file)]) == 0 and capsys.readouterr().out == ""
    page = _Cells()
    page.feed(file.read_text())
    assert page.open == [] and len(page.cells) == 5 * len(every_row())


def test_what_is_missing(capsys) -> None:
    only_on_the_cpu = ["_weight_int4pack_mm_for_cpu", "to_mkldnn"]
    assert status.main(["--missing", "cuda", "add.", "deg2rad", *only_on_the_cpu]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:4] if line] == only_on_the_cpu
    assert status.main(["no such operator"]) == 1
    assert capsys.readouterr().err == "no such operator\n"
    with pytest.raises(SystemExit, match="2"):
        status.main(["--missing", "tpu"])
    assert "no device is called 'tpu'" in capsys.readouterr().err
