/*
 * test_native_regions.c -- loops, conditionals and calls in the native engine
 *
 * Programs written by hand whose results are computed here in plain C
 * (native_programs.h).
 */
#include "native_programs.h"

static uint32_t collatz(uint32_t n)
{
    uint32_t steps = 0;
    for (; n > 1; ++steps)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

static uint64_t expect_collatz(uint32_t i)
{
    return collatz(i + 1);
}

static void test_loop(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32);
    uint32_t one = number(U32, 1), first = binary(OP_ADD, U32, lane(), one);
    uint32_t begin[] = { number(BOOL, 1), first, number(U32, 0) };
    uint32_t r = region(REGION_LOOP, 3, begin);
    uint32_t n = op(OP_STATE, U32, 0, 0), steps = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, r, 1, binary(OP_GT, BOOL, n, one));
    uint32_t odd = binary(OP_EQ, BOOL, binary(OP_AND, U32, n, one), one);
    uint32_t up = binary(OP_ADD, U32, binary(OP_MUL, U32, n, number(U32, 3)), one);
    uint32_t next = op(OP_SELECT, U32, 0, 3, odd, up, binary(OP_SHR, U32, n, one));
    end_region(OP_END, r, 2, (uint32_t[]){ next, binary(OP_ADD, U32, steps, one) });
    op(OP_STORE, VarTypeVoid, output, 1, op(OP_RESULT, U32, 1, 0));
    check(4, expect_collatz);
}

enum { STATES = 45 };

static uint64_t expect_rotation(uint32_t i)
{
    uint64_t values[STATES], sum = 0;
    for (uint32_t k = 0; k < STATES; ++k)
        values[k] = (uint64_t) k * k << 30 | i;
    for (uint32_t round = 0; round < i % 11; ++round) {
        uint64_t last = values[STATES - 1];
        memmove(values + 1, values, (STATES - 1) * sizeof *values);
        values[0] = last + 1;
    }
    for (uint32_t k = 0; k < STATES; ++k)
        sum = sum * 3 + values[k];
    return sum;
}

/* More states than registers, each of which is the next value of another one. */
static void test_loop_rotates_states(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U64);
    uint32_t i = lane(), wide = op(OP_CAST, U64, 0, 1, i), zero = number(U32, 0);
    uint32_t rounds = binary(OP_MOD, U32, i, number(U32, 11));
    uint32_t args[STATES + 2] = { number(BOOL, 1) }, now[STATES], next[STATES + 1];
    for (uint32_t k = 0; k < STATES; ++k)
        args[k + 1] = binary(OP_OR, U64, number(U64, (uint64_t) k * k << 30), wide);
    args[STATES + 1] = zero;
    uint32_t r = region(REGION_LOOP, STATES + 2, args);
    for (uint32_t k = 0; k < STATES; ++k)
        now[k] = op(OP_STATE, U64, k, 0);
    uint32_t round = op(OP_STATE, U32, STATES, 0);
    op(OP_TEST, VarTypeVoid, r, 1, binary(OP_LT, BOOL, round, rounds));
    next[0] = binary(OP_ADD, U64, now[STATES - 1], number(U64, 1));
    memcpy(next + 1, now, (STATES - 1) * sizeof *now);
    next[STATES] = binary(OP_ADD, U32, round, number(U32, 1));
    end_region(OP_END, r, STATES + 1, next);
    for (uint32_t k = 0; k < STATES; ++k)
        now[k] = op(OP_RESULT, U64, k, 0);
    uint32_t sum = number(U64, 0);
    for (uint32_t k = 0; k < STATES; ++k)
        sum = binary(OP_ADD, U64, binary(OP_MUL, U64, sum, number(U64, 3)), now[k]);
    op(OP_STORE, VarTypeVoid, output, 1, sum);
    check(8, expect_rotation);
}

static uint64_t expect_nested(uint32_t i)
{
    uint32_t sum = 0;
    for (uint32_t a = 0; a < i % 5; ++a)
        for (uint32_t b = 0; b < a + i % 3; ++b)
            sum += (a ^ b) % 2 ? 7 * a + i : b;
    return sum;
}

/* A loop in a loop, with a conditional inside and many values around. */
static void test_nested(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32);
    uint32_t i = lane(), one = number(U32, 1), zero = number(U32, 0), keep[40];
    for (uint32_t k = 0; k < 40; ++k) /* they add up to 0 */
        keep[k] = binary(OP_MUL, U32, i, number(U32, k % 2 ? k : 0 - (k + 1)));
    uint32_t most = binary(OP_MOD, U32, i, number(U32, 5));
    uint32_t more = binary(OP_MOD, U32, i, number(U32, 3));
    uint32_t outer_args[] = { number(BOOL, 1), zero, zero };
    uint32_t outer = region(REGION_LOOP, 3, outer_args);
    uint32_t a = op(OP_STATE, U32, 0, 0), sum = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, outer, 1, binary(OP_LT, BOOL, a, most));
    uint32_t active = op(OP_ACTIVE, BOOL, outer, 0);
    uint32_t end = binary(OP_ADD, U32, a, more);
    uint32_t inner_args[] = { active, zero, sum };
    uint32_t inner = region(REGION_LOOP, 3, inner_args);
    uint32_t b = op(OP_STATE, U32, 0, 0), part = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, inner, 1, binary(OP_LT, BOOL, b, end));
    uint32_t here = op(OP_ACTIVE, BOOL, inner, 0);
    uint32_t low = binary(OP_AND, U32, binary(OP_XOR, U32, a, b), one);
    uint32_t odd = binary(OP_EQ, BOOL, low, one);
    uint32_t choice = region(REGION_IF, 2, (uint32_t[]){ here, odd });
    uint32_t yes = binary(OP_ADD, U32, binary(OP_MUL, U32, a, number(U32, 7)), i);
    end_region(OP_ELSE, choice, 1, &yes);
    end_region(OP_END, choice, 1, &b);
    uint32_t added = binary(OP_ADD, U32, part, op(OP_RESULT, U32, 0, 0));
    end_region(OP_END, inner, 2, (uint32_t[]){ binary(OP_ADD, U32, b, one), added });
    uint32_t inner_sum = op(OP_RESULT, U32, 1, 0);
    end_region(OP_END, outer, 2,
               (uint32_t[]){ binary(OP_ADD, U32, a, one), inner_sum });
    uint32_t result = op(OP_RESULT, U32, 1, 0);
    for (uint32_t k = 0; k < 40; ++k)
        result = binary(OP_ADD, U32, result, keep[k]);
    op(OP_STORE, VarTypeVoid, output, 1, result);
    check(4, expect_nested);
}

static uint64_t expect_conditional(uint32_t i)
{
    float value = (float) i, result = 0;
    uint64_t bits = 0;
    if (i % 3 != 0)
        result = i % 2 ? value * 2 : value + 0.5f;
    memcpy(&bits, &result, 4);
    return bits;
}

static void test_conditional(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, F32);
    uint32_t i = lane(), value = op(OP_CAST, F32, 0, 1, i), zero = number(U32, 0);
    uint32_t enters =
        binary(OP_NEQ, BOOL, binary(OP_MOD, U32, i, number(U32, 3)), zero);
    uint32_t odd = binary(OP_NEQ, BOOL, binary(OP_AND, U32, i, number(U32, 1)), zero);
    uint32_t r = region(REGION_IF, 2, (uint32_t[]){ enters, odd });
    uint32_t doubled = binary(OP_ADD, F32, value, value);
    end_region(OP_ELSE, r, 1, &doubled);
    uint32_t moved = binary(OP_ADD, F32, value, number(F32, 0x3f000000));
    end_region(OP_END, r, 1, &moved);
    op(OP_STORE, VarTypeVoid, output, 1, op(OP_RESULT, F32, 0, 0));
    check(4, expect_conditional);
}

static uint64_t expect_call(uint32_t i)
{
    switch (i % 5) {
    case 1:
        return (uint64_t) i * i;
    case 2:
        return collatz(i + 1) + 1000u;
    default:
        return 0;
    }
}

/* Numbers 0 and beyond the list give 0; a callable calls another one from a loop. */
static void test_calls(void **state)
{
    (void) state;
    begin_program();
    Program *root = p;
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U64);

    begin_program(); /* callable 0: one step of the sequence */
    uint32_t n = op(OP_ARG, U32, 1, 0), one = number(U32, 1);
    uint32_t odd = binary(OP_EQ, BOOL, binary(OP_AND, U32, n, one), one);
    uint32_t up = binary(OP_ADD, U32, binary(OP_MUL, U32, n, number(U32, 3)), one);
    op(OP_RETURN, VarTypeVoid, 0, 1,
       op(OP_SELECT, U32, 0, 3, odd, up, binary(OP_SHR, U32, n, one)));
    assert_int_equal(program_add_callable(root, p), 0);

    begin_program(); /* callable 1: the square */
    uint32_t wide = op(OP_CAST, U64, 0, 1, op(OP_ARG, U32, 1, 0));
    op(OP_RETURN, VarTypeVoid, 0, 1, binary(OP_MUL, U64, wide, wide));
    assert_int_equal(program_add_callable(root, p), 1);

    begin_program(); /* callable 2: the number of steps + 1000 */
    one = number(U32, 1);
    uint32_t first = binary(OP_ADD, U32, op(OP_ARG, U32, 1, 0), one);
    uint32_t args[] = { op(OP_ARG, BOOL, 0, 0), first, number(U32, 1000) };
    uint32_t r = region(REGION_LOOP, 3, args), target = 0;
    n = op(OP_STATE, U32, 0, 0);
    uint32_t steps = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, r, 1, binary(OP_GT, BOOL, n, one));
    uint32_t inputs[] = { op(OP_ACTIVE, BOOL, r, 0), one, n };
    assert_int_not_equal(program_add_region(p, REGION_CALL, 3, inputs, 1, &target),
                         PROGRAM_NONE);
    uint32_t next = op(OP_RESULT, U32, 0, 0);
    end_region(OP_END, r, 2, (uint32_t[]){ next, binary(OP_ADD, U32, steps, one) });
    op(OP_RETURN, VarTypeVoid, 0, 1, op(OP_CAST, U64, 0, 1, op(OP_RESULT, U32, 1, 0)));
    assert_int_equal(program_add_callable(root, p), 2);

    p = root;
    uint32_t i = lane(), which = binary(OP_MOD, U32, i, number(U32, 5));
    uint32_t call[] = { number(BOOL, 1), which, i }, targets[] = { 1, 2 };
    assert_int_not_equal(program_add_region(p, REGION_CALL, 3, call, 2, targets),
                         PROGRAM_NONE);
    op(OP_STORE, VarTypeVoid, output, 1, op(OP_RESULT, U64, 0, 0));
    check(8, expect_call);
}

/* ---- loops that end after a known number of iterations */

typedef struct Counted {
    Op op;
    VarType type;
    int64_t first, step, end;
    bool known; /* is the comparison dropped? */
} Counted;

static const Counted counted[] = {
    { OP_LT, U32, 0, 1, 256, true },
    { OP_LT, U32, 0, 1, 1, true },
    { OP_LT, U32, 5, 1, 68, true }, /* 63, 64 and 65 iterations */
    { OP_LT, U32, 5, 1, 69, true },
    { OP_LT, U32, 5, 1, 70, true },
    { OP_LE, U32, 0, 3, 40, true },
    { OP_LT, U32, 0, 3, 40, true },
    { OP_LE, U32, 1, 3, 40, true },
    { OP_GT, U32, 77, -1, 3, true },
    { OP_GE, U32, 77, -5, 3, true },
    { OP_NEQ, U32, 7, 2, 151, true },
    { OP_NEQ, VarTypeInt32, 3, -1, -140, true },
    { OP_GT, VarTypeInt32, 100, -7, -100, true },
    { OP_LT, VarTypeInt8, -100, 2, 120, true },
    { OP_LE, VarTypeUInt8, 200, 5, 250, true },
    { OP_GE, VarTypeInt16, 30000, -1000, -30000, true },
    { OP_LT, U64, 1, 3, 500, true },
    { OP_LT, VarTypeInt64, -(INT64_C(1) << 40), INT64_C(1) << 30, 0, true },
    { OP_LT, U32, 9, 1, 9, false },  /* nobody goes round */
    { OP_LT, U32, 9, -1, 30, false }, /* away from the end */
    { OP_GT, U32, 9, 0, 3, false },
    { OP_NEQ, U32, 7, 2, 150, false }, /* past it */
    { OP_LT, VarTypeUInt8, 240, 10, 255, false }, /* beyond the type's last number */
    { OP_LE, VarTypeInt8, 100, 1, 127, false },
    { OP_GE, U32, 20, -1, 0, false },
    { OP_GE, U32, 77, -5, 2, false },
    { OP_EQ, U32, 7, 1, 7, false },
};

/* How the comparison becomes the test: alone, or with one that differs from lane to
 * lane; and what else there is. */
enum {
    ALONE, FIRST, LAST, DEEP, EXCHANGED, IN_LOOP, TWICE_USED, UNREAD, WITH_CALL, SHAPES
};

static Counted now;
static uint32_t shape;

static int64_t in_type(VarType type, uint64_t value)
{
    uint32_t unused = 64 - 8 * type_info[type].size;
    return type_info[type].is_signed ? (int64_t) (value << unused) >> unused
                                     : (int64_t) (value << unused >> unused);
}

static bool goes_on(int64_t k)
{
    switch (now.op) {
    case OP_LT:
        return k < now.end;
    case OP_LE:
        return k <= now.end;
    case OP_GT:
        return k > now.end;
    case OP_GE:
        return k >= now.end;
    case OP_NEQ:
        return k != now.end;
    default:
        return k == now.end;
    }
}

static uint64_t expect_counted(uint32_t i)
{
    uint32_t sum = i;
    int64_t k = now.first;
    for (uint32_t round = 0; round < (shape == IN_LOOP ? i % 4 : 1); ++round) {
        k = now.first;
        for (uint32_t y = i % 90; (shape == ALONE || y > 0) && goes_on(k); --y) {
            sum = sum * 5 + 3 + (shape == TWICE_USED && goes_on(k));
            sum = shape == WITH_CALL ? sum / (y | 1) : sum;
            k = in_type(now.type, (uint64_t) k + (uint64_t) now.step);
        }
    }
    return shape == UNREAD || shape == IN_LOOP ? sum : sum * 31 + (uint32_t) k;
}

static uint32_t compare(uint32_t k)
{
    static const Op mirror[OP_COUNT] = { [OP_LT] = OP_GT,   [OP_GT] = OP_LT,
                                         [OP_LE] = OP_GE,   [OP_GE] = OP_LE,
                                         [OP_NEQ] = OP_NEQ, [OP_EQ] = OP_EQ };
    uint32_t end = number(now.type, (uint64_t) now.end);
    return shape == EXCHANGED ? binary(mirror[now.op], BOOL, end, k)
                              : binary(now.op, BOOL, k, end);
}

/* The number of lanes' own iterations, the sum. */
static uint32_t write_counted_loop(uint32_t mask, uint32_t i, uint32_t sum)
{
    uint32_t own = binary(OP_MOD, U32, i, number(U32, 90)), zero = number(U32, 0);
    uint32_t step = number(now.type, (uint64_t) now.step), one = number(U32, 1);
    uint32_t args[] = { mask, own, number(now.type, (uint64_t) now.first), sum };
    uint32_t r = region(REGION_LOOP, 4, args);
    uint32_t y = op(OP_STATE, U32, 0, 0), k = op(OP_STATE, now.type, 1, 0);
    uint32_t x = op(OP_STATE, U32, 2, 0), far = binary(OP_GT, BOOL, y, zero);
    uint32_t test = compare(k), counts = test;
    if (shape == DEEP)
        test = binary(OP_AND, BOOL, binary(OP_AND, BOOL, far, test),
                      binary(OP_NEQ, BOOL, y, zero));
    else if (shape == FIRST)
        test = binary(OP_AND, BOOL, test, far);
    else if (shape != ALONE)
        test = binary(OP_AND, BOOL, far, test);
    op(OP_TEST, VarTypeVoid, r, 1, test);
    uint32_t next = op(OP_FMA, U32, 0, 3, x, number(U32, 5), number(U32, 3));
    if (shape == TWICE_USED)
        next = binary(OP_ADD, U32, next, op(OP_CAST, U32, 0, 1, counts));
    if (shape == WITH_CALL) /* where no row divides */
        next = op(OP_CAST, U32, 0, 1,
                  binary(OP_DIV, U64, op(OP_CAST, U64, 0, 1, next),
                         op(OP_CAST, U64, 0, 1, binary(OP_OR, U32, y, one))));
    end_region(OP_END, r, 3,
               (uint32_t[]){ binary(OP_SUB, U32, y, one),
                             binary(OP_ADD, now.type, k, step), next });
    bool unread = shape == UNREAD || shape == IN_LOOP;
    k = unread ? 0 : op(OP_RESULT, now.type, 1, 0);
    x = op(OP_RESULT, U32, 2, 0);
    if (unread)
        return x;
    return op(OP_FMA, U32, 0, 3, x, number(U32, 31), op(OP_CAST, U32, 0, 1, k));
}

static void write_counted(void)
{
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32);
    uint32_t i = lane(), all = number(BOOL, 1), result;
    if (shape == IN_LOOP) {
        uint32_t rounds = binary(OP_AND, U32, i, number(U32, 3));
        uint32_t args[] = { all, rounds, i }, one = number(U32, 1);
        uint32_t r = region(REGION_LOOP, 3, args);
        uint32_t left = op(OP_STATE, U32, 0, 0), sum = op(OP_STATE, U32, 1, 0);
        op(OP_TEST, VarTypeVoid, r, 1, binary(OP_NEQ, BOOL, left, number(U32, 0)));
        uint32_t next = write_counted_loop(op(OP_ACTIVE, BOOL, r, 0), i, sum);
        end_region(OP_END, r, 2, (uint32_t[]){ binary(OP_SUB, U32, left, one), next });
        result = op(OP_RESULT, U32, 1, 0);
    } else {
        result = write_counted_loop(all, i, i);
    }
    op(OP_STORE, VarTypeVoid, output, 1, result);
}

/* ... of a packet, times 12. */
static uint32_t count_comparisons(void)
{
    uint32_t all = count_in_code(" vpcmpud") + count_in_code(" vpcmpd") +
                   count_in_code(" vpcmpeqd") + count_in_code(" vptestm") +
                   count_in_code(" vptestnm");
    return 12 * all / count_in_code(" vpmulld");
}

static void test_counted_loops(void **state)
{
    (void) state;
    bool masks = strcmp(getenv("DRJIT_NATIVE_ISA"), "avx512") == 0;
    for (size_t c = 0; c < sizeof counted / sizeof *counted; ++c)
        for (shape = 0; shape < SHAPES; ++shape) {
            now = counted[c];
            if (shape == ALONE && !now.known)
                continue; /* some of these never end */
            now.op = OP_EQ; /* which is not counted */
            write_counted();
            uint32_t both = count_comparisons();
            program_free(p);
            now = counted[c];
            write_counted();
            if (masks && now.type == U32 && (shape == FIRST || shape == LAST))
                if (count_comparisons() * (now.known ? 2 : 1) != both)
                    fail_msg("case %zu, shape %u: %u percent of the comparisons", c,
                             shape, 100 * count_comparisons() / both);
            check(4, expect_counted);
        }
}

static uint64_t expect_result_counted(uint32_t i)
{
    return i % 3 ? 0 : 5;
}

/* Of a test 'n < 5 and b' b alone is left, the result of another loop, which has no
 * other user: lanes that never entered that have what it began with. */
static void test_result_counted(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32);
    uint32_t one = number(U32, 1), zero = number(U32, 0), all = number(BOOL, 1);
    uint32_t rounds = binary(OP_MOD, U32, lane(), number(U32, 3));
    uint32_t first = region(REGION_LOOP, 3, (uint32_t[]){ all, all, zero });
    uint32_t b = op(OP_STATE, BOOL, 0, 0), k = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, first, 1, binary(OP_LT, BOOL, k, rounds));
    uint32_t never = number(BOOL, 0);
    end_region(OP_END, first, 2, (uint32_t[]){ never, binary(OP_ADD, U32, k, one) });
    b = op(OP_RESULT, BOOL, 0, 0);
    uint32_t second = region(REGION_LOOP, 2, (uint32_t[]){ all, zero });
    uint32_t n = op(OP_STATE, U32, 0, 0);
    uint32_t less = binary(OP_LT, BOOL, n, number(U32, 5));
    op(OP_TEST, VarTypeVoid, second, 1, binary(OP_AND, BOOL, less, b));
    uint32_t next = binary(OP_ADD, U32, n, one);
    end_region(OP_END, second, 1, &next);
    op(OP_STORE, VarTypeVoid, output, 1, op(OP_RESULT, U32, 0, 0));
    check(4, expect_result_counted);
}

enum { FORTH = 9, FORTH_BY = 3 };

static uint64_t expect_back(uint32_t i)
{
    uint32_t sum = 0, n = 1;
    for (uint32_t k = 0; k < FORTH; ++k)
        n += FORTH_BY;
    for (; n > 1; n -= FORTH_BY)
        sum = sum * 5 + i + n;
    return sum;
}

/* A loop that counts back from where another one, of 'most' iterations, came to; that
 * one's result is the number of the other one's state, and is stored as well. */
static void write_back(uint32_t most)
{
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32), zero = number(U32, 0);
    uint32_t one = number(U32, 1), by = number(U32, FORTH_BY), all = number(BOOL, 1);
    if (most == PROGRAM_NONE)
        most = binary(OP_ADD, U32, number(U32, FORTH),
                      binary(OP_AND, U32, lane(), zero)); /* which nobody looks at */
    else
        most = number(U32, most);
    uint32_t forth = region(REGION_LOOP, 3, (uint32_t[]){ all, zero, one });
    uint32_t k = op(OP_STATE, U32, 0, 0), n = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, forth, 1, binary(OP_LT, BOOL, k, most));
    end_region(OP_END, forth, 2, (uint32_t[]){ binary(OP_ADD, U32, k, one),
                                               binary(OP_ADD, U32, n, by) });
    n = op(OP_RESULT, U32, 1, 0);
    uint32_t back = region(REGION_LOOP, 3, (uint32_t[]){ all, n, zero });
    n = op(OP_STATE, U32, 0, 0);
    uint32_t sum = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, back, 1, binary(OP_GT, BOOL, n, one));
    uint32_t more = binary(OP_MUL, U32, sum, number(U32, 5));
    more = binary(OP_ADD, U32, binary(OP_ADD, U32, more, lane()), n);
    end_region(OP_END, back, 2, (uint32_t[]){ binary(OP_SUB, U32, n, by), more });
    op(OP_STORE, VarTypeVoid, output, 1, op(OP_RESULT, U32, 1, 0));
}

static void test_counts_back(void **state)
{
    (void) state;
    bool masks = strcmp(getenv("DRJIT_NATIVE_ISA"), "avx512") == 0;
    write_back(PROGRAM_NONE);
    uint32_t uncounted = count_comparisons();
    check(4, expect_back);
    write_back(FORTH);
    if (masks && (count_comparisons() || !uncounted))
        fail_msg("%u comparisons, of %u", count_comparisons(), uncounted);
    check(4, expect_back);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_loop_rotates_states),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_conditional),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_counted_loops),
        cmocka_unit_test(test_result_counted),
        cmocka_unit_test(test_counts_back),
    };
    if (!native_begin())
        return 0;
    return cmocka_run_group_tests_name(getenv("DRJIT_NATIVE_ISA"), tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
