"""Distributed tensors as Python objects: copies, texts, and what there is not. One rank; numbers are checked on several elsewhere."""

import copy

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.distributed.pipelining import SplitPoint
from mindtorch_v2.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, parallel

dist = torch.distributed


@pytest.fixture
def mesh():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


def test_deep_copies(mesh):
    """Copies have memory of their own and the same mesh, whose groups are connections."""
    model = torch.nn.Linear(2, 3)
    parallel.parallelize_module(model, mesh, parallel.ColwiseParallel())
    other = copy.deepcopy(model)
    assert isinstance(other.weight, DTensor)
    assert other.weight.device_mesh is mesh
    assert other.weight.placements == (Shard(0),)
    with torch.no_grad():
        other.weight.add_(1)
    torch.testing.assert_close(other.weight.full_tensor(), model.weight.full_tensor() + 1)
    assert copy.deepcopy(mesh) is mesh


def test_pieces_are_no_arrays(mesh):
    x = distribute_tensor(torch.ones(2), mesh, [Shard(0)])
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        x.numpy()
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses, got DTensor"):
        x.tolist()


def test_summands(mesh):
    for op in ("sum", "avg", "max"):
        x = distribute_tensor(torch.tensor([1.0, 2.0]), mesh, [Partial(op)])
        assert x.placements == (Partial(op),)
        assert x.full_tensor().tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="unsupported placements"):
        distribute_tensor(torch.ones(2), mesh, [Partial("product")])


def test_texts_of_styles():
    assert repr(parallel.RowwiseParallel()) == (
        "RowwiseParallel(input_layouts=(Shard(dim=-1),), output_layouts=(Replicate(),), use_local_output=True)"
    )
    assert repr(parallel.SequenceParallel()) == "SequenceParallel(sequence_dim=1, use_local_output=False)"
    assert repr(
        parallel.PrepareModuleInput(input_layouts=(Shard(0), None), desired_input_layouts=(Replicate(), None))
    ) == (
        "PrepareModuleInput(input_layouts=(Shard(dim=0), None), desired_input_layouts=(Replicate(), None), "
        "input_kwarg_layouts={}, desired_input_kwarg_layouts={}, use_local_output=False)"
    )
    assert [each.name for each in SplitPoint] == ["BEGINNING", "END"]


def test_meshes_that_cannot_be(mesh):
    for arguments, text in (
        (("cpu:0", (1,)), "Device type with index is not supported but got cpu:0"),
        (("cpu", (2, 2)), "Mesh should not be bigger than default world size 1, but found 4 ranks!"),
        (("cpu", (1,), ("a", "b")), "mesh_shape and mesh_dim_names should have same length! Found len"),
        (("cpu", (1, 1), ("a", "a")), "Each mesh_dim_name must be unique. Found repeated"),
    ):
        with pytest.raises(RuntimeError, match=text):
            dist.init_device_mesh(*arguments[:2], mesh_dim_names=arguments[2] if len(arguments) > 2 else None)
    named = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "b"))
    with pytest.raises(
        KeyError, match=r"Invalid mesh_dim_names \('z',\) specified. Valid mesh_dim_names are \['a', 'b'\]"
    ):
        named["z"]
