"""Let one call of each function of the driver fail after the other, and say what came of each: a line of JSON per fault.

MINDTORCH_CUDA_EMULATOR=1 python survive_faults.py [a function whose first call of the process fails]
"""

import ctypes
import json
import sys

import mindtorch_v2 as torch
from mindtorch_v2._backends.cuda import libraries

_FUNCTIONS = """
cuCtxSetCurrent cuCtxSynchronize cuDeviceCanAccessPeer cuEventCreate cuEventDestroy_v2 cuEventElapsedTime cuEventQuery cuEventRecord
cuEventSynchronize cuFuncSetAttribute cuGraphDestroy cuGraphExecDestroy cuGraphInstantiateWithFlags cuGraphLaunch cuLaunchKernel
cuMemAlloc_v2 cuMemFreeHost cuMemFree_v2 cuMemGetInfo_v2 cuMemHostAlloc cuMemcpyDtoDAsync_v2 cuMemcpyDtoHAsync_v2
cuMemcpyHtoDAsync_v2 cuModuleGetFunction cuModuleLoadData cuStreamBeginCapture_v2 cuStreamCreateWithPriority cuStreamEndCapture
cuStreamIsCapturing cuStreamQuery cuStreamSynchronize cuStreamWaitEvent cuThreadExchangeStreamCaptureMode
cublasCreate_v2 cublasGemmEx cublasSetStream_v2
""".split()
_CALLS = (1, 2, 5)
_EXPECTED = [1134.0, 396.0, [1.0, 3.0, 5.0, 7.0, 9.0], [3.0, 3.0, 3.0, 3.0]]
_UNKNOWN, _OUT_OF_MEMORY = 999, 2


def _work():
    """Something of everything, with a result that is known."""
    side, begin, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    x = torch.arange(12.0).view(3, 4).pin_memory().to("cuda", non_blocking=True).requires_grad_()
    begin.record()
    with torch.cuda.stream(side):
        side.wait_stream(torch.cuda.default_stream())
        y = (x @ x.t()).relu().sum()
    torch.cuda.current_stream().wait_stream(side)
    y.record_stream(torch.cuda.current_stream())
    y.backward()
    static = torch.ones(5, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled = static * 2 + 1
    static.copy_(torch.arange(5.0))
    graph.replay()
    end.record()
    end.synchronize()
    begin.elapsed_time(end)
    end.query()
    side.query()
    big = torch.empty(1 << 22, device="cuda").fill_(3)
    torch.cuda.mem_get_info()
    copied = torch.empty(4, pin_memory=True).copy_(big[:4], non_blocking=True)
    torch.cuda.synchronize()
    result = [float(y), x.grad.cpu().sum().item(), doubled.tolist(), copied.tolist()]
    del big, graph, static, doubled
    torch.cuda.empty_cache()
    return result


def _with_fault(emulator, function, call, expected):
    code = _OUT_OF_MEMORY if "Alloc" in function else _UNKNOWN
    emulator.emulated_set_faults(f"{function}:{call}={code}".encode())
    error, found = "", None
    try:
        found = _work()
    except Exception as raised:  # noqa: BLE001  (whatever it is, it is told)
        error = f"{type(raised).__name__}: {raised}"
    fired = emulator.emulated_fired()
    emulator.emulated_set_faults(b"")
    try:
        survived = _work() == expected
    except Exception as raised:  # noqa: BLE001  (likewise)
        survived = f"{type(raised).__name__}: {raised}"
    said = {"function": function, "call": call, "fired": bool(fired), "error": error, "right": found == expected}
    print(json.dumps({**said, "survived": survived}), flush=True)


def main(first):
    """Faults of a process that has done it all before, or of the first use of a function."""
    emulator = ctypes.CDLL(libraries.driver_path())
    emulator.emulated_set_faults(b"")
    if first:
        _with_fault(emulator, first, 1, _EXPECTED)
        return
    expected = _work()
    assert expected == _EXPECTED
    for function in _FUNCTIONS:
        for call in _CALLS:
            _with_fault(emulator, function, call, expected)


if __name__ == "__main__":
    main(*sys.argv[1:] or [None])
