"""bases.cpp: classes that programs in C++ derive from. Expected values are PyTorch's and closed forms."""

import gc
import pickle

import pytest


@pytest.mark.parametrize("name", ["storages", "of_the_framework", "other_memory", "resizing", "generators", "keys"])
def test_in_cpp(bases, name):
    getattr(bases.module, name)()


@pytest.mark.filterwarnings("ignore:Overriding a previously registered kernel")
def test_kernels_that_call_the_frameworks(bases):
    bases.module.own_kernels()


def test_tensors_of_a_storage_of_a_program(bases):
    torch, module = bases.torch, bases.module
    before = module.alive()
    t = module.marked(4).fill_(2)
    kept = t.untyped_storage()
    assert kept.nbytes() == 16 and kept.data_ptr() == t.data_ptr()
    view = t[1:]
    del t
    gc.collect()
    assert module.alive() == before + 1
    assert (view + 1).tolist() == [3, 3, 3]
    assert torch.equal(pickle.loads(pickle.dumps(view)), view)
    x = torch.ones(3, requires_grad=True)
    (x * view).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    del view, kept, x
    gc.collect()
    assert module.alive() == before


def test_storages_in_operators(bases):
    torch = bases.torch
    assert torch.ops.bases.bytes(torch.ones(3).untyped_storage()) == 12
    assert str(torch.ops.bases.bytes.default._schema) == "bases::bytes(Storage s) -> int"


def test_generators_of_a_program_in_python(bases):
    torch, module = bases.torch, bases.module
    before = module.alive()
    g = module.named(5)
    same = torch.Generator().manual_seed(5)
    assert isinstance(g, torch.Generator) and g.initial_seed() == 5 and g.device == torch.device("cpu")
    assert torch.equal(g.get_state(), same.get_state())
    assert module.drawn(g) == module.drawn(same)
    assert torch.equal(g.get_state(), same.get_state())
    g.manual_seed(3)
    assert torch.equal(g.get_state(), torch.Generator().manual_seed(3).get_state())
    g.set_state(same.get_state())
    assert module.drawn(g) == module.drawn(same)
    assert g.seed() == 1000 and g.initial_seed() == 1000
    del g
    assert module.alive() == before


def test_devices_as_objects(bases):
    torch = bases.torch
    assert bases.module.next_device(torch.device("cpu")) == torch.device("cpu:0")
    assert bases.module.next_device(torch.device("meta", 3)) == torch.device("meta:4")
    with pytest.raises(TypeError, match="a torch.device was expected"):
        bases.module.next_device("cpu")


def test_streams_as_objects(bases):
    torch = bases.torch
    stream = torch.Stream(device="cpu")
    assert bases.module.same_stream(stream) == stream
    made = bases.module.stream_on(torch.device("cpu"))
    assert isinstance(made, torch.Stream) and made.device_type == 0 and made.stream_id == 0
    with pytest.raises(TypeError):
        bases.module.same_stream(torch.device("cpu"))
    if torch.__name__ != "torch":  # CUDA's streams are nobody's here
        with pytest.raises(NotImplementedError, match="streams of device type 1"):
            bases.module.stream_on(torch.device("cuda:0"))


def test_the_processor(bases):
    said = bases.module.processor()
    assert {"avx2", "amx_tile", "avx512_f"} <= set(said)
    expected = bases.torch.cpu.get_capabilities()
    assert all(expected[name] == value for name, value in said.items() if name in expected)
