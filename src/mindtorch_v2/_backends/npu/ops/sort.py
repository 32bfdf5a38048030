"""Order."""

from ..table import aclnn, call, kernel


@kernel("sort")
def sort(self, dim, descending, values, indices):
    call("aclnnSort", self, True, dim, descending, values, indices)


@kernel("sort.stable")
def sort_stable(self, stable, dim, descending, values, indices):
    call("aclnnSort", self, True, dim, descending, values, indices)


aclnn("topk", "aclnnTopk")
