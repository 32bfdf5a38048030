// Reductions. Sums of halfs are kept in float here and rounded once.
#pragma once

#include "vector.h"

namespace emulated {

template <class T, class F>
std::pair<Compute<T>, uint32_t> best(const T* x, uint32_t count, F better) {
    Compute<T> value = Compute<T>(x[0]);
    uint32_t at = 0;
    for (uint32_t i = 1; i < count; i++)
        if (better(Compute<T>(x[i]), value)) {
            value = Compute<T>(x[i]);
            at = i;
        }
    return {value, at};
}
// An index as the bits of an element, as the reductions leave it.
template <class T>
T index_bits(uint32_t index) {
    T stored;
    if constexpr (sizeof(T) == 2) {
        auto narrow = static_cast<uint16_t>(index);
        std::memcpy(&stored, &narrow, 2);
    } else {
        static_assert(sizeof(T) == 4);
        std::memcpy(&stored, &index, 4);
    }
    return stored;
}
template <class T, class F>
void reduce_extreme(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                    const AscendC::LocalTensor<T>& work, int32_t count, bool index, const char* name, F better) {
    if (count <= 0) fault(name, ": ", count, " elements");
    work.aligned(0, sizeof(T), name);
    auto [value, at] = best(src.elements(static_cast<uint32_t>(count), name), static_cast<uint32_t>(count), better);
    T* to = dst.elements(index ? 2 : 1, name);
    to[0] = static_cast<T>(value);
    if (index) to[1] = index_bits<T>(at);
}
template <class T, class M, class F>
void whole_extreme(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, M mask, int32_t repeats,
                   int32_t dst_stride, int32_t block_stride, int32_t repeat_stride, AscendC::ReduceOrder order,
                   const char* name, F better) {
    Mask m = mask_of<T>(mask_argument(mask), name);
    Strides s{static_cast<uint32_t>(block_stride), static_cast<uint32_t>(repeat_stride)};
    bool pair = order == AscendC::ReduceOrder::ORDER_VALUE_INDEX || order == AscendC::ReduceOrder::ORDER_INDEX_VALUE;
    for (int32_t r = 0; r < repeats; r++) {
        bool any = false;
        Compute<T> value{};
        uint32_t at = 0;
        for (uint32_t i = 0; i < m.count; i++) {
            if (!m[i]) continue;
            auto x = Compute<T>(*element(src, s, static_cast<uint32_t>(r), i, name));
            if (!any || better(x, value)) {
                value = x;
                at = i;
            }
            any = true;
        }
        uint32_t place = static_cast<uint32_t>(r * dst_stride) * (pair ? 2 : 1);
        bool value_first = order == AscendC::ReduceOrder::ORDER_VALUE_INDEX;
        if (pair) {
            dst.SetValue(place + (value_first ? 0 : 1), static_cast<T>(value));
            dst.SetValue(place + (value_first ? 1 : 0), index_bits<T>(at));
        } else {
            dst.SetValue(place,
                         order == AscendC::ReduceOrder::ORDER_ONLY_VALUE ? static_cast<T>(value) : index_bits<T>(at));
        }
    }
}
struct Greater {
    template <class C>
    bool operator()(C a, C b) const {
        return a > b;
    }
};
struct Less {
    template <class C>
    bool operator()(C a, C b) const {
        return a < b;
    }
};

}  // namespace emulated

namespace AscendC {

template <class T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, int32_t count) {
    if (count <= 0) emulated::fault("ReduceSum: ", count, " elements");
    work.aligned(0, sizeof(T), "ReduceSum");
    const T* x = src.elements(static_cast<uint32_t>(count), "ReduceSum");
    emulated::Compute<T> sums[8] = {};  // as eight lanes
    for (int32_t i = 0; i < count; i++) sums[i % 8] += emulated::Compute<T>(x[i]);
    for (int half_way = 4; half_way; half_way /= 2)
        for (int i = 0; i < half_way; i++) sums[i] += sums[i + half_way];
    dst.elements(1, "ReduceSum")[0] = static_cast<T>(sums[0]);
}
template <class T>
void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, int32_t count,
               bool index = false) {
    emulated::reduce_extreme(dst, src, work, count, index, "ReduceMax", emulated::Greater());
}
template <class T>
void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, int32_t count,
               bool index = false) {
    emulated::reduce_extreme(dst, src, work, count, index, "ReduceMin", emulated::Less());
}

// One result a step of 256 bytes.
template <class T, class M>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeats, int32_t dst_stride,
                    int32_t block_stride, int32_t repeat_stride) {
    emulated::Mask m = emulated::mask_of<T>(emulated::mask_argument(mask), "WholeReduceSum");
    emulated::Strides s{static_cast<uint32_t>(block_stride), static_cast<uint32_t>(repeat_stride)};
    for (int32_t r = 0; r < repeats; r++) {
        emulated::Compute<T> sum = 0;
        for (uint32_t i = 0; i < m.count; i++)
            if (m[i])
                sum += emulated::Compute<T>(*emulated::element(src, s, static_cast<uint32_t>(r), i, "WholeReduceSum"));
        dst.SetValue(static_cast<uint32_t>(r * dst_stride), static_cast<T>(sum));
    }
}
template <class T, class M>
void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeats, int32_t dst_stride,
                    int32_t block_stride, int32_t repeat_stride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX) {
    emulated::whole_extreme(dst, src, mask, repeats, dst_stride, block_stride, repeat_stride, order, "WholeReduceMax",
                            emulated::Greater());
}
template <class T, class M>
void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeats, int32_t dst_stride,
                    int32_t block_stride, int32_t repeat_stride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX) {
    emulated::whole_extreme(dst, src, mask, repeats, dst_stride, block_stride, repeat_stride, order, "WholeReduceMin",
                            emulated::Less());
}

}  // namespace AscendC

namespace emulated {
// One result a block of 32 bytes, eight a step.
template <class T, class M, class F>
void block_reduce(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, int32_t repeats, M mask,
                  int32_t dst_stride, int32_t block_stride, int32_t repeat_stride, const char* name, F f) {
    Mask m = mask_of<T>(mask_argument(mask), name);
    Strides s{static_cast<uint32_t>(block_stride), static_cast<uint32_t>(repeat_stride)};
    for (int32_t r = 0; r < repeats; r++)
        for (uint32_t b = 0; b < 8; b++) {
            bool any = false;
            Compute<T> value = 0;
            for (uint32_t i = b * kPerBlock<T>; i < (b + 1) * kPerBlock<T> && i < m.count; i++) {
                if (!m[i]) continue;
                auto x = Compute<T>(*element(src, s, static_cast<uint32_t>(r), i, name));
                value = any ? f(value, x) : x;
                any = true;
            }
            if (any) dst.SetValue(static_cast<uint32_t>(r * dst_stride) * 8 + b, static_cast<T>(value));
        }
}
}  // namespace emulated

namespace AscendC {

template <class T, class M>
void BlockReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t repeats, M mask, int32_t dst_stride,
                    int32_t block_stride, int32_t repeat_stride) {
    emulated::block_reduce(dst, src, repeats, mask, dst_stride, block_stride, repeat_stride, "BlockReduceSum",
                           [](auto a, auto b) { return a + b; });
}
template <class T, class M>
void BlockReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t repeats, M mask, int32_t dst_stride,
                    int32_t block_stride, int32_t repeat_stride) {
    emulated::block_reduce(dst, src, repeats, mask, dst_stride, block_stride, repeat_stride, "BlockReduceMax",
                           [](auto a, auto b) { return a > b ? a : b; });
}
template <class T, class M>
void BlockReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t repeats, M mask, int32_t dst_stride,
                    int32_t block_stride, int32_t repeat_stride) {
    emulated::block_reduce(dst, src, repeats, mask, dst_stride, block_stride, repeat_stride, "BlockReduceMin",
                           [](auto a, auto b) { return a < b ? a : b; });
}

}  // namespace AscendC
