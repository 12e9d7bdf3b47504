/*
 * engine.c -- the engines of this build; see engine.h
 */
#include <string.h>

#include "engine/engine.h"
#include "engine/interp/interp.h"
#include "engine/llvm/llvm_engine.h"
#if defined(__x86_64__)
#include "engine/native/native_engine.h"
#endif

const Engine *const engine_list[] = {
#if defined(__x86_64__)
    &native_engine,
#endif
    &llvm_engine, &interp_engine, NULL
};

const Engine *engine_find(const char *name)
{
    for (const Engine *const *engine = engine_list; *engine; ++engine)
        if (strcmp((*engine)->name, name) == 0)
            return *engine;
    return NULL;
}
