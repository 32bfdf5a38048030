"""How MINDTORCH_CHECK_MUTATION=1 looks at the memory of devices other than the CPU; the core imports this when it has to."""

from mindtorch_v2 import _C
from mindtorch_v2._dispatch.keys import AUTOGRAD, excluded


def _copy(tensor):
    """A copy to compare with later; None where the device cannot copy: then only version counters tell of writes."""
    try:
        with excluded(AUTOGRAD, "ADInplaceOrView"):
            return _C._find_operator("aten::clone", "")(tensor)
    except NotImplementedError:
        return None


def _differs(copy, tensor):
    with excluded(AUTOGRAD, "ADInplaceOrView"):
        return not _C._find_operator("aten::equal", "")(copy, tensor)


_C._set_mutation_probe(_copy, _differs)
