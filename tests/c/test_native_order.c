/*
 * test_native_order.c -- gathers and sums whose entries come in order, or nearly so
 *
 * Code of the native engine does more at once where the lanes of a packet have one
 * entry, runs of equal ones or neighbours (forms_scatter.c, avx512_memory.c,
 * avx2_memory.c). Indices of all such kinds, and ends, masks and widths of packets that
 * break them, are compared with loops over the lanes. Values are small integers, so
 * that sums of floats are the same in any order. The last entry of what is read is the
 * last one of a page, behind which nothing may be read.
 */
#define _DEFAULT_SOURCE
#include "native_rows.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

/* ---- indices */

enum {
    EQUAL,
    ROW,
    REVERSED,
    RUNS,      /* of equal length, with gaps */
    UNEVEN,    /* of random lengths, without */
    ELSEWHERE, /* here and there interrupted */
    WINDOW,    /* in no order, but close to each other */
    FEW,
    RANDOM,
    PATTERNS
};

static uint32_t index_of(uint32_t pattern, uint32_t detail, uint32_t lane,
                         uint32_t before)
{
    uint32_t pick = (uint32_t) (random_bits() >> 33);
    switch (pattern) {
    case EQUAL:
        return ENTRIES - 1 - detail;
    case ROW:
        return (lane + detail) % ENTRIES;
    case REVERSED:
        return ENTRIES - 1 - lane;
    case RUNS:
        return (lane + 3) / (detail + 2) * 5 % ENTRIES;
    case UNEVEN:
        return (before + (pick % (detail + 2) == 0)) % ENTRIES;
    case ELSEWHERE:
        return (pick % 16 ? (lane + 5) / (detail + 1) : pick / 16) % ENTRIES;
    case WINDOW:
        return (lane / 32 * 7 + pick % (detail + 2)) % ENTRIES;
    case FEW:
        return pick % (detail + 1) * 17;
    default:
        return pick % ENTRIES;
    }
}

static uint32_t *new_index(uint32_t pattern, uint32_t detail)
{
    uint32_t *index = new_array(VarTypeUInt32, 0);
    for (uint32_t i = 0; i < ENTRIES; ++i)
        index[i] = index_of(pattern, detail, i, i ? index[i - 1] : ENTRIES - 9);
    return index;
}

/* Masked lanes have any index. */
enum { ALL, MOST, HALF, NONE, MASKS };

static uint8_t *new_mask(uint32_t kind, uint32_t *index)
{
    uint8_t *mask = new_array(VarTypeBool, 0);
    for (uint32_t i = 0; i < ENTRIES; ++i) {
        uint64_t pick = random_bits() >> 33;
        mask[i] = kind == ALL || (kind == MOST && pick % 40) ||
                  (kind == HALF && pick % 2);
        if (!mask[i] && pick & 64)
            index[i] = (uint32_t) random_bits();
    }
    return mask;
}

/* Of an integer; floats too. */
static uint64_t number(VarType type, uint32_t value)
{
    float single = (float) value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return type == VarTypeFloat64   ? bits_of_double(value)
           : type == VarTypeFloat32 ? bits
                                    : value;
}

static const VarType wide_types[] = { VarTypeInt32, VarTypeUInt32, VarTypeInt64,
                                      VarTypeUInt64, VarTypeFloat32, VarTypeFloat64 };
enum { WIDE_TYPES = sizeof wide_types / sizeof *wide_types };

static const struct { uint32_t begin, end; } ranges[] = {
    { 0, ENTRIES }, { 64, 81 }, { 64, 65 }, { 128, 128 + 47 }
};
enum { RANGES = sizeof ranges / sizeof *ranges };

/* ---- sums in a private copy */

static void add_sum(Program *p, VarType type, ReduceOp op)
{
    uint32_t pointer = add_pointer(p, type);
    p->params[p->insts[pointer].aux].written = 1;
    uint32_t index = add_input(p, VarTypeUInt32), mask = add_input(p, VarTypeBool);
    add(p, OP_SCATTER, VarTypeVoid, op | (uint32_t) ReduceModeExpand << 8, 4, pointer,
        add_input(p, type), index, mask);
}

static void check_sum(VarType type, uint32_t pattern, uint32_t detail, uint32_t mask,
                      uint32_t variant)
{
    Program *p = new_program();
    add_sum(p, type, ReduceOpAdd);
    add_wide(p, variant);
    assert_true(program_verify(p));
    uint32_t *index = new_index(pattern, detail);
    uint8_t *on = new_mask(mask, index);
    void *value = new_array(type, 0), *target = new_array(type, 0);
    void *more = new_array(VarTypeUInt64, 0), *copy = new_array(VarTypeUInt64, 0);
    uint32_t addend[ENTRIES], sum[ENTRIES];
    for (uint32_t i = 0; i < ENTRIES; ++i) {
        addend[i] = (uint32_t) (random_bits() >> 33) % 1000;
        sum[i] = i % 5;
        put(value, type, i, number(type, addend[i]));
        put(target, type, i, number(type, sum[i]));
    }
    uint64_t args[] = { address(target), address(index), address(on), address(value),
                        address(more), address(copy) };
    for (uint32_t r = 0; r < RANGES; ++r) {
        run_engine(native, p, args, ranges[r].begin, ranges[r].end);
        for (uint32_t i = ranges[r].begin; i < ranges[r].end; ++i)
            if (on[i])
                sum[index[i]] += addend[i];
    }
    for (uint32_t i = 0; i < ENTRIES; ++i)
        if (get(target, type, i) != number(type, sum[i]))
            fail_msg("%s, pattern %u (%u), mask %u, variant %u: entry %u",
                     type_info[type].short_name, pattern, detail, mask, variant, i);
    void *all[] = { index, on, value, target, more, copy };
    for (uint32_t i = 0; i < sizeof all / sizeof *all; ++i)
        free(all[i]);
    program_free(p);
}

static void test_sums(void **state)
{
    (void) state;
    for (uint32_t t = 0; t < WIDE_TYPES; ++t)
        for (uint32_t pattern = 0; pattern < PATTERNS; ++pattern)
            for (uint32_t mask = 0; mask < MASKS; ++mask)
                for (uint32_t i = 0; i < 12; ++i)
                    check_sum(wide_types[t], pattern, (1u << i / 2) - 1, mask, i & 1);
}

/* A sum of negative zeros is one: nothing else is added to them on the way. */
static void test_negative_zero(void **state)
{
    (void) state;
    static const VarType reals[] = { VarTypeFloat32, VarTypeFloat64 };
    for (uint32_t t = 0; t < 2; ++t) {
        VarType type = reals[t];
        uint64_t zero = UINT64_C(1) << (width_of(type) - 1);
        Program *p = new_program();
        add_sum(p, type, ReduceOpAdd);
        assert_true(program_verify(p));
        uint32_t *index = new_index(UNEVEN, 4);
        uint8_t *on = new_mask(MOST, index);
        void *value = new_array(type, 0), *target = new_array(type, 0);
        for (uint32_t i = 0; i < ENTRIES; ++i) {
            put(value, type, i, zero);
            put(target, type, i, zero);
        }
        uint64_t args[] = { address(target), address(index), address(on),
                            address(value) };
        run_engine(native, p, args, 0, ENTRIES);
        for (uint32_t i = 0; i < ENTRIES; ++i)
            assert_int_equal(get(target, type, i), zero);
        void *all[] = { index, on, value, target };
        for (uint32_t i = 0; i < 4; ++i)
            free(all[i]);
        program_free(p);
    }
}

/* Other reductions take the lanes one by one. */
static void test_products(void **state)
{
    (void) state;
    Program *p = new_program();
    add_sum(p, VarTypeFloat32, ReduceOpMul);
    assert_true(program_verify(p));
    uint32_t *index = new_index(RUNS, 6);
    uint8_t *on = new_mask(MOST, index);
    float *value = new_array(VarTypeFloat32, 0), *target = new_array(VarTypeFloat32, 0);
    float product[ENTRIES];
    for (uint32_t i = 0; i < ENTRIES; ++i) {
        value[i] = i % 3 ? 2 : .5f;
        target[i] = product[i] = 1;
    }
    uint64_t args[] = { address(target), address(index), address(on), address(value) };
    run_engine(native, p, args, 0, ENTRIES);
    for (uint32_t i = 0; i < ENTRIES; ++i)
        if (on[i])
            product[index[i]] *= value[i];
    assert_memory_equal(target, product, sizeof product);
    void *all[] = { index, on, value, target };
    for (uint32_t i = 0; i < 4; ++i)
        free(all[i]);
    program_free(p);
}

/* ---- gathers */

typedef struct Pages {
    char *memory, *source; /* entries that end with the last page that can be read */
    size_t size;
} Pages;

static Pages new_pages(VarType type)
{
    size_t bytes = (size_t) ENTRIES * type_info[type].size;
    Pages p = { .size = bytes + PAGE };
    p.memory = mmap(NULL, p.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);
    assert_true(p.memory != MAP_FAILED);
    assert_int_equal(bytes % PAGE, 0);
    assert_int_equal(mprotect(p.memory + bytes, PAGE, PROT_NONE), 0);
    p.source = p.memory;
    for (uint32_t i = 0; i < ENTRIES; ++i)
        put(p.source, type, i, number(type, i * 3 + 1));
    return p;
}

static void check_gather(VarType type, uint32_t pattern, uint32_t detail,
                         uint32_t mask, uint32_t variant)
{
    Program *p = new_program();
    uint32_t pointer = add_pointer(p, type), at = add_input(p, VarTypeUInt32);
    uint32_t on_value = add_input(p, VarTypeBool);
    add_output(p, type, add(p, OP_GATHER, type, 0, 3, pointer, at, on_value));
    add_wide(p, variant);
    assert_true(program_verify(p));
    uint32_t *index = new_index(pattern, detail);
    uint8_t *on = new_mask(mask, index);
    void *out = new_array(type, 0);
    void *more = new_array(VarTypeUInt64, 0), *copy = new_array(VarTypeUInt64, 0);
    Pages pages = new_pages(type);
    uint64_t args[] = { address(pages.source), address(index), address(on),
                        address(out), address(more), address(copy) };
    for (uint32_t r = 0; r < RANGES; ++r) {
        run_engine(native, p, args, ranges[r].begin, ranges[r].end);
        for (uint32_t i = ranges[r].begin; i < ranges[r].end; ++i) {
            uint64_t expected = on[i] ? number(type, index[i] * 3 + 1) : 0;
            if (get(out, type, i) != expected)
                fail_msg("%s, pattern %u (%u), mask %u, variant %u: lane %u",
                         type_info[type].short_name, pattern, detail, mask, variant,
                         i);
        }
    }
    void *all[] = { index, on, out, more, copy };
    for (uint32_t i = 0; i < sizeof all / sizeof *all; ++i)
        free(all[i]);
    munmap(pages.memory, pages.size);
    program_free(p);
}

static void test_gathers(void **state)
{
    (void) state;
    for (uint32_t t = 0; t < WIDE_TYPES; ++t)
        for (uint32_t pattern = 0; pattern < PATTERNS; ++pattern)
            for (uint32_t mask = 0; mask < MASKS; ++mask)
                for (uint32_t i = 0; i < 12; ++i)
                    check_gather(wide_types[t], pattern, (1u << i / 2) - 1, mask,
                                 i & 1);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_negative_zero),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_gathers),
    };
    native = engine_find("native");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
