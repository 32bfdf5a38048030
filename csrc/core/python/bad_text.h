// Text of C++ that is no UTF-8, on its way to Python.
#pragma once

namespace mt {

// Whether what is wrong in it is left out, on this thread; else it is an error.
extern thread_local bool g_skips_bad_text;

}  // namespace mt
