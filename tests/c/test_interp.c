/*
 * test_interp.c -- what the block interpreter computes
 *
 * Each operation runs on each type for pairs of special values and for random bits, and
 * is compared with a reference in wider types. All instruction sets of this CPU are
 * compared with each other.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "interp_reference.h"

#include "engine/interp/interp_build.h"
#include "ir/program_identity.h"

/* ---- arithmetic */

static VarType result_type(Op op, VarType type)
{
    return op_info[op].result == RESULT_MASK   ? VarTypeBool
           : op_info[op].result == RESULT_WIDE ? type_wide(type)
                                               : type;
}

static void check_cell(Op op, VarType type)
{
    const uint32_t arity = op_info[op].arity, first = op == OP_SELECT;
    const VarType result = result_type(op, type);
    assert_true(interp_engine.supports(op, result, type));
    Program *p = new_program();
    void *in[3];
    uint32_t loads[3];
    for (uint32_t i = 0; i < arity; ++i) {
        VarType in_type = i < first ? VarTypeBool : type;
        in[i] = operand(in_type, i, LANES);
        loads[i] = add_input(p, in_type);
    }
    uint32_t value = program_add(p, op, result, 0, arity, loads);
    add_output(p, result, value);
    void *out = array_of(result, LANES);
    uint64_t args[4];
    for (uint32_t i = 0; i < arity; ++i)
        args[i] = address(in[i]);
    args[arity] = address(out);
    run(p, args, LANES);
    for (uint32_t i = 0; i < LANES; ++i) {
        uint64_t v[3] = { 0 }, folded;
        for (uint32_t k = 0; k < arity; ++k)
            v[k] = get(in[k], k < first ? VarTypeBool : type, i);
        uint64_t expected = first ? reference(op, type, v[0], v[1], v[2], 0)
                                  : reference(op, type, 0, v[0], v[1], v[2]);
        uint64_t found = get(out, result, i);
        if (!same(result, found, expected))
            fail_msg("%s.%s(0x%llx, 0x%llx, 0x%llx) = 0x%llx, expected 0x%llx",
                     op_info[op].name, type_info[type].short_name,
                     (unsigned long long) v[0], (unsigned long long) v[1],
                     (unsigned long long) v[2], (unsigned long long) found,
                     (unsigned long long) expected);
        if (i < 600) {
            assert_true(interp_fold(op, result, type, v, &folded));
            assert_true(same(result, folded, expected));
        }
    }
    for (uint32_t i = 0; i < arity; ++i)
        free(in[i]);
    free(out);
    program_free(p);
}

static void test_arithmetic(void **state)
{
    (void) state;
    for (uint32_t op = OP_NEG; op <= OP_SELECT; ++op)
        for (uint32_t type = 0; type < VarTypeCount; ++type) {
            if (op_info[op].operands >> type & 1 && type_valid((VarType) type))
                check_cell((Op) op, (VarType) type);
            else
                assert_false(
                    interp_engine.supports((Op) op, (VarType) type, (VarType) type));
        }
}

static void check_cast(VarType to, VarType from)
{
    Program *p = new_program();
    uint32_t value = add_input(p, from);
    add_output(p, to, add(p, OP_CAST, to, 0, 1, value));
    void *in = operand(from, 0, LANES), *out = array_of(to, LANES);
    const uint64_t args[] = { address(in), address(out) };
    run(p, args, LANES);
    for (uint32_t i = 0; i < LANES; ++i) {
        uint64_t a = get(in, from, i), expected = cast_reference(to, from, a), folded;
        if (!same(to, get(out, to, i), expected))
            fail_msg("cast %s -> %s of 0x%llx: 0x%llx, expected 0x%llx",
                     type_info[from].name, type_info[to].name, (unsigned long long) a,
                     (unsigned long long) get(out, to, i),
                     (unsigned long long) expected);
        assert_true(interp_fold(OP_CAST, to, from, &a, &folded));
        assert_true(same(to, folded, expected));
    }
    free(in);
    free(out);
    program_free(p);
}

static void test_casts(void **state)
{
    (void) state;
    for (uint32_t to = 0; to < VarTypeCount; ++to)
        for (uint32_t from = 0; from < VarTypeCount; ++from) {
            bool exists = type_valid((VarType) to) && type_valid((VarType) from);
            bool pointers = to == VarTypePointer || from == VarTypePointer;
            assert_int_equal(
                interp_engine.supports(OP_CAST, (VarType) to, (VarType) from),
                exists && !pointers);
            if (exists && !pointers)
                check_cast((VarType) to, (VarType) from);
            assert_int_equal(
                interp_engine.supports(OP_BITCAST, (VarType) to, (VarType) from),
                exists && type_info[to].size == type_info[from].size);
        }
}

/* Every f16 there is, and every place in between. */
static void test_half(void **state)
{
    (void) state;
    for (uint64_t bits = 0; bits < 65536; ++bits) {
        uint64_t wide, back;
        assert_true(interp_fold(OP_CAST, VarTypeFloat32, VarTypeFloat16, &bits, &wide));
        assert_true(same(VarTypeFloat32, wide,
                         rounded(VarTypeFloat32, real(VarTypeFloat16, bits))));
        for (uint64_t k = 0; k < 4; ++k) {
            uint64_t near = wide + (k == 1   ? 0x1000
                                    : k == 2 ? 0x0fff
                                    : k == 3 ? 0x1001
                                             : 0);
            assert_true(
                interp_fold(OP_CAST, VarTypeFloat16, VarTypeFloat32, &near, &back));
            assert_true(
                same(VarTypeFloat16, back, half_of(real(VarTypeFloat32, near))));
        }
        /* An f64 next to a tie that f32 cannot tell from it. */
        uint64_t close = bits_of_double((double) real(VarTypeFloat32, wide + 0x1000)) +
                         random_bits() % 3 - 1;
        assert_true(
            interp_fold(OP_CAST, VarTypeFloat16, VarTypeFloat64, &close, &back));
        assert_true(same(VarTypeFloat16, back, half_of(real(VarTypeFloat64, close))));
    }
}

/* ---- instruction sets */

#if defined(__x86_64__) /* elsewhere there is one */
static void compare_tables(const LaneTable *table, LaneFn fn, LaneFn base,
                           VarType result, const VarType *types, uint32_t arity)
{
    enum { COUNT = 256 };
    static _Alignas(64) uint64_t memory[5][COUNT];
    void *regs[] = { memory[0], memory[1], memory[2], memory[3] };
    assert_int_equal(fn != NULL, base != NULL);
    if (!fn)
        return;
    for (uint32_t k = 0; k < arity; ++k)
        for (uint32_t i = 0; i < COUNT; ++i)
            put(memory[k + 1], types[k], i,
                i < 128 ? special(types[k], (i * (k + 1)) % LIST)
                        : random_value(types[k]));
    const LaneStep step[] = { { NULL, 0, { 1, 2, 3 } }, { .fn = interp_build_stop } };
    LaneFrame frame = { .regs = regs, .lanes = COUNT, .count = COUNT };
    base(step, &frame);
    memcpy(memory[4], memory[0], sizeof memory[0]);
    for (uint32_t lanes = LANE_GROUP; lanes <= COUNT; lanes += LANE_GROUP) {
        frame.lanes = frame.count = lanes;
        memset(memory[0], 0, sizeof memory[0]);
        fn(step, &frame);
        for (uint32_t i = 0; i < lanes; ++i)
            if (!same(result, get(memory[0], result, i), get(memory[4], result, i)))
                fail_msg("%s differs from baseline: type %s, lane %u of %u", table->isa,
                         type_info[types[arity - 1]].name, i, lanes);
    }
}
#endif

static void test_instruction_sets(void **state)
{
    (void) state;
#if defined(__x86_64__)
    const LaneTable *const list[] = {
        __builtin_cpu_supports("avx2") ? &lanes_avx2 : NULL,
        __builtin_cpu_supports("avx512bw") ? &lanes_avx512 : NULL
    };
    for (uint32_t t = 0; t < 2; ++t) {
        if (!list[t])
            continue;
        for (uint32_t op = OP_NEG; op <= OP_SELECT; ++op)
            for (uint32_t type = 0; type < VarTypeCount; ++type) {
                VarType types[3] = { (VarType) type, (VarType) type, (VarType) type };
                if (op == OP_SELECT)
                    types[0] = VarTypeBool;
                compare_tables(
                    list[t], list[t]->op[op][type], lanes_baseline.op[op][type],
                    result_type((Op) op, (VarType) type), types, op_info[op].arity);
            }
        for (uint32_t to = 0; to < VarTypeCount; ++to)
            for (uint32_t from = 0; from < VarTypeCount; ++from)
                compare_tables(list[t], list[t]->cast[to][from],
                               lanes_baseline.cast[to][from], (VarType) to,
                               &(VarType){ (VarType) from }, 1);
    }
#endif
}

/* The choice is made once a process, so another process makes it. */
static void test_choice(void **state)
{
    (void) state;
    pid_t child = fork();
    if (child == 0) {
        setenv("DRJIT_INTERP_ISA", "baseline", 1);
        uint64_t chosen = interp_engine.fingerprint(NULL);
        _exit(chosen == hash_64("baseline", 8, 1) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(interp_engine.available());
    assert_ptr_equal(engine_find("interp"), &interp_engine);
    assert_null(engine_find("none"));
}

/* Engines that are not the library's stand before the interpreter. */
static void test_register(void **state)
{
    (void) state;
    static const Engine more[] = { { .name = "first" }, { .name = "second" },
                                   { .name = "third" }, { .name = "fourth" },
                                   { .name = "fifth" }, { .name = "interp" } };
    uint32_t before = 0, count = 0;
    while (engine_list[before])
        ++before;
    for (uint32_t i = 0; i < 4; ++i)
        assert_true(engine_register(&more[i]) && engine_register(&more[i]));
    for (uint32_t i = 4; i < 6; ++i) {
        assert_false(engine_register(&more[i]));
        assert_int_equal(error_code(), JIT_ERROR_ARGUMENT);
        assert_non_null(strstr(error_message(), more[i].name));
    }
    error_clear();
    while (engine_list[count])
        ++count;
    assert_int_equal(count, before + 4);
    assert_ptr_equal(engine_list[count - 1], &interp_engine);
    for (uint32_t i = 0; i < 4; ++i)
        assert_ptr_equal(engine_list[before - 1 + i], &more[i]);
    assert_ptr_equal(engine_find("second"), &more[1]);
    assert_ptr_equal(engine_find("interp"), &interp_engine);
}

/* ---- the Program itself */

static void test_verify(void **state)
{
    (void) state;
    for (uint32_t fault = 0; fault < 14; ++fault) {
        Program *p = new_program();
        uint32_t a = add_input(p, VarTypeFloat32),
                 pointer = add_pointer(p, VarTypeInt32);
        uint32_t b = program_add_literal(p, VarTypeFloat32, 0);
        uint32_t sum = add(p, OP_ADD, VarTypeFloat32, 0, 2, a, b);
        uint32_t mask = add(p, OP_LT, VarTypeBool, 0, 2, a, b);
        uint32_t index = add(p, OP_CAST, VarTypeUInt32, 0, 1, a);
        uint32_t got = add(p, OP_GATHER, VarTypeInt32, 0, 3, pointer, index, mask);
        add_output(p, VarTypeInt32, got);
        assert_true(program_verify(p));
        Inst *insts = p->insts;
        switch (fault) {
        case 0:
            insts[sum].op = OP_EVALUATED;
            break;
        case 1:
            insts[sum].op = OP_COUNT;
            break;
        case 2:
            insts[sum].arg[1] = sum;
            break;
        case 3:
            insts[sum].arg[1] = mask + 100;
            break;
        case 4:
            insts[sum].arg[1] = pointer;
            break;
        case 5:
            insts[sum].type = VarTypeFloat64;
            break;
        case 6:
            insts[mask].type = VarTypeVoid;
            break;
        case 7:
            insts[sum].flags = INST_UNIFORM;
            break;
        case 8:
            insts[got].arg[1] = a;
            break;
        case 9:
            insts[got].arg[2] = index;
            break;
        case 10:
            insts[got].count = 2;
            break;
        case 11:
            insts[a].aux = 77;
            break;
        case 12:
            insts[b].aux = 77;
            break;
        default:
            insts[p->inst_count - 1].aux = insts[a].aux;
            break;
        }
        error_clear();
        assert_false(program_verify(p));
        assert_int_equal(error_code(), JIT_ERROR_ARGUMENT);
        assert_non_null(strstr(error_message(), "program_verify()"));
        program_free(p);
    }
}

static void test_program(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t a = add_input(p, VarTypeFloat32);
    uint32_t b = program_add_literal(p, VarTypeFloat32, bits_of_float(1.5f));
    add_output(p, VarTypeFloat32, add(p, OP_FMA, VarTypeFloat32, 0, 3, a, b, b));
    Program *copy = program_copy(p);
    assert_non_null(copy);
    assert_true(program_equal(p, copy));
    Text text = { 0 };
    program_write(copy, &text);
    assert_string_equal(text_get(&text),
                        "@0: input f32\n@1: output f32\n"
                        "    %0:f32 = load @0\n    %1:f32! = literal 1.5\n"
                        "    %2:f32 = fma %0, %1, %1\n    store @1, %2\n");
    text_free(&text);
    copy->literals[0] ^= 1;
    assert_false(program_equal(p, copy));
    program_clear(copy);
    assert_int_equal(copy->inst_count, 0);
    assert_false(program_equal(p, copy));
    program_free(copy);
    program_free(p);
    program_free(NULL);
}

/* Small ones are copied, large ones get an owner more. */
static void test_program_shared(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t x = add_input(p, VarTypeFloat32);
    Program *copy = program_share(p);
    assert_non_null(copy);
    assert_ptr_not_equal(copy, p);
    assert_false(program_is_shared(p));
    program_free(copy);
    while (p->inst_count < 100000)
        x = add(p, OP_ADD, VarTypeFloat32, 0, 2, x, x);
    copy = program_share(p);
    assert_ptr_equal(copy, p);
    assert_true(program_is_shared(p));
    program_free(p);
    assert_false(program_is_shared(copy));
    assert_int_equal(copy->inst_count, 100000);
    program_free(copy);
}

static void test_fold_refuses(void **state)
{
    (void) state;
    uint64_t args[3] = { 0 }, result;
    assert_false(interp_fold(OP_SCATTER, VarTypeVoid, VarTypeFloat32, args, &result));
    assert_false(interp_fold(OP_AND, VarTypeFloat32, VarTypeFloat32, args, &result));
    assert_false(interp_fold(OP_CAST, VarTypePointer, VarTypeUInt64, args, &result));
    assert_false(
        interp_fold(OP_BITCAST, VarTypeFloat32, VarTypeFloat64, args, &result));
    assert_false(interp_fold(OP_COUNT, VarTypeFloat32, VarTypeFloat32, args, &result));
}

/* test_choice comes first, before the choice is made. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_register),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_instruction_sets),
        cmocka_unit_test(test_verify),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_program_shared),
        cmocka_unit_test(test_fold_refuses)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
