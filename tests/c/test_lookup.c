/*
 * test_lookup.c -- LOOKUP on every engine, against a table in C, bit for bit
 *
 * A Program looks up in one table with indices that are loaded, computed, uniform,
 * literal, spilled, needed again, and within a loop and a conditional. Packets have
 * their full width or, because there is a 64-bit value, half of it. The native engine
 * runs for each of its targets, with packets one by one and side by side; engines
 * without the operation run what the legaliser makes of it.
 */
#include "device/cpu/launch/cpu_code.h"
#include "interp_reference.h"
#include "native_targets.h"

#include "lower/legalise.h"

enum { ENTRIES = 600, GUARD = 8, PRESSURE = 44, MOST_OUTPUTS = 16, LITERAL = 1000003 };

static const VarType types[] = { VarTypeInt32, VarTypeUInt32, VarTypeFloat32,
                                 VarTypeInt64, VarTypeUInt64, VarTypeFloat64 };
enum { TYPES = sizeof types / sizeof *types };

static const Engine *engine;

/* What an output has in a lane: the entry at the value of an index. */
typedef enum Index { LOADED, COMPUTED, UNIFORM, CONSTANT, LOOPED, CHOSEN } Index;

typedef struct Case {
    Program *p;
    VarType type, index_type;
    uint32_t n;
    uint64_t table[INST_LOOKUP_MOST];
    uint32_t literals[INST_LOOKUP_MOST];
    Index outputs[MOST_OUTPUTS];
    uint32_t output_count;
} Case;

/* ---- Programs. Slot 0: an index a lane, slot 1: one index for all, then outputs. */

static uint32_t look_up(const Case *c, uint32_t index)
{
    uint32_t args[1 + INST_LOOKUP_MOST] = { index };
    memcpy(args + 1, c->literals, c->n * sizeof *args);
    uint32_t at = program_add(c->p, OP_LOOKUP, c->type, 0, c->n + 1, args);
    assert_int_not_equal(at, PROGRAM_NONE);
    return at;
}

static void add_result(Case *c, uint32_t value, Index index)
{
    add_output(c->p, c->type, value);
    c->outputs[c->output_count++] = index;
}

static uint32_t number(const Case *c, uint64_t value)
{
    return program_add_literal(c->p, c->index_type, value);
}

static uint64_t step_of(uint64_t index)
{
    return index * 3 + 1;
}

static uint32_t add_step(const Case *c, uint32_t index)
{
    return add(c->p, OP_FMA, c->index_type, 0, 3, index, number(c, 3), number(c, 1));
}

/* One iteration, whose state is the index before and the entry after it. */
static void add_loop(Case *c, uint32_t index)
{
    Program *p = c->p;
    uint32_t yes = program_add_literal(p, VarTypeBool, 1);
    uint32_t no = program_add_literal(p, VarTypeBool, 0);
    uint32_t begin[] = { yes, yes, index, c->literals[0] };
    uint32_t region = program_add_region(p, REGION_LOOP, 4, begin, 0, NULL);
    uint32_t first = add(p, OP_STATE, VarTypeBool, 0, 0);
    uint32_t place = add(p, OP_STATE, c->index_type, 1, 0);
    add(p, OP_STATE, c->type, 2, 0);
    add(p, OP_TEST, VarTypeVoid, region, 1, first);
    uint32_t next = add_step(c, place);
    uint32_t value = look_up(c, next);
    add(p, OP_END, VarTypeVoid, region, 3, no, next, value);
    add_result(c, add(p, OP_RESULT, c->type, 2, 0), LOOPED);
}

/* Of odd indices the entry after them, of others their own. */
static void add_conditional(Case *c, uint32_t index)
{
    Program *p = c->p;
    uint32_t yes = program_add_literal(p, VarTypeBool, 1);
    uint32_t bit = add(p, OP_AND, c->index_type, 0, 2, index, number(c, 1));
    uint32_t odd = add(p, OP_NEQ, VarTypeBool, 0, 2, bit, number(c, 0));
    uint32_t begin[] = { yes, odd };
    uint32_t region = program_add_region(p, REGION_IF, 2, begin, 0, NULL);
    add(p, OP_ELSE, VarTypeVoid, region, 1, look_up(c, add_step(c, index)));
    add(p, OP_END, VarTypeVoid, region, 1, look_up(c, index));
    add_result(c, add(p, OP_RESULT, c->type, 0, 0), CHOSEN);
}

/* Values that wait in registers, so that an index does not. */
static void add_spilled(Case *c, uint32_t index)
{
    Program *p = c->p;
    uint32_t other[PRESSURE], sum = index;
    for (uint32_t i = 0; i < PRESSURE; ++i)
        other[i] = add_step(c, i ? other[i - 1] : index);
    uint32_t place = add_step(c, index);
    add_result(c, look_up(c, place), COMPUTED);
    for (uint32_t i = 0; i < PRESSURE; ++i)
        sum = add(p, OP_ADD, c->index_type, 0, 2, sum, other[i]);
    sum = add(p, OP_SUB, c->index_type, 0, 2, sum, sum);
    add_result(c, look_up(c, add(p, OP_ADD, c->index_type, 0, 2, place, sum)),
               COMPUTED);
}

enum { WIDE = 1, REGIONS = 2, SPILLED = 4, VARIANTS = 8 };

static Case new_case(VarType type, uint32_t n, uint32_t variant)
{
    bool narrow = type_info[type].size == 4;
    Case c = { .p = new_program(),
               .type = type,
               .index_type = narrow ? VarTypeUInt32 : VarTypeUInt64,
               .n = n };
    uint32_t index = add_input(c.p, c.index_type);
    uint32_t uniform = add_input(c.p, c.index_type);
    c.p->insts[uniform].flags |= INST_UNIFORM;
    for (uint32_t i = 0; i < n; ++i) {
        c.table[i] = i ? cut(type, random_bits()) : special(type, 6);
        c.literals[i] = program_add_literal(c.p, type, c.table[i]);
    }
    if (variant & WIDE) {
        uint32_t wide = add(c.p, OP_CAST, VarTypeUInt64, 0, 1, index);
        uint32_t same = add(c.p, OP_CAST, c.index_type, 0, 1, wide);
        add_result(&c, look_up(&c, same), LOADED);
    }
    add_result(&c, look_up(&c, index), LOADED);
    add_result(&c, look_up(&c, uniform), UNIFORM);
    add_result(&c, look_up(&c, number(&c, LITERAL)), CONSTANT);
    if (variant & SPILLED)
        add_spilled(&c, index);
    if (variant & REGIONS) {
        add_loop(&c, index);
        add_conditional(&c, index);
    }
    uint32_t place = add_step(&c, index);
    add_result(&c, look_up(&c, place), COMPUTED);
    return c;
}

/* ---- running */

static uint64_t expected(const Case *c, Index output, uint64_t index, uint64_t uniform)
{
    uint64_t place = output == LOADED       ? index
                     : output == UNIFORM    ? uniform
                     : output == CONSTANT   ? LITERAL
                     : output != CHOSEN     ? step_of(index)
                     : index & 1            ? step_of(index)
                                            : index;
    return c->table[place % c->n];
}

static void launch(const Program *program, const uint64_t *args, uint32_t begin,
                   uint32_t end)
{
    const Program *legal = legalise(program, engine);
    Code *code = legal ? engine->compile(legal, &(CodeSpec){ .hash = { 1, 2 } }) : NULL;
    if (!code)
        fail_msg("%s: %s", engine->name, error_message());
    void *scratch = alloc_aligned((cpu_code_scratch(code)) + 64);
    cpu_code_run(code, args, begin, end, 0, scratch);
    alloc_free(scratch);
    code_release(code);
    if (legal != program)
        program_free((Program *) (uintptr_t) legal);
}

static void check_output(const Case *c, uint32_t k, const uint64_t *args,
                         uint32_t begin, uint32_t end)
{
    const void *in = (const void *) (uintptr_t) args[0];
    const void *uniform = (const void *) (uintptr_t) args[1];
    const void *out = (const void *) (uintptr_t) args[2 + k];
    for (uint32_t i = 0; i < ENTRIES + GUARD; ++i) {
        uint64_t found = get(out, c->type, i);
        uint64_t wanted = i < begin || i >= end
                              ? get("\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5", c->type, 0)
                              : expected(c, c->outputs[k], get(in, c->index_type, i),
                                         get(uniform, c->index_type, 0));
        if (found != wanted)
            fail_msg("%s: %s of %u, output %u, lane %u is %llx, expected %llx",
                     engine->name, type_info[c->type].name, c->n, k, i,
                     (unsigned long long) found, (unsigned long long) wanted);
    }
}

/* All bits of an index may be set; readable for one vector past the end. */
static void *new_indices(VarType type)
{
    void *array = alloc_aligned((ENTRIES + GUARD) * (size_t) type_info[type].size);
    assert_non_null(array);
    for (uint32_t i = 0; i < ENTRIES + GUARD; ++i)
        put(array, type, i, i < 64 ? i : random_bits());
    return array;
}

static void check_case(Case *c, uint32_t begin, uint32_t end)
{
    uint64_t args[2 + MOST_OUTPUTS];
    size_t bytes = (ENTRIES + GUARD) * (size_t) type_info[c->type].size;
    if (!program_verify(c->p))
        fail_msg("%s", error_message());
    args[0] = address(new_indices(c->index_type));
    args[1] = address(new_indices(c->index_type));
    put((void *) (uintptr_t) args[1], c->index_type, 0, random_bits());
    for (uint32_t k = 0; k < c->output_count; ++k) {
        void *out = alloc_aligned(bytes);
        assert_non_null(out);
        memset(out, 0xa5, bytes);
        args[2 + k] = address(out);
    }
    launch(c->p, args, begin, end);
    for (uint32_t k = 0; k < c->output_count; ++k)
        check_output(c, k, args, begin, end);
    for (uint32_t k = 0; k < 2 + c->output_count; ++k)
        alloc_free((void *) (uintptr_t) args[k]);
}

static void test_engine(void **state)
{
    (void) state;
    for (uint32_t t = 0; t < TYPES; ++t)
        for (uint32_t n = 2; n <= INST_LOOKUP_MOST; n *= 2)
            for (uint32_t variant = 0; variant < VARIANTS; ++variant) {
                Case c = new_case(types[t], n, variant);
                check_case(&c, 0, ENTRIES);
                check_case(&c, 64, 64 + 1 + (uint32_t) (random_bits() >> 20) % 70);
                program_free(c.p);
            }
}

static int run_engine(const char *name)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_engine) };
    engine = engine_find(name);
    if (!engine || !engine->available()) {
        printf("this machine has no %s engine\n", name);
        return 0;
    }
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

static int run_native(void)
{
    return run_engine("native");
}

/* ---- the verifier */

typedef struct Fault {
    VarType type, index_type, entry_type;
    uint32_t n;
    const char *text;
} Fault;

static void test_verify(void **state)
{
    (void) state;
    static const VarType u32 = VarTypeUInt32, u64 = VarTypeUInt64, f32 = VarTypeFloat32;
    const Fault faults[] = {
        { f32, u32, f32, 3, "4 operands" },   { f32, u32, f32, 1, "2 operands" },
        { f32, u32, f32, 64, "65 operands" }, { f32, u64, f32, 4, "expected uint32" },
        { f32, f32, f32, 4, "operand 1" },    { f32, u32, u32, 4, "operand 2" },
        { VarTypeFloat64, u32, VarTypeFloat64, 2, "expected uint64" },
        { VarTypeUInt16, u32, VarTypeUInt16, 4, "not defined for uint16" },
        { VarTypeBool, u32, VarTypeBool, 4, "not defined for bool" },
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        const Fault *f = &faults[i];
        Program *p = new_program();
        uint32_t args[1 + 2 * INST_LOOKUP_MOST] = { add_input(p, f->index_type) };
        for (uint32_t k = 1; k <= f->n; ++k)
            args[k] = program_add_literal(p, f->entry_type, k);
        program_add(p, OP_LOOKUP, f->type, 0, f->n + 1, args);
        error_clear();
        assert_false(program_verify(p));
        assert_non_null(strstr(error_message(), f->text));
        program_free(p);
    }
}

static void test_no_literal(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t index = add_input(p, VarTypeUInt32);
    uint32_t a = program_add_literal(p, VarTypeUInt32, 1);
    add(p, OP_LOOKUP, VarTypeUInt32, 0, 3, index, a, index);
    error_clear();
    assert_false(program_verify(p));
    assert_non_null(strstr(error_message(), "operand 3 is not a literal"));
    program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_verify),
                                        cmocka_unit_test(test_no_literal) };
    int failed = cmocka_run_group_tests_name("verifier", tests, NULL, NULL);
    failed += native_targets_run(run_native);
    return failed + run_engine("interp") + run_engine("llvm");
}
