/*
 * local_plan.c -- see local_plan.h
 *
 * What stands in a body is found by a walk from the body's effects and outputs that
 * stops at variables from outside; bodies of regions met on the way are walked later.
 * Serial numbers tell what was traced before what; a region gets its own when it is
 * complete. What an access or region is made from is always older than it, so a write
 * can ask for all older uses of its version to be emitted first without going in
 * circles.
 */
#include "trace/eval/local_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/eval/assemble.h"
#include "trace/eval/assemble_region.h"
#include "trace/graph/local.h"
#include "trace/graph/region.h"
#include "trace/graph/region_walk.h"

/* -------------------------------------------------------------- finding uses */

static bool add_body(LocalPlan *plan, VarId region, bool other)
{
    TRY(vec_reserve(&plan->bodies, &plan->body_capacity, plan->body_count + 1,
                    sizeof(LocalBody)), false);
    plan->bodies[plan->body_count++] = (LocalBody){ region, other };
    return true;
}

static bool add_use(LocalPlan *plan, LocalUse use)
{
    TRY(vec_reserve(&plan->uses, &plan->use_capacity, plan->use_count + 1,
                    sizeof(LocalUse)), false);
    plan->uses[plan->use_count++] = use;
    return true;
}

/* Arrays among these, used by a region or by the end of a body. */
static bool add_list(Assembly *b, LocalUse use, const Var *region, RegionList list)
{
    LocalPlan *plan = &b->locals;
    const VarId *ids = region_list(region, list);
    for (uint32_t i = 0; i < list.count; ++i) {
        use.version = ids[i];
        if (local_is_array(var_get(ids[i])) && assemble_region_needs(b, ids[i]))
            TRY(add_use(plan, use), false);
    }
    return true;
}

static bool note_region(Assembly *b, VarId id, uint32_t body)
{
    LocalPlan *plan = &b->locals;
    const Var *v = var_get(id);
    LocalUse use = { .user = id, .body = body, .serial = v->region->serial };
    RegionKind kind = v->region->kind;
    if (kind != REGION_CALL)
        TRY(add_body(plan, id, false), false);
    if (kind == REGION_IF)
        TRY(add_body(plan, id, true), false);
    return add_list(b, use, v, v->region->parts[PART_INPUTS]) &&
           add_list(b, use, v, v->region->parts[PART_READS]);
}

/* All of one body that can be reached from here. */
static bool walk_body(Assembly *b, RegionWalk *w, uint32_t body, uint32_t scope)
{
    VarId id;
    while ((id = region_walk_next(w)) != 0) {
        const Var *v = var_get(id);
        if (v->scope < scope || !assemble_region_needs(b, id))
            continue;
        LocalUse use = { .user = id, .version = v->dep[0], .body = body,
                         .serial = v->value.literal };
        bool access = v->op == OP_LOCAL_READ || v->op == OP_LOCAL_WRITE;
        TRY(!access || add_use(&b->locals, use), false);
        TRY(v->op != OP_REGION || note_region(b, id, body), false);
        TRY(region_walk_operands(w, id), false);
    }
    return true;
}

/* Bodies of regions that are met are walked later. */
static bool find_uses(Assembly *b, RegionWalk *w)
{
    LocalPlan *plan = &b->locals;
    TRY(add_body(plan, 0, false), false);
    for (uint32_t i = 0; i < plan->root_count; ++i) {
        region_walk_from(w, plan->roots[i]);
        TRY(walk_body(b, w, 0, 0), false);
    }
    for (uint32_t i = 1; i < plan->body_count; ++i) {
        VarId id = plan->bodies[i].region;
        const Var *region = var_get(id);
        uint32_t side = plan->bodies[i].other;
        RegionList body = region_body(region, side);
        LocalUse end = { .body = i, .serial = UINT64_MAX };
        TRY(add_list(b, end, region, region->region->bodies[side].outputs), false);
        TRY(region_walk_into(w, id, body.first, body.first + body.count), false);
        TRY(walk_body(b, w, i, region->region->scope), false);
    }
    return true;
}

/* ------------------------------------------------------------------- sorting */

static int compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int compare_uses(const void *a, const void *b)
{
    const LocalUse *x = a, *y = b;
    int order = compare(x->version, y->version);
    if (!order)
        order = compare(x->body, y->body);
    return order ? order : compare(x->serial, y->serial);
}

static int compare_users(const void *a, const void *b, void *context)
{
    const LocalUse *uses = context;
    const uint32_t *x = a, *y = b;
    int order = compare(uses[*x].user, uses[*y].user);
    return order ? order : compare(*x, *y);
}

static int compare_records(const void *a, const void *b)
{
    const LocalRecord *x = a, *y = b;
    int order = compare(x->version, y->version);
    return order ? order : compare(x->body, y->body);
}

static bool make_records(LocalPlan *plan)
{
    for (uint32_t i = 0; i < plan->use_count; ++i) {
        const LocalUse *use = &plan->uses[i];
        LocalRecord *last = i ? &plan->records[plan->record_count - 1] : NULL;
        if (!last || last->version != use->version || last->body != use->body) {
            TRY(vec_reserve(&plan->records, &plan->record_capacity,
                            plan->record_count + 1, sizeof(LocalRecord)), false);
            last = &plan->records[plan->record_count++];
            *last = (LocalRecord){ use->version, use->body, 0, i, i };
        }
        last->left++;
        last->end = i + 1;
        plan->by_user[i] = i;
    }
    return true;
}

static bool make_plan(Assembly *b)
{
    LocalPlan *plan = &b->locals;
    RegionWalk w;
    plan->use_count = plan->record_count = plan->body_count = 0;
    TRY(region_walk_begin(&w), false);
    bool ok = find_uses(b, &w);
    region_walk_end(&w);
    TRY(ok, false);
    TRY(vec_reserve(&plan->by_user, &plan->by_user_capacity, plan->use_count,
                    sizeof(uint32_t)), false);
    if (plan->use_count)
        qsort(plan->uses, plan->use_count, sizeof(LocalUse), compare_uses);
    TRY(make_records(plan), false);
    if (plan->use_count)
        qsort_r(plan->by_user, plan->use_count, sizeof(uint32_t), compare_users,
                plan->uses);
    plan->ready = true;
    return true;
}

/* The first use by this user in by_user[]; by_user[use_count] if there is none. */
static uint32_t find_user(const LocalPlan *plan, VarId user)
{
    uint32_t low = 0, high = plan->use_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->uses[plan->by_user[middle]].user < user)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static LocalUse *use_at(const LocalPlan *plan, uint32_t place, VarId user)
{
    if (place >= plan->use_count)
        return NULL;
    LocalUse *use = &plan->uses[plan->by_user[place]];
    return use->user == user ? use : NULL;
}

static LocalRecord *find_record(const LocalPlan *plan, VarId version, uint32_t body)
{
    LocalRecord key = { .version = version, .body = body };
    if (!plan->record_count)
        return NULL;
    return bsearch(&key, plan->records, plan->record_count, sizeof(LocalRecord),
                   compare_records);
}

/* ------------------------------------------------------------------ storage */

static bool is_owned(const LocalPlan *plan, uint32_t storage)
{
    if (!plan->frame_count)
        return true;
    const LocalFrame *frame = &plan->frames[plan->frame_count - 1];
    if (storage >= frame->begin)
        return true;
    for (uint32_t i = frame->first_claim; i < plan->claim_count; ++i)
        if (plan->claims[i].storage == storage)
            return true;
    return false;
}

static uint32_t add_storage(Assembly *b, VarType type, uint32_t entries, uint32_t value)
{
    b->local_bytes += (uint64_t) entries * type_info[type].size;
    if (b->local_bytes > LOCAL_MOST_BYTES) {
        error_set(JIT_ERROR_UNSUPPORTED,
                  "jit_eval(): the local arrays of a kernel, copies included, need "
                  "more than the %d bytes that a lane can have", LOCAL_MOST_BYTES);
        return PROGRAM_NONE;
    }
    return program_add(b->program, OP_LOCAL, type, entries, 1, &value);
}

/* An array of zeros like the one at this position. */
static uint32_t add_similar(Assembly *b, uint32_t storage)
{
    VarType type = (VarType) b->program->insts[storage].type;
    uint32_t entries = b->program->insts[storage].aux;
    uint32_t zero = assemble_constant(b, type, 0);
    TRY(zero != PROGRAM_NONE, PROGRAM_NONE);
    return add_storage(b, type, entries, zero);
}

static bool add_move(Assembly *b, uint32_t to, uint32_t from, uint32_t mask)
{
    uint32_t args[] = { to, from, mask };
    return program_add(b->program, OP_LOCAL_MOVE, VarTypeVoid, 0, 3, args) !=
           PROGRAM_NONE;
}

static uint32_t add_copy(Assembly *b, uint32_t storage)
{
    uint32_t copy = add_similar(b, storage);
    TRY(copy != PROGRAM_NONE, PROGRAM_NONE);
    uint32_t always = assemble_constant(b, VarTypeBool, 1);
    TRY(always != PROGRAM_NONE && add_move(b, copy, storage, always), PROGRAM_NONE);
    return copy;
}

/* Somebody is about to overwrite this version, and 'use' is why: the storage in which
 * that can be done. */
static uint32_t take_storage(Assembly *b, VarId version, uint32_t storage,
                             LocalUse *use)
{
    LocalRecord *record = use ? find_record(&b->locals, version, use->body) : NULL;
    if (record && !use->done) {
        use->done = true;
        record->left--;
        if (!record->left && is_owned(&b->locals, storage))
            return storage;
    }
    return add_copy(b, storage);
}

/* ----------------------------------------------------------------- emitting */

void local_plan_reset(LocalPlan *plan, const VarId *roots, uint32_t count)
{
    plan->roots = roots;
    plan->root_count = count;
    plan->ready = false;
    plan->claim_count = plan->frame_count = 0;
}

bool local_plan_before(Assembly *b, VarId user, VarId *first)
{
    LocalPlan *plan = &b->locals;
    *first = 0;
    if (!plan->ready)
        return true;
    uint32_t place = find_user(plan, user);
    for (LocalUse *use; (use = use_at(plan, place, user)) != NULL; ++place) {
        LocalRecord *record = find_record(plan, use->version, use->body);
        if (use->done)
            continue;
        for (; record->first < record->end; ++record->first) {
            const LocalUse *other = &plan->uses[record->first];
            if (other->serial >= use->serial)
                break;
            if (other->done || marks_has(b->places, other->user))
                continue;
            *first = other->user;
            return true;
        }
    }
    return true;
}

static uint32_t emit_access(Assembly *b, VarId id, const Var *v, uint32_t *args)
{
    LocalPlan *plan = &b->locals;
    LocalUse *use = use_at(plan, find_user(plan, id), id);
    if (v->op == OP_LOCAL_READ) {
        if (use && !use->done) {
            use->done = true;
            find_record(plan, use->version, use->body)->left--;
        }
        return program_add(b->program, OP_LOCAL_READ, (VarType) v->type, 0, 3, args);
    }
    args[0] = take_storage(b, v->dep[0], args[0], use);
    TRY(args[0] != PROGRAM_NONE, PROGRAM_NONE);
    uint32_t position =
        program_add(b->program, OP_LOCAL_WRITE, VarTypeVoid, 0, 4, args);
    return position == PROGRAM_NONE ? position : args[0];
}

uint32_t local_plan_emit(Assembly *b, VarId id)
{
    if (!b->locals.ready)
        TRY(make_plan(b), PROGRAM_NONE);
    const Var *v = var_get(id);
    uint32_t args[4], count;
    const VarId *ids = var_operands(v, &count);
    for (uint32_t i = 0; i < count; ++i)
        args[i] = assemble_position(b, ids[i]);
    if (v->op == OP_LOCAL)
        return add_storage(b, (VarType) v->type, v->aux, args[0]);
    return emit_access(b, id, v, args);
}

/* ------------------------------------------------------------------ regions */

static bool add_claim(LocalPlan *plan, LocalClaim claim)
{
    TRY(vec_reserve(&plan->claims, &plan->claim_capacity, plan->claim_count + 1,
                    sizeof(LocalClaim)), false);
    plan->claims[plan->claim_count++] = claim;
    return true;
}

/* The use of a version by a region that is not settled yet; NULL if there is none. */
static LocalUse *find_use(const LocalPlan *plan, VarId region, VarId version)
{
    uint32_t place = find_user(plan, region);
    for (LocalUse *use; (use = use_at(plan, place, region)) != NULL; ++place)
        if (use->version == version && !use->done)
            return use;
    return NULL;
}

/* Storage for the states of a loop. */
static bool claim_states(Assembly *b, VarId region)
{
    const Var *v = var_get(region);
    uint32_t count;
    const VarId *states = region_part(v, PART_STATES, &count);
    const VarId *inputs = region_part(v, PART_INPUTS, &count);
    const uint8_t *flags = assemble_region_flags(b, region);
    for (uint32_t i = 0; i < count; ++i) {
        const Var *input = var_get(inputs[i]);
        if (!local_is_array(input) || !(flags[i] & NEEDED_STATE))
            continue;
        uint32_t storage = assemble_position(b, inputs[i]);
        if (!v->region->fixed[i]) {
            storage = take_storage(b, inputs[i], storage,
                                   find_use(&b->locals, region, inputs[i]));
            TRY(storage != PROGRAM_NONE, false);
            TRY(add_claim(&b->locals, (LocalClaim){ storage, i, 0, 0 }), false);
        }
        marks_set(b->places, states[i], storage);
    }
    return true;
}

/* The version from outside that an output was made from by writes, loops and
 * conditionals; 0 if there is none. */
static VarId origin_of(VarId output, uint32_t scope)
{
    while (output && var_get(output)->scope >= scope) {
        const Var *v = var_get(output);
        if (v->op == OP_LOCAL_WRITE) {
            output = v->dep[0];
        } else if (v->op == OP_RESULT) {
            const Var *inner = var_get(v->dep[0]);
            uint32_t count;
            output = inner->region->kind == REGION_LOOP
                         ? region_part(inner, PART_INPUTS, &count)[v->aux]
                         : region_output(inner, 0, v->aux);
        } else {
            output = 0;
        }
    }
    return output;
}

/* Storage for the outputs of a conditional. */
static bool claim_outputs(Assembly *b, VarId region)
{
    const Var *v = var_get(region);
    uint32_t scope = v->region->scope;
    const VarId *outputs = region_list(v, v->region->bodies[0].outputs);
    const VarId *others = region_list(v, v->region->bodies[1].outputs);
    const uint8_t *flags = assemble_region_flags(b, region);
    for (uint32_t i = 0; i < v->region->count; ++i) {
        const Var *output = var_get(outputs[i]);
        if (!local_is_array(output) || !(flags[i] & NEEDED_RESULT))
            continue;
        VarId origin = origin_of(outputs[i], scope);
        LocalUse *use = origin && origin == origin_of(others[i], scope)
                            ? find_use(&b->locals, region, origin)
                            : NULL;
        LocalClaim claim = { .result = i };
        if (use) {
            claim.version = origin;
            claim.position = assemble_position(b, origin);
            claim.storage = take_storage(b, origin, claim.position, use);
            TRY(claim.storage != PROGRAM_NONE, false);
            marks_set(b->places, origin, claim.storage);
        } else {
            VarType type = (VarType) output->type;
            uint32_t zero = assemble_constant(b, type, 0);
            TRY(zero != PROGRAM_NONE, false);
            uint32_t entries = (uint32_t) local_length(outputs[i], "jit_eval()");
            claim.storage = add_storage(b, type, entries, zero);
        }
        TRY(claim.storage != PROGRAM_NONE && add_claim(&b->locals, claim), false);
    }
    return true;
}

static bool gives_arrays(VarId region)
{
    const Var *v = var_get(region);
    for (uint32_t i = 0; i < v->region->count; ++i)
        if (local_is_array(var_get(region_output(v, 0, i))))
            return true;
    return false;
}

bool local_plan_enter(Assembly *b, VarId region)
{
    LocalPlan *plan = &b->locals;
    const TraceRegion *r = var_get(region)->region;
    uint32_t first_claim = plan->claim_count;
    if (r->kind == REGION_IF && !plan->ready && gives_arrays(region))
        TRY(make_plan(b), false);
    if (plan->ready)
        TRY(r->kind == REGION_LOOP ? claim_states(b, region)
                                   : claim_outputs(b, region), false);
    TRY(vec_reserve(&plan->frames, &plan->frame_capacity, plan->frame_count + 1,
                    sizeof(LocalFrame)), false);
    plan->frames[plan->frame_count++] =
        (LocalFrame){ region, false, b->program->inst_count, first_claim };
    return true;
}

/* Where the output that belongs to a claim is, UINT32_MAX if it was not emitted. */
static uint32_t output_position(const Assembly *b, const LocalFrame *frame,
                                const LocalClaim *claim)
{
    VarId output = region_output(var_get(frame->region), frame->other, claim->result);
    return assemble_position(b, output);
}

bool local_plan_moves(const Assembly *b)
{
    const LocalPlan *plan = &b->locals;
    const LocalFrame *frame = &plan->frames[plan->frame_count - 1];
    for (uint32_t i = frame->first_claim; i < plan->claim_count; ++i) {
        uint32_t from = output_position(b, frame, &plan->claims[i]);
        if (from != UINT32_MAX && from != plan->claims[i].storage)
            return true;
    }
    return false;
}

/* Is this storage about to get the content of another one? */
static bool is_overwritten(const Assembly *b, const LocalFrame *frame,
                           uint32_t storage)
{
    const LocalPlan *plan = &b->locals;
    for (uint32_t i = frame->first_claim; i < plan->claim_count; ++i) {
        uint32_t from = output_position(b, frame, &plan->claims[i]);
        if (plan->claims[i].storage == storage && from != UINT32_MAX && from != storage)
            return true;
    }
    return false;
}

/* Put all outputs of the side that ends into their places, at once: what is overwritten
 * by one of the moves and needed by another one is moved aside first. */
bool local_plan_settle(Assembly *b, uint32_t active)
{
    LocalPlan *plan = &b->locals;
    const LocalFrame frame = plan->frames[plan->frame_count - 1];
    uint32_t count = plan->claim_count - frame.first_claim;
    TRY(vec_reserve(&plan->sources, &plan->source_capacity, count, sizeof(uint32_t)),
        false);
    for (uint32_t i = 0; i < count; ++i) {
        const LocalClaim *claim = &plan->claims[frame.first_claim + i];
        uint32_t from = output_position(b, &frame, claim);
        if (from == UINT32_MAX)
            from = claim->storage;
        if (from != claim->storage && is_overwritten(b, &frame, from)) {
            from = add_copy(b, from);
            TRY(from != PROGRAM_NONE, false);
        }
        plan->sources[i] = from;
    }
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t to = plan->claims[frame.first_claim + i].storage;
        if (plan->sources[i] != to)
            TRY(add_move(b, to, plan->sources[i], active), false);
    }
    return true;
}

void local_plan_else(Assembly *b)
{
    LocalFrame *frame = &b->locals.frames[b->locals.frame_count - 1];
    frame->other = true;
    frame->begin = b->program->inst_count;
}

bool local_plan_leave(Assembly *b)
{
    LocalPlan *plan = &b->locals;
    const LocalFrame frame = plan->frames[--plan->frame_count];
    const TraceRegion *region = var_get(frame.region)->region;
    while (plan->claim_count > frame.first_claim) {
        LocalClaim claim = plan->claims[--plan->claim_count];
        VarId result = region->results[claim.result];
        if (claim.version)
            marks_set(b->places, claim.version, claim.position);
        TRY(!result || assemble_place(b, result, claim.storage), false);
    }
    if (!plan->ready)
        return true;
    uint32_t place = find_user(plan, frame.region);
    for (LocalUse *use; (use = use_at(plan, place, frame.region)) != NULL; ++place)
        if (!use->done) {
            use->done = true;
            find_record(plan, use->version, use->body)->left--;
        }
    return true;
}

void local_plan_free(LocalPlan *plan)
{
    alloc_free(plan->uses);
    alloc_free(plan->by_user);
    alloc_free(plan->records);
    alloc_free(plan->bodies);
    alloc_free(plan->claims);
    alloc_free(plan->frames);
    alloc_free(plan->sources);
    memset(plan, 0, sizeof(*plan));
}
