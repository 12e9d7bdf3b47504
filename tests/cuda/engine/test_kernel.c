/*
 * test_kernel.c -- what a PTX kernel looks like, where random Programs do not say
 *
 * Programs made by hand; those that run are compared with interp.
 */
#include "c/test_util.h"

#include "base/alloc.h"
#include "base/error.h"
#include "cuda/engine/ptx_sim_engine.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/interp/interp.h"
#include "engine/ptx/ptx_kernel.h"

enum { LANES = 203, PARAMS = 4200 };
static const Hash128 hash = { 0x1234, 0x5678 };

static uint32_t add(Program *p, Op op, VarType type, uint32_t aux, uint32_t a,
                    uint32_t b, uint32_t c)
{
    uint32_t at =
        program_add(p, op, type, aux, op_info[op].arity, (uint32_t[]){ a, b, c });
    assert_int_not_equal(at, PROGRAM_NONE);
    return at;
}

static uint32_t load(Program *p, VarType type)
{
    return add(p, OP_LOAD, type, program_add_param(p, PARAM_INPUT, type), 0, 0, 0);
}

static void store(Program *p, uint32_t value)
{
    VarType type = (VarType) p->insts[value].type;
    add(p, OP_STORE, VarTypeVoid, program_add_param(p, PARAM_OUTPUT, type), value, 0,
        0);
}

static void scatter(Program *p, VarType type, ReduceOp op, ReduceMode mode)
{
    uint32_t slot = program_add_param(p, PARAM_POINTER, type);
    p->params[slot].written = 1;
    uint32_t args[4] = { add(p, OP_PARAM, VarTypePointer, slot, 0, 0, 0), load(p, type),
                         add(p, OP_COUNTER, VarTypeUInt32, 0, 0, 0, 0),
                         program_add_literal(p, VarTypeBool, 1) };
    program_add(p, OP_SCATTER, VarTypeVoid, (uint32_t) op | (uint32_t) mode << 8, 4,
                args);
}

/* The text for a target, to be freed. */
static char *text_for(const Program *p, PtxTarget target, PtxKernel *kernel)
{
    Text text = { 0 };
    assert_true(program_verify(p));
    assert_true(ptx_kernel_write(p, hash, &target, &text, kernel));
    return text_take(&text);
}

static size_t count_for(const Program *p, PtxTarget target, const char *part)
{
    PtxKernel kernel;
    char *text = text_for(p, target, &kernel);
    size_t count = count_text(text, part);
    alloc_free(text);
    return count;
}

static Program *new_program(void)
{
    Program *p = alloc_zero(1, sizeof *p);
    assert_non_null(p);
    return p;
}

/* Run it on both engines, with the words in 'args'. */
static void run_on(const Engine *engine, const Program *p, const uint64_t *args)
{
    const CodeSpec spec = { .hash = hash };
    Code *code = engine->compile(p, &spec);
    if (!code)
        fail_msg("%s: %s", engine->name, error_message());
    void *scratch = alloc_aligned(cpu_code_scratch(code) + 64);
    cpu_code_run(code, args, 0, LANES, 0, scratch);
    alloc_free(scratch);
    code_release(code);
}

/* Additions of f32 that flush are an instruction, those that do not a loop; of f64,
 * GPUs before 6.0 have none. */
static void test_additions(void **unused)
{
    (void) unused;
    Program *p = new_program();
    scatter(p, VarTypeFloat32, ReduceOpAdd, ReduceModeDirect);
    assert_int_equal(count_for(p, (PtxTarget){ 80, true }, "red.global.add.f32"), 1);
    assert_int_equal(count_for(p, (PtxTarget){ 80, false }, "red."), 0);
    assert_int_equal(count_for(p, (PtxTarget){ 80, false }, "atom.global.cas.b32"), 1);
    program_free(p);
    p = new_program();
    scatter(p, VarTypeFloat64, ReduceOpAdd, ReduceModeDirect);
    assert_int_equal(count_for(p, (PtxTarget){ 60, false }, "red.global.add.f64"), 1);
    assert_int_equal(count_for(p, (PtxTarget){ 50, false }, "atom.global.cas.b64"), 1);
    program_free(p);
}

/* Without conflicts nothing is atomic; warps that agree exchange values. */
static void test_modes(void **unused)
{
    (void) unused;
    Program *p = new_program();
    scatter(p, VarTypeInt32, ReduceOpAdd, ReduceModeNoConflicts);
    assert_int_equal(count_for(p, (PtxTarget){ .sm = 80 }, "red."), 0);
    assert_int_equal(count_for(p, (PtxTarget){ .sm = 80 }, "atom."), 0);
    program_free(p);
    p = new_program();
    scatter(p, VarTypeInt32, ReduceOpAdd, ReduceModeLocal);
    assert_int_equal(count_for(p, (PtxTarget){ .sm = 80 }, "shfl.sync.bfly"), 5);
    program_free(p);
}

/* Kernels that stream have four lanes in a thread; those with much to do have one. */
static void test_lanes(void **unused)
{
    (void) unused;
    for (uint32_t operations = 1; operations <= 64; operations *= 4) {
        Program *p = new_program();
        uint32_t x = load(p, VarTypeFloat32), y = load(p, VarTypeFloat32);
        for (uint32_t i = 0; i < operations; ++i)
            y = add(p, OP_FMA, VarTypeFloat32, 0, x, x, y);
        store(p, y);
        PtxKernel kernel;
        char *text = text_for(p, (PtxTarget){ .sm = 80 }, &kernel);
        bool wide = operations <= 16;
        assert_int_equal(kernel.lanes, wide ? 4 : 1);
        assert_int_equal(count_text(text, "ld.global.v4.b32"), wide ? 2 : 0);
        assert_int_equal(count_text(text, "fma.rn.f32"), operations * kernel.lanes);
        alloc_free(text);
        program_free(p);
    }
}

/* More arrays than there is room for parameters, with the sum of all in each lane. */
static void test_many_parameters(void **unused)
{
    (void) unused;
    Program *p = new_program();
    uint32_t sum = load(p, VarTypeUInt32);
    for (uint32_t i = 1; i < PARAMS; ++i)
        sum = add(p, OP_ADD, VarTypeUInt32, 0, sum, load(p, VarTypeUInt32), 0);
    store(p, sum);
    PtxKernel kernel;
    char *text = text_for(p, (PtxTarget){ .sm = 80 }, &kernel);
    assert_true(kernel.words_in_memory);
    assert_int_equal(count_text(text, "params[24]"), 1);
    alloc_free(text);

    static uint32_t inputs[16][LANES + 16], expected[LANES + 16], found[LANES + 16];
    static uint64_t args[PARAMS + 1];
    for (uint32_t i = 0; i < 16; ++i)
        for (uint32_t k = 0; k < LANES; ++k)
            inputs[i][k] = (uint32_t) random_bits();
    for (uint32_t i = 0; i < PARAMS; ++i)
        args[i] = (uint64_t) (uintptr_t) inputs[i % 16];
    args[PARAMS] = (uint64_t) (uintptr_t) expected;
    run_on(&interp_engine, p, args);
    args[PARAMS] = (uint64_t) (uintptr_t) found;
    run_on(&ptx_sim_engine, p, args);
    assert_memory_equal(found, expected, LANES * sizeof *found);
    program_free(p);
}

/* Callables that call the one before twice, over and over: no end of copies. */
static void test_too_many_copies(void **unused)
{
    (void) unused;
    enum { DEEP = 30 };
    Program *p = new_program();
    for (uint32_t i = 0; i <= DEEP; ++i) {
        Program *body = i < DEEP ? new_program() : p;
        uint32_t one = program_add_literal(body, VarTypeUInt32, 1);
        uint32_t value = i < DEEP ? add(body, OP_ARG, VarTypeUInt32, 1, 0, 0, 0) : one;
        uint32_t mask = program_add_literal(body, VarTypeBool, 1), before = i - 1;
        for (uint32_t k = 0; i > 0 && k < 2; ++k) {
            uint32_t args[3] = { mask, one, value };
            program_add_region(body, REGION_CALL, 3, args, 1, &before);
            value = program_add(body, OP_RESULT, VarTypeUInt32, 0, 0, NULL);
        }
        if (i < DEEP) {
            value = add(body, OP_ADD, VarTypeUInt32, 0, value, value, 0);
            program_add(body, OP_RETURN, VarTypeVoid, 0, 1, &value);
            assert_int_equal(program_add_callable(p, body), i);
        } else {
            store(body, value);
        }
    }
    assert_true(program_verify(p));
    Text text = { 0 };
    PtxKernel kernel;
    const PtxTarget target = { .sm = 80 };
    assert_false(ptx_kernel_write(p, hash, &target, &text, &kernel));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "calls that are written in place",
                "instructions");
    text_free(&text);
    program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_additions),
                                        cmocka_unit_test(test_modes),
                                        cmocka_unit_test(test_lanes),
                                        cmocka_unit_test(test_many_parameters),
                                        cmocka_unit_test(test_too_many_copies) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
