"""Arithmetic as modules, so that what comes of it can be observed."""

from __future__ import annotations

from typing import Any, NoReturn, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]


class _Arithmetic(nn.Module):
    """A method for each operation."""

    def forward(self, x: torch.Tensor) -> NoReturn:
        """RuntimeError: there is a method for each operation."""
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def _seen(self, result: torch.Tensor) -> torch.Tensor:
        return result

    def add(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """`x + y`."""
        return self._seen(torch.add(x, y))

    def add_scalar(self, x: torch.Tensor, y: float) -> torch.Tensor:
        """`x + y` of a number."""
        return torch.add(x, y)

    def mul(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """`x * y`."""
        return self._seen(torch.mul(x, y))

    def mul_scalar(self, x: torch.Tensor, y: float) -> torch.Tensor:
        """`x * y` of a number."""
        return torch.mul(x, y)

    def cat(self, x: list[torch.Tensor], dim: int = 0) -> torch.Tensor:
        """The tensors one after another."""
        return self._seen(torch.cat(x, dim=dim))

    def add_relu(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """`max(0, x + y)`."""
        return self._seen(torch.relu(torch.add(x, y)))

    def matmul(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The matrix product."""
        return self._seen(torch.matmul(x, y))


class FXFloatFunctional(_Arithmetic):
    """Arithmetic of floating point tensors by methods, as a quantised model would have it.

    >>> torch.ao.nn.quantized.FXFloatFunctional().add(torch.ones(2), torch.ones(2))
    tensor([2., 2.])
    """


class FloatFunctional(_Arithmetic):
    """Arithmetic of floating point tensors by methods; each result but those with numbers goes through `activation_post_process`, where an observer may stand.

    >>> arithmetic = torch.ao.nn.quantized.FloatFunctional()
    >>> arithmetic
    FloatFunctional(
      (activation_post_process): Identity()
    )
    >>> arithmetic.mul(torch.ones(2), torch.tensor([2.0, 3.0]))
    tensor([2., 3.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def _seen(self, result: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = self.activation_post_process(result)
        return seen


class QFunctional(nn.Module):
    """Sums, products and joins of quantized tensors, into a range of `scale` and `zero_point`.

    >>> q = torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.QFunctional().add(q, q).dequantize()
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process = nn.Identity()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for name, kind in (("scale", float), ("zero_point", int)):
            if prefix + name in state_dict:
                setattr(self, name, kind(state_dict.pop(prefix + name)))
            else:
                missing_keys.append(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        """The range of results."""
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x: Any) -> Any:
        """RuntimeError: the operations are methods."""
        raise RuntimeError("Functional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two."""
        return self.activation_post_process(torch.ops.quantized.add(x, y, self.scale, self.zero_point))

    def add_scalar(self, x: Any, y: float) -> Any:
        """The sum with a number, in a range of its own."""
        return torch.ops.quantized.add_scalar(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """The product of two."""
        return self.activation_post_process(torch.ops.quantized.mul(x, y, self.scale, self.zero_point))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """The product with a number, in a range of its own."""
        return torch.ops.quantized.mul_scalar(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Several, one after the other."""
        made = torch.ops.quantized.cat(x, scale=self.scale, zero_point=self.zero_point, dim=dim)
        return self.activation_post_process(made)

    def add_relu(self, x: Any, y: Any) -> Any:
        """The sum of two, not below 0."""
        return self.activation_post_process(torch.ops.quantized.add_relu(x, y, self.scale, self.zero_point))

    def matmul(self, x: Any, y: Any) -> Any:
        """The matrix product of two."""
        return torch.ops.quantized.matmul(x, y, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of a `FloatFunctional` that was observed."""
        if type(mod) is not FloatFunctional:
            raise AssertionError("QFunctional.from_float expects an instance of FloatFunctional")
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        made = cls()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made
