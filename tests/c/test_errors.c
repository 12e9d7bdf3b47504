/*
 * test_errors.c -- bad arguments to every function that makes a variable
 */
#include "errors_util.h"

/* ---------------------------------------------------------------- creation */

static void test_creation(void **unused)
{
    (void) unused;
    const float value = 1, array[4] = { 1, 2, 3, 4 };
    float aligned[4] = { 0 };
    REJECTS_ARGUMENT(jit_var_literal(CPU, VarTypeFloat32, NULL, 1, 0),
                     "jit_var_literal()", "NULL");
    for (int eval = 0; eval < 2; ++eval) {
        REJECTS_BACKENDS(jit_var_literal(backend, VarTypeFloat32, &value, 1, eval),
                         "jit_var_literal()");
        REJECTS_TYPES(jit_var_literal(CPU, type, &value, 1, eval), "jit_var_literal()");
        REJECTS_SIZES(jit_var_literal(CPU, VarTypeFloat32, &value, size, eval),
                      "jit_var_literal()");
    }
    REJECTS_BACKENDS(jit_var_f32(backend, 1), "jit_var_literal()");
    REJECTS_BACKENDS(jit_var_undefined(backend, VarTypeInt8, 5), "jit_var_undefined()");
    REJECTS_TYPES(jit_var_undefined(CPU, type, 5), "jit_var_undefined()");
    REJECTS_SIZES(jit_var_undefined(CPU, VarTypeInt8, size), "jit_var_undefined()");
    REJECTS_BACKENDS(jit_var_counter(backend, 5), "jit_var_counter()");
    REJECTS_SIZES(jit_var_counter(CPU, size), "jit_var_counter()");
    REJECTS_SIZES(jit_var_new_counter(CPU, size), "jit_var_counter()");
    REJECTS_BACKENDS(jit_var_mem_copy(backend, VarTypeFloat32, array, 4),
                     "jit_var_mem_copy()");
    REJECTS_TYPES(jit_var_mem_copy(CPU, type, array, 4), "jit_var_mem_copy()");
    REJECTS_SIZES(jit_var_mem_copy(CPU, VarTypeFloat32, array, size),
                  "jit_var_mem_copy()");
    REJECTS_ARGUMENT(jit_var_mem_copy(CPU, VarTypeFloat32, NULL, 4),
                     "jit_var_mem_copy()", "NULL", "expected");
    for (int release = 0; release < 2; ++release) { /* frees nothing when it fails */
        REJECTS_BACKENDS(jit_var_mem_map(backend, VarTypeFloat32, aligned, 4, release),
                         "jit_var_mem_map()");
        REJECTS_TYPES(jit_var_mem_map(CPU, type, aligned, 4, release),
                      "jit_var_mem_map()");
        REJECTS_SIZES(jit_var_mem_map(CPU, VarTypeFloat32, aligned, size, release),
                      "jit_var_mem_map()");
        REJECTS_ARGUMENT(jit_var_mem_map(CPU, VarTypeFloat32, NULL, 4, release),
                         "jit_var_mem_map()", "expected");
        REJECTS_ARGUMENT(
            jit_var_mem_map(CPU, VarTypeFloat32, (char *) aligned + 1, 2, release),
            "jit_var_mem_map()", "aligned");
    }
    REJECTS_INDICES(jit_var_copy(bad), "jit_var_copy()");
    REJECTS_INDICES(jit_var_resize(bad, 3), "jit_var_resize()");
    REJECTS_SIZES(jit_var_resize(x.literal, size), "jit_var_resize()");
    REJECTS_ARGUMENT(jit_var_resize(x.u32, 7), "jit_var_resize()", "6 entries",
                     "1 or 7");
    REJECTS_INDICES(jit_var_shrink(bad, 3), "jit_var_shrink()");
    REJECTS_SIZES(jit_var_shrink(x.u32, size), "jit_var_shrink()");
    REJECTS_ARGUMENT(jit_var_shrink(x.u32, 7), "jit_var_shrink()", "size is 7",
                     "1 to 6");
    REJECTS_INDICES(jit_var_migrate(bad, CPU), "jit_var_migrate()");
    REJECTS_BACKENDS(jit_var_migrate(x.u32, backend), "jit_var_migrate()");
    REJECTS_BACKENDS(jit_var_pointer(backend, array, 0, 0), "jit_var_pointer()");
    REJECTS_ARGUMENT(jit_var_pointer(CPU, array, x.freed, 0), "jit_var_pointer()",
                     "not a variable");
    REJECTS_INDICES(jit_var_opaque_width(bad), "jit_var_opaque_width()");
    REJECTS_INDICES(jit_var_reverse(bad), "jit_var_reverse()");
    REJECTS_INDICES(jit_var_tile(bad, 2), "jit_var_tile()");
    REJECTS_INDICES(jit_var_repeat(bad, 2), "jit_var_repeat()");
    const size_t counts[] = { 0, (size_t) 1 << 32, SIZE_MAX, UINT32_MAX / 6 + 1 };
    for (size_t i = 0; i < COUNT_OF(counts); ++i) {
        REJECTS_ARGUMENT(jit_var_tile(x.u32, counts[i]), "jit_var_tile()", "count is",
                         "6 entries");
        REJECTS_ARGUMENT(jit_var_repeat(x.u32, counts[i]), "jit_var_repeat()",
                         "count is", "6 entries");
    }
}

static void test_statements(void **unused)
{
    (void) unused;
    const uint32_t one[] = { x.f32 }, sizes[] = { x.u32, x.four };
    REJECTS_ARGUMENT(jit_var_stmt(CPU, VarTypeFloat32, NULL, 0, 0, NULL),
                     "jit_var_stmt()", "NULL");
    REJECTS_ARGUMENT(jit_var_stmt(CPU, VarTypeFloat32, "$r0", 0, 1, NULL),
                     "jit_var_stmt()", "NULL");
    REJECTS_ARGUMENT(jit_var_stmt(CPU, VarTypeFloat32, "$r0", 0, 5, one),
                     "jit_var_stmt()", "5 operands", "at most 4");
    REJECTS_ARGUMENT(jit_var_stmt(CPU, VarTypeFloat32, "$r0", 1, 2, sizes),
                     "jit_var_stmt()", "sizes 6 and 4");
    REJECTS_BACKENDS(jit_var_stmt(backend, VarTypeFloat32, "$r0", 0, 1, one),
                     "jit_var_stmt()");
    REJECTS_TYPES(jit_var_stmt(CPU, type, "$r0", 1, 1, one), "jit_var_stmt()");
    REJECTS_INDICES(jit_var_new_stmt_1(CPU, VarTypeFloat32, "$r0", bad),
                    "jit_var_stmt()", "operand 1");
    REJECTS_INDICES(
        jit_var_new_stmt_4(CPU, VarTypeFloat32, "$r0", x.f32, x.f32, x.f32, bad),
        "jit_var_stmt()", "operand 4");
    REJECTS_ARGUMENT(jit_var_new_stmt_0(CPU, VarTypeFloat32, NULL), "jit_var_stmt()",
                     "NULL");
}

/* -------------------------------------------------------------- arithmetic */

static void test_arithmetic(void **unused)
{
    (void) unused;
    REJECTS_INDICES(jit_var_neg(bad), "jit_var_neg()", "operand 1");
    REJECTS_INDICES(jit_var_add(bad, x.u32), "jit_var_add()", "operand 1");
    REJECTS_INDICES(jit_var_add(x.u32, bad), "jit_var_add()", "operand 2");
    REJECTS_INDICES(jit_var_and(x.u32, bad), "jit_var_and()", "operand 2");
    REJECTS_INDICES(jit_var_ceil(bad), "jit_var_ceil()", "operand 1");
    REJECTS_INDICES(jit_var_fma(x.f32, x.f32, bad), "jit_var_fma()", "operand 3");
    REJECTS_INDICES(jit_var_select(bad, x.f32, x.f32), "jit_var_select()", "operand 1");
    REJECTS_INDICES(jit_var_select(x.mask, bad, x.f32), "jit_var_select()",
                    "operand 2");
    REJECTS_INDICES(jit_var_select(x.mask, x.f32, bad), "jit_var_select()",
                    "operand 3");
    REJECTS_INDICES(jit_var_cast(bad, VarTypeInt8, 0), "jit_var_cast()");
    REJECTS_TYPES(jit_var_cast(x.u32, type, 0), "jit_var_cast()");
    REJECTS_TYPES(jit_var_new_cast(x.u32, type, 1), "jit_var_cast()");
    REJECTS_ARGUMENT(jit_var_op((JitOp) JitOpCount, &x.u32), "jit_var_op()",
                     "operation is");
    REJECTS_ARGUMENT(jit_var_op((JitOp) -1, &x.u32), "jit_var_op()", "operation is");
    REJECTS_ARGUMENT(jit_var_op(JitOpNeg, NULL), "jit_var_op()", "NULL");
    REJECTS_INDICES(jit_var_op_number(JitOpAdd, bad, 1, 0), "jit_var_add()",
                    "operand 1");
    REJECTS_INDICES(jit_var_op_number(JitOpAdd, bad, 1, 1), "jit_var_add()",
                    "operand 2");
    REJECTS_ARGUMENT(jit_var_op_number(JitOpNeg, x.u32, 1, 0), "jit_var_op_number()",
                     "two operands");
    REJECTS_ARGUMENT(jit_var_op_number((JitOp) JitOpCount, x.u32, 1, 0),
                     "jit_var_op_number()", "operation is");
    REJECTS_ARGUMENT(jit_var_op_number(JitOpShl, x.f32, 1, 0), "jit_var_shl()",
                     "float32");
    REJECTS_ARGUMENT(jit_var_new_op_1(JitOpAdd, x.u32), "jit_var_new_op_1()", "add",
                     "takes 2");
    REJECTS_ARGUMENT(jit_var_new_op_2(JitOpFma, x.u32, x.u32), "jit_var_new_op_2()",
                     "takes 3");
    REJECTS_ARGUMENT(jit_var_new_op_3(JitOpNeg, x.u32, x.u32, x.u32),
                     "jit_var_new_op_3()", "takes 1");
    REJECTS_ARGUMENT(jit_var_new_op_4(JitOpFma, x.u32, x.u32, x.u32, x.u32),
                     "jit_var_new_op_4()", "takes 3");
    REJECTS_ARGUMENT(jit_var_add(x.u32, x.four), "jit_var_add()", "sizes 6 and 4",
                     "expected");
    REJECTS_ARGUMENT(jit_var_fma(x.u32, x.literal, x.four), "jit_var_fma()",
                     "sizes 6 and 4");
    REJECTS_ARGUMENT(jit_var_select(x.mask, x.four, x.literal), "jit_var_select()",
                     "sizes 6 and 4");
    REJECTS_ARGUMENT(jit_var_and(x.four, x.mask), "jit_var_and()", "sizes 4 and 6");
    REJECTS_ARGUMENT(jit_var_or(x.four, x.mask), "jit_var_or()", "sizes 4 and 6");
    REJECTS_ARGUMENT(jit_var_and(x.mask, x.u32), "jit_var_and()", "uint32",
                     "expected bool");
    REJECTS_ARGUMENT(jit_var_add(x.empty, x.u32), "jit_var_add()", "empty");
    REJECTS_ARGUMENT(jit_var_neg(x.pointer), "jit_var_neg()", "not defined", "pointer");
    REJECTS_ARGUMENT(jit_var_and(x.pointer, x.mask), "jit_var_and()", "pointer");
}

/* -------------------------------------------------------------- memory ops */

static void test_gathers(void **unused)
{
    (void) unused;
    uint32_t out[64] = { 0 };
    REJECTS_INDICES(jit_var_gather(bad, x.u32, 0), "jit_var_gather()", "the source");
    REJECTS_INDICES(jit_var_gather(x.f32, bad, 0), "jit_var_gather()", "the index");
    REJECTS_ARGUMENT(jit_var_gather(x.f32, x.u32, x.freed), "jit_var_gather()",
                     "the mask", "not a variable");
    REJECTS_ARGUMENT(jit_var_gather(x.f32, x.i64, 0), "jit_var_gather()",
                     "index is int64", "expected int32 or uint32");
    REJECTS_ARGUMENT(jit_var_gather(x.f32, x.f32, 0), "jit_var_gather()",
                     "index is float32");
    REJECTS_ARGUMENT(jit_var_gather(x.f32, x.u32, x.u32), "jit_var_gather()",
                     "mask is uint32", "expected bool");
    REJECTS_ARGUMENT(jit_var_gather(x.f32, x.four, x.mask), "jit_var_gather()",
                     "sizes 4 and 6");
    REJECTS_ARGUMENT(jit_var_gather(x.pointer, x.u32, 0), "jit_var_gather()",
                     "pointer");
    REJECTS_ARGUMENT(jit_var_gather(x.empty, x.u32, 0), "jit_var_gather()", "empty");
    REJECTS_ARGUMENT(jit_var_gather(x.f32, x.empty, 0), "jit_var_gather()", "empty");
    REJECTS_ARGUMENT(jit_var_gather_packet(2, x.f32, x.u32, 0, NULL),
                     "jit_var_gather_packet()", "NULL");
    const size_t sizes[] = {
        0, 5, 9, 65, 96, 128, SIZE_MAX, (size_t) 1 << 32, ((size_t) 1 << 32) + 2
    };
    for (size_t i = 0; i < COUNT_OF(sizes); ++i) {
        REJECTS_ARGUMENT(jit_var_gather_packet(sizes[i], x.f32, x.u32, 0, out),
                         "jit_var_gather_packet()", "power of two");
        REJECTS_ARGUMENT(jit_var_scatter_packet(sizes[i], x.f32, out, x.u32, 0,
                                                ReduceOpIdentity, ReduceModeAuto),
                         "jit_var_scatter_packet()", "power of two");
    }
    for (int packets = 0; packets < 2; ++packets) {
        jit_set_flag(JitFlagPacketOps, packets);
        REJECTS_ARGUMENT(jit_var_gather_packet(4, x.f32, x.u32, 0, out),
                         "jit_var_gather_packet()", "6 entries", "multiple of 4");
        REJECTS_INDICES(jit_var_gather_packet(2, bad, x.u32, 0, out),
                        "jit_var_gather_packet()", "the source");
        REJECTS_INDICES(jit_var_gather_packet(2, x.f32, bad, 0, out),
                        "jit_var_gather_packet()", "the index");
    }
    assert_int_equal(out[0], 0);
}

static void test_scatters(void **unused)
{
    (void) unused;
    const ReduceOp id = ReduceOpIdentity;
    const ReduceMode mode = ReduceModeAuto;
    const char *name = "jit_var_scatter()";
    REJECTS_INDICES(jit_var_scatter(bad, x.f32, x.u32, 0, id, mode), name,
                    "the target");
    REJECTS_INDICES(jit_var_scatter(x.f32, bad, x.u32, 0, id, mode), name, "the value");
    REJECTS_INDICES(jit_var_scatter(x.f32, x.f32, bad, 0, id, mode), name, "the index");
    REJECTS_ARGUMENT(jit_var_scatter(x.f32, x.f32, x.u32, x.freed, id, mode), name,
                     "the mask");
    REJECTS_ARGUMENT(jit_var_scatter(x.f32, x.u32, x.u32, 0, id, mode), name,
                     "value is uint32", "expected float32");
    REJECTS_ARGUMENT(jit_var_scatter(x.f32, x.f32, x.i64, 0, id, mode), name,
                     "index is int64");
    REJECTS_ARGUMENT(jit_var_scatter(x.f32, x.f32, x.u32, x.u32, id, mode), name,
                     "mask is uint32", "expected bool");
    REJECTS_ARGUMENT(jit_var_scatter(x.u32, x.u32, x.four, 0, id, mode), name,
                     "6 entries", "have 4");
    REJECTS_ARGUMENT(jit_var_scatter(x.u32, x.u32, x.four, x.mask, id, mode), name,
                     "sizes 4 and 6");
    REJECTS_ARGUMENT(jit_var_scatter(x.u32, x.u32, x.u32, 0, (ReduceOp) 8, mode), name,
                     "operation 8");
    REJECTS_ARGUMENT(jit_var_scatter(x.u32, x.u32, x.u32, 0, (ReduceOp) -1, mode), name,
                     "operation -1");
    REJECTS_ARGUMENT(jit_var_scatter(x.u32, x.u32, x.u32, 0, id, (ReduceMode) 6), name,
                     "mode 6");
    REJECTS(jit_var_scatter(x.f32, x.f32, x.u32, 0, ReduceOpAnd, mode),
            JIT_ERROR_UNSUPPORTED, name, "float32");
    REJECTS(jit_var_scatter(x.mask, x.mask, x.u32, 0, ReduceOpAdd, mode),
            JIT_ERROR_UNSUPPORTED, name, "bool");
    REJECTS_ARGUMENT(jit_var_scatter(x.pointer, x.f32, x.u32, 0, id, mode), name,
                     "pointer");
    REJECTS_ARGUMENT(jit_var_scatter(x.empty, x.u32, x.u32, 0, id, mode), name,
                     "empty");
    uint32_t values[2] = { x.u32, x.freed };
    REJECTS_ARGUMENT(jit_var_scatter_packet(2, x.u32, NULL, x.u32, 0, id, mode),
                     "jit_var_scatter_packet()", "NULL");
    for (int packets = 0; packets < 2; ++packets) {
        jit_set_flag(JitFlagPacketOps, packets);
        values[1] = x.freed;
        REJECTS_ARGUMENT(jit_var_scatter_packet(2, x.u32, values, x.u32, 0, id, mode),
                         "jit_var_scatter_packet()", "the value", "not a variable");
        values[1] = x.f32;
        REJECTS_ARGUMENT(jit_var_scatter_packet(2, x.u32, values, x.u32, 0, id, mode),
                         "jit_var_scatter_packet()", "float32", "uint32");
        uint32_t all[4] = { x.u32, x.u32, x.u32, x.u32 };
        REJECTS_ARGUMENT(jit_var_scatter_packet(4, x.u32, all, x.u32, 0, id, mode),
                         "jit_var_scatter_packet()", "6 entries", "multiple of 4");
    }
    assert_true(jit_var_eval(x.lazy)); /* and nothing was queued */
    CHECK_U32(x.u32, 5, 4, 3, 2, 1, 0);
}

static void test_atomics(void **unused)
{
    (void) unused;
    uint32_t target = x.u32, out[2] = { 11, 12 };
    uint32_t wrong;
    REJECTS_ARGUMENT(jit_var_scatter_inc(NULL, x.u32, 0), "jit_var_scatter_inc()",
                     "NULL");
    REJECTS_INDICES((wrong = bad, jit_var_scatter_inc(&wrong, x.u32, 0)),
                    "jit_var_scatter_inc()", "the target");
    REJECTS_INDICES(jit_var_scatter_inc(&target, bad, 0), "jit_var_scatter_inc()",
                    "the index");
    wrong = x.f32;
    REJECTS_ARGUMENT(jit_var_scatter_inc(&wrong, x.u32, 0), "jit_var_scatter_inc()",
                     "float32", "expected uint32");
    REJECTS_ARGUMENT(jit_var_scatter_inc(&target, x.i64, 0), "jit_var_scatter_inc()",
                     "int64");
    REJECTS_ARGUMENT(jit_var_scatter_inc(&target, x.u32, x.f32),
                     "jit_var_scatter_inc()", "mask is float32");
    REJECTS_ARGUMENT(jit_var_scatter_exch(NULL, x.u32, x.u32, 0),
                     "jit_var_scatter_exch()", "NULL");
    REJECTS_INDICES((wrong = bad, jit_var_scatter_exch(&wrong, x.u32, x.u32, 0)),
                    "jit_var_scatter_exch()", "the target");
    REJECTS_ARGUMENT(jit_var_scatter_exch(&target, x.f32, x.u32, 0),
                     "jit_var_scatter_exch()", "value is float32", "expected uint32");
    REJECTS_ARGUMENT(jit_var_scatter_exch(&target, x.u32, x.four, 0),
                     "jit_var_scatter_exch()", "6 entries", "have 4");
    REJECTS_ARGUMENT(jit_var_scatter_cas(NULL, x.u32, x.u32, x.u32, 0, out),
                     "jit_var_scatter_cas()", "NULL");
    REJECTS_ARGUMENT(jit_var_scatter_cas(&target, x.u32, x.u32, x.u32, 0, NULL),
                     "jit_var_scatter_cas()", "NULL");
    REJECTS_INDICES(jit_var_scatter_cas(&target, bad, x.u32, x.u32, 0, out),
                    "jit_var_scatter_cas()", "comparison");
    REJECTS_ARGUMENT(jit_var_scatter_cas(&target, x.f32, x.u32, x.u32, 0, out),
                     "jit_var_scatter_cas()", "float32", "expected uint32");
    REJECTS_ARGUMENT(jit_var_scatter_cas(&target, x.u32, x.f32, x.u32, 0, out),
                     "jit_var_scatter_cas()", "float32", "expected uint32");
    REJECTS_ARGUMENT(
        jit_var_scatter_cas(&target, x.u32, x.literal, x.literal, x.four, out),
        "jit_var_scatter_cas()", "mask is uint32");
    uint32_t errors = x.u32, sums = x.f32;
    REJECTS_ARGUMENT(jit_var_scatter_add_kahan(NULL, &errors, x.f32, x.u32, 0),
                     "jit_var_scatter_add_kahan()", "target_1");
    REJECTS_ARGUMENT(jit_var_scatter_add_kahan(&sums, NULL, x.f32, x.u32, 0),
                     "jit_var_scatter_add_kahan()", "target_2");
    REJECTS_ARGUMENT(jit_var_scatter_add_kahan(&sums, &errors, x.f32, x.u32, 0),
                     "jit_var_scatter_add_kahan()", "float32", "uint32");
    REJECTS_ARGUMENT(jit_var_scatter_add_kahan(&sums, &sums, x.f32, x.u32, 0),
                     "jit_var_scatter_add_kahan()", "two variables");
    REJECTS_INDICES((wrong = bad,
                     jit_var_scatter_add_kahan(&sums, &wrong, x.f32, x.u32, 0)),
                    "jit_var_scatter_add_kahan()", "target 2");
    assert_int_equal(sums, x.f32);
    assert_int_equal(target, x.u32);
    assert_int_equal(out[0], 11);
    assert_int_equal(out[1], 12);
}

static void test_entries(void **unused)
{
    (void) unused;
    uint32_t value = 9;
    void *data = &value;
    REJECTS_ARGUMENT(jit_var_read(x.u32, 0, NULL), "jit_var_read()", "NULL");
    REJECTS_INDICES(jit_var_read(bad, 0, &value), "jit_var_read()");
    REJECTS_ARGUMENT(jit_var_read(x.u32, 6, &value), "jit_var_read()", "offset is 6",
                     "than 6");
    REJECTS_ARGUMENT(jit_var_read(x.u32, SIZE_MAX, &value), "jit_var_read()",
                     "offset is");
    REJECTS_ARGUMENT(jit_var_read(x.literal, 1, &value), "jit_var_read()",
                     "offset is 1");
    REJECTS_ARGUMENT(jit_var_read(x.empty, 0, &value), "jit_var_read()", "empty");
    REJECTS_ARGUMENT(jit_var_write(x.u32, 0, NULL), "jit_var_write()", "NULL");
    REJECTS_INDICES(jit_var_write(bad, 0, &value), "jit_var_write()");
    REJECTS_ARGUMENT(jit_var_write(x.u32, 6, &value), "jit_var_write()", "offset is 6");
    REJECTS_ARGUMENT(jit_var_data(x.u32, NULL), "jit_var_data()", "NULL");
    REJECTS_INDICES(jit_var_data(bad, &data), "jit_var_data()");
    REJECTS_ARGUMENT(jit_var_data(x.empty, &data), "jit_var_data()", "empty");
    REJECTS_INDICES(jit_var_str(bad), "jit_var_str()");
    assert_int_equal(value, 9);
    assert_ptr_equal(data, &value);
}

/* -------------------------------------------------------------- reductions */

static void test_reductions(void **unused)
{
    (void) unused;
    REJECTS_INDICES(jit_var_compress(bad), "jit_var_compress()");
    REJECTS_INDICES(jit_var_compress_temporary(bad, 1), "jit_var_compress_temporary()");
    REJECTS_ARGUMENT(jit_var_compress(x.u32), "jit_var_compress()", "uint32",
                     "expected bool");
    REJECTS_INDICES(jit_var_all(bad), "jit_var_all()");
    REJECTS_INDICES(jit_var_any(bad), "jit_var_any()");
    REJECTS_ARGUMENT(jit_var_all(x.u32), "jit_var_all()", "uint32", "expected bool");
    REJECTS_ARGUMENT(jit_var_any(x.f32), "jit_var_any()", "float32", "expected bool");
    REJECTS_INDICES(jit_var_reduce(bad, ReduceOpAdd), "jit_var_reduce()");
    REJECTS_ARGUMENT(jit_var_reduce(x.mask, ReduceOpAdd), "jit_var_reduce()", "bool");
    REJECTS_ARGUMENT(jit_var_reduce(x.f32, ReduceOpAnd), "jit_var_reduce()", "float32");
    REJECTS_ARGUMENT(jit_var_reduce(x.pointer, ReduceOpAdd), "jit_var_reduce()",
                     "pointer");
    REJECTS_ARGUMENT(jit_var_reduce(x.empty, ReduceOpAdd), "jit_var_reduce()", "empty");
    const int ops[] = { ReduceOpIdentity, ReduceOpCount, -1, 99 };
    for (size_t i = 0; i < COUNT_OF(ops); ++i) {
        REJECTS_ARGUMENT(jit_var_reduce(x.u32, (ReduceOp) ops[i]), "jit_var_reduce()");
        REJECTS_ARGUMENT(jit_var_block_reduce((ReduceOp) ops[i], x.u32, 2),
                         "jit_var_block_reduce()");
        REJECTS_ARGUMENT(jit_var_block_prefix_reduce((ReduceOp) ops[i], x.u32, 2, 0, 0),
                         "jit_var_block_prefix_reduce()");
        REJECTS_ARGUMENT(jit_var_block_prefix_reduce((ReduceOp) ops[i], x.u32, 1, 0, 0),
                         "jit_var_block_prefix_reduce()");
        REJECTS_ARGUMENT(jit_var_reduce(x.literal, (ReduceOp) ops[i]),
                         "jit_var_reduce()");
    }
    const size_t blocks[] = { 0, 4, 7, SIZE_MAX, (size_t) 6 << 32 };
    for (size_t i = 0; i < COUNT_OF(blocks); ++i) {
        REJECTS_ARGUMENT(jit_var_block_reduce(ReduceOpAdd, x.u32, blocks[i]),
                         "jit_var_block_reduce()", "block size is", "divisor");
        if (blocks[i]) /* 0: all entries */
            REJECTS_ARGUMENT(
                jit_var_block_prefix_reduce(ReduceOpAdd, x.u32, blocks[i], 1, 0),
                "jit_var_block_prefix_reduce()", "block size is", "divisor");
    }
    const JitAxis axes[] = { { 0, 2, NULL },
                             { 2, 0, NULL },
                             { 2, 5, NULL },
                             { SIZE_MAX, SIZE_MAX, NULL },
                             { (size_t) 6 << 32, 2, NULL } };
    for (size_t i = 0; i < COUNT_OF(axes); ++i) {
        REJECTS_ARGUMENT(jit_var_axis_reduce(ReduceOpAdd, x.u32, &axes[i]),
                         "jit_var_axis_reduce()", "the axis has", "divides the size");
        REJECTS_ARGUMENT(jit_var_axis_prefix_reduce(ReduceOpAdd, x.u32, &axes[i], 0, 0),
                         "jit_var_axis_prefix_reduce()", "the axis has",
                         "divides the size");
        for (size_t k = 1; k < 6; k += 4) {
            const JitTranspose places = { axes[i].extent, axes[i].stride, k, NULL };
            REJECTS_ARGUMENT(jit_var_transpose(x.u32, &places), "jit_var_transpose()",
                             "divides the size");
        }
    }
    const JitAxis columns = { 3, 2, NULL };
    REJECTS_ARGUMENT(jit_var_axis_reduce(ReduceOpIdentity, x.u32, &columns),
                     "jit_var_axis_reduce()");
    REJECTS_ARGUMENT(jit_var_axis_reduce(ReduceOpAdd, x.u32, NULL),
                     "jit_var_axis_reduce()", "axis");
    REJECTS_INDICES(jit_var_axis_reduce(ReduceOpAdd, bad, &columns),
                    "jit_var_axis_reduce()");
    REJECTS_ARGUMENT(jit_var_axis_prefix_reduce(ReduceOpAnd, x.f32, &columns, 0, 0),
                     "jit_var_axis_prefix_reduce()");
    REJECTS_ARGUMENT(jit_var_axis_prefix_reduce(ReduceOpAdd, x.u32, NULL, 0, 0),
                     "jit_var_axis_prefix_reduce()", "axis");
    REJECTS_INDICES(jit_var_axis_prefix_reduce(ReduceOpAdd, bad, &columns, 0, 0),
                    "jit_var_axis_prefix_reduce()");
    const JitTranspose places = { 3, 2, 1, NULL };
    REJECTS_ARGUMENT(jit_var_transpose(x.u32, NULL), "jit_var_transpose()", "axes");
    REJECTS_INDICES(jit_var_transpose(bad, &places), "jit_var_transpose()");
    REJECTS_INDICES(jit_var_block_reduce(ReduceOpAdd, bad, 1),
                    "jit_var_block_reduce()");
    REJECTS_INDICES(jit_var_block_prefix_reduce(ReduceOpAdd, bad, 1, 0, 0),
                    "jit_var_block_prefix_reduce()");
    REJECTS_INDICES(jit_var_reduce_dot(bad, x.f32), "jit_var_reduce_dot()",
                    "operand 1");
    REJECTS_INDICES(jit_var_reduce_dot(x.f32, bad), "jit_var_reduce_dot()",
                    "operand 2");
    REJECTS_ARGUMENT(jit_var_reduce_dot(x.u32, x.u32), "jit_var_reduce_dot()", "uint32",
                     "floating");
    REJECTS_ARGUMENT(jit_var_reduce_dot(x.f32, x.u32), "jit_var_reduce_dot()",
                     "uint32");
    uint32_t two = literal_of(VarTypeFloat32, 0, 2);
    REJECTS_ARGUMENT(jit_var_reduce_dot(x.f32, two), "jit_var_reduce_dot()",
                     "sizes 6 and 2");
    jit_var_dec_ref(two);
    uint64_t bits = 42;
    REJECTS_ARGUMENT(jit_reduce_identity(VarTypeFloat32, ReduceOpAdd, NULL),
                     "jit_reduce_identity()", "NULL");
    REJECTS_ARGUMENT(jit_reduce_identity(VarTypeFloat32, ReduceOpAnd, &bits),
                     "jit_reduce_identity()");
    REJECTS_ARGUMENT(jit_reduce_identity(VarTypeVoid, ReduceOpAdd, &bits),
                     "jit_reduce_identity()");
    REJECTS_ARGUMENT(jit_reduce_identity((VarType) 99, (ReduceOp) 99, &bits),
                     "jit_reduce_identity()");
    assert_int_equal(bits, 42);
}

static void test_primitives(void **unused)
{
    (void) unused;
    uint32_t keys[4] = { 1, 0, 1, 0 }, perm[4] = { 0 };
    bool ok = true;
    const char *name = "jit_block_mkperm()";
    REJECTS_ARGUMENT((jit_block_mkperm(CPU, NULL, 4, 4, 2, perm, NULL, &ok), ok), name,
                     "NULL");
    ok = true;
    REJECTS_ARGUMENT((jit_block_mkperm(CPU, keys, 4, 4, 2, NULL, NULL, &ok), ok), name,
                     "NULL");
    REJECTS_ARGUMENT((jit_block_mkperm(CPU, keys, 0, 4, 2, perm, NULL, &ok), ok), name,
                     "size is 0");
    REJECTS_ARGUMENT((jit_block_mkperm(CPU, keys, 4, 0, 2, perm, NULL, &ok), ok), name,
                     "block_size 0");
    REJECTS_ARGUMENT((jit_block_mkperm(CPU, keys, 4, 3, 2, perm, NULL, &ok), ok), name,
                     "block_size 3");
    REJECTS_ARGUMENT((jit_block_mkperm(CPU, keys, 4, 4, 0, perm, NULL, &ok), ok), name,
                     "bucket_count 0");
    REJECTS_BACKENDS((jit_block_mkperm(backend, keys, 4, 4, 2, perm, NULL, &ok), ok),
                     name);
    uint8_t block[16];
    AggregationEntry entry = { 3, 0, block };
    REJECTS_ARGUMENT(jit_aggregate(CPU, NULL, &entry, 1), "jit_aggregate()", "NULL");
    REJECTS_ARGUMENT(jit_aggregate(CPU, block, NULL, 1), "jit_aggregate()", "NULL");
    REJECTS_ARGUMENT(jit_aggregate(CPU, block, &entry, 1), "jit_aggregate()", "size 3",
                     "expected");
    entry.size = 0;
    REJECTS_ARGUMENT(jit_aggregate(CPU, block, &entry, 1), "jit_aggregate()", "size 0");
    entry = (AggregationEntry){ -8, 0, NULL };
    REJECTS_ARGUMENT(jit_aggregate(CPU, block, &entry, 1), "jit_aggregate()", "NULL");
    entry = (AggregationEntry){ 4, 0, block };
    REJECTS_BACKENDS(jit_aggregate(backend, block, &entry, 1), "jit_aggregate()");
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        FIXED(test_creation), FIXED(test_statements), FIXED(test_arithmetic),
        FIXED(test_gathers), FIXED(test_scatters), FIXED(test_atomics),
        FIXED(test_entries), FIXED(test_reductions), FIXED(test_primitives),
    };
    return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
