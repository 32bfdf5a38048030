// Streams, inside the runtime library.
#pragma once

#include "emulator.h"

EMU_API const char* aclrtGetSocName();

namespace emu {

int drain(aclrtStream stream);  // waits until the stream has nothing left to do; its error, if one of its tasks failed
std::string pending_user(const void* begin, size_t size);  // the queued work that uses a piece of memory, "" if none
size_t leaked_blocks();

}  // namespace emu
