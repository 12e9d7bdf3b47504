/*
 * bytes_replay.c -- the inputs of a corpus, and those that differ from them in one bit
 *
 *     bytes_program --every 8 FOLDER...    every eighth bit of each file
 *     bytes_program --every 1 FILE
 *
 * For builds without libFuzzer. A fault is found by the sanitizer, which ends the
 * program; the input is then in the file crash-replay in the current folder.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sanitizer/common_interface_defs.h>

#include "bytes_target.h"

/* Numbers in files decide how much memory is asked for, which is refused. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static uint64_t counts[BYTES_OUTCOMES];
static size_t every = 1;
static uint64_t turn; /* so that files of one kind have other bits changed */

static uint8_t *input;
static size_t input_size;

/* Called by the sanitizer before it ends the program. */
static void keep(void)
{
    FILE *file = fopen("crash-replay", "wb");
    if (file) {
        fwrite(input, 1, input_size, file);
        fclose(file);
        fprintf(stderr, "the input is in 'crash-replay'\n");
    }
}

static void abandon(int number)
{
    (void) number;
    keep();
}

/* In memory of its own, so that the sanitizer sees where it ends. */
static void try(const uint8_t *data, size_t size, size_t bit)
{
    input = malloc(size ? size : 1);
    input_size = size;
    memcpy(input, data, size);
    if (bit < 8 * size)
        input[bit / 8] ^= (uint8_t) (1u << bit % 8);
    LLVMFuzzerTestOneInput(input, size);
    ++counts[bytes_outcome];
    free(input);
}

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0)
        data = malloc((size_t) size + 1);
    if (data)
        rewind(file);
    if (!data || fread(data, 1, (size_t) size, file) != (size_t) size) {
        fprintf(stderr, "cannot read '%s'\n", path);
        exit(1);
    }
    fclose(file);
    try(data, (size_t) size, SIZE_MAX);
    for (size_t bit = turn++ % every; bit < 8 * (size_t) size; bit += every)
        try(data, (size_t) size, bit);
    free(data);
    return 1;
}

static int replay(const char *path);

static int replay_folder(const char *path)
{
    struct dirent **entries;
    const int count = scandir(path, &entries, NULL, alphasort);
    int files = 0;
    for (int i = 0; i < count; ++i) {
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            files += replay(inner);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return files;
}

static int replay(const char *path)
{
    struct stat info;
    const int ok = stat(path, &info) == 0;
    return ok && S_ISDIR(info.st_mode) ? replay_folder(path) : replay_file(path);
}

int main(int argc, char **argv)
{
    int files = 0;
    __sanitizer_set_death_callback(keep);
    signal(SIGABRT, abandon); /* a target is not content */
    for (int i = 1; i < argc; ++i)
        if (strcmp(argv[i], "--every") == 0 && i + 1 < argc)
            every = strtoul(argv[++i], NULL, 10);
        else
            files += replay(argv[i]);
    printf("%d files; of their changes %llu were refused, %llu accepted, %llu run\n",
           files, (unsigned long long) counts[BYTES_REFUSED],
           (unsigned long long) counts[BYTES_ACCEPTED],
           (unsigned long long) counts[BYTES_RUN]);
    return files == 0;
}
