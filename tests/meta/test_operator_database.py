"""The runner of PyTorch's operator database: values travel whole, what differs is seen, counts and the page are right."""

import json
import pathlib

import numpy
import pytest

import mindtorch_v2 as torch
from tests.operator_database import report
from tests.operator_database.compare import judge, unlike
from tests.operator_database.portable import Raised, decode, encode
from tests.operator_database.report import Outcome

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).reshape(2, 3),
        torch.arange(6.0).reshape(2, 3).t(),
        torch.arange(12)[3::2],
        torch.ones(1, 3).expand(4, 3),
        torch.empty(0, 3),
        torch.tensor(True),
        torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        torch.tensor([1 + 2j]).conj(),
        torch.eye(3).to_sparse(),
        torch.eye(3).to_sparse_csr(),
        torch.ones(2, requires_grad=True),
    ],
)
def test_tensors_travel_whole(tensor):
    found = decode(torch, encode(torch, tensor))
    assert (found.dtype, found.shape, found.layout) == (tensor.dtype, tensor.shape, tensor.layout)
    assert (found.is_conj(), found.requires_grad) == (tensor.is_conj(), tensor.requires_grad)
    assert torch.equal(found.detach().to_dense(), tensor.detach().to_dense())
    if tensor.layout == torch.strided:
        assert found.stride() == tensor.stride()


def test_arguments_travel_whole():
    value = ([1, 2.5, None, "a"], {"dtype": torch.float64, "size": torch.Size([2])}, slice(1, None, 2), ..., 1j)
    assert decode(torch, encode(torch, value)) == value
    assert decode(torch, encode(torch, torch.device("meta"))) == torch.device("meta")
    with pytest.raises(LookupError, match="has no plain form"):
        encode(torch, object())


def _of(*values, **kind):
    return encode(torch, torch.tensor(values, **kind))


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (_of(1.0, 2.0), _of(1.0, 2.0), ""),
        (_of(1.0, 2.00001), _of(1.0, 2.0), ""),
        (_of(1.0, 2.01), _of(1.0, 2.0), "off by"),
        (_of(1.0, 2.01, dtype=torch.bfloat16), _of(1.0, 2.0, dtype=torch.bfloat16), ""),
        (_of(1.0, float("nan")), _of(1.0, 2.0), "inf or nan elsewhere"),
        (_of(float("inf")), _of(-float("inf")), "inf or nan elsewhere"),
        (_of(1, 2), _of(1, 3), "other numbers"),
        (_of(1, 2), _of(1.0, 2.0), "int64"),
        (_of(1.0), _of(1.0, 2.0), "[1] for"),
        (_of(1 + 2j), _of(1 - 2j), "off by"),
        (None, _of(0.0, 0.0), ""),
        (None, _of(0.0, 1.0), "None for"),
        ([_of(1)], [_of(1), _of(2)], "1 results for 2"),
        (True, False, "True for False"),
        (1.0, 1.5, "off by"),
    ],
)
def test_what_differs_is_seen(ours, theirs, said):
    found = unlike(ours, theirs)
    assert said in found
    assert bool(found) is bool(said)


def test_strides_are_compared_where_they_count():
    rows, columns = torch.zeros(2, 3), torch.zeros(3, 2).t()
    assert unlike(encode(torch, rows), encode(torch, columns)) == ""
    assert "strides" in unlike(encode(torch, rows), encode(torch, columns), strides=True)


def test_conjugates_are_compared_as_they_are_shown():
    z = torch.tensor([1 + 2j])
    assert unlike(encode(torch, z.conj()), encode(torch, z.conj_physical())) == ""
    assert "off by" in unlike(encode(torch, z.conj()), encode(torch, z))


def test_an_error_is_a_difference():
    assert judge(Raised(["ValueError"], "no"), _of(1.0)) == "ValueError: no"


def test_bfloat16_is_read_as_it_is():
    found = encode(torch, torch.tensor([1.5, -2.0], dtype=torch.bfloat16)).array()
    assert numpy.array_equal(found, [1.5, -2.0])


def test_counts():
    found = {
        "add": {"forward": Outcome(4, 4, []), "vmap": Outcome(2, 1, ["x"])},
        "mul": {"forward": Outcome(4, 3, ["y"]), "vmap": Outcome(0, 0, [])},
    }
    assert report.shares(found) == {"forward": [2, 1, 8, 7], "vmap": [1, 0, 2, 1]}
    assert report.rest(found) == {"add": {"vmap": [2, 1]}, "mul": {"forward": [4, 3]}}
    assert "| forward | 2 | 1 | 50.0% | 8 | 7 | 87.50% |" in report.table(report.shares(found))


def test_what_failed_runs_again(tmp_path):
    file = tmp_path / "ours" / "add.jsonl"
    file.parent.mkdir()
    lines = [
        {"column": "forward", "count": 2, "agree": 2, "problems": []},
        {"column": "vmap"},
        {"column": "vmap", "count": 2, "agree": 1, "problems": ["x"]},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report.forget(tmp_path, ["add"], [], failed=True)
    assert list(report.read(tmp_path, ["add"])["add"]) == ["forward"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_page_shows_the_record(device):
    recorded = json.loads(report.record_of(device).read_text("utf-8"))
    page = report.PAGE.read_text("utf-8")
    assert report.with_table(page, recorded["columns"], device) == page
    differing = {name for name, columns in recorded["differ"].items() if "forward" in columns}
    operators, whole, *_ = recorded["columns"]["forward"]
    assert operators - whole == len(differing)
