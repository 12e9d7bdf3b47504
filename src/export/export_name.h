/*
 * export_name.h -- texts of users, as identifiers, in comments and strings of C
 *
 * What inputs and outputs are called has keys of dictionaries in it, which may be any
 * text. It gets into what is written in these ways only.
 */
#ifndef EXPORT_EXPORT_NAME_H
#define EXPORT_EXPORT_NAME_H

#include <stdbool.h>

#include "base/text.h"

/** Can a function of C and of C++ be called so? */
bool export_name_is_function(const char *name);
/** Append an identifier in capitals. */
void export_name_put_upper(Text *out, const char *name);
/** Append a name for the field of a struct: the letters and digits of a text, with one
 *  '_' between them; no keyword of C or C++, no macro, at most 64 characters. Nothing
 *  is appended if there are none. */
void export_name_put_field(Text *out, const char *text);
/** Append a text for a comment, as printable ASCII. It neither ends the comment nor
 *  begins another one; what is escaped follows a backslash, as in Python. Behind 200
 *  bytes stands "...". */
void export_name_put_comment(Text *out, const char *text);
/** Append a text for what stands between quotes, bytes that are not plain characters as
 *  escapes of C. */
void export_name_put_string(Text *out, const char *text);

#endif
