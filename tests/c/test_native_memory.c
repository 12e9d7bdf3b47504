/*
 * test_native_memory.c -- local arrays, packets, counters and checks of the native
 * engine, against the interpreter, bit for bit
 *
 * As in test_native_rows.c, everything runs for each table of rows, with packets of
 * full and of half the width, and with ends inside of a packet. What counters and
 * checks report is compared with sums that are made here, too.
 */
#include "native_rows.h"

/* ---- local arrays */

/* Indices of which some are outside: literals, uniform, equal in all lanes without
 * being known to be, and different ones. */
enum { INSIDE, OUTSIDE, UNIFORM, SAME, ANY, INDEX_FORMS };

static uint32_t local_index(Program *p, uint32_t form, uint32_t entries)
{
    VarType u32 = VarTypeUInt32;
    if (form == INSIDE)
        return program_add_literal(p, u32, random_bits() % entries);
    if (form == OUTSIDE)
        return program_add_literal(p, u32, random_bits() % 2 ? entries : UINT32_MAX);
    uint32_t param =
        add(p, OP_PARAM, u32, program_add_param(p, PARAM_VALUE, u32), 0);
    uint32_t bound = program_add_literal(p, u32, entries + 1);
    uint32_t index = add(p, OP_MOD, u32, 0, 2, param, bound);
    if (form == UNIFORM)
        return index;
    uint32_t input = add_input(p, u32);
    if (form == SAME) {
        uint32_t zero = program_add_literal(p, u32, 0);
        return add(p, OP_OR, u32, 0, 2, index, add(p, OP_AND, u32, 0, 2, input, zero));
    }
    return add(p, OP_MOD, u32, 0, 2, input, bound);
}

static uint32_t any_mask(Program *p, bool all)
{
    return all ? program_add_literal(p, VarTypeBool, 1) : add_input(p, VarTypeBool);
}

static void read_local(Program *p, uint32_t array, uint32_t index, uint32_t mask)
{
    VarType type = (VarType) p->insts[array].type;
    uint32_t value = add(p, OP_LOCAL_READ, type, 0, 3, array, index, mask);
    add_output(p, type, value);
    add_widened(p, type, value);
}

static void check_local(VarType type, uint32_t entries, uint32_t variant)
{
    Program *p = new_program();
    add_wide(p, variant);
    bool all = variant & 2;
    uint32_t one = add(p, OP_LOCAL, type, entries, 1, add_input(p, type));
    uint32_t literal = program_add_literal(p, type, any_value(type));
    uint32_t two = add(p, OP_LOCAL, type, entries, 1, literal);
    for (uint32_t form = 0; form < INDEX_FORMS; ++form) {
        uint32_t index = local_index(p, form, entries);
        add(p, OP_LOCAL_WRITE, VarTypeVoid, 0, 4, one, add_input(p, type), index,
            any_mask(p, all));
        read_local(p, one, index, any_mask(p, all));
        read_local(p, one, local_index(p, ANY, entries), any_mask(p, !all));
        add(p, OP_LOCAL_WRITE, VarTypeVoid, 0, 4, two, literal,
            local_index(p, form, entries), any_mask(p, all));
    }
    add(p, OP_LOCAL_MOVE, VarTypeVoid, 0, 3, two, one, any_mask(p, all));
    uint32_t last = program_add_literal(p, VarTypeUInt32, entries - 1);
    read_local(p, two, last, any_mask(p, true));
    read_local(p, two, local_index(p, ANY, entries), any_mask(p, true));
    read_local(p, one, last, any_mask(p, true)); /* nobody wrote past the end */
    char what[80];
    snprintf(what, sizeof what, "local array of %u %s, variant %u", entries,
             type_info[type].short_name, variant);
    check(p, what);
}

static void test_local(void **state)
{
    (void) state;
    static const uint32_t sizes[] = { 1, 3, 8, 9, 40 };
    for (int t = 0; t < TYPES; ++t)
        for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
            for (uint32_t variant = 0; variant < 4; ++variant)
                check_local(types[t], sizes[i], variant);
}

/* ---- packets */

/* The next size: powers of two, and three times one. */
static uint32_t next_size(uint32_t n)
{
    return n % 3 ? n / 2 * 3 : n / 3 * 4;
}

static bool is_packet_type(VarType type)
{
    return native->supports(OP_GATHER_PACKET, type, type);
}

static bool is_scattered(VarType type)
{
    return native->supports(OP_SCATTER_PACKET, VarTypeVoid, type);
}

/* Some packet of an array; where the mask is not set, any number. 'distinct': those of
 * different lanes differ, and lanes for which there is none are masked off. */
static uint32_t packet_index(Program *p, uint32_t n, uint32_t *mask, bool distinct)
{
    VarType u32 = VarTypeUInt32;
    uint32_t count = ENTRIES / n, value = add_input(p, u32);
    if (distinct) {
        value = add(p, OP_COUNTER, u32, 0, 0);
        uint32_t inside = add(p, OP_LT, VarTypeBool, 0, 2, value,
                              program_add_literal(p, u32, count));
        *mask = add(p, OP_AND, VarTypeBool, 0, 2, *mask, inside);
    } else {
        value =
            add(p, OP_AND, u32, 0, 2, value, program_add_literal(p, u32, count - 1));
    }
    return add(p, OP_SELECT, u32, 0, 3, *mask, value, add_input(p, u32));
}

/* Which items are used: all, one, two, the same one twice. */
enum { ALL_ITEMS, ONE_ITEM, TWO_ITEMS, EQUAL_ITEMS, ITEM_SETS };

static void check_gather(VarType type, uint32_t n, uint32_t set, uint32_t variant)
{
    Program *p = new_program();
    add_wide(p, variant);
    uint32_t mask = any_mask(p, variant & 2), pointer = add_pointer(p, type);
    uint32_t index = variant & 4 ? loaded_index(p, ENTRIES / n, &mask)
                                 : packet_index(p, n, &mask, false);
    uint32_t packet =
        add(p, OP_GATHER_PACKET, type, n, 3, pointer, index, mask);
    uint32_t first = (uint32_t) (random_bits() % n);
    uint32_t item[64], count = set == ALL_ITEMS ? n : set == ONE_ITEM ? 1 : 2;
    for (uint32_t k = 0; k < count; ++k) {
        uint32_t which = set == ALL_ITEMS   ? k
                         : set == TWO_ITEMS ? (first + k * (n / 2)) % n
                                            : first;
        item[k] = add(p, OP_PACKET_ITEM, type, which, 1, packet);
    }
    for (uint32_t k = count; k-- > 0;)
        add_output(p, type, item[k]);
    char what[80];
    snprintf(what, sizeof what, "packets of %u %s, set %u, variant %u", n,
             type_info[type].short_name, set, variant);
    check(p, what);
}

static void test_gather_packet(void **state)
{
    (void) state;
    for (int t = 0; t < TYPES; ++t)
        for (uint32_t n = 2; n <= 64 && is_packet_type(types[t]);
             n = next_size(n))
            for (uint32_t set = 0; set < ITEM_SETS; ++set)
                for (uint32_t variant = 0; variant < 8; ++variant)
                    check_gather(types[t], n, set, variant);
}

/* Items that are used in a loop only, or before it and in it. */
static void test_packet_in_loop(void **state)
{
    (void) state;
    VarType f32 = VarTypeFloat32, u32 = VarTypeUInt32;
    for (uint32_t variant = 0; variant < 4; ++variant) {
        Program *p = new_program();
        add_wide(p, variant);
        uint32_t mask = any_mask(p, variant & 2), pointer = add_pointer(p, f32);
        uint32_t index = packet_index(p, 4, &mask, false);
        uint32_t packet = add(p, OP_GATHER_PACKET, f32, 4, 3, pointer, index, mask);
        uint32_t early = add(p, OP_PACKET_ITEM, f32, 2, 1, packet);
        uint32_t zero = program_add_literal(p, u32, 0);
        uint32_t args[] = { program_add_literal(p, VarTypeBool, 1), zero, early };
        uint32_t region = program_add_region(p, REGION_LOOP, 3, args, 0, NULL);
        uint32_t count = add(p, OP_STATE, u32, 0, 0);
        uint32_t sum = add(p, OP_STATE, f32, 1, 0);
        uint32_t go_on =
            add(p, OP_LT, VarTypeBool, 0, 2, count, program_add_literal(p, u32, 5));
        add(p, OP_TEST, VarTypeVoid, p->insts[region].aux, 1, go_on);
        sum = add(p, OP_ADD, f32, 0, 2, sum, add(p, OP_PACKET_ITEM, f32, 1, 1, packet));
        sum = add(p, OP_ADD, f32, 0, 2, sum, add(p, OP_PACKET_ITEM, f32, 2, 1, packet));
        count = add(p, OP_ADD, u32, 0, 2, count, program_add_literal(p, u32, 1));
        add(p, OP_END, VarTypeVoid, p->insts[region].aux, 2, count, sum);
        add_output(p, f32, add(p, OP_RESULT, f32, 1, 0));
        check(p, "packet in a loop");
    }
}

static void check_scatter(VarType type, uint32_t n, ReduceOp op, ReduceMode mode,
                          uint32_t variant)
{
    Program *p = new_program();
    bool sum = type_info[type].is_float && op != ReduceOpIdentity; /* order matters */
    bool distinct = mode == ReduceModeNoConflicts || mode == ReduceModePermute || sum;
    add_wide(p, variant);
    uint32_t mask = any_mask(p, variant & 2), args[3 + 64];
    args[0] = add_pointer(p, type);
    p->params[p->insts[args[0]].aux].written = 1;
    args[1] = packet_index(p, n, &mask, distinct);
    args[2] = mask;
    for (uint32_t k = 0; k < n; ++k)
        args[3 + k] = k % 5 == 4 ? program_add_literal(p, type, any_value(type))
                                 : add_input(p, type);
    assert_int_not_equal(program_add(p, OP_SCATTER_PACKET, VarTypeVoid,
                                     (uint32_t) op | (uint32_t) mode << 8, 3 + n, args),
                         PROGRAM_NONE);
    char what[80];
    snprintf(what, sizeof what, "scatter of %u %s, op %u, mode %u, variant %u", n,
             type_info[type].short_name, op, mode, variant);
    check(p, what);
}

static void test_scatter_packet(void **state)
{
    (void) state;
    for (int t = 0; t < TYPES; ++t)
        for (int op = 0; op < ReduceOpCount && is_scattered(types[t]); ++op)
            for (int mode = 0; mode < ReduceModeCount; ++mode) {
                if (type_info[types[t]].is_float &&
                    (op == ReduceOpAnd || op == ReduceOpOr))
                    continue;
                for (uint32_t variant = 0; variant < 4; ++variant)
                    for (uint32_t n = 2; n <= (mode + variant == 0 ? 64 : 8);
                         n = next_size(n))
                        check_scatter(types[t], n, (ReduceOp) op, (ReduceMode) mode,
                                      variant);
            }
}

/* ---- counters */

/* index & 'distinct' - 1, as it is or with runs of equal ones. */
static void check_increment(uint32_t distinct, bool runs, uint32_t variant)
{
    VarType u32 = VarTypeUInt32;
    Program *p = new_program();
    add_wide(p, variant);
    uint32_t mask = any_mask(p, variant & 2), pointer = add_pointer(p, u32);
    p->params[p->insts[pointer].aux].written = 1;
    uint32_t index = add_input(p, u32);
    if (runs)
        index = add(p, OP_SHR, u32, 0, 2, add(p, OP_COUNTER, u32, 0, 0),
                    program_add_literal(p, u32, 2));
    index = add(p, OP_AND, u32, 0, 2, index, program_add_literal(p, u32, distinct - 1));
    index = add(p, OP_SELECT, u32, 0, 3, mask, index, add_input(p, u32));
    uint32_t found = add(p, OP_SCATTER_INC, u32, 0, 3, pointer, index, mask);
    add_output(p, u32, found);
    char what[80];
    snprintf(what, sizeof what, "counters, %u of them, runs %u, variant %u", distinct,
             runs, variant);
    check(p, what);
}

static void test_increment(void **state)
{
    (void) state;
    static const uint32_t distinct[] = { 1, 2, 4, 16, ENTRIES };
    for (uint32_t i = 0; i < sizeof distinct / sizeof *distinct; ++i)
        for (uint32_t variant = 0; variant < 4; ++variant) {
            check_increment(distinct[i], false, variant);
            check_increment(distinct[i], true, variant);
        }
}

/* ---- sums of integers, of which many have one target */

static void check_sum(VarType type, ReduceMode mode, uint32_t distinct,
                      uint32_t variant)
{
    VarType u32 = VarTypeUInt32;
    Program *p = new_program();
    add_wide(p, variant);
    uint32_t mask = any_mask(p, variant & 2), pointer = add_pointer(p, type);
    p->params[p->insts[pointer].aux].written = 1;
    uint32_t index = add_input(p, u32);
    index = add(p, OP_AND, u32, 0, 2, index, program_add_literal(p, u32, distinct - 1));
    index = add(p, OP_SELECT, u32, 0, 3, mask, index, add_input(p, u32));
    add(p, OP_SCATTER, VarTypeVoid, ReduceOpAdd | (uint32_t) mode << 8, 4, pointer,
        add_input(p, type), index, mask);
    char what[80];
    snprintf(what, sizeof what, "sums of %s, mode %u, %u targets, variant %u",
             type_info[type].short_name, mode, distinct, variant);
    check(p, what);
}

static void test_sums(void **state)
{
    (void) state;
    static const uint32_t distinct[] = { 1, 2, 16, ENTRIES };
    for (int t = 0; t < TYPES; ++t)
        for (uint32_t i = 0; i < sizeof distinct / sizeof *distinct; ++i)
            for (uint32_t variant = 0; type_info[types[t]].is_integer && variant < 4;
                 ++variant) {
                check_sum(types[t], ReduceModeLocal, distinct[i], variant);
                check_sum(types[t], ReduceModeExpand, distinct[i], variant);
                check_sum(types[t], ReduceModeDirect, distinct[i], variant);
            }
}

/* All lanes count in one place: they get 0, 1, 2, ... in their order. */
static void test_count_lanes(void **state)
{
    (void) state;
    enum { LANES_COUNTED = 1003 };
    VarType u32 = VarTypeUInt32;
    Program *p = new_program();
    uint32_t pointer = add_pointer(p, u32);
    p->params[p->insts[pointer].aux].written = 1;
    uint32_t mask = add_input(p, VarTypeBool);
    uint32_t index = program_add_literal(p, u32, 3);
    add_output(p, u32, add(p, OP_SCATTER_INC, u32, 0, 3, pointer, index, mask));
    uint32_t counters[4] = { 7, 7, 7, 7 };
    uint8_t *on = new_array(VarTypeBool, 0);
    uint32_t *found = new_array(u32, 1);
    uint64_t args[] = { address(counters), address(on), address(found) };
    run_engine(native, p, args, 0, LANES_COUNTED);
    uint32_t expected = 7;
    for (uint32_t i = 0; i < LANES_COUNTED; ++i)
        assert_int_equal(found[i], on[i] ? expected++ : 0);
    assert_int_equal(counters[3], expected);
    assert_int_equal(counters[2], 7);
    free(on);
    free(found);
    program_free(p);
}

/* ---- checks */

static void check_bound(uint64_t bound, uint32_t begin, uint32_t end, bool wide)
{
    VarType u32 = VarTypeUInt32;
    Program *p = new_program();
    uint32_t mask = add_input(p, VarTypeBool), index = add_input(p, u32);
    p->check_count = 2;
    add_output(p, VarTypeBool, add(p, OP_CHECK, VarTypeBool, 1, 2, mask, index));
    if (wide)
        add_output(p, VarTypeUInt64, add_input(p, VarTypeUInt64));
    program_add_param(p, PARAM_REPORT, VarTypeVoid);
    assert_true(program_verify(p));
    CheckReport reports[2] = { { .bound = 1 }, { .count = 5, .bound = bound } };
    uint8_t *on = new_array(VarTypeBool, 0), *out = new_array(VarTypeBool, 0);
    uint32_t *at = new_array(u32, 1), failed = 0;
    void *more = new_array(VarTypeUInt64, 0), *copy = new_array(VarTypeUInt64, 0);
    for (uint32_t i = 0; i < ENTRIES; ++i)
        if (random_bits() % 2)
            at[i] = (uint32_t) bound + (uint32_t) (random_bits() % 3) - 1;
    uint64_t args[] = { address(on), address(at), address(out), address(more),
                        address(copy), address(reports) };
    args[p->param_count - 1] = address(reports); /* without 'wide', it is the fourth */
    run_engine(native, p, args, begin, end);
    for (uint32_t i = begin; i < end; ++i) {
        failed += on[i] && at[i] >= bound;
        assert_int_equal(out[i], on[i] && at[i] < bound);
    }
    assert_int_equal(reports[1].count, 5 + failed);
    assert_int_equal(reports[0].count, 0);
    if (failed)
        assert_true(reports[1].index >= bound);
    else
        assert_int_equal(reports[1].index, 0);
    free(on);
    free(out);
    free(at);
    free(more);
    free(copy);
    program_free(p);
}

static void test_check(void **state)
{
    (void) state;
    static const uint64_t bounds[] = { 0,          1,          1000,
                                       0x80000000, UINT32_MAX, UINT64_C(0x100000000),
                                       UINT64_C(0x100000007) };
    for (uint32_t i = 0; i < sizeof bounds / sizeof *bounds; ++i)
        for (uint32_t wide = 0; wide < 2; ++wide) {
            check_bound(bounds[i], 0, ENTRIES, wide);
            check_bound(bounds[i], 64, 67, wide);
            check_bound(bounds[i], 128, 151, wide);
        }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),          cmocka_unit_test(test_gather_packet),
        cmocka_unit_test(test_packet_in_loop), cmocka_unit_test(test_scatter_packet),
        cmocka_unit_test(test_increment),      cmocka_unit_test(test_count_lanes),
        cmocka_unit_test(test_sums),           cmocka_unit_test(test_check),
    };
    native = engine_find("native");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
