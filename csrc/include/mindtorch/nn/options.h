// What torch::nn's options are made of: arguments that are set by calls, sizes for each dimension, and names of
// choices.
#pragma once

#include <mindtorch/functions.h>

#include <array>
#include <variant>

// An option `name` of type T: `name()` reads it, `name(value)` sets it and gives the options, for the next call.
#define TORCH_ARG(T, name)                                                \
  public:                                                                 \
    auto name(const T& new_##name) -> decltype(*this) {                   \
        this->name##_ = new_##name;                                       \
        return *this;                                                     \
    }                                                                     \
    auto name(T&& new_##name) -> decltype(*this) {                        \
        this->name##_ = std::move(new_##name);                            \
        return *this;                                                     \
    }                                                                     \
    const T& name() const noexcept { return this->name##_; } /* NOLINT */ \
    T& name() noexcept { return this->name##_; }             /* NOLINT */ \
                                                                          \
  private:                                                                \
    T name##_ /* NOLINT */

namespace torch {

// One type for each choice, so that a variant of some of them is what an option takes.
#define MINDTORCH_CHOICE(Name)              \
    namespace enumtype {                    \
    struct k##Name {                        \
        constexpr k##Name() = default;      \
        static constexpr auto name = #Name; \
    };                                      \
    }                                       \
    inline constexpr enumtype::k##Name k##Name {}
MINDTORCH_CHOICE(Linear);
MINDTORCH_CHOICE(Conv1D);
MINDTORCH_CHOICE(Conv2D);
MINDTORCH_CHOICE(Conv3D);
MINDTORCH_CHOICE(ConvTranspose1D);
MINDTORCH_CHOICE(ConvTranspose2D);
MINDTORCH_CHOICE(ConvTranspose3D);
MINDTORCH_CHOICE(Sigmoid);
MINDTORCH_CHOICE(Tanh);
MINDTORCH_CHOICE(ReLU);
MINDTORCH_CHOICE(GELU);
MINDTORCH_CHOICE(SiLU);
MINDTORCH_CHOICE(Mish);
MINDTORCH_CHOICE(LeakyReLU);
MINDTORCH_CHOICE(FanIn);
MINDTORCH_CHOICE(FanOut);
MINDTORCH_CHOICE(Constant);
MINDTORCH_CHOICE(Reflect);
MINDTORCH_CHOICE(Replicate);
MINDTORCH_CHOICE(Circular);
MINDTORCH_CHOICE(Nearest);
MINDTORCH_CHOICE(Bilinear);
MINDTORCH_CHOICE(Bicubic);
MINDTORCH_CHOICE(Trilinear);
MINDTORCH_CHOICE(Area);
MINDTORCH_CHOICE(NearestExact);
MINDTORCH_CHOICE(Sum);
MINDTORCH_CHOICE(Mean);
MINDTORCH_CHOICE(Max);
MINDTORCH_CHOICE(None);
MINDTORCH_CHOICE(BatchMean);
MINDTORCH_CHOICE(Zeros);
MINDTORCH_CHOICE(Border);
MINDTORCH_CHOICE(Reflection);
MINDTORCH_CHOICE(Valid);
MINDTORCH_CHOICE(Same);
MINDTORCH_CHOICE(RNN_TANH);
MINDTORCH_CHOICE(RNN_RELU);
MINDTORCH_CHOICE(LSTM);
MINDTORCH_CHOICE(GRU);
#undef MINDTORCH_CHOICE

// Makes options of one of the choices that their `member` takes.
#define MINDTORCH_FROM_CHOICE(Options, Choices, member)                                       \
    template <class Choice, class = std::enable_if_t<std::is_convertible_v<Choice, Choices>>> \
    Options(Choice choice) : member##_(choice) {}

namespace enumtype {
template <class Choice>
std::string get_enum_name(const Choice& choice) {
    return std::visit([](const auto& c) { return std::string("k") + std::decay_t<decltype(c)>::name; }, choice);
}
}  // namespace enumtype

// D numbers, of which one stands for all.
template <size_t D, class T = int64_t>
class ExpandingArray {
  public:
    ExpandingArray(std::initializer_list<T> list) : ExpandingArray(at::ArrayRef<T>(list)) {}
    ExpandingArray(const std::vector<T>& list) : ExpandingArray(at::ArrayRef<T>(list)) {}
    ExpandingArray(at::ArrayRef<T> values) {
        TORCH_CHECK(values.size() == D, "Expected ", D, " values, but instead got ", values.size());
        std::copy(values.begin(), values.end(), values_.begin());
    }
    ExpandingArray(T single) { values_.fill(single); }
    ExpandingArray(const std::array<T, D>& values) : values_(values) {}
    std::array<T, D>& operator*() { return values_; }
    const std::array<T, D>& operator*() const { return values_; }
    std::array<T, D>* operator->() { return &values_; }
    const std::array<T, D>* operator->() const { return &values_; }
    operator at::ArrayRef<T>() const { return values_; }
    T& operator[](size_t i) { return values_[i]; }
    const T& operator[](size_t i) const { return values_[i]; }
    size_t size() const noexcept { return D; }

  private:
    std::array<T, D> values_{};
};
// The same with elements that may be left out.
template <size_t D, class T = int64_t>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D, std::optional<T>> {
  public:
    using ExpandingArray<D, std::optional<T>>::ExpandingArray;
    ExpandingArrayWithOptionalElem(T single) : ExpandingArray<D, std::optional<T>>(std::optional<T>(single)) {}
    ExpandingArrayWithOptionalElem(std::initializer_list<T> list)
        : ExpandingArrayWithOptionalElem(at::ArrayRef<T>(list)) {}
    ExpandingArrayWithOptionalElem(const std::vector<T>& list)
        : ExpandingArrayWithOptionalElem(at::ArrayRef<T>(list)) {}
    ExpandingArrayWithOptionalElem(at::ArrayRef<T> values)
        : ExpandingArray<D, std::optional<T>>(std::vector<std::optional<T>>(values.begin(), values.end())) {}
    ExpandingArrayWithOptionalElem(const std::array<T, D>& values)
        : ExpandingArrayWithOptionalElem(at::ArrayRef<T>(values)) {}
};

// Values by name, in the order in which they came.
template <class Key, class Value>
class OrderedDict {
  public:
    class Item {
      public:
        Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
        Value& operator*() { return pair_.second; }
        const Value& operator*() const { return pair_.second; }
        Value* operator->() { return &pair_.second; }
        const Value* operator->() const { return &pair_.second; }
        const Key& key() const noexcept { return pair_.first; }
        Value& value() noexcept { return pair_.second; }
        const Value& value() const noexcept { return pair_.second; }
        const std::pair<Key, Value>& pair() const noexcept { return pair_; }

      private:
        std::pair<Key, Value> pair_;
    };
    explicit OrderedDict(std::string what = "Key") : what_(std::move(what)) {}
    OrderedDict(std::initializer_list<Item> items) {
        for (const Item& i : items) insert(i.key(), i.value());
    }
    const std::string& key_description() const noexcept { return what_; }
    Item& front() { return items_.front(); }
    Item& back() { return items_.back(); }
    auto begin() { return items_.begin(); }
    auto begin() const { return items_.begin(); }
    auto end() { return items_.end(); }
    auto end() const { return items_.end(); }
    size_t size() const noexcept { return items_.size(); }
    bool is_empty() const noexcept { return items_.empty(); }
    void reserve(size_t n) { items_.reserve(n); }
    Value* find(const Key& key) noexcept {
        for (Item& i : items_)
            if (i.key() == key) return &i.value();
        return nullptr;
    }
    const Value* find(const Key& key) const noexcept { return const_cast<OrderedDict*>(this)->find(key); }
    bool contains(const Key& key) const noexcept { return find(key) != nullptr; }
    Value& operator[](const Key& key) {
        Value* found = find(key);
        TORCH_CHECK(found, what_, " '", key, "' is not defined");
        return *found;
    }
    const Value& operator[](const Key& key) const { return const_cast<OrderedDict&>(*this)[key]; }
    Item& operator[](size_t i) { return items_.at(i); }
    const Item& operator[](size_t i) const { return items_.at(i); }
    template <class V>
    Value& insert(Key key, V&& value) {
        TORCH_CHECK(!contains(key), what_, " '", key, "' already defined");
        items_.emplace_back(std::move(key), std::forward<V>(value));
        return items_.back().value();
    }
    void update(const OrderedDict& other) {
        for (const Item& i : other) insert(i.key(), i.value());
    }
    void erase(const Key& key) {
        for (auto i = items_.begin(); i != items_.end(); ++i)
            if (i->key() == key) {
                items_.erase(i);
                return;
            }
        TORCH_CHECK(false, what_, " '", key, "' doesn't exist");
    }
    void clear() { items_.clear(); }
    const std::vector<Item>& items() const noexcept { return items_; }
    std::vector<Key> keys() const {
        std::vector<Key> all;
        for (const Item& i : items_) all.push_back(i.key());
        return all;
    }
    std::vector<Value> values() const {
        std::vector<Value> all;
        for (const Item& i : items_) all.push_back(i.value());
        return all;
    }
    std::vector<std::pair<Key, Value>> pairs() const {
        std::vector<std::pair<Key, Value>> all;
        for (const Item& i : items_) all.push_back(i.pair());
        return all;
    }

  private:
    std::string what_ = "Key";
    std::vector<Item> items_;
};

}  // namespace torch
