/*
 * write_ptx.c -- the PTX of chosen and of random Programs as files
 *
 *     write_ptx FOLDER [--sm NN,...] [--seed S] [--count N] [--ops N]
 *
 * Writes FOLDER/<name>_sm<NN>.ptx for each chosen Program (chosen.h), and
 * FOLDER/seed_<s>_sm<NN>.ptx for N random ones (tests/fuzz/random_program.h), the first
 * of which has seed S. Nothing is run. Status 1 if one could not be written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "chosen.h"
#include "oracle_text.h"
#include "random_program.h"

enum { MOST_TARGETS = 16, NAME_SIZE = 80 };

typedef struct Options {
    const char *folder;
    uint64_t seed, count;
    uint32_t ops;
    uint32_t targets[MOST_TARGETS], target_count;
} Options;

static bool write_program(const Options *o, const char *name, const Program *program)
{
    bool ok = program != NULL;
    Text text = { 0 };
    PtxKernel kernel;
    for (uint32_t i = 0; ok && i < o->target_count; ++i) {
        char file[NAME_SIZE];
        snprintf(file, sizeof file, "%s_sm%u", name, o->targets[i]);
        ok = oracle_text(program, o->targets[i], &text, &kernel);
        if (ok && !oracle_file(o->folder, file, &text))
            ok = false;
    }
    if (!ok)
        fprintf(stderr, "write_ptx: %s: %s\n", name, error_message());
    text_free(&text);
    return ok;
}

static bool write_chosen(const Options *o)
{
    bool ok = true;
    for (uint32_t i = 0; chosen_name(i); ++i) {
        Program *program = chosen_program(i);
        ok &= write_program(o, chosen_name(i), program);
        program_free(program);
    }
    return ok;
}

static bool write_random(const Options *o)
{
    bool ok = true;
    for (uint64_t seed = o->seed; seed < o->seed + o->count; ++seed) {
        char name[NAME_SIZE];
        RandomProgram *random = random_program_new(seed, o->ops);
        snprintf(name, sizeof name, "seed_%llu", (unsigned long long) seed);
        ok &= write_program(o, name, random ? random->program : NULL);
        random_program_free(random);
    }
    return ok;
}

static void parse_targets(Options *o, const char *list)
{
    o->target_count = 0;
    while (*list && o->target_count < MOST_TARGETS) {
        char *end;
        o->targets[o->target_count++] = (uint32_t) strtoul(list, &end, 10);
        list = *end ? end + 1 : end;
    }
}

static bool parse(int argc, char **argv, Options *o)
{
    if (argc < 2 || argc % 2)
        return false;
    o->folder = argv[1];
    for (int i = 2; i < argc; i += 2) {
        if (strcmp(argv[i], "--sm") == 0)
            parse_targets(o, argv[i + 1]);
        else if (strcmp(argv[i], "--seed") == 0)
            o->seed = strtoull(argv[i + 1], NULL, 0);
        else if (strcmp(argv[i], "--count") == 0)
            o->count = strtoull(argv[i + 1], NULL, 0);
        else if (strcmp(argv[i], "--ops") == 0)
            o->ops = (uint32_t) strtoul(argv[i + 1], NULL, 0);
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    Options options = { .seed = 1, .ops = 40, .targets = { 80 }, .target_count = 1 };
    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "usage: write_ptx FOLDER [--sm NN,...] [--seed S] [--count N] "
                        "[--ops N]\n");
        return 2;
    }
    const bool chosen = write_chosen(&options), random = write_random(&options);
    return chosen && random ? 0 : 1;
}
