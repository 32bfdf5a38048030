// Ranks that are connected: what the emulated HCCL and the emulated NCCL share. It knows neither devices nor streams.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace emu {

using Instant = std::chrono::steady_clock::time_point;

// Why ranks do not come together.
enum class Trouble { wrong, disagreement, garbled, timeout, gone };
struct Broken {
    Trouble why;
    std::string text;
};

struct Piece {  // some bytes that go to a rank, or come from it
    uint32_t rank;
    char* at;
    size_t size;
};

// How long to wait, and the variable that says so, for messages.
struct Patience {
    const char* variable;
    std::chrono::seconds time;
    Patience(const char* variable, long otherwise);  // as the environment has it
};

class Links {
  public:
    uint32_t rank = 0, size = 0;
    std::string name;
    std::vector<int> sockets;  // by rank; -1 for this one
    Patience patience;         // for one collective
    std::mutex turn;           // one collective after the other

    explicit Links(const Patience& patience) : patience(patience) {}
    ~Links() { hang_up(); }

    // Makes the connections of one rank: all ranks of the name come together. Throws Broken.
    void connect(const std::string& family, const Patience& patience);
    // Tells the ranks what this one does (as text), and waits until they say the same. Throws Broken if one does not.
    void agree(const std::vector<uint32_t>& ranks, const std::string& call, Instant deadline);
    // Moves bytes in both directions at once, whatever the order in which the others do.
    void move(const std::vector<Piece>& sends, const std::vector<Piece>& receives, Instant deadline);
    std::vector<uint32_t> others() const;
    void hang_up();
    void interrupt();  // all that move, here and there, find the others gone

  private:
    [[noreturn]] void lost(uint32_t peer) const;
};

// Connects ranks of one process with each other. False where there are no sockets left.
bool connect_within_process(const std::vector<Links*>& all);
std::string fresh_name(const char* family);

// ---- collectives.cpp: what the ranks do with bytes, once they agree ----

// Combines n numbers of each part, in their order, into `to`, which may be one of them.
using Combine = std::function<void(const std::vector<const char*>& parts, char* to, size_t n)>;
enum class Number { i8, u8, i16, i32, u32, i64, u64, f16, bf16, f32, f64 };
enum class Reduction { sum, product, most, least, mean };
Combine combine_of(Number type, Reduction op);  // reduce.cpp

// How much lies where in a buffer with a part for each rank, in elements.
struct Layout {
    std::vector<size_t> counts, offsets;
    size_t reach = 0;

    Layout(const void* given_counts, const void* given_offsets, uint32_t size);  // from host arrays of 64 bits
    Layout(uint64_t count, uint32_t size);                                       // as many for each
    void add(uint64_t count, uint64_t offset);
};

void all_reduce(Links& links, const char* from, char* to, size_t count, size_t item, const Combine& combine,
                Instant deadline);
void broadcast(Links& links, char* at, size_t n, uint32_t root, Instant deadline);
void reduce(Links& links, const char* from, char* to, size_t count, size_t item, uint32_t root, const Combine& combine,
            Instant deadline);
void scatter(Links& links, char* from, char* to, size_t n, uint32_t root, Instant deadline);
void gather(Links& links, char* from, char* to, const Layout& layout, size_t item, Instant deadline);
void reduce_scatter(Links& links, char* from, const Layout& layout, char* to, size_t item, const Combine& combine,
                    Instant deadline);

// Transfers between pairs of ranks: both say what goes from one to the other, in their order.
struct Transfer {
    bool sends;
    uint32_t rank;
    char* at;
    uint64_t count;
    size_t item;
    const char* type;  // for messages
};
std::function<void(Links&, Instant)> transfers(const Links& links, const std::vector<Transfer>& items);

}  // namespace emu
