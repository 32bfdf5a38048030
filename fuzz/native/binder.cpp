// Calls of operators with arguments of every kind, by position and by name, as functions, methods and operators.
#include "driver.h"

namespace {
using namespace fuzzing;

const char* const kProgram = R"(
import numpy

def start(): pass
class Index:
    def __index__(self): return 2
class Refuses:
    def __index__(self): raise ValueError('no index')
    def __float__(self): raise ValueError('no float')
class Grows(list):
    def __getitem__(self, at): self.append(1); return list.__getitem__(self, at)
class Word(str): pass
class Own(torch.Tensor): pass

types = ('Tensor', 'Tensor?', 'Tensor[]', 'Tensor?[]', 'int', 'int?', 'int[]', 'int[2]', 'int[]?', 'SymInt', 'SymInt[]',
         'SymInt[3]', 'float', 'float?', 'float[]', 'bool', 'bool?', 'bool[3]', 'Scalar', 'Scalar?', 'Scalar[]', 'str', 'str?',
         'ScalarType', 'ScalarType?', 'Layout?', 'Device', 'Device?', 'MemoryFormat?', 'Generator?', 'complex', 'Tensor(a!)',
         'Tensor(a!)?', 'Tensor(a!)[]', 'Dimname[]?', 'Storage', 'Any', '(int, Tensor)', 'Dict(str, Tensor)', 'int[][]')
defaults = {'int': '3', 'float': '0.5', 'bool': 'True', 'str': '"mean"', 'Scalar': '1', 'int[]': '[1, 2]', 'SymInt': '0'}
schemas = []
for number, kind in enumerate(types):
    other = types[(number * 7 + 3) % len(types)].replace('(a!)', '(b!)')
    plain = other if other in defaults else 'int'
    schemas += [f'f{number}({kind} x) -> ()', f'g{number}({kind} self, {other} y, *, {plain} z={defaults[plain]}) -> ()',
                f'h{number}({plain} x={defaults[plain]}, *, {kind} keyword) -> ()']
library = torch.library.Library('fuzzing', 'DEF')
kept = []
calls = []
for schema in schemas:
    try:
        name = library.define(schema)
    except (RuntimeError, NotImplementedError):
        continue
    library.impl(name, lambda *args, **kwargs: None, 'CompositeExplicitAutograd')
    packet = getattr(torch.ops.fuzzing, name.partition('::')[2] or name)
    calls += [packet, packet.default]
if len(calls) < 150:
    raise SystemExit(f'only {len(calls)} operators')
# Without results to compute: these arguments are bound by other rules, those of functions and methods.
meta = torch.empty(2, 3, device='meta')
for name in ('add', 'sum', 'view', 'permute', 'transpose', 'expand', 'clamp', 'mean', 'std', 'amax', 'norm', 'to', 'reshape',
             'repeat', 'flip', 'roll', 'narrow', 'select', 'split', 'unflatten', 'movedim', 'squeeze', 'cat', 'stack', 'where',
             'zeros', 'full', 'arange', 'empty', 'empty_strided', 'new_zeros', 'rot90', 'pad', 'einsum', 'addmm'):
    for place in (torch, meta):
        if hasattr(place, name) and not isinstance(getattr(place, name), type(start)):
            calls.append(getattr(place, name))
names = ['x', 'y', 'z', 'self', 'input', 'dim', 'axis', 'keyword', 'keepdim', 'keepdims', 'size', 'out', 'dtype', 'other', 'é', '', Word('x')]
values = [None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, -2**63, 2**64, 0.0, 0.5, float('nan'), float('inf'), 1j, '', 'mean', 'x\0y',
          b'', 'cpu', 'meta', Word('sum'), [], [1], [1, 2], [1, 'x'], [None], [0.5], [True], (), (1, 2), ((1,), (2,)), [[1], [2]], {}, {'a': 1},
          Index(), Refuses(), Grows([1, 2]), range(3), slice(None), Ellipsis, object(), int, torch.float32, torch.strided,
          torch.device('meta'), torch.contiguous_format, torch.Generator(), numpy.int64(2), numpy.float32(1), numpy.bool_(True),
          numpy.arange(2), meta, meta[0], torch.empty((), dtype=torch.int64), torch.empty(1), meta.to(torch.int64), Own(), [meta, meta], [meta, 1],
          [torch.empty(()), torch.empty(())], (meta, None), torch.Size([2, 3]), meta.untyped_storage(), torch.nn.Parameter(torch.empty(1))]
)";

std::vector<PyObject*> g_names;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    start(kProgram);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    static PyObject *calls = found("calls"), *names = found("names"), *values = found("values");
    Data data(bytes, size);
    PyObject* callee = element(calls, data);
    const auto given = data.ConsumeIntegralInRange<size_t>(0, 6), named = data.ConsumeIntegralInRange<size_t>(0, 3);
    Ref args(PyTuple_New(static_cast<Py_ssize_t>(given))), kwargs(PyDict_New());
    auto value = [&]() -> PyObject* {
        if (data.ConsumeIntegral<uint8_t>() >= 24) return Py_NewRef(element(values, data));
        const auto count = data.ConsumeIntegralInRange<size_t>(0, 4);
        PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
        for (size_t i = 0; i < count; i++) PyList_SET_ITEM(list, i, Py_NewRef(element(values, data)));
        return list;
    };
    for (size_t i = 0; i < given; i++) PyTuple_SET_ITEM(args.get(), i, value());
    for (size_t i = 0; i < named; i++) {
        Ref made(value());
        PyDict_SetItem(kwargs.get(), element(names, data), made.get());
    }
    Ref result(PyObject_Call(callee, args.get(), named ? kwargs.get() : nullptr));
    is_well(result.get(), callee);
    return 0;
}
