"""First and second gradients of functions of a matrix, by it and by the weight of the first, against PyTorch."""

import pytest
from agreement import same

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# m is the square part of x (which has rank 2), made regular; x has numbers of both signs up to 1.2, p between 0.1 and 0.9, y others than x, w positive ones.
FUNCTIONS = """
F.elu(x, 0.7)
F.celu(x, 0.5)
F.selu(x)
F.gelu(x)
F.gelu(x, approximate="tanh")
F.silu(x)
F.mish(x)
F.hardtanh(x, -0.4, 0.6)
F.relu6(3 * x)
F.hardswish(x * 2)
F.softplus(x, 2.0, 1.5)
F.softshrink(x, 0.3)
F.hardshrink(x, 0.3)
F.tanhshrink(x)
F.softsign(x)
F.leaky_relu(x, 0.2)
F.prelu(x, w[0, :1])
F.rrelu(x, 0.1, 0.3)
F.threshold(x, 0.2, 5.0)
F.logsigmoid(x)
F.glu(x, -1)
F.softmin(x, 0)
F.softmax(x, 1)
F.log_softmax(x, 0)
F.normalize(x, p=3.0)
F.layer_norm(x, (4,), w[0], y[0])
F.group_norm(x, 2, w[0], y[0])
F.rms_norm(x, (4,), w[0])
F.batch_norm(x, None, None, w[0], y[0], True)
F.batch_norm(x, y[0].detach(), w[0].detach(), w[1], y[1], False)
F.instance_norm(x.unsqueeze(0))
F.local_response_norm(x.unsqueeze(0), 2)
F.mse_loss(x, y, reduction="none")
F.huber_loss(x, y, delta=0.3)
F.smooth_l1_loss(x, y, beta=0.4, reduction="sum")
F.soft_margin_loss(x, y.detach().sign())
F.binary_cross_entropy(p, p.detach().flip(0), w.detach())
F.binary_cross_entropy_with_logits(x, p.detach(), w.detach(), pos_weight=w.detach()[0])
F.kl_div(x, p.detach(), reduction="sum")
F.poisson_nll_loss(x, w, full=True)
F.gaussian_nll_loss(x, y, p, full=True)
F.cross_entropy(x, torch.tensor([0, 3, 1]), w[0].detach(), label_smoothing=0.1)
F.nll_loss(x, torch.tensor([0, 3, 1]), w[0].detach())
F.cosine_similarity(x, y)
F.pairwise_distance(x, y, p=3.0)
F.linear(x, y, w[0, :3])
F.bilinear(x, y, x.new_ones(2, 4, 4).tril())
F.avg_pool1d(x.unsqueeze(0), 2)
F.lp_pool1d(x.unsqueeze(0), 3, 2)
F.max_pool1d(x.unsqueeze(0), 2)
F.adaptive_avg_pool1d(x.unsqueeze(0), 3)
F.interpolate(x[None, None], size=(5, 6), mode="bilinear")
F.interpolate(x[None, None], size=(5, 6), mode="bicubic", align_corners=True)
F.pad(x[None], (1, 2), mode="reflect")
F.pad(x[None], (1, 2), mode="replicate")
F.pad(x[None], (1, 2), mode="circular")
F.unfold(x[None, None], 2)
F.pixel_unshuffle(x[None, None, :2], 2)
F.embedding(torch.tensor([0, 2, 2]), x)
F.conv1d(x[None], y.view(2, 3, 2), w[0, :2])
F.conv_transpose1d(x[None], y.view(3, 2, 2), stride=2)
F.scaled_dot_product_attention(x[None], y[None], w[None])
torch.logit(p)
torch.logit(p, 0.2)
torch.special.xlogy(w, p)
torch.special.xlog1py(x, p)
torch.special.entr(p)
torch.special.erfcx(x)
torch.special.log_ndtr(x)
torch.special.i0e(x)
torch.special.i1(x)
torch.erf(x), torch.erfc(x), torch.erfinv(x / 2), torch.sinc(x), torch.lgamma(w), torch.digamma(w), torch.polygamma(2, w)
torch.sigmoid(x), torch.tanh(x), torch.atan2(x, y), torch.hypot(x, y), torch.logaddexp(x, y), torch.logaddexp2(x, y)
torch.pow(w, x), torch.pow(x, 3), torch.float_power(w, y), torch.remainder(x, y), torch.fmod(x, y), torch.lerp(x, y, p)
torch.addcmul(x, y, p, value=0.3), torch.addcdiv(x, y, w, value=0.3), torch.where(x > y, x, y), torch.maximum(x, y), torch.fmin(x, y)
torch.clamp(x, y - 0.5, y + 0.5), torch.copysign(x, y), torch.nan_to_num(x), torch.frac(x), torch.rsqrt(w), torch.log1p(p), torch.expm1(x)
x.cumsum(0), x.cumprod(1), x.logcumsumexp(1), x.cummax(0)[0], x.prod(), x.prod(1), x.var(1), x.std(0, correction=0), x.logsumexp(1)
x.norm(), x.norm(3.0, 1), torch.linalg.vector_norm(x, 1.5), x.renorm(2.0, 0, 0.5), x.amax(0), x.median(1)[0], x.sort(1)[0], x.topk(2, 1)[0]
torch.cov(x), torch.corrcoef(x), torch.kron(x, y), torch.trapezoid(x), torch.cross(x[:, :3], y[:, :3], dim=1)
torch.linalg.det(m), torch.linalg.inv(m), torch.linalg.pinv(m[:, :2]), torch.linalg.slogdet(m)[1], torch.matrix_exp(m)
torch.linalg.solve(m, y), torch.linalg.svdvals(m), torch.linalg.cholesky(x @ x.T + x.new_ones(3).diag()), torch.linalg.qr(m)[1]
torch.linalg.matrix_norm(m, "nuc"), torch.linalg.matrix_norm(m, 2), torch.linalg.eigvalsh(x[:, :3] + x[:, :3].T), torch.linalg.multi_dot([x, y.T, w])
torch.fft.rfft(x).abs(), torch.fft.irfft(torch.complex(x, y)), torch.fft.fft2(x).real, torch.stft(x.flatten(), 4, return_complex=True, window=x.new_ones(4)).abs()
x.index_select(0, torch.tensor([2, 0, 0])), x.gather(1, torch.tensor([[0, 3], [1, 1], [2, 0]])), x.scatter(1, torch.tensor([[0], [3], [1]]), y[:, :1])
x.masked_fill(x > 0.3, 0.1), x.masked_scatter(x > 0.3, y), x.index_add(0, torch.tensor([0, 2]), y[:2]), x.take(torch.tensor([0, 5, 5])), x.roll(1, 0)
x.unfold(1, 2, 1), x.as_strided((2, 2), (4, 1), 1), x.diagonal(), x.diag_embed(), x.tril(), x.flip(1), x.repeat(2, 1), x.repeat_interleave(2, 1)
""".strip().splitlines()


def _numbers(torch, start, scale):
    steps = torch.arange(start, start + 12, dtype=torch.float64).view(3, 4)
    return torch.cos(steps * 1.7) * scale


def _gradients(torch, text):
    x, y = _numbers(torch, 0, 1.2).requires_grad_(), _numbers(torch, 31, 0.9).requires_grad_()
    p = (_numbers(torch, 7, 0.4) + 0.5).requires_grad_()
    w = (_numbers(torch, 5, 0.5) + 1).requires_grad_()
    m = x[:, :3] + 2 * torch.eye(3, dtype=x.dtype)
    made = eval(text, {"m": m, "torch": torch, "F": torch.nn.functional, "x": x, "y": y, "p": p, "w": w})
    found = []
    for number, each in enumerate(made if isinstance(made, tuple) else (made,)):
        weight = torch.sin(torch.arange(each.numel(), dtype=torch.float64) + number).view(each.shape).requires_grad_()
        first = torch.autograd.grad(each, (x, y, p, w), weight, create_graph=True, allow_unused=True)
        kept = [grad for grad in first if grad is not None and grad.requires_grad]
        second = [None] * 5
        if kept:
            along = [torch.cos(torch.arange(grad.numel(), dtype=torch.float64)).view(grad.shape) for grad in kept]
            second = torch.autograd.grad(kept, (x, y, p, w, weight), along, allow_unused=True)
        found.append([None if grad is None else grad.detach() for grad in (*first, *second)])
    return found


@pytest.mark.parametrize("text", FUNCTIONS)
def test_first_and_second_gradients(text):
    same(lambda torch: _gradients(torch, text), rtol=1e-7, atol=1e-8)
