/*
 * test_llvm_object.c -- code of the llvm engine that is saved and loaded, and its
 * object loader against damaged files
 */
#include "llvm_programs.h"

#include "device/cpu/launch/cpu_code.h"
#include "engine/llvm/llvm_object.h"

static Program *object_program(void)
{
    Program *program = new_program();
    uint32_t pointer = add_pointer(program, VarTypeFloat32, true);
    uint32_t value = add_input(program, VarTypeFloat32);
    uint32_t c = program_add_literal(program, VarTypeFloat32, 0x40490fdb);
    value =
        program_add(program, OP_MUL, VarTypeFloat32, 0, 2, (uint32_t[]){ value, c });
    uint32_t mask = program_add_literal(program, VarTypeBool, 1);
    program_add(program, OP_SCATTER, VarTypeVoid, ReduceOpMax | ReduceModeLocal << 8, 4,
                (uint32_t[]){ pointer, value, add_index(program, false), mask });
    add_output(program, value);
    return program;
}

static void test_save_and_load(void **state)
{
    (void) state;
    Program *program = object_program();
    Code *code = llvm_engine.compile(program, &(CodeSpec){ .hash = test_hash });
    assert_non_null(code);
    const void *data;
    size_t size;
    assert_true(llvm_engine.save(code, &data, &size));
    Code *again = llvm_engine.load(data, size);
    assert_non_null(again);
    uint64_t args[32];
    fill_args(program, args, LANES);
    float *out = (float *) (uintptr_t) args[3], *in = (float *) (uintptr_t) args[1];
    code_release(code);
    cpu_code_run(again, args, 0, LANES, 0, NULL);
    for (int i = 0; i < LANES; i++) {
        float expected = in[i] * 3.14159274f;
        assert_true(memcmp(&out[i], &expected, 4) == 0 ||
                    is_nan(VarTypeFloat32, &expected));
    }
    assert_true(llvm_engine.code_size(again) > 0);
    code_release(again);
    free_args(program, args);
    program_free(program);
}

/* Damaged objects are refused or load; they never bring the loader down. */
static void test_hostile_objects(void **state)
{
    (void) state;
    Program *program = object_program();
    Code *code = llvm_engine.compile(program, &(CodeSpec){ .hash = test_hash });
    assert_non_null(code);
    const void *data;
    size_t size;
    LlvmObject object;
    assert_true(llvm_engine.save(code, &data, &size));
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1); /* exact size: reading on is noticed */
        memcpy(copy, data, cut);
        assert_false(llvm_object_map(copy, cut, "drjit_", &object));
        assert_null(object.memory);
        free(copy);
    }
    uint8_t *copy = malloc(size);
    for (int round = 0; round < 200000; round++) {
        memcpy(copy, data, size);
        int flips = 1 + (int) (random_bits() % 4);
        for (int i = 0; i < flips; i++) {
            /* Mostly in the header and the section table at the end. */
            size_t at = random_bits() >> 10;
            size_t span = 1200 < size ? 1200 : size;
            at = round % 3 == 0   ? at % size
                 : round % 3 == 1 ? at % 64
                                  : size - 1 - at % span;
            copy[at] ^= (uint8_t) (1 << (random_bits() >> 13 & 7));
        }
        if (llvm_object_map(copy, size, "drjit_", &object)) {
            llvm_object_unmap(&object);
        }
    }
    assert_false(llvm_object_map(data, size, "other_", &object));
    free(copy);
    code_release(code);
    program_free(program);
}

static void test_memory_failures(void **state)
{
    (void) state;
    Program *program = object_program();
    for (uint64_t n = 1;; n++) {
        alloc_fail_at(n);
        Code *code = llvm_engine.compile(program, &(CodeSpec){ .hash = test_hash });
        bool reached = alloc_steps() >= n;
        alloc_fail_at(0);
        if (code) {
            code_release(code);
        }
        assert_true(code || reached);
        if (!reached) {
            break;
        }
    }
    program_free(program);
}

int main(void)
{
    if (!llvm_engine.available()) {
        printf("test_llvm_object skipped: %s\n", error_message());
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_hostile_objects),
        cmocka_unit_test(test_memory_failures)
    };
    return cmocka_run_group_tests_name("llvm object", tests, NULL, NULL);
}
