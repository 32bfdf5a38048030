"""The observer of histograms: of all ranges within what it saw, the one that loses least."""

from __future__ import annotations

import warnings
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization._observers.base import _EPS, UniformQuantizationObserverBase
from mindtorch_v2.ao.quantization._ranges import is_per_tensor

__all__ = ["HistogramObserver"]

_STEP = 1e-5  # of the numbers at one end, that each try leaves out


class HistogramObserver(UniformQuantizationObserverBase):
    """How often numbers came, in `bins` parts of equal width, and the range whose quantization loses least of them.

    The range is searched for from the whole inwards, while the squares of what is lost grow less.

    >>> observer = torch.ao.quantization.HistogramObserver(bins=4)
    >>> _ = observer(torch.tensor([0.0, 1.0, 2.0, 3.0, 3.5]))
    >>> observer.histogram
    tensor([1., 1., 1., 2.])
    >>> observer.calculate_qparams()
    (tensor([0.0103]), tensor([0], dtype=torch.int32))
    """

    histogram: torch.Tensor
    min_val: torch.Tensor
    max_val: torch.Tensor

    def __init__(
        self,
        bins: int = 2048,
        dtype: torch.dtype = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric                     and "
                "torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        where = nn.factory_kwargs(factory_kwargs)
        self.bins = bins
        self.register_buffer("histogram", torch.zeros(bins, **where))
        self.register_buffer("min_val", torch.tensor(float("inf"), **where))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **where))
        self.dst_nbins = 2 ** torch.iinfo(dtype).bits
        self.upsample_rate = 16

    def _get_norm(self, delta_begin: Any, delta_end: Any, density: torch.Tensor) -> torch.Tensor:
        """The integral of the squared distance from a middle, of numbers that lie evenly from one end to the other."""
        return density * ((delta_end * delta_end * delta_end - delta_begin * delta_begin * delta_begin) / 3)

    def _compute_quantization_error(self, next_start_bin: int, next_end_bin: int) -> float:
        """The loss, in squares, where bins from one to another become the range."""
        width = (self.max_val.item() - self.min_val.item()) / self.bins
        wide = width * (next_end_bin - next_start_bin + 1) / self.dst_nbins
        if wide == 0.0:
            return 0.0
        device = self.histogram.device
        begin = (torch.arange(self.bins, device=device) - next_start_bin) * width
        end = begin + width
        first, last = (
            torch.clamp(torch.div(each, wide, rounding_mode="floor"), 0, self.dst_nbins - 1) for each in (begin, end)
        )
        density = self.histogram / width
        half = torch.tensor(wide / 2)
        lost = torch.zeros(self.bins, device=device)
        # A bin reaches from within one quantized number, over whole ones, into another.
        lost += self._get_norm(begin - (first + 0.5) * wide, torch.ones(self.bins, device=device) * (wide / 2), density)
        lost += (last - first - 1) * self._get_norm(-half, half, density)
        lost += self._get_norm(-half, end - (last * wide + wide / 2), density)
        return lost.sum().item()

    def _non_linear_param_search(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The ends of the range that loses least."""
        if self.histogram.size()[0] != self.bins:
            raise AssertionError("bins mismatch")
        width = (self.max_val - self.min_val) / self.bins
        total = torch.sum(self.histogram).item()
        below = torch.cumsum(self.histogram, dim=0)
        sums = below.tolist()
        single = torch.tensor(0.0, dtype=below.dtype)
        alpha, beta = 0.0, 1.0
        start, end = 0, self.bins - 1
        least = float("inf")
        while alpha < beta:
            next_alpha, next_beta = alpha + _STEP, beta - _STEP
            low = single.fill_(next_alpha * total).item()  # as compared in the histogram's precision
            high = single.fill_(next_beta * total).item()
            left, right = start, end
            while left < end and sums[left] < low:
                left += 1
            while right > start and sums[right] > high:
                right -= 1
            if left - start > end - right:
                tried, alpha = (left, end), next_alpha
            else:
                tried, beta = (start, right), next_beta
            if tried == (start, end):
                continue
            lost = self._compute_quantization_error(*tried)
            if lost > least:
                break
            least, (start, end) = lost, tried
        return self.min_val + width * start, self.min_val + width * (end + 1)

    def _upscale_histogram(
        self,
        histogram: torch.Tensor,
        orig_min: torch.Tensor,
        orig_max: torch.Tensor,
        update_min: torch.Tensor,
        update_max: torch.Tensor,
    ) -> torch.Tensor:
        """A histogram over a wider range: each bin is cut into finer ones, which go where their middles lie."""
        fine = self.bins * self.upsample_rate
        counts = histogram.repeat_interleave(self.upsample_rate) / self.upsample_rate
        size = (orig_max - orig_min) / fine
        middles = torch.linspace(orig_min, orig_max, fine + 1, device=orig_min.device)[:-1].to(histogram.device)
        edges = torch.linspace(update_min, update_max, self.bins + 1, device=update_min.device).to(histogram.device)
        places = torch.bucketize(middles + 0.5 * size, edges, right=True) - 1
        return torch.bincount(places.clamp(0, self.bins - 1), weights=counts, minlength=self.bins)

    def _combine_histograms(
        self,
        orig_hist: torch.Tensor,
        orig_min: torch.Tensor,
        orig_max: torch.Tensor,
        update_hist: torch.Tensor,
        update_min: torch.Tensor,
        update_max: torch.Tensor,
    ) -> torch.Tensor:
        if update_min == orig_min and update_max == orig_max:
            return orig_hist + update_hist
        if orig_min == orig_max:  # all at one place
            count = torch.sum(orig_hist)
            return (
                torch.histc(orig_min, bins=self.bins, min=float(update_min), max=float(update_max)) * count
                + update_hist
            )
        if update_min > orig_min:
            raise AssertionError("update_min must be <= orig_min")
        if update_max < orig_max:
            raise AssertionError("update_max must be >= orig_max")
        return update_hist + self._upscale_histogram(orig_hist, orig_min, orig_max, update_min, update_max)

    def _take(self, histogram: torch.Tensor, least: torch.Tensor, most: torch.Tensor) -> None:
        for own, new in ((self.histogram, histogram), (self.min_val, least), (self.max_val, most)):
            own.detach_().resize_(new.shape).copy_(new)

    def reset_histogram(self, x: torch.Tensor, min_val: torch.Tensor, max_val: torch.Tensor) -> None:
        """Begin anew, with the histogram of a tensor from `min_val` to `max_val`."""
        if min_val.numel() != 1 or max_val.numel() != 1:
            raise AssertionError("histogram min/max values must be scalar.")
        self._take(torch.histc(x, self.bins, min=float(min_val), max=float(max_val)), min_val, max_val)

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        """See a tensor, and give it back."""
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach()
        least, most = torch.aminmax(x)
        if least == -torch.inf or most == torch.inf:
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            x = x[x.abs() != torch.inf]
            if x.numel() == 0:
                return x_orig
            least, most = torch.aminmax(x)
        if self.min_val == float("inf") or self.max_val == float("-inf"):
            self.reset_histogram(x, least, most)
            return x_orig
        new_min, new_max = torch.min(self.min_val, least).detach(), torch.max(self.max_val, most).detach()
        seen = torch.histc(x, self.bins, min=float(new_min), max=float(new_max)).to(self.histogram.device)
        if new_min == self.min_val and new_max == self.max_val:
            self._take(self.histogram + seen, self.min_val, self.max_val)
        else:
            joined = self._combine_histograms(self.histogram, self.min_val, self.max_val, seen, new_min, new_max)
            self._take(joined, new_min, new_max)
        return x_orig

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]  # (as PyTorch's)
        """The scale and the zero point of the range that loses least."""
        if self.min_val == float("inf") and self.max_val == float("-inf"):
            warnings.warn(
                "must run observer before calling calculate_qparams.                                    "
                "Returning default scale and zero point ",
                stacklevel=2,
            )
            device = self.min_val.device.type
            return torch.tensor([1.0], device=device), torch.tensor([0], device=device)
        if self.bins != len(self.histogram):
            raise AssertionError(
                "The number of bins in histogram should be equal to the number of bins supplied while making this "
                "observer"
            )
        return self._calculate_qparams(*self._non_linear_param_search())

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "min_val"] = self.min_val
        destination[prefix + "max_val"] = self.max_val

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
        version = local_metadata.get("version", None)
        for name, unseen in (("min_val", "inf"), ("max_val", "-inf")):
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            if (version is None or version < 3) and state_dict[key].shape == torch.Size([0]):
                state_dict[key] = torch.tensor(float(unseen))
            setattr(self, name, state_dict[key])
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def extra_repr(self) -> str:
        """The least and the greatest element."""
        return f"min_val={self.min_val}, max_val={self.max_val}"
