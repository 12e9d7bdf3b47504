/*
 * x86.c -- encoding of instructions
 *
 * An instruction grows in a 64-bit word, first byte lowest. A row of x86.def gives the
 * word with no operands; each register adds its bits, looked up by its place and
 * number, and the modifiers of the form are where EVEX has them:
 *
 *            byte 0     1           2          3             4       5      6
 *     EVEX   62         ~R~X~B~R'mm W~vvvv1pp  zL'Lb~V'aaa   opcode  ModRM  immediate
 *     VEX    C4         ~R~X~Bmmmmm W~vvvvLpp  opcode        ModRM   immediate
 *
 * Prefixes hold most register bits inverted: the row has them set and registers are
 * XOR-ed in. The VEX word is shortened to C5, ~R~vvvvLpp where that says the same.
 * Words are stored whole, past the end of what counts (x86_code.h).
 */
#include "engine/native/x86/asm/x86.h"

#include "engine/native/x86/asm/x86_code.h"
#include "engine/native/x86/asm/x86_row.h"
#include "engine/native/x86/asm/x86_text.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum {
    ROW_BARE = 1, /* no ModRM; the value is used as a number of bytes */
    ROW_LEGACY = 1 << 1,
    ROW_LOCK = 1 << 2,
    ROW_EVEX = 1 << 3,       /* always EVEX */
    ROW_EVEX_MEM = 1 << 4,   /* EVEX if there is a memory operand */
    ROW_OPCODE_REG = 1 << 5, /* no ModRM, the register is part of the opcode */
    ROW_BYTE_REG = 1 << 6,   /* ModRM.reg is an 8-bit register */
    ROW_BYTE_RM = 1 << 7,    /* ModRM.rm is one, if it is a register */
};

typedef struct Row {
    uint64_t evex, vex; /* the word without operands; legacy rows use that of VEX */
    uint32_t places;    /* 32 * X86_AT_* of each operand, packed like the registers */
    uint8_t flags;
    uint8_t imm;   /* X86_IMM_* */
    uint8_t tuple; /* X86_TUPLE_* */
    uint8_t bcast; /* log2 of the element size */
    /* What copies need to know (X86Copies): 1 in the bytes of operands of that class;
     * the same without what may be in memory. */
    uint32_t vectors, masks, own_vectors, own_masks;
    bool opmask;       /* there may be one */
    bool vector_index; /* the memory operand has a vector as index */
    bool to_general;   /* the first operand is a general register */
} Row;

/* The bits of a form that are bits of EVEX. */
#define EVEX_FORM_BITS (X86_EVEX_FORM | X86_256 | X86_W)

/* Where the parts of a word begin. */
enum {
    EVEX_OPCODE = 32, EVEX_MODRM = 40, EVEX_IMM = 48,
    VEX_OPCODE = 24, VEX_MODRM = 32, VEX_IMM = 40,
    MODRM_REG = 0x38, /* its middle field */
};

#define IS(operand, word) (X86_OPERAND_##operand == X86_OPERAND_##word)
#define NONE(a, b, digit) (IS(a, _) && IS(b, _) && X86_DIGIT_##digit == X86_DIGIT__)
#define AT(operand) X86_OPERAND_AT(X86_OPERAND_##operand)
/* Opcode and ModRM (of registers), with the opcode extension. */
#define TAIL(opcode, digit) \
    ((uint64_t) (opcode) | (uint64_t) (0xC0 | (X86_DIGIT_##digit & 7) << 3) << 8)

#define CLASS_IN(operand, first, last) \
    (X86_OPERAND_CLASS(X86_OPERAND_##operand) >= X86_CLASS_##first \
        && X86_OPERAND_CLASS(X86_OPERAND_##operand) <= X86_CLASS_##last)
#define HAS_PLACE(operand, place) \
    (!IS(operand, _) && X86_OPERAND_PLACE(X86_OPERAND_##operand) == X86_PLACE_##place)
#define IN_RM(operand) \
    (HAS_PLACE(operand, M) || HAS_PLACE(operand, P) || HAS_PLACE(operand, S))
#define IS_VECTOR(operand) CLASS_IN(operand, V, Y)
#define IS_MASK(operand) CLASS_IN(operand, K, K)
#define BYTES(property, a, b, c, d) \
    ((uint32_t) property(a) | (uint32_t) property(b) << 8 \
        | (uint32_t) property(c) << 16 | (uint32_t) property(d) << 24)

static const Row rows[X86_OP_COUNT] = {
#define X(NAME, TEXT, KIND, MAP, PP, W, OPCODE, DIGIT, LENGTH, TUPLE, BCAST, MASK, \
    IMM, A, B, C, D) \
    [X86_##NAME] = { \
        .evex = 0x087CF062u | X86_MAP_##MAP << 8 | X86_PP_##PP << 16 \
            | (X86_W_##W & 2) << (X86_W_SHIFT - 1) \
            | TAIL(OPCODE, DIGIT) << EVEX_OPCODE, \
        .vex = 0x78E0C4u | X86_MAP_##MAP << 8 | X86_PP_##PP << 16 \
            | (X86_W_##W & 1) << X86_W_SHIFT \
            | (X86_LENGTH_##LENGTH == X86_LENGTH_L1) << 18 \
            | TAIL(OPCODE, DIGIT) << VEX_OPCODE, \
        .places = 32u * (AT(A) | AT(B) << 8 | AT(C) << 16 | AT(D) << 24), \
        .flags = (X86_KIND_##KIND & X86_KIND_LEGACY ? ROW_LEGACY : 0) \
            | (X86_KIND_##KIND & X86_KIND_LOCK ? ROW_LOCK : 0) \
            | (X86_KIND_##KIND & X86_KIND_VEX ? 0 : ROW_EVEX) \
            | (X86_KIND_##KIND & X86_KIND_EVEX_MEM ? ROW_EVEX_MEM : 0) \
            | (NONE(A, B, DIGIT) ? ROW_BARE : 0) \
            | (IS(A, O_G) || IS(A, O_D) ? ROW_OPCODE_REG : 0) \
            | (IS(A, R_B) || IS(B, R_B) ? ROW_BYTE_REG : 0) \
            | (IS(A, M_B) || IS(B, M_B) ? ROW_BYTE_RM : 0), \
        .imm = X86_IMM_##IMM, \
        .tuple = X86_TUPLE_##TUPLE, \
        .bcast = X86_BCAST_##BCAST & X86_BCAST_SIZE, \
        .vectors = BYTES(IS_VECTOR, A, B, C, D), \
        .masks = BYTES(IS_MASK, A, B, C, D), \
        .own_vectors = BYTES(IS_VECTOR, A, B, C, D) & ~BYTES(IN_RM, A, B, C, D), \
        .own_masks = BYTES(IS_MASK, A, B, C, D) & ~BYTES(IN_RM, A, B, C, D), \
        .opmask = X86_MASK_##MASK != X86_MASK__, \
        .vector_index = HAS_PLACE(A, S) || HAS_PLACE(B, S), \
        .to_general = CLASS_IN(A, G, U), \
    },
#include "engine/native/x86/asm/x86.def"
#undef X
};

/* What register r adds to a word in each place. */
#define EVEX_REG(r) ((r & 8) << 12 | (r & 16) << 8 | (r & 7) << (EVEX_MODRM + 3))
#define EVEX_VVVV(r) ((r & 15) << 19 | (r & 16) << 23)
#define EVEX_RM(r) ((r & 24) << 10 | (r & 7) << EVEX_MODRM)
#define VEX_REG(r) ((r & 8) << 12 | (r & 7) << (VEX_MODRM + 3))
#define VEX_VVVV(r) ((r & 15) << 19)
#define VEX_RM(r) ((r & 8) << 10 | (r & 7) << VEX_MODRM)
#define VEX_IS4(r) ((r & 15) << (VEX_IMM + 4))
#define FOUR(f, r) f((r + 0ull)), f((r + 1ull)), f((r + 2ull)), f((r + 3ull))
#define SIXTEEN(f, r) FOUR(f, r), FOUR(f, (r + 4)), FOUR(f, (r + 8)), FOUR(f, (r + 12))

/* By 32 * place + register. */
static const uint64_t evex_bits[128] = {
    SIXTEEN(EVEX_REG, 0), SIXTEEN(EVEX_REG, 16),
    SIXTEEN(EVEX_VVVV, 0), SIXTEEN(EVEX_VVVV, 16),
    SIXTEEN(EVEX_RM, 0), SIXTEEN(EVEX_RM, 16),
};

static const uint64_t vex_bits[128] = {
    SIXTEEN(VEX_REG, 0), SIXTEEN(VEX_REG, 0),
    SIXTEEN(VEX_VVVV, 0), SIXTEEN(VEX_VVVV, 0),
    SIXTEEN(VEX_RM, 0), SIXTEEN(VEX_RM, 0),
    SIXTEEN(VEX_IS4, 0), SIXTEEN(VEX_IS4, 0),
};

_Static_assert(X86_AT_REG == 0 && X86_AT_VVVV == 1 && X86_AT_RM == 2 && X86_AT_IMM == 3,
    "the order of the two tables");

const uint8_t x86_tuple_shift[X86_TUPLE_COUNT][3] = {
    [X86_TUPLE_F] = { 4, 5, 6 }, [X86_TUPLE_H] = { 3, 4, 5 },
    [X86_TUPLE_Q] = { 2, 3, 4 }, [X86_TUPLE_O] = { 1, 2, 3 },
    [X86_TUPLE_D] = { 3, 5, 6 }, [X86_TUPLE_N1] = { 0, 0, 0 },
    [X86_TUPLE_N2] = { 1, 1, 1 }, [X86_TUPLE_N4] = { 2, 2, 2 },
    [X86_TUPLE_N8] = { 3, 3, 3 }, [X86_TUPLE_N16] = { 4, 4, 4 },
    [X86_TUPLE_N32] = { 5, 5, 5 }, [X86_TUPLE_G] = { 2, 2, 2 },
    [X86_TUPLE_GW] = { 3, 3, 3 }, [X86_TUPLE_T1] = { 0, 0, 0 },
    [X86_TUPLE_T2] = { 1, 1, 1 }, [X86_TUPLE_T4] = { 2, 2, 2 },
    [X86_TUPLE_T8] = { 3, 3, 3 },
};

/* ---- Operands in memory ---- */

/* ModRM and so on of labels and without a base; 'tail' bytes of the instruction
 * follow. */
static uint8_t *put_rare_mem(X86 *x, uint8_t *at, uint32_t modrm, X86Mem mem,
    uint32_t tail)
{
    if (mem.base == X86_LABEL_BASE) {
        *at++ = (uint8_t) (modrm | 5);
        x86_refer(x, at, (X86Label) mem.disp, mem.offset - 4 - (int32_t) tail, 4);
        return at + 4;
    }
    /* Base 5 in SIB and no displacement means no base and 32 bits of displacement. */
    const uint32_t sib = (uint32_t) mem.shift << 6 | (mem.index & 7u) << 3 | 5;
    x86_put16(at, (uint16_t) (modrm | 4 | sib << 8));
    x86_put32(at + 2, (uint32_t) mem.disp);
    return at + 6;
}

/* ModRM (without its middle field), SIB and displacement of a plain operand as a
 * number, and how many bytes that are. 8-bit displacements are scaled by 1 << shift.
 * Which bytes there are depends on the operands: numbers here, not branches to be
 * mispredicted. */
static ALWAYS_INLINE uint64_t make_mem(uint64_t bits, uint32_t shift, uint32_t *size)
{
    const int32_t disp = (int32_t) (uint32_t) bits;
    const int32_t scaled = disp >> shift;
    const uint32_t base = bits >> 32 & 7;
    const bool is_byte = ((int32_t) ((uint32_t) scaled << shift) == disp)
        & (scaled == (int8_t) scaled);
    /* Base 5 without displacement would mean something else. */
    const uint32_t mod = (uint32_t) ((disp != 0) | (base == 5)) << !is_byte;
    const uint32_t has_sib = ((bits >> 40 & 0xFF) != X86_NO_INDEX) | (base == 4);
    const uint32_t sib = (bits >> 42 & 0xC0) | (bits >> 37 & 0x38) | base;
    const uint32_t modrm = mod << 6 | (has_sib ? 4 | sib << 8 : base);
    const uint64_t tail = is_byte ? (uint8_t) scaled : (uint32_t) disp;
    *size = 1 + has_sib + mod + (mod & 2);
    return modrm | tail << (8 + 8 * has_sib);
}

/* A memory operand as a number: fields are read from a register. */
static inline uint64_t mem_number(X86Mem mem)
{
    uint64_t bits;
    memcpy(&bits, &mem, sizeof(bits));
    return bits;
}

/* The operand 'distance' bytes further on. */
static inline uint64_t move_mem(uint64_t bits, uint32_t distance)
{
    return (bits & ~(uint64_t) UINT32_MAX) | ((uint32_t) bits + distance);
}

/* Is it [base + index * scale + displacement]? */
static inline bool is_plain(X86Mem mem)
{
    return (mem_number(mem) >> 32 & 0xFF) < X86_NO_BASE;
}

/* Bit 3 of base and index and bit 4 of a vector index, where a word inverts them. */
static inline uint32_t mem_bits(uint64_t bits)
{
    return (bits >> 22 & 0x2000) | (bits >> 29 & 0x4000);
}

/* The same where EVEX has them. */
static inline uint32_t evex_mem_bits(uint64_t bits)
{
    return mem_bits(bits) ^ (bits >> 17 & 1u << 27);
}

/* ---- Instructions ---- */

/* Bring the registers to their places. They are below 32. */
static inline uint64_t add_regs(const Row *row, const uint64_t *bits, uint32_t regs,
    uint64_t word)
{
    const uint32_t at = row->places + regs;
    return word ^ bits[at & 0x7F] ^ bits[at >> 8 & 0x7F] ^ bits[at >> 16 & 0x7F]
        ^ bits[at >> 24 & 0x7F];
}

/* VEX of 2 or 3 bytes with what follows. The short one implies map 0F, W = 0 and low
 * registers in rm or memory; which one it is depends on registers, which no branch
 * predictor knows. Returns the number of bytes saved. */
static inline uint32_t shorten(uint64_t *word)
{
    const uint64_t full = *word;
    const bool is_short = (full & 0x807F00) == 0x6100;
    const uint64_t brief = 0xC5 | (full & 0x8000) | (full >> 8 & 0x7F00)
        | (full >> 8 & ~(uint64_t) 0xFFFF);
    *word = is_short ? brief : full;
    return is_short;
}

/* Prefixes and opcode of the instructions that are older than VEX; 'word' is VEX.
 * 'size' is that of the immediate. */
static ALWAYS_INLINE uint8_t *put_legacy(uint8_t *at, const Row *row, X86Form form,
    uint64_t word, bool needs_rex, uint32_t size)
{
    static const uint8_t prefixes[] = { 0, 0x66, 0xF3, 0xF2 };
    const uint64_t bits = word | (form & X86_W);
    const uint32_t rex = 0x40 | (bits >> (X86_W_SHIFT - 3) & 8) | (~bits >> 13 & 7);
    const uint32_t prefix = word >> 16 & 3;
    uint32_t opcode = (uint32_t) (word >> VEX_OPCODE) + (form >> X86_COND_SHIFT & 15);
    if (row->flags & ROW_LOCK)
        *at++ = 0xF0;
    if (prefix)
        *at++ = prefixes[prefix];
    if (rex != 0x40 || needs_rex)
        *at++ = (uint8_t) rex;
    if ((word >> 8 & 0x1F) == X86_MAP_0F)
        *at++ = 0x0F;
    if (row->imm & X86_IMM_SHORT && size == 1)
        opcode |= 2;
    *at++ = (uint8_t) opcode;
    return at;
}

/* Bytes of the immediate. */
static inline uint32_t imm_size(const Row *row, int32_t imm)
{
    if (row->imm & X86_IMM_SHORT && imm == (int8_t) imm)
        return 1;
    return row->imm & X86_IMM_SIZE;
}

/* Registers 4-7 are spl, bpl, sil, dil with a REX prefix, else ah, ch, dh, bh; 12-15
 * have one anyway. */
static inline bool is_byte_reg(const Row *row, uint32_t modrm)
{
    return row->flags & ROW_BYTE_REG && modrm & 0x20;
}

static void emit_legacy(X86 *x, const Row *row, X86Form form, uint32_t regs,
    int32_t imm)
{
    const uint64_t word = add_regs(row, vex_bits, regs, row->vex);
    const uint32_t modrm = (uint8_t) (word >> VEX_MODRM);
    const uint32_t size = imm_size(row, imm);
    const bool needs_rex
        = is_byte_reg(row, modrm) || (row->flags & ROW_BYTE_RM && modrm & 4);
    uint8_t *at = put_legacy(x->at, row, form, word, needs_rex, size);
    if (row->flags & ROW_OPCODE_REG)
        at[-1] = (uint8_t) (at[-1] | (modrm & 7));
    else if (!(row->flags & ROW_BARE))
        *at++ = (uint8_t) modrm;
    x86_put32(at, (uint32_t) imm);
    x->at = at + size;
}

static void emit_mem_legacy(X86 *x, const Row *row, X86Form form, uint32_t regs,
    X86Mem mem, int32_t imm)
{
    const uint64_t bits = mem_number(mem);
    const uint64_t word = add_regs(row, vex_bits, regs, row->vex) ^ mem_bits(bits);
    const uint32_t modrm = (uint8_t) (word >> VEX_MODRM);
    const uint32_t size = imm_size(row, imm);
    uint8_t *at = put_legacy(x->at, row, form, word, is_byte_reg(row, modrm), size);
    if (is_plain(mem)) {
        uint32_t length;
        x86_put64(at, make_mem(bits, 0, &length) | (modrm & MODRM_REG));
        at += length;
    } else {
        at = put_rare_mem(x, at, modrm & MODRM_REG, mem, size);
    }
    x86_put32(at, (uint32_t) imm);
    x->at = at + size;
}

/* The bits that VEX takes from a form. */
static inline uint32_t vex_form(X86Form form)
{
    return (form & X86_W) | (form & X86_256) >> (X86_LENGTH_SHIFT - 18);
}

/* The word of EVEX without operands, for instructions on registers. */
static inline uint64_t evex_word(const Row *row, X86Form form)
{
    /* With b set, the length bits say how to round. */
    if (form & X86_B)
        form = (form & ~X86_LENGTH(3))
            | (form & (X86_RZ ^ X86_B)) << (X86_LENGTH_SHIFT - X86_ROUND_SHIFT);
    return row->evex | (form & EVEX_FORM_BITS);
}

/* By how many bits an 8-bit displacement is scaled. */
static inline uint32_t tuple_shift(const Row *row, X86Form form)
{
    const uint32_t tuple
        = row->tuple + (row->tuple == X86_TUPLE_G && form & X86_W);
    return form & X86_B ? row->bcast
        : x86_tuple_shift[tuple][form >> X86_LENGTH_SHIFT & 3];
}

/* ---- Instructions with VEX or EVEX. Copies differ in the numbers of their registers,
 * which are 'further' (see X86Copies): the word is made once. ---- */

static ALWAYS_INLINE void emit_vex(X86 *x, const Row *row, X86Form form, uint32_t regs,
    int32_t imm, uint32_t count, uint32_t further)
{
    const uint64_t word
        = row->vex | vex_form(form) | (uint64_t) (uint8_t) imm << VEX_IMM;
    const uint32_t size
        = (row->imm & X86_IMM_SIZE) + VEX_IMM / 8 - (row->flags & ROW_BARE);
    uint8_t *at = x->at;
    for (; count > 0; count--) {
        uint64_t own = add_regs(row, vex_bits, regs, word);
        const uint32_t saved = shorten(&own);
        x86_put64(at, own);
        at += size - saved;
        regs += further;
    }
    x->at = at;
}

static ALWAYS_INLINE void emit_evex(X86 *x, const Row *row, X86Form form, uint32_t regs,
    int32_t imm, uint32_t count, uint32_t further, X86Form opmask)
{
    const uint32_t size = (row->imm & X86_IMM_SIZE) + EVEX_IMM / 8;
    uint64_t word = evex_word(row, form) | (uint64_t) (uint8_t) imm << EVEX_IMM;
    uint8_t *at = x->at;
    for (; count > 0; count--) {
        x86_put64(at, add_regs(row, evex_bits, regs, word));
        at += size;
        word += opmask; /* in the same place */
        regs += further;
    }
    x->at = at;
}

/* The same with a plain memory operand, which is 'bits'. Often all copies have the same
 * one, and so the same bytes behind the opcode but for a register. */
static ALWAYS_INLINE void emit_vex_mem(X86 *x, const Row *row, X86Form form,
    uint32_t regs, uint64_t bits, int32_t imm, uint32_t count, uint32_t further,
    uint32_t distance)
{
    const uint64_t word = (row->vex | vex_form(form)) ^ mem_bits(bits);
    uint32_t length;
    uint64_t tail = make_mem(bits, 0, &length);
    uint8_t *at = x->at;
    for (;;) {
        uint64_t own = add_regs(row, vex_bits, regs, word);
        const uint32_t modrm = own >> VEX_MODRM & MODRM_REG;
        const uint64_t last = (uint8_t) (imm | (int32_t) (own >> VEX_IMM));
        const uint32_t saved = shorten(&own);
        x86_put64(at, own);
        at += VEX_MODRM / 8 - saved;
        x86_put64(at, tail | modrm | last << 8 * length);
        at += length + (row->imm & X86_IMM_SIZE);
        if (--count == 0)
            break;
        regs += further;
        if (distance)
            tail = make_mem(bits = move_mem(bits, distance), 0, &length);
    }
    x->at = at;
}

static ALWAYS_INLINE void emit_evex_mem(X86 *x, const Row *row, X86Form form,
    uint32_t regs, uint64_t bits, int32_t imm, uint32_t count, uint32_t further,
    uint32_t distance, X86Form opmask)
{
    const uint32_t shift = tuple_shift(row, form);
    const uint64_t byte = (uint8_t) imm;
    uint64_t word = (row->evex | (form & EVEX_FORM_BITS)) ^ evex_mem_bits(bits);
    uint32_t length;
    uint64_t tail = make_mem(bits, shift, &length);
    uint8_t *at = x->at;
    for (;;) {
        const uint64_t own = add_regs(row, evex_bits, regs, word);
        x86_put64(at, own);
        at += EVEX_MODRM / 8;
        x86_put64(at, tail | (own >> EVEX_MODRM & MODRM_REG) | byte << 8 * length);
        at += length + (row->imm & X86_IMM_SIZE);
        if (--count == 0)
            break;
        regs += further;
        word += opmask;
        if (distance)
            tail = make_mem(bits = move_mem(bits, distance), shift, &length);
    }
    x->at = at;
}

/* Must an instruction of these registers be EVEX? 'flags' are those of rows that
 * say so. */
static inline bool needs_evex(const Row *row, X86Form form, uint32_t regs,
    uint32_t flags)
{
    return row->flags & flags || (form & X86_EVEX_FORM) | (regs & X86_HIGH_REGS);
}

static ALWAYS_INLINE void emit(X86 *x, const Row *row, X86Form form, uint32_t regs,
    int32_t imm)
{
    if (row->flags & ROW_LEGACY)
        emit_legacy(x, row, form, regs, imm);
    else if (needs_evex(row, form, regs, ROW_EVEX))
        emit_evex(x, row, form, regs, imm, 1, 0, 0);
    else
        emit_vex(x, row, form, regs, imm, 1, 0);
}

/* Where the memory operand is a label or has no base. */
static void emit_rare_mem(X86 *x, const Row *row, X86Form form, uint32_t regs,
    X86Mem mem, int32_t imm)
{
    const uint64_t bits = mem_number(mem);
    const uint32_t size = row->imm & X86_IMM_SIZE;
    const bool evex = needs_evex(row, form, regs, ROW_EVEX | ROW_EVEX_MEM);
    uint64_t word = evex ? row->evex | (form & EVEX_FORM_BITS)
        : row->vex | vex_form(form);
    word = add_regs(row, evex ? evex_bits : vex_bits, regs, word)
        ^ (evex ? evex_mem_bits(bits) : mem_bits(bits));
    const uint32_t modrm = word >> (evex ? EVEX_MODRM : VEX_MODRM) & MODRM_REG;
    uint8_t *at = x->at + (evex ? EVEX_MODRM : VEX_MODRM) / 8;
    if (!evex) {
        imm |= (int32_t) (word >> VEX_IMM);
        at -= shorten(&word);
    }
    x86_put64(x->at, word);
    at = put_rare_mem(x, at, modrm, mem, size);
    *at = (uint8_t) imm;
    x->at = at + size;
}

static ALWAYS_INLINE void emit_mem(X86 *x, const Row *row, X86Form form, uint32_t regs,
    X86Mem mem, int32_t imm)
{
    const uint64_t bits = mem_number(mem);
    if (row->flags & ROW_LEGACY)
        emit_mem_legacy(x, row, form, regs, mem, imm);
    else if (!is_plain(mem))
        emit_rare_mem(x, row, form, regs, mem, imm);
    else if (needs_evex(row, form, regs, ROW_EVEX | ROW_EVEX_MEM))
        emit_evex_mem(x, row, form, regs, bits, imm, 1, 0, 0, 0);
    else
        emit_vex_mem(x, row, form, regs, bits, imm, 1, 0, 0);
}

/* ---- Copies ---- */

/* By how much the registers of the next copy are further, its opmask, and its place in
 * memory. */
static inline uint32_t copy_regs(const X86Copies *c, const Row *row)
{
    return row->vectors * c->vectors + row->masks * c->masks;
}

static inline uint32_t copy_own_regs(const X86Copies *c, const Row *row)
{
    return row->own_vectors * c->vectors + row->own_masks * c->masks;
}

static inline X86Form copy_opmask(const X86Copies *c, const Row *row, X86Form form)
{
    return row->opmask && form & X86_K(7) ? X86_K(c->masks) : 0;
}

static inline uint32_t copy_distance(const X86Copies *c, const Row *row, uint64_t bits)
{
    if ((bits >> 40 & 0xFF) == c->index && !row->vector_index)
        return (uint32_t) c->index_step << (bits >> 48 & 3);
    return (bits >> 32 & 0xFF) == c->base ? (uint32_t) c->base_step : 0;
}

/* What is rare: a full buffer, a failure before, a listing, copies of which only some
 * are EVEX, a label. Kept apart so that the usual path is one function without
 * calls. */
static __attribute__((noinline)) void emit_rare(X86 *x, const Row *row, X86Form form,
    uint32_t regs, int32_t imm)
{
    const X86Copies *const c = &x->copies;
    const uint32_t further = copy_regs(c, row);
    const uint32_t count = c->count > 1 && further ? c->count : 1;
    const X86Form opmask = copy_opmask(c, row, form);
    if (count > 1 && row->to_general)
        *c->refused = true;
    for (uint32_t i = 0; i < count; i++) {
        if (x->at >= x->limit)
            x86_grow(x, 0);
        if (x->listing)
            x86_list(x, form, regs, NULL, imm);
        emit(x, row, form, regs, imm);
        form += opmask;
        regs += further;
    }
}

static __attribute__((noinline)) void emit_mem_rare(X86 *x, const Row *row,
    X86Form form, uint32_t regs, X86Mem mem, int32_t imm)
{
    const X86Copies *const c = &x->copies;
    const bool copied = c->count > 1 && (row->vectors | row->masks);
    const uint32_t further = copy_own_regs(c, row);
    const X86Form opmask = copy_opmask(c, row, form);
    const uint32_t distance = copy_distance(c, row, mem_number(mem));
    for (uint32_t i = copied ? c->count : 1; i > 0; i--) {
        if (x->at >= x->limit)
            x86_grow(x, 0);
        if (x->listing)
            x86_list(x, form, regs, &mem, imm);
        emit_mem(x, row, form, regs, mem, imm);
        form += opmask;
        regs += further;
        mem.disp = (int32_t) ((uint32_t) mem.disp + distance);
        if (row->vector_index)
            mem.index = (uint8_t) (mem.index + c->vectors);
    }
}

/* False if the copies are not all VEX or all EVEX. */
static inline bool emit_copies(X86 *x, const Row *row, X86Form form, uint32_t regs,
    int32_t imm)
{
    const X86Copies *const c = &x->copies;
    const uint32_t further = copy_regs(c, row), count = further ? c->count : 1;
    if (row->flags & ROW_EVEX || form & X86_EVEX_FORM)
        emit_evex(x, row, form, regs, imm, count, further, copy_opmask(c, row, form));
    else if ((regs | (regs + (count - 1) * further)) & X86_HIGH_REGS)
        return false;
    else
        emit_vex(x, row, form, regs, imm, count, further);
    if (further && row->to_general)
        *c->refused = true;
    return true;
}

static inline bool emit_mem_copies(X86 *x, const Row *row, X86Form form, uint32_t regs,
    uint64_t bits, int32_t imm)
{
    const X86Copies *const c = &x->copies;
    const uint32_t further = copy_own_regs(c, row);
    const uint32_t count = row->vectors | row->masks ? c->count : 1;
    const uint32_t distance = copy_distance(c, row, bits);
    if (row->vector_index)
        return false;
    if (row->flags & (ROW_EVEX | ROW_EVEX_MEM) || form & X86_EVEX_FORM)
        emit_evex_mem(x, row, form, regs, bits, imm, count, further, distance,
            copy_opmask(c, row, form));
    else if ((regs | (regs + (count - 1) * further)) & X86_HIGH_REGS)
        return false;
    else
        emit_vex_mem(x, row, form, regs, bits, imm, count, further, distance);
    return true;
}

void x86_emit(X86 *x, X86Form form, uint32_t regs, int32_t imm)
{
    const Row *const row = &rows[form & X86_OP_MASK];
    const bool rare = x->at >= x->limit || x->listing;
    if (!rare && x->copies.count <= 1)
        emit(x, row, form, regs, imm);
    else if (rare || row->flags & ROW_LEGACY || !emit_copies(x, row, form, regs, imm))
        emit_rare(x, row, form, regs, imm);
}

void x86_emit_mem(X86 *x, X86Form form, uint32_t regs, X86Mem mem, int32_t imm)
{
    const Row *const row = &rows[form & X86_OP_MASK];
    const uint64_t bits = mem_number(mem);
    const bool rare = x->at >= x->limit || x->listing || !is_plain(mem);
    if (!rare && x->copies.count <= 1)
        emit_mem(x, row, form, regs, mem, imm);
    else if (rare || row->flags & ROW_LEGACY
        || !emit_mem_copies(x, row, form, regs, bits, imm))
        emit_mem_rare(x, row, form, regs, mem, imm);
}

void x86_mov_imm(X86 *x, int reg, uint64_t value)
{
    if (value <= UINT32_MAX) {
        x86_ri(x, X86_MOV_R, reg, (int32_t) (uint32_t) value);
    } else if (value == (uint64_t) (int64_t) (int32_t) value) {
        x86_ri(x, X86_MOV_I | X86_W, reg, (int32_t) value);
    } else {
        /* The row knows the lower half of the immediate. */
        if (x->at >= x->limit)
            x86_grow(x, 0);
        if (x->listing)
            x86_list_mov(x, reg, value);
        emit_legacy(x, &rows[X86_MOV_R], X86_W, (uint32_t) reg,
            (int32_t) (uint32_t) value);
        x86_put32(x->at, (uint32_t) (value >> 32));
        x->at += 4;
    }
}
