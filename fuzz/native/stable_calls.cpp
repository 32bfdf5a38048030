// Calls of the stable ABI's C functions with handles, numbers and lists that are wrong, and kernels that give back
// rubbish.
//
// A handle, a number that stands for something, a null pointer: what the ABI can see has to fail with a text. What it
// cannot see (addresses, and how long the memory there is) is right here. A tensor that comes of a call has to lie
// within its storage.
#include <mindtorch/stable/c.h>

#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "driver.h"

namespace {
using namespace fuzzing;

const char* const kProgram = R"(
import mindtorch_v2._library.stable
tensors = [torch.arange(6.).reshape(2, 3), torch.ones(2, 3, requires_grad=True), torch.ones(3, dtype=torch.int64), torch.ones(()),
           torch.empty(2, 3, device='meta'), torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr(), torch.ones(0, 2),
           torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]), torch.ones(2, 2, dtype=torch.bool), torch.ones(2, dtype=torch.complex64),
           torch.ones(4, 4).t(), torch.ones(1).expand(3, 3), torch.zeros(3, dtype=torch.uint64) + 5, torch.zeros(2, 2, 3, 3)]
objects = [None, 3, 'cpu', torch.float32, torch.device('cpu'), torch.Tensor, torch.nn.Parameter, int, tensors[0], torch.strided, object()]
types = ['Tensor', 'Tensor?', 'Tensor[]', 'Tensor?[]', 'int', 'int?', 'int[]', 'SymInt[]', 'int[][]', 'float', 'float[]', 'bool', 'bool[]',
         'str', 'str?', 'str[]', 'ScalarType', 'ScalarType?', 'Layout', 'Device', 'Device[]', 'MemoryFormat', 'Generator', 'Generator?', 'Scalar',
         'int[]?', 'Tensor[]?', 'Tensor[][]', 'Dict(str, int)']
generator = torch.Generator()
given = {'Tensor': [tensors[0]], 'int': [3], 'float': [0.5], 'bool': [True], 'str': ['mean', 'x\0é'], 'ScalarType': [torch.int8],
         'Layout': [torch.strided], 'Device': [torch.device('cpu')], 'MemoryFormat': [torch.channels_last], 'Generator': [generator],
         'SymInt': [4], 'Scalar': [1, 0.5, 1j], 'Dict(str, int)': [{'a': 1}]}
def values(kind):
    if kind.endswith('?'): return [None, *values(kind[:-1])]
    if kind.endswith('[]'): return [[], *([each] * 2 for each in values(kind[:-2]))]
    return given[kind]
library = torch.library.Library('fuzz_stable', 'DEF')
calls = []
for number, kind in enumerate(types):
    library.define(f'f{number}({kind} x) -> {kind}')
    calls.append((getattr(torch.ops.fuzz_stable, f'f{number}').default, values(kind)))
operators = [(row.name, row.overload) for row in torch._C._all_operators()
             if row.namespace == 'aten' and 'from_file' not in row.name and row.name not in ('aten::_assert_async', 'aten::_print')]
def touch(tensor):
    if tensor.device.type != 'cpu' or tensor.layout != torch.strided or tensor.is_nested or tensor.numel() > 4096: return
    low = high = tensor.storage_offset()
    for size, step in zip(tensor.shape, tensor.stride()):
        high += (size - 1) * step
    if tensor.numel() and (low < 0 or (high + 1) * tensor.itemsize > tensor.untyped_storage().nbytes()):
        try: tensor.clone()
        except RuntimeError: return
        raise AssertionError(f'{tensor.shape}, {tensor.stride()}, {low} reach beyond {tensor.untyped_storage().nbytes()} bytes')
    tensor.detach().clone()
)";

// What a kind of handle is in the ABI's headers.
enum Kind { kTensor, kGenerator, kStream, kGuard, kList, kString, kLibrary, kKinds };
template <class H>
constexpr Kind kind_of() {
    if constexpr (std::is_same_v<H, AtenTensorHandle>) return kTensor;
    if constexpr (std::is_same_v<H, AtenGeneratorHandle>) return kGenerator;
    if constexpr (std::is_same_v<H, StreamHandle>) return kStream;
    if constexpr (std::is_same_v<H, DeviceGuardHandle>) return kGuard;
    if constexpr (std::is_same_v<H, StableListHandle>) return kList;
    if constexpr (std::is_same_v<H, StringHandle>) return kString;
    if constexpr (std::is_same_v<H, TorchLibraryHandle>) return kLibrary;
    return kKinds;
}

std::vector<uint64_t> g_handles[kKinds];       // of this input, deleted ones among them
std::vector<AtenGeneratorHandle> g_generator;  // one that lives for ever
float g_memory[256];
Data* g_data = nullptr;  // what kernels take their results from

// Any number but what could be the address of a cell, which nobody can tell from one.
uint64_t no_address(uint64_t n) { return n >= 4096 && !(n >> 56) ? n | 1 : n; }

uint64_t new_generator() {
    AtenGeneratorHandle made = nullptr;
    torch_new_generator_handle(g_generator[0], &made);
    g_handles[kGenerator].push_back(reinterpret_cast<uint64_t>(made));
    return g_handles[kGenerator].back();
}
uint64_t handle(Kind kind) {
    Data& data = *g_data;
    const auto how = data.ConsumeIntegral<uint8_t>();
    if (how < 8) return no_address(data.ConsumeIntegral<uint64_t>());
    if (how < 12) return 0;
    if (how < 24) kind = static_cast<Kind>(how % kKinds);
    if (kind == kGenerator && g_handles[kind].empty()) return new_generator();
    if (g_handles[kind].empty()) return 16;
    const size_t last = g_handles[kind].size() - 1;
    const size_t back = data.ConsumeIntegralInRange<size_t>(0, std::min<size_t>(last, 15));
    return g_handles[kind][last - back];
}
uint64_t new_tensor() {
    static PyObject* tensors = found("tensors");
    AtenTensorHandle made = nullptr;
    if (torch_tensor_from_pyobject(element(tensors, *g_data), &made)) wrong("torch_tensor_from_pyobject", "");
    g_handles[kTensor].push_back(reinterpret_cast<uint64_t>(made));
    return g_handles[kTensor].back();
}

// A cell for a stack or a list. The address of one that counts is given away once.
uint64_t cell(int depth = 0) {
    Data& data = *g_data;
    switch (data.ConsumeIntegralInRange<int>(0, 9)) {
        case 0:
        case 1:
            return new_tensor();
        case 2:
            return no_address(static_cast<uint64_t>(integer(data)));
        case 3:
            return 0;
        case 4: {  // an optional value
            StableIValue* made = nullptr;
            if (depth > 3 || torch_new_stable_ivalue(&made)) return 0;
            *made = cell(depth + 1);
            return reinterpret_cast<uint64_t>(made);
        }
        case 5: {
            StableListHandle made = nullptr;
            if (depth > 3 || torch_new_list_reserve_size(data.ConsumeIntegralInRange<size_t>(0, 9), &made)) return 0;
            const int count = data.ConsumeIntegralInRange<int>(0, 3);
            for (int i = 0; i < count; i++) torch_list_push_back(made, cell(depth + 1));
            g_handles[kList].push_back(reinterpret_cast<uint64_t>(made));
            return g_handles[kList].back();
        }
        case 6: {
            StringHandle made = nullptr;
            const std::string text = data.ConsumeRandomLengthString(12);
            if (torch_new_string_handle(text.data(), text.size(), &made)) return 0;
            g_handles[kString].push_back(reinterpret_cast<uint64_t>(made));
            return g_handles[kString].back();
        }
        case 7:
            return handle(kTensor);
        case 8:
            return handle(static_cast<Kind>(data.ConsumeIntegralInRange<int>(0, kKinds - 1)));
        default:
            return new_generator();
    }
}

void kernel(StableIValue* stack, uint64_t nargs, uint64_t nrets) {
    if (!g_data) return;
    const auto what = g_data->ConsumeIntegral<uint8_t>();
    if (what < 60) return;  // gives its argument back
    if (what < 70) throw std::runtime_error("of a kernel");
    for (uint64_t i = 0; i < nrets; i++) stack[i] = cell();
}
void body(int64_t begin, int64_t end, void*) {
    if (end - begin == 3) throw std::out_of_range("of a loop");
}

// ---- arguments of any type ----

struct Places {  // memory of a call's arguments, and where handles come back
    std::vector<std::unique_ptr<std::vector<int64_t>>> numbers;
    std::vector<std::string> texts;
    std::vector<std::pair<Kind, std::unique_ptr<uint64_t>>> made;
    std::vector<std::unique_ptr<uint64_t[]>> results;
};

template <class T>
T argument(Places& places) {
    Data& data = *g_data;
    if constexpr (std::is_pointer_v<T> && kind_of<T>() != kKinds) {
        return reinterpret_cast<T>(handle(kind_of<T>()));
    } else if constexpr (std::is_same_v<T, const char*>) {
        const auto how = data.ConsumeIntegral<uint8_t>();
        if (how < 8) return nullptr;
        static const char* const known[] = {"cpu",      "meta",    "npu:1", "sum",       "mean", "amax",
                                            "constant", "reflect", "CPU",   "aten::add", "",     "fuzz"};
        places.texts.push_back(how < 200 ? known[how % std::size(known)] : data.ConsumeRandomLengthString(20));
        places.texts.reserve(16);
        return places.texts.back().c_str();
    } else if constexpr (std::is_same_v<T, bool>) {
        return data.ConsumeBool();
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(data.ConsumeBool() ? data.ConsumeFloatingPoint<double>() : double(integer(data)));
    } else if constexpr (std::is_same_v<T, StableIValue>) {
        return no_address(static_cast<uint64_t>(integer(data)));
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(integer(data));
    } else if constexpr (std::is_same_v<T, const int64_t*> || std::is_same_v<T, int32_t*> ||
                         std::is_same_v<T, double*>) {
        // Lists of numbers, and numbers that may be missing, or places for results: 128 of them are there.
        if (data.ConsumeIntegral<uint8_t>() < 32) return nullptr;
        auto all = std::make_unique<std::vector<int64_t>>(130, 1);
        const int count = data.ConsumeIntegralInRange<int>(0, 5);
        for (int i = 0; i < count; i++) (*all)[static_cast<size_t>(i)] = integer(data);
        places.numbers.push_back(std::move(all));
        return reinterpret_cast<T>(places.numbers.back()->data());
    } else if constexpr (std::is_same_v<T, const AtenTensorHandle*>) {
        auto all = std::make_unique<std::vector<int64_t>>(130, 0);
        for (int i = 0; i < 3; i++) (*all)[static_cast<size_t>(i)] = static_cast<int64_t>(handle(kTensor));
        places.numbers.push_back(std::move(all));
        return reinterpret_cast<T>(places.numbers.back()->data());
    } else {  // a place for a result
        if (data.ConsumeIntegral<uint8_t>() < 4) return nullptr;
        using Held = std::remove_pointer_t<T>;
        if constexpr (std::is_pointer_v<Held> && kind_of<Held>() != kKinds) {
            places.made.emplace_back(kind_of<Held>(), std::make_unique<uint64_t>(0));
            return reinterpret_cast<T>(places.made.back().second.get());
        }
        places.results.push_back(std::make_unique<uint64_t[]>(4));
        return reinterpret_cast<T>(places.results.back().get());
    }
}

void look_at(const char* name, AOTITorchError failed) {
    if (PyErr_Occurred()) is_well(nullptr, name), wrong(name, "an exception of Python's stays behind");
    if (failed && !*torch_exception_get_what()) wrong(name, "failed without a word");
}
void touch(uint64_t h, const char* name) {
    static PyObject* const function = found("touch");
    void* object = nullptr;
    bool defined = false;
    const auto t = reinterpret_cast<AtenTensorHandle>(h);
    if (aoti_torch_is_defined(t, &defined) || !defined) return;
    if (torch_tensor_to_pyobject(t, nullptr, &object)) wrong(name, "its tensor is none of Python's");
    Ref tensor(static_cast<PyObject*>(object));
    Ref done(PyObject_CallOneArg(function, tensor.get()));
    is_well(done.get(), name);
}

template <class... A>
void call(const char* name, AOTITorchError (*function)(A...)) {
    Places places;
    std::tuple<A...> given{argument<A>(places)...};
    const AOTITorchError failed = std::apply(function, given);
    look_at(name, failed);
    if (failed) return;
    for (auto& [kind, place] : places.made) {
        if (!*place) wrong(name, "no handle, and no failure");
        g_handles[kind].push_back(*place);
        if (kind == kTensor) touch(*place, name);
    }
    // What was written to has to be as it was, in its storage.
    if (!g_handles[kTensor].empty()) touch(g_handles[kTensor].back(), name);
}

struct Function {
    const char* name;
    void (*run)(const char*);
};
#define F(name) {#name, [](const char* n) { call(n, name); }}

const Function kFunctions[] = {F(aoti_torch_delete_tensor_object),
                               F(aoti_torch_new_tensor_handle),
                               F(aoti_torch_new_uninitialized_tensor),
                               F(aoti_torch_assign_tensors),
                               F(aoti_torch_assign_tensors_out),
                               F(aoti_torch_get_data_ptr),
                               F(aoti_torch_get_device_index),
                               F(aoti_torch_get_device_type),
                               F(aoti_torch_get_dim),
                               F(aoti_torch_get_dtype),
                               F(aoti_torch_get_layout),
                               F(aoti_torch_get_numel),
                               F(aoti_torch_get_size),
                               F(aoti_torch_get_sizes),
                               F(aoti_torch_get_storage_offset),
                               F(aoti_torch_get_storage_size),
                               F(aoti_torch_get_stride),
                               F(aoti_torch_get_strides),
                               F(aoti_torch_is_contiguous),
                               F(aoti_torch_is_defined),
                               F(torch_get_const_data_ptr),
                               F(torch_get_mutable_data_ptr),
                               F(torch_set_requires_grad),
                               F(torch_has_storage),
                               F(aoti_torch_get_storage_numel),
                               F(aoti_torch__reinterpret_tensor),
                               F(aoti_torch_empty_strided),
                               F(aoti_torch_item_bool),
                               F(aoti_torch_item_int8),
                               F(aoti_torch_item_int64),
                               F(aoti_torch_item_uint64),
                               F(aoti_torch_item_float32),
                               F(aoti_torch_item_float64),
                               F(aoti_torch_scalar_to_tensor_bool),
                               F(aoti_torch_scalar_to_tensor_float64),
                               F(aoti_torch_scalar_to_tensor_uint64),
                               F(torch_delete_list),
                               F(torch_delete_string),
                               F(torch_list_get_item),
                               F(torch_list_size),
                               F(torch_list_set_item),
                               F(torch_list_push_back),
                               F(torch_string_c_str),
                               F(torch_string_length),
                               F(torch_parse_device_string),
                               F(torch_delete_generator),
                               F(torch_generator_get_device),
                               F(torch_new_generator_handle),
                               F(aoti_torch_create_device_guard),
                               F(aoti_torch_delete_device_guard),
                               F(aoti_torch_delete_stream),
                               F(aoti_torch_device_guard_set_index),
                               F(aoti_torch_get_current_device_index),
                               F(aoti_torch_get_current_stream),
                               F(aoti_torch_stream_id),
                               F(torch_stream_native_handle),
                               F(torch_get_num_threads),
                               F(torch_get_thread_idx),
                               F(aoti_torch_aten_amax),
                               F(aoti_torch_aten_fill__Scalar),
                               F(aoti_torch_aten_full),
                               F(aoti_torch_aten_narrow),
                               F(aoti_torch_aten_new_empty),
                               F(aoti_torch_aten_new_zeros),
                               F(aoti_torch_aten_pad),
                               F(aoti_torch_aten_subtract_Tensor),
                               F(aoti_torch__fft_c2c),
                               F(aoti_torch_addmm_out),
                               F(aoti_torch_as_strided),
                               F(aoti_torch_bmm_out),
                               F(aoti_torch_clone),
                               F(aoti_torch_clone_preserve_strides),
                               F(aoti_torch_convolution),
                               F(aoti_torch_copy_),
                               F(aoti_torch_index_put_out),
                               F(aoti_torch_mm_out),
                               F(aoti_torch_nonzero),
                               F(aoti_torch_scatter_out),
                               F(aoti_torch_scatter_reduce_out),
                               F(aoti_torch_tensor_copy_),
                               F(aoti_torch_view_as_real),
                               F(aoti_torch_view_dtype),
                               F(aoti_torch_zero_),
                               F(aoti_torch_delete_library_object),
                               F(torch_library_set_python_module)};
#undef F

// ---- calls whose arguments hang together ----

void call_operator() {
    static PyObject* operators = found("operators");
    PyObject* pair = element(operators, *g_data);
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(pair, 0));
    StableIValue stack[64];  // more than any operator has
    const int count = g_data->ConsumeIntegralInRange<int>(0, 8);
    for (int i = 0; i < 64; i++) stack[i] = i < count ? cell() : 0;
    const auto failed =
        torch_call_dispatcher(name, PyUnicode_AsUTF8(PyTuple_GET_ITEM(pair, 1)), stack, TORCH_ABI_VERSION);
    look_at(name, failed);
    if (!failed && stack[0] >> 56 == 1) touch(stack[0], name);
}
void call_kernel() {
    static PyObject* calls = found("calls");
    PyObject* pair = element(calls, *g_data);
    PyObject* value = element(PyTuple_GET_ITEM(pair, 1), *g_data);
    Ref result(PyObject_CallOneArg(PyTuple_GET_ITEM(pair, 0), value));
    is_well(result.get(), PyTuple_GET_ITEM(pair, 0));
}
void make_from_memory() {
    Data& data = *g_data;
    int64_t sizes[4], strides[4];
    const int64_t ndim = data.ConsumeIntegralInRange<int64_t>(-1, 4);
    for (int i = 0; i < 4; i++) sizes[i] = integer(data), strides[i] = integer(data);
    const int64_t offset = integer(data);
    // Where the ABI cannot see: what the sizes say has to be there, or no memory is read.
    AtenTensorHandle made = nullptr;
    const auto failed = torch_from_blob(
        data.ConsumeBool() ? g_memory : nullptr, ndim, sizes, data.ConsumeBool() ? strides : nullptr, offset,
        static_cast<int32_t>(integer(data)), static_cast<int32_t>(integer(data)), static_cast<int32_t>(integer(data)),
        &made, data.ConsumeIntegralInRange<int>(0, 9) == 9, nullptr, 0, nullptr, nullptr);
    look_at("torch_from_blob", failed);
    if (!failed) aoti_torch_delete_tensor_object(made);
}
void convert_object() {
    static PyObject* objects = found("objects");
    PyObject* object = element(objects, *g_data);
    PyObject* second = element(objects, *g_data);
    int32_t numbers[2];
    bool is_tensor;
    void* back = nullptr;
    look_at("torch_is_tensor_pyobject", torch_is_tensor_pyobject(object, &is_tensor));
    look_at("torch_device_from_pyobject", torch_device_from_pyobject(object, numbers, numbers + 1));
    look_at("torch_dtype_from_pyobject", torch_dtype_from_pyobject(object, numbers));
    for (int which = 0; which < 3; which++) {
        back = nullptr;
        const auto failed =
            which == 0   ? torch_dtype_to_pyobject(static_cast<int32_t>(integer(*g_data)), &back)
            : which == 1 ? torch_device_to_pyobject(static_cast<int32_t>(integer(*g_data)),
                                                    static_cast<int32_t>(integer(*g_data)), &back)
                         : torch_tensor_to_pyobject(reinterpret_cast<AtenTensorHandle>(handle(kTensor)), second, &back);
        look_at("to_pyobject", failed);
        if (!failed) Py_XDECREF(static_cast<PyObject*>(back));
    }
}
void loop() {
    const int64_t begin = integer(*g_data), end = integer(*g_data);
    if (end > 1000 || begin < -1000) return;  // it would run
    look_at("torch_parallel_for", torch_parallel_for(begin, end, integer(*g_data), body, nullptr));
}

void start_kernels() {
    start(kProgram);
    TorchLibraryHandle library = nullptr;
    if (aoti_torch_library_init_impl("fuzz_stable", "CompositeExplicitAutograd", __FILE__, __LINE__, &library))
        wrong("init_impl", torch_exception_get_what());
    const auto count = PyList_GET_SIZE(found("calls"));
    for (Py_ssize_t i = 0; i < count; i++)
        if (torch_library_impl(library, ("f" + std::to_string(i)).c_str(), kernel, TORCH_ABI_VERSION))
            wrong("library_impl", torch_exception_get_what());
    // The one way to a generator's handle is a kernel's argument.
    TorchLibraryHandle own = nullptr, kernels = nullptr;
    aoti_torch_library_init_def("fuzz_stable_own", __FILE__, __LINE__, &own);
    aoti_torch_library_def(own, "keep(Generator g) -> ()");
    aoti_torch_library_init_impl("fuzz_stable_own", "CompositeExplicitAutograd", __FILE__, __LINE__, &kernels);
    torch_library_impl(
        kernels, "keep",
        [](StableIValue* stack, uint64_t, uint64_t) {
            g_generator.push_back(reinterpret_cast<AtenGeneratorHandle>(stack[0]));
        },
        TORCH_ABI_VERSION);
    Ref done(PyRun_String("torch.ops.fuzz_stable_own.keep(generator)", Py_eval_input,
                          PyModule_GetDict(PyImport_AddModule("__main__")),
                          PyModule_GetDict(PyImport_AddModule("__main__"))));
    if (!done || g_generator.empty()) wrong("keep", "no generator came");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    start_kernels();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    Data data(bytes, size);
    g_data = &data;
    for (int step = 0; step < 12 && data.remaining_bytes(); step++) {
        const auto what = data.ConsumeIntegral<uint8_t>();
        if (what < 40)
            new_tensor();
        else if (what < 70)
            call_operator();
        else if (what < 90)
            call_kernel();
        else if (what < 100)
            make_from_memory();
        else if (what < 110)
            convert_object();
        else if (what < 114)
            loop();
        else {
            const Function& f = kFunctions[data.ConsumeIntegralInRange<size_t>(0, std::size(kFunctions) - 1)];
            f.run(f.name);
        }
    }
    g_data = nullptr;
    for (uint64_t h : g_handles[kTensor]) aoti_torch_delete_tensor_object(reinterpret_cast<AtenTensorHandle>(h));
    for (uint64_t h : g_handles[kList]) torch_delete_list(reinterpret_cast<StableListHandle>(h));
    for (uint64_t h : g_handles[kString]) torch_delete_string(reinterpret_cast<StringHandle>(h));
    for (uint64_t h : g_handles[kGenerator]) torch_delete_generator(reinterpret_cast<AtenGeneratorHandle>(h));
    for (uint64_t h : g_handles[kGuard]) aoti_torch_delete_device_guard(reinterpret_cast<DeviceGuardHandle>(h));
    for (uint64_t h : g_handles[kStream]) aoti_torch_delete_stream(reinterpret_cast<StreamHandle>(h));
    for (auto& handles : g_handles) handles.clear();
    aoti_torch_grad_mode_set_enabled(true);
    return 0;
}
