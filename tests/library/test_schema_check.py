"""`SchemaCheckMode` and the schemas of single calls: announced and secret writes and aliases. Expected: PyTorch 2.13's answers."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._subclasses.schema_check_mode import SchemaCheckMode


@pytest.fixture(scope="module")
def liars():
    with torch.library._scoped_library("schema_liars", "DEF") as library:
        for name, schema, kernel in (
            ("writes", "(Tensor x) -> Tensor", lambda x: x.mul_(2) * 3),
            ("aliases", "(Tensor x) -> Tensor", lambda x: x.view(-1)),
            ("gives_its_argument", "(Tensor(a) x) -> Tensor(a)", lambda x: x),
            ("gives_twice", "(Tensor x) -> (Tensor, Tensor)", lambda x: (x.clone(),) * 2),
            ("honest_", "(Tensor(a!) x) -> Tensor(a!)", lambda x: x.mul_(2)),
        ):
            library.define(name + schema)
            library.impl(name, kernel, "CPU")
        yield torch.ops.schema_liars


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("writes", "Argument x is not defined as mutable but was mutated"),
        ("aliases", "Argument x is not defined to alias output but was aliasing"),
        ("gives_its_argument", "are not allowed to directly return inputs"),
        ("gives_twice", "Outputs 0 and 1 alias unexpectedly"),
    ],
)
def test_secret_effects(liars, name, text):
    with pytest.raises(RuntimeError, match=text), SchemaCheckMode():
        getattr(liars, name)(torch.ones(3))


def test_announced_effects(liars):
    x = torch.ones(3)
    with SchemaCheckMode() as check:
        liars.honest_(x)
    assert check.mutated == [("schema_liars::honest_", "x")]
    assert check.aliasing == [("schema_liars::honest_", "x", "output_0")]


def test_one_tensor_given_twice():
    x = torch.rand(3)
    with SchemaCheckMode() as check:
        x.add_(x)
    assert check.ops == ["aten::add_"]
    assert check.mutated == [("aten::add_", "input"), ("aten::add_", "other")]


def test_statistics_are_written_in_training_only():
    norm = torch.nn.BatchNorm1d(3)
    with SchemaCheckMode():
        norm(torch.rand(4, 3))
    info = _C._SchemaInfo(torch.ops.aten.native_batch_norm.default._schema)
    assert not info.is_mutable("running_mean")
    info.add_argument_value("training", True)
    assert info.is_mutable("running_mean")


def test_a_guard_acts_until_it_is_deleted():
    excluded = _C._dispatch_tls_is_dispatch_key_excluded
    guard = _C._AutoDispatchBelowAutograd()
    inner = _C.ExcludeDispatchKeyGuard(_C.DispatchKeySet(_C.DispatchKey.AutogradCPU))
    assert excluded("AutogradCPU")
    del inner  # added nothing: takes nothing away
    assert excluded("AutogradCPU")
    del guard
    assert not excluded("AutogradCPU")


def test_what_draws_random_numbers():
    drawn = {
        name: _C._SchemaInfo(getattr(torch.ops.aten, name).default._schema) for name in ("rand", "dropout", "relu")
    }
    assert [info.is_nondeterministic() for info in drawn.values()] == [True, True, False]
    drawn["dropout"].add_argument_value("train", False)
    assert not drawn["dropout"].is_nondeterministic()
