// TensorIterator with the loops over it, and the parts of at::native that extensions call. The same file is compiled
// against PyTorch: check_* throw if something is not as there.
#include <torch/extension.h>

#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/CPUBlas.h>
#include <ATen/native/CanUse32BitIndexMath.h>
#include <ATen/native/EmbeddingBag.h>
#include <ATen/native/Pool.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/native/UpSample.h>
#include <ATen/native/cpu/AtomicAddFloat.h>
#include <ATen/native/cpu/Loops.h>
#include <ATen/native/cpu/Reduce.h>
#include <ATen/native/cpu/utils.h>
#include <ATen/native/quantized/AffineQuantizerBase.h>
#include <c10/util/TypeCast.h>
#include <c10/util/env.h>
#include <c10/util/flat_hash_map.h>

#include "expect.h"

namespace {

at::Tensor scaled_sum(const at::Tensor& a, const at::Tensor& b, at::Tensor out = {}) {
    at::TensorIterator iter = at::TensorIteratorConfig()
                                  .add_output(out)
                                  .add_const_input(a)
                                  .add_const_input(b)
                                  .promote_inputs_to_common_dtype(true)
                                  .cast_common_dtype_to_outputs(true)
                                  .build();
    AT_DISPATCH_ALL_TYPES(iter.common_dtype(), "scaled_sum", [&] {
        at::native::cpu_kernel(iter, [](scalar_t x, scalar_t y) -> scalar_t { return x + 2 * y; });
    });
    return iter.output();
}

void check_shapes() {
    at::Tensor a = at::arange(6, at::kFloat).reshape({2, 3}), b = at::ones({3});
    EXPECT(at::equal(scaled_sum(a, b), a + 2));
    EXPECT(at::equal(scaled_sum(a.t(), at::ones({3, 1})), a.t() + 2));
    EXPECT(at::equal(scaled_sum(a.unsqueeze(1), at::ones({4, 1})), (a + 2).unsqueeze(1).expand({2, 4, 3})));
    EXPECT(scaled_sum(at::empty({0, 3}), b).numel() == 0);
    EXPECT(scaled_sum(at::scalar_tensor(3.0), at::scalar_tensor(1.0)).item<float>() == 5);
    at::Tensor big = at::arange(70000, at::kDouble).reshape({100, 700}).t();
    EXPECT(at::equal(scaled_sum(big, big.contiguous()), big * 3));
    EXPECT(said(error_of([&] { scaled_sum(a, at::ones({2})); }), "must match the size of tensor b"));
}

void check_types() {
    at::Tensor i = at::arange(3, at::kInt), l = at::arange(3, at::kLong), f = at::ones({3});
    EXPECT(scaled_sum(i, l).scalar_type() == at::kLong && scaled_sum(i, f).scalar_type() == at::kFloat);
    EXPECT(scaled_sum(i, at::scalar_tensor(2, at::kLong)).scalar_type() == at::kInt);
    EXPECT(scaled_sum(i, at::scalar_tensor(2.0, at::kDouble)).scalar_type() == at::kDouble);
    at::Tensor out = at::zeros({3}, at::kDouble);
    EXPECT(scaled_sum(i, l, out).is_same(out) && out[2].item<double>() == 6);
    at::Tensor strict = at::zeros({3});
    EXPECT(said(error_of([&] { at::TensorIteratorConfig().add_output(strict).add_input(f).add_input(i).build(); }),
                "Found dtype Int but expected Float"));
}

void check_outputs() {
    at::Tensor x = at::arange(8, at::kFloat).reshape({2, 4}), out = at::empty({0});
    auto iter = at::TensorIterator::unary_op(out, x);
    at::native::cpu_kernel_vec(
        iter, [](float v) -> float { return v * v; }, [](at::vec::Vectorized<float> v) { return v * v; });
    EXPECT(at::equal(out, x * x) && iter.numel() == 8 && iter.ntensors() == 2 && iter.is_contiguous());
    at::Tensor flat = x.flatten(), low = at::empty({8}, at::kFloat), high = at::empty({8}, at::kLong);
    auto two =
        at::TensorIteratorConfig().add_output(low).add_output(high).add_input(flat).check_all_same_dtype(false).build();
    at::native::cpu_kernel_multiple_outputs(
        two, [](float v) -> std::tuple<float, int64_t> { return {v / 2, static_cast<int64_t>(v) + 1}; });
    EXPECT(low[7].item<float>() == 3.5f && high[7].item<int64_t>() == 8);
    at::Tensor wide = at::zeros({2, 8}), part = wide.slice(1, 0, 8, 2);
    auto into = at::TensorIteratorConfig().add_output(part).add_input(x).resize_outputs(false).build();
    at::native::cpu_kernel(into, [](float v) -> float { return v + 1; });
    EXPECT(at::equal(part, x + 1) && wide.sum().item<float>() == 36);
    int64_t next = 0;
    at::Tensor counted = at::empty({5}, at::kLong);
    auto filled = at::TensorIterator::nullary_op(counted);
    at::native::cpu_serial_kernel(filled, [&]() -> int64_t { return next++; });
    EXPECT(at::equal(counted, at::arange(5)));
    float sum = 0;
    auto read = at::TensorIteratorConfig().add_input(x).build();
    at::native::cpu_serial_kernel(read, [&](float v) -> void { sum += v; });
    EXPECT(sum == x.sum().item<float>() && read.noutputs() == 0);
    at::Tensor result, reversed = x.flip(0);
    auto compared = at::TensorIterator::comparison_op(result, x, reversed);
    at::native::cpu_kernel(compared, [](float a, float b) -> bool { return a < b; });
    EXPECT(at::equal(compared.output(), x < reversed) && compared.output().scalar_type() == at::kBool);
    int64_t seen = 0;
    iter.serial_for_each(
        [&](char**, const int64_t* strides, int64_t n, int64_t m) { seen += n * m * (strides[0] == 4); },
        {0, iter.numel()});
    EXPECT(seen == 8);
    at::Tensor one = at::ones({1}).expand({4}), four = at::ones({4});
    EXPECT(said(error_of([&] { at::TensorIteratorConfig().add_output(one).add_input(four).build(); }),
                "refers to a single memory location"));
}

void check_native() {
    int64_t n = 0, c = 0, h = 0;
    at::native::data_index_init(int64_t(17), n, int64_t(2), c, int64_t(3), h, int64_t(4));
    EXPECT(n == 1 && c == 1 && h == 1);
    EXPECT(!at::native::data_index_step(n, int64_t(2), c, int64_t(3), h, int64_t(4)) && h == 2);
    h = 3, c = 2, n = 1;
    EXPECT(at::native::data_index_step(n, int64_t(2), c, int64_t(3), h, int64_t(4)) && n + c + h == 0);
    std::vector<float> src{1, 2, 3, 4, 5, 6}, dst(6);
    at::native::utils::transpose(int64_t(2), int64_t(3), src.data(), int64_t(3), dst.data(), int64_t(2));
    EXPECT(dst == std::vector<float>({1, 4, 2, 5, 3, 6}));
    EXPECT(static_cast<int>(at::native::EmbeddingBagMode::MAX) == 2);

    const std::vector<int64_t> image{2, 3, 10, 20}, given{5, 6};
    const std::vector<double> scales{0.55, 2.0};
    auto sizes = at::native::upsample::compute_output_size(image, given, std::nullopt);
    EXPECT(sizes.size() == 2 && sizes[0] == 5 && sizes[1] == 6);
    sizes = at::native::upsample::compute_output_size(image, std::nullopt, at::ArrayRef<double>(scales));
    EXPECT(sizes[0] == 5 && sizes[1] == 40);
    EXPECT(said(error_of([&] { at::native::upsample::compute_output_size(image, std::nullopt, std::nullopt); }),
                "Must specify exactly one of output_size and scale_factors"));
    EXPECT(*at::native::upsample::get_scale_value(at::ArrayRef<double>(scales), 1) == 2.0);
    EXPECT(!at::native::upsample::get_scale_value(std::nullopt, 0));
    EXPECT(at::native::upsample_2d_common_check(image, given) == (std::array<int64_t, 4>{2, 3, 5, 6}));
    EXPECT(said(error_of([&] { at::native::upsample_2d_common_check(image, {5}); }), "output_size equals to 2"));
    EXPECT(said(error_of([&] { at::native::upsample_2d_common_check({3, 10, 20}, given); }), "input_size equals to 4"));
    EXPECT(said(error_of([&] { at::native::upsample_2d_common_check(image, {0, 6}); }), "greater than 0"));
}

void check_helpers() {
    at::Tensor out = at::empty({0});
    EXPECT(at::native::resize_output(out, {2, 3}) && out.size(1) == 3 && !at::native::resize_output(out, {2, 3}));
    EXPECT(at::native::canUse32BitIndexMath(out) && !at::native::canUse32BitIndexMath(out, 5));
    EXPECT(!at::native::canUse32BitIndexMath(at::ones({2}).expand({3, 2}), 6));
    for (int64_t input : {1, 2, 5, 8, 13})
        for (int64_t kernel : {1, 2, 3})
            for (int64_t stride : {1, 2, 3})
                for (bool ceil : {false, true}) {
                    const int64_t pad = kernel / 2;
                    if (input + 2 * pad < kernel) continue;
                    at::Tensor pooled = at::max_pool1d(at::ones({1, 1, input}), kernel, stride, pad, 1, ceil);
                    EXPECT(at::native::pooling_output_shape<int64_t>(input, kernel, pad, stride, 1, ceil) ==
                           pooled.size(2));
                }
    EXPECT(said(error_of([] { at::native::pooling_output_shape<int64_t>(5, 2, 2, 1, 1, false); }),
                "pad should be at most half of effective kernel size"));
    EXPECT(at::native::safe_downcast<int>(int64_t(7)) == 7);
    EXPECT(said(error_of([] { at::native::safe_downcast<int>(int64_t(1) << 40); }), "without overflow"));
    float sum = 0;
    at::parallel_for(0, 1000, 10, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) cpu_atomic_add_float(&sum, 1);
    });
    EXPECT(sum == 1000);
    EXPECT((c10::convert<float, c10::complex<float>>(c10::complex<float>(2, 3)) == 2 &&
            c10::convert<uint8_t>(-1.0f) == 255));
    EXPECT((c10::convert<bool, c10::complex<float>>(c10::complex<float>(0, 3)) &&
            c10::convert<int>(c10::Half(2.5f)) == 2));
    EXPECT(said(error_of([] { c10::checked_convert<int8_t>(300, "int8_t"); }),
                "value cannot be converted to type int8_t"));
    EXPECT(at::zeros_like(out, at::CPU(at::kByte)).scalar_type() == at::kByte &&
           &at::CPU(at::kInt) == &at::CPU(at::kInt));
    const unsigned char odd = 2;
    EXPECT(c10::load<bool>(static_cast<const void*>(&odd)) && c10::load(&sum) == 1000);
    c10::utils::set_env("MINDTORCH_TEST_OF_ENV", "1");
    EXPECT(c10::utils::check_env("MINDTORCH_TEST_OF_ENV") == true && !c10::utils::get_env("MINDTORCH_NO_SUCH_ENV"));
    using traits = function_traits<decltype(&cpu_atomic_add_float)>;
    auto lambda = [](int a, const float&) { return a; };
    EXPECT(traits::arity == 2 && (std::is_same_v<binary_function_traits<decltype(lambda)>::arg2_t, const float&>));
}

void check_containers() {
    ska::flat_hash_map<std::string, c10::IValue> table;
    table["a"] = int64_t(3);
    EXPECT(table.count("a") == 1 && table["a"].toInt() == 3 && table.find("b") == table.end());
    c10::impl::GenericDict any(c10::StringType::get(), c10::IntType::get());
    any.insert("one", int64_t(1));
    c10::Dict<std::string, int64_t> typed = c10::impl::toTypedDict<std::string, int64_t>(any);
    EXPECT(typed.at("one") == 1 && c10::impl::toGenericDict(typed).at("one").toInt() == 1);
    c10::impl::GenericList items(c10::IntType::get());
    items.push_back(int64_t(4));
    EXPECT(c10::impl::toTypedList<int64_t>(items).get(0) == 4);
    at::Tensor x = at::arange(3, at::kFloat) - 1, zeros = at::zeros({3});
    EXPECT(at::equal(x.where(x > 0, zeros), x.clamp_min(0)) &&
           at::allclose(x.abs().add(1).polygamma(1), at::polygamma(1, x.abs() + 1)));
    EXPECT((x > 0)._is_any_true().item<bool>() && !(x > 0)._is_all_true().item<bool>());
    EXPECT(at::infer_size({3, 1}, {4}) == std::vector<int64_t>({3, 4}));
    EXPECT(std::string(at::toString(at::kHalf)) == "Half");
    EXPECT(c10::detail::round_to_nearest_even(1.0f) == 0x3f80 && c10::detail::f32_from_bits(0x4000) == 2.0f);
    EXPECT(said(error_of([] { throw c10::ValueError({"f", "file", 1}, "with a place"); }), "with a place"));
}

// The largest element and where it is, as argmax finds it.
struct Largest {
    using Acc = std::pair<float, int64_t>;
    Acc reduce(Acc acc, float value, int64_t index) const { return combine(acc, Acc(value, index)); }
    Acc combine(Acc a, Acc b) const { return a.first > b.first || (a.first == b.first && a.second < b.second) ? a : b; }
    std::tuple<float, int64_t> project(Acc acc) const { return {acc.first, acc.second}; }
    Acc translate_idx(Acc acc, int64_t base) const { return {acc.first, acc.second + base}; }
};
struct SquareSum {
    double reduce(double acc, float value, int64_t) const { return acc + double(value) * value; }
    double combine(double a, double b) const { return a + b; }
    float project(double acc) const { return static_cast<float>(acc); }
    double translate_idx(double acc, int64_t) const { return acc; }
};
at::Tensor total(const at::Tensor& x, at::OptionalIntArrayRef dims, bool keepdim) {
    at::Tensor out = at::empty({0}, x.options());
    auto iter = at::native::make_reduction("total", out, x, dims, keepdim, x.scalar_type());
    AT_DISPATCH_ALL_TYPES(x.scalar_type(), "total", [&] {
        at::native::binary_kernel_reduce_vec(
            iter, [](scalar_t a, scalar_t b) -> scalar_t { return a + b; },
            [](at::vec::Vectorized<scalar_t> a, at::vec::Vectorized<scalar_t> b) { return a + b; });
    });
    return out;
}

void check_reductions() {
    at::Tensor x = at::arange(24, at::kFloat).reshape({2, 3, 4});
    for (const at::Tensor& t : {x, x.transpose(0, 2), x.permute({1, 2, 0}), x.slice(2, 1, 4, 2)})
        for (bool keepdim : {false, true}) {
            EXPECT(at::equal(total(t, at::IntArrayRef{1}, keepdim), t.sum(1, keepdim)));
            EXPECT(at::equal(total(t, at::IntArrayRef{0, -1}, keepdim), t.sum(at::IntArrayRef{0, -1}, keepdim)));
            EXPECT(at::equal(total(t, std::nullopt, keepdim), t.sum(at::IntArrayRef{0, 1, 2}, keepdim)));
        }
    at::Tensor big = at::arange(200000, at::kLong);
    EXPECT(total(big, std::nullopt, false).item<int64_t>() == 200000LL * 199999 / 2);
    EXPECT(at::equal(total(big.reshape({1000, 200}), at::IntArrayRef{0}, false), big.reshape({1000, 200}).sum(0)));

    at::Tensor values = at::empty({0}), indices = at::empty({0}, at::kLong),
               y = at::sin(at::arange(120.0)).reshape({6, 20});
    auto iter = at::native::make_reduction("largest", values, indices, y.to(at::kFloat), at::IntArrayRef{1}, false,
                                           at::kFloat, at::kLong);
    EXPECT(iter.noutputs() == 2 && iter.num_reduce_dims() == 1 && iter.num_output_elements() == 6);
    at::native::binary_kernel_reduce(iter, Largest(), Largest::Acc(-1e30f, 0));
    EXPECT(at::equal(indices, y.argmax(1)) && at::equal(values, y.to(at::kFloat).amax(1)));

    at::Tensor out = at::empty({0}), long_one = at::ones({100000}) * 3;
    auto squares = at::native::make_reduction("squares", out, long_one, std::nullopt, false, at::kFloat);
    at::native::binary_kernel_reduce(squares, SquareSum(), 0.0);
    EXPECT(out.dim() == 0 && out.item<float>() == 900000);

    at::Tensor rows = at::empty({0});
    auto last = at::native::make_reduction("rows", rows, x, at::IntArrayRef{2}, false, at::kFloat);
    EXPECT(at::native::is_reduce_lastdim(last));
    at::native::binary_kernel_reduce_lastdim(last, [](char* o, char* in, int64_t n) {
        const float* p = reinterpret_cast<const float*>(in);
        *reinterpret_cast<float*>(o) = p[0] - p[n - 1];
    });
    EXPECT(at::equal(rows, at::full({2, 3}, -3.0)));
    EXPECT(said(error_of([&] { at::native::make_dim_mask(at::IntArrayRef{1, 1}, 2); }), "appears multiple times"));
    EXPECT(said(error_of([&] { total(x, at::IntArrayRef{3}, false); }), "Dimension out of range"));
    EXPECT(at::native::make_dim_mask(std::nullopt, 3)[2] && !at::native::make_dim_mask(at::IntArrayRef{-1}, 3)[0]);
    EXPECT(at::native::get_dtype_from_self(big.to(at::kInt), std::nullopt, true) == at::kLong);
    EXPECT(at::native::lower_bound<int32_t>() == INT32_MIN && std::isinf(at::native::upper_bound<float>()));
}

void check_blas() {
    namespace blas = at::native::cpublas;
    at::Tensor a = at::arange(6, at::kFloat).reshape({2, 3}), b = at::arange(12, at::kFloat).reshape({3, 4}) - 5;
    at::Tensor c = at::zeros({2, 5}), wanted = a.mm(b);
    blas::brgemm(2, 4, 3, 3, 4, 5, false, a.const_data_ptr<float>(), b.const_data_ptr<float>(), c.data_ptr<float>(),
                 false);
    EXPECT(at::equal(c.slice(1, 0, 4), wanted) && c.select(1, 4).abs().sum().item<float>() == 0);
    blas::brgemm(2, 4, 3, 3, 4, 5, true, a.const_data_ptr<float>(), b.const_data_ptr<float>(), c.data_ptr<float>(),
                 false);
    EXPECT(at::equal(c.slice(1, 0, 4), wanted * 2));
    blas::brgemm_release(false);
    EXPECT(at::native::to_blas(at::native::TransposeType::ConjTranspose) == 'C');
}

void check_quantised() {
    using at::native::quantize_val;
    EXPECT(quantize_val<c10::quint8>(0.1, 10, 1.26f).val_ == 23 && quantize_val<c10::quint8>(0.1, 10, -9.0f).val_ == 0);
    EXPECT(quantize_val<c10::qint8>(0.5, 0, 0.75f).val_ == 2 && quantize_val<c10::qint8>(0.5, 0, 0.25f).val_ == 0);
    EXPECT(quantize_val<c10::qint8>(0.1, -5, 1e9f).val_ == 127);
    EXPECT(at::native::dequantize_val(0.25, 3, c10::quint8(7)) == 1.0f);
    EXPECT(at::native::dequantize_val(0.5, -1, c10::qint8(-3)) == -1.0f);
    EXPECT((at::native::requantize_val<c10::qint8, c10::quint8>(0.5, 0, 0.25, 4, c10::qint8(3)).val_ == 10));
    EXPECT(at::native::requantize_from_int<c10::qint8>(0.01, 2, 5000).val_ == 52);
    int seen = 0;
    AT_DISPATCH_QINT_TYPES(at::kQInt32, "quantised", [&] {
        seen = sizeof(scalar_t) == 4 && std::is_same_v<underlying_t, int32_t> && UNDERLYING_TYPE == at::kInt;
    });
    EXPECT(seen && at::toUnderlying(at::kQUInt8) == at::kByte && at::isQIntType(at::kQInt8));
    EXPECT(at::toComplexType(at::kHalf) == at::kComplexHalf && at::isBarebonesUnsignedType(at::kUInt16));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("shapes", &check_shapes);
    m.def("types", &check_types);
    m.def("outputs", &check_outputs);
    m.def("native", &check_native);
    m.def("reductions", &check_reductions);
    m.def("blas", &check_blas);
    m.def("quantised", &check_quantised);
    m.def("containers", &check_containers);
    m.def("helpers", &check_helpers);
}
