/*
 * export_kernels.c -- NAME_kernels.S: machine code and constants, as bytes
 *
 * The code has no addresses in it: its constants, its frame and the arrays come with
 * each call. So bytes are all there is to write, and symbols for their beginnings.
 */
#include <string.h>

#include "base/alloc.h"
#include "export/export_plan.h"

/* Words, and the bytes that are left. */
static void put_bytes(Text *out, const void *data, size_t size)
{
    enum { WORD = 8, IN_LINE = 4 };
    const uint8_t *bytes = data;
    for (size_t i = 0; i + WORD <= size; i += WORD) {
        uint64_t word;
        memcpy(&word, bytes + i, WORD);
        text_put(out, i / WORD % IN_LINE ? ", 0x" : i ? "\n    .quad 0x"
                                                      : "    .quad 0x");
        text_put_hex64(out, word);
    }
    text_put(out, size >= WORD ? "\n" : "");
    for (size_t i = size / WORD * WORD; i < size; ++i)
        text_putf(out, "    .byte 0x%02x\n", bytes[i]);
}

/* What can be named in other files of the library, and nowhere else. */
static void put_symbol(const ExportPlan *p, Text *out, const char *kind,
                       uint32_t number, const char *type)
{
    text_putf(out, "\n    .balign 64\n    .globl %s_%s_%u\n    .hidden %s_%s_%u\n"
              "    .type %s_%s_%u, @%s\n%s_%s_%u:\n",
              p->name, kind, number, p->name, kind, number, p->name, kind, number, type,
              p->name, kind, number);
}

/* Loads of whole vectors may go on past the end. */
static void put_constant(const ExportPlan *p, Text *out, const char *kind,
                         uint32_t number, const void *data, size_t size)
{
    put_symbol(p, out, kind, number, "object");
    put_bytes(out, data, size);
    text_put(out, "    .zero 64\n");
}

static void put_constants(const ExportPlan *p, Text *out)
{
    const Recording *r = p->recording;
    for (uint32_t i = 0; i < r->constant_count; ++i) {
        const Buffer *buffer = r->constants[i];
        void *data = alloc_get(buffer->size);
        if (!data || !buffer_read(buffer, 0, data, buffer->size)) {
            alloc_free(data);
            out->failed = true;
            return;
        }
        put_constant(p, out, "constant", i, data, buffer->size);
        alloc_free(data);
    }
}

void export_kernels(const ExportPlan *p, Text *out)
{
    text_putf(out, "/* %s_kernels.S -- kernels (%s) and constants of %s() */\n"
              "    .section .rodata\n", p->name, p->isa, p->name);
    for (uint32_t i = 0; i < p->kernel_count; ++i)
        put_constant(p, out, "pool", i, p->kernels[i].code->pool,
                     p->kernels[i].pool_size);
    put_constants(p, out);
    text_put(out, "\n    .text\n");
    for (uint32_t i = 0; i < p->kernel_count; ++i) {
        put_symbol(p, out, "kernel", i, "function");
        put_bytes(out, p->kernels[i].bytes, p->kernels[i].size);
        text_putf(out, "    .size %s_kernel_%u, . - %s_kernel_%u\n", p->name, i,
                  p->name, i);
    }
    text_put(out, "\n    .section .note.GNU-stack, \"\", @progbits\n");
}
