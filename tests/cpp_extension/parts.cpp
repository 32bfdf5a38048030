// Smaller parts of ATen and c10 that extensions lean on. Compiled against our headers and, with --live, against
// PyTorch's, unchanged.
#include <torch/extension.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ExpandUtils.h>
#include <ATen/Operators.h>
#include <ATen/core/DistributionsHelper.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>

#include <sstream>

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

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("drawn", &drawn);
    m.def("expanding", &expanding);
    m.def("memory", &memory);
    m.def("operators", &operators);
    m.def("texts", &texts);
    m.def("braces", &braces);
    py::class_<Box, c10::intrusive_ptr<Box>>(m, "Box").def(py::init<int64_t>()).def_readwrite("n", &Box::n);
    m.def("same", [](const c10::intrusive_ptr<Box>& box) { return box; });
}
