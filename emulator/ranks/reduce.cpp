// How numbers of the ranks are combined: in the ranks' order, sums of sixteen-bit floats rounded once.
#include <cstring>

#include "../ascendc/emulated/float16.h"
#include "links.h"

namespace emu {
namespace {

template <class T>
T combined(Reduction op, T a, T b) {
    switch (op) {
        case Reduction::product:
            return a * b;
        case Reduction::most:
            return a > b || a != a ? a : b;
        case Reduction::least:
            return a < b || a != a ? a : b;
        default:
            return a + b;
    }
}

// Stored numbers are read as T, and integers combined without sign, so that they wrap.
template <class T, class Stored, class Read, class Write>
Combine combine_as(Reduction op, Read read, Write write) {
    return [=](const std::vector<const char*>& parts, char* to, size_t n) {
        for (size_t i = 0; i < n; i++) {
            Stored stored;
            auto at = [&](size_t part) {
                std::memcpy(&stored, parts[part] + i * sizeof(Stored), sizeof(Stored));
                return read(stored);
            };
            T total = at(0);
            for (size_t part = 1; part < parts.size(); part++) total = combined(op, total, at(part));
            if (op == Reduction::mean) total = total / static_cast<T>(parts.size());
            stored = write(total);
            std::memcpy(to + i * sizeof(Stored), &stored, sizeof(Stored));
        }
    };
}

template <class Wide, class Stored>
Combine combine_integers(Reduction op) {
    return combine_as<Wide, Stored>(
        op, [](Stored s) { return static_cast<Wide>(s); }, [](Wide total) { return static_cast<Stored>(total); });
}
template <class Stored>
Combine combine_signed(Reduction op) {
    bool wraps = op == Reduction::sum || op == Reduction::product;
    return wraps ? combine_integers<uint64_t, Stored>(op) : combine_integers<int64_t, Stored>(op);
}
template <class T>
Combine combine_real(Reduction op) {
    return combine_as<T, T>(op, [](T x) { return x; }, [](T x) { return x; });
}

}  // namespace

Combine combine_of(Number type, Reduction op) {
    switch (type) {
        case Number::i8:
            return combine_signed<int8_t>(op);
        case Number::i16:
            return combine_signed<int16_t>(op);
        case Number::i32:
            return combine_signed<int32_t>(op);
        case Number::i64:
            return combine_signed<int64_t>(op);
        case Number::u8:
            return combine_integers<uint64_t, uint8_t>(op);
        case Number::u32:
            return combine_integers<uint64_t, uint32_t>(op);
        case Number::u64:
            return combine_integers<uint64_t, uint64_t>(op);
        case Number::f16:
            return combine_as<float, uint16_t>(op, emulated::half_to_float, emulated::float_to_half);
        case Number::bf16:
            return combine_as<float, uint16_t>(op, emulated::bf16_to_float, emulated::float_to_bf16);
        case Number::f64:
            return combine_real<double>(op);
        default:
            return combine_real<float>(op);
    }
}

}  // namespace emu
