/*
 * profile.c -- see profile.h
 */
#include "watch/profile.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/threads.h"
#include "watch/nvtx.h"

_Atomic int profile_state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file; /* guarded by the lock, as is all below */
static bool empty;
static bool looked; /* for NVTX, once a process */
/* Written before profile_state is PROFILE_WANTED, and never again. */
static const Nvtx *nvtx;

bool profile_open(void)
{
    const char *path = getenv("DRJIT_PROFILE"), *problem = NULL;
    bool failed = false;
    pthread_mutex_lock(&lock);
    if (profile_state == PROFILE_UNKNOWN) {
        if (path && *path) {
            file = fopen(path, "w");
            failed = file == NULL;
            empty = true;
            if (file)
                fputs("[\n", file);
        }
        if (!looked)
            nvtx = nvtx_load(&problem);
        looked = true;
        atomic_store_explicit(&profile_state,
                              file || nvtx ? PROFILE_WANTED : PROFILE_NOBODY,
                              memory_order_release); /* profile_enabled() acquires */
    }
    bool wanted = profile_state == PROFILE_WANTED;
    pthread_mutex_unlock(&lock);
    if (failed)
        log_write(LogLevelWarn, "profile: cannot write to DRJIT_PROFILE=%s", path);
    if (problem)
        log_write(LogLevelWarn, "profile: NVTX_INJECTION64_PATH is set, but %s",
                  problem);
    return wanted;
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
    if (file) {
        fprintf(file,
                "%s{\"ph\":\"%s\",\"pid\":%ld,\"tid\":%lu,\"ts\":%.3f,\"name\":\"",
                empty ? "" : ",\n", phase, (long) process_id(),
                (unsigned long) threads_id(), (double) clock_ns() * 1e-3);
        put_name(file, name);
        fputs("\"}", file);
        empty = false;
    }
    pthread_mutex_unlock(&lock);
}

void profile_mark(const char *name)
{
    if (!profile_enabled())
        return;
    put_event("i", name);
    if (nvtx)
        nvtx->mark(name);
}

void profile_begin(const char *name)
{
    if (!profile_enabled())
        return;
    put_event("B", name);
    if (nvtx)
        nvtx->push(name);
}

void profile_end(void)
{
    if (!profile_enabled())
        return;
    put_event("E", "");
    if (nvtx)
        nvtx->pop();
}

bool profile_begin_if(const char *format, ...)
{
    if (!profile_enabled())
        return false;
    char name[128];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    profile_begin(name);
    return true;
}

void profile_close(void)
{
    pthread_mutex_lock(&lock);
    if (file) {
        fputs("\n]\n", file);
        fclose(file);
    }
    file = NULL;
    atomic_store(&profile_state, PROFILE_UNKNOWN);
    pthread_mutex_unlock(&lock);
}
