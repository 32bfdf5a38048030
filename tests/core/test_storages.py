"""Storages against PyTorch: what they are made of, what they refuse, without data, and as data of tensors."""

import pytest
from agreement import agree, same, same_error
from recording import answer

import mindtorch_v2

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")

NUMBERS = [1, 0, 3, 2]
DTYPES = "uint8 int8 int16 int32 int64 bool float16 bfloat16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("name", DTYPES)
def test_tensors_of_storages(name):
    agree(lambda torch: torch.tensor(torch.tensor(NUMBERS, dtype=getattr(torch, name)).storage()))
    agree(
        lambda torch: torch.tensor(
            torch.tensor(NUMBERS, dtype=getattr(torch, name)).storage(), dtype=getattr(torch, name)
        )
    )
    agree(lambda torch: torch.tensor(torch.tensor(NUMBERS * 4).untyped_storage(), dtype=getattr(torch, name)))
    same(lambda torch: torch.zeros(2, dtype=getattr(torch, name)).storage_type().__name__)
    other = "int16" if name != "int16" else "float32"
    same_error(
        lambda torch: torch.tensor(torch.zeros(2, dtype=getattr(torch, name)).storage(), dtype=getattr(torch, other))
    )


def test_the_memory_is_shared_or_copied():
    def addresses(torch):
        kept = torch.FloatStorage([1, 2, 3])
        made = [
            torch.tensor(kept),
            torch.as_tensor(kept),
            torch.FloatTensor(kept),
            torch.FloatTensor(kept.untyped()),
            torch.asarray(kept.untyped(), dtype=torch.float32),
        ]
        return [each.data_ptr() == kept.data_ptr() for each in made], made

    same(addresses)
    same_error(lambda torch: torch.FloatTensor(torch.IntStorage([1])))
    agree(lambda torch: torch.tensor(torch.UntypedStorage(7), dtype=torch.int64))


def test_capsules_as_data():
    same_error(lambda torch: torch.as_tensor(torch.utils.dlpack.to_dlpack(torch.arange(3))))
    agree(lambda torch: torch.asarray(torch.utils.dlpack.to_dlpack(torch.arange(3))))


def test_dtypes_that_are_made_by_rounding():
    agree(lambda torch: torch.tensor([1 + 2j, 3.3], dtype=torch.complex32).to(torch.complex64))
    agree(lambda torch: torch.tensor([1.1, -300.0], dtype=torch.float8_e4m3fn).float())
    agree(lambda torch: torch.tensor(0.3, dtype=torch.float8_e5m2).float())


@pytest.mark.parametrize(
    "text",
    [
        "s[0]", "s.tolist()", "s.cpu()", "s._share_fd_cpu_()", "s._share_filename_cpu_()", "s.share_memory_()",
        "torch.FloatStorage(2).copy_(s)", "s.untyped()[0]", "s.untyped().tolist()", "s.untyped().to(device='cpu')",
    ],
)  # fmt: skip
def test_storages_without_data(text):
    same_error(lambda torch: eval(text, {"torch": torch, "s": torch.TypedStorage([1, 2], device="meta")}))


@pytest.mark.parametrize(
    "text",
    [
        "torch.FloatStorage(device='cpu')", "torch.FloatStorage(dtype=torch.int)", "torch.FloatStorage(other=1)",
        "torch.FloatStorage(0, 0)", "torch.FloatStorage('string')", "torch.FloatStorage(2.5)",
        "torch.FloatStorage(0, wrap_storage=s.untyped())", "torch.FloatStorage(wrap_storage=s)",
        "torch.TypedStorage(0, wrap_storage=s.untyped(), dtype=torch.int)", "torch.TypedStorage(wrap_storage=s.untyped())",
        "torch.TypedStorage(wrap_storage=s.untyped(), dtype=0)", "torch.TypedStorage(0, 0)",
        "torch.TypedStorage(wrap_storage=s.untyped(), dtype=torch.int, device='cpu')",
        "torch.TypedStorage(dtype=torch.int, device='xla')", "torch.TypedStorage('text')",
        "torch.storage._LegacyStorage()", "torch.cuda.FloatStorage()", "torch.cuda.FloatStorage.from_buffer()",
        "torch.cuda.ByteStorage._new_shared_filename(0, 0, 0)", "torch.cuda.FloatTensor()",
    ],
)  # fmt: skip
def test_what_they_refuse(text):
    def kind_and_end(torch):
        try:
            eval(text, {"torch": torch, "s": torch.FloatStorage([1, 2])})
        except Exception as error:  # noqa: BLE001  (which one it is, is the result)
            return type(error).__name__, str(error).rpartition("\n")[2].replace("mindtorch_v2.", "torch.")
        return "nothing"

    same(lambda torch: [part.replace("torch.storage.TypedStorage", "TypedStorage") for part in kind_and_end(torch)])


def test_casts():
    same(
        lambda torch: [
            getattr(torch.IntStorage([-1, 0, 2]), name)().tolist()
            for name in "double float half bfloat16 long short char byte bool complex_double complex_float".split()
        ]
    )
    same(lambda torch: torch.quint8.itemsize + len(torch.storage._dtype_to_storage_type_map()))
    same(lambda torch: [torch.QInt32Storage([3, -4]).tolist(), torch.QUInt4x2Storage([3, 4])[1]])


def test_all_classes():
    classes = sorted(f"{each.__module__}.{each.__name__}" for each in mindtorch_v2._tensor_classes)
    theirs = answer(lambda torch: sorted(f"{each.__module__}.{each.__name__}" for each in torch._tensor_classes))
    assert classes == [name for name in theirs if "sparse" not in name]
    names = {each.__name__ for each in mindtorch_v2._storage_classes}
    assert {"FloatStorage", "QInt8Storage", "UntypedStorage"} < names
    assert not isinstance(mindtorch_v2.zeros(2), mindtorch_v2.cuda.FloatTensor)


def test_storages_of_files(tmp_path):
    one = mindtorch_v2.FloatStorage.from_file(str(tmp_path / "file"), True, 4)
    other = mindtorch_v2.FloatStorage.from_file(str(tmp_path / "file"), True, 4)
    mindtorch_v2.FloatTensor(one).fill_(2.5)
    assert other.tolist() == [2.5] * 4
    with pytest.raises(RuntimeError, match="derived classes"):
        mindtorch_v2.TypedStorage.from_file("file")
    assert mindtorch_v2.FloatStorage._new_shared(3).is_shared()
    with (tmp_path / "written").open("wb") as file:
        one._write_file(file, True, True, 4)
    assert (tmp_path / "written").read_bytes() == (4).to_bytes(8, "little") + bytes(memoryview(one.untyped()))


def test_one_element_tensors_as_sizes():
    agree(lambda torch: torch.ones(torch.tensor(3)))
    agree(lambda torch: torch.ones(torch.tensor([3])).view(torch.tensor(3)).repeat(torch.tensor(2)))
    same_error(lambda torch: torch.ones(torch.tensor(3.0)))
    same_error(lambda torch: torch.ones(torch.tensor([2, 3])))
