// This thread's modes, the interpreter's lock, parallel loops and random numbers across the boundary.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>

#include "boundary/boundary.h"
#include "core/generator.h"
#include "core/recording.h"

namespace mt::boundary {
namespace {

uint64_t key_bit(const char* name) {
    Key k = key_from_name(name);
    return static_cast<int>(k) < kKeyCount ? KeySet(k).bits : k == Key::Autograd ? kAutogradKeys.bits : 0;
}

struct Loop {
    int (*body)(void*, int64_t, int64_t);
    void* context;
    int64_t begin;
    std::atomic<bool>* failed;
    std::mutex* mutex;
    int* kind;
    std::string* text;
    PyObject** exception;
};

int parallel_for(int64_t begin, int64_t end, int64_t grain, int (*body)(void*, int64_t, int64_t), void* context) {
    std::atomic<bool> failed{false};
    std::mutex mutex;
    int kind = 0;
    std::string message;
    PyObject* exception = nullptr;
    Loop loop{body, context, begin, &failed, &mutex, &kind, &message, &exception};
    // The error of a worker is that thread's: the first one is carried over.
    run_ranges(
        end - begin, std::clamp<int64_t>(grain, 1, INT64_MAX / 8),  // it is multiplied there
        [](const void* p, int64_t b, int64_t e) {
            const Loop& l = *static_cast<const Loop*>(p);
            if (l.failed->load(std::memory_order_relaxed) || !l.body(l.context, l.begin + b, l.begin + e)) return;
            Locked locked;
            try {
                throw_kept_error();
            } catch (const Error& error) {
                std::lock_guard<std::mutex> lock(*l.mutex);
                if (!l.failed->exchange(true)) {
                    *l.kind = static_cast<int>(error.kind);
                    *l.text = error.text;
                }
            } catch (const PythonError&) {
                PyObject *type, *value, *trace;
                PyErr_Fetch(&type, &value, &trace);
                PyErr_NormalizeException(&type, &value, &trace);
                Py_XDECREF(type);
                Py_XDECREF(trace);
                std::lock_guard<std::mutex> lock(*l.mutex);
                if (!l.failed->exchange(true))
                    *l.exception = value;
                else
                    Py_XDECREF(value);
            }
        },
        &loop);
    if (!failed) return 0;
    return reported([&] {
        if (!exception) throw Error(static_cast<ErrorKind>(kind), message);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
        Py_DECREF(exception);
        throw PythonError();
    });
}

Generator& generator(mt_object g) {
    if (!g) return default_generator();
    MT_CHECK_TYPE(generator_check(object(g)), "a torch.Generator was expected, got ", Py_TYPE(object(g))->tp_name);
    Value v = Value::object(object(g));
    v.tag = Tag::Generator;
    return generator_of(v);
}
int generator_default(mt_device d, mt_object* out) {
    return reported([&] {
        MT_CHECK(device(d).is_cpu(), "the default generator of ", device_name(device(d)),
                 " cannot be had from C++; only that of the CPU");
        *out = handle(Py_NewRef(reinterpret_cast<PyObject*>(&default_generator())));
    });
}
int random(mt_object g, uint64_t* words, int64_t n, int bits) {
    return reported([&] {
        GeneratorLock lock(generator(g));
        for (int64_t i = 0; i < n; i++)
            words[i] = bits == 64 ? random_word64(lock.engine()) : random_word(lock.engine());
    });
}
int seed(mt_object g, uint64_t* value, int set) {
    return reported([&] {
        Generator& one = generator(g);
        GeneratorLock lock(one);
        if (set)
            one.reseed(*value);
        else
            *value = one.initial_seed;
    });
}

}  // namespace

void fill_threads(mt_boundary& b) {
    b.key_bit = key_bit;
    b.keys_of_thread = [](uint64_t* included, uint64_t* excluded) {
        *included = g_thread.include.bits;
        *excluded = g_thread.exclude.bits;
    };
    b.set_keys_of_thread = [](uint64_t included, uint64_t excluded) {
        g_thread.include = KeySet(included);
        g_thread.exclude = KeySet(excluded);
    };
    b.grad_mode = []() -> int { return g_thread.grad_mode; };
    b.set_grad_mode = [](int on) { g_thread.grad_mode = on != 0; };
    b.inference_mode = []() -> int { return g_thread.inference_mode; };
    b.default_dtype = [] { return static_cast<uint8_t>(default_dtype()); };
    b.lock_python = []() -> int { return or_stay([] { return PyGILState_Ensure(); }); };
    b.unlock_python = [](int state) { PyGILState_Release(static_cast<PyGILState_STATE>(state)); };
    b.leave_python = []() -> void* { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; };
    b.enter_python = [](void* state) {
        if (state) or_stay([&] { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); });
    };
    b.num_threads = num_threads;
    b.set_num_threads = set_num_threads;
    b.thread_number = omp_get_thread_num;
    b.in_parallel = omp_in_parallel;
    b.parallel_for = parallel_for;
    b.default_generator = generator_default;
    b.random = random;
    b.generator_seed = seed;
    b.recorders = []() -> int { return g_recorders.load(std::memory_order_relaxed); };
}

}  // namespace mt::boundary
