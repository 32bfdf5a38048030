"""An operator of one's own for Ascend NPUs, its kernel in AscendC, with a gradient; trained through, on the emulator or on a card.

python -m mindtorch_v2.npu emulate -- python -m mindtorch_v2 examples/ascend_operator/run.py
"""

import argparse
import pathlib

import matplotlib
import torch
from torch import Tensor

from mindtorch_v2.npu import alloc_like, ascendc_load, ascendc_op

matplotlib.use("Agg")
from matplotlib import pyplot

HERE = pathlib.Path(__file__).parent
BLOCKS, PIECE = 4, 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/ascend_operator"))
    chosen = parser.parse_args()
    if not torch.npu.is_available():
        parser.error(
            "no NPU here; on the emulator: python -m mindtorch_v2.npu emulate -- python -m mindtorch_v2 " + __file__
        )
    chosen.out.mkdir(parents=True, exist_ok=True)
    kernels = ascendc_load(name="squash", sources=[str(HERE / "squash.cpp")])

    @ascendc_op("examples::squash")
    def squash(x: Tensor) -> Tensor:
        """x / (1 + |x|) of contiguous float32 tensors whose size is a multiple of 1,024."""
        out = alloc_like(x)
        kernels.squash(BLOCKS, x, out, x.numel())
        return out

    squash.register_autograd(
        lambda ctx, grad: grad / (1 + ctx.saved_tensors[0].abs()) ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = torch.linspace(-6, 6, BLOCKS * PIECE)
    ours, expected = squash(x.npu()).cpu(), x / (1 + x.abs())
    difference = (ours - expected).abs().max().item()
    scale = torch.tensor(0.2, device="npu", requires_grad=True)
    target = torch.tanh(x).npu()
    optimizer = torch.optim.Adam([scale], lr=0.1)
    for _ in range(60):
        loss = (1.2 * squash(scale * x.npu()) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    fitted = (1.2 * squash(scale.detach() * x.npu())).cpu()
    figure, place = pyplot.subplots(figsize=(7, 4))
    place.plot(x.tolist(), ours.tolist(), label="squash, by the kernel")
    place.plot(x.tolist(), torch.tanh(x).tolist(), label="tanh")
    place.plot(x.tolist(), fitted.tolist(), "--", label=f"1.2 squash({scale.item():.2f} x), fitted to it")
    place.set_title(torch.npu.get_device_name())
    place.legend()
    figure.savefig(chosen.out / "squash.png", dpi=100)
    print(f"on {torch.npu.get_device_name()}: at most {difference:.1e} from the CPU's numbers")
    print(f"fitted to tanh: scale {scale.item():.2f}, loss {loss.item():.4f}; {chosen.out / 'squash.png'}")


if __name__ == "__main__":
    main()
