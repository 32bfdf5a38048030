"""Run stable_checks.cpp's library: `python stable_program.py mindtorch_v2 library.so`, or with torch. It raises where a check fails."""

import importlib
import sys

CHECKS = "tensor views_and_copies new_tensors arithmetic devices threads dispatch lists accessors".split()


def raised(error, function, *args):
    try:
        function(*args)
    except error as e:
        return str(e)
    raise AssertionError(f"{function} did not raise {error.__name__}")


def main(torch):
    ops = torch.ops.stable_checks
    for name in CHECKS:
        getattr(ops, f"check_{name}")()

    a, b = torch.arange(4.0), torch.full((4,), 2.0)
    assert ops.muladd(a, b, 1.0).tolist() == [1, 3, 5, 7]
    assert ops.muladd(a.double(), b.double(), 1).dtype == torch.float64
    assert ops.muladd(a.reshape(2, 2).t(), b.reshape(2, 2), 0.0).tolist() == [[0, 4], [2, 6]]
    assert "muladd: 4 and 3 elements" in raised(RuntimeError, ops.muladd, a, torch.ones(3), 1.0)
    assert "\"muladd\" not implemented for 'Int'" in raised(RuntimeError, ops.muladd, a.int(), b.int(), 1.0)
    x = torch.ones(2)
    assert ops.scale_(x, 3.0) is None
    assert x.tolist() == [3, 3]
    first, second = ops.halves(a)
    assert first.tolist() == [0, 1] and second.tolist() == [2, 3]
    text = ops.describe(
        a, None, -7, 2.5, True, "word", [1, 2], 0.5, torch.float16, torch.device("cpu"), [a, x], None, ["p", "q r"]
    )
    assert text == "4 none -7 2.500000 true word 1 2 0.500000 Half cpu 4 2 none p q r", text
    text = ops.describe(a, b, 1 << 40, -1.0, False, "", [], None, torch.bool, torch.device("cpu"), [], "é", [])
    assert text == "4 tensor 1099511627776 -1.000000 false  none Bool cpu é", text
    assert ops.total([1, 2], None, a) == 3 and ops.total([1], [10, 20], a) == 31
    pieces = ops.pieces([a, x])
    assert [p.tolist() for p in pieces] == [a.tolist(), x.tolist()] and pieces[0] is not a
    assert ops.maybe(a, True).tolist() == a.tolist() and ops.maybe(a, False) is None

    assert ops.abs(-b).tolist() == b.tolist() and ops.thrice(a).tolist() == [0, 3, 6, 9]
    for dtype in (torch.bool, torch.uint16, torch.bfloat16, torch.complex128):
        assert ops.size_of(torch.zeros(1, dtype=dtype)) == dtype.itemsize
    references = sys.getrefcount(a)
    for _ in range(10):
        ops.muladd(a, b, 1.0), ops.halves(a), ops.pieces([a, x]), ops.maybe(a, True)
    assert sys.getrefcount(a) == references

    for kind, part in enumerate(
        ["a message of 2 parts", "a plain error", "API call failed at", "an error of a worker"]
    ):
        assert part in raised(RuntimeError, ops.raises, a, kind), kind
    for kind, error in enumerate([IndexError, ValueError, ValueError, OverflowError, MemoryError], 4):
        raised(error, ops.raises, a, kind)
    assert "Registered schema has 2 args, but the kernel to box has 1" in raised(RuntimeError, ops.wrong, a, 1)

    # The registry is Python's: fake kernels, gradients, graphs.
    torch.library.register_fake("stable_checks::muladd")(lambda a, b, c: torch.empty_like(a))
    torch.library.register_autograd(
        "stable_checks::muladd",
        lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0], None),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[:2]),
    )
    p, q = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    ops.muladd(p, q, 1.0).sum().backward()
    assert torch.equal(p.grad, q.detach())
    assert ops.muladd(p.to("meta"), q.to("meta"), 1.0).device.type == "meta"
    if torch.__name__ != "torch":
        assert set(torch.library.opcheck(ops.muladd.default, (p, q, 1.5)).values()) == {"SUCCESS"}


if __name__ == "__main__":
    module = importlib.import_module(sys.argv[1])
    module.ops.load_library(sys.argv[2])
    main(module)
