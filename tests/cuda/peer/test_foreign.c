/*
 * test_foreign.c -- what the published package's PTX has and ours has not
 *
 * Each kernel stores one word for each of 32 threads, which the host knows, too. What
 * name[index] means was asked of ptxas (13.0): it gives the same code as the address
 * computed by mul.lo in the width of the index.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sim.h"

/* Compile declarations and a body in which %t is the thread and %x what is stored. */
static SimModule *compile(const char *declarations, const char *body,
                          const char *behind, char error[SIM_MESSAGE])
{
    char text[4000];
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_80\n.address_size 64\n%s\n"
             ".visible .entry k(.param .u64 out)\n{\n"
             ".reg .b32 %%t, %%x, %%y; .reg.b64 %%a,%%o; .reg .pred %%p, %%q, %%r;\n"
             "mov.u32 %%t, %%tid.x;\n%s\n"
             "ld.param.u64 %%o, [out];\nmul.wide.u32 %%a, %%t, 4;\n"
             "add.u64 %%a, %%o, %%a;\nst.global.u32 [%%a], %%x;\nret;\n}\n%s\n",
             declarations, body, behind);
    return sim_parse(text, SIM_FOREIGN, error);
}

static void run(const char *declarations, const char *body, const char *behind,
                uint32_t found[SIM_WARP])
{
    char error[SIM_MESSAGE] = "";
    SimModule *module = compile(declarations, body, behind, error);
    assert_string_equal(error, "");
    SimMemory *memory = sim_memory_new();
    uint32_t *out = sim_memory_get(memory, SIM_WARP * sizeof *out);
    memset(out, 0xff, SIM_WARP * sizeof *out);
    sim_memory_written(memory, out, SIM_WARP * sizeof *out);
    const SimLaunch launch = { .kernel = sim_find(module, "k"),
                               .block = { SIM_WARP, 1, 1 },
                               .params = &out,
                               .param_bytes = sizeof out,
                               .memory = memory };
    SimResult result;
    bool done = sim_run(&launch, &result);
    assert_string_equal(result.message, "");
    assert_true(done);
    memcpy(found, out, SIM_WARP * sizeof *out);
    sim_memory_delete(memory);
    sim_free(module);
}

static void test_entries_of_variables(void **unused)
{
    (void) unused;
    uint32_t x[SIM_WARP];
    /* Entry (t & 3), and entry 2. */
    run(".global .align 4 .u32 table[4] = {7, 11, 13, 17};",
        "and.b32 %y, %t, 3; ld.global.u32 %x, table[%y]; ld.global.u32 %y, table[2];"
        "mad.lo.u32 %x, %y, 100, %x;",
        "", x);
    const uint32_t table[4] = { 7, 11, 13, 17 };
    for (uint32_t t = 0; t < SIM_WARP; ++t)
        assert_int_equal(x[t], 1300 + table[t & 3]);
    /* A local array is written and read by index. */
    run("",
        ".local .align 8 .b64 array[3];\n"
        "rem.u32 %y, %t, 3; cvt.u64.u32 %a, %t; st.local.b64 array[%y], %a;"
        "shl.b32 %y, %y, 3; mov.u64 %a, array; cvt.u64.u32 %o, %y;"
        "add.u64 %a, %a, %o; ld.local.u32 %x, [%a];",
        "", x);
    for (uint32_t t = 0; t < SIM_WARP; ++t)
        assert_int_equal(x[t], t);
    /* An index times the size is a number of 32 bits: 4 * 0x40000001 is 4. */
    run(".global .align 4 .u32 table[4] = {7, 11, 13, 17};",
        "mov.u32 %y, 0x40000001; ld.global.u32 %x, table[%y];", "", x);
    assert_int_equal(x[0], 11);
}

static void test_entry_of_nothing(void **unused)
{
    (void) unused;
    char error[SIM_MESSAGE];
    assert_null(compile("", "ld.global.u32 %x, nothing[%t];", "", error));
    assert_non_null(strstr(error, "line 9"));
    assert_non_null(strstr(error, "nothing"));
    /* Of another space. */
    assert_null(compile(".shared .u32 s[4];", "ld.global.u32 %x, s[%t];", "", error));
    assert_null(compile("", "ld.global.u32 %x, k[%t];", "", error));
}

static void test_declared_first(void **unused)
{
    (void) unused;
    uint32_t x[SIM_WARP];
    run(".extern .global .u32 table[2];",
        "and.b32 %y, %t, 1; ld.global.u32 %x, table[%y];",
        ".visible .global .align 4 .u32 table[2] = {3, 5};", x);
    for (uint32_t t = 0; t < SIM_WARP; ++t)
        assert_int_equal(x[t], t & 1 ? 5 : 3);
    char error[SIM_MESSAGE];
    assert_null(compile(".extern .global .u32 table[2];", "mov.u32 %x, 0;",
                        ".global .u32 table[3];", error));
    assert_non_null(strstr(error, "twice"));
    assert_null(compile(".extern .global .u32 table[2];", "mov.u32 %x, 0;",
                        ".global .u32 table[2]; .global .u32 table[2];", error));
}

static void test_negated_sources(void **unused)
{
    (void) unused;
    uint32_t x[SIM_WARP];
    run("",
        "setp.lt.u32 %p, %t, 20; setp.gt.u32 %q, %t, 10; mov.u32 %x, 0;"
        "and.pred %r, %p, !%q; @%r or.b32 %x, %x, 1;"
        "or.pred %r, !%p, !%q; @%r or.b32 %x, %x, 2;"
        "xor.pred %r, !%p, %q; @%r or.b32 %x, %x, 4;",
        "", x);
    for (uint32_t t = 0; t < SIM_WARP; ++t) {
        bool p = t<20, q = t> 10;
        uint32_t want = (p && !q ? 1u : 0) | (!p || !q ? 2u : 0) | (p == q ? 4u : 0);
        assert_int_equal(x[t], want);
    }
}

/* In place, as nvcc compiles it for pointers that are said not to alias. */
static void test_nc_in_place(void **unused)
{
    (void) unused;
    uint32_t x[SIM_WARP];
    run("",
        "ld.param.u64 %o, [out]; mul.wide.u32 %a, %t, 4; add.u64 %a, %o, %a;"
        "ld.global.nc.u32 %x, [%a]; add.u32 %x, %x, %t;",
        "", x);
    for (uint32_t t = 0; t < SIM_WARP; ++t)
        assert_int_equal(x[t], t - 1u);
}

static void test_params(void **unused)
{
    (void) unused;
    char error[SIM_MESSAGE];
    SimModule *module =
        sim_parse(".version 7.0\n.target sm_70\n.address_size 64\n"
                  ".entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[24],\n"
                  "         .param .u16 d) { ret; }\n",
                  SIM_STRICT, error);
    assert_non_null(module);
    const uint32_t want[][2] = { { 0, 1 }, { 8, 8 }, { 16, 24 }, { 40, 2 } };
    const SimKernel *kernel = sim_find(module, "k");
    uint32_t offset, bytes;
    for (uint32_t i = 0; i < 4; ++i) {
        assert_true(sim_kernel_param(kernel, i, &offset, &bytes));
        assert_int_equal(offset, want[i][0]);
        assert_int_equal(bytes, want[i][1]);
    }
    assert_false(sim_kernel_param(kernel, 4, &offset, &bytes));
    sim_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_of_variables),
        cmocka_unit_test(test_entry_of_nothing),
        cmocka_unit_test(test_declared_first),
        cmocka_unit_test(test_negated_sources),
        cmocka_unit_test(test_nc_in_place),
        cmocka_unit_test(test_params),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
