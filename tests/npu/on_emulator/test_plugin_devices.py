"""Streams, events, guards, generators and memory in a C++ plug-in, by torch_npu's names."""

import shutil
import types

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import cpp_extension

pytestmark = pytest.mark.skipif(
    shutil.which("c++") is None or shutil.which("ninja") is None, reason="needs a compiler and Ninja"
)

_SOURCE = """
#include <torch/extension.h>
#include <ATen/DeviceGuard.h>
#include <acl/acl_rt.h>
#include <op_plugin/utils/op_api_common.h>
#include <torch_npu/csrc/aten/NPUGeneratorImpl.h>
#include <torch_npu/csrc/aten/common/from_blob.h>
#include <torch_npu/csrc/core/npu/NPUEvent.h>
#include <torch_npu/csrc/core/npu/NPUException.h>
#include <torch_npu/csrc/core/npu/NPUFormat.h>
#include <torch_npu/csrc/core/npu/SecondaryStreamGuard.h>

using at_npu::native::OpPreparation;

// [seed, offset, the next offset]
std::vector<int64_t> drawn(int64_t increment) {
    const auto generator = at_npu::detail::getDefaultNPUGenerator();
    auto* impl = at::check_generator<at_npu::NPUGeneratorImpl>(generator);
    std::lock_guard<std::mutex> lock(impl->mutex_);
    const auto [seed, offset] = impl->philox_engine_inputs(static_cast<uint64_t>(increment));
    return {static_cast<int64_t>(seed), static_cast<int64_t>(offset), static_cast<int64_t>(impl->get_offset())};
}
void seeded(int64_t seed) {
    auto generator = at_npu::detail::getDefaultNPUGenerator();
    generator.set_current_seed(static_cast<uint64_t>(seed));
}
at::Tensor mask(const at::Tensor& a, int64_t numbers, double p, int64_t seed) {
    return at_npu::native::npu_dropout_gen_mask(a, at::IntArrayRef{numbers}, p, seed, 0, true, false);
}
// exp on a stream of the pool; the caller's stream waits for it by an event.
at::Tensor beside(const at::Tensor& a) {
    const at::DeviceGuard on(a.device());
    const c10_npu::NPUStream here = c10_npu::getCurrentNPUStream();
    const c10_npu::NPUStream pooled = c10_npu::getStreamFromPool();
    TORCH_CHECK(pooled.stream() != here.stream() && pooled.device() == a.device());
    c10_npu::NPUEvent before, after;
    before.record(here);
    at::Tensor out;
    {
        c10_npu::SecondaryStreamGuard guard(pooled.unwrap());
        TORCH_CHECK(c10_npu::getCurrentNPUStream() == pooled);
        before.block(pooled);
        out = OpPreparation::apply_tensor_without_format(a);
        EXEC_NPU_CMD(aclnnExp, a, out);
        after.record(pooled);
    }
    TORCH_CHECK(c10_npu::getCurrentNPUStream() == here);
    after.block(here);
    c10::impl::VirtualGuardImpl impl(out.device().type());
    impl.recordDataPtrOnStream(out.storage().data_ptr(), here.unwrap());
    after.synchronize();
    TORCH_CHECK(after.query());
    return out;
}
double milliseconds(const at::Tensor& a) {
    c10_npu::NPUEvent first(ACL_EVENT_TIME_LINE), second(ACL_EVENT_TIME_LINE);
    first.record();
    at::Tensor out = at::empty_like(a);
    EXEC_NPU_CMD(aclnnExp, a, out);
    second.record();
    second.synchronize();
    return first.elapsed_time(second);
}
int64_t within(const at::Tensor& a) {
    const at::OptionalDeviceGuard guard(at::device_of(a));
    return c10_npu::current_device();
}
int64_t vector_cores() {
    int64_t found = 0, other = 0;
    NPU_CHECK_ERROR(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_VECTOR_CORE_NUM, &found));
    NPU_CHECK_ERROR(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &other));
    TORCH_CHECK(found == other, "two answers", OPS_ERROR(ErrCode::VALUE));
    return found;
}
void refused() { NPU_CHECK_ERROR(aclrtGetDeviceInfo(0, static_cast<aclrtDevAttr>(401), nullptr)); }
void marked() { TORCH_CHECK(false, "not this", OPS_ERROR(ErrCode::PARAM)); }
int64_t in_turn(const at::Tensor& a) {
    int64_t seen = 0;
    const aclrtStream stream = c10_npu::getCurrentNPUStream(a.device().index()).stream();
    NPU_CHECK_ERROR(aclrtLaunchHostFunc(stream, [](void* p) { *static_cast<int64_t*>(p) = 7; }, &seen));
    c10_npu::npuSynchronizeDevice();
    return seen;
}
// On the caller's memory, which lives longer.
at::Tensor same_memory(const at::Tensor& a) {
    return at_npu::native::from_blob(a.data_ptr(), a.sizes(), a.options());
}
at::Tensor in_blocks(at::IntArrayRef sizes, const at::Tensor& like) {
    at::Tensor out = at_npu::native::empty_with_format(sizes, like.options(), ACL_FORMAT_FRACTAL_NZ);
    TORCH_CHECK(at_npu::native::get_npu_format(out) == ACL_FORMAT_FRACTAL_NZ);
    return at_npu::native::npu_format_cast(out, ACL_FORMAT_ND);
}
// [result, gradients of query, key, value and shift], as MindSpeed calls the second version of attention.
std::vector<at::Tensor> attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& shift,
                                  const at::Tensor& by, int64_t type) {
    const int64_t heads = q.size(1), all = 65536, none = 0;
    const at::Tensor absent;
    const std::vector<int64_t> prefix, first{0};
    const std::string layout = "BNSD";
    const auto statistics = q.options().dtype(at::kFloat);
    at::Tensor top = at::empty({q.size(0), heads, q.size(2), 8}, statistics), sum = at::empty_like(top);
    at::Tensor reserved = at::empty({0}, q.options()), out = at::empty_like(q), dq = at::empty_like(q),
               dk = at::empty_like(k), dv = at::empty_like(v), dshift = at::empty_like(shift);
    EXEC_NPU_CMD(aclnnFlashAttentionScoreV2, q, k, v, shift, absent, absent, absent, prefix, first, first, 0.5, 1.0, all,
                 all, heads, layout, none, none, type, top, sum, reserved, out);
    EXEC_NPU_CMD(aclnnFlashAttentionScoreGradV2, q, k, v, by, shift, absent, absent, absent, top, sum, absent, out,
                 prefix, first, first, 0.5, 1.0, all, all, heads, layout, none, none, type, dq, dk, dv, dshift);
    return {out, dq, dk, dv, dshift};
}
struct Doubled : torch::autograd::Function<Doubled> {
    static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& a) { return a * 2; }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   torch::autograd::variable_list& given) {
        return {given[0] * 2};
    }
};
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("drawn", &drawn);
    m.def("seeded", &seeded);
    m.def("mask", &mask);
    m.def("beside", &beside);
    m.def("milliseconds", &milliseconds);
    m.def("within", &within);
    m.def("vector_cores", &vector_cores);
    m.def("refused", &refused);
    m.def("marked", &marked);
    m.def("in_turn", &in_turn);
    m.def("same_memory", &same_memory);
    m.def("in_blocks", [](std::vector<int64_t> sizes, const at::Tensor& like) { return in_blocks(sizes, like); });
    m.def("attention", &attention);
    m.def("doubled", [](const at::Tensor& a) { return Doubled::apply(a); });
}
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> types.ModuleType:
    torch.npu.current_device()  # the back end answers what the plug-in asks
    folder = str(tmp_path_factory.mktemp("plugin_devices"))
    return cpp_extension.load_inline("plugin_devices", _SOURCE, extra_cflags=["-O0"], build_directory=folder)


def test_a_generator_gives_seed_and_offset_and_moves_on(plugin: types.ModuleType) -> None:
    plugin.seeded(11)
    assert torch.npu.initial_seed() == 11
    first, second = plugin.drawn(8), plugin.drawn(8)
    assert first == [11, 0, 8] and second == [11, 8, 16]
    a = torch.rand(4, device="npu")
    assert plugin.drawn(0)[1] > 16  # Python's operators draw from the same
    assert not torch.equal(a, torch.rand(4, device="npu"))


def test_a_mask_is_that_of_the_operator(plugin: types.ModuleType) -> None:
    a = torch.ones(1, device="npu")
    made = plugin.mask(a, 256, 0.25, 5)
    assert made.dtype == torch.uint8
    assert torch.equal(made, torch.ops.npu._npu_dropout_gen_mask(a, [256], 0.25, 5, 0))


def test_streams_and_events_keep_their_order(plugin: types.ModuleType) -> None:
    a = torch.arange(6.0)
    assert torch.equal(plugin.beside(a.npu()).cpu(), a.npu().exp().cpu())
    assert plugin.milliseconds(a.npu()) >= 0
    assert plugin.in_turn(a.npu()) == 7


def test_guards_choose_the_device(plugin: types.ModuleType) -> None:
    last = torch.npu.device_count() - 1
    assert plugin.within(torch.ones(1, device=f"npu:{last}")) == last
    assert torch.npu.current_device() == 0
    assert torch.equal(plugin.beside(torch.ones(2, device=f"npu:{last}")).cpu(), torch.ones(2).exp())


def test_codes_are_errors_of_the_back_end(plugin: types.ModuleType) -> None:
    assert plugin.vector_cores() == 16
    with pytest.raises(torch.npu.NPUError, match="207000"):
        plugin.refused()
    with pytest.raises(RuntimeError, match="not this\n.*ERR01001 OPS"):
        plugin.marked()


def test_memory_of_others_and_storage_formats(plugin: types.ModuleType) -> None:
    a = torch.arange(6.0).npu()
    shared = plugin.same_memory(a)
    shared.mul_(2)
    assert torch.equal(a.cpu(), torch.arange(6.0) * 2)
    assert plugin.in_blocks([32, 32], a).shape == (32, 32)


def test_a_backward_may_take_its_gradients_by_reference(plugin: types.ModuleType) -> None:
    a = torch.ones(3, requires_grad=True)
    plugin.doubled(a).sum().backward()
    assert torch.equal(a.grad, torch.full((3,), 2.0))


@pytest.mark.parametrize("shifted", [0, 1])  # after the scale, before it
def test_the_second_version_of_attention_adds_its_shift_where_it_is_told(
    plugin: types.ModuleType, shifted: int
) -> None:
    torch.manual_seed(3)
    given = [torch.randn(2, 3, 5, 16), torch.randn(2, 3, 7, 16), torch.randn(2, 3, 7, 16), torch.randn(2, 3, 5, 7)]
    by = torch.randn(2, 3, 5, 16)
    q, k, v, shift = (each.double().requires_grad_() for each in given)
    scores = (q @ k.mT) * 0.5 + shift if shifted == 0 else (q @ k.mT + shift) * 0.5
    wanted = scores.softmax(-1) @ v
    wanted.backward(by.double())
    made = plugin.attention(*(each.npu() for each in given), by.npu(), shifted)
    for one, other in zip(made, [wanted.detach(), q.grad, k.grad, v.grad, shift.grad], strict=True):
        torch.testing.assert_close(one.cpu().double(), other, rtol=1e-5, atol=1e-5)


def test_types_of_shift_that_make_slopes_are_refused(plugin: types.ModuleType) -> None:
    q = torch.ones(1, 1, 2, 16).npu()
    with pytest.raises(torch.npu.NPUError, match="pseType is 2, allowed: 0, 1"):
        plugin.attention(q, q, q, torch.ones(1, 1, 2, 2).npu(), q, 2)
