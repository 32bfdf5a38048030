// Kernels written in AscendC: blocks run one after the other, each on a stack of its own, so that one that waits for
// the others (SyncAll) can be left and entered again. Every access to global memory passes here and is checked.
//
// A launch that was told which memory it may touch works on a copy of each range, far from any other memory: an access
// that leaves a tensor cannot end in the next one unseen. Afterwards the copies go back.
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "../ascendc/emulated/launch.h"
#include "stream.h"

namespace emu {
namespace {

constexpr size_t kStack = size_t(1) << 20;
constexpr uint32_t kMaxBlocks = 65535;

constexpr size_t kGap = size_t(1) << 26;  // around the copy of a range

struct Fault {
    std::string problem;
};
struct Range {
    uintptr_t begin, end;  // as the host knows it
};

// A range's copy, in the middle of addresses that nothing else has.
class Window {
  public:
    explicit Window(Range range) : range_(range), whole_((size() + kGap + 4095) / 4096 * 4096 + kGap) {
        void* p = mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) throw Fault{"the host has no memory for the arguments of a kernel"};
        start_ = static_cast<char*>(p);
        // The same offset behind a multiple of 4096, so that alignment is what it was.
        first_ = start_ + kGap + range.begin % 4096;
        std::memcpy(first_, real(), size());
    }
    ~Window() { munmap(start_, whole_); }
    Window(const Window&) = delete;
    void write_back() { std::memcpy(real(), first_, size()); }
    bool holds(const void* p) const { return p >= start_ && p < start_ + whole_; }
    bool covers(const void* p) const {
        auto at = reinterpret_cast<uintptr_t>(p);
        return at >= range_.begin && at < range_.end;
    }
    char* inside(const void* p) const { return first_ + (reinterpret_cast<uintptr_t>(p) - range_.begin); }
    long offset(const void* p) const { return static_cast<const char*>(p) - first_; }
    size_t size() const { return range_.end - range_.begin; }

  private:
    char* real() const { return backing(reinterpret_cast<const void*>(range_.begin)); }
    Range range_;
    size_t whole_;
    char *start_, *first_;
};

// Who wrote which bytes since the blocks last met.
class Writes {
  public:
    // -1, or the block that wrote a byte of the range before and is another one.
    int64_t add(uintptr_t begin, uintptr_t end, uint32_t block, bool atomic) {
        auto it = written_.upper_bound(begin);
        if (it != written_.begin() && std::prev(it)->second.end > begin) --it;
        for (auto over = it; over != written_.end() && over->first < end; ++over)
            if (over->second.block != block && !(atomic && over->second.atomic)) return over->second.block;
        while (it != written_.end() && it->first < end) {  // merge what overlaps
            begin = std::min(begin, it->first);
            end = std::max(end, it->second.end);
            atomic = atomic && it->second.atomic;
            it = written_.erase(it);
        }
        if (it != written_.begin()) {
            auto before = std::prev(it);
            if (before->second.end == begin && before->second.block == block && before->second.atomic == atomic) {
                before->second.end = end;
                return -1;
            }
        }
        written_[begin] = {end, block, atomic};
        return -1;
    }
    void clear() { written_.clear(); }

  private:
    struct Piece {
        uintptr_t end;
        uint32_t block;
        bool atomic;
    };
    std::map<uintptr_t, Piece> written_;
};

struct Stack {
    char* memory;
    Stack() {
        void* p = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) throw Fault{"the host has no memory for the stack of a block"};
        memory = static_cast<char*>(p);
        mprotect(memory, 1, PROT_NONE);  // the page of its end
    }
    ~Stack() { munmap(memory, kStack); }
    Stack(const Stack&) = delete;
};

struct Launch;
struct Fiber {
    EmulatorBlock block{};
    Launch* launch = nullptr;
    std::unique_ptr<Stack> stack;
    ucontext_t context{};
    bool done = false, abandoned = false;
    std::string problem;
};

struct Launch {
    std::string name;
    uint32_t blocks;
    void (*run)(void*);
    std::shared_ptr<void> arguments;
    std::vector<Range> allowed;  // as they were given; then without overlaps
    std::vector<std::unique_ptr<Window>> windows;
    Writes writes;
    ucontext_t scheduler{};

    std::string execute();
    std::string run_blocks();
    const Window* window(const void* p) const {
        for (auto& w : windows)
            if (w->holds(p)) return w.get();
        return nullptr;
    }
};

thread_local Fiber* t_fiber = nullptr;
thread_local std::vector<Range> t_allowed;

void enter(unsigned high, unsigned low) {
    auto* f = reinterpret_cast<Fiber*>(static_cast<uintptr_t>(high) << 32 | low);
    try {
        f->launch->run(f->launch->arguments.get());
    } catch (const Fault& fault) {
        f->problem = fault.problem;
    } catch (const std::exception& e) {
        f->problem = e.what();
    }
    f->done = true;
    swapcontext(&f->context, &f->launch->scheduler);
}

// Runs or goes on with a block, until it ends or waits.
void resume(Fiber& f) {
    t_fiber = &f;
    swapcontext(&f.launch->scheduler, &f.context);
    t_fiber = nullptr;
}

std::string Launch::execute() {
    try {
        for (const Range& r : allowed) windows.push_back(std::make_unique<Window>(r));
    } catch (const Fault& fault) {
        windows.clear();
        return fault.problem;
    }
    std::string problem = run_blocks();
    for (auto& w : windows) w->write_back();
    windows.clear();
    return problem;
}

std::string Launch::run_blocks() {
    writes.clear();
    std::vector<std::unique_ptr<Fiber>> waiting;
    std::unique_ptr<Stack> spare;
    std::string problem;
    auto note = [&](const Fiber& f) {
        if (problem.empty() && !f.problem.empty()) problem = text("block ", f.block.index, ": ", f.problem);
    };
    uint32_t ended = 0;
    for (uint32_t i = 0; i < blocks && problem.empty(); i++) {
        auto f = std::make_unique<Fiber>();
        f->block = {i, blocks, nullptr};
        f->launch = this;
        f->stack = spare ? std::move(spare) : std::make_unique<Stack>();
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = f->stack->memory;
        f->context.uc_stack.ss_size = kStack;
        auto at = reinterpret_cast<uintptr_t>(f.get());
        makecontext(&f->context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(at >> 32),
                    static_cast<unsigned>(at));
        resume(*f);
        if (f->done) {
            ended++;
            note(*f);
            spare = std::move(f->stack);
        } else {
            waiting.push_back(std::move(f));
        }
    }
    while (!waiting.empty()) {
        if (problem.empty() && ended)
            problem = text("SyncAll: ", waiting.size(), " of ", blocks, " blocks wait, among them block ",
                           waiting[0]->block.index, ", and ", ended, " have ended without it: this would hang");
        writes.clear();
        std::vector<std::unique_ptr<Fiber>> still;
        for (auto& f : waiting) {
            f->abandoned = !problem.empty();  // unwinds its stack
            resume(*f);
            if (f->done) {
                ended++;
                if (!f->abandoned) note(*f);
            } else {
                still.push_back(std::move(f));
            }
        }
        waiting = std::move(still);
    }
    return problem;
}

// Ranges in their order, those that overlap made one.
std::vector<Range> merged(std::vector<Range> ranges) {
    std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.begin < b.begin; });
    std::vector<Range> r;
    for (const Range& next : ranges)
        if (!r.empty() && next.begin < r.back().end)
            r.back().end = std::max(r.back().end, next.end);
        else
            r.push_back(next);
    return r;
}

}  // namespace
}  // namespace emu

using namespace emu;

EMU_API void emulatorAllow(const void* const* begins, const size_t* sizes, size_t count) {
    t_allowed.clear();
    for (size_t i = 0; i < count; i++) {
        auto begin = reinterpret_cast<uintptr_t>(begins[i]);
        t_allowed.push_back({begin, begin + sizes[i]});
    }
}

EMU_API uint32_t emulatorLaunch(const EmulatorKernel* kernel, uint32_t blocks, void* stream) {
    std::string function = text("aclrtlaunch_", kernel->name);
    auto launch = std::make_shared<Launch>();
    launch->arguments = std::shared_ptr<void>(kernel->arguments, kernel->drop);
    launch->allowed = merged(std::exchange(t_allowed, {}));
    EMU_ENTER(function.c_str());
    std::string here = aclrtGetSocName();
    here = here.substr(0, here.find('-'));
    if (here != kernel->soc) {
        // As a real stub does: it says so, launches nothing, and returns 0.
        std::printf("[ERROR] kernel %s was built for %s, this is %s\n", kernel->name, kernel->soc, here.c_str());
        std::fflush(stdout);
        return kSuccess;
    }
    if (!blocks || blocks > kMaxBlocks)
        return static_cast<uint32_t>(
            failed(kParamInvalid, text(function, ": ", blocks, " blocks, 1 to ", kMaxBlocks, " are possible")));
    launch->name = kernel->name;
    launch->blocks = blocks;
    launch->run = kernel->run;
    Work work;
    work.name = function;
    for (const Range& r : launch->allowed)
        work.memory.push_back({reinterpret_cast<const void*>(r.begin), r.end - r.begin});
    if (launch->allowed.empty())
        for (uint32_t i = 0; i < kernel->pointer_count; i++)
            if (kernel->pointers[i]) work.memory.push_back({kernel->pointers[i], 1});
    work.run = [launch] { return launch->execute(); };
    return static_cast<uint32_t>(enqueue(stream, std::move(work)));
}

EMU_API EmulatorBlock* emulatorCurrentBlock() { return t_fiber ? &t_fiber->block : nullptr; }

EMU_API void emulatorFault(const char* problem) { throw Fault{problem}; }

EMU_API char* emulatorGlobal(const void* address, size_t size, char access, const char* operation) {
    Fiber* f = t_fiber;
    Launch& launch = *f->launch;
    const char* does = access == 'r' ? "read" : "write";
    char* place = static_cast<char*>(const_cast<void*>(address));
    if (const Window* w = launch.window(address)) {
        long at = w->offset(address);
        if (at < 0 || static_cast<size_t>(at) + size > w->size())
            throw Fault{text("out-of-bounds global ", does, ": ", operation, " of ", size, " bytes at byte ", at,
                             " of an argument of ", w->size(), " bytes")};
    } else {
        const void* device = is_device_address(address) ? address : from_backing(address);
        std::string problem = "it is no device memory";
        if (device)
            problem = launch.windows.empty() ? range_problem(device, size) : "the launch was not given this memory";
        if (!problem.empty())
            throw Fault{text("out-of-bounds global ", does, ": ", operation, " of ", size, " bytes at ", address, ": ",
                             problem)};
        place = backing(device);
    }
    if (access != 'r') {
        auto begin = reinterpret_cast<uintptr_t>(place);
        int64_t other = launch.writes.add(begin, begin + size, f->block.index, access == 'a');
        if (other >= 0)
            throw Fault{text("race between blocks: ", operation, " writes ", size, " bytes",
                             launch.window(place) ? text(" at byte ", launch.window(place)->offset(place)) : "",
                             ", where block ", other, " wrote too, with no SyncAll between them")};
    }
    return place;
}

EMU_API const void* emulatorBacking(const void* address) {
    if (!is_device_address(address)) return address;
    for (auto& w : t_fiber->launch->windows)
        if (w->covers(address)) return w->inside(address);
    return backing(address);
}

EMU_API void emulatorSyncAll() {
    Fiber* f = t_fiber;
    if (f->block.count == 1) return;
    swapcontext(&f->context, &f->launch->scheduler);
    if (f->abandoned) throw Fault{""};
}
