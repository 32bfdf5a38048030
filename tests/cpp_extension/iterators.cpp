// TensorIterator with the loops over it, and the parts of at::native that extensions call. The same file is compiled
// against PyTorch: check_* throw if something is not as there.
#include <torch/extension.h>

#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/EmbeddingBag.h>
#include <ATen/native/UpSample.h>
#include <ATen/native/cpu/Loops.h>
#include <ATen/native/cpu/utils.h>
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

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("shapes", &check_shapes);
    m.def("types", &check_types);
    m.def("outputs", &check_outputs);
    m.def("native", &check_native);
    m.def("containers", &check_containers);
}
