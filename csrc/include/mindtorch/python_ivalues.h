// c10::IValue of Python's objects, and back.
#pragma once

#include <mindtorch/python.h>

namespace mindtorch MINDTORCH_HIDDEN {
inline c10::IValue ivalue_of(py::handle o) {
    mt_value v{};
    check(api().value_of(object(o), &v));
    return Convert<c10::IValue>::from(v);
}
[[noreturn]] inline void does_not_fit(py::handle o, const c10::Type& type) {
    throw py::cast_error("Unable to cast Python instance of type " +
                         py::str(py::type::handle_of(o)).cast<std::string>() + " to C++ type '" + type.str() + "'");
}
// As the type says: a whole number is a real one where that is asked for, in lists as well.
inline c10::IValue fitted(c10::IValue v, py::handle o, const c10::Type& type) {
    using c10::TypeKind;
    switch (type.kind()) {
        case TypeKind::OptionalType:
            return v.isNone() ? v : fitted(std::move(v), o, *type.containedTypes()[0]);
        case TypeKind::FloatType:
            if (v.isInt()) return c10::IValue(static_cast<double>(v.toInt()));
            if (!v.isDouble()) does_not_fit(o, type);
            return v;
        case TypeKind::ComplexType:
            if (v.isInt()) return c10::IValue(c10::complex<double>(static_cast<double>(v.toInt())));
            if (v.isDouble()) return c10::IValue(c10::complex<double>(v.toDouble()));
            if (!v.isComplexDouble()) does_not_fit(o, type);
            return v;
        case TypeKind::IntType:
            if (!v.isInt()) does_not_fit(o, type);
            return v;
        case TypeKind::BoolType:
            if (!v.isBool()) does_not_fit(o, type);
            return v;
        case TypeKind::StringType:
            if (!v.isString()) does_not_fit(o, type);
            return v;
        case TypeKind::TensorType:
            if (v.isNone()) return c10::IValue(at::Tensor());
            if (!v.isTensor()) does_not_fit(o, type);
            return v;
        case TypeKind::ListType: {
            if (!v.isList() && !v.isTuple()) does_not_fit(o, type);
            c10::IValue::Items items;
            size_t i = 0;
            for (const c10::IValue& item : v.items())
                items.push_back(fitted(item, py::object(o[py::int_(i++)]), *type.containedTypes()[0]));
            return c10::IValue::list(std::move(items));
        }
        default:
            return v;
    }
}
}  // namespace mindtorch MINDTORCH_HIDDEN

namespace torch {
namespace jit {

inline py::object toPyObject(const c10::IValue& v) {
    return py::reinterpret_steal<py::object>(mindtorch::cast_value(v));
}
// `n`: how many items one number stands for, where a list is asked for.
inline c10::IValue toIValue(py::handle o, const c10::TypePtr& type, std::optional<int32_t> n = std::nullopt) {
    c10::IValue v = mindtorch::ivalue_of(o);
    const bool one_for_all = n && type->kind() == c10::TypeKind::ListType && !v.isList() && !v.isTuple();
    if (!one_for_all) return mindtorch::fitted(std::move(v), o, *type);
    const c10::IValue item = mindtorch::fitted(std::move(v), o, *type->containedTypes()[0]);
    return c10::IValue::list(c10::IValue::Items(static_cast<size_t>(*n), item));
}

}  // namespace jit
}  // namespace torch
