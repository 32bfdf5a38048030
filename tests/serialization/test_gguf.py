"""GGUF files: what is read stays packed, and a model of such weights does what the unpacked one does."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.gguf import PackedEmbedding, PackedLinear, PackedTensor, read


def _packed(rows, columns):
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 256, (rows, columns // 32, 34)).astype(np.uint8)
    raw[..., :2] = rng.random((rows, columns // 32, 1)).astype(np.float16).view(np.uint8)
    return PackedTensor(torch.from_numpy(raw.reshape(rows, -1)), "Q8_0")


def test_a_packed_layer_is_a_linear_layer():
    weight, bias = _packed(6, 64), torch.arange(6.0)
    layer = PackedLinear(weight, bias)
    x = torch.linspace(-1, 1, 128).reshape(2, 1, 64)
    expected = torch.nn.functional.linear(x, weight.unpack(), bias)
    assert layer(x).shape == (2, 1, 6) and torch.allclose(layer(x), expected, rtol=1e-4, atol=1e-2)
    assert layer(x.bfloat16()).dtype is torch.bfloat16
    assert repr(layer) == "PackedLinear(in_features=64, out_features=6, format=Q8_0, bias=True)"
    copied = PackedLinear(_packed(6, 64), torch.zeros(6))
    copied.load_state_dict(layer.state_dict())
    assert torch.equal(copied(x), layer(x))


def test_a_packed_table_gives_its_rows():
    weight = _packed(6, 64)
    table = PackedEmbedding(weight, torch.bfloat16)
    rows = torch.tensor([[5, 0], [0, 3]])
    assert torch.equal(table(rows), weight.unpack().bfloat16()[rows])
    assert repr(table) == "PackedEmbedding(6, 64, format=Q8_0, dtype=torch.bfloat16)"
    with pytest.raises(IndexError, match="index out of range in self"):
        table(torch.tensor([6]))


def test_packed_tensors_say_what_they_are():
    weight = _packed(6, 64)
    assert weight.shape == (6, 64) and repr(weight) == "PackedTensor(Q8_0, shape=(6, 64))"
    with pytest.raises(ValueError, match="no format is called 'Q2_K'"):
        PackedTensor(weight.data, "Q2_K")
    with pytest.raises(RuntimeError, match="blocks of 144 bytes; these have 68 bytes"):
        PackedTensor(weight.data, "Q4_K")


def _write(gguf, path, tensors):
    writer = gguf.GGUFWriter(path, "llama")
    for name, (values, kind) in tensors.items():
        writer.add_tensor(name, values, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_files_are_read(tmp_path):
    gguf = pytest.importorskip("gguf")
    kinds = gguf.GGMLQuantizationType
    values = np.random.default_rng(4).standard_normal((8, 64)).astype(np.float32)
    tensors = {"plain": (values, None), "half": (values.astype(np.float16), None)}
    for kind in ("Q8_0", "Q4_0", "Q5_0", "BF16"):
        tensors[kind] = (gguf.quants.quantize(values, kinds[kind]), kinds[kind])
    _write(gguf, tmp_path / "file.gguf", tensors)
    found = read(tmp_path / "file.gguf")
    assert torch.equal(found["plain"], torch.from_numpy(values))
    assert found["half"].dtype is torch.float16
    assert torch.equal(found["BF16"], torch.from_numpy(values).bfloat16())
    for kind in ("Q8_0", "Q4_0"):
        expected = gguf.quants.dequantize(found[kind].data.numpy(), kinds[kind])
        assert torch.equal(found[kind].unpack(), torch.from_numpy(expected))
    assert found["Q5_0"].dtype is torch.float32 and (found["Q5_0"] - found["plain"]).abs().max() < 0.2


def test_a_type_that_nobody_unpacks_names_itself(tmp_path):
    gguf = pytest.importorskip("gguf")
    _write(gguf, tmp_path / "file.gguf", {"odd": (np.zeros((1, 40), np.uint8), gguf.GGMLQuantizationType.Q8_1)})
    with pytest.raises(NotImplementedError, match="the tensor 'odd' has the GGUF type Q8_1"):
        read(tmp_path / "file.gguf")


def test_a_model_of_a_file(tmp_path):
    pytest.importorskip("gguf")
    pytest.importorskip("transformers")
    script = Path(__file__).with_name("gguf_model.py")
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("same\n"), done.stderr


@pytest.mark.parametrize("length", [0, 3, 20, 40])
def test_a_file_that_ends_early_is_refused(tmp_path, length):
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "file.gguf"
    _write(gguf, path, {"x": (np.ones((2, 3), np.float32), None)})
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(RuntimeError, match=r"file.gguf is no GGUF file, or not a whole one: .*bytes are left"):
        read(path)


def test_a_count_beyond_the_file_is_refused_at_once(tmp_path):
    """The package 'gguf' goes through as many strings as a file announces."""
    pytest.importorskip("gguf")
    path = Path(__file__).parents[2] / "fuzz/corpus/gguf_file/found-endless-array"
    with pytest.raises(
        RuntimeError, match=f"{1 << 60} parts of at least 8 bytes each are announced where 0 bytes are left"
    ):
        read(path)
