"""A mesh makes the process' own device the current one, where none was chosen."""

from collections.abc import Iterator

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed.device_mesh import DeviceMesh


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    found: list[int] = []
    monkeypatch.setattr(torch.npu, "is_initialized", lambda: bool(found))
    monkeypatch.setattr(torch.npu, "device_count", lambda: 2)
    monkeypatch.setattr(torch.npu, "set_device", found.append)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield found
    dist.destroy_process_group()


def test_the_device_of_the_local_rank(chosen: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    DeviceMesh("cpu", [0])
    assert chosen == []
    DeviceMesh("npu", [0])
    assert chosen == [1]
    monkeypatch.setenv("LOCAL_RANK", "0")
    DeviceMesh("npu", [0])
    assert chosen == [1]  # it was chosen already


def test_the_device_by_the_rank(chosen: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    with pytest.warns(UserWarning, match="no LOCAL_RANK: it takes the rank modulo the number of devices"):
        DeviceMesh("npu", [0])
    assert chosen == [0]
