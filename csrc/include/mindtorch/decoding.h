// Whether text of C++ that is no UTF-8 loses what is wrong in it on its way to Python, for this thread.
#pragma once

#include <mindtorch/api.h>

namespace torch {
namespace jit {
inline void setUTF8DecodingIgnore(bool ignore) { mindtorch::api().skip_bad_text(ignore); }
inline bool getUTF8DecodingIgnore() { return mindtorch::api().skip_bad_text(-1) != 0; }
}  // namespace jit
}  // namespace torch
