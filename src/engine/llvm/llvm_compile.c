/*
 * llvm_compile.c -- text to object code, without letting LLVM end the process
 *
 * Every compile has a context and a target machine of its own, so threads do not share
 * anything. Machines are kept for later compiles, because the tables that a machine
 * makes for its first function take a quarter of a millisecond. LLVM reports trouble in
 * three ways: return values with a message, diagnostics of the context (collected
 * here), and fatal errors, after which it would call exit(). The fatal error handler
 * jumps out of the compile instead. LLVM's state is unknown then, so the library is not
 * used again in this process; what the compile held is lost. All of it happens on one
 * stack, which is deep enough (base/stack.h).
 */
#include "engine/llvm/llvm_compile.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/llvm/llvm_load.h"
#include "engine/llvm/llvm_object.h"
#include "os/stack.h"

/* Values of LLVM's C enumerations. */
enum {
    LEVEL_NONE = 0,
    RELOCATION_PIC = 2,
    CODE_MODEL_SMALL = 3,
    FILE_OBJECT = 1,
    VERIFY_RETURN_STATUS = 2,
    SEVERITY_ERROR = 0
};

/* Frames of up to this many bytes are taken to have as many. */
enum { FRAME_SMALL = 1000 };
#define FRAME_TEXT "1000"

/* Where llvm_compile_fatal() jumps to, in a thread that is compiling. */
static _Thread_local sigjmp_buf *escape;
static _Thread_local char fatal_reason[300];
static atomic_bool unusable;

/* A target machine and what it was made for. */
typedef struct Machine {
    LlvmMachine *machine;
    char *cpu, *features;
} Machine;

/* Machines that no compile uses, the newest last. */
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static Machine idle[4];
static uint32_t idle_count;

/* What is to be compiled, and where the object goes. */
typedef struct Request {
    const char *text, *cpu, *features;
    size_t size;
    void **object;
    size_t *object_size;
} Request;

typedef struct Job {
    const LlvmLibrary *library;
    LlvmContext *context;
    LlvmModule *module;
    Machine machine;
    LlvmBuffer *object;
    char *message;
    char diagnostic[300];
    uint64_t stack; /* bytes: all frames of the functions so far */
} Job;

void llvm_compile_fatal(const char *reason)
{
    if (escape) {
        snprintf(fatal_reason, sizeof fatal_reason, "%s", reason);
        siglongjmp(*escape, 1);
    }
}

static void keep_diagnostic(LlvmDiagnostic *diagnostic, void *data)
{
    static const char frame[] = "stack frame size (";
    Job *job = data;
    bool error = job->library->GetDiagInfoSeverity(diagnostic) == SEVERITY_ERROR;
    char *text = job->library->GetDiagInfoDescription(diagnostic);
    const char *found = text ? strstr(text, frame) : NULL;
    if ((error || !text) && !job->diagnostic[0]) {
        snprintf(job->diagnostic, sizeof job->diagnostic, "%s",
                 text ? text : "out of memory");
    } else if (!error && found) {
        job->stack += strtoull(found + strlen(frame), NULL, 10);
    }
    if (text)
        job->library->DisposeMessage(text);
}

/* Ask for a warning about the size of each frame, which keep_diagnostic() reads:
 * spilled values of a large kernel can fill more than the stack of a thread. */
static void watch_frames(Job *job)
{
    const LlvmLibrary *library = job->library;
    LlvmValue *f = library->GetFirstFunction(job->module);
    for (; f; f = library->GetNextFunction(f)) {
        if (!library->IsDeclaration(f)) {
            library->AddTargetDependentFunctionAttr(f, "warn-stack-size", FRAME_TEXT);
            job->stack += FRAME_SMALL;
        }
    }
}

static bool fail(const Job *job, const char *step)
{
    const char *reason = job->message         ? job->message
                         : job->diagnostic[0] ? job->diagnostic
                                              : "no reason given";
    return error_set(JIT_ERROR_COMPILE, "LLVM %d.%d.%d could not %s: %.350s",
                     job->library->major, job->library->minor, job->library->patch,
                     step, reason);
}

static bool parse(Job *job, const char *text, size_t size)
{
    const LlvmLibrary *library = job->library;
    job->context = library->ContextCreate();
    library->ContextSetDiagnosticHandler(job->context, keep_diagnostic, job);
    LlvmBuffer *buffer =
        library->CreateMemoryBufferWithMemoryRange(text, size, "kernel", 1);
    if (library->ParseIRInContext(job->context, buffer, &job->module, &job->message)) {
        return fail(job, "parse a kernel");
    }
    return true;
}

/* ---- target machines */

static void free_machine(const LlvmLibrary *library, Machine *machine)
{
    if (machine->machine) {
        library->DisposeTargetMachine(machine->machine);
    }
    alloc_free(machine->cpu);
    alloc_free(machine->features);
}

static bool take_idle(const char *cpu, const char *features, Machine *out)
{
    bool found = false;
    pthread_mutex_lock(&idle_lock);
    for (uint32_t i = idle_count; i-- > 0 && !found;) {
        if (strcmp(idle[i].cpu, cpu) == 0 && strcmp(idle[i].features, features) == 0) {
            *out = idle[i];
            memmove(idle + i, idle + i + 1, (--idle_count - i) * sizeof *idle);
            found = true;
        }
    }
    pthread_mutex_unlock(&idle_lock);
    return found;
}

/* Takes the machine over; the one that was idle for the longest time makes room. */
static void give_idle(const LlvmLibrary *library, Machine machine)
{
    Machine oldest = { 0 };
    pthread_mutex_lock(&idle_lock);
    if (idle_count == sizeof idle / sizeof idle[0]) {
        oldest = idle[0];
        memmove(idle, idle + 1, --idle_count * sizeof *idle);
    }
    idle[idle_count++] = machine;
    pthread_mutex_unlock(&idle_lock);
    free_machine(library, &oldest);
}

static bool make_machine(Job *job, const char *cpu, const char *features)
{
    const LlvmLibrary *library = job->library;
    Machine *machine = &job->machine;
    if (take_idle(cpu, features, machine)) {
        return true;
    }
    machine->cpu = alloc_string(cpu);
    machine->features = alloc_string(features);
    TRY(machine->cpu && machine->features, false);
    machine->machine =
        library->CreateTargetMachine(library->target, library->triple, cpu, features,
                                     LEVEL_NONE, RELOCATION_PIC, CODE_MODEL_SMALL);
    return machine->machine || fail(job, "create the target machine");
}

/* ---- one compile */

static bool generate(Job *job, const char *cpu, const char *features)
{
    const LlvmLibrary *library = job->library;
    TRY(make_machine(job, cpu, features), false);
    LlvmMachine *machine = job->machine.machine;
    LlvmLayout *layout = library->CreateTargetDataLayout(machine);
    library->SetTarget(job->module, library->triple);
    library->SetModuleDataLayout(job->module, layout);
    library->DisposeTargetData(layout);
    if (library->VerifyModule(job->module, VERIFY_RETURN_STATUS, &job->message)) {
        return fail(job, "verify a kernel");
    }
    library->DisposeMessage(job->message);
    job->message = NULL;
    watch_frames(job);
    if (library->TargetMachineEmitToMemoryBuffer(machine, job->module, FILE_OBJECT,
                                                 &job->message, &job->object) ||
        job->diagnostic[0]) {
        return fail(job, "generate code for a kernel");
    }
    return true;
}

static bool copy_object(const Job *job, void **object, size_t *object_size)
{
    size_t size = job->library->GetBufferSize(job->object);
    *object = alloc_get(size);
    TRY(*object, false);
    memcpy(*object, job->library->GetBufferStart(job->object), size);
    *object_size = size;
    llvm_object_note_stack(*object, size, job->stack);
    return true;
}

/* The machine of a compile that failed is not used again. */
static void release(Job *job, bool ok)
{
    const LlvmLibrary *library = job->library;
    if (job->message) {
        library->DisposeMessage(job->message);
    }
    if (job->object) {
        library->DisposeMemoryBuffer(job->object);
    }
    if (job->module) {
        library->DisposeModule(job->module);
    }
    if (job->context) {
        library->ContextDispose(job->context);
    }
    if (ok) {
        give_idle(library, job->machine);
    } else {
        free_machine(library, &job->machine);
    }
}

static bool compile(void *data)
{
    Request *request = data;
    Job *job = alloc_zero(1, sizeof *job);
    TRY(job, false);
    job->library = llvm_load();
    sigjmp_buf here;
    if (sigsetjmp(here, 0) != 0) {
        escape = NULL;
        atomic_store(&unusable, true);
        /* The job's objects may be half-changed: they are given up with the library. */
        return error_set(JIT_ERROR_COMPILE, "LLVM reported a fatal error: %.300s",
                         fatal_reason);
    }
    escape = &here;
    bool ok = parse(job, request->text, request->size) &&
              generate(job, request->cpu, request->features) &&
              copy_object(job, request->object, request->object_size);
    release(job, ok);
    escape = NULL;
    alloc_free(job);
    return ok;
}

bool llvm_compile(const char *text, size_t size, const char *cpu, const char *features,
                  void **object, size_t *object_size)
{
    TRY(llvm_load(), false);
    if (atomic_load(&unusable)) {
        return error_set(JIT_ERROR_COMPILE,
                         "libLLVM is not used any more: it reported a "
                         "fatal error before");
    }
    Request request = { text, cpu, features, size, object, object_size };
    return stack_call(compile, &request);
}
