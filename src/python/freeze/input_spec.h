/*
 * input_spec.h -- what inputs of a frozen function have in common if one recording is
 * to serve them
 *
 * It is flattened inputs without its variables and objects. Where the tree has
 *
 *     an array           there is an empty one, of the same class and shape
 *     another leaf       its mark: the plain value that it is, or a row (spec_codec.h)
 *     an object with     its class
 *     fields
 *
 * There are numbers of variables, whose count is 'id_count', but no 'ids'. It also says
 * of variables which are literals, of these and of extents of tensors which are equal,
 * which are 1 or 0, and of objects which are the same one. What is compared by identity
 * is not kept alive, if that is possible.
 *
 * An InputSpec is a key of dictionaries. frozen_match.h compares it with inputs as they
 * are.
 */
#ifndef PYTHON_INPUT_SPEC_H
#define PYTHON_INPUT_SPEC_H

#include "python/freeze/flattened_inputs.h"
#include "python/freeze/size_classes.h"

enum { INPUT_SPEC_NUMBER = UINT32_MAX }; /* an extent that is not a size of an input */

typedef struct InputSpec {
    PyObject_HEAD
    FlattenedInputs c;
    JitFreezeInput *described; /* the variables, as they were */
    uint64_t *words;           /* of these, and of extents: what is compared */
    size_t word_count;
    uint32_t *extents;         /* of tensors, in order: of which input of the core it is
                                  the size, or INPUT_SPEC_NUMBER */
    size_t extent_count;
    size_t extra;              /* further inputs: literals with as many entries as an
                                  extent that no variable has as its size */
    bool suspended;            /* derivatives are, see ad_scope_suspends_all() */
    bool unordered;            /* sets are equal in any order of iteration, which
                                  differs between processes */
    bool runs_code;            /* comparing may run any: attributes, values */
    bool tells_objects;        /* variables do not tell which objects are the same */
    TreePlace behind_named;    /* of (args, kwargs, ([inputs], values), state): state;
                                  node 0: inputs are no such four */
    Py_hash_t hash;
    uint64_t quick;            /* input_spec_quick() of such inputs; 0: not known */
    /* A set of variables, for the time of one comparison: generation << 32 | variable,
     * where it is this generation. Open addressing; NULL: there are few. */
    uint64_t *slots;
    size_t mask;
    uint32_t generation;
} InputSpec;

/** Make the class. */
PyTypeObject *input_spec_class(State *state);

/** The spec of flattened inputs whose variables are described. Fills in their
 *  'repeated', if there are none yet, and the sizes. Without 'literals', it has neither
 *  their values nor their sizes. NULL: exception. */
InputSpec *input_spec_new(FlattenedInputs *c, const JitFreezeInput *described,
                          bool literals, bool suspended, bool unordered,
                          SizeClasses *sizes);
/** A number that is equal for equal arguments, keyword arguments and states, as they
 *  are: most others have another one. Runs no code. */
uint64_t input_spec_quick(const State *state, PyObject *args, PyObject *kwargs,
                          PyObject *state_value);

/** Flattened inputs without variables and objects. Free it with flattened_free(), after
 *  failure too. False: exception. */
bool input_spec_make(FlattenedInputs *spec, const FlattenedInputs *c,
                     bool unordered);
/** Its nodes only, for a tree that has none. False: exception. */
bool input_spec_nodes(Tree *tree, const Tree *from);

#endif
