// Devices, streams and generators: Python's objects behind handles.
#include <memory>

#include "stable/abi.h"

using namespace mt::stable;

namespace {

mt_value checked_int(mt_value v) {
    if (v.tag != MT_INT) fail("a number was expected");
    return v;
}
struct Guard {
    int64_t before;
};
mt_object stream_of(StreamHandle h) { return static_cast<mt_object>(held_by(number(h), Kind::Stream)); }
mt_object generator_of(AtenGeneratorHandle h) { return static_cast<mt_object>(held_by(number(h), Kind::Generator)); }

}  // namespace

AOTITorchError torch_parse_device_string(const char* device_string, uint32_t* out_type, int32_t* out_index) {
    return guarded(out_type, out_index, [&] {
        const mt_value v = call_hook("parse_device", {value(text(device_string, "the name of a device"))});
        *out_type = v.as.device.type;
        *out_index = v.as.device.index;
    });
}

// ---- the current device ----

AOTITorchError aoti_torch_get_current_device_index(int32_t* ret) {
    return guarded(ret, [&] { *ret = static_cast<int32_t>(checked_int(call_hook("current_device", {})).as.integer); });
}
AOTITorchError aoti_torch_create_device_guard(int32_t device_index, DeviceGuardHandle* ret) {
    return guarded(ret, [&] {
        auto guard = std::make_unique<Guard>(Guard{checked_int(call_hook("current_device", {})).as.integer});
        call_hook("set_device", {value(static_cast<int64_t>(device_index))});
        *ret = reinterpret_cast<DeviceGuardHandle>(new_handle(Kind::Guard, guard.get()));
        guard.release();
    });
}
AOTITorchError aoti_torch_device_guard_set_index(DeviceGuardHandle guard, int32_t device_index) {
    return guarded([&] {
        held_by(number(guard), Kind::Guard);
        call_hook("set_device", {value(static_cast<int64_t>(device_index))});
    });
}
AOTITorchError aoti_torch_delete_device_guard(DeviceGuardHandle guard) {
    return guarded([&] {
        std::unique_ptr<Guard> g(static_cast<Guard*>(take_handle(number(guard), Kind::Guard)));
        call_hook("set_device", {value(g->before)});
    });
}

// ---- streams ----

AOTITorchError aoti_torch_get_current_stream(int32_t device_index, StreamHandle* ret) {
    return guarded(ret, [&] {
        const mt_value v = call_hook("current_stream", {value(static_cast<int64_t>(device_index))});
        *ret = reinterpret_cast<StreamHandle>(new_handle(Kind::Stream, v.as.object));
    });
}
AOTITorchError aoti_torch_delete_stream(StreamHandle stream) {
    return guarded([&] { core().release(take_handle(number(stream), Kind::Stream)); });
}
AOTITorchError aoti_torch_stream_id(StreamHandle stream, int64_t* ret) {
    return guarded(ret, [&] { *ret = checked_int(call_hook("stream_id", {value(stream_of(stream))})).as.integer; });
}
AOTITorchError torch_stream_native_handle(StreamHandle stream, void** ret) {
    return guarded(ret, [&] {
        const mt_value v = checked_int(call_hook("stream_handle", {value(stream_of(stream))}));
        *ret = reinterpret_cast<void*>(v.as.integer);
    });
}

// ---- generators ----

AOTITorchError torch_new_generator_handle(AtenGeneratorHandle self, AtenGeneratorHandle* ret) {
    return guarded(ret, [&] {
        mt_object g = generator_of(self);
        core().retain(g);
        *ret = reinterpret_cast<AtenGeneratorHandle>(new_handle(Kind::Generator, g));
    });
}
AOTITorchError torch_delete_generator(AtenGeneratorHandle generator) {
    return guarded([&] { core().release(take_handle(number(generator), Kind::Generator)); });
}
AOTITorchError torch_generator_get_device(AtenGeneratorHandle generator, int32_t* ret_type, int32_t* ret_index) {
    return guarded(ret_type, ret_index, [&] {
        const mt_value v = call_hook("generator_device", {value(generator_of(generator))});
        *ret_type = v.as.device.type;
        *ret_index = v.as.device.type == 0 ? -1 : v.as.device.index;
    });
}

// ---- objects of Python ----

AOTITorchError torch_is_tensor_pyobject(void* py_obj, bool* ret) {
    return guarded(ret, [&] { *ret = py_obj && core().is_tensor(static_cast<mt_object>(py_obj)); });
}
AOTITorchError torch_tensor_from_pyobject(void* py_obj, AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        if (!py_obj || !core().is_tensor(static_cast<mt_object>(py_obj))) fail("a torch.Tensor was expected");
        core().retain(py_obj);
        *ret = own(static_cast<mt_tensor>(py_obj));
    });
}
AOTITorchError torch_tensor_to_pyobject(AtenTensorHandle h, void* py_type, void** ret) {
    return guarded(ret, [&] {
        mt_tensor t = defined(h);
        if (py_type) {
            *ret = call_hook("tensor_of_class", {value(t), value(static_cast<mt_object>(py_type))}).as.object;
        } else {
            core().retain(t);
            *ret = t;
        }
    });
}
AOTITorchError torch_dtype_from_pyobject(void* py_obj, int32_t* ret) {
    return guarded(ret, [&] {
        mt_value v{};
        if (py_obj) check(core().value_of(static_cast<mt_object>(py_obj), &v));
        if (v.tag != MT_DTYPE) fail("a torch.dtype was expected");
        *ret = v.as.dtype;
    });
}
AOTITorchError torch_dtype_to_pyobject(int32_t dtype, void** ret) {
    return guarded(ret, [&] {
        const mt_value v = dtype_value(dtype);
        check(core().object_of(&v, reinterpret_cast<mt_object*>(ret)));
    });
}
AOTITorchError torch_device_from_pyobject(void* py_obj, int32_t* ret_type, int32_t* ret_index) {
    return guarded(ret_type, ret_index, [&] {
        mt_value v{};
        if (py_obj) check(core().value_of(static_cast<mt_object>(py_obj), &v));
        if (v.tag != MT_DEVICE) fail("a torch.device was expected");
        *ret_type = v.as.device.type;
        *ret_index = v.as.device.index;
    });
}
AOTITorchError torch_device_to_pyobject(int32_t device_type, int32_t device_index, void** ret) {
    return guarded(ret, [&] {
        const mt_value v = value(device_numbered(device_type, device_index));
        check(core().object_of(&v, reinterpret_cast<mt_object*>(ret)));
    });
}
