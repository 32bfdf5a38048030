"""Operators on a single element, a single row and none, where kernels leave early or begin late, against PyTorch."""

import pytest
from expressions import check, lines

LINES = lines("""
torch.softmax(x(1), 0), torch.log_softmax(x(1), 0), torch.softmax(x(1, 1), 0), torch.softmax(x(), 0)
torch.softmax(x(1, 3), 0), torch.log_softmax(x(1, 3), 0), torch.softmax(x(3, 1), 0)
F.softmin(x(1), 0), F.gumbel_softmax(x(1), hard=False).sum()
torch.cumsum(x(1), 0), torch.cumprod(x(1), 0), torch.logcumsumexp(x(1), 0), tuple(torch.cummax(x(1), 0)), tuple(torch.cummin(x(1), 0))
torch.cumsum(x(1, 1), 1), torch.cumsum(x(), 0), torch.cumsum(x(0), 0)
tuple(torch.sort(x(1))), tuple(torch.topk(x(1), 1)), tuple(torch.kthvalue(x(1), 1)), tuple(torch.mode(x(1))), tuple(torch.median(x(1), 0))
tuple(torch.sort(x(2), descending=True)), torch.argsort(x(1)), torch.msort(x(1, 2))
torch.unique(x(1).detach()), torch.unique(x(2).detach(), return_inverse=True, return_counts=True), torch.unique(i(1, 2))
torch.unique(i(6, 2), return_inverse=True, return_counts=True), torch.unique(torch.zeros(0)), torch.unique(i(6, 3), sorted=False).sort()[0]
torch.unique_consecutive(i(1, 2), return_counts=True), torch.unique_consecutive(torch.tensor([1, 1]), return_inverse=True)
torch.unique(i(4, 2).reshape(2, 2), dim=0, return_inverse=True, return_counts=True), torch.unique(i(2, 2).reshape(1, 2), dim=0)
torch.unique(i(4, 2).reshape(2, 2), dim=1), torch.unique_consecutive(i(4, 2).reshape(2, 2), dim=0)
torch.unique(torch.tensor([True])), torch.unique(torch.tensor([True, False]), return_inverse=True), torch.unique(torch.tensor([float("nan"), 1.0, float("nan")]))
torch.bincount(i(1, 1)), torch.bincount(i(0, 1)), torch.bincount(i(3, 2), minlength=1), torch.bincount(i(3, 2), x(3).detach(), 4)
torch.histc(x(1).detach(), 1), torch.histc(x(1).detach(), 3, 0, 0)
torch.searchsorted(x(1).detach(), x(1).detach()), torch.searchsorted(x(0).detach(), x(1).detach()), torch.bucketize(x(1).detach(), x(2).detach().sort()[0])
F.embedding(i(1, 1), x(1, 1)), F.embedding(i(0, 1), x(1, 2)), F.embedding(i(1, 1), x(1, 0))
F.embedding_bag(i(1, 1), x(1, 2), torch.tensor([0]), mode="sum"), F.embedding_bag(i(1, 1), x(1, 2), torch.tensor([0]), mode="max")
F.embedding_bag(i(4, 2), x(2, 1), torch.tensor([0, 2]), mode="max"), F.embedding_bag(i(4, 2), x(2, 1), torch.tensor([0, 0, 4]), mode="mean")
F.embedding_bag(i(2, 1).reshape(1, 2), x(1, 3), mode="sum", padding_idx=0), F.embedding_bag(i(4, 2), x(2, 1), torch.tensor([0, 2]), mode="mean", scale_grad_by_freq=True)
F.layer_norm(x(1), (1,)), F.layer_norm(x(1, 1), (1,), x(1), x(1)), F.layer_norm(x(0, 2), (2,)), F.rms_norm(x(1), (1,))
F.group_norm(x(1, 1, 1), 1), F.group_norm(x(1, 2), 1), F.instance_norm(x(1, 1, 2))
F.batch_norm(x(2, 1), None, None, training=True), F.batch_norm(x(1, 1), torch.zeros(1).double(), torch.ones(1).double())
x(1) @ x(1), x(1, 1) @ x(1, 1), torch.outer(x(1), x(1)), torch.bmm(x(1, 1, 1), x(1, 1, 1)), x(0, 2) @ x(2, 0), x(2, 0) @ x(0, 2)
torch.addmm(x(1, 1), x(1, 1), x(1, 1)), torch.addmv(x(1), x(1, 1), x(1)), torch.addr(x(1, 1), x(1), x(1)), F.linear(x(1), x(1, 1), x(1))
x(1).sum(), x(0).sum(), x(1).mean(), x(1).prod(), x(0).prod(), x(1).max(), x(1).min(), x(1).amax(0), x(1).argmax(), x(1).argmin(0)
x(1).std(correction=0), x(1).var(correction=0), x(2).std(), x(1).norm(), x(1).norm(1), x(1).norm(float("inf")), x(0).norm(), x(1).logsumexp(0)
x(1, 3).sum(0), x(3, 1).sum(1), x(1, 3).mean(0), x(3, 1).amax(1), x(1, 1).sum((0, 1)), x(1, 0).sum(1), x(1, 0).sum(0)
torch.all(b(1)), torch.any(b(1)), torch.all(b(0)), torch.any(b(0)), torch.count_nonzero(x(1)), x(1).nansum(), torch.aminmax(x(1))[0]
torch.cat([x(1), x(0)]), torch.stack([x(), x()]), torch.cat([x(1, 1), x(1, 2)], 1), x(1).repeat(1), x(1).roll(1), x(1).flip(0), x(0).flip(0)
x(1).index_select(0, i(1, 1)), x(1).gather(0, i(1, 1)), x(1).scatter(0, i(1, 1), 2.0), x(1).scatter_add(0, i(1, 1), x(1)), x(1).index_add(0, i(1, 1), x(1))
x(1)[i(1, 1)], x(1)[b(1)], x(1, 1)[0, 0], x(2).take(i(1, 2)), x(1).masked_fill(b(1), 2.0), x(1).masked_select(torch.tensor([True]))
torch.nonzero(x(1)), torch.nonzero(x(0)), torch.nonzero(torch.zeros(1)), torch.where(b(1), x(1), x(1))
F.conv1d(x(1, 1, 1), x(1, 1, 1), x(1)), F.conv2d(x(1, 1, 1, 1), x(1, 1, 1, 1)), F.conv1d(x(1, 1, 2), x(1, 1, 2)), F.conv_transpose1d(x(1, 1, 1), x(1, 1, 1))
F.max_pool1d(x(1, 1, 1), 1), F.avg_pool1d(x(1, 1, 1), 1), F.max_pool2d(x(1, 1, 2, 2), 2), F.adaptive_avg_pool1d(x(1, 1, 1), 1), F.adaptive_max_pool1d(x(1, 1, 2), 1)
F.interpolate(x(1, 1, 1), size=1), F.interpolate(x(1, 1, 1), size=3, mode="linear"), F.interpolate(x(1, 1, 2), size=1, mode="linear", align_corners=True)
F.interpolate(x(1, 1, 1, 1), size=(2, 2), mode="bicubic"), F.interpolate(x(1, 1, 2, 2), size=(1, 1), mode="bilinear"), F.grid_sample(x(1, 1, 1, 1), x(1, 1, 1, 2), align_corners=False)
F.pad(x(1), (1, 1)), F.pad(x(1, 1, 1), (1, 1), mode="replicate"), F.pad(x(1, 1, 2), (1, 1), mode="reflect"), F.pad(x(1, 1, 1), (1, 1), mode="circular")
F.cross_entropy(x(1, 1), i(1, 1)), F.cross_entropy(x(1, 2), i(1, 2)), F.nll_loss(x(1, 1), i(1, 1)), F.mse_loss(x(1), x(1)), F.kl_div(x(1), p(1)), F.ctc_loss(x(2, 1, 2).log_softmax(2), torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
torch.cdist(x(1, 1), x(1, 1)), torch.cdist(x(1, 2), x(2, 2)), torch.pdist(x(2, 1)), torch.pdist(x(1, 2)), F.cosine_similarity(x(1), x(1), 0)
torch.linalg.det(x(1, 1)), torch.linalg.inv(x(1, 1)), torch.linalg.solve(x(1, 1), x(1)), torch.linalg.eigvalsh(x(1, 1)), torch.linalg.svdvals(x(1, 2)), torch.linalg.qr(x(1, 1))[1].abs()
torch.fft.fft(x(1)), torch.fft.rfft(x(1)), torch.fft.ifft(z(1)), torch.fft.fft(x(2)), torch.fft.irfft(z(2)), torch.fft.fft2(x(1, 1))
torch.tril(x(1, 1)), torch.triu(x(1, 2), 1), x(1, 1).trace(), x(1).diag(), torch.diag_embed(x(1)), torch.kron(x(1, 1), x(1, 1)), torch.cross(x(1, 3), x(1, 3), 1)
torch.nn.LSTM(1, 1).double()(x(1, 1, 1))[0], torch.nn.GRU(1, 1).double()(x(1, 1, 1))[0], F.scaled_dot_product_attention(x(1, 1, 1, 1), x(1, 1, 1, 1), x(1, 1, 1, 1))
torch.arange(1), torch.arange(0), torch.linspace(1, 2, 1), torch.linspace(1, 2, 2), torch.logspace(0, 1, 1), torch.eye(1), torch.tril_indices(1, 1), torch.combinations(x(1))
F.fold(x(1, 1, 1), (1, 1), 1), F.unfold(x(1, 1, 1, 1), 1), F.pixel_shuffle(x(1, 4, 1, 1), 2), F.channel_shuffle(x(1, 2, 1), 2), F.one_hot(i(1, 1)), x(1).unfold(0, 1, 1)
""")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("text", LINES)
def test_few_elements(text: str, dtype: str) -> None:
    tolerance = 1e-6 if dtype == "float64" else 2e-4
    check(text, tolerance, tolerance / 100, dtype)
