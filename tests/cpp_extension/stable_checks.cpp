// A library of the stable ABI: compiled against our headers it runs with us and with PyTorch, and so it does against
// PyTorch's.
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/device.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/Dispatch_v2.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/core/TensorAccessor.h>
#include <torch/headeronly/util/Exception.h>

#include <atomic>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

using torch::headeronly::HeaderOnlyArrayRef;
using torch::headeronly::IntHeaderOnlyArrayRef;
using torch::headeronly::Layout;
using torch::headeronly::MemoryFormat;
using torch::headeronly::ScalarType;
using torch::stable::Device;
using torch::stable::Tensor;
namespace stable = torch::stable;

#define EXPECT(condition) STD_TORCH_CHECK(condition, "failed: " #condition)

static Tensor count_up(std::vector<int64_t> sizes) {  // 0, 1, 2, ... as float32
    Tensor t = stable::empty(sizes, ScalarType::Float);
    float* p = t.mutable_data_ptr<float>();
    for (int64_t i = 0; i < t.numel(); i++) p[i] = static_cast<float>(i);
    return t;
}
static float element(const Tensor& t, int64_t i) { return t.const_data_ptr<float>()[i]; }
template <class F>
static std::string message(F&& f) {
    try {
        f();
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return "nothing was thrown";
}
static bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

static void check_tensor() {
    Tensor t = count_up({2, 3});
    EXPECT(t.defined() && t.dim() == 2 && t.numel() == 6 && t.is_contiguous());
    EXPECT(t.size(0) == 2 && t.size(-1) == 3 && t.stride(0) == 3 && t.stride(1) == 1);
    EXPECT(t.sizes().size() == 2 && t.sizes()[1] == 3 && t.strides()[0] == 3);
    EXPECT(t.scalar_type() == ScalarType::Float && t.element_size() == 4 && t.storage_offset() == 0);
    EXPECT(t.layout() == Layout::Strided && t.is_cpu() && !t.is_cuda());
    EXPECT(t.device().is_cpu() && t.device().index() == -1 && t.get_device_index() == -1);
    EXPECT(t.data_ptr() == t.mutable_data_ptr() && t.data_ptr() == t.const_data_ptr());
    Tensor other = t;
    EXPECT(other.data_ptr() == t.data_ptr());
    t.set_requires_grad(true);
    EXPECT(has(message([&] { t.mutable_data_ptr<double>(); }), "expected scalar type Double"));
    EXPECT(has(message([&] { t.size(2); }), "Dimension out of range (expected to be in range of [-2, 1], but got 2)"));
    Tensor nothing;
    EXPECT(!nothing.defined() && nothing.numel() == 0);
    EXPECT(has(message([&] { nothing.device(); }), "tensor does not have a device"));
    Tensor moved = std::move(other);
    EXPECT(moved.numel() == 6);
}

static void check_views_and_copies() {
    Tensor t = count_up({2, 3});
    Tensor turned = stable::transpose(t, 0, 1);
    EXPECT(turned.size(0) == 3 && !turned.is_contiguous() && turned.data_ptr() == t.data_ptr());
    Tensor whole = stable::contiguous(turned);
    EXPECT(element(whole, 1) == 3 && element(whole, 2) == 1);
    EXPECT(stable::flatten(t).dim() == 1 && stable::flatten(t, 0, 0).dim() == 2);
    EXPECT(stable::unsqueeze(t, 0).dim() == 3 && stable::squeeze(stable::unsqueeze(t, 0), 0).dim() == 2);
    EXPECT(element(stable::select(t, 0, 1), 0) == 3);
    EXPECT(stable::reshape(t, {3, 2}).size(0) == 3 && stable::view(t, {6}).dim() == 1);
    Tensor narrow = stable::narrow(t, 1, 1, 2);
    EXPECT(narrow.storage_offset() == 1 && narrow.size(1) == 2);
    Tensor copy = stable::clone(t);
    EXPECT(copy.data_ptr() != t.data_ptr() && element(copy, 5) == 5);
    stable::zero_(copy);
    EXPECT(element(copy, 5) == 0 && element(t, 5) == 5);
    stable::copy_(copy, t);
    EXPECT(element(copy, 5) == 5);
    stable::fill_(copy, 2.5);
    EXPECT(element(copy, 0) == 2.5f);
}

static void check_new_tensors() {
    Tensor t = count_up({2, 3});
    EXPECT(stable::empty_like(t).size(1) == 3);
    EXPECT(stable::empty({4}, ScalarType::Long).scalar_type() == ScalarType::Long);
    EXPECT(stable::empty({2, 0}).numel() == 0);
    Tensor on = stable::empty({2}, ScalarType::Double, Layout::Strided, Device("cpu"), false, MemoryFormat::Contiguous);
    EXPECT(on.scalar_type() == ScalarType::Double && on.is_cpu());
    Tensor last =
        stable::empty({1, 2, 3, 4}, std::nullopt, std::nullopt, std::nullopt, std::nullopt, MemoryFormat::ChannelsLast);
    EXPECT(last.stride(1) == 1 && last.stride(3) == 2);
    EXPECT(element(stable::new_zeros(t, {2}), 1) == 0 && stable::new_empty(t, {5}).numel() == 5);
    EXPECT(stable::new_zeros(t, {2}, ScalarType::Int).const_data_ptr<int32_t>()[0] == 0);
    Tensor full = stable::full({2, 2}, 7.5);
    EXPECT(element(full, 3) == 7.5f && full.scalar_type() == ScalarType::Float);
    EXPECT(stable::full({1}, 3, ScalarType::Long).const_data_ptr<int64_t>()[0] == 3);
    float data[4] = {1, 2, 3, 4};
    Tensor blob = stable::from_blob(data, {2, 2}, {2, 1}, Device("cpu"), ScalarType::Float);
    EXPECT(blob.data_ptr() == data && element(blob, 3) == 4);
    int runs = 0;
    {
        Tensor owned =
            stable::from_blob(data, {3}, {1}, Device("cpu"), ScalarType::Float, [&](void* p) { runs += p == data; }, 1);
        EXPECT(element(owned, 0) == 2 && owned.storage_offset() == 1 && runs == 0);
    }
    EXPECT(runs == 1);
}

static void check_arithmetic() {
    Tensor t = count_up({2, 3});
    EXPECT(element(stable::matmul(t, stable::transpose(t, 0, 1)), 3) == 50);
    EXPECT(element(stable::sum(t), 0) == 15);
    std::vector<int64_t> dims{0};
    Tensor columns = stable::sum(t, IntHeaderOnlyArrayRef(dims), true, ScalarType::Double);
    EXPECT(columns.dim() == 2 && columns.const_data_ptr<double>()[2] == 7);
    Tensor out = stable::empty({2}, ScalarType::Float);
    std::vector<int64_t> last{1};
    stable::sum_out(out, t, IntHeaderOnlyArrayRef(last));
    EXPECT(element(out, 0) == 3 && element(out, 1) == 12);
    EXPECT(element(stable::subtract(t, t, 0.5), 4) == 2);
    EXPECT(element(stable::amax(t, 1), 1) == 5 && stable::amax(t, 0, true).dim() == 2);
    EXPECT(element(stable::pad(t, {1, 0}, "constant", 9.0), 0) == 9);
    EXPECT(stable::to(t, ScalarType::Long).scalar_type() == ScalarType::Long);
    EXPECT(stable::to(t, Device("cpu")).is_cpu());
    EXPECT(has(message([&] { stable::matmul(t, t); }), "matmul") ||
           has(message([&] { stable::matmul(t, t); }), "mat1"));
}

static void check_devices() {
    Device d("cuda:1");
    EXPECT(d.is_cuda() && d.index() == 1 && d.has_index() && d == Device("cuda:1") && d != Device("cpu"));
    d.set_index(2);
    EXPECT(d.index() == 2 && !Device("cpu").has_index());
    EXPECT(has(message([] { Device("nothing"); }), "device"));
}

static void check_threads() {
    EXPECT(stable::get_num_threads() >= 1);
    std::vector<std::atomic<int>> seen(100);
    stable::parallel_for(0, 100, 7, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) seen[static_cast<size_t>(i)]++;
    });
    for (auto& one : seen) EXPECT(one == 1);
}

static void check_dispatch() {
    auto name = [](ScalarType t) {
        return THO_DISPATCH_V2(t, "name", AT_WRAP([&]() -> size_t { return sizeof(scalar_t); }),
                               AT_EXPAND(AT_FLOATING_TYPES), ScalarType::Half, AT_EXPAND(AT_INTEGRAL_TYPES));
    };
    EXPECT(name(ScalarType::Double) == 8 && name(ScalarType::Half) == 2 && name(ScalarType::Byte) == 1);
    EXPECT(has(message([&] { name(ScalarType::Bool); }), "\"name\" not implemented for 'Bool'"));
    EXPECT(std::string(torch::headeronly::toString(ScalarType::BFloat16)) == "BFloat16");
}

static void check_lists() {
    std::vector<int64_t> v{1, 2, 3};
    IntHeaderOnlyArrayRef a(v), b(v.data(), 2);
    EXPECT(a.size() == 3 && a[1] == 2 && a.front() == 1 && a.back() == 3 && !a.empty());
    EXPECT(b.vec() == std::vector<int64_t>({1, 2}) && a.slice(1, 1)[0] == 2 && a.equals(v));
    EXPECT(a.at(2) == 3 && IntHeaderOnlyArrayRef().empty());
    int64_t total = 0;
    for (int64_t x : a) total += x;
    EXPECT(total == 6);
}

static void check_accessors() {
    Tensor t = count_up({2, 3});
    torch::headeronly::HeaderOnlyTensorAccessor<float, 2> a(t.mutable_data_ptr<float>(), t.sizes().data(),
                                                            t.strides().data());
    EXPECT(a[1][2] == 5 && a.size(1) == 3);
    a[0][1] = 8;
    EXPECT(element(t, 1) == 8);
}

// ---- operators ----

Tensor muladd(const Tensor& a, const Tensor& b, double c) {
    STD_TORCH_CHECK(a.numel() == b.numel(), "muladd: ", a.numel(), " and ", b.numel(), " elements");
    Tensor x = stable::contiguous(a), y = stable::contiguous(b), out = stable::empty_like(x);
    THO_DISPATCH_V2(x.scalar_type(), "muladd", AT_WRAP([&] {
                        const scalar_t* p = x.const_data_ptr<scalar_t>();
                        const scalar_t* q = y.const_data_ptr<scalar_t>();
                        scalar_t* r = out.mutable_data_ptr<scalar_t>();
                        stable::parallel_for(0, x.numel(), 1024, [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; i++) r[i] = static_cast<scalar_t>(p[i] * q[i] + c);
                        });
                    }),
                    AT_EXPAND(AT_FLOATING_TYPES));
    return out;
}
void scale_(Tensor x, double factor) {
    float* p = x.mutable_data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); i++) p[i] *= static_cast<float>(factor);
}
std::tuple<Tensor, Tensor> halves(const Tensor& x) {
    Tensor t = x;
    const int64_t n = t.size(0) / 2;
    return {stable::narrow(t, 0, 0, n), stable::narrow(t, 0, n, n)};
}
std::string describe(const Tensor& x, std::optional<Tensor> o, int64_t i, double d, bool b, std::string s,
                     std::vector<int64_t> list, std::optional<double> e, ScalarType dtype, Device device,
                     std::vector<Tensor> tensors, std::optional<std::string> t, std::vector<std::string> texts) {
    std::string text = std::to_string(x.numel()) + (o ? " tensor " : " none ") + std::to_string(i) + " " +
                       std::to_string(d) + (b ? " true " : " false ") + s;
    for (int64_t v : list) text += " " + std::to_string(v);
    text += e ? " " + std::to_string(*e) : " none";
    text += std::string(" ") + torch::headeronly::toString(dtype) + (device.is_cpu() ? " cpu" : " elsewhere");
    for (const Tensor& one : tensors) text += " " + std::to_string(one.numel());
    text += " " + t.value_or("none");
    for (const std::string& one : texts) text += " " + one;
    return text;
}
int64_t total(IntHeaderOnlyArrayRef list, std::optional<IntHeaderOnlyArrayRef> more, const Tensor& unused) {
    int64_t sum = 0;
    for (int64_t v : list) sum += v;
    if (more)
        for (int64_t v : *more) sum += v;
    return sum;
}
std::vector<Tensor> pieces(std::vector<Tensor> tensors) {
    std::vector<Tensor> all;
    for (Tensor& t : tensors) all.push_back(stable::clone(t));
    return all;
}
std::optional<Tensor> maybe(const Tensor& x, bool there) { return there ? std::optional<Tensor>(x) : std::nullopt; }
Tensor maybe_wrong(const Tensor& x) { return x; }
void raises(const Tensor& x, int64_t kind) {
    if (kind == 0) STD_TORCH_CHECK(false, "a message of ", 2, " parts");
    if (kind == 1) throw std::runtime_error("a plain error");
    if (kind == 4) throw std::out_of_range("out of range");
    if (kind == 5) throw std::invalid_argument("an argument");
    if (kind == 6) throw std::length_error("a length");
    if (kind == 7) throw std::overflow_error("an overflow");
    if (kind == 8) throw std::bad_alloc();
    if (kind == 2) stable::matmul(x, stable::unsqueeze(stable::unsqueeze(x, 0), 0));
    stable::parallel_for(0, 64, 1, [](int64_t begin, int64_t) {
        if (begin == 0) throw std::runtime_error("an error of a worker");
    });
}

// A boxed kernel by hand, and all element types by the list of them.
void boxed_abs(StableIValue* stack, uint64_t num_args, uint64_t num_outputs) {
    Tensor x = torch::stable::detail::to<Tensor>(stack[0]);
    StableIValue call[1] = {torch::stable::detail::from(x)};
    STD_TORCH_CHECK(aoti_torch_call_dispatcher("aten::abs", "", call) == 0);
    stack[0] = call[0];
}
int64_t size_of(const Tensor& x) {
    switch (x.scalar_type()) {
#define SIZE(T, name)      \
    case ScalarType::name: \
        return static_cast<int64_t>(sizeof(T));
        AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(SIZE)
        SIZE(uint16_t, UInt16)
        SIZE(uint32_t, UInt32)
        SIZE(uint64_t, UInt64)
#undef SIZE
        default:
            return -1;
    }
}
template <int n>
Tensor times(Tensor x) {
    Tensor y = stable::clone(x);
    for (int i = 1; i < n; i++) y = stable::subtract(y, x, -1);
    return y;
}

STABLE_TORCH_LIBRARY(stable_checks, m) {
    m.def("abs(Tensor x) -> Tensor");
    m.def("size_of(Tensor x) -> int");
    m.def("thrice(Tensor x) -> Tensor");
    m.def("check_tensor() -> ()");
    m.def("check_views_and_copies() -> ()");
    m.def("check_new_tensors() -> ()");
    m.def("check_arithmetic() -> ()");
    m.def("check_devices() -> ()");
    m.def("check_threads() -> ()");
    m.def("check_dispatch() -> ()");
    m.def("check_lists() -> ()");
    m.def("check_accessors() -> ()");
    m.def("muladd(Tensor a, Tensor b, float c) -> Tensor");
    m.def("scale_(Tensor(a!) x, float factor) -> ()");
    m.def("halves(Tensor x) -> (Tensor, Tensor)");
    m.def(
        "describe(Tensor x, Tensor? o, int i, float d, bool b, str s, int[] list, float? e, ScalarType dtype, Device "
        "device, "
        "Tensor[] tensors, str? t, str[] texts) -> str");
    m.def("total(int[] list, int[]? more, Tensor unused) -> int");
    m.def("pieces(Tensor[] tensors) -> Tensor[]");
    m.def("maybe(Tensor x, bool there) -> Tensor?");
    m.def("raises(Tensor x, int kind) -> ()");
}
STABLE_TORCH_LIBRARY_FRAGMENT(stable_checks, m) { m.def("wrong(Tensor x, int n) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(stable_checks, CompositeExplicitAutograd, m) {
    m.impl("check_tensor", TORCH_BOX(&check_tensor));
    m.impl("check_views_and_copies", TORCH_BOX(&check_views_and_copies));
    m.impl("check_new_tensors", TORCH_BOX(&check_new_tensors));
    m.impl("check_arithmetic", TORCH_BOX(&check_arithmetic));
    m.impl("check_devices", TORCH_BOX(&check_devices));
    m.impl("check_threads", TORCH_BOX(&check_threads));
    m.impl("check_dispatch", TORCH_BOX(&check_dispatch));
    m.impl("check_lists", TORCH_BOX(&check_lists));
    m.impl("check_accessors", TORCH_BOX(&check_accessors));
}
STABLE_TORCH_LIBRARY_IMPL(stable_checks, CPU, m) {
    m.impl("abs", &boxed_abs);
    m.impl("size_of", TORCH_BOX(&size_of));
    m.impl("thrice", TORCH_BOX(&times<3>));
    m.impl("muladd", TORCH_BOX(&muladd));
    m.impl("scale_", TORCH_BOX(&scale_));
    m.impl("halves", TORCH_BOX(&halves));
    m.impl("describe", TORCH_BOX(&describe));
    m.impl("total", TORCH_BOX(&total));
    m.impl("pieces", TORCH_BOX(&pieces));
    m.impl("maybe", TORCH_BOX(&maybe));
    m.impl("raises", TORCH_BOX(&raises));
    m.impl("wrong", TORCH_BOX(&maybe_wrong));
}
