/*
 * test_legalise_flow.c -- operations within loops, conditionals and callables are
 * expanded where they stand
 *
 * Programs with control flow, local arrays and prints, over all types of numbers, are
 * legalised for engines that lack much. The result is well-formed, has the same
 * regions, and computes in `interp` what the original computes there; for integers that
 * is computed once more in C.
 */
#include "legalise_engines.h"

#include "ir/program_identity.h"
#include "print_util.h"

static const Engine *const engines[] = { &poor, &avx2, &no_bytes, &no_packets };
enum { ENGINE_COUNT = sizeof engines / sizeof *engines, SIZE = 1111, SLOTS = 8 };

static const VarType types[] = {
    VarTypeInt8, VarTypeUInt8, VarTypeInt16, VarTypeUInt16, VarTypeInt32, VarTypeUInt32,
    VarTypeInt64, VarTypeUInt64, VarTypeFloat16, VarTypeFloat32, VarTypeFloat64,
};
enum { TYPE_COUNT = sizeof types / sizeof *types };

#define U32 VarTypeUInt32
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

static uint32_t load(Program *p, VarType type)
{
    return LEAF(OP_LOAD, type, program_add_param(p, PARAM_INPUT, type));
}

static void store(Program *p, uint32_t value)
{
    VarType type = (VarType) p->insts[value].type;
    ADD(OP_STORE, VarTypeVoid, program_add_param(p, PARAM_OUTPUT, type), value);
}

/* The number 1, 2 or 3. */
static uint32_t number(Program *p, VarType type, uint32_t value)
{
    static const uint16_t half[4] = { 0, 0x3c00, 0x4000, 0x4200 };
    static const float single[4] = { 0, 1, 2, 3 };
    static const double whole[4] = { 0, 1, 2, 3 };
    uint64_t bits = value;
    if (type == VarTypeFloat16)
        bits = half[value];
    else if (type == VarTypeFloat32)
        memcpy(&bits, &single[value], 4);
    else if (type == VarTypeFloat64)
        memcpy(&bits, &whole[value], 8);
    return program_add_literal(p, type, bits);
}

/* Small numbers of both signs, as bits of the type. */
static void fill(void *array, VarType type)
{
    for (uint32_t i = 0; i < SIZE; ++i) {
        int32_t value = (int32_t) (i * 7919 % 23) - 11;
        uint64_t bits = (uint64_t) (int64_t) value;
        if (type == VarTypeFloat16)
            bits = (uint64_t) (0x3c00 + 64 * value) | (i & 1) << 15;
        float single = (float) value / 4;
        double wide = value / 4.0;
        if (type == VarTypeFloat32)
            memcpy(&bits, &single, 4);
        else if (type == VarTypeFloat64)
            memcpy(&bits, &wide, 8);
        memcpy((char *) array + (size_t) i * type_info[type].size, &bits,
               type_info[type].size);
    }
}

/* ----------------------------------------------------------- both forms, compared */

static void same_regions(const Program *a, const Program *b)
{
    assert_int_equal(a->region_count, b->region_count);
    for (uint32_t i = 0; i < a->region_count; ++i) {
        const Region *x = &a->regions[i], *y = &b->regions[i];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->target_count, y->target_count);
        for (uint32_t k = 0; k < x->target_count; ++k)
            assert_int_equal(a->extra[x->targets + k], b->extra[y->targets + k]);
    }
}

static void same_records(PrintLog *log_a, PrintLog *log_b)
{
    const PrintRecords *a = prints_finish(log_a), *b = prints_finish(log_b);
    assert_int_equal(a->count, b->count);
    assert_true(a->count > 0);
    for (uint32_t i = 0; i < a->count; ++i) {
        const PrintRecord *x = &a->records[i], *y = &b->records[i];
        assert_int_equal(x->print, y->print);
        assert_int_equal(x->lane, y->lane);
        uint32_t count;
        print_log_types(a, x->print, &count);
        assert_memory_equal(print_log_values(a, x), print_log_values(b, y), count * 8);
    }
}

/* Run a Program on arrays of the test's own: inputs are given, 'written' ones begin as
 * zeros and are compared, as what is printed. */
typedef struct Run {
    void *arrays[SLOTS];
    uint64_t slots[SLOTS];
    PrintLog *log;
} Run;

static void execute(Run *r, const Program *p, void *const *inputs)
{
    memset(r, 0, sizeof(*r));
    assert_true(p->param_count <= SLOTS);
    for (uint32_t i = 0; i < p->param_count; ++i) {
        const Param *param = &p->params[i];
        if (param->kind == PARAM_OUTPUT || param->written) {
            r->arrays[i] = alloc_zero(4 * SIZE, 8);
            r->slots[i] = (uintptr_t) r->arrays[i];
        } else if (param->kind == PARAM_PRINT) {
            r->log = prints_make(p, PRINT_LOG_BYTES);
            assert_non_null(r->log);
            r->slots[i] = (uintptr_t) r->log;
        } else {
            r->slots[i] = (uintptr_t) inputs[i];
        }
    }
    run(p, r->slots, SIZE);
}

static void end_run(Run *r)
{
    for (uint32_t i = 0; i < SLOTS; ++i)
        alloc_free(r->arrays[i]);
    prints_free(r->log);
}

/* All engines; the caller has the results of the original in 'first'. */
static void compare(const Program *p, void *const *inputs, Run *first)
{
    execute(first, p, inputs);
    for (uint32_t e = 0; e < ENGINE_COUNT; ++e) {
        const Program *legal = legalised(p, engines[e]);
        assert_int_equal(legal->callable_count, p->callable_count);
        assert_int_equal(legal->print_count, p->print_count);
        same_regions(legal, p);
        for (uint32_t i = 0; i < p->callable_count; ++i)
            same_regions(legal->callables[i], p->callables[i]);
        Run again;
        execute(&again, legal, inputs);
        for (uint32_t i = 0; i < p->param_count; ++i)
            if (first->arrays[i] &&
                memcmp(first->arrays[i], again.arrays[i], 4 * SIZE * 8) != 0)
                fail_msg("%s: array of parameter %u differs", engines[e]->name, i);
        if (first->log)
            same_records(first->log, again.log);
        end_run(&again);
        if (legal != p)
            program_free((Program *) legal);
    }
}

/* ------------------------------------------------------------- loops, conditionals */

/*
 *  x: input 0; lanes % 5 != 0 enter
 *  for (s = x, k = 0; k < lane % 8; k++) { y = 3 s + x; s = y < x ? y + y : y - 1 }
 *  output 1: s + x, output 2: k
 */
static Program *loop_program(VarType type)
{
    Program *p = new_program();
    uint32_t x = load(p, type), lane = LEAF(OP_COUNTER, U32, 0);
    uint32_t zero = number(p, U32, 0), one = number(p, U32, 1);
    uint32_t limit = ADD(OP_AND, U32, 0, lane, program_add_literal(p, U32, 7));
    uint32_t rest = ADD(OP_MOD, U32, 0, lane, program_add_literal(p, U32, 5));
    uint32_t enter = ADD(OP_NEQ, MASK, 0, rest, zero);
    uint32_t loop =
        program_add_region(p, REGION_LOOP, 3, (uint32_t[]){ enter, x, zero }, 0, NULL);
    uint32_t s = LEAF(OP_STATE, type, 0), k = LEAF(OP_STATE, U32, 1);
    ADD(OP_TEST, VarTypeVoid, loop, ADD(OP_LT, MASK, 0, k, limit));
    uint32_t active = LEAF(OP_ACTIVE, MASK, loop);
    uint32_t y = ADD(OP_MUL, type, 0, s, number(p, type, 3));
    y = ADD(OP_ADD, type, 0, y, x);
    uint32_t less = ADD(OP_LT, MASK, 0, y, x);
    uint32_t branch =
        program_add_region(p, REGION_IF, 2, (uint32_t[]){ active, less }, 0, NULL);
    uint32_t side = ADD(OP_ADD, type, 0, y, y);
    ADD(OP_ELSE, VarTypeVoid, branch, side);
    side = ADD(OP_SUB, type, 0, y, number(p, type, 1));
    ADD(OP_END, VarTypeVoid, branch, side);
    uint32_t next = LEAF(OP_RESULT, type, 0);
    ADD(OP_END, VarTypeVoid, loop, next, ADD(OP_ADD, U32, 0, k, one));
    s = LEAF(OP_RESULT, type, 0);
    k = LEAF(OP_RESULT, U32, 1);
    store(p, ADD(OP_ADD, type, 0, s, x));
    store(p, k);
    return p;
}

/* The same for one lane with integers. */
static uint64_t loop_reference(VarType type, uint64_t x_bits, uint32_t lane)
{
    uint32_t unused = 64 - 8u * type_info[type].size;
    bool is_signed = type_info[type].is_signed;
    uint64_t x = x_bits << unused, s = x; /* in the highest bits, where < is < */
    for (uint32_t k = 0; lane % 5 != 0 && k < lane % 8; ++k) {
        uint64_t y = 3 * s + x;
        bool less = is_signed ? (int64_t) y < (int64_t) x : y < x;
        s = less ? y + y : y - (1ull << unused);
    }
    return (s + x) >> unused;
}

static void check_loop(VarType type, void *const *inputs, const Run *r)
{
    size_t size = type_info[type].size;
    const uint32_t *turns = r->arrays[2];
    for (uint32_t lane = 0; lane < SIZE; ++lane) {
        assert_int_equal(turns[lane], lane % 5 ? lane % 8 : 0);
        uint64_t x = 0, found = 0;
        memcpy(&x, (const char *) inputs[0] + lane * size, size);
        memcpy(&found, (const char *) r->arrays[1] + lane * size, size);
        if (type_info[type].is_integer)
            assert_true(found == loop_reference(type, x, lane));
    }
}

static void test_loops(void **state)
{
    (void) state;
    void *inputs[SLOTS] = { alloc_get(SIZE * 8) };
    for (uint32_t t = 0; t < TYPE_COUNT; ++t) {
        Program *p = loop_program(types[t]);
        fill(inputs[0], types[t]);
        Run r;
        compare(p, inputs, &r);
        check_loop(types[t], inputs, &r);
        end_run(&r);
        program_free(p);
    }
    alloc_free(inputs[0]);
}

/* --------------------------------------------------------------------------- calls */

/* $0: a * b and a + 1; $1: a < b ? a + b : a - b, and b; both of the active lanes of
 * a gather of pairs from slot 2; $2: calls one of them in a loop of two turns. */
static Program *product(VarType type)
{
    Program *p = new_program();
    uint32_t a = LEAF(OP_ARG, type, 1), b = LEAF(OP_ARG, type, 2);
    uint32_t first = ADD(OP_MUL, type, 0, a, b);
    ADD(OP_RETURN, VarTypeVoid, 0, first, ADD(OP_ADD, type, 0, a, number(p, type, 1)));
    return p;
}

static Program *sum_or_difference(VarType type)
{
    Program *p = new_program();
    uint32_t on = LEAF(OP_ARG, MASK, 0), index = LEAF(OP_ARG, U32, 3);
    uint32_t array = LEAF(OP_PARAM, VarTypePointer, 2);
    uint32_t pair = ADD(OP_GATHER_PACKET, type, 2, array, index, on);
    uint32_t a = ADD(OP_PACKET_ITEM, type, 0, pair);
    uint32_t b = LEAF(OP_ARG, type, 2), less = ADD(OP_LT, MASK, 0, a, b);
    uint32_t branch =
        program_add_region(p, REGION_IF, 2, (uint32_t[]){ on, less }, 0, NULL);
    uint32_t side = ADD(OP_ADD, type, 0, a, b);
    ADD(OP_ELSE, VarTypeVoid, branch, side);
    ADD(OP_END, VarTypeVoid, branch, ADD(OP_SUB, type, 0, a, b));
    uint32_t result = LEAF(OP_RESULT, type, 0);
    uint32_t other = ADD(OP_PACKET_ITEM, type, 1, pair);
    ADD(OP_RETURN, VarTypeVoid, 0, result, ADD(OP_SUB, type, 0, other, a));
    return p;
}

static Program *twice(VarType type)
{
    Program *p = new_program();
    uint32_t on = LEAF(OP_ARG, MASK, 0), a = LEAF(OP_ARG, type, 1);
    uint32_t b = LEAF(OP_ARG, type, 2), index = LEAF(OP_ARG, U32, 3);
    uint32_t one = number(p, U32, 1), three = number(p, U32, 3);
    uint32_t loop = program_add_region(p, REGION_LOOP, 4, (uint32_t[]){ on, one, a, b },
                                       0, NULL);
    uint32_t k = LEAF(OP_STATE, U32, 0);
    a = LEAF(OP_STATE, type, 1);
    b = LEAF(OP_STATE, type, 2);
    ADD(OP_TEST, VarTypeVoid, loop, ADD(OP_LT, MASK, 0, k, three));
    uint32_t active = LEAF(OP_ACTIVE, MASK, loop);
    program_add_region(p, REGION_CALL, 5, (uint32_t[]){ active, k, a, b, index }, 2,
                       (uint32_t[]){ 1, 0 });
    a = LEAF(OP_RESULT, type, 0);
    b = LEAF(OP_RESULT, type, 1);
    k = ADD(OP_ADD, U32, 0, k, one);
    ADD(OP_END, VarTypeVoid, loop, k, a, b);
    a = LEAF(OP_RESULT, type, 1);
    b = LEAF(OP_RESULT, type, 2);
    ADD(OP_RETURN, VarTypeVoid, 0, a, b);
    return p;
}

/* Lane l calls number l % 5 of $0, $1, $2 with inputs 0 and 1, and reads pairs of slot
 * 2. The outputs are slots 3 and 4. */
static Program *call_program(VarType type)
{
    Program *p = new_program();
    uint32_t a = load(p, type), b = load(p, type);
    program_add_param(p, PARAM_POINTER, type);
    uint32_t lane = LEAF(OP_COUNTER, U32, 0);
    uint32_t index = ADD(OP_SHR, U32, 0, lane, number(p, U32, 2));
    uint32_t which = ADD(OP_MOD, U32, 0, lane, program_add_literal(p, U32, 5));
    uint32_t rest = ADD(OP_AND, U32, 0, lane, program_add_literal(p, U32, 15));
    uint32_t on = ADD(OP_NEQ, MASK, 0, rest, number(p, U32, 3));
    program_add_callable(p, product(type));
    program_add_callable(p, sum_or_difference(type));
    program_add_callable(p, twice(type));
    program_add_region(p, REGION_CALL, 5, (uint32_t[]){ on, which, a, b, index }, 3,
                       (uint32_t[]){ 0, 1, 2 });
    uint32_t first = LEAF(OP_RESULT, type, 0), second = LEAF(OP_RESULT, type, 1);
    store(p, first);
    store(p, second);
    return p;
}

/* One lane of it, with integers in the highest bits. */
typedef struct Pair {
    uint64_t a, b;
} Pair;

static Pair call_one(uint32_t which, Pair in, const uint64_t *pairs, uint32_t index,
                     uint32_t unused, bool is_signed)
{
    uint64_t x = pairs[2 * index];
    bool less = is_signed ? (int64_t) x < (int64_t) in.b : x < in.b;
    switch (which) {
    case 1: return (Pair){ (in.a >> unused) * in.b, in.a + (1ull << unused) };
    case 2: return (Pair){ less ? x + in.b : x - in.b, pairs[2 * index + 1] - x };
    case 3:
        in = call_one(2, in, pairs, index, unused, is_signed);
        return call_one(1, in, pairs, index, unused, is_signed);
    default: return (Pair){ 0, 0 };
    }
}

static void check_calls(VarType type, void *const *inputs, const Run *r)
{
    uint32_t size = type_info[type].size, unused = 64 - 8 * size;
    static uint64_t wide[3][SIZE];
    for (uint32_t k = 0; k < 3; ++k)
        for (uint32_t i = 0; i < SIZE; ++i) {
            wide[k][i] = 0;
            memcpy(&wide[k][i], (const char *) inputs[k] + i * size, size);
            wide[k][i] <<= unused;
        }
    for (uint32_t lane = 0; lane < SIZE; ++lane) {
        Pair out = call_one(lane % 16 == 3 ? 0 : lane % 5,
                            (Pair){ wide[0][lane], wide[1][lane] }, wide[2], lane / 4,
                            unused, type_info[type].is_signed);
        uint64_t a = 0, b = 0;
        memcpy(&a, (const char *) r->arrays[3] + lane * size, size);
        memcpy(&b, (const char *) r->arrays[4] + lane * size, size);
        assert_true(a == out.a >> unused);
        assert_true(b == out.b >> unused);
    }
}

static void test_calls(void **state)
{
    (void) state;
    void *inputs[SLOTS] = { NULL };
    for (uint32_t i = 0; i < 3; ++i)
        inputs[i] = alloc_get(SIZE * 8 + 8 * i);
    for (uint32_t t = 0; t < TYPE_COUNT; ++t) {
        Program *p = call_program(types[t]);
        for (uint32_t i = 0; i < 3; ++i)
            fill((char *) inputs[i], types[t]);
        memmove(inputs[1], (char *) inputs[1] + 3 * type_info[types[t]].size,
                (SIZE - 3) * type_info[types[t]].size);
        Run r;
        compare(p, inputs, &r);
        if (type_info[types[t]].is_integer)
            check_calls(types[t], inputs, &r);
        end_run(&r);
        program_free(p);
    }
    for (uint32_t i = 0; i < 3; ++i)
        alloc_free(inputs[i]);
}

/* Only a callable has something to expand: it becomes another, the rest is copied. */
static void test_callable_alone(void **state)
{
    (void) state;
    Program *p = call_program(VarTypeFloat16);
    Program *copy = program_copy(p);
    const Program *legal = legalised(p, &avx2);
    assert_ptr_not_equal(legal, p);
    assert_true(program_equal(p, copy)); /* the original stays as it was */
    assert_true(legal->callables[0]->inst_count > p->callables[0]->inst_count);
    release(legal, p);
    assert_ptr_equal(legalise(p, &all), p);
    program_free(p);
    program_free(copy);
}

/* -------------------------------------------------------- local arrays and printing */

/* Four entries, begun with x; two turns write 3 x to an entry and print all that
 * changed; the entries are added up, pairs of them scattered as packets. */
static Program *memory_program(VarType type)
{
    Program *p = new_program();
    uint32_t x = load(p, type), lane = LEAF(OP_COUNTER, U32, 0);
    uint32_t log = program_add_param(p, PARAM_PRINT, VarTypeVoid);
    uint32_t slot = program_add_param(p, PARAM_POINTER, type);
    assert_int_equal(log, 1);
    p->params[slot].written = true;
    p->print_count = 2;
    uint32_t target = LEAF(OP_PARAM, VarTypePointer, slot);
    uint32_t zero = number(p, U32, 0), one = number(p, U32, 1), two = number(p, U32, 2);
    uint32_t yes = program_add_literal(p, MASK, 1);
    uint32_t odd = ADD(OP_NEQ, MASK, 0, ADD(OP_AND, U32, 0, lane, one), zero);
    uint32_t array = ADD(OP_LOCAL, type, 4, x);
    uint32_t other = ADD(OP_LOCAL, type, 4, number(p, type, 1));
    uint32_t loop =
        program_add_region(p, REGION_LOOP, 2, (uint32_t[]){ yes, zero }, 0, NULL);
    uint32_t k = LEAF(OP_STATE, U32, 0);
    ADD(OP_TEST, VarTypeVoid, loop, ADD(OP_LT, MASK, 0, k, two));
    uint32_t active = LEAF(OP_ACTIVE, MASK, loop);
    uint32_t value = ADD(OP_MUL, type, 0, x, number(p, type, 3));
    ADD(OP_LOCAL_WRITE, VarTypeVoid, 0, array, value, k, active);
    uint32_t branch =
        program_add_region(p, REGION_IF, 2, (uint32_t[]){ active, odd }, 0, NULL);
    uint32_t inside = LEAF(OP_ACTIVE, MASK, branch);
    uint32_t seen = ADD(OP_LOCAL_READ, type, 0, array, k, inside);
    ADD(OP_PRINT, VarTypeVoid, 1, inside, ADD(OP_ADD, type, 0, seen, x), k);
    LEAF(OP_ELSE, VarTypeVoid, branch);
    inside = LEAF(OP_ACTIVE, MASK, branch);
    ADD(OP_PRINT, VarTypeVoid, 0, inside, ADD(OP_ADD, type, 0, value, x), k);
    LEAF(OP_END, VarTypeVoid, branch);
    uint32_t pair[2];
    pair[0] = ADD(OP_LOCAL_READ, type, 0, array, k, active);
    pair[1] = ADD(OP_LOCAL_READ, type, 0, array, ADD(OP_ADD, U32, 0, k, one), active);
    uint32_t index = ADD(OP_ADD, U32, 0, ADD(OP_MUL, U32, 0, lane, two), k);
    ADD(OP_SCATTER_PACKET, VarTypeVoid, 0, target, index, active, pair[0], pair[1]);
    ADD(OP_END, VarTypeVoid, loop, ADD(OP_ADD, U32, 0, k, one));
    ADD(OP_LOCAL_MOVE, VarTypeVoid, 0, other, array, odd);
    uint32_t sum = ADD(OP_LOCAL_READ, type, 0, other, zero, yes);
    sum = ADD(OP_ADD, type, 0, sum, ADD(OP_LOCAL_READ, type, 0, other, two, yes));
    store(p, sum);
    return p;
}

static void test_memory(void **state)
{
    (void) state;
    void *inputs[SLOTS] = { alloc_get(SIZE * 8) };
    for (uint32_t t = 0; t < TYPE_COUNT; ++t) {
        Program *p = memory_program(types[t]);
        fill(inputs[0], types[t]);
        Run r;
        compare(p, inputs, &r);
        const PrintRecords *records = prints_finish(r.log);
        assert_int_equal(records->count, 2 * SIZE);
        const uint8_t *bytes = inputs[0], *sums = r.arrays[3];
        for (uint32_t lane = 0; lane < SIZE && types[t] == VarTypeUInt8; ++lane) {
            uint8_t x = bytes[lane];
            assert_int_equal(sums[lane], lane % 2 ? (uint8_t) (4 * x) : 2);
            const PrintRecord *record =
                &records->records[lane % 2 ? SIZE + 1 + lane - 1 : lane];
            assert_int_equal(record->lane, lane);
            assert_int_equal(record->print, lane % 2);
            assert_int_equal(print_log_values(records, record)[0], (uint8_t) (4 * x));
            assert_int_equal(print_log_values(records, record)[1], 0);
            assert_int_equal(print_log_values(records, record + 1)[1], 1);
        }
        end_run(&r);
        program_free(p);
    }
    alloc_free(inputs[0]);
}

/* --------------------------------------------------------------------------- reuse */

static uint32_t count_casts(const Program *p, VarType to)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->inst_count; ++i)
        count += p->insts[i].op == OP_CAST && p->insts[i].type == to;
    return count;
}

/* A value that has been widened before a region is widened already within it and after
 * it; one that is first widened in a body is widened again in the next. */
static void test_reuse(void **state)
{
    (void) state;
    VarType f16 = VarTypeFloat16, f32 = VarTypeFloat32;
    for (uint32_t before = 0; before < 2; ++before) {
        Program *p = new_program();
        uint32_t x = load(p, f16), on = program_add_literal(p, MASK, 1);
        if (before)
            store(p, ADD(OP_MUL, f16, 0, x, x));
        uint32_t branch =
            program_add_region(p, REGION_IF, 2, (uint32_t[]){ on, on }, 0, NULL);
        uint32_t side = ADD(OP_ADD, f16, 0, x, x);
        ADD(OP_ELSE, VarTypeVoid, branch, side);
        side = ADD(OP_SUB, f16, 0, x, x);
        ADD(OP_END, VarTypeVoid, branch, side);
        LEAF(OP_RESULT, f16, 0);
        store(p, ADD(OP_DIV, f16, 0, x, x));
        const Program *legal = legalised(p, &avx2);
        if (!program_verify(legal))
            fail_msg("%s", error_message());
        assert_int_equal(count_casts(legal, f32), before ? 1 : 3);
        release(legal, p);
        program_free(p);
    }
}

static bool straight_supports(Op op, VarType type, VarType operand)
{
    return op != OP_REGION && avx2_supports(op, type, operand);
}

static bool stateless_supports(Op op, VarType type, VarType operand)
{
    return (op != OP_STATE || type != VarTypeFloat16) &&
           avx2_supports(op, type, operand);
}

/* What an engine lacks of control flow cannot be expanded. */
static void test_unsupported(void **state)
{
    (void) state;
    static const Engine straight = { .name = "straight",
                                     .supports = straight_supports };
    static const Engine stateless = { .name = "stateless",
                                      .supports = stateless_supports };
    Program *p = loop_program(VarTypeFloat16);
    assert_null(legalise(p, &straight));
    assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error_message(),
                           "straight engine has no operation 'region'"));
    assert_null(legalise(p, &stateless));
    assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error_message(), "no operation 'state' with result type "
                                            "float16"));
    program_free(p);
    p = call_program(VarTypeFloat32);
    assert_null(legalise(p, &straight));
    program_free(p);
}

/* The absolute value of an unsigned integer is the integer, but what is computed from
 * UNDEFINED is a value: the entries of a local array begin with it. */
static void test_undefined(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t none = LEAF(OP_UNDEFINED, VarTypeUInt16, 0);
    uint32_t out = program_add_param(p, PARAM_OUTPUT, VarTypeUInt16);
    uint32_t array = ADD(OP_LOCAL, VarTypeUInt16, 4,
                         ADD(OP_ABS, VarTypeUInt16, 0, none));
    uint32_t seen = ADD(OP_LOCAL_READ, VarTypeUInt16, 0, array, number(p, U32, 1),
                        program_add_literal(p, MASK, 1));
    ADD(OP_STORE, VarTypeVoid, out, seen);
    const Program *legal = legalise(p, &poor);
    assert_non_null(legal);
    uint32_t found = 0;
    for (uint32_t i = 0; i < legal->inst_count; ++i) {
        if (legal->insts[i].op == OP_LOCAL) {
            const Inst *begin = &legal->insts[legal->insts[i].arg[0]];
            assert_int_not_equal(begin->op, OP_UNDEFINED);
            found++;
        }
    }
    assert_int_equal(found, 1);
    release(legal, p);
    program_free(p);
}

#if defined(JIT_HOSTILE)
static void test_hostile(void **state)
{
    (void) state;
    Program *p = call_program(VarTypeInt8);
    for (uint64_t n = 1;; ++n) {
        assert_true(n < 10000);
        alloc_fail_at(n);
        const Program *legal = legalise(p, &poor);
        bool failed = alloc_steps() >= n;
        alloc_fail_at(0);
        assert_int_equal(legal == NULL, failed);
        if (legal) {
            release(legal, p);
            break;
        }
        assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    }
    program_free(p);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_callable_alone),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_undefined),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_memory),
#if defined(JIT_HOSTILE)
        cmocka_unit_test(test_hostile),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
