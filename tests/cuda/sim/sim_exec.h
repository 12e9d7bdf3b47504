/*
 * sim_exec.h -- the functions that execute instructions, but for those of ptx_forms.def
 */
#ifndef CUDA_SIM_SIM_EXEC_H
#define CUDA_SIM_SIM_EXEC_H

#include "sim_warp.h"

/* sim_value.c */
Exec value_mov, value_mov_frame, value_pack, value_unpack, value_selp, value_testp;
Exec value_and, value_or, value_xor, value_not; /* of predicates */
Exec value_setp, value_set;
/** How two values of a type compare; NULL: there is no such comparison. */
Compare *value_compare(PtxType type, uint32_t comparison);
typedef enum Comparison {
    COMPARE_EQ,
    COMPARE_NE,
    COMPARE_LT,
    COMPARE_LE,
    COMPARE_GT,
    COMPARE_GE,
    COMPARE_EQU, /* or not a number, as the following ones */
    COMPARE_NEU,
    COMPARE_LTU,
    COMPARE_LEU,
    COMPARE_GTU,
    COMPARE_GEU,
    COMPARE_NUM,
    COMPARE_NAN,
    COMPARE_COUNT
} Comparison;
typedef enum Combine { COMBINE_NONE, COMBINE_AND, COMBINE_OR, COMBINE_XOR } Combine;
typedef enum TestKind {
    TEST_FINITE,
    TEST_INFINITE,
    TEST_NUMBER,
    TEST_NOTANUMBER,
    TEST_NORMAL,
    TEST_SUBNORMAL
} TestKind;

/* sim_convert.c: Insn.from to Insn.type; 'op' is the rounding to an integer */
Exec convert_any, convert_pair;

/* sim_access.c */
Exec access_ld, access_st, access_cvta, access_isspacep, access_fence;
/* sim_atomic.c */
Exec atomic_run;
typedef enum AtomicOp {
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_INC,
    ATOMIC_DEC,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCH,
    ATOMIC_CAS
} AtomicOp;

/* sim_flow.c */
Exec flow_bra, flow_brx, flow_call, flow_ret, flow_exit, flow_trap, flow_nothing;
/* sim_barrier.c */
Exec barrier_sync, barrier_arrive, barrier_red, barrier_warp;
typedef enum VoteKind { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT } VoteKind;
typedef enum BarrierRed { BARRIER_POPC, BARRIER_AND, BARRIER_OR } BarrierRed;

/* sim_group.c: what the lanes of a warp do together */
Exec group_vote, group_match_any, group_match_all, group_shfl, group_redux;
Exec group_activemask, group_elect;
typedef enum ShuffleMode {
    SHUFFLE_UP,
    SHUFFLE_DOWN,
    SHUFFLE_BFLY,
    SHUFFLE_IDX
} ShuffleMode;

#endif
