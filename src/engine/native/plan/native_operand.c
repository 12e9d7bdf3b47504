/*
 * native_operand.c -- operands, results, temporaries and constants of a row
 *
 * See native_emit.h for what these functions promise.
 *
 * Constants are collected in a pool next to the code's data: entries of 4 and 8 bytes
 * where instructions can broadcast, else whole vectors; equal ones are shared if not
 * too much was in between.
 */
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "engine/native/plan/native_emit.h"

/* ---- operands */

NativeOperand native_operand_fetch(Native *n, uint32_t value)
{
    const NativeValue *v = &n->values[value];
    NativeOperand place = { .kind = NATIVE_IN_REG };
    bool again = v->source != NATIVE_LITERAL && v->source != NATIVE_PARAM &&
                 v->next != NATIVE_NEVER;
    if (!(again && n->files[v->class].free) && native_alloc_place(n, value, &place))
        return place;
    place.reg = native_alloc_load(n, value);
    return place;
}

static bool is_literal_from(const Program *p, uint32_t value, uint64_t least,
                            uint64_t most)
{
    const Inst *inst = &p->insts[value];
    return inst->op == OP_LITERAL && p->literals[inst->aux] >= least &&
           p->literals[inst->aux] <= most;
}

bool native_is_half(const NativeFunction *f, uint32_t at)
{
    const Program *p = f->program;
    uint32_t value = p->insts[at].op == OP_AND ? at : f->root[at];
    if (value >= f->valid)
        return false;
    const Inst *inst = &p->insts[value];
    const TypeInfo *from = &type_info[p->insts[inst->arg[0]].type];
    switch (inst->op) {
    case OP_CAST:
        return from->size <= 4 && from->is_integer && !from->is_signed;
    case OP_AND:
        return is_literal_from(p, inst->arg[0], 0, UINT32_MAX) ||
               is_literal_from(p, inst->arg[1], 0, UINT32_MAX);
    case OP_SHR:
        return !type_info[inst->type].is_signed &&
               is_literal_from(p, inst->arg[1], 32, UINT64_MAX);
    default:
        return is_literal_from(p, value, 0, UINT32_MAX);
    }
}

/* The number of the lane, divided by that: 0 if it is something else. */
static uint32_t find_divisor(const Program *p, const Inst *index)
{
    const Inst *by = &p->insts[index->arg[1]];
    if ((index->op != OP_DIV && index->op != OP_SHR) || index->type != VarTypeUInt32 ||
        p->insts[index->arg[0]].op != OP_COUNTER || by->op != OP_LITERAL)
        return 0;
    uint32_t literal = (uint32_t) p->literals[by->aux];
    return index->op == OP_DIV ? literal : literal < 31 ? 1u << literal : 0;
}

uint32_t native_repeats(const Program *p, const Inst *inst, uint32_t lanes)
{
    if (inst->op != OP_GATHER || type_info[inst->type].size < 4 ||
        !is_literal_from(p, inst->arg[2], 1, 1))
        return 0;
    uint32_t d = find_divisor(p, &p->insts[inst->arg[1]]);
    return d >= lanes && d <= INT32_MAX ? d : 0;
}

bool native_distance(const Program *p, const Inst *inst, int32_t *distance)
{
    enum { MOST = 1 << 24 }; /* with its size it fits a displacement */
    const Inst *index = &p->insts[inst->arg[1]];
    bool negative = index->op == OP_SUB;
    *distance = 0;
    if (index->op == OP_ADD || negative) {
        const Inst *a = &p->insts[index->arg[0]], *b = &p->insts[index->arg[1]];
        const Inst *number = a->op == OP_LITERAL && !negative ? a : b;
        if (number->op != OP_LITERAL)
            return false;
        const int64_t value = (int32_t) (uint32_t) p->literals[number->aux];
        if (value <= -MOST || value >= MOST)
            return false;
        *distance = (int32_t) (negative ? -value : value);
        index = number == a ? b : a;
    }
    while ((index->op == OP_CAST || index->op == OP_BITCAST) &&
           type_info[index->type].is_integer && type_info[index->type].size == 4)
        index = &p->insts[index->arg[0]];
    return index->op == OP_COUNTER;
}

static bool is_below_32(const Program *p, uint32_t at)
{
    const Inst *inst = &p->insts[at];
    if (inst->op == OP_CAST)
        inst = &p->insts[inst->arg[0]];
    uint32_t width = type_info[inst->type].size * 8;
    return (inst->op == OP_SHR && !type_info[inst->type].is_signed &&
            is_literal_from(p, inst->arg[1], width - 5, width - 1)) ||
           (inst->op == OP_AND && is_literal_from(p, inst->arg[1], 0, 31));
}

uint32_t native_turn(const Program *p, const Inst *shift)
{
    if (shift->op != OP_SHL || shift->type != VarTypeUInt32)
        return PROGRAM_NONE;
    const Inst *and = &p->insts[shift->arg[1]];
    const Inst *add = and->op == OP_AND ? &p->insts[and->arg[0]] : and;
    const Inst *not = add->op == OP_ADD ? &p->insts[add->arg[0]] : add;
    bool found = not->op == OP_NOT && is_literal_from(p, and->arg[1], 31, 31) &&
                 is_literal_from(p, add->arg[1], 1, 1) && is_below_32(p, not->arg[0]);
    return found ? not->arg[0] : PROGRAM_NONE;
}

bool native_rotates(const Program *p, const Inst *inst)
{
    if (inst->op != OP_OR || inst->type != VarTypeUInt32)
        return false;
    const Inst *right = &p->insts[inst->arg[0]], *left = &p->insts[inst->arg[1]];
    return right->op == OP_SHR && left->op == OP_SHL &&
           right->arg[0] == left->arg[0] && right->arg[1] == native_turn(p, left);
}

bool native_input(Native *n, uint32_t k, NativeOperand *array)
{
    uint32_t value = native_operand_value(n, k);
    const NativeValue *v = &n->values[value];
    if (v->source != NATIVE_INPUT || v->reg != NATIVE_NO_REG)
        return false;
    *array = native_memory_array(n, n->insts[value].aux, (VarType) v->type);
    return true;
}

bool native_is_negated(const Native *n, uint32_t k)
{
    uint32_t at = n->args[k];
    return n->f->program->insts[at].op == OP_NEG &&
           n->values[at].flags & NATIVE_RENAMES;
}

uint32_t native_mask_bits(const Native *n, uint32_t k)
{
    return native_operand(n, k)->bits;
}

static bool masks_are_vectors(const Native *n)
{
    return !n->target->registers[NATIVE_MASK];
}

static NativeReg use_mask(Native *n, uint32_t value, uint32_t bits)
{
    NativeReg reg = native_alloc_load(n, value);
    if (!masks_are_vectors(n) || n->values[value].bits == bits)
        return reg;
    NativeReg to = native_temp(n);
    n->target->convert_mask(n, to, reg, bits);
    return to;
}

NativeReg native_use_mask(Native *n, uint32_t k, uint32_t bits)
{
    return use_mask(n, native_operand_value(n, k), bits);
}

/* The lanes that are not behind the end. A guess of the next use keeps them in a
 * register where memory is touched often. */
static NativeReg use_valid(Native *n, uint32_t bits)
{
    enum { GUESS = 8 };
    NativeValue *v = &n->values[n->f->valid];
    v->next = n->step + GUESS;
    if (bits == v->bits)
        return native_alloc_load(n, n->f->valid);
    NativeReg reg = native_temp(n);
    n->cpu->reload(n, NATIVE_VECTOR, bits / 8 * n->lanes, reg,
                   native_memory_frame(n, offsetof(NativeFrame, valid_wide)));
    return reg;
}

NativeReg native_use_active(Native *n, uint32_t k, uint32_t bits)
{
    uint64_t literal;
    bool all = native_is_literal(n, k, &literal) && literal & 1;
    bool vectors = masks_are_vectors(n);
    NativeReg mask = all ? NATIVE_NO_REG : native_use_mask(n, k, bits);
    NativeReg valid = use_valid(n, vectors ? bits : 32);
    NativeReg to = vectors ? native_temp(n) : native_temp_mask(n);
    if (all)
        n->cpu->move(n, vectors ? NATIVE_VECTOR : NATIVE_MASK, bits / 8 * n->lanes, to,
                     valid);
    else
        n->target->and_mask(n, to, mask, valid);
    return to;
}

NativeReg native_use_address(Native *n, uint32_t k)
{
    uint32_t value = native_operand_value(n, k);
    const NativeValue *v = &n->values[value];
    const Inst *inst = &n->f->program->insts[value];
    if (inst->op == OP_PARAM)
        return native_memory_address(n, inst->aux);
    NativeReg to = native_temp_general(n);
    NativeOperand place;
    if (v->source == NATIVE_LITERAL) {
        n->cpu->set(n, to, native_alloc_literal(n, value));
        return to;
    }
    if (!native_alloc_place(n, value, &place)) {
        place = native_stash(n);
        n->cpu->spill(n, NATIVE_VECTOR, native_value_bytes(n, v), place,
                      native_alloc_load(n, value));
    }
    n->cpu->load_word(n, to, place);
    return to;
}

bool native_doubles(const Native *n, const Inst *inst, uint32_t k)
{
    const Program *p = n->f->program;
    const Inst *two = &p->insts[inst->arg[k]];
    if (inst->op != OP_MUL || two->op != OP_LITERAL)
        return false;
    uint64_t bits = p->literals[two->aux];
    return inst->type == VarTypeFloat32   ? (uint32_t) bits == 0x40000000
           : inst->type == VarTypeFloat64 ? bits == UINT64_C(0x4000000000000000)
                                          : false;
}

/* ---- results */

NativeReg native_operand_reuse(Native *n, NativeClass class)
{
    for (uint32_t k = 0; k < program_computed_args(n->inst); ++k) {
        const NativeValue *v = native_operand(n, k);
        if (v->reg != NATIVE_NO_REG && v->class == class && native_operand_ends(n, v))
            return v->reg;
    }
    return native_alloc_take(n, class);
}

NativeReg native_result_fresh(Native *n)
{
    return n->result_reg =
               native_alloc_take(n, (NativeClass) n->values[n->result].class);
}

NativeReg native_result_mask_fresh(Native *n, uint32_t bits)
{
    n->result_bits = (uint8_t) bits;
    return native_result_fresh(n);
}

/* The step that uses a value next if that is its only use, else NULL. 'k': as which
 * operand. */
static const NativeStep *only_user(const Native *n, uint32_t value, uint32_t *k)
{
    const NativeFunction *f = n->f;
    if (f->values[value].next == NATIVE_NEVER)
        return NULL;
    const NativeStep *s = &f->steps[f->values[value].next];
    const Inst *user = &f->program->insts[s->at];
    bool second = user->op == OP_AND && f->root[user->arg[1]] == value;
    *k = second;
    bool fits = user->op == OP_AND ? f->root[user->arg[!second]] != value &&
                                         native_has_row(n, f->program, user)
                                   : user->op == OP_TEST;
    return fits && s->next[second] == NATIVE_NEVER ? s : NULL;
}

/* A mask of the lanes that matter, NATIVE_NO_VALUE: all do; is that its last use? */
typedef struct Filter {
    uint32_t value;
    bool ends;
} Filter;

/* A mask that this step needs next, and later that one. */
static Filter filter_by(const NativeFunction *f, uint32_t value, uint32_t step,
                        uint32_t later)
{
    const NativeValue *v = &f->values[value];
    bool ends = v->next == step && later == NATIVE_NEVER;
    return (Filter){ value, ends && !(v->flags & NATIVE_UNIFORM) };
}

/* The lanes of the loop if all that becomes of the value, and of what it is a part of,
 * is its test. Who was there before may have taken their register. */
static Filter filter_by_loop(const Native *n, uint32_t value)
{
    enum { FAR = 4 };
    const NativeFunction *f = n->f;
    for (uint32_t i = 0, k; i < FAR; ++i) {
        const NativeStep *s = only_user(n, value, &k);
        if (!s)
            break;
        const Inst *user = &f->program->insts[s->at];
        uint32_t lanes = native_region_mask(f, user->aux, false);
        if (user->op == OP_TEST && f->values[lanes].reg != NATIVE_NO_REG) {
            f->values[value].flags |= NATIVE_INSIDE;
            return filter_by(f, lanes, f->values[value].next,
                             f->use_next[f->regions[user->aux].uses[0]]);
        }
        value = s->at;
    }
    return (Filter){ .value = NATIVE_NO_VALUE };
}

/* What the only user of the result combines it with. */
static Filter find_filter(const Native *n)
{
    uint32_t k;
    const NativeFunction *f = n->f;
    const NativeStep *s = only_user(n, n->result, &k);
    if (!s || f->program->insts[s->at].op == OP_TEST)
        return filter_by_loop(n, n->result);
    uint32_t other = f->root[f->program->insts[s->at].arg[!k]];
    if (f->values[other].reg == NATIVE_NO_REG)
        return filter_by_loop(n, s->at);
    f->values[n->result].flags |= NATIVE_FILTERED;
    return filter_by(f, other, f->values[n->result].next, s->next[!k]);
}

NativeReg native_result_filtered(Native *n, NativeReg *filter)
{
    Filter found = find_filter(n);
    *filter = found.value == NATIVE_NO_VALUE ? 0 : native_alloc_load(n, found.value);
    n->result_bits = 32;
    return found.value != NATIVE_NO_VALUE && found.ends ? n->result_reg = *filter
                                                        : native_result(n);
}

bool native_is_filtered(const Native *n, uint32_t k)
{
    return native_operand(n, k)->flags & NATIVE_FILTERED;
}

void native_operand_take_over(Native *n, uint32_t value, bool only)
{
    const NativeValue *v = &n->values[value];
    NativeClass class = (NativeClass) v->class;
    if (v->reg != NATIVE_NO_REG && native_operand_ends(n, v) && only) {
        n->result_reg = v->reg;
        return;
    }
    n->result_reg = native_alloc_take(n, class);
    if (v->reg != NATIVE_NO_REG)
        n->cpu->move(n, class, native_value_bytes(n, v), n->result_reg, v->reg);
    else
        native_alloc_fill(n, value, n->result_reg);
}

NativeReg native_result_over(Native *n, uint32_t k)
{
    uint32_t value = native_operand_value(n, k), times = 0;
    for (uint32_t i = 0; i < n->inst->count; ++i)
        times += native_operand_value(n, i) == value;
    native_operand_take_over(n, value, times == 1);
    return n->result_reg;
}

void native_result_same(Native *n, uint32_t k)
{
    uint32_t value = native_operand_value(n, k);
    n->result_bits = n->values[value].bits;
    native_operand_take_over(n, value, true);
}

/* ---- temporaries */

static NativeReg take_temp(Native *n, NativeClass class)
{
    NativeReg reg = native_alloc_take(n, class);
    n->temps[class] |= 1u << reg;
    return reg;
}

NativeReg native_temp(Native *n)
{
    return take_temp(n, NATIVE_VECTOR);
}

NativeReg native_temp_mask(Native *n)
{
    return take_temp(n, NATIVE_MASK);
}

NativeReg native_temp_general(Native *n)
{
    if (!n->general_free) {
        n->failed = true;
        error_set(JIT_ERROR_COMPILE, "native: an instruction needs too many registers");
        return 0;
    }
    NativeReg reg = (NativeReg) __builtin_ctz(n->general_free);
    n->general_free &= n->general_free - 1;
    n->temps[NATIVE_GENERAL] |= 1u << reg;
    return reg;
}

/* ---- constants */

/* Room in the pool, aligned to its size; PROGRAM_NONE if out of memory. */
static uint32_t add_bytes(Native *n, uint32_t size)
{
    uint32_t place = (n->pool_size + size - 1) & ~(size - 1), wanted = place + size;
    if (wanted > n->pool_capacity) {
        if (!n->pool_capacity) /* most of what is to come */
            wanted += n->root_program->literal_count * size;
        if (!vec_reserve(&n->pool, &n->pool_capacity, wanted, 1)) {
            n->failed = true;
            return PROGRAM_NONE;
        }
    }
    for (uint32_t i = n->pool_size; i < place; ++i)
        n->pool[i] = 0;
    n->pool_size = place + size;
    return place;
}

/* Recent constants are found again. That others may be in the pool twice costs less
 * than a table of all of them, of which each look-up would be a cache miss. */
uint32_t native_operand_constant(Native *n, uint32_t bits, uint64_t value)
{
    uint64_t hash = (value + bits) * 0x9e3779b97f4a7c15u;
    NativeConstant *known = &n->constants[hash >> (64 - NATIVE_CONSTANT_BITS)];
    if (known->value == value && known->bits == bits)
        return known->place;
    uint32_t size = bits / 8, low = (uint32_t) value;
    uint32_t whole = n->target->broadcasts ? size : n->target->vector_bytes;
    uint32_t place = add_bytes(n, whole);
    TRY(place != PROGRAM_NONE, 0);
    uint64_t both = size == sizeof low ? (uint64_t) low << 32 | low : value;
    if (whole == sizeof low)
        memcpy(n->pool + place, &low, sizeof low);
    for (uint32_t i = 0; i + sizeof both <= whole; i += sizeof both)
        memcpy(n->pool + place + i, &both, sizeof both);
    *known = (NativeConstant){ value, place, bits };
    return place;
}

NativeOperand native_const(Native *n, uint32_t bits, uint64_t value)
{
    if (bits == 32)
        value = (uint32_t) value;
    return native_memory_constant(n, native_operand_constant(n, bits, value));
}

NativeReg native_const_reg(Native *n, uint32_t bits, uint64_t value)
{
    NativeReg reg = native_temp(n);
    n->target->literal(n, bits, reg, value);
    return reg;
}

/* There are few different ones. */
NativeOperand native_const_vector(Native *n, const void *data, uint32_t size)
{
    for (uint32_t i = 0; i < n->vector_count; i += 2)
        if (n->vectors[i + 1] == size &&
            memcmp(n->pool + n->vectors[i], data, size) == 0)
            return native_memory_pool(n, n->vectors[i]);
    uint32_t place = add_bytes(n, size);
    if (place == PROGRAM_NONE || !vec_reserve(&n->vectors, &n->vector_capacity,
                                              n->vector_count + 2, sizeof(uint32_t))) {
        n->failed = true;
        return native_memory_pool(n, 0);
    }
    memcpy(n->pool + place, data, size);
    n->vectors[n->vector_count++] = place;
    n->vectors[n->vector_count++] = size;
    return native_memory_pool(n, place);
}

NativeOperand native_stash(Native *n)
{
    return native_memory_frame(n, offsetof(NativeFrame, stash));
}
