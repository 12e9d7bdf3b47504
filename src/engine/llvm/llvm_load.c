/*
 * llvm_load.c -- finds libLLVM, and loads it
 *
 * Order: the file DRJIT_LIBLLVM_PATH names (then nothing else is tried), versioned
 * names of the dynamic linker's search path, newest first, the usual directories of
 * distributions, the generic name. A candidate must be version 15 or newer (opaque
 * pointers), have every function of the table and generate code for this machine.
 *
 * The library is never unloaded: its code may be on the stack of other threads.
 */
#include "engine/llvm/llvm_load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/llvm/llvm_compile.h"
#include "os/library.h"
#include "os/process.h"
#include "os/stack.h"
#include "watch/progress.h"

enum { LLVM_NEWEST = 22, LLVM_OLDEST = 15 };

#if defined(__x86_64__)
#define LLVM_ARCH "X86"
#elif defined(__aarch64__)
#define LLVM_ARCH "AArch64"
#else
#define LLVM_ARCH "(none)"
#endif

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static LlvmLibrary library;
static ErrorRecord load_error;
/* Released once 'library' is complete; acquired by llvm_load_peek(). */
static atomic_bool loaded;

/* LLVMGetVersion came with 16. LLVM 15 is recognised by a function that only this
 * release and its successor have. */
static bool find_version(void *handle, const char **reason)
{
    void (*get_version)(unsigned *, unsigned *, unsigned *);
    if (library_symbol(handle, "LLVMGetVersion", &get_version)) {
        unsigned major = 0, minor = 0, patch = 0;
        get_version(&major, &minor, &patch);
        library.major = (int) major;
        library.minor = (int) minor;
        library.patch = (int) patch;
        *reason = "it is older than version 15";
        return major >= LLVM_OLDEST;
    }
    library.major = LLVM_OLDEST;
    library.minor = library.patch = 0;
    *reason = library_has(handle, "LLVMContextCreate") ? "it is older than version 15"
                                                       : "it is not libLLVM";
    return library_has(handle, "LLVMContextSetOpaquePointers");
}

/* No optimisation but a good register allocator. Scheduling would cost a tenth of the
 * time; these kernels are as fast in the order they are written in. On AArch64 the
 * selector that LLVM takes without optimisation needs time that grows with the square
 * of a kernel's length where vectors are split (four doubles), and gives most kernels
 * up: they get the one that x86-64 has. */
static const char *const option_list[] = { "drjit", "-optimize-regalloc",
                                           "-regalloc=greedy", "-enable-misched=false",
                                           "-global-isel=false" };

static bool initialise(void *handle, const char **reason)
{
    static const char *const steps[] = { "LLVMInitialize" LLVM_ARCH "TargetInfo",
                                         "LLVMInitialize" LLVM_ARCH "Target",
                                         "LLVMInitialize" LLVM_ARCH "TargetMC",
                                         "LLVMInitialize" LLVM_ARCH "AsmPrinter" };
    *reason = "it cannot generate code for this machine";
    void (*functions[4])(void);
    for (int i = 0; i < 4; i++) {
        TRY(library_symbol(handle, steps[i], &functions[i]), false);
    }
    for (int i = 0; i < 4; i++) {
        functions[i]();
    }
    library.InstallFatalErrorHandler(llvm_compile_fatal);
    library.ParseCommandLineOptions((int) (sizeof option_list / sizeof option_list[0]),
                                    option_list, NULL);
    library.triple = library.GetDefaultTargetTriple();
    library.host_cpu = library.GetHostCPUName();
    library.host_features = library.GetHostCPUFeatures();
    char *message = NULL;
    if (library.GetTargetFromTriple(library.triple, &library.target, &message) != 0) {
        library.DisposeMessage(message);
        return false;
    }
    return true;
}

static bool fill_table(void *handle, const char **reason)
{
#define F(result, name, parameters)                          \
    if (!library_symbol(handle, "LLVM" #name, &library.name)) { \
        *reason = "the function LLVM" #name " is missing";   \
        return false;                                        \
    }
    LLVM_FUNCTIONS(F)
#undef F
    return true;
}

/* Try one candidate; on failure a line about it goes to 'report'. */
static bool try_candidate(const char *path, Text *report)
{
    const char *reason = "";
    void *handle = library_open(path, &reason);
    if (!handle) {
        /* A dozen names that do not exist are summed up by search(). */
        if (reason) {
            text_putf(report, "\n  %s: %s", path, reason);
        }
        return false;
    }
    if (find_version(handle, &reason) && fill_table(handle, &reason) &&
        initialise(handle, &reason)) {
        return true;
    }
    text_putf(report, "\n  %s: %s", path, reason);
    library_close(handle);
    return false;
}

static bool search(Text *report)
{
    const char *chosen = getenv("DRJIT_LIBLLVM_PATH");
    if (chosen && *chosen && !process_is_setuid()) {
        TRY(!try_candidate(chosen, report), true);
        if (report->size == 0) {
            text_putf(report, "\n  %s: no such file", chosen);
        }
        return false;
    }
    static const char *const patterns[] = {
        "libLLVM.so.%d.1",
        "libLLVM.so.%d",
        "libLLVM-%d.so.1",
        "libLLVM-%d.so",
        "/usr/lib/llvm-%d/lib/libLLVM.so.1",
        "/usr/lib/llvm-%d/lib/libLLVM.so",
        "/usr/lib64/llvm%d/lib64/libLLVM.so",
        "/opt/homebrew/opt/llvm@%d/lib/libLLVM.dylib"
    };
    char path[128];
    for (int version = LLVM_NEWEST; version >= LLVM_OLDEST; version--) {
        for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
            snprintf(path, sizeof path, patterns[i], version);
            TRY(!try_candidate(path, report), true);
        }
    }
    TRY(!try_candidate("libLLVM.so", report), true);
    text_putf(report,
              "\n  not there: libLLVM.so.N.1, libLLVM.so.N, libLLVM-N.so.1, "
              "libLLVM-N.so (N = %d ... %d), /usr/lib/llvm-N/lib, libLLVM.so",
              LLVM_NEWEST, LLVM_OLDEST);
    return false;
}

static bool find_library(void *unused)
{
    (void) unused;
    Text report = { 0 };
    bool found = search(&report);
    if (!found) {
        const char *tried = text_get(&report);
        error_set(
            JIT_ERROR_UNSUPPORTED,
            "no usable libLLVM (version 15 or newer) was found; set DRJIT_LIBLLVM_PATH "
            "to its file. Tried:%s",
            tried ? tried : "");
    }
    text_free(&report);
    return found;
}

static void load(void)
{
    Progress progress;
    progress_begin(&progress, "loading libLLVM");
    bool found = stack_call(find_library, NULL);
    progress_end(&progress);
    if (found) {
        atomic_store_explicit(&loaded, true, memory_order_release);
    } else {
        error_save(&load_error);
    }
}

const LlvmLibrary *llvm_load(void)
{
    pthread_once(&load_once, load);
    if (!llvm_load_peek()) {
        error_restore(&load_error);
        return NULL;
    }
    return &library;
}

const LlvmLibrary *llvm_load_peek(void)
{
    return atomic_load_explicit(&loaded, memory_order_acquire) ? &library : NULL;
}
