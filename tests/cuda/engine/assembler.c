/*
 * assembler.c -- see assembler.h
 */
#include "cuda/engine/assembler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/ptx/ptx_usage.h"

enum { WORDS = 8000 };

/* Run the assembler on a file; what it says. False: it refuses the text. */
static bool assemble(const char *path, uint32_t sm, char words[WORDS])
{
    char command[1000];
    snprintf(command, sizeof command, "%s -v -arch=sm_%u -o /dev/null %s 2>&1",
             getenv("DRJIT_PTXAS"), sm, path);
    FILE *pipe = popen(command, "r");
    size_t size = pipe ? fread(words, 1, WORDS - 1, pipe) : 0;
    words[size] = 0;
    return pipe && pclose(pipe) == 0;
}

/* The line of a text that "..., line 17; error : ..." names. */
static void quote(const char *text, const char *words, char line[200])
{
    const char *at = strstr(words, "line ");
    const unsigned long number = at ? strtoul(at + 5, NULL, 10) : 0;
    for (unsigned long i = 1; i < number && *text; ++i) {
        text += strcspn(text, "\n");
        text += *text != 0;
    }
    text += strspn(text, " \t");
    snprintf(line, 200, "%.*s", (int) (at ? strcspn(text, "\n") : 0), text);
}

bool assembler_check(const char *text, uint32_t sm, const char *kernel)
{
    if (!getenv("DRJIT_PTXAS"))
        return true;
    char path[] = "/tmp/drjit-test-XXXXXX", line[200];
    const size_t size = strlen(text);
    char *words = alloc_get(WORDS); /* Python loads this: thread-locals are few there */
    TRY(words, false);
    const int file = mkstemp(path);
    if (file < 0) {
        alloc_free(words);
        return error_set(JIT_ERROR_SYSTEM, "ptxas: no temporary file");
    }
    bool ok = write(file, text, size) == (ssize_t) size && assemble(path, sm, words);
    close(file);
    unlink(path);
    PtxUsage usage;
    if (!ok) {
        quote(text, words, line);
        error_set(JIT_ERROR_COMPILE, "%.250s: \"%s\"", words, line);
    } else if (ptx_usage_read(words, &usage)) {
        ptx_usage_log(&usage, kernel);
    }
    alloc_free(words);
    return ok;
}
