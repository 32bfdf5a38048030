// Behaviours that are written in Python: __torch_dispatch__ (the key Python), vmap (Batched), functional
// tensors (Functionalize), forward mode, calls that are put off (Tracer).
#pragma once

#include "registry.h"

namespace mt {

enum class KeyHandler { Python, Batched, Functionalize, ForwardMode, Tracer, Count };
constexpr int kKeyHandlers = static_cast<int>(KeyHandler::Count);

// handler(operator, args, kwargs): its answer becomes the call's results; false if it is NotImplemented.
bool call_key_handler(Call& c, KeyHandler which);
// handler(operator, args, kwargs, results): gives the results their tangents.
void call_forward_handler(Call& c);
// Whether calls go to Python now: those with `t`, or all (null).
bool watched_by_python(const Tensor* t);
// An alias of `t` without history. Where a mode or the class of `t` takes calls over, it is what that answers to
// `detach`, so that a tracer knows the alias and a wrapper stays one.
TensorRef detached_alias(Tensor& t);
bool set_key_handler(const char* name, PyObject* handler);  // false if there is no behaviour of that name

// Kernels of the keys.
void run_python_key(Call& c);
void run_batched(Call& c);
void run_functionalize(Call& c);
void run_tracer(Call& c);

}  // namespace mt
