/* The one stable interface of the core: a table of C functions. Everything that other people compile stands on it.
 *
 * Rules: entries are only ever added at the end; none changes its meaning. A library asks for the table with the
 * version and the size that it was compiled with, and is refused by name where the core is older. Functions that return
 * `int` return 0, or 1 with an error that `take_error` gives. Every function may be called on any thread, with or
 * without Python's lock; none throws. A handle is a counted reference: results are the caller's to release, arguments
 * are not kept. NULL as a tensor is the undefined tensor. */
#ifndef MINDTORCH_BOUNDARY_H
#define MINDTORCH_BOUNDARY_H

#include <stddef.h>
#include <stdint.h>

#define MT_BOUNDARY_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mt_tensor_s* mt_tensor;
typedef struct mt_object_s* mt_object; /* any Python object: lists, dicts, generators, custom objects */
typedef struct mt_operator_s* mt_operator;
typedef struct mt_storage_s* mt_storage; /* the memory behind tensors */

typedef struct mt_device {
    uint8_t type; /* as PyTorch numbers them: 0 CPU, 1 CUDA, 14 Meta, 20 PrivateUse1 */
    int8_t index; /* -1: not given */
} mt_device;

enum {
    MT_NONE,
    MT_TENSOR,
    MT_BOOL,
    MT_INT,
    MT_DOUBLE,
    MT_COMPLEX,
    MT_INT_LIST,
    MT_DOUBLE_LIST,
    MT_BOOL_LIST,
    MT_TENSOR_LIST, /* items may be NULL */
    MT_SCALAR_LIST,
    MT_STRING,
    MT_DTYPE,
    MT_DEVICE,
    MT_LAYOUT,
    MT_MEMORY_FORMAT,
    MT_GENERATOR,
    MT_OBJECT
};

/* One argument or result. Arguments borrow; results own their tensor or object, and are no lists but objects. */
typedef struct mt_value {
    uint8_t tag;
    uint32_t len; /* of lists and strings */
    union {
        mt_tensor tensor;
        uint8_t boolean;
        int64_t integer; /* MT_INT, MT_LAYOUT, MT_MEMORY_FORMAT */
        double real;
        double complex[2];
        const int64_t* ints;
        const double* doubles;
        const uint8_t* bools;
        const mt_tensor* tensors;
        const struct mt_value* values;
        const char* string;
        mt_object object; /* MT_GENERATOR, MT_OBJECT */
        mt_device device;
        uint8_t dtype; /* as PyTorch numbers them */
    } as;
} mt_value;

enum { /* classes of errors */
       MT_ERROR_RUNTIME,
       MT_ERROR_TYPE,
       MT_ERROR_VALUE,
       MT_ERROR_INDEX,
       MT_ERROR_NOT_IMPLEMENTED,
       MT_ERROR_MEMORY,
       MT_ERROR_ATTRIBUTE,
       MT_ERROR_KEY,
       MT_ERROR_OVERFLOW,
       MT_ERROR_ZERO_DIVISION,
       MT_ERROR_LINALG,
       MT_ERROR_PYTHON = 100 /* an exception of Python's, which comes with it */
};

enum { /* bits of `flags` */
       MT_FLAG_CONTIGUOUS = 1,
       MT_FLAG_REQUIRES_GRAD = 2,
       MT_FLAG_LEAF = 4,
       MT_FLAG_VIEW = 8,
       MT_FLAG_WRAPPED_NUMBER = 16,
       MT_FLAG_NON_OVERLAPPING_AND_DENSE = 32,
       MT_FLAG_INFERENCE = 64
};

/* A call that reaches a kernel. The kernel fills `rets`, or says why not with `set_error` and returns 1. */
typedef struct mt_call {
    mt_operator op;
    uint64_t keys; /* of this dispatch: what lies below the kernel's own key is what it may redispatch to */
    const mt_value* args;
    mt_value* rets;
    int32_t nargs, nrets;
} mt_call;
typedef int (*mt_kernel)(void* context, mt_call* call);
typedef void (*mt_release)(void* context);

/* A differentiable function: `backward` gives one value for each input of `function_apply`, a tensor or none. */
typedef struct mt_function {
    const char* name;
    int (*forward)(void* context, mt_object node, mt_value* outputs, int32_t max_outputs, int32_t* noutputs);
    int (*backward)(void* context, mt_object node, const mt_tensor* grads, int32_t ngrads, mt_tensor* results,
                    int32_t nresults);
    mt_release release;
} mt_function;

typedef struct mt_boundary {
    uint32_t size;
    uint32_t version;

    /* errors */
    void (*set_error)(int kind, const char* text, size_t length, mt_object exception);
    int (*take_error)(const char** text, size_t* length, mt_object* exception); /* text: until the next call */
    int (*warn)(const char* text, const char* category, const char* file, int line);
    void (*load_failed)(int kind, const char* text); /* of a library's static initialiser, which cannot throw */

    /* references */
    void (*retain)(void* handle);
    void (*release)(void* handle);
    int64_t (*references)(void* handle);

    /* tensors */
    int32_t (*dim)(mt_tensor);
    const int64_t* (*sizes)(mt_tensor);
    const int64_t* (*strides)(mt_tensor);
    int64_t (*numel)(mt_tensor);
    int64_t (*offset)(mt_tensor);
    uint8_t (*dtype)(mt_tensor);
    mt_device (*device)(mt_tensor);
    int64_t (*layout)(mt_tensor);
    uint32_t (*flags)(mt_tensor);
    uint64_t (*keys)(mt_tensor);
    int (*data)(mt_tensor, void** first_element);
    int (*storage)(mt_tensor, void** data, int64_t* bytes);
    int64_t (*version_of)(mt_tensor);
    void (*bump_version)(mt_tensor);
    int (*empty)(int32_t dim, const int64_t* sizes, const int64_t* strides, uint8_t dtype, mt_device, mt_tensor*);
    int (*from_blob)(void* data, int32_t dim, const int64_t* sizes, const int64_t* strides, uint8_t dtype, mt_device,
                     void* context, mt_release, mt_tensor*);
    int (*wrapped_number)(const mt_value*, mt_tensor*);
    int (*set_requires_grad)(mt_tensor, int);
    int (*grad)(mt_tensor, mt_tensor*);
    int (*set_grad)(mt_tensor, mt_tensor);
    int (*set_data)(mt_tensor, mt_tensor from);

    /* objects: what schemas say with lists, dicts, tuples and classes */
    int (*is_tensor)(mt_object);
    int (*value_of)(mt_object, mt_value*); /* borrows from the object; lists and dicts stay objects */
    int (*object_of)(const mt_value*, mt_object*);
    int (*list)(const mt_value*, int64_t n, mt_object*);
    int (*tuple)(const mt_value*, int64_t n, mt_object*);
    int (*dict)(const mt_value* keys, const mt_value* values, int64_t n, mt_object*);
    char (*kind_of)(mt_object); /* 'l'ist, 't'uple, 'd'ict, 'g'enerator, 'c'ompiled object, 's'tream, 'o'ther, ... */
    int64_t (*length)(mt_object);
    int (*item)(mt_object, int64_t i, mt_value*);               /* of a list or tuple: borrowed */
    int (*entries)(mt_object dict, mt_object* keys_and_values); /* a list of key, value, key, value, ... */
    int (*call_python)(const char* module, const char* name, const mt_value* args, int32_t n, mt_value* result);
    int (*call_object)(mt_object, const mt_value* args, int32_t n, mt_value* result);

    /* operators */
    mt_operator (*find)(const char* name, const char* overload);
    int (*schema)(mt_operator, const char** text, int32_t* nargs, int32_t* nrets); /* text: until the next call */
    int (*call)(mt_operator, mt_value* args, int32_t nargs, mt_value* rets, int32_t nrets);
    int (*redispatch)(mt_operator, uint64_t keys, mt_value* args, int32_t nargs, mt_value* rets, int32_t nrets);

    /* registration: libraries are kept for ever */
    int (*library)(const char* kind, const char* ns, const char* key, const char* file, int line, mt_object*);
    int (*define)(mt_object library, const char* schema, const char* const* tags, int32_t ntags);
    int (*implement)(mt_object library, const char* name, const char* key, mt_kernel, void* context, mt_release);
    int (*fallback)(mt_object library, const char* key, mt_kernel, void* context, mt_release);

    /* autograd */
    int (*function_apply)(const mt_function*, void* context, const mt_tensor* inputs, int32_t ninputs,
                          mt_value* outputs, int32_t max_outputs, int32_t* noutputs);
    int (*node_save)(mt_object node, const mt_tensor*, int32_t n);
    int (*node_saved)(mt_object node, mt_object* tuple);
    int (*node_mark)(mt_object node, char what, const mt_tensor*, int32_t n); /* 'd'irty, 'n'on-differentiable */
    int (*node_set_materialize)(mt_object node, int);
    int (*node_needs)(mt_object node, int32_t input);

    /* this thread */
    uint64_t (*key_bit)(const char* name); /* 0 if no set holds it */
    void (*keys_of_thread)(uint64_t* included, uint64_t* excluded);
    void (*set_keys_of_thread)(uint64_t included, uint64_t excluded);
    int (*grad_mode)(void);
    void (*set_grad_mode)(int);
    int (*inference_mode)(void);
    uint8_t (*default_dtype)(void);
    int (*lock_python)(void); /* what unlock_python is given */
    void (*unlock_python)(int);
    void* (*leave_python)(void); /* lets other Python threads run; NULL if the lock was not held */
    void (*enter_python)(void*);

    /* threads */
    int (*num_threads)(void);
    void (*set_num_threads)(int);
    int (*thread_number)(void);
    int (*in_parallel)(void);
    int (*parallel_for)(int64_t begin, int64_t end, int64_t grain, int (*body)(void*, int64_t, int64_t), void* context);

    /* random numbers */
    int (*default_generator)(mt_device, mt_object*);
    int (*random)(mt_object generator, uint64_t* words, int64_t n, int bits); /* NULL: the default one; 32 or 64 bits */
    int (*generator_seed)(mt_object generator, uint64_t* seed, int set);

    /* objects of compiled classes */
    int (*define_class)(mt_object library, const char* name, const char* doc);
    int (*define_method)(mt_object library, const char* cls, const char* name, char kind, const char* doc);
    int (*object_new)(const char* cls, void* held, mt_release, mt_object*);
    void* (*object_held)(mt_object, const char** cls); /* NULL if it is none */

    /* profilers */
    int (*recorders)(void); /* how many are on */

    /* devices of a program's own */
    int (*set_geometry)(mt_tensor, int32_t dim, const int64_t* sizes, const int64_t* strides, int64_t offset);
    int (*storage_resize)(mt_tensor, int64_t bytes);

    /* storages */
    int (*storage_of)(mt_tensor, mt_storage*); /* borrowed */
    void (*storage_retain)(mt_storage);
    void (*storage_release)(mt_storage);
    int64_t (*storage_references)(mt_storage);
    int (*storage_new)(void* data, int64_t bytes, mt_device, void* context, mt_release, mt_storage*);
    int (*storage_look)(mt_storage, void** data, int64_t* bytes, mt_device*, int* resizable);
    /* Other memory from now on. What it had stays as long as the storage, but for what an earlier change gave. */
    int (*storage_change)(mt_storage, void* data, int64_t bytes, void* context, mt_release);
    /* An object that every library finds by its kind as long as the storage is there; `resize`, if not NULL, is how it
     * is resized from then on. */
    int (*storage_describe)(mt_storage, const char* kind, void* object, mt_release,
                            int (*resize)(void* object, int64_t bytes));
    void* (*storage_described)(mt_storage, const char* kind);
    int (*tensor_over)(mt_storage, int32_t dim, const int64_t* sizes, const int64_t* strides, int64_t offset,
                       uint8_t dtype, mt_tensor*);
    int (*storage_of_object)(mt_object, mt_storage*); /* borrowed from a storage of Python's */
    int (*object_of_storage)(mt_storage, mt_object*);

    /* The next `call` of this thread goes to the framework's own kernel, past what libraries registered for the
     * operator: 'n', where one did, for the device of the arguments; 'c' always, and the kernel for the CPU. 0: to
     * none. */
    void (*call_own_kernel)(char which);

    /* An object that every library finds by its kind as long as the tensor is there, instead of what it had of that
     * kind; a detached tensor has what `copy` gives. */
    int (*tensor_describe)(mt_tensor, const char* kind, void* object, mt_release, void* (*copy)(void* object));
    void* (*tensor_described)(mt_tensor, const char* kind);

    /* Whether text of this thread that is no UTF-8 loses what is wrong in it where Python gets it (1), or is an error
     * (0); gives what held before. Any other number asks alone. */
    int (*skip_bad_text)(int);
} mt_boundary;

/* The table, or NULL where this core is older than what was asked for: then the library named `who` fails to load. */
__attribute__((visibility("default"))) const mt_boundary* mindtorch_boundary(uint32_t version, uint32_t size,
                                                                             const char* who);

#ifdef __cplusplus
}
#endif

#endif
