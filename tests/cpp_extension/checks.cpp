// Compiled against our headers, and with --live against PyTorch's, unchanged. Each check_* function throws if something
// is not as PyTorch has it; Python calls all of them by name.
#include <torch/extension.h>

#include <ATen/OpMathType.h>
#include <c10/util/llvmMathExtras.h>

#include <cmath>

#include "expect.h"

using at::indexing::Ellipsis;
using at::indexing::None;
using at::indexing::Slice;

static void check_metadata() {
    at::Tensor t = at::arange(24, at::kFloat).view({2, 3, 4});
    EXPECT(t.defined() && !at::Tensor().defined());
    EXPECT(t.dim() == 3 && t.ndimension() == 3 && t.numel() == 24);
    EXPECT(t.size(0) == 2 && t.size(-1) == 4 && t.stride(0) == 12 && t.stride(-1) == 1);
    EXPECT(t.sizes() == at::IntArrayRef({2, 3, 4}));
    EXPECT(t.sizes().vec() == std::vector<int64_t>({2, 3, 4}));
    EXPECT(t.scalar_type() == at::kFloat && t.dtype() == torch::kFloat32 && t.dtype() == at::kFloat);
    EXPECT(t.device() == at::Device(at::kCPU) && t.device().is_cpu() && !t.is_cuda() && t.is_cpu());
    EXPECT(t.is_contiguous() && !t.transpose(0, 1).is_contiguous());
    EXPECT(t.element_size() == 4 && t.nbytes() == 96 && t.itemsize() == 4);
    EXPECT(t.storage_offset() == 0 && t[1].storage_offset() == 12);
    EXPECT(t.layout() == at::kStrided && !t.is_sparse());
    EXPECT(t.is_floating_point() && !t.is_complex() && !at::ones({1}, at::kLong).is_floating_point());
    EXPECT(t.options().dtype() == at::kFloat && t.options().device().is_cpu());
    EXPECT(t.type().scalarType() == at::kFloat && !t.type().is_cuda());
    EXPECT_THROW(t.size(3), c10::IndexError, "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
    at::Tensor same = t;
    EXPECT(same.is_same(t) && same.data_ptr() == t.data_ptr() && !same.clone().is_same(t));
    EXPECT(at::empty({0, 3}).numel() == 0);
    at::Tensor image = at::empty({2, 3, 4, 5}, at::TensorOptions().memory_format(at::MemoryFormat::ChannelsLast));
    EXPECT(image.is_contiguous(at::MemoryFormat::ChannelsLast) && !image.is_contiguous());
    EXPECT(image.suggest_memory_format() == at::MemoryFormat::ChannelsLast);
}

static void check_elements() {
    at::Tensor t = at::arange(6, at::kLong).view({2, 3});
    auto a = t.accessor<int64_t, 2>();
    EXPECT(a[1][2] == 5 && a.size(0) == 2 && a.stride(0) == 3 && a[1].size(0) == 3);
    a[0][0] = 9;
    EXPECT(t[0][0].item<int64_t>() == 9 && t.data_ptr<int64_t>()[0] == 9);
    auto p = t.packed_accessor32<int64_t, 2>();
    EXPECT(p[1][1] == 4);
    EXPECT(t.const_data_ptr<int64_t>()[5] == 5 && t.mutable_data_ptr<int64_t>()[1] == 1);
    EXPECT_THROW(t.data_ptr<float>(), c10::Error, "expected scalar type Float but found Long");
    EXPECT_THROW((t.accessor<int64_t, 1>()), c10::Error, "TensorAccessor expected 1 dims but tensor has 2");
    EXPECT(at::full({}, 2.5).item().toDouble() == 2.5 && at::full({}, true, at::kBool).item<bool>());
    EXPECT(at::full({}, 3, at::kInt).item<float>() == 3.0f);
    EXPECT_THROW(t.item(), c10::Error, "");
    double numbers[] = {1, 2, 3, 4};
    bool deleted = false;
    {
        at::Tensor blob = torch::from_blob(numbers, {2, 2}, [&](void*) { deleted = true; }, at::kDouble);
        EXPECT(blob[1][0].item<double>() == 3);
        blob[0][0] = 7.0;
        EXPECT(numbers[0] == 7);
        EXPECT(torch::from_blob(numbers, {2}, {2}, at::kDouble)[1].item<double>() == 3);
    }
    EXPECT(deleted);
    EXPECT(at::equal(torch::tensor({1.5, 2.0}), at::full({2}, 1.5) + at::arange(2) * 0.5));
    EXPECT(torch::tensor({1, 2, 3}).scalar_type() == at::kLong && torch::tensor(2.0).dim() == 0);
    EXPECT(torch::tensor({1, 2}, at::kFloat).scalar_type() == at::kFloat);
}

static void check_operators() {
    at::Tensor a = at::arange(4, at::kFloat), b = at::full({4}, 2, at::kFloat);
    EXPECT(at::equal(a + b, at::add(a, b)) && at::equal(a + b * 2, at::add(a, b, 2)) && at::equal(a.add(1), a + 1));
    EXPECT(at::equal(1 - a, -(a - 1)) && at::equal(2 * a, a * 2) && at::equal(a / 2, a * 0.5));
    EXPECT(at::allclose(1 / b, at::full({4}, 0.5)));
    EXPECT((a < 2).sum().item<int64_t>() == 2 && (a == 3).any().item<bool>() && !(a != a).any().item<bool>());
    EXPECT((a >= b).sum().item<int64_t>() == 2);
    a += b;
    a -= 1;
    a *= 2;
    a /= b;
    EXPECT(at::equal(a, at::arange(4, at::kFloat) + 1));
    EXPECT(a.sum().item<float>() == 10 && a.mean().item<float>() == 2.5f && a.max().item<float>() == 4);
    EXPECT(at::equal(a.view({2, 2}).sum(0), torch::tensor({4.f, 6.f})));
    EXPECT(at::equal(a.view({2, 2}).sum({0, 1}), torch::tensor(10.f)));
    EXPECT(a.view({2, 2}).sum(1, true).size(1) == 1);
    auto [values, places] = a.view({2, 2}).max(1);
    EXPECT(values[1].item<float>() == 4 && places[0].item<int64_t>() == 1);
    auto sorted = at::sort(a, 0, /*descending=*/true);
    EXPECT(std::get<0>(sorted)[0].item<float>() == 4);
    EXPECT(at::cat({a, a}).size(0) == 8 && at::stack({a, a}, 1).size(1) == 2);
    std::vector<at::Tensor> parts = a.split(1);
    EXPECT(parts.size() == 4 && at::cat(parts, 0).equal(a) && a.chunk(2).size() == 2);
    EXPECT(at::matmul(a.view({2, 2}), a.view({2, 2})).sum().item<float>() == 54);
    EXPECT(a.to(at::kDouble).scalar_type() == at::kDouble && a.to(at::kCPU).is_same(a));
    EXPECT(a.to(at::TensorOptions().dtype(at::kInt)).scalar_type() == at::kInt);
    EXPECT(a.toType(at::kHalf).scalar_type() == at::kHalf && a.cpu().is_same(a));
    at::Tensor out = at::empty({4});
    at::sub_out(out, a, a);
    EXPECT(out.abs().sum().item<float>() == 0);
    EXPECT(at::equal(at::mul_out(out, a, b), a * b));
    EXPECT(a.clamp(2, 3).max().item<float>() == 3 && a.clamp_min(2).min().item<float>() == 2);
    EXPECT(at::where(a > 2, a, at::zeros_like(a)).sum().item<float>() == 7);
    EXPECT(a.index_select(0, torch::tensor({0, 2})).sum().item<float>() == 4);
    EXPECT(a.gather(0, torch::tensor({3})).item<float>() == 4 && a.narrow(0, 1, 2).sum().item<float>() == 5);
    EXPECT(at::zeros({3}, at::kLong).scatter_add_(0, torch::tensor({1, 1}), torch::tensor({2, 3}))[1].item<int64_t>() ==
           5);
    EXPECT(a.new_zeros({2}).sizes() == at::IntArrayRef({2}) && a.new_empty({3}, at::kInt).scalar_type() == at::kInt);
    EXPECT(at::empty_like(a, at::kLong).scalar_type() == at::kLong &&
           at::ones({2, 2}).t().is_same(at::Tensor()) == false);
    EXPECT(a.unsqueeze(0).squeeze().equal(a) && a.permute({0}).equal(a) &&
           a.view({2, 2}).transpose(0, 1).stride(0) == 1);
    EXPECT(a.expand({2, 4}).size(0) == 2 && a.repeat({2}).size(0) == 8 && a.flip({0})[0].item<float>() == 4);
    EXPECT(a.norm().item<float>() > 5.4f && at::pow(a, 2)[1].item<float>() == 4 && a.masked_select(a > 3).numel() == 1);
    EXPECT(at::linspace(0, 1, 5).size(0) == 5 && at::eye(3).sum().item<float>() == 3 && at::randperm(5).numel() == 5);
    EXPECT(a.true_divide(b)[3].item<float>() == 2 && std::get<0>(a.topk(2)).size(0) == 2);
    EXPECT_THROW(at::ones({2}) + at::ones({3}), c10::Error, "must match the size of tensor b (3)");
}

static void check_generated_outs() {
    const at::Tensor x = torch::tensor({1.0, 2.0});
    at::Tensor flags = at::empty({0}, at::kBool), window = at::empty({0}, at::kDouble);
    EXPECT(at::isnan_out(flags, x).is_same(flags) && flags.numel() == 2 && !flags.any().item<bool>());
    EXPECT(at::isnan_outf(x, flags).is_same(flags));
    EXPECT(at::equal(at::hann_window_out(window, 4), at::hann_window(4, at::kDouble)));
    std::vector<at::Tensor> all = {x, x + 1}, outs = {at::empty({0}, x.options()), at::empty({0}, x.options())};
    at::_foreach_add_out(outs, all, 2);
    EXPECT(at::equal(outs[0], x + 2) && at::equal(outs[1], x + 3));
    at::Tensor kept = at::empty({0}, x.options()), mask = at::empty({0}, at::kBool);
    const auto dropped = at::native_dropout_out(kept, mask, x, 0.0, true);
    EXPECT(std::get<0>(dropped).is_same(kept) && at::equal(kept, x) && mask.all().item<bool>());
    EXPECT_THROW(at::isnan_out(kept, x), c10::Error, "Expected out tensor to have dtype ");
    EXPECT_THROW(at::_foreach_add_out(outs, {x}, 2), c10::Error, "");
}

static void check_kernels_of_gpus() {
    const at::Tensor q = at::ones({1, 2, 1, 4});
    const std::optional<at::Tensor> none;
    EXPECT_THROW(at::_efficient_attention_forward(q, q, q, none, none, none, std::nullopt, std::nullopt, 0.0, 0),
                 c10::Error,
                 "Could not run 'aten::_efficient_attention_forward' with arguments from the 'CPU' backend");
}

static void check_indexing() {
    at::Tensor t = at::arange(12).view({3, 4});
    EXPECT(t.index({1, 2}).item<int64_t>() == 6 && t.index({-1, -1}).item<int64_t>() == 11);
    EXPECT(t.index({Slice(1, 3), 0}).sizes() == at::IntArrayRef({2}) && t.index({Slice(None, None, 2)}).size(0) == 2);
    EXPECT(t.index({Slice(0, 2, None), Slice(1, None, None)}).sizes() == at::IntArrayRef({2, 3}));
    EXPECT(Slice(1, None).start() == 1 && Slice(None, 5).stop() == 5 && Slice().start() == 0 &&
           Slice(0, 1, 3).step() == 3);
    EXPECT(t.index({Ellipsis, 1}).sum().item<int64_t>() == 15 && t.index({"...", 1}).size(0) == 3);
    EXPECT(t.index({None, 0}).sizes() == at::IntArrayRef({1, 4}));
    EXPECT(t.index({torch::tensor({0, 2})}).size(0) == 2);
    EXPECT(t.index({torch::tensor({0, 2}), torch::tensor({1, 3})}).sum().item<int64_t>() == 12);
    EXPECT(t.index({Slice(), torch::tensor({0, 1})}).sizes() == at::IntArrayRef({3, 2}));
    EXPECT(t.index({t > 8}).numel() == 3 && t.index({1, Slice(1)}).numel() == 3);
    t.index_put_({0, 0}, 100);
    EXPECT(t[0][0].item<int64_t>() == 100);
    t.index_put_({torch::tensor({1, 2})}, torch::tensor({-1, -2, -3, -4}));
    EXPECT(t[2][3].item<int64_t>() == -4);
    t.index_put_({Slice(), 1}, torch::tensor({7, 8, 9}));
    EXPECT(t[1][1].item<int64_t>() == 8);
    t[1] = 5;
    EXPECT(t[1].sum().item<int64_t>() == 20);
    t[0] = at::zeros({4}, at::kLong);
    EXPECT(t[0].sum().item<int64_t>() == 0);
    EXPECT_THROW(t.index({0, 0, 0}), c10::IndexError, "too many indices for tensor of dimension 2");
}

static void check_scalars() {
    at::Scalar i = 3, d = 2.5, b = true;
    EXPECT(i.isIntegral(false) && d.isFloatingPoint() && b.isBoolean() && !b.isIntegral(false) && b.isIntegral(true));
    EXPECT(i.toInt() == 3 && i.toDouble() == 3.0 && d.to<float>() == 2.5f && d.toLong() == 2 && b.to<int>() == 1);
    EXPECT(i.type() == at::kLong && d.type() == at::kDouble && b.type() == at::kBool && (-d).toDouble() == -2.5);
    EXPECT_THROW(at::Scalar(300).to<int8_t>(), std::exception,
                 "value cannot be converted to type int8_t without overflow");
    EXPECT(at::Scalar(-1).to<uint8_t>() == 255 && at::Scalar(-300).to<uint16_t>() == 65236);
    EXPECT_THROW(at::Scalar(-300).to<uint8_t>(), std::exception, "type uint8_t without overflow");
    EXPECT_THROW(at::Scalar(-0.5).to<uint32_t>(), std::exception, "type uint32_t without overflow");
    EXPECT_THROW(at::Scalar(127.5).to<int8_t>(), std::exception, "type int8_t without overflow");
    EXPECT_THROW(at::Scalar(NAN).to<int>(), std::exception, "type int without overflow");
    EXPECT_THROW(at::Scalar(1e300).to<float>(), std::exception, "type float without overflow");
    EXPECT(std::isinf(at::Scalar(INFINITY).to<float>()) && at::Scalar(NAN).to<bool>());
    at::Scalar complex = c10::complex<double>(3.0, 0.0), imaginary = c10::complex<double>(3.0, 1.0);
    EXPECT(complex.to<int>() == 3 && imaginary.to<bool>());
    EXPECT_THROW(imaginary.to<double>(), std::exception, "type double without overflow");
    EXPECT(std::string(c10::toString(at::kFloat)) == "Float" && c10::elementSize(at::kDouble) == 8);
    EXPECT(c10::isFloatingType(at::kHalf) && c10::isIntegralType(at::kBool, true) &&
           !c10::isIntegralType(at::kBool, false));
    EXPECT(c10::CppTypeToScalarType<int64_t>::value == at::kLong &&
           c10::CppTypeToScalarType<at::Half>::value == at::kHalf);
    EXPECT(at::Device("cpu") == at::Device(at::kCPU) && at::Device("cuda:1").index() == 1 &&
           at::Device("cuda:1").str() == "cuda:1");
    EXPECT_THROW(at::Device("nonsense:x"), c10::Error, "");
    at::TensorOptions o = at::TensorOptions().dtype(at::kDouble).requires_grad(true);
    EXPECT(o.requires_grad() && o.dtype() == at::kDouble && !o.has_device());
    EXPECT(torch::zeros({2}, torch::requires_grad()).requires_grad() &&
           torch::dtype(torch::kInt32).dtype() == at::kInt);
    at::Half h = 1.5f;
    EXPECT(static_cast<float>(h) == 1.5f && static_cast<float>(h + h) == 3.0f && h < at::Half(2.0f) &&
           -h == at::Half(-1.5f));
    EXPECT(h.x == 0x3e00 && at::Half(65536.0f).x == 0x7c00 && at::Half(5.9604645e-8f).x == 1);
    at::BFloat16 f = 1.00390625f;
    EXPECT(f.x == 0x3f80 && static_cast<float>(at::BFloat16(3.0f) * at::BFloat16(2.0f)) == 6.0f);
    EXPECT(std::numeric_limits<at::Half>::max().x == 0x7bff && std::numeric_limits<at::BFloat16>::lowest().x == 0xff7f);
    EXPECT((std::is_same<at::opmath_type<at::Half>, float>::value) &&
           (std::is_same<at::opmath_type<double>, double>::value));
    c10::complex<float> z(1, 2);
    EXPECT(z.real() == 1 && (z * z).imag() == 4 && std::abs(c10::complex<double>(3, 4)) == 5);
    for (int n = 0; n < 65536; n++) {
        at::Half all(static_cast<uint16_t>(n), at::Half::from_bits());
        float v = static_cast<float>(all);
        EXPECT(std::isnan(v) || at::Half(v).x == n);
    }
    for (int n = 0; n < 256; n++) {
        c10::Float8_e4m3fn e(static_cast<uint8_t>(n), c10::Float8_e4m3fn::from_bits());
        c10::Float8_e5m2 g(static_cast<uint8_t>(n), c10::Float8_e5m2::from_bits());
        EXPECT(std::isnan(static_cast<float>(e)) || c10::Float8_e4m3fn(static_cast<float>(e)).x == n);
        EXPECT(std::isnan(static_cast<float>(g)) || c10::Float8_e5m2(static_cast<float>(g)).x == n);
    }
}

static void check_containers() {
    std::vector<int64_t> v = {1, 2, 3};
    at::IntArrayRef r = v;
    EXPECT(r.size() == 3 && r[1] == 2 && r.front() == 1 && r.back() == 3 && r.slice(1).size() == 2 && r.equals(v));
    EXPECT(r == at::IntArrayRef({1, 2, 3}) && c10::str("sizes ", r) == "sizes [1, 2, 3]" && !r.empty());
    c10::optional<int64_t> none = c10::nullopt, some = 3;
    EXPECT(!none.has_value() && some.value() == 3 && none.value_or(4) == 4);
    int64_t sum = 0;
    for (auto i : c10::irange(4)) sum += i;
    for (auto i : c10::irange(2, 4)) sum += i;
    EXPECT(sum == 11);
    c10::List<int64_t> list({1, 2});
    c10::List<int64_t> shared = list;
    shared.push_back(3);
    EXPECT(list.size() == 3 && list.get(2) == 3 && list.vec().size() == 3);
    c10::Dict<std::string, int64_t> dict;
    dict.insert("a", 1);
    dict.insert_or_assign("a", 2);
    EXPECT(dict.at("a") == 2 && dict.contains("a") && !dict.contains("b") && dict.size() == 1);
    c10::IValue value = 3;
    EXPECT(value.isInt() && value.toInt() == 3 && c10::IValue(2.5).toDouble() == 2.5 &&
           c10::IValue("x").toStringRef() == "x");
    EXPECT(c10::IValue().isNone() && c10::IValue(at::ones({2})).toTensor().numel() == 2 && c10::IValue(true).toBool());
    c10::IValue ints = std::vector<int64_t>({4, 5});
    EXPECT(ints.isIntList() && ints.toIntVector()[1] == 5 && ints.toIntList().size() == 2);
    EXPECT(c10::IValue(std::make_tuple(1, 2.0)).toTuple()->elements()[1].toDouble() == 2.0);
    EXPECT_THROW(c10::IValue(3).toDouble() == 0 ? 0 : c10::IValue("s").toInt(), c10::Error, "");
    EXPECT(c10::multiply_integers(v) == 6);
}

static void check_bits() {
    using namespace c10::llvm;
    EXPECT(countLeadingZeros(uint32_t(1)) == 31 && countLeadingZeros(uint64_t(1)) == 63 &&
           countLeadingZeros(uint16_t(3)) == 14);
    EXPECT(countLeadingZeros(uint32_t(0)) == 32 && countLeadingZeros(uint8_t(0)) == 8 &&
           countTrailingZeros(uint64_t(0)) == 64);
    EXPECT(countTrailingZeros(uint32_t(8)) == 3 && countTrailingOnes(uint32_t(7)) == 3 &&
           countLeadingOnes(uint8_t(0xF0)) == 4);
    EXPECT(countPopulation(uint32_t(0xFF)) == 8 && isPowerOf2_32(64) && !isPowerOf2_64(0) && !isPowerOf2_64(6));
    EXPECT(Log2_32(9) == 3 && Log2_64(uint64_t(1) << 40) == 40 && Log2_32_Ceil(9) == 4 && Log2_64_Ceil(8) == 3);
    EXPECT(NextPowerOf2(8) == 16 && PowerOf2Ceil(8) == 8 && PowerOf2Ceil(9) == 16 && PowerOf2Floor(9) == 8 &&
           PowerOf2Ceil(0) == 0);
    EXPECT(divideCeil(9, 4) == 3 && alignTo(5, 8) == 8 && alignTo(17, 8) == 24 && alignTo(5, 8, 7) == 7 &&
           alignTo(8, 8) == 8);
}

static void check_errors() {
    EXPECT_THROW([] { TORCH_CHECK(false, "a ", 1, " b"); }(), c10::Error, "a 1 b");
    EXPECT_THROW([] { TORCH_CHECK_INDEX(false, "i"); }(), c10::IndexError, "i");
    EXPECT_THROW([] { TORCH_CHECK_VALUE(false, "v"); }(), c10::ValueError, "v");
    EXPECT_THROW([] { TORCH_CHECK_TYPE(false, "t"); }(), c10::TypeError, "t");
    EXPECT_THROW([] { TORCH_CHECK_NOT_IMPLEMENTED(false, "n"); }(), c10::NotImplementedError, "n");
    EXPECT_THROW([] { TORCH_CHECK(1 == 2); }(), c10::Error, "Expected 1 == 2 to be true, but got false.");
    EXPECT_THROW([] { TORCH_INTERNAL_ASSERT(1 == 2, "why"); }(), c10::Error, "1 == 2 INTERNAL ASSERT FAILED at");
    EXPECT_THROW([] { TORCH_CHECK_EQ(1, 2); }(), c10::Error, "Check failed: 1 == 2 (1 vs. 2).");
    EXPECT_THROW([] { AT_ERROR("x", 2); }(), c10::Error, "x2");
    auto run = [](at::ScalarType t) {
        return AT_DISPATCH_FLOATING_TYPES(t, "my_kernel", [&] { return static_cast<int>(sizeof(scalar_t)); });
    };
    EXPECT(run(at::kDouble) == 8 && run(at::kFloat) == 4);
    EXPECT_THROW(run(at::kInt), c10::NotImplementedError, "\"my_kernel\" not implemented for 'Int'");
    int size = 0;
    AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, at::kHalf, "two", [&] { size = sizeof(scalar_t); });
    EXPECT(size == 2);
    AT_DISPATCH_SWITCH(at::kBool, "one", AT_DISPATCH_CASE(at::kBool, [&] { size = 1; }));
    EXPECT(size == 1);
}

static void check_threads() {
    std::vector<int> seen(100000, 0);
    at::parallel_for(0, 100000, 100, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) seen[static_cast<size_t>(i)]++;
    });
    EXPECT(std::count(seen.begin(), seen.end(), 1) == 100000);
    EXPECT(at::get_num_threads() >= 1 && !at::in_parallel_region());
    EXPECT_THROW(at::parallel_for(0, 100000, 1, [](int64_t, int64_t) { TORCH_CHECK_VALUE(false, "from a worker"); }),
                 c10::ValueError, "from a worker");
    at::Tensor total = at::zeros({4});
    at::parallel_for(0, 4, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) total[i] = at::ones({3}).sum() * i;
    });
    EXPECT(total.sum().item<float>() == 18);
    double sum = at::parallel_reduce(
        int64_t(0), int64_t(1000), 10, 0.0,
        [](int64_t b, int64_t e, double s) {
            for (int64_t i = b; i < e; i++) s += static_cast<double>(i);
            return s;
        },
        [](double a, double b) { return a + b; });
    EXPECT(sum == 499500);
}

static void check_autograd() {
    py::gil_scoped_release no_gil;
    at::Tensor x = torch::ones({3}, torch::requires_grad());
    EXPECT(x.requires_grad() && x.is_leaf() && !(x * 2).is_leaf());
    (x * x * 3).sum().backward();
    EXPECT(at::equal(x.grad(), at::full({3}, 6.f)));
    {
        torch::NoGradGuard guard;
        EXPECT(!(x * 2).requires_grad());
    }
    EXPECT((x * 2).requires_grad() && !x.detach().requires_grad());
    at::Tensor y = (x * x).sum();
    auto g = torch::autograd::grad({y}, {x});
    EXPECT(at::equal(g[0], at::full({3}, 2.f)));
    EXPECT(torch::autograd::any_variable_requires_grad({at::ones({1}), x}));
    {
        at::AutoDispatchBelowADInplaceOrView guard;
        EXPECT(!(x * 2).requires_grad());
    }
}

static void check_dispatcher() {
    static auto op = c10::Dispatcher::singleton()
                         .findSchemaOrThrow("aten::add", "Tensor")
                         .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&)>();
    EXPECT(at::equal(op.call(at::ones({2}), at::ones({2}), 3), at::full({2}, 4.f)));
    EXPECT_THROW(c10::Dispatcher::singleton().findSchemaOrThrow("no::such", ""), c10::Error,
                 "Could not find schema for no::such");
    EXPECT(!c10::Dispatcher::singleton().findSchema({"no::such", ""}).has_value());
}

// ---- operators for Python ----

static at::Tensor muladd(const at::Tensor& a, const at::Tensor& b, double c) {
    TORCH_CHECK(a.sizes() == b.sizes(), "muladd: sizes differ, ", a.sizes(), " and ", b.sizes());
    at::Tensor x = a.contiguous(), y = b.contiguous(), r = at::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "muladd", [&] {
        const scalar_t *p = x.const_data_ptr<scalar_t>(), *q = y.const_data_ptr<scalar_t>();
        scalar_t* o = r.data_ptr<scalar_t>();
        for (int64_t i = 0; i < x.numel(); i++) o[i] = p[i] * q[i] + static_cast<scalar_t>(c);
    });
    return r;
}
static void add_out(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) { out.copy_(a + b); }
static std::tuple<at::Tensor, at::Tensor> halves(const at::Tensor& a) {
    return {a.narrow(0, 0, 1).clone(), a.narrow(0, 1, 1).clone()};
}
static std::vector<at::Tensor> pieces(at::TensorList all, int64_t n) {
    std::vector<at::Tensor> out;
    for (const at::Tensor& t : all)
        for (const at::Tensor& p : t.chunk(n)) out.push_back(p.clone());
    return out;
}
static std::string describe(const at::Tensor& t, const std::optional<at::Tensor>& o, int64_t i, double d, bool b,
                            c10::string_view s, at::IntArrayRef ints, const std::vector<double>& doubles,
                            const std::optional<int64_t>& none, at::ScalarType dtype, at::Device device,
                            const at::Scalar& scalar) {
    return c10::str(t.numel(), " ", o.has_value(), " ", i, " ", d, " ", b, " ", s, " ", ints, " ", doubles.size(), " ",
                    none.has_value(), " ", dtype, " ", device, " ", scalar.toDouble());
}
static std::vector<std::string> texts(std::vector<std::string> given, c10::Dict<std::string, int64_t> counts) {
    std::vector<std::string> all;
    for (const auto& s : given)
        for (int64_t i = 0; i < counts.at(s); i++) all.push_back(s);
    return all;
}

class Scale : public torch::autograd::Function<Scale> {
  public:
    static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, double k,
                              const at::Tensor& w) {
        ctx->saved_data["k"] = k;
        ctx->save_for_backward({x, w});
        return x * k * w;
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                   torch::autograd::variable_list grads) {
        auto saved = ctx->get_saved_variables();
        double k = ctx->saved_data["k"].toDouble();
        EXPECT(ctx->needs_input_grad(0));
        return {grads[0] * k * saved[1], at::Tensor(),
                ctx->needs_input_grad(1) ? grads[0] * k * saved[0] : at::Tensor()};
    }
};
static at::Tensor scale(const at::Tensor& x, double k, const at::Tensor& w) { return Scale::apply(x, k, w); }
class TwoOutputs : public torch::autograd::Function<TwoOutputs> {
  public:
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext* ctx, at::Tensor x) {
        at::Tensor index = x.argmax();
        ctx->mark_non_differentiable({index});
        return {x * 2, index};
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   torch::autograd::variable_list grads) {
        return {grads[0] * 2};
    }
};
static torch::autograd::variable_list two_outputs(at::Tensor x) { return TwoOutputs::apply(x); }
class WrongCount : public torch::autograd::Function<WrongCount> {
  public:
    static at::Tensor forward(torch::autograd::AutogradContext*, at::Tensor x) { return x.clone(); }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   torch::autograd::variable_list g) {
        return {g[0], g[0]};
    }
};
static at::Tensor wrong_count(at::Tensor x) { return WrongCount::apply(x); }

static auto registry = torch::RegisterOperators().op("checks_old::triple", [](const at::Tensor& x) { return x * 3; });

static void boxed_double(const c10::OperatorHandle&, torch::jit::Stack* stack) {
    at::Tensor x = torch::jit::pop(*stack).toTensor();
    torch::jit::push(*stack, x * 2);
}

static at::Tensor muladd_autograd(const at::Tensor& a, const at::Tensor& b, double c) {
    at::AutoDispatchBelowADInplaceOrView guard;
    static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("checks::traced", "").typed<decltype(muladd)>();
    return op.call(a, b, c + 100);
}

TORCH_LIBRARY(checks, m) {
    m.def("muladd(Tensor a, Tensor b, float c) -> Tensor");
    m.def("traced(Tensor a, Tensor b, float c) -> Tensor");
    m.def("add_out(Tensor a, Tensor b, Tensor(a!) out) -> ()");
    m.def("halves(Tensor a) -> (Tensor, Tensor)", &halves);
    m.def("pieces(Tensor[] all, int n) -> Tensor[]", &pieces);
    m.def(
        "describe(Tensor t, Tensor? o, int i, float d, bool b, str s, int[] ints, float[] doubles, int? none, "
        "ScalarType dtype, Device "
        "device, Scalar scalar) -> str",
        &describe);
    m.def("texts", &texts);
    m.def("two_outputs", &two_outputs);
    m.def("wrong_count", &wrong_count);
    m.def("scale", &scale);
    m.def("boxed(Tensor x) -> Tensor");
    m.def("fails(Tensor x, int kind) -> Tensor");
}
TORCH_LIBRARY_IMPL(checks, CPU, m) {
    m.impl("muladd", &muladd);
    m.impl("traced", TORCH_FN(muladd));
    m.impl("add_out", &add_out);
}
TORCH_LIBRARY_IMPL(checks, Autograd, m) { m.impl("traced", &muladd_autograd); }
TORCH_LIBRARY_IMPL(checks, CompositeExplicitAutograd, m) {
    m.impl("boxed", torch::CppFunction::makeFromBoxedFunction<&boxed_double>());
    m.impl("fails", [](const at::Tensor& x, int64_t kind) -> at::Tensor {
        TORCH_CHECK_INDEX(kind != 0, "index failed");
        TORCH_CHECK_VALUE(kind != 1, "value failed");
        TORCH_CHECK_TYPE(kind != 2, "type failed");
        TORCH_CHECK_NOT_IMPLEMENTED(kind != 3, "not implemented failed");
        if (kind == 4) throw std::runtime_error("a plain error");
        return x + at::ones({2, 2, 2, 2, 2});
    });
}

// ---- classes ----

struct Counter : torch::CustomClassHolder {
    int64_t count;
    std::vector<std::string> names;
    explicit Counter(int64_t start) : count(start) {}
    int64_t add(int64_t n) { return count += n; }
    at::Tensor times(const at::Tensor& t) const { return t * count; }
    int64_t get() const { return count; }
    void set(int64_t n) { count = n; }
    std::tuple<std::tuple<std::string, int64_t>> state() const { return {{"count", count}}; }
};
static int64_t read_counter(const c10::intrusive_ptr<Counter>& c) { return c->count; }
TORCH_LIBRARY_FRAGMENT(checks, m) {
    m.class_<Counter>("Counter")
        .def(torch::init<int64_t>())
        .def("add", &Counter::add)
        .def("times", &Counter::times)
        .def("state", &Counter::state)
        .def("pair", [](const c10::intrusive_ptr<Counter>& self) { return std::make_tuple(self->count, -self->count); })
        .def("twice",
             [](const c10::intrusive_ptr<Counter>& self) { return c10::make_intrusive<Counter>(self->count * 2); })
        .def_static("zero", []() { return c10::make_intrusive<Counter>(0); })
        .def_property("value", &Counter::get, &Counter::set)
        .def_pickle([](const c10::intrusive_ptr<Counter>& self) -> int64_t { return self->count; },
                    [](int64_t state) { return c10::make_intrusive<Counter>(state); });
    m.def("read_counter", &read_counter);
    m.def("one_pair(int a) -> ((int, str) _0)",
          [](int64_t a) { return std::make_tuple(std::make_tuple(a, std::string("a"))); });
    m.def("one_pair_inferred", [](int64_t a) { return std::make_tuple(std::make_tuple(a, std::string("a"))); });
}

// ---- the module ----

#define EACH_CHECK(_) \
    _(metadata)       \
    _(elements)       \
    _(operators)      \
    _(generated_outs) \
    _(kernels_of_gpus) _(indexing) _(scalars) _(containers) _(errors) _(bits) _(threads) _(autograd) _(dispatcher)

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
#define DEF(name) m.def("check_" #name, &check_##name);
    EACH_CHECK(DEF)
#undef DEF
    m.def("muladd", &muladd, "a * b + c", py::arg("a"), py::arg("b"), py::arg("c") = 1.0);
    m.def("optional", [](std::optional<at::Tensor> t) { return t.has_value(); });
    m.def("undefined", []() { return at::Tensor(); });
    m.def("list", [](std::vector<at::Tensor> list) { return at::cat(list); });
    m.def("tuple", [](at::Tensor t) { return std::make_tuple(t, t.size(0)); });
    m.def("device", [](at::Device d) { return d; });
    m.def("dtype", [](at::ScalarType t) { return t; });
    m.def("ints", [](std::vector<int64_t> v) { return at::zeros(v); });
    m.def("raises", [](int kind) {
        TORCH_CHECK_INDEX(kind != 0, "index");
        TORCH_CHECK_VALUE(kind != 1, "value");
        TORCH_CHECK(kind != 2, "runtime");
        if (kind == 3) throw std::invalid_argument("standard");
    });
    m.def("seeded", [](at::Generator g) { return at::rand({2}, g); });
}
