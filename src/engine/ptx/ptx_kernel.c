/*
 * ptx_kernel.c -- the frame of a kernel, and the walk through its Program
 *
 * One pass writes the body; declarations, which name what the body has used, are put in
 * front of it. Parameters are loaded at the beginning, as their first use may be where
 * not all lanes come by.
 */
#include "engine/ptx/ptx_kernel.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/ptx/ptx_writer.h"

enum {
    WIDE_OPERATIONS = 32,  /* kernels of more have one lane in a thread */
    PARAMS_MOST = 4352,    /* bytes of parameters, on every GPU */
    PARAMS_MOST_70 = 32764 /* from compute capability 7.0 on */
};

void ptx_kernel_name(Hash128 hash, char name[PTX_NAME_SIZE])
{
    Text text = { 0 };
    text_put(&text, "drjit_");
    text_put_hex64(&text, hash.high);
    text_put_hex64(&text, hash.low);
    const char *string = text_get(&text);
    strncpy(name, string ? string : "drjit", PTX_NAME_SIZE - 1);
    name[PTX_NAME_SIZE - 1] = 0;
    text_free(&text);
}

bool ptx_kernel_supports(Op op, VarType type, VarType operand)
{
    (void) type;
    switch (op_info[op].group) {
    case GROUP_ARITH:
    case GROUP_FUNCTION:
    case GROUP_CONVERT:
    case GROUP_TABLE:
        return ptx_ops_supports(op, operand);
    default:
        return op != OP_MATVEC && op != OP_OUTER && op_is_defined(op, operand);
    }
}

/* ---- values */

/* What is the same in all lanes is computed for the first one. */
static bool is_shared(const PtxWriter *writer, uint32_t position)
{
    return writer->copies == 1 ||
           writer->frame->program->insts[position].flags & INST_UNIFORM;
}

void ptx_writer_set(PtxWriter *writer, uint32_t position, PtxArg reg)
{
    PtxArg *values = &writer->frame->values[position * writer->copies];
    if (!is_shared(writer, position)) {
        values[writer->copy] = reg;
        return;
    }
    for (uint32_t k = 0; k < writer->copies; ++k)
        values[k] = reg;
}

PtxArg ptx_writer_result(PtxWriter *writer, uint32_t position)
{
    PtxArg reg = ptx_text_new_value(&writer->text, ptx_writer_type(writer, position));
    ptx_writer_set(writer, position, reg);
    return reg;
}

bool ptx_writer_literal(const PtxWriter *writer, uint32_t position, uint64_t *bits)
{
    const Program *p = writer->frame->program;
    const Inst *inst = &p->insts[position];
    if (inst->op != OP_LITERAL)
        return false;
    *bits = p->literals[inst->aux];
    return true;
}

bool ptx_writer_is_true(const PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    uint64_t bits;
    return inst->op == OP_ACTIVE || (inst->op == OP_ARG && inst->aux == 0) ||
           (ptx_writer_literal(writer, position, &bits) && bits & 1);
}

/* ---- instructions */

static void write_leaf(PtxWriter *writer, uint32_t position)
{
    const Program *p = writer->frame->program;
    const Inst *inst = &p->insts[position];
    const VarType type = (VarType) inst->type;
    PtxText *text = &writer->text;
    switch (inst->op) {
    case OP_LITERAL:
        ptx_text_literal(text, type, ptx_writer_result(writer, position),
                         p->literals[inst->aux]);
        break;
    case OP_UNDEFINED:
        ptx_text_literal(text, type, ptx_writer_result(writer, position), 0);
        break;
    case OP_COUNTER:
        ptx_writer_set(writer, position, writer->lane[writer->copy]);
        break;
    case OP_WORKER:
        ptx_text_put(text, type, "ld.param.u32 $0, [params+$1]",
                     ptx_writer_result(writer, position),
                     ptx_number((uint32_t) offsetof(PtxLaunch, worker)));
        break;
    case OP_LOAD:
        ptx_memory_load(writer, position);
        break;
    case OP_STORE:
        ptx_memory_store(writer, position);
        break;
    default: /* OP_PARAM */
        ptx_writer_set(writer, position, writer->params[inst->aux]);
        break;
    }
}

static void write_memory(PtxWriter *writer, uint32_t position)
{
    switch (writer->frame->program->insts[position].op) {
    case OP_GATHER:
        ptx_memory_gather(writer, position);
        break;
    case OP_GATHER_PACKET:
        ptx_memory_gather_packet(writer, position);
        break;
    case OP_PACKET_ITEM:
        ptx_memory_packet_item(writer, position);
        break;
    case OP_SCATTER:
    case OP_SCATTER_PACKET:
        ptx_memory_scatter(writer, position);
        break;
    default:
        ptx_atomic_exchange(writer, position);
        break;
    }
}

static bool write_inst(PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    switch (op_info[inst->op].group) {
    case GROUP_LEAF:
        write_leaf(writer, position);
        break;
    case GROUP_ARITH:
    case GROUP_TABLE:
        ptx_ops_write(writer, position);
        break;
    case GROUP_CONVERT:
        ptx_convert_write(writer, position);
        break;
    case GROUP_MEMORY:
        write_memory(writer, position);
        break;
    case GROUP_LOCAL:
        ptx_local_write(writer, position);
        break;
    case GROUP_REPORT:
        (inst->op == OP_CHECK ? ptx_report_check : ptx_report_print)(writer, position);
        break;
    case GROUP_STMT:
        return ptx_stmt_write(writer, position);
    default:
        return ptx_region_write(writer, position);
    }
    return true;
}

/* All instructions, those of callables where they are called. */
static bool write_body(PtxWriter *writer)
{
    TRY(ptx_region_enter(writer, writer->root, writer->root->callable_count), false);
    PtxFrame *root = writer->frame;
    bool ok = true;
    while (ok && (writer->frame != root || root->at < root->program->inst_count)) {
        const uint32_t position = writer->frame->at++;
        const uint32_t copies = is_shared(writer, position) ? 1 : writer->copies;
        for (uint32_t copy = 0; ok && copy < copies; ++copy) {
            writer->copy = copy;
            ok = write_inst(writer, position);
        }
        writer->copy = 0;
    }
    while (writer->frame)
        ptx_region_leave(writer);
    return ok;
}

/* ---- the frame */

static bool may_be_wide(const Inst *inst)
{
    enum { ALLOWED = GROUP_LEAF | GROUP_ARITH | GROUP_CONVERT };
    return op_info[inst->op].group & ALLOWED;
}

/* Does the kernel stream through arrays? Then a thread has several lanes, so that its
 * accesses are 16 bytes. */
static bool is_wide(const Program *p)
{
    uint32_t loads = 0, stores = 0, operations = 0;
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        const Inst *inst = &p->insts[i];
        if (!may_be_wide(inst))
            return false;
        loads += inst->op == OP_LOAD && !(inst->flags & INST_UNIFORM);
        stores += inst->op == OP_STORE;
        operations += op_info[inst->op].group != GROUP_LEAF;
    }
    return loads && stores && operations <= WIDE_OPERATIONS;
}

/* Bytes of its parameters. */
static uint32_t param_bytes(const Program *p, const PtxKernel *kernel)
{
    const uint32_t words = kernel->words_in_memory ? 1 : p->param_count;
    return (uint32_t) (sizeof(PtxLaunch) + words * sizeof(uint64_t));
}

/* The thread's lanes, of which the first one is there: others return. */
static void write_lanes(PtxWriter *writer)
{
    PtxText *text = &writer->text;
    PtxArg lane = ptx_text_new(text, PTX_B32), left = ptx_text_new(text, PTX_B32);
    PtxArg thread = ptx_text_new(text, PTX_B64);
    /* In 64 bits, as the last block may go beyond 2^32 threads. */
    ptx_text_put(text, VarTypeUInt32,
                 "mov.u32 $x, %ctaid.x; mov.u32 $y, %ntid.x; mov.u32 $z, %tid.x; "
                 "cvt.u64.u32 $v, $z; mad.wide.u32 $0, $x, $y, $v",
                 thread);
    if (writer->copies > 1)
        ptx_text_put(text, VarTypeUInt32, "mul.lo.u64 $0, $0, $1", thread,
                     ptx_number(writer->copies));
    ptx_text_put(text, VarTypeUInt32,
                 "ld.param.v2.u32 {$0, $1}, [params]; sub.u32 $1, $1, $0; "
                 "cvt.u64.u32 $v, $1; setp.ge.u64 $p, $2, $v; @$p ret; "
                 "cvt.u32.u64 $x, $2; add.u32 $0, $0, $x",
                 lane, left, thread);
    if (writer->copies > 1)
        ptx_text_put(text, VarTypeUInt32, "cvt.u32.u64 $x, $1; sub.u32 $0, $0, $x",
                     left, thread);
    writer->lane[0] = lane;
    for (uint32_t k = 0; writer->copies > 1 && k < writer->copies; ++k) {
        if (k > 0) {
            writer->lane[k] = ptx_text_new(text, PTX_B32);
            ptx_text_put(text, VarTypeUInt32, "add.u32 $0, $1, $2", writer->lane[k],
                         lane, ptx_number(k));
        }
        writer->exists[k] = ptx_text_new(text, PTX_PRED);
        ptx_text_put(text, VarTypeUInt32, "setp.gt.u32 $0, $1, $2", writer->exists[k],
                     left, ptx_number(k));
    }
}

/* Where the words are: a register of their address, PTX_NONE: behind PtxLaunch. */
static PtxArg words_address(PtxWriter *writer, const PtxKernel *kernel)
{
    if (!kernel->words_in_memory)
        return PTX_NONE;
    PtxArg address = ptx_text_new(&writer->text, PTX_B64);
    ptx_text_put(&writer->text, VarTypePointer, "ld.param.$b $0, [params+$1]", address,
                 ptx_number(sizeof(PtxLaunch)));
    return address;
}

/* Arrays are addresses; values have types of their own. */
static void write_params(PtxWriter *writer, const PtxKernel *kernel)
{
    PtxText *text = &writer->text;
    const PtxArg words = words_address(writer, kernel);
    char pattern[PTX_PATTERN_SIZE];
    for (uint32_t i = 0; i < writer->root->param_count; ++i) {
        const Param *param = &writer->root->params[i];
        const VarType type =
            param->kind == PARAM_VALUE ? (VarType) param->type : VarTypePointer;
        const bool is_mask = type == VarTypeBool;
        const uint32_t before = words == PTX_NONE ? sizeof(PtxLaunch) : 0;
        writer->params[i] = ptx_text_new_value(text, type);
        PTX_JOIN(pattern, words == PTX_NONE ? "ld.param.$m " : "ld.global.nc.$m ",
                 is_mask ? "$x" : "$0",
                 words == PTX_NONE ? ", [params+$1]" : ", [$2+$1]",
                 is_mask ? "; and.b32 $x, $x, 1; setp.ne.u32 $0, $x, 0" : "");
        ptx_text_put(text, type, pattern, writer->params[i], ptx_number(before + 8 * i),
                     words);
    }
}

static void put_part(Text *out, const Text *part)
{
    if (part->data)
        text_put_n(out, part->data, part->size);
    out->failed = out->failed || part->failed;
}

/* The oldest version of PTX that knows the target. */
static const char *version_for(uint32_t sm)
{
    return sm >= 120 ? "8.7" : sm >= 100 ? "8.6" : "8.2";
}

static void assemble(const PtxWriter *writer, Hash128 hash, const PtxKernel *kernel,
                     Text *out)
{
    char name[PTX_NAME_SIZE];
    ptx_kernel_name(hash, name);
    text_put(out, ".version ");
    text_put(out, version_for(writer->target->sm));
    text_put(out, "\n.target sm_");
    text_put_u64(out, writer->target->sm);
    text_put(out, "\n.address_size 64\n\n");
    put_part(out, &writer->text.module);
    text_put(out, ".visible .entry ");
    text_put(out, name);
    text_put(out, "(.param .align 8 .b8 params[");
    text_put_u64(out, param_bytes(writer->root, kernel));
    text_put(out, "])\n{\n");
    ptx_text_registers(&writer->text, out);
    put_part(out, &writer->locals);
    put_part(out, &writer->text.body);
    text_put(out, "\tret;\n}\n");
}

static bool write_kernel(PtxWriter *writer, Hash128 hash, const PtxKernel *kernel,
                         Text *out)
{
    const Program *root = writer->root;
    for (uint32_t i = 0; i <= root->callable_count; ++i) {
        const Program *p = i < root->callable_count ? root->callables[i] : root;
        ptx_local_declare(writer, p, i);
        ptx_report_count(writer, p);
    }
    write_lanes(writer);
    write_params(writer, kernel);
    TRY(write_body(writer), false);
    assemble(writer, hash, kernel, out);
    return text_get(out) != NULL;
}

bool ptx_kernel_write(const Program *program, Hash128 hash, const PtxTarget *target,
                      Text *out, PtxKernel *kernel)
{
    PtxWriter *writer = alloc_zero(1, sizeof *writer);
    TRY(writer, false);
    writer->root = program;
    writer->target = target;
    writer->copies = is_wide(program) ? PTX_LANES_MOST : 1;
    writer->params = alloc_zero(program->param_count + 1u, sizeof(PtxArg));
    *kernel = (PtxKernel){ .lanes = writer->copies };
    kernel->words_in_memory = param_bytes(program, kernel) >
                              (target->sm >= 70 ? PARAMS_MOST_70 : PARAMS_MOST);
    bool ok = writer->params && write_kernel(writer, hash, kernel, out);
    alloc_free(writer->params);
    text_free(&writer->locals);
    ptx_text_free(&writer->text);
    alloc_free(writer);
    return ok;
}
