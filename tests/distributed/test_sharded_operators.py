"""Operators on distributed tensors of four ranks: numbers and gradients of plain ones, in pieces along the first and the last dimension."""

import pytest
import ranks

FAMILIES = {
    "products": "mm bmm addmm addmv linear matmul",
    "reductions": "sum sum.dim_IntList mean mean.dim amax amin linalg_vector_norm var.correction logsumexp _softmax _log_softmax",
    "views": "view expand permute transpose.int unsqueeze squeeze.dim select.int slice.Tensor unbind.int split.Tensor cat stack",
    "others": "native_layer_norm gather index_select sort cumsum add.Tensor mul.Tensor div.Tensor where.self tril flip mse_loss "
    "embedding clone zeros_like new_zeros topk exp gelu addcdiv lerp.Scalar",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_pieces_give_what_the_whole_gives(family):
    names = FAMILIES[family].split()
    for found in ranks.results("operators.py", 4, *names):
        assert found["differ"] == {}
        assert found["calls"] >= 2 * len(names)
