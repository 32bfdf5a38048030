"""Small parts of `torch.utils`: decoders, locks, throughput, logged norms, counts as text; PyTorch's answers."""

import importlib
import io
import json
import logging
import pickle
import threading

import numpy
import pytest
from agreement import same, same_error

import mindtorch_v2 as torch


def _part(torch, name):
    return importlib.import_module(f"{torch.__name__}.utils.{name}")


CONTENTS = [
    ("a.txt", b"two words"),
    ("b.cls", b"3"),
    ("c.cls", b"three"),
    ("d.json", json.dumps({"a": [1]}).encode()),
    ("e.pickle", pickle.dumps((1, "x"))),
    ("f.bin", b"123"),
    ("folder.x/g.transcript", b"text"),
    ("_h", b"hidden"),
]


@pytest.mark.parametrize("place", range(len(CONTENTS)))
def test_files_are_decoded_by_their_endings(place):
    def program(torch):
        decoder = _part(torch, "data.datapipes.utils.decoder")
        return decoder.Decoder(decoder.basichandlers)(CONTENTS[place])

    same(program)


def test_streams_tensors_and_handlers_of_ones_own():
    def program(torch):
        decoder = _part(torch, "data.datapipes.utils.decoder")
        stream = io.BytesIO(b"one")
        own = decoder.Decoder(decoder.handle_extension("seg.raw", len), key_fn=lambda name: name.partition(".")[2])
        own.add_handler(decoder.basichandlers)
        found = own([("b.txt", stream), ("c.seg.RAW", b"12"), ("d.raw", b"1")])
        return found, stream.closed, own(None)

    same(program)
    file = io.BytesIO()
    torch.save(torch.arange(3), file)
    decoder = _part(torch, "data.datapipes.utils.decoder")  # PyTorch takes "pt" for a part of "transcript"
    assert decoder.basichandlers("pt", file.getvalue()).tolist() == [0, 1, 2]


def test_a_handler_knows_several_endings():
    decoder = _part(torch, "data.datapipes.utils.decoder")
    count = decoder.handle_extension("bin seg.raw", len)
    assert [count(name, b"12") for name in ("a.bin", "a.seg.raw", "a.raw", "raw")] == [2, 2, None, None]


@pytest.mark.parametrize("name", ["l8", "rgb8", "rgba8", "rgb", "l", "torchrgb8", "torchrgb", "torch", "torchrgba"])
def test_images_are_decoded(name):
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image.fromarray(numpy.arange(24, dtype=numpy.uint8).reshape(2, 4, 3)).save(file, "png")

    def program(torch):
        handler = _part(torch, "data.datapipes.utils.decoder").imagehandler(name)
        assert handler("txt", b"") is None
        return handler("PNG", file.getvalue())

    same(program, rtol=1e-6)


def test_forms_of_images():
    same(lambda torch: dict(sorted(_part(torch, "data.datapipes.utils.decoder").imagespecs.items())))
    same_error(lambda torch: _part(torch, "data.datapipes.utils.decoder").ImageHandler("cmyk"))
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image.new("L", (2, 3)).save(file, "png")
    found = _part(torch, "data.datapipes.utils.decoder").imagehandler("pilrgb")("png", file.getvalue())
    assert found.mode == "RGB" and found.size == (2, 3)


@pytest.mark.filterwarnings("ignore:.*RoutedDecoderIterDataPipe:FutureWarning")
def test_a_pipe_of_decoded_files():
    def program(torch):
        pipe = _part(torch, "data.datapipes.iter.routeddecoder").RoutedDecoderIterDataPipe
        files = [("a.txt", io.BytesIO(b"one")), ("b.cls", io.BytesIO(b"2")), ("c.raw", io.BytesIO(b"3"))]
        decoded = pipe(files)
        decoded.add_handler(lambda ending, data: len(data) if ending == "raw" else None)
        return len(decoded), list(decoded)

    same(program)
    with pytest.warns(FutureWarning, match="routed_decode"):
        pipe = _part(torch, "data.datapipes.iter.routeddecoder").RoutedDecoderIterDataPipe(iter(()))
    with pytest.raises(TypeError, match="RoutedDecoderIterDataPipe instance doesn't have valid length"):
        len(pipe)


def test_workers_need_no_start():
    with pytest.warns(FutureWarning, match="`DataLoader` automatically applies sharding"):
        assert _part(torch, "data.backward_compatibility").worker_init_fn(1) is None


def test_one_holds_the_lock_and_others_wait(tmp_path):
    baton = _part(torch, "file_baton").FileBaton(str(tmp_path / "lock"), wait_seconds=0.01, warn_after_seconds=0.02)
    assert baton.try_acquire() and not baton.try_acquire()
    timer = threading.Timer(0.2, baton.release)
    timer.start()
    with pytest.warns(UserWarning, match="Waited on lock file '.*lock' for 0.02 seconds"):
        baton.wait()
    timer.join()
    assert not (tmp_path / "lock").exists() and baton.try_acquire()
    baton.release()


@pytest.mark.parametrize(
    "given", [{"time_us": 999}, {"time_us": 1500}, {"time_ms": 0.5}, {"time_s": 2}, {"time_us": 2e6}]
)
def test_times_as_text(given):
    same(lambda torch: _part(torch, "throughput_benchmark").format_time(**given))


def test_times_that_are_not_one():
    same_error(lambda torch: _part(torch, "throughput_benchmark").format_time())
    same_error(lambda torch: _part(torch, "throughput_benchmark").format_time(time_us=1, time_s=2))


def test_throughput_is_measured(tmp_path):
    seen = []

    class Layer(torch.nn.Module):
        def forward(self, x, *, y):
            seen.append((threading.get_ident(), torch.is_grad_enabled(), int(y)))
            return x + y

    bench = torch.utils.ThroughputBenchmark(Layer())
    assert bench.run_once(torch.ones(1), y=2).tolist() == [3]
    seen.clear()
    for place in range(3):
        bench.add_input(torch.ones(2), y=place)
    stats = bench.benchmark(num_calling_threads=2, num_warmup_iters=3, num_iters=20)
    assert len(seen) == 2 * 3 + 20 and {grad for _, grad, _ in seen} == {False} and {y for *_, y in seen} == {0, 1, 2}
    assert len({thread for thread, *_ in seen}) == 2
    assert stats.total_time_seconds == pytest.approx(20 * stats.latency_avg_ms / 1000 / 2)
    assert stats.iters_per_second == pytest.approx(20 / stats.total_time_seconds)
    assert str(stats).splitlines()[1] == "Total number of iterations: 20"
    path = tmp_path / "trace.json"
    bench.benchmark(num_warmup_iters=0, num_iters=2, profiler_output_path=str(path))
    assert json.loads(path.read_text())["traceEvents"]


def test_throughput_of_what_fails():
    bench = torch.utils.ThroughputBenchmark(torch.nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="expected inputs, but none was added"):
        bench.benchmark()
    bench.add_input(torch.ones(3))
    with pytest.raises(RuntimeError, match="shape|size"):
        bench.benchmark(num_calling_threads=2)
    with pytest.raises(TypeError, match="expected a Module, but got int"):
        torch.utils.ThroughputBenchmark(3)


def _logged(torch, caplog):
    caplog.clear()
    with caplog.at_level(logging.INFO, "torch.utils.debug_log"):
        x = torch.ones(4, requires_grad=True)
        y, other = x * 2, torch.ones(1)
        _part(torch, "debug_log").debug_grad_log(x, other, y)
        (y * 3 + x).sum().backward()
    return [each.getMessage() for each in caplog.records]


def test_norms_of_gradients_are_logged(caplog):
    assert _logged(torch, caplog) == ["[rank 0][bwd] t0_grad_norm=14.0000 t1_grad_norm=6.0000"]
    _part(torch, "debug_log").debug_grad_log(torch.ones(1))


@pytest.mark.parametrize(
    "call",
    [
        "mm_flop((2, 3), (3, 4))",
        "addmm_flop((4,), (2, 3), (3, 4))",
        "bmm_flop((5, 2, 3), (5, 3, 4))",
        "baddbmm_flop((4,), (5, 2, 3), (5, 3, 4))",
        "conv_flop((1, 2, 8), (3, 2, 4), None, [1], [0], [1], False, out_val=(1, 3, 5))",
        "conv_backward_flop((1, 3, 5), (1, 2, 8), (3, 2, 4), None, [1], [0], [1], False, [0], 1, [True, True, False], out_val=[(1, 2, 8), (3, 2, 4)])",
        "get_suffix_str(999)",
        "get_suffix_str(1010000000)",
        "get_suffix_str(10 ** 20)",
        "convert_num_with_suffix(1234567, 'M')",
        "convert_to_percent_str(1, 3)",
        "convert_to_percent_str(1, 0)",
        "normalize_tuple(3)",
        "normalize_tuple((3,))",
        "normalize_tuple([3])",
        "suffixes",
    ],
)  # fmt: skip
def test_counts_of_operations(call):
    same(lambda torch: eval(call, dict(vars(_part(torch, "flop_counter")))))


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("get_gcc_version", "gcc (Debian 12.2.0-14) 12.2.0\nCopyright"),
        ("get_clang_version", "Debian clang version 14.0.6\nTarget"),
        ("get_cmake_version", "cmake version 3.25.1\n\nCMake suite"),
        ("get_gcc_version", "no such"),
        ("get_os", "Description:\tDebian GNU/Linux 12 (bookworm)"),
        ("get_os", 'PRETTY_NAME="Debian 12"\nNAME="Debian"'),
        ("get_cpu_info", "Architecture: x86_64"),
    ],
)
def test_the_machine_by_what_programs_print(name, output):
    def program(torch):
        function = getattr(_part(torch, "collect_env"), name)
        return function(lambda command: (0, output, "")), function(lambda command: (1, output, ""))

    same(program)


def test_output_of_programs():
    def program(torch):
        part = _part(torch, "collect_env")
        good, bad = (lambda command: (0, f"{command}\ntwo", "")), (lambda command: (1, "x", ""))
        return [
            [
                part.run_and_read_all(runner, "one"),
                part.run_and_return_first_line(runner, "one"),
                part.run_and_parse_first_match(runner, "one", "t(w.)"),
            ]
            for runner in (good, bad)
        ]

    same(program)
    for name in ("get_platform", "get_python_platform", "get_libc_version"):
        same(lambda torch, name=name: getattr(_part(torch, "collect_env"), name)())
    assert not _part(torch, "collect_env").is_xnnpack_available()
