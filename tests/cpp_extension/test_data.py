"""data.cpp: torch::data in C++. Expected values are closed forms, or recorded from PyTorch 2.13; --live asks it again."""

import struct

import pytest


@pytest.mark.parametrize("name", ["sampling", "mapping", "loading", "failing", "chunks"])
def test_in_cpp(data, name):
    getattr(data.module, name)()


def test_orders(data):
    torch = data.torch
    first, second, *parts = data.module.orders(3)
    torch.manual_seed(3)
    assert [first, second] == [torch.randperm(6).tolist(), torch.randperm(6).tolist()]
    assert parts == [[0, 0, 2, 5, 7], [4, 6, 3, 1, 8]]


def test_digits(data, tmp_path):
    """Ten thousand images, as PyTorch wants the files: image i is of the one value i modulo 256."""
    count = 10000
    images = b"".join(bytes([i % 256]) * 784 for i in range(count))
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(struct.pack(">4I", 2051, count, 28, 28) + images)
    labels = bytes(i % 10 for i in range(count))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 2049, count) + labels)
    image, targets = data.module.digits(str(tmp_path))
    assert image.shape == (1, 28, 28) and image.max() == image.min() == pytest.approx(1 / 255)
    assert targets.dtype == data.torch.int64 and targets[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 2050, count) + labels)
    with pytest.raises(RuntimeError):
        data.module.digits(str(tmp_path))
