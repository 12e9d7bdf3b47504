/*
 * export_files.h -- the files that each exported function takes along, as text
 *
 * tools/make_runtime.py makes the tables when the library is built: sources of the
 * library as they are, and what they include.
 */
#ifndef EXPORT_EXPORT_FILES_H
#define EXPORT_EXPORT_FILES_H

#include <stdint.h>

/** What needs a file, as bits. */
enum {
    EXPORT_ALWAYS = 1,
    EXPORT_LANES = 2, /* kernels that call steps of the interpreter */
    EXPORT_PERMUTATION = 4,
    EXPORT_SORT = 8,
    EXPORT_GEMM = 16,
    EXPORT_ORDERED = 32,
    EXPORT_TRANSPOSE = 64
};

typedef enum ExportRole {
    EXPORT_HEADER,  /* or another file that is included */
    EXPORT_SOURCE,
    EXPORT_LOOPS,   /* a source that is compiled for the instruction set */
    EXPORT_TEMPLATE /* '@NAME@' and the like are replaced; see export.c */
} ExportRole;

typedef struct ExportFile {
    const char *path;
    uint32_t parts;
    ExportRole role;
    const char *text;
} ExportFile;

/** Ends with a path that is NULL. */
extern const ExportFile export_files[];
/** What these files declare at file scope, and the headers of the system that they
 *  include: each identifier between ends of lines, those of the compiler left out. */
extern const char export_names[];
/** Flags of the compiler for an instruction set. */
extern const char export_flags_avx2[], export_flags_avx512[];

#endif
