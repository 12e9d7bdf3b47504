/*
 * export.h -- recorded functions as C libraries that need nothing of this one
 *
 *     recordings ──► export_plan.c     kernels, names; can they be exported?
 *                    export_symbol.c   can the functions be called so?
 *                        │
 *                        ├─► export_kernels.c    FUNCTION_kernels.S
 *                        ├─► export_source.c     FUNCTION.c: tables
 *                        ├─► export_library.c    NAME_library.c
 *                        ├─► export_header.c     NAME.h, NAME_example.c
 *                        └─► export_files.h      runtime/, Makefile, NAME.pc.in
 *
 * A library is called as its first function is.
 *
 * What runs them is src/export/runtime, and files of the layers below as they are: the
 * summation order and all else that decides about bits exists once.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <drjit-core/freeze.h>

#include "freeze/freezing.h"

/** JitRecording is the public name of Frozen. */
static inline const Frozen *export_frozen(const JitExport *function)
{
    return (const Frozen *) (const void *) function->recording;
}

typedef struct ExportText {
    Text path, text;
} ExportText;

/** The files of a library; zeroed: none. */
typedef struct ExportFiles {
    ExportText *list;
    uint32_t count;
} ExportFiles;

/** Make the files of a library of functions, one at least. Requires the graph lock,
 *  which may be released on the way. False: error recorded. Free them in any case. */
bool export_make(ThreadState *ts, const JitExport *functions, uint32_t count,
                 ExportFiles *files);
/** Write them to a folder, which is made if it is not there. Without locks. False:
 *  error recorded; some of them may have been written. */
bool export_save(const ExportFiles *files, const char *folder);
void export_free(ExportFiles *files);

#endif
