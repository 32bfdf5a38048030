"""Signatures of operators, as PyTorch 2.13 states them."""

import inspect

import mindtorch_v2 as torch
from mindtorch_v2.fx.operator_schemas import get_signature_for_torch_op


def test_signatures() -> None:
    found = get_signature_for_torch_op(torch.add)[0]
    assert [(p.name, p.kind.name, p.default) for p in found.parameters.values()] == [
        ("input", "POSITIONAL_OR_KEYWORD", inspect.Parameter.empty),
        ("other", "POSITIONAL_OR_KEYWORD", inspect.Parameter.empty),
        ("alpha", "KEYWORD_ONLY", 1),
    ]
    assert found.return_annotation is torch.Tensor
    (pool,) = get_signature_for_torch_op(torch.max_pool2d)
    assert [p.default for p in pool.parameters.values()][2:] == [[], [0, 0], [1, 1], False]
    assert "list[int]" in str(pool.parameters["stride"])
    signatures, schemas = get_signature_for_torch_op(torch.abs, return_schemas=True)
    assert len(signatures) == len(schemas) == 2
    assert get_signature_for_torch_op(len) is None
    assert signatures[0].bind(torch.ones(1)).args[0].item() == 1.0
