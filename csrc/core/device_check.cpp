#include "device_check.h"

#include "registry.h"

namespace mt {
namespace {

// f(argument, tensor) for every tensor of a call's arguments, lists looked into.
template <class F>
void each_tensor(const Call& c, const F& f) {
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        const int i = __builtin_ctzll(m);
        const Value& v = c.args[i];
        if (v.tag == Tag::Tensor) {
            f(i, *v.t);
        } else if (v.tag == Tag::TensorList) {
            for (uint32_t k = 0; k < v.len; k++)
                if (v.tensors[k]) f(i, *v.tensors[k]);
        }
    }
}

bool is_host_number(const Tensor& t) { return t.ndim == 0 && t.is_cpu(); }

[[noreturn]] void misplaced(const Call& c, int i, Device common, Device found) {
    if (c.op->form == Form::Out && i >= c.op->out_index)
        MT_THROW(Runtime, "Expected out tensor to have device ", device_name(common), ", but got ", device_name(found),
                 " instead");
    const Argument& a = c.op->schema.args[static_cast<size_t>(i)];
    if (a.kind == ArgKind::OptionalTensorList)
        MT_THROW(Runtime, a.name, " should be either on cpu or on the same device as the indexed tensor (",
                 device_name(common), ")");
    MT_THROW(Runtime, "Expected all tensors to be on the same device, but found at least two devices, ",
             device_name(common), " and ", device_name(found), "! (when checking argument for argument ", a.name,
             " in method ", c.op->name, ")");
}

// The device of the call; null if every tensor is a number on the host or may be anywhere.
const Tensor* check_devices(const Call& c) {
    const DeviceRule& rule = c.op->devices;
    const Tensor* common = nullptr;
    const auto has = [](uint64_t set, int i) { return set >> i & 1; };
    each_tensor(c, [&](int i, const Tensor& t) {
        if (!common && !has(rule.anywhere | rule.on_host, i) && !(has(rule.numbers, i) && is_host_number(t)))
            common = &t;
    });
    if (!common) return nullptr;
    each_tensor(c, [&](int i, const Tensor& t) {
        if (t.device == common->device || has(rule.anywhere, i) || (has(rule.on_host, i) && t.is_cpu()) ||
            (has(rule.numbers, i) && is_host_number(t)))
            return;
        misplaced(c, i, common->device, t.device);
    });
    return common;
}

}  // namespace

bool has_mixed_devices(const Call& c) {
    const Tensor* first = nullptr;
    bool mixed = false;
    each_tensor(c, [&](int, const Tensor& t) {
        if (!first) first = &t;
        mixed = mixed || !(t.device == first->device);
    });
    return mixed;
}

void run_mixed_devices(Call& c) {
    KeySet keys = c.keys - Key::MixedDevices;
    if (!c.op->composite.has((keys & kBackendKeys & c.op->active).highest())) {
        // A kernel of the CPU reads no memory of a device, even if a number on the host came along.
        const Tensor* common = check_devices(c);
        if (common && !common->is_cpu()) keys = keys - Key::CPU;
    }
    run(c, keys);
}

}  // namespace mt
