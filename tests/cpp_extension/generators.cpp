// Random generators that a program derives from c10::GeneratorImpl, and the templates that fill tensors from one.
// Compiled against our headers and, with --live, against PyTorch's, unchanged.
#include <torch/extension.h>
#include <torch/library.h>

#include <ATen/AccumulateType.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/OpMathType.h>
#include <ATen/core/Array.h>
#include <ATen/native/DistributionTemplates.h>
#include <ATen/native/cpu/DistributionTemplates.h>

#include <type_traits>

#include "expect.h"

namespace templates = at::native::templates;
namespace cpu = at::native::templates::cpu;
using Given = std::optional<at::Generator>;

static int64_t alive = 0;

// Counts up: each word is the one before and one.
struct Counting : c10::GeneratorImpl {
    explicit Counting(uint64_t from)
        : c10::GeneratorImpl{at::Device(at::kCPU), c10::DispatchKeySet(c10::DispatchKey::CustomRNGKeyId)}, next_(from) {
        alive++;
    }
    ~Counting() override { alive--; }
    uint32_t random() { return static_cast<uint32_t>(next_++); }
    uint64_t random64() { return next_++; }
    void set_current_seed(uint64_t seed) override { next_ = seed; }
    uint64_t current_seed() const override { return next_; }
    uint64_t seed() override { return next_ = 1000; }
    void set_offset(uint64_t) override { TORCH_CHECK(false, "a counter has no offset"); }
    uint64_t get_offset() const override { TORCH_CHECK(false, "a counter has no offset"); }
    void set_state(const c10::TensorImpl& state) override {
        next_ = static_cast<uint64_t>(*static_cast<const int64_t*>(state.data()));
    }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
        return at::full({1}, static_cast<int64_t>(next_), at::kLong).getIntrusivePtr();
    }
    Counting* clone_impl() const override { return new Counting(next_); }
    static at::DeviceType device_type() { return at::kCPU; }

  private:
    uint64_t next_;
};

static at::Tensor& random_(at::Tensor& self, Given g) {
    return templates::random_impl<cpu::RandomKernel, Counting>(self, g);
}
static at::Tensor& random_from_to(at::Tensor& self, int64_t from, std::optional<int64_t> to, Given g) {
    return templates::random_from_to_impl<cpu::RandomFromToKernel, Counting>(self, from, to, g);
}
static at::Tensor& random_to(at::Tensor& self, int64_t to, Given g) { return random_from_to(self, 0, to, g); }

TORCH_LIBRARY_IMPL(aten, CustomRNGKeyId, m) {
    m.impl("random_", random_);
    m.impl("random_.from", random_from_to);
    m.impl("random_.to", random_to);
}

// What the operators of the framework do, by the templates.
static at::Tensor filled(const std::string& which, at::Tensor self, Given g) {
    using G = at::CPUGeneratorImpl;
    if (which == "random") return templates::random_impl<cpu::RandomKernel, G>(self, g);
    if (which == "random_from_to") return templates::random_from_to_impl<cpu::RandomFromToKernel, G>(self, 3, 90, g);
    if (which == "random_from") return templates::random_from_to_impl<cpu::RandomFromToKernel, G>(self, 3, {}, g);
    if (which == "random_all")
        return templates::random_from_to_impl<cpu::RandomFromToKernel, G>(self, std::numeric_limits<int64_t>::lowest(),
                                                                          {}, g);
    if (which == "uniform") return templates::uniform_impl_<cpu::UniformKernel, G>(self, -1.0, 2.0, g);
    if (which == "normal") return templates::normal_impl_<cpu::NormalKernel, G>(self, 0.5, 2.0, g);
    if (which == "log_normal") return templates::log_normal_impl_<cpu::LogNormalKernel, G>(self, 0.5, 0.25, g);
    if (which == "cauchy") return templates::cauchy_impl_<cpu::CauchyKernel, G>(self, 0.5, 2.0, g);
    if (which == "geometric") return templates::geometric_impl_<cpu::GeometricKernel, G>(self, 0.25, g);
    if (which == "exponential") return templates::exponential_impl_<cpu::ExponentialKernel, G>(self, 1.5, g);
    if (which == "bernoulli") return templates::bernoulli_impl_<cpu::BernoulliKernel, G>(self, 0.25, g);
    TORCH_CHECK(which == "bernoulli_each", which);
    return templates::bernoulli_impl_<cpu::BernoulliKernel, G>(self, at::full_like(self, 0.25, at::kDouble), g);
}

static void refusals() {
    at::Tensor t = at::empty({3});
    const Given g = at::detail::createCPUGenerator(3), none;
    using G = at::CPUGeneratorImpl;
    EXPECT_THROW((templates::random_from_to_impl<cpu::RandomFromToKernel, G>(t, 5, 5, g)), c10::Error,
                 "random_ expects 'from' to be less than 'to', but got from=5 >= to=5");
    EXPECT_THROW((templates::uniform_impl_<cpu::UniformKernel, G>(t, 2, 1, g)), c10::Error,
                 "uniform_ expects to return a [from, to) range, but found from=2 > to=1");
    EXPECT_THROW((templates::normal_impl_<cpu::NormalKernel, G>(t, 2, -1, g)), c10::Error,
                 "normal expects std >= 0.0, but found std -1");
    EXPECT_THROW((templates::log_normal_impl_<cpu::LogNormalKernel, G>(t, 2, 0, g)), c10::Error,
                 "log_normal_ expects std > 0.0, but found std=0");
    EXPECT_THROW((templates::geometric_impl_<cpu::GeometricKernel, G>(t, 1, g)), c10::Error,
                 "geometric_ expects p to be in (0, 1), but got p=1");
    EXPECT_THROW((templates::exponential_impl_<cpu::ExponentialKernel, G>(t, 0, g)), c10::Error,
                 "exponential_ expects lambda > 0.0, but found lambda=0");
    EXPECT_THROW((templates::cauchy_impl_<cpu::CauchyKernel, G>(t, 1, 0, g)), c10::Error,
                 "cauchy_ expects sigma > 0.0, but found sigma=0");
    EXPECT_THROW((templates::bernoulli_impl_<cpu::BernoulliKernel, G>(t, 2.0, g)), c10::Error,
                 "bernoulli_ expects p to be in [0, 1], but got p=2");
    at::Tensor bytes = at::empty({3}, at::kByte);
    EXPECT_THROW((templates::random_from_to_impl<cpu::RandomFromToKernel, G>(bytes, 5, 500, g)), c10::Error,
                 "to - 1 is out of bounds for unsigned char");
    EXPECT_THROW(at::check_generator<Counting>(none), c10::Error, "Expected Generator but received nullopt");
    EXPECT_THROW(at::check_generator<Counting>(Given(at::Generator())), c10::Error,
                 "Generator with undefined implementation is not allowed");
}

static void in_cpp() {
    const int64_t before = alive;
    {
        at::Generator g = at::make_generator<Counting>(7), same = g;
        EXPECT(alive == before + 1 && g == same && g.defined() && g.device() == at::Device(at::kCPU));
        EXPECT(g.get<Counting>()->random() == 7 && at::check_generator<Counting>(Given(same))->random64() == 8);
        EXPECT(&g.mutex() == &g.get<Counting>()->mutex_);
        at::Tensor t = at::empty({3}, at::kLong).random_(g);
        EXPECT(at::equal(t, at::arange(9, 12)));
        t.random_(10, 20, g);
        EXPECT(at::equal(t, at::arange(12, 15)));
    }
    EXPECT(alive == before);
}

static void types() {
    EXPECT(at::toOpMathType(at::kHalf) == at::kFloat && at::toOpMathType(at::kInt) == at::kInt);
    EXPECT(at::toOpMathType(at::kComplexHalf) == at::kComplexFloat && at::toOpMathType(at::kDouble) == at::kDouble);
    EXPECT(at::toAccumulateType(at::kFloat, false) == at::kDouble);
    EXPECT(at::toAccumulateType(at::kFloat, true) == at::kFloat);
    EXPECT(at::toAccumulateType(at::kInt, false) == at::kLong && at::toAccumulateType(at::kBool, true) == at::kBool);
    EXPECT(at::toAccumulateType(at::kBFloat16, false) == at::kFloat);
    EXPECT(at::toAccumulateType(at::kComplexFloat, false) == at::kComplexDouble);
    static_assert(std::is_same_v<at::acc_type<c10::complex<float>, false>, c10::complex<double>>);
    static_assert(std::is_same_v<at::acc_type<c10::complex<float>, true>, c10::complex<float>>);
    EXPECT(c10::get_contiguous_memory_format() == at::MemoryFormat::Contiguous);
    at::detail::Array<int, 3> list(7);
    list[1] = 2;
    EXPECT(list.size() == 3 && list[0] == 7 && list[1] == 2 && list.data[2] == 7);
    at::Tensor t = at::ones({2});
    EXPECT(at::Tensor(t.getIntrusivePtr()).is_same(t));
    EXPECT(t.use_count() == 1);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("counting", [](uint64_t from) { return at::make_generator<Counting>(from); });
    m.def("alive", [] { return alive; });
    m.def("same", [](at::Generator g) { return g; });
    m.def("filled", filled);
    m.def("refusals", refusals);
    m.def("in_cpp", in_cpp);
    m.def("types", types);
}
