/*
 * test_command_fits.c -- does command_fits() tell what a command reads and writes?
 *
 * Commands of all kinds that have a row, with parameters of any size. For each slot the
 * least number of bytes is looked for that fits, and the command is run on as many,
 * behind which nothing can be accessed. What it is to write, it has written to the end.
 */
#include "test_util.h"

#include <sys/mman.h>

#include "device/buffer.h"
#include "device/device.h"
#include "device/stream.h"
#include "ir/reduce_rule.h"
#include "ir/type.h"

enum { ROUNDS = 6000, MOST_BYTES = 1 << 16, PAGE = 4096, JUNK = 0xcd };

static char *memory[COMMAND_SLOTS];

static uint64_t below(uint64_t n) { return random_bits() % n; }

/* A size: mostly small, sometimes none, seldom enormous. */
static size_t any_size(void)
{
    static const size_t special[] = { 0, SIZE_MAX, (size_t) 1 << 40, SIZE_MAX / 2 + 1,
                                      UINT32_MAX, 64, 1000 };
    return below(10) ? 1 + below(below(3) ? 4 : 40) : special[below(COUNT_OF(special))];
}

static VarType any_type(void)
{
    static const VarType types[] = { VarTypeUInt8, VarTypeFloat16, VarTypeUInt32,
                                     VarTypeFloat32, VarTypeInt64, VarTypeFloat64 };
    return types[below(COUNT_OF(types))];
}

/* A product of some parameters, most of the time. */
static uint64_t size_of(uint64_t whole)
{
    return below(4) ? whole * (1 + below(3)) : any_size();
}

static void set_gemm(Command *c)
{
    GemmShape *s = c->data;
    s->m = any_size();
    s->n = any_size();
    s->k = any_size();
    s->row_a = any_size();
    s->row_b = any_size();
    s->transpose_a = below(2);
    s->transpose_b = below(2);
    s->axes = 1;
    s->axis[0] = (GemmAxis) { any_size(), any_size(), any_size() };
    c->gemm.type = VarTypeFloat32;
    c->size = below(8) ? s->m * s->n * s->axis[0].extent : any_size();
}

static void set_parameters(Command *c)
{
    switch (c->kind) {
    case COMMAND_FILL:
    case COMMAND_POKE:
        c->fill.item_size = 1u << below(4);
        c->size = any_size();
        break;
    case COMMAND_REDUCE:
    case COMMAND_PREFIX:
        c->reduce.type = any_type();
        c->reduce.op = ReduceOpAdd;
        c->reduce.block = any_size();
        c->reduce.stride = below(2) ? 1 : any_size();
        c->reduce.exclusive = below(2);
        c->reduce.reverse = below(2);
        c->size = size_of(c->reduce.block * c->reduce.stride);
        break;
    case COMMAND_PERMUTATION:
        c->permutation.block = 1 + (uint32_t) below(50);
        c->permutation.buckets = 1 + (uint32_t) below(20);
        c->size = any_size();
        break;
    case COMMAND_SORT:
        c->sort.type = any_type();
        c->sort.block = any_size();
        c->sort.descending = below(2);
        c->sort.indices = below(2);
        c->size = size_of(c->sort.block);
        break;
    case COMMAND_TRANSPOSE:
        c->transpose.type = any_type();
        c->transpose.rows = any_size();
        c->transpose.columns = any_size();
        c->transpose.items = any_size();
        c->size = size_of(c->transpose.rows * c->transpose.columns *
                          c->transpose.items);
        break;
    case COMMAND_COMBINE:
        c->combine.type = VarTypeFloat32;
        c->combine.op = ReduceOpAdd;
        c->combine.stride = any_size();
        c->combine.copies = 1 + (uint32_t) below(5);
        c->size = any_size();
        break;
    case COMMAND_GEMM: set_gemm(c); break;
    default:
        c->dot.type = VarTypeFloat32;
        c->size = any_size();
        if (c->kind == COMMAND_ORDERED)
            c->ordered.op = ReduceOpAdd;
    }
}

static Command *make_command(CommandKind kind)
{
    const SlotInfo *slots = command_info[kind].slots;
    uint32_t count = 0;
    while (slots[count].access && (!slots[count].optional || below(2)))
        ++count;
    const size_t data = kind == COMMAND_GEMM ? sizeof(GemmShape) + sizeof(GemmAxis) : 0;
    Command *c = command_create(device_find(CPU, 0), kind, 0, count, data);
    assert_non_null(c);
    for (uint32_t i = 0; i < count; ++i)
        c->slots[i] = (Slot) { .bytes = MOST_BYTES, .access = slots[i].access,
                               .word = SLOT_NO_WORD,
                               .buffer = (Buffer *) memory[i] /* none is another */ };
    set_parameters(c);
    return c;
}

/* The least bytes of a slot with which a command fits that does with more. */
static void shrink(Command *c, uint32_t slot)
{
    size_t *bytes = &c->slots[slot].bytes, no = 0, yes = *bytes;
    while (no + 1 < yes) {
        *bytes = no + (yes - no) / 2;
        *(command_fits(c) ? &yes : &no) = *bytes;
    }
    *bytes = yes;
}

/* Memory that ends with the slot: masks are true, all else is 0. */
static void fill_slot(Command *c, uint32_t slot)
{
    const SlotInfo *info = &command_info[c->kind].slots[slot];
    const size_t bytes = c->slots[slot].bytes;
    char *address = memory[slot] + MOST_BYTES - bytes;
    memset(address, info->access == SLOT_WRITE ? JUNK : info->entry == ENTRY_1, bytes);
    Buffer *buffer = buffer_map(c->device, address, bytes, NULL, NULL);
    assert_non_null(buffer);
    command_set_slot(c, slot, buffer, 0, bytes, (SlotAccess) c->slots[slot].access);
    buffer_release(buffer);
}

/* Is the last entry of a slot as it was before? */
static bool is_junk(CommandKind kind, uint32_t slot)
{
    const bool records = kind == COMMAND_PERMUTATION && slot == 3; /* at most */
    return !records && (unsigned char) memory[slot][MOST_BYTES - 1] == JUNK;
}

static void test_extents(void **unused)
{
    (void) unused;
    uint32_t ran[COMMAND_COUNT] = { 0 }, refused = 0;
    for (uint32_t i = 0; i < ROUNDS; ++i) {
        const CommandKind kind = (CommandKind) below(COMMAND_COUNT);
        if (!command_info[kind].slots[0].access)
            continue;
        Command *c = make_command(kind);
        const uint32_t count = c->slot_count;
        if (command_fits(c)) {
            for (uint32_t k = 0; k < count; ++k)
                shrink(c, k);
            for (uint32_t k = 0; k < count; ++k)
                fill_slot(c, k);
            assert_true(stream_submit(stream_self(c->device), c));
            OK(jit_sync_thread());
            for (uint32_t k = 0; k < count; ++k)
                if (command_info[kind].slots[k].access == SLOT_WRITE)
                    assert_false(is_junk(kind, k));
            ++ran[kind];
        } else {
            for (uint32_t k = 0; k < count; ++k)
                c->slots[k].buffer = NULL;
            command_free(c);
            ++refused;
        }
    }
    assert_true(refused > 100);
    for (uint32_t kind = 0; kind < COMMAND_COUNT; ++kind)
        if (command_info[kind].slots[0].access && ran[kind] < 50)
            fail_msg("%s: %u were run", command_info[kind].name, ran[kind]);
}

/* What is written is not read, but by kinds that say so. */
static void test_apart(void **unused)
{
    (void) unused;
    for (uint32_t kind = 0; kind < COMMAND_COUNT; ++kind) {
        const SlotInfo *slots = command_info[kind].slots;
        if (slots[0].access != SLOT_READ)
            continue;
        bool fits = false, same = false;
        for (uint32_t i = 0; !fits && i < ROUNDS; ++i) {
            Command *c = make_command((CommandKind) kind);
            uint32_t written = 0;
            while (slots[written].access == SLOT_READ)
                ++written;
            fits = command_fits(c);
            c->slots[written].buffer = c->slots[0].buffer;
            same = command_fits(c);
            for (uint32_t k = 0; k < c->slot_count; ++k)
                c->slots[k].buffer = NULL;
            command_free(c);
            if (fits)
                assert_int_equal(same, slots[written].over);
        }
        assert_true(fits);
    }
}

int main(void)
{
    OK(jit_init(CPU));
    for (uint32_t i = 0; i < COMMAND_SLOTS; ++i) {
        memory[i] = mmap(NULL, MOST_BYTES + PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(memory[i] != MAP_FAILED);
        assert_int_equal(mprotect(memory[i] + MOST_BYTES, PAGE, PROT_NONE), 0);
    }
    const struct CMUnitTest tests[] = { TEST(test_extents), TEST(test_apart) };
    return cmocka_run_group_tests(tests, NULL, NULL) || jit_shutdown(0) != 0;
}
