/*
 * scalar_engine.c -- see scalar_engine.h
 *
 * Each instruction of the Program and of its callables has a place of its own in the
 * scratch memory, in words of 64 bits:
 *
 *     LOCAL     its entries
 *     REGION    its states or results
 *     PRINT     addresses of what it prints
 *     others    the value, zero-extended
 *
 * Control flow is a jump for a single lane. A callable runs at most once at a time, as
 * callables only call earlier ones, so that fixed places are enough and a Frame for
 * each of them holds where it was called from.
 */
#include "scalar_engine.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/interp/interp.h"

typedef uint64_t Word;

/* The Program or one of its callables. */
typedef struct Body {
    const Program *program;
    uint32_t *places; /* by instruction */
} Body;

typedef struct EngineCode {
    CpuCode cpu;
    Program *program;
    Body *bodies; /* callables by their number, after them the Program itself */
    uint32_t words;
} EngineCode;

/* A body that is being executed. */
typedef struct Frame Frame;
struct Frame {
    const Body *body;
    Frame *caller; /* its 'at' is the REGION of the call */
    uint32_t at;
};

/* A lane. */
typedef struct Lane {
    const Program *root;
    const uint64_t *args;
    Word *memory;
    uint32_t number, worker;
    const Body *bodies;
    Frame *frames; /* as 'bodies' */
} Lane;

/* ---------------------------------------------------------------------- compiling */

static uint32_t words_of(const Program *root, const Program *p, const Inst *inst)
{
    if (inst->op == OP_LOCAL)
        return inst->aux;
    if (inst->op == OP_REGION)
        return program_result_count(p, root, &p->regions[inst->aux]);
    return inst->op == OP_PRINT ? inst->count : 1;
}

static bool lay_out(EngineCode *code, Body *body, const Program *p)
{
    body->program = p;
    body->places = alloc_zero(p->inst_count + 1, sizeof(uint32_t));
    TRY(body->places, false);
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        body->places[at] = code->words;
        code->words += words_of(code->program, p, &p->insts[at]);
    }
    return true;
}

static void scalar_free(Code *base)
{
    EngineCode *code = (EngineCode *) (void *) base;
    for (uint32_t i = 0; code->bodies && i <= code->program->callable_count; ++i)
        alloc_free(code->bodies[i].places);
    alloc_free(code->bodies);
    program_free(code->program);
    alloc_free(code);
}

static void scalar_launch(const CpuCode *cpu, const uint64_t *args, uint32_t begin,
                          uint32_t end, uint32_t worker, uint32_t requests,
                          void *scratch);

static Code *scalar_compile(const Program *program, const CodeSpec *spec)
{
    (void) spec;
    EngineCode *code = alloc_zero(1, sizeof *code);
    TRY(code, NULL);
    code->cpu = (CpuCode){ .code = { 1, scalar_free }, .run = scalar_launch,
                           .lane_ps = 1000 };
    uint32_t count = program->callable_count;
    code->program = program_copy(program);
    code->bodies = alloc_zero(count + 1, sizeof(Body));
    bool ok = code->program && code->bodies;
    for (uint32_t i = 0; ok && i < count; ++i)
        ok = lay_out(code, &code->bodies[i], code->program->callables[i]);
    if (ok && lay_out(code, &code->bodies[count], code->program)) {
        code->cpu.scratch = code->words * sizeof(Word) + (count + 1) * sizeof(Frame);
        return &code->cpu.code;
    }
    scalar_free(&code->cpu.code);
    return NULL;
}

/* ------------------------------------------------------------------------- memory */

static Word cut(Word bits, VarType type)
{
    uint32_t size = type_info[type].size;
    return size < 8 ? bits & ((UINT64_C(1) << size * 8) - 1) : bits;
}

static Word read_entry(Word base, Word index, VarType type)
{
    uint32_t size = type_info[type].size;
    Word bits = 0;
    memcpy(&bits, (const char *) (uintptr_t) base + index * size, size);
    return bits;
}

static void write_entry(Word base, Word index, VarType type, Word bits)
{
    uint32_t size = type_info[type].size;
    memcpy((char *) (uintptr_t) base + index * size, &bits, size);
}

static Word fold_2(Op op, VarType type, Word a, Word b)
{
    Word args[] = { a, b, 0, 0 }, result = 0;
    interp_fold(op, type, type, args, &result);
    return result;
}

/* Gives the entry before. */
static Word reduce_entry(Word base, Word index, VarType type, uint32_t aux, Word value)
{
    static const Op ops[] = {
        [ReduceOpAdd] = OP_ADD, [ReduceOpMul] = OP_MUL, [ReduceOpMin] = OP_MIN,
        [ReduceOpMax] = OP_MAX, [ReduceOpAnd] = OP_AND, [ReduceOpOr] = OP_OR
    };
    ReduceOp reduce = (ReduceOp) (aux & 255);
    Word old = read_entry(base, index, type);
    if (reduce != ReduceOpIdentity) {
        Op op = ops[reduce];
        if (type_info[type].is_float && op == OP_MIN)
            op = OP_FMIN;
        if (type_info[type].is_float && op == OP_MAX)
            op = OP_FMAX;
        value = fold_2(op, type, old, value);
    }
    write_entry(base, index, type, value);
    return old;
}

/* ------------------------------------------------------------------- instructions */

/* An instruction with what it works on. */
typedef struct Step {
    const Program *p;
    const Inst *inst;
    const uint32_t *operands;
    Word *words; /* its place */
    const uint32_t *places;
    Word *memory;
} Step;

static Step step_at(const Lane *lane, const Frame *frame, uint32_t at)
{
    const Program *p = frame->body->program;
    return (Step){ .p = p,
                   .inst = &p->insts[at],
                   .operands = program_args(p, &p->insts[at]),
                   .words = lane->memory + frame->body->places[at],
                   .places = frame->body->places,
                   .memory = lane->memory };
}

static Word *operand(const Step *s, uint32_t i)
{
    return &s->memory[s->places[s->operands[i]]];
}

static Word value(const Step *s, uint32_t i)
{
    return *operand(s, i);
}

static uint32_t index_of(const Step *s, uint32_t i)
{
    return (uint32_t) value(s, i);
}

static VarType operand_type(const Step *s, uint32_t i)
{
    return (VarType) s->p->insts[s->operands[i]].type;
}

static Word arithmetic(const Step *s)
{
    Word args[4] = { 0 }, result = 0;
    for (uint32_t i = 0; i < s->inst->count; ++i)
        args[i] = value(s, i);
    interp_fold((Op) s->inst->op, (VarType) s->inst->type,
                operand_type(s, s->inst->op == OP_SELECT), args, &result);
    return result;
}

static Word check(const Lane *lane, const Step *s)
{
    CheckReport *reports =
        (CheckReport *) (uintptr_t) lane->args[lane->root->param_count - 1];
    CheckReport *report = &reports[s->inst->aux];
    if (!value(s, 0) || index_of(s, 1) < report->bound)
        return value(s, 0);
    report->count++;
    report->index = index_of(s, 1);
    return 0;
}

static void print(const Lane *lane, const Step *s)
{
    const void **values = (const void **) (void *) s->words;
    uint32_t slot = program_find_param(lane->root, PARAM_PRINT);
    PrintLog *log = (PrintLog *) (uintptr_t) lane->args[slot];
    for (uint32_t k = 1; k < s->inst->count; ++k)
        values[k - 1] = operand(s, k);
    uint8_t mask = 1;
    if (value(s, 0))
        log->append(log, s->inst->aux, lane->number, 1, &mask, values);
}

/* The n values of a packet scatter follow pointer, index and mask. */
static void scatter_packet(const Step *s)
{
    uint32_t n = s->inst->count - 3;
    for (uint32_t k = 0; value(s, 2) && k < n; ++k)
        reduce_entry(value(s, 0), index_of(s, 1) * n + k, operand_type(s, 3 + k),
                     s->inst->aux, value(s, 3 + k));
}

static Word fold(Op op, VarType type, VarType operand, Word a, Word b, Word c)
{
    const Word args[4] = { a, b, c };
    Word result = 0;
    interp_fold(op, type, operand, args, &result);
    return result;
}

/* The sum of a row, from the first column to the last, and rounded then. */
static Word matvec_item(const Step *s, uint32_t row)
{
    const VarType type = (VarType) s->inst->type;
    const VarType sums = type == VarTypeFloat16 ? VarTypeFloat32 : type;
    const uint32_t m = s->inst->aux & MATVEC_RESULTS;
    const bool adds = s->inst->aux & MATVEC_ADDS;
    const uint32_t n = s->inst->count - 2 - (adds ? m : 0);
    Word sum = adds ? fold(OP_CAST, sums, type, value(s, 2 + n + row), 0, 0) : 0;
    for (uint32_t k = 0; k < n; ++k) {
        uint32_t entry =
            s->inst->aux & MATVEC_TRANSPOSED ? k * m + row : row * n + k;
        Word w = read_entry(value(s, 0), index_of(s, 1) + entry, type);
        sum = fold(OP_FMA, sums, sums, fold(OP_CAST, sums, type, w, 0, 0),
                   fold(OP_CAST, sums, type, value(s, 2 + k), 0, 0), sum);
    }
    return fold(OP_CAST, type, sums, sum, 0, 0);
}

/* Every item reads its entry; nobody writes to what is gathered. */
static Word packet_item(const Lane *lane, const Frame *frame, const Step *s)
{
    const Step packet = step_at(lane, frame, s->operands[0]);
    if (packet.inst->op == OP_MATVEC)
        return matvec_item(&packet, s->inst->aux);
    return value(&packet, 2)
               ? read_entry(value(&packet, 0),
                            index_of(&packet, 1) * packet.inst->aux + s->inst->aux,
                            (VarType) s->inst->type)
               : 0;
}

/* Operations that change memory at an index and give what was there. */
static Word exchange(const Step *s)
{
    VarType type = (VarType) s->inst->type;
    Word base = value(s, 0);
    uint32_t mask = s->inst->count - 1, index = index_of(s, mask - 1);
    if (!value(s, mask))
        return 0;
    switch (s->inst->op) {
    case OP_SCATTER_INC:
        return reduce_entry(base, index, type, ReduceOpAdd, 1);
    case OP_SCATTER_ADD:
        return reduce_entry(base, index, type, ReduceOpAdd, value(s, 1));
    case OP_SCATTER_EXCH:
        return reduce_entry(base, index, type, ReduceOpIdentity, value(s, 1));
    default: { /* OP_SCATTER_CAS */
        Word old = read_entry(base, index, type);
        if (old == value(s, 1))
            write_entry(base, index, type, value(s, 2));
        return old;
    }
    }
}

static void local_access(const Step *s)
{
    uint32_t entries = s->p->insts[s->operands[0]].aux;
    Word *array = operand(s, 0);
    switch (s->inst->op) {
    case OP_LOCAL_READ:
        *s->words = value(s, 2) && index_of(s, 1) < entries ? array[index_of(s, 1)] : 0;
        break;
    case OP_LOCAL_WRITE:
        if (value(s, 3) && index_of(s, 2) < entries)
            array[index_of(s, 2)] = value(s, 1);
        break;
    default: /* OP_LOCAL_MOVE */
        if (value(s, 2))
            memmove(array, operand(s, 1), entries * sizeof(Word));
        break;
    }
}

/* Result k of the region whose END stands before the first RESULT. */
static Word result_of(const Lane *lane, const Frame *frame, uint32_t at)
{
    const Program *p = frame->body->program;
    uint32_t end = at;
    while (p->insts[end].op != OP_END)
        --end;
    uint32_t begin = p->regions[p->insts[end].aux].begin;
    return lane->memory[frame->body->places[begin] + p->insts[at].aux];
}

/* ARG.0 is the mask of the call, ARG.k input k - 1; the call's operand 1 is the number
 * of the target. */
static Word argument(const Lane *lane, const Frame *frame, const Step *s)
{
    const Step call = step_at(lane, frame->caller, frame->caller->at);
    return value(&call, s->inst->aux ? s->inst->aux + 1 : 0);
}

/* An instruction that is not a mark. */
static void execute(const Lane *lane, const Frame *frame, uint32_t at)
{
    const Step s = step_at(lane, frame, at);
    const Inst *inst = s.inst;
    VarType type = (VarType) inst->type;
    switch (inst->op) {
    case OP_LITERAL:
        *s.words = cut(s.p->literals[inst->aux], type);
        break;
    case OP_UNDEFINED:
        *s.words = 0;
        break;
    case OP_COUNTER:
        *s.words = lane->number;
        break;
    case OP_WORKER:
        *s.words = lane->worker;
        break;
    case OP_LOAD:
        *s.words = read_entry(lane->args[inst->aux],
                              inst->flags & INST_UNIFORM ? 0 : lane->number, type);
        break;
    case OP_PARAM:
        *s.words = cut(lane->args[inst->aux], type);
        break;
    case OP_STORE:
        write_entry(lane->args[inst->aux], lane->number, operand_type(&s, 0),
                    value(&s, 0));
        break;
    case OP_LOOKUP:
        *s.words = value(&s, 1 + (uint32_t) (value(&s, 0) % (inst->count - 1u)));
        break;
    case OP_GATHER:
        *s.words = value(&s, 2) ? read_entry(value(&s, 0), index_of(&s, 1), type) : 0;
        break;
    case OP_MATVEC:
    case OP_GATHER_PACKET: /* their items do it */
        break;
    case OP_PACKET_ITEM:
        *s.words = packet_item(lane, frame, &s);
        break;
    case OP_SCATTER:
        if (value(&s, 3))
            reduce_entry(value(&s, 0), index_of(&s, 2), operand_type(&s, 1), inst->aux,
                         value(&s, 1));
        break;
    case OP_SCATTER_PACKET:
        scatter_packet(&s);
        break;
    case OP_SCATTER_INC:
    case OP_SCATTER_ADD:
    case OP_SCATTER_EXCH:
    case OP_SCATTER_CAS:
        *s.words = exchange(&s);
        break;
    case OP_CHECK:
        *s.words = check(lane, &s);
        break;
    case OP_ACTIVE: /* or nobody would be here */
        *s.words = 1;
        break;
    case OP_ARG:
        *s.words = argument(lane, frame, &s);
        break;
    case OP_RESULT:
        *s.words = result_of(lane, frame, at);
        break;
    case OP_STATE: /* state k stands k + 1 places after its REGION */
        *s.words = lane->memory[frame->body->places[at - inst->aux - 1] + inst->aux];
        break;
    case OP_LOCAL:
        for (uint32_t k = 0; k < inst->aux; ++k)
            s.words[k] = value(&s, 0);
        break;
    case OP_LOCAL_READ:
    case OP_LOCAL_WRITE:
    case OP_LOCAL_MOVE:
        local_access(&s);
        break;
    case OP_PRINT:
        print(lane, &s);
        break;
    default:
        *s.words = arithmetic(&s);
        break;
    }
}

/* ------------------------------------------------------------------- control flow */

/* Operands of a mark, from 'first' on, become the states or results in 'to'. */
static void set_results(const Step *mark, uint32_t first, Word *to)
{
    for (uint32_t k = first; k < mark->inst->count; ++k)
        to[k - first] = value(mark, k);
}

/* The frame to go on with: the callable's, or the caller's if there is none. */
static Frame *enter_call(const Lane *lane, Frame *frame, const Step *s,
                         const Region *region)
{
    uint32_t number = index_of(s, 1);
    if (!value(s, 0) || number == 0 || number > region->target_count) {
        frame->at = region->end + 1;
        return frame;
    }
    uint32_t target = s->p->extra[region->targets + number - 1];
    Frame *callee = &lane->frames[target];
    *callee = (Frame){ .body = &lane->bodies[target], .caller = frame };
    return callee;
}

static Frame *enter_region(const Lane *lane, Frame *frame, const Step *s)
{
    const Region *region = &s->p->regions[s->inst->aux];
    uint32_t results = program_result_count(s->p, lane->root, region);
    memset(s->words, 0, results * sizeof(Word));
    if (region->kind == REGION_CALL)
        return enter_call(lane, frame, s, region);
    if (region->kind == REGION_LOOP)
        set_results(s, 1, s->words);
    if (!value(s, 0))
        frame->at = region->end + 1;
    else if (region->kind == REGION_IF && !value(s, 1))
        frame->at = region->middle + 1;
    else
        frame->at = region->begin + 1;
    return frame;
}

/* RETURN: after the call, with its results. */
static Frame *leave_call(const Lane *lane, const Frame *frame, const Step *s)
{
    Frame *caller = frame->caller;
    set_results(s, 0, step_at(lane, caller, caller->at).words);
    caller->at += 2;
    return caller;
}

/* TEST, ELSE or END of a loop or conditional. */
static void follow_mark(const Lane *lane, Frame *frame, const Step *s)
{
    const Region *region = &s->p->regions[s->inst->aux];
    if (s->inst->op == OP_TEST) {
        frame->at = value(s, 0) ? frame->at + 1 : region->end + 1;
        return;
    }
    set_results(s, 0, step_at(lane, frame, region->begin).words);
    frame->at = region->kind == REGION_LOOP ? region->begin + 1 : region->end + 1;
}

static void run_lane(const Lane *lane)
{
    uint32_t last = lane->root->callable_count;
    Frame *frame = &lane->frames[last];
    *frame = (Frame){ .body = &lane->bodies[last] };
    while (frame->at < frame->body->program->inst_count) {
        const Step s = step_at(lane, frame, frame->at);
        switch (s.inst->op) {
        case OP_REGION:
            frame = enter_region(lane, frame, &s);
            break;
        case OP_TEST:
        case OP_ELSE:
        case OP_END:
            follow_mark(lane, frame, &s);
            break;
        case OP_RETURN:
            frame = leave_call(lane, frame, &s);
            break;
        default:
            execute(lane, frame, frame->at++);
            break;
        }
    }
}

static void scalar_launch(const CpuCode *cpu, const uint64_t *args, uint32_t begin,
                          uint32_t end, uint32_t worker, uint32_t requests,
                          void *scratch)
{
    (void) requests;
    const EngineCode *code = (const EngineCode *) (const void *) cpu;
    Lane lane = { .root = code->program,
                  .args = args,
                  .memory = scratch,
                  .worker = worker,
                  .bodies = code->bodies,
                  .frames = (Frame *) (void *) ((Word *) scratch + code->words) };
    for (lane.number = begin; lane.number < end; ++lane.number)
        run_lane(&lane);
}

/* ------------------------------------------------------------------------- engine */

static bool scalar_available(void)
{
    return true;
}

static uint64_t scalar_fingerprint(const Target *target)
{
    (void) target;
    return 1;
}

static bool scalar_supports(Op op, VarType type, VarType operand_class)
{
    (void) type;
    (void) operand_class;
    return op != OP_STMT && op_info[op].group != GROUP_FUNCTION;
}

static size_t scalar_code_size(const Code *base)
{
    const EngineCode *code = (const EngineCode *) (const void *) base;
    return code->words * sizeof(Word);
}

static uint64_t scalar_compile_estimate(const Program *program)
{
    (void) program;
    return 0;
}

const Engine scalar_engine = { .name = "scalar",
                               .instant = true,
                               .available = scalar_available,
                               .fingerprint = scalar_fingerprint,
                               .supports = scalar_supports,
                               .compile = scalar_compile,
                               .code_size = scalar_code_size,
                               .compile_estimate = scalar_compile_estimate };
