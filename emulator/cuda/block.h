// The blocks of a launch, one after the other on the stream's thread.
#pragma once

#include "emulator.h"
#include "on_cpu/block.h"

namespace emu {

using Entry = void (*)(const void* arguments, emulated_block* block);

struct Launch {
    std::string name;
    Entry entry = nullptr;
    std::shared_ptr<const void> arguments;
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    size_t shared = 0;
};

constexpr size_t kMostShared = 232448;

Fault run_blocks(const Launch& launch);

}  // namespace emu
