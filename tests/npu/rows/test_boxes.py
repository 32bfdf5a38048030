"""Operators of detection beside their definitions, and contrib's modules beside PyTorch's own."""

import math
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu.torch_npu import contrib

npu = torch.ops.npu
_RANDOM = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _older_names() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch_npu.contrib.function", FutureWarning)
        yield


def _boxes(count: int, largest: float = 40.0) -> np.ndarray:
    corners = _RANDOM.uniform(0, largest, (count, 2, 2))
    return np.concatenate([corners.min(1), corners.max(1) + 1], 1)


def _shared(a: np.ndarray, b: np.ndarray) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _area(a: np.ndarray) -> float:
    return (a[2] - a[0]) * (a[3] - a[1])


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize(("name", "above"), [("npu_iou", 0.001), ("npu_ptiou", 0.0)])
def test_overlaps(name: str, above: float, mode: int) -> None:
    a, b = _boxes(5), _boxes(4)
    found = getattr(npu, name)(torch.tensor(a), torch.tensor(b), mode)
    expected = np.empty((4, 5))
    for i, other in enumerate(b):
        for j, one in enumerate(a):
            shared = _shared(one, other)
            whole = _area(other) + (_area(one) - shared if mode == 0 else 0)
            expected[i, j] = (shared + above) / (whole + 0.001)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


def _one_to_one(name: str, a: np.ndarray, b: np.ndarray) -> float:
    union = _area(a) + _area(b) - _shared(a, b)
    share = _shared(a, b) / union
    left, top = np.minimum(a[:2], b[:2])
    right, bottom = np.maximum(a[2:], b[2:])
    if name == "npu_giou":
        around = (right - left) * (bottom - top)
        return share - (around - union) / around
    way = (a[:2] + a[2:] - b[:2] - b[2:]) / 2
    share -= (way @ way) / ((right - left) ** 2 + (bottom - top) ** 2)
    if name == "npu_ciou":
        unlike = 4 / math.pi**2 * (math.atan2(b[2] - b[0], b[3] - b[1]) - math.atan2(a[2] - a[0], a[3] - a[1])) ** 2
        share -= unlike**2 / (1 - _shared(a, b) / union + unlike)
    return share


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("name", ["npu_giou", "npu_diou", "npu_ciou"])
def test_boxes_one_to_one(name: str, trans: bool) -> None:
    a, b = _boxes(6), _boxes(6)
    expected = [_one_to_one(name, *pair) for pair in zip(a, b, strict=True)]
    given = [np.concatenate([(x[:, :2] + x[:, 2:]) / 2, x[:, 2:] - x[:, :2]], 1) if trans else x for x in (a, b)]
    found = getattr(npu, name)(*(torch.tensor(x.T.copy()) for x in given), trans, False)
    assert found.shape == ((6, 1) if name == "npu_giou" else (1, 6))
    np.testing.assert_allclose(found.flatten().numpy(), expected, rtol=1e-7)
    with pytest.raises(RuntimeError, match="is_cross must be False"):
        getattr(npu, name)(*(torch.tensor(x.T.copy()) for x in given), trans, True)


def test_box_differences_there_and_back() -> None:
    a, b = (torch.tensor(_boxes(7)) for _ in range(2))
    numbers = [0.1, 0.2, -0.1, 0.3, 0.5, 2.0, 0.25, 4.0]
    found = npu.npu_bounding_box_encode(a, b, *numbers)
    centre, size = (a[:, :2] + a[:, 2:]) / 2, a[:, 2:] - a[:, :2] + 1
    expected = torch.cat([((b[:, :2] + b[:, 2:]) / 2 - centre) / size, torch.log((b[:, 2:] - b[:, :2] + 1) / size)], 1)
    torch.testing.assert_close(found, (expected - torch.tensor(numbers[:4])) / torch.tensor(numbers[4:]))
    torch.testing.assert_close(npu.npu_bounding_box_decode(a, found, *numbers, [1000, 1000], 1e-3), b)
    within = npu.npu_bounding_box_decode(a, found, *numbers, [21, 31], 1e-3)
    torch.testing.assert_close(within, torch.minimum(b, torch.tensor([30.0, 20.0, 30.0, 20.0], dtype=b.dtype)))
    with pytest.raises(RuntimeError, match="wh_ratio_clip must be in"):
        npu.npu_bounding_box_decode(a, found, *numbers, [21, 31], 0.0)


def test_differences_in_strides() -> None:
    ours, theirs = torch.tensor([[0.0, 0, 8, 4]]), torch.tensor([[2.0, 1, 6, 17]])
    found = npu.npu_yolo_boxes_encode(ours, theirs, torch.tensor([32], dtype=torch.int32))
    torch.testing.assert_close(found, torch.tensor([[0.5, 7 / 32 + 0.5, math.log(0.5), math.log(4)]]))


def test_anchors_that_answer() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [20, 8, 30, 10]])
    flags = npu.npu_anchor_response_flags(boxes, [2, 4], [8, 8], 2)
    assert flags.tolist() == [1, 1, 0, 0, 0, 0, 0, 0] + [0] * 6 + [1, 1] and flags.dtype == torch.uint8


def test_best_of_boxes_that_overlap() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 9], [20, 20, 30, 30]]).reshape(1, 3, 1, 4)
    scores = torch.tensor([[[0.5, 0.1], [0.9, 0.2], [0.3, 0.8]]])
    found, best, kinds, count = npu.npu_batch_nms(boxes, scores, 0.15, 0.5, 3, 5)
    assert count.tolist() == [4] and kinds.tolist() == [[0, 1, 0, 1, 0]]
    torch.testing.assert_close(best, torch.tensor([[0.9, 0.8, 0.3, 0.2, 0.0]]))
    assert found[0, :, 3].tolist() == [9, 30, 30, 9, 0]
    joined, classes = contrib.npu_multiclass_nms(
        boxes[0, :, 0], torch.cat([scores[0], scores[0, :, :1]], 1), 0.15, 0.5, 2
    )
    assert joined.shape == (2, 5) and classes.tolist() == [0, 1] and joined.dtype == torch.float16


def test_regions_of_a_plane() -> None:
    # A map that rises evenly: a region's cell is the map at its middle.
    rows, columns = torch.meshgrid(torch.arange(9.0), torch.arange(12.0), indexing="ij")
    maps = torch.stack([3 * rows + columns, rows - columns])[None].double().requires_grad_()
    found = npu.npu_roi_align(maps, torch.tensor([[0, 2.0, 2, 14, 10]]), 0.5, 2, 3, 2, 0)
    y, x = torch.tensor([2.0, 4.0]).reshape(2, 1), torch.tensor([2.0, 4.0, 6.0])
    torch.testing.assert_close(found[0], torch.stack([3 * y + x, y - x]).double())
    found.sum().backward()
    assert maps.grad is not None and maps.grad.sum().item() == pytest.approx(found.numel())
    shifted = contrib.ROIAlign((2, 3), 0.5, 2)(maps.detach(), torch.tensor([[0, 2.0, 2, 14, 10]]))
    torch.testing.assert_close(shifted[0], torch.stack([3 * (y - 0.5) + x - 0.5, y - x]).float())
    with pytest.raises(RuntimeError, match="roi_end_mode must be 0 or 3"):
        npu.npu_roi_align(maps, torch.zeros(1, 5), 1.0, 2, 2, 2, 1)


def test_overlaps_by_older_names() -> None:
    a, b = (torch.tensor(_boxes(3)).float() for _ in range(2))
    torch.testing.assert_close(contrib.npu_iou(a, b), npu.npu_ptiou(b, a))
    torch.testing.assert_close(contrib.npu_iou(a / 100, b / 100, "iou", True), npu.npu_iou(b, a), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(contrib.npu_giou(a, b), npu.npu_giou(a.t(), b.t(), True))
    with pytest.raises(ValueError, match="mode must be 'iou' or 'ptiou'"):
        contrib.npu_iou(a, b, "giou")


def test_modules_of_contrib() -> None:
    x = torch.randn(2, 4, 6, 6)
    plain = contrib.DCNv2(4, 3, 3, 2, 1)  # at first the places are the plain ones and the factors a half
    torch.testing.assert_close(
        plain(x), torch.nn.functional.conv2d(x, plain.weight / 2, plain.bias, 2, 1), rtol=1e-4, atol=1e-5
    )
    first, second = contrib.ChannelShuffle(8)(x, x + 10)
    joined = contrib.ChannelShuffle(8, split_shuffle=False)(x, x + 10)
    torch.testing.assert_close(joined, torch.nn.functional.channel_shuffle(torch.cat([x, x + 10], 1), 2))
    torch.testing.assert_close(torch.cat([first, second], 1), joined)
    scores, labels = torch.randn(5, 7), torch.randint(7, (5,))
    loss = contrib.LabelSmoothingCrossEntropy(7, 0.1)(scores, labels.float())
    smooth = torch.full((5, 7), 0.1 / 6).scatter(1, labels[:, None], 0.9)
    torch.testing.assert_close(loss, torch.nn.functional.cross_entropy(scores, smooth))
    layer = contrib.BiLSTM(3, 2)
    both = torch.nn.LSTM(3, 2, bidirectional=True)
    both.load_state_dict(
        {**layer.fw_rnn.state_dict(), **{f"{k}_reverse": v for k, v in layer.bw_rnn.state_dict().items()}}
    )
    torch.testing.assert_close(layer(x[0, 0, :, None, :3]), both(x[0, 0, :, None, :3])[0])
    assert contrib.FastBatchNorm2d(3).num_batches_tracked.dtype == torch.int32
    assert contrib.Focus(4, 5, 3)(x).shape == (2, 5, 3, 3)
    assert torch.equal(contrib.roll(x, (-1, 2), (1, 2)), torch.roll(x, (-1, 2), (1, 2)))
    torch.testing.assert_close(contrib.matmul_transpose(x, x), x @ x.mT)
    assert contrib.npu_fast_condition_index_put(x, x > 0, 2.0).max() == 2
    with pytest.raises(TypeError, match="condition must be of torch.bool"):
        contrib.npu_fast_condition_index_put(x, x, 2.0)
    mask = torch.zeros(1, 1, 6, 6)
    torch.testing.assert_close(
        contrib.fuse_add_softmax_dropout(True, torch.nn.Dropout(0), mask, x, 16, 0.0), torch.softmax(x / 4, -1)
    )


def test_quantised_layers() -> None:
    x, weight = (torch.randint(-8, 8, sizes, dtype=torch.int8) for sizes in ((3, 16), (5, 16)))
    scale = torch.rand(5)
    layer = contrib.LinearQuant(16, 5, bias=False, output_dtype=torch.bfloat16)
    layer.weight.data, layer.scale.data = weight, scale
    expected = (x.double() @ weight.double().t() * scale).bfloat16()
    torch.testing.assert_close(layer(x), expected)
    with pytest.raises(ValueError, match="input and weight must both be torch.int8 or torch.int32"):
        layer(x.float())
    floating = contrib.LinearWeightQuant(16, 5, bias=False, antiquant_offset=True)
    floating.weight.data, floating.antiquant_scale.data = weight, scale
    floating.antiquant_offset.data = torch.full((5,), 2.0)
    z = torch.randn(3, 16)
    torch.testing.assert_close(floating(z), z @ ((weight + 2) * scale[:, None]).t())


def test_cells_of_regions_from_maps_of_their_own() -> None:
    # Each cell is the mean of its own map's pixels from floor to ceil, by loops.
    cells, results, scale = 2, 3, 0.5
    maps = _RANDOM.normal(size=(2, results * cells * cells, 6, 7))
    regions = np.array([[[0, 1, 2, 9, 8], [0, 0, 0, 3, 11]], [[1, 4, 4, 4, 4], [1, 6.4, 0, 40, 5]]]).transpose(0, 2, 1)
    expected = np.zeros((4, results, cells, cells))
    for n, (image, x1, y1, x2, y2) in enumerate(regions.transpose(0, 2, 1).reshape(4, 5)):
        top, left = (math.floor(each + 0.5) * scale for each in (y1, x1))
        height, width = ((math.floor(each + 0.5) + 1) * scale for each in (y2, x2))
        height, width = max(height - top, 0.1) / cells, max(width - left, 0.1) / cells
        for c, i, j in np.ndindex(results, cells, cells):
            rows = slice(math.floor(top + i * height), min(6, math.ceil(top + (i + 1) * height)))
            columns = slice(math.floor(left + j * width), min(7, math.ceil(left + (j + 1) * width)))
            part = maps[int(image), (c * cells + i) * cells + j, rows, columns]
            expected[n, c, i, j] = part.mean() if part.size else 0
    features = torch.tensor(maps, requires_grad=True)
    pool = contrib.module.PSROIPool(cells, cells, scale, cells, results)
    found = pool(features, torch.tensor(regions))
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12, atol=1e-12)
    assert torch.autograd.gradcheck(lambda x: pool(x, torch.tensor(regions)), (features,))
    with pytest.raises(RuntimeError, match=r"must have the sizes \(n, output_dim \* group_size\*\*2 = 12"):
        pool(features[:, :4], torch.tensor(regions))
    with pytest.raises(ValueError, match="must be equal, but they are 7, 6 and 7"):
        contrib.module.PSROIPool(7, 6)


def test_colours_of_images() -> None:
    jitter = contrib.module.FusedColorJitter
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch_npu.contrib.module.FusedColorJitter", FutureWarning)
        image = _RANDOM.integers(0, 256, (4, 5, 3)).astype(np.uint8)
        assert (jitter(0, 0, 0, 0)(image) == image).all()
        # Exact factors: brightness and contrast by their formulas, no saturation leaves the luma, half a turn its complement.
        brighter = jitter(brightness=(1.5, 1.5), contrast=(0.5, 0.5))(image)
        expected = (image * 0.75 + 0.5 * 1.5 * 127.5).clip(0, 255)
        np.testing.assert_allclose(brighter, expected, atol=0.51)
        luma = image @ np.array([0.299, 0.587, 0.114])
        np.testing.assert_allclose(jitter(saturation=(0, 0))(image), np.repeat(luma[:, :, None], 3, 2), atol=0.51)
        turned = jitter(hue=(0.5, 0.5))(image.astype(np.float32))
        np.testing.assert_allclose(turned, (2 * luma[:, :, None] - image).clip(0, 255), atol=0.02)
        assert repr(jitter(0.25, hue=0.1)) == (
            "FusedColorJitter(brightness=[0.75, 1.25], contrast=None, saturation=None, hue=[-0.1, 0.1])"
        )
        for wrong, error, text in [
            ({"brightness": -1}, ValueError, "must not be negative"),
            ({"hue": 0.6}, ValueError, "hue must lie within"),
            ({"contrast": "a"}, TypeError, "contrast must be a number or a pair"),
        ]:
            with pytest.raises(error, match=text):
                jitter(**wrong)
        with pytest.raises(ValueError, match=r"\(height, width, 1, 3 or 4\) was expected"):
            jitter(0.1)(np.zeros((3, 4, 2)))


def test_product_with_a_transposed_factor_as_a_function() -> None:
    from mindtorch_v2.npu.torch_npu.contrib.function._matmul_transpose import MatmulApply

    a, b = (torch.randn(2, rows, 3, dtype=torch.float64, requires_grad=True) for rows in (4, 5))
    torch.testing.assert_close(MatmulApply.apply(a, b), a @ b.mT)
    assert torch.autograd.gradcheck(MatmulApply.apply, (a, b))


def test_counts_of_batches_are_int32() -> None:
    layers = contrib.module
    for layer in (layers.FastBatchNorm1d, layers.FastBatchNorm2d, layers.FastBatchNorm3d, layers.FastSyncBatchNorm):
        made = layer(3)
        assert made.num_batches_tracked.dtype == torch.int32
    x = torch.randn(4, 3)
    fast, plain = layers.FastBatchNorm1d(3), torch.nn.BatchNorm1d(3)
    torch.testing.assert_close(fast(x), plain(x))
    assert fast.num_batches_tracked.item() == 1
