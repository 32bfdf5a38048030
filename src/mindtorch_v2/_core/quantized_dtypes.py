"""PyTorch's quantised element types by name: no tensor here has one, and Ascend's operators take them by their numbers."""

from __future__ import annotations


class QuantizedDtype(int):
    """A quantised type: the number that PyTorch's C++ gives it, printed as PyTorch prints the dtype.

    >>> torch.qint8, int(torch.quint4x2)
    (torch.qint8, 16)
    """

    _name: str

    def __new__(cls, number: int, name: str) -> QuantizedDtype:
        made = super().__new__(cls, number)
        made._name = name
        return made

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    __str__ = __repr__

    def __reduce__(self) -> tuple:
        return QuantizedDtype, (int(self), self._name)


qint8 = QuantizedDtype(12, "qint8")
quint8 = QuantizedDtype(13, "quint8")
qint32 = QuantizedDtype(14, "qint32")
quint4x2 = QuantizedDtype(16, "quint4x2")
quint2x4 = QuantizedDtype(17, "quint2x4")
