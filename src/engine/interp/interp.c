/*
 * interp.c -- the block interpreter as an engine
 *
 * A Program becomes an array of steps (interp_build.c), each a call of a loop over the
 * lanes of a block (lanes.c). Up to 512 lanes make a block, so that values stay
 * in the nearest caches and the cost of a call is shared by many lanes.
 *
 *     scratch:  addresses of local arrays, views and registers | addresses of values to
 *               be printed | steps to return to | register 0 | register 1 | ... |
 *               local arrays
 *
 * Distances between registers are chosen at each launch: small launches pack their
 * registers, and large ones keep them off multiples of 4096 bytes, where they would
 * compete for the same cache lines. Large local arrays make blocks smaller.
 */
#include "engine/interp/interp.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/isa.h"
#include "base/log.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/interp/interp_build.h"
#include "lanes/lanes.h"

enum {
    REVISION = 1,         /* part of the fingerprint: change it with the results */
    LINE = 64,            /* bytes of a cache line */
    BUILD_NS = 60,        /* measured time of interp_build() per instruction */
    LOCAL_BYTES = 1 << 18 /* for the local arrays of a block, if a few lanes fit */
};

/* What compile() makes. */
typedef struct EngineCode {
    CpuCode cpu;
    InterpCode code;
} EngineCode;

/* ---- the table in use */

static const LaneTable *const tables[] = {
#if defined(__x86_64__)
    &lanes_avx512, &lanes_avx2,
#endif
    &lanes_baseline
};
enum { TABLE_COUNT = sizeof tables / sizeof *tables };

static bool cpu_runs(const LaneTable *table)
{
#if defined(__x86_64__)
    if (table == &lanes_avx2)
        return isa_avx2();
    if (table == &lanes_avx512)
        return isa_avx512();
#endif
    return table == &lanes_baseline;
}

static const LaneTable *chosen;

static void choose(void)
{
    const char *wanted = getenv("DRJIT_INTERP_ISA");
    const LaneTable *best = NULL;
    for (uint32_t i = 0; i < TABLE_COUNT; ++i) {
        if (!cpu_runs(tables[i]))
            continue;
        if (!best)
            best = tables[i];
        if (wanted && strcmp(tables[i]->isa, wanted) == 0) {
            chosen = tables[i];
            return;
        }
    }
    chosen = best;
    if (wanted && *wanted)
        log_write(LogLevelWarn,
                  "interp: DRJIT_INTERP_ISA=%s is not available on this "
                  "CPU, using %s",
                  wanted, best->isa);
}

const LaneTable *interp_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}

/* ---- engine */

static bool available(void)
{
    return true;
}

static uint64_t fingerprint(const Target *target)
{
    (void) target;
    const char *isa = interp_table()->isa;
    return hash_64(isa, strlen(isa), REVISION);
}

static bool supports(Op op, VarType type, VarType operand)
{
    switch (op_info[op].group) {
    case GROUP_ARITH:
    case GROUP_FUNCTION:
    case GROUP_CONVERT:
    case GROUP_TABLE:
        return interp_build_find(&lanes_baseline, op, type, operand) != NULL;
    case GROUP_STMT:
        return false;
    default:
        return op_is_defined(op, operand);
    }
}

static void release(Code *base)
{
    EngineCode *code = (EngineCode *) (void *) base;
    interp_build_free(&code->code);
    alloc_free(code);
}

static size_t round_line(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

static uint32_t reg_count(const InterpCode *code)
{
    return code->locals + code->views + code->regs;
}

static size_t table_bytes(const InterpCode *code)
{
    size_t entries = (size_t) reg_count(code) + code->rows + code->callables;
    return round_line(entries * sizeof(void *));
}

/* Bytes from one register to the next with this many lanes in a block. */
static size_t reg_bytes(const InterpCode *code, uint32_t lanes)
{
    return (size_t) lanes * code->entry + (lanes > LANE_GROUP ? LINE : 0);
}

static uint32_t most_lanes(const InterpCode *code)
{
    if (code->local_bytes <= LOCAL_BYTES / LANE_BLOCK)
        return LANE_BLOCK;
    uint32_t lanes = (uint32_t) (LOCAL_BYTES / code->local_bytes);
    return lanes < LANE_GROUP ? LANE_GROUP : lanes / LANE_GROUP * LANE_GROUP;
}

static size_t scratch_bytes(const InterpCode *code)
{
    const uint32_t lanes = most_lanes(code);
    return table_bytes(code) + code->regs * reg_bytes(code, lanes) +
           round_line(code->local_bytes * lanes);
}

static uint32_t round_up(uint32_t count)
{
    return (count + LANE_GROUP - 1) / LANE_GROUP * LANE_GROUP;
}

static void run(const LaneStep *step, const LaneFrame *frame)
{
    while (step)
        step = step->fn(step, frame);
}

/* Lay out the memory of a worker for blocks of this many lanes. */
static void lay_out(const InterpCode *code, LaneFrame *frame, void *scratch,
                    uint32_t lanes)
{
    void **regs = scratch, **first = regs + code->locals + code->views;
    char *memory = (char *) scratch + table_bytes(code);
    const size_t stride = reg_bytes(code, lanes);
    for (uint32_t i = 0; i < code->regs; ++i)
        first[i] = memory + i * stride;
    memory += code->regs * stride;
    for (uint32_t i = 0; i < code->locals; ++i)
        regs[i] = memory + code->local_offsets[i] * lanes;
    frame->regs = regs;
    frame->values = (const void **) (regs + reg_count(code));
    frame->back = (const LaneStep **) (regs + reg_count(code) + code->rows);
}

static void launch(const CpuCode *cpu, const uint64_t *args, uint32_t begin,
                   uint32_t end, uint32_t worker, uint32_t requests, void *scratch)
{
    const InterpCode *code = &((const EngineCode *) (const void *) cpu)->code;
    if (begin >= end)
        return;
    uint32_t most = most_lanes(code);
    if (end - begin < most)
        most = round_up(end - begin);
    LaneFrame frame = { .args = args,
                        .extra = code->extra,
                        .lanes = most,
                        .count = most,
                        .begin = begin,
                        .worker = worker,
                        .requests = requests };
    lay_out(code, &frame, scratch, most);
    if (code->report != PROGRAM_NONE)
        frame.reports = (CheckReport *) (uintptr_t) args[code->report];
    if (code->log != PROGRAM_NONE)
        frame.log = (PrintLog *) (uintptr_t) args[code->log];
    run(code->steps, &frame);
    for (uint32_t left = end - begin; left && interrupt_requests() == requests;) {
        frame.count = left < most ? left : most;
        frame.lanes = round_up(frame.count);
        run(code->steps + code->block, &frame);
        frame.begin += frame.count;
        left -= frame.count;
    }
}

void interp_run(const Code *code, const uint64_t *args, uint32_t lanes, void *scratch)
{
    cpu_code_run(code, args, 0, lanes, 0, scratch);
}

size_t interp_scratch(const Code *code) { return cpu_code_scratch(code); }

static Code *compile(const Program *program, const CodeSpec *spec)
{
    (void) spec;
    EngineCode *code = alloc_zero(1, sizeof(EngineCode));
    TRY(code, NULL);
    code->cpu = (CpuCode){ .code = { 1, release }, .run = launch, .lane_ps = 50,
                           .block_ps = 4000 };
    if (!interp_build(&code->code, program, interp_table())) {
        release(&code->cpu.code);
        return NULL;
    }
    code->cpu.scratch = scratch_bytes(&code->code);
    return &code->cpu.code;
}

static size_t code_size(const Code *base)
{
    const InterpCode *code = &((const EngineCode *) (const void *) base)->code;
    return code->step_count * sizeof(LaneStep) + code->extra_count * sizeof(uint32_t);
}

static uint64_t compile_estimate(const Program *program)
{
    uint64_t insts = program->inst_count;
    for (uint32_t i = 0; i < program->callable_count; ++i)
        insts += program->callables[i]->inst_count;
    return insts * BUILD_NS;
}

const Engine interp_engine = { .name = "interp",
                               .code = CODE_CPU,
                               .available = available,
                               .fingerprint = fingerprint,
                               .supports = supports,
                               .compile = compile,
                               .code_size = code_size,
                               .compile_estimate = compile_estimate };

/* ---- folding */

bool interp_fold(Op op, VarType type, VarType operand, const uint64_t *args,
                 uint64_t *result)
{
    if ((unsigned) op >= OP_COUNT || !(op_info[op].flags & F_FOLDS))
        return false;
    LaneFn fn = interp_build_find(&lanes_baseline, op, type, operand);
    if (!fn)
        return false;
    uint64_t lanes[4][LANE_GROUP] = { { 0 } };
    void *regs[] = { lanes[0], lanes[1], lanes[2], lanes[3] };
    for (uint32_t i = 0; i < op_info[op].arity; ++i)
        lanes[i + 1][0] = args[i];
    const LaneFrame frame = { .regs = regs, .lanes = LANE_GROUP, .count = LANE_GROUP };
    const LaneStep steps[] = { { fn, 0, { 1, 2, 3 } }, { .fn = interp_build_stop } };
    fn(steps, &frame);
    uint32_t size = type_info[type].size;
    *result = lanes[0][0] & (size < 8 ? (UINT64_C(1) << size * 8) - 1 : UINT64_MAX);
    return true;
}

/* ---- values in host memory */

enum { MOST_OPERANDS = 3 };

/* Registers of a call of interp_apply(): operands that are one value, or the end of an
 * array, are laid out here; the others are used where they are. */
typedef struct Staging {
    _Alignas(LINE) char result[LANE_BLOCK * 8];
    _Alignas(LINE) char operand[MOST_OPERANDS][LANE_BLOCK * 8];
} Staging;

/* 'lanes' copies of one entry. */
static void repeat_entry(void *out, const void *entry, uint32_t size, uint32_t lanes)
{
    uint64_t bits = 0;
    memcpy(&bits, entry, size);
    switch (size) {
    case 1:
        memset(out, (int) bits, lanes);
        break;
    case 2:
        for (uint32_t i = 0; i < lanes; ++i)
            ((uint16_t *) out)[i] = (uint16_t) bits;
        break;
    case 4:
        for (uint32_t i = 0; i < lanes; ++i)
            ((uint32_t *) out)[i] = (uint32_t) bits;
        break;
    default:
        for (uint32_t i = 0; i < lanes; ++i)
            ((uint64_t *) out)[i] = bits;
        break;
    }
}

/* Up to LANE_GROUP entries, the others 0. The commonest number is one. */
static void copy_group(void *out, const void *in, uint32_t size, uint32_t count)
{
    memset(out, 0, (size_t) LANE_GROUP * size);
    if (count == 1 && size == 4)
        memcpy(out, in, 4);
    else if (count == 1 && size == 8)
        memcpy(out, in, 8);
    else
        memcpy(out, in, (size_t) count * size);
}

bool interp_apply(Op op, VarType type, VarType operand, size_t count,
                  const InterpOperand *operands, void *result)
{
    if ((unsigned) op >= OP_COUNT || !(op_info[op].flags & F_FOLDS))
        return false;
    LaneFn fn = interp_build_find(interp_table(), op, type, operand);
    if (!fn)
        return false;
    const uint32_t arity = op_info[op].arity, out_size = type_info[type].size;
    uint32_t size[MOST_OPERANDS],
        most = count < LANE_BLOCK ? round_up((uint32_t) count) : LANE_BLOCK;
    Staging staging;
    void *regs[MOST_OPERANDS + 1] = { NULL };
    bool in_place = false;
    for (uint32_t i = 0; i < arity; ++i) {
        size[i] = op_role(op, i) == ROLE_MASK ? 1 : type_info[operand].size;
        in_place |= operands[i].data == result;
        if (operands[i].step == 0)
            repeat_entry(regs[i + 1] = staging.operand[i], operands[i].data, size[i],
                         most);
    }
    LaneFrame frame = { .regs = regs };
    const LaneStep steps[] = { { fn, 0, { 1, 2, 3 } }, { .fn = interp_build_stop } };
    for (size_t first = 0; first < count; first += frame.count) {
        size_t left = count - first;
        /* Whole groups in place, then a last group that is copied. */
        bool whole = left >= LANE_GROUP;
        frame.count = left >= LANE_BLOCK ? LANE_BLOCK
                      : whole            ? (uint32_t) left / LANE_GROUP * LANE_GROUP
                                         : (uint32_t) left;
        frame.lanes = whole ? frame.count : LANE_GROUP;
        for (uint32_t i = 0; i < arity; ++i) {
            if (operands[i].step == 0)
                continue;
            const char *in = (const char *) operands[i].data + first * size[i];
            regs[i + 1] = whole ? (void *) (uintptr_t) in : staging.operand[i];
            if (!whole)
                copy_group(staging.operand[i], in, size[i], frame.count);
        }
        char *out = (char *) result + first * out_size;
        regs[0] = whole && !in_place ? out : staging.result;
        fn(steps, &frame);
        if (regs[0] != out)
            memcpy(out, staging.result, (size_t) frame.count * out_size);
    }
    return true;
}
