// Chains of what makes views with sizes, strides and offsets of any number, and of what resizes storages below them.
// After each, all that a tensor shows is read and written: it has to lie within its storage.
#include "driver.h"

namespace {
using namespace fuzzing;

const char* const kProgram = R"(
cut = []  # whether a storage was made smaller
def cut_to(tensor, size):
    cut.append(tensor)
    tensor.untyped_storage().resize_(size)
    return tensor
def base(number):
    cut.clear()
    kind = (torch.float32, torch.int64, torch.uint8, torch.complex64)[number % 4]
    if number % 16 == 7: return torch.empty(3, 4, device='meta')
    return torch.arange(12).to(kind).reshape(((12,), (3, 4), (2, 3, 2), (1, 12))[number // 4 % 4])
def touch(tensor):
    if tensor.device.type == 'meta' or tensor.numel() > 4096: return
    low = high = tensor.storage_offset()
    for size, step in zip(tensor.shape, tensor.stride()):
        if step < 0: raise AssertionError('a negative stride')
        high += (size - 1) * step
    if tensor.numel() and (low < 0 or (high + 1) * tensor.itemsize > tensor.untyped_storage().nbytes()):
        # Its storage may have been made smaller; then it is refused to whoever reads it.
        try: tensor.clone()
        except RuntimeError:
            if cut: return
        raise AssertionError(f'{tensor.shape}, {tensor.stride()}, {low} reach beyond {tensor.untyped_storage().nbytes()} bytes')
    tensor.clone()
    if not any(size > 1 and step == 0 for size, step in zip(tensor.shape, tensor.stride())):
        try: tensor.fill_(1)
        except RuntimeError: pass  # written elements that share memory are refused
def scatter(t, s, o, a, b): return torch.as_strided_scatter(t, torch.ones(s) if all(0 <= n < 9 for n in s) else t, s, o, a)
operations = [
    lambda t, s, o, a, b: t.as_strided(s, o),
    lambda t, s, o, a, b: t.as_strided(s, o, a),
    lambda t, s, o, a, b: t.clone().as_strided_(s, o, a),
    lambda t, s, o, a, b: torch.as_strided_copy(t, s, o, a),
    scatter,
    lambda t, s, o, a, b: t.new_empty_strided(s, o),
    lambda t, s, o, a, b: torch.empty(0).set_(t.untyped_storage(), a, s, o) if t.device.type == 'cpu' else t,
    lambda t, s, o, a, b: t.detach().set_(t.untyped_storage(), a, s),
    lambda t, s, o, a, b: t.clone().resize_(s),
    lambda t, s, o, a, b: t.detach().resize_(s),
    lambda t, s, o, a, b: t.view(s),
    lambda t, s, o, a, b: t.reshape(s),
    lambda t, s, o, a, b: t.expand(s),
    lambda t, s, o, a, b: t.narrow(a, b, s[0] if s else 1),
    lambda t, s, o, a, b: t.unfold(a, b, s[0] if s else 1),
    lambda t, s, o, a, b: t.select(a, b),
    lambda t, s, o, a, b: t.diagonal(a, b, s[0] if s else 1),
    lambda t, s, o, a, b: torch.diag_embed(t, a, b),
    lambda t, s, o, a, b: torch.slice_scatter(t, t, a, b, s[0] if s else None, o[0] if o else 1),
    lambda t, s, o, a, b: torch.select_scatter(t, t, a, b),
    lambda t, s, o, a, b: t.permute(s),
    lambda t, s, o, a, b: t.transpose(a, b),
    lambda t, s, o, a, b: t.unflatten(a, s),
    lambda t, s, o, a, b: t.flatten(a, b),
    lambda t, s, o, a, b: t.movedim(s, o),
    lambda t, s, o, a, b: t.tile(s),
    lambda t, s, o, a, b: t.split(s, a)[0],
    lambda t, s, o, a, b: t.chunk(a, b)[0],
    lambda t, s, o, a, b: t.unsqueeze(a),
    lambda t, s, o, a, b: t.squeeze(tuple(s)),
    lambda t, s, o, a, b: t.roll(s, o),
    lambda t, s, o, a, b: t.repeat(s) if all(n < 50 for n in s) else t.repeat_interleave(a % 7),
    lambda t, s, o, a, b: t.view(torch.uint8) if a % 2 else t.view(torch.int16),
    lambda t, s, o, a, b: torch.nn.functional.pad(t, s, value=1) if all(n < 50 for n in s) else t,
    lambda t, s, o, a, b: cut_to(t, max(0, b) % 200) if t.device.type == 'cpu' and b < 1 << 40 else t,
]
)";

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    start(kProgram);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    static PyObject *base = found("base"), *touch = found("touch"), *operations = found("operations");
    Data data(bytes, size);
    Ref tensor(PyObject_CallFunction(base, "i", data.ConsumeIntegralInRange<int>(0, 15)));
    if (!is_well(tensor.get(), "base")) return 0;
    for (int step = 0; step < 4 && data.remaining_bytes(); step++) {
        const auto number = data.ConsumeIntegralInRange<Py_ssize_t>(0, PyList_GET_SIZE(operations) - 1);
        Ref sizes(integers(data, 4)), strides(integers(data, 4)), a(PyLong_FromLongLong(integer(data))),
            b(PyLong_FromLongLong(integer(data)));
        Ref next(PyObject_CallFunctionObjArgs(PyList_GET_ITEM(operations, number), tensor.get(), sizes.get(),
                                              strides.get(), a.get(), b.get(), nullptr));
        const std::string what = "operation " + std::to_string(number);
        if (!is_well(next.get(), what.c_str())) continue;
        tensor = std::move(next);
        Ref touched(PyObject_CallOneArg(touch, tensor.get()));
        is_well(touched.get(), what.c_str());
    }
    return 0;
}
