"""`torch.func.rearrange`: the notation of einops; sizes and errors are PyTorch's, orders those of the definition."""

import pytest

import mindtorch_v2 as torch

X = torch.arange(24.0).view(2, 3, 4)


@pytest.mark.parametrize(
    ("pattern", "lengths", "expected"),
    [
        ("a b c -> c a b", {}, X.permute(2, 0, 1)),
        ("a b c -> (b a) c", {}, X.transpose(0, 1).reshape(6, 4)),
        ("... a -> a ...", {}, X.permute(2, 0, 1)),
        ("a ... -> (...) a", {}, X.permute(1, 2, 0).reshape(12, 2)),
        ("a b (c d) -> a d b c", {"c": 2}, X.view(2, 3, 2, 2).permute(0, 3, 1, 2)),
        ("a b c -> a 1 b c", {}, X[:, None]),
        ("a b c -> (a b c)", {}, X.reshape(24)),
        ("a (b 1) c -> (a b) c", {}, X.reshape(6, 4)),
    ],
)
def test_orders(pattern, lengths, expected):
    assert torch.equal(torch.func.rearrange(X, pattern, **lengths), expected)


def test_list_is_a_stack():
    assert torch.equal(torch.func.rearrange([X[0], X[1]], "a b c -> b a c"), X.transpose(0, 1))


def test_gradient():
    x = X.clone().requires_grad_()
    torch.func.rearrange(x, "a b c -> c (a b)")[0].sum().backward()
    assert torch.equal(x.grad, torch.zeros(2, 3, 4).index_fill(2, torch.tensor([0]), 1))


@pytest.mark.parametrize(
    ("pattern", "lengths", "message"),
    [
        ("a b -> b a", {}, r"Number of dimensions in pattern \(2\) must be equal to the number of dimensions in the"),
        ("a b c -> c (a b", {}, "Imbalanced parentheses in expression: ' c \\(a b'"),
        ("a b c -> a b d", {}, "Identifiers only on one side of rearrange expression"),
        ("a a c -> a c", {}, "Indexing expression contains duplicate dimension 'a'"),
        ("a b c", {}, "Pattern must contain a single '->' separator"),
        ("a-b c -> c", {}, "Unknown character '-'"),
        ("a (b c) d -> a b c d", {}, "cannot infer the sizes of two dimensions at once"),
        ("a (b c) d -> a b c d", {"b": 2}, r"does not evenly fit into larger dimension: 3 vs \(2, '\?'\)"),
        ("a b c -> (c (a b))", {}, r"one-level \(brackets inside brackets not allowed\)"),
        ("a b c) -> c a b", {}, "Brackets are not balanced"),
        ("a b 2c -> a b", {}, "Invalid axis identifier: 2c\nnot a valid python identifier"),
        ("a b (0) -> a b", {}, "Anonymous axis should have positive length, not 0"),
        ("a b c -> c b a", {"z": 2}, "Identifiers not found in rearrange expression: {'z'}"),
    ],
)
def test_errors(pattern, lengths, message):
    with pytest.raises(ValueError, match=message):
        torch.func.rearrange(X, pattern, **lengths)
