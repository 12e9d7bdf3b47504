/*
 * x86_text.c -- listings: instructions as text
 *
 * The text is made from what was asked for (row and operands), not from the bytes. The
 * columns of x86.def that only people need are kept here, away from the encoder's
 * table.
 */
#include "engine/native/x86/asm/x86_text.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/native/x86/asm/x86_row.h"

typedef struct RowText {
    const char *name, *text; /* row, mnemonic if it does not follow from the name */
    uint16_t operands[4];
    uint8_t kind, tuple, bcast, imm;
} RowText;

static const RowText rows[X86_OP_COUNT] = {
#define X(NAME, TEXT, KIND, MAP, PP, W, OPCODE, DIGIT, LENGTH, TUPLE, BCAST, MASK, \
    IMM, A, B, C, D) \
    [X86_##NAME] = { #NAME, TEXT, \
        { X86_OPERAND_##A, X86_OPERAND_##B, X86_OPERAND_##C, X86_OPERAND_##D }, \
        X86_KIND_##KIND, X86_TUPLE_##TUPLE, X86_BCAST_##BCAST, X86_IMM_##IMM },
#include "engine/native/x86/asm/x86.def"
#undef X
};

static const char *const cond_names[16] = {
    "o", "no", "b", "nb", "z", "nz", "be", "nbe",
    "s", "ns", "p", "np", "l", "nl", "le", "nle",
};

const char *const x86_jcc_names[16] = {
    "jo", "jno", "jb", "jnb", "jz", "jnz", "jbe", "jnbe",
    "js", "jns", "jp", "jnp", "jl", "jnl", "jle", "jnle",
};

/* ---- Parts of an instruction ---- */

/* Mnemonic up to the first end character, in lower case. */
static void put_lower(Text *text, const char *name, const char *ends)
{
    const size_t size = strcspn(name, ends);
    for (size_t i = 0; i < size; i++)
        text_put_char(text, (char) tolower((unsigned char) name[i]));
}

static void put_mnemonic(Text *text, const RowText *row, X86Form form, bool second)
{
    if (!row->text) {
        put_lower(text, row->name, "_");
        return;
    }
    const char *const slash = strchr(row->text, '/');
    put_lower(text, second && slash ? slash + 1 : row->text, "/");
    if (row == &rows[X86_SETCC] || row == &rows[X86_CMOVCC])
        text_put(text, cond_names[form >> X86_COND_SHIFT & 15]);
}

/* A general register of 8 << width bits. */
static void put_gpr(Text *text, uint32_t reg, uint32_t width)
{
    static const char *const names[4][8] = {
        { "al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil" },
        { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di" },
        { "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi" },
        { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi" },
    };
    static const char *const suffixes[4] = { "b", "w", "d", "" };
    if (reg < 8)
        text_put(text, names[width][reg]);
    else
        text_putf(text, "r%u%s", reg, suffixes[width]);
}

/* Length of a vector operand: 0, 1, 2 for xmm, ymm, zmm. */
static uint32_t vector_length(uint32_t class, X86Form form)
{
    const uint32_t length = form >> X86_LENGTH_SHIFT & 3;
    const uint32_t halvings = class - X86_CLASS_V;
    if (class == X86_CLASS_X)
        return 0;
    if (class == X86_CLASS_Y)
        return 1;
    return length > halvings ? length - halvings : 0;
}

static void put_register(Text *text, uint32_t class, uint32_t reg, X86Form form)
{
    switch (class) {
    case X86_CLASS_K: text_putf(text, "k%u", reg); break;
    case X86_CLASS_B: put_gpr(text, reg, 0); break;
    case X86_CLASS_W: put_gpr(text, reg, 1); break;
    case X86_CLASS_D: put_gpr(text, reg, 2); break;
    case X86_CLASS_U: put_gpr(text, reg, 3); break;
    case X86_CLASS_G: put_gpr(text, reg, form & X86_W ? 3 : 2); break;
    case X86_CLASS_L: text_put(text, "cl"); break;
    default:
        text_putf(text, "%cmm%u", "xyz"[vector_length(class, form)], reg);
        break;
    }
}

/* "0x1F" with a sign. */
static void put_hex(Text *text, int64_t value, bool plus)
{
    const uint64_t magnitude = value < 0 ? 0 - (uint64_t) value : (uint64_t) value;
    text_putf(text, "%s0x%llX", value < 0 ? "-" : plus ? "+" : "",
        (unsigned long long) magnitude);
}

/* Size of the memory operand, as a power of two. */
static uint32_t memory_size(const RowText *row, X86Form form)
{
    const uint32_t length = form >> X86_LENGTH_SHIFT & 3;
    if (form & X86_B)
        return row->bcast & X86_BCAST_SIZE;
    if (row->tuple >= X86_TUPLE_T1)
        return 4 + length;
    return x86_tuple_shift[row->tuple + (row->tuple == X86_TUPLE_G && form & X86_W)]
                          [length];
}

static void put_memory(Text *text, const RowText *row, uint32_t operand, X86Form form,
    X86Mem mem)
{
    static const char *const sizes[] = {
        "byte", "word", "dword", "qword", "xmmword", "ymmword", "zmmword",
    };
    const uint32_t size = memory_size(row, form);
    if (row != &rows[X86_LEA])
        text_putf(text, "%s ptr ", sizes[size]);
    text_put_char(text, '[');
    if (mem.base == X86_LABEL_BASE) {
        text_putf(text, "rip+L%u", (uint32_t) mem.disp);
        if (mem.offset)
            put_hex(text, mem.offset, true);
    } else {
        if (mem.base != X86_NO_BASE)
            put_gpr(text, mem.base, 3);
        if (mem.index != X86_NO_INDEX) {
            if (mem.base != X86_NO_BASE)
                text_put_char(text, '+');
            if (X86_OPERAND_PLACE(operand) == X86_PLACE_S)
                put_register(text, X86_OPERAND_CLASS(operand), mem.index, form);
            else
                put_gpr(text, mem.index, 3);
            text_putf(text, "*%u", 1u << mem.shift);
        }
        if (mem.base == X86_NO_BASE && mem.index == X86_NO_INDEX)
            text_putf(text, "0x%llX", (unsigned long long) mem.disp);
        else if (mem.disp)
            put_hex(text, mem.disp, true);
    }
    text_put_char(text, ']');
    if (form & X86_B)
        text_putf(text, " {1to%u}",
            1u << (memory_size(row, form & ~(X86Form) X86_B) - size));
}

/* Is it EVEX, by the rule of x86.c? */
static bool is_evex(const RowText *row, X86Form form, uint32_t regs, const X86Mem *mem)
{
    return row->kind & X86_KIND_EVEX
        && (!(row->kind & X86_KIND_VEX) || form & X86_EVEX_FORM || regs & X86_HIGH_REGS
            || (mem && row->kind & X86_KIND_EVEX_MEM));
}

static void put_opmask(Text *text, X86Form form)
{
    const uint32_t k = form >> X86_OPMASK_SHIFT & 7;
    if (k)
        text_putf(text, " {k%u}", k);
    if (form & X86_Z)
        text_put(text, " {z}");
}

static void put_immediate(Text *text, const RowText *row, int32_t imm)
{
    switch (row->imm & X86_IMM_SIZE) {
    case 1: put_hex(text, (uint8_t) imm, false); break;
    case 2: put_hex(text, (uint16_t) imm, false); break;
    default: put_hex(text, imm, false); break;
    }
}

static void put_instruction(Text *text, X86Form form, uint32_t regs, const X86Mem *mem,
    int32_t imm)
{
    static const char *const roundings[4] = { "rn", "rd", "ru", "rz" };
    const RowText *const row = &rows[form & X86_OP_MASK];
    const bool evex = is_evex(row, form, regs, mem);
    const char *separator = " ";
    const bool wide = row->kind & X86_KIND_LEGACY && form & X86_W;
    put_mnemonic(text, row, form, evex || wide);
    for (uint32_t i = 0; i < 4 && row->operands[i]; i++) {
        const uint32_t operand = row->operands[i];
        text_put(text, separator);
        separator = ", ";
        if (mem && (X86_OPERAND_PLACE(operand) & 3) == X86_AT_RM)
            put_memory(text, row, operand, form, *mem);
        else
            put_register(text, X86_OPERAND_CLASS(operand), regs >> 8 * i & 0xFF, form);
        if (i == 0 && evex)
            put_opmask(text, form);
    }
    if (form & X86_B && !mem) {
        if (row->bcast & X86_BCAST_ROUND)
            text_putf(text, " {%s-sae}", roundings[form >> X86_ROUND_SHIFT & 3]);
        else
            text_put(text, " {sae}");
    }
    if (row->imm && !(row->imm & X86_IMM_REG)) {
        text_put(text, separator);
        put_immediate(text, row, imm);
    }
}

/* ---- The listing ---- */

void x86_listing_free(X86Listing *listing)
{
    text_free(&listing->text);
    alloc_free(listing->lines);
    memset(listing, 0, sizeof(*listing));
}

/* Begin a line. Without memory the listing ends here and its text is lost; the code is
 * not. */
static bool begin(X86 *x)
{
    X86Listing *const listing = x->listing;
    if (!vec_reserve(&listing->lines, &listing->capacity, listing->count + 1,
            sizeof(*listing->lines))) {
        listing->text.failed = true;
        return false;
    }
    listing->lines[listing->count++]
        = (X86Line){ x86_position(x), (uint32_t) listing->text.size };
    return true;
}

void x86_list(X86 *x, X86Form form, uint32_t regs, const X86Mem *mem, int32_t imm)
{
    if (begin(x)) {
        put_instruction(&x->listing->text, form, regs, mem, imm);
        text_put_char(&x->listing->text, '\n');
    }
}

void x86_list_mov(X86 *x, int reg, uint64_t value)
{
    if (begin(x)) {
        text_put(&x->listing->text, "mov ");
        put_gpr(&x->listing->text, (uint32_t) reg, 3);
        text_putf(&x->listing->text, ", 0x%llX\n", (unsigned long long) value);
    }
}

void x86_list_jump(X86 *x, const char *name, X86Label label)
{
    if (begin(x))
        text_putf(&x->listing->text, "%s L%u\n", name, label);
}

void x86_list_label(X86 *x, X86Label label)
{
    if (begin(x))
        text_putf(&x->listing->text, "L%u:\n", label);
}

void x86_list_nop(X86 *x)
{
    if (begin(x))
        text_put(&x->listing->text, "nop\n");
}
