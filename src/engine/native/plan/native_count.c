/*
 * native_count.c -- loops that end after a known number of iterations
 *
 *     region loop #0 %0, %1, ...         %1: literal, or the result of such a loop
 *         %10 = state.0
 *         ...
 *         %17 = lt %10, %4               %4: literal
 *         %18 = and %16, %17
 *     test #0 %18
 *         %20 = add %10, %5              %5: literal
 *         ...
 *     end #0 %20, ...
 *
 * All lanes that are active have the same state here, so the comparison gives the same
 * for all of them, and when it will be false is known: a register counts down to that
 * (native_memory_count()), which costs nothing, as loops count down to their next look
 * at the interrupt anyway. The comparison is dropped: the value of the AND is that of
 * its other operand, and a test without others is that of the lanes that were active
 * before. A state that nobody else reads goes with it.
 *
 * When the time has come, the mask of the active lanes is cleared, and the test at the
 * top finds nobody; so what is before it must have no effects. Only loops without
 * others inside do this, as there is one such register, and without calls, which may
 * contain loops.
 */
#include "engine/native/plan/native_build.h"

enum { DEEP = 4 /* ANDs between the comparison and the test */ };

typedef struct Search {
    NativeFunction *f;
    const Program *p;
    uint32_t region;
    const Region *r;
    uint32_t path[DEEP + 1]; /* operand of TEST, ..., the comparison */
    uint32_t length;
    uint32_t state, first, next; /* STATE, what it begins with, and becomes */
} Search;

/* ---- how often */

enum { FAR = 61 /* bits of numbers, so that nothing here overflows */ };

/* The lowest bits of a word of this type, with their sign. */
static int64_t extend(const TypeInfo *type, bool is_signed, uint64_t bits)
{
    uint32_t unused = 64 - 8u * type->size;
    int64_t divisor = INT64_C(1) << unused;
    return is_signed ? (int64_t) (bits << unused) / divisor
                     : (int64_t) (bits << unused >> unused);
}

static bool read_number(const Program *p, uint32_t at, bool is_signed, int64_t *number)
{
    const Inst *inst = &p->insts[at];
    const TypeInfo *type = &type_info[inst->type];
    if (inst->op != OP_LITERAL || !type->is_integer)
        return false;
    *number = extend(type, is_signed, p->literals[inst->aux]);
    return *number >= -(INT64_C(1) << FAR) && *number <= INT64_C(1) << FAR;
}

static bool is_inside(const TypeInfo *type, int64_t number)
{
    uint32_t bits = 8u * type->size - type->is_signed;
    int64_t end = bits > FAR ? INT64_MAX : INT64_C(1) << bits;
    return number < end && number >= (type->is_signed ? -end : 0);
}

static Op mirrored(Op op)
{
    return op == OP_LT   ? OP_GT
           : op == OP_LE ? OP_GE
           : op == OP_GT ? OP_LT
           : op == OP_GE ? OP_LE
                         : op;
}

/* Tests of first, first + step, ... that pass before one fails. 0: the first one fails,
 * or this is not known, as numbers wrap around before. */
static uint32_t count_tests(const TypeInfo *type, Op op, int64_t first, int64_t step,
                            int64_t end)
{
    bool up = step > 0;
    int64_t size = up ? step : -step, way = up ? end - first : first - end;
    if (op == OP_LT || op == OP_GT)
        way += size - 1;
    if (op == OP_LE || op == OP_GE)
        way += size;
    bool towards = op == OP_NEQ || (op == OP_LT || op == OP_LE) == up;
    if (!towards || size == 0 || way < size || (op == OP_NEQ && way % size))
        return 0;
    int64_t count = way / size;
    bool known = count <= INT32_MAX && is_inside(type, first + count * step);
    return known ? (uint32_t) count : 0;
}

/* What a state of that loop adds to itself. */
static bool read_step(const Program *p, const Region *r, uint32_t k, int64_t *step)
{
    const Inst *next = &p->insts[program_args(p, &p->insts[r->end])[k]];
    if (next->op != OP_ADD && next->op != OP_SUB)
        return false;
    uint32_t by = next->op == OP_SUB || p->insts[next->arg[0]].op == OP_STATE;
    const Inst *state = &p->insts[next->arg[1 - by]];
    if (state->op != OP_STATE || state->aux != k || next->arg[1 - by] < r->begin ||
        !read_number(p, next->arg[by], true, step))
        return false;
    *step = next->op == OP_ADD ? *step : -*step;
    return true;
}

/* The result of a loop that counts, which all lanes leave together. */
static bool read_counted(const Search *s, uint32_t at, const TypeInfo *type,
                         int64_t *number)
{
    const Program *p = s->p;
    const Inst *inst = &p->insts[at];
    uint32_t end = at;
    if (inst->op != OP_RESULT || !type->is_integer)
        return false;
    while (p->insts[end].op != OP_END)
        --end;
    uint32_t region = p->insts[end].aux;
    const Region *r = &p->regions[region];
    int64_t first, step;
    if (!s->f->regions[region].joint || !read_step(p, r, inst->aux, &step) ||
        step != (int32_t) step ||
        !read_number(p, program_args(p, &p->insts[r->begin])[inst->aux + 1],
                     type->is_signed, &first))
        return false;
    int64_t last = first + s->f->regions[region].most * step;
    *number = extend(type, type->is_signed, (uint64_t) last);
    return *number == last;
}

/* Tests that pass in the comparison at this position, 0: not known. */
static uint32_t count_by(Search *s, uint32_t at)
{
    const Program *p = s->p;
    const Inst *test = &p->insts[at];
    Op op = (Op) test->op;
    if (op != OP_LT && op != OP_LE && op != OP_GT && op != OP_GE && op != OP_NEQ)
        return 0;
    uint32_t k = p->insts[test->arg[0]].op != OP_STATE;
    s->state = test->arg[k];
    const Inst *state = &p->insts[s->state];
    const TypeInfo *type = &type_info[state->type];
    if (state->op != OP_STATE || s->state < s->r->begin)
        return 0;
    s->first = program_args(p, &p->insts[s->r->begin])[state->aux + 1];
    s->next = program_args(p, &p->insts[s->r->end])[state->aux];
    int64_t first, step, end;
    if (s->next < s->r->begin || !read_step(p, s->r, state->aux, &step) ||
        !(read_number(p, s->first, type->is_signed, &first) ||
          read_counted(s, s->first, type, &first)) ||
        !read_number(p, test->arg[1 - k], type->is_signed, &end))
        return 0;
    return count_tests(type, k ? mirrored(op) : op, first, step, end);
}

/* ---- where */

/* Looks through ANDs for a comparison that counts. */
static uint32_t find(Search *s, uint32_t at)
{
    const Inst *inst = &s->p->insts[at];
    if (at < s->r->begin || s->length > DEEP)
        return 0;
    s->path[s->length++] = at;
    uint32_t count = count_by(s, at);
    for (uint32_t k = 0; k < inst->count && inst->op == OP_AND && !count; ++k)
        count = find(s, inst->arg[k]);
    s->length -= !count;
    return count;
}

/* How many operands of instructions in the loop are this value. */
static uint32_t count_uses(const Search *s, uint32_t value)
{
    uint32_t uses = 0;
    for (uint32_t at = value + 1; at <= s->r->end; ++at) {
        const Inst *inst = &s->p->insts[at];
        const uint32_t *args = program_args(s->p, inst);
        for (uint32_t k = 0; k < inst->count; ++k)
            uses += args[k] == value;
    }
    return uses;
}

/* Nothing before the test changes anything: for the last one nobody is active. */
static bool is_pure(const Search *s)
{
    for (uint32_t at = s->r->begin + 1; at < s->r->middle; ++at) {
        uint32_t group = op_info[s->p->insts[at].op].group;
        bool mark = group == GROUP_MARK;
        if (!mark && (s->f->values[at].flags & NATIVE_EFFECT || group == GROUP_LOCAL))
            return false;
    }
    return true;
}

/* All that becomes of the ANDs is the test. The comparison may have other users if
 * there is an AND. */
static bool is_only_test(const Search *s)
{
    uint32_t most = s->length > 1 ? s->length - 1 : 1;
    for (uint32_t i = 0; i < most; ++i)
        if (count_uses(s, s->path[i]) != 1)
            return false;
    return true;
}

/* Another number for the value at a position, which is not a step. */
static void rename_value(const Search *s, uint32_t at, uint32_t value)
{
    s->f->root[at] = value;
    s->f->values[at].flags = NATIVE_ODD; /* and no step */
}

static bool has_result(const Search *s, uint32_t k)
{
    for (uint32_t at = s->r->end + 1;
         at < s->p->inst_count && s->p->insts[at].op == OP_RESULT; ++at)
        if (s->p->insts[at].aux == k)
            return true;
    return false;
}

/* The state is read by the comparison and what it becomes, and that is nothing else. */
static void drop_state(const Search *s)
{
    if (s->p->insts[s->first].op == OP_LITERAL &&
        count_uses(s, s->path[s->length - 1]) == 1 && count_uses(s, s->state) == 2 &&
        count_uses(s, s->next) == 1 && !has_result(s, s->p->insts[s->state].aux))
        rename_value(s, s->next, s->f->root[s->first]);
}

static void drop_comparison(const Search *s)
{
    uint32_t last = s->length - 1;
    if (last == 0) {
        rename_value(s, s->path[0], native_region_mask(s->f, s->region, false));
        return;
    }
    const Inst *both = &s->p->insts[s->path[last - 1]];
    uint32_t other = both->arg[both->arg[0] == s->path[last]];
    s->f->values[other].flags |= NATIVE_LIVE; /* the AND, which is dropped, uses it */
    rename_value(s, s->path[last - 1], s->f->root[other]);
}

static bool all_enter(const Search *s)
{
    const Program *p = s->p;
    const Inst *mask = &p->insts[program_args(p, &p->insts[s->r->begin])[0]];
    return mask->op == OP_LITERAL && p->literals[mask->aux] & 1;
}

void native_count(NativeFunction *f)
{
    const Program *p = f->program;
    for (uint32_t i = 0; i < p->region_count; ++i) {
        Search s = { .f = f, .p = p, .region = i, .r = &p->regions[i] };
        bool plain = s.r->kind == REGION_LOOP;
        const Region *inside = s.r + 1, *last = p->regions + p->region_count;
        for (; inside < last && inside->begin < s.r->end; ++inside)
            plain &= inside->kind == REGION_IF;
        if (!plain)
            continue;
        uint32_t count = find(&s, program_args(p, &p->insts[s.r->middle])[0]);
        if (!count || !is_only_test(&s) || !is_pure(&s))
            continue;
        f->regions[i].most = count;
        f->regions[i].joint = s.length == 1 && all_enter(&s);
        drop_comparison(&s);
        drop_state(&s);
    }
}
