/*
 * test_golden.c -- Programs, their legalised form, LLVM IR and PTX, compared with
 * reviewed files
 *
 * Each case traces something through the public interface. What an evaluation would
 * compile is compared with tests/golden/<case>.program; what the legaliser makes of it
 * for an engine that can do very little with <case>.legal; the LLVM IR for packets of 8
 * lanes with <case>.ll; and the PTX for sm_80 with <case>.ptx. No engine, libLLVM or
 * driver is needed. 'test_golden --update' writes the files anew, to be reviewed. To
 * be run from the project's root.
 *
 * Rules of the legaliser emit operations as arguments of others, and which argument is
 * evaluated first is the compiler's choice; so is, then, what is found in the table of
 * recent instructions. The files have the order of gcc on x86-64. Other builds compare
 * which lines there are, but for the numbers of values; what the operations compute is
 * for test_legalise.c and test_llvm.c to see, and for the tests of tests/cuda.
 */
#include "test_util.h"

#include "base/alloc.h"
#include "engine/engine.h"
#include "engine/llvm/llvm_ir.h"
#include "engine/ptx/ptx_kernel.h"
#include "lower/legalise.h"
#include "trace/eval/assemble.h"

#if defined(__x86_64__) && !defined(__clang__)
#define SAME_ORDER 1
#else
#define SAME_ORDER 0
#endif

enum { N = 100, MOST_LINES = 1000 };

static bool update;

/* ---------------------------------------------------------------------- engines */

static bool is_one_of(VarType type, VarType a, VarType b)
{
    return type == a || type == b;
}

/* Single precision, 32-bit integers and masks; double precision and 64-bit integers
 * only as far as nothing else can replace them. */
static bool minimal_supports(Op op, VarType type, VarType operand)
{
    const TypeInfo *info = &type_info[operand];
    bool real = is_one_of(operand, VarTypeFloat32, VarTypeFloat64);
    bool integer = info->is_integer && info->size >= 4;
    if (op_info[op].flags & F_PROGRAM || (op < OP_NEG && op != OP_NONE) ||
        op == OP_BITCAST || op == OP_STMT || op == OP_CHECK)
        return true;
    if (op >= OP_GATHER && op <= OP_SCATTER_CAS)
        return op != OP_GATHER_PACKET && op != OP_PACKET_ITEM &&
               op != OP_SCATTER_PACKET;
    switch (op) {
    case OP_CAST:
        if (type_info[type].is_integer && info->is_integer)
            return type_info[type].is_signed == info->is_signed &&
                   type_info[type].size != info->size;
        return (type == VarTypeFloat64 &&
                is_one_of(operand, VarTypeFloat32, VarTypeInt32)) ||
               (operand == VarTypeFloat64 &&
                is_one_of(type, VarTypeFloat32, VarTypeInt32));
    case OP_ADD:
    case OP_SUB:
    case OP_EQ:
    case OP_SELECT:
        return real || integer;
    case OP_MUL:
        return real || (integer && info->size == 4);
    case OP_LT:
        return real || (integer && info->is_signed);
    case OP_LE:
    case OP_DIV:
    case OP_SQRT:
    case OP_CEIL:
    case OP_FLOOR:
    case OP_ROUND:
    case OP_TRUNC:
        return real;
    case OP_FMA:
        return operand == VarTypeFloat64;
    case OP_MUL_WIDE:
        return operand == VarTypeUInt32;
    case OP_AND:
    case OP_OR:
    case OP_XOR:
        return integer || operand == VarTypeBool;
    case OP_SHL:
        return integer;
    case OP_SHR:
        return integer && !info->is_signed;
    default:
        return false;
    }
}

static const Engine minimal = { .name = "minimal", .supports = minimal_supports };
static const Engine llvm_like = { .name = "llvm", .supports = llvm_ir_supports };
static const Engine ptx_like = { .name = "ptx", .supports = ptx_kernel_supports };

/* ------------------------------------------------------------------------ files */

/* Content of a golden file, NULL if there is none. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = malloc(1 << 20);
    size_t size = text ? fread(text, 1, (1 << 20) - 1, file) : 0;
    fclose(file);
    if (text)
        text[size] = 0;
    return text;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    bool ok = file && fputs(text, file) >= 0;
    if (file && fclose(file) != 0)
        ok = false;
    if (!ok)
        fail_msg("cannot write %s", path);
    printf("wrote %s\n", path);
}

static void show_difference(const char *path, const char *expected, const char *found)
{
    unsigned line = 1;
    const char *a = expected, *b = found;
    for (size_t i = 0; expected[i] && expected[i] == found[i]; ++i)
        if (expected[i] == '\n') {
            line++;
            a = expected + i + 1;
            b = found + i + 1;
        }
    fail_msg("%s:%u: found    \"%.*s\"\nexpected \"%.*s\"", path, line,
             (int) strcspn(b, "\n"), b, (int) strcspn(a, "\n"), a);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The different lines of a text, without the numbers of the values in them. */
static char *kinds_of_lines(const char *from)
{
    char *lines[MOST_LINES];
    uint32_t count = 0;
    Text text = { 0 };
    while (*from) {
        char c = *from++;
        if (c != '\n')
            text_put_char(&text, c);
        if (c == '%')
            from += strspn(from, "lvprhd0123456789.");
        if (c == '\n' || !*from) {
            assert_true(count < MOST_LINES);
            lines[count++] = text_take(&text);
        }
    }
    qsort(lines, count, sizeof *lines, by_text);
    for (uint32_t i = 0; i < count; ++i)
        if (i == 0 || strcmp(lines[i], lines[i - 1]) != 0)
            text_putf(&text, "%s\n", lines[i]);
    for (uint32_t i = 0; i < count; ++i)
        alloc_free(lines[i]);
    return text_take(&text);
}

static bool same_operations(const char *expected, const char *found)
{
    char *a = kinds_of_lines(expected), *b = kinds_of_lines(found);
    bool same = strcmp(a, b) == 0;
    alloc_free(a);
    alloc_free(b);
    return same;
}

static void compare(const char *name, const char *suffix, Text *text)
{
    char path[200];
    snprintf(path, sizeof path, "tests/golden/%s.%s", name, suffix);
    const char *found = text_get(text);
    OK(found);
    if (update) {
        write_file(path, found);
        return;
    }
    char *expected = read_file(path);
    if (!expected)
        fail_msg("there is no %s (run from the project's root)", path);
    bool ordered = SAME_ORDER || strcmp(suffix, "program") == 0;
    if (strcmp(expected, found) != 0 && (ordered || !same_operations(expected, found)))
        show_difference(path, expected, found);
    free(expected);
}

/* ---------------------------------------------------------------------- programs */

/* What an evaluation of all that is scheduled now would compile (of one size). */
static void take_program(Program *program, uint32_t size)
{
    ThreadState *ts = state_thread();
    VarId roots[16];
    Group group = { .size = size, .roots = roots };
    Assembly assembly;
    memset(&assembly, 0, sizeof assembly);
    state_lock();
    for (uint32_t i = 0; i < ts->scheduled_count; ++i)
        roots[group.root_count++] = ts->scheduled[i];
    for (uint32_t i = 0; i < ts->effect_count; ++i, ++group.effect_count)
        roots[group.root_count++] = ts->effects[i];
    bool ok = assemble_group(&assembly, program, &group);
    assemble_free(&assembly);
    state_unlock();
    OK(ok);
    OK(program_verify(program));
}

static void compare_legal(const char *name, const Program *program)
{
    const Program *legal = legalise(program, &minimal);
    Text text = { 0 };
    OK(legal);
    OK(program_verify(legal));
    program_write(legal, &text);
    compare(name, "legal", &text);
    text_free(&text);
    if (legal != program)
        program_free((Program *) legal);
}

static void compare_ir(const char *name, const Program *program)
{
    const Program *legal = legalise(program, &llvm_like);
    Text text = { 0 };
    OK(legal);
    LlvmShape shape = { .width = 8, .vector_memory = true };
    OK(llvm_ir_write(legal, (Hash128){ 0x1234, 0x5678 }, shape, &text));
    compare(name, "ll", &text);
    text_free(&text);
    if (legal != program)
        program_free((Program *) legal);
}

static void compare_ptx(const char *name, const Program *program)
{
    const PtxTarget target = { .sm = 80 };
    const Program *legal = legalise(program, &ptx_like);
    Text text = { 0 };
    PtxKernel kernel;
    OK(legal);
    OK(ptx_kernel_write(legal, (Hash128){ 0x1234, 0x5678 }, &target, &text, &kernel));
    compare(name, "ptx", &text);
    text_free(&text);
    if (legal != program)
        program_free((Program *) legal);
}

/* Compare what the case has scheduled. */
static void check_program(const char *name, uint32_t size)
{
    Program *program = alloc_zero(1, sizeof(Program));
    Text text = { 0 };
    OK(program);
    take_program(program, size);
    program_write(program, &text);
    compare(name, "program", &text);
    text_free(&text);
    compare_legal(name, program);
    compare_ir(name, program);
    if (!program->stmt_count) /* which is LLVM IR here */
        compare_ptx(name, program);
    program_free(program);
}

/* -------------------------------------------------------------------------- cases */

static uint32_t input(VarType type)
{
    static const uint64_t zeros[N];
    uint32_t id = jit_var_mem_copy(CPU, type, zeros, N);
    OK(id);
    return id;
}

/* Schedule and let go: the schedule keeps it. */
static void output(uint32_t id)
{
    OK(id);
    assert_true(jit_var_schedule(id));
    jit_var_dec_ref(id);
}

static void test_arithmetic(void **unused)
{
    (void) unused;
    uint32_t x = input(VarTypeFloat32), y = input(VarTypeFloat32);
    uint32_t sum = jit_var_add(x, y), root = jit_var_sqrt(sum),
             f = jit_var_fma(x, y, root);
    uint32_t less = jit_var_lt(x, y), low = jit_var_fmin(f, x);
    uint32_t out = jit_var_select(less, f, low);
    output(jit_var_inc_ref(out));
    check_program("arithmetic", N);
    char *golden = read_file("tests/golden/arithmetic.program");
    const char *shown = jit_program_str(out);
    OK(shown);
    assert_non_null(golden);
    assert_string_equal(shown, golden);
    free(golden);
    DROP(x, y, sum, root, f, less, low, out);
}

static void test_integers(void **unused)
{
    (void) unused;
    uint32_t x = input(VarTypeInt32), y = input(VarTypeInt32), z = input(VarTypeUInt64);
    output(jit_var_div(x, y));
    output(jit_var_mod(x, y));
    output(jit_var_mul_hi(x, y));
    output(jit_var_shr(x, y));
    output(jit_var_mul(z, z));
    output(jit_var_popc(z));
    check_program("integers", N);
    DROP(x, y, z);
}

static void test_narrow(void **unused)
{
    (void) unused;
    uint32_t x = input(VarTypeInt8), y = input(VarTypeInt8), z = input(VarTypeUInt16);
    uint32_t flag = input(VarTypeBool);
    output(jit_var_max(x, y));
    output(jit_var_mul_wide(x, y));
    output(jit_var_brev(z));
    output(jit_var_select(flag, x, y));
    output(jit_var_not(flag));
    check_program("narrow", N);
    DROP(x, y, z, flag);
}

static void test_casts(void **unused)
{
    (void) unused;
    uint32_t x = input(VarTypeFloat64), y = input(VarTypeInt64);
    output(jit_var_cast(x, VarTypeUInt8, 0));
    output(jit_var_cast(x, VarTypeInt64, 0));
    output(jit_var_cast(y, VarTypeFloat32, 0));
    output(jit_var_cast(y, VarTypeBool, 0));
    output(jit_var_cast(x, VarTypeUInt64, 1));
    check_program("casts", N);
    DROP(x, y);
}

static void test_half(void **unused)
{
    (void) unused;
    uint32_t x = input(VarTypeFloat16), y = input(VarTypeFloat16);
    output(jit_var_mul(x, y));
    output(jit_var_neg(x));
    output(jit_var_lt(x, y));
    output(jit_var_cast(x, VarTypeFloat64, 0));
    check_program("half", N);
    DROP(x, y);
}

static void test_uniform(void **unused)
{
    (void) unused;
    float one = 1;
    uint32_t scale = jit_var_literal(CPU, VarTypeFloat32, &one, 1, 1);
    uint32_t twice = jit_var_add(scale, scale), width = jit_var_opaque_width(scale);
    uint32_t count = jit_var_counter(CPU, N),
             x = jit_var_cast(count, VarTypeFloat32, 0);
    output(jit_var_mul(x, twice));
    output(jit_var_add(count, width));
    check_program("uniform", N);
    DROP(scale, twice, width, count, x);
}

static void test_gather(void **unused)
{
    (void) unused;
    uint32_t source = input(VarTypeFloat32), bytes = input(VarTypeBool);
    uint32_t index = jit_var_counter(CPU, N), flag = input(VarTypeBool);
    output(jit_var_gather(source, index, flag));
    output(jit_var_gather(bytes, index, 0));
    check_program("gather", N);
    DROP(source, bytes, index, flag);
}

static void test_packets(void **unused)
{
    (void) unused;
    uint32_t source = input(VarTypeFloat32), target = input(VarTypeFloat32);
    uint32_t three = jit_var_u32(CPU, 3), index = jit_var_counter(CPU, N);
    uint32_t where = jit_var_and(index, three), out[4];
    OK(jit_var_gather_packet(4, source, where, 0, out));
    uint32_t written = jit_var_scatter_packet(2, target, out, where, 0,
                                              ReduceOpIdentity, ReduceModeAuto);
    OK(written);
    output(jit_var_add(out[2], out[3]));
    check_program("packets", N);
    DROP(source, target, three, index, where, written, out[0], out[1], out[2], out[3]);
}

/* Each mode into an array of its own. */
static void test_scatter(void **unused)
{
    (void) unused;
    const ReduceMode modes[] = { ReduceModeDirect, ReduceModeLocal,
                                 ReduceModeNoConflicts, ReduceModePermute };
    uint32_t index = input(VarTypeUInt32), flag = input(VarTypeBool);
    uint32_t value = input(VarTypeFloat32), written[4], target[4];
    for (size_t i = 0; i < COUNT_OF(modes); ++i) {
        target[i] = input(VarTypeFloat32);
        written[i] = jit_var_scatter(target[i], value, index, flag,
                                     i < 2 ? ReduceOpAdd : ReduceOpIdentity, modes[i]);
        OK(written[i]);
    }
    check_program("scatter", N);
    DROP(index, flag, value);
    drop_all(written, COUNT_OF(written));
    drop_all(target, COUNT_OF(target));
}

static void test_atomics(void **unused)
{
    (void) unused;
    uint32_t index = input(VarTypeUInt32), value = input(VarTypeUInt32), seen[2];
    uint32_t counters = input(VarTypeUInt32), cells = input(VarTypeUInt32);
    uint32_t more = input(VarTypeUInt32);
    uint32_t slot = jit_var_scatter_inc(&counters, index, 0);
    OK(slot);
    uint32_t old = jit_var_scatter_exch(&cells, slot, index, 0);
    OK(old);
    OK(jit_var_scatter_cas(&more, value, old, index, 0, seen));
    check_program("atomics", N);
    DROP(index, value, counters, cells, more, slot, old, seen[0], seen[1]);
}

static void test_checks(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagDebug, 1);
    uint32_t source = input(VarTypeInt16), index = input(VarTypeUInt32);
    uint32_t target = input(VarTypeInt16), value = jit_var_gather(source, index, 0);
    uint32_t written =
        jit_var_scatter(target, value, index, 0, ReduceOpIdentity, ReduceModeAuto);
    OK(written);
    check_program("checks", N);
    DROP(source, index, target, value, written);
}

static void test_statements(void **unused)
{
    (void) unused;
    uint32_t x = input(VarTypeFloat32), y = input(VarTypeFloat32);
    output(jit_var_new_stmt_2(CPU, VarTypeFloat32, "$r0 = fadd <$w x $t0> $r1, $r2", x,
                              y));
    check_program("statements", N);
    DROP(x, y);
}

int main(int argc, char **argv)
{
    update = argc > 1 && strcmp(argv[1], "--update") == 0;
    const struct CMUnitTest list[] = { TEST(test_arithmetic), TEST(test_integers),
                                       TEST(test_narrow),     TEST(test_casts),
                                       TEST(test_half),       TEST(test_uniform),
                                       TEST(test_gather),     TEST(test_packets),
                                       TEST(test_scatter),    TEST(test_atomics),
                                       TEST(test_checks),     TEST(test_statements) };
    return cmocka_run_group_tests(list, NULL, NULL);
}
