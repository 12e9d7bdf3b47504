/*
 * llvm_compile.h -- LLVM IR text -> ELF object
 */
#ifndef ENGINE_LLVM_LLVM_COMPILE_H
#define ENGINE_LLVM_LLVM_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

/** Compile IR text (0-terminated, 'size' without the 0) for a CPU and feature string.
 * The object's bytes go to '*object' (alloc_free); they tell how much stack it needs
 * (llvm_object_note_stack). False: error recorded. */
bool llvm_compile(const char *text, size_t size, const char *cpu, const char *features,
                  void **object, size_t *object_size);
/** Handler of libLLVM's fatal errors: leaves the running compile(), for good. */
void llvm_compile_fatal(const char *reason);

#endif
