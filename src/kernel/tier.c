/*
 * tier.c -- choice of engines, and the thread that upgrades kernels
 *
 * With DRJIT_CPU_ENGINE unset, a kernel starts with the first engine that compiles in
 * microseconds (`native`), and stays with it. Where there is none, it starts with the
 * last engine of the list (`interp`). Time spent in that code is summed up; when the
 * sum reaches what the compile of the first engine of the list (`llvm`) is expected to
 * take, the kernel is queued:
 *
 *     TIER_NONE --due--> TIER_QUEUED --compiled--> TIER_DONE    (and 'upgraded' is set)
 *                             |  '------failed---> TIER_FAILED  (stays as it is)
 *                             '--dropped---------> TIER_NONE    (stop, fork)
 *
 * Exactly one thread moves a kernel out of TIER_NONE. The queue holds a reference to
 * each kernel in it. Reasons for failures are logged once each; a system that refuses
 * executable memory, or an engine that cannot be loaded, ends all upgrades.
 *
 * The thread is started on demand. It never needs the graph or the cache lock, and
 * writes its log lines after it has declared itself idle, so that whoever waits for it,
 * in fork() or at exit, may hold any lock meanwhile. tier_account() is called inside of
 * jobs, and so only tries the lock: a fork drains the streams while holding it.
 *
 * exit() runs destructors in the opposite order of their registration. Those of the
 * compiling engine's library are registered late, when the thread loads it or even in
 * the midst of a compile, so they would run first, under the thread's feet. Only those
 * of thread-local objects come before them, and so the main thread has one that waits
 * for the thread (tier_guard_exit()).
 */
#include "kernel/tier.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "kernel/compile.h"

enum {
    QUEUE = 64,     /* kernels; when it is full, others come back at a later launch */
    REASONS = 32,   /* different warnings that are remembered */
    STACK = 8 << 20 /* bytes for the thread, whatever the process's limit */
};

/* What DRJIT_CPU_ENGINE asks for. */
static struct {
    bool known;
    const Engine *forced; /* NULL: automatic, or unknown name */
    char unknown[64];     /* that name */
} choice;
static pthread_mutex_t choice_lock = PTHREAD_MUTEX_INITIALIZER;

/* Guarded by 'tier_lock'. */
static struct {
    pthread_t thread;
    bool running, stop, busy;
    bool closed; /* the process ends: no more compiles */
    uint32_t loading; /* other threads that load an engine's library */
    bool exit_registered;
    Kernel *queue[QUEUE];
    uint32_t first, count;
    uint64_t reasons[REASONS];
    uint32_t reason_count;
} tier;
static pthread_mutex_t tier_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER; /* for the thread */
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER; /* for those who wait for it */

static atomic_bool threadless;          /* it was said that no thread can be started */
static _Atomic(const Engine *) ready;   /* loaded by the thread */
static _Atomic(const Engine *) refused; /* cannot be used in this process */
static _Atomic(const Engine *) unusable; /* the same of one that is instant */

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
    pthread_mutex_lock(&choice_lock);
    if (!choice.known)
        read_choice();
    *engine = choice.forced;
    char unknown[sizeof(choice.unknown)];
    memcpy(unknown, choice.unknown, sizeof(unknown));
    pthread_mutex_unlock(&choice_lock);
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

static bool engines_for_statements(const Program *program, const Engine *forced,
                                   const Engine **base)
{
    if (forced) {
        if (!runs_statements(program, forced)) {
            error_set(
                JIT_ERROR_UNSUPPORTED,
                "jit_eval(): the computation contains statements, which need libLLVM, "
                "but DRJIT_CPU_ENGINE is \"%s\"",
                forced->name);
            return false;
        }
        *base = forced;
        return require(forced, "the engine chosen by DRJIT_CPU_ENGINE cannot be used");
    }
    for (uint32_t i = 0; engine_list[i]; ++i) {
        if (runs_statements(program, engine_list[i])) {
            *base = engine_list[i];
            return require(*base,
                           "the computation contains statements, which need libLLVM");
        }
    }
    error_set(JIT_ERROR_UNSUPPORTED,
              "jit_eval(): the computation contains statements, which "
              "need libLLVM; this build has no engine for them");
    return false;
}

static const Engine *interpreter(void)
{
    uint32_t last = 0;
    while (engine_list[last + 1])
        ++last;
    return engine_list[last];
}

bool tier_is_interpreter(const Engine *engine)
{
    return engine == interpreter();
}

/* Log the calling thread's error as the reason why kernels are not upgraded, once. */
static void warn(const char *what)
{
    uint64_t reason = hash_64(error_message(), strlen(error_message()), 0);
    pthread_mutex_lock(&tier_lock);
    bool seen = tier.reason_count == REASONS;
    for (uint32_t i = 0; i < tier.reason_count; ++i)
        seen = seen || tier.reasons[i] == reason;
    if (!seen)
        tier.reasons[tier.reason_count++] = reason;
    pthread_mutex_unlock(&tier_lock);
    if (!seen)
        log_write(LogLevelWarn, "jit_eval(): %s: %s", what, error_message());
    error_clear();
}

/* Of those that compile in no time, the first that can be used; else the
 * interpreter. */
static const Engine *first_engine(void)
{
    for (uint32_t i = 0; engine_list[i]; ++i)
        if (engine_list[i]->instant && engine_list[i] != atomic_load(&unusable) &&
            engine_list[i]->available())
            return engine_list[i];
    error_clear();
    return interpreter();
}

/* The first of those that take their time; the interpreter if there are none. */
static const Engine *compiling_engine(void)
{
    uint32_t i = 0;
    while (engine_list[i]->instant)
        ++i;
    return engine_list[i];
}

bool tier_engines(const Program *program, const Engine **base, const Engine **better)
{
    const Engine *forced;
    *base = *better = NULL;
    TRY(tier_forced_engine(&forced), false);
    if (has_statements(program))
        return engines_for_statements(program, forced, base);
    if (forced) {
        *base = forced;
        return require(forced, "the engine chosen by DRJIT_CPU_ENGINE cannot be used");
    }
    *base = first_engine();
    if ((*base)->instant)
        return true;
    TRY(require(*base, "no engine can be used"), false);
    const Engine *compiler = compiling_engine();
    if (compiler != *base && compiler != atomic_load(&refused))
        *better = compiler;
    return true;
}

bool tier_is_instant(const Program *program)
{
    const Engine *base, *better;
    if (tier_engines(program, &base, &better))
        return base->instant;
    error_clear(); /* who needs code will find out */
    return false;
}

bool tier_refuse(const Engine *engine)
{
    const Engine *forced;
    if (!engine->instant || !tier_forced_engine(&forced) || forced)
        return false;
    atomic_store(&unusable, engine);
    warn("kernels run on another engine");
    return true;
}

bool tier_ready(const Engine *better)
{
    return better && atomic_load(&ready) == better;
}

/* ------------------------------------------------------------------ upgrade */

/* The engine's library is loaded now. Functions registered from here on run before the
 * destructors that it has by now: the best that can be done for an exit() in another
 * thread than the main one. */
static void announce(const Engine *engine)
{
    static atomic_bool registered;
    atomic_store(&ready, engine);
    if (!atomic_exchange(&registered, true))
        atexit(tier_stop);
}

static void upgrade(Kernel *kernel)
{
    const Engine *engine = kernel->better.engine;
    KernelCode code;
    bool from_disk;
    if (!engine->available()) {
        atomic_store(&refused, engine);
        atomic_store(&kernel->upgrade_state, TIER_FAILED);
        warn("kernels stay interpreted, because the compiling engine cannot be used");
        return;
    }
    announce(engine);
    if (engine->compile_in_background)
        engine->compile_in_background();
    if (!compile_code(kernel->program, kernel->key.full, engine, 0, &code,
                      &from_disk)) {
        if (error_code() == JIT_ERROR_SYSTEM)
            atomic_store(&refused, engine);
        atomic_store(&kernel->upgrade_state, TIER_FAILED);
        warn(error_code() == JIT_ERROR_SYSTEM ? "kernels stay interpreted"
                                              : "a kernel stays interpreted");
        return;
    }
    kernel->better = code;
    atomic_store_explicit(&kernel->upgraded, true, memory_order_release);
    atomic_store(&kernel->upgrade_state, TIER_DONE);
}

/* ------------------------------------------------------------------- thread */

static Kernel *take_first(void)
{
    Kernel *kernel = tier.queue[tier.first];
    tier.first = (tier.first + 1) % QUEUE;
    tier.count--;
    return kernel;
}

static void *work(void *unused)
{
    (void) unused;
    pthread_mutex_lock(&tier_lock);
    for (;;) {
        while (!tier.stop && !tier.count)
            pthread_cond_wait(&wake, &tier_lock);
        if (tier.stop)
            break;
        Kernel *kernel = take_first();
        tier.busy = true;
        pthread_mutex_unlock(&tier_lock);
        log_hold();
        if (kernel->better.engine == atomic_load(&refused))
            atomic_store(&kernel->upgrade_state, TIER_FAILED);
        else
            upgrade(kernel);
        cache_release(kernel);
        pthread_mutex_lock(&tier_lock);
        tier.busy = false;
        pthread_cond_broadcast(&idle);
        pthread_mutex_unlock(&tier_lock);
        log_release();
        pthread_mutex_lock(&tier_lock);
    }
    pthread_mutex_unlock(&tier_lock);
    return NULL;
}

/* With the lock held. Signals of the program go to its own threads. */
static bool start_thread(void)
{
    if (!tier.exit_registered)
        tier.exit_registered = atexit(tier_stop) == 0;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    TRY(pthread_attr_init(&attributes) == 0, false);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    tier.running = pthread_create(&tier.thread, &attributes, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return tier.running;
}

void tier_account(Kernel *kernel, uint64_t ns)
{
    uint64_t total =
        atomic_fetch_add_explicit(&kernel->interp_ns, ns, memory_order_relaxed) + ns;
    uint32_t none = TIER_NONE;
    if (total < kernel->estimate_ns ||
        !atomic_compare_exchange_strong(&kernel->upgrade_state, &none, TIER_QUEUED))
        return;
    bool started = true, queued = false;
    if (pthread_mutex_trylock(&tier_lock) == 0) {
        if (!tier.stop && !tier.closed && tier.count < QUEUE) {
            started = tier.running || start_thread();
            queued = started;
        }
        if (queued) {
            cache_retain(kernel);
            tier.queue[(tier.first + tier.count++) % QUEUE] = kernel;
            pthread_cond_signal(&wake);
        }
        pthread_mutex_unlock(&tier_lock);
    }
    if (queued)
        return;
    atomic_store(&kernel->upgrade_state, started ? TIER_NONE : TIER_FAILED);
    if (!started && !atomic_exchange(&threadless, true))
        log_write(LogLevelWarn, "jit_eval(): kernels stay interpreted: the thread that "
                                "compiles cannot be started");
}

/* Empty the queue, with the lock held. */
static void drop_queue(void)
{
    while (tier.count) {
        Kernel *kernel = take_first();
        atomic_store(&kernel->upgrade_state, TIER_NONE);
        cache_release(kernel);
    }
}

void tier_wait(void)
{
    pthread_mutex_lock(&tier_lock);
    while (tier.busy || (tier.running && tier.count))
        pthread_cond_wait(&idle, &tier_lock);
    pthread_mutex_unlock(&tier_lock);
}

void tier_stop(void)
{
    pthread_mutex_lock(&tier_lock);
    drop_queue();
    bool join =
        tier.running && !tier.stop && !pthread_equal(pthread_self(), tier.thread);
    pthread_t thread = tier.thread;
    if (join) {
        tier.stop = true;
        pthread_cond_broadcast(&wake);
        pthread_cond_broadcast(&idle);
    }
    pthread_mutex_unlock(&tier_lock);
    if (!join)
        return;
    pthread_join(thread, NULL);
    pthread_mutex_lock(&tier_lock);
    drop_queue();
    tier.running = tier.stop = false;
    pthread_mutex_unlock(&tier_lock);
}

void tier_loading(bool begins)
{
    pthread_mutex_lock(&tier_lock);
    if (begins)
        ++tier.loading;
    else if (--tier.loading == 0)
        pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&tier_lock);
}

/* The main thread has called exit(). (If it only ends, kernels stay as they are.) */
static void begin_exit(void *unused)
{
    (void) unused;
    pthread_mutex_lock(&tier_lock);
    tier.closed = true;
    drop_queue();
    while (tier.busy || tier.loading)
        pthread_cond_wait(&idle, &tier_lock);
    pthread_mutex_unlock(&tier_lock);
}

/* How glibc registers destructors of thread-local objects. Where it is missing, exit()
 * does not wait. */
extern int __cxa_thread_atexit_impl(void (*function)(void *), void *object,
                                    void *library) __attribute__((weak));
extern char __dso_handle[] __attribute__((visibility("hidden")));

void tier_guard_exit(void)
{
    static _Thread_local bool guarded;
    if (!guarded && getpid() == (pid_t) syscall(SYS_gettid) && __cxa_thread_atexit_impl)
        guarded = __cxa_thread_atexit_impl(begin_exit, NULL, __dso_handle) == 0;
}

void tier_reset(void)
{
    pthread_mutex_lock(&choice_lock);
    choice.known = false;
    pthread_mutex_unlock(&choice_lock);
    pthread_mutex_lock(&tier_lock);
    tier.reason_count = 0;
    pthread_mutex_unlock(&tier_lock);
    atomic_store(&ready, NULL);
    atomic_store(&refused, NULL);
    atomic_store(&unusable, NULL);
    atomic_store(&threadless, false);
}

/* --------------------------------------------------------------------- fork */

void tier_fork_lock(void)
{
    pthread_mutex_lock(&choice_lock);
    pthread_mutex_lock(&tier_lock);
    while (tier.busy || tier.loading)
        pthread_cond_wait(&idle, &tier_lock);
}

void tier_fork_unlock(void)
{
    pthread_mutex_unlock(&tier_lock);
    pthread_mutex_unlock(&choice_lock);
}

void tier_fork_child(void)
{
    pthread_cond_init(&wake, NULL);
    pthread_cond_init(&idle, NULL);
    tier.running = tier.stop = tier.busy = false;
    drop_queue();
}
