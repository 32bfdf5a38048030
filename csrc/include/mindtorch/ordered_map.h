// Hash tables that keep the order in which their entries came, by the names that PyTorch took over.
#pragma once

#include <functional>
#include <initializer_list>
#include <iterator>
#include <list>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace ska_ordered {

// `Entry` lies in a list, and a table knows where, by the key in it.
template <class Entry, class Key, const Key& (*key_of)(const Entry&), class Hash, class Equal>
class ordered_table {
    using List = std::list<Entry>;
    struct HashOfKey : private Hash {
        HashOfKey() = default;
        explicit HashOfKey(const Hash& h) : Hash(h) {}
        size_t operator()(const Key* k) const { return Hash::operator()(*k); }
    };
    struct EqualKeys : private Equal {
        EqualKeys() = default;
        explicit EqualKeys(const Equal& e) : Equal(e) {}
        bool operator()(const Key* a, const Key* b) const { return Equal::operator()(*a, *b); }
    };

  public:
    using key_type = Key;
    using value_type = Entry;
    using size_type = size_t;
    using difference_type = std::ptrdiff_t;
    using hasher = Hash;
    using key_equal = Equal;
    using reference = Entry&;
    using const_reference = const Entry&;
    using iterator = typename List::iterator;
    using const_iterator = typename List::const_iterator;

    ordered_table() = default;
    explicit ordered_table(size_t buckets, const Hash& h = Hash(), const Equal& e = Equal())
        : places_(buckets, HashOfKey(h), EqualKeys(e)) {}
    template <class It, std::enable_if_t<!std::is_integral_v<It>, int> = 0>
    ordered_table(It first, It last) {
        insert(first, last);
    }
    ordered_table(std::initializer_list<Entry> entries) { insert(entries.begin(), entries.end()); }
    ordered_table(const ordered_table& o) : entries_(o.entries_) { find_places(); }
    ordered_table(ordered_table&&) noexcept = default;
    ordered_table& operator=(ordered_table o) noexcept {
        swap(o);
        return *this;
    }
    ~ordered_table() = default;

    iterator begin() { return entries_.begin(); }
    iterator end() { return entries_.end(); }
    const_iterator begin() const { return entries_.begin(); }
    const_iterator end() const { return entries_.end(); }
    const_iterator cbegin() const { return entries_.begin(); }
    const_iterator cend() const { return entries_.end(); }
    size_t size() const { return entries_.size(); }
    bool empty() const { return entries_.empty(); }
    size_t max_size() const { return entries_.max_size(); }
    size_t bucket_count() const { return places_.bucket_count(); }
    float load_factor() const { return places_.load_factor(); }
    float max_load_factor() const { return places_.max_load_factor(); }
    void max_load_factor(float most) { places_.max_load_factor(most); }
    void reserve(size_t n) { places_.reserve(n); }
    void rehash(size_t n) { places_.rehash(n); }
    void shrink_to_fit() { places_.rehash(0); }

    iterator find(const Key& k) {
        const auto found = places_.find(&k);
        return found == places_.end() ? entries_.end() : found->second;
    }
    const_iterator find(const Key& k) const { return const_cast<ordered_table*>(this)->find(k); }
    size_t count(const Key& k) const { return places_.count(&k); }
    bool contains(const Key& k) const { return count(k) != 0; }

    template <class... A>
    std::pair<iterator, bool> emplace(A&&... given) {
        List fresh;
        fresh.emplace_back(std::forward<A>(given)...);
        const iterator known = find(key_of(fresh.front()));
        if (known != end()) return {known, false};
        places_.emplace(&key_of(fresh.front()), fresh.begin());
        entries_.splice(entries_.end(), fresh);
        return {std::prev(entries_.end()), true};
    }
    std::pair<iterator, bool> insert(const Entry& e) { return emplace(e); }
    std::pair<iterator, bool> insert(Entry&& e) { return emplace(std::move(e)); }
    iterator insert(const_iterator, const Entry& e) { return emplace(e).first; }
    template <class It>
    void insert(It first, It last) {
        for (; first != last; ++first) emplace(*first);
    }
    void insert(std::initializer_list<Entry> entries) { insert(entries.begin(), entries.end()); }

    iterator erase(const_iterator at) {
        places_.erase(&key_of(*at));
        return entries_.erase(at);
    }
    iterator erase(const_iterator first, const_iterator last) {
        for (const_iterator i = first; i != last; ++i) places_.erase(&key_of(*i));
        return entries_.erase(first, last);
    }
    size_t erase(const Key& k) {
        const iterator found = find(k);
        if (found == end()) return 0;
        erase(found);
        return 1;
    }
    void clear() {
        places_.clear();
        entries_.clear();
    }
    void swap(ordered_table& o) noexcept {
        entries_.swap(o.entries_);
        places_.swap(o.places_);
    }

  private:
    void find_places() {
        for (iterator i = entries_.begin(); i != entries_.end(); ++i) places_.emplace(&key_of(*i), i);
    }
    List entries_;
    std::unordered_map<const Key*, iterator, HashOfKey, EqualKeys> places_;
};

template <class K, class V>
const K& first_of(const std::pair<K, V>& entry) {
    return entry.first;
}

template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>,
          class Allocator = std::allocator<std::pair<K, V>>>
class order_preserving_flat_hash_map : public ordered_table<std::pair<K, V>, K, first_of<K, V>, Hash, Equal> {
    using Table = ordered_table<std::pair<K, V>, K, first_of<K, V>, Hash, Equal>;

  public:
    using mapped_type = V;
    using allocator_type = Allocator;
    using Table::Table;
    using typename Table::const_iterator;
    using typename Table::iterator;

    V& operator[](const K& k) {
        const iterator known = this->find(k);
        return known != this->end() ? known->second : this->emplace(k, V()).first->second;
    }
    V& operator[](K&& k) {
        const iterator known = this->find(k);
        return known != this->end() ? known->second : this->emplace(std::move(k), V()).first->second;
    }
    V& at(const K& k) {
        const iterator known = this->find(k);
        if (known == this->end()) throw std::out_of_range("Argument passed to at() was not in the map.");
        return known->second;
    }
    const V& at(const K& k) const { return const_cast<order_preserving_flat_hash_map*>(this)->at(k); }
    template <class M>
    std::pair<iterator, bool> insert_or_assign(const K& k, M&& value) {
        const iterator known = this->find(k);
        if (known == this->end()) return this->emplace(k, std::forward<M>(value));
        known->second = std::forward<M>(value);
        return {known, false};
    }
    // The order counts for nothing here.
    friend bool operator==(const order_preserving_flat_hash_map& a, const order_preserving_flat_hash_map& b) {
        if (a.size() != b.size()) return false;
        for (const auto& [k, v] : a) {
            const auto found = b.find(k);
            if (found == b.end() || !(found->second == v)) return false;
        }
        return true;
    }
    friend bool operator!=(const order_preserving_flat_hash_map& a, const order_preserving_flat_hash_map& b) {
        return !(a == b);
    }
};

}  // namespace ska_ordered
