#include "block.h"

#include <sys/mman.h>

#include <algorithm>
#include <numeric>

#include "fiber.h"

namespace emu {
namespace {

// What the lanes of a warp that a mask names have brought to an operation so far.
struct Meeting {
    unsigned mask = 0, arrived = 0;
    int operation = 0;
    unsigned long long values[32];
    unsigned sources[32];
    Fiber* fibers[32];
    const char* name = nullptr;  // of what tensor cores do
};

const char* name_of(int operation, const char* name = nullptr) {
    switch (operation) {
        case EMULATED_TOGETHER:
            return name;
        case EMULATED_SHUFFLE:
            return "a shuffle";
        case EMULATED_BALLOT:
            return "a vote";
        case EMULATED_MATCH:
            return "__match_any_sync";
        default:
            return "__syncwarp";
    }
}

std::string triple(const unsigned* v) {
    return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + ")";
}

// All that the blocks of one thread of the host need; kept between launches.
class Runner : public emulated_block {
  public:
    Runner() {
        void* p = mmap(nullptr, kSharedSpace + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) throw std::bad_alloc();
        shared_space_ = static_cast<char*>(p);
        mprotect(shared_space_ + kSharedSpace, kPage, PROT_NONE);  // behind a block's memory
        warp = at_warp;
        barrier = at_barrier;
        active = active_lanes;
        together = at_together;
        fail = failed;
    }
    ~Runner() { munmap(shared_space_, kSharedSpace + kPage); }

    Fault run(const Launch& launch);
    std::string place() const {
        unsigned linear = std::min(current, count - 1);
        unsigned t[3] = {linear % size[0], linear / size[0] % size[1], linear / (size[0] * size[1])};
        return "kernel " + launch_->name + ", block " + triple(index) + ", thread " + triple(t);
    }

  private:
    static constexpr size_t kPage = 4096, kSharedSpace = (kMostShared + kPage - 1) / kPage * kPage;

    void order_threads(uint64_t seed);
    void run_block(bool drift);
    std::string stuck() const;
    Fiber* take();
    // Leaves the fiber that runs; on return, the thread goes on.
    unsigned long long wait(Fiber* fiber, unsigned thread) {
        fiber->thread = thread;
        waiting_++;
        fiber->leave();
        running_ = fiber;
        current = thread;
        return fiber->result;
    }
    void go_on(Fiber* fiber, unsigned long long result) {
        fiber->result = result;
        waiting_--;
        ready_.push_back(fiber);
    }
    void start(Fiber* fiber) {
        running_ = fiber;
        fiber->enter();
        if (fiber->done) spare_.push_back(fiber);
    }
    unsigned lanes_of(unsigned warp_index) const {
        unsigned rest = count - 32 * warp_index;
        return rest >= 32 ? ~0u : (1u << rest) - 1;
    }

    static unsigned long long at_warp(emulated_block* block, unsigned thread, int operation, unsigned mask,
                                      unsigned long long value, unsigned source);
    Meeting* arrive(unsigned thread, int operation, unsigned mask, unsigned long long value, unsigned source,
                    const char* name = nullptr);
    void part(Meeting* meeting);
    static void at_together(emulated_block* block, unsigned thread, const char* name, void* mine,
                            void (*compute)(void* const*));
    static unsigned long long at_barrier(emulated_block* block, unsigned thread, int operation, int predicate);
    static unsigned active_lanes(emulated_block* block, unsigned thread);
    static void failed(emulated_block* block, int code, const char* text) { abandon({code, text}); }

    const Launch* launch_ = nullptr;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    std::vector<Fiber*> spare_;
    std::deque<Fiber*> ready_;
    Fiber* running_ = nullptr;
    unsigned waiting_ = 0;
    std::vector<std::vector<Meeting>> meetings_;  // of each warp
    std::vector<Fiber*> at_barrier_;
    int barrier_operation_ = 0;
    unsigned long long barrier_value_ = 0;
    std::vector<emulated_place> order_;
    std::vector<unsigned char> ended_;
    unsigned ordered_[3] = {0, 0, 0};
    char* shared_space_ = nullptr;
};

std::atomic<unsigned long long> g_blocks_begun{0};
thread_local std::unique_ptr<Runner> t_runner;

std::string place_of_kernel() { return t_runner->place(); }

void Runner::order_threads(uint64_t seed) {
    if (!settings().hostile && std::equal(ordered_, ordered_ + 3, size)) return;
    std::copy(size, size + 3, ordered_);
    order_.clear();
    for (unsigned z = 0; z < size[2]; z++)
        for (unsigned y = 0; y < size[1]; y++)
            for (unsigned x = 0; x < size[0]; x++) order_.push_back({x, y, z, static_cast<unsigned>(order_.size())});
    for (size_t i = order_.size(); i > 1; i--) std::swap(order_[i - 1], order_[next_random(seed) % i]);
}

Fiber* Runner::take() {
    if (spare_.empty()) {
        fibers_.push_back(std::make_unique<Fiber>());
        spare_.push_back(fibers_.back().get());
    }
    Fiber* fiber = spare_.back();
    spare_.pop_back();
    fiber->prepare(
        [](void* self) {
            auto* runner = static_cast<Runner*>(self);
            runner->launch_->entry(runner->launch_->arguments.get(), runner);
            Fiber* mine = runner->running_;
            mine->done = true;
            mine->leave();
        },
        this);
    return fiber;
}

// With `drift` a warp goes on as long as it can before others do.
void Runner::run_block(bool drift) {
    next = 0;
    std::fill(ended_.begin(), ended_.end(), 0);
    for (;;) {
        if (next < count && !(drift && !ready_.empty())) {
            start(take());
        } else if (!ready_.empty()) {
            Fiber* fiber = drift ? ready_.back() : ready_.front();
            drift ? ready_.pop_back() : ready_.pop_front();
            start(fiber);
        } else {
            break;
        }
    }
    if (waiting_) abandon({CUDA_ERROR_LAUNCH_FAILED, stuck()});
}

// Why the threads that wait would wait for ever.
std::string Runner::stuck() const {
    auto threads = [](size_t n) { return std::to_string(n) + (n == 1 ? " thread" : " threads"); };
    size_t over = static_cast<size_t>(std::count(ended_.begin(), ended_.begin() + count, 1));
    std::string text;
    if (!at_barrier_.empty())
        text = threads(at_barrier_.size()) + " of " + std::to_string(count) + " wait at __syncthreads";
    for (size_t w = 0; w < meetings_.size(); w++)
        for (const Meeting& m : meetings_[w]) {
            char missing[16];
            std::snprintf(missing, sizeof missing, "0x%08x", m.mask & ~m.arrived);
            if (!text.empty()) text += "; ";
            text += "lanes of warp " + std::to_string(w) + " wait at " + name_of(m.operation, m.name) + " for lanes " +
                    missing;
            if (text.size() > 300) return text + "; ...";
        }
    return text + "; " + threads(over) + " ended without it: this would hang, or is undefined";
}

Fault Runner::run(const Launch& launch) {
    launch_ = &launch;
    std::copy(launch.grid, launch.grid + 3, grid);
    std::copy(launch.block, launch.block + 3, size);
    count = size[0] * size[1] * size[2];
    current = 0;
    spare_.clear();
    for (auto& fiber : fibers_) spare_.push_back(fiber.get());
    ready_.clear();
    at_barrier_.clear();
    waiting_ = 0;
    meetings_.assign((count + 31) / 32, {});
    ended_.resize(std::max<size_t>(ended_.size(), count));
    static std::atomic<uint64_t> launches{0};
    uint64_t seed = settings().hostile ? settings().hostile + 7919 * ++launches : 12345;
    order_threads(seed);
    order = order_.data();
    ended = ended_.data();
    size_t bytes = (launch.shared + 15) / 16 * 16;
    shared = shared_space_ + kSharedSpace - bytes;
    t_place = place_of_kernel;
    // Block number i is the (i * step + first)-th: all of them, in an order that no kernel may count on.
    uint64_t blocks = uint64_t(grid[0]) * grid[1] * grid[2];
    uint64_t step = std::max<uint64_t>(1, blocks * 5 / 8), first = next_random(seed) % blocks;
    while (std::gcd(step, blocks) != 1) step++;
    g_launches++;
    g_blocks += static_cast<long long>(blocks);
    uint64_t at = first;
    for (uint64_t i = 0; i < blocks; i++) {
        index[0] = static_cast<unsigned>(at % grid[0]);
        index[1] = static_cast<unsigned>(at / grid[0] % grid[1]);
        index[2] = static_cast<unsigned>(at / grid[0] / grid[1]);
        if (bytes) std::memset(shared, 0xff, bytes);  // never written: not a number
        serial = ++g_blocks_begun;
        run_block(settings().hostile && next_random(seed) & 1);
        at += step;
        if (at >= blocks) at -= blocks;
    }
    t_place = nullptr;
    return {};
}

// A lane comes to an operation of its warp. Where it is the last of those that the mask names it gets their meeting, to
// end by `part`; the others wait, and get none.
Meeting* Runner::arrive(unsigned thread, int operation, unsigned mask, unsigned long long value, unsigned source,
                        const char* name) {
    unsigned lane = thread % 32;
    mask &= lanes_of(thread / 32);
    auto& meetings = meetings_[thread / 32];
    auto m = std::find_if(meetings.begin(), meetings.end(), [&](const Meeting& o) { return o.mask == mask; });
    if (m == meetings.end()) {
        meetings.emplace_back();
        m = std::prev(meetings.end());
        m->mask = mask;
        m->operation = operation;
        m->name = name;
    } else if (m->operation != operation || m->name != name) {
        abandon({CUDA_ERROR_LAUNCH_FAILED, std::string("lanes of one warp wait at different operations: ") +
                                               name_of(m->operation, m->name) + " and " + name_of(operation, name)});
    }
    m->arrived |= 1u << lane;
    m->values[lane] = value;
    m->sources[lane] = source;
    m->fibers[lane] = running_;
    return m->arrived == mask ? &*m : nullptr;
}

void Runner::part(Meeting* meeting) {
    auto& meetings = meetings_[current / 32];
    if (meeting != &meetings.back()) *meeting = meetings.back();
    meetings.pop_back();
}

unsigned long long Runner::at_warp(emulated_block* block, unsigned thread, int operation, unsigned mask,
                                   unsigned long long value, unsigned source) {
    auto& r = *static_cast<Runner*>(block);
    unsigned lane = thread % 32;
    if (!(mask >> lane & 1))
        abandon({CUDA_ERROR_LAUNCH_FAILED,
                 std::string("the mask of ") + name_of(operation) + " does not name the lane itself"});
    Meeting* m = r.arrive(thread, operation, mask, value, source);
    if (!m) return r.wait(r.running_, thread);
    mask = m->mask;
    const Meeting& all = *m;
    unsigned votes = 0;
    if (operation == EMULATED_BALLOT)
        for (unsigned i = 0; i < 32; i++)
            if (mask >> i & 1 && all.values[i]) votes |= 1u << i;
    unsigned long long mine = 0;
    for (unsigned i = 0; i < 32; i++) {
        if (!(mask >> i & 1)) continue;
        unsigned long long result = votes;
        if (operation == EMULATED_SHUFFLE) {  // from a lane that takes no part: not a number
            result = mask >> (all.sources[i] & 31) & 1 ? all.values[all.sources[i] & 31] : ~0ull;
        } else if (operation == EMULATED_MATCH) {
            result = 0;
            for (unsigned j = 0; j < 32; j++)
                if (mask >> j & 1 && all.values[j] == all.values[i]) result |= 1u << j;
        }
        if (i == lane)
            mine = result;
        else
            r.go_on(all.fibers[i], result);
    }
    r.part(m);
    return mine;
}

void Runner::at_together(emulated_block* block, unsigned thread, const char* name, void* mine,
                         void (*compute)(void* const*)) {
    auto& r = *static_cast<Runner*>(block);
    if (r.lanes_of(thread / 32) != ~0u)
        abandon(
            {CUDA_ERROR_LAUNCH_FAILED, std::string(name) + " is for all 32 lanes of a warp, and this one has fewer"});
    Meeting* m = r.arrive(thread, EMULATED_TOGETHER, ~0u, reinterpret_cast<unsigned long long>(mine), 0, name);
    if (!m) {
        r.wait(r.running_, thread);
        return;
    }
    void* lanes[32];
    for (int i = 0; i < 32; i++) lanes[i] = reinterpret_cast<void*>(m->values[i]);
    compute(lanes);
    for (unsigned i = 0; i < 32; i++)
        if (i != thread % 32) r.go_on(m->fibers[i], 0);
    r.part(m);
}

unsigned long long Runner::at_barrier(emulated_block* block, unsigned thread, int operation, int predicate) {
    auto& r = *static_cast<Runner*>(block);
    if (r.at_barrier_.empty()) {
        r.barrier_operation_ = operation;
        r.barrier_value_ = operation == EMULATED_AND;
    } else if (r.barrier_operation_ != operation) {
        abandon({CUDA_ERROR_LAUNCH_FAILED, "threads of one block wait at different kinds of __syncthreads"});
    }
    bool yes = predicate != 0;
    if (operation == EMULATED_COUNT) r.barrier_value_ += yes;
    if (operation == EMULATED_AND) r.barrier_value_ &= yes;
    if (operation == EMULATED_OR) r.barrier_value_ |= yes;
    if (r.at_barrier_.size() + 1 < r.count) {
        r.at_barrier_.push_back(r.running_);
        return r.wait(r.running_, thread);
    }
    for (Fiber* fiber : r.at_barrier_) r.go_on(fiber, r.barrier_value_);
    r.at_barrier_.clear();
    return r.barrier_value_;
}

unsigned Runner::active_lanes(emulated_block* block, unsigned thread) {
    auto& r = *static_cast<Runner*>(block);
    unsigned warp_index = thread / 32, lanes = r.lanes_of(warp_index);
    for (unsigned i = 0; i < 32; i++)
        if (lanes >> i & 1 && r.ended_[32 * warp_index + i]) lanes &= ~(1u << i);
    return lanes;
}

}  // namespace

Fault run_blocks(const Launch& launch) {
    if (!t_runner) t_runner = std::make_unique<Runner>();
    return t_runner->run(launch);
}

}  // namespace emu
