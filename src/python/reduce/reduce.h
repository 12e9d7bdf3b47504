/*
 * reduce.h -- what the files of the reductions share
 */
#ifndef PYTHON_REDUCE_H
#define PYTHON_REDUCE_H

#include "python/base/arguments.h"
#include "python/shape/extent.h"

typedef enum Strategy { STRATEGY_AUTO, STRATEGY_EVALUATED, STRATEGY_SYMBOLIC } Strategy;

typedef struct Reduction {
    State *state;
    const char *operation; /* "sum", ... */
    ReduceOp op;
    Strategy strategy;
    bool keepdims;
    bool masks;     /* all, any, none: nothing but masks */
    PyObject *axis; /* the argument: int, tuple, None or Ellipsis */
} Reduction;

/** Which of ndim axes the argument selects; Ellipsis stands for 'fallback' of them (all
 * or the first). False: exception, naming 'value'. */
bool reduce_axes(const Reduction *r, PyObject *value, size_t ndim, bool fallback_all,
                 bool *axes);

/** Can entries of this type be reduced so? RuntimeError if not. */
bool reduce_check_type(const Reduction *r, PyObject *value, const TypeInfo *info);

/** "evaluated", "symbolic" or None. False: exception. */
bool reduce_strategy(const char *operation, PyObject *mode, Strategy *strategy);

/** Reduce blocks of that many entries of a variable (0: all, giving one entry). 'block'
 *  divides the size. A new reference; 0: the core's error is set. */
VarIndex reduce_variable(const TypeInfo *info, ReduceOp op, Strategy strategy,
                         VarIndex index, Extent block);
/** Does a reduction of a variable scatter its entries instead of evaluating it: what is
 *  asked for, or because evaluating takes too many bytes? */
bool reduce_prefers_symbolic(const TypeInfo *info, ReduceOp op, Strategy strategy,
                             VarIndex leaf);

/** 'size' times the neutral element. 0: the core's error is set. */
VarIndex reduce_identity_variable(const TypeInfo *info, ReduceOp op, Extent size);

/** Before the leaves of a jit array are reduced one by one: have queued writes
 *  evaluated, and find out how many entries the widest of several has. False:
 *  exception. */
bool reduce_open(const char *operation, const Array *value, size_t *width);

/** VarIndex i with 'width' entries (a new reference, 0 if the leaf is empty): a leaf of
 *  size 1 stands for equal entries. False: exception. */
bool reduce_leaf_variable(const char *operation, const Array *value, size_t i,
                          size_t width, VarIndex *index);

/** The value of a reduction of nothing, as a Python number. */
PyObject *reduce_identity_number(ReduceOp op);

/** op(a, b) of any two objects, with Python's operators. */
PyObject *reduce_objects(State *state, ReduceOp op, PyObject *a, PyObject *b);

PyObject *reduce_array(const Reduction *r, Array *value);
PyObject *reduce_tensor(const Reduction *r, Array *value);

/** Functions of the table that prefix.c implements. */
KeywordFunction prefix_reduce, prefix_block_reduce, prefix_block_sum, prefix_block;
PyObject *prefix_compress(PyObject *module, PyObject *argument);

#endif
