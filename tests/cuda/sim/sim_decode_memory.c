/*
 * sim_decode_memory.c -- loads, stores, atomic operations, addresses, fences
 */
#include "sim_parse.h"

#include "sim_exec.h"

#include <string.h>

static const char *const spaces[] = { "global",       "shared",      "shared::cta",
                                      "local",        "const",       "param",
                                      "param::entry", "param::func", NULL };
static const Space space_values[] = { SPACE_GLOBAL, SPACE_SHARED, SPACE_SHARED,
                                      SPACE_LOCAL,  SPACE_CONST,  SPACE_PARAM,
                                      SPACE_PARAM,  SPACE_PARAM };

/* The space, generic if none is named. */
static Space take_space(Mnemonic *m)
{
    int space = decode_one_of(m, spaces);
    return space < 0 ? SPACE_GENERIC : space_values[space];
}

/* Order, scope and caches. Below the scope of a block nothing has to be published. */
static void take_order(Mnemonic *m, Insn *i)
{
    static const char *const strong[] = { "volatile", "relaxed", "acquire", "mmio",
                                          NULL };
    static const char *const release[] = { "release", "acq_rel", "sc", NULL };
    static const char *const caches[] = {
        "ca", "cg", "cs", "lu", "cv", "wb", "wt", NULL
    };
    decode_take(m, "weak");
    while (decode_one_of(m, strong) >= 0)
        i->flags |= FLAG_STRONG;
    if (decode_one_of(m, release) >= 0)
        i->flags |= FLAG_STRONG | FLAG_RELEASE;
    if (decode_take(m, "cta"))
        i->flags &= (uint16_t) ~FLAG_RELEASE;
    decode_take(m, "cluster");
    decode_take(m, "gpu");
    decode_take(m, "sys");
    decode_one_of(m, caches);
    if (decode_take(m, "nc"))
        i->flags |= FLAG_NC;
    for (uint32_t k = 0; k < m->count; k++) {
        if (!strncmp(m->parts[k], "L1::", 4) || !strncmp(m->parts[k], "L2::", 4))
            m->used[k] = true;
    }
}

static uint32_t take_vector(Mnemonic *m)
{
    return decode_take(m, "v8")   ? 8
           : decode_take(m, "v4") ? 4
           : decode_take(m, "v2") ? 2
                                  : 1;
}

/* What a kernel does to memory decides what is checked while it runs. */
static void note_access(Parser *p, const Insn *i, uint32_t bytes, bool writes)
{
    bool shared = i->space == SPACE_SHARED || i->space == SPACE_GENERIC;
    if (shared && bytes < p->module->shared_granule)
        p->module->shared_granule = bytes;
    if (i->flags & FLAG_NC)
        p->function->has_nc = true;
    if (writes && (i->space == SPACE_GLOBAL || i->space == SPACE_GENERIC))
        p->function->writes_global = true;
}

static bool memory_type(Parser *p, Mnemonic *m, Insn *i, bool float_too)
{
    PtxType type = decode_type(m);
    i->type = (uint8_t) type;
    if (type == PTX_NONE || type == PTX_PRED || (!float_too && type == PTX_F16X2))
        return parse_fail(p, m->line, "%s without a type that memory has", m->base);
    return true;
}

void decode_ld(Parser *p, Mnemonic *m, Insn *i)
{
    take_order(m, i);
    i->space = (uint8_t) take_space(m);
    uint32_t count = take_vector(m);
    if (!memory_type(p, m, i, false))
        return;
    if (i->flags & FLAG_NC && i->space != SPACE_GLOBAL)
        parse_fail(p, m->line, ".nc is for global memory");
    i->exec = access_ld;
    operand_vector(p, i, i->type, count, true);
    parse_expect(p, ',');
    operand_address(p, i);
    note_access(p, i, sim_types[i->type].bytes, false);
}

void decode_st(Parser *p, Mnemonic *m, Insn *i)
{
    take_order(m, i);
    i->space = (uint8_t) take_space(m);
    uint32_t count = take_vector(m);
    if (!memory_type(p, m, i, false))
        return;
    i->exec = access_st;
    operand_address(p, i);
    if (i->space == SPACE_CONST || i->space == SPACE_PARAM)
        parse_fail(p, m->line, "st to memory that is constant");
    parse_expect(p, ',');
    operand_vector(p, i, i->type, count, false);
    note_access(p, i, sim_types[i->type].bytes, true);
}

/* ---- atomic operations */

/* Which types an operation takes. */
static bool atomic_has(AtomicOp op, PtxType type)
{
    switch (op) {
    case ATOMIC_ADD:
        return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 ||
               type == PTX_S64 || sim_types[type].class == CLASS_FLOAT;
    case ATOMIC_MIN:
    case ATOMIC_MAX:
        return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64;
    case ATOMIC_INC:
    case ATOMIC_DEC:
        return type == PTX_U32;
    case ATOMIC_CAS:
        return type == PTX_B16 || type == PTX_B32 || type == PTX_B64 ||
               type == PTX_U32 || type == PTX_S32 || type == PTX_U64;
    case ATOMIC_EXCH:
        return type == PTX_B32 || type == PTX_B64 || type == PTX_U32 ||
               type == PTX_S32 || type == PTX_U64 || type == PTX_F32;
    default:
        return type == PTX_B32 || type == PTX_B64 || type == PTX_U32 || type == PTX_U64;
    }
}

/* Is the operand a register that is a vector? atom.global.v2.f32.add */
static void atomic_operands(Parser *p, Insn *i, bool returns, uint32_t count)
{
    if (returns) {
        if (count > 1) {
            parse_fail(p, i->line, "atom of vectors is not supported; red is");
            return;
        }
        i->d = operand_dest(p, i->type, false);
        i->flags |= FLAG_SECOND;
        parse_expect(p, ',');
    }
    operand_address(p, i);
    parse_expect(p, ',');
    operand_vector(p, i, i->type, count, false);
    if (i->op == ATOMIC_CAS) {
        parse_expect(p, ',');
        i->s[1] = operand_source(p, i->type, false);
    }
}

void decode_atom(Parser *p, Mnemonic *m, Insn *i)
{
    static const char *const ops[] = { "add", "min", "max",  "inc", "dec", "and",
                                       "or",  "xor", "exch", "cas", NULL };
    take_order(m, i);
    i->flags |= FLAG_STRONG;
    i->space = (uint8_t) take_space(m);
    int op = decode_one_of(m, ops);
    uint32_t count = take_vector(m);
    decode_take(m, "rn");
    bool keeps = decode_take(m, "noftz");
    if (!memory_type(p, m, i, true))
        return;
    i->op = (uint8_t) op;
    bool half = i->type == PTX_F16 || i->type == PTX_F16X2;
    if (op < 0 || !atomic_has((AtomicOp) op, i->type) || (half && !keeps) ||
        (i->space != SPACE_GLOBAL && i->space != SPACE_SHARED &&
         i->space != SPACE_GENERIC)) {
        parse_fail(p, m->line, "there is no such atomic operation");
        return;
    }
    if (i->type == PTX_F32 && !keeps)
        i->flags |= FLAG_FTZ;
    i->exec = atomic_run;
    atomic_operands(p, i, !strcmp(m->base, "atom"), count);
    note_access(p, i, sim_types[i->type].bytes, true);
}

/* ---- addresses and order */

static bool address_type(Parser *p, Mnemonic *m, Insn *i)
{
    PtxType type = decode_type(m);
    i->type = (uint8_t) type;
    if (type == PTX_U64 || type == PTX_U32 || type == PTX_B64)
        return true;
    return parse_fail(p, m->line, "%s without .u32 or .u64", m->base);
}

void decode_cvta(Parser *p, Mnemonic *m, Insn *i)
{
    bool to = decode_take(m, "to");
    i->space = (uint8_t) take_space(m);
    if (i->space == SPACE_PARAM && p->function && !p->function->entry)
        i->space = SPACE_LOCAL;
    if (!address_type(p, m, i))
        return;
    i->op = to;
    i->exec = access_cvta;
    i->d = operand_dest(p, i->type, false);
    parse_expect(p, ',');
    Symbol *s = p->token.kind == TOKEN_NAME
                    ? scope_find(p, p->token.text, p->token.size)
                    : NULL;
    uint64_t value = 0;
    bool frame = false;
    if (s && s->kind == SYMBOL_VARIABLE &&
        operand_symbol(p, s, false, &value, &frame)) {
        i->flags |= frame ? FLAG_FRAME : 0;
        parse_next(p);
        if (parse_sign(p, '+') || parse_sign(p, '-'))
            value += (uint64_t) operand_constant(p);
        i->s[0] = scope_const(p, value, sim_types[i->type].bytes);
    } else {
        i->s[0] = operand_source(p, i->type, false);
    }
}

void decode_isspacep(Parser *p, Mnemonic *m, Insn *i)
{
    i->space = (uint8_t) take_space(m);
    i->exec = access_isspacep;
    i->d = operand_dest(p, PTX_PRED, false);
    parse_expect(p, ',');
    i->s[0] = operand_source(p, PTX_B64, false);
}

void decode_prefetch(Parser *p, Mnemonic *m, Insn *i)
{
    static const char *const levels[] = { "L1", "L2", "L2::evict_last",
                                          "L2::evict_normal", NULL };
    i->space = (uint8_t) take_space(m);
    decode_one_of(m, levels);
    i->exec = flow_nothing;
    operand_address(p, i);
}

/* membar.gl, fence.acq_rel.gpu, fence.proxy.alias: those of a block publish nothing. */
void decode_fence(Parser *p, Mnemonic *m, Insn *i)
{
    static const char *const orders[] = { "sc", "acq_rel", "acquire", "release", NULL };
    static const char *const scopes[] = { "cta", "gl", "sys", "gpu", "cluster", NULL };
    if (decode_take(m, "proxy")) {
        for (uint32_t k = 0; k < m->count; k++)
            m->used[k] = true;
        i->exec = flow_nothing;
        return;
    }
    decode_one_of(m, orders);
    int scope = decode_one_of(m, scopes);
    if (scope < 0)
        parse_fail(p, m->line, "%s without a scope", m->base);
    i->exec = scope ? access_fence : flow_nothing;
}
