// What a memory format asks of a tensor's sizes.
#pragma once

#include "core/typed_kernel.h"

namespace mt {

inline void check_format_rank(MemoryFormat format, int64_t ndim) {
    MT_CHECK(format != MemoryFormat::ChannelsLast || ndim == 4, "required rank 4 tensor to use channels_last format");
    MT_CHECK(format != MemoryFormat::ChannelsLast3d || ndim == 5,
             "required rank 5 tensor to use channels_last_3d format");
}

}  // namespace mt
