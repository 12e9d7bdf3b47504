/*
 * bench_write.c -- how long the generator takes for an instruction
 *
 * Nanoseconds for an instruction of legalised random Programs, those of callables
 * counted once, and bytes of text: the best of some rounds. Legalising is not measured.
 */
#include <stdio.h>

#include "base/error.h"
#include "oracle_text.h"
#include "os/clock.h"
#include "random_program.h"

enum { PROGRAMS = 200, OPS = 60, ROUNDS = 40 };

static uint64_t count_instructions(const Program *program)
{
    uint64_t count = program->inst_count;
    for (uint32_t i = 0; i < program->callable_count; ++i)
        count += program->callables[i]->inst_count;
    return count;
}

/* Write all Programs; the bytes of their texts, 0 if one cannot be written. */
static uint64_t write_all(const Program *const *programs)
{
    const PtxTarget target = { .sm = 80 };
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < PROGRAMS; ++i) {
        PtxKernel kernel;
        Text text = { 0 };
        if (!ptx_kernel_write(programs[i], (Hash128){ i, 0 }, &target, &text,
                              &kernel)) {
            fprintf(stderr, "bench_write: %s\n", error_message());
            return 0;
        }
        bytes += text.size;
        text_free(&text);
    }
    return bytes;
}

int main(void)
{
    static const Program *programs[PROGRAMS];
    uint64_t instructions = 0, bytes = 0, best = UINT64_MAX;
    for (uint32_t i = 0; i < PROGRAMS; ++i) {
        RandomProgram *random = random_program_new(i + 1, OPS);
        programs[i] = random ? oracle_legalise(random->program) : NULL;
        if (!programs[i]) {
            fprintf(stderr, "bench_write: %s\n", error_message());
            return 1;
        }
        instructions += count_instructions(programs[i]);
    }
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        const uint64_t begin = clock_ns();
        bytes = write_all(programs);
        const uint64_t spent = clock_ns() - begin;
        best = spent < best ? spent : best;
        if (!bytes)
            return 1;
    }
    printf("%.1f ns an instruction; %llu instructions, %llu bytes of PTX\n",
           (double) best / (double) instructions, (unsigned long long) instructions,
           (unsigned long long) bytes);
    return 0;
}
