// What a call of a function of torch says when its arguments fit no overload: PyTorch's texts.
#pragma once

#include <functional>

#include "bind.h"

namespace mt {

// "(Tensor input, *, torch.dtype dtype = None)"; of a method without the tensor before the dot.
std::string python_signature(const Operator& op, const Operator* out_form = nullptr, bool method = false);

// Why a call does not fit one operator: too many arguments by position, argument i missing, `o` not of its type, a
// keyword that is unknown or given twice.
std::string too_many_text(const Operator& op, const CallInput& in);
std::string missing_text(const Operator& op, const CallInput& in, int i);
std::string mismatch_text(const Operator& op, const CallInput& in, int i, bool by_position, PyObject* o);
// The item at `place` of a list of sizes, or of sizes given one by one, is none.
std::string unpack_text(const Operator& op, int i, Py_ssize_t place, PyObject* item);
std::string keyword_text(const Operator& op, PyObject* name, bool twice);

// TypeError: the reason of the only overload that the number of arguments leaves, or else a list of all.
[[noreturn]] void throw_no_overload(const char* name, Operator* const* ops, size_t n, const CallInput& in,
                                    bool out_forms, const std::function<std::string(Operator*)>& why);

}  // namespace mt
