"""Programs ask more of torch.cuda than operators: mixed precision, files, reports of memory and of waits, switches."""

import io

import pytest

import mindtorch_v2 as torch


def test_autocast_and_scaler_train():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    x, losses = torch.randn(32, 8, device="cuda"), []
    for _ in range(20):
        with torch.autocast("cuda", dtype=torch.float16):
            out = model(x)
            assert out.dtype == torch.float16
            loss = torch.nn.functional.mse_loss(out, x[:, :1])
            assert loss.dtype == torch.float32
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2 and scaler.get_scale() == 1024.0
    assert not torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.float16
    with pytest.warns(FutureWarning, match="autocast"), torch.cuda.amp.autocast(dtype=torch.bfloat16):
        assert (x @ x.t()).dtype == torch.bfloat16


def test_checkpointing_under_autocast_repeats_it():
    layer = torch.nn.Linear(4, 4).cuda()
    seen = []

    def part(t):
        made = layer(t)
        seen.append(made.dtype)
        return layer(made)

    x = torch.ones(2, 4, device="cuda", requires_grad=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False)
    y.float().sum().backward()
    assert seen == [torch.bfloat16] * 2


def test_compiled_functions_follow_autocast():
    w = torch.randn(4, 4, device="cuda")
    compiled = torch.compile(lambda t: t @ w)
    x = torch.randn(4, 4, device="cuda")
    assert compiled(x).dtype == torch.float32
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert compiled(x).dtype == torch.bfloat16
    assert compiled(x).dtype == torch.float32


def test_files_go_back_to_the_device():
    x = torch.arange(4.0, device="cuda")
    for places, device in (
        (None, "cuda:0"), ("cpu", "cpu"), ("cuda", "cuda:0"), ({"cuda:0": "cpu"}, "cpu"), (torch.device("cuda", 0), "cuda:0"),
        (lambda storage, place: storage.cuda(0), "cuda:0"),
    ):  # fmt: skip
        file = io.BytesIO()
        torch.save({"x": x, "view": x[1:]}, file)
        file.seek(0)
        loaded = torch.load(file, map_location=places)
        assert str(loaded["x"].device) == device and loaded["x"].tolist() == [0, 1, 2, 3]
        assert loaded["view"].untyped_storage().data_ptr() == loaded["x"].untyped_storage().data_ptr()
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"deserialize object on CUDA device 7 but torch.cuda.device_count\(\) is"):
        torch.load(file, map_location="cuda:7")


def test_reports_of_memory():
    kept = torch.ones(1 << 20, device="cuda")
    summary = torch.cuda.memory_summary()
    lines = summary.splitlines()
    assert all(len(line) == 77 for line in lines), lines
    assert "PyTorch CUDA memory summary, device ID 0" in summary and "CUDA OOMs: 0" in summary
    assert "cudaMalloc retries: 0" in summary and "GPU reserved memory" in summary
    nested = torch.cuda.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["current"] == torch.cuda.memory_allocated() >= kept.nbytes
    pinned = torch.ones(100).pin_memory()
    assert pinned.is_pinned() and torch.cuda.memory.host_memory_stats_as_nested_dict()
    assert torch.cuda.memory.get_allocator_backend() == "native"


def test_waits_are_told():
    x = torch.ones(2, device="cuda")
    assert torch.cuda.get_sync_debug_mode() == 0
    try:
        torch.cuda.set_sync_debug_mode("warn")
        with pytest.warns(UserWarning, match="lets the host wait for the GPU"):
            x.sum().item()
        torch.cuda.set_sync_debug_mode(2)
        with pytest.raises(RuntimeError, match="lets the host wait for the GPU"):
            x.tolist()
        assert torch.cuda.get_sync_debug_mode() == 2
        with pytest.raises(RuntimeError, match="expected one of `default`, `warn`, `error`"):
            torch.cuda.set_sync_debug_mode("loud")
        with pytest.raises(RuntimeError, match="expected one of 0,1,2"):
            torch.cuda.set_sync_debug_mode(3)
    finally:
        torch.cuda.set_sync_debug_mode(0)


def test_a_pool_of_graphs_is_shared():
    pool, first, second = torch.cuda.graph_pool_handle(), torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(first, pool=pool):
        y = x * 2
    with torch.cuda.graph(second, pool=first.pool()):
        z = y + 1
    first.replay()
    second.replay()
    assert z.tolist() == [3] * 4 and first.pool() is pool is second.pool()
    assert torch.cuda.current_blas_handle() != 0


def test_storages():
    storage = torch.UntypedStorage(8, device="cuda")
    assert storage.is_cuda and not torch.UntypedStorage(4).is_cuda
    assert torch.UntypedStorage(4).cuda(0).device == torch.device("cuda", 0)
    typed = torch.ones(3).storage().cuda()
    assert typed.is_cuda and typed.tolist() == [1, 1, 1]


def test_lengths_of_ctc_may_stay_on_the_host():
    torch.manual_seed(0)
    scores, lengths = torch.randn(5, 2, 4).log_softmax(-1), torch.tensor([5, 4])
    targets, target_lengths = torch.tensor([[1, 2], [1, 3]]), torch.tensor([2, 1])
    here = torch.nn.functional.ctc_loss(scores, targets, lengths, target_lengths)
    there = torch.nn.functional.ctc_loss(scores.cuda(), targets.cuda(), lengths, target_lengths)
    torch.testing.assert_close(there.cpu(), here)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_errors_name_what_the_program_called():
    x = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8).cuda()
    with pytest.raises(
        NotImplementedError, match=r"^Could not run 'quantized::add' with .* 'CUDA' backend.*x\.cpu\(\)"
    ):
        torch.ops.quantized.add(x, x, 0.1, 0)
    with pytest.raises(NotImplementedError, match="^Could not run 'aten::sigmoid' with .* 'QuantizedCUDA' backend"):
        torch.sigmoid(x)
    with pytest.raises(NotImplementedError, match="^Could not run 'quantized::add' with .* 'CUDA' backend. It is for"):
        torch.ops.quantized.add(torch.ones(3, device="cuda"), x, 0.1, 0)


def test_errors_name_dtypes_without_kernels():
    with pytest.raises(NotImplementedError, match=r"CUDA kernels have no elements of torch\.complex32"):
        torch.ones(3, dtype=torch.complex32, device="cuda")
    with pytest.raises(NotImplementedError, match=r"CUDA kernels have no elements of torch\.float8_e4m3fn$"):
        torch.ones(3, device="cuda").to(torch.float8_e4m3fn)
