/*
 * llvm_object.h -- ELF object -> executable memory
 */
#ifndef ENGINE_LLVM_LLVM_OBJECT_H
#define ENGINE_LLVM_LLVM_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/** Executable memory of one object. */
typedef struct LlvmObject {
    void *memory;   /* mapping, readable and executable */
    size_t size;    /* its bytes */
    void *function; /* the exported function */
} LlvmObject;

/** Lay out, relocate and map an object that has one exported function whose name starts
 *  with 'prefix' and refers to nothing outside of itself. 'data' may hold anything:
 * what is not such an object is refused. False: error recorded. */
bool llvm_object_map(const void *data, size_t size, const char *prefix,
                     LlvmObject *object);
/** Unmap; the function must not be running. */
void llvm_object_unmap(LlvmObject *object);

#endif
