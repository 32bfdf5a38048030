// Operators and their kernels per dispatch key.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel.h"
#include "schema.h"

namespace mt {

using KernelFn = void (*)(Call&);

// Of kernels written in Python.
enum PythonFlag : uint32_t {
    kTakesOperator = 1,  // the operator comes as first argument (fallbacks)
    kTakesKeys = 2,      // then the key set, as an int
    kOnlyRecording = 4,  // an autograd kernel: entered only where a graph is to be recorded
    kResultsAreNew = 8,  // results may share no memory with arguments or each other
};

struct Kernel {
    KernelFn fn = nullptr;
    ComputeFn compute = nullptr;   // structured kernels: the part that fills outputs
    PyObject* python = nullptr;    // kernels written in Python
    KernelFn unchecked = nullptr;  // what run_checked surrounds
    uint32_t flags = 0;            // KernelFlag, or PythonFlag
    bool fallthrough = false;
    uint64_t id = 0;  // of the registration; 0 for what is derived from the row
    explicit operator bool() const { return fn != nullptr || fallthrough; }
};

enum class Form : uint8_t { Functional, Inplace, Out };

// How one group of arguments gets its gradient.
struct FormulaArg {
    // Sizes: of a tensor input, known to the graph anyway. ListSizes: of every tensor of a list, kept at forward.
    enum Kind : uint8_t { Grad, Grads, Input, Result, Needs, Sizes, ListSizes } kind;
    int index;
};
struct FormulaPart {
    std::vector<int> inputs;  // argument positions this part gives gradients for
    PyObject* fn;
    std::vector<FormulaArg> params;
    bool tuple;  // returns one gradient per input
};
struct Formula {
    std::vector<FormulaPart> parts;
    std::vector<int> inputs;         // differentiable argument positions, in schema order
    std::vector<int> saved_inputs;   // argument positions the parts read
    std::vector<uint64_t> read_for;  // for each of those: the arguments (a mask) whose gradients it is read for
    std::vector<int> saved_results;  // result positions the parts read
    std::vector<int> saved_sizes;    // positions of tensor lists whose sizes, and tensors whose geometry the parts read
    std::vector<int> input_slot;     // argument position -> index in saved_inputs, -1
    std::vector<int> result_slot;
    uint64_t nondiff = 0;  // outputs without gradient
};

// Which tensor arguments need not lie on the device of the others: bit i for argument i.
struct DeviceRule {
    uint64_t anywhere = 0;  // on any device
    uint64_t on_host = 0;   // on the CPU too
    uint64_t numbers = 0;   // on the CPU too where they have no dimensions
};

struct Operator {
    Schema schema;
    std::string name;       // "add_"
    std::string full_name;  // "aten::add_.Tensor"
    std::string node_name;  // "AddBackward0"
    Form form = Form::Functional;
    int nargs = 0, nrets = 0;
    int self_index = -1;   // in-place: position of the argument written
    int out_index = -1;    // out=: position of the first output argument
    bool is_view = false;  // returns an alias of its first argument
    bool mutates = false;
    int device_arg = -1;       // position of a Device argument
    uint64_t tensor_args = 0;  // bit i: argument i may hold tensors
    DeviceRule devices;
    KeySet composite;         // back ends that the implicit composite answers for
    KeySet active;            // keys with something to run
    Kernel table[kKeyCount];  // resolved
    // By key, aliases included: stacks, of which the last one counts. No stack is empty.
    std::unordered_map<int, std::vector<Kernel>> registered;
    ShapeFn shape = nullptr;
    PyObject* shape_python = nullptr;
    std::vector<int> shape_params;
    std::unique_ptr<Formula> formula;
    PyTypeObject* node_type = nullptr;
    NodeNameFn node_name_of = nullptr;    // null: always node_name
    PyTypeObject* return_type = nullptr;  // namedtuple type of the results
    uint64_t sequence = 0;                // counts definitions: overloads are tried in this order
    bool user = false;                    // defined at run time: lists reach its kernels as lists, results are checked
    bool excused = false;                 // PyTorch's own schema keeps quiet about what the operator writes or aliases
    bool needs_tensor = false;            // a call without tensors has no kernel to go to
    bool random = false;                  // draws random numbers
    bool reads_elements = true;           // a kernel reads or writes what tensors hold: not of views and factories
    bool inplace_view = false;            // shows other elements of the memory it has, and writes none
    bool crosses_devices = false;         // gradients come back from another device
    bool underived = false;               // has a gradient that nobody wrote: asking for it raises
    bool takes_numbers = false;           // torch.ops takes a number where its schema says Tensor
    bool unlisted = false;                // no form of PyTorch's Python function: errors do not show it
    std::string written_twice;            // where writing to an expanded tensor only warns: what Python calls the write
    bool quiet_out = false;               // an out= of another size takes the result's without a warning
    uint64_t out_apart = 0;               // the arguments, a bit each, with which an out= may share no memory
    std::string out_dtype;                // what an out= of another dtype is refused with; empty: it is cast into
    // The arguments behind next_functions of a node, by its name or, under "", of all; -1: a number. None: as they are.
    std::unordered_map<std::string, std::vector<int>> shown_edges;
    bool factory = false;            // takes dtype/layout/device/pin_memory: Python callers may add requires_grad
    Operator* functional = nullptr;  // of a derived form
    PyObject* handle = nullptr;      // the Python object standing for this operator

    void resolve();                                  // recompute `table` and `active`
    uint64_t set_kernel(Key key, Kernel k);          // covers what is there; gives the registration's id
    void erase_kernel(Key key, uint64_t id);         // wherever it stands: what it covered counts again
    const Kernel* kernel_of(uint64_t id) const;      // null once it was erased
    const Kernel* registered_kernel(Key key) const;  // the one that counts; null if there is none
};

class Registry {
  public:
    static Registry& get();
    Operator* define(Schema schema);  // RuntimeError if it exists
    Operator* find(const std::string& name, const std::string& overload);
    void erase(Operator* op);
    std::vector<Operator*> all() const;
    // Kernels of a key for operators that have none of their own: a stack, as those of an operator.
    uint64_t set_fallback(Key key, Kernel k);
    void erase_fallback(Key key, uint64_t id);
    const Kernel* fallback(Key key) const;

  private:
    void resolve_all();
    std::unordered_map<int, std::vector<Kernel>> fallbacks_;
    std::unordered_map<std::string, std::unique_ptr<Operator>> operators_;  // "aten::add.Tensor"
};

struct NativeKernel {
    ComputeFn fn;
    bool structured;
    uint32_t flags;
    const Signature* signature;
};
const NativeKernel* find_native_kernel(const std::string& name);
struct NativeShape {
    ShapeFn fn;
    const Signature* signature;
};
const NativeShape* find_shape_rule(const std::string& name);
struct NativeNodeName {
    NodeNameFn fn;
    const Signature* signature;
};
const NativeNodeName* find_node_name(const std::string& op);  // null if none was registered

// ---- dispatch ----

struct ThreadState {
    KeySet include, exclude;
    bool grad_mode = true;
    bool inference_mode = false;
    bool function_modes_disabled = false;
    bool device_given = false;  // default_device was set by set_default_device or a `with device` block
    int function_modes = 0;     // depth of the __torch_function__ mode stack
    int transforms = 0;         // depth of torch.func's transforms
    Device default_device;
};
#if defined(__GNUC__)
extern thread_local ThreadState g_thread __attribute__((tls_model("initial-exec")));
#else
extern thread_local ThreadState g_thread;
#endif

// Excludes keys from dispatch on this thread for a scope.
class ExcludeKeys {
  public:
    explicit ExcludeKeys(KeySet keys) : saved_(g_thread.exclude) { g_thread.exclude = saved_ | keys; }
    ~ExcludeKeys() { g_thread.exclude = saved_; }

  private:
    KeySet saved_;
};

[[noreturn]] void missing_kernel(const Call& c, KeySet keys);

// Runs the kernel of the highest key of `keys` that has one.
inline void run(Call& c, KeySet keys) {
    Key k = (keys & c.op->active).highest();
    const Kernel& kernel = c.op->table[static_cast<int>(k)];
    if (__builtin_expect(kernel.fn == nullptr, 0)) missing_kernel(c, keys);
    c.kernel = &kernel;
    c.keys = keys;
    kernel.fn(c);
}
KeySet dispatch_keys(const Call& c);
inline void dispatch(Call& c) { run(c, dispatch_keys(c)); }

// Entry points of kernels.
void run_structured(Call& c);
void run_direct(Call& c);
void run_meta(Call& c);
void run_python(Call& c);
bool compiled_kernel(PyObject* o, KernelFn* run);  // whether o is a kernel of a compiled library, and what enters it
bool is_compiled_kernel(const Kernel& k);
void run_checked(Call& c);
extern bool g_check_mutation;  // MINDTORCH_CHECK_MUTATION=1: kernels run inside run_checked
extern bool g_check_meta;      // MINDTORCH_CHECK_META=1: so do those of users' operators, for what Meta says
void run_autograd(Call& c);
void run_underived(Call& c);  // of a gradient's operator that has no gradient itself
void run_adinplaceorview(Call& c);

void release_results(Call& c);

// Calls an operator from C++ with bound values. rets must have room for op.nrets.
void call_values(Operator* op, Value* args, Value* rets);
// The same for an operator with one tensor result; trailing arguments that are not given take their defaults.
TensorRef call_tensor(Operator* op, std::initializer_list<Value> given);

inline Value ints_of(IntSpan s) {
    Value v;
    v.tag = Tag::IntList;
    v.ints = s.data;
    v.len = static_cast<uint32_t>(s.size);
    return v;
}

}  // namespace mt
