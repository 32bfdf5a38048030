"""The times that libraries import from torch.distributed.constants."""

import datetime

from mindtorch_v2.distributed import constants


def test_the_times_are_those_of_pytorch_without_nccl():
    assert constants.default_pg_timeout == datetime.timedelta(minutes=30)
    assert constants.default_pg_nccl_timeout is None
