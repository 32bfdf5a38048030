// Corners of ATen, c10 and autograd in C++ that programs were seen to use. Compiled against our headers and, with
// --live, against PyTorch's, unchanged.
#include <torch/extension.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/DLConvertor.h>
#include <ATen/NumericUtils.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/core/MT19937RNGEngine.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/UpSample.h>
#include <c10/core/StreamGuard.h>
#include <c10/util/Logging.h>
#include <c10/util/Registry.h>
#include <c10/util/SmallVector.h>
#include <c10/util/Synchronized.h>
#include <c10/util/Type.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/utils/object_ptr.h>
#include <torch/custom_class.h>

#include <sstream>
#include <thread>

#include "expect.h"

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square : Shape {
    explicit Square(double a) : a(a) {}
    double area() const override { return a * a; }
    double a;
};
C10_DECLARE_REGISTRY(ShapeRegistry, Shape, double);
C10_DEFINE_REGISTRY(ShapeRegistry, Shape, double);
C10_REGISTER_CLASS(ShapeRegistry, square, Square);

static void names() {
    std::string dashes = "a--b-c";
    EXPECT(c10::ReplaceAll(dashes, "-", "+-") == 3 && dashes == "a+-+-b+-c" && c10::ReplaceAll(dashes, "x", "y") == 0);
    EXPECT(c10::maybe_wrap_dim(-1, 3) == 2 && at::maybe_wrap_dim(0, 0) == 0);
    EXPECT((std::is_same_v<c10::Stack, torch::jit::Stack>));
    EXPECT(ShapeRegistry()->Create("square", 3.0)->area() == 9);
    EXPECT(!ShapeRegistry()->Has("circle") && ShapeRegistry()->Create("circle", 1.0) == nullptr);
    EXPECT(ShapeRegistry()->Keys() == std::vector<std::string>{"square"});
    EXPECT(std::string(c10::demangle_type<int>()) == "int" && c10::demangle(typeid(Square).name()) == "Square");
    c10::Synchronized<int> guarded(3);
    EXPECT(guarded.withLock([](int& i) { return ++i; }) == 4);
    c10::SmallVector<int64_t, 3> sizes{1, 2};
    const std::vector<int64_t> more{3, 4};
    sizes.append(more.begin(), more.end());
    sizes.append(2, 7);
    EXPECT(c10::IntArrayRef(sizes) == c10::IntArrayRef({1, 2, 3, 4, 7, 7}));
    EXPECT(c10::promoteTypes(at::kInt, at::kHalf) == at::kHalf);
    EXPECT(at::_isnan(std::nan("")) && !at::_isnan(1) && at::_isinf(HUGE_VAL));
    std::ostringstream text;
    text << std::vector<int>{1, 2} << ", " << std::pair<int, int>(3, 4);
    EXPECT(text.str() == "1 2, (3, 4)");
}

static void generators() {
    at::Generator generator = at::detail::createCPUGenerator(5);
    at::Generator twin = generator.clone();
    EXPECT(at::rand({3}, generator).equal(at::rand({3}, twin)));
    const at::Tensor state = generator.get_state(), next = at::rand({3}, generator);
    EXPECT(!at::rand({3}, generator).equal(next));
    generator.set_state(state);
    EXPECT(at::rand({3}, generator).equal(next) && at::rand({3}, twin).equal(next));
    EXPECT(generator.seed() == generator.current_seed() && generator.current_seed() != 5);
}

static void engines() {
    at::Philox4_32 philox(0, 0, 0);  // the words that its authors give for a key and a counter of zeros
    for (const uint32_t word : {0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}) EXPECT(philox() == word);
    at::Philox4_32 ahead(7, 3, 4294967301U), same(7, 3);
    same.incr_n(4294967301U);
    EXPECT(ahead() == same());
    EXPECT(std::abs(at::Philox4_32(7, 3, 5).randn(10)) < 10);
    at::mt19937 twister(9);
    EXPECT(twister() == 44556670 && twister.seed() == 9);
    auto generator = at::make_generator<at::CPUGeneratorImpl>(42);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    EXPECT(at::check_generator<at::CPUGeneratorImpl>(generator)->random() == at::mt19937(42)());
}

static void streams() {
    const c10::Stream stream(c10::Stream::DEFAULT, c10::Device(at::kCPU));
    EXPECT(stream == c10::Stream(c10::Stream::UNSAFE, c10::Device(at::kCPU), 0) && stream.id() == 0);
    EXPECT(stream.device_type() == at::kCPU && c10::str(stream) == "stream 0 on device cpu");
    c10::OptionalStreamGuard none;
    EXPECT(!none.current_stream());
    const auto packed = stream.pack3();
    EXPECT(c10::Stream::unpack3(packed.stream_id, packed.device_index, packed.device_type) == stream);
}

static void exchange() {
    const auto t = torch::arange(6, torch::kDouble).view({2, 3}).t();
    DLManagedTensor* managed = at::toDLPack(t);
    EXPECT(managed->dl_tensor.ndim == 2 && managed->dl_tensor.strides[0] == 1 && managed->dl_tensor.strides[1] == 3);
    EXPECT(managed->dl_tensor.dtype.bits == 64 && managed->dl_tensor.dtype.code == kDLFloat);
    {
        const auto back = at::fromDLPack(managed);
        EXPECT(torch::equal(back, t) && back.data_ptr() == t.data_ptr() && back.stride(1) == 3);
    }
    for (const auto dtype : {at::kBool, at::kByte, at::kShort, at::kHalf, at::kBFloat16, at::kComplexFloat})
        EXPECT(at::toScalarType(at::getDLDataType(torch::zeros({1}, dtype))) == dtype);
    EXPECT(!error_of([] { at::toScalarType(DLDataType{2, 24, 1}); }).empty());
    EXPECT(!error_of([] { at::toScalarType(DLDataType{2, 32, 4}); }).empty());

    // Memory of somebody else is given back once, after the last tensor that has it.
    static int given_back = 0;
    static double memory[] = {1, 2};
    static int64_t size[] = {2};
    DLManagedTensor mine{};
    mine.dl_tensor = {memory, {kDLCPU, 0}, 1, {kDLFloat, 64, 1}, size, nullptr, 0};
    mine.deleter = [](DLManagedTensor*) { given_back++; };
    auto taken = at::fromDLPack(&mine);
    auto view = taken.slice(0, 1);
    taken = at::Tensor();
    EXPECT(given_back == 0 && view.item<double>() == 2);
    view = at::Tensor();
    EXPECT(given_back == 1);
}

static void states() {
    at::ThreadLocalState recording;
    bool elsewhere = true, propagated = true;
    {
        torch::NoGradGuard guard;
        const at::ThreadLocalState without;
        std::thread([&] {
            const at::ThreadLocalStateGuard state(without);
            elsewhere = torch::GradMode::is_enabled();
        }).join();
        const auto wrapped = at::wrapPropagateTLSState([&] { propagated = torch::GradMode::is_enabled(); });
        std::thread(wrapped).join();
        const at::ThreadLocalStateGuard again(recording);
        EXPECT(torch::GradMode::is_enabled());
    }
    EXPECT(!elsewhere && !propagated && torch::GradMode::is_enabled());
}

static void stacks() {
    torch::jit::Stack stack;
    torch::jit::push(stack, 1, 2.5, std::string("three"), torch::ones({2}));
    EXPECT(torch::jit::peek(stack, 1, 4).toDouble() == 2.5 && torch::jit::peekSlice(stack, 0, 2, 4).size() == 2);
    const auto two = torch::jit::pop(stack, 2);
    EXPECT(two.size() == 2 && two[0].toStringRef() == "three" && stack.size() == 2);
    int64_t number = 0;
    double real = 0;
    torch::jit::pop(stack, number, real);
    EXPECT(number == 1 && real == 2.5 && stack.empty());

    c10::List<std::string> list({"a", "b"});
    list.insert(list.begin(), "z");
    list.erase(list.begin() + 1);
    EXPECT(list.size() == 2 && list.get(0) == "z" && list.get(1) == "b");
    const auto add = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
    EXPECT(c10::str(*add.schema().arguments()[0].type()) == "Tensor");
    const c10::DispatchKeySet keys({c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU});
    EXPECT(keys.highestPriorityTypeId() == c10::DispatchKey::AutogradCPU);
    EXPECT(keys.remove(c10::DispatchKey::AutogradCPU).highestPriorityTypeId() == c10::DispatchKey::CPU);
    EXPECT(torch::ones({1}).key_set().has(c10::DispatchKey::CPU));
}

static void gradients() {
    auto x = torch::ones({3}, torch::dtype(torch::kDouble).requires_grad(true));
    const auto y = x * 2;
    int calls = 0;
    const auto hook = y.register_hook([&](torch::Tensor g) {
        calls++;
        return g * 10;
    });
    y.sum().backward({}, true);
    EXPECT(calls == 1 && x.grad()[0].item<double>() == 20);
    y.remove_hook(hook);
    x.mutable_grad().zero_();
    y.sum().backward();
    EXPECT(calls == 1 && x.grad()[0].item<double>() == 2);
    const auto view = x.view({-1, 1});
    EXPECT(view._base().is_same(x) && view.output_nr() == 0 && x.unbind()[2].output_nr() == 2);
    EXPECT(!error_of([&] { x._base(); }).empty());
}

static std::string printed(const at::Tensor& tensor) {
    std::ostringstream text;
    text << tensor << ' ' << 0.5;
    return text.str();
}

// Three times the number, by way of Python's objects.
static py::object tripled(const py::object& number) {
    THPObjectPtr three(PyLong_FromLong(3));
    THPObjectPtr other = std::move(three);
    TORCH_CHECK(!three && other);
    return py::reinterpret_steal<py::object>(PyNumber_Multiply(number.ptr(), other.get()));
}

// ---- operators without a gradient, which say so ----

static at::Tensor rounded(const at::Tensor& x) { return at::round(x); }
static at::Tensor& doubled_(at::Tensor& x) {
    float* p = x.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); i++) p[i] *= 2;
    return x;
}
static std::vector<at::Tensor> signs(at::TensorList all) {
    std::vector<at::Tensor> made;
    for (const at::Tensor& t : all) made.push_back(t.sign());
    return made;
}

// ---- a class for graphs ----

struct Slope : torch::CustomClassHolder {
    double by;
    int64_t calls = 0;
    explicit Slope(double by) : by(by) {}
    at::Tensor of(const at::Tensor& x) {
        calls++;
        return x * by;
    }
};

static void pixels() {
    using namespace at::native;
    EXPECT(compute_scales_value<float>(std::nullopt, 4, 8) == 0.5f);
    EXPECT(compute_scales_value<double>(4.0, 4, 8) == 0.25);
    EXPECT(area_pixel_compute_scale<double>(5, 9, true, std::nullopt) == 0.5);
    EXPECT(area_pixel_compute_scale<double>(5, 1, true, std::nullopt) == 0);
    EXPECT(area_pixel_compute_source_index<double>(0.5, 3, false, false) == 1.25);
    EXPECT(area_pixel_compute_source_index<double>(0.5, 0, false, false) == 0);
    EXPECT(area_pixel_compute_source_index<double>(0.5, 0, false, true) == -0.25);
    EXPECT(area_pixel_compute_source_index<double>(0.5, 3, true, false) == 1.5);
    EXPECT(nearest_neighbor_compute_source_index(0.4f, 9, 3) == 2);
    EXPECT(nearest_neighbor_exact_compute_source_index(0.5f, 1, 3) == 0);
}

// Forms of operators that few programs name.
static void forms() {
    const at::Tensor where = at::arange(2).view({1, 2}).repeat({2, 1}), what = at::full({2}, 3.0);
    const at::Tensor sparse = at::sparse_coo_tensor(where, what, {2, 3}, at::TensorOptions(at::kDouble));
    EXPECT(sparse.is_sparse() && sparse.scalar_type() == at::kFloat && sparse.sizes() == at::IntArrayRef({2, 3}));
    EXPECT(sparse.to_dense().sum().item<double>() == 6);
    EXPECT(at::sparse_coo_tensor(where, what, {}, true).is_coalesced() && !sparse.is_coalesced());
    EXPECT(at::sparse_coo_tensor({2, 3}, at::TensorOptions(at::kFloat))._nnz() == 0);
    const at::Tensor rows = at::sparse_csr_tensor(at::arange(3), at::arange(2), what, at::TensorOptions());
    EXPECT(rows.layout() == at::kSparseCsr && rows.sizes() == at::IntArrayRef({2, 2}));
    EXPECT(at::result_type(1.5, at::ones({2}, at::kInt)) == at::kFloat && at::result_type(2, 3) == at::kLong);
    const at::Tensor x = at::ones({2});
    EXPECT(at::resize(x, {4}).numel() == 4 && x.numel() == 2 && !x.is_pinned());
    EXPECT(at::resize_as(x, at::ones({2, 3})).numel() == 6);
    static_assert(std::is_same_v<decltype(at::as_strided_(x, {1}, {1})), const at::Tensor&>);
    EXPECT(x.to(at::kDouble, std::nullopt, std::nullopt, std::nullopt, false, true, std::nullopt).is_floating_point());
    const at::Tensor q = at::quantize_per_tensor(x, 0.5, 3, at::kQInt8);
    EXPECT(q.q_scale() == 0.5 && at::q_scale(q) == 0.5);
}

TORCH_LIBRARY(corners, m) {
    m.class_<Slope>("Slope")
        .def(torch::init<double>())
        .def("of", &Slope::of)
        .def("__obj_flatten__",
             [](const c10::intrusive_ptr<Slope>& self) {
                 return std::tuple<std::tuple<std::string, double>>{{"by", self->by}};
             })
        .def_readonly("calls", &Slope::calls)
        .def_pickle([](const c10::intrusive_ptr<Slope>& self) { return self->by; },
                    [](double by) { return c10::make_intrusive<Slope>(by); });
    m.def("rounded(Tensor x) -> Tensor", &rounded);
    m.def("doubled_(Tensor(a!) x) -> Tensor(a!)");
    m.def("signs(Tensor[] all) -> Tensor[]");
    m.def("name(Tensor x) -> Tensor", &rounded);
    m.def("sloped(__torch__.torch.classes.corners.Slope slope, Tensor x) -> Tensor");
}
TORCH_LIBRARY_FRAGMENT(corners, m) { m.def("without_gradient(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(corners, CPU, m) {
    m.impl("without_gradient", &rounded);
    m.impl("doubled_", &doubled_);
    m.impl("signs", &signs);
}
TORCH_LIBRARY_IMPL(corners, CompositeExplicitAutograd, m) {
    m.impl("sloped", [](const c10::intrusive_ptr<Slope>& slope, const at::Tensor& x) { return slope->of(x); });
}
TORCH_LIBRARY_IMPL(corners, Autograd, m) {
    m.impl("without_gradient", torch::autograd::autogradNotImplementedFallback());
    m.impl("doubled_", torch::autograd::autogradNotImplementedFallback());
    m.impl("signs", torch::autograd::autogradNotImplementedFallback());
}
TORCH_LIBRARY_IMPL(corners, ADInplaceOrView, m) {
    m.impl("doubled_", torch::autograd::autogradNotImplementedInplaceOrViewFallback());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("pixels", &pixels);
    m.def("names", &names);
    m.def("forms", &forms);
    m.def("generators", &generators);
    m.def("engines", &engines);
    m.def("streams", &streams);
    m.def("exchange", &exchange);
    m.def("states", &states);
    m.def("stacks", &stacks);
    m.def("gradients", &gradients, py::call_guard<py::gil_scoped_release>());
    m.def("printed", &printed);
    m.def("tripled", &tripled);
    m.def("sized", [](c10::SymInt n, at::IntArrayRef sizes) { return n * static_cast<int64_t>(sizes.size()); });
}
