"""Numbers that leave the device."""

from ..table import kernel


@kernel("_local_scalar_dense")
def local_scalar(self):
    return self.detach().to("cpu").item()
