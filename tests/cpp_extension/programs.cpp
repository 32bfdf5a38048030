// Ten small programs of the sort that people write, each with the headers and the corner of the API that it is used to.
// Compiled against our headers, and with --live against PyTorch's, unchanged: check_* throw if something is not as
// there.
#include <torch/extension.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/cpu/vec/functional.h>
#include <ATen/cpu/vec/vec.h>
#include <c10/util/Logging.h>
#include <c10/util/Unroll.h>
#include <torch/fft.h>
#include <torch/serialize.h>
#include <torch/special.h>

#include <cmath>
#include <map>
#include <sstream>
#include <thread>

#define EXPECT(condition) TORCH_CHECK(condition, "line ", __LINE__, ": ", #condition)
#define EXPECT_THROW(expression, Kind, part)                                             \
    do {                                                                                 \
        bool thrown = false;                                                             \
        try {                                                                            \
            (void)(expression);                                                          \
        } catch (const Kind& e) {                                                        \
            thrown = true;                                                               \
            EXPECT(std::string(e.what()).find(part) != std::string::npos);               \
        }                                                                                \
        TORCH_CHECK(thrown, "line ", __LINE__, ": nothing was thrown by ", #expression); \
    } while (false)

// ---- 1: sizes that might be symbols ----
static at::Tensor padded(const at::Tensor& x, c10::SymInt size) {
    c10::SymInt missing = size - x.sym_size(0);
    TORCH_CHECK(missing >= 0, "padded: ", size, " is less than ", x.sym_size(0))  // no semicolon: people do that
    at::Tensor more = at::zeros_symint({missing, x.sym_size(1)}, x.options());
    return at::cat({x, more});
}
static int64_t first_of(c10::SymIntArrayRef sizes) { return sizes[0].guard_int(__FILE__, __LINE__); }
static void check_sizes() {
    at::Tensor x = at::ones({2, 3});
    EXPECT(padded(x, 4).sizes() == at::IntArrayRef({4, 3}) && padded(x, x.sym_size(0)).size(0) == 2);
    EXPECT_THROW(padded(x, 1), c10::Error, "padded: 1 is less than 2");
    EXPECT(first_of(x.sym_sizes()) == 2 && x.sym_numel() == 6 && x.sym_stride(0) == 3);
    EXPECT(x.view_symint({-1, x.sym_size(0)}).sizes() == at::IntArrayRef({3, 2}));
    EXPECT(x.expand_symint({5, 2, 3}).dim() == 3 && x.new_empty_symint(x.sym_sizes()).numel() == 6);
    EXPECT(C10_AS_INTARRAYREF_SLOW(x.sym_sizes()) == x.sizes() && c10::fromIntArrayRefSlow(x.sizes()).size() == 2);
    c10::SymInt n = 3;
    n *= 2;
    EXPECT(n == 6 && n.expect_int() == 6 && n.max(7) == 7 && n.maybe_as_int() == 6 && !n.is_symbolic());
}

// ---- 2: undefined tensors, optional tensors, uses of a handle ----
static void check_undefined() {
    at::Tensor none;
    EXPECT(!none.defined() && none.numel() == 0 && none.dim() == 1 && none.size(0) == 0 && none.size(-1) == 0);
    EXPECT(none.sizes() == at::IntArrayRef({0}) && none.scalar_type() == at::ScalarType::Undefined);
    EXPECT_THROW(none.device(), c10::Error, "tensor does not have a device");
    EXPECT_THROW(none.size(1), c10::IndexError, "Dimension out of range");
    EXPECT_THROW(none + 1, c10::Error, "");
    at::Tensor t = at::ones({2});
    EXPECT(t.use_count() == 1);
    at::Tensor u = t;
    EXPECT(t.use_count() == 2);
    u.reset();
    EXPECT(t.use_count() == 1 && !u.defined());
    c10::optional<at::Tensor> given = t, missing;
    EXPECT(given->is_same(t) && !missing.has_value() && missing.value_or(t).is_same(t));
    EXPECT(at::Tensor(std::move(*given)).is_same(t) && c10::make_optional(t)->defined());
    std::vector<at::Tensor> list(3);
    EXPECT(!list[2].defined() && at::TensorList(list).size() == 3);
}

// ---- 3: element types, old and new macros ----
template <typename scalar_t>
static double sum_of(const at::Tensor& t) {
    double all = 0;
    const auto* p = t.const_data_ptr<scalar_t>();
    for (const auto i : c10::irange(t.numel())) all += static_cast<double>(p[i]);
    return all;
}
static double dispatched(const at::Tensor& t) {
    return AT_DISPATCH_V2(t.scalar_type(), "dispatched", AT_WRAP([&] { return sum_of<scalar_t>(t); }),
                          AT_EXPAND(AT_ALL_TYPES), at::kHalf, at::kBFloat16, AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES));
}
static void check_dispatch() {
    for (at::ScalarType s : {at::kFloat, at::kDouble, at::kLong, at::kByte, at::kHalf, at::kBFloat16, at::kUInt16})
        EXPECT(dispatched(at::ones({3}).to(s)) == 3);
    EXPECT_THROW(dispatched(at::ones({3}, at::kBool)), c10::NotImplementedError,
                 "\"dispatched\" not implemented for 'Bool'");
    const std::string name =
        AT_DISPATCH_SWITCH(at::kInt, "name", AT_DISPATCH_CASE_INTEGRAL_TYPES([&] {
                               return std::is_same<scalar_t, int>::value ? std::string("int") : std::string("other");
                           }) AT_DISPATCH_CASE(at::kFloat, [&] { return std::string("float"); }));
    EXPECT(name == "int");
    int seen = 0;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, at::kHalf, "two", [&]() {
        using acc_t = at::opmath_type<scalar_t>;
        seen = sizeof(acc_t) * 10 + sizeof(scalar_t);
    });
    EXPECT(seen == 42);
    AT_DISPATCH_INDEX_TYPES(at::kLong, "index", [&] { seen = sizeof(index_t); });
    EXPECT(seen == 8);
    AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(at::kHalf, at::kBool, at::kBFloat16, at::kComplexFloat, "complex",
                                           [&] { seen = c10::is_complex<scalar_t>::value; });
    EXPECT(seen == 1);
    EXPECT(std::numeric_limits<c10::Half>::max() == c10::Half(65504.f) &&
           std::numeric_limits<c10::Half>::denorm_min().x == 1 &&
           std::numeric_limits<c10::BFloat16>::max_exponent10 == 38 &&
           std::numeric_limits<c10::Float8_e4m3fn>::max().x == 0x7e &&
           std::numeric_limits<c10::Float8_e5m2>::max().x == 0x7b);
}

// ---- 4: loops over accessors, in parallel ----
static at::Tensor box_sum(const at::Tensor& image, int64_t radius) {
    TORCH_CHECK(image.dim() == 2, "expected a 2D image, got ", image.dim(), "D");
    at::Tensor out = at::zeros_like(image);
    auto in = image.accessor<float, 2>();
    auto made = out.accessor<float, 2>();
    at::parallel_for(0, image.size(0), 1, [&](int64_t begin, int64_t end) {
        for (int64_t y = begin; y < end; y++) {
            at::TensorAccessor<float, 1> row = made[y];
            for (int64_t x = 0; x < row.size(0); x++)
                for (int64_t j = std::max<int64_t>(0, y - radius); j <= std::min(in.size(0) - 1, y + radius); j++)
                    for (int64_t i = std::max<int64_t>(0, x - radius); i <= std::min(in.size(1) - 1, x + radius); i++)
                        row[x] += in[j][i];
        }
    });
    return out;
}
template <typename Accessor>
static auto first_value(const Accessor& a) -> std::remove_pointer_t<typename Accessor::PtrType> {
    return a[0];
}
static void check_loops() {
    at::Tensor image = at::ones({4, 5});
    EXPECT(box_sum(image, 1).sum().item<float>() == 130 && box_sum(image, 1)[1][1].item<float>() == 9);
    EXPECT_THROW(box_sum(at::ones({2}), 1), c10::Error, "expected a 2D image, got 1D");
    EXPECT(first_value(image.accessor<float, 2>()[0]) == 1);
    auto packed = image.packed_accessor64<float, 2>();
    EXPECT(packed[3][4] == 1 && packed.size(1) == 5 && packed.transpose(0, 1).size(0) == 5);
    const int64_t total = at::parallel_reduce(
        0, 1000, 10, int64_t(0),
        [](int64_t begin, int64_t end, int64_t all) {
            for (int64_t i = begin; i < end; i++) all += i;
            return all;
        },
        [](int64_t a, int64_t b) { return a + b; });
    EXPECT(total == 499500 && at::get_num_threads() >= 1 && !at::in_parallel_region() && at::divup(7, 2) == 4);
    int unrolled[4] = {};
    c10::ForcedUnroll<4>{}([&](auto i) { unrolled[i] = i + 1; });
    EXPECT(unrolled[0] == 1 && unrolled[3] == 4);
    EXPECT_THROW(at::parallel_for(0, 8, 1, [](int64_t b, int64_t) { TORCH_CHECK_VALUE(b > 100, "part ", b * 0); }),
                 c10::ValueError, "part 0");
}

// ---- 5: vectors ----
static void check_vectors() {
    using Vec = at::vec::Vectorized<float>;
    std::vector<float> a(Vec::size() * 2 + 3), b(a.size()), out(a.size());
    for (size_t i = 0; i < a.size(); i++) {
        a[i] = static_cast<float>(i) - 3;
        b[i] = 2;
    }
    const int64_t n = static_cast<int64_t>(a.size());
    at::vec::map<float>([](Vec x) { return x * x + Vec(1); }, out.data(), a.data(), n);
    for (size_t i = 0; i < a.size(); i++) EXPECT(out[i] == a[i] * a[i] + 1);
    at::vec::map2<float>([](Vec x, Vec y) { return at::vec::maximum(x, y); }, out.data(), a.data(), b.data(), n);
    EXPECT(out[0] == 2 && out[n - 1] == a[n - 1]);
    const float sum = at::vec::reduce_all<float>([](Vec& x, Vec& y) { return x + y; }, a.data(), n);
    EXPECT(sum == static_cast<float>(n * (n - 1) / 2 - 3 * n));
    EXPECT(at::vec::map_reduce_all<float>([](Vec x) { return x.abs(); },
                                          [](Vec x, Vec y) { return at::vec::maximum(x, y); }, a.data(),
                                          n) == a[n - 1]);
    Vec v = Vec::loadu(a.data()), w = Vec::blendv(v, Vec(0), v < Vec(0));
    float stored[Vec::size()];
    w.store(stored);
    EXPECT(stored[0] == 0 && stored[4] == 1);
    Vec::arange(1, 2).exp().log().round().store(stored);
    EXPECT(stored[1] == 3);
    (-Vec(2) / Vec(4)).store(stored, 1);
    EXPECT(stored[0] == -0.5f && stored[1] == 3);
    EXPECT(at::vec::vec_reduce_all<float>([](Vec& x, Vec& y) { return x + y; }, Vec(1), 3) == 3);
    std::vector<c10::BFloat16> half(5, 1.5f), twice(5);
    at::vec::map<c10::BFloat16>([](at::vec::Vectorized<float> x) { return x + x; }, twice.data(), half.data(), 5);
    EXPECT(static_cast<float>(twice[4]) == 3);
    at::vec::map<c10::BFloat16>([](at::vec::Vectorized<float> x) { return x + x; }, twice.data(), a.data(), 5);
    EXPECT(static_cast<float>(twice[0]) == -6);
    c10::Half narrow[at::vec::Vectorized<c10::Half>::size()];
    at::vec::convert<c10::Half>(Vec(0.25f)).store(narrow, Vec::size());
    EXPECT(narrow[Vec::size() - 1] == c10::Half(0.25f));
    at::vec::convert<float>(at::vec::Vectorized<c10::Half>::loadu(narrow)).store(stored);
    EXPECT(stored[Vec::size() - 1] == 0.25f);
    const auto [low, high] = at::vec::convert_to_float<c10::Half>(at::vec::Vectorized<c10::Half>(c10::Half(0.25f)));
    low.store(stored);
    EXPECT(stored[0] == 0.25f && (high + low).size() == Vec::size());
    using Ints = at::vec::Vectorized<int32_t>;
    int32_t ints[Ints::size()];
    ((Ints(6) & Ints(3)) | Ints(8)).store(ints);
    EXPECT(ints[0] == 10 && Ints(0).zero_mask() != 0);
}

// ---- 6: random numbers ----
static std::vector<int64_t> dice(int64_t n, std::optional<at::Generator> given) {
    auto* generator = at::get_generator_or_default<at::CPUGeneratorImpl>(given, at::detail::getDefaultCPUGenerator());
    std::lock_guard<std::mutex> lock(generator->mutex_);
    std::vector<int64_t> all;
    for (int64_t i = 0; i < n; i++) all.push_back(static_cast<int64_t>(generator->random() % 6));
    return all;
}
static void check_random() {
    at::Generator g = at::detail::createCPUGenerator(3), h = at::detail::createCPUGenerator(3);
    EXPECT(dice(20, g) == dice(20, h) && g.current_seed() == 3);
    g.set_current_seed(3);
    h.set_current_seed(3);
    EXPECT(at::equal(at::rand({4}, g), at::rand({4}, h)));
    auto* own = at::check_generator<at::CPUGeneratorImpl>(g);
    own->set_current_seed(7);
    EXPECT(own->current_seed() == 7 && g.current_seed() == 7 && own->random64() != own->random64());
    torch::manual_seed(5);
    at::Tensor first = at::randn({3});
    torch::manual_seed(5);
    EXPECT(at::equal(first, at::randn({3})));
}

// ---- 7: values of any kind ----
static c10::Dict<std::string, at::Tensor> scaled(const c10::Dict<std::string, at::Tensor>& all, double k) {
    c10::Dict<std::string, at::Tensor> made;
    for (const auto& entry : all) made.insert(entry.key(), entry.value() * k);
    return made;
}
static std::tuple<at::Tensor, std::vector<int64_t>, std::string> several(const at::Tensor& x) {
    return {x + 1, x.sizes().vec(), "text"};
}
static c10::IValue any_value(const c10::IValue& v) {
    if (v.isInt()) return v.toInt() + 1;
    if (v.isTensor()) return c10::IValue(v.toTensor() * 2);
    if (v.isString()) return v.toStringRef() + "!";
    if (v.isList()) return c10::IValue(static_cast<int64_t>(v.toList().size()));
    if (v.isTuple()) return v.toTuple()->elements().at(0);
    if (v.isGenericDict()) return c10::IValue(static_cast<int64_t>(v.toGenericDict().size()));
    return c10::IValue();
}
static void check_values() {
    c10::IValue v = at::ones({2});
    EXPECT(v.isTensor() && v.toTensor().numel() == 2 && !v.isNone() && v.tagKind() == std::string("Tensor"));
    c10::List<std::string> names({"a", "b"});
    names.emplace_back("c");
    EXPECT(names.size() == 3 && c10::IValue(names).toList().size() == 3 && std::string(names[2]) == "c");
    std::string joined;
    for (const std::string name : names) joined += name;
    EXPECT(joined == "abc");
    c10::List<int64_t> numbers({3, 1, 2});
    numbers.set(0, 9);
    numbers[1] = 8;
    EXPECT(numbers.get(0) == 9 && numbers.vec() == std::vector<int64_t>({9, 8, 2}) && numbers.copy().size() == 3);
    c10::List<at::Tensor> tensors;
    tensors.push_back(at::ones({1}));
    EXPECT(c10::IValue(tensors).isTensorList() && c10::IValue(tensors).toTensorVector().size() == 1);
    c10::Dict<int64_t, double> table;
    table.insert(1, 0.5);
    EXPECT(table.find(2) == table.end() && table.find(1)->value() == 0.5 && table.erase(1) == 1 && table.empty());
    c10::IValue tuple = c10::ivalue::Tuple::create(1, 2.5, "x");
    EXPECT(tuple.isTuple() && tuple.toTupleRef().elements().size() == 3);
    EXPECT(tuple.toTuple()->elements()[2].toStringRef() == "x");
    auto generic = c10::impl::GenericList(c10::AnyType::get());
    generic.push_back(1);
    EXPECT(c10::IValue(generic).isList());
    EXPECT(c10::IValue(std::optional<int64_t>()).isNone() && c10::IValue(std::optional<int64_t>(4)).toInt() == 4);
    EXPECT(c10::IValue(2.5).to<double>() == 2.5 && c10::IValue(true).to<bool>() && c10::IValue(3).isScalar());
    EXPECT(c10::IValue(c10::complex<double>(1, 2)).toComplexDouble().imag() == 2);
    EXPECT(c10::IValue(at::Device("cpu")).toDevice().is_cpu());
    EXPECT(c10::IValue(std::vector<double>{1, 2}).toDoubleVector()[1] == 2);
    EXPECT_THROW(c10::IValue(1).toTensor(), c10::Error, "Expected Tensor but got Int");
    EXPECT_THROW(c10::IValue("s").toInt(), c10::Error, "");
    std::ostringstream s;
    s << c10::IValue(3) << " " << c10::IValue(2.0) << " " << c10::IValue(std::vector<int64_t>{1, 2}) << " "
      << c10::IValue(true) << " " << c10::IValue() << " " << c10::IValue(std::make_tuple(1, 2));
    TORCH_CHECK(s.str() == "3 2. [1, 2] True None (1, 2)", s.str());
}

// ---- 8: gradients ----
class Clamp : public torch::autograd::Function<Clamp> {
  public:
    static torch::Tensor forward(torch::autograd::AutogradContext* ctx, const torch::Tensor& x,
                                 const std::optional<torch::Tensor>& bias, double low, std::vector<int64_t> unused) {
        ctx->saved_data["low"] = low;
        ctx->saved_data["has_bias"] = bias.has_value();
        ctx->save_for_backward({x});
        torch::NoGradGuard guard;
        torch::Tensor out = x.clamp_min(low);
        return bias.has_value() ? out + *bias : out;
    }
    static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::tensor_list grads) {
        const auto saved = ctx->get_saved_variables();
        const double low = ctx->saved_data["low"].toDouble();
        EXPECT(ctx->saved_data.find("nothing") == ctx->saved_data.end() && ctx->saved_data.count("low") == 1);
        ctx->saved_data.erase("low");
        torch::Tensor undefined;
        return {grads[0] * (saved[0] >= low), ctx->saved_data["has_bias"].toBool() ? grads[0] : undefined, undefined,
                undefined};
    }
};
class AddInPlace : public torch::autograd::Function<AddInPlace> {
  public:
    static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x, torch::Tensor y) {
        at::AutoDispatchBelowADInplaceOrView guard;
        x.add_(y);
        ctx->mark_dirty({x});
        return x;
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   torch::autograd::variable_list g) {
        return {g[0], g[0]};
    }
};
class Halve : public torch::autograd::Function<Halve> {
  public:
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext* ctx, torch::TensorList all) {
        ctx->set_materialize_grads(false);
        std::vector<torch::Tensor> out;
        for (const auto& t : all) out.push_back(t / 2);
        return out;
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   torch::autograd::variable_list g) {
        for (auto& each : g)
            if (each.defined()) each = each / 2;
        return g;
    }
};
static void check_gradients() {
    torch::Tensor x = torch::tensor({-1.0f, 2.0f}, torch::requires_grad()),
                  b = torch::ones({2}, torch::requires_grad());
    torch::Tensor y = Clamp::apply(x, std::optional<torch::Tensor>(b), 0.0, std::vector<int64_t>{1});
    EXPECT(y.requires_grad() && y.grad_fn() != nullptr && at::equal(y.detach(), torch::tensor({1.0f, 3.0f})));
    y.backward(torch::ones({2}));
    EXPECT(at::equal(x.grad(), torch::tensor({0.0f, 1.0f})) && at::equal(b.grad(), torch::ones({2})));
    EXPECT(!Clamp::apply(x.detach(), std::optional<torch::Tensor>(), 0.0, std::vector<int64_t>()).requires_grad());
    torch::Tensor z = x * 1;
    torch::Tensor added = AddInPlace::apply(z, b);
    EXPECT(added.is_same(z) && added.requires_grad() &&
           torch::autograd::grad({z.sum()}, {b})[0].equal(torch::ones({2})));
    auto halves = Halve::apply(torch::TensorList({x, b}));
    EXPECT(torch::autograd::grad({halves[1].sum()}, {b})[0].equal(torch::full({2}, 0.5f)));
    auto second = torch::autograd::grad({(x * x * x).sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true);
    EXPECT(at::equal(torch::autograd::grad({second[0].sum()}, {x})[0], x.detach() * 6));
    int calls = 0;
    torch::Tensor w = torch::ones({2}, torch::requires_grad());
    w.register_hook([&](torch::Tensor g) {
        calls++;
        return g * 10;
    });
    (w * 2).sum().backward();
    EXPECT(calls == 1 && at::equal(w.grad(), torch::full({2}, 20.0f)));
    {
        torch::AutoGradMode on(false);
        EXPECT(!torch::GradMode::is_enabled() && !(x * 2).requires_grad());
        at::AutoGradMode again(true);
        EXPECT((x * 2).requires_grad());
    }
    {
        c10::InferenceMode inference;
        EXPECT(torch::ones({1}).is_inference());
    }
    EXPECT(x.is_leaf() && !(x * 2).is_leaf() && x.detach().is_leaf());
}

// ---- 9: settings, logs, casts ----
static void check_settings() {
    EXPECT(!at::globalContext().deterministicAlgorithms() && !at::globalContext().hasCUDA());
    at::globalContext().alertNotDeterministic("check_settings");
    LOG(INFO) << "not shown";
    LOG_IF(WARNING, false) << "nor this";
    VLOG(1) << "nor this";
    CHECK(true) << "holds";
    at::Tensor x = at::ones({2});
    EXPECT(!at::autocast::is_autocast_enabled(at::kCPU));
    EXPECT(at::autocast::cached_cast(at::kBFloat16, x, at::kCPU).scalar_type() == at::kBFloat16);
    EXPECT(at::autocast::cached_cast(at::kBFloat16, at::ones({2}, at::kLong), at::kCPU).scalar_type() == at::kLong);
    EXPECT(at::autocast::cached_cast(at::kBFloat16, x.to(at::kDouble), at::kCPU).scalar_type() == at::kDouble);
    TORCH_INTERNAL_ASSERT_DEBUG_ONLY(true);
    EXPECT(c10::str("a", 1, at::kFloat) == "a1Float" && c10::Join(", ", std::vector<int>{1, 2}) == "1, 2");
    EXPECT(TORCH_VERSION_MAJOR == 2 && std::string(C10_STRINGIZE(name)) == "name");
}

// ---- 10: names without prefixes, and functions beside the common ones ----
static void check_functions() {
    torch::Tensor x = torch::arange(8, torch::kDouble);
    EXPECT(torch::allclose(torch::fft::irfft(torch::fft::rfft(x)), x));
    int64_t sizes[1] = {8};
    EXPECT(torch::allclose(torch::fft::irfftn(torch::fft::rfftn(x), sizes, c10::nullopt, "backward"), x));
    EXPECT(torch::allclose(torch::special::erf(x), x.erf()) && torch::special::logit(x / 16).dim() == 1);
    EXPECT(torch::linalg_norm(x, c10::nullopt).item<double>() == x.norm().item<double>());
    EXPECT(torch::einsum("i,i->", {x, x}).item<double>() == 140);
    EXPECT(torch::nonzero(x > 5).size(0) == 2 && torch::where(x > 5)[0].numel() == 2);
    EXPECT(std::get<0>(torch::unique_consecutive(x)).numel() == 8 && std::get<0>(at::_unique2(x)).numel() == 8);
    EXPECT(torch::bincount(torch::tensor({0, 1, 1})).equal(torch::tensor({1, 2})));
    EXPECT(torch::searchsorted(x, torch::tensor({2.5}, torch::kDouble)).item<int64_t>() == 3);
    EXPECT(std::get<1>(at::native_layer_norm(torch::ones({2, 3}), {3}, {}, {}, 1e-5)).numel() == 2);
    EXPECT(at::promote_types(at::kInt, at::kHalf) == at::kHalf && at::can_cast(at::kInt, at::kFloat) &&
           at::result_type(x, 2) == at::kDouble);
    EXPECT(x.index_add(0, torch::tensor({1}), torch::tensor({5.0}, torch::kDouble))[1].item<double>() == 6);
    EXPECT(x.scatter_reduce(0, torch::tensor({0}), torch::tensor({9.0}, torch::kDouble), "amax")[0].item<double>() ==
           9);
    EXPECT(torch::stack({x, x}).unbind(0).size() == 2 && x.tensor_split(3).size() == 3);
    EXPECT(x.to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true).dtype() == torch::kFloat);
    EXPECT(x.reshape({2, -1}).flatten().is_contiguous() && x.view(torch::kLong).scalar_type() == torch::kLong);
    EXPECT(x.add(1, 2)[0].item<double>() == 2 && (x % 3)[4].item<double>() == 1 && x.fmod(3)[5].item<double>() == 2);
    EXPECT(torch::full({2}, 7, torch::dtype(torch::kInt32).device(torch::kCPU)).scalar_type() == torch::kInt);
    EXPECT(torch::empty_strided({2, 2}, {1, 2}).stride(1) == 2 &&
           torch::tril(torch::ones({2, 2})).sum().item<float>() == 3);
    EXPECT(torch::conv2d(torch::ones({1, 1, 3, 3}), torch::ones({1, 1, 2, 2})).sum().item<float>() == 16);
    EXPECT(torch::softmax(x, 0).sum().allclose(torch::ones({}, torch::kDouble)) &&
           torch::relu(-x).max().item<double>() == 0);
    EXPECT(torch::cdist(torch::zeros({1, 2}), torch::ones({1, 2})).item<float>() > 1.41f);
    torch::Tensor out = torch::empty({0}, torch::kDouble);
    torch::cumsum_out(out, x, 0);
    EXPECT(out[7].item<double>() == 28 && std::get<1>(x.kthvalue(2)).item<int64_t>() == 1);
    EXPECT(x.index({torch::indexing::Slice(torch::indexing::None, 3)}).numel() == 3);
    x.index_put_({torch::indexing::Slice(0, 2)}, -1);
    EXPECT(x[1].item<double>() == -1 && x.masked_fill(x < 0, 0).min().item<double>() == 0);
    std::stringstream s;
    s << x.sizes() << " " << x.dtype() << " " << x.device() << " " << x.layout();
    TORCH_CHECK(s.str() == "[8] double cpu Strided", s.str());
}

static void check_schemas() {
    auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "out");
    const auto schema = op.schema();
    EXPECT(schema.name() == "aten::add" && schema.overload_name() == "out" && op.operator_name().name == "aten::add");
    EXPECT(schema.arguments().size() == 4 && schema.returns().size() == 1 && schema.is_mutable());
    EXPECT(schema.arguments()[0].name() == "self" && schema.arguments()[0].type()->str() == "Tensor");
    EXPECT(schema.arguments()[2].name() == "alpha" && schema.arguments()[2].default_value()->toInt() == 1);
    EXPECT(schema.arguments()[2].kwarg_only() && !schema.arguments()[0].default_value().has_value());
    EXPECT(schema.arguments()[3].is_out() && schema.arguments()[3].alias_info()->isWrite());
    EXPECT(schema.argumentIndexWithName("out") == 3 && !schema.argumentIndexWithName("none").has_value());
    const auto conv = c10::Dispatcher::singleton().findSchemaOrThrow("aten::conv2d", "").schema();
    EXPECT(conv.arguments()[2].default_value()->isNone() && conv.arguments()[6].default_value()->toInt() == 1);
    EXPECT(conv.arguments()[1].alias_info() == nullptr && !conv.is_mutable() && conv.overload_name().empty());
    const auto gelu = c10::Dispatcher::singleton().findSchemaOrThrow("aten::gelu", "").schema();
    EXPECT(gelu.arguments()[1].default_value()->toStringRef() == "none");
    const auto max = c10::Dispatcher::singleton().findSchemaOrThrow("aten::max", "dim").schema();
    EXPECT(max.returns().size() == 2 && max.returns()[1].name() == "indices");
    EXPECT(!max.arguments()[2].default_value()->toBool());
    std::ostringstream s;
    s << op.operator_name() << " " << max.arguments()[1].type()->str();
    TORCH_CHECK(s.str() == "aten::add.out int", s.str());
}

static void check_archives() {
    std::ostringstream written;
    torch::serialize::OutputArchive out;
    out.write("x", at::arange(3));
    out.write("k", c10::IValue(2.5));
    out.write("names", c10::IValue(std::vector<std::string>{"a", "b"}));
    out.save_to(written);
    std::istringstream stream(written.str());
    torch::serialize::InputArchive in;
    in.load_from(stream, torch::kCPU);
    at::Tensor x;
    c10::IValue k, names, nothing;
    in.read("x", x);
    in.read("k", k);
    in.read("names", names);
    EXPECT(at::equal(x, at::arange(3)) && k.toDouble() == 2.5 && names.toList().size() == 2);
    EXPECT(!in.try_read("nothing", nothing) && in.keys().size() == 3);
    EXPECT_THROW(in.read("nothing", nothing), std::exception, "does not have a field with name 'nothing'");
    EXPECT_THROW(in.read("nothing", x), c10::Error, "No such serialized tensor 'nothing'");
}

// ---- what Python calls ----
struct Table : torch::CustomClassHolder {
    c10::Dict<std::string, at::Tensor> entries;
    at::ScalarType type = at::kFloat;
    explicit Table(c10::Dict<std::string, at::Tensor> given) : entries(std::move(given)) {}
    void put(const std::string& key, const at::Tensor& t) { entries.insert_or_assign(key, t); }
    at::Tensor get(std::string key, std::optional<at::Tensor> otherwise) {
        return entries.contains(key) ? entries.at(key) : otherwise.value();
    }
    std::vector<std::string> keys() const {
        std::vector<std::string> all;
        for (const auto& e : entries) all.push_back(e.key());
        return all;
    }
    int64_t size() const { return static_cast<int64_t>(entries.size()); }
    at::ScalarType dtype() const { return type; }
};
static at::Tensor total(const c10::intrusive_ptr<Table>& table, at::Tensor start) {
    start = start.clone();  // what an operator returns is new
    for (const auto& e : table->entries) start = start + e.value();
    return start;
}

TORCH_LIBRARY(programs, m) {
    m.class_<Table>("Table")
        .def(torch::init<c10::Dict<std::string, at::Tensor>>())
        .def("put", &Table::put)
        .def("get", &Table::get, "an entry", {torch::arg("key"), torch::arg("otherwise") = torch::arg::none()})
        .def("keys", &Table::keys)
        .def("dtype", &Table::dtype)
        .def_property("size", &Table::size)
        .def_static("empty", [] { return c10::make_intrusive<Table>(c10::Dict<std::string, at::Tensor>()); })
        .def_pickle(
            [](const c10::intrusive_ptr<Table>& t) { return t->entries; },
            [](c10::Dict<std::string, at::Tensor> state) { return c10::make_intrusive<Table>(std::move(state)); });
    m.def("total(__torch__.torch.classes.programs.Table table, Tensor start) -> Tensor");
    m.def("padded(Tensor x, SymInt size) -> Tensor");
    m.def("scaled(Dict(str, Tensor) all, float k) -> Dict(str, Tensor)", &scaled);
    m.def("several(Tensor x) -> (Tensor, int[], str)", &several);
    m.def("dice(int n, Generator? generator=None) -> int[]", &dice);
    m.def("any_value(Any value) -> Any", &any_value);
    m.def("type_of(Tensor x) -> ScalarType", [](const at::Tensor& x) { return x.scalar_type(); });
    m.def("box_sum", &box_sum);
    m.def("clamped", [](const at::Tensor& x, const std::optional<at::Tensor>& bias, double low) -> at::Tensor {
        return Clamp::apply(x, bias, low, std::vector<int64_t>());
    });
}
TORCH_LIBRARY_IMPL(programs, CompositeExplicitAutograd, m) {
    m.impl("padded", &padded);
    m.impl("total", &total);
}

// What is thrown on another thread, where it arrives.
static void in_a_thread(int kind, const std::string& op) {
    std::exception_ptr thrown;
    std::thread thread([&] {
        try {
            TORCH_CHECK_INDEX(kind != 0, "index ", 7);
            if (kind == 1) at::ones({2}) + at::ones({3});
            if (kind == 2) throw std::runtime_error("a plain error");
            if (kind == 3)
                c10::Dispatcher::singleton()
                    .findSchemaOrThrow(op.c_str(), "")
                    .typed<at::Tensor(const at::Tensor&)>()
                    .call(at::ones({1}));
            at::parallel_for(0, 100, 1, [](int64_t, int64_t) { TORCH_CHECK_TYPE(false, "in a loop"); });
        } catch (...) {
            thrown = std::current_exception();
        }
    });
    thread.join();
    if (thrown) std::rethrow_exception(thrown);
}

#define EACH_CHECK(_) \
    _(sizes)          \
    _(undefined)      \
    _(dispatch) _(loops) _(vectors) _(random) _(values) _(gradients) _(settings) _(functions) _(archives) _(schemas)

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
#define DEF(name) m.def("check_" #name, &check_##name, py::call_guard<py::gil_scoped_release>());
    EACH_CHECK(DEF)
#undef DEF
    m.def("in_a_thread", torch::wrap_pybind_function_no_gil(in_a_thread));
}
