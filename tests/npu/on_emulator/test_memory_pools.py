"""Pools of device memory that belong to a program or to a graph, and results in pinned memory."""

import gc

import pytest

import mindtorch_v2 as torch


def test_a_pool_keeps_its_memory_until_it_ends() -> None:
    torch.npu.empty_cache()
    before = torch.npu.memory_reserved()
    pool = torch.npu.MemPool()
    with torch.npu.use_mem_pool(pool):
        x = torch.ones(1 << 22, device="npu")
        assert pool.use_count() == 2
    held = torch.npu.memory_reserved()
    assert held - before >= 4 << 22
    address = x.data_ptr()
    del x
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == held and [s["total_size"] for s in pool.snapshot()] == [held - before]
    other = torch.ones(1 << 22, device="npu")
    assert other.data_ptr() != address
    with torch.npu.use_mem_pool(pool):
        assert torch.ones(1 << 22, device="npu").data_ptr() == address
    del other, pool
    gc.collect()
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == before


def test_streams_share_no_block_of_a_pool() -> None:
    pool, stream = torch.npu.MemPool(), torch.npu.Stream()
    with torch.npu.use_mem_pool(pool):
        x = torch.ones(100, device="npu")
        address = x.data_ptr()
        del x
        with torch.npu.stream(stream):
            assert torch.ones(100, device="npu").data_ptr() != address


def test_pools_take_no_allocator() -> None:
    with pytest.raises(NotImplementedError, match="allocator must be None"):
        torch.npu.MemPool(allocator=object())


def test_empty_cache_leaves_what_a_graph_recorded() -> None:
    x = torch.full((1 << 22,), 2.0, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = ((x + 1) * 2).sqrt()  # the sum and the product have no tensor any more
    torch.npu.empty_cache()
    filler = torch.zeros(1 << 23, device="npu")
    graph.replay()
    torch.npu.synchronize()
    assert y[0].item() == pytest.approx(6**0.5) and not filler.any()


@pytest.mark.parametrize("dtype", [None, torch.float16])
def test_copies_that_do_not_wait_are_pinned(dtype: torch.dtype | None) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    there = x.npu().t().to("cpu", dtype, non_blocking=True)
    torch.npu.synchronize()
    assert there.is_pinned() and there.stride() == (1, 3) and torch.equal(there.float(), x.t())
    assert not x.npu().cpu().is_pinned()


def test_complex_memory_is_filled() -> None:
    x = torch.empty(3, dtype=torch.complex64, device="npu").fill_(2 - 1j)
    assert x.cpu().tolist() == [2 - 1j] * 3
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(3, dtype=torch.complex128, device="npu").isnan().all()
    finally:
        torch.use_deterministic_algorithms(False)


def test_lines_of_a_summary_are_as_wide_as_its_frame() -> None:
    lines = torch.npu.memory_summary().splitlines()
    assert {len(line) for line in lines} == {77}
    assert lines[1].strip("|").rstrip() == " " * 18 + "PyTorch NPU memory summary, device ID 0"
    assert lines[3].index("| ", 2) == 37  # between the counts
