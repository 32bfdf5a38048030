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
    return std::make_shared<Type>(type_kind(p[0].toStringRef()), p[1].toStringRef(), p[2].toStringRef(),
                                  std::move(contained));
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
};
inline std::string toString(const OperatorName& n) {
    return n.overload_name.empty() ? n.name : n.name + "." + n.overload_name;
}
inline std::ostream& operator<<(std::ostream& s, const OperatorName& n) { return s << toString(n); }
inline bool operator==(const OperatorName& a, const OperatorName& b) {
    return a.name == b.name && a.overload_name == b.overload_name;
}

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
    std::optional<int> argumentIndexWithName(std::string_view wanted) const {
        for (size_t i = 0; i < arguments().size(); i++)
            if (arguments()[i].name() == wanted) return static_cast<int>(i);
        return std::nullopt;
    }
    const std::string& text() const { return parts_->text; }
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

}  // namespace c10

namespace torch {

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
    const std::vector<c10::IValue>& args() const { return args_; }
    const std::unordered_map<std::string, c10::IValue>& named_args() const { return named_args_; }

  private:
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
