"""Pipes: each kind's elements, orders, lengths and refusals, as PyTorch's."""

from __future__ import annotations

import importlib.util
import pickle
import warnings
from types import ModuleType
from typing import Any

import pytest
from recording import answer

import mindtorch_v2
from mindtorch_v2.utils.data import IterDataPipe
from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
from mindtorch_v2.utils.data.graph_settings import apply_sharding

pytestmark = pytest.mark.filterwarnings("ignore:Lambda function is not supported")


def _modules(torch: ModuleType) -> tuple[Any, Any, Any]:
    import importlib

    names = ("utils.data", "utils.data.datapipes.iter", "utils.data.datapipes.map")
    return tuple(importlib.import_module(f"{torch.__spec__.name}.{name}") for name in names)  # type: ignore[union-attr]  # (modules have one)


def _told(function: Any) -> Any:
    try:
        return function()
    except Exception as error:  # noqa: BLE001  (the answer is which)
        return f"{type(error).__name__}: {error}"


def _double(x: int) -> int:
    return x * 2


def _streams(torch: ModuleType) -> dict[str, Any]:
    data, pipes, _ = _modules(torch)
    wrap = pipes.IterableWrapper
    left, right = wrap(range(6)).fork(2)
    even, odd = wrap(range(6)).demux(2, lambda x: x % 2)
    torch.manual_seed(0)
    return {
        "map": list(wrap(range(4)).map(_double)),
        "columns": list(wrap([(1, 2, 3)]).map(lambda a, b: a + b, input_col=[0, 2])),
        "appended": list(wrap([(1, 2)]).map(_double, input_col=1, output_col=-1)),
        "filter": list(wrap(range(6)).filter(lambda x: x % 3 == 0)),
        "batch": [list(each) for each in wrap(range(5)).batch(2)],
        "lengths": [
            len(wrap(range(5)).batch(2)),
            len(wrap(range(5)).batch(2, drop_last=True)),
            len(wrap(range(5)).map(_double)),
        ],
        "unbatch": list(wrap([[1, [2, 3]], [4]]).unbatch(unbatch_level=-1)),
        "groups": [list(each) for each in wrap(["a1", "b1", "a2", "c1"]).groupby(lambda x: x[0])],
        "keys": [key for key, _ in wrap("abab").groupby(lambda x: x, keep_key=True, group_size=2)],
        "fork": [list(left), list(right)],
        "demux": [list(even), list(odd)],
        "mux": list(wrap(range(3)).mux(wrap("abcd"))),
        "concat": list(wrap(range(2)).concat(wrap(range(3)))),
        "zip": [list(each) for each in wrap(range(2)).zip(wrap("ab"))],
        "shuffled": [
            list(wrap(range(9)).shuffle(buffer_size=3)),
            list(wrap(range(5)).shuffle().set_seed(7)),
            list(wrap(range(4)).shuffle().set_shuffle(False)),
        ],
        "shard": _sharded(wrap(range(7)).sharding_filter()),
        "loader": [each.tolist() for each in data.DataLoader(wrap(range(8)).shuffle(), batch_size=3, shuffle=True)],
        "off": [each.tolist() for each in data.DataLoader(wrap(range(4)).shuffle(), batch_size=2, shuffle=False)],
        "text": [repr(wrap([1]).batch(2)), str(wrap([1]))],
    }


def _sharded(pipe: Any) -> Any:
    pipe.apply_sharding(3, 1)
    return [list(pipe), len(pipe)]


def _indexed(torch: ModuleType) -> dict[str, Any]:
    _, _, pipes = _modules(torch)
    wrap = pipes.SequenceWrapper
    torch.manual_seed(0)
    return {
        "map": wrap(range(4)).map(_double)[3],
        "batch": [list(each) for each in wrap(range(5)).batch(2)],
        "concat": [wrap("ab").concat(wrap("cde"))[index] for index in range(5)],
        "zip": list(wrap("ab").zip(wrap("cd"))[1]),
        "shuffled": [list(wrap(range(6)).shuffle()), list(wrap(range(6)).shuffle().set_seed(3))],
        "range": _told(lambda: wrap("ab").concat(wrap("c"))[9]),
    }


def _refusals(torch: ModuleType) -> list[Any]:
    data, pipes, _ = _modules(torch)
    wrap = pipes.IterableWrapper
    twice = wrap(range(3))
    first = iter(twice)
    next(first)
    next(iter(twice))
    return [
        _told(lambda: next(first)),
        _told(lambda: wrap([1]).batch(0)),
        _told(lambda: wrap([1]).map(lambda a, b: 1, input_col=0)),
        _told(lambda: wrap([1]).map(_double, output_col=1)),
        _told(lambda: list(wrap([1]).filter(lambda x: 1))),
        _told(lambda: list(wrap([1]).map(lambda x: x / 0))),
        _told(lambda: wrap([1]).shuffle(buffer_size=0)),
        _told(lambda: wrap([1]).nothing),
        _told(lambda: wrap([1]).fork(0)),
        _told(lambda: data.functional_datapipe("map")(type("Mine", (data.IterDataPipe,), {}))),
        _told(lambda: len(wrap([1]).filter(bool))),
        _told(lambda: wrap([1]).sharding_filter().apply_sharding(2, 2)),
    ]


@pytest.mark.parametrize("question", [_streams, _indexed, _refusals], ids=lambda question: question.__name__)
def test_as_pytorch(question: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert question(mindtorch_v2) == answer(lambda torch: question(torch))


def test_workers_share_the_elements() -> None:
    from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper

    pipe = IterableWrapper(range(9)).shuffle().sharding_filter().map(_double)
    loader = mindtorch_v2.utils.data.DataLoader(pipe, batch_size=2, num_workers=2)
    assert sorted(each for batch in loader for each in batch.tolist()) == list(range(0, 18, 2))


def test_what_a_pipe_is_made_of() -> None:
    from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    from mindtorch_v2.utils.data.graph import traverse_dps

    first, second = IterableWrapper(range(2)), IterableWrapper(range(2))
    zipped = first.zip(second)
    ((pipe, below),) = traverse_dps(zipped).values()
    assert pipe is zipped
    assert {each for each, _ in below.values()} == {first, second}
    with pytest.raises(RuntimeError, match="Expected `IterDataPipe` or `MapDataPipe`"):
        traverse_dps(3)


def _is_odd(x):
    return x % 2


def test_parts_are_pickled_unread():
    """Elements that were read ahead stay where they were; a copy begins anew."""
    source = IterableWrapper(range(6))
    for first, second in (source.fork(2), source.demux(2, _is_odd)):
        next(iter(first))
        again = pickle.loads(pickle.dumps(first.zip(second)))
        assert list(again) in ([(i, i) for i in range(6)], [(0, 1), (2, 3), (4, 5)])


@pytest.mark.skipif(importlib.util.find_spec("dill") is not None, reason="dill sends them")
def test_functions_that_cannot_be_sent():
    with pytest.warns(UserWarning, match="^Lambda function is not supported by pickle"):
        pipe = IterableWrapper([1]).map(lambda x: x)
    assert list(pipe) == [1]
    with pytest.raises(TypeError, match="A callable function is expected, but <class 'int'> is provided"):
        IterableWrapper([1]).filter(3)


def test_shares_without_groups():
    """Pipes of programs that are older than groups of processes."""

    class Shares(IterDataPipe):
        def apply_sharding(self, num_of_instances, instance_id):
            self.told = num_of_instances, instance_id

        def __iter__(self):
            yield self.told

    assert list(apply_sharding(Shares(), 3, 1)) == [(3, 1)]


def test_profiles_name_pipes():
    with mindtorch_v2.autograd.profiler.profile() as profile:
        assert list(IterableWrapper([1, 2]).batch(2)) == [[1, 2]]
    names = {event.name for event in profile.function_events}
    assert "IterableWrapper(deepcopy=True, iterable=[1, 2])" in names
    assert any(name.startswith("Batcher(batch_size=2, datapipe=IterableWrapper") for name in names)
