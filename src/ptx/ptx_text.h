/*
 * ptx_text.h -- PTX as text: registers, labels and instructions
 *
 * Code is appended line by line to the body of one function; variables of the module
 * go to a text of their own. An instruction is a pattern with escapes:
 *
 *     ptx_text_put(t, VarTypeFloat32, "setp.lt.$t $p, $1, $0; selp.$b $2, $1, $0, $p",
 *                  a, b, result);
 *
 *     $0 ... $9   the arguments: registers, numbers, labels
 *     $t          the type: s32, f32, pred, ...
 *     $b          the same as bits: b32
 *     $m          the same in memory, where masks are bytes: u8
 *     $p $q       temporaries: predicates
 *     $x $y $z    ... of 32 bits
 *     $v $w       ... of 64 bits
 *     $k $l       ... that hold the type
 *     ;           ends a line, as the end of the pattern does
 *
 * A register has one of four classes, without a type: PTX lets instructions of any type
 * use registers of as many bits. 8- and 16-bit integers are kept in 32 bits, extended
 * as their type says; halves have 16.
 */
#ifndef PTX_PTX_TEXT_H
#define PTX_PTX_TEXT_H

#include "base/text.h"
#include "ir/type.h"

typedef enum PtxClass {
    PTX_PRED,
    PTX_B16,
    PTX_B32,
    PTX_B64,
    PTX_CLASSES,
    PTX_NUMBER = PTX_CLASSES,
    PTX_LABEL
} PtxClass;

/** A register, or what else can be an argument: its number, below PTX_CLASS_SHIFT the
 *  PtxClass. */
typedef uint32_t PtxArg;
enum { PTX_CLASS_SHIFT = 29 };
#define PTX_NONE UINT32_MAX

/** An immediate number below 2^29. */
static inline PtxArg ptx_number(uint32_t n)
{
    return (uint32_t) PTX_NUMBER << PTX_CLASS_SHIFT | n;
}
static inline PtxClass ptx_class(PtxArg arg)
{
    return (PtxClass) (arg >> PTX_CLASS_SHIFT);
}
/** Number k of registers that were made together. */
static inline PtxArg ptx_nth(PtxArg first, uint32_t k)
{
    return first + k;
}

typedef struct PtxType {
    const char *name, *bits, *memory; /* of $t, $b, $m; without the point */
    PtxClass in;                      /* registers of this class hold it */
} PtxType;
extern const PtxType ptx_types[VarTypeCount];
/** Is it an integer of 8 or 16 bits, whose register has more? */
static inline bool ptx_is_narrow(VarType type)
{
    return type_info[type].is_integer && type_info[type].size < 4;
}

typedef struct PtxText {
    Text body;
    Text module;                /* variables, in front of the function */
    uint32_t used[PTX_CLASSES]; /* registers */
    uint32_t labels;
} PtxText;

/** Release what a zeroed PtxText has taken. */
void ptx_text_free(PtxText *text);

/** A register that nobody else uses; 'count' of them, with consecutive numbers. */
PtxArg ptx_text_new_many(PtxText *text, PtxClass in, uint32_t count);
static inline PtxArg ptx_text_new(PtxText *text, PtxClass in)
{
    return ptx_text_new_many(text, in, 1);
}
/** A register for values of a type. */
static inline PtxArg ptx_text_new_value(PtxText *text, VarType type)
{
    return ptx_text_new(text, ptx_types[type].in);
}

/** A label, and the place that it means: here. */
PtxArg ptx_text_label(PtxText *text);
void ptx_text_bind(PtxText *text, PtxArg label);

/** Append instructions; see above. */
void ptx_text_write(PtxText *text, VarType type, const char *pattern,
                    const PtxArg *args);
#define ptx_text_put(text, type, pattern, ...) \
    ptx_text_write(text, type, pattern, (const PtxArg[]){ __VA_ARGS__ })

/** Put a pattern together of words, which a NULL ends; it has to fit. */
enum { PTX_PATTERN_SIZE = 200 };
void ptx_text_join(char pattern[PTX_PATTERN_SIZE], const char *const *words);
#define PTX_JOIN(pattern, ...) \
    ptx_text_join(pattern, (const char *const[]){ __VA_ARGS__, NULL })

/** Set a register to bits of a type. */
void ptx_text_literal(PtxText *text, VarType type, PtxArg to, uint64_t bits);
/** Copy a register to another one of its class. */
void ptx_text_move(PtxText *text, PtxArg to, PtxArg from);
/** Append the name of an argument to a text. */
void ptx_text_name(Text *out, PtxArg arg);

/** Append the declarations of all registers. */
void ptx_text_registers(const PtxText *text, Text *out);

#endif
