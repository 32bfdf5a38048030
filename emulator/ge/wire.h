// Reading protobuf's wire format, which is how GE's graphs are stored.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace emu {

// The fields of one message, one after the other. Throws std::string for bytes that are no message.
class Wire {
  public:
    explicit Wire(std::string_view bytes) : rest_(bytes) {}
    // Whether there is another field; then `number`, and `value` or `bytes`, are its.
    bool next() {
        if (rest_.empty()) return false;
        uint64_t tag = varint();
        number = static_cast<int>(tag >> 3);
        type_ = static_cast<int>(tag & 7);
        switch (type_) {
            case 0:
                value = varint();
                break;
            case 1:
                bytes = take(8);
                break;
            case 2:
                bytes = take(varint());
                break;
            case 5:
                bytes = take(4);
                break;
            default:
                throw std::string("no protobuf data: wire type ") + std::to_string(type_);
        }
        return true;
    }
    int64_t integer() const { return static_cast<int64_t>(value); }
    float real() const {
        float f = 0;
        if (bytes.size() == 4) std::memcpy(&f, bytes.data(), 4);
        return f;
    }
    std::string text() const { return std::string(bytes); }
    // Calls f(n) for each number of a repeated field, packed or not.
    template <class F>
    void integers(F f) {
        if (type_ == 0) return f(integer());
        Wire inner(bytes);
        while (!inner.rest_.empty()) f(static_cast<int64_t>(inner.varint()));
    }

    int number = 0;
    uint64_t value = 0;
    std::string_view bytes;

  private:
    uint64_t varint() {
        uint64_t v = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (rest_.empty()) throw std::string("the data ends within a number");
            auto byte = static_cast<uint8_t>(rest_[0]);
            rest_.remove_prefix(1);
            v |= static_cast<uint64_t>(byte & 127) << shift;
            if (byte < 128) return v;
        }
        throw std::string("a number is too long");
    }
    std::string_view take(uint64_t n) {
        if (n > rest_.size()) throw std::string("the data ends within a field");
        std::string_view r = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return r;
    }
    std::string_view rest_;
    int type_ = 0;
};

}  // namespace emu
