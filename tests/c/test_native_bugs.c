/*
 * test_native_bugs.c -- what random Programs found in the native engine, by hand
 *
 * Each test is the smallest Program of one defect that the fuzzer has seen, on all
 * engines and both targets, against C loops over lanes.
 */
#include "engine_regions.h"

/* The jump table of a call that can reach nobody was used but never made. */
static void nobody_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *x = arrays[0];
    uint32_t *out = arrays[1];
    for (uint32_t i = 0; i < lanes; i++) {
        out[i] = 3 * x[i];
    }
}

static void test_call_of_nobody(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t x = input(p, VarTypeUInt32);
    uint32_t zero = number(p, 0), one = number(p, 1), three = number(p, 3);
    uint32_t loop = REGION(p, REGION_LOOP, yes(p), zero, zero);
    uint32_t i = leaf(p, OP_STATE, VarTypeUInt32, 0);
    uint32_t sum = leaf(p, OP_STATE, VarTypeUInt32, 1);
    ADD(p, OP_TEST, VarTypeVoid, loop, BOOL(p, OP_LT, i, x));
    uint32_t active = leaf(p, OP_ACTIVE, VarTypeBool, loop);
    program_add_region(p, REGION_CALL, 3, LIST(active, i, sum), 0, NULL);
    ADD(p, OP_END, VarTypeVoid, loop, U32(p, OP_ADD, i, one),
        U32(p, OP_ADD, sum, three));
    output(p, leaf(p, OP_RESULT, VarTypeUInt32, 1));
    check(p, nobody_reference, "call of nobody");
}

/* More states than registers, of several types, that change places within their type:
 * with 16 registers, one of two dozen had a wrong value after such a loop. */
enum { KINDS = 4, RING = 7, STEP = 3, COUNTERS = 1 };

static const VarType kinds[KINDS] = { VarTypeFloat64, VarTypeInt32, VarTypeFloat16,
                                      VarTypeBool };

static void rings_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *trips = arrays[0];
    for (uint32_t i = 0; i < lanes; i++) {
        uint32_t from = trips[i] * STEP % RING;
        const double wide = ((const double *) arrays[1])[i] + from;
        const int32_t single = ((const int32_t *) arrays[2])[i] ^ (int32_t) from;
        const uint16_t half = ((const uint16_t *) arrays[3])[i];
        const uint8_t mask = ((const uint8_t *) arrays[4])[i];
        ((double *) arrays[5])[i] = wide;
        ((int32_t *) arrays[6])[i] = single;
        ((uint16_t *) arrays[7])[i] = (uint16_t) (from % 2 ? half ^ 0x8000 : half);
        ((uint8_t *) arrays[8])[i] = from % 2 ? !mask : mask;
    }
}

/* Member k of a ring: what the reference finds when it has moved on by k. */
static uint32_t ring_member(Program *p, uint32_t kind, uint32_t x, uint32_t k)
{
    if (kinds[kind] == VarTypeFloat64) {
        double number = k;
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        return ADD(p, OP_ADD, VarTypeFloat64, 0, x,
                   program_add_literal(p, VarTypeFloat64, bits));
    }
    if (kinds[kind] == VarTypeInt32)
        return ADD(p, OP_XOR, VarTypeInt32, 0, x,
                   program_add_literal(p, VarTypeInt32, k));
    Op op = kinds[kind] == VarTypeBool ? OP_NOT : OP_NEG;
    return k % 2 ? ADD(p, op, kinds[kind], 0, x) : x;
}

static void test_many_states_change_places(void **state)
{
    (void) state;
    enum { STATES = KINDS * RING + COUNTERS };
    Program *p = new_program();
    uint32_t trips = input(p, VarTypeUInt32), x[KINDS];
    uint32_t args[1 + STATES], states[STATES], next[STATES];
    for (uint32_t kind = 0; kind < KINDS; kind++)
        x[kind] = input(p, kinds[kind]);
    uint32_t one = number(p, 1);
    args[0] = yes(p);
    args[STATES] = number(p, 0);
    for (uint32_t k = 0; k < KINDS * RING; k++)
        args[1 + k] = ring_member(p, k % KINDS, x[k % KINDS], k / KINDS);
    uint32_t loop = program_add_region(p, REGION_LOOP, 1 + STATES, args, 0, NULL);
    for (uint32_t k = 0; k < STATES; k++)
        states[k] =
            leaf(p, OP_STATE, k < KINDS * RING ? kinds[k % KINDS] : VarTypeUInt32, k);
    ADD(p, OP_TEST, VarTypeVoid, loop, BOOL(p, OP_LT, states[STATES - 1], trips));
    for (uint32_t k = 0; k < KINDS * RING; k++)
        next[k] = states[(k + STEP * KINDS) % (KINDS * RING)];
    next[STATES - 1] = U32(p, OP_ADD, states[STATES - 1], one);
    program_add(p, OP_END, VarTypeVoid, loop, STATES, next);
    uint32_t results[KINDS];
    for (uint32_t kind = 0; kind < KINDS; kind++)
        results[kind] = leaf(p, OP_RESULT, kinds[kind], kind);
    for (uint32_t kind = 0; kind < KINDS; kind++)
        output(p, results[kind]);
    check(p, rings_reference, "many states that change places");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_call_of_nobody),
                                        cmocka_unit_test(
                                            test_many_states_change_places) };
    return run_group("native bugs", tests, sizeof tests / sizeof *tests);
}
