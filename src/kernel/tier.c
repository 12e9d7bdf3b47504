/*
 * tier.c -- choice of engines, and when a kernel deserves a better one
 *
 * With DRJIT_CPU_ENGINE unset, a kernel starts with the first engine that compiles in
 * microseconds (`native`), and stays with it; before its first launch of many lanes it
 * is compiled once more, if that makes a difference. Where there is none, it starts
 * with the last engine of the list (`interp`). Time spent in that code is summed up;
 * when the sum, with what the next launch is expected to take, reaches what compiling
 * it with the first engine of the list (`llvm`) is expected to take, the thread that
 * launches it compiles it first. This is the rule of ski rental: in all, no more than
 * twice the time of the better choice is spent.
 *
 *     TIER_NONE --due--> TIER_BUSY --compiled--> TIER_DONE    (and 'upgraded' is set)
 *                             '------failed----> TIER_FAILED  (stays as it is)
 *
 * Exactly one thread moves a kernel out of TIER_NONE; others go on interpreting it.
 * Reasons for failures are logged once each; a system that refuses executable memory,
 * or an engine that cannot be loaded, ends all upgrades.
 */
#include "kernel/tier.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "kernel/compile.h"

enum { REASONS = 32 /* different warnings that are remembered */ };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What DRJIT_CPU_ENGINE asks for; guarded by 'lock'. */
static struct {
    bool known;
    const Engine *forced; /* NULL: automatic, or unknown name */
    char unknown[64];     /* that name */
} choice;

/* Warnings that were written, as hashes; guarded by 'lock'. */
static uint64_t reasons[REASONS];
static uint32_t reason_count;

static _Atomic(const Engine *) refused;  /* compiles, but not in this process */
static _Atomic(const Engine *) unusable; /* the same of one that is instant */

/* Log the calling thread's error as the reason why kernels are not upgraded, once. */
static void warn(const char *what)
{
    uint64_t reason = hash_64(error_message(), strlen(error_message()), 0);
    pthread_mutex_lock(&lock);
    bool seen = reason_count == REASONS;
    for (uint32_t i = 0; i < reason_count; ++i)
        seen = seen || reasons[i] == reason;
    if (!seen)
        reasons[reason_count++] = reason;
    pthread_mutex_unlock(&lock);
    if (!seen)
        log_write(LogLevelWarn, "jit_eval(): %s: %s", what, error_message());
    error_clear();
}

/* ----------------------------------------------------------- engine choice */

static void read_choice(void)
{
    const char *name = getenv("DRJIT_CPU_ENGINE");
    choice.known = true;
    choice.forced = NULL;
    choice.unknown[0] = 0;
    if (!name || !*name)
        return;
    choice.forced = engine_find(name);
    if (!choice.forced) {
        strncpy(choice.unknown, name, sizeof(choice.unknown) - 1);
        choice.unknown[sizeof(choice.unknown) - 1] = 0;
    }
}

static int refuse_name(const char *name)
{
    char list[200] = "";
    for (uint32_t i = 0; engine_list[i]; ++i) {
        size_t used = strlen(list);
        if (used + strlen(engine_list[i]->name) + 3 > sizeof(list))
            break;
        if (i)
            strcpy(list + used, ", ");
        strcat(list, engine_list[i]->name);
    }
    return error_set(JIT_ERROR_ARGUMENT,
                     "jit_eval(): DRJIT_CPU_ENGINE is \"%s\", expected one of: %s",
                     name, list);
}

bool tier_forced_engine(const Engine **engine)
{
    pthread_mutex_lock(&lock);
    if (!choice.known)
        read_choice();
    *engine = choice.forced;
    char unknown[sizeof(choice.unknown)];
    memcpy(unknown, choice.unknown, sizeof(unknown));
    pthread_mutex_unlock(&lock);
    return !unknown[0] || refuse_name(unknown);
}

static bool has_statements(const Program *program)
{
    uint32_t count = program->stmt_count;
    for (uint32_t i = 0; !count && i < program->callable_count; ++i)
        count = program->callables[i]->stmt_count;
    return count != 0;
}

/* Does the engine have all statements of one body? */
static bool runs_own_statements(const Program *program, const Engine *engine)
{
    for (uint32_t i = 0; i < program->inst_count; ++i) {
        const Inst *inst = &program->insts[i];
        if (inst->op == OP_STMT &&
            !engine->supports(OP_STMT, (VarType) inst->type, (VarType) inst->type))
            return false;
    }
    return true;
}

/* Does it have those of callables, too? */
static bool runs_statements(const Program *program, const Engine *engine)
{
    bool all = runs_own_statements(program, engine);
    for (uint32_t i = 0; all && i < program->callable_count; ++i)
        all = runs_own_statements(program->callables[i], engine);
    return all;
}

static bool require(const Engine *engine, const char *why)
{
    if (engine->available())
        return true;
    ErrorRecord reason;
    error_save(&reason);
    error_set(reason.code ? reason.code : JIT_ERROR_SYSTEM, "jit_eval(): %s: %s", why,
              reason.message);
    return false;
}

/* The first engine for code of this kind that has the Program's statements; NULL. */
static const Engine *statement_engine(const Program *program, CodeKind code)
{
    for (uint32_t i = 0; engine_list[i]; ++i)
        if (engine_list[i]->code == code && runs_statements(program, engine_list[i]))
            return engine_list[i];
    return NULL;
}

static bool engines_for_statements(const Program *program, CodeKind code,
                                   const Engine *forced, const Engine **base)
{
    static const char what[] = "the computation contains statements, which need the "
                               "engine";
    const Engine *first = statement_engine(program, code);
    char why[160];
    if (forced && runs_statements(program, forced)) {
        *base = forced;
        return require(forced, "the engine chosen by DRJIT_CPU_ENGINE cannot be used");
    }
    if (!first)
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "jit_eval(): the computation contains statements, for which "
                         "this build has no engine that serves the device");
    if (forced)
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "jit_eval(): %s \"%s\", but DRJIT_CPU_ENGINE is \"%s\"", what,
                         first->name, forced->name);
    *base = first;
    snprintf(why, sizeof why, "%s \"%s\"", what, first->name);
    return require(first, why);
}

/* Of those that compile in no time, but for 'without', the first that can be used; else
 * the last of the others, which interprets. NULL: there is none for such code, or none
 * that can be used. */
static const Engine *first_engine(CodeKind code, const Engine *without)
{
    const Engine *last = NULL;
    for (uint32_t i = 0; engine_list[i]; ++i) {
        const Engine *engine = engine_list[i];
        if (engine->code != code)
            continue;
        if (!engine->instant)
            last = engine;
        else if (engine != without && engine->available())
            return engine;
    }
    return last;
}

/* No engine serves: say why. */
static bool refuse_code(CodeKind code)
{
    for (uint32_t i = 0; engine_list[i]; ++i)
        if (engine_list[i]->code == code)
            TRY(require(engine_list[i], "no engine can be used"), false);
    return error_set(JIT_ERROR_UNSUPPORTED, "jit_eval(): this build has no engine for "
                     "the device");
}

/* The first of those that take their time; NULL. */
static const Engine *compiling_engine(CodeKind code)
{
    for (uint32_t i = 0; engine_list[i]; ++i)
        if (!engine_list[i]->instant && engine_list[i]->code == code)
            return engine_list[i];
    return NULL;
}

bool tier_engines(const Program *program, CodeKind code, const Engine **base,
                  const Engine **better)
{
    const Engine *forced;
    *base = *better = NULL;
    TRY(tier_forced_engine(&forced), false);
    if (forced && forced->code != code)
        forced = NULL;
    if (has_statements(program))
        return engines_for_statements(program, code, forced, base);
    if (forced) {
        *base = forced;
        return require(forced, "the engine chosen by DRJIT_CPU_ENGINE cannot be used");
    }
    *base = first_engine(code, atomic_load(&unusable));
    if (!*base)
        return refuse_code(code);
    error_clear(); /* of those that cannot be used */
    if ((*base)->instant)
        return true;
    TRY(require(*base, "no engine can be used"), false);
    const Engine *compiler = compiling_engine(code);
    if (compiler != *base && compiler != atomic_load(&refused))
        *better = compiler;
    return true;
}

KernelCode tier_plan(const Engine *engine, const Program *program, uint32_t lanes)
{
    bool many = lanes >= TIER_MANY_LANES && engine->heeds_lanes &&
                engine->heeds_lanes(program);
    return (KernelCode) { .engine = engine, .many_lanes = many };
}

bool tier_refuse(const Engine *engine)
{
    const Engine *forced;
    if (!engine->instant || !tier_forced_engine(&forced) || forced)
        return false;
    ErrorRecord reason;
    error_save(&reason);
    bool others = first_engine(engine->code, engine) != NULL;
    error_restore(&reason);
    TRY(others, false);
    atomic_store(&unusable, engine);
    warn("kernels run on another engine");
    return true;
}

/* ------------------------------------------------------------------ upgrade */

void tier_begin(Kernel *kernel, const Engine *better)
{
    const KernelCode *base = &kernel->base;
    if (better) {
        kernel->better.engine = better;
        kernel->estimate_ns = better->compile_estimate(kernel->program) + 1;
    } else if (!base->many_lanes) {
        KernelCode many = tier_plan(base->engine, kernel->program, TIER_MANY_LANES);
        if (many.many_lanes)
            kernel->better = many;
    }
}

static bool compile_better(Kernel *kernel)
{
    const Engine *engine = kernel->better.engine;
    const char *what = "kernels stay interpreted, because the compiling engine cannot "
                       "be used";
    if (engine == atomic_load(&refused))
        return false;
    bool from_disk;
    if (engine->available() &&
        compile_code(kernel->program, &kernel->key, &kernel->better, &from_disk))
        return true;
    if (kernel->better.many_lanes) {
        warn("a kernel keeps its code for few lanes");
        return false;
    }
    if (engine->available()) {
        what = "a kernel stays interpreted";
        if (error_code() == JIT_ERROR_SYSTEM)
            what = "kernels stay interpreted";
    }
    if (error_code() == JIT_ERROR_SYSTEM || !engine->available())
        atomic_store(&refused, engine);
    warn(what);
    return false;
}

void tier_upgrade(Kernel *kernel)
{
    uint32_t none = TIER_NONE;
    if (!atomic_compare_exchange_strong(&kernel->tier, &none, TIER_BUSY))
        return;
    ErrorRecord before;
    error_save(&before);
    bool made = compile_better(kernel);
    error_restore(&before);
    if (made) /* partner of the acquire in tier_code() */
        atomic_store_explicit(&kernel->upgraded, true, memory_order_release);
    atomic_store(&kernel->tier, made ? TIER_DONE : TIER_FAILED);
}

void tier_reset(void)
{
    pthread_mutex_lock(&lock);
    choice.known = false;
    reason_count = 0;
    pthread_mutex_unlock(&lock);
    atomic_store(&refused, NULL);
    atomic_store(&unusable, NULL);
}

/* --------------------------------------------------------------------- fork */

void tier_fork_lock(void) { pthread_mutex_lock(&lock); }
void tier_fork_unlock(void) { pthread_mutex_unlock(&lock); }
