"""Kinds of quantization."""

import enum

__all__ = ["QuantType"]


class QuantType(enum.IntEnum):
    """When activations are quantized: as they come, by what was observed, in training, or not at all.

    >>> torch.ao.quantization.QuantType.STATIC.value
    1
    """

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3


def _get_quant_type_to_str(quant_type: QuantType) -> str:
    return quant_type.name.lower()


def _quant_type_from_str(name: str) -> QuantType:
    for kind in (QuantType.STATIC, QuantType.DYNAMIC, QuantType.QAT, QuantType.WEIGHT_ONLY):
        if kind.name.lower() == name:
            return kind
    raise ValueError(f"Unknown QuantType name '{name}'")
