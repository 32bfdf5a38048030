// Subscripts of every kind, read and written. What NumPy means alike is compared with it.
#include "driver.h"

namespace {
using namespace fuzzing;

const char* const kProgram = R"(
import numpy
shapes = [(), (0,), (1,), (5,), (2, 3), (3, 0), (2, 3, 4), (1, 2, 1, 3)]
arrays = [numpy.arange(max(1, int(numpy.prod(shape))), dtype=numpy.int64)[:int(numpy.prod(shape))].reshape(shape) for shape in shapes]
bases = [torch.from_numpy(array.copy()) for array in arrays]
views = bases + [base.transpose(0, -1) if base.dim() > 1 else base.flip(0) if base.dim() else base for base in bases] + [
    torch.arange(20.)[::2].requires_grad_(), torch.zeros(1).expand(4, 3), torch.empty(2, 3, device='meta'), torch.arange(6).bool().view(2, 3),
    torch.arange(4).to(torch.complex64), torch.arange(8).to(torch.bfloat16).view(2, 4)]
class Index:
    def __index__(self): return 1
leaves = [None, Ellipsis, True, False, 'x', 1.5, Index(), numpy.int64(1), [], [0], [0, 1], [True, False], [[0], [1]], [True, True, False],
          torch.tensor(1), torch.tensor([0, 1]), torch.tensor([[0], [-1]]), torch.tensor([True, False]), torch.tensor(True),
          torch.tensor([1, 0, 2], dtype=torch.uint8), torch.tensor([7]), torch.tensor([-2**63]), torch.tensor([0.5]), torch.empty(0, dtype=torch.int64),
          torch.zeros(2, 3, dtype=torch.bool), numpy.array([1, 0]), numpy.array([True, False, True]), torch.tensor([0], device='meta'),
          torch.tensor([1], dtype=torch.int32), (0, 1), ([0], None), b'x', object(), range(2), torch.zeros(3, dtype=torch.bool), slice('a')]
replacements = [0, 1.5, 1j, True, None, [1], torch.tensor(3), torch.tensor([1., 2., 3.]), torch.zeros(2, 3), torch.zeros(0), torch.zeros(9),
                torch.tensor(1, dtype=torch.int64), 'x', torch.zeros(2, 1, device='meta')]
def same(number, index):
    'Compare with NumPy; the index is of integers, slices, None and Ellipsis. Only PyTorch takes several of the last.'
    if isinstance(index, tuple) and index.count(Ellipsis) > 1: return
    try: expected = arrays[number][index]
    except IndexError: expected = None
    try: got = bases[number][index]
    except IndexError: got = None
    if (got is None) != (expected is None) or got is not None and (list(got.shape) != list(numpy.shape(expected))
            or got.tolist() != numpy.asarray(expected).tolist()):
        raise AssertionError(f'{shapes[number]}[{index}] is {got}, not {expected}')
def read(tensor, index):
    got = tensor[index]
    if got.device.type != 'meta' and got.numel() < 5000: got.clone()
    if got.requires_grad: got.sum().backward()
def write(tensor, index, value):
    target = tensor.detach().clone()
    target[index] = value
)";

PyObject* number_or_none(Data& data) {
    if (data.ConsumeBool()) Py_RETURN_NONE;
    return PyLong_FromLongLong(integer(data));
}
PyObject* slice(Data& data, bool forward) {
    Ref start(number_or_none(data)), stop(number_or_none(data));
    Ref step(forward ? PyLong_FromLongLong(data.ConsumeIntegralInRange<int>(1, 4)) : number_or_none(data));
    return PySlice_New(start.get(), stop.get(), step.get());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    start(kProgram);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    static PyObject *same = found("same"), *read = found("read"), *write = found("write"), *views = found("views"),
                    *leaves = found("leaves"), *replacements = found("replacements"), *bases = found("bases");
    Data data(bytes, size);
    const auto kind = data.ConsumeIntegralInRange<int>(0, 2);
    const auto parts = data.ConsumeIntegralInRange<size_t>(0, 5);
    Ref index(PyTuple_New(static_cast<Py_ssize_t>(parts)));
    for (size_t i = 0; i < parts; i++) {
        const auto what = data.ConsumeIntegralInRange<int>(0, 3);
        PyObject* part;
        if (what == 0)
            part = PyLong_FromLongLong(integer(data));
        else if (what == 1)
            part = slice(data, kind == 0);
        else if (kind == 0)
            part = Py_NewRef(what == 2 ? Py_None : Py_Ellipsis);
        else
            part = Py_NewRef(element(leaves, data));
        PyTuple_SET_ITEM(index.get(), i, part);
    }
    if (parts == 1 && data.ConsumeBool()) index = Ref(Py_NewRef(PyTuple_GET_ITEM(index.get(), 0)));
    Ref done;
    if (kind == 0) {
        Ref number(PyLong_FromSsize_t(data.ConsumeIntegralInRange<Py_ssize_t>(0, PyList_GET_SIZE(bases) - 1)));
        done = Ref(PyObject_CallFunctionObjArgs(same, number.get(), index.get(), nullptr));
    } else if (kind == 1) {
        done = Ref(PyObject_CallFunctionObjArgs(read, element(views, data), index.get(), nullptr));
    } else {
        PyObject* target = element(views, data);
        done = Ref(PyObject_CallFunctionObjArgs(write, target, index.get(), element(replacements, data), nullptr));
    }
    is_well(done.get(), "subscript");
    return 0;
}
