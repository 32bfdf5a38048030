"""The runner of PyTorch's operator database: values travel whole, what differs is seen, counts and the page are right."""

import json
import pathlib
import types

import numpy
import pytest

import mindtorch_v2 as torch
from tests.operator_database import report
from tests.operator_database.compare import as_near, judge, unlike
from tests.operator_database.databases import _Module, _Optimizer
from tests.operator_database.portable import Raised, decode, decode_call, encode, encode_call
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


def test_views_of_an_argument_stay_views_of_it():
    whole = torch.arange(6.0)
    args, kwargs = decode_call(
        torch, encode_call(torch, (whole, whole[1:3]), {"out": whole[::2], "other": torch.ones(2)})
    )
    args[0][2] = 9
    assert args[1].tolist() == [1, 9]
    assert kwargs["out"].tolist() == [0, 9, 4]
    assert kwargs["other"].tolist() == [1, 1]


def test_views_that_overlap_do_so_afterwards():
    whole = torch.arange(6.0)
    args, _ = decode_call(torch, encode_call(torch, (whole[2:4], whole[1:3], whole[5:]), {}))
    args[0][0] = 9
    assert [each.tolist() for each in args] == [[9, 3], [1, 9], [5]]


def _of(*values, **kind):
    return encode(torch, torch.tensor(values, **kind))


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (_of(1.0, 2.0), _of(1.0, 2.0), ""),
        (_of(1.0, 2.00001), _of(1.0, 2.0), ""),
        (_of(1e6, 0.1), _of(1e6, 0.0), "off by"),
        (_of(1e6 + 1e-3j), _of(1e6 + 0j), ""),
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


@pytest.mark.parametrize(
    ("ours", "theirs", "exact", "near"),
    [
        (1.5, 1.0, 1.6, True),
        (1.0, 1.5, 1.6, False),
        (1.6, float("inf"), 1.6, True),
        (float("inf"), 1.6, 1.6, False),
        (float("inf"), float("nan"), 1e6, True),  # beyond the largest number
        (float("nan"), float("inf"), 1.0, False),
    ],
)
def test_what_is_nearer_to_the_exact_result_counts(ours, theirs, exact, near):
    half = {"dtype": torch.float16}
    assert as_near(_of(ours, **half), _of(theirs, **half), _of(exact, dtype=torch.float64)) is near
    assert as_near([1, _of(ours, **half)], [2, _of(theirs, **half)], [2, _of(exact, dtype=torch.float64)]) is False
    assert as_near(Raised(["ValueError"], "no"), _of(theirs, **half), _of(exact)) is False
    assert as_near(_of(1.0, 2.0), _of(1.0), _of(1.0)) is False


def test_modules_and_optimizers_have_functions_and_samples():
    call = types.SimpleNamespace

    def inputs(info, device, dtype, requires_grad, training):
        given = torch.ones(2, 3, device=device, dtype=dtype, requires_grad=requires_grad)
        yield call(
            constructor_input=call(args=(3, 1), kwargs={"bias": False}), forward_input=call(args=(given,), kwargs={})
        )
        yield call(constructor_input=call(args=(), kwargs={}), forward_input=None)

    linear = call(module_cls=torch.nn.Linear, module_inputs_func=inputs, supports_gradgrad=True)
    entry = _Module(torch, linear, "module.Linear")
    (sample,) = entry.sample_inputs("cpu", torch.float64, True)
    result, state = entry.op(sample.input, *sample.args, **sample.kwargs)
    assert result.requires_grad
    assert torch.equal(result[0], state[0].sum(1))
    assert [each.dtype for each in state] == [torch.float64]

    sgd = call(
        optim_cls=torch.optim.SGD,
        optim_inputs_func=lambda device: [call(kwargs={"lr": 0.1, "momentum": 0.9})],
        supported_impls=("foreach",),
        only_supports_sparse_grads=False,
    )
    entry = _Optimizer(torch, sgd, "optimizer.SGD")
    samples = list(entry.sample_inputs("cpu", torch.float32))
    assert [sample.kwargs["options"].get("foreach") for sample in samples] == [None, True, False]
    first, second, kept = entry.op(samples[0].input, **samples[0].kwargs)
    assert (first.shape, second.shape, len(kept)) == ((4, 3), (3, 4), 2)
    assert not torch.equal(first, samples[0].input)


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
