"""TF32: float32 products whose factors keep 10 bits behind the point, where a program allows it."""

import pytest

import mindtorch_v2 as torch


@pytest.fixture(autouse=True)
def _exact_again():
    yield
    torch.set_float32_matmul_precision("highest")


def _shortened(x):
    """Ten bits behind the point, halfway to the even one: closed form of what a tensor core reads."""
    bits = x.view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)


def test_products_are_exact_unless_it_is_allowed():
    a, b = torch.randn(16, 24), torch.randn(24, 8)
    exact, short = (a.double() @ b.double()).float(), (_shortened(a).double() @ _shortened(b).double()).float()
    assert not torch.allclose(exact, short, rtol=1e-6, atol=1e-6)

    def product():
        return (a.cuda() @ b.cuda()).cpu()

    torch.testing.assert_close(product(), exact)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.testing.assert_close(product(), short)
    assert torch.get_float32_matmul_precision() == "high" and torch.backends.cuda.matmul.fp32_precision == "tf32"
    double = a.double().cuda() @ b.double().cuda()
    torch.testing.assert_close(double.cpu(), a.double() @ b.double())
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    torch.testing.assert_close(product(), exact)
    assert not torch.backends.cuda.matmul.allow_tf32


def test_the_names_are_one_setting():
    products = torch.backends.cuda.matmul
    for word, allowed in (("high", True), ("highest", False), ("medium", True)):
        torch.set_float32_matmul_precision(word)
        assert (products.allow_tf32, products.fp32_precision == "tf32") == (allowed, allowed)
    products.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest"
    products.fp32_precision = "tf32"
    assert torch.get_float32_matmul_precision() == "high"
    with pytest.raises(RuntimeError, match="one of ieee, none, tf32, but it is 'bf16'"):
        products.fp32_precision = "bf16"
    with pytest.raises(AttributeError, match="Unknown attribute allow_tf64"):
        products.allow_tf64 = True
