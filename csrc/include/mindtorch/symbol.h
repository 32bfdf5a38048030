// Names in namespaces, "aten::add", as numbers that are compared at once; names of dimensions.
#pragma once

#include <mindtorch/types.h>

#include <deque>
#include <mutex>
#include <unordered_map>

namespace c10 {

class Symbol {
  public:
    constexpr Symbol() = default;
    explicit constexpr Symbol(uint32_t number) : number_(number) {}
    // Of "namespace::name".
    static Symbol fromQualString(const std::string& text) {
        TORCH_CHECK(text.find("::") != std::string::npos, "a symbol has a namespace, \"ns::name\", got \"", text, "\"");
        return Symbol(all().number(text));
    }
    static Symbol fromDomainAndUnqualString(const std::string& domain, const std::string& name) {
        static const std::string prefix = "org.pytorch.";
        return fromQualString((domain.rfind(prefix, 0) == 0 ? domain.substr(prefix.size()) : domain) + "::" + name);
    }
#define MINDTORCH_NAMESPACE(ns)                                                           \
    static Symbol ns(const std::string& name) { return fromQualString(#ns "::" + name); } \
    bool is_##ns() const { return namespace_text() == #ns; }
    MINDTORCH_NAMESPACE(aten)
    MINDTORCH_NAMESPACE(attr)
    MINDTORCH_NAMESPACE(caffe2)
    MINDTORCH_NAMESPACE(cuda)
    MINDTORCH_NAMESPACE(onnx)
    MINDTORCH_NAMESPACE(prim)
    MINDTORCH_NAMESPACE(prims)
    MINDTORCH_NAMESPACE(scope)
    MINDTORCH_NAMESPACE(user)
#undef MINDTORCH_NAMESPACE
    static Symbol dimname(const std::string& name) { return fromQualString("dimname::" + name); }
    constexpr operator uint32_t() const { return number_; }
    const char* toQualString() const { return all().text(number_).c_str(); }
    const char* toUnqualString() const {
        const std::string& text = all().text(number_);
        return text.c_str() + text.find("::") + 2;
    }
    const char* toDisplayString() const { return toQualString(); }
    Symbol ns() const { return fromQualString("namespaces::" + namespace_text()); }
    std::string domainString() const { return "org.pytorch." + namespace_text(); }

  private:
    std::string namespace_text() const {
        const std::string& text = all().text(number_);
        return text.substr(0, text.find("::"));
    }
    // Every symbol of this library; a text stays where it is.
    struct Table {
        std::mutex lock;
        std::unordered_map<std::string, uint32_t> numbers;
        std::deque<std::string> texts;
        uint32_t number(const std::string& text) {
            const std::lock_guard<std::mutex> guard(lock);
            const auto [at, is_new] = numbers.emplace(text, static_cast<uint32_t>(texts.size()));
            if (is_new) texts.push_back(text);
            return at->second;
        }
        const std::string& text(uint32_t number) {
            const std::lock_guard<std::mutex> guard(lock);
            return texts.at(number);
        }
    };
    static Table& all() {
        static Table table;
        table.number("namespaces::none");  // of a symbol that was given no name
        return table;
    }
    uint32_t number_ = 0;
};
inline bool operator==(Symbol a, Symbol b) { return static_cast<uint32_t>(a) == static_cast<uint32_t>(b); }
inline std::ostream& operator<<(std::ostream& s, Symbol symbol) { return s << symbol.toQualString(); }

// How a quantised tensor's numbers are scaled.
enum QScheme : uint8_t {
    PER_TENSOR_AFFINE = 0,
    PER_CHANNEL_AFFINE = 1,
    PER_TENSOR_SYMMETRIC = 2,
    PER_CHANNEL_SYMMETRIC = 3,
    PER_CHANNEL_AFFINE_FLOAT_QPARAMS = 4,
    COMPILE_TIME_NUM_QSCHEMES = 5,
};
constexpr auto kPerTensorAffine = PER_TENSOR_AFFINE;
constexpr auto kPerChannelAffine = PER_CHANNEL_AFFINE;
constexpr auto kPerTensorSymmetric = PER_TENSOR_SYMMETRIC;
constexpr auto kPerChannelSymmetric = PER_CHANNEL_SYMMETRIC;
constexpr auto kPerChannelAffineFloatQParams = PER_CHANNEL_AFFINE_FLOAT_QPARAMS;

inline std::string toString(QScheme scheme) {
    static const char* const names[] = {"per_tensor_affine", "per_channel_affine", "per_tensor_symmetric",
                                        "per_channel_symmetric", "per_channel_affine_float_qparams"};
    TORCH_CHECK(scheme < COMPILE_TIME_NUM_QSCHEMES, "Unrecognized qscheme: ", static_cast<int>(scheme));
    return names[scheme];
}

}  // namespace c10

namespace std {
template <>
struct hash<c10::Symbol> {
    size_t operator()(c10::Symbol symbol) const { return static_cast<uint32_t>(symbol); }
};
}  // namespace std

namespace at {
using c10::Symbol;

enum class NameType : uint8_t { BASIC, WILDCARD };
// The name of a dimension, or the one that fits any.
class Dimname {
  public:
    static Dimname fromSymbol(Symbol name) {
        const std::string text = name.toUnqualString();
        if (text == "*") return wildcard();
        TORCH_CHECK(isValidName(text),
                    "Invalid name: a valid identifier contains only digits, alphabetical characters, ",
                    "and/or underscore and starts with a non-digit. got: '", text, "'.");
        return Dimname(name, NameType::BASIC);
    }
    static Dimname wildcard() { return Dimname(Symbol::dimname("*"), NameType::WILDCARD); }
    static bool isValidName(const std::string& name) {
        if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
        for (char c : name)
            if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')) return false;
        return true;
    }
    NameType type() const { return type_; }
    Symbol symbol() const { return name_; }
    bool isBasic() const { return type_ == NameType::BASIC; }
    bool isWildcard() const { return type_ == NameType::WILDCARD; }
    bool matches(Dimname o) const { return isWildcard() || o.isWildcard() || name_ == o.name_; }
    std::optional<Dimname> unify(Dimname o) const {
        if (o.isWildcard()) return *this;
        if (isWildcard() || name_ == o.name_) return o;
        return std::nullopt;
    }

  private:
    Dimname(Symbol name, NameType type) : name_(name), type_(type) {}
    Symbol name_;
    NameType type_;
};
using DimnameList = c10::ArrayRef<Dimname>;
inline bool operator==(const Dimname& a, const Dimname& b) { return a.symbol() == b.symbol(); }
inline bool operator!=(const Dimname& a, const Dimname& b) { return !(a == b); }
inline std::ostream& operator<<(std::ostream& s, const Dimname& name) {
    return name.isWildcard() ? s << "None" : s << "'" << name.symbol().toUnqualString() << "'";
}
using c10::QScheme;
using c10::toString;

}  // namespace at

namespace torch {
namespace jit {
using c10::Symbol;
}
}  // namespace torch
