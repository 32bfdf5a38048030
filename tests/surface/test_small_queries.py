"""Queries that say what is not here, aliases of types, queues and pools of `torch.multiprocessing`: PyTorch's answers."""

import importlib
import multiprocessing

import pytest
from agreement import same

import mindtorch_v2 as torch


def _part(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


QUERIES = {
    "vulkan": lambda torch: torch.is_vulkan_available(),
    "cusparselt": lambda torch: [
        getattr(_part(torch, "backends.cusparselt"), name)() for name in ("is_available", "version", "get_max_alg_id")
    ],
    "kleidiai": lambda torch: _part(torch, "backends.kleidiai").is_available(),
    "ck": lambda torch: torch.backends.cuda.is_ck_sdpa_available(),
}


@pytest.mark.parametrize("name", QUERIES)
def test_queries(name):
    if name == "kleidiai":  # it depends on PyTorch's own machine
        assert QUERIES[name](torch) is False
    else:
        same(QUERIES[name])


@pytest.mark.parametrize("name", ["can_use_flash_attention", "can_use_efficient_attention", "can_use_cudnn_attention"])
def test_kernels_of_attention(name):
    def program(torch):
        q = torch.ones(1, 2, 3, 8)
        params = torch.backends.cuda.SDPAParams(q, q * 2, q * 3, None, 0.5, True, False)
        told = getattr(torch.backends.cuda, name)(params)
        return told, params.dropout, params.is_causal, params.enable_gqa, params.attn_mask, params.value

    same(program)


def test_anomaly_mode_is_switched():
    def program(torch):
        found = []
        for said in ((True,), (True, False), (False,)):
            torch.set_anomaly_enabled(*said)
            found.append((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
        return found

    same(program)


@pytest.mark.parametrize("name", ["IntLikeType", "FloatLikeType", "BoolLikeType", "PySymType", "py_sym_types"])
def test_aliases_of_types(name):
    kinds = getattr(torch.types, name)
    kinds = kinds if isinstance(kinds, tuple) else kinds.__args__
    same(lambda torch: [each.__name__ for each in _kinds(getattr(torch.types, name))])
    assert torch.SymInt in kinds or name in ("FloatLikeType", "BoolLikeType")


def _kinds(alias):
    return alias if isinstance(alias, tuple) else alias.__args__


@pytest.mark.parametrize("name", ["Queue", "SimpleQueue"])
def test_queues(name):
    def program(torch):
        queue = getattr(_part(torch, "multiprocessing.queue"), name)(ctx=multiprocessing.get_context("fork"))
        queue.put({"x": torch.arange(3)})
        found = queue.get()["x"].clone()
        return found, type(queue._reader).__name__, type(queue._writer).__name__, queue._reader.closed

    same(program)


def test_connections():
    part = _part(torch, "multiprocessing.queue")
    receiving, sending = map(part.ConnectionWrapper, multiprocessing.Pipe(duplex=False))
    sending.send([torch.ones(2)])
    assert receiving.recv()[0].tolist() == [1, 1] and not receiving.poll()
    with pytest.raises(AttributeError, match="'ConnectionWrapper' object has no attribute 'conn'"):
        _ = part.ConnectionWrapper.__new__(part.ConnectionWrapper).anything


def _doubled(x):
    x.mul_(2)
    return x


def test_a_pool():
    x = torch.ones(3).share_memory_()
    with _part(torch, "multiprocessing.pool").Pool(2) as pool:
        found = pool.map(_doubled, [x])
    assert found[0].tolist() == [2, 2, 2] and x.tolist() == [2, 2, 2]


def test_a_worker_collects_at_its_end(monkeypatch):
    part, done = _part(torch, "multiprocessing.pool"), []
    monkeypatch.setattr(multiprocessing.pool, "worker", lambda *args, **kwargs: done.append((args, kwargs)))
    monkeypatch.setattr(part.gc, "collect", lambda: done.append("collected"))
    part.clean_worker(1, maxtasks=2)
    assert done == [((1,), {"maxtasks": 2}), "collected"]
