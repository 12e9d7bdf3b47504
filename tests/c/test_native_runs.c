/*
 * test_native_runs.c -- gathers and scatters whose index is a slice: runs of entries
 *
 * The native engine finds where the packet's entries are and loads or stores vectors
 * (native_runs.c, forms_runs.c). What lies before the first entry, or after the last
 * one, is a page that nobody may touch; all that a scatter does not write stays as it
 * was.
 */
#define _DEFAULT_SOURCE
#include "native_rows.h"

#include <sys/mman.h>

enum { PAGE = 4096, AREA = 40 * PAGE };

/* start + lane % w + p1 * (lane / w % h) + p2 * (lane / w / h) */
typedef struct Slice {
    uint32_t w, h, p1, p2, start;
} Slice;

static uint32_t entry_of(const Slice *s, uint32_t lane)
{
    return s->start + lane % s->w + s->p1 * (lane / s->w % s->h) +
           s->p2 * (lane / s->w / s->h);
}

/* ---- the index, in several forms */

enum { PLAIN, REST, FUSED, USED, FORMS };

static uint32_t literal(Program *p, uint32_t value)
{
    return program_add_literal(p, VarTypeUInt32, value);
}

static uint32_t op(Program *p, Op o, uint32_t a, uint32_t b)
{
    return add(p, o, VarTypeUInt32, 0, 2, a, b);
}

static uint32_t log_of(uint32_t d)
{
    return (uint32_t) __builtin_ctz(d);
}

static bool is_power(uint32_t d) { return (d & (d - 1)) == 0; }

static uint32_t quotient(Program *p, uint32_t a, uint32_t d)
{
    return is_power(d) ? op(p, OP_SHR, a, literal(p, log_of(d)))
                       : op(p, OP_DIV, a, literal(p, d));
}

static uint32_t rest(Program *p, uint32_t a, uint32_t d, uint32_t form)
{
    if (form == REST)
        return is_power(d) ? op(p, OP_AND, a, literal(p, d - 1))
                           : op(p, OP_MOD, a, literal(p, d));
    uint32_t q = quotient(p, a, d);
    return op(p, OP_SUB, a, op(p, OP_MUL, q, literal(p, d)));
}

/* a * times + b */
static uint32_t product(Program *p, uint32_t a, uint32_t times, uint32_t b,
                        uint32_t form)
{
    if (form == FUSED)
        return add(p, OP_FMA, VarTypeUInt32, 0, 3, a, literal(p, times), b);
    uint32_t scaled = is_power(times) ? op(p, OP_SHL, a, literal(p, log_of(times)))
                                      : op(p, OP_MUL, literal(p, times), a);
    return op(p, OP_ADD, b, scaled);
}

static uint32_t make_index(Program *p, const Slice *s, uint32_t form)
{
    uint32_t lane = add(p, OP_COUNTER, VarTypeUInt32, 0, 0);
    uint32_t row = quotient(p, lane, s->w);
    uint32_t index = product(p, rest(p, row, s->h, form), s->p1,
                             rest(p, lane, s->w, form), form);
    index = product(p, quotient(p, row, s->h), s->p2, index, form);
    return op(p, OP_ADD, index, literal(p, s->start));
}

/* ---- memory */

typedef struct Area {
    char *memory, *data; /* a page of nobody's, AREA bytes, another one */
    uint64_t base;       /* address of entry 0, if there is one */
} Area;

/* Its first entry is number 'least', or its last one number 'most'. */
static Area new_area(VarType type, uint32_t least, uint32_t most, bool at_end)
{
    uint64_t size = type_info[type].size;
    Area a;
    a.memory = mmap(NULL, AREA + 2 * PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(a.memory != MAP_FAILED);
    a.data = a.memory + PAGE;
    assert_true((most - least + 1) * size <= AREA);
    assert_int_equal(mprotect(a.memory, PAGE, PROT_NONE), 0);
    assert_int_equal(mprotect(a.data + AREA, PAGE, PROT_NONE), 0);
    for (uint32_t i = 0; i < AREA / size; ++i)
        put(a.data, type, i, cut(type, 7 * (uint64_t) i + 1));
    a.base = at_end ? address(a.data) + AREA - ((uint64_t) most + 1) * size
                    : address(a.data) - least * size;
    return a;
}

static uint32_t place_in(const Area *a, VarType type, uint32_t entry)
{
    uint64_t at = a->base + (uint64_t) entry * type_info[type].size;
    return (uint32_t) ((at - address(a->data)) / type_info[type].size);
}

/* ---- checks */

typedef struct Case {
    VarType type;
    Slice slice;
    uint32_t form, begin, end;
    bool writes, at_end, wide;
} Case;

static void fail_case(const Case *c, uint32_t lane)
{
    const Slice *s = &c->slice;
    fail_msg("%s %s, w %u, h %u, p %u, %u, start %u, form %u, lanes %u to %u, at end "
             "%u, wide %u: %u",
             c->writes ? "scatter" : "gather", type_info[c->type].short_name, s->w,
             s->h, s->p1, s->p2, s->start, c->form, c->begin, c->end, c->at_end,
             c->wide, lane);
}

static void check_case(const Case *c)
{
    const VarType type = c->type;
    Program *p = new_program();
    uint32_t pointer = add_pointer(p, type), index = make_index(p, &c->slice, c->form);
    uint32_t all = program_add_literal(p, VarTypeBool, 1);
    p->params[p->insts[pointer].aux].written = c->writes;
    if (c->writes)
        add(p, OP_SCATTER, VarTypeVoid, (uint32_t) ReduceModeDirect << 8, 4, pointer,
            add_input(p, type), index, all);
    else
        add_output(p, type, add(p, OP_GATHER, type, 0, 3, pointer, index, all));
    if (c->form == USED)
        add_output(p, VarTypeUInt32, index);
    add_wide(p, c->wide);
    assert_true(program_verify(p));
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t i = c->begin; i < c->end; ++i) {
        uint32_t e = entry_of(&c->slice, i);
        least = e < least ? e : least;
        most = e > most ? e : most;
    }
    Area area = new_area(type, least, most, c->at_end);
    void *own = new_array(type, 0), *found = new_array(VarTypeUInt32, 0);
    void *more = new_array(VarTypeUInt64, 0), *copy = new_array(VarTypeUInt64, 0);
    const uint64_t first = c->begin;
    uint64_t args[5] = { area.base, address(own) - first * type_info[type].size };
    uint32_t count = 2;
    if (c->form == USED)
        args[count++] = address(found) - first * sizeof(uint32_t);
    args[count++] = address(more) - first * sizeof(uint64_t);
    args[count++] = address(copy) - first * sizeof(uint64_t);
    char *expected = malloc(AREA);
    assert_non_null(expected);
    memcpy(expected, area.data, AREA);
    run_engine(native, p, args, c->begin, c->end);
    for (uint32_t i = c->begin; i < c->end; ++i) {
        uint32_t e = entry_of(&c->slice, i), place = place_in(&area, type, e);
        uint64_t value = get(own, type, i - c->begin);
        if (c->writes)
            put(expected, type, place, value);
        else if (value != get(expected, type, place))
            fail_case(c, i);
        if (c->form == USED && get(found, VarTypeUInt32, i - c->begin) != e)
            fail_case(c, i);
    }
    if (memcmp(area.data, expected, AREA) != 0)
        fail_case(c, 0);
    void *arrays[] = { own, found, more, copy, expected };
    for (uint32_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
        free(arrays[i]);
    munmap(area.memory, AREA + 2 * PAGE);
    program_free(p);
}

static const uint32_t widths[] = { 1,  3,  7,  8,  9,  15,  16,
                                   17, 24, 31, 32, 70, 256, 999 };
static const uint32_t heights[] = { 1, 2, 5, 64 };
static const struct { uint32_t begin, end; } ranges[] = {
    { 0, 16 }, { 0, 1000 }, { 64, 81 }, { 128, 129 }, { 0x7ffffc00, 0x7ffffc00 + 333 }
};
static const VarType some_types[] = { VarTypeUInt32, VarTypeFloat64, VarTypeFloat32,
                                      VarTypeInt64, VarTypeUInt8, VarTypeFloat16 };

/* One case in seven, so that it is seconds. Gathers without runs may read entry 0. */
static void test_slices(void **state)
{
    (void) state;
    uint32_t number = 0;
    for (uint32_t w = 0; w < sizeof widths / sizeof *widths; ++w)
        for (uint32_t h = 0; h < 4; ++h)
            for (uint32_t r = 0; r < 5; ++r)
                for (uint32_t t = 0; t < 6; ++t)
                    for (uint32_t flags = 0; flags < 16; ++flags) {
                        const bool far = ranges[r].begin > ENTRIES;
                        const uint32_t gap = far ? 0 : number % 3;
                        Case c = { .type = some_types[t], .form = number / 3 % FORMS,
                                   .begin = ranges[r].begin, .end = ranges[r].end,
                                   .writes = flags & 1, .at_end = flags & 2,
                                   .wide = flags & 4 };
                        c.slice = (Slice) { .w = widths[w], .h = heights[h],
                                            .p1 = widths[w] + gap,
                                            .start = number % 7 };
                        c.slice.p2 = c.slice.p1 * heights[h] + gap;
                        if (widths[w] < 16 || type_info[c.type].size < 4) {
                            c.slice.start = 0;
                            c.begin = 0;
                            c.end = c.end < ENTRIES ? c.end : 1;
                        }
                        if (number++ % 7 == flags >> 3)
                            check_case(&c);
                    }
}

/* Where an index comes before entry 0 and goes round, no lane is there. */
static void test_shifted(void **state)
{
    (void) state;
    static const uint32_t shifts[] = { 0, 1, 100, 0u - 1, 0u - 17 };
    for (uint32_t t = 0; t < 2; ++t)
        for (uint32_t i = 0; i < 5; ++i)
            for (uint32_t writes = 0; writes < 2; ++writes)
                for (uint32_t end = 20; end < 80; end += 7) {
                    Case c = { .type = some_types[t], .begin = 20, .end = end + 1,
                               .slice = { 4096, 1, 4096, 4096, shifts[i] },
                               .writes = writes, .at_end = end & 1 };
                    check_case(&c);
                }
}

/* An index that is not a sum of the lane and its quotients is like any other. */
static void test_others(void **state)
{
    (void) state;
    for (uint32_t kind = 0; kind < 6; ++kind) {
        Program *p = new_program();
        uint32_t pointer = add_pointer(p, VarTypeUInt32);
        uint32_t lane = add(p, OP_COUNTER, VarTypeUInt32, 0, 0), index = lane;
        uint32_t row = quotient(p, lane, 100), other = quotient(p, lane, 30);
        if (kind == 0) /* two lengths of rows */
            index = op(p, OP_ADD, op(p, OP_ADD, lane, row), other);
        else if (kind == 1) /* every second entry */
            index = op(p, OP_SHL, lane, literal(p, 1));
        else if (kind == 2) /* backwards */
            index = op(p, OP_SUB, literal(p, 2 * ENTRIES), lane);
        else if (kind == 3) /* a quotient of more than the lane */
            index = op(p, OP_ADD, lane,
                       quotient(p, op(p, OP_ADD, lane, literal(p, 3)), 50));
        else if (kind == 4) /* more levels than there are */
            index = op(p, OP_ADD, lane,
                       quotient(p, quotient(p, quotient(p, row, 3), 2), 2));
        else /* of the quotient, another one */
            index = op(p, OP_ADD, lane, op(p, OP_MUL, row, other));
        uint32_t all = program_add_literal(p, VarTypeBool, 1);
        add_output(p, VarTypeUInt32,
                   add(p, OP_GATHER, VarTypeUInt32, 0, 3, pointer, index, all));
        add_output(p, VarTypeUInt32, index);
        assert_true(program_verify(p));
        enum { SOURCE = 64 * ENTRIES };
        uint32_t *source = malloc(SOURCE * sizeof(uint32_t));
        assert_non_null(source);
        for (uint32_t i = 0; i < SOURCE; ++i)
            source[i] = i * 5 + 3;
        void *out = new_array(VarTypeUInt32, 0), *found = new_array(VarTypeUInt32, 0);
        uint64_t args[] = { address(source), address(out), address(found) };
        run_engine(native, p, args, 0, ENTRIES);
        for (uint32_t i = 0; i < ENTRIES; ++i)
            assert_int_equal(get(out, VarTypeUInt32, i),
                             get(found, VarTypeUInt32, i) * 5 + 3);
        free(source);
        free(out);
        free(found);
        program_free(p);
    }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_shifted),
        cmocka_unit_test(test_others),
    };
    native = engine_find("native");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
