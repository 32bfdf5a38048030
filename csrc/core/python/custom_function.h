// The node of a torch.autograd.Function; its Python object is the context that forward and backward share.
#pragma once

#include "../autograd.h"

namespace mt {

struct FunctionNode : Node {
    PyObject* to_save;  // what save_for_backward was given, until apply has kept it
    PyObject* dirty;    // what mark_dirty was given
    PyObject* non_differentiable;
    PyObject* saved_for_forward;
    PyObject* needs_input_grad;
    uint8_t* input_is_tensor;  // one an argument of apply
    int ninputs;
    bool keep_absent_grads;     // set_materialize_grads(False)
    bool keep_absent_non_diff;  // the same for outputs marked non-differentiable
    bool in_jvp;                // saved_tensors are those of save_for_forward now
};

bool is_function_node(const Node* n);
int traverse_function_node(FunctionNode* n, visitproc visit, void* arg);
void clear_function_node(FunctionNode* n);
// Whether every call of this thread is given to the handler of Tracer: also what transforms, custom functions and modes
// do.
bool& tracer_takes_all();
bool init_custom_function(PyObject* module, PyTypeObject* node_type);

PyObject* saved_tensor_object(Node* n, int place);  // new reference
bool init_saved_tensor(PyObject* module);

// Slots of every kind of node.
void node_dealloc(PyObject* o);
int node_traverse(PyObject* o, visitproc visit, void* arg);
int node_clear(PyObject* o);

}  // namespace mt
