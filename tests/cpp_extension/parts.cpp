// Smaller parts of ATen and c10 that extensions lean on. Compiled against our headers and, with --live, against
// PyTorch's, unchanged.
#include <torch/extension.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/ExpandUtils.h>
#include <ATen/NativeFunctions.h>
#include <ATen/OpMathType.h>
#include <ATen/Operators.h>
#include <ATen/core/DistributionsHelper.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Float8_e4m3fnuz.h>
#include <c10/util/Float8_e8m0fnu.h>
#include <c10/util/MaybeOwned.h>
#include <c10/util/accumulate.h>
#include <c10/util/order_preserving_flat_hash_map.h>
#include <c10/util/quint4x2.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/Layout.h>
#include <torch/csrc/MemoryFormat.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/jit/python/utf8_decoding_ignore.h>
#include <torch/csrc/utils/python_numbers.h>
#include <torch/csrc/utils/python_strings.h>
#include <torch/csrc/utils/python_tuples.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/options/conv.h>

#include <sstream>
#include <thread>

#include "expect.h"

// Numbers of each distribution, from one generator.
static std::vector<double> drawn(int64_t n, const std::string& which, std::optional<at::Generator> given) {
    auto* gen = at::get_generator_or_default<at::CPUGeneratorImpl>(given, at::detail::getDefaultCPUGenerator());
    std::lock_guard<std::mutex> lock(gen->mutex_);
    std::vector<double> all;
    for (int64_t i = 0; i < n; i++) {
        if (which == "uniform") all.push_back(at::uniform_real_distribution<double>(0.0, 1.0)(gen));
        if (which == "uniform_float") all.push_back(at::uniform_real_distribution<float>(0.0f, 1.0f)(gen));
        if (which == "normal") all.push_back(at::normal_distribution<double>(0.0, 1.0)(gen));
        if (which == "exponential") all.push_back(at::exponential_distribution<double>(2.0)(gen));
        if (which == "bernoulli") all.push_back(at::bernoulli_distribution<double>(0.25)(gen));
        if (which == "whole") all.push_back(at::uniform_int_from_to_distribution<int64_t>(10, -5)(gen));
    }
    return all;
}

static void expanding() {
    at::Tensor a = at::ones({3, 1}), b = at::arange(2.0);
    auto [x, y] = at::expand_outplace(a, b);
    EXPECT(x->sizes() == at::IntArrayRef({3, 2}) && (*y).sizes() == x->sizes() && y->stride(0) == 0);
    EXPECT(at::expand_inplace(at::ones({2, 2}), b)->size(0) == 2);
    EXPECT(at::expand_size(b, {4, 2})->size(0) == 4);
    EXPECT(at::expand_outplace({a, b}).size() == 2);
    const std::vector<int64_t> two{2}, three{3}, wide{2, 3, 4}, narrow{3, 1};
    EXPECT(at::is_expandable_to(at::IntArrayRef(narrow), at::IntArrayRef(wide)));
    EXPECT(!at::is_expandable_to(at::IntArrayRef(three), at::IntArrayRef(two)));
    EXPECT(at::sum_to(at::ones({3, 2}), at::IntArrayRef(two)).sum().item<double>() == 6);
    at::Tensor other = at::ones({3});
    EXPECT_THROW(at::expand_outplace(other, b), c10::Error, "must match");
}

static void memory() {
    c10::Allocator* allocator = c10::GetCPUAllocator();
    {
        c10::DataPtr block = allocator->allocate(100);
        EXPECT(block.get() != nullptr && reinterpret_cast<uintptr_t>(block.get()) % 64 == 0 && block.device().is_cpu());
        c10::DataPtr moved = std::move(block);
        std::memset(moved.get(), 1, 100);
        EXPECT(static_cast<char*>(moved.get())[99] == 1);
    }
    void* raw = allocator->raw_allocate(8);
    allocator->raw_deallocate(raw);
}

static void operators() {
    at::Tensor x = at::ones({2});
    EXPECT(at::_ops::add_Tensor::call(x, x, 2).sum().item<double>() == 6);
    EXPECT(at::_ops::sin::call(at::zeros({1})).item<double>() == 0);
    at::Tensor out = at::empty({2});
    EXPECT(at::_ops::mul_out::call(x, x, out).is_same(out) && out.sum().item<double>() == 2);
    at::Tensor q = at::empty({2, 2}), r = at::empty({2, 2});
    auto [first, second] = at::_ops::linalg_qr_out::call(at::eye(2) * 2, "reduced", q, r);
    EXPECT(first.is_same(q) && second.is_same(r) && r.abs().sum().item<double>() == 4);
    auto add_ = c10::Dispatcher::singleton()
                    .findSchemaOrThrow("aten::add_", "Tensor")
                    .typed<at::Tensor&(at::Tensor&, const at::Tensor&, const at::Scalar&)>();
    EXPECT(add_.call(x, x, 1).is_same(x) && x.sum().item<double>() == 4);
    EXPECT(std::string(at::_ops::add_Tensor::name) == "aten::add" &&
           std::string(at::_ops::add_Tensor::overload_name) == "Tensor");
    static_assert(std::is_same_v<at::_ops::add_Tensor::schema,
                                 at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&)>);
}

// The value of each byte as an 8-bit float of the tensor's type, and the byte of each number.
static at::Tensor float8_values(const at::Tensor& like) {
    at::Tensor values = at::empty({256});
    AT_DISPATCH_V2(like.scalar_type(), "float8_values", AT_WRAP([&] {
                       for (int i = 0; i < 256; i++)
                           values.data_ptr<float>()[i] = scalar_t(static_cast<uint8_t>(i), scalar_t::from_bits());
                   }),
                   AT_EXPAND(AT_FLOAT8_TYPES));
    return values;
}
static at::Tensor float8_bytes(const at::Tensor& like, const at::Tensor& numbers) {
    at::Tensor bytes = at::empty(numbers.sizes(), at::kByte);
    AT_DISPATCH_V2(like.scalar_type(), "float8_bytes", AT_WRAP([&] {
                       for (int64_t i = 0; i < numbers.numel(); i++)
                           bytes.data_ptr<uint8_t>()[i] = scalar_t(numbers.const_data_ptr<float>()[i]).x;
                   }),
                   AT_EXPAND(AT_FLOAT8_TYPES));
    return bytes;
}

static void types() {
    using c10::ScalarType;
    EXPECT(static_cast<int>(ScalarType::QUInt4x2) == 16 && static_cast<int>(ScalarType::Float8_e4m3fnuz) == 26 &&
           static_cast<int>(ScalarType::UInt64) == 29 && static_cast<int>(ScalarType::Float4_e2m1fn_x2) == 45 &&
           static_cast<int>(ScalarType::Undefined) == 46);
    EXPECT(std::string(c10::toString(ScalarType::Int4)) == "Int4" && c10::elementSize(ScalarType::Bits16) == 2 &&
           c10::elementSize(ScalarType::QInt32) == 4);
    EXPECT(c10::isQIntType(at::kQUInt4x2) && c10::toUnderlying(at::kQUInt2x4) == at::kByte &&
           c10::isFloat8Type(ScalarType::Float8_e8m0fnu) && c10::isBitsType(ScalarType::Bits8));
    static_assert(std::is_same_v<decltype(c10::impl::ScalarTypeToCPPType<ScalarType::Half>::t), c10::Half>);
    static_assert(std::is_same_v<at::opmath_type<c10::complex<c10::Half>>, c10::complex<float>>);
    EXPECT(c10::quint4x2(0x21).val_ == 0x21);
    at::Tensor x = at::ones({2});
    EXPECT(x.dtype().id() == caffe2::TypeMeta::Id<float>() && x.dtype().id() != at::ones({1}, at::kInt).dtype().id());
    EXPECT(*c10::optTypeMetaToScalarType(x.options().dtype_opt()) == at::kFloat);
    EXPECT(!x.is_mtia() && !x.is_hpu() && !x.device().is_ipu());
    EXPECT(static_cast<int>(c10::DeviceType::MTIA) == 19 && c10::Device("mtia:1").index() == 1 &&
           c10::DeviceTypeName(c10::DeviceType::Vulkan) == "VULKAN");
    EXPECT(std::string(c10::toString(c10::DispatchKey::QuantizedCPU)) == "QuantizedCPU");
    EXPECT(x.key_set().highestPriorityTypeId() == c10::DispatchKey::ADInplaceOrView ||
           x.key_set().has(c10::DispatchKey::CPU));
}

// An accessor of a program's own, and one that is found by its short name.
template <class T, size_t N>
class Named : public at::TensorAccessorBase<T, N> {
  public:
    Named(T* data, const int64_t* sizes, const int64_t* strides) : at::TensorAccessorBase<T, N>(data, sizes, strides) {}
    T& last() { return this->data_[(this->sizes_[0] - 1) * this->strides_[0]]; }
};
namespace short_names {
using namespace torch;
static float corner(TensorAccessor<float, 2> a) { return a[1][1]; }
}  // namespace short_names

static void views() {
    at::Tensor x = at::arange(4.0f).view({2, 2}), column = x.select(1, 0);
    EXPECT(short_names::corner(x.accessor<float, 2>()) == 3);
    EXPECT((Named<float, 1>(column.data_ptr<float>(), column.sizes().data(), column.strides().data()).last()) == 2);
    at::GenericPackedTensorAccessorBase<float, 2> packed(x.data_ptr<float>(), x.sizes().data(), x.strides().data());
    EXPECT(packed.size(0) == 2 && packed.stride(0) == 2 && packed.data() == x.data_ptr<float>());
    c10::MaybeOwned<at::Tensor> same = x.expect_contiguous(), made = column.expect_contiguous();
    EXPECT(same->is_same(x) && made->is_contiguous() && (*made)[1].item<float>() == 2);
    const std::vector<int64_t> sizes{2, 3, 4, 5};
    EXPECT(c10::size_to_dim_(2, sizes) == 6 && c10::size_between_dim_(0, 3, sizes) == 12 &&
           c10::size_between_dim_(3, 0, sizes) == 12 && c10::size_between_dim_(1, 1, sizes) == 1 &&
           c10::canonical_axis_index_(-1, 4) == 3);
    at::SymDimVector symbolic({at::SymInt(2)});
    symbolic.insert(symbolic.end(), sizes.begin(), sizes.end());
    EXPECT(symbolic.size() == 5 && symbolic[4] == 5);
    EXPECT(c10::sum_integers(sizes) == 14 && c10::multiply_integers(sizes) == 120);
    at::Tensor out = at::empty({0});
    at::native::resize_(out, {3});
    EXPECT(out.numel() == 3 &&
           at::native::empty_like(x, at::kInt, at::kStrided, at::kCPU, false, std::nullopt).dtype() == at::kInt);
    EXPECT(torch::nn::functional::relu(-x).sum().item<float>() == 0);
}

// Generators of C++ alone: two of one seed draw alike, also in threads that Python knows nothing of.
static void generators() {
    at::CPUGeneratorImpl gen(at::default_rng_seed_val), again(at::default_rng_seed_val);
    EXPECT(gen.current_seed() == 67280421310721 && gen.random() == again.random() &&
           gen.random64() == again.random64());
    uint32_t first = 0, second = 0;
    std::thread([&] {
        at::CPUGeneratorImpl own(5);
        first = own.random();
    }).join();
    at::Generator other = at::detail::createCPUGenerator(5);
    second = other.get<at::CPUGeneratorImpl>()->random();
    EXPECT(first == second);
    at::mt19937 engine(5);
    EXPECT(engine() == first);
}

static void texts() {
    std::ostringstream some, none;
    some << at::TensorOptions().dtype(at::kDouble).requires_grad(true);
    EXPECT(some.str() ==
           "TensorOptions(dtype=double, device=cpu (default), layout=Strided (default), requires_grad=true, "
           "pinned_memory=false (default), memory_format=(nullopt))");
    none << at::TensorOptions();
    EXPECT(none.str().rfind("TensorOptions(dtype=float (default), device=cpu (default)", 0) == 0);
}

static void braces() {
    at::Tensor t = torch::tensor({{1, 2}, {3, 4}});
    EXPECT(t.dtype() == at::kLong && t.sizes() == at::IntArrayRef({2, 2}) && t[1][0].item<int64_t>() == 3);
    EXPECT(torch::tensor({{{1.5}}}).sizes() == at::IntArrayRef({1, 1, 1}) &&
           torch::tensor({{1.5}}).dtype() == at::kFloat);
    EXPECT(torch::tensor({{true}, {false}}).dtype() == at::kBool);
    EXPECT(torch::tensor({{1, 2}}, at::kDouble).dtype() == at::kDouble);
    EXPECT_THROW(torch::tensor({{1}, {2, 3}}), c10::Error, "Expected all sub-lists to have sizes: ");
    EXPECT_THROW(torch::tensor({{1}, {2.0}}), c10::Error,
                 "Expected all elements of the tensor to have the same scalar type: ");
}

struct Box : torch::CustomClassHolder {
    explicit Box(int64_t n) : n(n) {}
    int64_t n;
};
static at::Tensor twice(const at::Tensor& x) { return x * 2; }

TORCH_LIBRARY(parts, m) {
    m.def(torch::schema("twice(Tensor x) -> Tensor", c10::AliasAnalysisKind::PURE_FUNCTION));
    m.impl("twice", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(twice)));
}

// Kernels that do not fit their operators, and one that does in every type.
static at::Tensor one(const at::Tensor& x) { return x; }
static at::Tensor& scaled_(at::Tensor& x, double) { return x; }
static at::Tensor many(const at::Tensor& x, int64_t, double, bool, const at::Scalar&, at::IntArrayRef,
                       std::optional<int64_t>, const std::optional<at::Tensor>&, at::TensorList, at::ScalarType,
                       std::optional<at::ScalarType>, at::Device, const c10::List<std::optional<at::Tensor>>&,
                       std::array<bool, 2>, std::optional<at::Generator>, c10::SymInt, c10::SymIntArrayRef,
                       at::MemoryFormat, std::string_view, at::OptionalIntArrayRef) {
    return x;
}
static std::string why_not(torch::Library& m, const char* name, torch::CppFunction&& kernel) {
    const std::string text = error_of([&] { m.impl(name, std::move(kernel)); });
    const size_t reason = text.find("reason: ");
    return reason == std::string::npos ? text : text.substr(reason, text.find('\n', reason) - reason);
}
static std::vector<std::string> reasons;
TORCH_LIBRARY(parts_misfits, m) {
    m.def("longer(Tensor x, int n) -> Tensor");
    m.def("number(int n) -> Tensor");
    m.def("pair(Tensor x) -> (Tensor, Tensor)");
    m.def("scaled_(Tensor(a!) x, Scalar d) -> Tensor(a!)");
    m.def("counted(Tensor x) -> int");
    m.def("maybe(Tensor? x) -> Tensor");
    m.def(
        "many(Tensor x, int n, float d, bool b, Scalar c, int[2] l, int? o, Tensor? t, Tensor[] v, ScalarType s, "
        "ScalarType? os, Device dev, Tensor?[] lo, bool[2] m, Generator? g, SymInt si, SymInt[] sl, MemoryFormat f, "
        "str text, int[]? oi) -> Tensor");
    m.impl("many", at::kCPU, &many);
    for (const char* name : {"longer", "number", "pair", "counted", "maybe"})
        reasons.push_back(why_not(m, name, torch::CppFunction(&one)));
    reasons.push_back(why_not(m, "scaled_", torch::CppFunction(&scaled_)));
}
static void misfits() {
    const std::vector<std::string> expected{"reason: The number of arguments is different. 2 vs 1.",
                                            "reason: Type mismatch in argument 1: int vs Tensor.",
                                            "reason: The number of returns is different. 2 vs 1.",
                                            "reason: Type mismatch in return 1: int vs Tensor.",
                                            "reason: Type mismatch in argument 1: Tensor? vs Tensor.",
                                            "reason: Type mismatch in argument 2: Scalar vs float."};
    for (size_t i = 0; i < expected.size(); i++)
        TORCH_CHECK(reasons.at(i) == expected[i], "expected ", expected[i], ", got ", reasons[i]);
}

static void backends() {
    const at::Tensor x = at::ones({2});
    at::checkBackend("parts", x, at::Backend::CPU);
    EXPECT_THROW(at::checkBackend("parts", {at::Tensor(), x}, at::Backend::CUDA), c10::Error,
                 "Expected tensor to have CUDA Backend, but got tensor with CPU Backend");
    EXPECT(std::string(c10::toString(at::Backend::QuantizedCPU)) == "QuantizedCPU");
    CHECK(x.defined()) << "not seen";
}
static void ordered() {
    using Map = ska_ordered::order_preserving_flat_hash_map<std::string, int64_t>;
    Map map;
    for (const char* name : {"d", "a", "c", "b"}) map[name] = name[0];
    EXPECT(!map.insert({"a", 0}).second && map.emplace("e", 5).second && map.size() == 5);
    EXPECT(map.erase("c") == 1 && map.erase("c") == 0 && map.count("c") == 0);
    map["c"] = 3;
    const auto in_order = [](const Map& m) {
        std::string names;
        for (const auto& entry : m) names += entry.first;
        return names;
    };
    EXPECT(in_order(map) == "dabec" && map.at("c") == 3 && map.find("x") == map.end());
    Map copy = map;
    copy.erase(copy.find("d"));
    EXPECT(in_order(copy) == "abec" && in_order(map) == "dabec" && copy["a"] == 'a');
    copy = std::move(map);
    EXPECT(in_order(copy) == "dabec");
    EXPECT_THROW(copy.at("x"), std::out_of_range, "not in the map");
}

// What a Python object is to the functions by that name.
static std::vector<std::string> checks(py::handle o) {
    std::vector<std::string> all;
    PyObject* const p = o.ptr();
    const auto say = [&all](const char* name, bool is) {
        if (is) all.emplace_back(name);
    };
    say("long", THPUtils_checkLong(p));
    say("bool", THPUtils_checkBool(p));
    say("double", THPUtils_checkDouble(p));
    say("string", THPUtils_checkString(p));
    say("dtype", THPDtype_Check(p));
    say("layout", THPLayout_Check(p));
    say("memory_format", THPMemoryFormat_Check(p));
    say("generator", THPGenerator_Check(p));
    say("variable", THPVariable_Check(p));
    return all;
}
template <class F>
static void unpacks(py::module_& m, const char* name, F f) {
    m.def(name, torch::wrap_pybind_function([f](py::handle o) { return f(o.ptr()); }));
}
static py::object through(py::handle o, const std::string& type) {
    const auto schema = torch::jit::parseSchema("f(" + type + " x) -> ()");
    return torch::jit::toPyObject(torch::jit::toIValue(o, schema.arguments()[0].type()));
}
static void python_values(py::module_& m) {
    m.def("ordered", &ordered);
    m.def("backends", &backends);
    m.def("checks", &checks);
    unpacks(m, "unpack_long", [](PyObject* o) { return THPUtils_unpackLong(o); });
    unpacks(m, "unpack_int", [](PyObject* o) { return THPUtils_unpackInt(o); });
    unpacks(m, "unpack_uint32", [](PyObject* o) { return THPUtils_unpackUInt32(o); });
    unpacks(m, "unpack_uint64", [](PyObject* o) { return THPUtils_unpackUInt64(o); });
    unpacks(m, "unpack_index", [](PyObject* o) { return THPUtils_unpackIndex(o); });
    unpacks(m, "unpack_double", [](PyObject* o) { return THPUtils_unpackDouble(o); });
    unpacks(m, "unpack_bool", [](PyObject* o) { return THPUtils_unpackBool(o); });
    unpacks(m, "unpack_number_as_bool", [](PyObject* o) { return THPUtils_unpackNumberAsBool(o); });
    unpacks(m, "unpack_string", [](PyObject* o) { return THPUtils_unpackString(o); });
    m.def("packed", [] {
        const int64_t numbers[] = {3, -1};
        PyObject* const all[] = {THPUtils_packInt64(-5), THPUtils_packUInt64(~uint64_t(0)), THPUtils_packString("text"),
                                 THPUtils_packInt64Array(2, numbers)};
        py::list list;
        for (PyObject* o : all) list.append(py::reinterpret_steal<py::object>(o));
        return list;
    });
    m.def("scalar_type_of",
          [](py::handle o) { return static_cast<int>(reinterpret_cast<THPDtype*>(o.ptr())->scalar_type); });
    m.def("layout_of", [](py::handle o) { return static_cast<int>(reinterpret_cast<THPLayout*>(o.ptr())->layout); });
    m.def("memory_format_of",
          [](py::handle o) { return static_cast<int>(reinterpret_cast<THPMemoryFormat*>(o.ptr())->memory_format); });
    m.def("double_dtype",
          [] { return py::reinterpret_borrow<py::object>((PyObject*)torch::getTHPDtype(at::kDouble)); });
    m.def("same_generator", [](py::handle o) {
        return py::reinterpret_steal<py::object>(THPGenerator_Wrap(THPGenerator_Unwrap(o.ptr())));
    });
    m.def("through", &through);
    m.def("ignore_bad_text", [](bool ignore) {
        const bool former = torch::jit::getUTF8DecodingIgnore();
        torch::jit::setUTF8DecodingIgnore(ignore);
        return former;
    });
}
TORCH_LIBRARY_FRAGMENT(parts, m) {
    m.def("bad_text() -> str", [] {
        return std::string(
            "a\xff"
            "b");
    });
    m.def("bad_texts() -> str[]", [] { return std::vector<std::string>{"\xfe", "c"}; });
}

// Keys that no tensor of the CPU has.
TORCH_LIBRARY_IMPL(parts, QuantizedCPU, m) { m.impl("twice", TORCH_FN(twice)); }
TORCH_LIBRARY_IMPL(parts, Vulkan, m) { m.impl("twice", TORCH_FN(twice)); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("drawn", &drawn);
    m.def("expanding", &expanding);
    m.def("memory", &memory);
    m.def("operators", &operators);
    m.def("texts", &texts);
    m.def("braces", &braces);
    m.def("types", &types);
    m.def("views", &views);
    m.def("generators", &generators);
    m.def("misfits", &misfits);
    m.def("float8_values", &float8_values);
    m.def("float8_bytes", &float8_bytes);
    py::class_<Box, c10::intrusive_ptr<Box>>(m, "Box").def(py::init<int64_t>()).def_readwrite("n", &Box::n);
    m.def("same", [](const c10::intrusive_ptr<Box>& box) { return box; });
    python_values(m);
}
