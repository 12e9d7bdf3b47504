/*
 * llvm_object.h -- ELF object -> executable memory
 */
#ifndef ENGINE_LLVM_LLVM_OBJECT_H
#define ENGINE_LLVM_LLVM_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The constant of an object that tells how many bytes of scratch memory its function
 *  needs, if it needs any. */
#define LLVM_OBJECT_NUMBER "scratch_bytes"

/** Executable memory of one object. */
typedef struct LlvmObject {
    void *memory;    /* mapping, readable and executable */
    size_t size;     /* its bytes */
    void *function;  /* the exported function */
    uint64_t number; /* LLVM_OBJECT_NUMBER, 0 if there is none */
    uint64_t stack;  /* as llvm_object_note_stack() was told */
} LlvmObject;

/** Note in an object how many bytes of stack its function needs: in the address of its
 *  entry point, which only programs have. */
void llvm_object_note_stack(void *data, size_t size, uint64_t bytes);

/** Lay out, relocate and map an object that has one exported function whose name starts
 *  with 'prefix', perhaps the constant LLVM_OBJECT_NUMBER (i64), and refers to nothing
 *  outside of itself. 'data' may hold anything: what is not such an object is refused.
 *  False: error recorded. */
bool llvm_object_map(const void *data, size_t size, const char *prefix,
                     LlvmObject *object);
/** Unmap; the function must not be running. */
void llvm_object_unmap(LlvmObject *object);

#endif
