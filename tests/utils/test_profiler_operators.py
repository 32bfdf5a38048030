"""`torch.ops.profiler`: ranges as calls, in programs and in graphs of them."""

import mindtorch_v2 as torch


def test_ranges_are_entered_and_left():
    with torch.autograd.profiler.profile() as prof:
        outer = torch.ops.profiler._record_function_enter("outer")
        inner = torch.ops.profiler._record_function_enter("inner", "of one")
        _ = torch.ones(2) + 1
        assert torch.ops.profiler._record_function_exit(inner) is None
        torch.ops.profiler._record_function_exit(inner)  # again: nothing happens, as in PyTorch
        torch.ops.profiler._record_function_exit(outer)
    counts = {event.key: event.count for event in prof.key_averages()}
    assert counts["outer"] == counts["inner"] == 1


def test_graphs_keep_them():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    handle = graph.call_function(torch.ops.profiler._record_function_enter, ("part",))
    y = graph.call_function(torch.relu, (x,))
    graph.call_function(torch.ops.profiler._record_function_exit, (handle,))
    graph.output(y)
    graph.eliminate_dead_code()
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    with torch.autograd.profiler.profile() as prof:
        assert module(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]
    assert "part" in [event.name for event in prof.function_events]
