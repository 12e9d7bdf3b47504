/*
 * engine.c -- the engines of this build; see engine.h
 */
#include <string.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/interp/interp.h"
#include "engine/llvm/llvm_engine.h"
#if defined(__x86_64__)
#include "engine/native/native_engine.h"
#endif

enum { BUILT_IN_MOST = 4, REGISTERED_MOST = 4 };

/* Room for those that are registered, and NULL. */
static const Engine *engines[BUILT_IN_MOST + REGISTERED_MOST + 1] = {
#if defined(__x86_64__)
    &native_engine,
#endif
    &llvm_engine, &interp_engine
};
static uint32_t registered;

const Engine *const *const engine_list = engines;

const Engine *engine_find(const char *name)
{
    for (const Engine *const *engine = engine_list; *engine; ++engine)
        if (strcmp((*engine)->name, name) == 0)
            return *engine;
    return NULL;
}

bool engine_register(const Engine *engine)
{
    const Engine *same = engine_find(engine->name);
    if (same == engine)
        return true;
    if (same || registered == REGISTERED_MOST)
        return error_set(JIT_ERROR_ARGUMENT, same
                             ? "engine_register(): there is an engine \"%s\" already"
                             : "engine_register(): no room for the engine \"%s\"",
                         engine->name);
    uint32_t last = 0;
    while (engines[last + 1])
        ++last;
    engines[last + 1] = engines[last]; /* interp */
    engines[last] = engine;
    ++registered;
    return true;
}
