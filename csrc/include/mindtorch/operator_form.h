// What at::_ops has of an operator: the type of its function, and calls that go by the dispatcher.
#pragma once

#include <mindtorch/library.h>

// An operator's function, without and with the name of an overload.
#define ATEN_OP(name) at::_ops::name
#define ATEN_OP2(name, overload) at::_ops::name##_##overload
#define ATEN_FN(name) TORCH_FN(at::_ops::name::call)
#define ATEN_FN2(name, overload) TORCH_FN(at::_ops::name##_##overload::call)

namespace mindtorch MINDTORCH_HIDDEN {

template <class Self, class F>
struct OperatorForm;
template <class Self, class R, class... A>
struct OperatorForm<Self, R(A...)> {
    using schema = R(A...);
    static R call(A... args) { return handle().call(args...); }
    static R redispatch(c10::DispatchKeySet keys, A... args) { return handle().redispatch(keys, args...); }

  private:
    static const c10::TypedOperatorHandle<R(A...)>& handle() {
        static const auto found =
            c10::Dispatcher::singleton().findSchemaOrThrow(Self::name, Self::overload_name).template typed<R(A...)>();
        return found;
    }
};

}  // namespace mindtorch MINDTORCH_HIDDEN
