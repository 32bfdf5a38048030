// How a kernel becomes a function of the host: arguments as they are passed, kept until the stream reaches the launch.
#pragma once

#include <cassert>
#include <string>
#include <tuple>
#include <utility>

#include "reduce.h"

namespace emulated {

// What the host passes for a parameter (`type`): addresses and numbers as they are, halfs as their bits, a structure by
// its address. `keep` is called when the kernel is launched, `device` when a block starts.
template <class T>
struct Host {
    static_assert(std::is_class_v<T> || std::is_enum_v<T>, "a parameter that a kernel cannot take");
    using type = std::conditional_t<std::is_class_v<T>, const T*, T>;
    static T keep(type v) {
        if constexpr (std::is_class_v<T>)
            return *v;
        else
            return v;
    }
    static T device(const T& v) { return v; }
    static std::string code() { return "struct:" + std::to_string(sizeof(T)); }
};
template <class T>
    requires std::is_arithmetic_v<T>
struct Host<T> {
    using type = T;
    static T keep(T v) { return v; }
    static T device(T v) { return v; }
    static std::string code() {
        if (std::is_same_v<T, bool>) return "bool";
        const char* kind = std::is_floating_point_v<T> ? "float" : std::is_signed_v<T> ? "int" : "uint";
        return kind + std::to_string(8 * sizeof(T));
    }
};
template <class T>
struct Host<T*> {
    using type = void*;
    static void* keep(void* v) { return v; }
    static T* device(void* v) { return static_cast<T*>(const_cast<void*>(emulatorBacking(v))); }
    static std::string code() { return "pointer"; }
};
template <float (*V)(uint16_t), uint16_t (*B)(float)>
struct Host<Sixteen<V, B>> {
    using type = uint16_t;
    static uint16_t keep(uint16_t v) { return v; }
    static Sixteen<V, B> device(uint16_t v) { return Sixteen<V, B>::of_bits(v); }
    static std::string code() { return std::is_same_v<Sixteen<V, B>, half> ? "half" : "bfloat16"; }
};

template <class T>
using HostType = typename Host<std::remove_cv_t<T>>::type;

template <class... P>
struct Kernel {
    using Function = void (*)(P...);
    struct Arguments {
        Function function;
        std::tuple<decltype(Host<std::remove_cv_t<P>>::keep(std::declval<HostType<P>>()))...> values;
    };

    static void run(void* arguments) {
        auto* a = static_cast<Arguments*>(arguments);
        Core core;
        emulatorCurrentBlock()->core = &core;
        std::apply([a](const auto&... kept) { a->function(Host<std::remove_cv_t<P>>::device(kept)...); }, a->values);
        for (int event = 0; event < static_cast<int>(AscendC::HardEvent::MAX); event++)
            for (int id = 0; id < kEventIds; id++)
                if (core.flags[event][id]) fault("SetFlag: event ", id, " was set, and no WaitFlag followed");
    }
    static uint32_t launch(const char* name, Function function, uint32_t blocks, void* stream, HostType<P>... passed) {
        const void* pointers[sizeof...(P) + 1];
        uint32_t count = 0;
        auto note = [&](auto value) {
            if constexpr (std::is_same_v<decltype(value), void*>) pointers[count++] = value;
        };
        (note(passed), ...);
        auto* arguments = new Arguments{function, {Host<std::remove_cv_t<P>>::keep(passed)...}};
        EmulatorKernel kernel{
            name, EMULATED_SOC, run, arguments, [](void* a) { delete static_cast<Arguments*>(a); }, pointers, count};
        return emulatorLaunch(&kernel, blocks, stream);
    }
    static const char* signature() {
        static const std::string text = [] {
            std::string s;
            ((s += (s.empty() ? "" : ",") + Host<std::remove_cv_t<P>>::code()), ...);
            return s;
        }();
        return text.c_str();
    }
};
}  // namespace emulated
