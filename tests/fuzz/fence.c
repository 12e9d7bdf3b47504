/*
 * fence.c -- see fence.h
 *
 * A copy of the Program is made, instruction by instruction, with new positions:
 *
 *     %5 gather %1, %2, %3           %5 param @4            how many entries there are
 *                                    %6 lt %2, %5
 *                                    %7 and %3, %6
 *                                    %8 gather %1, %2, %7
 *
 * The parameters that are new stand after the others, but before that of reports,
 * which is the last one. A launch sets them from the addresses that it gets.
 */
#include "fence.h"

#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/vec.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/interp/interp.h"

enum {
    FENCES = 256,         /* accesses by index, in one Program */
    FARTHEST = 1 << 16,   /* bytes after an address that are looked at */
    PATIENCE_MS = 50
};

/** An access by index. */
typedef struct Fence {
    uint32_t slot;    /* of its array */
    uint32_t bytes;   /* of what one index stands for */
    uint32_t more;    /* such things that follow the first one */
    bool needed;      /* it cannot be masked */
} Fence;

/** What a copy is made with. */
typedef struct Mason {
    const Program *from, *root;
    Program *to, *to_root;
    Fence *fences;
    uint32_t *count;
    uint32_t first; /* slot of the first fence */
    uint32_t *place; /* of each instruction in the copy */
} Mason;

/* ---- the copy */

static uint32_t put(const Mason *m, Inst inst, const uint32_t *args)
{
    Program *p = m->to;
    if (!vec_reserve(&p->insts, &p->inst_capacity, p->inst_count + 1, sizeof(Inst)))
        abort();
    memset(inst.arg, 0, sizeof inst.arg);
    if (inst.count <= INST_ARGS) {
        memcpy(inst.arg, args, inst.count * sizeof(uint32_t));
    } else {
        if (!vec_reserve(&p->extra, &p->extra_capacity, p->extra_count + inst.count,
                         sizeof(uint32_t)))
            abort();
        memcpy(p->extra + p->extra_count, args, inst.count * sizeof(uint32_t));
        inst.arg[0] = p->extra_count;
        p->extra_count += inst.count;
    }
    p->insts[p->inst_count] = inst;
    return p->inst_count++;
}

static uint32_t put_two(const Mason *m, Op op, VarType type, uint8_t flags, uint32_t a,
                        uint32_t b)
{
    return put(m, (Inst){ .op = (uint8_t) op, .type = type & 31, .flags = flags & 7,
                          .count = 2 }, (uint32_t[]){ a, b });
}

/* Which operand has this role; OP_NO_OPERAND: none. */
static uint32_t find_role(const Inst *inst, Role role)
{
    for (uint32_t k = 0; k < inst->count; ++k)
        if (op_role((Op) inst->op, k) == role)
            return k;
    return OP_NO_OPERAND;
}

static Fence describe(const Mason *m, const Inst *inst)
{
    const uint32_t *args = program_args(m->from, inst);
    const Inst *pointer = &m->from->insts[args[0]];
    const bool matrix = inst->op == OP_MATVEC || inst->op == OP_OUTER;
    uint32_t entries = inst->op == OP_GATHER_PACKET    ? inst->aux
                       : inst->op == OP_SCATTER_PACKET ? inst->count - 3u
                                                       : 1;
    VarType type = program_operation_type(m->from, inst);
    return (Fence){ .slot = pointer->aux, .bytes = entries * type_info[type].size,
                    .more = matrix ? program_matrix_size(inst) - 1 : 0,
                    .needed = find_role(inst, ROLE_MASK) == OP_NO_OPERAND };
}

/* Add the condition of an access to its operands, which are those of the copy. */
static bool add_fence(const Mason *m, const Inst *inst, uint32_t *args)
{
    const uint32_t at = find_role(inst, ROLE_INDEX);
    const uint32_t mask = find_role(inst, ROLE_MASK);
    if (*m->count == FENCES)
        return false;
    uint32_t index = args[at], slot = m->first + *m->count;
    m->fences[(*m->count)++] = describe(m, inst);
    if (m->to->insts[index].type == VarTypeInt32)
        index = put(m, (Inst){ .op = OP_BITCAST, .type = VarTypeUInt32, .count = 1,
                               .flags = m->to->insts[index].flags }, &index);
    uint32_t limit = put(m, (Inst){ .op = OP_PARAM, .type = VarTypeUInt32, .aux = slot,
                                    .flags = INST_UNIFORM }, &index);
    const uint8_t both = m->to->insts[index].flags & INST_UNIFORM;
    uint32_t within = put_two(m, OP_LT, VarTypeBool, both, index, limit);
    if (mask != OP_NO_OPERAND) {
        const uint8_t all = both & m->to->insts[args[mask]].flags;
        args[mask] = put_two(m, OP_AND, VarTypeBool, all, args[mask], within);
        return true;
    }
    /* Entry 0, since something has to be read. */
    uint32_t none = put_two(m, OP_XOR, VarTypeUInt32, both, index, index);
    args[at] = put(m, (Inst){ .op = OP_SELECT, .type = VarTypeUInt32, .flags = both & 7,
                              .count = 3 }, (uint32_t[]){ within, index, none });
    return true;
}

static bool copy_insts(const Mason *m)
{
    const Program *p = m->from;
    uint32_t *args = alloc_get((INST_MOST_OPERANDS + 1) * sizeof(uint32_t));
    bool ok = args != NULL;
    for (uint32_t at = 0; ok && at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        for (uint32_t k = 0; k < inst->count; ++k)
            args[k] = m->place[program_args(p, inst)[k]];
        if (find_role(inst, ROLE_POINTER) != OP_NO_OPERAND)
            ok = add_fence(m, inst, args);
        m->place[at] = put(m, *inst, args);
    }
    alloc_free(args);
    return ok;
}

static void copy_regions(const Mason *m)
{
    const Program *p = m->from;
    Program *to = m->to;
    if (!vec_reserve(&to->regions, &to->region_capacity, p->region_count,
                     sizeof(Region)))
        abort();
    for (uint32_t i = 0; i < p->region_count; ++i) {
        Region region = p->regions[i];
        region.begin = m->place[region.begin];
        region.middle = m->place[region.middle];
        region.end = m->place[region.end];
        if (!vec_reserve(&to->extra, &to->extra_capacity,
                         to->extra_count + region.target_count, sizeof(uint32_t)))
            abort();
        for (uint32_t k = 0; k < region.target_count; ++k)
            to->extra[to->extra_count + k] = p->extra[region.targets + k];
        region.targets = to->extra_count;
        to->extra_count += region.target_count;
        to->regions[to->region_count++] = region;
    }
}

static bool copy_one(Mason m)
{
    const Program *p = m.from;
    m.place = alloc_zero((size_t) p->inst_count + 1, sizeof(uint32_t));
    if (!m.place ||
        !vec_reserve(&m.to->literals, &m.to->literal_capacity, p->literal_count,
                     sizeof(uint64_t)))
        abort();
    if (p->literal_count)
        memcpy(m.to->literals, p->literals, p->literal_count * sizeof(uint64_t));
    m.to->literal_count = p->literal_count;
    bool ok = copy_insts(&m);
    if (ok)
        copy_regions(&m);
    alloc_free(m.place);
    return ok;
}

/* Is the last one that of reports? */
static bool has_reports(const Program *p)
{
    return p->param_count && p->params[p->param_count - 1].kind == PARAM_REPORT;
}

static void copy_params(const Program *p, Program *to, uint32_t count)
{
    const uint32_t last = p->param_count - has_reports(p);
    to->check_count = p->check_count;
    to->print_count = p->print_count;
    for (uint32_t i = 0; i < p->param_count; ++i) {
        for (uint32_t k = 0; i == last && k < count; ++k)
            program_add_param(to, PARAM_VALUE, VarTypeUInt32);
        program_add_param(to, (ParamKind) p->params[i].kind,
                          (VarType) p->params[i].type);
        to->params[to->param_count - 1] = p->params[i];
    }
    for (uint32_t k = 0; last == p->param_count && k < count; ++k)
        program_add_param(to, PARAM_VALUE, VarTypeUInt32);
}

/* NULL: it has too many accesses. */
static Program *add_fences(const Program *p, Fence *fences, uint32_t *count)
{
    Program *to = alloc_zero(1, sizeof(Program));
    Mason m = { .from = p, .root = p, .to = to, .to_root = to, .fences = fences,
                .count = count, .first = p->param_count - has_reports(p) };
    bool ok = true;
    *count = 0;
    for (uint32_t i = 0; ok && i < p->callable_count; ++i) {
        m.from = p->callables[i];
        m.to = alloc_zero(1, sizeof(Program));
        ok = copy_one(m);
        program_add_callable(to, m.to);
    }
    m.from = p;
    m.to = to;
    ok = ok && copy_one(m);
    if (ok) {
        copy_params(p, to, *count);
        if (!program_verify(to)) {
            fprintf(stderr, "fence: %s\n", error_message());
            abort();
        }
        return to;
    }
    program_free(to);
    return NULL;
}

/* ---- the engine */

typedef struct FencedCode {
    CpuCode cpu;
    Code *inner;
    uint32_t words, count; /* parameters; of these, fences */
    bool reports;          /* the last one is that of reports */
    Fence fences[];
} FencedCode;

/* How many of its entries can be accessed? */
static uint64_t find_limit(const Fence *fence, uint64_t address)
{
    char *begin = (char *) (uintptr_t) address;
    const char *end = __asan_region_is_poisoned(begin, FARTHEST);
    const uint64_t entries = (end ? (size_t) (end - begin) : FARTHEST) / fence->bytes;
    return entries > fence->more ? entries - fence->more : 0;
}

static void run(const CpuCode *cpu, const uint64_t *args, uint32_t begin, uint32_t end,
                uint32_t worker, uint32_t requests, void *scratch)
{
    const FencedCode *code = (const FencedCode *) (const void *) cpu;
    const uint32_t own = code->words - code->reports;
    uint64_t *all = malloc((code->words + code->count + 1) * sizeof(uint64_t));
    bool possible = all != NULL;
    if (possible) {
        memcpy(all, args, own * sizeof(uint64_t));
        all[own + code->count] = code->reports ? args[own] : 0;
    }
    for (uint32_t i = 0; possible && i < code->count; ++i) {
        all[own + i] = find_limit(&code->fences[i], args[code->fences[i].slot]);
        possible = all[own + i] || !code->fences[i].needed;
    }
    const CpuCode *inner = (const CpuCode *) (const void *) code->inner;
    if (possible)
        inner->run(inner, all, begin, end, worker, requests, scratch);
    free(all);
}

static void release(Code *base)
{
    FencedCode *code = (FencedCode *) (void *) base;
    code_release(code->inner);
    free(code);
}

static Code *compile(const Program *program, const CodeSpec *spec)
{
    Fence fences[FENCES];
    uint32_t count;
    Program *fenced = add_fences(program, fences, &count);
    if (!fenced) {
        error_set(JIT_ERROR_UNSUPPORTED, "too many accesses");
        return NULL;
    }
    Code *inner = interp_engine.compile(fenced, spec);
    program_free(fenced);
    TRY(inner, NULL);
    FencedCode *code = malloc(sizeof(FencedCode) + count * sizeof(Fence));
    const CpuCode *cpu = (const CpuCode *) (const void *) inner;
    *code = (FencedCode){ .cpu = { .code = { 1, release }, .run = run,
                                   .scratch = cpu->scratch, .adds = cpu->adds,
                                   .streams = cpu->streams,
                                   .lane_ps = cpu->lane_ps, .block_ps = cpu->block_ps },
                          .inner = inner, .words = program->param_count, .count = count,
                          .reports = has_reports(program) };
    memcpy(code->fences, fences, count * sizeof(Fence));
    return &code->cpu.code;
}

static bool available(void) { return true; }
static uint64_t fingerprint(const Target *target)
{
    return interp_engine.fingerprint(target);
}
static bool supports(Op op, VarType type, VarType operand)
{
    return interp_engine.supports(op, type, operand);
}
static size_t code_size(const Code *code)
{
    return interp_engine.code_size(((const FencedCode *) (const void *) code)->inner);
}
static uint64_t compile_estimate(const Program *program)
{
    return interp_engine.compile_estimate(program);
}

const Engine fenced_engine = {
    .name = "interp", .code = CODE_CPU, .available = available,
    .fingerprint = fingerprint, .supports = supports, .compile = compile,
    .code_size = code_size, .compile_estimate = compile_estimate,
};

/* ---- what lasts */

static void *watch(void *unused)
{
    const struct timespec pause = { 0, PATIENCE_MS * 1000000 };
    for (;; nanosleep(&pause, NULL))
        interrupt_raise();
    return unused;
}

bool fence_start_watch(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, watch, NULL) == 0 &&
           pthread_detach(thread) == 0;
}
