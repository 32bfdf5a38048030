// Finds the shared libraries of PyPI packages at run time.
#include "shared_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/gil.h"
#include "core/typed_kernel.h"

namespace mt {
namespace {

// Directories that a wheel's files may hang off: sys.path, sys.prefix, sys.base_prefix, and this library's own place.
std::vector<std::string> roots() {
    HoldGil held;
    std::vector<std::string> found;
    auto add = [&](PyObject* text) {
        if (text && PyUnicode_Check(text))
            if (const char* path = PyUnicode_AsUTF8(text)) found.emplace_back(path);
    };
    if (PyObject* path = PySys_GetObject("path"); path && PyList_Check(path))
        for (Py_ssize_t i = 0; i < PyList_Size(path); i++) add(PyList_GetItem(path, i));
    add(PySys_GetObject("prefix"));
    add(PySys_GetObject("base_prefix"));
    Dl_info here;
    if (dladdr(reinterpret_cast<void*>(&symbol_of), &here) && here.dli_fname) {
        std::string file = here.dli_fname;
        found.push_back(file.substr(0, file.find_last_of('/')) + "/../..");
    }
    PyErr_Clear();
    return found;
}

}  // namespace

void* open_shared_library(std::initializer_list<const char*> candidates, const char* package, const char* remedy) {
    std::vector<std::string> below = roots();
    std::string reason, of_one_that_is_there;
    auto attempt = [&](const std::string& file) -> void* {
        void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library)
            if (const char* text = dlerror()) reason = text;
        return library;
    };
    for (const char* candidate : candidates) {
        if (candidate[0] != '*') {
            if (void* library = attempt(candidate)) return library;
            continue;
        }
        for (const std::string& root : below) {
            std::string file = root + (candidate + 1);
            if (access(file.c_str(), R_OK) != 0) continue;
            if (void* library = attempt(file)) return library;
            of_one_that_is_there = reason;
        }
    }
    MT_CHECK(of_one_that_is_there.empty(), "the shared library of the package ", package,
             " is there but could not be loaded: ", of_one_that_is_there);
    MT_THROW(Runtime, "the shared library of the package ", package, " could not be loaded (", reason,
             "). Install it with: pip install ", package, remedy);
}

void* symbol_of(void* library, const char* name) {
    void* address = dlsym(library, name);
    MT_CHECK(address, "symbol ", name, " is missing: ", dlerror());
    return address;
}

}  // namespace mt
