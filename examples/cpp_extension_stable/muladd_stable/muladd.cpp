// muladd(a, b, c) = a * b + c, mul(a, b) and add_out(a, b, out) for floats on the CPU, on PyTorch's stable ABI.
#include <Python.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

using torch::stable::Tensor;

namespace {

void check(const Tensor& a, const Tensor& b) {
    STD_TORCH_CHECK(a.dim() == b.dim(), "the numbers of dimensions differ");
    for (int64_t i = 0; i < a.dim(); i++) STD_TORCH_CHECK(a.size(i) == b.size(i), "the sizes differ at dimension ", i);
    for (const Tensor* t : {&a, &b})
        STD_TORCH_CHECK(t->scalar_type() == torch::headeronly::ScalarType::Float && t->device().is_cpu(),
                        "only 32-bit floats on the CPU are taken");
}

// out[i] = f(a[i], b[i]); `out` is contiguous.
template <class F>
void loop(const Tensor& a, const Tensor& b, Tensor& out, F f) {
    const Tensor x = torch::stable::contiguous(a), y = torch::stable::contiguous(b);
    const float *p = x.const_data_ptr<float>(), *q = y.const_data_ptr<float>();
    float* r = out.mutable_data_ptr<float>();
    for (int64_t i = 0; i < out.numel(); i++) r[i] = f(p[i], q[i]);
}

template <class F>
Tensor made(const Tensor& a, const Tensor& b, F f) {
    check(a, b);
    Tensor out = torch::stable::empty_like(torch::stable::contiguous(a));
    loop(a, b, out, f);
    return out;
}

Tensor muladd(const Tensor& a, const Tensor& b, double c) {
    return made(a, b, [c = static_cast<float>(c)](float x, float y) { return x * y + c; });
}

Tensor mul(const Tensor& a, const Tensor& b) {
    return made(a, b, [](float x, float y) { return x * y; });
}

void add_out(const Tensor& a, const Tensor& b, Tensor& out) {
    check(a, b);
    check(a, out);
    STD_TORCH_CHECK(out.is_contiguous(), "add_out: `out` must be contiguous");
    loop(a, b, out, [](float x, float y) { return x + y; });
}

}  // namespace

STABLE_TORCH_LIBRARY(muladd_stable, m) {
    m.def("muladd(Tensor a, Tensor b, float c) -> Tensor");
    m.def("mul(Tensor a, Tensor b) -> Tensor");
    m.def("add_out(Tensor a, Tensor b, Tensor(a!) out) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(muladd_stable, CPU, m) {
    m.impl("muladd", TORCH_BOX(&muladd));
    m.impl("mul", TORCH_BOX(&mul));
    m.impl("add_out", TORCH_BOX(&add_out));
}

// An empty module: its import loads the library.
PyMODINIT_FUNC PyInit__C(void) {
    static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
    return PyModule_Create(&module);
}
