/*
 * x86_code.c -- where code grows: the buffer, labels and jumps, data and padding
 *
 * Nothing here knows a row of x86.def; x86.c writes instructions into this buffer.
 *
 * A reference to a label is a field whose value counts from the field itself: an addend
 * that makes up for what the processor counts from, plus the distance to the label. The
 * distance is added at once for bound labels, by x86_finish() for the others.
 */
#include "engine/native/x86/asm/x86_code.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "engine/native/x86/asm/x86_text.h"
#include "os/pages.h"

/* An instruction has at most 15 bytes and is written with stores of up to 8. Four
 * copies of one are written without looking at the limit again. */
#define SLACK 96
#define FIRST_CAPACITY 4096
#define MAX_CAPACITY (1u << 30)

typedef struct X86Fixup {
    uint32_t at, label;
    uint32_t size; /* bytes of the field: 1 or 4 */
} X86Fixup;

/* ---- The buffer ---- */

void x86_init(X86 *x)
{
    memset(x, 0, sizeof(*x));
}

void x86_free(X86 *x)
{
    alloc_free(x->code);
    alloc_free(x->labels);
    alloc_free(x->fixups);
    memset(x, 0, sizeof(*x));
}

void x86_reset(X86 *x)
{
    x->at = x->code;
    if (!x->code)
        x->limit = NULL;
    x->label_count = x->fixup_count = 0;
    x->failed = false;
}

size_t x86_capacity(const X86 *x)
{
    return x->code ? (size_t) (x->limit - x->code) + SLACK : 0;
}

void x86_grow(X86 *x, size_t size)
{
    const size_t used = (size_t) (x->at - x->code);
    size_t capacity = 2 * used > FIRST_CAPACITY ? 2 * used : FIRST_CAPACITY;
    uint8_t *code = NULL;
    if (!x->failed) {
        if (capacity < used + size + 2 * SLACK)
            capacity = used + size + 2 * SLACK;
        if (size <= MAX_CAPACITY && capacity <= MAX_CAPACITY)
            code = alloc_resize(x->code, capacity);
        else
            error_set(JIT_ERROR_COMPILE, "native engine: a kernel has more than %u "
                "bytes of machine code", MAX_CAPACITY);
    }
    if (code) {
        pages_touch(code + used, capacity - used);
        x->code = code;
        x->at = code + used;
        x->limit = code + capacity - SLACK;
    } else {
        x->failed = true;
        x->at = x->code ? x->code : x->spare;
        if (!x->code)
            x->limit = x->spare;
    }
}

/* ---- Labels ---- */

X86Label x86_label(X86 *x)
{
    if (x->failed || !vec_reserve(&x->labels, &x->label_capacity, x->label_count + 1,
            sizeof(*x->labels))) {
        x->failed = true;
        return 0;
    }
    x->labels[x->label_count] = X86_UNBOUND;
    return x->label_count++;
}

void x86_bind(X86 *x, X86Label label)
{
    if (x->failed)
        return;
    x->labels[label] = x86_position(x);
    if (x->listing)
        x86_list_label(x, label);
}

/* Add a distance to the field of 'size' bytes that holds the addend. */
static bool patch(X86 *x, uint8_t *at, uint32_t distance, uint32_t size)
{
    uint32_t value;
    if (size == 4) {
        memcpy(&value, at, sizeof(value));
        x86_put32(at, value + distance);
        return true;
    }
    value = (uint32_t) (int8_t) *at + distance;
    *at = (uint8_t) value;
    if ((int32_t) value == (int8_t) value)
        return true;
    x->failed = true;
    return error_set(JIT_ERROR_COMPILE, "native engine: a short jump over %d bytes",
        (int32_t) value);
}

void x86_refer(X86 *x, uint8_t *at, X86Label label, int32_t addend, uint32_t size)
{
    if (x->failed)
        return;
    const uint32_t position = (uint32_t) (at - x->code);
    if (size == 1)
        *at = (uint8_t) addend;
    else
        x86_put32(at, (uint32_t) addend);
    if (x->labels[label] != X86_UNBOUND)
        patch(x, at, x->labels[label] - position, size);
    else if (vec_reserve(&x->fixups, &x->fixup_capacity, x->fixup_count + 1,
            sizeof(*x->fixups)))
        x->fixups[x->fixup_count++] = (X86Fixup){ position, label, size };
    else
        x->failed = true;
}

bool x86_finish(X86 *x)
{
    TRY(!x->failed, false);
    for (uint32_t i = 0; i < x->fixup_count; i++) {
        const X86Fixup fixup = x->fixups[i];
        const uint32_t target = x->labels[fixup.label];
        if (target == X86_UNBOUND) {
            x->failed = true;
            return error_set(JIT_ERROR_COMPILE,
                "native engine: label %u is used but not bound", fixup.label);
        }
        TRY(patch(x, x->code + fixup.at, target - fixup.at, fixup.size), false);
    }
    x->fixup_count = 0;
    return true;
}

/* ---- Jumps ---- */

/* An instruction of one or two opcode bytes and a field of 'size' bytes. */
static void jump(X86 *x, X86Label label, const char *name, uint32_t opcode,
    uint32_t opcode_size, uint32_t size)
{
    if (x->copies.count > 1)
        *x->copies.refused = true;
    if (x->at >= x->limit)
        x86_grow(x, 0);
    if (x->listing)
        x86_list_jump(x, name, label);
    x86_put16(x->at, (uint16_t) opcode);
    x86_refer(x, x->at + opcode_size, label, -(int32_t) size, size);
    x->at += opcode_size + size;
}

/* Is the label bound and within reach of a short jump from here? */
static bool is_near(const X86 *x, X86Label label)
{
    return !x->failed && x->labels[label] != X86_UNBOUND
        && x86_position(x) + 2 - x->labels[label] <= 128;
}

void x86_jmp(X86 *x, X86Label label)
{
    if (is_near(x, label))
        x86_jmp_short(x, label);
    else
        jump(x, label, "jmp", 0xE9, 1, 4);
}

void x86_jmp_short(X86 *x, X86Label label)
{
    jump(x, label, "jmp", 0xEB, 1, 1);
}

void x86_jcc(X86 *x, X86Cond cond, X86Label label)
{
    if (is_near(x, label))
        x86_jcc_short(x, cond, label);
    else
        jump(x, label, x86_jcc_names[cond], 0x800F + ((uint32_t) cond << 8), 2, 4);
}

void x86_jcc_short(X86 *x, X86Cond cond, X86Label label)
{
    jump(x, label, x86_jcc_names[cond], 0x70 + (uint32_t) cond, 1, 1);
}

void x86_call(X86 *x, X86Label label)
{
    jump(x, label, "call", 0xE8, 1, 4);
}

/* ---- Data and padding ---- */

void x86_bytes(X86 *x, const void *data, size_t size)
{
    if (x->failed || size == 0)
        return;
    if (x->at >= x->limit || size > (size_t) (x->limit - x->at)) {
        x86_grow(x, size);
        if (x->failed)
            return;
    }
    memcpy(x->at, data, size);
    x->at += size;
}

/* Bytes from here to a multiple of 'alignment'. */
static uint32_t gap(const X86 *x, uint32_t alignment)
{
    return (0u - x86_position(x)) & (alignment - 1);
}

void x86_align_data(X86 *x, uint32_t alignment)
{
    static const uint8_t zeros[64];
    x86_bytes(x, zeros, gap(x, alignment));
}

void x86_align(X86 *x, uint32_t alignment)
{
    /* By size: nop dword ptr [rax + rax + 0] and its shorter forms. */
    static const uint8_t nops[10][9] = {
        { 0 },
        { 0x90 },
        { 0x66, 0x90 },
        { 0x0F, 0x1F, 0x00 },
        { 0x0F, 0x1F, 0x40, 0x00 },
        { 0x0F, 0x1F, 0x44, 0x00, 0x00 },
        { 0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00 },
        { 0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00 },
        { 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
        { 0x66, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
    };
    uint32_t left = gap(x, alignment), size;
    for (; left > 0; left -= size) {
        size = left < 9 ? left : 9;
        if (x->listing)
            x86_list_nop(x);
        x86_bytes(x, nops[size], size);
    }
}

void x86_distance(X86 *x, X86Label target, X86Label base)
{
    if (x->at >= x->limit)
        x86_grow(x, 0);
    if (x->failed)
        return;
    x86_refer(x, x->at, target, (int32_t) (x86_position(x) - x->labels[base]), 4);
    x->at += 4;
}
