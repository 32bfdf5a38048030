"""Tensors in notebooks: nothing until asked for, then shape, range, histogram and picture."""

import base64
import re
import struct
import zlib

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import notebook

pytestmark = pytest.mark.no_torch


@pytest.fixture
def on():
    notebook.enable()
    yield
    notebook.disable()


def test_off_by_default_and_again():
    assert not hasattr(torch.ones(2), "_repr_html_")
    notebook.load_ipython_extension(None)
    try:
        assert "[2] float32 cpu" in torch.ones(2)._repr_html_()
        assert "<b>Parameter</b>" in torch.nn.Parameter(torch.ones(2))._repr_html_()
    finally:
        notebook.unload_ipython_extension(None)
    assert not hasattr(torch.ones(2), "_repr_html_")
    notebook.disable()  # twice does no harm


def test_what_is_said_of_the_values(on):
    shown = torch.tensor([1.0, 2.0, 6.0, float("nan"), float("inf")], requires_grad=True)._repr_html_()
    assert "1 to 6, mean 3; 1 nan; 1 inf" in shown and "requires_grad" in shown
    assert shown.count("<rect") == 3
    assert "MulBackward0" in (torch.ones(2, requires_grad=True) * 2)._repr_html_()
    assert "3 to 3" in torch.full((4,), 3)._repr_html_()
    assert "5 to 5" in torch.tensor([3 + 4j])._repr_html_()
    assert "0 to 1, mean 0.5" in torch.tensor([True, False])._repr_html_()
    large = torch.arange(1_000_000)._repr_html_()
    assert "of 100000 values" in large


def test_heights_of_the_histogram(on):
    shown = torch.tensor([0.0] * 3 + [1.0] * 6)._repr_html_()
    assert re.findall(r'height="([0-9.]+)" fill', shown) == ["15.0", "30.0"]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(0, 3),
        torch.ones(2, device="meta"),
        torch.eye(3).to_sparse(),
        torch.tensor(2.5),
        torch.ones(2, dtype=torch.bfloat16),
        torch.ones(3, 4).t(),
        torch.tensor([1 + 2j]).conj(),
    ],
    ids=str,
)
def test_every_kind_of_tensor_is_shown(on, tensor):
    assert repr(tensor).partition("\n")[0][:6] in tensor._repr_html_()


def test_within_functions_under_vmap(on):
    seen = []
    torch.func.vmap(lambda x: seen.append(x._repr_html_()) or x)(torch.ones(3))
    assert "<b>Tensor</b> []" in seen[0]


def pixels(shown):
    """Width, height, kind of color and the bytes of each line of the PNG."""
    data = base64.b64decode(re.search(r"base64,([^\"]+)", shown).group(1))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + content)
        chunks[kind] = content
        at += 12 + size
    width, height, depth, color = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert depth == 8
    lines = zlib.decompress(chunks[b"IDAT"])
    step = len(lines) // height
    assert set(lines[::step]) == {0}  # no filter
    return width, height, color, [lines[row * step + 1 : (row + 1) * step] for row in range(height)]


def test_pictures(on):
    image = torch.zeros(3, 8, 10)
    image[0, 0, 1] = 1
    image[2, 7, 9] = 0.5
    width, height, color, lines = pixels(image._repr_html_())
    assert (width, height, color) == (10, 8, 2)
    assert lines[0][:9] == bytes([0, 0, 0, 255, 0, 0, 0, 0, 0])
    assert lines[7][-3:] == bytes([0, 0, 128])
    gray = torch.arange(64, dtype=torch.uint8).reshape(8, 8)
    assert pixels(gray._repr_html_())[2:] == (0, [bytes(range(row * 8, row * 8 + 8)) for row in range(8)])
    for none in (torch.randn(3, 8, 8), torch.ones(3, 4, 4), torch.ones(5, 9, 9), torch.ones(9, 9, dtype=torch.int64),
                 torch.full((9, 9), float("nan"))):  # fmt: skip
        assert "<img" not in none._repr_html_()


def test_text_is_escaped(on):
    class Odd(torch.Tensor):
        def __repr__(self):
            return "<script>"

    assert "&lt;script&gt;" in torch.ones(2).as_subclass(Odd)._repr_html_()
