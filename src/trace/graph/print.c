/*
 * print.c -- see print.h
 *
 * What is delivered is one block of memory for each print: a JitPrintRecords with its
 * arrays after it.
 */
#include "trace/graph/print.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "trace/graph/current.h"
#include "trace/graph/mask.h"
#include "trace/graph/record.h"

enum { MOST_VALUES = 1024 };

struct Printer {
    Deferred last; /* the call that says good-bye; its first member */
    atomic_uint refs;
    size_t limit;
    PrintCallback callback;
    void *payload;
};

/* ----------------------------------------------------------------- printers */

Printer *print_printer(VarId id)
{
    Printer *printer = extra_find(var_get(id))->payload;
    print_retain(printer);
    return printer;
}

void print_retain(Printer *printer)
{
    atomic_fetch_add_explicit(&printer->refs, 1, memory_order_relaxed);
}

/* Now, or at the end of an evaluation in the midst of which this thread is. 'call' is
 * the first member of what is released after it. */
static void call_soon(Deferred *call, VarCallback callback, void *payload)
{
    const ThreadState *ts = thread_self.state;
    if (ts && ts->evaluating) {
        state_defer(call, callback, 0, 1, payload);
    } else {
        callback(0, 1, payload);
        alloc_free(call);
    }
}

static void say_goodbye(uint32_t unused, int freed, void *payload)
{
    (void) unused;
    (void) freed;
    const Printer *printer = payload;
    printer->callback(NULL, printer->payload);
}

/* Was it the last reference? Acquire and release: what others did before their releases
 * comes first. */
static bool is_last(Printer *printer)
{
    return atomic_fetch_sub_explicit(&printer->refs, 1, memory_order_acq_rel) == 1;
}

void print_release(Printer *printer)
{
    if (is_last(printer))
        call_soon(&printer->last, say_goodbye, printer);
}

void print_release_later(Printer *printer)
{
    if (is_last(printer))
        state_defer(&printer->last, say_goodbye, 0, 1, printer);
}

/* The variable has been freed. */
static void forget(uint32_t index, int freed, void *payload)
{
    (void) index;
    if (freed)
        print_release(payload);
}

/* ---------------------------------------------------------------- recording */

static bool check(ThreadState *ts, VarId mask, uint32_t count, const VarId *values,
                  uint32_t *size)
{
    static const char *const function = "jit_var_print()";
    if (count > MOST_VALUES)
        return error_set(JIT_ERROR_ARGUMENT, "%s: %u values, there can be %d", function,
                         count, MOST_VALUES);
    if (mask)
        TRY(node_usable(ts, mask, function, "the mask"), false);
    if (mask && var_get(mask)->type != VarTypeBool)
        return error_set(JIT_ERROR_ARGUMENT, "%s: the mask is %s, expected bool",
                         function, type_info[var_get(mask)->type].name);
    for (uint32_t i = 0; i < count; ++i)
        TRY(node_usable(ts, values[i], function, "a value"), false);
    uint32_t sizes[2];
    TRY(node_common_size(values, count, function, &sizes[0]), false);
    VarId top = mask_for(ts, mask_wide(values, count, mask));
    TRY(node_common_size((VarId[]){ mask, top }, 2, function, &sizes[1]), false);
    *size = sizes[0] == 1 ? sizes[1] : sizes[0];
    if (sizes[1] != 1 && sizes[1] != *size)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the values have %u entries and the mask has %u, expected "
                         "equal sizes or 1", function, sizes[0], sizes[1]);
    return true;
}

/* The PRINT itself. */
static VarId make(ThreadState *ts, VarId mask, uint32_t count, const VarId *values,
                  uint32_t size)
{
    VarId ids[1 + MOST_VALUES];
    if (count)
        memcpy(ids + 1, values, count * sizeof(VarId));
    VarId like = count ? values[0] : mask;
    uint8_t device = like ? var_get(like)->device : current_any(ts)->index;
    ids[0] = mask_apply(ts, device, mask, mask_wide(values, count, mask),
                        "jit_var_print()");
    TRY(ids[0], 0);
    VarId id = node_wide(ts, OP_PRINT, device, VarTypeVoid, size, 0, count + 1, ids);
    var_dec(ids[0]);
    return id;
}

bool print_record(ThreadState *ts, VarId mask, uint32_t count, const VarId *values,
                  size_t limit, PrintCallback callback, void *payload)
{
    uint32_t size = 1;
    TRY(check(ts, mask, count, values, &size), false);
    Printer *printer = alloc_get(sizeof(Printer));
    TRY(printer, false);
    atomic_init(&printer->refs, 1);
    printer->limit = limit;
    printer->callback = callback;
    printer->payload = payload;
    VarId id = make(ts, mask, count, values, size);
    bool ok = id && extra_set_callback(var_get(id), forget, printer);
    if (ok && record_effect(ts, id))
        return true;
    if (ok)
        extra_find(var_get(id))->callback = NULL;
    if (id)
        var_dec(id);
    alloc_free(printer);
    return false;
}

bool print_share(VarId from, VarId to)
{
    TRY(extra_set_callback(var_get(to), forget, NULL), false);
    extra_find(var_get(to))->payload = print_printer(from);
    return true;
}

/* ---------------------------------------------------------------- delivering */

/* On its way to the callback; the arrays of 'records' lie after it. */
typedef struct Delivery {
    Deferred call; /* its first member */
    Printer *printer;
    JitPrintRecords records;
    uint64_t words[];
} Delivery;

static void hand_over(uint32_t unused, int freed, void *payload)
{
    (void) unused;
    (void) freed;
    Delivery *delivery = payload;
    Printer *printer = delivery->printer;
    printer->callback(&delivery->records, printer->payload);
    print_release(printer);
}

/* Records 'first' to 'end' are those of this print. */
static Delivery *pack(Printer *printer, uint32_t print, const PrintRecords *all,
                      uint32_t first, uint32_t end)
{
    uint32_t values;
    const uint8_t *types = print_log_types(all, print, &values);
    size_t count = end - first < printer->limit ? end - first : printer->limit;
    size_t value_words = count * values;
    size_t bytes = (value_words * 2 + count + values) * sizeof(uint64_t);
    Delivery *delivery = alloc_get(sizeof(Delivery) + bytes);
    TRY(delivery, NULL);
    uint64_t *words = delivery->words;
    VarType *kinds = (VarType *) (void *) (words + value_words);
    uint32_t *lanes = (uint32_t *) (void *) (kinds + values);
    for (uint32_t k = 0; k < values; ++k)
        kinds[k] = (VarType) types[k];
    for (size_t i = 0; i < count; ++i) {
        const PrintRecord *record = &all->records[first + i];
        lanes[i] = record->lane;
        memcpy(words + i * values, print_log_values(all, record),
               values * sizeof(uint64_t));
    }
    delivery->printer = printer;
    delivery->records = (JitPrintRecords){
        .count = count, .lost = all->lost_of[print] + (end - first - count),
        .value_count = values, .types = kinds, .lanes = lanes, .values = words
    };
    return delivery;
}

void print_deliver(Printer *const *printers, uint32_t count,
                   const PrintRecords *records)
{
    uint32_t first = 0, end;
    for (uint32_t i = 0; i < count; ++i, first = end) {
        end = first;
        while (end < records->count && records->records[end].print == i)
            end++;
        Delivery *delivery = NULL;
        bool any = end != first || records->lost_of[i];
        if (any)
            delivery = pack(printers[i], i, records, first, end);
        if (any && !delivery)
            log_write(LogLevelWarn, "jit_var_print(): out of memory: %u records of a "
                      "print are lost", end - first);
        if (delivery)
            call_soon(&delivery->call, hand_over, delivery);
        else
            print_release(printers[i]);
    }
}
