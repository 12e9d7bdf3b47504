/*
 * interp.c -- the block interpreter
 *
 * compile: each instruction becomes one Step with a function that knows op and types. Values
 * live in slots of a frame; a backward scan over last uses lets slots be used again, so the
 * frame grows with the number of live values, not with the length of the Program. A result
 * never shares a slot with its operands.
 *
 *     prologue  literals and uniform inputs: run once a launch call, slots kept to the end
 *               (a Program with very many of them makes them at their place instead)
 *     body      everything else, run for each block of 'lanes' lanes
 *
 * The frame is scratch memory of the worker; offsets in Steps are final.
 */
#include "engine/interp/interp.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/vec.h"
#include "engine/interp/interp_lanes.h"

enum {
    REVISION = 1,            /* part of the fingerprint */
    BLOCK_LANES = 512,       /* lanes of a block, fewer if the frame would be too big */
    FRAME_BYTES = 256 << 10, /* ... that is, if it would not stay in the L2 cache */
    PROLOGUE_LIMIT = 192,    /* prologue slots are kept all the time */
    SLOT_CLASSES = 10        /* bytes a lane of a slot: 1, 2, 4, ..., 512 (packets) */
};

struct EngineCode {
    Step *steps;
    uint32_t *lists;
    uint32_t prologue, count; /* steps[0 ... prologue-1] run once */
    uint32_t lanes;
    size_t frame_bytes;
};

/* ------------------------------------------------------------- variant choice */

static const InterpLanes *lanes;
static const char *isa_name;

#if defined(__x86_64__)
static bool cpu_has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("lzcnt");
}

static bool cpu_has_avx512(void) {
    return cpu_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw");
}
#endif

static bool always(void) { return true; }

typedef struct Variant {
    const char *name;
    const InterpLanes *lanes;
    bool (*usable)(void);
} Variant;

static const Variant variants[] = {
#if defined(__x86_64__)
    { "avx512", &interp_lanes_avx512, cpu_has_avx512 },
    { "avx2", &interp_lanes_avx2, cpu_has_avx2 },
#endif
    { "baseline", &interp_lanes_baseline, always }
};

/* The best variant, or the one that DRJIT_INTERP_ISA names if the CPU has it. */
static const Variant *choose_variant(void) {
    const char *wanted = getenv("DRJIT_INTERP_ISA");
    const Variant *best = NULL;
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; ++i) {
        const Variant *v = &variants[i];
        if (!v->usable())
            continue;
        if (!best)
            best = v;
        if (wanted && strcmp(wanted, v->name) == 0)
            return v;
    }
    if (wanted)
        log_write(LogLevelWarn, "interp: DRJIT_INTERP_ISA=%s is not available here, using %s",
                  wanted, best->name);
    return best;
}

/* Threads that come at the same time choose the same. */
static void initialise(void) {
    if (__atomic_load_n(&lanes, __ATOMIC_ACQUIRE))
        return;
    const Variant *v = choose_variant();
    __atomic_store_n(&isa_name, v->name, __ATOMIC_RELAXED);
    __atomic_store_n(&lanes, v->lanes, __ATOMIC_RELEASE);
}

static bool available(void) {
    initialise();
    return true;
}

static uint64_t fingerprint(void) {
    initialise();
    /* All variants give the same bits and no code is stored: the revision is enough. */
    return REVISION;
}

/* ------------------------------------------------------- functions for operations */

static uint32_t size_class(VarType type) {
    return (uint32_t) __builtin_ctz(type_info[type].size);
}

/* The function of an arithmetic instruction or conversion, NULL if there is none. */
static LaneFn arith_fn(const InterpLanes *table, Op op, VarType type, VarType operand) {
    if (op == OP_SELECT)
        return table->select[size_class(type)];
    if (op == OP_CAST)
        return table->cast[operand][type];
    if (op == OP_BITCAST)
        return type_info[type].size == type_info[operand].size
                   ? table->copy[size_class(type)] : NULL;
    return table->arith[op][operand];
}

static bool supports(Op op, VarType type, VarType operand) {
    initialise();
    if (op_info[op].flags & F_TRACE || op == OP_NONE || op == OP_STMT)
        return false;
    if ((op >= OP_NEG && op <= OP_SELECT) || op == OP_CAST || op == OP_BITCAST)
        return arith_fn(lanes, op, type, operand) != NULL;
    return true;
}

/* ------------------------------------------------------------------- slots */

/* Offsets are in bytes a lane until the number of lanes is known. */
typedef struct Slots {
    uint32_t *free[SLOT_CLASSES];
    uint32_t free_count[SLOT_CLASSES], free_capacity[SLOT_CLASSES];
    uint32_t end;
} Slots;

static bool slot_take(Slots *s, uint32_t class, uint32_t *offset) {
    if (s->free_count[class]) {
        *offset = s->free[class][--s->free_count[class]];
        return true;
    }
    /* Every slot that was ever handed out can come back without further memory. */
    *offset = s->end;
    if (s->end > UINT32_MAX / BLOCK_LANES - (1u << class))
        return error_set(JIT_ERROR_MEMORY, "interp: the kernel has too many live values");
    s->end += 1u << class;
    return true;
}

static bool slot_return(Slots *s, uint32_t class, uint32_t offset) {
    TRY(vec_reserve(&s->free[class], &s->free_capacity[class], s->free_count[class] + 1,
                    sizeof(uint32_t)), false);
    s->free[class][s->free_count[class]++] = offset;
    return true;
}

/* ----------------------------------------------------------------- compile */

typedef struct Compile {
    const Program *program;
    EngineCode *code;
    Slots slots;
    uint32_t *last_use;  /* of each instruction: position of its last user, UINT32_MAX: keep */
    uint32_t *offset;    /* of each instruction's slot */
    uint32_t list_count, list_capacity;
    bool use_prologue;
} Compile;

/* Entries of the slot of an instruction: n for packets. */
static uint32_t slot_class(const Inst *inst) {
    uint32_t class = size_class((VarType) inst->type);
    return inst->op == OP_GATHER_PACKET ? class + (uint32_t) __builtin_ctz(inst->aux) : class;
}

static bool in_prologue(const Compile *c, const Inst *inst) {
    return c->use_prologue &&
           (inst->op == OP_LITERAL || inst->op == OP_PARAM ||
            (inst->op == OP_LOAD && inst->flags & INST_UNIFORM));
}

/* Operands beyond three go into a list; pointers, indices and masks as they are. */
static bool set_list(Compile *c, Step *step, const uint32_t *args, uint32_t count) {
    TRY(vec_reserve(&c->code->lists, &c->list_capacity, c->list_count + count,
                    sizeof(uint32_t)), false);
    step->slot = c->list_count;
    for (uint32_t i = 0; i < count; ++i)
        c->code->lists[c->list_count++] = c->offset[args[i]];
    return true;
}

static bool fill_scatter(Compile *c, const Inst *inst, const uint32_t *args, Step *step) {
    bool packet = inst->op == OP_SCATTER_PACKET;
    uint32_t op = inst->aux & 0xff, mode = inst->aux >> 8;
    bool plain = mode == ReduceModeNoConflicts || mode == ReduceModePermute ||
                 mode == ReduceModeExpand;
    VarType type = (VarType) c->program->insts[args[packet ? 3 : 1]].type;
    step->fn = (packet ? lanes->scatter_packet : lanes->scatter)[op][type][plain];
    step->aux = packet ? inst->count - 3u : 1;
    return set_list(c, step, args, inst->count);
}

/* Choose the function and fill in what is particular to the operation. */
static bool fill_step(Compile *c, const Inst *inst, const uint32_t *args, Step *step) {
    VarType type = (VarType) inst->type;
    uint32_t size = type == VarTypeVoid ? 0 : size_class(type);
    uint32_t *operand[] = { &step->a, &step->b, &step->c };
    for (uint32_t i = 0; i < inst->count && i < 3; ++i)
        *operand[i] = c->offset[args[i]];
    step->slot = inst->aux;
    switch (inst->op) {
        case OP_LITERAL: {
            uint64_t bits = c->program->literals[inst->aux];
            step->fn = lanes->fill[size];
            step->slot = (uint32_t) bits;
            step->aux = (uint32_t) (bits >> 32);
            break;
        }
        case OP_UNDEFINED:
            step->fn = lanes->fill[size];
            step->slot = step->aux = 0;
            break;
        case OP_COUNTER: step->fn = lanes->counter; break;
        case OP_WORKER: step->fn = lanes->worker; break;
        case OP_PARAM: step->fn = lanes->param[size]; break;
        case OP_LOAD:
            step->fn = (inst->flags & INST_UNIFORM ? lanes->load_uniform : lanes->load)[size];
            break;
        case OP_STORE:
            step->fn = lanes->store[size_class((VarType) c->program->insts[args[0]].type)];
            break;
        case OP_GATHER: step->fn = lanes->gather[size]; break;
        case OP_GATHER_PACKET:
            step->fn = lanes->gather_packet[size];
            step->slot = 1u << size;
            step->aux = inst->aux;
            break;
        case OP_PACKET_ITEM:
            step->fn = lanes->copy[size];
            step->a += inst->aux << size;
            break;
        case OP_SCATTER: case OP_SCATTER_PACKET: return fill_scatter(c, inst, args, step);
        case OP_SCATTER_INC: step->fn = lanes->scatter_inc; break;
        case OP_SCATTER_EXCH:
            step->fn = lanes->scatter_exch[size];
            return set_list(c, step, args, inst->count);
        case OP_SCATTER_CAS:
            step->fn = lanes->scatter_cas[size];
            return set_list(c, step, args, inst->count);
        case OP_CHECK:
            step->fn = lanes->check;
            step->slot = c->program->param_count - 1;
            step->aux = inst->aux;
            break;
        default: {
            uint32_t first = inst->op == OP_SELECT ? 1 : 0;
            VarType from = (VarType) c->program->insts[args[first]].type;
            step->fn = arith_fn(lanes, (Op) inst->op, type, from);
            break;
        }
    }
    return true;
}

/* The last user of each value; packets live as long as their items. */
static void find_last_uses(Compile *c) {
    const Program *p = c->program;
    for (uint32_t at = 0; at < p->inst_count; ++at)
        c->last_use[at] = at;
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        const uint32_t *args = program_args(p, inst);
        for (uint32_t i = 0; i < inst->count; ++i)
            c->last_use[args[i]] = at;
    }
    for (uint32_t at = 0; at < p->inst_count; ++at)
        if (in_prologue(c, &p->insts[at]))
            c->last_use[at] = UINT32_MAX;
}

static bool release_slots(Compile *c, const Inst *inst, uint32_t at) {
    const uint32_t *args = program_args(c->program, inst);
    for (uint32_t i = 0; i < inst->count; ++i) {
        if (c->last_use[args[i]] != at)
            continue;
        c->last_use[args[i]] = UINT32_MAX; /* an operand may be named twice */
        const Inst *operand = &c->program->insts[args[i]];
        TRY(slot_return(&c->slots, slot_class(operand), c->offset[args[i]]), false);
    }
    if (c->last_use[at] == at && inst->type != VarTypeVoid) /* nobody uses the result */
        TRY(slot_return(&c->slots, slot_class(inst), c->offset[at]), false);
    return true;
}

static bool emit_inst(Compile *c, uint32_t at) {
    const Inst *inst = &c->program->insts[at];
    Step *step = &c->code->steps[c->code->count];
    memset(step, 0, sizeof(*step));
    if (inst->type != VarTypeVoid) {
        TRY(slot_take(&c->slots, slot_class(inst), &c->offset[at]), false);
        step->dst = c->offset[at];
    }
    TRY(fill_step(c, inst, program_args(c->program, inst), step), false);
    if (!step->fn)
        return error_set(JIT_ERROR_UNSUPPORTED, "interp: no operation %s for type %s",
                         op_info[inst->op].name, type_info[inst->type].name);
    c->code->count++;
    return release_slots(c, inst, at);
}

/* Now that the size of the frame is known, turn bytes a lane into bytes. */
static void scale_offsets(Compile *c) {
    EngineCode *code = c->code;
    uint32_t n = BLOCK_LANES;
    while (n > 64 && (size_t) c->slots.end * n > FRAME_BYTES)
        n /= 2;
    code->lanes = n;
    code->frame_bytes = ((size_t) c->slots.end * n + 63) / 64 * 64;
    for (uint32_t i = 0; i < code->count; ++i) {
        Step *s = &code->steps[i];
        s->dst *= n;
        s->a *= n;
        s->b *= n;
        s->c *= n;
        for (uint32_t k = 0; k < INTERP_SIZES; ++k)
            if (s->fn == lanes->gather_packet[k])
                s->slot *= n;
    }
    for (uint32_t i = 0; i < c->list_count; ++i)
        code->lists[i] *= n;
}

static bool emit_all(Compile *c) {
    const Program *p = c->program;
    uint32_t uniform = 0;
    for (uint32_t at = 0; at < p->inst_count; ++at)
        uniform += p->insts[at].op == OP_LITERAL || p->insts[at].op == OP_PARAM;
    c->use_prologue = uniform <= PROLOGUE_LIMIT;
    find_last_uses(c);
    for (int body = 0; body < 2; ++body) {
        for (uint32_t at = 0; at < p->inst_count; ++at)
            if (in_prologue(c, &p->insts[at]) == !body)
                TRY(emit_inst(c, at), false);
        if (!body)
            c->code->prologue = c->code->count;
    }
    scale_offsets(c);
    return true;
}

static void free_code(EngineCode *code) {
    if (!code)
        return;
    alloc_free(code->steps);
    alloc_free(code->lists);
    alloc_free(code);
}

static EngineCode *compile(const Program *program, Hash128 hash) {
    (void) hash;
    initialise();
    uint32_t n = program->inst_count;
    Compile c = { .program = program, .code = alloc_zero(1, sizeof(EngineCode)) };
    c.last_use = alloc_get(n * sizeof(uint32_t));
    c.offset = alloc_get(n * sizeof(uint32_t));
    if (c.code)
        c.code->steps = alloc_get(n * sizeof(Step));
    bool ok = c.code && c.last_use && c.offset && c.code->steps && emit_all(&c);
    alloc_free(c.last_use);
    alloc_free(c.offset);
    for (uint32_t i = 0; i < SLOT_CLASSES; ++i)
        alloc_free(c.slots.free[i]);
    if (ok)
        return c.code;
    free_code(c.code);
    return NULL;
}

/* ------------------------------------------------------------------ launch */

static void set_block(Frame *f, uint32_t begin, uint32_t count) {
    f->begin = begin;
    f->count = count;
    f->rounded = (count + INTERP_ROUND - 1) / INTERP_ROUND * INTERP_ROUND;
}

static void run_steps(const Step *step, const Step *end, const Frame *frame) {
    for (; step < end; ++step)
        step->fn(step, frame);
}

static void launch(const EngineCode *code, const uint64_t *args, uint32_t begin, uint32_t end,
                   uint32_t worker, void *scratch) {
    Frame f = { .base = scratch, .args = args, .lists = code->lists, .worker = worker };
    const Step *body = code->steps + code->prologue, *last = code->steps + code->count;
    uint32_t size = end - begin;
    set_block(&f, begin, size < code->lanes ? size : code->lanes);
    run_steps(code->steps, body, &f);
    while (begin < end) {
        uint32_t left = end - begin;
        set_block(&f, begin, left < code->lanes ? left : code->lanes);
        run_steps(body, last, &f);
        begin += f.count;
    }
}

static size_t scratch_bytes(const EngineCode *code) { return code->frame_bytes; }

static size_t code_size(const EngineCode *code) { return code->count * sizeof(Step); }

/* Measured: about 12 ns an instruction. */
static uint64_t compile_estimate(const Program *program) {
    return 1000 + 12 * (uint64_t) program->inst_count;
}

const Engine interp_engine = {
    .name = "interp", .available = available, .fingerprint = fingerprint,
    .supports = supports, .compile = compile, .launch = launch, .scratch = scratch_bytes,
    .free = free_code, .code_size = code_size, .compile_estimate = compile_estimate
};

/* ----------------------------------------------------------------- folding */

bool interp_fold(Op op, VarType type, VarType operand, const uint64_t *args,
                 uint64_t *result) {
    LaneFn fn = arith_fn(&interp_lanes_baseline, op, type, operand);
    if (!fn)
        return false;
    enum { SLOT = INTERP_ROUND * 8 };
    _Alignas(64) char frame[4 * SLOT];
    uint32_t arity = op_info[op].arity;
    for (uint32_t i = 0; i < arity; ++i) {
        uint32_t size = op == OP_SELECT && i == 0 ? 1 : type_info[operand].size;
        for (uint32_t lane = 0; lane < INTERP_ROUND; ++lane)
            memcpy(frame + (i + 1) * SLOT + lane * size, &args[i], size);
    }
    Step step = { .fn = fn, .dst = 0, .a = SLOT, .b = 2 * SLOT, .c = 3 * SLOT };
    Frame f = { .base = frame, .count = 1, .rounded = INTERP_ROUND };
    fn(&step, &f);
    *result = 0;
    memcpy(result, frame, type_info[type].size);
    return true;
}
