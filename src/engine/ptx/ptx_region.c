/*
 * ptx_region.c -- PTX of loops, conditionals and calls
 *
 * A region is branches around what stands between its marks; they nest, so that the
 * assembler finds where the lanes of a warp meet again: at the exit.
 *
 *     loop        states = initial          conditional   results = 0, unless all enter
 *                 @!mask bra exit                         @!mask bra exit
 *       head:     condition part                          @!condition bra other
 *                 @!test bra exit                         true side, results
 *                 body                                    bra exit
 *                 states = next               other:      false side, results
 *                 bra head                    exit:
 *       exit:
 *
 *     call        results = 0
 *                 @!mask bra exit, and where the number is 0 or too large
 *                 brx.idx number - 1, { target, ... }
 *       target:   body of the callable, results; bra exit
 *       exit:
 *
 * A lane that leaves has its states in the registers of the loop, which nobody writes
 * for it any more. 'results' are zeros where lanes do not take part.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/ptx/ptx_writer.h"

enum { WRITTEN_MOST = 1 << 20 /* instructions of a kernel with its callables */ };

/* ---- frames */

static void free_frame(PtxFrame *frame)
{
    for (uint32_t i = 0; frame->regions && i < frame->program->region_count; ++i)
        alloc_free(frame->regions[i].results);
    alloc_free(frame->regions);
    alloc_free(frame->values);
    alloc_free(frame);
}

bool ptx_region_enter(PtxWriter *writer, const Program *program, uint32_t number)
{
    writer->written += program->inst_count;
    if (writer->written > WRITTEN_MOST)
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "PTX: calls that are written in place have more than %d "
                         "instructions",
                         (int) WRITTEN_MOST);
    PtxFrame *frame = alloc_zero(1, sizeof *frame);
    TRY(frame, false);
    frame->program = program;
    frame->number = number;
    frame->values =
        alloc_zero((size_t) program->inst_count * writer->copies + 1, sizeof(PtxArg));
    frame->regions = alloc_zero(program->region_count + 1u, sizeof(PtxRegion));
    if (!frame->values || !frame->regions) {
        free_frame(frame);
        return false;
    }
    frame->caller = writer->frame;
    writer->frame = frame;
    return true;
}

void ptx_region_leave(PtxWriter *writer)
{
    PtxFrame *frame = writer->frame;
    writer->frame = frame->caller;
    free_frame(frame);
}

/* ---- results */

/* Type of result k: of an initial state, of an output of the true side or of the first
 * target. */
static VarType result_type(const PtxWriter *writer, const Region *region, uint32_t k)
{
    const Program *p = writer->frame->program;
    if (region->kind == REGION_LOOP)
        return ptx_writer_type(writer,
                               program_args(p, &p->insts[region->begin])[1 + k]);
    if (region->kind == REGION_IF)
        return ptx_writer_type(writer, program_args(p, &p->insts[region->middle])[k]);
    const Program *callee = writer->root->callables[p->extra[region->targets]];
    const Inst *last = &callee->insts[callee->inst_count - 1];
    return (VarType) callee->insts[program_args(callee, last)[k]].type;
}

/* Registers and labels of the region. False: out of memory. */
static bool prepare(PtxWriter *writer, const Region *region, PtxRegion *to)
{
    PtxText *text = &writer->text;
    to->count = program_result_count(writer->frame->program, writer->root, region);
    to->results = alloc_zero(to->count + 1u, sizeof(PtxArg));
    TRY(to->results, false);
    for (uint32_t in = 0; in < PTX_CLASSES; ++in)
        to->low[in] = ptx_text_new_many(text, (PtxClass) in, 0);
    for (uint32_t k = 0; k < to->count; ++k)
        to->results[k] = ptx_text_new_value(text, result_type(writer, region, k));
    for (uint32_t in = 0; in < PTX_CLASSES; ++in)
        to->high[in] = ptx_text_new_many(text, (PtxClass) in, 0);
    to->head = ptx_text_label(text);
    to->other = ptx_text_label(text);
    to->exit = ptx_text_label(text);
    return true;
}

static bool is_result(const PtxRegion *region, PtxArg reg)
{
    const PtxClass in = ptx_class(reg);
    return reg >= region->low[in] && reg < region->high[in];
}

/* Move values to the registers of the results, all at once: a value that is in another
 * one of these is copied first. 'values' is used up. */
static void set_results(PtxWriter *writer, const PtxRegion *region, PtxArg *values)
{
    PtxText *text = &writer->text;
    for (uint32_t k = 0; k < region->count; ++k) {
        if (values[k] != region->results[k] && is_result(region, values[k])) {
            PtxArg copy = ptx_text_new(text, ptx_class(values[k]));
            ptx_text_move(text, copy, values[k]);
            values[k] = copy;
        }
    }
    for (uint32_t k = 0; k < region->count; ++k)
        if (values[k] != region->results[k])
            ptx_text_move(text, region->results[k], values[k]);
}

static void zero_results(PtxWriter *writer, const Region *region, const PtxRegion *to)
{
    for (uint32_t k = 0; k < to->count; ++k)
        ptx_text_literal(&writer->text, result_type(writer, region, k), to->results[k],
                         0);
}

/* Operands of a mark, from 'first' on, become results. */
static bool set_operands(PtxWriter *writer, const PtxRegion *region, uint32_t position,
                         uint32_t first)
{
    const Program *p = writer->frame->program;
    const uint32_t *args = program_args(p, &p->insts[position]);
    PtxArg *values = alloc_zero(region->count + 1u, sizeof(PtxArg));
    TRY(values, false);
    for (uint32_t k = 0; k < region->count; ++k)
        values[k] = ptx_writer_value(writer, args[first + k]);
    set_results(writer, region, values);
    alloc_free(values);
    return true;
}

/* ---- loops and conditionals */

/* Lanes outside of the mask go to the exit. */
static void enter_lanes(PtxWriter *writer, const PtxRegion *region, uint32_t mask)
{
    if (!ptx_writer_is_true(writer, mask))
        ptx_text_put(&writer->text, VarTypeBool, "@!$0 bra $1",
                     ptx_writer_value(writer, mask), region->exit);
}

static bool begin_loop(PtxWriter *writer, const Region *region, PtxRegion *to)
{
    const Program *p = writer->frame->program;
    TRY(set_operands(writer, to, region->begin, 1), false);
    enter_lanes(writer, to, program_args(p, &p->insts[region->begin])[0]);
    ptx_text_bind(&writer->text, to->head);
    return true;
}

static void begin_if(PtxWriter *writer, const Region *region, const PtxRegion *to)
{
    const Program *p = writer->frame->program;
    const uint32_t *args = program_args(p, &p->insts[region->begin]);
    if (!ptx_writer_is_true(writer, args[0]))
        zero_results(writer, region, to);
    enter_lanes(writer, to, args[0]);
    ptx_text_put(&writer->text, VarTypeBool, "@!$0 bra $1",
                 ptx_writer_value(writer, args[1]), to->other);
}

static bool write_mark(PtxWriter *writer, const Region *region, uint32_t position)
{
    PtxText *text = &writer->text;
    const Program *p = writer->frame->program;
    const Inst *inst = &p->insts[position];
    const PtxRegion *to = &writer->frame->regions[inst->aux];
    if (inst->op == OP_TEST) {
        enter_lanes(writer, to, inst->arg[0]);
        return true;
    }
    if (region->kind == REGION_CALL)
        return true; /* the END behind a call */
    TRY(set_operands(writer, to, position, 0), false);
    if (inst->op == OP_ELSE) {
        ptx_text_put(text, VarTypeBool, "bra $0", to->exit);
        ptx_text_bind(text, to->other);
        return true;
    }
    if (region->kind == REGION_LOOP)
        ptx_text_put(text, VarTypeBool, "bra $0", to->head);
    ptx_text_bind(text, to->exit);
    return true;
}

/* ---- calls */

static bool enter_target(PtxWriter *writer, const Region *region)
{
    PtxFrame *frame = writer->frame;
    const uint32_t number = frame->program->extra[region->targets + frame->target];
    ptx_text_bind(&writer->text, ptx_nth(frame->targets, frame->target));
    return ptx_region_enter(writer, writer->root->callables[number], number);
}

/* A list of labels, for brx.idx. */
static void write_table(PtxWriter *writer, uint32_t table, PtxArg first, uint32_t count)
{
    Text *out = &writer->text.body;
    text_put(out, "\tcalls");
    text_put_u64(out, table);
    text_put(out, ": .branchtargets ");
    for (uint32_t k = 0; k < count; ++k) {
        text_put(out, k ? ", " : "");
        ptx_text_name(out, ptx_nth(first, k));
    }
    text_put(out, ";\n");
}

static bool begin_call(PtxWriter *writer, const Region *region, const PtxRegion *to)
{
    PtxText *text = &writer->text;
    PtxFrame *frame = writer->frame;
    const Program *p = frame->program;
    const uint32_t *args = program_args(p, &p->insts[region->begin]);
    const uint32_t count = region->target_count;
    if (!count) {
        ptx_text_bind(text, to->exit);
        return true;
    }
    zero_results(writer, region, to);
    enter_lanes(writer, to, args[0]);
    PtxArg which = ptx_text_new(text, PTX_B32);
    ptx_text_put(text, VarTypeUInt32,
                 "sub.u32 $0, $1, 1; setp.ge.u32 $p, $0, $2; @$p bra $3", which,
                 ptx_writer_value(writer, args[1]), ptx_number(count), to->exit);
    frame->target = 0;
    frame->targets = ptx_text_label(text);
    for (uint32_t k = 1; k < count; ++k)
        ptx_text_label(text);
    if (count > 1) {
        write_table(writer, writer->calls, frame->targets, count);
        ptx_text_put(text, VarTypeUInt32, "brx.idx $0, calls$1", which,
                     ptx_number(writer->calls++));
    }
    return enter_target(writer, region);
}

/* RETURN: outputs go to the results of the call, whose next target is written. */
static bool end_target(PtxWriter *writer, uint32_t position)
{
    PtxFrame *frame = writer->frame, *caller = frame->caller;
    const Inst *call = &caller->program->insts[caller->at - 1];
    const Region *region = &caller->program->regions[call->aux];
    const PtxRegion *to = &caller->regions[call->aux];
    TRY(set_operands(writer, to, position, 0), false);
    ptx_region_leave(writer);
    if (++caller->target < region->target_count) {
        ptx_text_put(&writer->text, VarTypeBool, "bra $0", to->exit);
        return enter_target(writer, region);
    }
    ptx_text_bind(&writer->text, to->exit);
    return true;
}

/* ---- */

static bool begin_region(PtxWriter *writer, uint32_t position)
{
    PtxFrame *frame = writer->frame;
    const Inst *inst = &frame->program->insts[position];
    const Region *region = &frame->program->regions[inst->aux];
    PtxRegion *to = &frame->regions[inst->aux];
    TRY(prepare(writer, region, to), false);
    if (region->kind == REGION_LOOP)
        return begin_loop(writer, region, to);
    if (region->kind == REGION_CALL)
        return begin_call(writer, region, to);
    begin_if(writer, region, to);
    return true;
}

/* The region whose REGION or END stands before STATEs or RESULTs. */
static const PtxRegion *region_before(const PtxFrame *frame, uint32_t position, Op mark)
{
    while (frame->program->insts[position].op != mark)
        --position;
    return &frame->regions[frame->program->insts[position].aux];
}

/* ARG.0: lanes that are active; ARG.k: the call's operand k + 1. */
static void write_arg(PtxWriter *writer, uint32_t position, uint32_t which)
{
    const PtxFrame *caller = writer->frame->caller;
    if (which == 0) {
        ptx_text_put(&writer->text, VarTypeBool, "mov.pred $0, 1",
                     ptx_writer_result(writer, position));
        return;
    }
    const Program *p = caller->program;
    const uint32_t operand = program_args(p, &p->insts[caller->at - 1])[which + 1];
    ptx_writer_set(writer, position, caller->values[operand]);
}

bool ptx_region_write(PtxWriter *writer, uint32_t position)
{
    PtxFrame *frame = writer->frame;
    const Program *p = frame->program;
    const Inst *inst = &p->insts[position];
    switch (inst->op) {
    case OP_REGION:
        return begin_region(writer, position);
    case OP_RETURN:
        return end_target(writer, position);
    case OP_STATE:
        ptx_writer_set(writer, position,
                       region_before(frame, position, OP_REGION)->results[inst->aux]);
        return true;
    case OP_RESULT:
        ptx_writer_set(writer, position,
                       region_before(frame, position, OP_END)->results[inst->aux]);
        return true;
    case OP_ACTIVE:
        ptx_text_put(&writer->text, VarTypeBool, "mov.pred $0, 1",
                     ptx_writer_result(writer, position));
        return true;
    case OP_ARG:
        write_arg(writer, position, inst->aux);
        return true;
    default:
        return write_mark(writer, &p->regions[inst->aux], position);
    }
}
