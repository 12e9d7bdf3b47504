/*
 * fit.c -- a curve fitted to measurements by gradient descent, with drjit-core/ad.h
 *
 *     fit [STEPS]
 *
 * A bell has been struck and recorded: 200,000 samples of a exp(-b t) sin(w t), with
 * noise. The program finds amplitude a, damping b and frequency w. Each step traces the
 * error of the curve, goes through the graph in reverse, which gives the derivatives by
 * all three, and moves the parameters a little against them. The error is one kernel,
 * its derivatives are another one: both are compiled once, and serve all steps.
 *
 * Exit status 1 if the parameters are not found, or the library fails.
 */
#include <drjit-core/ad.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 200000, PARAMETERS = 3 };

static const char *const names[PARAMETERS] = { "amplitude", "damping", "frequency" };
static const double truth[PARAMETERS] = { 0.8, 1.5, 20 };

/* ---------------------------------------------------------------- temporaries
 *
 * Each function of the library returns a reference that is the caller's. In a chain of
 * operations nobody wants to name all of them: they are kept here, and released
 * together. A function that fails returns 0, and 0 as an operand is an error, so one
 * look at the end of a step is enough. */

static uint64_t kept[32];
static size_t kept_count;

static uint64_t keep(uint64_t index)
{
    kept[kept_count++] = index;
    return index;
}

static void release_kept(void)
{
    while (kept_count)
        ad_var_dec_ref(kept[--kept_count]);
}

static uint64_t apply(JitOp op, uint64_t a)
{
    return keep(ad_var_op(op, &a));
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return keep(ad_var_mul(a, b));
}

/* ---------------------------------------------------------------- the curve */

/* a exp(-b t) sin(w t) */
static uint64_t curve(const uint64_t p[PARAMETERS], uint64_t t)
{
    uint64_t decay = apply(JitOpExp, apply(JitOpNeg, times(p[1], t)));
    return times(times(p[0], decay), apply(JitOpSin, times(p[2], t)));
}

/* The mean square of the differences. */
static uint64_t error_of(const uint64_t p[PARAMETERS], uint64_t t, uint64_t samples)
{
    uint64_t difference = keep(ad_var_sub(curve(p, t), samples));
    uint64_t sum = keep(ad_var_reduce(times(difference, difference), ReduceOpAdd));
    return times(sum, keep(jit_var_f64(JitBackendLLVM, 1.0 / SAMPLES)));
}

/* The error at a point and its gradient there. A variable made from a number would be
 * part of the kernel, which then differed from step to step: these are in memory. */
static bool evaluate(const double at[PARAMETERS], uint64_t t, uint64_t samples,
                     double *error, double gradient[PARAMETERS])
{
    uint64_t p[PARAMETERS];
    for (int k = 0; k < PARAMETERS; k++) {
        uint64_t value =
            keep(jit_var_mem_copy(JitBackendLLVM, VarTypeFloat64, &at[k], 1));
        p[k] = keep(ad_var_track(ad_var_index(value)));
    }
    uint64_t loss = error_of(p, t, samples);
    uint64_t one = keep(jit_var_f64(JitBackendLLVM, 1));
    bool ok = loss && ad_set_grad(loss, one) && ad_enqueue(ADModeBackward, loss) &&
              ad_traverse(ADModeBackward, ADFlagDefault) &&
              jit_var_read(ad_var_index(loss), 0, error);
    for (int k = 0; k < PARAMETERS && ok; k++)
        ok = jit_var_read(ad_var_index(keep(ad_grad(p[k]))), 0, &gradient[k]);
    release_kept();
    return ok;
}

/* ---------------------------------------------------------------- measurements */

static void measure(double *t, double *samples)
{
    uint64_t state = 1;
    for (int i = 0; i < SAMPLES; i++) {
        t[i] = 2.0 * i / SAMPLES;
        double noise = 0;
        for (int k = 0; k < 4; k++) { /* nearly normal */
            state = state * 6364136223846793005u + 1442695040888963407u;
            noise += (double) (state >> 11) / 9007199254740992.0 - 0.5;
        }
        samples[i] =
            truth[0] * exp(-truth[1] * t[i]) * sin(truth[2] * t[i]) + 0.2 * noise;
    }
}

/* ---------------------------------------------------------------- descent */

/* Adam: a step for each parameter, of about the length 'rate', from the means of its
 * gradients and of their squares. */
static bool descend(uint64_t t, uint64_t samples, int steps, double at[PARAMETERS])
{
    static const double rates[PARAMETERS] = { 0.02, 0.05, 0.1 };
    double mean[PARAMETERS] = { 0 }, squares[PARAMETERS] = { 0 };
    for (int step = 1; step <= steps; step++) {
        double error, gradient[PARAMETERS];
        if (!evaluate(at, t, samples, &error, gradient))
            return false;
        if (step == 1 || step % (steps / 5 + 1) == 0 || step == steps)
            printf("step %4d: error %.6f, a %.4f, b %.4f, w %.4f\n", step, error, at[0],
                   at[1], at[2]);
        double slower = fmin(1, 2.0 * (steps - step) / steps);
        for (int k = 0; k < PARAMETERS; k++) {
            mean[k] += 0.1 * (gradient[k] - mean[k]);
            squares[k] += 0.01 * (gradient[k] * gradient[k] - squares[k]);
            double m = mean[k] / (1 - pow(0.9, step));
            double s = squares[k] / (1 - pow(0.99, step));
            at[k] -= slower * rates[k] * m / (sqrt(s) + 1e-12);
        }
    }
    return true;
}

static int run(int steps)
{
    double *t = malloc(SAMPLES * sizeof(double));
    double *samples = malloc(SAMPLES * sizeof(double));
    int status = 1;
    if (t && samples) {
        measure(t, samples);
        uint32_t x = jit_var_mem_copy(JitBackendLLVM, VarTypeFloat64, t, SAMPLES);
        uint32_t y = jit_var_mem_copy(JitBackendLLVM, VarTypeFloat64, samples, SAMPLES);
        double at[PARAMETERS] = { 0.3, 0.5, 18.5 };
        if (descend(x, y, steps, at)) {
            status = 0;
            for (int k = 0; k < PARAMETERS; k++) {
                bool near = fabs(at[k] / truth[k] - 1) < 0.01;
                printf("%-9s %8.4f, %s within 1 %% of %g\n", names[k], at[k],
                       near ? "which is" : "which is NOT", truth[k]);
                status |= !near;
            }
        } else {
            fprintf(stderr, "fit: %s\n", jit_error_message());
        }
        jit_var_dec_ref(x);
        jit_var_dec_ref(y);
    }
    free(t);
    free(samples);
    return status;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 300;
    if (steps < 1) {
        fprintf(stderr, "fit: the number of steps is '%s', expected at least 1\n",
                argv[1]);
        return 2;
    }
    jit_init(JitBackendLLVM);
    int status = run(steps);
    return jit_shutdown(0) == 0 ? status : 1;
}
