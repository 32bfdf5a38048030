"""The back end "hccl" by its name: collectives on NPUs are not implemented."""

__all__ = ["ProcessGroupHCCL"]


class ProcessGroupHCCL:
    """Raises NotImplementedError when it is asked for a collective."""

    name = "hccl"

    def __init__(self, store, rank, size, timeout):
        self.rank, self.size, self.timeout = rank, size, timeout

    def __getattr__(self, name):
        raise NotImplementedError(f"{name} of NPU tensors (hccl) is not implemented in mindtorch_v2")

    def abort(self):
        """Nothing is under way."""

    def close(self):
        """Nothing is under way."""
