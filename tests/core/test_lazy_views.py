"""Views that show conjugates and negatives: they share memory, operators see the numbers, writes go through. Facts are PyTorch's."""

import copy
import io
import pickle

import numpy
import pytest

import mindtorch_v2 as torch


@pytest.fixture
def z():
    return torch.tensor([[1 + 2j, 3 - 4j], [-5 + 0.5j, 6j]], dtype=torch.complex128)


def test_a_conjugate_shares_memory(z):
    y = z.conj()
    assert (y.is_conj(), z.is_conj(), y.is_neg()) == (True, False, False)
    assert y.data_ptr() == z.data_ptr()
    assert y._base is z
    assert y.tolist() == [[1 - 2j, 3 + 4j], [-5 - 0.5j, -6j]]
    z[0, 0] = 7j
    assert y[0, 0].item() == -7j
    assert y.conj().is_conj() is False
    assert y.conj().data_ptr() == z.data_ptr()


def test_real_tensors_are_their_own_conjugates():
    x = torch.ones(2)
    assert x.conj() is x
    assert torch._neg_view(x).tolist() == [-1.0, -1.0]
    assert torch._neg_view(torch.tensor([1, -2])).tolist() == [-1, 2]


@pytest.mark.parametrize(
    "view",
    [
        lambda y: y[0],
        lambda y: y.t(),
        lambda y: y.view(-1),
        lambda y: y.reshape(4),
        lambda y: y.detach(),
        lambda y: y.unsqueeze(0),
        lambda y: y.expand(3, 2, 2),
        lambda y: y.contiguous(),
        lambda y: y.to(torch.complex128),
        lambda y: y.unbind()[1],
        lambda y: y.data,
    ],
)
def test_views_stay_lazy(z, view):
    found = view(z.conj())
    assert found.is_conj()
    assert found.tolist() == view(z.conj_physical()).tolist()


@pytest.mark.parametrize(
    "compute",
    [
        lambda y: y.clone(),
        lambda y: y + 1,
        lambda y: y @ y,
        lambda y: -y,
        lambda y: y.t().contiguous(),
        lambda y: torch.cat([y, y]),
        lambda y: y[[0, 1]],
        lambda y: y.to(torch.complex64),
        lambda y: y.sum(),
        lambda y: y.resolve_conj(),
        lambda y: y.conj_physical(),
        lambda y: torch.where(torch.ones(2, 2, dtype=torch.bool), y, 0),
        lambda y: torch._foreach_mul([y, y], 2)[0],
    ],
)
def test_results_are_worked_out(z, compute):
    found = compute(z.conj())
    assert not found.is_conj()
    assert torch.allclose(found, compute(z.conj_physical()))


def test_new_tensors_of_the_same_kind_are_plain(z):
    for make in (torch.empty_like, torch.zeros_like, torch.ones_like):
        assert not make(z.conj()).is_conj()
    assert not z.conj().new_zeros(2).is_conj()


def test_real_and_imaginary_parts(z):
    y = z.conj()
    assert (y.real.is_neg(), y.imag.is_neg()) == (False, True)
    assert y.imag.tolist() == [[-2.0, 4.0], [-0.5, -6.0]]
    assert y.imag.data_ptr() == z.imag.data_ptr()
    negated = torch._neg_view(z)
    assert torch.view_as_real(negated).is_neg()
    assert torch.view_as_real(negated).tolist() == (-torch.view_as_real(z)).tolist()
    assert torch.view_as_complex(torch._neg_view(torch.ones(2, 2))).tolist() == [-1 - 1j, -1 - 1j]
    assert torch._neg_view(y).imag.tolist() == [[2.0, -4.0], [0.5, 6.0]]
    assert not torch._neg_view(y).imag.is_neg()


def test_writes_go_through(z):
    y = z.conj()
    y.add_(1j)
    assert z.tolist() == [[1 + 1j, 3 - 5j], [-5 - 0.5j, 5j]]
    y.copy_(torch.full((2, 2), 2 + 3j, dtype=torch.complex128))
    assert z.tolist() == [[2 - 3j] * 2] * 2
    y[0] = 1j
    assert z[0].tolist() == [-1j, -1j]
    y.fill_(4j)
    assert z[1].tolist() == [-4j, -4j]
    y.zero_()
    assert z.abs().sum().item() == 0
    n = torch._neg_view(z.real)
    n += 2
    assert z.real.tolist() == [[-2.0, -2.0], [-2.0, -2.0]]


def test_a_write_counts_once_and_returns_the_view(z):
    y = z.conj()
    before = z._version
    assert y.mul_(2) is y
    assert z._version == before + 1


def test_out_may_be_lazy(z):
    y = torch.zeros_like(z).conj()
    found = torch.add(z, 1, out=y)
    assert found is y
    assert y.is_conj()
    assert torch.equal(y, z + 1)
    small = torch.empty(0, dtype=torch.complex128).conj()
    torch.mul(z, 2, out=small)
    assert torch.equal(small, z * 2)


def test_both_bits_together(z):
    y = torch._neg_view(z.conj())
    assert (y.is_conj(), y.is_neg()) == (True, True)
    assert y.tolist() == (-z.conj_physical()).tolist()
    assert torch.equal(y * 2, -2 * z.conj_physical())
    assert torch.equal(y.resolve_neg(), y.resolve_conj())


def test_lists_that_are_written(z):
    """PyTorch refuses these."""
    w = z.clone()
    torch._foreach_add_([z.conj(), w], 1j)
    assert z[0, 0].item() == 1 + 1j
    assert w[0, 0].item() == 1 + 3j


def test_numbers_leave_as_they_are_shown(z):
    y = z.conj()
    assert y[0, 0].item() == 1 - 2j
    assert complex(y[0, 1]) == 3 + 4j
    assert torch.full((1,), y[0, 0]).tolist() == [1 - 2j]
    assert float(torch._neg_view(torch.tensor(2.5))) == -2.5
    assert int(torch._neg_view(torch.tensor(3))) == -3
    assert torch.ones(4)[torch._neg_view(torch.tensor(-2))].item() == 1.0
    assert torch.arange(4)[torch._neg_view(torch.tensor(-2))].item() == 2
    assert torch.add(torch.ones(1), 1, alpha=torch._neg_view(torch.tensor(2.0))).tolist() == [-1.0]
    assert "1.-2.0000j" in repr(y) or "1.0000-2.0000j" in repr(y)


def test_what_reads_memory_refuses(z):
    y = z.conj()
    with pytest.raises(
        RuntimeError, match="Can't call numpy\\(\\) on Tensor that has conjugate bit set. Use tensor.resolve_conj"
    ):
        y.numpy()
    with pytest.raises(RuntimeError, match="has negative bit set. Use tensor.resolve_neg"):
        y.imag.numpy()
    assert numpy.array_equal(y.numpy(force=True), z.numpy().conj())
    with pytest.raises(BufferError, match="Can't export tensors with the conjugate bit set"):
        y.__dlpack__()
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on unresolved conjugated tensors"):
        torch.view_as_real(y)
    with pytest.raises(RuntimeError, match="not supported for conjugate view tensors"):
        y.view(torch.float64)
    with pytest.raises(RuntimeError, match="not supported for tensors with negative bit set"):
        y.imag.view(torch.int64)


def test_pickles_and_copies(z):
    y = z.conj()
    for other in (pickle.loads(pickle.dumps(y)), copy.deepcopy(y)):
        assert other.tolist() == y.tolist()
    assert pickle.loads(pickle.dumps(y)).is_conj()
    assert not copy.deepcopy(y).is_conj()
    buffer = io.BytesIO()
    torch.save(y, buffer)
    buffer.seek(0)
    assert torch.load(buffer).is_conj()
    buffer = io.BytesIO()
    torch.save(y.imag, buffer)
    buffer.seek(0)
    found = torch.load(buffer)
    assert found.is_neg()
    assert found.tolist() == y.imag.tolist()


def test_gradients():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = z.conj()
    assert type(y.grad_fn).__name__ == "ConjBackward0"
    (y * (2 + 1j)).real.sum().backward()
    assert z.grad.tolist() == [2 + 1j, 2 + 1j]
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (torch._neg_view(x) * 3).sum().backward()
    assert x.grad.tolist() == [-3.0, -3.0]


def test_gradients_through_written_views():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    w = z * 1
    v = w.conj()
    v.mul_(2j)
    (w * (1 + 1j)).real.sum().backward()
    # w = conj(conj(z) 2j) = -2j z
    assert z.grad.tolist() == [((1 + 1j) * -2j).conjugate()] * 2
    assert v.is_conj()


def test_modes_and_transforms_see_plain_numbers(z):
    assert torch.equal(torch.func.vmap(torch.conj)(z), z.conj_physical())
    assert torch.equal(torch.func.vmap(lambda row: row * 2)(z.conj()), 2 * z.conj_physical())
    assert torch.equal(torch.func.functionalize(lambda t: t.conj() + 1)(z), z.conj_physical() + 1)
    assert torch.equal(torch.func.functionalize(lambda t: t + 1)(z.conj()), z.conj_physical() + 1)
    compiled = torch.compile(lambda t: t.conj() * 2, backend="aot_eager")
    assert torch.equal(compiled(z), 2 * z.conj_physical())
    assert torch.equal(compiled(z.conj()), 2 * z)


def test_inference_mode(z):
    with torch.inference_mode():
        y = z.conj()
        assert y.is_conj()
        assert (y + 0).tolist() == z.conj_physical().tolist()
        assert y.t().is_conj()


def test_data_takes_the_bits(z):
    x = torch.zeros_like(z)
    x.data = z.conj()
    assert x.is_conj()
    assert x.tolist() == z.conj_physical().tolist()


def test_fused_programs_see_the_numbers():
    x = torch.arange(4.0)
    compiled = torch.compile(lambda t: (t * 2 + 1).exp().relu())
    expected = (-x * 2 + 1).exp()
    assert torch.allclose(compiled(torch._neg_view(x)), expected)
    assert torch.allclose(compiled(x), (x * 2 + 1).exp())


def test_real_tensors_are_their_own_real_parts_and_conjugates():
    for x in (torch.ones(2), torch.arange(3), torch.ones(2, requires_grad=True), torch.ones(2, device="meta")):
        assert x.real is x and torch.real(x) is x and torch.ops.aten.real(x) is x
        assert x.conj_physical() is x and torch.conj_physical(x) is x and torch.ops.aten.conj_physical(x) is x
        assert torch._conj_physical(x) is not x


def test_real_parts_are_seen_in_the_memory_of_a_conjugate():
    z = torch.tensor([1 + 2j, 3 - 4j])
    z.conj().real.add_(1)
    torch._neg_view(z).real.mul_(2)
    assert z.tolist() == [4 + 2j, 8 - 4j]
    assert torch._neg_view(z.conj()).real.tolist() == [-4.0, -8.0]
    z.real = torch.tensor([0.5, 0.25])
    assert z.tolist() == [0.5 + 2j, 0.25 - 4j]
    assert z.conj_physical_().tolist() == [0.5 - 2j, 0.25 + 4j]
    w = z.clone().requires_grad_()
    (grad,) = torch.autograd.grad((w.conj().real * torch.tensor([2.0, 3.0])).sum(), w)
    assert grad.tolist() == [2, 3] and w.real.grad_fn.name() == "SelectBackward0"
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        torch.conj_physical(torch.ones(2), out=torch.ones(2, dtype=torch.float64))
