// Types of the schema language: how they print, and the few rules that make one of several.
#include "schema_type.h"

#include <algorithm>

#include "error.h"

namespace mt {
namespace {

struct Words {
    TypeKind kind;
    const char* text;
    const char* annotation;
    const char* kind_name;
};
constexpr Words kWords[] = {
    {TypeKind::Any, "Any", "Any", "AnyType"},
    {TypeKind::AnyEnum, "AnyEnumType", "AnyEnumType", "AnyEnumType"},
    {TypeKind::Tensor, "Tensor", "Tensor", "TensorType"},
    {TypeKind::Storage, "Storage", "Storage", "StorageType"},
    {TypeKind::Tuple, "", "Tuple", "TupleType"},
    {TypeKind::List, "", "List", "ListType"},
    {TypeKind::Dict, "Dict", "Dict", "DictType"},
    {TypeKind::Number, "Scalar", "number", "NumberType"},
    {TypeKind::Float, "float", "float", "FloatType"},
    {TypeKind::Complex, "complex", "complex", "ComplexType"},
    {TypeKind::Future, "Future", "Future", "FutureType"},
    {TypeKind::Await, "Await", "Await", "AwaitType"},
    {TypeKind::RRef, "RRef", "RRef", "RRefType"},
    {TypeKind::Int, "int", "int", "IntType"},
    {TypeKind::None, "NoneType", "NoneType", "NoneType"},
    {TypeKind::String, "str", "str", "StringType"},
    {TypeKind::Generator, "Generator", "Generator", "GeneratorType"},
    {TypeKind::Quantizer, "Quantizer", "Quantizer", "QuantizerType"},
    {TypeKind::Bool, "bool", "bool", "BoolType"},
    {TypeKind::Optional, "", "Optional", "OptionalType"},
    {TypeKind::Var, "", "", "VarType"},
    {TypeKind::Device, "Device", "Device", "DeviceObjType"},
    {TypeKind::Stream, "Stream", "Stream", "StreamObjType"},
    {TypeKind::Class, "", "", "ClassType"},
    {TypeKind::Capsule, "Capsule", "Capsule", "CapsuleType"},
    {TypeKind::QScheme, "QScheme", "QScheme", "QSchemeType"},
    {TypeKind::ScalarType, "ScalarType", "ScalarType", "ScalarTypeType"},
    {TypeKind::Layout, "Layout", "Layout", "LayoutType"},
    {TypeKind::MemoryFormat, "MemoryFormat", "MemoryFormat", "MemoryFormatType"},
    {TypeKind::AnyClass, "AnyClassType", "AnyClassType", "AnyClassType"},
    {TypeKind::SymInt, "SymInt", "int", "SymIntType"},
    {TypeKind::SymBool, "SymBool", "bool", "SymBoolType"},
    {TypeKind::Union, "Union", "Union", "UnionType"},
};
const Words& words(TypeKind k) { return kWords[static_cast<int>(k)]; }

std::string join(const std::vector<TypeRef>& items, std::string (Type::*shown)() const) {
    std::string s;
    for (size_t i = 0; i < items.size(); i++) s += (i ? ", " : "") + ((*items[i]).*shown)();
    return s;
}

}  // namespace

std::string Type::text() const {
    switch (kind) {
        case TypeKind::Tuple:
            return "(" + join(items, &Type::text) + ")";
        case TypeKind::List:
            return item()->text() + "[]";
        case TypeKind::Optional:
            return item()->text() + "?";
        case TypeKind::Var:
        case TypeKind::Class:
            return name;
        default:
            return items.empty() ? words(kind).text : words(kind).text + ("(" + join(items, &Type::text) + ")");
    }
}

std::string Type::annotation() const {
    if (kind == TypeKind::Var || kind == TypeKind::Class) return name;
    if (kind == TypeKind::Tuple && items.empty()) return "Tuple[()]";
    if (items.empty()) return words(kind).annotation;
    return words(kind).annotation + ("[" + join(items, &Type::annotation) + "]");
}

std::string Type::value_annotation() const {
    if (value_kind() != kind) return "int";
    if (kind == TypeKind::List || kind == TypeKind::Optional)
        return words(kind).annotation + ("[" + item()->value_annotation() + "]");
    return annotation();
}

const char* Type::kind_name() const { return words(kind).kind_name; }

TypeKind Type::value_kind() const {
    return kind == TypeKind::ScalarType || kind == TypeKind::Layout || kind == TypeKind::MemoryFormat ? TypeKind::Int
                                                                                                      : kind;
}

bool Type::operator==(const Type& o) const {
    return kind == o.kind && name == o.name && items.size() == o.items.size() &&
           std::equal(items.begin(), items.end(), o.items.begin(),
                      [](const TypeRef& a, const TypeRef& b) { return *a == *b; });
}

TypeRef simple_type(TypeKind kind) {
    auto t = std::make_shared<Type>();
    t->kind = kind;
    return t;
}
TypeRef type_of(TypeKind kind, std::vector<TypeRef> items) {
    auto t = std::make_shared<Type>();
    t->kind = kind;
    t->items = std::move(items);
    return t;
}
TypeRef named_type(TypeKind kind, std::string name) {
    auto t = std::make_shared<Type>();
    t->kind = kind;
    t->name = std::move(name);
    return t;
}
TypeRef optional_of(TypeRef t) { return t->is(TypeKind::Optional) ? t : type_of(TypeKind::Optional, {std::move(t)}); }

TypeRef union_of(const std::vector<TypeRef>& given) {
    std::vector<TypeRef> members;
    auto add = [&](const TypeRef& t) {
        for (const TypeRef& m : members)
            if (*m == *t) return;
        members.push_back(t);
    };
    for (const TypeRef& t : given) {
        if (t->is(TypeKind::Optional)) {
            add(t->item());
            add(simple_type(TypeKind::None));
        } else if (t->is(TypeKind::Union)) {
            for (const TypeRef& m : t->items) add(m);
        } else {
            add(t);
        }
    }
    bool any = std::any_of(members.begin(), members.end(), [](const TypeRef& t) { return t->is(TypeKind::Any); });
    MT_CHECK(members.size() > 1 && !any, "After type unification was performed, the Union with the original types {",
             join(given, &Type::annotation), "} has only one type; a Union needs at least two distinct types");
    std::stable_sort(members.begin(), members.end(),
                     [](const TypeRef& a, const TypeRef& b) { return a->kind < b->kind; });
    if (members.size() == 2)
        for (size_t i = 0; i < 2; i++)
            if (members[i]->is(TypeKind::None)) return optional_of(members[1 - i]);
    return type_of(TypeKind::Union, std::move(members));
}

std::string AliasInfo::text() const {
    auto joined = [](const std::vector<std::string>& set) {
        std::string s;
        for (size_t i = 0; i < set.size(); i++) s += (i ? "|" : "") + set[i];
        return s;
    };
    std::string s = "(" + joined(before) + (writes ? "!" : "");
    if (before.size() != after.size() || !std::is_permutation(before.begin(), before.end(), after.begin()))
        s += " -> " + joined(after);
    return s + ")";
}

}  // namespace mt
