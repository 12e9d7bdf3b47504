/*
 * test_verify.c -- each rule about control flow, local memory and printing is checked
 *
 * A few well-formed Programs, and a table of rows: which Program, what is changed in it
 * (one or two fields of an instruction, a region or the Program itself), and the fault
 * that program_verify() then finds. The positions stand in the Programs' comments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ir/program.h"
#include "ir/program_identity.h"

#define U32 VarTypeUInt32
#define F32 VarTypeFloat32
#define MASK VarTypeBool

static uint32_t add(Program *p, Op op, VarType type, uint32_t aux, uint32_t count,
                    const uint32_t *args)
{
    uint32_t position = program_add(p, op, type, aux, count, args);
    assert_int_not_equal(position, PROGRAM_NONE);
    return position;
}

#define ADD(op, type, aux, ...)                                               \
    add(p, op, type, aux, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4,            \
        (uint32_t[]){ __VA_ARGS__ })
#define LEAF(op, type, aux) add(p, op, type, aux, 0, NULL)

/* ----------------------------------------------------------------- Programs */

/* Slot 0: output, 1: output, 2: print log. The values that all Programs begin with:
 * %0: u32 counter, %1: true, %2: u32 5, %3: u32 0, %4: f32 0 */
static Program *begin_program(void)
{
    Program *p = alloc_zero(1, sizeof(Program));
    assert_non_null(p);
    program_add_param(p, PARAM_OUTPUT, U32);
    program_add_param(p, PARAM_OUTPUT, F32);
    program_add_param(p, PARAM_PRINT, VarTypeVoid);
    p->print_count = 1;
    LEAF(OP_COUNTER, U32, 0);
    program_add_literal(p, MASK, 1);
    program_add_literal(p, U32, 5);
    program_add_literal(p, U32, 0);
    program_add_literal(p, F32, 0);
    return p;
}

/*
 *  %5 region loop #0 %1, %3, %4       %11 add %6, %2
 *      %6 state.0                     %12 end #0 %11, %7
 *      %7 state.1                     %13 result.0
 *      %8 lt %6, %2                   %14 result.1
 *  %9 test #0 %8                      %15 store @0 %13
 *      %10 active #0                  %16 store @1 %14
 */
static Program *loop(void)
{
    Program *p = begin_program();
    uint32_t begin[] = { 1, 3, 4 };
    program_add_region(p, REGION_LOOP, 3, begin, 0, NULL);
    LEAF(OP_STATE, U32, 0);
    LEAF(OP_STATE, F32, 1);
    ADD(OP_LT, MASK, 0, 6, 2);
    ADD(OP_TEST, VarTypeVoid, 0, 8);
    LEAF(OP_ACTIVE, MASK, 0);
    ADD(OP_ADD, U32, 0, 6, 2);
    ADD(OP_END, VarTypeVoid, 0, 11, 7);
    LEAF(OP_RESULT, U32, 0);
    LEAF(OP_RESULT, F32, 1);
    ADD(OP_STORE, VarTypeVoid, 0, 13);
    ADD(OP_STORE, VarTypeVoid, 1, 14);
    return p;
}

/*
 *  %5 lt %0, %2                       %11 end #0 %10, %4
 *  %6 region if #0 %1, %5             %12 result.0
 *      %7 active #0                   %13 result.1
 *      %8 add %0, %2                  %14 store @0 %12
 *  %9 else #0 %8, %4                  %15 store @1 %13
 *      %10 mul %0, %2
 */
static Program *conditional(void)
{
    Program *p = begin_program();
    ADD(OP_LT, MASK, 0, 0, 2);
    uint32_t begin[] = { 1, 5 };
    program_add_region(p, REGION_IF, 2, begin, 0, NULL);
    LEAF(OP_ACTIVE, MASK, 0);
    ADD(OP_ADD, U32, 0, 0, 2);
    ADD(OP_ELSE, VarTypeVoid, 0, 8, 4);
    ADD(OP_MUL, U32, 0, 0, 2);
    ADD(OP_END, VarTypeVoid, 0, 10, 4);
    LEAF(OP_RESULT, U32, 0);
    LEAF(OP_RESULT, F32, 1);
    ADD(OP_STORE, VarTypeVoid, 0, 12);
    ADD(OP_STORE, VarTypeVoid, 1, 13);
    return p;
}

/*
 *  %5 region loop #0 %1, %3           %12 end #1
 *      %6 state.0                     %13 add %6, %2
 *      %7 lt %6, %2                   %14 end #0 %13
 *  %8 test #0 %7                      %15 result.0
 *      %9 region if #1 %1, %7         %16 store @0 %15
 *          %10 mul %0, %6
 *      %11 else #1
 */
static Program *nested(void)
{
    Program *p = begin_program();
    program_add_region(p, REGION_LOOP, 2, (uint32_t[]){ 1, 3 }, 0, NULL);
    LEAF(OP_STATE, U32, 0);
    ADD(OP_LT, MASK, 0, 6, 2);
    ADD(OP_TEST, VarTypeVoid, 0, 7);
    program_add_region(p, REGION_IF, 2, (uint32_t[]){ 1, 7 }, 0, NULL);
    ADD(OP_MUL, U32, 0, 0, 6);
    LEAF(OP_ELSE, VarTypeVoid, 1);
    LEAF(OP_END, VarTypeVoid, 1);
    ADD(OP_ADD, U32, 0, 6, 2);
    ADD(OP_END, VarTypeVoid, 0, 13);
    LEAF(OP_RESULT, U32, 0);
    ADD(OP_STORE, VarTypeVoid, 0, 15);
    return p;
}

/*
 *  $0, $1:                            $2:
 *  %0 arg.1                           %0 arg.0
 *  %1 arg.2                           %1 arg.1
 *  %2 add %0, %0                      %2 arg.2
 *  %3 add %1, %1                      %3 region call #0 %0, %1, %1, %2 -> $0
 *  %4 return %2, %3                   %4 end #0
 *                                     %5 result.0
 *                                     %6 return %5, %2
 */
static Program *leaf_callable(void)
{
    Program *p = alloc_zero(1, sizeof(Program));
    assert_non_null(p);
    LEAF(OP_ARG, U32, 1);
    LEAF(OP_ARG, F32, 2);
    ADD(OP_ADD, U32, 0, 0, 0);
    ADD(OP_ADD, F32, 0, 1, 1);
    ADD(OP_RETURN, VarTypeVoid, 0, 2, 3);
    return p;
}

static Program *calling_callable(void)
{
    Program *p = alloc_zero(1, sizeof(Program));
    assert_non_null(p);
    LEAF(OP_ARG, MASK, 0);
    LEAF(OP_ARG, U32, 1);
    LEAF(OP_ARG, F32, 2);
    program_add_region(p, REGION_CALL, 4, (uint32_t[]){ 0, 1, 1, 2 }, 1,
                       (uint32_t[]){ 0 });
    LEAF(OP_RESULT, U32, 0);
    ADD(OP_RETURN, VarTypeVoid, 0, 5, 2);
    return p;
}

/*
 *  %5 region call #0 %1, %0, %2, %4 -> $0, $1, $2
 *  %6 end #0
 *  %7 result.0                        %9 store @0 %7
 *  %8 result.1                        %10 store @1 %8
 */
static Program *call(void)
{
    Program *p = begin_program();
    program_add_callable(p, leaf_callable());
    program_add_callable(p, leaf_callable());
    program_add_callable(p, calling_callable());
    program_add_region(p, REGION_CALL, 4, (uint32_t[]){ 1, 0, 2, 4 }, 3,
                       (uint32_t[]){ 0, 1, 2 });
    LEAF(OP_RESULT, U32, 0);
    LEAF(OP_RESULT, F32, 1);
    ADD(OP_STORE, VarTypeVoid, 0, 7);
    ADD(OP_STORE, VarTypeVoid, 1, 8);
    return p;
}

/*
 *  %5 local.7:u32 %2                  %11 print.0 %1, %0, %4
 *  %6 local.7:u32 %3                  %12 store @0 %8
 *  %7 local.7:f32 %4                  %13 local.9:u32 %2
 *  %8 local_read %5, %0, %1
 *  %9 local_write %5, %2, %0, %1
 *  %10 local_move %5, %6, %1
 */
static Program *memory(void)
{
    Program *p = begin_program();
    ADD(OP_LOCAL, U32, 7, 2);
    ADD(OP_LOCAL, U32, 7, 3);
    ADD(OP_LOCAL, F32, 7, 4);
    ADD(OP_LOCAL_READ, U32, 0, 5, 0, 1);
    ADD(OP_LOCAL_WRITE, VarTypeVoid, 0, 5, 2, 0, 1);
    ADD(OP_LOCAL_MOVE, VarTypeVoid, 0, 5, 6, 1);
    ADD(OP_PRINT, VarTypeVoid, 0, 1, 0, 4);
    ADD(OP_STORE, VarTypeVoid, 0, 8);
    ADD(OP_LOCAL, U32, 9, 2);
    return p;
}

/*
 *  %5 param @3                         %8 outer.expand.2 %5, %3, %1, %4, %4, %7
 *  %6 matvec.2 %5, %3, %4, %4, %4, %4  %9 store @1 %7
 *  %7 packet_item.1 %6
 */
static Program *matrix(void)
{
    Program *p = begin_program();
    uint32_t slot = program_add_param(p, PARAM_POINTER, F32);
    p->params[slot].written = 1;
    LEAF(OP_PARAM, VarTypePointer, slot);
    ADD(OP_MATVEC, F32, 2 | MATVEC_ADDS, 5, 3, 4, 4, 4, 4);
    ADD(OP_PACKET_ITEM, F32, 1, 6);
    ADD(OP_OUTER, VarTypeVoid,
        ReduceOpAdd | ReduceModeExpand << 8 | 2 << OUTER_ROWS, 5, 3, 1, 4, 4, 7);
    ADD(OP_STORE, VarTypeVoid, 1, 7);
    return p;
}

/* -------------------------------------------------------------------- table */

typedef enum Field {
    NOTHING, OP, TYPE, FLAGS, COUNT, AUX, ARG0, ARG1, ARG2, ARG3, /* instruction 'at' */
    KIND, BEGIN, MIDDLE, END, TARGETS, TARGET_COUNT,              /* region 'at' */
    EXTRA,                                                        /* extra[at] */
    PARAM_KIND, PARAM_TYPE, PARAM_WRITTEN, PARAM_REDUCED,         /* params[at] */
    INSTS, PARAMS, REGIONS, CHECKS, PRINTS                        /* numbers of these */
} Field;

typedef struct Change {
    uint32_t in; /* 0: the Program, k: its callable k - 1 */
    Field field;
    uint32_t at, value;
} Change;

static void apply(Program *root, const Change *change)
{
    Program *p = change->in ? root->callables[change->in - 1] : root;
    Inst *inst = &p->insts[change->at];
    Region *region = p->regions ? &p->regions[change->at] : NULL;
    uint32_t v = change->value;
    switch (change->field) {
    case NOTHING: break;
    case OP: inst->op = (uint8_t) v; break;
    case TYPE: inst->type = v & 31; break;
    case FLAGS: inst->flags = v & 7; break;
    case COUNT: inst->count = (uint16_t) v; break;
    case AUX: inst->aux = v; break;
    case ARG0: case ARG1: case ARG2: case ARG3:
        ((uint32_t *) (uintptr_t) program_args(p, inst))[change->field - ARG0] = v;
        break;
    case KIND: region->kind = v; break;
    case BEGIN: region->begin = v; break;
    case MIDDLE: region->middle = v; break;
    case END: region->end = v; break;
    case TARGETS: region->targets = v; break;
    case TARGET_COUNT: region->target_count = v; break;
    case EXTRA: p->extra[change->at] = v; break;
    case PARAM_KIND: root->params[change->at].kind = (uint8_t) v; break;
    case PARAM_TYPE: root->params[change->at].type = (uint8_t) v; break;
    case PARAM_REDUCED: root->params[change->at].reduced = (uint8_t) v; break;
    case PARAM_WRITTEN: root->params[change->at].written = (uint8_t) v; break;
    case INSTS: p->inst_count = v; break;
    case PARAMS: p->param_count = v; break;
    case REGIONS: p->region_count = v; break;
    case CHECKS: p->check_count = v; break;
    case PRINTS: p->print_count = v; break;
    }
}

typedef struct Row {
    Program *(*make)(void);
    Change change[3];
    const char *fault;
} Row;

static const Row rows[] = {
    /* operands */
    { loop, { { 0, ARG0, 15, 11 } },
      "%15 = store: operand 1 is %11, in a body that has ended" },
    { loop, { { 0, ARG0, 15, 6 } },
      "%15 = store: operand 1 is %6, in a body that has ended" },
    { loop, { { 0, ARG0, 9, 10 } },
      "%9 = test: operand 1 is %10, which is not computed yet" },
    { loop, { { 0, ARG1, 12, 9 } }, "%12 = end: operand 2 has no value" },
    { conditional, { { 0, ARG0, 10, 8 } },
      "%10 = mul: operand 1 is %8, in a body that has ended" },
    { conditional, { { 0, ARG0, 14, 10 } },
      "%14 = store: operand 1 is %10, in a body that has ended" },
    { nested, { { 0, ARG0, 13, 10 } },
      "%13 = add: operand 1 is %10, in a body that has ended" },

    { nested, { { 0, FLAGS, 13, 2 } }, "%13 = add: there is no flag 2" },

    /* products with matrices */
    { matrix, { { 0, AUX, 7, 2 } }, "%7 = packet_item: item 2 of %6" },
    { matrix, { { 0, ARG0, 7, 4 } }, "%7 = packet_item: item 1 of %4" },
    { matrix, { { 0, AUX, 6, 1 << 18 | 2 } }, "%6 = matvec: matrix 0x40002" },
    { matrix, { { 0, AUX, 6, MATVEC_ADDS } }, "%6 = matvec: 6 operands" },
    { matrix, { { 0, AUX, 6, 4 | MATVEC_ADDS } }, "%6 = matvec: 6 operands" },
    { matrix, { { 0, AUX, 6, MATRIX_MOST + 1 } }, "%6 = matvec: 6 operands" },
    { matrix, { { 0, ARG1, 6, 0 } }, "%6 = matvec: the index is not uniform" },
    { matrix, { { 0, ARG1, 6, 4 } }, "%6 = matvec: the index is float32" },
    { matrix, { { 0, ARG3, 6, 0 } },
      "%6 = matvec: operand 4 is uint32, expected float32" },
    { matrix, { { 0, FLAGS, 6, INST_UNIFORM } }, "%6 = matvec: cannot be uniform" },
    { matrix, { { 0, AUX, 8, ReduceOpMax | 2 << OUTER_ROWS } },
      "%8 = outer: reduction 0x80004" },
    { matrix, { { 0, AUX, 8, ReduceOpAdd } }, "%8 = outer: 6 operands" },
    { matrix, { { 0, AUX, 8, ReduceOpAdd | 3 << OUTER_ROWS } },
      "%8 = outer: 6 operands" },
    { matrix, { { 0, ARG2, 8, 4 } },
      "%8 = outer: operand 3 is float32, expected bool" },

    { matrix, { { 0, ARG0, 9, 6 } }, "%9 = store: operand 1 is all of a packet" },

    /* arrays of the launch */
    { matrix, { { 0, PARAM_WRITTEN, 3, 0 } },
      "%8 = outer: parameter 3 is not to be written" },
    { matrix, { { 0, PARAM_KIND, 3, PARAM_VALUE } },
      "%6 = matvec: operand 1 is not the address of an array" },
    { matrix, { { 0, OP, 5, OP_UNDEFINED }, { 0, AUX, 5, 0 }, { 0, FLAGS, 5, 0 } },
      "%6 = matvec: operand 1 is not the address of an array" },
    { matrix, { { 0, FLAGS, 5, 0 } },
      "%6 = matvec: operand 1 is not the address of an array" },
    { memory, { { 0, OP, 0, OP_LOAD }, { 0, PARAM_KIND, 0, PARAM_INPUT },
                { 0, PARAM_TYPE, 0, F32 } }, "%0 = load: parameter 0 is float32" },
    { matrix, { { 0, PARAM_TYPE, 2, 200 } }, "parameter 2 is of kind 4 and type 200" },
    { matrix, { { 0, PARAM_REDUCED, 1, 64 } },
      "parameter 1: reduction 64 is not defined for float32" },
    { matrix, { { 0, PARAM_REDUCED, 3, ReduceOpAdd } },
      "parameter 3: reduction 1 is not defined for float32" },

    /* local arrays */
    { memory, { { 0, AUX, 5, 0 } }, "%5 = local: no entries" },
    { memory, { { 0, ARG0, 5, 4 } },
      "%5 = local: operand 1 is float32, expected uint32" },
    { memory, { { 0, ARG0, 12, 5 } }, "%12 = store: operand 1 is a local array" },
    { memory, { { 0, ARG1, 8, 5 } }, "%8 = local_read: operand 2 is a local array" },
    { memory, { { 0, ARG0, 8, 2 } },
      "%8 = local_read: operand 1 is not a local array" },
    { memory, { { 0, ARG1, 8, 4 } }, "%8 = local_read: the index is float32" },
    { memory, { { 0, ARG2, 8, 0 } },
      "%8 = local_read: operand 3 is uint32, expected bool" },
    { memory, { { 0, TYPE, 8, F32 } },
      "%8 = local_read: operand 1 is uint32, expected float32" },
    { memory, { { 0, ARG0, 9, 2 } },
      "%9 = local_write: operand 1 is not a local array" },
    { memory, { { 0, ARG1, 9, 4 } },
      "%9 = local_write: operand 2 is float32, expected uint32" },
    { memory, { { 0, ARG2, 9, 4 } }, "%9 = local_write: the index is float32" },
    { memory, { { 0, ARG3, 9, 0 } },
      "%9 = local_write: operand 4 is uint32, expected bool" },
    { memory, { { 0, ARG1, 10, 2 } },
      "%10 = local_move: operand 2 is not a local array" },
    { memory, { { 0, ARG1, 10, 7 } },
      "%10 = local_move: operand 2 is float32, expected uint32" },
    { memory, { { 0, AUX, 6, 8 } }, "%10 = local_move: arrays of 7 and 8 entries" },
    { memory, { { 0, ARG2, 10, 0 } },
      "%10 = local_move: operand 3 is uint32, expected bool" },
    { memory, { { 0, FLAGS, 8, INST_UNIFORM } }, "%8 = local_read: cannot be uniform" },
    { memory, { { 0, FLAGS, 5, INST_UNIFORM } }, "%5 = local: cannot be uniform" },

    /* prints */
    { memory, { { 0, AUX, 11, 1 } }, "%11 = print: print 1 of 1 without log" },
    { memory, { { 0, PARAMS, 0, 2 } }, "%11 = print: print 0 of 1 without log" },
    { memory, { { 0, COUNT, 11, 0 } }, "%11 = print: no mask" },
    { memory, { { 0, ARG0, 11, 0 } },
      "%11 = print: operand 1 is uint32, expected bool" },
    { memory, { { 0, ARG1, 11, 5 } }, "%11 = print: operand 2 is a local array" },
    { memory, { { 0, FLAGS, 11, INST_UNIFORM } }, "%11 = print: cannot be uniform" },

    /* where regions begin */
    { nested, { { 0, AUX, 9, 0 } }, "%9 = region: region 0, expected 1 of 2" },
    { nested, { { 0, AUX, 5, 1 } }, "%5 = region: region 1, expected 0 of 2" },
    { nested, { { 0, REGIONS, 0, 1 } }, "%9 = region: region 1, expected 1 of 1" },
    { loop, { { 0, KIND, 0, 3 } }, "%5 = region: kind 3, positions 5, 9, 12" },
    { loop, { { 0, BEGIN, 0, 4 } }, "%5 = region: kind 0, positions 4, 9, 12" },
    { loop, { { 0, MIDDLE, 0, 5 } }, "%5 = region: kind 0, positions 5, 5, 12" },
    { loop, { { 0, END, 0, 8 } }, "%5 = region: kind 0, positions 5, 9, 8" },
    { loop, { { 0, END, 0, 17 } }, "%5 = region: kind 0, positions 5, 9, 17" },
    { loop, { { 0, COUNT, 5, 0 } }, "%5 = region: no mask" },
    { loop, { { 0, ARG0, 5, 0 } }, "%5 = region: no mask" },
    { conditional, { { 0, COUNT, 6, 1 } },
      "%6 = region: a conditional has a mask and a condition" },
    { conditional, { { 0, ARG1, 6, 0 } },
      "%6 = region: a conditional has a mask and a condition" },
    { loop, { { 0, FLAGS, 5, INST_UNIFORM } }, "%5 = region: cannot be uniform" },

    /* marks */
    { nested, { { 0, AUX, 11, 0 } }, "%11 = else: region 0 is not the innermost one" },
    { nested, { { 0, AUX, 12, 0 } }, "%12 = end: region 0 is not the innermost one" },
    { loop, { { 0, MIDDLE, 0, 10 } }, "%9 = test: is not where region 0 has it" },
    { loop, { { 0, KIND, 0, REGION_IF }, { 0, COUNT, 5, 2 } },
      "%5 = region: a conditional has a mask and a condition" },
    { loop, { { 0, OP, 9, OP_ELSE } }, "%9 = else: is not where region 0 has it" },
    { conditional, { { 0, OP, 9, OP_TEST }, { 0, COUNT, 9, 1 } },
      "%9 = test: is not where region 0 has it" },
    { conditional, { { 0, MIDDLE, 0, 8 } }, "%9 = else: is not where region 0 has it" },
    { conditional, { { 0, END, 0, 12 } }, "%11 = end: is not where region 0 has it" },
    { loop, { { 0, ARG0, 9, 6 } }, "%9 = test: operand 1 is uint32, expected bool" },
    { loop, { { 0, COUNT, 9, 2 } }, "%9 = test: 2 operands, expected 1" },
    { loop, { { 0, COUNT, 12, 1 } }, "%12 = end: 1 states, expected 2" },
    { loop, { { 0, ARG0, 12, 7 } },
      "%12 = end: operand 1 is float32, expected uint32" },
    { conditional, { { 0, COUNT, 11, 1 } },
      "%11 = end: 1 outputs, the other side has 2" },
    { conditional, { { 0, ARG1, 11, 10 } },
      "%11 = end: operand 2 is uint32, expected float32" },
    { loop, { { 0, INSTS, 0, 12 } }, "%5 = region: kind 0, positions 5, 9, 12" },

    /* states, results, active lanes */
    { loop, { { 0, AUX, 6, 1 } },
      "%6 = state: state 1 stands after the loop's begin" },
    { loop, { { 0, OP, 8, OP_STATE }, { 0, COUNT, 8, 0 } },
      "%8 = state: state 0 stands after the loop's begin" },
    { loop, { { 0, COUNT, 5, 2 } }, "%7 = state: state 1 of 1" },
    { loop, { { 0, TYPE, 6, F32 } }, "%6 = state: state 0 is uint32" },
    { conditional, { { 0, OP, 7, OP_STATE }, { 0, TYPE, 7, U32 } },
      "%7 = state: state 0 stands after the loop's begin" },
    { memory, { { 0, OP, 0, OP_STATE } },
      "%0 = state: state 0 stands after the loop's begin" },
    { loop, { { 0, FLAGS, 6, INST_UNIFORM } }, "%6 = state: cannot be uniform" },
    { loop, { { 0, OP, 10, OP_RESULT } },
      "%10 = result: stands past the end of a region" },
    { memory, { { 0, OP, 0, OP_RESULT } },
      "%0 = result: stands past the end of a region" },
    { loop, { { 0, COUNT, 13, 1 } },
      "%13 = result: stands past the end of a region" },
    { loop, { { 0, AUX, 14, 2 } }, "%14 = result: result 2 of 2" },
    { loop, { { 0, AUX, 13, 1 }, { 0, TYPE, 13, F32 } },
      "%14 = result: results are not in order" },
    { loop, { { 0, TYPE, 13, F32 } }, "%13 = result: result 0 is uint32" },
    { conditional, { { 0, TYPE, 13, U32 } }, "%13 = result: result 1 is float32" },
    { loop, { { 0, FLAGS, 13, INST_UNIFORM } }, "%13 = result: cannot be uniform" },
    { loop, { { 0, AUX, 10, 1 } },
      "%10 = active: region 1 is not the innermost one" },
    { nested, { { 0, OP, 10, OP_ACTIVE }, { 0, COUNT, 10, 0 } },
      "%10 = active: region 0 is not the innermost one" },
    { loop, { { 0, TYPE, 10, U32 } }, "%10 = active: the result is uint32" },
    { loop, { { 0, FLAGS, 10, INST_UNIFORM } }, "%10 = active: cannot be uniform" },
    { memory, { { 0, OP, 0, OP_ACTIVE } },
      "%0 = active: region 0 is not the innermost one" },

    /* calls */
    { call, { { 0, COUNT, 5, 1 }, { 0, ARG0, 5, 1 } },
      "%5 = region: a call needs a mask and a number of type uint32" },
    { call, { { 0, ARG1, 5, 4 } },
      "%5 = region: a call needs a mask and a number of type uint32" },
    { call, { { 0, MIDDLE, 0, 7 }, { 0, END, 0, 7 } },
      "%5 = region: a call ends at once" },
    { call, { { 0, TARGETS, 0, 6 } },
      "%5 = region: target list lies outside of extra[]" },
    { call, { { 0, TARGET_COUNT, 0, 4 } },
      "%5 = region: target list lies outside of extra[]" },
    { call, { { 0, EXTRA, 5, 3 } }, "%5 = region: callable 3 cannot be called here" },
    { call, { { 3, EXTRA, 4, 2 } }, "%3 = region: callable 2 cannot be called here" },
    { call, { { 2, INSTS, 0, 4 } },
      "%5 = region: callable 1 does not end with a return" },
    { call, { { 2, INSTS, 0, 0 } },
      "%5 = region: callable 1 does not end with a return" },
    { call, { { 0, ARG2, 5, 4 } }, "%5 = region: input 1 of callable 0 is uint32" },
    { call, { { 0, COUNT, 5, 3 }, { 0, ARG0, 5, 1 }, { 0, ARG2, 5, 2 } },
      "%5 = region: input 2 of callable 0 is float32" },
    { call, { { 2, COUNT, 4, 1 } }, "%5 = region: callables with 2 and 1 outputs" },
    { call, { { 2, ARG1, 4, 2 } }, "%5 = region: output 1 of callable 1 is uint32" },
    { call, { { 0, AUX, 8, 2 } }, "%8 = result: result 2 of 2" },
    { call, { { 0, TYPE, 7, F32 } }, "%7 = result: result 0 is uint32" },
    { call, { { 0, TARGET_COUNT, 0, 0 } }, "%7 = result: result 0 of 0" },

    /* what stands where */
    { memory, { { 0, OP, 0, OP_ARG }, { 0, AUX, 0, 1 } },
      "%0 = arg: stands outside of a callable" },
    { call, { { 3, TYPE, 0, U32 } }, "%0 = arg: argument 0 is the mask" },
    { call, { { 3, FLAGS, 1, INST_UNIFORM } }, "%1 = arg: cannot be uniform" },
    { memory, { { 0, OP, 11, OP_RETURN } }, "%11 = return: does not end a callable" },
    { call, { { 1, OP, 2, OP_RETURN }, { 1, TYPE, 2, VarTypeVoid } },
      "%2 = return: does not end a callable" },
    { call, { { 1, OP, 0, OP_COUNTER } }, "%0 = counter: stands in a callable" },
    { call, { { 1, OP, 0, OP_WORKER } }, "%0 = worker: stands in a callable" },
    { call, { { 1, OP, 0, OP_PARAM }, { 1, AUX, 0, 3 } },
      "%0 = param: parameter 3 of 3" },
    { call, { { 1, PARAMS, 0, 1 } },
      "callable 0 has parameters, callables, checks or prints of its own" },
    { call, { { 3, CHECKS, 0, 1 } },
      "callable 2 has parameters, callables, checks or prints of its own" },
    { call, { { 2, PRINTS, 0, 1 } },
      "callable 1 has parameters, callables, checks or prints of its own" },
};

static void test_rows(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        const Row *row = &rows[i];
        Program *p = row->make();
        if (!program_verify(p))
            fail_msg("row %u: %s", i, error_message());
        for (uint32_t k = 0; k < 3; ++k)
            apply(p, &row->change[k]);
        error_clear();
        if (program_verify(p))
            fail_msg("row %u is not found: %s", i, row->fault);
        assert_int_equal(error_code(), JIT_ERROR_ARGUMENT);
        char expected[200];
        snprintf(expected, sizeof(expected), "program_verify(): %s", row->fault);
        assert_string_equal(error_message(), expected);
        program_free(p);
    }
}

/* ----------------------------------------------- faults that take more building */

static void expect_fault(Program *p, const char *fault)
{
    char expected[200];
    error_clear();
    assert_false(program_verify(p));
    snprintf(expected, sizeof(expected), "program_verify(): %s", fault);
    assert_string_equal(error_message(), expected);
    program_free(p);
}

/* The well-formed Programs are what the comments say. */
static void test_whole(void **state)
{
    (void) state;
    Program *(*const all[])(void) = { loop, conditional, nested, call, memory,
                                     matrix };
    for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
        Program *p = all[i]();
        if (!program_verify(p))
            fail_msg("%s", error_message());
        Program *copy = program_copy(p);
        assert_non_null(copy);
        assert_true(program_equal(p, copy));
        assert_true(program_verify(copy));
        program_free(copy);
        program_free(p);
    }
    /* A loop without states and results, an empty conditional, a call of nothing. */
    Program *p = begin_program();
    program_add_region(p, REGION_LOOP, 1, (uint32_t[]){ 1 }, 0, NULL);
    ADD(OP_TEST, VarTypeVoid, 0, 1);
    LEAF(OP_END, VarTypeVoid, 0);
    program_add_region(p, REGION_IF, 2, (uint32_t[]){ 1, 1 }, 0, NULL);
    LEAF(OP_ELSE, VarTypeVoid, 1);
    LEAF(OP_END, VarTypeVoid, 1);
    program_add_region(p, REGION_CALL, 2, (uint32_t[]){ 1, 2 }, 0, NULL);
    if (!program_verify(p))
        fail_msg("%s", error_message());
    program_free(p);
}

/* A region that is counted but does not occur, and one that never ends. */
static void test_unfinished(void **state)
{
    (void) state;
    Program *p = loop();
    program_add_region(p, REGION_LOOP, 1, (uint32_t[]){ 1 }, 0, NULL);
    p->inst_count--;
    expect_fault(p, "1 of 2 regions occur");

    p = begin_program();
    program_add_region(p, REGION_LOOP, 1, (uint32_t[]){ 1 }, 0, NULL);
    ADD(OP_TEST, VarTypeVoid, 0, 1);
    p->regions[0].end = LEAF(OP_COUNTER, U32, 0);
    expect_fault(p, "region 0 has no end");

    p = begin_program();
    program_add_region(p, REGION_LOOP, 1, (uint32_t[]){ 1 }, 0, NULL);
    p->regions[0].middle = LEAF(OP_COUNTER, U32, 0);
    LEAF(OP_END, VarTypeVoid, 0);
    expect_fault(p, "%7 = end: 0 states, expected 0"); /* but it has no test */

    p = loop();
    uint32_t end = p->regions[0].end;
    ADD(OP_END, VarTypeVoid, 0, 1);
    p->regions[0].end = end;
    expect_fault(p, "%17 = end: region 0 is not the innermost one");
}

/* A call needs its END directly after it. */
static void test_call_body(void **state)
{
    (void) state;
    Program *p = begin_program();
    program_add_callable(p, leaf_callable());
    program_add_region(p, REGION_CALL, 4, (uint32_t[]){ 1, 0, 2, 4 }, 1,
                       (uint32_t[]){ 0 });
    p->inst_count--;
    LEAF(OP_COUNTER, U32, 0);
    expect_fault(p, "region 0 has no end");
}

static Program *with_callable(Program *callable)
{
    Program *p = call();
    program_free(p->callables[2]);
    p->callables[2] = callable;
    return p;
}

/* Callables have no arrays with an entry for each lane, and end once, outside of all
 * regions. */
static void test_callables(void **state)
{
    (void) state;
    Program *p = calling_callable();
    LEAF(OP_COUNTER, U32, 0);
    expect_fault(with_callable(p), "%6 = return: does not end a callable");

    p = leaf_callable();
    p->inst_count--;
    ADD(OP_STORE, VarTypeVoid, 0, 2);
    ADD(OP_RETURN, VarTypeVoid, 0, 2, 3);
    expect_fault(with_callable(p), "%4 = store: stands in a callable");

    p = leaf_callable();
    p->inst_count--;
    LEAF(OP_LOAD, U32, 3);
    ADD(OP_RETURN, VarTypeVoid, 0, 2, 3);
    Program *root = with_callable(p);
    assert_int_equal(program_add_param(root, PARAM_INPUT, U32), 3);
    expect_fault(root, "%4 = load: stands in a callable");

    p = leaf_callable();
    p->inst_count--;
    uint32_t yes = program_add_literal(p, MASK, 1);
    program_add_region(p, REGION_IF, 2, (uint32_t[]){ yes, yes }, 0, NULL);
    LEAF(OP_ELSE, VarTypeVoid, 0);
    p->regions[0].end = ADD(OP_RETURN, VarTypeVoid, 0, 2, 3);
    expect_fault(with_callable(p), "%7 = return: does not end a callable");

    p = leaf_callable();
    p->inst_count--;
    uint32_t check[2] = { program_add_literal(p, MASK, 1), 2 };
    add(p, OP_CHECK, MASK, 0, 2, check);
    ADD(OP_RETURN, VarTypeVoid, 0, 2, 3);
    expect_fault(with_callable(p), "%5 = check: check 0 of 0 without report");

    p = leaf_callable();
    assert_int_equal(program_add_callable(p, leaf_callable()), 0);
    expect_fault(with_callable(p),
                 "callable 2 has parameters, callables, checks or prints of its own");
}

/* What a callable may have: slots, checks and prints of the root, regions, literals,
 * local arrays. */
static void test_rich_callable(void **state)
{
    (void) state;
    Program *p = alloc_zero(1, sizeof(Program));
    assert_non_null(p);
    LEAF(OP_ARG, MASK, 0);
    LEAF(OP_ARG, U32, 1);
    LEAF(OP_ARG, F32, 2);
    LEAF(OP_PARAM, VarTypePointer, 3);
    ADD(OP_LOCAL, U32, 16, 1);
    program_add_region(p, REGION_LOOP, 2, (uint32_t[]){ 0, 1 }, 0, NULL);
    LEAF(OP_STATE, U32, 0);
    ADD(OP_LT, MASK, 0, 6, 1);
    ADD(OP_TEST, VarTypeVoid, 0, 7);
    LEAF(OP_ACTIVE, MASK, 0);
    ADD(OP_CHECK, MASK, 0, 9, 6);
    ADD(OP_GATHER, U32, 0, 3, 6, 10);
    ADD(OP_LOCAL_WRITE, VarTypeVoid, 0, 4, 11, 6, 10);
    ADD(OP_PRINT, VarTypeVoid, 0, 10, 11);
    ADD(OP_END, VarTypeVoid, 0, 11);
    LEAF(OP_RESULT, U32, 0);
    ADD(OP_RETURN, VarTypeVoid, 0, 15, 2);
    Program *root = with_callable(p);
    assert_int_equal(program_add_param(root, PARAM_POINTER, U32), 3);
    program_add_param(root, PARAM_REPORT, VarTypeVoid);
    root->check_count = 1;
    if (!program_verify(root))
        fail_msg("%s", error_message());
    program_free(root);
}

#if defined(JIT_HOSTILE)
static void test_hostile(void **state)
{
    (void) state;
    Program *p = nested();
    for (uint64_t n = 1;; ++n) {
        assert_true(n < 100);
        alloc_fail_at(n);
        bool ok = program_verify(p), failed = alloc_steps() >= n;
        alloc_fail_at(0);
        assert_int_equal(ok, !failed);
        if (!failed)
            break;
        assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    }
    program_free(p);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_call_body),
        cmocka_unit_test(test_callables),
        cmocka_unit_test(test_rich_callable),
#if defined(JIT_HOSTILE)
        cmocka_unit_test(test_hostile),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
