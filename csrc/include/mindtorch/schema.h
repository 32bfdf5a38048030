// Schemas of operators as C++ reads them: parsed once, by the parser that the registry has.
#pragma once

#include <mindtorch/ivalue.h>

#include <unordered_map>
#include <unordered_set>
#include <variant>

namespace c10 {

inline TypePtr type_of(const IValue& parts) {
    const IValue::Items& p = parts.toTupleElements();
    std::vector<TypePtr> contained;
    for (const IValue& item : p[3].toTupleElements()) contained.push_back(type_of(item));
    return Type::make(type_kind(p[0].toStringRef()), p[1].toStringRef(), p[2].toStringRef(), std::move(contained));
}

// What Tensor(a!) says of memory: the sets that a value is in before and after the call, and whether it is written.
class AliasInfo {
  public:
    explicit AliasInfo(const IValue& parts) : write_(parts.toTupleElements()[3].toBool()) {
        for (const IValue& set : parts.toTupleElements()[0].toTupleElements()) before_.insert(set.toStringRef());
        for (const IValue& set : parts.toTupleElements()[1].toTupleElements()) after_.insert(set.toStringRef());
        for (const IValue& item : parts.toTupleElements()[2].toTupleElements())
            if (!item.isNone()) contained_.emplace_back(item);
    }
    bool isWrite() const { return write_; }
    bool isWildcardBefore() const { return before_.count("*"); }
    bool isWildcardAfter() const { return after_.count("*"); }
    const std::unordered_set<std::string>& beforeSets() const { return before_; }
    const std::unordered_set<std::string>& afterSets() const { return after_; }
    const std::vector<AliasInfo>& containedTypes() const { return contained_; }

  private:
    std::unordered_set<std::string> before_, after_;
    std::vector<AliasInfo> contained_;
    bool write_;
};

// One argument or result of a schema.
class Argument {
  public:
    explicit Argument(const IValue& parts)
        : name_(part(parts, 0).toStringRef()), type_(type_of(part(parts, 1))), kwarg_only_(part(parts, 6).toBool()) {
        if (!part(parts, 2).isNone()) size_ = static_cast<int32_t>(part(parts, 2).toInt());
        if (part(parts, 5).toBool()) default_ = part(parts, 3);
        if (!part(parts, 4).isNone()) alias_ = std::make_shared<const AliasInfo>(part(parts, 4));
    }
    const std::string& name() const { return name_; }
    const TypePtr& type() const { return type_; }
    const TypePtr& real_type() const { return type_; }
    bool is_inferred_type() const { return false; }
    std::optional<int32_t> N() const { return size_; }
    const std::optional<IValue>& default_value() const { return default_; }
    bool kwarg_only() const { return kwarg_only_; }
    const AliasInfo* alias_info() const { return alias_.get(); }
    bool is_out() const { return kwarg_only_ && alias_ && alias_->isWrite(); }

  private:
    static const IValue& part(const IValue& parts, size_t i) { return parts.toTupleElements()[i]; }
    std::string name_;
    TypePtr type_;
    std::optional<int32_t> size_;
    std::optional<IValue> default_;
    std::shared_ptr<const AliasInfo> alias_;
    bool kwarg_only_;
};

struct OperatorName {
    std::string name, overload_name;
    OperatorName(std::string n, std::string o) : name(std::move(n)), overload_name(std::move(o)) {}
    std::optional<std::string_view> getNamespace() const {
        const size_t colons = name.find("::");
        return colons == std::string::npos ? std::nullopt : std::optional(std::string_view(name).substr(0, colons));
    }
    // Whether it had none.
    bool setNamespaceIfNotSet(const char* ns) {
        if (getNamespace()) return false;
        name = std::string(ns) + "::" + name;
        return true;
    }
};
inline std::string toString(const OperatorName& n) {
    return n.overload_name.empty() ? n.name : n.name + "." + n.overload_name;
}
inline std::ostream& operator<<(std::ostream& s, const OperatorName& n) { return s << toString(n); }
inline bool operator==(const OperatorName& a, const OperatorName& b) {
    return a.name == b.name && a.overload_name == b.overload_name;
}

inline bool operator!=(const OperatorName& a, const OperatorName& b) { return !(a == b); }
}  // namespace c10
namespace std {
template <>
struct hash<c10::OperatorName> {
    size_t operator()(const c10::OperatorName& n) const {
        return std::hash<std::string>()(n.name) ^ (~std::hash<std::string>()(n.overload_name));
    }
};
}  // namespace std
namespace c10 {

// An argument or a result of a schema, by its number.
enum class SchemaArgType { input, output };
struct SchemaArgument {
    SchemaArgType type;
    size_t index;
    SchemaArgument(SchemaArgType t, size_t i) : type(t), index(i) {}
    bool operator==(const SchemaArgument& o) const { return type == o.type && index == o.index; }
};

// The kinds of objects with memory that a value of a type may be, by their text, and those that such objects hold.
struct SharedTypes {
    std::unordered_set<std::string> own, held;

    explicit SharedTypes(const Type& type) { add(type, own); }

    static bool meet(const std::unordered_set<std::string>& a, const std::unordered_set<std::string>& b) {
        for (const std::string& each : a)
            if (b.count(each)) return true;
        return false;
    }

  private:
    void add(const Type& type, std::unordered_set<std::string>& found) {
        switch (type.kind()) {
            case TypeKind::OptionalType:
            case TypeKind::UnionType:
                for (const TypePtr& each : type.containedTypes()) add(*each, found);
                return;
            case TypeKind::TupleType: {
                const size_t before = held.size();
                for (const TypePtr& each : type.containedTypes()) add(*each, held);
                if (held.size() > before) found.insert(type.str());
                return;
            }
            case TypeKind::ListType:
            case TypeKind::DictType:
                for (const TypePtr& each : type.containedTypes()) add(*each, held);
                found.insert(type.str());
                return;
            case TypeKind::TensorType:
            case TypeKind::AnyType:
            case TypeKind::ClassType:
                found.insert(type.str());
                return;
            default:
                return;
        }
    }
};

enum class AliasAnalysisKind : uint8_t {
    INTERNAL_SPECIAL_CASE,
    CONSERVATIVE,
    FROM_SCHEMA,
    PURE_FUNCTION,
};

class FunctionSchema {
  public:
    // Parses the text; an error that shows the place if it is no schema.
    explicit FunctionSchema(const std::string& text) {
        const mt_value made =
            mindtorch::call_python("mindtorch_v2._C", "_parse_schema", {mindtorch::arg(std::string_view(text))});
        const IValue parts = mindtorch::from<IValue>(made);
        mindtorch::drop(made);
        const IValue::Items& p = parts.toTupleElements();
        Parts found{OperatorName(p[0].toStringRef(), p[1].toStringRef()),
                    {},
                    {},
                    p[4].toBool(),
                    p[5].toBool(),
                    p[6].toStringRef()};
        for (const IValue& a : p[2].toTupleElements()) found.arguments.emplace_back(a);
        for (const IValue& r : p[3].toTupleElements()) found.returns.emplace_back(r);
        parts_ = std::make_shared<const Parts>(std::move(found));
        checkSchema();
    }
    const std::string& name() const { return parts_->name.name; }
    const std::string& overload_name() const { return parts_->name.overload_name; }
    const OperatorName& operator_name() const { return parts_->name; }
    const std::vector<Argument>& arguments() const { return parts_->arguments; }
    const std::vector<Argument>& returns() const { return parts_->returns; }
    bool is_vararg() const { return parts_->vararg; }
    bool is_varret() const { return parts_->varret; }
    bool is_mutable() const {
        for (const Argument& a : arguments())
            if (a.alias_info() && a.alias_info()->isWrite()) return true;
        return false;
    }
    const std::vector<Argument>& getCorrectList(SchemaArgType type) const {
        return type == SchemaArgType::input ? arguments() : returns();
    }
    bool is_aliasing(const SchemaArgument& which) const { return at(which).alias_info(); }
    bool is_mutable(const SchemaArgument& which) const {
        return is_aliasing(which) && at(which).alias_info()->isWrite();
    }
    bool is_mutable(std::string_view wanted) const {
        const std::optional<int> index = argumentIndexWithName(wanted);
        TORCH_CHECK(index, "Tried to test mutability of nonexistent name ", wanted, ". Declaration: ", text());
        return is_mutable(SchemaArgument(SchemaArgType::input, static_cast<size_t>(*index)));
    }
    // Whether the two may be one object: their types have one in common, and so have their alias sets after the call.
    bool may_alias(const SchemaArgument& lhs, const SchemaArgument& rhs) const {
        const Argument &a = at(lhs), &b = at(rhs);
        if (!a.alias_info() || !b.alias_info()) return false;
        return SharedTypes::meet(SharedTypes(*a.type()).own, SharedTypes(*b.type()).own) &&
               SharedTypes::meet(a.alias_info()->afterSets(), b.alias_info()->afterSets());
    }
    // The same for what the first holds, and if `bidirectional` for what the other holds.
    bool may_contain_alias(const SchemaArgument& lhs, const SchemaArgument& rhs, bool bidirectional = true) const {
        if (may_alias(lhs, rhs)) return true;
        const Argument &a = at(lhs), &b = at(rhs);
        const SharedTypes x(*a.type()), y(*b.type());
        const auto anything = [](const Argument& each) {
            return each.alias_info() && each.alias_info()->isWildcardAfter();
        };
        if (anything(b) && SharedTypes::meet(x.held, y.own)) return true;
        if (bidirectional && anything(a) && SharedTypes::meet(y.held, x.own)) return true;
        return SharedTypes::meet(x.held, y.held);
    }
    std::optional<int> argumentIndexWithName(std::string_view wanted) const {
        for (size_t i = 0; i < arguments().size(); i++)
            if (arguments()[i].name() == wanted) return static_cast<int>(i);
        return std::nullopt;
    }
    const std::string& text() const { return parts_->text; }
    std::optional<std::string_view> getNamespace() const {
        const size_t colons = name().find("::");
        return colons == std::string::npos ? std::nullopt : std::optional(std::string_view(name()).substr(0, colons));
    }
    bool hasAnyAliasInfo() const {
        for (const auto* list : {&arguments(), &returns()})
            for (const Argument& a : *list)
                if (a.alias_info()) return true;
        return false;
    }
    // No positional argument without a default may follow one with a default, lists aside.
    void checkSchema() const {
        bool seen = false;
        for (const Argument& a : arguments()) {
            if (a.kwarg_only()) continue;
            TORCH_CHECK(!seen || a.default_value() || a.type()->kind() == TypeKind::ListType,
                        "Non-default positional argument follows default argument. Parameter ", a.name(), " in ",
                        text());
            seen = seen || a.default_value();
        }
    }
    // Binds keywords and defaults: `inputs` is then in the schema's order, with what `...` takes behind it.
    void checkAndNormalizeInputs(std::vector<IValue>& inputs,
                                 const std::unordered_map<std::string, IValue>& kwargs = {}) const {
        std::vector<IValue> bound;
        size_t place = 0, used = 0;
        for (const Argument& a : arguments()) {
            const auto keyword = kwargs.find(a.name());
            if (!a.kwarg_only() && place < inputs.size()) {
                TORCH_CHECK(keyword == kwargs.end(), name(), "() argument '", a.name(),
                            "' specified twice: by position and by keyword. Declaration: ", text());
                bound.push_back(inputs[place++]);
            } else if (keyword != kwargs.end()) {
                bound.push_back(keyword->second);
                used++;
            } else {
                TORCH_CHECK(place >= inputs.size() || !a.kwarg_only() || is_vararg(), name(),
                            "() keyword-only argument '", a.name(), "' passed as positional. Declaration: ", text());
                TORCH_CHECK(a.default_value(), name(), "() is missing value for argument '", a.name(),
                            "'. Declaration: ", text());
                bound.push_back(*a.default_value());
            }
        }
        TORCH_CHECK(place == inputs.size() || is_vararg(), name(), "() expected at most ", place,
                    " positional argument(s) but received ", inputs.size(), ". Declaration: ", text());
        for (; place < inputs.size(); place++) bound.push_back(inputs[place]);
        for (const auto& [keyword, value] : kwargs)
            TORCH_CHECK(used == kwargs.size() || argumentIndexWithName(keyword), "Unknown keyword argument '", keyword,
                        "' for operator '", name(), "'. Schema: ", text());
        inputs = std::move(bound);
    }

  private:
    const Argument& at(const SchemaArgument& which) const {
        const std::vector<Argument>& list = getCorrectList(which.type);
        TORCH_CHECK(which.index < list.size(), "Schema ", which.type == SchemaArgType::input ? "input" : "output",
                    " index ", which.index, " is out of bounds. Declaration: ", text());
        return list[which.index];
    }
    struct Parts {
        OperatorName name;
        std::vector<Argument> arguments, returns;
        bool vararg, varret;
        std::string text;
    };
    std::shared_ptr<const Parts> parts_;
};
inline bool operator==(const FunctionSchema& a, const FunctionSchema& b) { return a.text() == b.text(); }
inline std::ostream& operator<<(std::ostream& s, const FunctionSchema& f) { return s << f.text(); }
inline std::string toString(const FunctionSchema& f) { return f.text(); }

// The type that a C++ type has in schemas.
template <class T>
TypePtr getTypePtr() {
    static const TypePtr found =
        FunctionSchema("type(" + mindtorch::Convert<std::decay_t<T>>::schema() + " x) -> ()").arguments()[0].type();
    return found;
}
template <class T>
TypePtr getTypePtrCopy() {
    return getTypePtr<T>();
}

}  // namespace c10

namespace torch {
namespace jit {
using c10::getTypePtr;
}

// A name for a value: torch::arg("k") = 1.
struct arg {
    explicit arg(std::string name) : name(std::move(name)) {}
    template <class T>
    arg& operator=(T&& v) {
        value = c10::IValue(std::forward<T>(v));
        return *this;
    }
    static c10::IValue none() { return c10::IValue(); }
    std::string name;
    std::optional<c10::IValue> value;
};

// The arguments of a call, by position and by name, for a schema to bind.
class FunctionArgs {
  public:
    FunctionArgs() = default;
    FunctionArgs& add_arg(c10::IValue v) {
        args_.push_back(std::move(v));
        return *this;
    }
    FunctionArgs& add_arg(const arg& a) {
        TORCH_CHECK(a.value, "add_arg: the argument '", a.name, "' has no value; write torch::arg(\"", a.name,
                    "\") = ...");
        TORCH_CHECK(named_args_.emplace(a.name, *a.value).second, "add_arg: the argument '", a.name,
                    "' was given twice");
        return *this;
    }
    static FunctionArgs from_vector(std::vector<c10::IValue> args) {
        FunctionArgs made;
        made.args_ = std::move(args);
        return made;
    }
    const std::vector<c10::IValue>& args() const { return args_; }
    const std::unordered_map<std::string, c10::IValue>& named_args() const { return named_args_; }
    size_t size() const { return args_.size(); }
    size_t named_size() const { return named_args_.size(); }
    bool has_named_args() const { return !named_args_.empty(); }
    const c10::IValue& get_value(size_t i) const {
        TORCH_CHECK_INDEX(i < size(), "FunctionArgs: index ", i, " is out of range: ", size(), " given by position");
        return args_[i];
    }
    // The value as that type; an error if it is of another.
    template <class T>
    auto get(size_t i) const {
        return get_value(i).template to<std::remove_cv_t<std::remove_reference_t<T>>>();
    }
    template <class... T>
    auto to_tuple() const {
        TORCH_CHECK(size() == sizeof...(T), "Argument count mismatch: expected ", sizeof...(T), ", got ", size());
        return tuple_of<T...>(std::index_sequence_for<T...>());
    }
    std::string to_string() const {
        std::ostringstream s;
        s << "FunctionArgs(args=[";
        for (size_t i = 0; i < size(); i++) s << (i ? ", " : "") << args_[i];
        s << "], kwargs={";
        const char* between = "";
        for (const auto& [name, value] : named_args_) {
            s << between << name << ": " << value;
            between = ", ";
        }
        s << "})";
        return s.str();
    }

  private:
    template <class... T, size_t... I>
    auto tuple_of(std::index_sequence<I...>) const {
        return std::make_tuple(get<T>(I)...);
    }
    std::vector<c10::IValue> args_;
    std::unordered_map<std::string, c10::IValue> named_args_;
};

namespace jit {
inline c10::FunctionSchema parseSchema(const std::string& text, bool = true) { return c10::FunctionSchema(text); }
inline c10::OperatorName parseName(const std::string& text) {
    const size_t dot = text.find('.');
    return {text.substr(0, dot), dot == std::string::npos ? "" : text.substr(dot + 1)};
}
// A schema, or the name of an operator alone.
inline std::variant<c10::OperatorName, c10::FunctionSchema> parseSchemaOrName(const std::string& text, bool = true) {
    if (text.find('(') == std::string::npos) return parseName(text);
    return parseSchema(text);
}
}  // namespace jit
}  // namespace torch
