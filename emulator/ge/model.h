// A GE graph as it was read from an .air file: operators, and the edges that order them.
#pragma once

#include <map>

#include "../descriptors/descriptors.h"

namespace emu::ge {

using Shape = std::vector<int64_t>;

struct Desc {
    std::string name;
    aclDataType dtype = ACL_DT_UNDEFINED;
    Shape dims;
    int64_t numel() const;
    size_t nbytes() const;
};
struct Attr {
    int64_t i = 0;
    float f = 0;
    bool b = false;
    std::string s;
    Shape list;
    Desc tensor;
    std::string data;
};
struct Edge {
    int op = -1;  // -1: an optional input that is left out
    int output = 0;
};
struct Op {
    std::string name, type;
    std::vector<Desc> inputs, outputs;
    std::vector<Edge> from;  // of each input
    std::vector<int> after;  // control edges
    std::map<std::string, Attr> attrs;
    std::string bytes;  // the OpDef itself
    // The input that an output is written into: the one of its name. -1 for an output of its own.
    int written_input(size_t output) const;
};

struct Graph {
    std::vector<Op> ops;
    std::vector<int> inputs;  // Data operators by their index
    int result = -1;          // NetOutput
};

// Throws std::string: what is wrong with the file or the graph.
Graph parse(const std::string& bytes);
// The operators in an order that data and control edges allow, one of many: `seed` chooses.
std::vector<int> ordered(const Graph& graph, unsigned seed);

}  // namespace emu::ge
