// Watching backward: a profiler is told when a node of this thread begins and ends.
#pragma once

#include "autograd.h"

namespace mt {

// The number that the next node of this thread gets.
uint64_t next_sequence();

// Makes `watch(node, inner, begins)` the watcher of this thread, null for none; returns the one before, or null. Both
// references are the caller's. `inner` is False for all that the engine does for the node, True for the node itself.
PyObject* set_node_watch(PyObject* watch);

// Tells the watcher of a beginning, and of its end when this goes out of scope. What the watcher raises is reported and
// does not reach the program.
class WatchedNode {
  public:
    WatchedNode(Node* n, bool inner);
    ~WatchedNode();
    WatchedNode(const WatchedNode&) = delete;
    WatchedNode& operator=(const WatchedNode&) = delete;

  private:
    PyObject* watch_;
    Node* node_;
    bool inner_;
};

}  // namespace mt
