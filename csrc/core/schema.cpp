// The canonical text of schemas: PyTorch's, and such that it parses back to the same schema.
#include "schema.h"

#include <cmath>
#include <cstdio>

namespace mt {
namespace {

std::string quoted(const std::string& s) {
    std::string out = "\"";
    for (char c : s) {
        switch (c) {
            case '\\':
            case '\'':
            case '"':
                out += '\\';
                out += c;
                break;
            case '\a':
                out += "\\a";
                break;
            case '\b':
                out += "\\b";
                break;
            case '\f':
                out += "\\f";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\v':
                out += "\\v";
                break;
            default:
                if (c >= 0x20 && c < 0x7f) {
                    out += c;
                } else {
                    char octal[8];
                    std::snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned char>(c));
                    out += octal;
                }
        }
    }
    return out + "\"";
}

// int[2] x=1: one number stands for a list of the stated length. PyTorch writes it so for int, and only for int.
bool broadcast(const Argument& a) {
    const Type& t = a.type->is(TypeKind::Optional) ? *a.type->item() : *a.type;
    if (!t.is(TypeKind::List) || !t.item()->is(TypeKind::Int) || a.literal.kind != Literal::List) return false;
    const std::vector<Literal>& items = a.literal.items;
    if (items.size() < 2 || items.size() != static_cast<size_t>(a.list_size)) return false;
    for (const Literal& l : items)
        if (!(l == items[0])) return false;
    return true;
}

// A type with its alias sets. Of lists in lists only the outer two sets are shown, as PyTorch does.
std::string shown(const Argument& a) {
    const bool optional = a.type->is(TypeKind::Optional);
    const Type& t = optional ? *a.type->item() : *a.type;
    std::string s = t.text();
    if (t.is(TypeKind::List)) {
        s = t.item()->text();
        if (!a.alias_info.items.empty()) s += a.alias_info.items[0].text();
        s += "[" + (a.sized ? std::to_string(a.list_size) : "") + "]";
    }
    if (!a.alias_info.before.empty()) s += a.alias_info.text();
    return optional ? s + "?" : s;
}

}  // namespace

std::string float_text(double v) {
    if (v >= -0x1p63 && v < 0x1p63 && static_cast<double>(static_cast<int64_t>(v)) == v)
        return std::to_string(static_cast<int64_t>(v)) + ".";
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17g", v);
    return buffer;
}

std::string Literal::text() const {
    switch (kind) {
        case None:
            return "None";
        case Bool:
            return b ? "True" : "False";
        case Int:
            return std::to_string(i);
        case Float:
            return float_text(d);
        case Complex:
            return "0." + std::string(d < 0 ? "-" : "+") + float_text(std::fabs(d)) + "j";
        case String:
            return quoted(s);
        case List:
            break;
    }
    std::string shown = "[";
    for (size_t k = 0; k < items.size(); k++) shown += (k ? ", " : "") + items[k].text();
    return shown + "]";
}

std::string Argument::text() const {
    std::string s = shown(*this);
    if (!name.empty()) s += " " + name;
    if (!has_default) return s;
    if (literal.kind == Literal::String) {  // quoted where the type is that of strings
        const bool quotes =
            type->is(TypeKind::String) || (type->is(TypeKind::Optional) && type->item()->is(TypeKind::String));
        return s + "=" + (quotes ? literal.text() : literal.s);
    }
    return s + "=" + (broadcast(*this) ? literal.items[0].text() : literal.text());
}

std::string Schema::text() const {
    std::string s = full_name() + (overload.empty() ? "" : "." + overload) + "(";
    bool star = false, first = true;
    auto item = [&](const std::string& shown) {
        s += (first ? "" : ", ") + shown;
        first = false;
    };
    for (const Argument& a : args) {
        if (a.name == "...") continue;  // the core's own (rest.h)
        if (a.keyword_only && !star) item("*");
        star = star || a.keyword_only;
        item(a.text());
    }
    if (vararg) item("...");
    s += ") -> ";
    const bool named = !returns.empty() && returns[0].name != "...";
    if (!named && varret) return s + "...";
    bool one = returns.size() == 1 && !varret;
    if (one) {
        // Without brackets, unless the type brings some of its own: ((int, int)), (()), ((str, t)[])
        std::string shown = returns[0].text();
        return s + (shown[0] == '(' ? "(" + shown + ")" : shown);
    }
    s += "(";
    first = true;
    for (const Argument& r : returns)
        if (r.name != "...") item(r.text());
    if (varret) item("...");
    return s + ")";
}

int Schema::index_of(const std::string& arg) const {
    for (size_t i = 0; i < args.size(); i++)
        if (args[i].name == arg) return static_cast<int>(i);
    return -1;
}

}  // namespace mt
