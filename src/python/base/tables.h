/*
 * tables.h -- what each file contributes to drjit._core and to ArrayBase
 *
 * <file>_functions: functions of the module. <file>_methods, <file>_getset: members of
 * ArrayBase. <file>_slots: its slots. Each table ends with an empty row; module.c
 * lists them all.
 */
#ifndef PYTHON_TABLES_H
#define PYTHON_TABLES_H

#include "python/base/compat.h"

extern PyMethodDef create_functions[];       /* zeros, ones, full, arange, ... */
extern PyMethodDef dot_functions[];          /* dot, norm, ... */
extern PyMethodDef exchange_functions[];     /* with '_': drjit._later */
extern PyMethodDef functions_functions[];    /* the functions of apply.def */
extern PyMethodDef product_functions[];      /* matmul */
extern PyMethodDef gather_functions[];       /* gather, scatter, ... */
extern PyMethodDef matvec_functions[];       /* with '_': drjit._matvec */
extern PyMethodDef lazy_function_functions[]; /* with '_': drjit._freeze */
extern PyMethodDef reads_functions[];        /* with '_': drjit._freeze.reads */
extern PyMethodDef reduce_functions[];       /* reduce, sum, block_reduce, ... */
extern PyMethodDef reshape_functions[];      /* ravel, unravel, ... */
extern PyMethodDef sort_functions[];         /* with '_': drjit._shape.sorting */
extern PyMethodDef tensor_functions[];       /* slice_index */
extern PyMethodDef trait_functions[];        /* is_array_v, value_t, ... */
extern PyMethodDef tree_functions[];         /* copy, width, schedule, eval, ... */
extern PyMethodDef gradient_functions[];     /* enable_grad, grad, detach, ... */
extern PyMethodDef propagate_functions[];    /* enqueue; with '_': drjit._ad */
extern PyMethodDef custom_functions[];       /* with '_': drjit._ad.custom */
extern PyMethodDef jit_functions[];          /* set_flag, kernel_history, whos, ... */
extern PyMethodDef introspect_functions[];   /* with '_': drjit.detail */
extern PyMethodDef loop_functions[];         /* while_loop */
extern PyMethodDef cond_functions[];         /* if_stmt */
extern PyMethodDef call_functions[];         /* switch */
extern PyMethodDef mask_functions[];         /* with '_': drjit._flow.regions */
extern PyMethodDef local_functions[];        /* the same */
extern PyMethodDef report_functions[];       /* the same */
extern PyMethodDef frozen_export_functions[];
extern PyMethodDef frozen_functions[];       /* with '_': drjit._freeze */
extern PyMethodDef frozen_file_functions[];  /* the same */
extern PyMethodDef size_functions[];         /* the same */
extern PyMethodDef snapshot_functions[];     /* the same */
extern PyMethodDef source_functions[];       /* _trace_source */
extern PyMethodDef error_functions[];        /* _type_names */
extern PyMethodDef type_functions[];         /* _publish */

extern PyMethodDef exchange_methods[]; /* numpy, __dlpack__, ... */
extern PyMethodDef index_methods[];    /* item, __array_namespace__, ... */
extern PyMethodDef copy_methods[];     /* __copy__, __reduce__, ... */

extern PyGetSetDef index_getset[]; /* x y z w, shape, ndim, array, T, mT, index, ... */

extern PyType_Slot number_slots[];   /* nb_...; tp_richcompare, tp_hash */
extern PyType_Slot index_slots[];    /* mp_..., sq_..., tp_iter, tp_getattro, ... */
extern PyType_Slot repr_slots[];     /* tp_repr, tp_str */
extern PyType_Slot exchange_slots[]; /* bf_getbuffer, bf_releasebuffer */

#endif
