"""The C functions of the stable ABI one by one. Expected values are PyTorch 2.13's: with --live it runs the same checks."""

import ctypes

import pytest

from .stable_library import Deleter, Failed, LoopBody, double_bits, double_of

I32, I64, U32, U64, SIZE, POINTER = (
    ctypes.c_int32,
    ctypes.c_int64,
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_size_t,
    ctypes.c_void_p,
)
BOOL = ctypes.c_bool

NUMBERS = {
    "aoti_torch_device_type_": "cpu=0 cuda=1 xpu=12 mps=13 meta=14 privateuse1=20",
    "aoti_torch_dtype_": "uint8=0 int8=1 int16=2 int32=3 int64=4 float16=5 float32=6 float64=7 complex32=8 complex64=9 "
    "complex128=10 bool=11 bfloat16=15 float8_e5m2=23 float8_e4m3fn=24 float8_e5m2fnuz=25 float8_e4m3fnuz=26 uint16=27 "
    "uint32=28 uint64=29",
    "torch_dtype_": "float8_e8m0fnu=44 float4_e2m1fn_x2=45",
    "aoti_torch_layout_": "strided=0 sparse_coo=1 sparse_csr=2 _mkldnn=3 sparse_csc=4 sparse_bsr=5 sparse_bsc=6 jagged=7",
    "aoti_torch_memory_format_": "contiguous_format=0 preserve_format=1 channels_last=2 channels_last_3d=3",
    "torch_tag_": "core=0 cudagraph_unsafe=1 data_dependent_output=2 dynamic_output_shape=3 flexible_layout=4 generated=5 "
    "inplace_view=7 maybe_aliasing_or_mutating=8 needs_contiguous_strides=9 needs_exact_strides=10 "
    "needs_fixed_stride_order=11 nondeterministic_bitwise=12 nondeterministic_seeded=13 out_variant=15 pointwise=16 "
    "pt2_compliant_tag=17 reduction=18 view_copy=19",
}


@pytest.mark.parametrize("prefix", NUMBERS)
def test_numbers(abi, prefix):
    for entry in NUMBERS[prefix].split():
        name, number = entry.split("=")
        assert abi.number(prefix + name) == int(number), name


def test_version_and_element_sizes(abi):
    assert abi.library.aoti_torch_abi_version() >> 40 == 2 << 16 | 13 << 8
    sizes = {dtype: abi.library.aoti_torch_dtype_element_size(dtype) for dtype in (0, 2, 6, 7, 10, 11, 15, 24, 45)}
    assert sizes == {0: 1, 2: 2, 6: 4, 7: 8, 10: 16, 11: 1, 15: 2, 24: 1, 45: 1}


def test_what_a_tensor_is(abi):
    h = abi.tensor([0, 1, 2, 3, 4, 5], [2, 3])
    assert abi.sizes(h) == [2, 3]
    strides = abi.call("aoti_torch_get_strides", h, out=POINTER)
    assert list((I64 * 2).from_address(strides)) == [3, 1]
    assert [abi.call("aoti_torch_get_size", h, d, out=I64) for d in (0, 1, -1, -2)] == [2, 3, 3, 2]
    assert [abi.call("aoti_torch_get_stride", h, d, out=I64) for d in (0, -1)] == [3, 1]
    assert abi.call("aoti_torch_get_numel", h, out=I64) == 6
    assert abi.call("aoti_torch_get_dtype", h, out=I32) == 6
    assert abi.call("aoti_torch_get_layout", h, out=I32) == 0
    assert abi.call("aoti_torch_get_device_type", h, out=I32) == 0
    assert abi.call("aoti_torch_get_device_index", h, out=I32) == -1
    assert abi.call("aoti_torch_get_storage_offset", h, out=I64) == 0
    assert abi.call("aoti_torch_get_storage_size", h, out=I64) == 24
    assert abi.call("aoti_torch_get_storage_numel", h, out=I64) == 6
    assert abi.call("aoti_torch_is_contiguous", h, out=BOOL) is True
    assert abi.call("aoti_torch_is_defined", h, out=BOOL) is True
    address = abi.call("aoti_torch_get_data_ptr", h, out=POINTER)
    assert address == abi.call("torch_get_mutable_data_ptr", h, out=POINTER)
    assert address == abi.call("torch_get_const_data_ptr", h, out=POINTER)
    for d in (2, -3):
        with pytest.raises(
            Failed, match=rf"Dimension out of range \(expected to be in range of \[-2, 1\], but got {d}\)"
        ):
            abi.call("aoti_torch_get_size", h, d, out=I64)
    abi.delete(h)


def test_the_undefined_tensor(abi):
    h = POINTER(abi.call("aoti_torch_new_uninitialized_tensor", out=POINTER))
    assert abi.call("aoti_torch_is_defined", h, out=BOOL) is False
    assert (abi.call("aoti_torch_get_dim", h, out=I64), abi.call("aoti_torch_get_numel", h, out=I64)) == (1, 0)
    assert abi.call("aoti_torch_get_dtype", h, out=I32) == 46
    assert abi.call("aoti_torch_get_size", h, 0, out=I64) == 0
    assert abi.call("aoti_torch_is_contiguous", h, out=BOOL) is True
    for function, text in {
        "aoti_torch_get_device_type": "tensor does not have a device",
        "aoti_torch_get_device_index": "tensor does not have a device",
        "aoti_torch_get_data_ptr": "Cannot access data pointer of Tensor that doesn't have storage",
        "aoti_torch_get_storage_size": "Cannot access storage of UndefinedTensorImpl",
        "aoti_torch_get_strides": "undefined Tensor",
    }.items():
        with pytest.raises(Failed, match=text):
            abi.call(function, h, out=I64)
    abi.delete(h)


def test_handles_share_a_tensor(abi):
    h = abi.tensor([1, 2])
    other = POINTER(abi.call("aoti_torch_new_tensor_handle", h, out=POINTER))
    abi.delete(h)
    assert abi.values(other) == [1, 2]
    abi.call("aoti_torch_zero_", other)
    assert abi.values(other) == [0, 0]
    abi.delete(other)


def _blob(abi, data, sizes, strides, offset, dtype=6, layout=0, deleter=None):
    function = "torch_from_blob" if deleter else "aoti_torch_create_tensor_from_blob_v2"
    out = POINTER()
    n = len(sizes)
    rest = [deleter, POINTER(17)] if deleter else []
    given = [data, I64(n), (I64 * n)(*sizes), (I64 * n)(*strides), I64(offset), I32(dtype), I32(0), I32(-1)]
    given += [ctypes.byref(out), I32(layout), None, I64(0), *rest]
    if getattr(abi.library, function)(*given):
        raise Failed(abi.what())
    return out


def test_tensors_over_other_memory(abi):
    data = (ctypes.c_float * 6)(*range(6))
    h = _blob(abi, data, [2, 2], [2, 1], 1)
    assert abi.values(h) == [1, 2, 3, 4]
    assert abi.call("aoti_torch_get_data_ptr", h, out=POINTER) == ctypes.addressof(data) + 4
    assert abi.call("aoti_torch_get_storage_offset", h, out=I64) == 1
    assert abi.call("aoti_torch_get_storage_size", h, out=I64) == 20
    data[1] = 9
    assert abi.values(h)[0] == 9
    abi.delete(h)
    nothing = _blob(abi, None, [2, 2], [2, 1], 0)
    assert abi.sizes(nothing) == [2, 2] and abi.call("aoti_torch_get_storage_size", nothing, out=I64) == 16
    abi.delete(nothing)


def test_the_deleter_runs_once(abi):
    data = (ctypes.c_float * 4)(1, 2, 3, 4)
    ran = []
    deleter = Deleter(lambda p, context: ran.append((p, context)))
    for offset in (0, 1):
        h = _blob(abi, data, [3 - offset], [1], offset, deleter=deleter)
        other = POINTER(abi.call("aoti_torch_new_tensor_handle", h, out=POINTER))
        abi.delete(h)
        assert len(ran) == offset
        abi.delete(other)
    assert ran == [(ctypes.addressof(data), 17)] * 2


def test_values_of_one_element(abi):
    h = abi.tensor([2.5])
    assert abi.call("aoti_torch_item_float32", h, out=ctypes.c_float) == 2.5
    abi.delete(h)
    two = abi.tensor([1, 2])
    with pytest.raises(Failed):
        abi.call("aoti_torch_item_float32", two, out=ctypes.c_float)
    abi.delete(two)
    for name, kind, value in [
        ("bool", BOOL, True),
        ("int8", ctypes.c_int8, -3),
        ("int16", ctypes.c_int16, -300),
        ("int32", I32, -70000),
        ("int64", I64, -(1 << 40)),
        ("uint8", ctypes.c_uint8, 200),
        ("float32", ctypes.c_float, 0.5),
        ("float64", ctypes.c_double, 0.1),
    ]:
        h = POINTER(abi.call(f"aoti_torch_scalar_to_tensor_{name}", kind(value), out=POINTER))
        assert abi.sizes(h) == []
        assert abi.call("aoti_torch_get_dtype", h, out=I32) == abi.number(f"aoti_torch_dtype_{name}")
        assert abi.call(f"aoti_torch_item_{name}", h, out=kind) == value
        abi.delete(h)


@pytest.mark.parametrize(
    ("source", "value", "target", "expected"),
    [
        ("float64", 2.5, "int8", 2),
        ("float64", 1e10, "int64", 10**10),
        ("float64", 1e10, "int32", "int"),
        ("float64", 127.5, "int8", "int8_t"),
        ("float64", -0.5, "uint8", "uint8_t"),
        ("float64", float("nan"), "bool", True),
        ("float64", float("nan"), "int16", "int16_t"),
        ("float64", 1e300, "float32", "float"),
        ("float64", float("inf"), "float32", float("inf")),
        ("int64", -1, "uint8", 255),
        ("int64", -300, "uint16", 65236),
        ("int64", -300, "uint8", "uint8_t"),
        ("int64", 300, "int8", "int8_t"),
        ("uint64", (1 << 64) - 1, "uint64", (1 << 64) - 1),
        ("uint64", (1 << 64) - 1, "float64", 2.0**64),
        ("uint64", (1 << 64) - 1, "int64", "int64_t"),
    ],
)
def test_values_as_another_type(abi, source, value, target, expected):
    kinds = {"float32": ctypes.c_float, "float64": ctypes.c_double, "bool": BOOL}
    kinds.update({f"{u}int{n}": getattr(ctypes, f"c_{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)})
    h = POINTER(abi.call(f"aoti_torch_scalar_to_tensor_{source}", kinds[source](value), out=POINTER))
    if isinstance(expected, str):
        with pytest.raises(Failed, match=f"value cannot be converted to type {expected} without overflow"):
            abi.call(f"aoti_torch_item_{target}", h, out=kinds[target])
    else:
        assert abi.call(f"aoti_torch_item_{target}", h, out=kinds[target]) == expected
    abi.delete(h)


def test_strings(abi):
    h = abi.string("two words, é")
    assert abi.text(h) == "two words, é"
    abi.call("torch_delete_string", POINTER(h))


def test_lists(abi):
    h = abi.list([3, 5])
    assert abi.items(h) == [3, 5]
    abi.call("torch_list_set_item", POINTER(h), SIZE(1), U64(7))
    assert abi.items(h) == [3, 7]
    with pytest.raises(Failed):
        abi.call("torch_list_get_item", POINTER(h), SIZE(2), out=U64)
    with pytest.raises(Failed):
        abi.call("torch_list_set_item", POINTER(h), SIZE(2), U64(0))
    abi.call("torch_delete_list", POINTER(h))
    empty = abi.call("torch_new_list_reserve_size", SIZE(9), out=POINTER)
    assert abi.call("torch_list_size", POINTER(empty), out=SIZE) == 0
    abi.call("torch_delete_list", POINTER(empty))


def test_cells(abi):
    cell = abi.cell(12)
    assert abi.inner(cell) == 12
    with pytest.raises(Failed):
        abi.call("torch_delete_stable_ivalue", POINTER())


@pytest.mark.parametrize(
    ("text", "device"),
    [("cpu", (0, -1)), ("cuda:1", (1, 1)), ("meta", (14, -1)), ("cpu:0", (0, 0)), ("privateuseone:2", (20, 2))],
)
def test_devices_by_name(abi, text, device):
    assert abi.call("torch_parse_device_string", text, out=[U32, I32]) == device


@pytest.mark.parametrize("text", ["nothing", "cuda:", ""])
def test_no_device_has_this_name(abi, text):
    with pytest.raises(Failed, match="[Dd]evice"):
        abi.call("torch_parse_device_string", text, out=[U32, I32])


def test_there_is_no_accelerator(abi):
    if abi.torch.accelerator.is_available():
        pytest.skip("there is one")
    for function, args in {
        "aoti_torch_get_current_device_index": [],
        "aoti_torch_create_device_guard": [I32(0)],
        "aoti_torch_get_current_stream": [I32(0)],
    }.items():
        with pytest.raises(Failed, match="Cannot access accelerator device when none is available"):
            abi.call(function, *args, out=POINTER)


def test_parallel_loops(abi):
    parts = []
    body = LoopBody(lambda begin, end, context: parts.append((begin, end, context)))
    abi.call("torch_parallel_for", 3, 3, 1, body, POINTER(5))
    assert parts == []
    # The calling thread holds Python's lock here, which a body in Python needs on every thread.
    threads = abi.torch.get_num_threads()
    abi.torch.set_num_threads(1)
    try:
        abi.call("torch_parallel_for", 2, 10, 4, body, POINTER(5))
        assert abi.call("torch_get_num_threads", out=U32) == 1
        assert abi.call("torch_get_thread_idx", out=U32) == 0
    finally:
        abi.torch.set_num_threads(threads)
    assert sorted(i for begin, end, _ in parts for i in range(begin, end)) == list(range(2, 10))
    assert {context for _, _, context in parts} == {5}


def test_gradients_may_be_asked_for(abi):
    h = abi.tensor([1, 2])
    abi.call("torch_set_requires_grad", h, True)
    (doubled,) = abi.dispatch("aten::exp", "", h.value)  # the handle is taken
    assert abi.sizes(POINTER(doubled)) == [2]
    abi.delete(POINTER(doubled))
    assert abi.library.aoti_torch_grad_mode_is_enabled() & 1 == 1
    abi.library.aoti_torch_grad_mode_set_enabled(False)
    assert not abi.torch.is_grad_enabled()
    abi.library.aoti_torch_grad_mode_set_enabled(True)
    assert abi.torch.is_grad_enabled()


def test_operators_with_a_function_of_their_own(abi):
    h = abi.tensor([0, 5, 2, 3, 4, 1], [2, 3])
    dims = (I64 * 1)(1)
    largest = POINTER(abi.call("aoti_torch_aten_amax", h, dims, 1, I32(1), out=POINTER))
    assert (abi.sizes(largest), abi.values(largest)) == ([2, 1], [5, 4])
    narrow = POINTER(abi.call("aoti_torch_aten_narrow", h, 1, 1, 2, out=POINTER))
    assert abi.sizes(narrow) == [2, 2] and abi.call("aoti_torch_is_contiguous", narrow, out=BOOL) is False
    clone = POINTER(abi.call("aoti_torch_clone", narrow, out=POINTER))
    assert abi.values(POINTER(abi.call("aoti_torch_aten_subtract_Tensor", clone, clone, 0.5, out=POINTER))) == [
        2.5,
        1,
        2,
        0.5,
    ]
    pad = (I64 * 2)(1, 0)
    value = ctypes.byref(ctypes.c_double(7))
    padded = POINTER(abi.call("aoti_torch_aten_pad", largest, pad, 2, "constant", value, out=POINTER))
    assert abi.values(padded) == [7, 5, 7, 4]
    abi.call("aoti_torch_aten_fill__Scalar", padded, 3.0)
    assert abi.values(padded) == [3] * 4
    none = POINTER()
    size = (I64 * 1)(3)
    zeros = POINTER(
        abi.call("aoti_torch_aten_new_zeros", h, size, 1, ctypes.byref(I32(4)), none, none, I32(0), none, out=POINTER)
    )
    assert abi.call("aoti_torch_get_dtype", zeros, out=I32) == 4 and abi.sizes(zeros) == [3]
    empty = POINTER(abi.call("aoti_torch_aten_new_empty", h, size, 1, none, none, none, I32(0), none, out=POINTER))
    assert abi.call("aoti_torch_get_dtype", empty, out=I32) == 6 and abi.sizes(empty) == [3]
    a, b, out = abi.tensor([1, 2], [1, 2]), abi.tensor([3, 4], [2, 1]), abi.full([1, 1], 0)
    abi.call("aoti_torch_mm_out", out, a, b)
    assert abi.values(out) == [11]
    abi.call("aoti_torch_copy_", out, abi.tensor([8], [1, 1]), I32(0))
    assert abi.values(out) == [8]
    for one in (h, largest, narrow, clone, padded, zeros, empty, a, b, out):
        abi.delete(one)


# ---- calls through the dispatcher ----


def test_calls_with_numbers_and_lists(abi):
    h = abi.tensor(range(6), [2, 3])
    (result,) = abi.dispatch("aten::transpose", "int", h.value, 0, 1)
    assert abi.sizes(POINTER(result)) == [3, 2]
    (result,) = abi.dispatch("aten::reshape", "", result, abi.list([6]))
    assert abi.values(POINTER(result)) == [0, 3, 1, 4, 2, 5]
    (result,) = abi.dispatch("aten::select", "int", result, 0, U64(-2 & (1 << 64) - 1).value)
    assert abi.sizes(POINTER(result)) == []
    assert abi.call("aoti_torch_item_float32", POINTER(result), out=ctypes.c_float) == 2
    abi.delete(POINTER(result))


def test_calls_with_optional_values(abi):
    h = abi.tensor([1, 2, 3, 4], [2, 2])
    (result,) = abi.dispatch("aten::sum", "dim_IntList", h.value, abi.cell(abi.list([0])), 1, abi.cell(7))
    assert abi.call("aoti_torch_get_dtype", POINTER(result), out=I32) == 7
    assert abi.sizes(POINTER(result)) == [1, 2]
    (result,) = abi.dispatch("aten::sum", "dim_IntList", result, 0, 0, 0)
    assert abi.sizes(POINTER(result)) == []
    abi.delete(POINTER(result))
    device = abi.cell(0xFFFFFFFF)
    (result,) = abi.dispatch(
        "aten::empty", "memory_format", abi.list([2, 0]), abi.cell(3), abi.cell(0), device, abi.cell(0), 0
    )
    assert abi.call("aoti_torch_get_dtype", POINTER(result), out=I32) == 3 and abi.sizes(POINTER(result)) == [2, 0]
    abi.delete(POINTER(result))


def test_calls_with_lists_of_tensors(abi):
    tensors = abi.list([abi.tensor([1, 2]).value, abi.tensor([3]).value])
    (result,) = abi.dispatch("aten::cat", "", tensors, 0)
    assert abi.values(POINTER(result)) == [1, 2, 3]
    (pieces,) = abi.dispatch("aten::split", "Tensor", result, 2, 0)
    pieces, handle = abi.items(pieces), pieces
    assert [abi.values(POINTER(p)) for p in pieces] == [[1, 2], [3]]
    for p in pieces:
        abi.delete(POINTER(p))
    abi.call("torch_delete_list", POINTER(handle))


def test_defaults_with_quotation_marks(abi):
    h = abi.tensor([1.0, 2.0], [2])
    (result,) = abi.dispatch("aten::_test_string_default", "", h.value, abi.string("\"'\\"), abi.string("\"'\\"))
    assert abi.sizes(POINTER(result)) == [2]
    abi.delete(POINTER(result))


def test_calls_with_several_results(abi):
    values, indices = abi.dispatch("aten::sort", "", abi.tensor([3, 1, 2]).value, 0, 1, returns=2)
    assert abi.values(POINTER(values)) == [3, 2, 1]
    assert abi.call("aoti_torch_get_dtype", POINTER(indices), out=I32) == 4
    abi.delete(POINTER(values))
    abi.delete(POINTER(indices))


def test_second_names_of_operators(abi):
    (result,) = abi.dispatch("aten::divide", "Tensor", abi.tensor([1, 4]).value, abi.tensor([2, 2]).value)
    assert abi.values(POINTER(result)) == [0.5, 2]
    abi.delete(POINTER(result))
    (result,) = abi.dispatch("aten::multiply_", "Tensor", abi.tensor([1, 4]).value, abi.tensor([2, 2]).value)
    assert abi.values(POINTER(result)) == [2, 8]
    abi.delete(POINTER(result))


def test_calls_that_fail(abi):
    with pytest.raises(Failed, match="Could not find schema for aten::nope"):
        abi.dispatch("aten::nope", "")
    with pytest.raises(Failed, match="The size of tensor a|must match"):
        abi.dispatch("aten::copy_", "", abi.tensor([1, 2]).value, abi.tensor([1, 2, 3]).value, 0)


# ---- operators of libraries ----


@pytest.fixture
def space(abi):
    """A namespace, its library of definitions and one of kernels of the CPU; both end with the test."""
    abi.count = getattr(abi, "count", 0) + 1
    name = f"stable_{abi.count}"
    definitions = abi.init("def", name)
    kernels = abi.init("impl", name, "CompositeExplicitAutograd")
    yield name, definitions, kernels
    abi.call("aoti_torch_delete_library_object", kernels)
    abi.call("aoti_torch_delete_library_object", definitions)


ENCODINGS = [  # type of the schema, value of Python, what the cell holds
    ("int", -1, (1 << 64) - 1),
    ("SymInt", 7, 7),
    ("float", 1.5, 0x3FF8000000000000),
    ("bool", True, 1),
    ("bool", False, 0),
    ("ScalarType", "float16", 5),
    ("ScalarType", "bool", 11),
    ("Layout", "sparse_csr", 2),
    ("MemoryFormat", "channels_last", 2),
    ("MemoryFormat", "preserve_format", 1),
    ("int?", None, 0),
    ("Tensor?", None, 0),
    ("str?", None, 0),
]


@pytest.mark.parametrize(("kind", "value", "cell"), ENCODINGS)
def test_encodings(abi, space, kind, value, cell):
    name, definitions, kernels = space
    abi.define(definitions, f"same(Tensor x, {kind} v) -> {kind}")
    seen = []

    def same(stack, arguments, results):
        seen.append((stack[1], arguments, results))
        abi.delete(POINTER(stack[0]))
        stack[0] = stack[1]

    abi.implement(kernels, "same", same)
    if isinstance(value, str):
        value = getattr(abi.torch, value)
    result = getattr(abi.torch.ops, name).same(abi.torch.ones(1), value)
    assert seen == [(cell, 2, 1)]
    # PyTorch gives numbers for the types and layouts that a kernel returns.
    assert result == value or isinstance(result, int) and result == cell


@pytest.mark.parametrize(("text", "cell"), [("cpu", 0xFFFFFFFF), ("meta", 14 << 32 | 0xFFFFFFFF)])
def test_encodings_of_devices(abi, space, text, cell):
    name, definitions, kernels = space
    abi.define(definitions, "same(Tensor x, Device v) -> Device")
    seen = []

    def same(stack, arguments, results):
        seen.append(stack[1])
        abi.delete(POINTER(stack[0]))
        stack[0] = stack[1]

    abi.implement(kernels, "same", same)
    assert getattr(abi.torch.ops, name).same(abi.torch.ones(1), abi.torch.device(text)) == abi.torch.device(text)
    assert seen == [cell]


def test_arguments_and_results_of_all_kinds(abi, space):
    """Each argument as a kernel reads it and each result as it gives it: tensors, texts, lists, optional values, lists of lists."""
    name, definitions, kernels = space
    abi.define(
        definitions,
        "kinds(Tensor x, str s, int[] i, float[2] f, Tensor[] t, Tensor?[] o, str[] w, bool[] b, float? d=2.5, *, int k=4)"
        " -> (Tensor, str, int[], float, Tensor[], str[], float?, int?)",
    )
    seen = {}

    def kinds(stack, arguments, results):
        x, s, i, f, t, o, w, b, d, k = stack[:arguments]
        seen["x"] = abi.values(POINTER(x))
        seen["s"] = abi.text(s)
        seen["i"] = abi.items(i)
        seen["f"] = [double_of(v) for v in abi.items(f)]
        seen["t"] = [abi.values(POINTER(v)) for v in abi.items(t)]
        seen["o"] = [v and abi.values(POINTER(abi.inner(v))) for v in abi.items(o)]
        seen["w"] = [abi.text(v) for v in abi.items(w)]
        seen["b"] = abi.items(b)
        seen["d"] = double_of(abi.inner(d))
        seen["k"] = k
        abi.call("aoti_torch_aten_fill__Scalar", POINTER(x), 9.0)
        stack[0] = x
        stack[1] = s
        stack[2] = i
        stack[3] = double_bits(0.25)
        stack[4] = t
        stack[5] = w
        stack[6] = abi.cell(double_bits(-1.0))
        stack[7] = 0

    abi.implement(kernels, "kinds", kinds)
    torch = abi.torch
    x = torch.ones(2)
    a = torch.tensor([1.0])
    result = getattr(torch.ops, name).kinds(x, "text", [1, 2], [0.5, 1.5], [a, x], [None, a], ["p", "q"], [True, False])
    assert seen == {
        "x": [1, 1],
        "s": "text",
        "i": [1, 2],
        "f": [0.5, 1.5],
        "t": [[1], [1, 1]],
        "o": [0, [1]],
        "w": ["p", "q"],
        "b": [1, 0],
        "d": 2.5,
        "k": 4,
    }
    assert result[0] is x and x.tolist() == [9, 9]
    assert result[1:4] == ("text", [1, 2], 0.25)
    assert result[4][0] is a and result[5:] == (["p", "q"], -1.0, None)


def test_results_without_values(abi, space):
    name, definitions, kernels = space
    abi.define(definitions, "nothing(Tensor(a!) x) -> ()")

    def nothing(stack, arguments, results):
        assert results == 0
        abi.call("aoti_torch_aten_fill__Scalar", POINTER(stack[0]), 2.0)
        abi.delete(POINTER(stack[0]))

    abi.implement(kernels, "nothing", nothing)
    x = abi.torch.zeros(2)
    assert getattr(abi.torch.ops, name).nothing(x) is None
    assert x.tolist() == [2, 2]


def test_generators(abi, space):
    name, definitions, kernels = space
    abi.define(definitions, "draws(Tensor x, Generator g, Generator? none=None) -> Tensor")
    seen = []

    def draws(stack, arguments, results):
        x, g, none = stack[:arguments]
        other = POINTER(abi.call("torch_new_generator_handle", POINTER(g), out=POINTER))
        seen.append((abi.call("torch_generator_get_device", other, out=[I32, I32]), none))
        abi.call("torch_delete_generator", other)
        stack[0] = x
        abi.call("torch_delete_generator", POINTER(g))

    abi.implement(kernels, "draws", draws)
    getattr(abi.torch.ops, name).draws(abi.torch.ones(2), abi.torch.Generator())
    assert seen == [((0, -1), 0)]


def test_what_cannot_cross(abi, space):
    name, definitions, kernels = space
    abi.define(definitions, "scalar(Tensor x, Scalar v) -> ()")
    abi.implement(kernels, "scalar", lambda *_: None)
    with pytest.raises(
        RuntimeError, match="Not yet supported conversion from IValue to StableIValue for schema type: Scalar"
    ):
        getattr(abi.torch.ops, name).scalar(abi.torch.ones(1), 2)


def test_schemas_that_are_refused(abi, space):
    name, definitions, kernels = space
    abi.define(definitions, "f(Tensor x) -> Tensor")
    for library, schema, text in [
        (definitions, "f(Tensor x) -> Tensor", "with the same name and overload name multiple times"),
        (definitions, "g(Tensor x", "expected"),
        (definitions, "elsewhere::h(Tensor x) -> Tensor", r"Explicitly provided namespace \(elsewhere\)"),
        (kernels, "h(Tensor x) -> Tensor", "Cannot define an operator inside of a TORCH_LIBRARY_IMPL block"),
    ]:
        with pytest.raises(Failed, match=text):
            abi.define(library, schema)
    with pytest.raises(Failed, match=f"Only a single TORCH_LIBRARY can be used to register the namespace {name}"):
        abi.init("def", name)
    with pytest.raises(Failed, match="could not parse dispatch key: Nope"):
        abi.init("impl", name, "Nope")
    fragment = abi.init("fragment", name)
    abi.define(fragment, "late.one(Tensor x) -> Tensor")
    assert str(getattr(abi.torch.ops, name).late.one._schema) == f"{name}::late.one(Tensor x) -> Tensor"
    abi.call("aoti_torch_delete_library_object", fragment)


def test_tags(abi, space):
    name, definitions, _ = space
    tags = (I32 * 2)(16, 17)
    abi.call("torch_library_def_with_tags", definitions, "tagged(Tensor x) -> Tensor", tags, I32(2))
    found = getattr(abi.torch.ops, name).tagged.default.tags
    assert {tag.name for tag in found} == {"pointwise", "pt2_compliant_tag"}
    abi.call("torch_library_set_python_module", definitions, "a.module", "there")


def test_a_library_takes_its_operators_with_it(abi):
    library = abi.init("def", "stable_gone")
    abi.define(library, "f(Tensor x) -> Tensor")
    assert hasattr(abi.torch.ops.stable_gone, "f")
    abi.call("aoti_torch_delete_library_object", library)
    with pytest.raises(Failed, match="Could not find schema for stable_gone::f"):
        abi.dispatch("stable_gone::f", "", abi.tensor([1]).value)


def test_texts_of_failures(abi):
    with pytest.raises(Failed):
        abi.dispatch("aten::nope", "")
    assert abi.what() == "Could not find schema for aten::nope."
    abi.delete(abi.tensor([1]))
    assert abi.what() == "Could not find schema for aten::nope."  # it stays
    assert abi.library.torch_exception_get_what().decode().startswith("Could not find schema for aten::nope.")


def test_warnings(abi, space):
    if abi.torch.__name__ == "torch":
        pytest.skip("from a kernel PyTorch warns on standard error")
    name, definitions, kernels = space
    abi.define(definitions, "warns(Tensor(a!) x) -> ()")

    def warns(stack, arguments, results):
        abi.delete(POINTER(stack[0]))
        abi.library.aoti_torch_warn(b"function", b"file.cpp", U32(3), b"look out")

    abi.implement(kernels, "warns", warns)
    with pytest.warns(UserWarning, match="look out"):
        getattr(abi.torch.ops, name).warns(abi.torch.ones(1))


# ---- what only we do: handles that are none raise ----


def test_hostile_handles(abi):
    if abi.torch.__name__ == "torch":
        pytest.skip("PyTorch takes handles for addresses")
    h = abi.tensor([1])
    abi.delete(h)
    with pytest.raises(Failed, match="a handle of a tensor is used after it was deleted"):
        abi.delete(h)
    with pytest.raises(Failed, match="a handle of a tensor is used after it was deleted"):
        abi.dispatch("aten::exp", "", h.value)
    text = abi.string("text")
    with pytest.raises(Failed, match="a handle of a tensor was expected, got one of a string"):
        abi.delete(POINTER(text))
    with pytest.raises(Failed, match="a handle of a list was expected, got a null pointer"):
        abi.call("torch_delete_list", POINTER())
    with pytest.raises(Failed, match="a handle of a library was expected, got 0x10, which is no handle"):
        abi.define(POINTER(16), "f(Tensor x) -> Tensor")
    abi.call("torch_delete_string", POINTER(text))
    with pytest.raises(Failed, match="no element type has the number 99"):
        _blob(abi, (ctypes.c_float * 4)(), [2], [1], 0, dtype=99)
    with pytest.raises(Failed, match="strided"):
        _blob(abi, (ctypes.c_float * 4)(), [2], [1], 0, layout=1)


def test_hostile_kernels(abi, space):
    if abi.torch.__name__ == "torch":
        pytest.skip("PyTorch takes handles for addresses")
    name, definitions, kernels = space
    abi.define(definitions, "wrong(Tensor x) -> (Tensor, str)")

    def wrong(stack, arguments, results):
        abi.delete(POINTER(stack[0]))
        stack[1] = abi.string("text")

    abi.implement(kernels, "wrong", wrong)
    with pytest.raises(RuntimeError, match="a handle of a tensor is used after it was deleted"):
        getattr(abi.torch.ops, name).wrong(abi.torch.ones(1))


def test_objects_of_python(abi):
    if abi.torch.__name__ == "torch":
        pytest.skip("PyTorch 2.13 has no such functions yet")
    torch = abi.torch
    x = torch.ones(2)
    h = POINTER(abi.call("torch_tensor_from_pyobject", ctypes.py_object(x), out=POINTER))
    assert abi.values(h) == [1, 1]
    assert abi.call("torch_tensor_to_pyobject", h, POINTER(), out=ctypes.py_object) is x
    made = abi.call("torch_tensor_to_pyobject", h, ctypes.py_object(torch.nn.Parameter), out=ctypes.py_object)
    assert type(made) is torch.nn.Parameter
    abi.delete(h)
    assert abi.call("torch_is_tensor_pyobject", ctypes.py_object(x), out=BOOL) is True
    assert abi.call("torch_is_tensor_pyobject", ctypes.py_object("x"), out=BOOL) is False
    assert abi.call("torch_dtype_from_pyobject", ctypes.py_object(torch.float16), out=I32) == 5
    assert abi.call("torch_dtype_to_pyobject", I32(5), out=ctypes.py_object) is torch.float16
    device = torch.device("meta")
    assert abi.call("torch_device_from_pyobject", ctypes.py_object(device), out=[I32, I32]) == (14, -1)
    assert abi.call("torch_device_to_pyobject", I32(14), I32(-1), out=ctypes.py_object) == device
    with pytest.raises(Failed, match="a torch.Tensor was expected"):
        abi.call("torch_tensor_from_pyobject", ctypes.py_object("x"), out=POINTER)
