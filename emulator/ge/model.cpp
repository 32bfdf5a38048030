// From the bytes of a ModelDef to a graph whose edges are known to be sound. Field numbers: ge_ir.proto.
#include "model.h"

#include <algorithm>
#include <random>

#include "wire.h"

namespace emu::ge {
namespace {

aclDataType dtype_of(int64_t number) {
    static const std::map<int64_t, aclDataType> table = {
        {1, ACL_FLOAT},  {2, ACL_FLOAT16}, {3, ACL_INT8},  {4, ACL_UINT8},      {5, ACL_INT16},
        {6, ACL_UINT16}, {7, ACL_INT32},   {8, ACL_INT64}, {9, ACL_UINT32},     {10, ACL_UINT64},
        {11, ACL_BOOL},  {12, ACL_DOUBLE}, {27, ACL_BF16}, {16, ACL_COMPLEX64}, {17, ACL_COMPLEX128}};
    auto found = table.find(number);
    return found == table.end() ? ACL_DT_UNDEFINED : found->second;
}

Desc read_desc(std::string_view bytes) {
    Desc d;
    for (Wire w(bytes); w.next();) {
        if (w.number == 1) d.name = w.text();
        if (w.number == 2) d.dtype = dtype_of(w.integer());
        if (w.number == 3)
            for (Wire dims(w.bytes); dims.next();)
                if (dims.number == 1) dims.integers([&](int64_t n) { d.dims.push_back(n); });
    }
    return d;
}

Attr read_attr(std::string_view bytes) {
    Attr a;
    for (Wire w(bytes); w.next();) {
        if (w.number == 1)
            for (Wire list(w.bytes); list.next();)
                if (list.number == 3) list.integers([&](int64_t n) { a.list.push_back(n); });
        if (w.number == 2) a.s = w.text();
        if (w.number == 3 || w.number == 15) a.i = w.integer();
        if (w.number == 4) a.f = w.real();
        if (w.number == 5) a.b = w.integer() != 0;
        if (w.number == 12)
            for (Wire tensor(w.bytes); tensor.next();) {
                if (tensor.number == 1) a.tensor = read_desc(tensor.bytes);
                if (tensor.number == 2) a.data = tensor.text();
            }
    }
    return a;
}

struct Named {
    Op op;
    std::vector<std::string> edges;
};

Named read_op(std::string_view bytes) {
    Named n;
    n.op.bytes = std::string(bytes);
    for (Wire w(bytes); w.next();) {
        if (w.number == 1) n.op.name = w.text();
        if (w.number == 2) n.op.type = w.text();
        if (w.number == 5) n.edges.push_back(w.text());
        if (w.number == 33) n.op.inputs.push_back(read_desc(w.bytes));
        if (w.number == 34) n.op.outputs.push_back(read_desc(w.bytes));
        if (w.number == 10) {
            std::string key;
            Attr value;
            for (Wire entry(w.bytes); entry.next();) {
                if (entry.number == 1) key = entry.text();
                if (entry.number == 2) value = read_attr(entry.bytes);
            }
            n.op.attrs[key] = value;
        }
    }
    return n;
}

}  // namespace

int64_t Desc::numel() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
}
size_t Desc::nbytes() const { return static_cast<size_t>(numel()) * itemsize(dtype); }

int Op::written_input(size_t output) const {
    for (size_t i = 0; i < inputs.size(); i++)
        if (inputs[i].name == outputs[output].name && from[i].op >= 0) return static_cast<int>(i);
    return -1;
}

Graph parse(const std::string& bytes) {
    std::vector<Named> read;
    int graphs = 0;
    for (Wire model(bytes); model.next();) {
        if (model.number != 7) continue;
        graphs++;
        for (Wire graph(model.bytes); graph.next();)
            if (graph.number == 6) read.push_back(read_op(graph.bytes));
    }
    if (graphs != 1) throw text("the model has ", graphs, " graphs, expected one");
    Graph g;
    std::map<std::string, int> places;
    for (auto& n : read) {
        if (!places.emplace(n.op.name, static_cast<int>(places.size())).second)
            throw text("two operators have the name '", n.op.name, "'");
        g.ops.push_back(n.op);
    }
    for (size_t i = 0; i < read.size(); i++) {
        Op& op = g.ops[i];
        auto fail = [&](const std::string& why) { throw text(op.type, " '", op.name, "': ", why); };
        for (const std::string& edge : read[i].edges) {
            if (edge.empty()) {
                op.from.push_back({});
                continue;
            }
            size_t colon = edge.rfind(':');
            auto found = places.find(edge.substr(0, colon));
            if (colon == std::string::npos || found == places.end()) fail("its input '" + edge + "' is of no operator");
            int output = std::atoi(edge.c_str() + colon + 1);
            if (output < 0) {
                op.after.push_back(found->second);
                continue;
            }
            const Op& source = g.ops[static_cast<size_t>(found->second)];
            if (static_cast<size_t>(output) >= source.outputs.size())
                fail("its input '" + edge + "' is an output that there is not");
            op.from.push_back({found->second, output});
        }
        if (op.from.size() != op.inputs.size())
            fail(text("has ", op.from.size(), " inputs and ", op.inputs.size(), " descriptors of inputs"));
        for (const Desc& d : op.outputs) {
            if (!itemsize(d.dtype)) fail("the output '" + d.name + "' has no dtype");
            int64_t bytes = static_cast<int64_t>(itemsize(d.dtype));
            for (int64_t size : d.dims) {
                if (size < 0) fail("the shape of the output '" + d.name + "' is not known");
                if (__builtin_mul_overflow(bytes, size, &bytes))
                    fail("the output '" + d.name + "' has too many elements");
            }
            if (d.dims.size() > static_cast<size_t>(kMaxRank))
                fail("an output of rank " + std::to_string(d.dims.size()));
        }
        if (op.type == "Data") {
            size_t index = static_cast<size_t>(op.attrs["index"].i);
            if (index >= read.size()) fail("an index of " + std::to_string(index));
            if (g.inputs.size() <= index) g.inputs.resize(index + 1, -1);
            if (g.inputs[index] >= 0) fail("a second input with the index " + std::to_string(index));
            if (op.outputs.size() != 1) fail("it must have one output");
            g.inputs[index] = static_cast<int>(i);
        }
        if (op.type == "NetOutput") {
            if (g.result >= 0) fail("there is another one");
            g.result = static_cast<int>(i);
        }
    }
    if (g.result < 0) throw std::string("the graph has no NetOutput");
    for (int input : g.inputs)
        if (input < 0) throw std::string("the indices of the Data operators have gaps");
    ordered(g, 0);
    return g;
}

std::vector<int> ordered(const Graph& graph, unsigned seed) {
    size_t n = graph.ops.size();
    std::vector<int> waits(n, 0);
    std::vector<std::vector<int>> then(n);
    for (size_t i = 0; i < n; i++) {
        auto needs = [&](int before) {
            waits[i]++;
            then[static_cast<size_t>(before)].push_back(static_cast<int>(i));
        };
        for (const Edge& e : graph.ops[i].from)
            if (e.op >= 0) needs(e.op);
        for (int before : graph.ops[i].after) needs(before);
    }
    std::vector<int> ready, order;
    for (size_t i = 0; i < n; i++)
        if (!waits[i]) ready.push_back(static_cast<int>(i));
    std::mt19937 random(seed);
    while (!ready.empty()) {
        size_t pick = random() % ready.size();
        int i = ready[pick];
        ready[pick] = ready.back();
        ready.pop_back();
        order.push_back(i);
        for (int next : then[static_cast<size_t>(i)])
            if (--waits[static_cast<size_t>(next)] == 0) ready.push_back(next);
    }
    if (order.size() != n) throw std::string("the edges of the graph go in a circle");
    return order;
}

}  // namespace emu::ge
