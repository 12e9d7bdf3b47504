/*
 * test_llvm.c -- the llvm engine against the interpreter, bit for bit
 *
 * What the engine does not support is skipped (the legaliser's test covers it).
 */
#include "emulated.h"
#include "llvm_programs.h"
#include "other_cpu.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_WORK 0 /* the sanitizer's own memory would count */
#else
#define LIMITS_WORK 1
#endif

/* ---- arithmetic */

static VarType result_type(Op op, VarType operand)
{
    switch (op_info[op].result) {
    case RESULT_MASK:
        return VarTypeBool;
    case RESULT_WIDE:
        return type_wide(operand);
    default:
        return operand;
    }
}

/* Operands: arrays, or literals and uniform entries for some of them. */
static uint32_t add_operand(Program *program, VarType type, int form)
{
    uint32_t slot;
    switch (form) {
    case 1: {
        uint64_t bits = random_value(type);
        unsigned width = type_info[type].size * 8u;
        if (type == VarTypeBool) {
            bits &= 1;
        } else if (width < 64) {
            bits &= (UINT64_C(1) << width) - 1;
        }
        return program_add_literal(program, type, bits);
    }
    case 2:
        slot = program_add_param(program, PARAM_INPUT, type);
        slot = program_add(program, OP_LOAD, type, slot, 0, NULL);
        program->insts[slot].flags |= INST_UNIFORM;
        return slot;
    default:
        return add_input(program, type);
    }
}

static void test_op(Op op, VarType type)
{
    unsigned arity = op_info[op].arity;
    for (int variant = 0; variant < 6; variant++) {
        Program *program = new_program();
        uint32_t args[3];
        for (unsigned k = 0; k < arity; k++) {
            VarType operand = op == OP_SELECT && k == 0 ? VarTypeBool : type;
            int form = variant < 2    ? 0
                       : variant == 5 ? 2
                                      : (int) (random_bits() >> 9) % 3;
            args[k] = add_operand(program, operand, form);
        }
        uint32_t result =
            program_add(program, op, result_type(op, type), 0, arity, args);
        add_output(program, result);
        char what[80];
        snprintf(what, sizeof what, "%s.%s", op_info[op].name,
                 type_info[type].short_name);
        check(program, what);
    }
}

static void test_arithmetic(void **state)
{
    (void) state;
    for (int op = OP_NEG; op <= OP_SELECT; op++) {
        for (int t = 0; t < TYPE_COUNT; t++) {
            VarType type = types[t];
            if (op_info[op].operands >> type & 1 &&
                llvm_engine.supports(op, result_type(op, type), type)) {
                test_op(op, type);
            }
        }
    }
}

static void test_conversions(void **state)
{
    (void) state;
    for (int from = 0; from < TYPE_COUNT; from++) {
        for (int to = 0; to < TYPE_COUNT; to++) {
            for (int k = 0; k < 2; k++) {
                Op op = k ? OP_BITCAST : OP_CAST;
                bool fits = op == OP_CAST ||
                            (type_info[types[from]].size == type_info[types[to]].size &&
                             types[from] != VarTypeBool && types[to] != VarTypeBool);
                if (from == to || !fits ||
                    !llvm_engine.supports(op, types[to], types[from])) {
                    continue;
                }
                for (int form = 0; form < 3; form += 2) {
                    Program *program = new_program();
                    uint32_t arg = add_operand(program, types[from], form);
                    add_output(program,
                               program_add(program, op, types[to], 0, 1, &arg));
                    char what[80];
                    snprintf(what, sizeof what, "%s %s from %s", op_info[op].name,
                             type_info[types[to]].short_name,
                             type_info[types[from]].short_name);
                    check(program, what);
                }
            }
        }
    }
}

static void test_leaves(void **state)
{
    (void) state;
    Program *program = new_program();
    uint32_t slot = program_add_param(program, PARAM_VALUE, VarTypeUInt32);
    uint32_t param = program_add(program, OP_PARAM, VarTypeUInt32, slot, 0, NULL);
    uint32_t counter = program_add(program, OP_COUNTER, VarTypeUInt32, 0, 0, NULL);
    uint32_t worker = program_add(program, OP_WORKER, VarTypeUInt32, 0, 0, NULL);
    uint32_t sum = program_add(program, OP_ADD, VarTypeUInt32, 0, 2,
                               (uint32_t[]){ param, counter });
    add_output(program, program_add(program, OP_MUL, VarTypeUInt32, 0, 2,
                                    (uint32_t[]){ sum, worker }));
    add_output(program, param);
    for (int t = 0; t < TYPE_COUNT; t++) {
        add_output(program, add_operand(program, types[t], 1));
    }
    check(program, "leaves");
}

/* Long bodies cross basic blocks; many outputs share stack slots. */
static Program *long_body(VarType type)
{
    Program *program = new_program();
    uint32_t pool[8];
    for (int i = 0; i < 4; i++) {
        pool[i] = add_input(program, type);
        pool[i + 4] = add_operand(program, type, 2);
    }
    for (int i = 0; i < 700; i++) {
        uint32_t a = pool[random_bits() % 8], b = pool[random_bits() % 8], value;
        switch (random_bits() >> 20 & 3) {
        case 0:
            value = program_add(program, OP_ADD, type, 0, 2, (uint32_t[]){ a, b });
            break;
        case 1:
            value = program_add(program, OP_MUL, type, 0, 2, (uint32_t[]){ a, b });
            break;
        case 2: {
            uint32_t c = add_operand(program, type, 1);
            value = program_add(program, OP_FMA, type, 0, 3, (uint32_t[]){ a, c, b });
            break;
        }
        default: {
            uint32_t m =
                program_add(program, OP_LT, VarTypeBool, 0, 2, (uint32_t[]){ a, b });
            value =
                program_add(program, OP_SELECT, type, 0, 3, (uint32_t[]){ m, b, a });
        }
        }
        pool[random_bits() % 8] = value;
    }
    for (int i = 0; i < 8; i++) {
        add_output(program, pool[i]);
    }
    return program;
}

static void test_long_bodies(void **state)
{
    (void) state;
    for (int round = 0; round < 6; round++) {
        check(long_body(round % 2 ? VarTypeFloat64 : VarTypeFloat32), "long body");
    }
}

/* ---- memory */

static void test_gather(void **state)
{
    (void) state;
    for (int t = 0; t < TYPE_COUNT; t++) {
        for (int form = 0; form < 3; form++) {
            Program *program = new_program();
            uint32_t pointer = add_pointer(program, types[t], false);
            uint32_t index = form == 2 ? program_add_literal(program, VarTypeUInt32, 7)
                                       : add_index(program, false);
            uint32_t mask = form == 0
                                ? program_add_literal(program, VarTypeBool, 1)
                                : add_operand(program, VarTypeBool, form == 2 ? 2 : 0);
            add_output(program, program_add(program, OP_GATHER, types[t], 0, 3,
                                            (uint32_t[]){ pointer, index, mask }));
            check(program, type_info[types[t]].name);
        }
    }
}

/* Small integers as values make floating-point sums independent of their order. */
static void exact_values(VarType type, void *data, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int value = (int) (random_bits() % 3) - 1;
        switch (type) {
        case VarTypeFloat16: {
            static const uint16_t halves[] = { 0xbc00, 0, 0x3c00 };
            ((uint16_t *) data)[i] = halves[value + 1];
            break;
        }
        case VarTypeFloat32:
            ((float *) data)[i] = (float) value;
            break;
        case VarTypeFloat64:
            ((double *) data)[i] = value;
            break;
        default:
            break;
        }
    }
}

static void test_scatter_of(VarType type, ReduceOp op, ReduceMode mode)
{
    bool distinct = op == ReduceOpIdentity || mode == ReduceModeNoConflicts ||
                    mode == ReduceModePermute;
    for (int form = 0; form < 2; form++) {
        Program *program = new_program();
        uint32_t pointer = add_pointer(program, type, true);
        uint32_t value = add_input(program, type);
        uint32_t index = form == 1 && !distinct
                             ? program_add_literal(program, VarTypeUInt32, 5)
                             : add_index(program, distinct);
        uint32_t mask = form ? add_input(program, VarTypeBool)
                             : program_add_literal(program, VarTypeBool, 1);
        program_add(program, OP_SCATTER, VarTypeVoid, op | mode << 8, 4,
                    (uint32_t[]){ pointer, value, index, mask });
        uint64_t args[32];
        fill_args(program, args, LANES);
        if (type_info[type].is_float && op <= ReduceOpMul) {
            exact_values(type, (void *) (uintptr_t) args[0], LANES);
            exact_values(type, (void *) (uintptr_t) args[1], LANES);
        }
        char what[80];
        snprintf(what, sizeof what, "scatter %d mode %d %s", op, mode,
                 type_info[type].name);
        compare(program, args, LANES, 0, distinct ? 50 : LANES, what);
        compare(program, args, LANES, 0, 3, what);
        free_args(program, args);
        program_free(program);
    }
}

static void test_scatter(void **state)
{
    (void) state;
    for (int t = 0; t < TYPE_COUNT; t++) {
        VarType type = types[t];
        for (int mode = ReduceModeDirect; mode < ReduceModeCount; mode++) {
            test_scatter_of(type, ReduceOpIdentity, mode);
            for (int op = ReduceOpAdd; op < ReduceOpCount; op++) {
                bool bits = op == ReduceOpAnd || op == ReduceOpOr;
                if (bits ? !type_info[type].is_float : type != VarTypeBool) {
                    test_scatter_of(type, op, mode);
                }
            }
        }
    }
}

static void test_scatter_fetch(void **state)
{
    (void) state;
    for (int form = 0; form < 2; form++) {
        Program *program = new_program();
        uint32_t pointer = add_pointer(program, VarTypeUInt32, true);
        uint32_t index = add_index(program, false);
        uint32_t mask = form ? add_input(program, VarTypeBool)
                             : program_add_literal(program, VarTypeBool, 1);
        uint32_t old = program_add(program, OP_SCATTER_INC, VarTypeUInt32, 0, 3,
                                   (uint32_t[]){ pointer, index, mask });
        if (form) { /* the value of a masked lane is not defined */
            uint32_t zero = program_add_literal(program, VarTypeUInt32, 0);
            old = program_add(program, OP_SELECT, VarTypeUInt32, 0, 3,
                              (uint32_t[]){ mask, old, zero });
        }
        add_output(program, old);
        check(program, "scatter_inc");
    }
    for (int t = 0; t < TYPE_COUNT; t++) {
        Program *program = new_program();
        uint32_t pointer = add_pointer(program, types[t], true);
        uint32_t value = add_input(program, types[t]),
                 index = add_index(program, false);
        uint32_t mask = add_input(program, VarTypeBool);
        add_output(program, program_add(program, OP_SCATTER_EXCH, types[t], 0, 4,
                                        (uint32_t[]){ pointer, value, index, mask }));
        check(program, "scatter_exch");
        if (type_info[types[t]].is_float) {
            program = new_program();
            pointer = add_pointer(program, types[t], true);
            value = add_input(program, types[t]);
            index = add_index(program, false);
            mask = add_input(program, VarTypeBool);
            add_output(program,
                       program_add(program, OP_SCATTER_ADD, types[t], 0, 4,
                                   (uint32_t[]){ pointer, value, index, mask }));
            check(program, "scatter_add");
        }
        program = new_program();
        pointer = add_pointer(program, types[t], true);
        uint32_t expected = add_input(program, types[t]);
        value = add_input(program, types[t]);
        index = add_index(program, false);
        mask = add_input(program, VarTypeBool);
        add_output(program,
                   program_add(program, OP_SCATTER_CAS, types[t], 0, 5,
                               (uint32_t[]){ pointer, expected, value, index, mask }));
        check(program, "scatter_cas");
    }
}

static void test_check(void **state)
{
    (void) state;
    static const uint64_t bounds[] = {
        0, 1, 1000, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 40
    };
    for (int i = 0; i < 6; i++) {
        Program *program = new_program();
        uint32_t mask = add_input(program, VarTypeBool);
        uint32_t index = add_input(program, VarTypeUInt32);
        uint32_t ok = program_add(program, OP_CHECK, VarTypeBool, 0, 2,
                                  (uint32_t[]){ mask, index });
        add_output(program, ok);
        program->check_count = 1;
        program_add_param(program, PARAM_REPORT, VarTypeVoid);
        uint8_t *masks = new_array(VarTypeBool, LANES), out[LANES];
        uint32_t *indices = new_array(VarTypeUInt32, LANES);
        CheckReport report = { 0, 0, bounds[i] };
        uint64_t args[4] = { (uintptr_t) masks, (uintptr_t) indices, (uintptr_t) out,
                             (uintptr_t) &report };
        run(&llvm_engine, program, args, 0, LANES - 3);
        uint32_t failed = 0;
        for (uint32_t k = 0; k < LANES - 3; k++) {
            bool fits = indices[k] < bounds[i];
            assert_int_equal(out[k], masks[k] && fits);
            failed += masks[k] && !fits;
        }
        assert_int_equal(report.count, failed);
        if (failed) {
            assert_true(report.index >= bounds[i]);
        }
        free(masks);
        free(indices);
        program_free(program);
    }
}

/* ---- statements */

static Program *statement(const char *text, VarType type)
{
    Program *program = new_program();
    uint32_t a = add_input(program, type);
    uint32_t b = program_add_literal(program, type, 0x3f800000);
    uint32_t stmt = program_add_stmt(program, text);
    add_output(program,
               program_add(program, OP_STMT, type, stmt, 2, (uint32_t[]){ a, b }));
    return program;
}

static void test_statements(void **state)
{
    (void) state;
    Program *program = statement("$r0.x = fmul <$w x $t1> $r1, $r1$n"
                                 "$r0 = fadd $T0 $r0.x, $r2",
                                 VarTypeFloat32);
    float in[40], out[40];
    for (int i = 0; i < 40; i++) {
        in[i] = (float) i;
    }
    float *input = aligned_alloc(64, 256);
    memcpy(input, in, sizeof in);
    uint64_t args[2] = { (uintptr_t) input, (uintptr_t) out };
    run(&llvm_engine, program, args, 0, 37);
    for (int i = 0; i < 37; i++) {
        assert_true(out[i] == (float) (i * i + 1));
    }
    free(input);
    program_free(program);

    static const char *const wrong[] = { "$r0 = nonsense", "$r0 = fadd $T0 $r7, $r1",
                                         "$r0 = fadd $T0 %unknown, $r1", "$" };
    for (int i = 0; i < 4; i++) {
        program = statement(wrong[i], VarTypeFloat32);
        assert_null(llvm_engine.compile(program, &(CodeSpec){ .hash = test_hash }));
        assert_int_equal(error_code(), JIT_ERROR_COMPILE);
        program_free(program);
    }
}

/* ---- target, library */

static void test_targets(void **state)
{
    (void) state;
    assert_false(target_set(cpu_device(), "bad name", NULL, 0));
    assert_false(target_set(cpu_device(), NULL, "avx2", 0));
    assert_false(target_set(cpu_device(), NULL, NULL, 12));
    assert_false(target_set(cpu_device(), NULL, NULL, 128));
    uint64_t before = llvm_engine.fingerprint(target_get(cpu_device()));
    for (uint32_t width = 1; width <= 64; width *= 2) {
        assert_true(target_set(cpu_device(), NULL, NULL, width));
        assert_int_equal(llvm_vector_width(target_get(cpu_device())), width);
        test_op(OP_FMA, VarTypeFloat64);
        test_op(OP_SHR, VarTypeInt8);
        test_op(OP_DIV, VarTypeInt32);
        test_scatter_of(VarTypeFloat32, ReduceOpAdd, ReduceModeLocal);
        test_scatter_of(VarTypeUInt32, ReduceOpIdentity, ReduceModePermute);
        test_gather(NULL);
    }
    assert_true(target_set(cpu_device(), OTHER_CPU, NULL, 8));
    assert_string_equal(llvm_target_cpu(target_get(cpu_device())), OTHER_CPU);
    assert_true(llvm_engine.fingerprint(target_get(cpu_device())) != before);
    test_arithmetic(NULL);
    test_conversions(NULL);
    test_gather(NULL);
    test_scatter(NULL);
    assert_true(target_set(cpu_device(), NULL, NULL, 0));
    assert_true(llvm_engine.fingerprint(target_get(cpu_device())) == before);
}

/* What a process without a usable library says. */
static void without_library(const char *path, const char *expected)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("DRJIT_LIBLLVM_PATH", path, 1);
        int major, minor, patch;
        bool good = !llvm_engine.available() && error_code() == JIT_ERROR_UNSUPPORTED &&
                    strstr(error_message(), expected) &&
                    strstr(error_message(), path) &&
                    !llvm_version(&major, &minor, &patch) &&
                    llvm_vector_width(NULL) > 0;
        if (!good) {
            fprintf(stderr, "message: %s\n", error_message());
        }
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void test_missing_library(void **state)
{
    (void) state;
    without_library("/nonexistent/libLLVM.so", "no such file");
    without_library("/etc/hostname", "/etc/hostname");
    without_library("libm.so.6", "LLVM");
}

/* ---- threads with small stacks */

enum { SMALL_STACK = 64 << 10, WIDE = 3000, WIDE_LANES = 64 };

/* The Program if there is code for it, NULL if there is none for want of a stack. */
static void *compile_and_free(void *program)
{
    static int other_error;
    Code *code = llvm_engine.compile(program, &(CodeSpec){ .hash = test_hash });
    if (code) {
        code_release(code);
        return program;
    }
    bool stack = error_code() == JIT_ERROR_SYSTEM && strstr(error_message(), "stack");
    return stack ? NULL : (void *) &other_error;
}

static void *call_on_small_stack(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *result = NULL;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SMALL_STACK);
    if (pthread_create(&thread, &attributes, function, argument)) {
        return NULL;
    }
    pthread_join(thread, &result);
    pthread_attr_destroy(&attributes);
    return result;
}

/* A kernel whose code needs more stack than that: it holds the addresses of very many
 * arrays. */
typedef struct WideRun {
    Code *code;
    uint64_t *args;
    void *scratch;
} WideRun;

static void *run_wide(void *data)
{
    const WideRun *run = data;
    cpu_code_run(run->code, run->args, 0, WIDE_LANES, 0, run->scratch);
    return data;
}

static bool use_large_frame(Program *unused)
{
    (void) unused;
    TRY(llvm_engine.available(), true);
    Program *program = new_program();
    uint32_t value = add_input(program, VarTypeUInt32);
    for (uint32_t i = 0; i < WIDE; i++) {
        add_output(program, value);
    }
    WideRun wide = { 0 };
    wide.code = llvm_engine.compile(program, &(CodeSpec){ .hash = test_hash });
    TRY(wide.code, false);
    size_t bytes = WIDE_LANES * sizeof(uint32_t);
    size_t scratch = (cpu_code_scratch(wide.code) + 63) / 64 * 64;
    char *arrays = calloc(WIDE + 1, bytes);
    wide.args = calloc(program->param_count, sizeof(uint64_t));
    wide.scratch = aligned_alloc(64, scratch);
    for (uint32_t i = 0; i <= WIDE; i++) {
        wide.args[program->param_count - 1 - WIDE + i] = (uintptr_t) arrays + i * bytes;
    }
    for (uint32_t i = 0; i < WIDE_LANES; i++) {
        ((uint32_t *) (void *) arrays)[i] = i * 12345 + 6789;
    }
    bool ok = scratch > SMALL_STACK && call_on_small_stack(run_wide, &wide) == &wide;
    for (uint32_t i = 1; i <= WIDE; i++) {
        ok = ok && memcmp(arrays, arrays + i * bytes, bytes) == 0;
    }
    code_release(wide.code);
    program_free(program);
    free(wide.args);
    free(wide.scratch);
    free(arrays);
    return ok;
}

/* Compile where the system has no memory for another stack. */
static void *compile_without_memory(void *program)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1) {
        return program;
    }
    fclose(f);
    rlim_t used = (rlim_t) pages * (rlim_t) sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = used + (6 << 20);
    return setrlimit(RLIMIT_AS, &limit) ? program : compile_and_free(program);
}

static void expect_in_child(bool (*function)(Program *))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        Program *program = long_body(VarTypeFloat32);
        bool ok = function(program);
        program_free(program);
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* libLLVM is loaded and used by a thread with a stack that is too small for it. */
static bool use_small_stack(Program *program)
{
    void *first = call_on_small_stack(compile_and_free, program);
    return !llvm_engine.available() ||
           (first == program && compile_and_free(program) == program &&
            call_on_small_stack(compile_and_free, program) == program);
}

static bool lack_memory(Program *program)
{
    return !llvm_engine.available() ||
           !call_on_small_stack(compile_without_memory, program);
}

static void test_small_stack(void **state)
{
    (void) state;
    expect_in_child(use_small_stack);
    expect_in_child(use_large_frame);
    if (LIMITS_WORK && !is_emulated()) {
        expect_in_child(lack_memory);
    }
}

int main(void)
{
    const struct CMUnitTest before[] = { cmocka_unit_test(test_missing_library),
                                         cmocka_unit_test(test_small_stack) };
    /* In children, before this process has a library of its own. */
    int failed = cmocka_run_group_tests_name("llvm: no library", before, NULL, NULL);
    if (!llvm_engine.available()) {
        printf("test_llvm skipped: %s\n", error_message());
        return failed;
    }
    int major, minor, patch;
    llvm_version(&major, &minor, &patch);
    printf("LLVM %d.%d.%d, %s, %u lanes\n", major, minor, patch,
           llvm_target_cpu(NULL), llvm_vector_width(NULL));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),    cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_leaves),        cmocka_unit_test(test_long_bodies),
        cmocka_unit_test(test_gather),        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_scatter_fetch), cmocka_unit_test(test_check),
        cmocka_unit_test(test_statements),    cmocka_unit_test(test_targets)
    };
    return failed + cmocka_run_group_tests_name("llvm", tests, NULL, NULL);
}
