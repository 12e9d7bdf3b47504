/*
 * native_engine.c -- the engine struct: compile
 *
 * See native.h for how code is generated, and native_launch.c for how it is launched.
 * Code, constants and the steps of the interpreter that it calls belong to the kernel.
 */
#include "engine/native/native_engine.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/interp/interp.h"
#include "engine/native/native_choose.h"
#include "engine/native/plan/native.h"
#include "engine/native/run/native_map.h"
#include "os/code_names.h"
#include "os/pages.h"

enum {
    REVISION = 1, /* part of the fingerprint: change it with the results */
    LINE = 64,
    COMPILE_NS_OP = 60,
    COMPILE_NS_FIXED = 5000
};

/* What compile() makes. */
typedef struct EngineCode {
    NativeCode native;
    NativeMapping mapping;
    uint32_t pool_size, step_count, extensions;
    void *debug;
} EngineCode;

/* ---- engine */

static bool available(void)
{
    return native_choose_target() ||
           error_set(JIT_ERROR_UNSUPPORTED,
                     "the native engine needs an x86-64 CPU with AVX2, FMA and F16C");
}

static uint64_t fingerprint(const Target *target)
{
    (void) target;
    const NativeTarget *own = native_choose_target();
    return own ? hash_64(own->name, strlen(own->name), REVISION) : 0;
}

static bool has_row(const NativeTarget *t, Op op, VarType type, VarType operand)
{
    if (!type_valid(type) && !type_valid(operand))
        return false;
    if (op == OP_CAST)
        return (*t->casts)[type][operand].emit;
    return (*t->rows)[op][operand].emit;
}

/* Is the legaliser's way better than a call of the interpreter's loop? */
static bool is_expanded(Op op, VarType operand)
{
    return op_info[op].group == GROUP_ARITH && op != OP_SELECT &&
           operand == VarTypeFloat16;
}

static bool supports(Op op, VarType type, VarType operand)
{
    enum { COMPUTED = GROUP_ARITH | GROUP_FUNCTION | GROUP_CONVERT | GROUP_TABLE |
                      GROUP_MEMORY };
    if (op == OP_PACKET_ITEM) /* of a packet that is there */
        return true;
    if (!(op_info[op].group & COMPUTED))
        return op != OP_STMT && op_is_defined(op, operand);
    const NativeTarget *t = native_choose_target();
    return t && (has_row(t, op, type, operand) ||
                 (!is_expanded(op, operand) &&
                  native_call_supports(op, type, operand)));
}

/* ---- compile */

/* What a compile wrote to is kept for the next one, if that is not too much: the first
 * touch of a page takes as long as the code of a dozen operations. Threads that compile
 * at the same time have memory of their own. */
static _Atomic(Native *) kept;
enum { MOST_KEPT = 1 << 22 /* bytes */ };

/* All but the memory that the next one may use, and what compile() was asked for. */
static void reset(Native *n)
{
    alloc_free(n->free_slots);
    alloc_free(n->helpers);
    alloc_free(n->snapshots);
    alloc_free(n->entries);
    alloc_free(n->streams);
    alloc_free(n->notes);
    alloc_free(n->vectors);
    *n = (Native){ .cpu = n->cpu,
                   .plan = n->plan,
                   .plan_size = n->plan_size,
                   .pool = n->pool,
                   .pool_capacity = n->pool_capacity,
                   .many_lanes = n->many_lanes,
                   .lists = n->lists };
    n->cpu->reset(n);
}

static void release_context(Native *n)
{
    if (!n)
        return;
    alloc_free(n->plan);
    alloc_free(n->pool);
    n->cpu->release(n);
}

static Native *begin_compile(const CodeSpec *spec, bool lists)
{
    Native *n = atomic_exchange_explicit(&kept, NULL, memory_order_acquire);
    if (!n) {
        const NativeCpu *cpu = native_choose_target()->cpu;
        TRY(n = cpu->create(), NULL);
        n->cpu = cpu;
    }
    n->many_lanes = spec->many_lanes;
    n->lists = lists;
    n->cpu->reset(n);
    return n;
}

static void end_compile(Native *n)
{
    n->lists = false;
    reset(n);
    bool keep = n->plan_size + n->pool_capacity + n->cpu->capacity(n) <= MOST_KEPT;
#if defined(JIT_HOSTILE)
    keep = false; /* so that each run asks for the same */
#endif
    if (keep)
        n = atomic_exchange_explicit(&kept, n, memory_order_acq_rel);
    release_context(n);
}

void *native_take_plan(Native *n, size_t size)
{
    if (size > n->plan_size) {
        alloc_free(n->plan);
        n->plan_size = 0;
        TRY(n->plan = alloc_get(size), NULL);
        n->plan_size = size;
        pages_touch(n->plan, size);
    }
    return n->plan;
}

static void emit_function(Native *n, const Program *program, uint32_t self)
{
    NativeFunction f = { 0 };
    if (native_build(n, &f, program, self))
        native_flow_function(n, &f);
    else
        n->failed = true;
    native_build_free(&f);
    n->area_first += n->area_most;
    n->area_most = 0;
}

static bool try_generate(Native *n, const Program *program)
{
    n->target = native_choose_target();
    n->lanes_table = interp_table();
    n->root_program = program;
    n->lanes = n->target->vector_bytes / (native_build_is_wide(program) ? 8 : 4);
    n->copies = 1;
    n->set_copies = native_choose_packets();
    n->general_free = n->cpu->general;
    n->hoisted_all = true;
    n->may_last = program_may_last(program);
    native_dispatch_choose(n);
    n->entries = alloc_get((program->callable_count + 1u) * sizeof(NativeLabel));
    n->streams = alloc_zero(program->param_count + 1u, sizeof(uint8_t));
    TRY(n->entries && n->streams, false);
    for (uint32_t i = 0; i < program->callable_count; ++i)
        n->entries[i] = n->cpu->label(n);
    emit_function(n, program, PROGRAM_NONE);
    for (uint32_t i = 0; i < program->callable_count && !n->failed; ++i)
        emit_function(n, program->callables[i], i);
    /* Where it failed, functions are missing: it is not their labels that are wrong. */
    return !n->refused && !n->failed && n->cpu->finish(n);
}

/* That rows cannot be copied turns out only when they are asked; few are like that. */
static bool generate(Native *n, const Program *program)
{
    n->most_copies = NATIVE_COPIES;
    bool ok = try_generate(n, program);
    while (n->refused) {
        uint32_t most = n->copies / 2;
        reset(n);
        n->most_copies = most;
        ok = try_generate(n, program);
    }
    return ok;
}

/* Arrays that are loaded or stored with an entry a lane: outputs first. Behind an array
 * there is as much as one packet reads, but not several. */
static void note_arrays(NativeCode *code, const Native *n, const Program *p,
                        uint8_t access)
{
    for (uint32_t slot = 0; slot < p->param_count; ++slot)
        if (n->streams[slot] & access)
            code->arrays[code->array_count++] =
                (NativeArray){ slot, type_info[p->params[slot].type].size };
}

static uint64_t note_streams(const Native *n, const Program *p)
{
    uint64_t streams = 0;
    for (uint32_t slot = 0; slot < p->param_count && slot < CPU_STREAMS; ++slot)
        if (n->streams[slot] & NATIVE_STORED && n->cpu->streams(n, &p->params[slot]))
            streams |= UINT64_C(1) << slot;
    return streams;
}

static bool make_arrays(NativeCode *code, const Native *n, const Program *p)
{
    code->arrays = alloc_get((p->param_count + 1u) * sizeof(NativeArray));
    TRY(code->arrays, false);
    note_arrays(code, n, p, NATIVE_STORED);
    code->output_count = code->array_count;
    if (code->packets > 1)
        note_arrays(code, n, p, NATIVE_LOADED);
    return true;
}

static void *copy_aligned(const void *data, size_t size)
{
    void *copy = alloc_aligned(size + LINE);
    if (copy && size) {
        pages_touch(copy, size);
        memcpy(copy, data, size);
    }
    return copy;
}

static void lay_out(NativeCode *code, const Native *n)
{
    size_t vector = n->target->vector_bytes;
    code->rows = n->most_rows;
    code->areas = sizeof(NativeFrame) + n->slot_count * n->copies * vector;
    code->row_area = code->areas + (n->area_first + LINE - 1) / LINE * LINE;
    code->locals = code->row_area + code->rows * (size_t) NATIVE_HELPER_BYTES +
                   (code->rows * sizeof(void *) + LINE - 1) / LINE * LINE;
    code->tail = code->locals + n->local_bytes;
    code->cpu.scratch = code->tail +
                        code->array_count * native_launch_tail_bytes(code) +
                        code->param_count * sizeof(uint64_t);
}

static void release(Code *base)
{
    EngineCode *code = (EngineCode *) (void *) base;
    if (code->debug)
        code_names_remove(code->debug);
    if (code->mapping.code)
        native_map_remove(&code->mapping);
    alloc_free(code->native.pool);
    alloc_free(code->native.steps);
    alloc_free(code->native.arrays);
    alloc_free(code);
}

static bool make_native(NativeCode *code, const Native *n, const Program *program)
{
    code->param_count = program->param_count;
    code->report = program->check_count ? program->param_count - 1 : PROGRAM_NONE;
    code->log =
        program->print_count ? program_find_param(program, PARAM_PRINT) : PROGRAM_NONE;
    code->lanes = n->lanes;
    code->packets = n->copies;
    code->cpu.streams = note_streams(n, program);
    code->vector_bytes = n->target->vector_bytes;
    code->mask_bits = n->target->registers[NATIVE_MASK];
    code->pool = copy_aligned(n->pool, n->pool_size);
    code->steps = copy_aligned(n->helpers, n->helper_count * sizeof(LaneStep));
    return code->pool && code->steps && make_arrays(code, n, program);
}

static bool make_code(EngineCode *code, Native *n, const Program *program, Hash128 hash)
{
    TRY(make_native(&code->native, n, program), false);
    TRY(native_map_add(&code->mapping, n->cpu->code(n), n->cpu->position(n)), false);
    memcpy(&code->native.entry, &code->mapping.code, sizeof code->native.entry);
    lay_out(&code->native, n);
    code->pool_size = n->pool_size;
    code->step_count = n->helper_count;
    code->extensions = n->extensions;
    code->debug = code_names_add(code->mapping.code, code->mapping.size, hash);
    return true;
}

static Code *compile(const Program *program, const CodeSpec *spec)
{
    TRY(available(), NULL);
    Native *n = begin_compile(spec, false);
    TRY(n, NULL);
    EngineCode *code = NULL;
    if (generate(n, program))
        code = alloc_zero(1, sizeof *code);
    if (code) {
        Code *base = &code->native.cpu.code;
        code->native.cpu = (CpuCode){ .code = { 1, release }, .run = native_launch,
                                      .adds = true, .lane_ps = 20 };
        if (!make_code(code, n, program, spec->hash)) {
            release(base);
            code = NULL;
        }
    }
    end_compile(n);
    return code ? &code->native.cpu.code : NULL;
}

bool native_parts(const Code *base, NativeParts *parts)
{
    const EngineCode *code = (const EngineCode *) (const void *) base;
    if (base->release != release)
        return false;
    *parts = (NativeParts){ .code = &code->native,
                            .bytes = code->mapping.code,
                            .size = code->mapping.size,
                            .pool_size = code->pool_size,
                            .step_count = code->step_count,
                            .target = native_choose_target()->name,
                            .extensions = code->extensions };
    return true;
}

/* ---- listing */

static const Program *noted_program(const Program *root, const NativeNote *note)
{
    return note->self == PROGRAM_NONE ? root : root->callables[note->self];
}

/* Each instruction of the Program, followed by those of the machine. */
static void write_listing(const Native *n, const Program *program, Text *out)
{
    uint32_t note = 0, self = PROGRAM_NONE;
    NativeLine line;
    text_putf(out, "%s, packets of %u lanes, %u bytes of code\n", n->target->name,
              n->lanes, n->cpu->position(n));
    for (uint32_t i = 0; n->cpu->line(n, i, &line); ++i) {
        for (; note < n->note_count && n->notes[note].code <= line.code; ++note) {
            if (n->notes[note].self != self)
                text_putf(out, "$%u:\n", self = n->notes[note].self);
            program_write_inst(noted_program(program, &n->notes[note]),
                               n->notes[note].at, out);
        }
        text_putf(out, "        %6x  ", line.code);
        text_put_n(out, line.text, line.length);
    }
}

static bool write_ir(const Program *program, const CodeSpec *spec, Text *out)
{
    TRY(available(), false);
    Native *n = begin_compile(spec, true);
    TRY(n, false);
    bool ok = generate(n, program);
    if (ok)
        write_listing(n, program, out);
    end_compile(n);
    return ok && text_get(out);
}

/* ---- the engine struct */

static size_t code_size(const Code *base)
{
    return ((const EngineCode *) (const void *) base)->mapping.size;
}

static uint64_t compile_estimate(const Program *program)
{
    uint64_t count = program->inst_count;
    for (uint32_t i = 0; i < program->callable_count; ++i)
        count += program->callables[i]->inst_count;
    return COMPILE_NS_FIXED + count * COMPILE_NS_OP;
}

const Engine native_engine = { .name = "native",
                               .code = CODE_CPU,
                               .instant = true,
                               .available = available,
                               .fingerprint = fingerprint,
                               .supports = supports,
                               .compile = compile,
                               .heeds_lanes = native_copies_heed_lanes,
                               .code_size = code_size,
                               .write_ir = write_ir,
                               .compile_estimate = compile_estimate };
