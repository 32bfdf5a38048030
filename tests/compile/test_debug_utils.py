"""`torch._dynamo.debug_utils`: which results of two modules count as the same."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dynamo import config
from mindtorch_v2._dynamo.debug_utils import cast_to_fp64, same_two_models
from mindtorch_v2._dynamo.utils import same


def _off_by(error):
    return lambda x: (x.sin() + error, (x > 0).to(torch.int64) + (1 if error else 0))


def test_whole_numbers_may_be_left_out():
    inputs = [torch.rand(5)]
    assert same_two_models(_off_by(0), _off_by(0), inputs)
    assert not same_two_models(_off_by(0), _off_by(1e-6), inputs)
    assert same_two_models(_off_by(0), _off_by(1e-6), inputs, ignore_non_fp=True)
    assert not same_two_models(_off_by(0), _off_by(0.1), inputs, ignore_non_fp=True)


def test_what_is_as_near_to_double_precision_is_the_same():
    x = torch.full((20,), 1e4)

    def inexact(x, factor):  # in single precision, of which double precision says how inexact
        return x + (0.5 * factor if x.dtype is torch.float32 else 0)

    first, second = (lambda x: inexact(x, 100)), (lambda x: inexact(x, -150))
    assert same_two_models(first, second, [x])
    assert not same_two_models(first, lambda x: inexact(x, -250), [x])
    with config.patch(same_two_models_use_fp64=False):
        assert not same_two_models(first, second, [x])


def test_double_precision_can_be_required():
    def only_single(x):
        if x.dtype is torch.float64:
            raise ValueError
        return x

    assert same_two_models(only_single, only_single, [torch.ones(2)])
    with pytest.raises(RuntimeError, match="Could not generate fp64 outputs, workaround with"):
        same_two_models(only_single, only_single, [torch.ones(2)], require_fp64=True)


def test_a_module_that_fails_gives_nothing_else():
    assert same_two_models(torch.sin, lambda x: x.no_such_method(), [torch.ones(2)])


def test_graphs_compute_in_the_dtype():
    graph = torch.fx.symbolic_trace(lambda x: torch.ones(2, dtype=torch.float32) + x)
    model, (x, n) = cast_to_fp64(graph, [torch.ones(2), 3])
    assert (model(x).dtype, x.dtype, n) == (torch.float64, torch.float64, 3)


def test_nested_results_with_their_references():
    ref, res = {"a": [torch.zeros(20)]}, {"a": [torch.full((20,), 0.2)]}
    assert not same(ref, res)
    assert same(ref, res, {"a": [torch.full((20,), 0.1, dtype=torch.float64)]})


@pytest.mark.parametrize("name", ["specialize_int", "inline_inbuilt_nn_modules", "traceable_tensor_subclasses"])
def test_settings_that_change_nothing_say_so(name, monkeypatch):
    from mindtorch_v2._core import warn_once

    monkeypatch.setattr(warn_once, "_given", set())
    other = {int} if name.startswith("trace") else not getattr(config, name)
    with pytest.warns(UserWarning, match=f"torch._dynamo.config.{name} changes nothing"), config.patch({name: other}):
        pass
