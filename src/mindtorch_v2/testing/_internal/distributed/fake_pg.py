"""Names that programs take to rehearse one rank with the back end "fake", which is there without them."""

from mindtorch_v2.distributed import Store
from mindtorch_v2.distributed._fake import FakeProcessGroup

__all__ = ["FakeProcessGroup", "FakeStore"]


class FakeStore(Store):
    """A store that keeps nothing, for `init_process_group("fake", store=FakeStore(), ...)`.

    >>> from mindtorch_v2.testing._internal.distributed.fake_pg import FakeStore
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
    >>> dist.get_world_size()
    8
    >>> dist.destroy_process_group()
    """
