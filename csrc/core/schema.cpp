// The schema parser: a hand-written recursive descent over PyTorch's schema language.
#include "schema.h"

#include <cctype>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <unordered_map>

namespace mt {
namespace {

struct BaseType {
    ArgKind kind;
    const char* text;
};

const std::unordered_map<std::string, BaseType>& base_types() {
    static const std::unordered_map<std::string, BaseType> table = {
        {"Tensor", {ArgKind::Tensor, "Tensor"}},
        {"int", {ArgKind::Int, "int"}},
        {"SymInt", {ArgKind::Int, "SymInt"}},
        {"DeviceIndex", {ArgKind::Int, "int"}},
        {"float", {ArgKind::Float, "float"}},
        {"bool", {ArgKind::Bool, "bool"}},
        {"SymBool", {ArgKind::Bool, "SymBool"}},
        {"complex", {ArgKind::Complex, "complex"}},
        {"Scalar", {ArgKind::Scalar, "Scalar"}},
        {"str", {ArgKind::Str, "str"}},
        {"ScalarType", {ArgKind::DType, "ScalarType"}},
        {"Layout", {ArgKind::Layout, "Layout"}},
        {"MemoryFormat", {ArgKind::MemoryFormat, "MemoryFormat"}},
        {"Device", {ArgKind::Device, "Device"}},
        {"Generator", {ArgKind::Generator, "Generator"}},
        {"Storage", {ArgKind::Storage, "Storage"}},
        {"Stream", {ArgKind::Any, "Stream"}},
        {"Any", {ArgKind::Any, "Any"}},
        {"Dimname", {ArgKind::Str, "Dimname"}},
    };
    return table;
}

class Parser {
  public:
    explicit Parser(const std::string& text) : text_(text) {}

    Schema schema() {
        Schema s;
        std::string name = identifier();
        if (peek(':')) {
            expect(':');
            expect(':');
            s.ns = name;
            name = identifier();
        }
        s.name = name;
        if (accept('.')) s.overload = identifier();
        expect('(');
        bool keyword_only = false;
        if (!accept(')')) {
            do {
                if (accept('*')) {
                    keyword_only = true;
                    continue;
                }
                Argument a = argument();
                a.keyword_only = keyword_only;
                s.args.push_back(std::move(a));
            } while (accept(','));
            expect(')');
        }
        for (const Argument& a : s.args)
            if (!a.keyword_only) s.positional++;
        expect('-');
        expect('>');
        if (accept('(')) {
            if (!accept(')')) {
                do s.returns.push_back(result());
                while (accept(','));
                expect(')');
            }
        } else {
            s.returns.push_back(result());
        }
        skip();
        if (at_ != text_.size()) fail("unexpected text after the schema");
        return s;
    }

  private:
    [[noreturn]] void fail(const std::string& what) {
        MT_THROW(Runtime, what, ":\n", text_, "\n", std::string(at_, ' '), "~ <--- HERE\n");
    }
    void skip() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) at_++;
    }
    bool peek(char c) {
        skip();
        return at_ < text_.size() && text_[at_] == c;
    }
    bool accept(char c) {
        if (!peek(c)) return false;
        at_++;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) fail(concat("expected '", c, "' here"));
    }
    std::string identifier() {
        skip();
        size_t start = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) at_++;
        if (start == at_) fail("expected an identifier here");
        return text_.substr(start, at_ - start);
    }

    void type(Argument& a) {
        std::string base = identifier();
        auto found = base_types().find(base);
        if (found == base_types().end()) {
            at_ -= base.size();
            fail(concat("unknown type specifier '", base, "'"));
        }
        a.kind = found->second.kind;
        a.type_text = found->second.text;
        alias(a);
        for (;;) {
            if (accept('?')) {
                a.optional = true;
                a.type_text += "?";
            } else if (accept('[')) {
                bool item_optional = a.optional;
                a.optional = false;
                a.type_text += "[";
                if (!peek(']')) {
                    std::string n = identifier();
                    a.list_size = std::atoi(n.c_str());
                    a.type_text += n;
                }
                expect(']');
                a.type_text += "]";
                a.kind = list_of(a.kind, item_optional);
                if (peek('(')) alias(a);
            } else {
                break;
            }
        }
    }
    void alias(Argument& a) {
        if (!accept('(')) return;
        std::string set;
        while (!peek(')')) {
            if (at_ >= text_.size()) fail("unfinished alias annotation");
            char c = text_[at_++];
            if (c == '!') a.writes = true;
            set += c;
        }
        expect(')');
        while (!set.empty() && set.back() == ' ') set.pop_back();
        a.alias = set;
    }
    ArgKind list_of(ArgKind item, bool item_optional) {
        switch (item) {
            case ArgKind::Int:
                return ArgKind::IntList;
            case ArgKind::Float:
                return ArgKind::FloatList;
            case ArgKind::Bool:
                return ArgKind::BoolList;
            case ArgKind::Scalar:
                return ArgKind::ScalarList;
            case ArgKind::Str:
                return ArgKind::StrList;
            case ArgKind::Tensor:
                return item_optional ? ArgKind::OptionalTensorList : ArgKind::TensorList;
            default:
                return ArgKind::Any;
        }
    }

    Argument argument() {
        Argument a;
        type(a);
        a.name = identifier();
        if (accept('=')) default_value(a);
        return a;
    }
    Argument result() {
        Argument a;
        type(a);
        skip();
        if (at_ < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
            a.name = identifier();
        return a;
    }

    // A number, as written.
    std::string number() {
        skip();
        size_t start = at_;
        if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) at_++;
        while (at_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.' ||
                ((text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
            at_++;
        if (start == at_) fail("expected a value here");
        return text_.substr(start, at_ - start);
    }
    static bool is_integer_text(const std::string& n) { return n.find_first_of(".eE") == std::string::npos; }
    Value scalar_literal() {
        std::string n = number();
        if (n == "True" || n == "true") return Value::of(true);
        if (n == "False" || n == "false") return Value::of(false);
        if (is_integer_text(n)) {
            char* end = nullptr;
            int64_t v = std::strtoll(n.c_str(), &end, 10);
            if (*end == 0) return Value::of(v);
            // Names that PyTorch allows for numbers.
            static const std::unordered_map<std::string, int64_t> names = {{"Mean", 1},
                                                                           {"Sum", 2},
                                                                           {"contiguous_format", 0},
                                                                           {"preserve_format", 1},
                                                                           {"strided", 0},
                                                                           {"long", 4},
                                                                           {"float", 6},
                                                                           {"double", 7}};
            auto found = names.find(n);
            if (found == names.end()) fail(concat("invalid numeric default value '", n, "'"));
            return Value::of(found->second);
        }
        return Value::of(std::strtod(n.c_str(), nullptr));
    }
    static std::string literal_text(const Value& v) {
        if (v.tag == Tag::Bool) return v.b ? "True" : "False";
        if (v.tag == Tag::Int) return std::to_string(v.i);
        char buffer[40];
        std::snprintf(buffer, sizeof buffer, "%.17g", v.d);
        std::string s = buffer;
        if (s.find_first_of(".en") == std::string::npos) s += ".";
        return s;
    }

    void default_value(Argument& a) {
        a.has_default = true;
        skip();
        if (text_.compare(at_, 4, "None") == 0) {
            at_ += 4;
            a.default_text = "None";
            return;
        }
        if (peek('"') || peek('\'')) {
            char quote = text_[at_++];
            while (at_ < text_.size() && text_[at_] != quote) a.default_str += text_[at_++];
            expect(quote);
            a.default_text = '"' + a.default_str + '"';
            a.default_value.tag = Tag::Str;
            return;
        }
        if (accept('[')) {
            std::string shown = "[";
            std::vector<Value> items;
            if (!accept(']')) {
                do items.push_back(scalar_literal());
                while (accept(','));
                expect(']');
            }
            for (size_t i = 0; i < items.size(); i++) shown += (i ? ", " : "") + literal_text(items[i]);
            a.default_text = shown + "]";
            if (a.kind == ArgKind::FloatList) {
                for (const Value& v : items) a.default_doubles.push_back(v.as_double());
                a.default_value.tag = Tag::DoubleList;
            } else {
                for (const Value& v : items) a.default_ints.push_back(v.as_int());
                a.default_value.tag = a.kind == ArgKind::BoolList ? Tag::BoolList : Tag::IntList;
            }
            return;
        }
        Value v = scalar_literal();
        a.default_text = literal_text(v);
        switch (a.kind) {
            case ArgKind::IntList:
                a.default_ints.assign(static_cast<size_t>(a.list_size ? a.list_size : 1), v.as_int());
                a.default_value.tag = Tag::IntList;
                break;
            case ArgKind::FloatList:
                a.default_doubles.assign(static_cast<size_t>(a.list_size ? a.list_size : 1), v.as_double());
                a.default_value.tag = Tag::DoubleList;
                break;
            case ArgKind::BoolList:
                a.default_ints.assign(static_cast<size_t>(a.list_size ? a.list_size : 1), v.as_int());
                a.default_value.tag = Tag::BoolList;
                break;
            case ArgKind::Float:
                a.default_value = Value::of(v.as_double());
                break;
            case ArgKind::Int:
                a.default_value = Value::of(v.as_int());
                break;
            case ArgKind::Bool:
                a.default_value = Value::of(v.as_bool());
                break;
            case ArgKind::DType:
                a.default_value = Value::of(static_cast<DType>(v.as_int()));
                break;
            case ArgKind::MemoryFormat:
            case ArgKind::Layout:
                a.default_value = Value::of(v.as_int());
                a.default_value.tag = a.kind == ArgKind::Layout ? Tag::Layout : Tag::MemoryFormat;
                break;
            default:
                a.default_value = v;
        }
    }

    const std::string& text_;
    size_t at_ = 0;
};

std::string show_type(const Argument& a) {
    if (a.alias.empty()) return a.type_text;
    // The alias set stands right after the base type: Tensor(a!)[]
    size_t base = a.type_text.find_first_of("[?");
    if (base == std::string::npos) base = a.type_text.size();
    return a.type_text.substr(0, base) + "(" + a.alias + ")" + a.type_text.substr(base);
}

}  // namespace

std::string Schema::text() const {
    std::string s = (ns.empty() ? name : ns + "::" + name) + (overload.empty() ? "" : "." + overload) + "(";
    bool star = false;
    for (size_t i = 0; i < args.size(); i++) {
        if (i) s += ", ";
        if (args[i].keyword_only && !star) {
            s += "*, ";
            star = true;
        }
        s += show_type(args[i]) + " " + args[i].name;
        if (args[i].has_default) s += "=" + args[i].default_text;
    }
    s += ") -> ";
    auto shown = [](const Argument& r) { return show_type(r) + (r.name.empty() ? "" : " " + r.name); };
    if (returns.size() == 1 && returns[0].name.empty()) return s + shown(returns[0]);
    s += "(";
    for (size_t i = 0; i < returns.size(); i++) s += (i ? ", " : "") + shown(returns[i]);
    return s + ")";
}

int Schema::index_of(const std::string& arg) const {
    for (size_t i = 0; i < args.size(); i++)
        if (args[i].name == arg) return static_cast<int>(i);
    return -1;
}

Schema parse_schema(const std::string& text) { return Parser(text).schema(); }

}  // namespace mt
