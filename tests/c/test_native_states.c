/*
 * test_native_states.c -- states of loops, few and many, in the native engine
 *
 * What becomes of a state is computed in each way there is (Kind), in both orders, with
 * loops that all lanes leave together, that lanes leave one by one, and that some never
 * enter. The results are those of plain C.
 */
#include "native_programs.h"

typedef enum Kind {
    SUMMED,  /* the next state is added */
    USED,    /* ... and what it becomes is used further on: its low bits, by MIXED */
    MIXED,
    CHOSEN,  /* by a conditional */
    MOVED,   /* it becomes the next state */
    FIXED,   /* it becomes a value from outside */
    LOOPED,  /* in a loop inside */
    SHARED,  /* what it becomes is what the state before SUMMED becomes, too */
    KINDS
} Kind;

typedef enum Leave { TOGETHER, ONE_BY_ONE, SOME, LEAVES } Leave;

enum { MOST = 75, ROUNDS = 13, INNER = 3 };

static struct {
    uint32_t count;
    Leave leave;
    bool backward;   /* what they become is computed from the last one to the first */
    bool half;       /* only every other result is used */
} now;

static Kind kind_of(uint32_t k)
{
    return (Kind) (k % KINDS);
}

/* ---- in C */

static uint32_t become(const uint32_t *s, uint32_t k, uint32_t outside)
{
    uint32_t n = now.count, after = s[(k + 1) % n], before = s[(k + n - 1) % n];
    switch (kind_of(k)) {
    case SUMMED:
        return s[k] + after;
    case USED:
        return s[k] * 3 + 1;
    case MIXED:
        return s[k] ^ ((before * 3 + 1) & 15);
    case CHOSEN:
        return s[k] & 1 ? s[k] >> 1 : s[k] + k;
    case MOVED:
        return after;
    case FIXED:
        return outside;
    case LOOPED:
        return s[k] + INNER * outside;
    default: /* the kind of state 0 is SUMMED */
        return s[0] + s[1 % n];
    }
}

static uint64_t expect_states(uint32_t i)
{
    uint32_t s[MOST], next[MOST], sum = 0, outside = i * 7;
    uint32_t rounds = now.leave == ONE_BY_ONE ? i % 11 : ROUNDS;
    for (uint32_t k = 0; k < now.count; ++k)
        s[k] = i * (k + 1) + k;
    for (uint32_t r = 0; r < rounds && !(now.leave == SOME && i % 3 == 0); ++r) {
        for (uint32_t k = 0; k < now.count; ++k)
            next[k] = become(s, k, outside);
        memcpy(s, next, sizeof s);
    }
    for (uint32_t k = 0; k < now.count; k += 1 + now.half)
        sum = sum * 3 + s[k];
    return sum;
}

/* ---- as a Program */

static uint32_t emit_choice(uint32_t s, uint32_t k, uint32_t active)
{
    uint32_t low = binary(OP_AND, U32, s, number(U32, 1));
    uint32_t odd = binary(OP_NEQ, BOOL, low, number(U32, 0));
    uint32_t r = region(REGION_IF, 2, (uint32_t[]){ active, odd });
    uint32_t half = binary(OP_SHR, U32, s, number(U32, 1));
    end_region(OP_ELSE, r, 1, &half);
    uint32_t more = binary(OP_ADD, U32, s, number(U32, k));
    end_region(OP_END, r, 1, &more);
    return op(OP_RESULT, U32, 0, 0);
}

static uint32_t emit_inner(uint32_t s, uint32_t outside, uint32_t active)
{
    uint32_t r = region(REGION_LOOP, 3, (uint32_t[]){ active, s, number(U32, 0) });
    uint32_t sum = op(OP_STATE, U32, 0, 0), i = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, r, 1, binary(OP_LT, BOOL, i, number(U32, INNER)));
    uint32_t next[] = { binary(OP_ADD, U32, sum, outside),
                        binary(OP_ADD, U32, i, number(U32, 1)) };
    end_region(OP_END, r, 2, next);
    return op(OP_RESULT, U32, 0, 0);
}

static uint32_t emit_sum(const uint32_t *s)
{
    return binary(OP_ADD, U32, s[0], s[1 % now.count]);
}

static uint32_t emit_next(const uint32_t *s, uint32_t k, uint32_t outside,
                          uint32_t active, uint32_t sum)
{
    uint32_t n = now.count, after = s[(k + 1) % n], before = s[(k + n - 1) % n];
    uint32_t three = number(U32, 3), one = number(U32, 1);
    switch (kind_of(k)) {
    case SUMMED:
        return k == 0 ? sum : binary(OP_ADD, U32, s[k], after);
    case USED:
        return binary(OP_ADD, U32, binary(OP_MUL, U32, s[k], three), one);
    case MIXED:
        before = binary(OP_ADD, U32, binary(OP_MUL, U32, before, three), one);
        return binary(OP_XOR, U32, s[k], binary(OP_AND, U32, before, number(U32, 15)));
    case CHOSEN:
        return emit_choice(s[k], k, active);
    case MOVED:
        return after;
    case FIXED:
        return outside;
    case LOOPED:
        return emit_inner(s[k], outside, active);
    default:
        return sum;
    }
}

/* The same with what USED becomes as one value, where that comes first. */
static void emit_body(const uint32_t *s, uint32_t outside, uint32_t active,
                      uint32_t *next)
{
    uint32_t sum = emit_sum(s), used = PROGRAM_NONE;
    for (uint32_t i = 0; i < now.count; ++i) {
        uint32_t k = now.backward ? now.count - 1 - i : i;
        if (kind_of(k) == MIXED && used != PROGRAM_NONE) {
            uint32_t low = binary(OP_AND, U32, used, number(U32, 15));
            next[k] = binary(OP_XOR, U32, s[k], low);
        } else {
            next[k] = emit_next(s, k, outside, active, sum);
        }
        used = kind_of(k) == USED ? next[k] : PROGRAM_NONE;
    }
}

static void write_program(void)
{
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32), args[MOST + 2];
    uint32_t s[MOST], next[MOST + 1], i = lane(), sum = number(U32, 0);
    uint32_t outside = binary(OP_MUL, U32, i, number(U32, 7));
    uint32_t all = number(BOOL, 1), left = binary(OP_MOD, U32, i, number(U32, 3));
    uint32_t some = binary(OP_NEQ, BOOL, left, number(U32, 0));
    uint32_t each = binary(OP_MOD, U32, i, number(U32, 11));
    uint32_t rounds = now.leave == ONE_BY_ONE ? each : number(U32, ROUNDS);
    args[0] = now.leave == SOME ? some : all;
    for (uint32_t k = 0; k < now.count; ++k)
        args[k + 1] = binary(OP_ADD, U32, binary(OP_MUL, U32, i, number(U32, k + 1)),
                             number(U32, k));
    args[now.count + 1] = sum;
    uint32_t r = region(REGION_LOOP, now.count + 2, args);
    for (uint32_t k = 0; k < now.count; ++k)
        s[k] = op(OP_STATE, U32, k, 0);
    uint32_t round = op(OP_STATE, U32, now.count, 0);
    op(OP_TEST, VarTypeVoid, r, 1, binary(OP_LT, BOOL, round, rounds));
    emit_body(s, outside, op(OP_ACTIVE, BOOL, r, 0), next);
    next[now.count] = binary(OP_ADD, U32, round, number(U32, 1));
    end_region(OP_END, r, now.count + 1, next);
    for (uint32_t k = 0; k < now.count; k += 1 + now.half)
        s[k] = op(OP_RESULT, U32, k, 0);
    for (uint32_t k = 0; k < now.count; k += 1 + now.half)
        sum = binary(OP_ADD, U32, binary(OP_MUL, U32, sum, number(U32, 3)), s[k]);
    op(OP_STORE, VarTypeVoid, output, 1, sum);
}

static void test_states(void **state)
{
    (void) state;
    static const uint32_t counts[] = { 1, 2, 5, 8, 13, 24, 33, 40, 64, MOST };
    for (uint32_t c = 0; c < sizeof counts / sizeof *counts; ++c)
        for (uint32_t variant = 0; variant < 4 * LEAVES; ++variant) {
            now.count = counts[c];
            now.leave = (Leave) (variant / 4);
            now.backward = variant & 1;
            now.half = variant & 2;
            write_program();
            check(4, expect_states);
        }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
    };
    if (!native_begin())
        return 0;
    return cmocka_run_group_tests_name(getenv("DRJIT_NATIVE_ISA"), tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
