/*
 * export_plan.h -- what an exported library consists of, known before it is written
 */
#ifndef EXPORT_EXPORT_PLAN_H
#define EXPORT_EXPORT_PLAN_H

#include "base/text.h"
#include "engine/native/native_engine.h"
#include "export/export.h"

#define EXPORT_NONE UINT32_MAX

/** An input or output as a field of a struct. */
typedef struct ExportField {
    char *name;       /* an identifier; owned */
    const char *path; /* what the caller calls it; NULL: likewise */
    uint32_t number;  /* among those that are fields; EXPORT_NONE: it is not one */
    bool array;       /* it has an address, */
    bool sized;       /* and a size; */
    bool size;        /* or is nothing but a size */
    uint8_t access;   /* of inputs: see export_access.h */
} ExportField;

/** A function. */
typedef struct ExportPlan {
    const JitExport *function;
    const Frozen *frozen;       /* that of 'function' */
    const Recording *recording; /* that of 'frozen' */
    const char *name, *library; /* what it and its library are called */
    NativeParts *kernels; /* each once */
    uint32_t kernel_count;
    uint32_t *kernel_of;  /* of commands; EXPORT_NONE: no launch */
    ExportField *inputs, *outputs;
    uint32_t fields;      /* of the inputs */
    uint32_t sizes;       /* size classes */
    bool *by_index;       /* of these: arrays that are accessed by index depend on it */
    bool indices;         /* there are such arrays */
    uint32_t parts;       /* of export_files.h */
    uint32_t extensions;  /* of the CPU */
    const char *isa;      /* "avx2" if there are no kernels */
} ExportPlan;

typedef struct ExportLibrary {
    const char *name;
    ExportPlan *functions;
    uint32_t count;
    uint32_t parts; /* of all functions */
    const char *isa;
} ExportLibrary;

/** Fill in a zeroed library. False: error recorded. Free it in any case. */
bool export_plan(ExportLibrary *library, const JitExport *functions,
                 uint32_t count);
void export_plan_free(ExportLibrary *library);

/** The size of an input: 0, none, means that it is empty. */
SymSize export_plan_symsize(const ExportPlan *p, uint32_t input);
/** "COMMAND_LAUNCH", ... */
extern const char *const export_plan_kinds[COMMAND_COUNT];
/** The type of C that entries have. */
const char *export_plan_type(VarType type);
/** Where the LaneFn of a step stands in a LaneTable: ".scatter[1][1][14]"; or "", and
 *  it is the end. False: nowhere. */
bool export_plan_step(const LaneStep *step, char *out, size_t size);

/** What the size of a field is called in C: "x_size". */
void export_plan_put_size(const ExportField *field, Text *out);

/* The files, see export.h. */
void export_kernels(const ExportPlan *p, Text *out);
void export_source(const ExportPlan *p, Text *out);
void export_library(const ExportLibrary *library, Text *out);
void export_header(const ExportLibrary *library, Text *out);
void export_header_example(const ExportLibrary *library, Text *out);

#endif
