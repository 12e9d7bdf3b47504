/*
 * freeze.c -- a function that is recorded once and repeated for arrays of other sizes
 *
 *     freeze            prints the mean of x * x for several x, and the recording
 *
 * The first call of mean_square() traces it; the others launch what was recorded.
 */
#include <stdio.h>
#include <stdlib.h>

#include <drjit-core/jit.h>

#define CPU JitBackendLLVM

static int calls;

/* Anything that cannot be done ends the program. */
static uint32_t need(uint32_t id)
{
    if (id)
        return id;
    fprintf(stderr, "%s\n", jit_error_message());
    exit(1);
}

/* The mean of x * x: the size of x as a value, so that it is found anew each time. */
static uint32_t mean_square(uint32_t x)
{
    calls++;
    uint32_t square = need(jit_var_mul(x, x));
    uint32_t sum = need(jit_var_reduce(square, ReduceOpAdd));
    uint32_t count = need(jit_var_opaque_width(x));
    uint32_t number = need(jit_var_cast(count, VarTypeFloat32, 0));
    uint32_t mean = need(jit_var_div(sum, number));
    jit_var_dec_ref(square);
    jit_var_dec_ref(sum);
    jit_var_dec_ref(count);
    jit_var_dec_ref(number);
    return mean;
}

/* 0, 1, ..., size - 1 in memory. */
static uint32_t make_input(uint32_t size)
{
    uint32_t counter = need(jit_var_counter(CPU, size));
    uint32_t x = need(jit_var_cast(counter, VarTypeFloat32, 0));
    jit_var_dec_ref(counter);
    jit_var_eval(x);
    return x;
}

/* The function's result, by repeating the recording if that fits. */
static uint32_t call(JitRecording **recording, uint32_t x)
{
    uint32_t result = 0;
    int done = *recording ? jit_freeze_replay(*recording, 1, &x, &result) : 0;
    if (done > 0)
        return result;
    jit_freeze_destroy(*recording);
    if (done < 0 || !jit_freeze_start(CPU, 1, &x))
        return need(0);
    result = mean_square(x);
    *recording = jit_freeze_stop(1, &result);
    return *recording ? result : need(0);
}

int main(void)
{
    static const uint32_t sizes[] = { 10, 100, 1000, 1000000 };
    JitRecording *recording = NULL;
    jit_init(CPU);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        uint32_t x = make_input(sizes[i]), mean = call(&recording, x);
        float value;
        if (!jit_var_read(mean, 0, &value))
            need(0);
        printf("%8u entries: %g\n", sizes[i], (double) value);
        jit_var_dec_ref(x);
        jit_var_dec_ref(mean);
    }
    printf("called %d time%s\n%s", calls, calls == 1 ? "" : "s",
           jit_freeze_str(recording));
    jit_freeze_destroy(recording);
    return jit_shutdown(0) != 0;
}
