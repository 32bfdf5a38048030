#include "schema_lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "error.h"

namespace mt {
namespace {

constexpr const char* kReserved[] = {"False",  "True",   "None",  "NoneType", "and",  "or",    "not",
                                     "if",     "elif",   "else",  "while",    "for",  "in",    "is",
                                     "def",    "return", "class", "import",   "pass", "break", "continue",
                                     "global", "assert", "with",  "raise",    "del"};
// Operators that the language of schemas shares with TorchScript, and what errors call them. Longest first.
struct Spelling {
    const char* text;
    const char* name;
};
constexpr Spelling kOperators[] = {
    {"...", "dots"},        {"<=>", "equivalent"}, {"**=", "**="}, {"<<=", "<<="}, {">>=", ">>="}, {"->", "arrow"},
    {"**", "pow operator"}, {"==", "eq"},          {"!=", "ne"},   {"<=", "le"},   {">=", "ge"},   {"//", "floordiv"},
    {"<<", "lshift"},       {">>", "rshift"},      {"+=", "+="},   {"-=", "-="},   {"*=", "*="},   {"/=", "/="},
    {"%=", "%="},           {"&=", "&="},          {"|=", "|="},   {"^=", "^="}};
constexpr const char* kSymbols = "+-*/%@()[]:,={}><.?!&^|~";

bool starts(const std::string& s, size_t at, const char* what) { return s.compare(at, std::strlen(what), what) == 0; }
bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

// The length of the number at s[at], as the C locale's strtod reads it (hexadecimal too), with a trailing "j".
size_t number_length(const std::string& s, size_t at) {
    if (!digit(s[at]) && s[at] != '.') return 0;
    bool hexadecimal = s[at] == '0' && at + 1 < s.size() && (s[at + 1] == 'x' || s[at + 1] == 'X');
    size_t begin = at + (hexadecimal ? 2 : 0);
    double value;
    auto [end, error] = std::from_chars(s.data() + begin, s.data() + s.size(), value,
                                        hexadecimal ? std::chars_format::hex : std::chars_format::general);
    (void)error;
    size_t stop = static_cast<size_t>(end - s.data());
    if (stop == begin) {
        if (!hexadecimal) return 0;
        stop = at + 1;  // "0x" without digits: the number is 0
    }
    if (stop < s.size() && s[stop] == 'j') stop++;
    return stop - at;
}

// The length of the string literal at s[at], 0 if it does not end.
size_t string_length(const std::string& s, size_t at) {
    char quote = s[at];
    size_t width = s.compare(at, 3, std::string(3, quote)) == 0 ? 3 : 1;
    for (size_t i = at + width; i < s.size(); i++) {
        if (s[i] == '\\') {
            i++;
        } else if (s[i] == '\n' && width == 1) {
            return 0;
        } else if (s.compare(i, width, std::string(width, quote)) == 0) {
            return i + width - at;
        }
    }
    return 0;
}

size_t characters(const std::string& utf8) {
    return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

Lexer::Lexer(const std::string& text) : text_(text) {
    // Line ends and blanks before the schema mean nothing.
    do {
        current_ = read(at_, nesting_);
    } while (current_.kind == Token::Newline);
}

Token Lexer::read_newline(size_t& at) const {
    Token t;
    t.kind = Token::Newline;
    t.begin = at;
    size_t depth = 0;
    while (at < text_.size()) {
        char c = text_[at];
        if (c == '\n') {
            depth = 0;
        } else if (c == '#') {
            while (at < text_.size() && text_[at] != '\n') at++;
            continue;
        } else if (std::isspace(static_cast<unsigned char>(c))) {
            depth++;
        } else {
            break;
        }
        at++;
    }
    t.shown = depth && at < text_.size() ? "indent" : "newline";
    t.end = t.begin + 1;
    return t;
}

Token Lexer::read(size_t& at, int& nesting) const {
    for (;;) {
        if (at >= text_.size()) {
            Token t;
            t.shown = "eof";
            t.begin = t.end = text_.size();
            return t;
        }
        char c = text_[at];
        if (c == '#') {
            while (at < text_.size() && text_[at] != '\n') at++;
        } else if (c == '\\' && at + 1 < text_.size() && text_[at + 1] == '\n') {
            at += 2;
        } else if (c == '\n' && nesting == 0) {
            return read_newline(at);
        } else if (std::isspace(static_cast<unsigned char>(c))) {
            at++;
        } else {
            break;
        }
    }
    Token t;
    t.begin = at;
    char c = text_[at];
    auto made = [&](Token::Kind kind, std::string shown, size_t length) {
        t.kind = kind;
        t.shown = std::move(shown);
        t.end = at += length;
        return t;
    };
    if (size_t n = number_length(text_, at)) return made(Token::Number, "number", n);
    if (c == '"' || c == '\'')
        if (size_t n = string_length(text_, at)) return made(Token::String, "string_literal", n);
    if (c == '$' && at + 1 < text_.size() && digit(text_[at + 1])) {
        size_t end = at + 1;
        while (end < text_.size() && digit(text_[end])) end++;
        return made(Token::Fresh, "$", end - at);
    }
    if (letter(c)) {
        size_t end = at;
        while (end < text_.size() && (letter(text_[end]) || digit(text_[end]))) end++;
        std::string word = text_.substr(at, end - at);
        if (word == "is" && starts(text_, end, " not") &&
            (end + 4 >= text_.size() || !(letter(text_[end + 4]) || digit(text_[end + 4]))))
            return made(Token::Word, "is not", end + 4 - at);
        bool reserved =
            std::any_of(std::begin(kReserved), std::end(kReserved), [&](const char* w) { return word == w; });
        return made(reserved ? Token::Word : Token::Ident, reserved ? word : "ident", end - at);
    }
    for (const Spelling& s : kOperators)
        if (starts(text_, at, s.text)) {
            Token::Kind kind = !std::strcmp(s.text, "->")    ? Token::Arrow
                               : !std::strcmp(s.text, "...") ? Token::Dots
                                                             : Token::Word;
            return made(kind, s.name, std::strlen(s.text));
        }
    if (c != 0 && std::strchr(kSymbols, c)) {
        if (std::strchr("([{", c)) nesting++;
        if (std::strchr(")]}", c)) nesting--;
        return made(Token::Symbol, std::string(1, c), 1);
    }
    size_t length = 1;  // of the character in UTF-8
    while (at + length < text_.size() && (text_[at + length] & 0xC0) == 0x80) length++;
    t.shown = text_.substr(at, length);
    t.end = at + length;
    fail_expected("a valid token", t);
}

Token Lexer::lookahead() const {
    size_t at = at_;
    int nesting = nesting_;
    return read(at, nesting);
}
Token Lexer::next() {
    Token t = current_;
    current_ = read(at_, nesting_);
    return t;
}
bool Lexer::next_if(char c) {
    if (!current_.is(c)) return false;
    next();
    return true;
}
bool Lexer::next_if(Token::Kind kind) {
    if (current_.kind != kind) return false;
    next();
    return true;
}
void Lexer::expect(char c) {
    if (!next_if(c)) fail_expected(std::string(1, c));
}
Token Lexer::expect(Token::Kind kind, const char* called) {
    if (current_.kind != kind) fail_expected(called);
    return next();
}

// The text with up to two lines before and after the token's line, and a caret below the token.
std::string Lexer::marked(const Token& t) const {
    if (t.begin == 0 && t.end == text_.size()) return text_;
    constexpr int kContext = 2;
    size_t line = t.begin;
    while (line > 0 && text_[line - 1] != '\n') line--;
    size_t first = line;
    for (int i = 0; i < kContext && first > 0; i++) {
        first--;
        while (first > 0 && text_[first - 1] != '\n') first--;
    }
    std::string shown = text_.substr(first, line - first);
    if (t.begin >= text_.size()) return shown + text_.substr(line);
    size_t end = line;
    while (line < t.end) {
        end = text_.find('\n', line);
        if (end == std::string::npos) end = text_.size();
        shown += text_.substr(line, end - line) + "\n";
        size_t from = t.begin > line ? t.begin - line : 0, to = std::min(end, t.end) - line;
        if (to > from) {
            size_t before = characters(text_.substr(line, from)),
                   below = characters(text_.substr(line + from, to - from));
            shown += std::string(before, ' ') + std::string(below, '~') + (end >= t.end ? " <--- HERE\n" : "\n");
        }
        line = end + 1;
    }
    if (line < text_.size()) {
        size_t last = line;
        for (int i = 0; i < kContext && last < text_.size(); i++) {
            last = text_.find('\n', last);
            last = last == std::string::npos ? text_.size() : last + 1;
        }
        shown += text_.substr(line, last - line);
        if (shown.back() != '\n') shown += '\n';
    }
    return shown;
}

void Lexer::fail(const std::string& message, const Token& at) const {
    MT_THROW(Runtime, "\n", message, ":\n", marked(at));
}
void Lexer::fail_expected(const std::string& what, const Token& at) const {
    MT_THROW(Runtime, "expected ", what, " but found '", at.shown, "' here:\n", marked(at));
}

}  // namespace mt
