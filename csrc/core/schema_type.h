// The types of PyTorch's schema language.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace mt {

// In the order in which a Union lists its members.
enum class TypeKind : uint8_t {
    Any,
    AnyEnum,
    Tensor,
    Storage,
    Tuple,
    List,
    Dict,
    Number,
    Float,
    Complex,
    Future,
    Await,
    RRef,
    Int,
    None,
    String,
    Generator,
    Quantizer,
    Bool,
    Optional,
    Var,
    Device,
    Stream,
    Class,
    Capsule,
    QScheme,
    ScalarType,
    Layout,
    MemoryFormat,
    AnyClass,
    SymInt,
    SymBool,
    Union,
};

struct Type;
using TypeRef = std::shared_ptr<const Type>;

// One type. `items`: what a List, Optional, Future, Await or RRef holds (one), a Dict (key, value), the members of a
// Tuple or Union. `name`: of a type variable or custom class.
struct Type {
    TypeKind kind = TypeKind::Any;
    std::vector<TypeRef> items;
    std::string name;

    std::string text() const;              // as schemas spell it: "int[]?"
    std::string annotation() const;        // as PyTorch's `str(argument.type)` spells it: "Optional[List[int]]"
    std::string value_annotation() const;  // the same with int for ScalarType, Layout and MemoryFormat
    const char* kind_name() const;         // "OptionalType"
    // What stands for it where values are concerned: ScalarType, Layout and MemoryFormat are int.
    TypeKind value_kind() const;
    bool is(TypeKind k) const { return kind == k; }
    const TypeRef& item() const { return items[0]; }
    bool operator==(const Type& o) const;
};

TypeRef simple_type(TypeKind kind);
TypeRef type_of(TypeKind kind, std::vector<TypeRef> items);
TypeRef named_type(TypeKind kind, std::string name);
TypeRef optional_of(TypeRef t);  // T?? is T?
// The Union of `members`, sorted and without repetition; Optional where it is one type and None.
TypeRef union_of(const std::vector<TypeRef>& members);

// What an alias annotation says: Tensor(a|b! -> c).
struct AliasInfo {
    std::vector<std::string> before, after;  // without repetition, the last one first: the order of PyTorch's texts
    bool present = false;
    bool writes = false;
    std::vector<AliasInfo> items;  // of the items of a list

    std::string text() const;  // "(a! -> b)", "()"
};

}  // namespace mt
