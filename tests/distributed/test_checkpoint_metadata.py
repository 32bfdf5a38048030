"""Metadata of checkpoints: it runs no code, and holds what every Python writes."""

import builtins
import io
import pickle

import pytest

from mindtorch_v2.distributed.checkpoint.filesystem import _MetadataUnpickler
from mindtorch_v2.distributed.checkpoint.metadata import _MEM_FORMAT_ENCODING
from mindtorch_v2.distributed.checkpoint.planner import WriteItemType


class _Call:
    """A pickle that asks for a call."""

    def __init__(self, function: object, *args: object) -> None:
        self.function, self.args = function, args

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.function, self.args


def _read(value: object, protocol: int) -> object:
    text = pickle.dumps(value, protocol).replace(b"mindtorch_v2.distributed", b"torch.distributed")
    return _MetadataUnpickler(io.BytesIO(text)).load()


@pytest.mark.parametrize("protocol", [0, 2])
def test_members_of_the_enumeration(protocol: int) -> None:
    member = _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST
    assert _read(member, protocol) is member
    # as Python 3.11.0 to 3.11.3 write it
    assert _read(_Call(getattr, _MEM_FORMAT_ENCODING, "TORCH_CHANNELS_LAST"), protocol) is member
    kind = WriteItemType
    assert _read(_Call(getattr, kind, "TENSOR"), protocol) is kind.TENSOR
    with pytest.raises(pickle.UnpicklingError, match="asks for an attribute '__init__': it is damaged"):
        _read(_Call(getattr, kind, "__init__"), protocol)


@pytest.mark.parametrize(
    "value",
    [
        _Call(getattr, set, "add"),
        _Call(getattr, _Call(list), "append"),
        _Call(builtins.eval, "1"),
        _Call(builtins.__import__, "os"),
    ],
)
def test_other_calls_are_refused(value: object) -> None:
    with pytest.raises(pickle.UnpicklingError, match="damaged"):
        _read(value, 2)
