// Values between the forms that the core and the stable ABI have for them.
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "stable/abi.h"

namespace mt::stable {

// ---- types ----

namespace {

constexpr char kTensor = 't', kInt = 'i', kDouble = 'd', kBool = 'b', kDtype = 'y', kLayout = 'l', kFormat = 'm',
               kDevice = 'v', kString = 's', kGenerator = 'g', kOther = 'x', kOptional = '?', kList = '[';

size_t end_of_text(std::string_view s, size_t open) {  // of the quotation mark that ends the text begun at `open`
    for (size_t i = open + 1; i < s.size(); i++) {
        if (s[i] == '\\')
            i++;
        else if (s[i] == s[open])
            return i;
    }
    return s.size();
}

bool is_quotation_mark(char c) { return c == '"' || c == '\''; }

size_t closing(std::string_view s, size_t open) {  // of the bracket at `open`
    int depth = 0;
    for (size_t i = open; i < s.size(); i++) {
        const char c = s[i];
        if (is_quotation_mark(c)) {
            i = end_of_text(s, i);
        } else if (c == '(' || c == '[') {
            depth++;
        } else if ((c == ')' || c == ']') && --depth == 0) {
            return i;
        }
    }
    return s.size();
}

std::vector<std::string_view> parts(std::string_view s) {  // between the commas that stand in no bracket and no text
    std::vector<std::string_view> all;
    size_t begin = 0;
    for (size_t i = 0; i <= s.size(); i++) {
        if (i < s.size() && (s[i] == '(' || s[i] == '[')) i = closing(s, i);
        if (i < s.size() && is_quotation_mark(s[i])) i = end_of_text(s, i);
        if (i >= s.size() || s[i] == ',') {
            while (begin < s.size() && s[begin] == ' ') begin++;
            if (begin < std::min(i, s.size())) all.push_back(s.substr(begin, i - begin));
            begin = i + 1;
        }
    }
    return all;
}

char letter_of(std::string_view name) {
    static const std::pair<std::string_view, char> known[] = {
        {"Tensor", kTensor},       {"int", kInt},        {"SymInt", kInt},   {"float", kDouble},
        {"SymFloat", kDouble},     {"bool", kBool},      {"SymBool", kBool}, {"ScalarType", kDtype},
        {"Layout", kLayout},       {"Device", kDevice},  {"str", kString},   {"MemoryFormat", kFormat},
        {"Generator", kGenerator}, {"DeviceIndex", kInt}};
    for (const auto& [text, letter] : known)
        if (text == name) return letter;
    return kOther;
}

Type type_of(std::string_view s) {  // of what begins with a type
    size_t end = s.find_first_of("([?! ");
    if (end == s.npos) end = s.size();
    const std::string_view name = s.substr(0, end);
    Type type(1, letter_of(name));
    if (type[0] == kOther) type += name;
    while (end < s.size() && s[end] != ' ') {
        if (s[end] == '(') {  // an alias, or what a Dict is of
            end = closing(s, end) + 1;
        } else if (s[end] == '[') {
            type.insert(0, 1, kList);
            end = closing(s, end) + 1;
        } else {
            if (s[end] == '?') type.insert(0, 1, kOptional);
            end++;
        }
    }
    return type;
}

}  // namespace

Types types_of_schema(std::string_view schema) {
    Types types;
    const size_t open = schema.find('('), close = closing(schema, open);
    for (std::string_view part : parts(schema.substr(open + 1, close - open - 1)))
        if (part != "*") types.args.push_back(type_of(part));
    std::string_view results = schema.substr(close + 1);
    results.remove_prefix(std::min(results.size(), results.find("->") + 2));
    while (!results.empty() && results[0] == ' ') results.remove_prefix(1);
    if (!results.empty() && results[0] == '(') results = results.substr(1, closing(results, 0) - 1);
    for (std::string_view part : parts(results)) types.returns.push_back(type_of(part));
    return types;
}

const Types& types_of(mt_operator op) {
    // The core never frees what describes an operator, so that its address stands for it.
    static std::shared_mutex mutex;
    static auto& known = *new std::unordered_map<mt_operator, std::unique_ptr<Types>>;
    {
        std::shared_lock<std::shared_mutex> lock(mutex);
        auto found = known.find(op);
        if (found != known.end()) return *found->second;
    }
    const char* text;
    int32_t nargs, nrets;
    check(core().schema(op, &text, &nargs, &nrets));
    auto types = std::make_unique<Types>(types_of_schema(text));
    if (static_cast<int32_t>(types->args.size()) != nargs || static_cast<int32_t>(types->returns.size()) != nrets)
        fail("an operator of this schema cannot be reached through the stable ABI: ", text);
    std::unique_lock<std::shared_mutex> lock(mutex);
    return *known.emplace(op, std::move(types)).first->second;
}

// ---- from values to cells ----

namespace {

[[noreturn]] void unsupported(const char* from, const char* to, const char* type) {
    fail("Not yet supported conversion from ", from, " to ", to, " for schema type: ", type + 1);
}
[[noreturn]] void mismatch(const mt_value& v, const char* type) {
    fail("a value of another type than the schema says (", type, ") cannot be handed over; it has tag ",
         static_cast<int>(v.tag));
}

template <class T>
StableIValue bytes(T v) {
    StableIValue cell = 0;
    std::memcpy(&cell, &v, sizeof(v));
    return cell;
}
StableIValue device_cell(mt_device d) {
    // A CPU has no number here, as in PyTorch.
    const int32_t index = d.index;
    return static_cast<uint64_t>(d.type) << 32 | static_cast<uint32_t>(index);
}
mt_device device_of(StableIValue cell) {
    return device_numbered(static_cast<int64_t>(cell >> 32), static_cast<int32_t>(cell & 0xffffffff));
}

StableIValue list_cell(const mt_value& v, const char* of) {
    auto made = std::make_unique<List>();
    auto add = [&](const mt_value& one) { made->items.push_back(cell_of(one, of)); };
    try {
        made->items.reserve(v.len);
        switch (v.tag) {
            case MT_INT_LIST:
                for (uint32_t i = 0; i < v.len; i++) add(value(v.as.ints[i]));
                break;
            case MT_DOUBLE_LIST:
                for (uint32_t i = 0; i < v.len; i++) add(value(v.as.doubles[i]));
                break;
            case MT_BOOL_LIST:
                for (uint32_t i = 0; i < v.len; i++) add(value(v.as.bools[i] != 0));
                break;
            case MT_TENSOR_LIST:
                for (uint32_t i = 0; i < v.len; i++) add(value(v.as.tensors[i]));
                break;
            case MT_SCALAR_LIST:
                for (uint32_t i = 0; i < v.len; i++) add(v.as.values[i]);
                break;
            case MT_OBJECT: {
                const char kind = core().kind_of(v.as.object);
                if (kind != 'l' && kind != 't') mismatch(v, of - 1);
                const int64_t n = core().length(v.as.object);
                for (int64_t i = 0; i < n; i++) {
                    mt_value one{};
                    check(core().item(v.as.object, i, &one));
                    add(one);
                }
                break;
            }
            default:
                mismatch(v, of - 1);
        }
        const uint64_t h = new_handle(Kind::List, made.get());
        made.release();
        return h;
    } catch (...) {
        for (StableIValue cell : made->items) drop_cell(cell, of);
        throw;
    }
}

}  // namespace

StableIValue cell_of(const mt_value& v, const char* type) {
    const bool is_int = v.tag == MT_INT || v.tag == MT_LAYOUT || v.tag == MT_MEMORY_FORMAT;
    switch (*type) {
        case kOptional: {
            if (v.tag == MT_NONE || (v.tag == MT_TENSOR && !v.as.tensor)) return 0;
            auto cell = std::make_unique<StableIValue>(cell_of(v, type + 1));
            return number(cell.release());
        }
        case kList:
            return list_cell(v, type + 1);
        case kTensor:
            if (v.tag != MT_TENSOR && v.tag != MT_NONE) mismatch(v, type);
            if (v.tag == MT_TENSOR) core().retain(v.as.tensor);
            return number(own(v.tag == MT_TENSOR ? v.as.tensor : nullptr));
        case kInt:
            if (v.tag == MT_BOOL) return v.as.boolean;
            if (!is_int) mismatch(v, type);
            return bytes(v.as.integer);
        case kLayout:
            if (!is_int) mismatch(v, type);
            return bytes(static_cast<int32_t>(layout_number(v.as.integer)));
        case kFormat:
            if (!is_int) mismatch(v, type);
            return bytes(static_cast<int32_t>(v.as.integer));
        case kDouble:
            if (v.tag == MT_INT) return bytes(static_cast<double>(v.as.integer));
            if (v.tag != MT_DOUBLE) mismatch(v, type);
            return bytes(v.as.real);
        case kBool:
            if (v.tag != MT_BOOL) mismatch(v, type);
            return v.as.boolean != 0;
        case kDtype:
            if (v.tag == MT_INT) return bytes(static_cast<int32_t>(v.as.integer));
            if (v.tag != MT_DTYPE) mismatch(v, type);
            return bytes(static_cast<int32_t>(v.as.dtype));
        case kDevice:
            if (v.tag != MT_DEVICE) mismatch(v, type);
            return device_cell(v.as.device);
        case kString: {
            mt_value s = v;
            if (s.tag == MT_OBJECT) check(core().value_of(v.as.object, &s));
            if (s.tag != MT_STRING) mismatch(s, type);
            auto text = std::make_unique<std::string>(s.as.string, s.len);
            const uint64_t h = new_handle(Kind::String, text.get());
            text.release();
            return h;
        }
        case kGenerator:
            if ((v.tag != MT_GENERATOR && v.tag != MT_OBJECT) || core().kind_of(v.as.object) != 'g') mismatch(v, type);
            core().retain(v.as.object);
            return new_handle(Kind::Generator, v.as.object);
        default:
            unsupported("IValue", "StableIValue", type);
    }
}

// ---- from cells to values ----

Keeper::~Keeper() {
    for (void* r : references_) core().release(r);
}

namespace {

// Frees the cell of an optional value; what was in it.
StableIValue unwrap(StableIValue cell) {
    // A number in the place of a cell's address is what is got wrong most: what cannot be an address is seen.
    if (cell < 4096 || cell % alignof(StableIValue) || cell >> 56)
        fail("the cell of an optional value was expected, got ", reinterpret_cast<void*>(cell),
             ", which is no address");
    std::unique_ptr<StableIValue> inner(reinterpret_cast<StableIValue*>(cell));
    return *inner;
}

mt_object list_object(List& taken, const char* of) {
    std::vector<mt_value> values;
    auto release = [&] {
        for (mt_value& v : values)
            if (v.tag == MT_TENSOR || v.tag == MT_OBJECT || v.tag == MT_GENERATOR) core().release(v.as.object);
    };
    size_t done = 0;
    try {
        for (; done < taken.items.size(); done++) values.push_back(result_of(taken.items[done], of));
        mt_object made = nullptr;
        check(core().list(values.data(), static_cast<int64_t>(values.size()), &made));
        release();
        return made;
    } catch (...) {
        release();
        for (size_t i = done + 1; i < taken.items.size(); i++) drop_cell(taken.items[i], of);
        throw;
    }
}

mt_value object_value(mt_object o) {
    mt_value v{};
    v.tag = MT_OBJECT;
    v.as.object = o;
    return v;
}

// What is the same for arguments and results; tensors, strings and generators as owned references.
mt_value simple(StableIValue cell, const char* type) {
    mt_value v{};
    switch (*type) {
        case kTensor:
            v.as.tensor = static_cast<mt_tensor>(take_handle(cell, Kind::Tensor));
            v.tag = v.as.tensor ? MT_TENSOR : MT_NONE;
            return v;
        case kInt:
            return value(static_cast<int64_t>(cell));
        case kLayout:
            return layout_value(static_cast<int32_t>(cell));
        case kFormat:
            v.tag = MT_MEMORY_FORMAT;
            v.as.integer = static_cast<int32_t>(cell);
            if (v.as.integer < 0 || v.as.integer > 3) fail("no memory format has the number ", v.as.integer);
            return v;
        case kDouble: {
            double d;
            std::memcpy(&d, &cell, sizeof(d));
            return value(d);
        }
        case kBool:
            return value((cell & 0xff) != 0);
        case kDtype:
            return dtype_value(static_cast<int32_t>(cell));
        case kDevice:
            return value(device_of(cell));
        case kString: {
            std::unique_ptr<std::string> s(static_cast<std::string*>(take_handle(cell, Kind::String)));
            v = value(s->c_str());
            v.len = static_cast<uint32_t>(s->size());
            mt_object made = nullptr;
            check(core().object_of(&v, &made));
            return object_value(made);
        }
        case kGenerator:
            v = object_value(static_cast<mt_object>(take_handle(cell, Kind::Generator)));
            v.tag = MT_GENERATOR;
            return v;
        default:
            unsupported("StableIValue", "IValue", type);
    }
}

}  // namespace

void drop_cell(StableIValue cell, const char* type) noexcept {
    guarded([&] {
        switch (*type) {
            case kOptional:
                if (cell) drop_cell(unwrap(cell), type + 1);
                break;
            case kList: {
                std::unique_ptr<List> l(static_cast<List*>(take_handle(cell, Kind::List)));
                for (StableIValue one : l->items) drop_cell(one, type + 1);
                break;
            }
            case kTensor:
                core().release(take_handle(cell, Kind::Tensor));
                break;
            case kString:
                delete static_cast<std::string*>(take_handle(cell, Kind::String));
                break;
            case kGenerator:
                core().release(take_handle(cell, Kind::Generator));
                break;
            default:
                break;
        }
    });
}

mt_value result_of(StableIValue cell, const char* type) {
    if (*type == kOptional) return cell ? result_of(unwrap(cell), type + 1) : none();
    if (*type != kList) return simple(cell, type);
    std::unique_ptr<List> taken(static_cast<List*>(take_handle(cell, Kind::List)));
    return object_value(list_object(*taken, type + 1));
}

mt_value argument_of(StableIValue cell, const char* type, Keeper& keeper) {
    if (*type == kOptional) return cell ? argument_of(unwrap(cell), type + 1, keeper) : none();
    if (*type != kList) {
        mt_value v = simple(cell, type);
        if (v.tag == MT_TENSOR || v.tag == MT_GENERATOR || v.tag == MT_OBJECT) keeper.keep(v.as.object);
        if (*type == kString) check(core().value_of(v.as.object, &v));
        return v;
    }
    std::unique_ptr<List> taken(static_cast<List*>(take_handle(cell, Kind::List)));
    const std::vector<StableIValue>& items = taken->items;
    const char* of = type + 1;
    const bool tensors = *of == kTensor || (of[0] == kOptional && of[1] == kTensor);
    if (!tensors && *of != kInt && *of != kDouble && *of != kBool) {
        mt_object made = list_object(*taken, of);
        keeper.keep(made);
        return object_value(made);
    }
    mt_value v{};
    v.len = static_cast<uint32_t>(items.size());
    if (tensors) {
        v.tag = MT_TENSOR_LIST;
        mt_tensor* p = keeper.room<mt_tensor>(items.size());
        v.as.tensors = p;
        for (size_t i = 0; i < items.size(); i++) {
            try {
                const mt_value one = result_of(items[i], of);
                p[i] = one.tag == MT_TENSOR ? one.as.tensor : nullptr;
                if (p[i]) keeper.keep(p[i]);
            } catch (...) {
                for (i++; i < items.size(); i++) drop_cell(items[i], of);
                throw;
            }
        }
    } else if (*of == kInt) {
        v.tag = MT_INT_LIST;
        int64_t* p = keeper.room<int64_t>(items.size());
        v.as.ints = p;
        for (StableIValue one : items) *p++ = static_cast<int64_t>(one);
    } else if (*of == kDouble) {
        v.tag = MT_DOUBLE_LIST;
        double* p = keeper.room<double>(items.size());
        v.as.doubles = p;
        for (StableIValue one : items) std::memcpy(p++, &one, sizeof(one));
    } else {
        v.tag = MT_BOOL_LIST;
        uint8_t* p = keeper.room<uint8_t>(items.size());
        v.as.bools = p;
        for (StableIValue one : items) *p++ = (one & 0xff) != 0;
    }
    return v;
}

}  // namespace mt::stable
