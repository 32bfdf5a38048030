"""Calls of PyTorch's operators that the samples of their rows do not make on a device, for `verify`, as those of `_calls`."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ._calls import _whole, _x

__all__ = ["CALLS"]

aten: Any = torch.ops.aten

_SCORES, _CLASSES = _x(5, 7), _whole(5, high=7, dtype=torch.int64)
_, _STATISTICS, _WEIGHT = aten._cross_entropy(_SCORES, _CLASSES, None, 1, -100, 0.1)
_LOGS, _TEXT = _x(6, 2, 4).log_softmax(-1), torch.tensor([[1, 2, 1], [3, 1, 2]])
_LENGTHS = torch.tensor([6, 5]), torch.tensor([3, 2])
_LISTS = [each.tolist() for each in _LENGTHS]
_LIKELIHOOD, _ALPHA = aten._ctc_loss(_LOGS, _TEXT, *_LISTS)
_NORMED, _RSTD = aten._fused_rms_norm(_x(3, 8), [8], _x(8, seed=1), 1e-5)
_GROUPED = _x(2, 6, 5)
_, _MEAN, _DEVIATION = aten.native_group_norm(_GROUPED, None, None, 2, 6, 5, 3, 1e-5)
_TABLE = torch.tensor([1.0, 2.5, 4.0])
_GENERATOR = torch.Generator().manual_seed(3)
_PLACES = torch.tensor([2, 0])
_SPREAD = _x(4, 6) * (_x(4, 6, seed=1) > 0)


def _step() -> tuple[list[Any], dict[str, Any]]:
    """Arguments of one step of a fused optimizer on two parameters."""
    made = [[_x(4, 5, seed=seed + n) for n in range(2)] for seed in range(4)]
    squares = [each.abs() for each in made[3]]
    steps = [torch.tensor(3.0, dtype=torch.float64) for _ in range(2)]
    options = {
        "lr": 0.1,
        "beta1": 0.9,
        "beta2": 0.99,
        "weight_decay": 0.01,
        "eps": 1e-6,
        "amsgrad": False,
        "maximize": False,
    }
    return [made[0], made[1], made[2], squares, [], steps], options


CALLS: dict[str, list[tuple[list[Any], dict[str, Any]]]] = {
    "aten::_cross_entropy_backward": [
        ([torch.tensor(1.0), _SCORES, _CLASSES, None, 1, -100, 0.1, _STATISTICS, _WEIGHT], {})
    ],
    "aten::_ctc_loss": [([_LOGS, _TEXT, *_LISTS], {})],
    "aten::_ctc_loss.Tensor": [([_LOGS, _TEXT, *_LENGTHS], {})],
    "aten::_ctc_loss_backward": [([torch.ones(2), _LOGS, _TEXT, *_LISTS, _LIKELIHOOD, _ALPHA, 0], {})],
    "aten::_ctc_loss_backward.Tensor": [([torch.ones(2), _LOGS, _TEXT, *_LENGTHS, _LIKELIHOOD, _ALPHA, 0], {})],
    "aten::_fft_c2c": [([torch.complex(_x(4, 6), _x(4, 6, seed=1)), [1], 0, forward], {}) for forward in (True, False)],
    "aten::_fft_c2r": [([torch.complex(_x(4, 4), _x(4, 4, seed=1)), [1], 2, 6], {})],
    "aten::_fused_adam_": [_step()],
    "aten::_fused_adamw_": [_step()],
    "aten::_fused_dropout": [([_x(4, 5), 0.5], {})],
    "aten::_fused_rms_norm": [([_x(3, 8), [8], _x(8, seed=1), 1e-5], {})],
    "aten::_fused_rms_norm_backward": [
        ([_x(3, 8, seed=2), _x(3, 8), [8], _RSTD.double(), _x(8, seed=1), [True, True]], {})
    ],
    "aten::_index_put_impl_": [([_x(4, 5), [_PLACES], _x(2, 5, seed=1)], {"accumulate": True})],
    "aten::_local_scalar_dense": [([torch.tensor(2.5)], {})],
    "aten::_native_batch_norm_legit": [
        (
            [
                _x(4, 3, 5),
                _x(3, seed=1),
                _x(3, seed=2),
                torch.zeros(3).double(),
                torch.ones(3).double(),
                True,
                0.1,
                1e-5,
            ],
            {},
        )
    ],
    "aten::_native_batch_norm_legit_no_training": [
        (
            [
                _x(4, 3, 5),
                _x(3, seed=1),
                _x(3, seed=2),
                _x(3, seed=3).double(),
                _x(3, seed=4).abs().double(),
                0.1,
                1e-5,
            ],
            {},
        )
    ],
    "aten::_to_sparse": [([_SPREAD], {}), ([_SPREAD], {"layout": torch.sparse_csr})],
    "aten::_to_sparse.sparse_dim": [([_SPREAD, 1], {})],
    "aten::_to_sparse_bsc": [([_SPREAD, [2, 3]], {})],
    "aten::_to_sparse_bsr": [([_SPREAD, [2, 3]], {})],
    "aten::_to_sparse_csc": [([_SPREAD], {})],
    "aten::_to_sparse_csr": [([_SPREAD], {})],
    "aten::_unsafe_index.Tensor": [([_x(4, 5), [_PLACES, None]], {})],
    "aten::_unsafe_index_put": [([_x(4, 5), [_PLACES], _x(2, 5, seed=1)], {})],
    "aten::_validate_sparse_compressed_tensor_args": [
        ([torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2]), _x(3), [2, 3], torch.sparse_csr], {})
    ],
    "aten::_validate_sparse_coo_tensor_args": [([torch.tensor([[0, 3], [1, 4]]), _x(2), [4, 5]], {})],
    "aten::_weighted_row_sums": [
        ([torch.tensor([0, 2, 3]), torch.tensor([1, 0, 3]), _x(3), _x(4, 5, seed=1)], {}),
    ],
    "aten::arange.start": [([2, 9], {}), ([0.5, 4.0], {})],
    "aten::arange.start_step": [([2, 9, 3], {}), ([0.5, 4.0, 0.25], {})],
    "aten::as_strided_scatter": [([_x(4, 5), _x(2, 3, seed=1), [2, 3], [5, 1], 1], {})],
    "aten::bernoulli": [([_x(4, 5).sigmoid()], {})],
    "aten::bernoulli.p": [([_x(4, 5), 0.3], {})],
    "aten::bernoulli_.Tensor": [([_x(4, 5), _x(4, 5, seed=1).sigmoid()], {})],
    "aten::bucketize.Scalar": [([2.75, _TABLE], {})],
    "aten::bucketize.Tensor": [
        ([_x(4, 5) * 3, _TABLE], {}),
        ([_x(4, 5) * 3, _TABLE], {"right": True, "out_int32": True}),
    ],
    "aten::_embedding_bag_sparse_backward": [
        (
            [
                _x(2, 5),
                torch.tensor([1, 3, 0]),
                torch.tensor([0, 2]),
                torch.tensor([0, 0, 1]),
                torch.tensor([2, 1]),
                4,
                False,
            ]
            + [0, None],
            {},
        )
    ],
    "aten::embedding_sparse_backward": [([_x(3, 5), torch.tensor([1, 3, 1]), 4, -1, False], {})],
    "aten::empty_permuted": [([[2, 3, 4], [2, 0, 1]], {})],
    "aten::empty_strided": [([[2, 3], [3, 1]], {})],
    "aten::new_empty_strided": [([_x(2), [2, 3], [3, 1]], {})],
    "aten::eye": [([4], {})],
    "aten::linspace": [([-1.0, 3.0, 9], {})],
    "aten::multinomial": [([_x(3, 6).abs(), 2], {})],
    "aten::native_dropout": [([_x(4, 5), 0.5, True], {}), ([_x(4, 5), 0.5, False], {})],
    "aten::native_group_norm_backward": [
        ([_x(2, 6, 5, seed=3), _GROUPED, _MEAN, _DEVIATION, None, 2, 6, 5, 3, [True, True, True]], {})
    ],
    "aten::rand.generator": [([[4, 5]], {"generator": _GENERATOR})],
    "aten::rand_like.generator": [([_x(4, 5)], {"generator": _GENERATOR})],
    "aten::randn.generator": [([[4, 5]], {"generator": _GENERATOR})],
    "aten::randn_like.generator": [([_x(4, 5)], {"generator": _GENERATOR})],
    "aten::randint": [([9, [4, 5]], {})],
    "aten::randint.generator": [([9, [4, 5]], {"generator": _GENERATOR})],
    "aten::randint.low": [([3, 9, [4, 5]], {})],
    "aten::randint.low_generator": [([3, 9, [4, 5]], {"generator": _GENERATOR})],
    "aten::randint_like": [([_x(4, 5), 9], {})],
    "aten::randint_like.Tensor": [([_x(4, 5), torch.tensor(9)], {})],
    "aten::randint_like.Tensor_generator": [([_x(4, 5), torch.tensor(9)], {"generator": _GENERATOR})],
    "aten::randint_like.generator": [([_x(4, 5), 9], {"generator": _GENERATOR})],
    "aten::randint_like.low_dtype": [([_x(4, 5), 3, 9], {})],
    "aten::randint_like.low_generator_dtype": [([_x(4, 5), 3, 9], {"generator": _GENERATOR})],
    "aten::random_.from": [([_x(4, 5), 3, 9], {})],
    "aten::random_.to": [([_x(4, 5), 9], {})],
    "aten::randperm": [([9], {})],
    "aten::randperm.generator": [([9], {"generator": _GENERATOR})],
    "aten::scalar_tensor": [([2.5], {})],
    "aten::scatter.reduce": [
        ([_x(4, 5), 0, _whole(2, 5, high=1, dtype=torch.int64), _x(2, 5, seed=1)], {"reduce": "add"})
    ],
    "aten::scatter.value_reduce": [
        ([_x(4, 5), 0, _whole(2, 5, high=4, dtype=torch.int64), 2.0], {"reduce": "multiply"})
    ],
    "aten::searchsorted.Scalar": [([_TABLE, 2.75], {}), ([_TABLE, 2.5], {"right": True})],
    "aten::_sparse_compressed_tensor_unsafe": [
        ([torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2]), _x(3), [2, 3]], {"layout": torch.sparse_csr})
    ],
    "aten::_sparse_coo_tensor_with_dims_and_tensors": [
        ([2, 0, [4, 5], torch.tensor([[0, 3], [1, 4]]), _x(2)], {"layout": torch.sparse_coo})
    ],
    "aten::tril_indices": [([4, 5, 1], {})],
    "aten::triu_indices": [([4, 5, -1], {})],
}
