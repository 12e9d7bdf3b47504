/*
 * profile.c -- see profile.h
 */
#include "api/profile.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;          /* guarded by the lock, as is all below */
static bool opened, empty;  /* opened: the environment has been looked at */

/* Open the file if one is wanted; call with the lock held. */
static FILE *timeline(void)
{
    if (opened)
        return file;
    opened = true;
    const char *path = getenv("DRJIT_PROFILE");
    if (!path || !*path)
        return NULL;
    file = fopen(path, "w");
    if (!file)
        log_write(LogLevelWarn, "profile: cannot write to DRJIT_PROFILE=%s", path);
    else
        fputs("[\n", file);
    empty = true;
    return file;
}

static void put_name(FILE *out, const char *name)
{
    for (; *name; ++name) {
        unsigned char c = (unsigned char) *name;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
}

static void put_event(const char *phase, const char *name)
{
    pthread_mutex_lock(&lock);
    FILE *out = timeline();
    if (out) {
        fprintf(out, "%s{\"ph\":\"%s\",\"pid\":%ld,\"tid\":%lu,\"ts\":%.3f,\"name\":\"",
                empty ? "" : ",\n", phase, (long) process_id(),
                (unsigned long) threads_id(), (double) clock_ns() * 1e-3);
        put_name(out, name);
        fputs("\"}", out);
        empty = false;
    }
    pthread_mutex_unlock(&lock);
}

void profile_mark(const char *name) { put_event("i", name); }
void profile_begin(const char *name) { put_event("B", name); }
void profile_end(void) { put_event("E", ""); }

void profile_close(void)
{
    pthread_mutex_lock(&lock);
    if (file) {
        fputs("\n]\n", file);
        fclose(file);
    }
    file = NULL;
    opened = false;
    pthread_mutex_unlock(&lock);
}
