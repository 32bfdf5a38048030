"""Use the device that devices.cpp makes, built into the folder given: an exception for whatever is not as in PyTorch."""

import gc
import io
import sys
import types

import torch
from torch.utils import cpp_extension

folder, flags = sys.argv[1], sys.argv[2:]
source = __file__.replace("device_program.py", "devices.cpp")
shelf = cpp_extension.load("devices", [source], ["-O0", *flags], extra_ldflags=flags, build_directory=folder)


def refused(error, text, call) -> None:
    try:
        call()
    except error as e:
        assert text in str(e), e
    else:
        raise AssertionError(f"not refused: {text}")


def names() -> None:
    assert str(shelf.device(0)) == "privateuseone:0"
    refused(RuntimeError, "in-tree device name", lambda: torch.utils.rename_privateuse1_backend("cuda"))
    torch.utils.rename_privateuse1_backend("shelf")
    torch.utils.rename_privateuse1_backend("shelf")
    refused(
        RuntimeError, "already been set! Current backend: shelf", lambda: torch.utils.rename_privateuse1_backend("a")
    )
    assert torch._C._get_privateuse1_backend_name() == "shelf"
    assert torch.device("privateuseone:1") == torch.device("shelf", 1) == shelf.device(1)
    assert str(shelf.device(1)) == "shelf:1"
    refused(RuntimeError, "Expected one of cpu", lambda: torch.device("drawer"))
    module = types.ModuleType("shelf")
    module.device_count, module.current_device, module.is_available = lambda: 2, shelf.current, lambda: True
    module._is_in_bad_fork, module.manual_seed_all = lambda: False, lambda seed: None
    torch._register_device_module("shelf", module)
    assert torch.shelf is module is torch.get_device_module("shelf")
    refused(RuntimeError, "The runtime module of 'shelf'", lambda: torch._register_device_module("shelf", module))
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    again = torch.utils.generate_methods_for_privateuse1_backend
    refused(RuntimeError, "has already been registered with is_shelf", again)
    asked = torch.utils.backend_registration._get_custom_mod_func
    assert asked("device_count")() == 2
    refused(RuntimeError, "Try to call torch.shelf.reset", lambda: asked("reset"))


def memory() -> None:
    before = shelf.counts()[0]
    x = torch.empty(4, 4, device="shelf")
    assert (str(x.device), x.shape, x.is_shelf, x.is_cpu) == ("shelf:0", (4, 4), True, False)
    assert x.type() == "torch.shelf.FloatTensor"
    assert shelf.counts()[0] == before + 1
    assert str(torch.empty(2, device="shelf:1").device) == "shelf:1"
    assert shelf.current() == 0
    refused(RuntimeError, "shelf: no device", lambda: torch.empty(2, device="shelf:5"))
    y = torch.empty(2, 3, 4, 5, device="shelf", memory_format=torch.channels_last)
    assert y.stride() == (60, 1, 15, 3)
    assert str(torch.UntypedStorage(4, device="shelf").device) == "shelf:0"
    del x, y
    gc.collect()
    assert shelf.counts()[0] == before


def copies() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    y = x.to("shelf")
    assert torch.equal(y.cpu(), x) and not x.is_shelf
    assert torch.equal(x.to("shelf", torch.float64).cpu(), x.double())
    assert x.t().to("shelf").stride() == (1, 3) and torch.equal(x.t().to("shelf").cpu(), x.t())
    assert [str(x.shelf(d).device) for d in (None, 1, "shelf:1")] == ["shelf:0", "shelf:1", "shelf:1"]
    refused(RuntimeError, "Invalid device, must be shelf device", lambda: x.shelf("cpu"))
    assert torch.equal(torch.zeros(2, 3).copy_(y), x)
    assert y.copy_(torch.ones(3)).cpu().tolist() == [[1.0] * 3] * 2
    assert torch.nn.Linear(2, 2).shelf().weight.is_shelf
    refused(TypeError, "can't convert shelf:0 device type tensor to numpy", y.numpy)


def operators() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    y, before = x.to("shelf"), shelf.counts()[2]
    assert torch.equal((y + y).cpu(), x + x) and shelf.counts()[2] == before + 1
    assert torch.equal((y + 2).cpu(), x + 2)
    assert torch.equal((y - y).cpu(), x - x) and (y - y).is_shelf
    assert torch.equal(torch.cat([y, y]).cpu(), torch.cat([x, x]))
    values, places = torch.sort(y, descending=True)
    assert values.is_shelf and torch.equal(values.cpu(), x.flip(1)) and places.cpu().tolist() == [[2, 1, 0]] * 2
    assert torch.full((2,), 7.0, device="shelf").cpu().tolist() == [7.0, 7.0]
    assert torch.ones(2, device="shelf").tolist() == [1.0, 1.0]
    assert torch.empty_like(y).is_shelf and torch.equal(y.clone().cpu(), x)
    refused(NotImplementedError, "'shelf' backend", lambda: torch.exp(y))
    w = torch.ones(2, requires_grad=True)
    z = w.to("shelf")
    (z + z).to("cpu").sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]
    doubled = torch.compile(lambda a: a + a, backend="eager")
    assert torch.equal(doubled(y).cpu(), x + x)


def guards() -> None:
    # Numbers of one byte are characters in these texts.
    assert shelf.guards() == [
        *("1\x02", "\x00\x01\x01", "\x00", "0", "\x01", "\x00", "shelf:0\x02", "99shelf:11", "99", "10"),
        *("1\x0111011", "shelf: no device \x05", "shelfshelf:11", "1"),
    ]


def hooks() -> None:
    missing = "Please register PrivateUse1HooksInterface by `RegisterPrivateUse1HooksInterface` first."
    refused(RuntimeError, missing, lambda: torch.Generator(device="shelf"))
    refused(RuntimeError, missing, lambda: torch.ones(2).pin_memory())
    refused(RuntimeError, missing, shelf.default_seed)
    shelf.register_hooks()
    refused(RuntimeError, "PrivateUse1HooksInterface only could be registered once.", shelf.register_hooks)
    g = torch.Generator(device="shelf:1")
    assert str(g.device) == "shelf:1" and shelf.seed_of(g) == 1
    assert shelf.seed_of(g.manual_seed(9)) == g.initial_seed() == 9
    assert shelf.default_seed() == 1
    assert not torch.ones(2).is_pinned()
    assert torch.ones(2).pin_memory().tolist() == [1.0, 1.0] and torch.ones(2).is_pinned()


def streams() -> None:
    accelerator = torch.accelerator
    assert accelerator.is_available() and accelerator.device_count() == 2
    assert str(accelerator.current_accelerator()) == "shelf" and accelerator.current_device_index() == 0
    accelerator.set_device_index(1)
    assert shelf.current() == 1 and str(torch.empty(2, device="shelf").device) == "shelf:1"
    accelerator.set_device_index(0)
    assert accelerator.current_stream().stream_id == 0
    s = torch.Stream("shelf:1")
    assert (str(s.device), s.stream_id, s.query()) == ("shelf:1", 100, True)
    waited = shelf.counts()[4]
    s.synchronize()
    assert shelf.counts()[4] == waited + 1
    with s:
        assert accelerator.current_stream() == s and shelf.current() == 1
    assert accelerator.current_stream() != s and shelf.current() == 0
    alive = shelf.counts()[3]
    e = torch.Event("shelf")
    assert e.query()
    e.record(s)
    assert e.query() and str(e.device) == "shelf:1" and shelf.counts()[3] == alive + 1
    e.synchronize()
    e.wait(s)
    assert shelf.counts()[4] == waited + 1101
    del e
    gc.collect()
    assert shelf.counts()[3] == alive
    accelerator.synchronize()
    assert shelf.counts()[4] == waited + 1111


def labels() -> None:
    """An object beside a tensor's memory stays with it, is copied where it is detached, and is asked for files."""
    x = torch.ones(3, device="shelf")
    assert shelf.label_of(x) is None
    shelf.label(x, 7)
    shelf.label(x, 5)
    assert shelf.label_of(x) == (5, 0) and shelf.labels() == 1
    y = x.detach()
    assert shelf.label_of(y) == (5, 1) and shelf.label_of(x) == (5, 0) and shelf.labels() == 2
    assert shelf.label_of(torch.ones(3, device="shelf")) is None
    del y
    gc.collect()
    assert shelf.labels() == 1
    shelf.register_labels()
    refused(RuntimeError, "registered", shelf.register_labels)
    shelf.label(x, 3)
    assert torch._utils.get_tensor_metadata(x) == {"label": True, "odd": True}
    del x
    gc.collect()
    assert shelf.labels() == 0


def labels_in_files() -> None:
    x = torch.ones(3, device="shelf")
    plain = torch.ones(2, device="shelf")
    shelf.label(x, 4)
    files = []
    for tensor in (x, plain):
        files.append(io.BytesIO())
        torch.save(tensor, files[-1])
        files[-1].seek(0)
    assert shelf.label_of(torch.load(files[0])) == (2, 0) and shelf.label_of(torch.load(files[1])) is None


def ours_alone() -> None:
    """Views need no kernel here, and what is fetched from storages neither."""
    labels_in_files()
    y = torch.arange(6.0).reshape(2, 3).to("shelf")
    assert y[1].cpu().tolist() == [3.0, 4.0, 5.0]
    assert y.t().contiguous().cpu().tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert y.mul_(y) is y and y.cpu().tolist() == [[0.0, 1.0, 4.0], [9.0, 16.0, 25.0]]
    assert repr(torch.ones(2, device="shelf")) == "tensor([1., 1.], device='shelf:0')"
    file = io.BytesIO()
    torch.save(torch.ones(2, device="shelf:1"), file)
    file.seek(0)
    assert str(torch.load(file).device) == "shelf:1"
    file.seek(0)
    assert torch.load(file, map_location="cpu").is_cpu
    assert str(torch.ones(2).untyped_storage().shelf().device) == "shelf:0"
    refused(RuntimeError, "Expected one of cpu", lambda: torch.device("npu"))


for part in (names, memory, copies, hooks, operators, guards, streams, labels):
    part()
if hasattr(torch, "npu"):
    ours_alone()
print("as in PyTorch")
