"""svd_lowrank and pca_lowrank: PyTorch 2.13's singular values for the same seed, and what holds of every such factoring."""

import pytest

import mindtorch_v2 as torch

# (shape, singular values of svd_lowrank(q=2), of pca_lowrank(q=2)), drawn one after the other from seed 0.
CASES = [
    ((5, 3), [3.238101770234467, 1.9891559120910034], [2.4745709951333574, 1.7527264252559516]),
    ((3, 5), [2.9279946475789393, 1.2452133818048072], [1.4466958323543655, 1.2328238760249022]),
]


def test_same_seed_same_values():
    torch.manual_seed(0)
    for shape, svd, pca in CASES:
        a = torch.randn(shape, dtype=torch.float64)
        for factors, expected in ((torch.svd_lowrank(a, q=2), svd), (torch.pca_lowrank(a, q=2), pca)):
            u, s, v = factors
            assert s.tolist() == pytest.approx(expected, rel=1e-12)
            assert (u.shape, v.shape) == ((shape[0], 2), (shape[1], 2))
            assert torch.allclose(u.mH @ u, torch.eye(2, dtype=a.dtype), atol=1e-12)


def test_full_rank_is_exact():
    a = torch.randn(2, 6, 4, dtype=torch.complex128)
    mean = torch.randn(4, dtype=torch.complex128)
    u, s, v = torch.svd_lowrank(a, q=4, M=mean)
    assert torch.allclose((u * s.unsqueeze(-2)) @ v.mH, a - mean, atol=1e-10)


def test_gradient():
    a = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    torch.svd_lowrank(a, q=3)[1].square().sum().backward()
    assert torch.allclose(a.grad, 2 * a, atol=1e-10)


def test_bad_arguments():
    for arguments, text in (
        ({"q": 5}, r"q\(=5\) must be non-negative integer and not greater than min\(m, n\)=2"),
        ({"niter": -1}, r"niter\(=-1\) must be non-negative integer"),
    ):
        with pytest.raises(ValueError, match=text):
            torch.pca_lowrank(torch.ones(2, 2), **arguments)
