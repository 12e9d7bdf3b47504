/*
 * ptx_text.c -- see ptx_text.h
 *
 * A line is put together in a buffer on the stack and appended at once: the patterns
 * are short, and an append costs more than the characters.
 */
#include "ptx/ptx_text.h"

#include <string.h>

enum {
    NAME_MOST = 16, /* characters of an argument */
    CHUNK = 512,    /* ... of the buffer, emptied before it is full */
    TEMPORARIES = 9 /* letters for them */
};

const PtxType ptx_types[VarTypeCount] = {
    [VarTypeBool] = { "pred", "pred", "u8", PTX_PRED },
    [VarTypeInt8] = { "s32", "b32", "s8", PTX_B32 },
    [VarTypeUInt8] = { "u32", "b32", "u8", PTX_B32 },
    [VarTypeInt16] = { "s32", "b32", "s16", PTX_B32 },
    [VarTypeUInt16] = { "u32", "b32", "u16", PTX_B32 },
    [VarTypeInt32] = { "s32", "b32", "b32", PTX_B32 },
    [VarTypeUInt32] = { "u32", "b32", "b32", PTX_B32 },
    [VarTypeInt64] = { "s64", "b64", "b64", PTX_B64 },
    [VarTypeUInt64] = { "u64", "b64", "b64", PTX_B64 },
    [VarTypePointer] = { "u64", "b64", "b64", PTX_B64 },
    [VarTypeFloat16] = { "f16", "b16", "b16", PTX_B16 },
    [VarTypeFloat32] = { "f32", "b32", "b32", PTX_B32 },
    [VarTypeFloat64] = { "f64", "b64", "b64", PTX_B64 },
};

/* What stands before the number of a register or label. */
static const char prefixes[][4] = {
    [PTX_PRED] = "%p", [PTX_B16] = "%h",  [PTX_B32] = "%r",
    [PTX_B64] = "%d",  [PTX_NUMBER] = "", [PTX_LABEL] = "L"
};
static const char *const declarations[PTX_CLASSES] = {
    [PTX_PRED] = ".pred", [PTX_B16] = ".b16", [PTX_B32] = ".b32", [PTX_B64] = ".b64"
};

void ptx_text_free(PtxText *text)
{
    text_free(&text->body);
    text_free(&text->module);
}

PtxArg ptx_text_new_many(PtxText *text, PtxClass in, uint32_t count)
{
    PtxArg first = (uint32_t) in << PTX_CLASS_SHIFT | text->used[in];
    text->used[in] += count;
    return first;
}

PtxArg ptx_text_label(PtxText *text)
{
    return (uint32_t) PTX_LABEL << PTX_CLASS_SHIFT | text->labels++;
}

static char *write_number(char *to, uint32_t n)
{
    char digits[NAME_MOST];
    uint32_t count = 0;
    do
        digits[count++] = (char) ('0' + n % 10);
    while (n /= 10);
    while (count)
        *to++ = digits[--count];
    return to;
}

static char *write_string(char *to, const char *string)
{
    while (*string)
        *to++ = *string++;
    return to;
}

static char *write_arg(char *to, PtxArg arg)
{
    to = write_string(to, prefixes[ptx_class(arg)]);
    return write_number(to, arg & ((UINT32_C(1) << PTX_CLASS_SHIFT) - 1));
}

/* Place and class of the temporary that a letter stands for. */
static uint32_t temporary(char letter, VarType type, PtxClass *in)
{
    static const char letters[TEMPORARIES + 1] = "pqxyzvwkl";
    static const uint8_t classes[] = { PTX_PRED, PTX_PRED, PTX_B32, PTX_B32,
                                       PTX_B32,  PTX_B64,  PTX_B64 };
    const char *found = memchr(letters, letter, TEMPORARIES);
    uint32_t k = found ? (uint32_t) (found - letters) : 0;
    *in = k < sizeof classes ? (PtxClass) classes[k] : ptx_types[type].in;
    return k;
}

void ptx_text_write(PtxText *text, VarType type, const char *pattern,
                    const PtxArg *args)
{
    PtxArg temporaries[TEMPORARIES];
    char buffer[CHUNK], *to = buffer;
    memset(temporaries, 0xff, sizeof temporaries);
    *to++ = '\t';
    for (const char *p = pattern; *p; ++p) {
        if (to > buffer + CHUNK - 2 * NAME_MOST) {
            text_put_n(&text->body, buffer, (size_t) (to - buffer));
            to = buffer;
        }
        if (*p == ';') {
            to = write_string(to, ";\n\t");
            p += p[1] == ' ';
        } else if (*p != '$') {
            *to++ = *p;
        } else if (*++p >= '0' && *p <= '9') {
            to = write_arg(to, args[*p - '0']);
        } else if (*p == 't' || *p == 'b' || *p == 'm') {
            const PtxType *t = &ptx_types[type];
            to = write_string(to, *p == 't'   ? t->name
                                  : *p == 'b' ? t->bits
                                              : t->memory);
        } else {
            PtxClass in;
            PtxArg *found = &temporaries[temporary(*p, type, &in)];
            if (*found == PTX_NONE)
                *found = ptx_text_new(text, in);
            to = write_arg(to, *found);
        }
    }
    to = write_string(to, ";\n");
    text_put_n(&text->body, buffer, (size_t) (to - buffer));
}

void ptx_text_join(char pattern[PTX_PATTERN_SIZE], const char *const *words)
{
    size_t at = 0;
    for (; *words; ++words)
        for (const char *c = *words; *c && at < PTX_PATTERN_SIZE - 1; ++c)
            pattern[at++] = *c;
    pattern[at] = 0;
}

void ptx_text_bind(PtxText *text, PtxArg label)
{
    char buffer[2 * NAME_MOST], *to = write_string(write_arg(buffer, label), ":\n");
    text_put_n(&text->body, buffer, (size_t) (to - buffer));
}

static char *write_hex(char *to, uint64_t bits)
{
    int shift = 60;
    to = write_string(to, "0x");
    while (shift > 0 && !(bits >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[bits >> shift & 15];
    return to;
}

/* Integers that are shorter than their registers are extended. */
static uint64_t extended(VarType type, uint64_t bits)
{
    const TypeInfo *info = &type_info[type];
    bits &= type_mask(type);
    if (info->is_signed && info->is_integer && info->size < 4 &&
        bits >> (info->size * 8 - 1))
        bits |= ~type_mask(type) & UINT32_MAX;
    return bits;
}

void ptx_text_literal(PtxText *text, VarType type, PtxArg to, uint64_t bits)
{
    char buffer[4 * NAME_MOST], *at = write_string(buffer, "\tmov.");
    at = write_string(at, ptx_types[type].bits);
    at = write_arg(write_string(at, " "), to);
    at = write_hex(write_string(at, ", "), extended(type, bits));
    at = write_string(at, ";\n");
    text_put_n(&text->body, buffer, (size_t) (at - buffer));
}

void ptx_text_move(PtxText *text, PtxArg to, PtxArg from)
{
    char buffer[4 * NAME_MOST], *at = write_string(buffer, "\tmov");
    at = write_string(at, declarations[ptx_class(to)]);
    at = write_arg(write_string(at, " "), to);
    at = write_arg(write_string(at, ", "), from);
    at = write_string(at, ";\n");
    text_put_n(&text->body, buffer, (size_t) (at - buffer));
}

void ptx_text_name(Text *out, PtxArg arg)
{
    char buffer[NAME_MOST];
    text_put_n(out, buffer, (size_t) (write_arg(buffer, arg) - buffer));
}

void ptx_text_registers(const PtxText *text, Text *out)
{
    for (uint32_t in = 0; in < PTX_CLASSES; ++in) {
        if (!text->used[in])
            continue;
        text_put(out, "\t.reg ");
        text_put(out, declarations[in]);
        text_put_char(out, ' ');
        text_put(out, prefixes[in]);
        text_put_char(out, '<');
        text_put_u64(out, text->used[in]);
        text_put(out, ">;\n");
    }
}
