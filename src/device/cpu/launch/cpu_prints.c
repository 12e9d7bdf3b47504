/*
 * cpu_prints.c -- see cpu_prints.h
 */
#include "device/cpu/launch/cpu_prints.h"

#include <string.h>

/* Take room for a record with this many values; false: there is none. */
static bool take(PrintArea *area, uint32_t values, uint32_t *record, uint32_t *first)
{
    uint64_t used = atomic_load_explicit(&area->used, memory_order_relaxed);
    uint64_t increment = (uint64_t) values << 32 | 1;
    do {
        uint64_t records = (uint32_t) used + UINT64_C(1);
        uint64_t behind = (used >> 32) + values;
        if (records * PRINT_RECORD_WORDS + behind > area->words)
            return false;
        *record = (uint32_t) used;
        *first = area->words - (uint32_t) behind;
    } while (!atomic_compare_exchange_weak_explicit(
        &area->used, &used, used + increment, memory_order_relaxed,
        memory_order_relaxed));
    return true;
}

static void append(PrintLog *log, uint32_t print, uint32_t begin, uint32_t lanes,
                   const uint8_t *mask, const void *const *values)
{
    PrintArea *area = ((CpuPrints *) (void *) log)->area;
    const uint32_t *begins = print_area_begins(area);
    const uint8_t *types = print_area_types(area) + begins[print];
    const uint32_t count = begins[print + 1] - begins[print];
    uint64_t *words = print_area_words(area);
    PrintRecord *records = (PrintRecord *) (void *) words;
    for (uint32_t i = 0; i < lanes; ++i) {
        uint32_t record, first;
        if (!mask[i])
            continue;
        if (!take(area, count, &record, &first)) {
            atomic_fetch_add_explicit(&print_area_lost(area)[print], 1,
                                      memory_order_relaxed);
            continue;
        }
        records[record] = (PrintRecord) {
            .print = print, .lane = begin + i, .order = record, .first = first
        };
        for (uint32_t k = 0; k < count; ++k) {
            size_t size = type_info[types[k]].size;
            words[first + k] = 0;
            memcpy(&words[first + k], (const char *) values[k] + i * size, size);
        }
    }
}

void cpu_prints_begin(CpuPrints *prints, PrintArea *area)
{
    prints->log.append = append;
    prints->area = area;
}
