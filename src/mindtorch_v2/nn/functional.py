"""The functions of `torch.nn.functional`: those that follow from operators' rows, and by family those that add to them."""

import mindtorch_v2 as torch
from mindtorch_v2._operators import functional as _from_rows

from . import _reduction as _Reduction
from . import grad
from ._functional.activation import *  # noqa: F403  (each says what it exports)
from ._functional.activation import _get_softmax_dim, _threshold
from ._functional.attention import *  # noqa: F403  (each says what it exports)
from ._functional.attention import (
    _canonical_mask,
    _check_key_padding_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
)
from ._functional.convolution import *  # noqa: F403  (each says what it exports)
from ._functional.dropout import *  # noqa: F403  (each says what it exports)
from ._functional.embedding import *  # noqa: F403  (each says what it exports)
from ._functional.embedding import _no_grad_embedding_renorm_
from ._functional.loss import *  # noqa: F403  (each says what it exports)
from ._functional.matmul import *  # noqa: F403  (each says what it exports)
from ._functional.normalization import *  # noqa: F403  (each says what it exports)
from ._functional.normalization import _verify_batch_size, _verify_spatial_size
from ._functional.pooling import *  # noqa: F403  (each says what it exports)
from ._functional.pooling import (
    _adaptive_max_pool1d,
    _adaptive_max_pool2d,
    _adaptive_max_pool3d,
    _check_unpool_output_size,
    _fractional_max_pool2d,
    _fractional_max_pool3d,
    _max_pool1d,
    _max_pool2d,
    _max_pool3d,
    _unpool_output_size,
)
from ._functional.vision import *  # noqa: F403  (each says what it exports)
from ._sizes import _list_with_default, _pair, _single, _triple

Tensor = torch.Tensor

# Names that programs reach through this module though it does not define them.
_REACHED_HERE = (
    _Reduction,
    grad,
    _list_with_default,
    _pair,
    _single,
    _triple,
    _get_softmax_dim,
    _threshold,
    _canonical_mask,
    _check_key_padding_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
    _no_grad_embedding_renorm_,
    _verify_batch_size,
    _verify_spatial_size,
    _adaptive_max_pool1d,
    _adaptive_max_pool2d,
    _adaptive_max_pool3d,
    _check_unpool_output_size,
    _fractional_max_pool2d,
    _fractional_max_pool3d,
    _max_pool1d,
    _max_pool2d,
    _max_pool3d,
    _unpool_output_size,
)

globals().update(_from_rows.functions())

# Functions say where users find them.
for _function in list(globals().values()):
    if getattr(_function, "__module__", "").startswith(__package__ + "._functional."):
        _function.__module__ = __name__
del _function
