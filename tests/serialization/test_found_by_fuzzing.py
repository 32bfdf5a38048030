"""Files that the coverage-guided fuzzers made (fuzz/corpus has them), and what they broke: said in the words that are promised."""

import io
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

import mindtorch_v2 as torch


def test_records_that_would_begin_before_the_file():
    """A directory that says it lies elsewhere makes zipfile move every record's place, below zero too."""
    stream = io.BytesIO()
    torch.save(torch.ones(3), stream)
    data = bytearray(stream.getvalue())
    end = data.rfind(b"PK\x05\x06")
    locator = data.rfind(b"PK\x06\x07")
    data[locator : locator + 20] = bytes(20)  # so that the short form counts
    (directory,) = struct.unpack_from("<I", data, end + 16)
    struct.pack_into("<I", data, end + 16, directory + 500)
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
        torch.load(io.BytesIO(bytes(data)))


@pytest.fixture(scope="module")
def exported():
    stream = io.BytesIO()
    torch.export.save(torch.export.export(torch.nn.Linear(2, 3), (torch.ones(4, 2),)), stream)
    with zipfile.ZipFile(stream) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def loaded(parts, program):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in {**parts, "program.json": program}.items():
            archive.writestr(name, data)
    stream.seek(0)
    return torch.export.load(stream)


def test_programs_of_other_shapes(exported):
    good = exported["program.json"]
    assert loaded(exported, good).module()(torch.ones(4, 2)).shape == (4, 3)
    for bad in (
        b"\xff\xfe\x94",
        b"[]",
        b"{}",
        b'{"version": 1}',
        good.replace(b'"nodes": [', b'"nodes": [7, '),
        good.replace(b'"tuple"', b'"slice"'),
        good.replace(b'"arg"', b'"gra"'),
        good.replace(b'"tensor"', b'"size"'),
        b"[" * 100_000,
    ):
        assert bad != good
        with pytest.raises(RuntimeError, match=r"torch.export.load\(\): "):
            loaded(exported, bad)
    with pytest.raises(FileNotFoundError):
        torch.export.load("/nowhere/at/all")


HOSTILE = sorted(path for path in Path(__file__).parents[2].joinpath("fuzz/corpus/torch_load").iterdir())


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.name)
def test_the_corpus_is_refused(path):
    if path.name == "deep-lists":  # deep, but plain: it is read, without recursion
        made, depth = torch.load(path), 1
        while made:
            (made,) = made
            depth += 1
        assert depth == 3000
        return
    with pytest.raises((RuntimeError, pickle.UnpicklingError)) as raised:
        torch.load(path)
    assert not isinstance(raised.value, (RecursionError, NotImplementedError))
