/*
 * region_replay.c -- see region_replay.h
 *
 * A depth-first walk over the old variables makes the new ones, operands first. When
 * all that a region takes from outside is there, a body is opened for it, and the walk
 * goes on with the old bodies, one after the other; a ReplayFrame is what is known
 * about the new region meanwhile.
 *
 * In place, a body is changed rather than copied: variables none of whose operands
 * change stay, and so do regions, as what they take from outside is all they depend on.
 */
#include "trace/flow/region_replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/array/memory.h"
#include "trace/eval/expand.h"
#include "trace/flow/call_merge.h"
#include "trace/flow/replay_region.h"
#include "trace/graph/arith.h"
#include "trace/graph/extra.h"
#include "trace/graph/local.h"
#include "trace/graph/print.h"

/* Values of marks that are not places in copies[]. */
enum { NOT_YET, ITSELF, FIRST_COPY };

/* ------------------------------------------------------------------ begin, end */

static bool add_scope(RegionReplay *r, uint32_t before, uint32_t now, bool nowhere)
{
    TRY(vec_reserve(&r->scopes, &r->scope_capacity, r->scope_count + 1,
                    sizeof(ReplayScope)), false);
    r->scopes[r->scope_count++] = (ReplayScope){ before, now, nowhere };
    return true;
}

static bool note_scope(RegionReplay *r, uint32_t before, uint32_t now)
{
    return add_scope(r, before, now, false);
}

static bool is_outside(const RegionReplay *r, const Var *v)
{
    for (uint32_t i = 0; i < r->gap_count; ++i)
        if (v->scope >= r->gaps[i].from && v->scope < r->gaps[i].to)
            return true;
    return v->scope < r->scope;
}

/* Trace in the scope of what was traced in that of 'v': variables that were never found
 * equal are not now. What belongs to no body may be met outside of that where it was
 * traced, which says nothing about others of its scope. False: error recorded. */
static bool enter_scope(RegionReplay *r, const Var *v)
{
    uint32_t before = v->scope;
    r->ts->scope = before;
    if (r->in_place && !r->open)
        return true;
    bool nowhere = region_is_outside(v, 0);
    for (uint32_t i = r->scope_count; i > 0; --i)
        if (r->scopes[i - 1].before == before && r->scopes[i - 1].nowhere <= nowhere) {
            r->ts->scope = r->scopes[i - 1].now;
            return true;
        }
    r->ts->scope = record_new_scope();
    return r->ts->scope && add_scope(r, before, r->ts->scope, nowhere);
}

bool region_replay_begin(RegionReplay *r, ThreadState *ts, uint32_t scope)
{
    *r = (RegionReplay){ .ts = ts, .scope = scope, .copy_count = FIRST_COPY };
    TRY(region_walk_begin(&r->walk), false);
    if (note_scope(r, scope, ts->scope))
        return true;
    region_walk_end(&r->walk);
    return false;
}

void region_replay_end(RegionReplay *r)
{
    for (uint32_t i = FIRST_COPY; i < r->copy_count; ++i)
        var_drop(r->copies[i].id);
    for (uint32_t i = 0; i < r->target_count; ++i)
        var_drop(r->targets[i].distance);
    region_walk_end(&r->walk);
    alloc_free(r->copies);
    alloc_free(r->targets);
    alloc_free(r->serials);
    alloc_free(r->scopes);
    alloc_free(r->operands);
}

/* An old variable becomes 'copy', whose reference is taken over if it is noted. */
static bool note(RegionReplay *r, VarId old, ReplayCopy copy)
{
    TRY(vec_reserve(&r->copies, &r->copy_capacity, r->copy_count + 1,
                    sizeof(ReplayCopy)), false);
    TRY(marks_set(r->walk.marks, old, r->copy_count), false);
    r->copies[r->copy_count++] = copy;
    return true;
}

static bool note_new(RegionReplay *r, VarId old, VarId now)
{
    TRY(now, false);
    if (note(r, old, (ReplayCopy){ .id = now }))
        return true;
    var_dec(now);
    return false;
}

static bool note_itself(RegionReplay *r, VarId old)
{
    return marks_set(r->walk.marks, old, ITSELF);
}

static bool note_same(RegionReplay *r, VarId old, VarId now)
{
    var_inc(now);
    return note_new(r, old, now);
}

VarId region_replay_find(const RegionReplay *r, VarId old)
{
    uint32_t value = marks_get(r->walk.marks, old);
    if (value == ITSELF)
        return old;
    return value == MARKS_NONE || value == NOT_YET ? 0 : r->copies[value].id;
}

bool region_replay_set(RegionReplay *r, VarId old, VarId now)
{
    const Var *v = var_get(old), *w = var_get(now);
    if (marks_has(r->walk.marks, old))
        return error_set(JIT_ERROR_STATE, "region_replay_set(): r%u is in use", old);
    if (v->type != w->type || (v->flags ^ w->flags) & VAR_LOCAL)
        return error_set(JIT_ERROR_ARGUMENT,
                         "region_replay_set(): r%u is %s%s, expected %s%s as r%u", now,
                         w->flags & VAR_LOCAL ? "a local array of " : "",
                         type_info[w->type].name,
                         v->flags & VAR_LOCAL ? "a local array of " : "",
                         type_info[v->type].name, old);
    if (!(w->flags & VAR_LOCAL))
        TRY(node_usable(r->ts, now, "region_replay_set()", "the substitute"), false);
    return note_same(r, old, now);
}

static bool check_array(VarId old, VarId now)
{
    const Var *v = var_get(old), *w = var_get(now);
    if (w->op == OP_EVALUATED && w->type == v->type && var_lanes(w) == var_lanes(v))
        return true;
    return error_set(JIT_ERROR_ARGUMENT,
                     "region_replay(): r%u is accessed by index, so what takes its "
                     "place (r%u) has to be in memory with %u entries of type %s",
                     old, now, var_lanes(v), type_info[v->type].name);
}

static bool add_target(RegionReplay *r, const ReplayTarget *target)
{
    TRY(vec_reserve(&r->targets, &r->target_capacity, r->target_count + 1,
                    sizeof(ReplayTarget)), false);
    r->targets[r->target_count++] = *target;
    return true;
}

bool region_replay_redirect(RegionReplay *r, VarId from, VarId to)
{
    return check_array(from, to) && add_target(r, &(ReplayTarget){ from, to, 0 });
}

bool region_replay_expand(RegionReplay *r, VarId from, VarId copies, VarId distance)
{
    if (add_target(r, &(ReplayTarget){ from, copies, distance }))
        return true;
    var_dec(distance);
    return false;
}

static const ReplayTarget *find_target(const RegionReplay *r, VarId array)
{
    for (uint32_t i = 0; i < r->target_count; ++i)
        if (r->targets[i].from == array)
            return &r->targets[i];
    return NULL;
}

VarId region_replay_target(const RegionReplay *r, VarId array)
{
    const ReplayTarget *target = find_target(r, array);
    if (target)
        return target->to;
    VarId now = region_replay_find(r, array);
    return now ? now : array;
}

/* ------------------------------------------------------------- single variables */

/* Does an effect write to an array, through its first operand? */
static bool is_write(const Var *v)
{
    return op_has_pointer((Op) v->op) && op_info[v->op].memory & MEMORY_WRITES;
}

static VarId make_pointer(RegionReplay *r, const Var *v, VarId array)
{
    Var proto = { .op = OP_POINTER, .type = VarTypePointer, .device = v->device,
                  .own_lanes = var_lanes(v), .aux = v->aux, .dep = { array },
                  .value.literal = v->value.literal };
    if (v->aux != 1)
        return node_new(r->ts, &proto);
    return node_raw(r->ts, OP_POINTER, v->device, VarTypePointer, 1, 1, proto.dep);
}

/* A table of values for calls is another one if arrays change that it has copies of. */
static bool copy_table(RegionReplay *r, VarId table)
{
    const Extra *extra = extra_find(var_get(table));
    VarIds values = { 0 };
    bool changed = false, ok = true;
    if (!extra || marks_has(r->walk.marks, table))
        return true;
    for (uint32_t i = 0; ok && i < extra->values.count; ++i) {
        VarId id = extra->values.ids[i], now = id;
        if (id && var_get(id)->op != OP_LITERAL && region_replay_find(r, id))
            now = region_replay_find(r, id);
        changed |= now != id;
        ok = (now == id || check_array(id, now)) && var_ids_add(&values, now);
    }
    if (ok && changed)
        ok = note_new(r, table, call_merge_table(r->ts,
                                                 var_get(table)->device,
                                                 &values));
    alloc_free(values.ids);
    return ok;
}

/* A pointer to an array that is read. */
static bool copy_pointer(RegionReplay *r, VarId id)
{
    const Var *v = var_get(id);
    TRY(!v->dep[0] || copy_table(r, v->dep[0]), false);
    VarId array = v->dep[0], now = array ? region_replay_find(r, array) : 0;
    bool same = !now || now == array;
    if (v->aux == 1 || (same && (is_outside(r, v) || r->in_place)))
        return note_itself(r, id);
    if (same)
        now = array;
    else
        TRY(check_array(array, now), false);
    uint32_t scope = r->ts->scope;
    VarId pointer = enter_scope(r, v) ? make_pointer(r, v, now) : 0;
    r->ts->scope = scope;
    return note_new(r, id, pointer);
}

/* The substitutes of a variable's operands. */
static VarId *find_operands(RegionReplay *r, const Var *v, uint32_t *count)
{
    const VarId *ids = var_operands(v, count);
    TRY(vec_reserve(&r->operands, &r->operand_capacity, *count + 4, sizeof(VarId)),
        NULL);
    memset(r->operands, 0, 4 * sizeof(VarId));
    for (uint32_t i = 0; i < *count; ++i) {
        r->operands[i] = ids[i] ? region_replay_find(r, ids[i]) : 0;
        if (ids[i] && !r->operands[i]) {
            error_set(JIT_ERROR_STATE, "region_replay(): r%u has no value any more",
                      ids[i]);
            return NULL;
        }
    }
    return r->operands;
}

/* The number of lanes: that of the operands, which a variable without any, or with such
 * of one entry only, has to itself. */
static bool find_size(const Var *v, const VarId *operands, uint32_t count,
                      uint32_t *size)
{
    TRY(node_common_size(operands, count, "region_replay()", size), false);
    if (*size == 1)
        *size = var_lanes(v);
    return true;
}

/* Simplification may find something smaller, as with a value that is merely to have
 * more entries. */
static VarId make_arithmetic(RegionReplay *r, const Var *v, uint32_t size,
                             const VarId *operands)
{
    Op op = (Op) v->op;
    VarId id = arith_make(r->ts, op, (VarType) v->type, size, operands);
    TRY(id, 0);
    if (var_lanes_of(id) == size)
        return id;
    var_dec(id);
    Var proto = { .op = v->op, .type = v->type, .device = v->device,
                  .own_lanes = size };
    memcpy(proto.dep, operands, op_info[op].arity * sizeof(VarId));
    return node_new(r->ts, &proto);
}

static VarId make_other(RegionReplay *r, const Var *v, uint32_t size, uint32_t aux,
                        uint32_t count, const VarId *operands)
{
    Var proto = { .head = v->head, .own_lanes = size,
                  .value.literal = v->value.literal };
    proto.aux = aux;
    proto.flags = v->flags & (VAR_LOCAL | VAR_OWN_TEXT);
    if (v->flags & VAR_WIDE)
        return node_wide(r->ts, (Op) v->op, v->device, (VarType) v->type,
                         size, aux, count, operands);
    if (v->flags & VAR_OWN_TEXT) {
        proto.value.text = alloc_string(v->value.text);
        TRY(proto.value.text, 0);
    }
    memcpy(proto.dep, operands, sizeof(proto.dep));
    VarId id = node_new(r->ts, &proto);
    if (!id && v->flags & VAR_OWN_TEXT)
        alloc_free((char *) proto.value.text);
    return id;
}

/* Label and source location; of prints, who gets the values. */
static bool copy_extra(VarId old, VarId now)
{
    const Extra *from = extra_find(var_get(old));
    if (!from || old == now)
        return true;
    if (var_get(old)->op == OP_PRINT)
        return print_share(old, now);
    if (!from->label || *extra_label(var_get(now)))
        return true;
    char *label = alloc_string(from->label);
    Extra *to = label ? extra_make(var_get(now)) : NULL;
    if (to)
        to->label = label;
    else
        alloc_free(label);
    return to != NULL;
}

static bool note_serial(RegionReplay *r, uint64_t before, VarId id)
{
    TRY(vec_reserve(&r->serials, &r->serial_capacity, r->serial_count + 1,
                    sizeof(ReplaySerial)), false);
    r->serials[r->serial_count++] = (ReplaySerial){ before, id };
    return true;
}

/* Something that was made is complete: a write is queued, an access has its time. */
static bool settle(RegionReplay *r, VarId old, VarId now)
{
    const Var *v = var_get(old);
    bool effect = is_write(v) || v->op == OP_PRINT;
    TRY(copy_extra(old, now), false);
    if (v->op == OP_LOCAL_READ || v->op == OP_LOCAL_WRITE)
        TRY(note_serial(r, v->value.literal, now), false);
    if (effect) {
        TRY(record_effect(r->ts, now), false);
        var_inc(now);
    }
    return true;
}

/* A scatter that goes to private copies: '*shifted' is its index. */
static bool use_copies(RegionReplay *r, const Var *v, uint32_t count, VarId *operands,
                       VarId distance, VarId *shifted)
{
    VarId *index = &operands[op_find_role((Op) v->op, ROLE_INDEX)];
    uint32_t values = v->op == OP_SCATTER_PACKET ? count - 3 : 1;
    *shifted = memory_shift_index(r->ts, *index, distance, values);
    *index = *shifted;
    return *shifted != 0;
}

static VarId make_write(RegionReplay *r, const Var *v, uint32_t size, uint32_t count,
                        VarId *operands)
{
    const Var *before = var_get(operands[0]);
    const ReplayTarget *target = find_target(r, before->dep[0]);
    VarId array = region_replay_target(r, before->dep[0]), shifted = 0;
    VarId pointer = make_pointer(r, before, array);
    TRY(pointer, 0);
    operands[0] = pointer;
    uint32_t aux = v->aux;
    bool ok = true;
    if (target && target->distance) {
        aux = (aux & ~(uint32_t) (0xff00 | EXPAND_FLAGS)) | ReduceModeExpand << 8;
        ok = use_copies(r, v, count, operands, target->distance, &shifted);
    }
    VarId id = ok ? make_other(r, v, size, aux, count, operands) : 0;
    var_dec(pointer);
    var_drop(shifted);
    return id;
}

static VarId make_variable(RegionReplay *r, const Var *v, uint32_t count,
                           VarId *operands)
{
    uint32_t size;
    TRY(find_size(v, operands, count, &size), 0);
    if (op_info[v->op].flags & F_FOLDS)
        return make_arithmetic(r, v, size, operands);
    return is_write(v) ? make_write(r, v, size, count, operands)
                       : make_other(r, v, size, v->aux, count, operands);
}

/* Do all operands stay what they are, and what is written to? */
static bool is_unchanged(const RegionReplay *r, const Var *v)
{
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    for (uint32_t i = 0; i < count; ++i)
        if (ids[i] && marks_get(r->walk.marks, ids[i]) != ITSELF)
            return false;
    return !r->target_count || !is_write(v) ||
           region_replay_target(r, var_get(ids[0])->dep[0]) == var_get(ids[0])->dep[0];
}

/* All operands of a variable have been copied. */
static bool copy_variable(RegionReplay *r, VarId id)
{
    const Var *v = var_get(id);
    if (r->in_place && !r->open && is_unchanged(r, v))
        return note_itself(r, id);
    if (v->flags & (VAR_CONSUMED | VAR_POISONED))
        return node_usable(r->ts, id, "region_replay()", "a variable");
    if (is_write(v) && v->scope < r->effect_scope)
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "region_replay(): r%u is what an atomic operation has found "
                         "in memory, which cannot be had again", id);
    uint32_t count;
    VarId *operands = find_operands(r, v, &count);
    TRY(operands, false);
    if (v->op == OP_STATE || v->op == OP_ACTIVE)
        return error_set(JIT_ERROR_ARGUMENT,
                         "region_replay(): r%u stands for a value of the body, and has "
                         "no substitute", id);
    ThreadState *ts = r->ts;
    const char *file = ts->file;
    uint32_t line = ts->line, scope = ts->scope;
    const Extra *extra = extra_find(v);
    if (extra && extra->file) {
        ts->file = extra->file;
        ts->line = extra->line;
    }
    VarId now = enter_scope(r, v) ? make_variable(r, v, count, operands) : 0;
    ts->file = file;
    ts->line = line;
    ts->scope = scope;
    return note_new(r, id, now) && settle(r, id, now);
}

/* --------------------------------------------------------------- regions: begin */

static void free_frame(ThreadState *ts, Body *body)
{
    (void) ts;
    ReplayFrame *f = (ReplayFrame *) body;
    const TraceRegion *region = var_get(f->region)->region;
    for (uint32_t i = 0; i < f->state_count; ++i)
        var_dec(f->states[i]);
    for (uint32_t i = 0; i < 2; ++i)
        var_drop(f->active[i]);
    for (uint32_t i = 0; f->bodies && i < region->body_count; ++i)
        record_release(&f->bodies[i]);
    var_ids_drop(&f->body.effects);
    alloc_free(f->states);
    alloc_free(f->bodies);
    alloc_free(f);
}

VarId region_replay_input(const RegionReplay *r, const Var *v, uint32_t k)
{
    uint32_t count;
    return region_replay_find(r, region_part(v, PART_INPUTS, &count)[k]);
}

/* New placeholders; literal inputs of calls need none. */
static bool make_placeholders(RegionReplay *r, ReplayFrame *f)
{
    const Var *v = var_get(f->region);
    uint8_t device = v->device;
    uint32_t count, actives;
    const VarId *states = region_part(v, PART_STATES, &count);
    const VarId *active = region_part(v, PART_ACTIVE, &actives);
    bool literals = v->region->kind == REGION_CALL &&
                    state_flag(r->ts, JitFlagOptimizeCalls);
    for (uint32_t k = 0; k < count; ++k) {
        VarId old = states[k], input = region_replay_input(r, v, k);
        VarId id = region_placeholder(r->ts, OP_STATE, k, device,
                                      (VarType) var_get(old)->type,
                                      var_lanes_of(input), old);
        TRY(id, false);
        f->states[f->state_count++] = id;
        bool literal = literals && var_get(input)->op == OP_LITERAL;
        TRY(note_same(r, old, literal ? input : id), false);
    }
    for (uint32_t i = 0; i < actives; ++i) {
        f->active[i] = region_placeholder(r->ts, OP_ACTIVE, i, device, VarTypeBool, 1,
                                          0);
        TRY(f->active[i], false);
        if (!marks_has(r->walk.marks, active[i])) /* both may be one */
            TRY(note_same(r, active[i], f->active[i]), false);
    }
    return true;
}

static bool open_body(RegionReplay *r, ReplayFrame *f)
{
    static const BodyKind kinds[] = { [REGION_LOOP] = BODY_LOOP,
                                      [REGION_IF] = BODY_SIDE,
                                      [REGION_CALL] = BODY_CALLABLE };
    const Var *v = var_get(f->region);
    f->is_open = record_open(r->ts, &f->body, kinds[v->region->kind], v->device, 0);
    TRY(f->is_open, false);
    TRY(note_scope(r, v->region->bodies[f->which].scope, f->body.scope), false);
    RegionList body = region_body(v, f->which);
    uint32_t end = body.first + body.count;
    const RegionBody *parts = &v->region->bodies[f->which];
    if (parts->scope >= r->effect_scope || !parts->effects.count)
        return region_walk_into(&r->walk, f->region, body.first, end);
    /* Without the effects, which are in between. */
    return region_walk_into(&r->walk, f->region, parts->outputs.first, end) &&
           region_walk_into(&r->walk, f->region, body.first, parts->effects.first);
}

/* Has the last part of the open body been walked? */
static bool body_is_done(const RegionReplay *r)
{
    const ReplayFrame *f = r->open;
    RegionList body = region_body(var_get(f->region), f->which);
    return r->walk.end == body.first + body.count;
}

/* The placeholders of a loop belong to its body, others to no body in particular. */
static bool begin_bodies(RegionReplay *r, ReplayFrame *f)
{
    ThreadState *ts = r->ts;
    if (var_get(f->region)->region->kind == REGION_LOOP) {
        TRY(open_body(r, f), false);
        f->scope = f->body.scope;
        return make_placeholders(r, f);
    }
    uint32_t before = ts->scope;
    ts->scope = f->scope = record_new_scope();
    bool ok = f->scope && make_placeholders(r, f);
    ts->scope = before;
    return ok && open_body(r, f);
}

static bool begin_region(RegionReplay *r, VarId id)
{
    const TraceRegion *region = var_get(id)->region;
    uint32_t count = region->parts[PART_STATES].count;
    ReplayFrame *f = alloc_zero(1, sizeof(ReplayFrame));
    TRY(f, false);
    f->body.abandon = free_frame;
    f->region = id;
    f->outer = r->open;
    r->open = f;
    f->states = alloc_get((count + 1) * sizeof(VarId));
    f->bodies = alloc_zero(region->body_count, sizeof(RecordedBody));
    return f->states && f->bodies && begin_bodies(r, f);
}

/* The condition is a literal: one side is part of what is around it. */
static bool take_side(RegionReplay *r, VarId id, uint32_t side)
{
    const Var *v = var_get(id);
    uint32_t count;
    const VarId *states = region_part(v, PART_STATES, &count);
    for (uint32_t k = 0; k < count; ++k)
        TRY(note_same(r, states[k], region_replay_input(r, v, k)), false);
    VarId mask = region_replay_find(r, region_part(v, PART_MASK, &count)[0]);
    VarId active = region_part(v, PART_ACTIVE, &count)[side];
    RegionList body = region_body(v, side);
    return note_same(r, active, mask) &&
           note(r, id, (ReplayCopy){ .instead = side + 1 }) &&
           region_walk_into(&r->walk, id, body.first, body.first + body.count);
}

/* Does anything change that the region takes from outside? */
static bool is_changed(const RegionReplay *r, const Var *v)
{
    const VarId *ids = v->value.list->ids;
    for (uint32_t i = 0; i < v->region->outside; ++i) {
        const Var *o = var_get(ids[i]);
        VarId now = region_replay_find(r, ids[i]);
        VarId array = o->op == OP_POINTER ? o->dep[0] : 0;
        if ((now && now != ids[i]) ||
            (array && region_replay_target(r, array) != array))
            return true;
    }
    return false;
}

/* All that the region takes from outside is there. */
static bool enter_region(RegionReplay *r, VarId id)
{
    const Var *v = var_get(id);
    if (r->in_place && !r->open && !is_changed(r, v))
        return note_itself(r, id);
    uint32_t count;
    VarId condition = region_part(v, PART_CONDITION, &count)[0];
    if (v->region->kind == REGION_IF) {
        const Var *now = var_get(region_replay_find(r, condition));
        if (now->op == OP_LITERAL && var_get(condition)->op != OP_LITERAL)
            return take_side(r, id, now->value.literal ? 0 : 1);
    }
    return begin_region(r, id);
}

/* ----------------------------------------------------------------- regions: end */

/* All bodies are complete. */
static bool finish_region(RegionReplay *r, ReplayFrame *f)
{
    bool never;
    VarId id = replay_region_make(r, f, &never);
    if (!id && never)
        return note(r, f->region, (ReplayCopy){ .instead = 0 });
    TRY(note_new(r, f->region, id), false);
    TRY(note_serial(r, var_get(f->region)->region->serial, id), false);
    if (!region_is_effect(var_get(id)) || (!f->outer && r->unqueued))
        return true;
    TRY(record_effect(r->ts, id), false);
    var_inc(id);
    return true;
}

/* The outputs of a body, as they are now. */
static bool note_outputs(RegionReplay *r, const VarId *ids, uint32_t count,
                         RecordedBody *out)
{
    TRY(vec_reserve(&r->operands, &r->operand_capacity, count, sizeof(VarId)), false);
    for (uint32_t k = 0; k < count; ++k)
        r->operands[k] = region_replay_find(r, ids[k]);
    return record_outputs(out, count, r->operands);
}

/* A body of the innermost region is complete. */
static bool end_body(RegionReplay *r)
{
    ReplayFrame *f = r->open;
    const Var *v = var_get(f->region);
    RecordedBody *body = &f->bodies[f->which];
    RegionList list = v->region->bodies[f->which].outputs;
    TRY(note_outputs(r, region_list(v, list), list.count, body), false);
    f->is_open = false;
    TRY(record_close_into(r->ts, &f->body, body, "region_replay()"), false);
    if (++f->which < v->region->body_count)
        return open_body(r, f);
    bool ok = finish_region(r, f);
    if (ok) {
        r->open = f->outer;
        free_frame(r->ts, &f->body);
    }
    return ok;
}

/* ----------------------------------------------------------------------- results */

VarId region_replay_result(RegionReplay *r, VarId region, uint32_t k)
{
    const Var *v = var_get(region);
    uint32_t value = marks_get(r->walk.marks, region);
    VarId id = region_replay_find(r, region), result;
    if (!id) {
        uint32_t instead = r->copies[value].instead;
        result = instead ? region_replay_find(r, region_output(v, instead - 1, k))
                         : region_replay_input(r, v, k);
    } else {
        const TraceRegion *now = var_get(id)->region;
        bool fixed = now->kind == REGION_LOOP && now->fixed[k];
        result = fixed ? region_replay_input(r, v, k) : now->results[k];
        if (!result)
            return region_result(r->ts, id, k);
    }
    var_inc(result);
    return result;
}

/* ------------------------------------------------------------------------- walk */

static bool leave(RegionReplay *r, VarId id)
{
    const Var *v = var_get(id);
    if (r->open && r->open->region == id)
        return !body_is_done(r) || end_body(r);
    if (marks_get(r->walk.marks, id) != NOT_YET) /* one side has been taken */
        return true;
    switch (v->op) {
    case OP_POINTER:
        return copy_pointer(r, id);
    case OP_REGION:
        return enter_region(r, id);
    case OP_RESULT:
        if (region_replay_find(r, v->dep[0]) == v->dep[0])
            return note_itself(r, id);
        return note_new(r, id, region_replay_result(r, v->dep[0], v->aux));
    default:
        return copy_variable(r, id);
    }
}

/* Literals and the like that are traced in a body are outside of it, yet have a scope
 * that is made when the body is open: then they are met again. */
static bool comes_later(const RegionReplay *r, VarId id)
{
    if (!r->walk.depth)
        return false;
    const WalkRange *range = &r->walk.ranges[r->walk.depth - 1];
    const Var *region = var_get(range->id);
    return region->op == OP_REGION && range->end == region->region->outside &&
           var_get(id)->scope >= region->region->scope;
}

static bool meet(RegionReplay *r, VarId id)
{
    const Var *v = var_get(id);
    if (v->op == OP_EVALUATED || (v->op != OP_POINTER && is_outside(r, v)))
        return note_itself(r, id);
    if (!comes_later(r, id))
        return region_walk_operands(&r->walk, id);
    marks_drop(r->walk.marks, id);
    return true;
}

static bool walk(RegionReplay *r)
{
    WalkEvent event;
    VarId id;
    while ((event = region_walk(&r->walk, &id)) >= WALK_MET)
        TRY(event == WALK_MET ? meet(r, id) : leave(r, id), false);
    return event == WALK_DONE;
}

/* Give up what is open, innermost first. */
static void give_up(RegionReplay *r)
{
    while (r->open) {
        ReplayFrame *f = r->open;
        r->open = f->outer;
        if (f->is_open)
            record_abandon(r->ts, &f->body);
        else
            free_frame(r->ts, &f->body);
    }
    r->walk.depth = 0;
}

static int compare_serials(const void *a, const void *b)
{
    const ReplaySerial *x = a, *y = b;
    return (x->before > y->before) - (x->before < y->before);
}

/* What was recorded in some order was so again. In place, it is still the same time. */
static void put_in_order(RegionReplay *r)
{
    if (r->serial_count)
        qsort(r->serials, r->serial_count, sizeof(ReplaySerial), compare_serials);
    for (uint32_t i = 0; i < r->serial_count; ++i) {
        Var *v = var_get(r->serials[i].id);
        uint64_t serial = r->in_place ? r->serials[i].before : local_next_serial();
        if (v->op == OP_REGION)
            v->region->serial = serial;
        else
            v->value.literal = serial;
    }
    r->serial_count = 0;
}

static bool finish(RegionReplay *r, bool ok)
{
    if (!ok)
        give_up(r);
    put_in_order(r);
    return ok;
}

bool region_replay(RegionReplay *r, VarId root)
{
    region_walk_from(&r->walk, root);
    return finish(r, walk(r));
}

bool region_replay_effect(RegionReplay *r, VarId effect)
{
    TRY(region_replay(r, effect), false);
    if (region_replay_find(r, effect) == effect)
        return record_hand_over(r->ts, &effect, 1);
    if (region_is_effect(var_get(effect)))
        region_replaced(effect);
    return true;
}

static bool walk_all(RegionReplay *r, const VarId *roots, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        region_walk_from(&r->walk, roots[i]);
        TRY(walk(r), false);
    }
    return true;
}

bool region_replay_body(RegionReplay *r, VarId region, uint32_t body)
{
    const Var *v = var_get(region);
    RegionList list = region_body(v, body);
    return finish(r, walk_all(r, region_list(v, list), list.count));
}

bool region_replay_recorded(RegionReplay *r, const RecordedBody *body,
                            RecordedBody *out)
{
    const VarIds *outputs = &body->outputs;
    bool ok = walk_all(r, body->effects.ids, body->effects.count) &&
              walk_all(r, outputs->ids, outputs->count);
    return finish(r, ok) && note_outputs(r, outputs->ids, outputs->count, out);
}

bool region_replay_region(RegionReplay *r, VarId region)
{
    const Var *v = var_get(region);
    bool ok = true;
    for (uint32_t i = 0; ok && i < v->region->outside; ++i) {
        VarId id = v->value.list->ids[i];
        if (!marks_has(r->walk.marks, id))
            ok = marks_set(r->walk.marks, id, NOT_YET) &&
                 (var_get(id)->op == OP_POINTER ? copy_pointer(r, id)
                                                : note_itself(r, id));
    }
    ok = ok && marks_set(r->walk.marks, region, NOT_YET) && enter_region(r, region) &&
         walk(r);
    return finish(r, ok);
}
