#include "lazy_views.h"

#include <vector>

#include "autograd.h"
#include "registry.h"

namespace mt {
namespace {

template <class T>
void negate(Tensor& t) {
    T* p = t.data<T>();
    for (int64_t i = 0; i < t.numel(); i++) p[i] = static_cast<T>(T(0) - p[i]);
}
// By the sign bit: a zero becomes the other zero.
template <class Word>
void flip_signs(Tensor& t, int64_t first, int64_t step) {
    constexpr Word kSign = static_cast<Word>(Word(1) << (8 * sizeof(Word) - 1));
    Word* p = reinterpret_cast<Word*>(t.raw());
    const int64_t n = t.numel() * t.itemsize() / static_cast<int64_t>(sizeof(Word));
    for (int64_t i = first; i < n; i += step) p[i] = static_cast<Word>(p[i] ^ kSign);
}
void flip_signs(Tensor& t, int64_t part, int64_t first, int64_t step) {
    visit_size(part, [&]<class Word>() {
        if constexpr (!std::is_same_v<Word, Bytes16>) flip_signs<Word>(t, first, step);
    });
}

// Of a dense tensor whose memory is its own.
void apply(Tensor& t, KeySet keys) {
    if (keys.has(Key::Conjugate) && is_complex(t.dtype)) flip_signs(t, t.itemsize() / 2, 1, 2);
    if (!keys.has(Key::Negative)) return;
    if (is_complex(t.dtype)) return flip_signs(t, t.itemsize() / 2, 0, 1);
    if (is_floating(t.dtype)) return flip_signs(t, t.itemsize(), 0, 1);
    visit(IntTypes{}, t.dtype, "neg_cpu", [&]<class T>() { negate<T>(t); });
}

// The arguments of a call with their lazy tensors replaced; the call is as it was when this ends.
class Replaced {
  public:
    explicit Replaced(Call& c) : c_(c) {
        for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
            const int i = __builtin_ctzll(m);
            Value& v = c.args[i];
            const bool writes = c.op->schema.args[static_cast<size_t>(i)].writes;
            if (v.tag == Tag::Tensor && is_lazy(*v.t)) {
                keep(i);
                v = Value::of(replacement(v.t, writes));
                c.source[i] = nullptr;
            } else if (v.tag == Tag::TensorList && has_lazy(v)) {
                keep(i);
                Tensor** list = static_cast<Tensor**>(c.arena->take(sizeof(Tensor*) * v.len));
                for (uint32_t k = 0; k < v.len; k++)
                    list[k] = v.tensors[k] && is_lazy(*v.tensors[k]) ? replacement(v.tensors[k], writes) : v.tensors[k];
                v.tensors = list;
                c.source[i] = nullptr;
            }
        }
    }
    ~Replaced() {
        for (const Kept& k : kept_) {
            c_.args[k.place] = k.value;
            c_.source[k.place] = k.source;
        }
    }
    Replaced(const Replaced&) = delete;
    Replaced& operator=(const Replaced&) = delete;

    // What was written goes to the views, and these are returned where their replacements were.
    void hand_back() {
        for (Pair& p : pairs_) {
            if (!p.writes) continue;
            Tensor& lazy = *p.lazy;
            if (!(lazy.sizes() == p.plain->sizes())) {
                resize(lazy, p.plain->sizes());
                set_sizes_strides(lazy, p.plain->sizes(), p.plain->strides());
            }
            write_through(lazy, *p.plain);
            for (int i = 0; i < c_.nrets; i++)
                if (c_.rets[i].tag == Tag::Tensor && c_.rets[i].t == p.plain.get()) {
                    Py_DECREF(c_.rets[i].t->py());
                    c_.rets[i] = Value::of(TensorRef::share(&lazy).release());
                }
        }
    }

  private:
    struct Kept {
        int place;
        Value value;
        PyObject* source;
    };
    struct Pair {
        Tensor* lazy;
        TensorRef plain;
        bool writes;
    };
    static bool has_lazy(const Value& v) {
        for (uint32_t k = 0; k < v.len; k++)
            if (v.tensors[k] && is_lazy(*v.tensors[k])) return true;
        return false;
    }
    void keep(int i) { kept_.push_back({i, c_.args[i], c_.source[i]}); }
    Tensor* replacement(Tensor* lazy, bool writes) {
        for (Pair& p : pairs_)  // one that is read and written is one
            if (p.lazy == lazy) {
                p.writes = p.writes || writes;
                return p.plain.get();
            }
        pairs_.push_back({lazy, materialized(*lazy), writes});
        return pairs_.back().plain.get();
    }

    Call& c_;
    std::vector<Kept> kept_;
    std::vector<Pair> pairs_;
};

}  // namespace

TensorRef bare_of(const Tensor& lazy) {
    TensorRef r = shallow_alias(lazy);
    r->keys = r->keys - kLazyKeys;
    return r;
}

TensorRef materialized(const Tensor& lazy) {
    TensorRef bare = bare_of(lazy), r = empty_like(*bare);
    copy_into(*r, *bare);
    apply(*r, lazy.keys);
    return r;
}

void write_through(Tensor& lazy, const Tensor& values) {
    TensorRef bare = bare_of(lazy), held = empty(values.sizes(), lazy.dtype);
    copy_into(*held, values);
    apply(*held, lazy.keys);
    copy_into(*bare, *held);
}

TensorRef toggled(const Tensor& t, KeySet keys) {
    TensorRef r = shallow_alias(t);
    r->keys = KeySet(r->keys.bits ^ keys.bits);
    return r;
}

bool may_be_lazy(const Tensor& t) {
    constexpr KeySet kWatched = KeySet(Key::Python) | Key::Functionalize | Key::Batched | Key::Tracer;
    return t.is_cpu() && (t.keys & (kWatched | kCodedKeys)).empty() && (g_thread.include & kWatched).empty() &&
           !hides_data(t);
}

void run_lazy(Call& c) {
    const KeySet rest = c.keys - kLazyKeys;
    const Operator& op = *c.op;
    const bool composed = op.composite.has((rest & kBackendKeys & op.active).highest());
    if (op.is_view || !op.reads_elements || op.inplace_view || composed) return run(c, rest);
    Replaced replaced(c);
    run(c, rest);
    replaced.hand_back();
}

}  // namespace mt
