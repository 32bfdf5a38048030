# mypy: disable-error-code="overload-overlap, overload-cannot-match, override"
"""Made from the operator rows by tools/make_stubs.py."""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from collections.abc import Sequence as _Sequence
from typing import Any, overload
from collections import OrderedDict
from collections.abc import Callable, Iterator

from ._C import Generator as _Generator, device as _device, dtype as _dtype, layout as _layout
from ._C import memory_format as _memory_format
from ._core.storage import UntypedStorage as _UntypedStorage
from ._core.stream import Stream as _Stream
from . import return_types
from ._C import TensorBase

_Number = _int | _float | _bool | _complex

class Tensor(TensorBase):
    def __init__(self, *args: Any, **options: Any) -> None: ...
    def _addmm_activation(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., use_gelu: _bool = ...) -> Tensor:
        """ReLU, or GELU, of `beta * self + alpha * mat1 @ mat2`."""
    def _autocast_to_full_precision(self, cuda_enabled: _bool, cpu_enabled: _bool) -> Tensor:
        """float16 and bfloat16 as float32, where autocast is on for the tensor's device."""
    def _autocast_to_reduced_precision(self, cuda_enabled: _bool, cpu_enabled: _bool, cuda_dtype: _dtype, cpu_dtype: _dtype) -> Tensor:
        """float32 as the dtype that autocast computes with on the tensor's device."""
    def _coalesced_(self, coalesced: _bool) -> Tensor:
        """Says whether the coordinates are sorted and distinct."""
    def _conj(self) -> Tensor:
        """The conjugate: a view of memory on the CPU, else computed at once."""
    def _conj_physical(self) -> Tensor:
        """The conjugate, in memory of its own."""
    def _dimI(self) -> _int:
        """Number of sparse dimensions."""
    def _dimV(self) -> _int:
        """Number of dense dimensions."""
    def _indices(self) -> Tensor:
        """The coordinates, (sparse_dim, nnz), also of an uncoalesced tensor."""
    def _is_all_true(self) -> Tensor:
        """Whether every element of a boolean tensor is true, as a 0-dim tensor."""
    def _is_any_true(self) -> Tensor:
        """Whether any element of a boolean tensor is true, as a 0-dim tensor."""
    def _lazy_clone(self) -> Tensor:
        """A copy whose memory is copied when it, or the tensor that it was made from, is next written."""
    def _neg_view(self) -> Tensor:
        """The negative: a view of memory on the CPU, else computed at once."""
    def _new_zeros_with_same_feature_meta(self, other: Tensor, *, self_num_batch_dims: _int = ...) -> Tensor:
        """Zeros of `other`'s dtype, laid out in memory as `other`, behind the first `self_num_batch_dims` dimensions of `self`."""
    def _nnz(self) -> _int:
        """How many values are stored."""
    def _to_dense(self, dtype: _dtype | None = ..., masked_grad: _bool | None = ...) -> Tensor:
        """A sparse tensor written out."""
    @overload
    def _to_sparse(self, sparse_dim: _int) -> Tensor:
        """The elements that are not zero as a coordinate tensor with this many sparse dimensions."""
    @overload
    def _to_sparse(self, *, layout: _layout | None = ..., blocksize: _Sequence[_int] | _int | None = ..., dense_dim: _int | None = ...) -> Tensor:
        """The elements that are not zero, in a sparse layout."""
    def _to_sparse_bsc(self, blocksize: _Sequence[_int] | _int, dense_dim: _int | None = ...) -> Tensor:
        """The tensor in the layout sparse_bsc."""
    def _to_sparse_bsr(self, blocksize: _Sequence[_int] | _int, dense_dim: _int | None = ...) -> Tensor:
        """The tensor in the layout sparse_bsr."""
    def _to_sparse_csc(self, dense_dim: _int | None = ...) -> Tensor:
        """The tensor in the layout sparse_csc."""
    def _to_sparse_csr(self, dense_dim: _int | None = ...) -> Tensor:
        """The tensor in the layout sparse_csr."""
    def _values(self) -> Tensor:
        """The values, also of an uncoalesced tensor."""
    def abs(self) -> Tensor:
        """Absolute value; of a complex number its modulus."""
    def abs_(self) -> Tensor:
        """Absolute value; of a complex number its modulus."""
    def absolute(self) -> Tensor:
        """Absolute value; of a complex number its modulus."""
    def absolute_(self) -> Tensor:
        """Absolute value; of a complex number its modulus."""
    def acos(self) -> Tensor:
        """Inverse cosine."""
    def acos_(self) -> Tensor:
        """Inverse cosine."""
    def acosh(self) -> Tensor:
        """Inverse hyperbolic cosine."""
    def acosh_(self) -> Tensor:
        """Inverse hyperbolic cosine."""
    @overload
    def add(self, other: Tensor, *, alpha: _Number = ...) -> Tensor:
        """`self + alpha * other`."""
    @overload
    def add(self, other: _Number, alpha: _Number = ...) -> Tensor:
        """`self + alpha * other`."""
    @overload
    def add_(self, other: Tensor, *, alpha: _Number = ...) -> Tensor:
        """`self + alpha * other`."""
    @overload
    def add_(self, other: _Number, alpha: _Number = ...) -> Tensor:
        """`self + alpha * other`."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self` plus the sum over the batch of the products."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self` plus the sum over the batch of the products."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Tensor:
        """`self + value * tensor1 / tensor2`."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Tensor:
        """`self + value * tensor1 / tensor2`."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Tensor:
        """`self + value * tensor1 * tensor2`."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Tensor:
        """`self + value * tensor1 * tensor2`."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self + alpha * (mat1 @ mat2)`."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self + alpha * (mat1 @ mat2)`."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self + alpha * (mat @ vec)`."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self + alpha * (mat @ vec)`."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self + alpha * outer(vec1, vec2)`."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self + alpha * outer(vec1, vec2)`."""
    def adjoint(self) -> Tensor:
        """The conjugate of the last two dimensions exchanged."""
    @overload
    def all(self) -> Tensor:
        """Whether all elements are nonzero."""
    @overload
    def all(self, dim: _int, keepdim: _bool = ...) -> Tensor:
        """Whether all elements along `dim` are nonzero."""
    @overload
    def all(self, dim: _Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Whether all elements along the dimensions `dim` are nonzero."""
    def allclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
        """Whether all elements are close; see `isclose`."""
    def amax(self, dim: _Sequence[_int] | _int = ..., keepdim: _bool = ...) -> Tensor:
        """The largest elements along the dimensions `dim`; NaN where there is one."""
    def amin(self, dim: _Sequence[_int] | _int = ..., keepdim: _bool = ...) -> Tensor:
        """The smallest elements along the dimensions `dim`; NaN where there is one."""
    def aminmax(self, *, dim: _int | None = ..., keepdim: _bool = ...) -> return_types.aminmax:
        """The smallest and the largest elements along `dim`, or of all."""
    def angle(self) -> Tensor:
        """Angle in the complex plane, in radians; 0 or pi for real numbers."""
    @overload
    def any(self) -> Tensor:
        """Whether any element is nonzero."""
    @overload
    def any(self, dim: _int, keepdim: _bool = ...) -> Tensor:
        """Whether any element along `dim` is nonzero."""
    @overload
    def any(self, dim: _Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Whether any element along the dimensions `dim` is nonzero."""
    def arccos(self) -> Tensor:
        """Inverse cosine."""
    def arccos_(self) -> Tensor:
        """Inverse cosine."""
    def arccosh(self) -> Tensor:
        """Inverse hyperbolic cosine."""
    def arccosh_(self) -> Tensor:
        """Inverse hyperbolic cosine."""
    def arcsin(self) -> Tensor:
        """Inverse sine."""
    def arcsin_(self) -> Tensor:
        """Inverse sine."""
    def arcsinh(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def arcsinh_(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def arctan(self) -> Tensor:
        """Inverse tangent."""
    def arctan2(self, other: Tensor) -> Tensor:
        """Angle of the point (`other`, `self`)."""
    def arctan2_(self, other: Tensor) -> Tensor:
        """Angle of the point (`other`, `self`)."""
    def arctan_(self) -> Tensor:
        """Inverse tangent."""
    def arctanh(self) -> Tensor:
        """Inverse hyperbolic tangent."""
    def arctanh_(self) -> Tensor:
        """Inverse hyperbolic tangent."""
    def argmax(self, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The position of the largest element along `dim`, or of all elements in row-major order."""
    def argmin(self, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The position of the smallest element along `dim`, or of all elements in row-major order."""
    @overload
    def argsort(self, dim: _int = ..., descending: _bool = ...) -> Tensor:
        """The positions that sort the tensor along `dim`."""
    @overload
    def argsort(self, *, stable: _bool, dim: _int = ..., descending: _bool = ...) -> Tensor:
        """The positions that sort the tensor along `dim`, ties in their order."""
    def argwhere(self) -> Tensor:
        """The positions of the elements that are not zero."""
    def as_strided(self, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
        """A view with any sizes and strides over the storage."""
    def as_strided_(self, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
        """Gives the tensor itself other sizes and strides."""
    def as_strided_scatter(self, src: Tensor, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
        """A copy of `self` whose strided view is replaced by `src`."""
    def asin(self) -> Tensor:
        """Inverse sine."""
    def asin_(self) -> Tensor:
        """Inverse sine."""
    def asinh(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def asinh_(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def atan(self) -> Tensor:
        """Inverse tangent."""
    def atan2(self, other: Tensor) -> Tensor:
        """Angle of the point (`other`, `self`)."""
    def atan2_(self, other: Tensor) -> Tensor:
        """Angle of the point (`other`, `self`)."""
    def atan_(self) -> Tensor:
        """Inverse tangent."""
    def atanh(self) -> Tensor:
        """Inverse hyperbolic tangent."""
    def atanh_(self) -> Tensor:
        """Inverse hyperbolic tangent."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self + alpha * (batch1 @ batch2)`, matrix by matrix."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self + alpha * (batch1 @ batch2)`, matrix by matrix."""
    @overload
    def bernoulli(self, *, generator: _Generator | None = ...) -> Tensor:
        """1 with the probability that the element gives, else 0."""
    @overload
    def bernoulli(self, p: _float, *, generator: _Generator | None = ...) -> Tensor:
        """1 with probability `p`, else 0, shaped like `self`."""
    @overload
    def bernoulli_(self, p: Tensor, *, generator: _Generator | None = ...) -> Tensor:
        """1 with the probabilities of `p`, else 0."""
    @overload
    def bernoulli_(self, p: _float = ..., *, generator: _Generator | None = ...) -> Tensor:
        """1 with probability `p`, else 0."""
    def bfloat16(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as bfloat16."""
    def bincount(self, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
        """How often each non-negative integer occurs, or the sum of its weights."""
    @overload
    def bitwise_and(self, other: Tensor) -> Tensor:
        """Bitwise and; logical for bool."""
    @overload
    def bitwise_and(self, other: _Number) -> Tensor:
        """Bitwise and; logical for bool."""
    @overload
    def bitwise_and_(self, other: Tensor) -> Tensor:
        """Bitwise and; logical for bool."""
    @overload
    def bitwise_and_(self, other: _Number) -> Tensor:
        """Bitwise and; logical for bool."""
    @overload
    def bitwise_left_shift(self, other: Tensor) -> Tensor:
        """Bits moved to the left by `other` places."""
    @overload
    def bitwise_left_shift(self, other: _Number) -> Tensor:
        """Bits moved to the left by `other` places."""
    @overload
    def bitwise_left_shift_(self, other: Tensor) -> Tensor:
        """Bits moved to the left by `other` places."""
    @overload
    def bitwise_left_shift_(self, other: _Number) -> Tensor:
        """Bits moved to the left by `other` places."""
    def bitwise_not(self) -> Tensor:
        """Bitwise complement; logical not for bool."""
    def bitwise_not_(self) -> Tensor:
        """Bitwise complement; logical not for bool."""
    @overload
    def bitwise_or(self, other: Tensor) -> Tensor:
        """Bitwise or; logical for bool."""
    @overload
    def bitwise_or(self, other: _Number) -> Tensor:
        """Bitwise or; logical for bool."""
    @overload
    def bitwise_or_(self, other: Tensor) -> Tensor:
        """Bitwise or; logical for bool."""
    @overload
    def bitwise_or_(self, other: _Number) -> Tensor:
        """Bitwise or; logical for bool."""
    @overload
    def bitwise_right_shift(self, other: Tensor) -> Tensor:
        """Bits moved to the right by `other` places."""
    @overload
    def bitwise_right_shift(self, other: _Number) -> Tensor:
        """Bits moved to the right by `other` places."""
    @overload
    def bitwise_right_shift_(self, other: Tensor) -> Tensor:
        """Bits moved to the right by `other` places."""
    @overload
    def bitwise_right_shift_(self, other: _Number) -> Tensor:
        """Bits moved to the right by `other` places."""
    @overload
    def bitwise_xor(self, other: Tensor) -> Tensor:
        """Bitwise xor; logical for bool."""
    @overload
    def bitwise_xor(self, other: _Number) -> Tensor:
        """Bitwise xor; logical for bool."""
    @overload
    def bitwise_xor_(self, other: Tensor) -> Tensor:
        """Bitwise xor; logical for bool."""
    @overload
    def bitwise_xor_(self, other: _Number) -> Tensor:
        """Bitwise xor; logical for bool."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Products of two batches of matrices."""
    def bool(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as bool."""
    @overload
    def broadcast_to(self, size: _Sequence[_int]) -> Tensor:
        """`expand`, as a function."""
    @overload
    def broadcast_to(self, *size: _int) -> Tensor:
        """`expand`, as a function."""
    def byte(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as uint8."""
    def cauchy_(self, median: _float = ..., sigma: _float = ..., *, generator: _Generator | None = ...) -> Tensor:
        """Numbers of a Cauchy distribution."""
    def ccol_indices(self) -> Tensor:
        """Where the columns of a csc tensor begin."""
    def cdouble(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as complex128."""
    def ceil(self) -> Tensor:
        """The smallest integer not below."""
    def ceil_(self) -> Tensor:
        """The smallest integer not below."""
    def cfloat(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as complex64."""
    def chalf(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as complex32."""
    def char(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as int8."""
    def cholesky(self, upper: _bool = ...) -> Tensor:
        """Cholesky factor of a positive-definite matrix."""
    def cholesky_inverse(self, upper: _bool = ...) -> Tensor:
        """Inverse of the matrix whose Cholesky factor is given."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = ...) -> Tensor:
        """Solves with a Cholesky factor."""
    def chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """At most `chunks` parts of equal size, the last one shorter."""
    @overload
    def clamp(self, min: _Number | None = ..., max: _Number | None = ...) -> Tensor:
        """`self` moved into [min, max]."""
    @overload
    def clamp(self, min: Tensor | None = ..., max: Tensor | None = ...) -> Tensor:
        """`self` moved into [min, max]."""
    @overload
    def clamp_(self, min: _Number | None = ..., max: _Number | None = ...) -> Tensor:
        """`self` moved into [min, max]."""
    @overload
    def clamp_(self, min: Tensor | None = ..., max: Tensor | None = ...) -> Tensor:
        """`self` moved into [min, max]."""
    @overload
    def clamp_max(self, max: Tensor) -> Tensor:
        """The smaller of `self` and `max`."""
    @overload
    def clamp_max(self, max: _Number) -> Tensor:
        """The smaller of `self` and `max`."""
    @overload
    def clamp_max_(self, max: Tensor) -> Tensor:
        """The smaller of `self` and `max`."""
    @overload
    def clamp_max_(self, max: _Number) -> Tensor:
        """The smaller of `self` and `max`."""
    @overload
    def clamp_min(self, min: Tensor) -> Tensor:
        """The larger of `self` and `min`."""
    @overload
    def clamp_min(self, min: _Number) -> Tensor:
        """The larger of `self` and `min`."""
    @overload
    def clamp_min_(self, min: Tensor) -> Tensor:
        """The larger of `self` and `min`."""
    @overload
    def clamp_min_(self, min: _Number) -> Tensor:
        """The larger of `self` and `min`."""
    @overload
    def clip(self, min: _Number | None = ..., max: _Number | None = ...) -> Tensor:
        """`self` moved into [min, max]."""
    @overload
    def clip(self, min: Tensor | None = ..., max: Tensor | None = ...) -> Tensor:
        """`self` moved into [min, max]."""
    @overload
    def clip_(self, min: _Number | None = ..., max: _Number | None = ...) -> Tensor:
        """`self` moved into [min, max]."""
    @overload
    def clip_(self, min: Tensor | None = ..., max: Tensor | None = ...) -> Tensor:
        """`self` moved into [min, max]."""
    def clone(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """A copy of the tensor."""
    def coalesce(self) -> Tensor:
        """The same tensor with sorted and distinct coordinates; values at equal ones are added."""
    def col_indices(self) -> Tensor:
        """The column of each value of a csr tensor."""
    def conj(self) -> Tensor:
        """The complex conjugate; real tensors as they are."""
    def conj_physical(self) -> Tensor:
        """The conjugate, computed at once; of real numbers the tensor itself."""
    def conj_physical_(self) -> Tensor:
        """The conjugate, computed at once; of real numbers the tensor itself."""
    def contiguous(self, *, memory_format: _memory_format = ...) -> Tensor:
        """The tensor itself if its memory is in that order, else a copy that is."""
    def copy_(self, src: Tensor, non_blocking: _bool = ...) -> Tensor:
        """Copies the elements of `src`, broadcast and cast, into `self`."""
    @overload
    def copysign(self, other: Tensor) -> Tensor:
        """The size of `self` with the sign of `other`."""
    @overload
    def copysign(self, other: _Number) -> Tensor:
        """The size of `self` with the sign of `other`."""
    @overload
    def copysign_(self, other: Tensor) -> Tensor:
        """The size of `self` with the sign of `other`."""
    @overload
    def copysign_(self, other: _Number) -> Tensor:
        """The size of `self` with the sign of `other`."""
    def corrcoef(self) -> Tensor:
        """Correlation coefficients of the rows."""
    def cos(self) -> Tensor:
        """Cosine of radians."""
    def cos_(self) -> Tensor:
        """Cosine of radians."""
    def cosh(self) -> Tensor:
        """Hyperbolic cosine."""
    def cosh_(self) -> Tensor:
        """Hyperbolic cosine."""
    @overload
    def count_nonzero(self, dim: _Sequence[_int]) -> Tensor:
        """How many elements along the dimensions `dim` are nonzero."""
    @overload
    def count_nonzero(self, *dim: _int) -> Tensor:
        """How many elements along the dimensions `dim` are nonzero."""
    @overload
    def count_nonzero(self, dim: _int | None = ...) -> Tensor:
        """How many elements are nonzero, along `dim` or in all."""
    def cov(self, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
        """The covariance matrix of the rows, observations in columns."""
    def cpu(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor in the memory of the processor."""
    def cross(self, other: Tensor, dim: _int | None = ...) -> Tensor:
        """Cross product; without dim along the first dimension of three items."""
    def crow_indices(self) -> Tensor:
        """Where the rows of a csr tensor begin."""
    def cummax(self, dim: _int) -> return_types.cummax:
        """The largest element so far along `dim`, and its position."""
    def cummin(self, dim: _int) -> return_types.cummin:
        """The smallest element so far along `dim`, and its position."""
    def cumprod(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
        """Running products along `dim`."""
    def cumprod_(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
        """Running products along `dim`."""
    def cumsum(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
        """Running sums along `dim`."""
    def cumsum_(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
        """Running sums along `dim`."""
    def deg2rad(self) -> Tensor:
        """Degrees to radians."""
    def deg2rad_(self) -> Tensor:
        """Degrees to radians."""
    def dense_dim(self) -> _int:
        """Number of dense dimensions."""
    def dequantize(self) -> Tensor:
        """The numbers of a quantized tensor, or of any other, in float32."""
    def det(self) -> Tensor:
        """Determinant."""
    def detach(self) -> Tensor:
        """The same data without history."""
    def detach_(self) -> Tensor:
        """Cuts the tensor out of the graph that made it."""
    def diag(self, diagonal: _int = ...) -> Tensor:
        """The diagonal of a matrix, or the matrix with this diagonal."""
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """Matrices with the last dimension on their diagonals."""
    def diagflat(self, offset: _int = ...) -> Tensor:
        """The matrix with the elements on its diagonal."""
    def diagonal(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """The diagonal of two dimensions, as last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """A copy of `self` with a diagonal replaced by `src`."""
    def diff(self, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ...) -> Tensor:
        """Differences of neighbours along `dim`, n times."""
    def digamma(self) -> Tensor:
        """Logarithmic derivative of the gamma function."""
    def digamma_(self) -> Tensor:
        """Logarithmic derivative of the gamma function."""
    def dist(self, other: Tensor, p: _Number = ...) -> Tensor:
        """The p-norm of self - other."""
    @overload
    def div(self, other: Tensor) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def div(self, other: Tensor, *, rounding_mode: str | None) -> Tensor:
        """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
    @overload
    def div(self, other: _Number) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def div(self, other: _Number, *, rounding_mode: str | None) -> Tensor:
        """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
    @overload
    def div_(self, other: Tensor) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def div_(self, other: Tensor, *, rounding_mode: str | None) -> Tensor:
        """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
    @overload
    def div_(self, other: _Number) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def div_(self, other: _Number, *, rounding_mode: str | None) -> Tensor:
        """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
    @overload
    def divide(self, other: Tensor) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def divide(self, other: Tensor, *, rounding_mode: str | None) -> Tensor:
        """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
    @overload
    def divide(self, other: _Number) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def divide(self, other: _Number, *, rounding_mode: str | None) -> Tensor:
        """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
    @overload
    def divide_(self, other: Tensor) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def divide_(self, other: Tensor, *, rounding_mode: str | None) -> Tensor:
        """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
    @overload
    def divide_(self, other: _Number) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def divide_(self, other: _Number, *, rounding_mode: str | None) -> Tensor:
        """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Inner product of two vectors, nothing conjugated."""
    def double(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as float64."""
    @overload
    def dsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Equal parts along one dimension."""
    @overload
    def dsplit(self, indices: _Sequence[_int]) -> tuple[Tensor, ...]:
        """Parts that end before each index."""
    @overload
    def dsplit(self, *indices: _int) -> tuple[Tensor, ...]:
        """Parts that end before each index."""
    @overload
    def eq(self, other: Tensor) -> Tensor:
        """True where `self` is equal to `other`."""
    @overload
    def eq(self, other: _Number) -> Tensor:
        """True where `self` is equal to `other`."""
    @overload
    def eq_(self, other: Tensor) -> Tensor:
        """True where `self` is equal to `other`."""
    @overload
    def eq_(self, other: _Number) -> Tensor:
        """True where `self` is equal to `other`."""
    def equal(self, other: Tensor) -> _bool:
        """Whether the two tensors have the same size and the same elements."""
    def erf(self) -> Tensor:
        """Error function."""
    def erf_(self) -> Tensor:
        """Error function."""
    def erfc(self) -> Tensor:
        """`1 - erf(self)`, accurate in the tail."""
    def erfc_(self) -> Tensor:
        """`1 - erf(self)`, accurate in the tail."""
    def erfinv(self) -> Tensor:
        """Inverse of the error function."""
    def erfinv_(self) -> Tensor:
        """Inverse of the error function."""
    def exp(self) -> Tensor:
        """e to the power `self`."""
    def exp2(self) -> Tensor:
        """2 to the power `self`."""
    def exp2_(self) -> Tensor:
        """2 to the power `self`."""
    def exp_(self) -> Tensor:
        """e to the power `self`."""
    @overload
    def expand(self, size: _Sequence[_int], *, implicit: _bool = ...) -> Tensor:
        """Dimensions of size one repeated without copying; -1 keeps a size."""
    @overload
    def expand(self, *size: _int, implicit: _bool = ...) -> Tensor:
        """Dimensions of size one repeated without copying; -1 keeps a size."""
    def expand_as(self, other: Tensor) -> Tensor:
        """Expanded to the sizes of another tensor."""
    def expm1(self) -> Tensor:
        """`exp(self) - 1`, accurate near 0."""
    def expm1_(self) -> Tensor:
        """`exp(self) - 1`, accurate near 0."""
    def exponential_(self, lambd: _float = ..., *, generator: _Generator | None = ...) -> Tensor:
        """Numbers of an exponential distribution."""
    @overload
    def fill_(self, value: Tensor) -> Tensor:
        """Sets every element to `value`, a 0-dim tensor."""
    @overload
    def fill_(self, value: _Number) -> Tensor:
        """Sets every element to `value`."""
    def fill_diagonal_(self, fill_value: _Number, wrap: _bool = ...) -> Tensor:
        """Writes one number along the main diagonal; `wrap` begins anew below the square of a tall matrix."""
    def fix(self) -> Tensor:
        """The integer part."""
    def fix_(self) -> Tensor:
        """The integer part."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
        """Dimensions merged into one."""
    @overload
    def flip(self, dims: _Sequence[_int]) -> Tensor:
        """Dimensions in reverse."""
    @overload
    def flip(self, *dims: _int) -> Tensor:
        """Dimensions in reverse."""
    def fliplr(self) -> Tensor:
        """Columns in reverse."""
    def flipud(self) -> Tensor:
        """Rows in reverse."""
    def float(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as float32."""
    @overload
    def float_power(self, exponent: Tensor) -> Tensor:
        """`self ** exponent` in double precision."""
    @overload
    def float_power(self, exponent: _Number) -> Tensor:
        """`self ** exponent` in double precision."""
    @overload
    def float_power_(self, exponent: Tensor) -> Tensor:
        """`float_power` in place, of a tensor in double precision."""
    @overload
    def float_power_(self, exponent: _Number) -> Tensor:
        """`float_power` in place, of a tensor in double precision."""
    def floor(self) -> Tensor:
        """The largest integer not above."""
    def floor_(self) -> Tensor:
        """The largest integer not above."""
    @overload
    def floor_divide(self, other: Tensor) -> Tensor:
        """Quotient rounded toward minus infinity, as Python's `//`."""
    @overload
    def floor_divide(self, other: _Number) -> Tensor:
        """Quotient rounded toward minus infinity, as Python's `//`."""
    @overload
    def floor_divide_(self, other: Tensor) -> Tensor:
        """Quotient rounded toward minus infinity, as Python's `//`."""
    @overload
    def floor_divide_(self, other: _Number) -> Tensor:
        """Quotient rounded toward minus infinity, as Python's `//`."""
    def fmax(self, other: Tensor) -> Tensor:
        """The larger operand; a NaN is passed over."""
    def fmin(self, other: Tensor) -> Tensor:
        """The smaller operand; a NaN is passed over."""
    @overload
    def fmod(self, other: Tensor) -> Tensor:
        """Remainder with the sign of `self`, as C's fmod."""
    @overload
    def fmod(self, other: _Number) -> Tensor:
        """Remainder with the sign of `self`, as C's fmod."""
    @overload
    def fmod_(self, other: Tensor) -> Tensor:
        """Remainder with the sign of `self`, as C's fmod."""
    @overload
    def fmod_(self, other: _Number) -> Tensor:
        """Remainder with the sign of `self`, as C's fmod."""
    def frac(self) -> Tensor:
        """The part after the point, with the sign of `self`."""
    def frac_(self) -> Tensor:
        """The part after the point, with the sign of `self`."""
    def frexp(self) -> return_types.frexp:
        """A number of magnitude in [0.5, 1), and the power of two by which it is multiplied."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = ...) -> Tensor:
        """out[i][j] = self[index[i][j]][j] for dim 0, and so on."""
    def gcd(self, other: Tensor) -> Tensor:
        """Greatest common divisor."""
    def gcd_(self, other: Tensor) -> Tensor:
        """Greatest common divisor."""
    @overload
    def ge(self, other: Tensor) -> Tensor:
        """True where `self` is greater than or equal to `other`."""
    @overload
    def ge(self, other: _Number) -> Tensor:
        """True where `self` is greater than or equal to `other`."""
    @overload
    def ge_(self, other: Tensor) -> Tensor:
        """True where `self` is greater than or equal to `other`."""
    @overload
    def ge_(self, other: _Number) -> Tensor:
        """True where `self` is greater than or equal to `other`."""
    def geometric_(self, p: _float, *, generator: _Generator | None = ...) -> Tensor:
        """How many trials up to the first success."""
    def geqrf(self) -> return_types.geqrf:
        """QR as LAPACK leaves it: reflectors below the diagonal."""
    def ger(self, vec2: Tensor) -> Tensor:
        """Products of all pairs of items of two vectors."""
    @overload
    def greater(self, other: Tensor) -> Tensor:
        """True where `self` is greater than `other`."""
    @overload
    def greater(self, other: _Number) -> Tensor:
        """True where `self` is greater than `other`."""
    @overload
    def greater_(self, other: Tensor) -> Tensor:
        """True where `self` is greater than `other`."""
    @overload
    def greater_(self, other: _Number) -> Tensor:
        """True where `self` is greater than `other`."""
    @overload
    def greater_equal(self, other: Tensor) -> Tensor:
        """True where `self` is greater than or equal to `other`."""
    @overload
    def greater_equal(self, other: _Number) -> Tensor:
        """True where `self` is greater than or equal to `other`."""
    @overload
    def greater_equal_(self, other: Tensor) -> Tensor:
        """True where `self` is greater than or equal to `other`."""
    @overload
    def greater_equal_(self, other: _Number) -> Tensor:
        """True where `self` is greater than or equal to `other`."""
    @overload
    def gt(self, other: Tensor) -> Tensor:
        """True where `self` is greater than `other`."""
    @overload
    def gt(self, other: _Number) -> Tensor:
        """True where `self` is greater than `other`."""
    @overload
    def gt_(self, other: Tensor) -> Tensor:
        """True where `self` is greater than `other`."""
    @overload
    def gt_(self, other: _Number) -> Tensor:
        """True where `self` is greater than `other`."""
    def half(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as float16."""
    def hardshrink(self, lambd: _Number = ...) -> Tensor:
        """0 within [-lambd, lambd], `self` elsewhere."""
    def hash_tensor(self, dim: _Sequence[_int] | _int = ..., *, keepdim: _bool = ..., mode: _int = ...) -> Tensor:
        """Exclusive or of the elements' bits, floats as float64 and integers as int64, along dimensions: all for none."""
    def heaviside(self, values: Tensor) -> Tensor:
        """0 below zero, 1 above, `values` at zero."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """0 below zero, 1 above, `values` at zero."""
    def histc(self, bins: _int = ..., min: _Number = ..., max: _Number = ...) -> Tensor:
        """Counts of the elements in `bins` equal intervals of [min, max], or of the data's own range."""
    @overload
    def histogram(self, bins: Tensor, *, weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogram:
        """How many elements fall between each two of the edges `bins`."""
    @overload
    def histogram(self, bins: _int = ..., *, range: _Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogram:
        """How many elements fall into each of `bins` even bins, and the edges between them."""
    @overload
    def hsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Equal parts along one dimension."""
    @overload
    def hsplit(self, indices: _Sequence[_int]) -> tuple[Tensor, ...]:
        """Parts that end before each index."""
    @overload
    def hsplit(self, *indices: _int) -> tuple[Tensor, ...]:
        """Parts that end before each index."""
    def hypot(self, other: Tensor) -> Tensor:
        """`sqrt(self**2 + other**2)` without overflow."""
    def hypot_(self, other: Tensor) -> Tensor:
        """`sqrt(self**2 + other**2)` without overflow."""
    def i0(self) -> Tensor:
        """Modified Bessel function of the first kind, order 0."""
    def i0_(self) -> Tensor:
        """Modified Bessel function of the first kind, order 0."""
    def igamma(self, other: Tensor) -> Tensor:
        """Regularised lower incomplete gamma function."""
    def igamma_(self, other: Tensor) -> Tensor:
        """Regularised lower incomplete gamma function."""
    def igammac(self, other: Tensor) -> Tensor:
        """Regularised upper incomplete gamma function."""
    def igammac_(self, other: Tensor) -> Tensor:
        """Regularised upper incomplete gamma function."""
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = ...) -> Tensor:
        """Slices of `source`, times alpha, added to the slices of `self` that `index` names."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = ...) -> Tensor:
        """Slices of `source`, times alpha, added to the slices of `self` that `index` names."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """The slices that `index` names, replaced by those of `source`."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """The slices that `index` names, replaced by those of `source`."""
    @overload
    def index_fill(self, dim: _int, index: Tensor, value: Tensor) -> Tensor:
        """The slices that `index` names, filled with the value of a 0-dim tensor."""
    @overload
    def index_fill(self, dim: _int, index: Tensor, value: _Number) -> Tensor:
        """The slices that `index` names, filled with a number."""
    @overload
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor) -> Tensor:
        """The slices that `index` names, filled with the value of a 0-dim tensor."""
    @overload
    def index_fill_(self, dim: _int, index: Tensor, value: _Number) -> Tensor:
        """The slices that `index` names, filled with a number."""
    def index_put(self, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Tensor:
        """`values` put (or added) at the positions that the index tensors name."""
    def index_put_(self, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Tensor:
        """`values` put (or added) at the positions that the index tensors name."""
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor:
        """Slices of `source` reduced (prod, mean, amax, amin) into the slices of `self` that `index` names."""
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor:
        """Slices of `source` reduced (prod, mean, amax, amin) into the slices of `self` that `index` names."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices along `dim` that `index` names."""
    def indices(self) -> Tensor:
        """The coordinates of a coalesced tensor, (sparse_dim, nnz)."""
    def inner(self, other: Tensor) -> Tensor:
        """Sum product over the last dimension of both."""
    def int(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as int32."""
    def int_repr(self) -> Tensor:
        """The whole numbers of a quantized tensor, copied; of those with several to a byte the bytes."""
    def inverse(self) -> Tensor:
        """Inverse of square matrices."""
    def is_coalesced(self) -> _bool:
        """Whether the coordinates are sorted and distinct."""
    def is_nonzero(self) -> _bool:
        """Whether the one element of the tensor is not 0."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether both have the same sizes."""
    def is_signed(self) -> _bool:
        """Whether the dtype has negative numbers."""
    def isclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
        """True where `|self - other| <= atol + rtol * |other|`."""
    def isfinite(self) -> Tensor:
        """True where `self` is neither infinite nor NaN."""
    def isinf(self) -> Tensor:
        """True where `self` is positive or negative infinity."""
    def isnan(self) -> Tensor:
        """True where `self` is NaN."""
    def isneginf(self) -> Tensor:
        """True where `self` is negative infinity."""
    def isposinf(self) -> Tensor:
        """True where `self` is positive infinity."""
    def isreal(self) -> Tensor:
        """True where the imaginary part is 0."""
    def istft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
        """The signal whose overlapping windows have these transforms."""
    def kron(self, other: Tensor) -> Tensor:
        """Kronecker product."""
    def kthvalue(self, k: _int, dim: _int = ..., keepdim: _bool = ...) -> return_types.kthvalue:
        """The k-th smallest elements along `dim`, counted from 1, and their positions."""
    def lcm(self, other: Tensor) -> Tensor:
        """Least common multiple."""
    def lcm_(self, other: Tensor) -> Tensor:
        """Least common multiple."""
    def ldexp(self, other: Tensor) -> Tensor:
        """`self * 2**other`."""
    def ldexp_(self, other: Tensor) -> Tensor:
        """`ldexp` in place."""
    @overload
    def le(self, other: Tensor) -> Tensor:
        """True where `self` is less than or equal to `other`."""
    @overload
    def le(self, other: _Number) -> Tensor:
        """True where `self` is less than or equal to `other`."""
    @overload
    def le_(self, other: Tensor) -> Tensor:
        """True where `self` is less than or equal to `other`."""
    @overload
    def le_(self, other: _Number) -> Tensor:
        """True where `self` is less than or equal to `other`."""
    @overload
    def lerp(self, end: Tensor, weight: Tensor) -> Tensor:
        """`self + weight * (end - self)`."""
    @overload
    def lerp(self, end: Tensor, weight: _Number) -> Tensor:
        """`self + weight * (end - self)`."""
    @overload
    def lerp_(self, end: Tensor, weight: Tensor) -> Tensor:
        """`self + weight * (end - self)`."""
    @overload
    def lerp_(self, end: Tensor, weight: _Number) -> Tensor:
        """`self + weight * (end - self)`."""
    @overload
    def less(self, other: Tensor) -> Tensor:
        """True where `self` is less than `other`."""
    @overload
    def less(self, other: _Number) -> Tensor:
        """True where `self` is less than `other`."""
    @overload
    def less_(self, other: Tensor) -> Tensor:
        """True where `self` is less than `other`."""
    @overload
    def less_(self, other: _Number) -> Tensor:
        """True where `self` is less than `other`."""
    @overload
    def less_equal(self, other: Tensor) -> Tensor:
        """True where `self` is less than or equal to `other`."""
    @overload
    def less_equal(self, other: _Number) -> Tensor:
        """True where `self` is less than or equal to `other`."""
    @overload
    def less_equal_(self, other: Tensor) -> Tensor:
        """True where `self` is less than or equal to `other`."""
    @overload
    def less_equal_(self, other: _Number) -> Tensor:
        """True where `self` is less than or equal to `other`."""
    def lgamma(self) -> Tensor:
        """Logarithm of the size of the gamma function."""
    def lgamma_(self) -> Tensor:
        """Logarithm of the size of the gamma function."""
    def log(self) -> Tensor:
        """Natural logarithm."""
    def log10(self) -> Tensor:
        """Logarithm to base 10."""
    def log10_(self) -> Tensor:
        """Logarithm to base 10."""
    def log1p(self) -> Tensor:
        """`log(1 + self)`, accurate near 0."""
    def log1p_(self) -> Tensor:
        """`log(1 + self)`, accurate near 0."""
    def log2(self) -> Tensor:
        """Logarithm to base 2."""
    def log2_(self) -> Tensor:
        """Logarithm to base 2."""
    def log_(self) -> Tensor:
        """Natural logarithm."""
    def log_normal_(self, mean: _float = ..., std: _float = ..., *, generator: _Generator | None = ...) -> Tensor:
        """Numbers whose logarithm is normal."""
    def log_softmax(self, dim: _int, dtype: _dtype | None = ...) -> Tensor:
        """Logarithm of the softmax along `dim`, computed in `dtype`."""
    def logaddexp(self, other: Tensor) -> Tensor:
        """`log(exp(self) + exp(other))` without overflow."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """`log2(2**self + 2**other)` without overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """Logarithms of the running sums of exponentials along `dim`."""
    def logdet(self) -> Tensor:
        """Log of the determinant; nan where that is negative."""
    def logical_and(self, other: Tensor) -> Tensor:
        """True where both are nonzero."""
    def logical_and_(self, other: Tensor) -> Tensor:
        """True where both are nonzero."""
    def logical_not(self) -> Tensor:
        """True where `self` is zero."""
    def logical_not_(self) -> Tensor:
        """True where `self` is zero."""
    def logical_or(self, other: Tensor) -> Tensor:
        """True where either is nonzero."""
    def logical_or_(self, other: Tensor) -> Tensor:
        """True where either is nonzero."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """True where exactly one is nonzero."""
    def logical_xor_(self, other: Tensor) -> Tensor:
        """True where exactly one is nonzero."""
    def logit(self, eps: _float | None = ...) -> Tensor:
        """`log(self / (1 - self))`, `self` moved into [eps, 1 - eps] first."""
    def logit_(self, eps: _float | None = ...) -> Tensor:
        """`log(self / (1 - self))`, `self` moved into [eps, 1 - eps] first."""
    def logsumexp(self, dim: _Sequence[_int] | _int, keepdim: _bool = ...) -> Tensor:
        """Logarithm of the sum of exponentials along the dimensions `dim`."""
    def long(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as int64."""
    @overload
    def lt(self, other: Tensor) -> Tensor:
        """True where `self` is less than `other`."""
    @overload
    def lt(self, other: _Number) -> Tensor:
        """True where `self` is less than `other`."""
    @overload
    def lt_(self, other: Tensor) -> Tensor:
        """True where `self` is less than `other`."""
    @overload
    def lt_(self, other: _Number) -> Tensor:
        """True where `self` is less than `other`."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """Solves with LU factors."""
    @overload
    def masked_fill(self, mask: Tensor, value: Tensor) -> Tensor:
        """`value`, a 0-dim tensor, where `mask` is True, `self` elsewhere."""
    @overload
    def masked_fill(self, mask: Tensor, value: _Number) -> Tensor:
        """`value` where `mask` is True, `self` elsewhere."""
    @overload
    def masked_fill_(self, mask: Tensor, value: Tensor) -> Tensor:
        """`value`, a 0-dim tensor, where `mask` is True, `self` elsewhere."""
    @overload
    def masked_fill_(self, mask: Tensor, value: _Number) -> Tensor:
        """`value` where `mask` is True, `self` elsewhere."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """The elements under the mask, replaced by those of `source` one after the other."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """The elements under the mask, replaced by those of `source` one after the other."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements under the mask, one-dimensional."""
    def matmul(self, other: Tensor) -> Tensor:
        """Matrix product with broadcast batch dimensions; vectors count as a row on the left and a column on the right."""
    def matrix_exp(self) -> Tensor:
        """Exponential of square matrices."""
    def matrix_power(self, n: _int) -> Tensor:
        """Integer power of square matrices."""
    @overload
    def max(self, other: Tensor) -> Tensor:
        """The larger of two elements."""
    @overload
    def max(self) -> Tensor:
        """The largest element; NaN if there is one."""
    @overload
    def max(self, dim: _int, keepdim: _bool = ...) -> return_types.max:
        """The largest elements along `dim` and their positions."""
    def maximum(self, other: Tensor) -> Tensor:
        """The larger operand, NaN if either is; equal operands share the gradient."""
    @overload
    def mean(self, *, dtype: _dtype | None = ...) -> Tensor:
        """The mean of all elements."""
    @overload
    def mean(self, dim: _Sequence[_int] | _int | None, keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor:
        """The mean along the dimensions `dim`."""
    @overload
    def median(self) -> Tensor:
        """The lower median of all elements; NaN if there is one."""
    @overload
    def median(self, dim: _int, keepdim: _bool = ...) -> return_types.median:
        """The lower medians along `dim` and their positions."""
    @overload
    def min(self, other: Tensor) -> Tensor:
        """The smaller of two elements."""
    @overload
    def min(self) -> Tensor:
        """The smallest element; NaN if there is one."""
    @overload
    def min(self, dim: _int, keepdim: _bool = ...) -> return_types.min:
        """The smallest elements along `dim` and their positions."""
    def minimum(self, other: Tensor) -> Tensor:
        """The smaller operand, NaN if either is; equal operands share the gradient."""
    def mm(self, mat2: Tensor) -> Tensor:
        """Product of two matrices."""
    def mode(self, dim: _int = ..., keepdim: _bool = ...) -> return_types.mode:
        """The most frequent values along `dim` and where each occurs last."""
    @overload
    def moveaxis(self, source: _int, destination: _int) -> Tensor:
        """One dimension moved to another place."""
    @overload
    def moveaxis(self, source: _Sequence[_int], destination: _Sequence[_int]) -> Tensor:
        """Dimensions moved to other places."""
    @overload
    def movedim(self, source: _int, destination: _int) -> Tensor:
        """One dimension moved to another place."""
    @overload
    def movedim(self, source: _Sequence[_int], destination: _Sequence[_int]) -> Tensor:
        """Dimensions moved to other places."""
    def msort(self) -> Tensor:
        """The elements sorted along the first dimension."""
    @overload
    def mul(self, other: Tensor) -> Tensor:
        """Product."""
    @overload
    def mul(self, other: _Number) -> Tensor:
        """Product."""
    @overload
    def mul_(self, other: Tensor) -> Tensor:
        """Product."""
    @overload
    def mul_(self, other: _Number) -> Tensor:
        """Product."""
    def multinomial(self, num_samples: _int, replacement: _bool = ..., *, generator: _Generator | None = ...) -> Tensor:
        """Categories drawn with the weights of each row."""
    @overload
    def multiply(self, other: Tensor) -> Tensor:
        """Product."""
    @overload
    def multiply(self, other: _Number) -> Tensor:
        """Product."""
    @overload
    def multiply_(self, other: Tensor) -> Tensor:
        """Product."""
    @overload
    def multiply_(self, other: _Number) -> Tensor:
        """Product."""
    def mv(self, vec: Tensor) -> Tensor:
        """Product of a matrix and a vector."""
    def mvlgamma(self, p: _int) -> Tensor:
        """Logarithm of the multivariate gamma function."""
    def mvlgamma_(self, p: _int) -> Tensor:
        """Logarithm of the multivariate gamma function."""
    def nan_to_num(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
        """NaN and infinities replaced: by 0 and the largest and smallest finite number, or as given."""
    def nan_to_num_(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
        """NaN and infinities replaced: by 0 and the largest and smallest finite number, or as given."""
    def nanmean(self, dim: _Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor:
        """The mean of what is not NaN."""
    @overload
    def nanmedian(self) -> Tensor:
        """The lower median of the elements that are not NaN."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = ...) -> return_types.nanmedian:
        """The lower medians, NaN left out, along `dim` and their positions."""
    @overload
    def nanquantile(self, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...) -> Tensor:
        """Quantiles of what is not NaN."""
    @overload
    def nanquantile(self, q: _float, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...) -> Tensor:
        """Quantiles of what is not NaN."""
    def nansum(self, dim: _Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor:
        """The sum along the dimensions `dim`, NaN counted as zero."""
    @overload
    def narrow(self, dim: _int, start: Tensor, length: _int) -> Tensor:
        """`narrow` whose start is a tensor."""
    @overload
    def narrow(self, dim: _int, start: _int, length: _int) -> Tensor:
        """`length` elements of a dimension from `start` on."""
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """A copy of `length` elements of a dimension from `start` on."""
    @overload
    def ne(self, other: Tensor) -> Tensor:
        """True where `self` is not equal to `other`."""
    @overload
    def ne(self, other: _Number) -> Tensor:
        """True where `self` is not equal to `other`."""
    @overload
    def ne_(self, other: Tensor) -> Tensor:
        """True where `self` is not equal to `other`."""
    @overload
    def ne_(self, other: _Number) -> Tensor:
        """True where `self` is not equal to `other`."""
    def neg(self) -> Tensor:
        """Negative."""
    def neg_(self) -> Tensor:
        """Negative."""
    def negative(self) -> Tensor:
        """Negative."""
    def negative_(self) -> Tensor:
        """Negative."""
    @overload
    def new_empty(self, size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """Uninitialised, with the dtype and device of `self`."""
    @overload
    def new_empty(self, *size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """Uninitialised, with the dtype and device of `self`."""
    def new_empty_strided(self, size: _Sequence[_int], stride: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """Uninitialised, with the given strides and the dtype and device of `self`."""
    def new_full(self, size: _Sequence[_int], fill_value: _Number, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """One number everywhere, with the dtype and device of `self`."""
    @overload
    def new_ones(self, size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """Ones, with the dtype and device of `self`."""
    @overload
    def new_ones(self, *size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """Ones, with the dtype and device of `self`."""
    @overload
    def new_zeros(self, size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """Zeros, with the dtype and device of `self`."""
    @overload
    def new_zeros(self, *size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """Zeros, with the dtype and device of `self`."""
    def nextafter(self, other: Tensor) -> Tensor:
        """The next number after `self` toward `other`."""
    def nextafter_(self, other: Tensor) -> Tensor:
        """The next number after `self` toward `other`."""
    def nonzero_static(self, *, size: _int, fill_value: _int = ...) -> Tensor:
        """`nonzero` cut or filled up to `size` rows."""
    def normal_(self, mean: _float = ..., std: _float = ..., *, generator: _Generator | None = ...) -> Tensor:
        """Normal numbers."""
    @overload
    def not_equal(self, other: Tensor) -> Tensor:
        """True where `self` is not equal to `other`."""
    @overload
    def not_equal(self, other: _Number) -> Tensor:
        """True where `self` is not equal to `other`."""
    @overload
    def not_equal_(self, other: Tensor) -> Tensor:
        """True where `self` is not equal to `other`."""
    @overload
    def not_equal_(self, other: _Number) -> Tensor:
        """True where `self` is not equal to `other`."""
    def orgqr(self, input2: Tensor) -> Tensor:
        """`torch.linalg.householder_product`."""
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ...) -> Tensor:
        """`input3` multiplied by the orthogonal matrix whose reflectors `geqrf` gave as `self` and `input2`."""
    def outer(self, vec2: Tensor) -> Tensor:
        """Products of all pairs of items of two vectors."""
    @overload
    def permute(self, dims: _Sequence[_int]) -> Tensor:
        """Dimensions in another order."""
    @overload
    def permute(self, *dims: _int) -> Tensor:
        """Dimensions in another order."""
    def pinverse(self, rcond: _float = ...) -> Tensor:
        """Pseudo-inverse."""
    def polygamma_(self, n: _int) -> Tensor:
        """The `n`-th derivative of digamma."""
    def positive(self) -> Tensor:
        """The tensor itself."""
    @overload
    def pow(self, exponent: Tensor) -> Tensor:
        """`self` to the power `exponent`."""
    @overload
    def pow(self, exponent: _Number) -> Tensor:
        """`self` to the power `exponent`."""
    @overload
    def pow_(self, exponent: Tensor) -> Tensor:
        """`self` to the power `exponent`."""
    @overload
    def pow_(self, exponent: _Number) -> Tensor:
        """`self` to the power `exponent`."""
    def prelu(self, weight: Tensor) -> Tensor:
        """`self` where positive, `weight * self` elsewhere; one weight, or one for each channel."""
    @overload
    def prod(self, *, dtype: _dtype | None = ...) -> Tensor:
        """The product of all elements."""
    @overload
    def prod(self, dim: _int, keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor:
        """The product along `dim`."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
        """`source` put (or added) at positions of the flattened tensor."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
        """`source` put (or added) at positions of the flattened tensor."""
    def q_per_channel_axis(self) -> _int:
        """The dimension whose indices have scales of their own."""
    def q_per_channel_scales(self) -> Tensor:
        """The scale of each index."""
    def q_per_channel_zero_points(self) -> Tensor:
        """The zero point of each index."""
    def q_scale(self) -> _float:
        """The scale."""
    def q_zero_point(self) -> _int:
        """The zero point."""
    def qr(self, some: _bool = ...) -> return_types.qr:
        """Orthonormal columns times an upper triangle."""
    @overload
    def quantile(self, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...) -> Tensor:
        """Quantiles along `dim`; NaN where there is one."""
    @overload
    def quantile(self, q: _float, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...) -> Tensor:
        """Quantiles along `dim`; NaN where there is one."""
    def rad2deg(self) -> Tensor:
        """Radians to degrees."""
    def rad2deg_(self) -> Tensor:
        """Radians to degrees."""
    @overload
    def random_(self, *, generator: _Generator | None = ...) -> Tensor:
        """Integers over the range of the dtype."""
    @overload
    def random_(self, from_: _int, to: _int | None, *, generator: _Generator | None = ...) -> Tensor:
        """Integers of [from, to)."""
    @overload
    def random_(self, to: _int, *, generator: _Generator | None = ...) -> Tensor:
        """Integers of [0, to)."""
    def ravel(self) -> Tensor:
        """One-dimensional, in row-major order."""
    def reciprocal(self) -> Tensor:
        """`1 / self`."""
    def reciprocal_(self) -> Tensor:
        """`1 / self`."""
    def record_stream(self, s: _Stream) -> None:
        """Tell the allocator that work on another stream uses the memory: once freed, it waits for that stream."""
    def relu(self) -> Tensor:
        """`self` where positive, 0 elsewhere."""
    def relu_(self) -> Tensor:
        """`self` where positive, 0 elsewhere."""
    @overload
    def remainder(self, other: Tensor) -> Tensor:
        """Remainder with the sign of `other`, as Python's `%`."""
    @overload
    def remainder(self, other: _Number) -> Tensor:
        """Remainder with the sign of `other`, as Python's `%`."""
    @overload
    def remainder_(self, other: Tensor) -> Tensor:
        """Remainder with the sign of `other`, as Python's `%`."""
    @overload
    def remainder_(self, other: _Number) -> Tensor:
        """Remainder with the sign of `other`, as Python's `%`."""
    def renorm(self, p: _Number, dim: _int, maxnorm: _Number) -> Tensor:
        """Slices along `dim` whose p-norm is above `maxnorm`, scaled down to it."""
    def renorm_(self, p: _Number, dim: _int, maxnorm: _Number) -> Tensor:
        """Slices along `dim` whose p-norm is above `maxnorm`, scaled down to it."""
    @overload
    def repeat(self, repeats: _Sequence[_int]) -> Tensor:
        """The tensor laid side by side."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor:
        """The tensor laid side by side."""
    @overload
    def repeat_interleave(self, repeats: Tensor, dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
        """Each position of a dimension, as often as `repeats` says."""
    @overload
    def repeat_interleave(self, repeats: _int, dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
        """Each position of a dimension `repeats` times."""
    @overload
    def reshape(self, shape: _Sequence[_int]) -> Tensor:
        """A view where the strides allow it, else a copy."""
    @overload
    def reshape(self, *shape: _int) -> Tensor:
        """A view where the strides allow it, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """Reshaped to the sizes of another tensor."""
    @overload
    def resize_(self, size: _Sequence[_int], *, memory_format: _memory_format | None = ...) -> Tensor:
        """Other sizes; the storage grows if need be, new elements are uninitialised."""
    @overload
    def resize_(self, *size: _int, memory_format: _memory_format | None = ...) -> Tensor:
        """Other sizes; the storage grows if need be, new elements are uninitialised."""
    def resize_as_(self, the_template: Tensor, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The sizes of another tensor."""
    def resize_as_sparse_(self, the_template: Tensor) -> Tensor:
        """Gives a sparse tensor the sizes of another."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself; of a view that shows conjugates, these in memory of their own."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself; of a view that shows negatives, these in memory of their own."""
    def roll(self, shifts: _Sequence[_int] | _int, dims: _Sequence[_int] | _int = ...) -> Tensor:
        """Elements moved along dimensions; those that leave come in again at the other end."""
    def rot90(self, k: _int = ..., dims: _Sequence[_int] = ...) -> Tensor:
        """A quarter turn, k times, in the plane of two dimensions."""
    @overload
    def round(self) -> Tensor:
        """Nearest integer, halves to even."""
    @overload
    def round(self, *, decimals: _int) -> Tensor:
        """Rounded to `decimals` decimal places, halves to even."""
    @overload
    def round_(self) -> Tensor:
        """Nearest integer, halves to even."""
    @overload
    def round_(self, *, decimals: _int) -> Tensor:
        """Rounded to `decimals` decimal places, halves to even."""
    def row_indices(self) -> Tensor:
        """The row of each value of a csc tensor."""
    def rsqrt(self) -> Tensor:
        """`1 / sqrt(self)`."""
    def rsqrt_(self) -> Tensor:
        """`1 / sqrt(self)`."""
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
        """`src` added to or multiplied into the positions that `index` names."""
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """`src` written to the positions that `index` names."""
    @overload
    def scatter(self, dim: _int, index: Tensor, value: _Number) -> Tensor:
        """A number written to the positions that `index` names."""
    @overload
    def scatter(self, dim: _int, index: Tensor, value: _Number, *, reduce: str) -> Tensor:
        """A number added to or multiplied into the positions that `index` names."""
    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
        """`src` added to or multiplied into the positions that `index` names."""
    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """`src` written to the positions that `index` names."""
    @overload
    def scatter_(self, dim: _int, index: Tensor, value: _Number) -> Tensor:
        """A number written to the positions that `index` names."""
    @overload
    def scatter_(self, dim: _int, index: Tensor, value: _Number, *, reduce: str) -> Tensor:
        """A number added to or multiplied into the positions that `index` names."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """`src` added to the positions that `index` names."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """`src` added to the positions that `index` names."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor:
        """`src` reduced (sum, prod, mean, amax, amin) into the positions that `index` names."""
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor:
        """`src` reduced (sum, prod, mean, amax, amin) into the positions that `index` names."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """One position of a dimension, which goes away."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy of `self` with one position of a dimension replaced by `src`."""
    @overload
    def set_(self, source: Tensor) -> Tensor:
        """The storage, sizes and strides of another tensor."""
    @overload
    def set_(self) -> Tensor:
        """An empty storage of its own."""
    @overload
    def set_(self, source: _UntypedStorage) -> Tensor:
        """The whole of a storage, one-dimensional."""
    @overload
    def set_(self, source: _UntypedStorage, storage_offset: _int, size: _Sequence[_int], stride: _Sequence[_int] = ...) -> Tensor:
        """A part of a storage with the given sizes and strides."""
    def sgn(self) -> Tensor:
        """Sign; of a complex number `self / |self|`."""
    def sgn_(self) -> Tensor:
        """Sign; of a complex number `self / |self|`."""
    def short(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor as int16."""
    def sigmoid(self) -> Tensor:
        """`1 / (1 + exp(-self))`."""
    def sigmoid_(self) -> Tensor:
        """`1 / (1 + exp(-self))`."""
    def sign(self) -> Tensor:
        """-1, 0 or 1."""
    def sign_(self) -> Tensor:
        """-1, 0 or 1."""
    def signbit(self) -> Tensor:
        """True where `self` is negative, the sign of zero and NaN included."""
    def sin(self) -> Tensor:
        """Sine of radians."""
    def sin_(self) -> Tensor:
        """Sine of radians."""
    def sinc(self) -> Tensor:
        """`sin(pi self) / (pi self)`, 1 at 0."""
    def sinc_(self) -> Tensor:
        """`sin(pi self) / (pi self)`, 1 at 0."""
    def sinh(self) -> Tensor:
        """Hyperbolic sine."""
    def sinh_(self) -> Tensor:
        """Hyperbolic sine."""
    def slice_inverse(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ...) -> Tensor:
        """The elements of `self` with the sizes, strides and beginning of `src`, which stands for a part of it."""
    def slice_scatter(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ...) -> Tensor:
        """A copy of `self` with a slice replaced by `src`."""
    def slogdet(self) -> return_types.slogdet:
        """Sign and log of the determinant's size."""
    def smm(self, mat2: Tensor) -> Tensor:
        """A sparse matrix times a dense one, as a sparse matrix."""
    def softmax(self, dim: _int, dtype: _dtype | None = ...) -> Tensor:
        """Exponentials along `dim`, divided by their sum, computed in `dtype`."""
    @overload
    def sort(self, dim: _int = ..., descending: _bool = ...) -> return_types.sort:
        """The elements sorted along `dim` (ties keep their order, NaN is largest), and where each came from."""
    @overload
    def sort(self, *, stable: _bool | None, dim: _int = ..., descending: _bool = ...) -> return_types.sort:
        """The elements sorted along `dim`, ties in their order, and where each came from."""
    def sparse_dim(self) -> _int:
        """Number of sparse dimensions."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements of `self` at the coordinates of the sparse tensor `mask`."""
    def sparse_resize_(self, size: _Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Gives a sparse tensor other sizes; its elements stay where they are."""
    def sparse_resize_and_clear_(self, size: _Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Gives a sparse tensor other sizes, and takes its elements away."""
    @overload
    def split(self, split_size: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """Parts of `split_size`, the last one shorter."""
    @overload
    def split(self, split_size: _Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """Parts of the given sizes."""
    def split_with_sizes(self, split_sizes: _Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """Parts of the given sizes."""
    def sqrt(self) -> Tensor:
        """Square root."""
    def sqrt_(self) -> Tensor:
        """Square root."""
    def square(self) -> Tensor:
        """`self * self`."""
    def square_(self) -> Tensor:
        """`self * self`."""
    @overload
    def squeeze(self) -> Tensor:
        """Without dimensions of size one."""
    @overload
    def squeeze(self, dim: _int) -> Tensor:
        """Without this dimension if its size is one."""
    @overload
    def squeeze(self, dim: _Sequence[_int]) -> Tensor:
        """Without these dimensions where their size is one."""
    @overload
    def squeeze(self, *dim: _int) -> Tensor:
        """Without these dimensions where their size is one."""
    @overload
    def squeeze_(self) -> Tensor:
        """Changes the tensor's own sizes and strides."""
    @overload
    def squeeze_(self, dim: _int) -> Tensor:
        """Changes the tensor's own sizes and strides."""
    @overload
    def squeeze_(self, dim: _Sequence[_int]) -> Tensor:
        """Changes the tensor's own sizes and strides."""
    @overload
    def squeeze_(self, *dim: _int) -> Tensor:
        """Changes the tensor's own sizes and strides."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
        """`beta * self + alpha * mat1 @ mat2`, with `self` and `mat1` sparse."""
    @overload
    def std(self, dim: _Sequence[_int] | _int | None = ..., *, correction: _Number | None = ..., keepdim: _bool = ...) -> Tensor:
        """The standard deviation along the dimensions `dim`."""
    @overload
    def std(self, unbiased: _bool = ...) -> Tensor:
        """The standard deviation."""
    @overload
    def std(self, dim: _Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ...) -> Tensor:
        """The standard deviation."""
    @overload
    def sub(self, other: Tensor, *, alpha: _Number = ...) -> Tensor:
        """`self - alpha * other`."""
    @overload
    def sub(self, other: _Number, alpha: _Number = ...) -> Tensor:
        """`self - alpha * other`."""
    @overload
    def sub_(self, other: Tensor, *, alpha: _Number = ...) -> Tensor:
        """`self - alpha * other`."""
    @overload
    def sub_(self, other: _Number, alpha: _Number = ...) -> Tensor:
        """`self - alpha * other`."""
    @overload
    def subtract(self, other: Tensor, *, alpha: _Number = ...) -> Tensor:
        """`self - alpha * other`."""
    @overload
    def subtract(self, other: _Number, alpha: _Number = ...) -> Tensor:
        """`self - alpha * other`."""
    @overload
    def subtract_(self, other: Tensor, *, alpha: _Number = ...) -> Tensor:
        """`self - alpha * other`."""
    @overload
    def subtract_(self, other: _Number, alpha: _Number = ...) -> Tensor:
        """`self - alpha * other`."""
    @overload
    def sum(self, *, dtype: _dtype | None = ...) -> Tensor:
        """The sum of all elements."""
    @overload
    def sum(self, dim: _Sequence[_int] | _int | None, keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor:
        """The sum along the dimensions `dim`."""
    @overload
    def sum_to_size(self, size: _Sequence[_int]) -> Tensor:
        """Sum over broadcast dimensions so that the result has `size`."""
    @overload
    def sum_to_size(self, *size: _int) -> Tensor:
        """Sum over broadcast dimensions so that the result has `size`."""
    def svd(self, some: _bool = ..., compute_uv: _bool = ...) -> return_types.svd:
        """Singular values and vectors; V itself, not its adjoint."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """`torch.transpose`, whose dimensions have NumPy's names here."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """Exchanges two dimensions of the tensor itself."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """Exchanges two dimensions of the tensor itself."""
    def t(self) -> Tensor:
        """The transposed matrix; tensors of less than two dimensions as they are."""
    def t_(self) -> Tensor:
        """Changes the tensor's own sizes and strides."""
    def take(self, index: Tensor) -> Tensor:
        """Elements by their position in the flattened tensor."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = ...) -> Tensor:
        """`gather` whose other dimensions broadcast; without dim, of the flattened tensor."""
    def tan(self) -> Tensor:
        """Tangent of radians."""
    def tan_(self) -> Tensor:
        """Tangent of radians."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""
    def tanh_(self) -> Tensor:
        """Hyperbolic tangent."""
    @overload
    def tensor_split(self, tensor_indices_or_sections: Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
        """Sections or indices given as a tensor."""
    @overload
    def tensor_split(self, indices: _Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """Parts that end before each index."""
    @overload
    def tensor_split(self, sections: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """Parts of sizes that differ by at most one."""
    @overload
    def tile(self, dims: _Sequence[_int]) -> Tensor:
        """`repeat` that adds leading dimensions to the counts where they are missing."""
    @overload
    def tile(self, *dims: _int) -> Tensor:
        """`repeat` that adds leading dimensions to the counts where they are missing."""
    @overload
    def to(self, other: Tensor, non_blocking: _bool = ..., copy: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor with the device and dtype of `other`."""
    @overload
    def to(self, device: _device | str | _int, dtype: _dtype, non_blocking: _bool = ..., copy: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor on another device and with another dtype."""
    @overload
    def to(self, dtype: _dtype, non_blocking: _bool = ..., copy: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor with another dtype."""
    @overload
    def to(self, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., non_blocking: _bool = ..., copy: _bool = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
        """The tensor on another device, with another dtype."""
    @overload
    def to(self, device: _device | str | _int | None = ..., dtype: _dtype | None = ..., non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor on another device, with another dtype."""
    def to_dense(self, dtype: _dtype | None = ..., *, masked_grad: _bool | None = ...) -> Tensor:
        """A sparse tensor written out; a dense one itself, or a copy of another dtype."""
    def to_mkldnn(self, dtype: _dtype | None = ...) -> Tensor:
        """The tensor in oneDNN's layout."""
    @overload
    def to_sparse(self, sparse_dim: _int) -> Tensor:
        """The elements that are not zero as a coordinate tensor with this many sparse dimensions."""
    @overload
    def to_sparse(self, *, layout: _layout | None = ..., blocksize: _Sequence[_int] | _int | None = ..., dense_dim: _int | None = ...) -> Tensor:
        """The elements that are not zero, in a sparse layout: coordinates unless `layout` says otherwise."""
    def to_sparse_bsc(self, blocksize: _Sequence[_int] | _int, dense_dim: _int | None = ...) -> Tensor:
        """The matrix in blocks, compressed by columns of blocks."""
    def to_sparse_bsr(self, blocksize: _Sequence[_int] | _int, dense_dim: _int | None = ...) -> Tensor:
        """The matrix in blocks, compressed by rows of blocks."""
    def to_sparse_csc(self, dense_dim: _int | None = ...) -> Tensor:
        """The matrix compressed by columns."""
    def to_sparse_csr(self, dense_dim: _int | None = ...) -> Tensor:
        """The matrix compressed by rows."""
    def topk(self, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ...) -> return_types.topk:
        """The k largest (or smallest) elements along `dim`, in order, and their positions."""
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """Changes the tensor's own sizes and strides."""
    def triangular_solve(self, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ...) -> return_types.triangular_solve:
        """X of AX = B for a triangular A, and a copy of A."""
    def tril(self, diagonal: _int = ...) -> Tensor:
        """The lower triangle of matrices, zeros above."""
    def tril_(self, diagonal: _int = ...) -> Tensor:
        """The lower triangle of matrices, zeros above."""
    def triu(self, diagonal: _int = ...) -> Tensor:
        """The upper triangle of matrices, zeros below."""
    def triu_(self, diagonal: _int = ...) -> Tensor:
        """The upper triangle of matrices, zeros below."""
    @overload
    def true_divide(self, other: Tensor) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def true_divide(self, other: _Number) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def true_divide_(self, other: Tensor) -> Tensor:
        """True division; integers give the default floating dtype."""
    @overload
    def true_divide_(self, other: _Number) -> Tensor:
        """True division; integers give the default floating dtype."""
    def trunc(self) -> Tensor:
        """The integer part."""
    def trunc_(self) -> Tensor:
        """The integer part."""
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor with the dtype of `other`."""
    def unbind(self, dim: _int = ...) -> tuple[Tensor, ...]:
        """One tensor for each position of a dimension."""
    def unflatten(self, dim: _int, sizes: _Sequence[_int]) -> Tensor:
        """One dimension seen as several."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of a dimension, as a new last dimension."""
    def uniform_(self, from_: _float = ..., to: _float = ..., *, generator: _Generator | None = ...) -> Tensor:
        """Uniform in [from, to)."""
    def unsafe_chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """`chunk` whose parts do not count as views."""
    def unsafe_split(self, split_size: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """`split` whose parts do not count as views."""
    def unsafe_split_with_sizes(self, split_sizes: _Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """`split_with_sizes` whose parts do not count as views."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """A new dimension of size one."""
    def unsqueeze_(self, dim: _int) -> Tensor:
        """Changes the tensor's own sizes and strides."""
    def values(self) -> Tensor:
        """The values of a coalesced or compressed tensor."""
    @overload
    def var(self, dim: _Sequence[_int] | _int | None = ..., *, correction: _Number | None = ..., keepdim: _bool = ...) -> Tensor:
        """The variance along the dimensions `dim`."""
    @overload
    def var(self, unbiased: _bool = ...) -> Tensor:
        """The variance."""
    @overload
    def var(self, dim: _Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ...) -> Tensor:
        """The variance."""
    def vdot(self, other: Tensor) -> Tensor:
        """Inner product of two vectors, the first conjugated."""
    @overload
    def view(self, size: _Sequence[_int]) -> Tensor:
        """Other sizes over the same elements; RuntimeError if the strides do not allow it."""
    @overload
    def view(self, *size: _int) -> Tensor:
        """Other sizes over the same elements; RuntimeError if the strides do not allow it."""
    @overload
    def view(self, dtype: _dtype) -> Tensor:
        """The same bytes read as another dtype."""
    def view_as(self, other: Tensor) -> Tensor:
        """Viewed with the sizes of another tensor."""
    @overload
    def vsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Equal parts along one dimension."""
    @overload
    def vsplit(self, indices: _Sequence[_int]) -> tuple[Tensor, ...]:
        """Parts that end before each index."""
    @overload
    def vsplit(self, *indices: _int) -> tuple[Tensor, ...]:
        """Parts that end before each index."""
    @overload
    def xlogy(self, other: Tensor) -> Tensor:
        """`self * log(other)`, 0 where `self` is 0."""
    @overload
    def xlogy(self, other: _Number) -> Tensor:
        """`self * log(other)`, 0 where `self` is 0."""
    @overload
    def xlogy_(self, other: Tensor) -> Tensor:
        """`self * log(other)`, 0 where `self` is 0."""
    @overload
    def xlogy_(self, other: _Number) -> Tensor:
        """`self * log(other)`, 0 where `self` is 0."""
    def zero_(self) -> Tensor:
        """Sets every element to 0."""
    def __add__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __sub__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __mul__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __matmul__(self, other: Tensor, /) -> Tensor: ...
    def __truediv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __floordiv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __mod__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __pow__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __and__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __or__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __xor__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __lshift__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rshift__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rsub__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __iadd__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __isub__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __imul__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __itruediv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __ifloordiv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __imod__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __ipow__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __iand__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __ior__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __ixor__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __ilshift__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __irshift__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __lt__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __le__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __eq__(self, other: Any, /) -> Tensor: ...
    def __ne__(self, other: Any, /) -> Tensor: ...
    def __gt__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __ge__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rfloordiv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rmod__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rpow__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rmatmul__(self, other: Tensor, /) -> Tensor: ...
    def __rlshift__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rrshift__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __radd__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rmul__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rand__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __ror__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rxor__(self, other: Tensor | _Number, /) -> Tensor: ...
    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    __array_priority__: _int
    def __array_wrap__(self, array: Any, context: Any = ..., return_scalar: _bool = ...) -> Tensor: ...
    def __complex__(self) -> _complex: ...
    def __contains__(self, element: Any) -> _bool: ...
    @property
    def __cuda_array_interface__(self) -> Tensor: ...
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor: ...
    def __dir__(self) -> list[str]: ...
    def __div__(self, other: Any) -> Any: ...
    def __float__(self) -> _float: ...
    def __format__(self, spec: str) -> str: ...
    def __idiv__(self, other: Any) -> Any: ...
    @classmethod
    def __init_subclass__(cls, **kwargs: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __long__(self) -> _int: ...
    def __nonzero__(self) -> _bool: ...
    def __rdiv__(self, other: Any) -> Any: ...
    def __reduce_ex__(self, protocol: Any) -> Any: ...
    def __repr__(self, *, tensor_contents: str | None = ...) -> str: ...
    def __reversed__(self) -> Tensor: ...
    def __setstate__(self, state: Any) -> None: ...
    @staticmethod
    def __torch_dispatch__(func: Callable[..., Any], types: Any, args: tuple[Any, ...] = ..., kwargs: dict[str, Any] | None = ...) -> Any: ...
    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = ..., kwargs: dict[str, Any] | None = ...) -> Any: ...
    def apply_(self, callable: Any) -> Any: ...
    def as_subclass(self, cls: type) -> Any: ...
    def backward(self, gradient: Any = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Any = ...) -> None: ...
    def cuda(self, device: Any = ..., non_blocking: _bool = ..., **kwargs: Any) -> Tensor: ...
    def dim_order(self, *, ambiguity_check: _bool | list[Any] = ...) -> tuple[_int, ...]: ...
    def eig(self, eigenvectors: _bool = ...) -> None: ...
    def has_names(self) -> _bool: ...
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def ipu(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def is_distributed(self) -> _bool: ...
    def is_pinned(self, device: Any = ...) -> _bool: ...
    def is_set_to(self, tensor: Tensor) -> _bool: ...
    def is_shared(self) -> _bool: ...
    def lstsq(self, other: Tensor) -> None: ...
    def lu(self, pivot: _bool = ..., get_infos: _bool = ...) -> Any: ...
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def map2_(self, x: Any, y: Any, callable: Any) -> Any: ...
    def map_(self, tensor: Any, callable: Any) -> Any: ...
    def module_load(self, other: Tensor, assign: _bool = ...) -> Tensor: ...
    @property
    def names(self) -> tuple[None, ...]: ...
    def new(self, *args: Any, size: Any = ..., device: Any = ...) -> Any: ...
    def nonzero(self, *, as_tuple: _bool = ...) -> Any: ...
    def norm(self, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., dtype: Any = ...) -> Any: ...
    def npu(self, device: Any = ..., non_blocking: _bool = ..., **kwargs: Any) -> Tensor: ...
    def pin_memory(self, device: Any = ...) -> Tensor: ...
    def polygamma(self, n: _int) -> Any: ...
    def qscheme(self) -> Any: ...
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Any) -> None: ...
    def register_hook(self, hook: Callable[..., Any]) -> Any: ...
    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> Any: ...
    def reinforce(self, reward: Any) -> None: ...
    def resize(self, *sizes: _int) -> Any: ...
    def resize_as(self, tensor: Any) -> Any: ...
    def share_memory_(self) -> Tensor: ...
    def solve(self, other: Tensor) -> None: ...
    def stft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Any = ..., center: _bool = ..., pad_mode: str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Any: ...
    def storage(self) -> Any: ...
    def storage_type(self) -> Any: ...
    def symeig(self, eigenvectors: _bool = ...) -> None: ...
    def to_mindspore(self) -> Any: ...
    def to_padded_tensor(*args: Any, **kwargs: Any) -> Any: ...
    def to_sparse_coo(self) -> Tensor: ...
    def type(self, dtype: Any = ..., non_blocking: Any = ..., **kwargs: Any) -> Any: ...
    def unique(self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...
    def unique_consecutive(self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...
    @property
    def volatile(self) -> Any: ...
    @volatile.setter
    def volatile(self, value: Any) -> None: ...
    def where(self, condition: Any, other: Any) -> Any: ...
    def xpu(self, *args: Any, **kwargs: Any) -> Tensor: ...
