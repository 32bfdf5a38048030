// Tokens of a schema, and errors that show the place.
#pragma once

#include <string>

namespace mt {

struct Token {
    enum Kind : uint8_t { Symbol, Ident, Number, String, Arrow, Dots, Word, Fresh, Newline, End } kind = End;
    std::string shown;  // what errors call it: "ident", "number", "arrow", "(", "for"
    size_t begin = 0, end = 0;
    bool is(char c) const { return kind == Symbol && shown.size() == 1 && shown[0] == c; }
    bool is(const char* word) const { return kind == Word && shown == word; }
};

// Reads one schema from left to right with one token of lookahead. Raises RuntimeError with the text and a caret.
class Lexer {
  public:
    explicit Lexer(const std::string& text);
    const Token& current() const { return current_; }
    Token lookahead() const;
    Token next();
    bool next_if(char c);
    bool next_if(Token::Kind kind);
    void expect(char c);
    Token expect(Token::Kind kind, const char* called);
    std::string text_of(const Token& t) const { return text_.substr(t.begin, t.end - t.begin); }
    // "expected ident but found ')' here:", the text and a caret
    [[noreturn]] void fail_expected(const std::string& what) const { fail_expected(what, current_); }
    [[noreturn]] void fail(const std::string& message, const Token& at) const;

  private:
    [[noreturn]] void fail_expected(const std::string& what, const Token& at) const;
    Token read(size_t& at, int& nesting) const;
    Token read_newline(size_t& at) const;
    std::string marked(const Token& t) const;
    const std::string& text_;
    size_t at_ = 0;
    int nesting_ = 0;  // open brackets: line ends mean nothing inside
    Token current_;
};

}  // namespace mt
