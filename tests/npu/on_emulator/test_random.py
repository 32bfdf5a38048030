"""Generators of the device, pinned memory, and several devices."""

import subprocess
import sys

import pytest

import mindtorch_v2 as torch


def test_a_generator_decides_the_numbers() -> None:
    generator = torch.Generator("npu").manual_seed(3)
    assert generator.device == torch.device("npu:0") and generator.initial_seed() == 3
    first = torch.rand(5, device="npu", generator=generator)
    state = generator.get_state()
    second = torch.randn(5, device="npu", generator=generator)
    assert not torch.equal(first, torch.rand(5, device="npu", generator=generator))
    generator.set_state(state)
    assert torch.equal(second, torch.randn(5, device="npu", generator=generator))
    assert torch.equal(first, torch.rand(5, device="npu", generator=generator.manual_seed(3)))
    assert generator.get_offset() == 12 and state.dtype == torch.uint8 and state.numel() == 16
    generator.set_offset(0)
    assert torch.equal(first, torch.rand(5, device="npu", generator=generator))
    kind, arguments, state = generator.__reduce__()
    again = kind(*arguments)
    again.__setstate__(state)
    assert torch.equal(
        torch.randperm(9, device="npu", generator=again), torch.randperm(9, device="npu", generator=generator)
    )
    assert torch.equal(
        torch.rand(3, device="npu", generator=again.clone_state()), torch.rand(3, device="npu", generator=again)
    )
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        generator.set_offset(3)
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        generator.set_state(torch.get_rng_state())


def test_generators_are_of_one_device() -> None:
    with pytest.raises(RuntimeError, match="Expected a 'npu' device type for generator but found 'cpu'"):
        torch.rand(2, device="npu", generator=torch.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'npu'"):
        torch.rand(2, generator=torch.Generator("npu"))
    with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
        torch.Generator().get_offset()


def test_seeds_and_states_of_the_default_generator() -> None:
    torch.manual_seed(11)
    first = torch.rand(4, device="npu")
    assert torch.npu.initial_seed() == 11
    state = torch.npu.get_rng_state()
    second = torch.rand(4, device="npu")
    torch.npu.set_rng_state(state)
    assert torch.equal(second, torch.rand(4, device="npu"))
    torch.npu.manual_seed(11)
    assert torch.equal(first, torch.rand(4, device="npu"))
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.rand(7, device="npu")
    assert torch.equal(second, torch.rand(4, device="npu"))
    torch.npu.seed()
    assert torch.npu.initial_seed() != 11
    torch.manual_seed(-1)
    assert torch.npu.initial_seed() == 2**64 - 1 and torch.rand(2, device="npu").shape == (2,)
    assert torch.npu.default_generators[0].initial_seed() == 2**64 - 1


def test_pinned_memory_is_copied_beside_the_program(report: object) -> None:
    x = torch.arange(12.0).reshape(3, 4).t()
    assert not x.is_pinned()
    pinned = x.pin_memory()
    assert pinned.is_pinned() and pinned.untyped_storage().is_pinned() and torch.equal(pinned, x)
    assert pinned.stride() == x.stride() and pinned.pin_memory() is pinned and pinned[1:].is_pinned()
    there = pinned.to("npu", non_blocking=True)
    back = torch.empty(4, 3).pin_memory()
    back.copy_(there, non_blocking=True)
    torch.npu.synchronize()
    assert torch.equal(back, x)
    before = report()["live"]["host memory"]  # type: ignore[operator]
    del pinned, back
    torch.ones(12).pin_memory().to("npu", non_blocking=True)
    torch.npu.synchronize()
    torch.ones(12).pin_memory().to("npu", non_blocking=True)  # what was passed is let go at the next copy
    torch.npu.synchronize()
    assert report()["live"]["host memory"] <= before  # type: ignore[operator]
    with pytest.raises(RuntimeError, match="cannot pin"):
        torch.ones(2, device="npu").pin_memory()


def test_a_loader_pins_its_batches() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(6.0), torch.arange(6))
    for values, numbers in torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True):
        assert values.is_pinned() and numbers.is_pinned()
        assert torch.equal(values.to("npu", non_blocking=True).cpu(), numbers.float())


def test_factories_pin_what_they_make() -> None:
    made = [
        torch.empty(2, pin_memory=True),
        torch.zeros(2, pin_memory=True, requires_grad=True),
        torch.full((2,), 3.0, pin_memory=True),
        torch.tensor([1.0, 2.0], pin_memory=True),
        torch.ones(1).new_zeros(2, pin_memory=True),
        torch.randn_like(torch.ones(2), pin_memory=True),
    ]
    assert all(tensor.is_pinned() and tensor.is_leaf and tensor.shape == (2,) for tensor in made)
    assert made[1].requires_grad and made[3].npu(non_blocking=True).tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(2, pin_memory=True, device="npu")


def test_streams_come_from_a_pool_and_events_may_outlive_the_program() -> None:
    streams = {torch.npu.Stream().npu_stream for _ in range(100)}
    assert len(streams) == 32 and 0 not in streams
    program = "import mindtorch_v2 as t; e = t.npu.Event(); e.record(); s = t.npu.Stream(); k = [s.record_event()]"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stderr == ""


def test_attention_draws_its_dropout_from_the_devices_generator() -> None:
    q = torch.randn(1, 2, 16, 8).npu()
    torch.npu.manual_seed(5)
    out, *_, seed, offset, count = torch.ops.npu.npu_fusion_attention(q, q, q, 2, "BNSD", keep_prob=0.7)
    assert (seed, offset, count) == (5, 0, 512)
    mask = torch.ops.npu._npu_dropout_gen_mask(q, [1, 2, 16, 16], 0.3, 5, 0)
    given = torch.ops.npu.npu_fusion_attention(q, q, q, 2, "BNSD", keep_prob=0.7, dropout_mask=mask, seed=5)[0]
    # The fused operator takes the mask, the composition draws it: other roundings, the same elements left out.
    torch.testing.assert_close(out, given, rtol=1e-5, atol=1e-6)
    assert torch.ops.npu.npu_fusion_attention(q, q, q, 2, "BNSD", keep_prob=0.7)[5] == 512
