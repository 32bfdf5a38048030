// Counted references to objects, references that only watch, and values that are lent or owned.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace c10 {

namespace detail {
struct DontIncreaseRefcount {};
}  // namespace detail
namespace raw {
struct DontIncreaseRefcount {};
}  // namespace raw
// Both counts stand in one number: owners in its low half, those that only watch in its high half.
class intrusive_ptr_target {
  public:
    intrusive_ptr_target() = default;
    intrusive_ptr_target(const intrusive_ptr_target&) {}
    intrusive_ptr_target& operator=(const intrusive_ptr_target&) { return *this; }
    virtual ~intrusive_ptr_target() = default;
    void retain_() const { references_.fetch_add(1, std::memory_order_relaxed); }
    // Whether it has to be deleted.
    bool release_() const {
        size_t seen = references_.load(std::memory_order_acquire);
        if (seen == 1) return true;  // nobody else knows it
        for (;;) {
            const bool last = owners(seen) == 1;  // who watches meanwhile keeps the memory, as does this call
            if (references_.compare_exchange_weak(seen, last ? seen - 1 + watcher : seen - 1,
                                                  std::memory_order_acq_rel)) {
                if (!last) return false;
                const_cast<intrusive_ptr_target*>(this)->release_resources();
                return unwatch_();
            }
        }
    }
    void watch_() const { references_.fetch_add(watcher, std::memory_order_relaxed); }
    bool unwatch_() const { return references_.fetch_sub(watcher, std::memory_order_acq_rel) == watcher; }
    // Whether there still was an owner: then there is one more.
    bool revive_() const {
        size_t seen = references_.load();
        while (owners(seen))
            if (references_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
        return false;
    }
    size_t references() const { return owners(references_.load()); }
    size_t watchers() const { return references_.load() >> 32; }

  private:
    // Called when the last owner goes while others watch: what it holds may go already.
    virtual void release_resources() {}
    static constexpr size_t watcher = size_t(1) << 32;
    static size_t owners(size_t both) { return both & (watcher - 1); }
    mutable std::atomic<size_t> references_{0};
};
template <class T>
class weak_intrusive_ptr;
template <class T>
class intrusive_ptr {
  public:
    using element_type = T;
    intrusive_ptr() = default;
    intrusive_ptr(std::nullptr_t) {}
    explicit intrusive_ptr(T* p) : p_(p) {
        if (p_) p_->retain_();
    }
    explicit intrusive_ptr(std::unique_ptr<T> p) : intrusive_ptr(p.release()) {}
    intrusive_ptr(T* owned, raw::DontIncreaseRefcount) : p_(owned) {}
    intrusive_ptr(const intrusive_ptr& o) : intrusive_ptr(o.p_) {}
    intrusive_ptr(intrusive_ptr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    template <class U, class = std::enable_if_t<std::is_convertible<U*, T*>::value>>
    intrusive_ptr(const intrusive_ptr<U>& o) : intrusive_ptr(o.get()) {}
    template <class U, class = std::enable_if_t<std::is_convertible<U*, T*>::value>>
    intrusive_ptr(intrusive_ptr<U>&& o) noexcept : p_(o.release()) {}
    intrusive_ptr& operator=(intrusive_ptr o) noexcept {
        std::swap(p_, o.p_);
        return *this;
    }
    ~intrusive_ptr() {
        if (p_ && p_->release_()) delete p_;
    }
    template <class... A>
    static intrusive_ptr make(A&&... args) {
        return intrusive_ptr(new T(std::forward<A>(args)...));
    }
    static intrusive_ptr reclaim(T* owned) {
        intrusive_ptr p;
        p.p_ = owned;
        return p;
    }
    static intrusive_ptr reclaim_copy(T* shared) { return intrusive_ptr(shared); }
    static intrusive_ptr unsafe_steal_from_new(T* made) { return intrusive_ptr(made); }
    static intrusive_ptr unsafe_reclaim_from_nonowning(T* shared) { return intrusive_ptr(shared); }
    T* get() const noexcept { return p_; }
    T* release() noexcept { return std::exchange(p_, nullptr); }
    void reset() { *this = intrusive_ptr(); }
    void swap(intrusive_ptr& o) noexcept { std::swap(p_, o.p_); }
    T& operator*() const { return *p_; }
    T* operator->() const { return p_; }
    bool defined() const { return p_ != nullptr; }
    explicit operator bool() const { return p_ != nullptr; }
    size_t use_count() const { return p_ ? p_->references() : 0; }
    size_t weak_use_count() const { return p_ ? p_->watchers() + (p_->references() ? 1 : 0) : 0; }
    bool unique() const { return use_count() == 1; }
    bool is_uniquely_owned() const { return unique(); }

  private:
    T* p_ = nullptr;
};
template <class T, class U>
bool operator==(const intrusive_ptr<T>& a, const intrusive_ptr<U>& b) {
    return a.get() == b.get();
}
template <class T, class U>
bool operator!=(const intrusive_ptr<T>& a, const intrusive_ptr<U>& b) {
    return a.get() != b.get();
}
template <class T>
bool operator==(const intrusive_ptr<T>& a, std::nullptr_t) {
    return !a.defined();
}
template <class T>
bool operator==(std::nullptr_t, const intrusive_ptr<T>& a) {
    return !a.defined();
}
template <class T>
bool operator!=(const intrusive_ptr<T>& a, std::nullptr_t) {
    return a.defined();
}
template <class T>
bool operator!=(std::nullptr_t, const intrusive_ptr<T>& a) {
    return a.defined();
}
template <class T>
bool operator<(const intrusive_ptr<T>& a, const intrusive_ptr<T>& b) {
    return std::less<T*>()(a.get(), b.get());
}
template <class T>
void swap(intrusive_ptr<T>& a, intrusive_ptr<T>& b) noexcept {
    a.swap(b);
}
// Watches an object that others own.
template <class T>
class weak_intrusive_ptr {
  public:
    using element_type = T;
    explicit weak_intrusive_ptr(const intrusive_ptr<T>& p) : p_(p.get()) {
        if (p_) p_->watch_();
    }
    weak_intrusive_ptr(const weak_intrusive_ptr& o) : p_(o.p_) {
        if (p_) p_->watch_();
    }
    weak_intrusive_ptr(weak_intrusive_ptr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    weak_intrusive_ptr& operator=(weak_intrusive_ptr o) noexcept {
        std::swap(p_, o.p_);
        return *this;
    }
    weak_intrusive_ptr& operator=(const intrusive_ptr<T>& p) { return *this = weak_intrusive_ptr(p); }
    ~weak_intrusive_ptr() { reset(); }
    static weak_intrusive_ptr reclaim(T* watched) {
        weak_intrusive_ptr w{intrusive_ptr<T>()};
        w.p_ = watched;
        return w;
    }
    static weak_intrusive_ptr reclaim_copy(T* watched) {
        if (watched) watched->watch_();
        return reclaim(watched);
    }
    // The object, or null where nobody owns it any more.
    intrusive_ptr<T> lock() const { return p_ && p_->revive_() ? intrusive_ptr<T>::reclaim(p_) : intrusive_ptr<T>(); }
    bool expired() const { return use_count() == 0; }
    size_t use_count() const { return p_ ? p_->references() : 0; }
    size_t weak_use_count() const { return p_ ? p_->watchers() + (p_->references() ? 1 : 0) : 0; }
    T* release() noexcept { return std::exchange(p_, nullptr); }
    void reset() {
        T* p = std::exchange(p_, nullptr);
        if (p && p->unwatch_()) delete p;
    }
    void swap(weak_intrusive_ptr& o) noexcept { std::swap(p_, o.p_); }
    T* _unsafe_get_target() const { return p_; }
    bool operator==(const weak_intrusive_ptr& o) const { return p_ == o.p_; }
    bool operator!=(const weak_intrusive_ptr& o) const { return p_ != o.p_; }
    bool operator<(const weak_intrusive_ptr& o) const { return std::less<T*>()(p_, o.p_); }

  private:
    T* p_ = nullptr;
};
namespace raw {
// Counting by hand, for those who keep plain pointers.
namespace intrusive_ptr {
inline void incref(const intrusive_ptr_target* p) {
    if (p) p->retain_();
}
inline void decref(const intrusive_ptr_target* p) {
    if (p && p->release_()) delete p;
}
inline size_t use_count(const intrusive_ptr_target* p) { return p ? p->references() : 0; }
template <class T>
T* make_weak(T* p) {
    if (p) p->watch_();
    return p;
}
}  // namespace intrusive_ptr
namespace weak_intrusive_ptr {
inline void incref(const intrusive_ptr_target* p) {
    if (p) p->watch_();
}
inline void decref(const intrusive_ptr_target* p) {
    if (p && p->unwatch_()) delete p;
}
inline size_t use_count(const intrusive_ptr_target* p) { return p ? p->references() : 0; }
// The object with one more owner, or null.
template <class T>
T* lock(T* p) {
    return p && p->revive_() ? p : nullptr;
}
}  // namespace weak_intrusive_ptr
}  // namespace raw
template <class T, class... A>
intrusive_ptr<T> make_intrusive(A&&... args) {
    return intrusive_ptr<T>::make(std::forward<A>(args)...);
}
template <class T, class U>
intrusive_ptr<T> static_intrusive_pointer_cast(const intrusive_ptr<U>& p) {
    return intrusive_ptr<T>(static_cast<T*>(p.get()));
}
template <class T, class U>
intrusive_ptr<T> dynamic_intrusive_pointer_cast(const intrusive_ptr<U>& p) {
    return intrusive_ptr<T>(dynamic_cast<T*>(p.get()));
}

// A value that is either owned or somebody else's.
template <class T>
class MaybeOwned final {
  public:
    MaybeOwned() = default;
    static MaybeOwned borrowed(const T& t) { return MaybeOwned(t, true); }
    static MaybeOwned owned(T&& t) { return MaybeOwned(std::move(t), false); }
    template <class... A>
    static MaybeOwned owned(std::in_place_t, A&&... args) {
        return MaybeOwned(T(std::forward<A>(args)...), false);
    }
    bool unsafeIsBorrowed() const { return borrowed_; }
    const T& operator*() const& { return value_; }
    T operator*() && { return std::move(value_); }
    const T* operator->() const { return &value_; }

  private:
    explicit MaybeOwned(T t, bool borrowed) : value_(std::move(t)), borrowed_(borrowed) {}
    T value_;  // a tensor is counted: lending one costs no more than this
    bool borrowed_ = true;
};

// A value with one owner.
template <class T>
class ExclusivelyOwned {
  public:
    ExclusivelyOwned() = default;
    explicit ExclusivelyOwned(T&& t) : value_(std::move(t)) {}
    template <class... A>
    explicit ExclusivelyOwned(std::in_place_t, A&&... args) : value_(std::forward<A>(args)...) {}
    ExclusivelyOwned(const ExclusivelyOwned&) = delete;
    ExclusivelyOwned(ExclusivelyOwned&&) noexcept = default;
    ExclusivelyOwned& operator=(const ExclusivelyOwned&) = delete;
    ExclusivelyOwned& operator=(ExclusivelyOwned&&) noexcept = default;
    ExclusivelyOwned& operator=(T&& t) noexcept {
        value_ = std::move(t);
        return *this;
    }
    explicit operator bool() const { return value_.defined(); }
    T take() && { return std::move(value_); }
    const T* get() const { return &value_; }
    T* get() { return &value_; }
    const T* operator->() const { return &value_; }
    T* operator->() { return &value_; }
    const T& operator*() const { return value_; }
    T& operator*() { return value_; }

  private:
    T value_;
};

}  // namespace c10

namespace std {
template <class T>
struct hash<c10::intrusive_ptr<T>> {
    size_t operator()(const c10::intrusive_ptr<T>& p) const { return std::hash<T*>()(p.get()); }
};
template <class T>
struct hash<c10::weak_intrusive_ptr<T>> {
    size_t operator()(const c10::weak_intrusive_ptr<T>& p) const { return std::hash<T*>()(p._unsafe_get_target()); }
};
}  // namespace std
