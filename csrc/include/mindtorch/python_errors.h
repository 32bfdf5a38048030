// Exceptions in functions that are written against CPython's C interface: HANDLE_TH_ERRORS around their bodies.
#pragma once

#include <mindtorch/python.h>

#include <cstdarg>
#include <cstdio>

// An error of Python's that is on its way through C++.
struct python_error : std::exception {
    python_error() = default;
    python_error(const python_error& o) : error_(o.error_) {}
    python_error& operator=(const python_error&) = delete;
    const char* what() const noexcept override { return "an error of Python's"; }
    // Takes the error that is set, to be set again where C++ ends.
    void persist() {
        const py::gil_scoped_acquire lock;
        if (PyErr_Occurred()) error_ = std::make_shared<py::error_already_set>();
    }
    void restore() {
        if (!error_) return;
        const py::gil_scoped_acquire lock;
        error_->restore();
    }

  private:
    std::shared_ptr<py::error_already_set> error_;
};

namespace torch {
// Errors with a message as printf writes it.
struct PyTorchError : c10::Error {
    using c10::Error::Error;
};
namespace detail {
[[gnu::format(printf, 1, 0)]] inline std::string formatted(const char* format, va_list given) {
    char text[1024];
    std::vsnprintf(text, sizeof text, format, given);
    return text;
}
}  // namespace detail
#define MINDTORCH_ERROR(Name, Base)                                                \
    struct Name : Base {                                                           \
        using Parent = Base;                                                       \
        using Parent::Parent;                                                      \
        [[gnu::format(printf, 2, 3)]] Name(const char* format, ...) : Parent("") { \
            va_list given;                                                         \
            va_start(given, format);                                               \
            Parent::operator=(Parent(detail::formatted(format, given)));           \
            va_end(given);                                                         \
        }                                                                          \
    };
MINDTORCH_ERROR(IndexError, c10::IndexError)
MINDTORCH_ERROR(TypeError, c10::TypeError)
MINDTORCH_ERROR(ValueError, c10::ValueError)
MINDTORCH_ERROR(NotImplementedError, c10::NotImplementedError)
#undef MINDTORCH_ERROR
}  // namespace torch

namespace mindtorch MINDTORCH_HIDDEN {
// Inside catch (...): sets Python's error.
inline void set_python_error() noexcept {
    try {
        throw;
    } catch (py::error_already_set& e) {
        e.restore();
    } catch (python_error& e) {
        e.restore();
    } catch (const py::builtin_exception& e) {
        e.set_error();
    } catch (const c10::Error& e) {
        set_python_error(e);
    } catch (const std::bad_alloc& e) {
        PyErr_SetString(PyExc_MemoryError, e.what());
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    } catch (...) {
        PyErr_SetString(PyExc_RuntimeError, "a C++ exception that is no std::exception");
    }
}
// Of this module only; made when it is loaded.
struct Translator {
    Translator() {
        if (!Py_IsInitialized()) return;
        py::gil_scoped_acquire gil;
        py::register_local_exception_translator([](std::exception_ptr p) {
            try {
                if (p) std::rethrow_exception(p);
            } catch (const c10::Error& e) {
                set_python_error(e);
            } catch (python_error& e) {
                e.restore();
            }
        });
    }
};
inline const Translator translator;
}  // namespace mindtorch MINDTORCH_HIDDEN

#define HANDLE_TH_ERRORS try {
#define CATCH_ALL_ERRORS(statement)      \
    catch (...) {                        \
        ::mindtorch::set_python_error(); \
        statement;                       \
    }
#define CATCH_TH_ERRORS(statement) CATCH_ALL_ERRORS(statement)
#define CATCH_CORE_ERRORS(statement) CATCH_ALL_ERRORS(statement)
#define END_HANDLE_TH_ERRORS_RET(value) \
    }                                   \
    CATCH_ALL_ERRORS(return value)
#define END_HANDLE_TH_ERRORS END_HANDLE_TH_ERRORS_RET(nullptr)
// Of functions that pybind11 calls: it translates what is thrown.
#define END_HANDLE_TH_ERRORS_PYBIND      \
    }                                    \
    catch (...) {                        \
        ::mindtorch::set_python_error(); \
        throw py::error_already_set();   \
    }
