/*
 * chosen.c -- see chosen.h
 *
 * Each row has a function that adds instructions to an empty Program. If memory runs
 * out, positions are PROGRAM_NONE from then on, which the verifier refuses.
 */
#include "chosen.h"

#include "base/alloc.h"

#define BOOL VarTypeBool
#define U32 VarTypeUInt32
#define F16 VarTypeFloat16
#define F32 VarTypeFloat32
#define F64 VarTypeFloat64
#define VOID VarTypeVoid

/* ----------------------------------------------------------------- instructions */

#define ADD(p, op, type, aux, ...)                                      \
    program_add(p, op, type, aux,                                       \
                sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
                (uint32_t[]){ __VA_ARGS__ })

static uint32_t leaf(Program *p, Op op, VarType type, uint32_t aux)
{
    return program_add(p, op, type, aux, 0, NULL);
}

static uint32_t load(Program *p, VarType type)
{
    return leaf(p, OP_LOAD, type, program_add_param(p, PARAM_INPUT, type));
}

static void store(Program *p, uint32_t value)
{
    const VarType type = (VarType) p->insts[value].type;
    ADD(p, OP_STORE, VOID, program_add_param(p, PARAM_OUTPUT, type), value);
}

static uint32_t array(Program *p, VarType type, bool written)
{
    const uint32_t param = program_add_param(p, PARAM_POINTER, type);
    p->params[param].written = written;
    return leaf(p, OP_PARAM, VarTypePointer, param);
}

static uint32_t u32(Program *p, uint32_t value)
{
    return program_add_literal(p, U32, value);
}

static uint32_t yes(Program *p)
{
    return program_add_literal(p, BOOL, 1);
}

/* The four of single precision that are needed, as bits. */
#define F32_TWO 0x40000000u
#define F32_FOUR 0x40800000u
#define F32_THREE 0x40400000u
#define F32_HALF 0x3f000000u

static uint32_t f32(Program *p, uint32_t bits)
{
    return program_add_literal(p, F32, bits);
}

/* --------------------------------------------------------------------- Programs */

/* a * x + y, rounded twice. */
static void axpy(Program *p, uint32_t type)
{
    const VarType t = (VarType) type;
    const uint32_t x = load(p, t), y = load(p, t);
    const uint32_t a = leaf(p, OP_PARAM, t, program_add_param(p, PARAM_VALUE, t));
    const uint32_t product = ADD(p, OP_MUL, t, 0, a, x);
    store(p, ADD(p, OP_ADD, t, 0, product, y));
}

/* A function in single precision. */
static void function(Program *p, uint32_t op)
{
    const uint32_t x = load(p, F32);
    if (op_info[op].arity == 1)
        store(p, ADD(p, (Op) op, F32, 0, x));
    else
        store(p, ADD(p, (Op) op, F32, 0, x, load(p, F32)));
}

/* (x, y) becomes the square of itself as a complex number, and (a, b) added. */
static void square_and_add(Program *p, const uint32_t *z, uint32_t a, uint32_t b,
                           uint32_t *next)
{
    const uint32_t xx = ADD(p, OP_MUL, F32, 0, z[0], z[0]);
    const uint32_t yy = ADD(p, OP_MUL, F32, 0, z[1], z[1]);
    const uint32_t xy = ADD(p, OP_MUL, F32, 0, z[0], z[1]);
    const uint32_t real = ADD(p, OP_SUB, F32, 0, xx, yy);
    next[0] = ADD(p, OP_ADD, F32, 0, real, a);
    next[1] = ADD(p, OP_FMA, F32, 0, xy, f32(p, F32_TWO), b);
}

/* Iterations until the orbit leaves a circle, 100 at most. */
static void mandelbrot(Program *p, uint32_t unused)
{
    (void) unused;
    const uint32_t a = load(p, F32), b = load(p, F32), zero = f32(p, 0);
    const uint32_t begin[] = { yes(p), zero, zero, u32(p, 0) };
    const uint32_t loop = program_add_region(p, REGION_LOOP, 4, begin, 0, NULL);
    const uint32_t z[] = { leaf(p, OP_STATE, F32, 0), leaf(p, OP_STATE, F32, 1) };
    const uint32_t i = leaf(p, OP_STATE, U32, 2);
    const uint32_t xx = ADD(p, OP_MUL, F32, 0, z[0], z[0]);
    const uint32_t norm = ADD(p, OP_FMA, F32, 0, z[1], z[1], xx);
    const uint32_t inside = ADD(p, OP_LT, BOOL, 0, norm, f32(p, F32_FOUR));
    const uint32_t more = ADD(p, OP_LT, BOOL, 0, i, u32(p, 100));
    ADD(p, OP_TEST, VOID, loop, ADD(p, OP_AND, BOOL, 0, inside, more));
    uint32_t next[2];
    square_and_add(p, z, a, b, next);
    ADD(p, OP_END, VOID, loop, next[0], next[1], ADD(p, OP_ADD, U32, 0, i, u32(p, 1)));
    store(p, leaf(p, OP_RESULT, U32, 2));
}

/* What a lane calls: input times 'factor' plus 'offset'. */
static uint32_t callable(Program *root, uint32_t factor, uint32_t offset)
{
    Program *p = alloc_zero(1, sizeof(Program));
    if (!p)
        return PROGRAM_NONE;
    leaf(p, OP_ARG, BOOL, 0);
    const uint32_t x = leaf(p, OP_ARG, F32, 1);
    const uint32_t product = ADD(p, OP_MUL, F32, 0, x, f32(p, factor));
    ADD(p, OP_RETURN, VOID, 0, ADD(p, OP_ADD, F32, 0, product, f32(p, offset)));
    return program_add_callable(root, p);
}

static void calls(Program *p, uint32_t unused)
{
    (void) unused;
    const uint32_t targets[] = { callable(p, F32_TWO, F32_FOUR),
                                 callable(p, F32_THREE, F32_HALF) };
    const uint32_t number = load(p, U32), x = load(p, F32);
    const uint32_t args[] = { yes(p), number, x };
    program_add_region(p, REGION_CALL, 3, args, 2, targets);
    store(p, leaf(p, OP_RESULT, F32, 0));
}

/* The sum of four neighbours in memory. */
static void packet(Program *p, uint32_t unused)
{
    (void) unused;
    const uint32_t source = array(p, F32, false), index = load(p, U32);
    const uint32_t all = ADD(p, OP_GATHER_PACKET, F32, 4, source, index, yes(p));
    uint32_t sum = ADD(p, OP_PACKET_ITEM, F32, 0, all);
    for (uint32_t i = 1; i < 4; ++i)
        sum = ADD(p, OP_ADD, F32, 0, sum, ADD(p, OP_PACKET_ITEM, F32, i, all));
    store(p, sum);
}

/* An array of the lane, written and read at indices that memory tells: so long that the
 * assembler does not keep it in registers. */
static void local(Program *p, uint32_t unused)
{
    enum { ENTRIES = 200 };
    (void) unused;
    const uint32_t entries = ADD(p, OP_LOCAL, F32, ENTRIES, f32(p, 0));
    const uint32_t eight = u32(p, 8), x = load(p, F32); /* some indices are 200 */
    const uint32_t to = ADD(p, OP_MUL, U32, 0, load(p, U32), eight);
    const uint32_t from = ADD(p, OP_MUL, U32, 0, load(p, U32), eight);
    ADD(p, OP_LOCAL_WRITE, VOID, 0, entries, x, to, yes(p));
    store(p, ADD(p, OP_LOCAL_READ, F32, 0, entries, from, yes(p)));
}

/* Sums of lanes that meet, as they come; and what each lane finds where no other is. */
static void atomics(Program *p, uint32_t unused)
{
    (void) unused;
    const uint32_t bins = array(p, U32, true), sums = array(p, F32, true);
    const uint32_t bytes = array(p, VarTypeUInt8, true), index = load(p, U32);
    const uint32_t x = load(p, F32), own = leaf(p, OP_COUNTER, U32, 0);
    const uint32_t byte = ADD(p, OP_CAST, VarTypeUInt8, 0, own);
    ADD(p, OP_SCATTER, VOID, ReduceOpAdd, sums, x, index, yes(p));
    ADD(p, OP_SCATTER, VOID, ReduceOpMax, bytes, byte, index, yes(p));
    store(p, ADD(p, OP_SCATTER_INC, U32, 0, bins, own, yes(p)));
}

/* Reductions of lanes that are likely to meet, in half of them; and of lanes that never
 * do. */
static void reductions(Program *p, uint32_t unused)
{
    (void) unused;
    const uint32_t mode = ReduceModeLocal << 8, alone = ReduceModeNoConflicts << 8;
    const uint32_t counts = array(p, U32, true), sums = array(p, F32, true);
    const uint32_t least = array(p, VarTypeInt64, true), own = array(p, F32, true);
    const uint32_t x = load(p, F32), lane = leaf(p, OP_COUNTER, U32, 0);
    const uint32_t index = ADD(p, OP_SHR, U32, 0, lane, u32(p, 6));
    const uint32_t odd = ADD(p, OP_AND, U32, 0, lane, u32(p, 1));
    const uint32_t mask = ADD(p, OP_NEQ, BOOL, 0, odd, u32(p, 0));
    const uint32_t wide = ADD(p, OP_CAST, VarTypeInt64, 0, lane);
    /* The last lane has the least, in whose halves all bits matter. */
    const uint32_t step =
        program_add_literal(p, VarTypeInt64, (uint64_t) -INT64_C(0x123456789));
    const uint32_t fall = ADD(p, OP_MUL, VarTypeInt64, 0, wide, step);
    ADD(p, OP_SCATTER, VOID, mode | ReduceOpAdd, counts, lane, index, mask);
    ADD(p, OP_SCATTER, VOID, mode | ReduceOpAdd, sums, x, index, yes(p));
    ADD(p, OP_SCATTER, VOID, mode | ReduceOpMin, least, fall, index, yes(p));
    ADD(p, OP_SCATTER, VOID, alone | ReduceOpAdd, own, x, lane, mask);
}

/* ------------------------------------------------------------------------ table */

typedef struct Row {
    const char *name;
    void (*make)(Program *p, uint32_t detail);
    uint32_t detail;
} Row;

static const Row rows[] = {
    { "axpy", axpy, F32 },           { "axpy_f16", axpy, F16 },
    { "axpy_f64", axpy, F64 },       { "sin", function, OP_SIN },
    { "cos", function, OP_COS },     { "tan", function, OP_TAN },
    { "exp", function, OP_EXP },     { "log", function, OP_LOG },
    { "power", function, OP_POWER }, { "cbrt", function, OP_CBRT },
    { "erf", function, OP_ERF },     { "lgamma", function, OP_LGAMMA },
    { "atan2", function, OP_ATAN2 }, { "rsqrt", function, OP_RSQRT },
    { "mandelbrot", mandelbrot, 0 }, { "calls", calls, 0 },
    { "packet", packet, 0 },         { "local", local, 0 },
    { "atomics", atomics, 0 },       { "reductions", reductions, 0 },
};
enum { ROWS = sizeof rows / sizeof *rows };

const char *chosen_name(uint32_t i)
{
    return i < ROWS ? rows[i].name : NULL;
}

Program *chosen_program(uint32_t i)
{
    Program *p = alloc_zero(1, sizeof(Program));
    if (!p)
        return NULL;
    rows[i].make(p, rows[i].detail);
    if (program_verify(p))
        return p;
    program_free(p);
    return NULL;
}
