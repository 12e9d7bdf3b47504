/*
 * test_x86_run.c -- labels, jumps, constants and padding of the assembler
 *
 * Most of it is code that the processor runs. The encoding of instructions is the
 * business of test_x86.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/native/x86/asm/x86.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#if defined(__x86_64__)

/* Run finished code as a function of one argument. */
static uint64_t run(const X86 *x, uint64_t argument)
{
    const size_t size = x86_position(x);
    union {
        void *data;
        uint64_t (*code)(uint64_t);
    } place;
    uint64_t result;
    place.data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
        -1, 0);
    assert_ptr_not_equal(place.data, MAP_FAILED);
    memcpy(place.data, x->code, size);
    if (mprotect(place.data, size, PROT_READ | PROT_EXEC) != 0) {
        munmap(place.data, size);
        print_message("the system refuses executable memory\n");
        skip();
    }
    result = place.code(argument);
    munmap(place.data, size);
    return result;
}

/* The argument is in rdi, the result in rax. */
static void test_run_loop(void **state)
{
    X86 x;
    X86Label loop, end;
    (void) state;
    x86_init(&x);
    loop = x86_label(&x);
    end = x86_label(&x);
    x86_rr(&x, X86_XOR, X86_RAX, X86_RAX);
    x86_rr(&x, X86_TEST | X86_W, X86_RDI, X86_RDI);
    x86_jcc(&x, X86_CC_E, end);
    x86_bind(&x, loop);
    x86_rr(&x, X86_ADD | X86_W, X86_RAX, X86_RDI);
    x86_r(&x, X86_DEC | X86_W, X86_RDI);
    x86_jcc(&x, X86_CC_NE, loop);
    x86_bind(&x, end);
    x86_0(&x, X86_RET);
    assert_true(x86_finish(&x));
    assert_int_equal(run(&x, 0), 0);
    assert_int_equal(run(&x, 10), 55);
    assert_int_equal(run(&x, 1000), 500500);
    x86_free(&x);
}

static void test_run_constants(void **state)
{
    static const uint64_t constants[3] = { 1, 0x123456789ABCDEF0, 3 };
    X86 x;
    X86Label pool;
    (void) state;
    x86_init(&x);
    pool = x86_label(&x);
    x86_rm(&x, X86_MOV | X86_W, X86_RAX, x86_at_label(pool, 8));
    /* An immediate lies between the displacement and the next instruction. */
    x86_mi(&x, X86_CMP_I, x86_at_label(pool, 16), 3);
    x86_rm(&x, X86_CMOVCC | X86_W | X86_CC(X86_CC_NE), X86_RAX, x86_at_label(pool, 0));
    x86_mi(&x, X86_CMP_I, x86_at_label(pool, 16), 300);
    x86_rm(&x, X86_CMOVCC | X86_W | X86_CC(X86_CC_E), X86_RAX, x86_at_label(pool, 0));
    x86_rm(&x, X86_ADD | X86_W, X86_RAX, x86_at_label(pool, 0));
    x86_0(&x, X86_RET);
    x86_align_data(&x, 32);
    assert_int_equal(x86_position(&x) % 32, 0);
    x86_bind(&x, pool);
    x86_bytes(&x, constants, sizeof(constants));
    assert_true(x86_finish(&x));
    assert_int_equal(run(&x, 0), constants[1] + 1);
    x86_free(&x);
}

static void test_run_jump_table(void **state)
{
    X86 x;
    X86Label table, function, targets[5];
    (void) state;
    x86_init(&x);
    table = x86_label(&x);
    function = x86_label(&x);
    x86_rm(&x, X86_LEA | X86_W, X86_RCX, x86_at_label(table, 0));
    x86_rm(&x, X86_MOVSXD, X86_RDX, x86_at_index(X86_RCX, X86_RDI, 2, 0));
    x86_rr(&x, X86_ADD | X86_W, X86_RDX, X86_RCX);
    x86_r(&x, X86_JMP_R, X86_RDX);
    x86_align(&x, 4);
    x86_bind(&x, table);
    for (int i = 0; i < 5; ++i) {
        targets[i] = x86_label(&x);
        x86_distance(&x, targets[i], table);
    }
    for (int i = 0; i < 5; ++i) {
        x86_bind(&x, targets[i]);
        x86_ri(&x, X86_MOV_R, X86_RAX, 100 + i);
        x86_call(&x, function);
        x86_0(&x, X86_RET);
    }
    x86_align(&x, 64);
    x86_bind(&x, function);
    x86_ri(&x, X86_ADD_I, X86_RAX, 1000);
    x86_0(&x, X86_RET);
    assert_true(x86_finish(&x));
    for (uint64_t i = 0; i < 5; ++i)
        assert_int_equal(run(&x, i), 1100 + i);
    x86_free(&x);
}

static void test_run_mov_imm(void **state)
{
    static const struct {
        uint64_t value;
        uint32_t size;
    } cases[] = {
        { 0, 5 }, { 1, 5 }, { 0x7FFFFFFF, 5 }, { 0x80000000, 5 }, { UINT32_MAX, 5 },
        { UINT64_MAX, 7 }, { 0xFFFFFFFF80000000, 7 }, { 0xFFFFFFFF7FFFFFFF, 10 },
        { 0x100000000, 10 }, { 0x123456789ABCDEF0, 10 },
    };
    X86 x;
    (void) state;
    x86_init(&x);
    for (uint32_t i = 0; i < COUNT(cases); ++i) {
        x86_reset(&x);
        x86_mov_imm(&x, X86_RAX, cases[i].value);
        assert_int_equal(x86_position(&x), cases[i].size);
        /* Through a high register, too. */
        x86_mov_imm(&x, X86_R10, cases[i].value);
        x86_rr(&x, X86_AND | X86_W, X86_RAX, X86_R10);
        x86_0(&x, X86_RET);
        assert_true(x86_finish(&x));
        assert_int_equal(run(&x, 0), cases[i].value);
    }
    x86_free(&x);
}

/* Padding of every size changes nothing but the position. */
static void test_run_padding(void **state)
{
    X86 x;
    (void) state;
    x86_init(&x);
    for (int size = 0; size < 64; ++size) {
        x86_reset(&x);
        x86_mov_imm(&x, X86_RAX, 7);
        for (int i = 0; i < size; ++i)
            x86_0(&x, X86_CDQ); /* one byte; changes rdx */
        x86_align(&x, 64);
        assert_int_equal(x86_position(&x), size + 5 > 64 ? 128 : 64);
        x86_r(&x, X86_INC, X86_RAX);
        x86_0(&x, X86_RET);
        assert_true(x86_finish(&x));
        assert_int_equal(run(&x, 0), 8);
    }
    x86_free(&x);
}

/* A jump over 'distance' bytes, there and back; 2 bytes if it can be. */
static void test_run_distances(void **state)
{
    X86 x;
    (void) state;
    x86_init(&x);
    for (uint32_t distance = 0; distance < 400; distance += distance < 110 ? 11 : 1) {
        x86_reset(&x);
        const X86Label over = x86_label(&x), back = x86_label(&x);
        x86_rr(&x, X86_XOR, X86_RAX, X86_RAX);
        x86_jmp(&x, over);
        const uint32_t begin = x86_position(&x);
        x86_bind(&x, back);
        x86_r(&x, X86_INC, X86_RAX);
        x86_0(&x, X86_RET);
        for (uint32_t i = 4; i < distance; ++i)
            x86_0(&x, X86_INT3);
        x86_bind(&x, over);
        const uint32_t end = x86_position(&x);
        x86_jmp(&x, back);
        assert_int_equal(x86_position(&x) - end, end - begin + 2 <= 128 ? 2 : 5);
        const uint32_t last = x86_position(&x);
        x86_jcc(&x, X86_CC_NO, back);
        assert_int_equal(x86_position(&x) - last, last - begin + 2 <= 128 ? 2 : 6);
        assert_true(x86_finish(&x));
        assert_int_equal(run(&x, 0), 1);
    }
    x86_free(&x);
}

#endif

static void test_short_jumps(void **state)
{
    X86 x;
    (void) state;
    x86_init(&x);
    for (uint32_t distance = 0; distance < 300; ++distance) {
        x86_reset(&x);
        const X86Label over = x86_label(&x);
        x86_jmp_short(&x, over);
        x86_jcc_short(&x, X86_CC_L, over);
        for (uint32_t i = 0; i < distance; ++i)
            x86_0(&x, X86_INT3);
        x86_bind(&x, over);
        if (distance + 2 <= 127) {
            assert_true(x86_finish(&x));
            assert_int_equal(x.code[0], 0xEB);
            assert_int_equal(x.code[1], distance + 2);
            assert_int_equal(x.code[2], 0x7C);
            assert_int_equal(x.code[3], distance);
        } else {
            error_clear();
            assert_false(x86_finish(&x));
            assert_int_equal(error_code(), JIT_ERROR_COMPILE);
            assert_non_null(strstr(error_message(), "short jump"));
        }
        /* Back to a bound label. */
        x86_reset(&x);
        const X86Label back = x86_label(&x);
        x86_bind(&x, back);
        for (uint32_t i = 0; i < distance; ++i)
            x86_0(&x, X86_INT3);
        x86_jmp_short(&x, back);
        assert_int_equal(x86_finish(&x), distance + 2 <= 128);
    }
    error_clear();
    x86_free(&x);
}

static void test_unbound_label(void **state)
{
    X86 x;
    (void) state;
    x86_init(&x);
    x86_label(&x); /* never used, never bound: no harm */
    x86_jmp(&x, x86_label(&x));
    error_clear();
    assert_false(x86_finish(&x));
    assert_int_equal(error_code(), JIT_ERROR_COMPILE);
    assert_non_null(strstr(error_message(), "label 1"));
    error_clear();
    x86_reset(&x);
    x86_0(&x, X86_RET);
    assert_true(x86_finish(&x));
    assert_int_equal(x86_position(&x), 1);
    x86_free(&x);
}

/* The buffer grows and keeps what it has. */
static void test_growth(void **state)
{
    static uint8_t block[100000];
    X86 x;
    (void) state;
    for (uint32_t i = 0; i < sizeof(block); ++i)
        block[i] = (uint8_t) (i * 7 >> 3);
    x86_init(&x);
    for (uint32_t i = 0; i < 50000; ++i)
        x86_ri(&x, X86_MOV_R, X86_RAX, (int32_t) i);
    x86_bytes(&x, block, sizeof(block));
    x86_0(&x, X86_RET);
    assert_true(x86_finish(&x));
    assert_int_equal(x86_position(&x), 50000 * 5 + sizeof(block) + 1);
    for (uint32_t i = 0; i < 50000; ++i) {
        int32_t imm;
        memcpy(&imm, x.code + 5 * i + 1, 4);
        assert_int_equal(x.code[5 * i], 0xB8);
        assert_int_equal(imm, i);
    }
    assert_memory_equal(x.code + 250000, block, sizeof(block));
    assert_int_equal(x.code[250000 + sizeof(block)], 0xC3);
    x86_free(&x);
}

static void test_listing(void **state)
{
    static const char expected[] =
        "L0:\n"
        "vaddps zmm17 {k1} {z}, zmm3, dword ptr [r13+0x40] {1to16}\n"
        "mov rax, 0x123456789A\n"
        "lea rcx, [rip+L1+0x4]\n"
        "jnz L1\n"
        "jmp L0\n"
        "ret\n"
        "nop\n"
        "L1:\n"
        "ret\n";
    static const uint32_t offsets[] = { 0, 0, 7, 17, 24, 30, 32, 33, 40, 40 };
    X86Listing lines = { 0 };
    X86 x;
    (void) state;
    x86_init(&x);
    x.listing = &lines;
    const X86Label begin = x86_label(&x), end = x86_label(&x);
    x86_bind(&x, begin);
    x86_rrm(&x, X86_VADDPS | X86_512 | X86_K(1) | X86_Z | X86_B, 17, 3,
        x86_at(X86_R13, 64));
    x86_mov_imm(&x, X86_RAX, 0x123456789A);
    x86_rm(&x, X86_LEA | X86_W, X86_RCX, x86_at_label(end, 4));
    x86_jcc(&x, X86_CC_NE, end);
    x86_jmp(&x, begin);
    x86_0(&x, X86_RET);
    x86_align(&x, 8);
    x86_bind(&x, end);
    x86_0(&x, X86_RET);
    assert_true(x86_finish(&x));
    assert_string_equal(text_get(&lines.text), expected);
    assert_int_equal(lines.count, COUNT(offsets));
    for (uint32_t i = 0; i < lines.count; ++i) {
        assert_int_equal(lines.lines[i].code, offsets[i]);
        assert_true(i == 0 || text_get(&lines.text)[lines.lines[i].text - 1] == '\n');
    }
    x86_free(&x);
    x86_listing_free(&lines);
}

/* Each of the short forms puts its operands where they belong. */
static void test_forms(void **state)
{
    static const char expected[] =
        "cqo\n"
        "inc r9\n"
        "add ecx, 0x5\n"
        "mov ecx, edx\n"
        "vpsrad xmm1, xmm2, 0x3\n"
        "vsubpd ymm1, ymm2, ymm3\n"
        "vshufps zmm1, zmm2, zmm3, 0x4\n"
        "vblendvps ymm1, ymm2, ymm3, ymm4\n"
        "neg dword ptr [rcx]\n"
        "mov dword ptr [rcx], 0x5\n"
        "mov qword ptr [rcx], rdx\n"
        "vpextrd dword ptr [rcx], xmm2, 0x3\n"
        "vmaskmovps ymmword ptr [rcx], ymm2, ymm3\n"
        "vmovups zmm1, zmmword ptr [rcx]\n"
        "vpshufd zmm1, zmmword ptr [rcx], 0x3\n"
        "vgatherdps ymm1, dword ptr [rcx+ymm2*4], ymm3\n"
        "vsubps ymm1, ymm2, ymmword ptr [rcx]\n"
        "vcmpps k1, zmm2, zmmword ptr [rcx], 0x4\n"
        "vblendvps ymm1, ymm2, ymmword ptr [rcx], ymm4\n";
    const X86Mem at = x86_at(X86_RCX, 0);
    X86Listing lines = { 0 };
    X86 x;
    (void) state;
    x86_init(&x);
    x.listing = &lines;
    x86_0(&x, X86_CDQ | X86_W);
    x86_r(&x, X86_INC | X86_W, 9);
    x86_ri(&x, X86_ADD_I, 1, 5);
    x86_rr(&x, X86_MOV, 1, 2);
    x86_rri(&x, X86_VPSRAD_I, 1, 2, 3);
    x86_rrr(&x, X86_VSUBPD | X86_256, 1, 2, 3);
    x86_rrri(&x, X86_VSHUFPS | X86_512, 1, 2, 3, 4);
    x86_rrrr(&x, X86_VBLENDVPS | X86_256, 1, 2, 3, 4);
    x86_m(&x, X86_NEG, at);
    x86_mi(&x, X86_MOV_I, at, 5);
    x86_mr(&x, X86_MOV_ST | X86_W, at, 2);
    x86_mri(&x, X86_VPEXTRD, at, 2, 3);
    x86_mrr(&x, X86_VMASKMOVPS_ST | X86_256, at, 2, 3);
    x86_rm(&x, X86_VMOVUPS | X86_512, 1, at);
    x86_rmi(&x, X86_VPSHUFD | X86_512, 1, at, 3);
    x86_rmr(&x, X86_VGATHERDPS_V | X86_256, 1, x86_at_index(X86_RCX, 2, 2, 0), 3);
    x86_rrm(&x, X86_VSUBPS | X86_256, 1, 2, at);
    x86_rrmi(&x, X86_VCMPPS_K | X86_512, 1, 2, at, 4);
    x86_rrmr(&x, X86_VBLENDVPS | X86_256, 1, 2, at, 4);
    assert_true(x86_finish(&x));
    assert_string_equal(text_get(&lines.text), expected);
    x86_free(&x);
    x86_listing_free(&lines);
}

/* One instruction, the c-th copy of it, where vector registers are 8 and masks 1
 * further, and memory as X86Copies says. */
static void emit_copy(X86 *x, uint32_t which, int c)
{
    const int v = 8 * c, k = c;
    const X86Mem same = x86_at(X86_R14, -0x200), slot = x86_at(X86_R13, 64 * (c - 1)),
        lane = x86_at_index(X86_R8, X86_RBX, 2, 64 * c),
        far = x86_at(X86_R13, 64 * c + 9000),
        narrow = x86_at_index(X86_R9, X86_RBX, 0, 16 * c);
    switch (which) {
    case 0: x86_rrr(x, X86_VADDPS | X86_512, 1 + v, 2 + v, 3 + v); break;
    case 1: x86_rrr(x, X86_VADDPS | X86_512 | X86_K(2 + k) | X86_Z, 7 + v, v, v); break;
    case 2: x86_rrri(x, X86_VCMPPS_K | X86_512, 3 + k, 5 + v, 6 + v, 0x1E); break;
    case 3: x86_rrr(x, X86_VPBLENDMD | X86_512 | X86_K(1 + k), v, v, 1 + v); break;
    case 4: x86_rrr(x, X86_VADDPS | X86_512 | X86_RZ, 1 + v, 2 + v, 3 + v); break;
    case 5: x86_rrr(x, X86_VADDPS | X86_256, 1 + v, 2 + v, 3 + v); break;
    case 6: x86_rrr(x, X86_KANDW, 1 + k, 2 + k, 3 + k); break;
    case 7: x86_rrm(x, X86_VADDPS | X86_512 | X86_B, 1 + v, 2 + v, same); break;
    case 8: x86_rrmi(x, X86_VCMPPS_K | X86_512 | X86_B, 1 + k, 2 + v, same, 1); break;
    case 9: x86_rrm(x, X86_VFMADD231PS | X86_512 | X86_K(1 + k), v, 2 + v, slot); break;
    case 10: x86_rm(x, X86_VMOVUPS | X86_512, 4 + v, lane); break;
    case 11: x86_mr(x, X86_VMOVUPS_ST | X86_512, far, 7 + v); break;
    case 12: x86_rm(x, X86_VPMOVZXBD | X86_512, 7 + v, narrow); break;
    case 13: x86_rm(x, X86_VMOVUPS | X86_128, 7 + v, slot); break;
    case 14:
        x86_rm(x, X86_VPGATHERDD | X86_512 | X86_K(1 + k), v,
            x86_at_index(X86_RAX, 1 + v, 2, 8));
        break;
    default:
        if (c == 0) /* nothing to copy */
            x86_rm(x, X86_MOV | X86_W, X86_RAX, x86_at(X86_R13, 8));
    }
}

/* Instructions side by side are the same as one after the other, with and without a
 * listing. */
static void test_copies(void **state)
{
    enum { KINDS = 16, COPIES = 4 };
    (void) state;
    for (uint32_t i = 0; i < 2 * KINDS; i++) {
        X86Listing listing = { 0 };
        bool refused = false;
        X86 x, expected;
        x86_init(&x);
        x86_init(&expected);
        x86_0(&x, X86_VZEROUPPER); /* the buffer is there */
        x86_0(&expected, X86_VZEROUPPER);
        x.listing = i < KINDS ? NULL : &listing;
        x.copies = (X86Copies) { .count = COPIES, .vectors = 8, .masks = 1,
            .index = X86_RBX, .index_step = 16, .base = X86_R13, .base_step = 64,
            .refused = &refused };
        emit_copy(&x, i % KINDS, 0);
        for (int c = 0; c < COPIES; c++)
            emit_copy(&expected, i % KINDS, c);
        assert_false(refused);
        assert_int_equal(x86_position(&x), x86_position(&expected));
        assert_memory_equal(x.code, expected.code, x86_position(&x));
        x86_free(&x);
        x86_free(&expected);
        x86_listing_free(&listing);
    }
}

#if defined(JIT_HOSTILE)
/* Each allocation fails once; nothing leaks, and the same buffer works afterwards. */
static void test_out_of_memory(void **state)
{
    static const uint8_t zeros[5000];
    bool done = false;
    (void) state;
    for (uint64_t n = 1; !done; ++n) {
        X86Listing lines = { 0 };
        X86 x;
        x86_init(&x);
        x.listing = n % 2 ? &lines : NULL;
        alloc_fail_at(n);
        const X86Label label = x86_label(&x);
        for (uint32_t i = 0; i < 3000; ++i) {
            x86_rm(&x, X86_MOV | X86_W, X86_RAX, x86_at_label(label, 0));
            x86_jmp(&x, label);
        }
        x86_align(&x, 64);
        x86_bind(&x, label);
        x86_bytes(&x, zeros, sizeof(zeros));
        x86_distance(&x, label, label);
        const bool good = x86_finish(&x);
        done = alloc_steps() < n;
        alloc_fail_at(0);
        if (done)
            assert_true(good);
        if (!good)
            assert_int_equal(error_code(), JIT_ERROR_MEMORY);
        error_clear();
        x86_reset(&x);
        x86_0(&x, X86_RET);
        assert_true(x86_finish(&x));
        assert_int_equal(x86_position(&x), 1);
        assert_int_equal(x.code[0], 0xC3);
        x86_free(&x);
        x86_listing_free(&lines);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(test_run_loop),
        cmocka_unit_test(test_run_constants),
        cmocka_unit_test(test_run_jump_table),
        cmocka_unit_test(test_run_mov_imm),
        cmocka_unit_test(test_run_padding),
        cmocka_unit_test(test_run_distances),
#endif
        cmocka_unit_test(test_short_jumps),
        cmocka_unit_test(test_unbound_label),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_copies),
#if defined(JIT_HOSTILE)
        cmocka_unit_test(test_out_of_memory),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
