/*
 * test_engine_calls.c -- calls, local arrays, checks and prints on all engines, against
 * C loops over lanes
 */
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine_regions.h"

/* ---- calls */

/* Callable 'k': (x, f) -> (x * (k + 2) + k, f > k). */
static Program *simple_callable(uint32_t k)
{
    Program *c = new_program();
    uint32_t x = leaf(c, OP_ARG, VarTypeUInt32, 1);
    uint32_t f = leaf(c, OP_ARG, VarTypeFloat32, 2);
    uint32_t y = U32(c, OP_MUL, x, number(c, k + 2));
    y = U32(c, OP_ADD, y, number(c, k));
    float limit = (float) k;
    uint32_t bits;
    memcpy(&bits, &limit, sizeof bits);
    uint32_t over = BOOL(c, OP_GT, f, program_add_literal(c, VarTypeFloat32, bits));
    ADD(c, OP_RETURN, VarTypeVoid, 0, y, over);
    return c;
}

static uint32_t target_count, fixed_number;

static void calls_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *x = arrays[0], *n = arrays[1];
    const float *f = arrays[2];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t k = fixed_number != UINT32_MAX ? fixed_number : n[lane];
        bool called = k >= 1 && k <= target_count && x[lane] != 4;
        ((uint32_t *) arrays[3])[lane] = called ? x[lane] * (k + 1) + k - 1 : 0;
        ((uint8_t *) arrays[4])[lane] = called && f[lane] > (float) (k - 1);
    }
}

static void check_calls(uint32_t count, uint32_t fixed)
{
    Program *p = new_program();
    uint32_t targets[32];
    for (uint32_t k = 0; k < count; k++) {
        targets[k] = program_add_callable(p, simple_callable(k));
    }
    uint32_t x = input(p, VarTypeUInt32), n = input(p, VarTypeUInt32);
    uint32_t f = input(p, VarTypeFloat32);
    uint32_t mask = BOOL(p, OP_NEQ, x, number(p, 4));
    if (fixed != UINT32_MAX) {
        n = number(p, fixed);
    }
    program_add_region(p, REGION_CALL, 4, LIST(mask, n, x, f), count, targets);
    uint32_t y = leaf(p, OP_RESULT, VarTypeUInt32, 0);
    uint32_t over = leaf(p, OP_RESULT, VarTypeBool, 1);
    output(p, y);
    output(p, over);
    target_count = count;
    fixed_number = fixed;
    check(p, calls_reference, "calls");
}

static void test_calls(void **state)
{
    (void) state;
    static const uint32_t counts[] = { 1, 3, 8, 9, 20 };
    for (int i = 0; i < 5; i++) {
        check_calls(counts[i], UINT32_MAX); /* numbers go from 0 to 10 */
    }
    check_calls(3, 0);
    check_calls(3, 2);
    check_calls(3, 4);
    check_calls(3, UINT32_MAX - 1);
    check_calls(20, 17);
}

static uint32_t collatz(uint32_t x, uint32_t limit)
{
    uint32_t steps = 0;
    while (x > 1 && steps < limit) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        steps++;
    }
    return steps;
}

static void deep_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *x = arrays[0], *n = arrays[1], *table = arrays[2];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < x[lane]; i++) {
            uint32_t k = (n[lane] + i) % 4;
            if (k == 1) {
                sum += collatz(i + 20, 12);
            } else if (k == 2) {
                sum += 1000 + table[i] + collatz(i, 12);
                ((uint32_t *) arrays[3])[i]++;
            }
        }
        ((uint32_t *) arrays[4])[lane] = sum;
    }
}

/* A callable with a loop with a conditional; one that calls the first; a loop that
 * calls both. */
static void test_deep_calls(void **state)
{
    (void) state;
    Program *steps = new_program();
    uint32_t one = number(steps, 1), zero = number(steps, 0);
    uint32_t x = leaf(steps, OP_ARG, VarTypeUInt32, 1);
    uint32_t mask = leaf(steps, OP_ARG, VarTypeBool, 0);
    uint32_t loop = REGION(steps, REGION_LOOP, mask, x, zero);
    uint32_t a = leaf(steps, OP_STATE, VarTypeUInt32, 0);
    uint32_t n = leaf(steps, OP_STATE, VarTypeUInt32, 1);
    uint32_t twelve = number(steps, 12);
    uint32_t go =
        BOOL(steps, OP_AND, BOOL(steps, OP_GT, a, one), BOOL(steps, OP_LT, n, twelve));
    ADD(steps, OP_TEST, VarTypeVoid, loop, go);
    uint32_t active = leaf(steps, OP_ACTIVE, VarTypeBool, loop);
    uint32_t odd = ADD(steps, OP_CAST, VarTypeBool, 0, U32(steps, OP_AND, a, one));
    uint32_t side = REGION(steps, REGION_IF, active, odd);
    uint32_t triple = U32(steps, OP_FMA, a, number(steps, 3), one);
    ADD(steps, OP_ELSE, VarTypeVoid, side, triple);
    ADD(steps, OP_END, VarTypeVoid, side, U32(steps, OP_SHR, a, one));
    uint32_t next = leaf(steps, OP_RESULT, VarTypeUInt32, 0);
    ADD(steps, OP_END, VarTypeVoid, loop, next, U32(steps, OP_ADD, n, one));
    ADD(steps, OP_RETURN, VarTypeVoid, 0, leaf(steps, OP_RESULT, VarTypeUInt32, 1));

    Program *p = new_program(), *more = new_program();
    uint32_t first = program_add_callable(p, steps);
    uint32_t px = input(p, VarTypeUInt32), pn = input(p, VarTypeUInt32);
    uint32_t table = program_add_param(p, PARAM_POINTER, VarTypeUInt32);
    uint32_t counts = program_add_param(p, PARAM_POINTER, VarTypeUInt32);
    p->params[counts].written = 1;

    uint32_t on = leaf(more, OP_ARG, VarTypeBool, 0);
    uint32_t i = leaf(more, OP_ARG, VarTypeUInt32, 1);
    uint32_t base = leaf(more, OP_PARAM, VarTypePointer, table);
    uint32_t sums = leaf(more, OP_PARAM, VarTypePointer, counts);
    ADD(more, OP_SCATTER, VarTypeVoid, ReduceOpAdd | ReduceModeLocal << 8, sums,
        number(more, 1), i, on);
    program_add_region(more, REGION_CALL, 3, LIST(on, number(more, 1), i), 1, &first);
    uint32_t inner = leaf(more, OP_RESULT, VarTypeUInt32, 0);
    uint32_t value = ADD(more, OP_GATHER, VarTypeUInt32, 0, base, i, on);
    value = U32(more, OP_ADD, value, number(more, 1000));
    ADD(more, OP_RETURN, VarTypeVoid, 0, U32(more, OP_ADD, value, inner));
    uint32_t second = program_add_callable(p, more);

    one = number(p, 1);
    loop = REGION(p, REGION_LOOP, yes(p), number(p, 0), number(p, 0));
    i = leaf(p, OP_STATE, VarTypeUInt32, 0);
    uint32_t sum = leaf(p, OP_STATE, VarTypeUInt32, 1);
    ADD(p, OP_TEST, VarTypeVoid, loop, BOOL(p, OP_LT, i, px));
    active = leaf(p, OP_ACTIVE, VarTypeBool, loop);
    uint32_t k = U32(p, OP_AND, U32(p, OP_ADD, pn, i), number(p, 3));
    uint32_t twenty = U32(p, OP_ADD, i, number(p, 20));
    uint32_t is_first = BOOL(p, OP_EQ, k, one);
    uint32_t arg = U32(p, OP_SELECT, is_first, twenty, i);
    program_add_region(p, REGION_CALL, 3, LIST(active, k, arg), 2, LIST(first, second));
    uint32_t got = leaf(p, OP_RESULT, VarTypeUInt32, 0);
    ADD(p, OP_END, VarTypeVoid, loop, U32(p, OP_ADD, i, one), U32(p, OP_ADD, sum, got));
    output(p, leaf(p, OP_RESULT, VarTypeUInt32, 1));
    check(p, deep_reference, "nested calls");
}

static void no_targets_reference(void *const *arrays, uint32_t lanes)
{
    memcpy(arrays[1], arrays[0], lanes * sizeof(uint32_t));
}

/* A call of nobody; targets without inputs and outputs. */
static void test_empty_calls(void **state)
{
    (void) state;
    Program *p = new_program(), *c = new_program();
    uint32_t x = input(p, VarTypeUInt32);
    program_add(c, OP_RETURN, VarTypeVoid, 0, 0, NULL);
    uint32_t target = program_add_callable(p, c);
    program_add_region(p, REGION_CALL, 3, LIST(yes(p), x, x), 0, NULL);
    program_add_region(p, REGION_CALL, 2, LIST(yes(p), x), 1, &target);
    output(p, x);
    check(p, no_targets_reference, "empty calls");
}

static unsigned passed_size;

static void passed_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *n = arrays[0];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        for (uint32_t k = 0; k < 2; k++) {
            char *to = (char *) arrays[3 + k] + lane * passed_size;
            uint32_t from = n[lane] == 1 ? k : !k;
            memset(to, 0, passed_size);
            if (n[lane] == 1 || n[lane] == 2) {
                memcpy(to, (char *) arrays[1 + from] + lane * passed_size, passed_size);
            }
        }
    }
}

/* Values of each type through inputs and outputs: as they are, and exchanged. */
static void test_passed_types(void **state)
{
    (void) state;
    for (uint32_t t = 0; t < TYPE_COUNT; t++) {
        Program *p = new_program();
        uint32_t targets[2];
        for (uint32_t k = 0; k < 2; k++) {
            Program *c = new_program();
            uint32_t a = leaf(c, OP_ARG, types[t], 1 + k);
            uint32_t b = leaf(c, OP_ARG, types[t], 2 - k);
            ADD(c, OP_RETURN, VarTypeVoid, 0, a, b);
            targets[k] = program_add_callable(p, c);
        }
        uint32_t n = input(p, VarTypeUInt32);
        uint32_t a = input(p, types[t]), b = input(p, types[t]);
        program_add_region(p, REGION_CALL, 4, LIST(yes(p), n, a, b), 2, targets);
        a = leaf(p, OP_RESULT, types[t], 0);
        b = leaf(p, OP_RESULT, types[t], 1);
        output(p, a);
        output(p, b);
        passed_size = type_info[types[t]].size;
        check(p, passed_reference, type_info[types[t]].name);
    }
}

/* ---- local arrays */

static unsigned local_size;
enum { LOCAL_ENTRIES = 12 };

static void local_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *x = arrays[0], *y = arrays[1];
    unsigned size = local_size;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        char array[LOCAL_ENTRIES + 1][8], zero[8] = { 0 };
        char *a = (char *) arrays[2] + lane * size,
             *b = (char *) arrays[3] + lane * size;
        for (int k = 0; k < LOCAL_ENTRIES; k++) {
            memcpy(array[k], a, size);
        }
        uint32_t place = x[lane] * 2;
        if (place < LOCAL_ENTRIES && y[lane] != 3) {
            memcpy(array[place], b, size);
        }
        memcpy(array[5], b, size);
        if (y[lane] != 3) {
            memcpy(array[7], b, size);
        }
        bool inside = y[lane] + 3 < LOCAL_ENTRIES && y[lane] != 3;
        const char *results[] = { inside ? array[y[lane] + 3] : zero, array[5],
                                  y[lane] != 3 ? array[7] : zero, zero };
        for (int k = 0; k < 4; k++) {
            memcpy((char *) arrays[4 + k] + lane * size, results[k], size);
        }
    }
}

/* Reads and writes of each type, at indices of lanes and at literal ones. */
static void check_local(VarType type)
{
    Program *p = new_program();
    uint32_t x = input(p, VarTypeUInt32), y = input(p, VarTypeUInt32), out[4];
    uint32_t a = input(p, type), b = input(p, type), three = number(p, 3);
    uint32_t mask = BOOL(p, OP_NEQ, y, three);
    uint32_t array = ADD(p, OP_LOCAL, type, LOCAL_ENTRIES, a);
    uint32_t place = U32(p, OP_MUL, x, number(p, 2));
    ADD(p, OP_LOCAL_WRITE, VarTypeVoid, 0, array, b, place, mask);
    ADD(p, OP_LOCAL_WRITE, VarTypeVoid, 0, array, b, number(p, 5), yes(p));
    ADD(p, OP_LOCAL_WRITE, VarTypeVoid, 0, array, b, number(p, 7), mask);
    ADD(p, OP_LOCAL_WRITE, VarTypeVoid, 0, array, b, number(p, LOCAL_ENTRIES), mask);
    uint32_t at = U32(p, OP_ADD, y, three);
    out[0] = ADD(p, OP_LOCAL_READ, type, 0, array, at, mask);
    out[1] = ADD(p, OP_LOCAL_READ, type, 0, array, number(p, 5), yes(p));
    out[2] = ADD(p, OP_LOCAL_READ, type, 0, array, number(p, 7), mask);
    out[3] = ADD(p, OP_LOCAL_READ, type, 0, array, number(p, UINT32_MAX), yes(p));
    for (int k = 0; k < 4; k++) {
        output(p, out[k]);
    }
    local_size = type_info[type].size;
    check(p, local_reference, type_info[type].name);
}

static void test_local_types(void **state)
{
    (void) state;
    for (uint32_t t = 0; t < TYPE_COUNT; t++) {
        check_local(types[t]);
    }
}

enum { BIG = LOCAL_MOST_BYTES / 4 };

static void big_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *x = arrays[0], *y = arrays[1];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        ((uint32_t *) arrays[2])[lane] = y[lane] == x[lane] ? lane : 7;
    }
}

/* 64 KiB a lane. */
static void test_local_big(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t x = input(p, VarTypeUInt32), y = input(p, VarTypeUInt32);
    uint32_t lane = leaf(p, OP_COUNTER, VarTypeUInt32, 0);
    uint32_t array = ADD(p, OP_LOCAL, VarTypeUInt32, BIG, number(p, 7));
    uint32_t step = number(p, BIG / 11), extra = number(p, 901);
    uint32_t to = U32(p, OP_FMA, x, step, extra), from = U32(p, OP_FMA, y, step, extra);
    ADD(p, OP_LOCAL_WRITE, VarTypeVoid, 0, array, lane, to, yes(p));
    output(p, ADD(p, OP_LOCAL_READ, VarTypeUInt32, 0, array, from, yes(p)));
    check(p, big_reference, "64 KiB a lane");
}

static void stack_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *n = arrays[0], *m = arrays[1];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t a[10], b[10], sum = 0;
        for (int k = 0; k < 10; k++) {
            a[k] = 1;
            b[k] = lane;
        }
        for (uint32_t i = 0; i < n[lane]; i++) {
            uint32_t fresh[2] = { 5, 5 };
            fresh[i % 2] += i;
            if (i < 10) {
                a[i] = fresh[0] * 10 + fresh[1] + (i ? a[i - 1] : 0);
            }
            if (i == m[lane]) {
                memcpy(b, a, sizeof a);
            }
        }
        for (uint32_t k = 0; k < 10; k++) {
            sum = sum * 7 + b[k];
        }
        ((uint32_t *) arrays[2])[lane] = sum;
    }
}

/* Arrays in a loop: one that lives longer, one made anew in each iteration, and a copy
 * that lanes make in different iterations. */
static void test_local_loop(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t n = input(p, VarTypeUInt32), m = input(p, VarTypeUInt32);
    uint32_t one = number(p, 1), lane = leaf(p, OP_COUNTER, VarTypeUInt32, 0);
    uint32_t a = ADD(p, OP_LOCAL, VarTypeUInt32, 10, one);
    uint32_t b = ADD(p, OP_LOCAL, VarTypeUInt32, 10, lane);
    uint32_t loop = REGION(p, REGION_LOOP, yes(p), number(p, 0));
    uint32_t i = leaf(p, OP_STATE, VarTypeUInt32, 0);
    ADD(p, OP_TEST, VarTypeVoid, loop, BOOL(p, OP_LT, i, n));
    uint32_t active = leaf(p, OP_ACTIVE, VarTypeBool, loop);
    uint32_t fresh = ADD(p, OP_LOCAL, VarTypeUInt32, 2, number(p, 5));
    uint32_t low = U32(p, OP_AND, i, one);
    uint32_t old = ADD(p, OP_LOCAL_READ, VarTypeUInt32, 0, fresh, low, active);
    ADD(p, OP_LOCAL_WRITE, VarTypeVoid, 0, fresh, U32(p, OP_ADD, old, i), low, active);
    uint32_t x = ADD(p, OP_LOCAL_READ, VarTypeUInt32, 0, fresh, number(p, 0), active);
    uint32_t y = ADD(p, OP_LOCAL_READ, VarTypeUInt32, 0, fresh, one, active);
    uint32_t before = U32(p, OP_SUB, i, one); /* wraps in the first iteration */
    uint32_t z = ADD(p, OP_LOCAL_READ, VarTypeUInt32, 0, a, before, active);
    uint32_t value = U32(p, OP_ADD, U32(p, OP_FMA, x, number(p, 10), y), z);
    ADD(p, OP_LOCAL_WRITE, VarTypeVoid, 0, a, value, i, active);
    uint32_t now = BOOL(p, OP_AND, active, BOOL(p, OP_EQ, i, m));
    ADD(p, OP_LOCAL_MOVE, VarTypeVoid, 0, b, a, now);
    ADD(p, OP_END, VarTypeVoid, loop, U32(p, OP_ADD, i, one));
    uint32_t sum = number(p, 0), seven = number(p, 7);
    for (uint32_t k = 0; k < 10; k++) {
        uint32_t entry =
            ADD(p, OP_LOCAL_READ, VarTypeUInt32, 0, b, number(p, k), yes(p));
        sum = U32(p, OP_FMA, sum, seven, entry);
    }
    output(p, sum);
    check(p, stack_reference, "local arrays in a loop");
}

static void uniform_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *x = arrays[0], index = *(uint32_t *) arrays[1];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        ((uint32_t *) arrays[2])[lane] = index < 6 ? (x[lane] > 4 ? x[lane] : 3) : 0;
        ((uint32_t *) arrays[3])[lane] = 0;
    }
}

/* An index that all lanes share but the compiler does not know; one that is out of
 * range. The array is one of a callable. */
static void test_local_uniform(void **state)
{
    (void) state;
    for (int form = 0; form < 2; form++) {
        Program *p = new_program(), *c = new_program();
        uint32_t x = input(p, VarTypeUInt32);
        uint32_t slot = program_add_param(p, PARAM_INPUT, VarTypeUInt32);
        uint32_t index = leaf(p, OP_LOAD, VarTypeUInt32, slot);
        p->insts[index].flags |= INST_UNIFORM;
        Program *to = form ? c : p;
        uint32_t on = form ? leaf(c, OP_ARG, VarTypeBool, 0) : yes(p);
        uint32_t value = form ? leaf(c, OP_ARG, VarTypeUInt32, 1) : x;
        uint32_t at = form ? leaf(c, OP_ARG, VarTypeUInt32, 2) : index;
        uint32_t array = ADD(to, OP_LOCAL, VarTypeUInt32, 6, number(to, 3));
        uint32_t mask = BOOL(to, OP_GT, value, number(to, 4));
        mask = BOOL(to, OP_AND, mask, on);
        ADD(to, OP_LOCAL_WRITE, VarTypeVoid, 0, array, value, at, mask);
        uint32_t got = ADD(to, OP_LOCAL_READ, VarTypeUInt32, 0, array, at, on);
        uint32_t far = U32(to, OP_ADD, at, number(to, 600));
        uint32_t none = ADD(to, OP_LOCAL_READ, VarTypeUInt32, 0, array, far, on);
        if (form) {
            ADD(c, OP_RETURN, VarTypeVoid, 0, got, none);
            uint32_t target = program_add_callable(p, c);
            program_add_region(p, REGION_CALL, 4, LIST(yes(p), number(p, 1), x, index),
                               1, &target);
            got = leaf(p, OP_RESULT, VarTypeUInt32, 0);
            none = leaf(p, OP_RESULT, VarTypeUInt32, 1);
        } else {
            program_free(c);
        }
        output(p, got);
        output(p, none);
        check(p, uniform_reference, "uniform index");
    }
}

/* ---- checks and prints */

/* Everything in one Program: a loop that calls a callable that checks, prints and uses
 * a local array, and has a conditional. Lanes with x == 0 do not enter. */
static Program *everything(void)
{
    Program *p = new_program(), *c = new_program();
    uint32_t x = input(p, VarTypeUInt32);
    uint32_t log = program_add_param(p, PARAM_PRINT, VarTypeVoid);
    uint32_t result = program_add_param(p, PARAM_OUTPUT, VarTypeUInt32);
    program_add_param(p, PARAM_REPORT, VarTypeVoid);
    p->check_count = 2;
    p->print_count = 2;
    (void) log;

    uint32_t on = leaf(c, OP_ARG, VarTypeBool, 0);
    uint32_t i = leaf(c, OP_ARG, VarTypeUInt32, 1);
    uint32_t half = ADD(c, OP_CAST, VarTypeFloat32, 0, i);
    half = ADD(c, OP_CAST, VarTypeFloat16, 0, half);
    uint32_t array = ADD(c, OP_LOCAL, VarTypeUInt32, 20, i);
    uint32_t okay = ADD(c, OP_CHECK, VarTypeBool, 1, on, i);
    uint32_t read = ADD(c, OP_LOCAL_READ, VarTypeUInt32, 0, array, i, okay);
    uint32_t odd = BOOL(c, OP_NEQ, U32(c, OP_AND, i, number(c, 1)), number(c, 0));
    uint32_t side = REGION(c, REGION_IF, on, odd);
    uint32_t active = leaf(c, OP_ACTIVE, VarTypeBool, side);
    ADD(c, OP_PRINT, VarTypeVoid, 1, active, i, okay, half);
    ADD(c, OP_ELSE, VarTypeVoid, side, number(c, 50));
    ADD(c, OP_END, VarTypeVoid, side, i);
    uint32_t which = leaf(c, OP_RESULT, VarTypeUInt32, 0);
    ADD(c, OP_RETURN, VarTypeVoid, 0, U32(c, OP_ADD, read, which));
    uint32_t target = program_add_callable(p, c);

    uint32_t zero = number(p, 0), one = number(p, 1);
    uint32_t enters = BOOL(p, OP_NEQ, x, zero);
    uint32_t lane = leaf(p, OP_COUNTER, VarTypeUInt32, 0);
    ADD(p, OP_CHECK, VarTypeBool, 0, enters, lane);
    uint32_t loop = REGION(p, REGION_LOOP, enters, zero, zero);
    uint32_t k = leaf(p, OP_STATE, VarTypeUInt32, 0);
    uint32_t sum = leaf(p, OP_STATE, VarTypeUInt32, 1);
    ADD(p, OP_TEST, VarTypeVoid, loop, BOOL(p, OP_LT, k, x));
    active = leaf(p, OP_ACTIVE, VarTypeBool, loop);
    program_add_region(p, REGION_CALL, 3, LIST(active, one, k), 1, &target);
    uint32_t got = leaf(p, OP_RESULT, VarTypeUInt32, 0);
    ADD(p, OP_END, VarTypeVoid, loop, U32(p, OP_ADD, k, one), U32(p, OP_ADD, sum, got));
    uint32_t total = leaf(p, OP_RESULT, VarTypeUInt32, 1);
    ADD(p, OP_PRINT, VarTypeVoid, 0, enters, total);
    ADD(p, OP_STORE, VarTypeVoid, result, total);
    assert_true(program_verify(p));
    return p;
}

/* A log that keeps what it gets, and what lane and print it came from. */
typedef struct Record {
    uint32_t print, lane, order;
    uint64_t values[3];
} Record;

typedef struct TestLog {
    PrintLog log;
    Record *records;
    uint32_t count, capacity;
} TestLog;

static void keep(TestLog *log, Record record)
{
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 64;
        log->records = realloc(log->records, log->capacity * sizeof(Record));
    }
    record.order = log->count;
    log->records[log->count++] = record;
}

static void append(PrintLog *log, uint32_t print, uint32_t begin, uint32_t lanes,
                   const uint8_t *mask, const void *const *values)
{
    static const uint8_t value_sizes[2][3] = { { 4, 0, 0 }, { 4, 1, 2 } };
    for (uint32_t i = 0; i < lanes; i++) {
        if (mask[i]) {
            Record record = { .print = print, .lane = begin + i };
            for (int k = 0; k < 3; k++) {
                unsigned size = value_sizes[print][k];
                if (size) {
                    memcpy(&record.values[k], (const char *) values[k] + i * size,
                           size);
                }
            }
            keep((TestLog *) log, record);
        }
    }
}

static int compare_records(const void *a, const void *b)
{
    const Record *x = a, *y = b;
    return x->lane != y->lane     ? (x->lane < y->lane ? -1 : 1)
           : x->order != y->order ? (x->order < y->order ? -1 : 1)
                                  : 0;
}

/* Bits of small odd integers as half-precision numbers. */
static uint64_t half_bits(uint32_t i)
{
    static const uint16_t bits[] = { 0x3c00, 0x4200, 0x4500, 0x4700, 0x4880 };
    return bits[i / 2];
}

static void expect_everything(const uint32_t *x, uint32_t lanes, uint32_t *out,
                              TestLog *log, CheckReport *reports)
{
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t total = 0;
        reports[0].count += x[lane] != 0 && lane >= reports[0].bound;
        for (uint32_t k = 0; k < x[lane]; k++) {
            bool okay = k < reports[1].bound;
            reports[1].count += !okay;
            total += okay ? k : 0;
            total += k % 2 ? 50 : k;
            if (k % 2) {
                keep(log, (Record){ 1, lane, 0, { k, okay, half_bits(k) } });
            }
        }
        if (x[lane]) {
            keep(log, (Record){ 0, lane, 0, { total } });
        }
        out[lane] = total;
    }
}

static void run_everything(const Code *code, uint32_t lanes)
{
    uint32_t *x = aligned_alloc(64, (COUNT + PADDING) / 16 * 64);
    uint32_t *out = calloc(COUNT, 4), *expected = calloc(COUNT, 4);
    for (uint32_t i = 0; i < COUNT; i++) {
        x[i] = (uint32_t) (random_bits() >> 20) % 11;
    }
    TestLog log = { .log = { append } }, wanted = { 0 };
    CheckReport found[2] = { { 0, 0, 500 }, { 0, 0, 6 } }, reports[2];
    memcpy(reports, found, sizeof found);
    uint64_t args[4] = { (uintptr_t) x, (uintptr_t) &log, (uintptr_t) out,
                         (uintptr_t) found };
    launch(code, args, 0, lanes);
    expect_everything(x, lanes, expected, &wanted, reports);
    assert_memory_equal(out, expected, COUNT * 4);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(found[k].count, reports[k].count);
        assert_true(!found[k].count || found[k].index >= found[k].bound);
    }
    assert_int_equal(log.count, wanted.count);
    if (log.count) {
        qsort(log.records, log.count, sizeof(Record), compare_records);
    }
    for (uint32_t i = 0; i < log.count; i++) {
        const Record *a = &log.records[i], *b = &wanted.records[i];
        assert_int_equal(a->lane, b->lane);
        assert_int_equal(a->print, b->print);
        assert_memory_equal(a->values, b->values, sizeof a->values);
    }
    free(log.records);
    free(wanted.records);
    free(x);
    free(out);
    free(expected);
}

static void check_everything(const Engine *engine)
{
    Program *p = everything();
    const Program *legal = legalise(p, engine);
    assert_non_null(legal);
    Code *code = compile(engine, legal, "everything");
    for (uint32_t s = 0; s < SIZE_COUNT; s++) {
        run_everything(code, sizes[s]);
    }
    code_release(code);
    if (legal != p) {
        program_free((Program *) legal);
    }
    program_free(p);
}

static void test_prints(void **state)
{
    (void) state;
    if (llvm_here)
        check_everything(&llvm_engine);
    check_everything(&interp_engine);
    const Engine *native = engine_find("native"); /* x86-64 has it */
    if (native && native->available())
        check_everything(native);
}
/* ---- the engine */

static void test_supports(void **state)
{
    (void) state;
    NEEDS_LLVM();
    for (int op = OP_REGION; op <= OP_PRINT; op++) {
        assert_true(llvm_engine.supports((Op) op, VarTypeUInt32, VarTypeUInt32));
    }
}
/* Code from disk knows how much scratch memory it needs. */
static void test_saved(void **state)
{
    (void) state;
    NEEDS_LLVM();
    Program *p = everything();
    Code *code = compile(&llvm_engine, p, "everything");
    const void *data;
    size_t size, scratch = cpu_code_scratch(code);
    assert_true(scratch >= 20 * 4 * llvm_vector_width(target_get(cpu_device())));
    assert_true(llvm_engine.save(code, &data, &size));
    Code *again = llvm_engine.load(data, size);
    assert_non_null(again);
    assert_int_equal(cpu_code_scratch(again), scratch);
    code_release(code);
    run_everything(again, 513);
    code_release(again);
    program_free(p);

    p = new_program();
    output(p, input(p, VarTypeUInt32));
    code = compile(&llvm_engine, p, "no local arrays");
    assert_int_equal(cpu_code_scratch(code), 0);
    code_release(code);
    program_free(p);
}

/* A damaged object, also where it says how much memory it needs, is refused or loads.
 */
static void test_damaged(void **state)
{
    (void) state;
    NEEDS_LLVM();
    Program *p = everything();
    Code *code = compile(&llvm_engine, p, "everything");
    const void *data;
    size_t size;
    LlvmObject object;
    assert_true(llvm_engine.save(code, &data, &size));
    uint8_t *copy = malloc(size);
    memcpy(copy, data, size);
    assert_true(llvm_object_map(copy, size, "drjit_", &object));
    assert_int_equal(object.number, cpu_code_scratch(code));
    llvm_object_unmap(&object);
    for (size_t at = 0; at < size; at++) {
        uint8_t flip = (uint8_t) (1 << random_bits() % 8);
        copy[at] ^= flip;
        if (llvm_object_map(copy, size, "drjit_", &object)) {
            assert_true(object.number <= UINT64_C(1) << 30);
            llvm_object_unmap(&object);
        }
        copy[at] ^= flip;
    }
    free(copy);
    code_release(code);
    program_free(p);
}

static void test_memory_failures(void **state)
{
    (void) state;
    NEEDS_LLVM();
    Program *p = everything();
    for (uint64_t n = 1;; n++) {
        alloc_fail_at(n);
        Code *code = llvm_engine.compile(
            p, &(CodeSpec){ .hash = test_hash, .target = target_get(cpu_device()) });
        bool reached = alloc_steps() >= n;
        alloc_fail_at(0);
        if (code) {
            code_release(code);
        }
        assert_true(code || reached);
        if (!reached) {
            break;
        }
    }
    program_free(p);
}
static void all_regions(void)
{
    check_calls(3, UINT32_MAX);
    check_calls(9, UINT32_MAX);
    test_deep_calls(NULL);
    test_passed_types(NULL);
    test_local_types(NULL);
    test_local_loop(NULL);
    test_local_uniform(NULL);
    check_everything(&llvm_engine);
}

static void test_targets(void **state)
{
    (void) state;
    check_targets(all_regions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_deep_calls),
        cmocka_unit_test(test_empty_calls),
        cmocka_unit_test(test_passed_types),
        cmocka_unit_test(test_local_types),
        cmocka_unit_test(test_local_big),
        cmocka_unit_test(test_local_loop),
        cmocka_unit_test(test_local_uniform),
        cmocka_unit_test(test_prints),
        cmocka_unit_test(test_supports),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_memory_failures),
        cmocka_unit_test(test_targets)
    };
    return run_group("calls", tests, sizeof tests / sizeof *tests);
}
