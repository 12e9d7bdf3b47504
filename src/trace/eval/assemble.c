/*
 * assemble.c -- see assemble.h
 *
 * A depth-first walk from each root, with a stack of our own, emits operands before
 * their users. Positions are marks of the Program (b->places), so that a callable has
 * its own. Arrays in memory and pointers are leaves: they become
 * parameters.
 */
#include "trace/eval/assemble.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"
#include "kernel/tier.h"
#include "trace/eval/assemble_call.h"
#include "trace/eval/assemble_region.h"
#include "trace/eval/expand.h"
#include "trace/eval/spent.h"
#include "trace/graph/access.h"
#include "trace/graph/pending.h"
#include "trace/graph/region.h"
#include "trace/graph/region_walk.h"

/* ------------------------------------------------------------------- parameters */

static bool add_arg(Assembly *b, uint32_t param, uint64_t word)
{
    TRY(param != PROGRAM_NONE, false);
    if (param >= b->arg_capacity)
        TRY(vec_reserve(&b->args, &b->arg_capacity, param + 1, sizeof(uint64_t)),
            false);
    b->args[param] = word;
    return true;
}

static bool add_use(Assembly *b, Buffer *buffer, uint32_t word, SlotAccess access)
{
    TRY(vec_reserve(&b->operands, &b->operand_capacity, b->operand_count + 1,
                    sizeof(LaunchArray)), false);
    b->operands[b->operand_count++] = (LaunchArray) { buffer, word, (uint32_t) access };
    return true;
}

/* Note an array that has to stay as it is until the launch. */
static bool add_array(Assembly *b, VarId id)
{
    if (b->array_count >= b->array_capacity)
        TRY(vec_reserve(&b->arrays, &b->array_capacity, b->array_count + 1,
                        sizeof(VarId)), false);
    b->arrays[b->array_count++] = id;
    return true;
}

/* ---------------------------------------------------------------- emitting */

static uint32_t emit_literal(Assembly *b, VarType type, uint64_t bits, VarId id)
{
    uint32_t position = program_add_literal(b->program, type, bits);
    TRY(position != PROGRAM_NONE, PROGRAM_NONE);
    if (b->call_count) /* those of callables are of no interest to anybody */
        return position;
    uint32_t index = b->program->insts[position].aux;
    if (index >= b->literal_capacity)
        TRY(vec_reserve(&b->literal_vars, &b->literal_capacity, index + 1,
                        sizeof(VarId)),
            PROGRAM_NONE);
    b->literal_vars[index] = id;
    return position;
}

uint32_t assemble_constant(Assembly *b, VarType type, uint64_t bits)
{
    return emit_literal(b, type, bits, 0);
}

/* An array on foreign memory that ends close to a page that may not be there: entries
 * are gathered, which never touches what lies after the last lane. */
static uint32_t emit_exact_load(Assembly *b, const Var *v)
{
    Buffer *buffer = v->value.buffer;
    uint32_t param = program_add_param(b->program, PARAM_POINTER, (VarType) v->type);
    TRY(add_arg(b, param, 0), PROGRAM_NONE);
    TRY(add_use(b, buffer, param, SLOT_READ), PROGRAM_NONE);
    b->input_count++;
    uint32_t args[] = { program_add(b->program, OP_PARAM, VarTypePointer, param, 0,
                                    NULL),
                        program_add(b->program, OP_COUNTER, VarTypeUInt32, 0, 0, NULL),
                        assemble_constant(b, VarTypeBool, 1) };
    for (uint32_t i = 0; i < 3; ++i)
        TRY(args[i] != PROGRAM_NONE, PROGRAM_NONE);
    return program_add(b->program, OP_GATHER, (VarType) v->type, 0, 3, args);
}

static uint32_t emit_load(Assembly *b, VarId id, const Var *v)
{
    Buffer *buffer = v->value.buffer;
    TRY(add_array(b, id), PROGRAM_NONE);
    if (var_lanes(v) != 1 && !buffer_is_padded(buffer))
        return emit_exact_load(b, v);
    uint32_t param = program_add_param(b->program, PARAM_INPUT, (VarType) v->type);
    TRY(add_arg(b, param, 0), PROGRAM_NONE);
    TRY(add_use(b, buffer, param, SLOT_READ), PROGRAM_NONE);
    b->input_count++;
    uint32_t position =
        program_add(b->program, OP_LOAD, (VarType) v->type, param, 0, NULL);
    if (position != PROGRAM_NONE && var_lanes(v) == 1 && b->size != 1)
        b->program->insts[position].flags |= INST_UNIFORM;
    return position;
}

uint32_t assemble_pointer(Assembly *b, const Var *v)
{
    VarType type = VarTypeVoid;
    bool write = v->aux != 0;
    Buffer *buffer = NULL;
    if (v->dep[0]) {
        const Var *array = var_get(v->dep[0]);
        type = (VarType) array->type;
        const Extra *extra = extra_find(array);
        if (extra && extra->copies && (!b->workers || extra->copies < b->workers))
            b->workers = extra->copies;
        if (v->aux != 1) /* a queued write holds its own target */
            TRY(add_array(b, v->dep[0]), PROGRAM_NONE);
        if (array->op == OP_EVALUATED)
            buffer = array->value.buffer;
    }
    uint32_t param = program_add_param(b->root, PARAM_POINTER, type);
    TRY(add_arg(b, param, v->value.literal), PROGRAM_NONE);
    if (buffer) /* an address within it may be given */
        TRY(add_use(b, buffer, v->value.literal ? SLOT_NO_WORD : param,
                    write ? SLOT_READ_WRITE : SLOT_READ),
            PROGRAM_NONE);
    b->root->params[param].written = write;
    b->input_count += !write;
    return param;
}

/* Its kernel comes before all that need its result. */
static uint32_t refuse_fused(VarId id)
{
    char name[200];
    extra_describe(id, name, sizeof(name));
    error_set(JIT_ERROR_STATE, "jit_eval(): the computation uses the result of a "
              "reduction (%s) that could not be performed", name);
    return PROGRAM_NONE;
}

static uint32_t emit_pointer(Assembly *b, const Var *v)
{
    if (region_walk_waits(v))
        return refuse_fused(v->dep[0]);
    uint32_t param = b->call_count ? assemble_call_param(b, v) : assemble_pointer(b, v);
    TRY(param != PROGRAM_NONE, PROGRAM_NONE);
    return program_add(b->program, OP_PARAM, VarTypePointer, param, 0, NULL);
}

static uint32_t emit_check(Assembly *b, VarId id, const Var *v, const uint32_t *args)
{
    uint32_t number = b->root->check_count;
    TRY(vec_reserve(&b->check_bounds, &b->bound_capacity, number + 1, sizeof(uint64_t)),
        PROGRAM_NONE);
    TRY(vec_reserve(&b->check_vars, &b->check_capacity, number + 1, sizeof(VarId)),
        PROGRAM_NONE);
    b->check_bounds[number] = v->value.literal;
    b->check_vars[number] = id;
    b->root->check_count++;
    return program_add(b->program, OP_CHECK, VarTypeBool, number, 2, args);
}

/* Number of a PRINT in the launch's log. */
static uint32_t number_print(Assembly *b, VarId id)
{
    uint32_t number = b->root->print_count;
    TRY(vec_reserve(&b->print_vars, &b->print_capacity, number + 1, sizeof(VarId)),
        PROGRAM_NONE);
    b->print_vars[number] = id;
    b->root->print_count++;
    return number;
}

/* Number of a statement's text. Literals whose values it has ($o1) are written into it:
 * they are a part of the kernel then, and never one of its parameters. */
static uint32_t number_stmt(Assembly *b, const Var *v)
{
    const char *text = v->value.text;
    if (!strstr(text, "$o"))
        return program_add_stmt(b->program, text);
    Text out = { 0 };
    for (const char *p = text; *p; ++p) {
        const bool escape = *p == '$' && p[1];
        const uint32_t k = escape && p[1] == 'o' ? (uint32_t) p[2] - '1' : v->aux;
        const Var *operand = k < v->aux ? var_get(v->dep[k]) : NULL;
        if (operand && operand->op == OP_LITERAL) {
            text_put_u64(&out, operand->value.literal);
            p += 2;
            continue;
        }
        text_put_n(&out, p, 1 + escape);
        p += escape;
    }
    const char *whole = text_get(&out);
    uint32_t number = whole ? program_add_stmt(b->program, whole) : PROGRAM_NONE;
    text_free(&out);
    return number;
}

static uint32_t emit_operation(Assembly *b, VarId id, const Var *v)
{
    uint32_t fixed[8], *args = fixed, count;
    const VarId *ids = var_operands(v, &count);
    if (count > 8) {
        args = alloc_get(count * sizeof(uint32_t));
        TRY(args, PROGRAM_NONE);
    }
    for (uint32_t i = 0; i < count; ++i)
        args[i] = assemble_position(b, ids[i]);
    const uint32_t notes = (op_reduces((Op) v->op) ? EXPAND_FLAGS : 0) |
                           (access_is_part(v) ? ACCESS_PART : 0);
    uint32_t aux = v->aux & ~notes, position;
    if (v->op == OP_STMT) {
        aux = number_stmt(b, v);
        position =
            aux == PROGRAM_NONE
                ? aux
                : program_add(b->program, OP_STMT, (VarType) v->type, aux, count, args);
    } else if (v->op == OP_CHECK) {
        position = emit_check(b, id, v, args);
    } else if (v->op == OP_PRINT) {
        aux = number_print(b, id);
        position = aux == PROGRAM_NONE
                       ? aux
                       : program_add(b->program, OP_PRINT, VarTypeVoid, aux, count,
                                     args);
    } else {
        position =
            program_add(b->program, (Op) v->op, (VarType) v->type, aux, count, args);
    }
    if (args != fixed)
        alloc_free(args);
    return position;
}

static uint32_t emit(Assembly *b, VarId id, const Var *v)
{
    if (b->call_count && assemble_call_captures(b, id))
        return assemble_call_input(b, id);
    switch (v->op) {
        case OP_LITERAL:
            return emit_literal(b, (VarType) v->type, v->value.literal, id);
        case OP_EVALUATED: return emit_load(b, id, v);
        case OP_POINTER: return emit_pointer(b, v);
        case OP_STATE:
        case OP_ACTIVE:
        case OP_RESULT: return assemble_region_placeholder(b, id);
        case OP_LOCAL:
        case OP_LOCAL_READ:
        case OP_LOCAL_WRITE: return local_plan_emit(b, id);
        case OP_REDUCE:
        case OP_DOT:
        case OP_COMPRESS:
        case OP_PREFIX: return refuse_fused(id);
        default: break;
    }
    bool due = v->flags & VAR_RUNNING || b->bodies || b->preview;
    if (v->flags & VAR_CONSUMED || (region_is_atomic(v) && !due)) {
        char name[200];
        extra_describe(id, name, sizeof(name));
        error_set(
            JIT_ERROR_STATE,
            "jit_eval(): the computation uses the result of an "
            "atomic operation (%s) that ran in another kernel; evaluate both together "
            "(drjit.eval())",
            name);
        return PROGRAM_NONE;
    }
    if (region_is_atomic(v) && v->flags & VAR_RUNNING) {
        TRY(vec_reserve(&b->consumed, &b->consumed_capacity, b->consumed_count + 1,
                        sizeof(VarId)), PROGRAM_NONE);
        b->consumed[b->consumed_count++] = id;
    }
    return emit_operation(b, id, v);
}

/* -------------------------------------------------------------------- walk */

static inline bool is_leaf(const Var *v)
{
    return v->op == OP_LITERAL || v->op == OP_EVALUATED || v->op == OP_POINTER;
}

/* Arithmetic, what nearly all nodes are: all operands are emitted, at most three. The
 * instruction is written in whole words. Nothing creates variables here, so all of them
 * have a place among the marks. */
static inline bool emit_arithmetic(Program *program, Mark *of, uint32_t stamp,
                                   VarId id, const Var *v, uint32_t count)
{
    if (program->inst_count == program->inst_capacity)
        TRY(vec_reserve(&program->insts, &program->inst_capacity,
                        program->inst_count + 1, sizeof(Inst)),
            false);
    uint64_t a = of[v->dep[0]].value;
    uint64_t b = count > 1 ? of[v->dep[1]].value : a;
    uint64_t c = count > 2 ? of[v->dep[2]].value : a;
    const Inst *insts = program->insts;
    uint64_t flags = insts[a].flags & insts[b].flags & insts[c].flags;
    uint64_t head = v->op | (uint64_t) v->type << 8 | flags << 13 |
                    (uint64_t) count << 16;
    uint64_t args = count > 1 ? a | b << 32 : a;
    uint32_t last = count > 2 ? (uint32_t) c : 0;
    char *inst = (char *) &program->insts[program->inst_count];
    memcpy(inst, &head, 8);
    memcpy(inst + 8, &args, 8);
    memcpy(inst + 16, &last, 4);
    of[id] = (Mark) { stamp, program->inst_count++ };
    return true;
}

bool assemble_place(Assembly *b, VarId id, uint32_t position)
{
    TRY(position != PROGRAM_NONE, false);
    marks_set(b->places, id, position);
    return !b->bodies || assemble_region_note(b, id);
}

static bool emit_other(Assembly *b, VarId id, const Var *v)
{
    return assemble_place(b, id, emit(b, id, v));
}

bool assemble_leaf(Assembly *b, VarId id)
{
    return marks_has(b->places, id) || emit_other(b, id, var_get(id));
}

static bool push(Assembly *b, uint32_t depth, VarId id)
{
    if (depth >= b->stack_capacity) {
        /* No variable waits for itself. If the plan for local arrays were to break this
         * rule, the walk would not end. */
        if (depth > var_table.end)
            return error_set(JIT_ERROR_STATE, "jit_eval(): internal error: accesses to "
                             "local arrays wait for each other");
        TRY(vec_reserve(&b->stack, &b->stack_capacity, depth + 1, sizeof(Visit)),
            false);
    }
    b->stack[depth] = (Visit) { id, 0 };
    return true;
}

/* Visit operands from number '*next' on and emit leaves on the way. The first one that
 * is neither emitted nor a leaf ends the search and is found. */
static inline bool find_operand(Assembly *b, const Mark *of, uint32_t stamp,
                                const VarId *ids, uint32_t count, uint32_t *next,
                                VarId *found)
{
    for (*found = 0; *next < count && ids[*next]; ++*next) {
        VarId id = ids[*next];
        if (of[id].stamp == stamp)
            continue;
        const Var *operand = var_get(id);
        if (!is_leaf(operand)) {
            *found = ids[(*next)++];
            return true;
        }
        TRY(emit_other(b, id, operand), false);
    }
    return true;
}

/* Instructions that are added next come from the line on which this was traced. */
static void set_source(Assembly *b, const Var *v)
{
    const Extra *extra = v->extra ? extra_find(v) : NULL;
    b->program->source =
        extra ? (SourceLine){ extra->file, extra->line } : (SourceLine){ NULL, 0 };
}

static bool walk(Assembly *b, VarId root)
{
    if (marks_has(b->places, root))
        return true;
    uint32_t depth = 0;
    TRY(push(b, depth++, root), false);
    while (depth) {
        Visit *top = &b->stack[depth - 1];
        const Var *v = var_get(top->id);
        VarId operand = 0;
        Mark *of = b->places->of; /* callables have their own */
        uint32_t stamp = b->places->stamp;
        if (b->call_count && assemble_call_captures(b, top->id)) {
            TRY(assemble_leaf(b, top->id), false);
            depth--;
            continue;
        }
        if (v->op == OP_REGION) {
            TRY(assemble_region_step(b, top->id, &top->next, &operand), false);
            if (operand)
                TRY(push(b, depth++, operand), false);
            else
                depth--;
            continue;
        }
        uint32_t count = 4, next = top->next;
        const VarId *ids = v->dep; /* unused ones are 0 */
        if (v->flags & VAR_WIDE)
            ids = var_operands(v, &count);
        if (v->op != OP_POINTER) /* the array behind it is in memory */
            TRY(find_operand(b, of, stamp, ids, count, &next, &operand), false);
        if (v->op == OP_LOCAL_WRITE && !operand)
            TRY(local_plan_before(b, top->id, &operand), false);
        if (operand) {
            top->next = next;
            TRY(push(b, depth++, operand), false);
            continue;
        }
        bool arithmetic = op_info[v->op].flags & F_FOLDS;
        if (b->sources)
            set_source(b, v);
        TRY(arithmetic && !b->sources
                ? emit_arithmetic(b->program, of, stamp, top->id, v, next)
                : emit_other(b, top->id, v),
            false);
        if (arithmetic && b->bodies)
            TRY(assemble_region_note(b, top->id), false);
        depth--;
    }
    b->program->source = (SourceLine){ NULL, 0 };
    return true;
}

/* Have the launch give a variable its contents. */
static bool add_output(Assembly *b, VarId id, uint32_t param)
{
    uint32_t n = b->output_count;
    TRY(vec_reserve(&b->outputs, &b->output_capacity, n + 1, sizeof(VarId)), false);
    TRY(vec_reserve(&b->output_params, &b->output_param_capacity, n + 1,
                    sizeof(uint32_t)),
        false);
    b->outputs[n] = id;
    b->output_params[n] = param;
    b->output_count++;
    return true;
}

static bool emit_store(Assembly *b, VarId id, uint32_t param)
{
    uint32_t position = assemble_position(b, id);
    return program_add(b->program, OP_STORE, VarTypeVoid, param, 1, &position) !=
           PROGRAM_NONE;
}

static bool store(Assembly *b, VarId root)
{
    const Var *v = var_get(root);
    uint32_t param = program_add_param(b->program, PARAM_OUTPUT, (VarType) v->type);
    TRY(add_arg(b, param, 0) && add_output(b, root, param), false);
    if (v->op == OP_RESULT)
        assemble_region_flags(b, v->dep[0])[v->aux] |= NEEDED_STORED;
    return emit_store(b, root, param);
}

/* ------------------------------------------------------------- reductions */

/* How often the group's reductions read a variable, and references to spare. */
static uint32_t count_reads(const Group *group, VarId id)
{
    uint32_t reads = 0;
    for (uint32_t i = 0; i < group->root_count - group->effect_count; ++i) {
        const Var *v = var_get(group->roots[i]);
        if (pending_is(v))
            reads += (v->dep[0] == id ? 1 + pending_spare(v) : 0) + (v->dep[1] == id);
    }
    return reads;
}

/* Does anybody need it who is not served by this launch? */
static bool find_need(Assembly *b, const Group *group, VarId id, bool *needed)
{
    *needed = false;
    if (var_get(id)->refs == count_reads(group, id))
        return true;
    if (!b->spent)
        b->spent = spent_count(group);
    TRY(b->spent, false);
    *needed = !spent_is(b->spent, id);
    return true;
}

static uint32_t find_output(const Assembly *b, VarId id)
{
    uint32_t i = 0;
    while (i < b->output_count && b->outputs[i] != id)
        ++i;
    return i;
}

/* The tile that has a value for a reduction, or where it is to come. */
static uint32_t find_tile(const Assembly *b, VarId id, uint32_t reduced, VarType type)
{
    const Param *params = b->program->params;
    uint32_t i = 0;
    while (i < b->tile_count &&
           (b->fused_values[i] != id ||
            !reduce_rule_shares(params[b->fused_params[i]].reduced, reduced, type)))
        ++i;
    return i;
}

/* A value that is written nowhere. */
static bool add_tile(Assembly *b, VarId id, uint32_t reduced, uint32_t *source)
{
    VarType type = (VarType) var_get(id)->type;
    uint32_t i = find_tile(b, id, reduced, type);
    if (i == b->tile_count) {
        uint32_t param = program_add_param(b->program, PARAM_OUTPUT, type);
        TRY(add_arg(b, param, 0), false);
        b->program->params[param].reduced = (uint8_t) reduced;
        TRY(emit_store(b, id, param), false);
        b->fused_values[i] = id;
        b->fused_params[i] = param;
        b->tile_count++;
    }
    *source = FUSED_TILE | b->fused_params[i];
    return true;
}

/* An operand of a reduction is an array, or an output if somebody else is going to want
 * to have it. */
static bool add_source(Assembly *b, const Group *group, VarId id, uint32_t reduced,
                       uint32_t *source)
{
    const Var *v = var_get(id);
    if (v->op == OP_EVALUATED) {
        *source = b->operand_count;
        b->input_count++;
        return add_array(b, id) &&
               add_use(b, v->value.buffer, SLOT_NO_WORD, SLOT_READ);
    }
    TRY(walk(b, id), false);
    uint32_t output = find_output(b, id);
    bool needed = true;
    if (output == b->output_count)
        TRY(find_need(b, group, id, &needed), false);
    if (!needed)
        return add_tile(b, id, reduced, source);
    if (output == b->output_count)
        TRY(store(b, id), false);
    *source = ASSEMBLE_OUTPUT | output;
    return true;
}

static bool add_fused(Assembly *b, const Group *group, VarId id)
{
    FusedReduction *reduction = &b->fused[b->fused_count++];
    *reduction = pending_work(var_get(id));
    const uint32_t reduced = fused_param(reduction);
    for (uint32_t k = 0; k < 2 && reduction->source[k] != FUSED_NONE; ++k)
        TRY(add_source(b, group, reduction->source[k], reduced, &reduction->source[k]),
            false);
    reduction->target = b->output_count;
    return add_output(b, id, SLOT_NO_WORD);
}

/* -------------------------------------------------------------------- roots */

static void mark_effects(const Group *group, bool running)
{
    for (uint32_t i = group->root_count - group->effect_count; i < group->root_count;
         ++i) {
        Var *v = var_get(group->roots[i]);
        v->flags =
            (uint8_t) (running ? v->flags | VAR_RUNNING : v->flags & ~VAR_RUNNING);
    }
}

/* A region with effects has run: the results that somebody holds and that are not
 * among the values of the group are stored, too. */
static bool store_results(Assembly *b, VarId root)
{
    const Var *v = var_get(root);
    if (v->op != OP_REGION)
        return true;
    const TraceRegion *region = v->region;
    for (uint32_t k = 0; k < region->count; ++k)
        if (region->results[k] &&
            !(assemble_region_flags(b, root)[k] & NEEDED_STORED) &&
            !(var_get(region->results[k])->flags & VAR_LOCAL))
            TRY(walk(b, region->results[k]) && store(b, region->results[k]),
                false);
    return true;
}

/* Also one that another thread has performed meanwhile: values have an entry a lane. */
static bool is_reduction(const Group *group, VarId id)
{
    const Var *v = var_get(id);
    return pending_is(v) || (v->op == OP_EVALUATED && var_lanes(v) != group->size);
}

static bool assemble_roots(Assembly *b, const Group *group)
{
    TRY(assemble_region_mark(b, group), false);
    b->places = marks_take();
    TRY(b->places, false);
    b->bodies = b->open_count = b->inside_count = 0;
    b->local_bytes = 0;
    local_plan_reset(&b->locals, group->roots, group->root_count);
    uint32_t values = group->root_count - group->effect_count;
    for (uint32_t i = 0; i < values; ++i)
        if (!is_reduction(group, group->roots[i]))
            TRY(walk(b, group->roots[i]) && store(b, group->roots[i]), false);
    for (uint32_t i = 0; i < values; ++i)
        if (pending_is(var_get(group->roots[i])))
            TRY(add_fused(b, group, group->roots[i]), false);
    for (uint32_t i = values; i < group->root_count; ++i)
        TRY(walk(b, group->roots[i]) && store_results(b, group->roots[i]), false);
    return true;
}

static void drop_marks(Assembly *b)
{
    marks_return(b->places);
    marks_return(b->needed);
    marks_return(b->spent);
    b->places = b->needed = b->spent = NULL;
}

bool assemble_group(Assembly *b, Program *program, const Group *group)
{
    program_clear(program);
    b->program = b->root = program;
    b->size = group->size;
    b->operand_count = b->output_count = b->consumed_count = 0;
    b->input_count = b->array_count = b->workers = b->fused_count = b->tile_count = 0;
    mark_effects(group, true);
    bool ok = assemble_roots(b, group);
    mark_effects(group, false);
    assemble_call_reset(b);
    drop_marks(b);
    if (ok && program->print_count) {
        uint32_t param = program_add_param(program, PARAM_PRINT, VarTypeVoid);
        ok = add_arg(b, param, 0); /* the launch fills it in */
    }
    if (ok && program->check_count)
        ok = program_add_param(program, PARAM_REPORT, VarTypeVoid) != PROGRAM_NONE;
    return ok;
}

bool assemble_preview(Assembly *b, Program *program, VarId id)
{
    Group group = { .size = var_lanes_of(id), .roots = &id, .root_count = 1 };
    b->preview = true;
    bool ok = assemble_group(b, program, &group);
    b->preview = false;
    return ok;
}

void assemble_retain(const Assembly *b)
{
    for (uint32_t i = 0; i < b->array_count; ++i)
        var_inc(b->arrays[i]);
    for (uint32_t i = 0; i < b->program->literal_count; ++i)
        if (b->literal_vars[i])
            var_inc(b->literal_vars[i]);
    for (uint32_t i = 0; i < b->program->check_count; ++i)
        var_inc(b->check_vars[i]);
    for (uint32_t i = 0; i < b->program->print_count; ++i)
        var_inc(b->print_vars[i]);
    for (uint32_t i = 0; i < b->output_count; ++i) /* results are not in the group */
        var_inc(b->outputs[i]);
}

void assemble_drop(const Assembly *b)
{
    for (uint32_t i = 0; i < b->array_count; ++i)
        var_dec(b->arrays[i]);
    for (uint32_t i = 0; i < b->program->literal_count; ++i)
        if (b->literal_vars[i])
            var_dec(b->literal_vars[i]);
    for (uint32_t i = 0; i < b->program->check_count; ++i)
        var_dec(b->check_vars[i]);
    for (uint32_t i = 0; i < b->program->print_count; ++i)
        var_dec(b->print_vars[i]);
    for (uint32_t i = 0; i < b->output_count; ++i)
        var_dec(b->outputs[i]);
}

void assemble_free(Assembly *b)
{
    alloc_free(b->arrays);
    alloc_free(b->args);
    alloc_free(b->operands);
    alloc_free(b->outputs);
    alloc_free(b->output_params);
    alloc_free(b->literal_vars);
    alloc_free(b->check_bounds);
    alloc_free(b->check_vars);
    alloc_free(b->print_vars);
    alloc_free(b->consumed);
    alloc_free(b->stack);
    alloc_free(b->regions);
    alloc_free(b->flags);
    alloc_free(b->open);
    alloc_free(b->inside);
    alloc_free(b->words);
    assemble_call_free(b);
    local_plan_free(&b->locals);
    memset(b, 0, sizeof(*b));
}
