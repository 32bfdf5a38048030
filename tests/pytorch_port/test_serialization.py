"""torch.save and torch.load: round trips, sharing, safety, damage."""

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest

import mindtorch_v2 as torch


def _round_trip(value: object, **how: object) -> object:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **how)


@pytest.mark.parametrize(
    "dtype",
    [
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
    ],
)
def test_every_dtype(dtype: torch.dtype) -> None:
    x = torch.tensor([[0, 1], [2, 3]]).to(dtype)
    loaded = _round_trip(x)
    assert loaded.dtype == dtype
    assert torch.equal(loaded, x)


def test_geometry_sharing_and_structure() -> None:
    base = torch.arange(6.0)
    state = OrderedDict(
        whole=base,
        part=base[2:],
        turned=base.view(2, 3).t(),
        number=3,
        text="a",
        none=None,
    )
    state["leaf"] = torch.nn.Parameter(torch.ones(2))
    loaded = _round_trip(state)
    assert list(loaded) == list(state)
    assert loaded["turned"].stride() == (1, 3)
    loaded["whole"][2] = 100
    assert loaded["part"][0].item() == 100
    assert loaded["turned"][2, 0].item() == 100
    assert isinstance(loaded["leaf"], torch.nn.Parameter)
    assert loaded["leaf"].requires_grad
    assert tuple(_round_trip(torch.empty(0, 3)).shape) == (0, 3)
    assert _round_trip(torch.tensor(5)).item() == 5


def test_files_and_memory_maps(tmp_path: Path) -> None:
    path = tmp_path / "state.pt"
    torch.save({"x": torch.arange(1000)}, path)
    assert zipfile.is_zipfile(path)
    mapped = torch.load(path, mmap=True)
    assert torch.equal(mapped["x"], torch.arange(1000))
    assert torch.load(str(path), map_location="meta")["x"].is_meta


def test_optimizer_state_survives() -> None:
    layer = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1)
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    other = torch.optim.AdamW(torch.nn.Linear(2, 2).parameters(), lr=0.5)
    other.load_state_dict(_round_trip(optimizer.state_dict()))
    assert other.param_groups[0]["lr"] == 0.1
    (first, *_) = other.state.values()
    assert first["step"].item() == 1


class _Evil:
    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple:
        return os.mkdir, (self.marker,)


def test_no_code_runs_by_default(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    path = tmp_path / "evil.pt"
    torch.save({"x": torch.ones(1), "evil": _Evil(str(marker))}, path)
    with pytest.raises(pickle.UnpicklingError, match="(?s)Weights only load failed"):
        torch.load(path)
    assert not marker.exists()


@pytest.mark.parametrize("keep", [0, 1, 10, 200, -30])
def test_truncated_files_are_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "state.pt"
    torch.save({"x": torch.arange(100)}, path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError, OSError)):
        torch.load(path)


def test_plain_pickle_is_named_as_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.pt"
    path.write_bytes(b"this is not a checkpoint")
    with pytest.raises((pickle.UnpicklingError, RuntimeError, IndexError)):
        torch.load(path)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises((RuntimeError, OSError)):
        torch.save({}, tmp_path / "no" / "folder.pt")


def test_pickle_and_copy_of_tensors() -> None:
    x = torch.arange(4.0).requires_grad_()
    y = pickle.loads(pickle.dumps(x))
    assert torch.equal(x, y)
    assert y.requires_grad
