/*
 * show.c -- see show.h
 */
#include "trace/array/show.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/device.h"
#include "engine/interp/interp.h"
#include "kernel/cache.h"
#include "trace/array/array.h"
#include "freeze/freezing.h"
#include "trace/graph/region.h"

/* ----------------------------------------------------------------- entries */

#define SHOWN_WHOLE 20u /* longer arrays show their ends only */
#define SHOWN_ENDS 3u

static double half_to_double(uint16_t half)
{
    uint64_t bits[3] = { half }, wide = 0;
    interp_fold(OP_CAST, VarTypeFloat64, VarTypeFloat16, bits, &wide);
    double value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

static void put_entry(Text *out, VarType type, const void *entry)
{
    union {
        int8_t i8; uint8_t u8; int16_t i16; uint16_t u16; int32_t i32; uint32_t u32;
        int64_t i64; uint64_t u64; float f32; double f64;
    } v;
    memcpy(&v, entry, type_info[type].size);
    switch (type) {
        case VarTypeBool: text_put(out, v.u8 ? "True" : "False"); break;
        case VarTypeInt8: text_put_i64(out, v.i8); break;
        case VarTypeUInt8: text_put_u64(out, v.u8); break;
        case VarTypeInt16: text_put_i64(out, v.i16); break;
        case VarTypeUInt16: text_put_u64(out, v.u16); break;
        case VarTypeInt32: text_put_i64(out, v.i32); break;
        case VarTypeUInt32: text_put_u64(out, v.u32); break;
        case VarTypeInt64: text_put_i64(out, v.i64); break;
        case VarTypeUInt64: text_put_u64(out, v.u64); break;
        case VarTypePointer:
            text_putf(out, "0x%llx", (unsigned long long) v.u64);
            break;
        case VarTypeFloat16: text_putf(out, "%g", half_to_double(v.u16)); break;
        case VarTypeFloat32: text_putf(out, "%g", (double) v.f32); break;
        default: text_putf(out, "%g", v.f64); break;
    }
}

static void put_entries(Text *out, VarType type, uint32_t size, const char *data,
                        uint32_t stride)
{
    text_put_char(out, '[');
    for (uint32_t i = 0; i < size; ++i) {
        if (i)
            text_put(out, ", ");
        if (size > SHOWN_WHOLE && i == SHOWN_ENDS) {
            text_putf(out, ".. %u skipped ..", size - 2 * SHOWN_ENDS);
            i = size - SHOWN_ENDS - 1;
            continue;
        }
        put_entry(out, type, data + (size_t) i * stride);
    }
    text_put_char(out, ']');
}

bool show_entries(ThreadState *ts, VarId id, Text *out)
{
    if (!var_exists(id))
        return error_set(JIT_ERROR_ARGUMENT, "jit_var_str(): r%u is not a variable",
                         id);
    const Var *v = var_get(id);
    if (var_lanes(v) == 0) {
        text_put(out, "[]");
        return true;
    }
    if (v->op == OP_LITERAL) {
        uint64_t bits = v->value.literal;
        put_entries(out, (VarType) v->type, node_number(ts, id), (const char *) &bits,
                    0);
        return true;
    }
    void *data, *copy = NULL;
    VarId evaluated = array_data(ts, id, &data);
    TRY(evaluated, false);
    v = var_get(evaluated);
    const Buffer *buffer = v->value.buffer;
    if (!buffer_host(buffer)) {
        data = copy = alloc_get(buffer->size);
        if (copy && !buffer_read(buffer, 0, copy, buffer->size))
            data = NULL;
    }
    if (data)
        put_entries(out, (VarType) v->type, node_number(ts, evaluated), data,
                    type_info[v->type].size);
    alloc_free(copy);
    var_dec(evaluated);
    return data != NULL;
}

/* -------------------------------------------------------------------- whos */

VarState show_state(VarId id)
{
    const Var *v = var_get(id);
    if (v->flags & VAR_SYMBOLIC)
        return VarStateSymbolic;
    switch (v->op) {
        case OP_LITERAL: return VarStateLiteral;
        case OP_UNDEFINED: return v->flags & VAR_CONSUMED ? VarStateInvalid
                                                          : VarStateUndefined;
        case OP_EVALUATED:
            return v->pending ? VarStateDirty
                   : var_lanes(v)  ? VarStateEvaluated
                              : VarStateInvalid;
        default: return VarStateUnevaluated;
    }
}

static const char *const state_name[] = {
    "invalid", "undefined", "literal", "unevaluated", "evaluated", "dirty", "symbolic",
    "mixed"
};

/* The label, of regions their name. */
static const char *label_of(const Var *v)
{
    return v->op == OP_REGION && v->region->name ? v->region->name : extra_label(v);
}

static void put_whos_row(Text *out, VarId id, uint64_t *device, uint64_t *unevaluated)
{
    const Var *v = var_get(id);
    uint64_t bytes = var_bytes(v);
    bool stored = v->op == OP_EVALUATED;
    *(stored ? device : unevaluated) += stored || v->op != OP_LITERAL ? bytes : 0;
    Text storage = { 0 };
    if (stored)
        text_put_bytes(&storage, bytes);
    const char *size = text_get(&storage);
    text_putf(out, "  %-8u %-9s %-12s %-8u %-11u %-11s %s\n", id,
              type_info[v->type].short_name, state_name[show_state(id)], v->refs,
              var_lanes(v), size ? size : "", label_of(v));
    text_free(&storage);
}

static void put_memory_row(Text *out, const Device *device)
{
    BufferStats memory = buffer_stats(device);
    text_putf(out, "   - %-8s: ", device->name);
    text_put_bytes(out, memory.used);
    text_put(out, " used, ");
    text_put_bytes(out, memory.cached);
    text_put(out, " cached (peak: ");
    text_put_bytes(out, memory.watermark);
    text_put(out, ").\n");
}

void show_whos(Text *out)
{
    static const char rule[] =
        "  ========================================================================\n";
    uint64_t device = 0, unevaluated = 0;
    uint32_t count = 0;
    text_put(out,
             "\n  ID       Type      Status       Refs     Size        Storage     "
             "Label\n");
    text_put(out, rule);
    for (VarId id = 1; id < var_table.end; ++id) {
        if (!var_exists(id) || var_get(id)->op == OP_POINTER)
            continue;
        put_whos_row(out, id, &device, &unevaluated);
        count++;
    }
    if (!count)
        text_put(out, "                       -- No variables registered --\n");
    text_put(out, rule);
    CacheStats cache = cache_stats();
    text_put(out, "\n  JIT compiler\n  ============\n   - Storage           : ");
    text_put_bytes(out, device);
    text_put(out, " on device, ");
    text_put_bytes(out, unevaluated);
    text_putf(out,
              " unevaluated.\n   - Variables created : %llu (peak: %u, table size: ",
              (unsigned long long) var_table.created, var_table.peak);
    text_put_bytes(out, (uint64_t) var_table.chunk_count * VAR_CHUNK * sizeof(Var));
    text_putf(
        out,
        ").\n   - Kernel launches   : %llu (%llu cache hits, %llu soft, %llu hard "
        "misses).\n",
        (unsigned long long) state.launches, (unsigned long long) cache.hits,
        (unsigned long long) cache.soft_misses, (unsigned long long) cache.hard_misses);
    text_put(out, "\n  Memory allocator\n  ================\n");
    for (uint32_t i = 0; device_at(i); ++i)
        put_memory_row(out, device_at(i));
}

/* ---------------------------------------------------------------- graphviz */

static const char *const state_color[] = {
    "lightgray", "white", "lightyellow", "white", "lightblue", "salmon", "plum", "white"
};

/* Labels come from users: quote what the dot language would misread. */
static void put_quoted(Text *out, const char *text)
{
    for (; *text; ++text) {
        if (*text == '"' || *text == '\\' || strchr("{}|<>", *text))
            text_put_char(out, '\\');
        text_put_char(out, *text);
    }
}

void show_graphviz(Text *out)
{
    text_put(out,
             "digraph {\n    rankdir=TB;\n    node [shape=record fontname=Consolas "
             "style=filled];\n");
    for (VarId id = 1; id < var_table.end; ++id) {
        if (!var_exists(id))
            continue;
        const Var *v = var_get(id);
        text_putf(out, "    %u [label=\"{", id);
        if (*label_of(v)) {
            put_quoted(out, label_of(v));
            text_put_char(out, '|');
        }
        text_putf(out, "%s|{%s|r%u|S:%u|R:%u}}\" fillcolor=%s];\n", op_info[v->op].name,
                  type_info[v->type].name, id, var_lanes(v), v->refs,
                  state_color[show_state(id)]);
        uint32_t count;
        const VarId *ids = var_operands(v, &count);
        for (uint32_t i = 0; i < count; ++i)
            if (ids[i])
                text_putf(out, "    %u -> %u [label=\" %u\"];\n", ids[i], id, i + 1);
    }
    text_put(out, "}\n");
}
