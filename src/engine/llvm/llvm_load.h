/*
 * llvm_load.h -- the table of libLLVM functions, found at run time
 *
 * The declarations below are our own reading of LLVM's stable C interface; no LLVM
 * header is needed to build. Handles are opaque pointers.
 */
#ifndef ENGINE_LLVM_LLVM_LOAD_H
#define ENGINE_LLVM_LLVM_LOAD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct LlvmContext LlvmContext;
typedef struct LlvmModule LlvmModule;
typedef struct LlvmValue LlvmValue;
typedef struct LlvmBuffer LlvmBuffer;
typedef struct LlvmTarget LlvmTarget;
typedef struct LlvmMachine LlvmMachine;
typedef struct LlvmLayout LlvmLayout;
typedef struct LlvmDiagnostic LlvmDiagnostic;

/* F(result, name, parameters): the symbol "LLVM" name; a library without it is
 * unusable. */
#define LLVM_FUNCTIONS(F)                                                            \
    F(LlvmContext *, ContextCreate, (void) )                                         \
    F(void, ContextDispose, (LlvmContext *) )                                        \
    F(void, ContextSetDiagnosticHandler,                                             \
      (LlvmContext *, void (*)(LlvmDiagnostic *, void *), void *) )                  \
    F(char *, GetDiagInfoDescription, (LlvmDiagnostic *) )                           \
    F(int, GetDiagInfoSeverity, (LlvmDiagnostic *) )                                 \
    F(LlvmBuffer *, CreateMemoryBufferWithMemoryRange,                               \
      (const char *, size_t, const char *, int) )                                    \
    F(const char *, GetBufferStart, (LlvmBuffer *) )                                 \
    F(size_t, GetBufferSize, (LlvmBuffer *) )                                        \
    F(void, DisposeMemoryBuffer, (LlvmBuffer *) )                                    \
    F(int, ParseIRInContext, (LlvmContext *, LlvmBuffer *, LlvmModule **, char **) ) \
    F(void, SetTarget, (LlvmModule *, const char *) )                                \
    F(void, SetModuleDataLayout, (LlvmModule *, LlvmLayout *) )                      \
    F(int, VerifyModule, (LlvmModule *, int, char **) )                              \
    F(void, DisposeModule, (LlvmModule *) )                                          \
    F(LlvmValue *, GetFirstFunction, (LlvmModule *) )                                \
    F(LlvmValue *, GetNextFunction, (LlvmValue *) )                                  \
    F(int, IsDeclaration, (LlvmValue *) )                                            \
    F(void, AddTargetDependentFunctionAttr,                                          \
      (LlvmValue *, const char *, const char *) )                                    \
    F(void, DisposeMessage, (char *) )                                               \
    F(char *, GetDefaultTargetTriple, (void) )                                       \
    F(int, GetTargetFromTriple, (const char *, LlvmTarget **, char **) )             \
    F(char *, GetHostCPUName, (void) )                                               \
    F(char *, GetHostCPUFeatures, (void) )                                           \
    F(LlvmMachine *, CreateTargetMachine,                                            \
      (LlvmTarget *, const char *, const char *, const char *, int, int, int) )      \
    F(void, DisposeTargetMachine, (LlvmMachine *) )                                  \
    F(LlvmLayout *, CreateTargetDataLayout, (LlvmMachine *) )                        \
    F(void, DisposeTargetData, (LlvmLayout *) )                                      \
    F(int, TargetMachineEmitToMemoryBuffer,                                          \
      (LlvmMachine *, LlvmModule *, int, char **, LlvmBuffer **) )                   \
    F(void, ParseCommandLineOptions, (int, const char *const *, const char *) )      \
    F(void, InstallFatalErrorHandler, (void (*)(const char *)))

/** What a loaded libLLVM offers. Immutable after loading, never unloaded. */
typedef struct LlvmLibrary {
    int major, minor, patch;
    const char *triple, *host_cpu, *host_features;
    LlvmTarget *target;
#define F(result, name, parameters) result(*name) parameters;
    LLVM_FUNCTIONS(F)
#undef F
} LlvmLibrary;

/** The library, loaded at the first call; the outcome is remembered. NULL: error
 * recorded, naming what was tried. Thread-safe. */
const LlvmLibrary *llvm_load(void);
/** The same, but never loads: NULL without an error if nothing was loaded yet. */
const LlvmLibrary *llvm_load_peek(void);

#endif
