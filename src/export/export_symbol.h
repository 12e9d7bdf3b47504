/*
 * export_symbol.h -- identifiers of a library that contain the names of its functions
 */
#ifndef EXPORT_EXPORT_SYMBOL_H
#define EXPORT_EXPORT_SYMBOL_H

#include "export/export.h"

/** Can the functions of a library have their names? These, and all that is made of
 *  them, have to be identifiers that neither the C library nor the runtime
 *  (export_files.h) declares, and none is there twice. False: error recorded. */
bool export_symbol_check(const JitExport *functions, uint32_t count);

#endif
