/*
 * llvm_engine.h -- Program -> LLVM IR -> machine code, with libLLVM found at run time
 *
 * Files: llvm_load.c (dlopen, the function table), llvm_ir.c (writes IR text) with
 * llvm_writer.c, _ops.c, _memory.c, _atomic.c, _stmt.c, _region.c and _local.c,
 * llvm_compile.c (text to object code, diagnostics), llvm_object.c (ELF object to
 * executable memory), llvm_engine.c (the engine struct, targets).
 */
#ifndef ENGINE_LLVM_LLVM_ENGINE_H
#define ENGINE_LLVM_LLVM_ENGINE_H

#include "engine/engine.h"

extern const Engine llvm_engine;

/** Version of the loaded libLLVM (loads it). False, error recorded, if there is none.
 */
bool llvm_version(int *major, int *minor, int *patch);
/** What a target means; the host's names are asked of libLLVM. */
const char *llvm_target_cpu(const Target *target);
const char *llvm_target_features(const Target *target);
/** Lanes of a packet. Does not load libLLVM. */
uint32_t llvm_vector_width(const Target *target);

#endif
