/*
 * export_name.c -- see export_name.h
 *
 * The functions of <ctype.h> depend on the locale, which the process may have set.
 */
#include "export/export_name.h"

#include <stddef.h>
#include <string.h>

enum { FIELD_LIMIT = 64, COMMENT_LIMIT = 200 };

/* ------------------------------------------------------------------- identifiers */

/* Of C and C++; types that the header uses, since members of classes hide them; and
 * macros that compilers and the C library define in small letters. */
static const char *const reserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool",
    "break", "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class",
    "co_await", "co_return", "co_yield", "compl", "concept", "const", "const_cast",
    "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete",
    "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern",
    "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable",
    "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "restrict", "return", "short", "signed", "sizeof", "static",
    "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof",
    "typeof_unqual", "union", "unsigned", "using", "virtual", "void", "volatile",
    "wchar_t", "while", "xor", "xor_eq",
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",
    "uint64_t", "size_t",
    "BUFSIZ", "DIR", "EOF", "FILE", "INFINITY", "NAN", "NULL", "RAND_MAX", "errno",
    "linux", "main", "math_errhandling", "stderr", "stdin", "stdout", "unix",
    "L_ctermid", "L_cuserid", "L_tmpnam", "P_tmpdir"
};

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); ++i)
        if (strcmp(reserved[i], name) == 0)
            return true;
    return false;
}

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return is_upper(c) || is_lower(c); }

/* "NULL", "M_PIf", "F_H": not W, XY, A_0 or T_max. */
static bool is_like_macro(const char *name)
{
    size_t n = 0, letters = 0;
    for (; name[n] && !is_lower(name[n]); ++n)
        letters += is_upper(name[n]);
    if (!name[n])
        return n > 2 && letters > 1;
    return name[0] == 'M' && name[1] == '_' && is_upper(name[2]);
}

bool export_name_is_function(const char *name)
{
    if (!is_letter(*name) && *name != '_')
        return false;
    if (*name == '_' && is_upper(name[1])) /* _Bool, _Generic, ... */
        return false;
    const char *at = name;
    while (is_letter(*at) || is_digit(*at) || *at == '_')
        ++at;
    return !*at && !is_reserved(name);
}

void export_name_put_upper(Text *out, const char *name)
{
    for (; *name; ++name)
        text_put_char(out, is_lower(*name) ? (char) (*name - 'a' + 'A') : *name);
}

void export_name_put_field(Text *out, const char *text)
{
    char name[FIELD_LIMIT + 1];
    size_t size = 0;
    for (bool between = false; *text && size + 2 < FIELD_LIMIT; ++text) {
        if (!is_letter(*text) && !is_digit(*text)) {
            between = size != 0;
            continue;
        }
        if (!size && is_digit(*text))
            name[size++] = 'n';
        if (between)
            name[size++] = '_';
        between = false;
        name[size++] = *text;
    }
    name[size] = 0;
    text_put(out, name);
    if (size && (is_reserved(name) || is_like_macro(name)))
        text_put(out, "_");
}

/* ---------------------------------------------------------------------- comments */

/* The character that begins here, of UTF-8: how many bytes it has; 0: it is not one. */
static size_t decode(const char *text, uint32_t *out)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *byte = (const unsigned char *) text;
    const size_t count = *byte >= 0xf0 ? 4 : *byte >= 0xe0 ? 3 : 2;
    if (*byte < 0xc0 || *byte >= 0xf8)
        return 0;
    uint32_t c = *byte & (0x7fu >> count);
    for (size_t i = 1; i < count; ++i) {
        if ((byte[i] & 0xc0) != 0x80) /* the end, too */
            return 0;
        c = c << 6 | (byte[i] & 0x3fu);
    }
    *out = c;
    return c >= least[count] && c <= 0x10ffff ? count : 0;
}

/* Would it be part of "*""/", "/""*" or a trigraph after the character before? */
static bool joins(char before, char c)
{
    return (before == '*' && c == '/') || (before == '/' && c == '*') ||
           (before == '?' && c == '?');
}

static void put_other(Text *out, const char *text, size_t *size)
{
    uint32_t c = 0;
    const unsigned char byte = (unsigned char) *text;
    const size_t count = byte < 0x80 ? 0 : decode(text, &c);
    *size = count ? count : 1;
    if (*text == '\n')
        text_put(out, "\\n");
    else if (!count)
        text_putf(out, "\\x%02x", byte);
    else
        text_putf(out, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
}

void export_name_put_comment(Text *out, const char *text)
{
    const char *begin = text;
    char before = ' ';
    for (size_t size = 1; *text; text += size, size = 1) {
        if (text - begin >= COMMENT_LIMIT) {
            text_put(out, "...");
            return;
        }
        if (*text < ' ' || *text > '~') { /* or char is signed, and it is not ASCII */
            put_other(out, text, &size);
            before = ' ';
            continue;
        }
        if (*text == '\\' || joins(before, *text))
            text_put(out, "\\");
        text_put_char(out, *text);
        before = *text;
    }
}

/* ----------------------------------------------------------------------- strings */

void export_name_put_string(Text *out, const char *text)
{
    for (; *text; ++text)
        if (is_letter(*text) || is_digit(*text) || strchr(" _-+.,:/()[]<>=*'", *text))
            text_put_char(out, *text);
        else
            text_putf(out, "\\%03o", (unsigned) (unsigned char) *text);
}
