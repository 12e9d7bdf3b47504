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

/* ---- an entry for each row of lanes */

/* Lanes 'first' ... of rows of length d, from an array whose last entry is that of the
 * last lane, and of the last page that can be read. */
static void check_repeat(VarType type, uint32_t d, uint32_t first, uint32_t variant)
{
    enum { COUNT = ENTRIES - 1 };
    uint32_t size = type_info[type].size, power = (d & (d - 1)) == 0;
    Program *p = new_program();
    uint32_t pointer = add_pointer(p, type);
    uint32_t lane = add(p, OP_COUNTER, VarTypeUInt32, 0, 0);
    uint32_t by = program_add_literal(p, VarTypeUInt32,
                                      power ? (uint32_t) __builtin_ctz(d) : d);
    uint32_t row = add(p, power ? OP_SHR : OP_DIV, VarTypeUInt32, 0, 2, lane, by);
    uint32_t all = program_add_literal(p, VarTypeBool, 1);
    add_output(p, type, add(p, OP_GATHER, type, 0, 3, pointer, row, all));
    if (variant & 2) /* the index is needed for itself, too */
        add_output(p, VarTypeUInt32, row);
    add_wide(p, variant & 1);
    assert_true(program_verify(p));
    for (uint32_t r = 0; r < RANGES; ++r) {
        uint32_t begin = ranges[r].begin, end = ranges[r].end;
        end = end < COUNT ? end : COUNT;
        uint32_t last = (first + end - 1) / d;
        void *out = new_array(type, 0), *rows = new_array(VarTypeUInt32, 0);
        void *more = new_array(VarTypeUInt64, 0), *copy = new_array(VarTypeUInt64, 0);
        Pages pages = new_pages(type);
        uint64_t start = first;
        uint64_t args[5] = { address(pages.source) +
                                 (ENTRIES - 1 - (uint64_t) last) * size,
                             address(out) - start * size };
        uint32_t count = 2;
        if (variant & 2)
            args[count++] = address(rows) - start * sizeof(uint32_t);
        args[count++] = address(more) - start * sizeof(uint64_t);
        args[count++] = address(copy) - start * sizeof(uint64_t);
        run_engine(native, p, args, first + begin, first + end);
        for (uint32_t i = begin; i < end; ++i) {
            uint32_t q = (first + i) / d, entry = ENTRIES - 1 - (last - q);
            if (get(out, type, i) != number(type, entry * 3 + 1) ||
                (variant & 2 && get(rows, VarTypeUInt32, i) != q))
                fail_msg("%s, rows of %u from lane %u, variant %u: lane %u",
                         type_info[type].short_name, d, first, variant, i);
        }
        void *arrays[] = { out, rows, more, copy };
        for (uint32_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
            free(arrays[i]);
        munmap(pages.memory, pages.size);
    }
    program_free(p);
}

/* Also where a product of lane and factor is large: at the end of all numbers. Gathers
 * from short rows are as all others, and may read entry 0, which is far away then. */
static void test_repeats(void **state)
{
    (void) state;
    static const uint32_t lengths[] = { 1,  2,  3,  4,  7,   8,   9,    15,   16,
                                        17, 24, 31, 48, 100, 256, 1000, 1027, 4096,
                                        641, 2147483647, 2147483648, 4294967295 };
    static const uint32_t firsts[3] = { 0, 0x7ffffc00, 0xfffff800 };
    for (uint32_t t = 0; t < WIDE_TYPES; ++t)
        for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; ++i)
            for (uint32_t k = 0; k < (lengths[i] < 16 ? 1 : 3); ++k)
                for (uint32_t variant = 0; variant < 4; ++variant)
                    check_repeat(wide_types[t], lengths[i], firsts[k], variant);
}

/* ---- the number of the lane and a distance */

/* An entry as the array has it; of masks 0 or 1. */
static uint64_t entry_at(VarType type, uint32_t i)
{
    return type == VarTypeBool ? i % 3 == 0 : number(type, i % 113 + 1);
}

/* How a trace says it. */
static uint32_t add_index(Program *p, int32_t distance, uint32_t variant)
{
    uint32_t lane = add(p, OP_COUNTER, VarTypeUInt32, 0, 0);
    VarType type = variant & 2 ? VarTypeInt32 : VarTypeUInt32;
    if (variant & 2)
        lane = add(p, OP_CAST, type, 0, 1, lane);
    const bool less = variant & 4;
    const uint32_t literal = program_add_literal(
        p, type, (uint32_t) (less ? -distance : distance));
    return less           ? add(p, OP_SUB, type, 0, 2, lane, literal)
           : variant & 8  ? add(p, OP_ADD, type, 0, 2, literal, lane)
           : distance     ? add(p, OP_ADD, type, 0, 2, lane, literal)
                          : lane;
}

/* Nothing can be read before and after the entries, which masks keep lanes from. */
static void check_near(VarType type, int32_t distance, uint32_t mask, uint32_t variant)
{
    const uint32_t size = type_info[type].size;
    Program *p = new_program();
    uint32_t pointer = add_pointer(p, type);
    uint32_t at = add_index(p, distance, variant), on_value = add_input(p, VarTypeBool);
    add_output(p, type, add(p, OP_GATHER, type, 0, 3, pointer, at, on_value));
    add_wide(p, variant);
    assert_true(program_verify(p));
    uint32_t *index = new_index(ROW, 0);
    uint8_t *on = new_mask(mask, index);
    const size_t bytes = (size_t) ENTRIES * size, pages = (bytes + PAGE - 1) & -PAGE;
    char *memory = mmap(NULL, pages + 2 * PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    char *source = memory + PAGE + (distance < 0 ? 0 : pages - bytes);
    for (uint32_t i = 0; i < ENTRIES; ++i) {
        const int64_t entry = (int64_t) i + distance;
        on[i] &= entry >= 0 && entry < ENTRIES;
        put(source, type, i, entry_at(type, i));
    }
    assert_int_equal(mprotect(memory, PAGE, PROT_NONE), 0);
    assert_int_equal(mprotect(memory + PAGE + pages, PAGE, PROT_NONE), 0);
    void *out = new_array(type, 0);
    void *more = new_array(VarTypeUInt64, 0), *copy = new_array(VarTypeUInt64, 0);
    uint64_t args[] = { address(source), address(on), address(out), address(more),
                        address(copy) };
    for (uint32_t r = 0; r < RANGES; ++r) {
        run_engine(native, p, args, ranges[r].begin, ranges[r].end);
        for (uint32_t i = ranges[r].begin; i < ranges[r].end; ++i)
            if (get(out, type, i) !=
                (on[i] ? entry_at(type, i + (uint32_t) distance) : 0))
                fail_msg("%s, distance %d, mask %u, variant %u: lane %u",
                         type_info[type].short_name, distance, mask, variant, i);
    }
    void *all[] = { index, on, out, more, copy };
    for (uint32_t i = 0; i < sizeof all / sizeof *all; ++i)
        free(all[i]);
    munmap(memory, pages + 2 * PAGE);
    program_free(p);
}

static void test_near(void **state)
{
    (void) state;
    static const int32_t distances[] = { 0, 1, -1, 5, -16, 17, 100, -1000, 1 << 24 };
    for (uint32_t t = 0; t < sizeof types / sizeof *types; ++t)
        for (uint32_t i = 0; i < sizeof distances / sizeof *distances; ++i)
            for (uint32_t mask = 0; mask < MASKS; ++mask)
                for (uint32_t variant = 0; variant < 16; ++variant)
                    check_near(types[t], distances[i], mask, variant);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_negative_zero),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_near),
    };
    native = engine_find("native");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
