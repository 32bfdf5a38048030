// The parser of PyTorch's schema language: recursive descent over the tokens of schema_lexer.h.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "device.h"
#include "error.h"
#include "schema.h"
#include "schema_classes.h"
#include "schema_lexer.h"

namespace mt {
namespace {

constexpr int kDeepest = 100;  // of types within types: recursion must not end the process

const std::unordered_map<std::string, TypeKind>& base_types() {
    static const std::unordered_map<std::string, TypeKind> table = {
        {"Generator", TypeKind::Generator},
        {"ScalarType", TypeKind::ScalarType},
        {"Layout", TypeKind::Layout},
        {"MemoryFormat", TypeKind::MemoryFormat},
        {"Storage", TypeKind::Storage},
        {"QScheme", TypeKind::QScheme},
        {"Quantizer", TypeKind::Quantizer},
        {"ConstQuantizerPtr", TypeKind::Int},
        {"Device", TypeKind::Device},
        {"DeviceIndex", TypeKind::Int},
        {"Stream", TypeKind::Stream},
        {"Scalar", TypeKind::Number},
        {"str", TypeKind::String},
        {"float", TypeKind::Float},
        {"complex", TypeKind::Complex},
        {"int", TypeKind::Int},
        {"SymInt", TypeKind::SymInt},
        {"SymBool", TypeKind::SymBool},
        {"bool", TypeKind::Bool},
        {"None", TypeKind::None},
        {"NoneType", TypeKind::None},
        {"Capsule", TypeKind::Capsule},
        {"Any", TypeKind::Any},
        {"AnyClassType", TypeKind::AnyClass},
        {"AnyEnumType", TypeKind::AnyEnum},
    };
    return table;
}

// Words that stand for numbers in defaults.
const std::unordered_map<std::string, int64_t>& number_words() {
    static const std::unordered_map<std::string, int64_t> table = {
        {"Mean", 1}, {"contiguous_format", 0}, {"float", 6}, {"complex", 9}, {"long", 4}, {"strided", 0}};
    return table;
}

// ScalarType defaults may also name a dtype; the numbers are PyTorch's.
const std::unordered_map<std::string, int64_t>& dtype_words() {
    static const std::unordered_map<std::string, int64_t> table = {
        {"uint8", 0},
        {"int8", 1},
        {"int16", 2},
        {"short", 2},
        {"int32", 3},
        {"int", 3},
        {"int64", 4},
        {"long", 4},
        {"float16", 5},
        {"half", 5},
        {"float32", 6},
        {"float", 6},
        {"float64", 7},
        {"double", 7},
        {"complex32", 8},
        {"chalf", 8},
        {"complex64", 9},
        {"cfloat", 9},
        {"complex", 9},
        {"complex128", 10},
        {"cdouble", 10},
        {"bool", 11},
        {"qint8", 12},
        {"quint8", 13},
        {"qint32", 14},
        {"bfloat16", 15},
        {"quint4x2", 16},
        {"quint2x4", 17},
        {"bits1x8", 18},
        {"bits2x4", 19},
        {"bits4x2", 20},
        {"bits8", 21},
        {"bits16", 22},
        {"float8_e5m2", 23},
        {"float8_e4m3fn", 24},
        {"float8_e5m2fnuz", 25},
        {"float8_e4m3fnuz", 26},
        {"uint16", 27},
        {"uint32", 28},
        {"uint64", 29},
        {"uint1", 30},
        {"uint2", 31},
        {"uint3", 32},
        {"uint4", 33},
        {"uint5", 34},
        {"uint6", 35},
        {"uint7", 36},
        {"int1", 37},
        {"int2", 38},
        {"int3", 39},
        {"int4", 40},
        {"int5", 41},
        {"int6", 42},
        {"int7", 43},
        {"float8_e8m0fnu", 44},
        {"float4_e2m1fn_x2", 45},
    };
    return table;
}

// The custom classes that PyTorch itself registers and its operators name.
constexpr std::string_view kClasses[] = {"c10d.ProcessGroup",
                                         "c10d.ReduceOp",
                                         "c10d.SymmetricMemory",
                                         "c10d.Work",
                                         "dist_rpc.WorkerInfo",
                                         "mkldnn.ConvOpContext",
                                         "profiler._RecordFunction",
                                         "quantized.Conv2dPackedParamsBase",
                                         "quantized.Conv3dPackedParamsBase",
                                         "quantized.EmbeddingPackedParamsBase",
                                         "quantized.LinearPackedParamsBase",
                                         "rnn.CellParamsBase",
                                         "sparse.LinearPackedParamsBase"};
std::unordered_set<std::string>& added_classes() {
    static auto* names = new std::unordered_set<std::string>;
    return *names;
}
bool is_class(const std::string& name) {
    return std::find(std::begin(kClasses), std::end(kClasses), name) != std::end(kClasses) ||
           added_classes().count(name);
}

class Parser {
  public:
    Parser(const std::string& text, bool type_variables) : lexer_(text), type_variables_(type_variables) {}

    Schema schema() {
        Schema s;
        name(s);
        bool complete = lexer_.current().is('(');
        if (complete) declaration(s);
        lexer_.next_if(Token::Newline);
        if (lexer_.current().kind != Token::End) lexer_.fail_expected("eof");
        MT_CHECK(complete, "Tried to parse a function schema but only the operator name was given");
        check(s);
        return s;
    }

  private:
    std::string identifier() { return lexer_.text_of(lexer_.expect(Token::Ident, "ident")); }

    void name(Schema& s) {
        s.name = identifier();
        if (lexer_.next_if(':')) {
            lexer_.expect(':');
            s.ns = s.name;
            s.name = identifier();
        }
        if (!lexer_.next_if('.')) return;
        s.overload = identifier();
        MT_CHECK(s.overload != "default" && s.overload.rfind("__", 0) != 0, s.overload,
                 " is not a legal overload name for aten operators");
    }

    template <class Item>
    void list(char open, char close, Item item) {
        lexer_.expect(open);
        if (lexer_.next_if(close)) return;
        do item();
        while (lexer_.next_if(','));
        lexer_.expect(close);
    }

    void declaration(Schema& s) {
        bool keyword_only = false;
        list('(', ')', [&] {
            if (s.vararg) lexer_.fail("... must be the last element of the argument list", lexer_.current());
            if (lexer_.next_if('*')) {
                keyword_only = true;
            } else if (lexer_.next_if(Token::Dots)) {
                s.vararg = true;
            } else {
                s.args.push_back(argument(false));
                s.args.back().keyword_only = keyword_only;
            }
        });
        bool defaults = std::any_of(s.args.begin(), s.args.end(), [](const Argument& a) { return a.has_default; });
        if (s.vararg && defaults)
            lexer_.fail("schemas with vararg (...) can't have default value args", lexer_.current());
        lexer_.expect(Token::Arrow, "arrow");
        if (lexer_.next_if(Token::Dots)) {
            s.varret = true;
        } else if (lexer_.current().is('(')) {
            list('(', ')', [&] {
                if (s.varret) lexer_.fail("... must be the last element of the return list", lexer_.current());
                if (lexer_.next_if(Token::Dots))
                    s.varret = true;
                else
                    s.returns.push_back(argument(true));
            });
        } else {
            s.returns.push_back(argument(true));
        }
    }

    static void check(Schema& s) {
        bool seen_default = false;
        for (size_t i = 0; i < s.args.size(); i++) {
            const Argument& a = s.args[i];
            if (a.keyword_only) continue;
            s.positional++;
            MT_CHECK(!seen_default || a.has_default || a.type->is(TypeKind::List),
                     "Non-default positional argument follows default argument. Parameter ", a.name, " in ", s.text());
            seen_default = seen_default || a.has_default;
        }
    }

    // ---- types ----

    struct Parsed {
        TypeRef type;
        AliasInfo alias;
    };

    AliasInfo alias_set() {
        AliasInfo a;
        if (lexer_.next_if('!')) {
            a.present = a.writes = true;
            a.before.push_back("$" + std::to_string(fresh_++));
            return a;
        }
        if (!lexer_.next_if('(')) return a;
        a.present = true;
        if (lexer_.current().kind == Token::Fresh) {  // as `Tensor!` is printed: ($0! -> )
            a.before.push_back(lexer_.text_of(lexer_.next()));
            a.writes = true;
            lexer_.expect('!');
            lexer_.expect(Token::Arrow, "arrow");
            lexer_.expect(')');
            return a;
        }
        a.before = names();
        a.writes = lexer_.next_if('!');
        if (lexer_.next_if(Token::Arrow))
            a.after = names();
        else
            a.after = a.before;
        lexer_.expect(')');
        return a;
    }
    // a|b|c, where nothing may follow a "*"
    std::vector<std::string> names() {
        std::vector<std::string> set;
        do {
            if (lexer_.next_if('*')) {
                set.insert(set.begin(), "*");
                break;
            }
            std::string name = identifier();
            if (std::find(set.begin(), set.end(), name) == set.end()) set.insert(set.begin(), name);
        } while (lexer_.next_if('|'));
        return set;
    }
    // The set of a list around the set of its items.
    AliasInfo list_alias(AliasInfo item) {
        AliasInfo list = alias_set();
        if (item.present) {
            if (!list.present) list.writes = item.writes;
            list.present = true;
            list.items.push_back(std::move(item));
        }
        return list;
    }

    TypeRef base_type() {
        Token t = lexer_.current();
        if (t.is("None") || t.is("NoneType"))
            lexer_.next();
        else
            lexer_.expect(Token::Ident, "ident");
        std::string word = lexer_.text_of(t);
        while (lexer_.next_if('.')) word += "." + identifier();
        auto found = base_types().find(word);
        if (found != base_types().end()) return simple_type(found->second);
        if (type_variables_ && word[0] >= 'a' && word[0] <= 'z') return named_type(TypeKind::Var, word);
        if (word == "double")
            lexer_.fail(
                "Use `float` instead of `double` in an operator's schema string. `float` in schema corresponds to the "
                "double type in C++",
                t);
        if (word == "int64_t")
            lexer_.fail(
                "Use `SymInt` or `int` instead of `int64_t` in an operator's schema string. `SymInt` corresponds to "
                "c10::SymInt in C++ while `int` in schema corresponds to the int64_t type in C++.",
                t);
        lexer_.fail(
            "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a "
            "full list, please see "
            "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func ",
            t);
    }

    // __torch__.torch.classes.ns.Name
    TypeRef class_type() {
        lexer_.next();
        for (const char* part : {"torch", "classes"}) {
            lexer_.expect('.');
            Token t = lexer_.expect(Token::Ident, "ident");
            std::string word = lexer_.text_of(t);
            if (word != part)
                lexer_.fail(
                    concat("Expected ", part == std::string("torch") ? "classes" : part, " namespace but got ", word),
                    t);
        }
        lexer_.expect('.');
        Token space = lexer_.expect(Token::Ident, "ident");
        lexer_.expect('.');
        Token at = lexer_.expect(Token::Ident, "ident");
        std::string name = lexer_.text_of(space) + "." + lexer_.text_of(at);
        if (!is_class(name))
            lexer_.fail(concat("Unknown custom class type ", name, ". Please ensure it is registered."), at);
        return named_type(TypeKind::Class, "__torch__.torch.classes." + name);
    }

    Parsed type() {
        MT_CHECK(++depth_ < kDeepest, "a schema's types may be nested at most ", kDeepest, " deep");
        Parsed p;
        Token t = lexer_.current();
        std::string word = t.kind == Token::Ident ? lexer_.text_of(t) : "";
        if (t.is('(')) {
            std::vector<TypeRef> items;
            list('(', ')', [&] { items.push_back(value_type(type().type, true)); });
            p.type = type_of(TypeKind::Tuple, std::move(items));
        } else if (word == "Tensor") {
            lexer_.next();
            p.type = simple_type(TypeKind::Tensor);
            p.alias = alias_set();
        } else if (word == "Future" || word == "Await" || word == "RRef") {
            lexer_.next();
            lexer_.expect('(');
            TypeRef item = type().type;
            lexer_.expect(')');
            TypeKind kind = word == "Future" ? TypeKind::Future : word == "Await" ? TypeKind::Await : TypeKind::RRef;
            p.type = type_of(kind, {item});
        } else if (word == "Dict") {
            lexer_.next();
            lexer_.expect('(');
            TypeRef key = value_type(type().type);
            lexer_.expect(',');
            TypeRef value = value_type(type().type);
            lexer_.expect(')');
            p.alias = alias_set();
            bool usable = key->is(TypeKind::Int) || key->is(TypeKind::Bool) || key->is(TypeKind::Float) ||
                          key->is(TypeKind::Complex) || key->is(TypeKind::Tensor) || key->is(TypeKind::Device) ||
                          key->is(TypeKind::String);
            MT_CHECK(usable, "Cannot create dict for key type '", key->annotation(),
                     "', only int, float, complex, Tensor, device and string keys are supported");
            p.type = type_of(TypeKind::Dict, {key, value});
        } else if (word == "Union") {
            lexer_.next();
            lexer_.expect('(');
            std::vector<TypeRef> members;
            do members.push_back(value_type(type().type));
            while (lexer_.next_if(','));
            lexer_.expect(')');
            p.alias = alias_set();
            p.type = union_of(members);
        } else if (word == "__torch__") {
            p.type = class_type();
            p.alias = alias_set();
        } else {
            p.type = base_type();
            p.alias = alias_set();
        }
        // Suffixes nest as brackets do: each is a type around the one before.
        for (int around = depth_;; around++) {
            MT_CHECK(around < kDeepest, "a schema's types may be nested at most ", kDeepest, " deep");
            if (lexer_.current().is('[') && lexer_.lookahead().is(']')) {
                lexer_.next();
                lexer_.next();
                p.type = type_of(TypeKind::List, {p.type});
                p.alias = list_alias(std::move(p.alias));
            } else if (lexer_.next_if('?')) {
                MT_CHECK(!p.type->is(TypeKind::None),
                         "NoneType? is no type: an optional needs something that may be there");
                // A Scalar is a union of numbers to PyTorch, and so it shows one that is optional twice.
                if (p.type->is(TypeKind::Optional) && p.type->item()->is(TypeKind::Number))
                    p.type = type_of(TypeKind::Union, {p.type->item()});
                p.type = optional_of(p.type);
            } else {
                depth_--;
                return p;
            }
        }
    }
    // Inside tuples, Dict and Union PyTorch keeps the type of the values: SymInt and ScalarType are int.
    static TypeRef value_type(TypeRef t, bool tuple = false) {
        if (t->is(TypeKind::List)) return type_of(TypeKind::List, {value_type(t->item(), tuple)});
        if (t->is(TypeKind::Optional)) return optional_of(value_type(t->item(), tuple));
        if (t->is(TypeKind::SymInt) || t->value_kind() != t->kind) return simple_type(TypeKind::Int);
        if (t->is(TypeKind::SymBool) && !tuple) return simple_type(TypeKind::Bool);
        return t;
    }

    // ---- arguments ----

    int64_t integer(const std::string& text) {
        int64_t v = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
        (void)end;  // "0x10" is 0 and "1E3" is 1, as PyTorch reads them
        MT_CHECK(error != std::errc::result_out_of_range, "the integer ", text, " does not fit 64 bits");
        return v;
    }
    double real(const std::string& text) {
        bool hexadecimal = text.find_first_of("xX") != std::string::npos;
        std::string digits = text;
        if (hexadecimal) digits.erase(digits.find_first_of("xX") - 1, 2);
        double v = 0;
        auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v,
                                            hexadecimal ? std::chars_format::hex : std::chars_format::general);
        (void)end;
        bool subnormal = v != 0 && std::fabs(v) < std::numeric_limits<double>::min();
        MT_CHECK(error == std::errc() && !subnormal, "the floating-point default ", text, " is out of range");
        return v;
    }

    Argument argument(bool result) {
        Argument a;
        Parsed p = type();
        if (lexer_.next_if('[')) {
            Token t = lexer_.expect(Token::Number, "number");
            int64_t n = integer(lexer_.text_of(t));
            if (n < 0 || n > (1 << 20)) lexer_.fail("the size of a list must be between 0 and 1048576", t);
            lexer_.expect(']');
            a.list_size = static_cast<int>(n);
            a.sized = true;
            p.type = type_of(TypeKind::List, {p.type});
            p.alias = list_alias(std::move(p.alias));
            if (lexer_.next_if('?')) p.type = optional_of(p.type);
        }
        a.type = p.type;
        a.alias_info = p.alias;
        if (result) {
            if (lexer_.current().kind == Token::Ident) a.name = identifier();
        } else {
            a.name = identifier();
            if (lexer_.next_if('=')) {
                a.has_default = true;
                a.literal = default_of(a);
            }
        }
        compile(a);
        return a;
    }

    // ---- defaults ----

    Literal default_of(const Argument& a) {
        const Type& t = *a.type;
        switch (t.value_kind()) {
            case TypeKind::Tensor:
            case TypeKind::Generator:
            case TypeKind::Quantizer:
                return none();
            case TypeKind::Device:
                return device();
            case TypeKind::Optional:
            case TypeKind::Number:
            case TypeKind::Int:
            case TypeKind::SymInt:
            case TypeKind::Bool:
            case TypeKind::Float:
            case TypeKind::Complex:
            case TypeKind::String:
                return constant(t);
            case TypeKind::List:
                return list_default(a);
            default:
                lexer_.fail("unexpected type, file a bug report", lexer_.current());
        }
    }
    Literal none() {
        if (!lexer_.current().is("None")) lexer_.fail_expected("None");
        lexer_.next();
        return {};
    }
    Literal device() {
        Literal l;
        l.kind = Literal::String;
        Token t = lexer_.current();
        if (t.kind == Token::Ident) {  // as PyTorch prints it: cpu, cuda:1
            l.s = identifier();
            if (lexer_.next_if(':')) l.s += ":" + lexer_.text_of(lexer_.expect(Token::Number, "number"));
        } else {
            lexer_.expect(Token::String, "string_literal");
            l.s = string_value(t);
        }
        parse_device(l.s);
        return l;
    }

    Literal list_default(const Argument& a) {
        const Type& item = *a.type->item();
        Literal l;
        l.kind = Literal::List;
        Token start = lexer_.current();
        if (start.kind == Token::Ident) return none();
        if (a.sized && !start.is('['))
            l.items.assign(static_cast<size_t>(a.list_size), constant(item));
        else
            list('[', ']', [&] { l.items.push_back(constant(item)); });
        Literal::Kind wanted;
        switch (item.value_kind()) {
            case TypeKind::Int:
            case TypeKind::SymInt:
                wanted = Literal::Int;
                break;
            case TypeKind::Bool:
                wanted = Literal::Bool;
                break;
            case TypeKind::Float:
                wanted = Literal::Float;
                break;
            case TypeKind::Complex:
                wanted = Literal::Complex;
                break;
            default:
                lexer_.fail("lists are only supported for float, int and complex types", start);
        }
        for (const Literal& each : l.items)
            MT_CHECK(each.kind == wanted, "expected ", item.annotation(), " as an item of the default of a list, not ",
                     each.text());
        return l;
    }

    Literal constant(const Type& t) {
        const Type& inner = t.is(TypeKind::Optional) ? *t.item() : t;
        Literal l;
        Token at = lexer_.current();
        if (at.is("None")) {
            lexer_.next();
            return l;
        }
        if (at.is("True") || at.is("False")) {
            l.kind = Literal::Bool;
            l.b = at.is("True");
            lexer_.next();
            return l;
        }
        if (at.kind == Token::String) {
            l.kind = Literal::String;
            l.s = string_value(lexer_.next());
            return l;
        }
        if (at.kind == Token::Ident) {
            std::string word = lexer_.text_of(lexer_.next());
            const auto& table = number_words();
            auto found = table.find(word);
            if (inner.is(TypeKind::ScalarType)) {
                auto named = dtype_words().find(word);
                if (named != dtype_words().end())
                    found = named;
                else if (found == table.end())
                    lexer_.fail("invalid numeric default value", lexer_.current());
            } else if (found == table.end()) {
                lexer_.fail("invalid numeric default value", lexer_.current());
            }
            l.kind = Literal::Int;
            l.i = found->second;
            l.b = word == "Mean";
            return l;
        }
        return number(t);
    }

    Literal number(const Type& t) {
        Literal l;
        std::string sign = lexer_.next_if('-') ? "-" : "";
        std::string text = sign + lexer_.text_of(lexer_.expect(Token::Number, "number"));
        if (text == "0." && (lexer_.current().is('+') || lexer_.current().is('-'))) {
            // as complex numbers are printed: 0.+2.j
            Token ahead = lexer_.lookahead();
            if (ahead.kind == Token::Number && lexer_.text_of(ahead).back() == 'j') {
                sign = lexer_.next_if('-') ? "-" : (lexer_.next(), "");
                text = sign + lexer_.text_of(lexer_.next());
            }
        }
        bool imaginary = text.back() == 'j';
        if (imaginary || t.is(TypeKind::Complex)) {
            MT_CHECK(text.size() > 1, "a complex default is written as an imaginary number such as 2.5j, not ", text);
            l.kind = Literal::Complex;
            l.d = real(text.substr(0, text.size() - 1));  // the last character is taken for the j, as PyTorch does
        } else if (t.is(TypeKind::Float) || text.find('.') != std::string::npos ||
                   text.find('e') != std::string::npos) {
            l.kind = Literal::Float;
            l.d = real(text);
        } else {
            l.kind = Literal::Int;
            l.i = integer(text);
        }
        return l;
    }

    std::string string_value(const Token& t) {
        std::string raw = lexer_.text_of(t);
        size_t width = raw.size() >= 6 && raw[1] == raw[0] && raw[2] == raw[0] ? 3 : 1;
        std::string out;
        for (size_t i = width; i < raw.size() - width; i++) {
            if (raw[i] != '\\') {
                out += raw[i];
                continue;
            }
            char c = raw[++i];
            static const std::unordered_map<char, char> plain = {{'\\', '\\'}, {'\'', '\''}, {'"', '"'},
                                                                 {'a', '\a'},  {'b', '\b'},  {'f', '\f'},
                                                                 {'n', '\n'},  {'v', '\v'},  {'t', '\t'}};
            auto found = plain.find(c);
            if (found != plain.end()) {
                out += found->second;
            } else if (c == '\n') {
                out += '\n';
            } else if (c == 'x') {
                lexer_.fail("unsupported hex specifier", t);
            } else if (c == 'u' || c == 'U') {
                lexer_.fail("unsupported unicode specifier", t);
            } else {
                int value = 0;
                bool octal = i + 2 < raw.size() - width;
                for (size_t k = i; octal && k < i + 3; k++) {
                    octal = raw[k] >= '0' && raw[k] <= '7';
                    value = value * 8 + (raw[k] - '0');
                }
                if (!octal || value > 255) lexer_.fail(" ill formed octal specifier", t);
                out += static_cast<char>(value);
                i += 2;
            }
        }
        return out;
    }

    // ---- what the binder needs ----

    static ArgKind kind_of(const Type& t) {
        switch (t.kind) {
            case TypeKind::Tensor:
                return ArgKind::Tensor;
            case TypeKind::Int:
            case TypeKind::SymInt:
                return ArgKind::Int;
            case TypeKind::Float:
                return ArgKind::Float;
            case TypeKind::Bool:
            case TypeKind::SymBool:
                return ArgKind::Bool;
            case TypeKind::Complex:
                return ArgKind::Complex;
            case TypeKind::Number:
                return ArgKind::Scalar;
            case TypeKind::String:
                return ArgKind::Str;
            case TypeKind::ScalarType:
                return ArgKind::DType;
            case TypeKind::Layout:
                return ArgKind::Layout;
            case TypeKind::MemoryFormat:
                return ArgKind::MemoryFormat;
            case TypeKind::Device:
                return ArgKind::Device;
            case TypeKind::Generator:
                return ArgKind::Generator;
            case TypeKind::Storage:
                return ArgKind::Storage;
            case TypeKind::List:
                break;
            default:
                return ArgKind::Any;
        }
        switch (t.item()->kind) {
            case TypeKind::Int:
            case TypeKind::SymInt:
                return ArgKind::IntList;
            case TypeKind::Float:
                return ArgKind::FloatList;
            case TypeKind::Bool:
                return ArgKind::BoolList;
            case TypeKind::Number:
                return ArgKind::ScalarList;
            case TypeKind::String:
                return ArgKind::StrList;
            case TypeKind::Tensor:
                return ArgKind::TensorList;
            case TypeKind::Optional:
                return t.item()->item()->is(TypeKind::Tensor) ? ArgKind::OptionalTensorList : ArgKind::Any;
            default:
                return ArgKind::Any;
        }
    }

    static void compile(Argument& a) {
        a.optional = a.type->is(TypeKind::Optional);
        const Type& t = a.optional ? *a.type->item() : *a.type;
        a.kind = kind_of(t);
        a.type_text = t.is(TypeKind::List) && a.list_size
                          ? t.item()->text() + "[" + std::to_string(a.list_size) + "]" + (a.optional ? "?" : "")
                          : a.type->text();
        const AliasInfo& info =
            a.alias_info.before.empty() && !a.alias_info.items.empty() ? a.alias_info.items[0] : a.alias_info;
        std::string shown = info.text();
        if (!info.before.empty()) a.alias = shown.substr(1, shown.size() - 2);
        a.writes = a.alias_info.writes;
        if (!a.has_default) return;
        Argument only_default;
        only_default.type = a.type;
        only_default.list_size = a.list_size;
        only_default.literal = a.literal;
        only_default.has_default = true;
        std::string text = only_default.text();
        a.default_text = text.substr(text.find('=') + 1);
        value_of_default(a);
    }

    static void value_of_default(Argument& a) {
        const Literal& l = a.literal;
        Value& v = a.default_value;
        switch (l.kind) {
            case Literal::None:
                return;
            case Literal::Bool:
                v = Value::of(l.b);
                break;
            case Literal::Int:
                v = Value::of(l.i);
                break;
            case Literal::Float:
                v = Value::of(l.d);
                break;
            case Literal::Complex:
                v = Value::of(c128(0, l.d));
                break;
            case Literal::String:
                if (a.kind == ArgKind::Device) {
                    v.tag = Tag::Device;
                    v.device = parse_device(l.s);
                } else {
                    v.tag = Tag::Str;
                }
                return;
            case Literal::List:
                for (const Literal& item : l.items) {
                    a.default_ints.push_back(item.i);
                    a.default_doubles.push_back(item.d);
                    a.default_bools.push_back(item.b);
                }
                v.tag = a.kind == ArgKind::FloatList  ? Tag::DoubleList
                        : a.kind == ArgKind::BoolList ? Tag::BoolList
                                                      : Tag::IntList;
                return;
        }
        // Numbers are kept as the declared type where they have a value of it; PyTorch reads `int x=1.5` as 1.5.
        if (a.kind == ArgKind::Float && v.tag == Tag::Int) v = Value::of(v.as_double());
        if (a.kind == ArgKind::DType && v.tag == Tag::Int) v = Value::of(static_cast<DType>(l.i));
        if (v.tag == Tag::Int && a.kind == ArgKind::Layout) v.tag = Tag::Layout;
        if (v.tag == Tag::Int && a.kind == ArgKind::MemoryFormat) v.tag = Tag::MemoryFormat;
    }

    Lexer lexer_;
    bool type_variables_;
    int fresh_ = 0, depth_ = 0;
};

}  // namespace

void add_class(const std::string& name) { added_classes().insert(name); }

Schema parse_schema(const std::string& text, bool type_variables) { return Parser(text, type_variables).schema(); }

}  // namespace mt
