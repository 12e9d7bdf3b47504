/*
 * test_x86.c -- the assembler of the native engine against a disassembler
 *
 * Every row of x86.def is encoded in all its forms and read back with Zydis: mnemonic,
 * operands, widths, displacement, immediate, masks and length must be what was asked
 * for, and the listing must say what Zydis prints. Operands vary one at a time over all
 * their values, on low and on high registers, and all together at random. Labels, jumps
 * and padding are the business of test_x86_run.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/native/x86/asm/x86.h"
#include "engine/native/x86/asm/x86_row.h"

#if defined(TEST_WITH_ZYDIS)
#include <Zydis/Zydis.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Requests: what to encode ---- */

typedef struct RowInfo {
    const char *name;
    uint8_t kind, w, length, tuple, bcast, mask, imm;
    uint16_t operands[4];
} RowInfo;

static const RowInfo row_infos[X86_OP_COUNT] = {
#define X(NAME, TEXT, KIND, MAP, PP, W, OPCODE, DIGIT, LENGTH, TUPLE, BCAST, MASK, \
    IMM, A, B, C, D) \
    [X86_##NAME] = { #NAME, X86_KIND_##KIND, X86_W_##W, X86_LENGTH_##LENGTH, \
        X86_TUPLE_##TUPLE, X86_BCAST_##BCAST, X86_MASK_##MASK, X86_IMM_##IMM, \
        { X86_OPERAND_##A, X86_OPERAND_##B, X86_OPERAND_##C, X86_OPERAND_##D } },
#include "engine/native/x86/asm/x86.def"
#undef X
};

typedef struct Request {
    X86Form form; /* with the row */
    uint8_t regs[4];
    bool has_mem;
    X86Mem mem;
    int32_t imm;
} Request;

static X86 code;
static X86Listing listing;
static ZydisDecoder decoder;
static ZydisFormatter formatter, signed_formatter;
static uint64_t checked, wrong;

static const RowInfo *info_of(const Request *r)
{
    return &row_infos[r->form & X86_OP_MASK];
}

static uint32_t class_of(const RowInfo *row, uint32_t i)
{
    return X86_OPERAND_CLASS(row->operands[i]);
}

static uint32_t place_of(const RowInfo *row, uint32_t i)
{
    return X86_OPERAND_PLACE(row->operands[i]);
}

static bool is_vector(uint32_t class)
{
    return class >= X86_CLASS_V && class <= X86_CLASS_Y;
}

/* Can the operand be a register, can it be memory? */
static bool takes_reg(const RowInfo *row, uint32_t i)
{
    return row->operands[i] && place_of(row, i) != X86_PLACE_P
        && place_of(row, i) != X86_PLACE_S && place_of(row, i) != X86_PLACE_C;
}

static bool takes_mem(const RowInfo *row, uint32_t i)
{
    const uint32_t place = place_of(row, i);
    return row->operands[i]
        && (place == X86_PLACE_M || place == X86_PLACE_P || place == X86_PLACE_S);
}

/* Number of the operand that can be memory; 4 if there is none. */
static uint32_t mem_operand(const RowInfo *row)
{
    uint32_t i = 0;
    while (i < 4 && !takes_mem(row, i))
        ++i;
    return i;
}

static bool has_register_form(const RowInfo *row)
{
    const uint32_t i = mem_operand(row);
    return i == 4 || takes_reg(row, i);
}

static bool is_gather(const RowInfo *row)
{
    const uint32_t i = mem_operand(row);
    return i < 4 && place_of(row, i) == X86_PLACE_S;
}

static uint32_t opmask_of(const Request *r)
{
    return info_of(r)->kind & X86_KIND_LEGACY ? 0 : r->form >> X86_OPMASK_SHIFT & 7;
}

static bool needs_evex(const Request *r)
{
    const RowInfo *const row = info_of(r);
    if (!(row->kind & X86_KIND_EVEX))
        return false;
    if (!(row->kind & X86_KIND_VEX) || opmask_of(r)
        || r->form & (X86_Z | X86_B | X86_512)
        || (r->has_mem && row->kind & X86_KIND_EVEX_MEM))
        return true;
    for (uint32_t i = 0; i < 4; ++i)
        if (r->regs[i] > 15)
            return true;
    return false;
}

/* Is there such an instruction? Callers combine parts freely. */
static bool is_valid(const Request *r)
{
    const RowInfo *const row = info_of(r);
    const uint32_t k = opmask_of(r), length = r->form >> X86_LENGTH_SHIFT & 3;
    const bool vex_only = !(row->kind & X86_KIND_EVEX) && row->kind & X86_KIND_VEX;
    const uint32_t m = mem_operand(row);
    if (vex_only && length == 2)
        return false;
    if (!(row->length & 1 << length) && row->length & 7)
        return false;
    if (!(row->length & 7) && length)
        return false;
    if (r->has_mem ? m == 4 : !has_register_form(row))
        return false;
    if (!(row->kind & X86_KIND_LEGACY)) {
        if (k && row->mask == X86_MASK__)
            return false;
        if (!k && (row->mask == X86_MASK_G || r->form & X86_Z))
            return false;
        if (r->form & X86_Z && (row->mask != X86_MASK_Z || (r->has_mem && m == 0)))
            return false;
        if (r->form & X86_B && r->has_mem && !(row->bcast & X86_BCAST_SIZE))
            return false;
        if (r->form & X86_B && !r->has_mem
            && (!(row->bcast & (X86_BCAST_ROUND | X86_BCAST_SAE))
                || (row->length & 7 && length != 2)))
            return false;
    }
    if (is_gather(row)) {
        /* The registers of a gather differ. */
        if (!(row->kind & X86_KIND_EVEX)
            && (r->mem.index > 15 || r->regs[0] == r->regs[2]
                || r->regs[2] == r->mem.index))
            return false;
        if (m == 1 && r->regs[0] == r->mem.index)
            return false;
    } else if (r->has_mem && r->mem.index == X86_RSP) {
        return false;
    }
    return true;
}

/* How many registers an operand can name. */
static uint32_t reg_count(const RowInfo *row, uint32_t i)
{
    const uint32_t class = class_of(row, i);
    if (class == X86_CLASS_K)
        return 8;
    return is_vector(class) && row->kind & X86_KIND_EVEX ? 32 : 16;
}

/* ---- Expectations ---- */

/* The register of Zydis for an operand. */
static ZydisRegister expected_register(const Request *r, uint32_t class, uint32_t reg)
{
    static const ZydisRegisterClass vectors[3] = {
        ZYDIS_REGCLASS_XMM, ZYDIS_REGCLASS_YMM, ZYDIS_REGCLASS_ZMM,
    };
    int length = (int) (r->form >> X86_LENGTH_SHIFT & 3);
    switch (class) {
    case X86_CLASS_K: return ZydisRegisterEncode(ZYDIS_REGCLASS_MASK, (ZyanU8) reg);
    /* Zydis has ah, ch, dh, bh at 4. */
    case X86_CLASS_B:
        return ZydisRegisterEncode(ZYDIS_REGCLASS_GPR8,
            (ZyanU8) (reg < 4 ? reg : reg + 4));
    case X86_CLASS_W: return ZydisRegisterEncode(ZYDIS_REGCLASS_GPR16, (ZyanU8) reg);
    case X86_CLASS_D: return ZydisRegisterEncode(ZYDIS_REGCLASS_GPR32, (ZyanU8) reg);
    case X86_CLASS_U: return ZydisRegisterEncode(ZYDIS_REGCLASS_GPR64, (ZyanU8) reg);
    case X86_CLASS_G:
        return ZydisRegisterEncode(r->form & X86_W ? ZYDIS_REGCLASS_GPR64
            : ZYDIS_REGCLASS_GPR32, (ZyanU8) reg);
    case X86_CLASS_L: return ZYDIS_REGISTER_CL;
    case X86_CLASS_H: length -= 1; break;
    case X86_CLASS_Q: length -= 2; break;
    case X86_CLASS_O: length -= 3; break;
    case X86_CLASS_X: length = 0; break;
    case X86_CLASS_Y: length = 1; break;
    default: break;
    }
    return ZydisRegisterEncode(vectors[length < 0 ? 0 : length], (ZyanU8) reg);
}

static bool memory_matches(const Request *r, uint32_t operand,
    const ZydisDecodedInstruction *instruction, const ZydisDecodedOperandMem *mem)
{
    const RowInfo *const row = info_of(r);
    const X86Mem want = r->mem;
    int64_t disp = want.disp;
    ZydisRegister base = ZYDIS_REGISTER_NONE, index = ZYDIS_REGISTER_NONE;
    if (want.base == X86_LABEL_BASE) {
        base = ZYDIS_REGISTER_RIP;
        /* The label is bound at the end of the code. */
        disp = (int64_t) x86_position(&code) + want.offset - instruction->length;
    } else if (want.base != X86_NO_BASE) {
        base = ZydisRegisterEncode(ZYDIS_REGCLASS_GPR64, want.base);
    }
    if (want.index != X86_NO_INDEX)
        index = is_gather(row)
            ? expected_register(r, class_of(row, operand), want.index)
            : ZydisRegisterEncode(ZYDIS_REGCLASS_GPR64, want.index);
    return mem->base == base && mem->index == index && mem->disp.value == disp
        && mem->scale == (index == ZYDIS_REGISTER_NONE ? 0 : 1 << want.shift);
}

static bool operand_matches(const Request *r, uint32_t i,
    const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operand)
{
    const RowInfo *const row = info_of(r);
    if (r->has_mem && i == mem_operand(row))
        return operand->type == ZYDIS_OPERAND_TYPE_MEMORY
            && memory_matches(r, i, instruction, &operand->mem);
    return operand->type == ZYDIS_OPERAND_TYPE_REGISTER
        && operand->reg.value == expected_register(r, class_of(row, i), r->regs[i]);
}

static bool immediate_matches(const Request *r, const ZydisDecodedOperand *operand)
{
    const uint32_t size = info_of(r)->imm & X86_IMM_SIZE;
    const uint64_t mask = (1ull << 8 * size) - 1;
    return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE
        && (operand->imm.value.u & mask) == ((uint64_t) (int64_t) r->imm & mask);
}

/* What differs, or NULL. */
static const char *compare(const Request *r, const ZydisDecodedInstruction *instruction,
    const ZydisDecodedOperand *operands)
{
    const RowInfo *const row = info_of(r);
    const bool legacy = row->kind & X86_KIND_LEGACY;
    uint32_t i = 0, seen = 0;
    if (instruction->encoding != (legacy ? ZYDIS_INSTRUCTION_ENCODING_LEGACY
            : needs_evex(r) ? ZYDIS_INSTRUCTION_ENCODING_EVEX
            : ZYDIS_INSTRUCTION_ENCODING_VEX))
        return "encoding";
    for (; seen < instruction->operand_count_visible; ++seen) {
        if (operands[seen].encoding == ZYDIS_OPERAND_ENCODING_MASK)
            continue;
        if (i < 4 && row->operands[i]) {
            if (!operand_matches(r, i, instruction, &operands[seen]))
                return "operand";
            ++i;
        } else if (!row->imm || !immediate_matches(r, &operands[seen])) {
            return "immediate";
        }
    }
    if (i < 4 && row->operands[i])
        return "number of operands";
    if (legacy)
        return NULL;
    if (opmask_of(r)
        && instruction->avx.mask.reg != ZydisRegisterEncode(ZYDIS_REGCLASS_MASK,
               (ZyanU8) opmask_of(r)))
        return "opmask";
    if (needs_evex(r) && !!(r->form & X86_Z) != instruction->raw.evex.z)
        return "zeroing";
    if (r->form & X86_B && r->has_mem
        && (instruction->avx.broadcast.is_static || !instruction->avx.broadcast.mode))
        return "broadcast";
    if (r->form & X86_B && !r->has_mem
        && (row->bcast & X86_BCAST_SAE ? !instruction->avx.has_sae
            : instruction->avx.rounding.mode
                != ZYDIS_ROUNDING_MODE_RN + (r->form >> X86_ROUND_SHIFT & 3)))
        return "rounding";
    return NULL;
}

/* ---- Checking one request ---- */

static void complain(const Request *r, const char *what, const char *text)
{
    static X86Form last;
    const bool again = (last & X86_OP_MASK) == (r->form & X86_OP_MASK);
    last = r->form;
    if (++wrong > 200 || again)
        return;
    print_message("%s: wrong %s:", info_of(r)->name, what);
    for (uint32_t i = 0; i < x86_position(&code); ++i)
        print_message(" %02X", code.code[i]);
    print_message("\n    asked for %s    is %s\n",
        listing.text.data ? listing.text.data : "?", text);
}

static void check(const Request *asked)
{
    Request request = *asked;
    const Request *const r = &request;
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    char text[256] = "not an instruction";
    const uint32_t imm = info_of(r)->imm & X86_IMM_SIZE, m = mem_operand(info_of(r));
    if (r->has_mem && m < 4)
        request.regs[m] = 0;
    const uint32_t regs = x86_pack(r->regs[0], r->regs[1], r->regs[2], r->regs[3]);
    X86Label end;
    if (!is_valid(r))
        return;
    ++checked;
    x86_reset(&code);
    text_clear(&listing.text);
    listing.count = 0;
    end = x86_label(&code);
    if (r->has_mem)
        x86_emit_mem(&code, r->form, regs, r->mem, r->imm);
    else
        x86_emit(&code, r->form, regs, r->imm);
    listing.text.data[listing.text.size - 1] = 0; /* no line end */
    code.listing = NULL;
    x86_bind(&code, end);
    code.listing = &listing;
    assert_true(x86_finish(&code));
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.code, x86_position(&code),
            &instruction, operands))) {
        complain(r, "encoding", text);
        return;
    }
    ZydisFormatterFormatInstruction(imm == 4 ? &signed_formatter : &formatter,
        &instruction, operands, instruction.operand_count_visible, text, sizeof(text),
        ZYDIS_RUNTIME_ADDRESS_NONE, NULL);
    if (instruction.length != x86_position(&code)) {
        complain(r, "length", text);
        return;
    }
    const char *const difference = compare(r, &instruction, operands);
    if (difference)
        complain(r, difference, text);
    else if (!(r->has_mem && r->mem.base == X86_LABEL_BASE)
             && strcmp(listing.text.data, text) != 0)
        complain(r, "listing", text);
}

/* ---- Variations of one operand ---- */

static const int32_t displacements[] = {
    0, 1, -1, 2, 4, 8, 16, 32, 64, -4, -8, -16, -32, -64, 100, 127, 128, -128, -129,
    254, 256, 508, 512, -512, -516, 1016, 1024, -1024, -1032, 2032, 2048, -2048,
    4064, 4096, -4096, -4128, 8128, 8192, -8192, -8256, 65536, 0x12345678, INT32_MAX,
    INT32_MIN,
};

static const int32_t immediates[] = {
    0, 1, 2, 7, 31, 63, 127, 128, 255, -1, -2, -127, -128, -129, 256, 32767, -32768,
    65535, 0x12345678, INT32_MAX, INT32_MIN,
};

static int32_t fit_immediate(const RowInfo *row, int32_t imm)
{
    return row->imm & X86_IMM_REG || !row->imm ? 0 : imm;
}

/* Registers, opmasks, conditions, rounding and immediates. */
static void vary_registers(Request base)
{
    const RowInfo *const row = info_of(&base);
    const uint32_t m = mem_operand(row);
    for (uint32_t i = 0; i < 4; ++i) {
        if (!takes_reg(row, i) || (base.has_mem && i == m))
            continue;
        for (uint32_t reg = 0; reg < reg_count(row, i); ++reg) {
            Request r = base;
            r.regs[i] = (uint8_t) reg;
            check(&r);
            if (row->operands[i] == X86_OPERAND_A_V)
                continue;
            /* With another opmask, too: bits must not run into each other. */
            if (!(row->kind & X86_KIND_LEGACY)) {
                r.form |= X86_K(5);
                check(&r);
            }
        }
    }
    for (uint32_t k = 0; k < 16; ++k) {
        Request r = base;
        if (row == &row_infos[X86_SETCC] || row == &row_infos[X86_CMOVCC]) {
            r.form |= X86_CC(k);
        } else if (!(row->kind & X86_KIND_LEGACY)) {
            r.form = (r.form & ~X86_K(7)) | X86_K(k & 7) | (k & 8 ? X86_Z : 0);
            check(&r);
            r.form |= X86_B;
        }
        check(&r);
    }
    for (uint32_t round = 0; round < 4 && row->bcast & X86_BCAST_ROUND; ++round) {
        Request r = base;
        r.form |= X86_B | round << X86_ROUND_SHIFT;
        if (!r.has_mem)
            check(&r);
    }
    for (uint32_t i = 0; i < COUNT(immediates) && row->imm & X86_IMM_SIZE; ++i) {
        Request r = base;
        r.imm = fit_immediate(row, immediates[i]);
        check(&r);
        r.mem = x86_at_label(0, 3);
        if (!is_gather(row))
            check(&r);
    }
}

/* Memory operands. */
static void vary_memory(Request base)
{
    const RowInfo *const row = info_of(&base);
    const bool gather = is_gather(row);
    const uint32_t last_index = !gather ? 15 : row->kind & X86_KIND_EVEX ? 31 : 15;
    const uint8_t some[] = { X86_RAX, X86_RSP, X86_RBP, X86_R12, X86_R13, X86_NO_BASE };
    for (uint32_t i = 0; i < COUNT(displacements); ++i) {
        Request r = base;
        r.mem = x86_at_index(some[i % COUNT(some)], gather ? 2 : X86_NO_INDEX, 0,
            displacements[i]);
        check(&r);
        r.mem.base = X86_RBX;
        check(&r);
        r.form |= X86_B;
        if (!(row->kind & X86_KIND_LEGACY))
            check(&r);
    }
    for (uint32_t reg = 0; reg < 16; ++reg) {
        Request r = base;
        r.mem.base = (uint8_t) reg;
        check(&r);
        r.mem.disp = 0;
        check(&r);
    }
    for (uint32_t i = 0; i <= last_index * 4 + 3; ++i) {
        for (uint32_t j = 0; j < COUNT(some); ++j) {
            Request r = base;
            r.mem = x86_at_index(some[j], (int) i / 4, (int) i % 4, j % 2 ? 64 : 0);
            check(&r);
        }
    }
    for (int offset = -128; offset < 128 && !gather; offset += 17) {
        Request r = base;
        r.mem = x86_at_label(0, (int8_t) offset);
        check(&r);
    }
}

/* A first request for a row: operands numbered from 'first', which is 0 or 16. */
static Request make_request(uint32_t op, uint32_t length, bool wide, uint32_t first)
{
    const RowInfo *const row = &row_infos[op];
    Request r = { op | X86_LENGTH(length) | (wide ? X86_W : 0), { 0 }, false,
        x86_at_index(X86_RBX, is_gather(row) ? (int) first + 7 : X86_NO_INDEX, 0, 64),
        fit_immediate(row, 3) };
    for (uint32_t i = 0; i < 4; ++i)
        if (takes_reg(row, i))
            r.regs[i] = (uint8_t) ((first + 3 + i) % reg_count(row, i));
    if (row->mask == X86_MASK_G)
        r.form |= X86_K(2);
    return r;
}

static void test_rows(void **state)
{
    (void) state;
    for (uint32_t op = 0; op < X86_OP_COUNT; ++op) {
        const RowInfo *const row = &row_infos[op];
        const uint64_t before = checked;
        for (uint32_t i = 0; i < 3 * 2 * 2; ++i) {
            const bool wide = i % 2;
            if (wide && row->w != X86_W_G)
                continue;
            Request r = make_request(op, i / 4, wide, i / 2 % 2 ? 16 : 0);
            vary_registers(r);
            r.has_mem = true;
            vary_registers(r);
            if (mem_operand(row) < 4)
                vary_memory(r);
            for (uint32_t k = 1; k < 4 && row->mask != X86_MASK__; k += 2) {
                r.form |= X86_K(k);
                vary_memory(r);
            }
        }
        if (checked == before)
            fail_msg("row %s was not checked", row->name);
    }
    print_message("%llu instructions of %u rows\n", (unsigned long long) checked,
        (unsigned) X86_OP_COUNT);
    assert_int_equal(wrong, 0);
}

/* Everything about the addressing modes of a few rows that differ in their tuples. */
static void test_memory(void **state)
{
    static const uint16_t ops[] = {
        X86_MOV, X86_MOV8_ST, X86_ADD_I, X86_VADDPS, X86_VPMOVZXBD, X86_VCVTSI2SD,
    };
    (void) state;
    for (uint32_t i = 0; i < COUNT(ops); ++i) {
        for (uint32_t cross = 0; cross < 17 * 17 * 4 * COUNT(displacements); ++cross) {
            Request r = make_request(ops[i], cross % 2, cross & 4, cross & 2 ? 16 : 0);
            const uint32_t base = cross % 17, index = cross / 17 % 17;
            r.has_mem = true;
            r.mem = x86_at_index(base < 16 ? (int) base : X86_NO_BASE,
                index < 16 ? (int) index : X86_NO_INDEX, (int) (cross / 289 % 4),
                displacements[cross / 1156]);
            if (index == 16)
                r.mem.shift = 0;
            if (row_infos[ops[i]].w != X86_W_G)
                r.form &= ~(X86Form) X86_W;
            if (!(row_infos[ops[i]].length & 7))
                r.form &= ~X86_LENGTH(3);
            check(&r);
        }
    }
    assert_int_equal(wrong, 0);
}

static uint32_t random_state = 1;

static uint32_t pick(uint32_t count)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % count;
}

/* Everything at once. */
static void test_random(void **state)
{
    (void) state;
    checked = 0;
    for (uint32_t n = 0; checked < 50000; ++n) {
        const uint32_t op = pick(X86_OP_COUNT);
        const RowInfo *const row = &row_infos[op];
        Request r = make_request(op, pick(3), row->w == X86_W_G && pick(2), 0);
        const uint32_t index_count = is_gather(row) ? 32 : 16;
        for (uint32_t i = 0; i < 4; ++i)
            if (takes_reg(row, i))
                r.regs[i] = (uint8_t) pick(reg_count(row, i));
        r.has_mem = pick(2);
        r.mem = x86_at_index(pick(8) ? (int) pick(16) : X86_NO_BASE,
            pick(2) || is_gather(row) ? (int) pick(index_count) : X86_NO_INDEX, 0,
            (int32_t) pick(3) * ((int32_t) pick(600) - 300) * (int32_t) pick(64));
        if (r.mem.index != X86_NO_INDEX)
            r.mem.shift = (uint8_t) pick(4);
        if (!(row->kind & X86_KIND_LEGACY)) {
            r.form |= X86_K(pick(8));
            if (pick(2))
                r.form |= X86_Z;
            if (pick(4) == 0)
                r.form |= X86_B;
            if (r.form & X86_B && !r.has_mem && row->bcast & X86_BCAST_ROUND)
                r.form |= pick(4) << X86_ROUND_SHIFT;
        }
        r.imm = fit_immediate(row, (int32_t) pick(1u << 31) >> pick(31));
        check(&r);
    }
    assert_int_equal(wrong, 0);
}

static int start_zydis(void **state)
{
    (void) state;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING, 0);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, 0);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
        0);
    signed_formatter = formatter;
    ZydisFormatterSetProperty(&signed_formatter, ZYDIS_FORMATTER_PROP_IMM_SIGNEDNESS,
        ZYDIS_SIGNEDNESS_SIGNED);
    x86_init(&code);
    code.listing = &listing;
    return 0;
}

static int stop_zydis(void **state)
{
    (void) state;
    x86_free(&code);
    x86_listing_free(&listing);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, start_zydis, stop_zydis);
}

#else

static void test_rows(void **state)
{
    (void) state;
    print_message("there was no Zydis 4 (libzydis-dev) when this was built\n");
    skip(); /* nothing independent to check the encodings against */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
