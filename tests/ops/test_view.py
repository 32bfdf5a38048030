"""Views: results, strides, sharing, gradients and errors against PyTorch."""

import pytest
from agreement import agree, agree_on_error

_VIEWS = {
    "view": "x.view(6, 4), x.view(-1), x.view(2, 1, 12), x[:, :, :1].view(2, 3), x.transpose(0, 1).view(3, 2, 2, 2)",
    "reshape": "x.reshape(6, -1), x.t3.reshape(-1), x.t3.reshape(4, 6), torch.zeros(0, 3).reshape(3, 0), torch.tensor(1.0).reshape(1, 1)",
    "flatten": "x.flatten(), x.flatten(1), x.flatten(0, 1), x.t3.flatten(1), torch.tensor(1.0).flatten(), x.ravel()",
    "unflatten": "x.unflatten(2, (2, 2)), x.unflatten(-1, (-1, 2))",
    "expand": "x[:, :1].expand(2, 3, 4), x.expand(5, -1, 3, 4), x[0, 0].expand(2, 4), x[:1].expand_as(x), x[:1].broadcast_to(4, 3, 4)",
    "permute": "x.permute(2, 0, 1), x.permute(-1, 0, 1), torch.permute(x, (1, 0, 2))",
    "transpose": "x.transpose(0, 2), x[0].t(), x[0].T, x.mT, x.swapaxes(0, 1), x[0].H, x.mH, x.adjoint()",
    "movedim": "x.movedim(0, 2), x.movedim((0, 1), (2, 0)), torch.moveaxis(x, -1, 0)",
    "squeeze": "x[:, :1].squeeze(), x[:1, :1].squeeze(0), x[:, :1].squeeze((0, 1)), x.squeeze(0), x.unsqueeze(1), x.unsqueeze(-1)",
    "select": "x.select(1, 2), x.select(-1, -1), x.narrow(1, 1, 2), x.narrow(2, -3, 2)",
    "split": "x.split(2, 2), x.split([1, 2], 1), x.chunk(3, 2), x.chunk(5, 1), x.unbind(1), torch.split(x, 3, -1)",
    "tensor_split": "x.tensor_split(3, 2), x.tensor_split((1, 3), 2), x.tensor_split((1, 7), 1), x.hsplit(3), x.vsplit(2), x.dsplit([1])",
    "unfold": "x.unfold(2, 2, 1), x.unfold(1, 3, 1), x[0, 0].unfold(0, 3, 2)",
    "diagonal": "x.diagonal(), x.diagonal(1, 1, 2), x.diagonal(-1, 2, 1), x.diagonal(9)",
    "as_strided": "x.as_strided((2, 2), (12, 1)), x.as_strided((3, 3), (1, 1), 2)",
    "copies": "torch.view_copy(x, (6, 4)), torch.permute_copy(x, (2, 0, 1)), torch.unbind_copy(x), torch.squeeze_copy(x[:, :1])",
}


def _names(torch):
    x = torch.arange(24.0).view(2, 3, 4).requires_grad_()
    return {"torch": torch, "leaf": x, "x": x}


class _WithTransposed:
    """x.t3: x with its dimensions reversed, for the texts above."""

    def __init__(self, x):
        self._x = x
        self.t3 = x.permute(2, 1, 0)

    def __getattr__(self, name):
        return getattr(self._x, name)

    def __getitem__(self, index):
        return self._x[index]


def _run(torch, text):
    names = _names(torch)
    if "x.t3" in text:
        names["x"] = _WithTransposed(names["leaf"])
    results = eval(text, names)
    flat = []
    for r in results if isinstance(results, tuple) else (results,):
        flat += r if isinstance(r, (tuple, list)) else [r]
    return names["leaf"], flat


@pytest.mark.parametrize("name", _VIEWS)
def test_views_and_gradients(name):
    def program(torch):
        leaf, flat = _run(torch, _VIEWS[name])
        smooth = [r for r in flat if r.requires_grad]
        torch.autograd.backward(smooth, [torch.arange(1.0, r.numel() + 1).view(r.shape) for r in smooth])
        return flat, leaf.grad

    agree(program)


@pytest.mark.parametrize("name", [n for n in _VIEWS if n not in ("copies", "reshape", "flatten")])
def test_views_share_memory(name):
    def program(torch):
        leaf, flat = _run(torch, _VIEWS[name])
        return [r.untyped_storage().data_ptr() == leaf.untyped_storage().data_ptr() for r in flat], [
            r.storage_offset() for r in flat
        ]

    agree(program)


@pytest.mark.parametrize(
    "text",
    [
        "x.view(5, 5)", "x.view(-1, -1)", "x.view(-2)", "x.transpose(0, 2).view(24)", "torch.zeros(0).view(0, -1)", "x.expand(3)",
        "x.expand(4, 2, 3, 5)", "x.expand(-1, 2, 3, 4)", "x.permute(0)", "x.permute(0, 0, 1)", "x.transpose(0, 3)", "x.t()",
        "x.select(0, 5)", "torch.tensor(1.0).select(0, 0)", "x.narrow(0, 0, 5)", "x.narrow(0, 5, 1)", "x.narrow(0, 0, -1)", "x.split(-1)",
        "x.split([1, 2])", "x.split(0)", "x.chunk(0)", "torch.tensor(1).unbind()", "x.unfold(0, 3, 1)", "x.unfold(0, 1, 0)",
        "x.diagonal(0, 1, 1)", "x.as_strided((9, 9), (5, 1))", "x.as_strided((3,), (-1,))", "x.squeeze((0, 0))", "x.flatten(1, 0)",
        "x.unflatten(1, (2, 2))", "x.imag", "x.view(torch.complex128).view(3)", "x[0, 0, 0].view(torch.int16)",
    ],
)  # fmt: skip
def test_errors(text):
    agree_on_error(lambda torch: eval(text, _names(torch)))


def test_views_of_other_dtypes():
    def program(torch):
        x = torch.arange(8.0).view(2, 4)
        z = torch.complex(x, -x)
        return (
            x.view(torch.int32), x.view(torch.int16), x.view(torch.float64), x.view(torch.uint8)[:, :4], torch.view_as_real(z),
            torch.view_as_complex(x.view(2, 2, 2)), z.real, z.imag, x.real, torch.polar(x, x),
        )  # fmt: skip

    agree(program)


def test_gradients_of_complex_parts():
    def program(torch):
        x = torch.arange(1.0, 5.0).requires_grad_()
        y = (torch.arange(4.0) - 1).requires_grad_()
        z = torch.complex(x, y)
        outs = [z.real * 2, z.imag * 3, torch.view_as_real(z), torch.polar(x, y).real]
        torch.autograd.backward(outs, [torch.arange(1.0, o.numel() + 1).view(o.shape) for o in outs])
        return x.grad, y.grad

    agree(program)


def test_writing_through_views():
    def program(torch):
        leaf = torch.arange(24.0).view(2, 3, 4).requires_grad_()
        x = leaf * 1
        x[0].mul_(2)
        x.view(-1)[3:5].add_(1)
        x.transpose(0, 2)[1].mul_(3)
        x.select(1, 0).copy_(torch.ones(2, 4))
        x.backward(torch.arange(24.0).view(2, 3, 4))
        return x, leaf.grad

    agree(program)


def test_changing_the_tensor_itself():
    def program(torch):
        x = torch.arange(6.0).view(1, 2, 3)
        y = x.clone().squeeze_(0)
        z = x.clone().transpose_(1, 2)
        w = x.clone().unsqueeze_(0)
        t = x[0].clone().t_()
        r = x.clone().resize_(2, 2)
        s = torch.empty(0).set_(x.untyped_storage(), 1, (2, 2), (2, 1))
        u = torch.empty(0).set_(x)
        return y, z, w, t, r, s, u

    agree(program)


def test_meta_views():
    def program(torch):
        x = torch.empty(2, 3, 4, device="meta")
        return [
            (tuple(y.shape), y.stride(), str(y.device))
            for y in (
                x.view(6, 4),
                x.permute(2, 0, 1),
                x[:, 1],
                x[..., None],
                x.expand(5, 2, 3, 4),
                x.reshape(-1),
                torch.cat([x, x]),
                x.flip(0),
            )
        ]

    agree(program)
