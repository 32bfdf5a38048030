"""`torch.sparse` by its names: tensors are dense here."""

from mindtorch_v2._unavailable import unavailable_class, unavailable_function

__all__ = [
    "SparseSemiStructuredTensor",
    "addmm",
    "as_sparse_gradcheck",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
    "to_sparse_semi_structured",
]

SparseSemiStructuredTensor = unavailable_class("torch.sparse.SparseSemiStructuredTensor")
addmm = unavailable_function("torch.sparse.addmm", "use a dense tensor and torch.addmm")
as_sparse_gradcheck = unavailable_function("torch.sparse.as_sparse_gradcheck")
log_softmax = unavailable_function("torch.sparse.log_softmax", "use a dense tensor and torch.log_softmax")
mm = unavailable_function("torch.sparse.mm", "use a dense tensor and torch.mm")
sampled_addmm = unavailable_function("torch.sparse.sampled_addmm")
softmax = unavailable_function("torch.sparse.softmax", "use a dense tensor and torch.softmax")
spdiags = unavailable_function("torch.sparse.spdiags")
spsolve = unavailable_function("torch.sparse.spsolve")
sum = unavailable_function("torch.sparse.sum", "use a dense tensor and torch.sum")
to_sparse_semi_structured = unavailable_function("torch.sparse.to_sparse_semi_structured")
