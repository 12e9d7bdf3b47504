/*
 * native_launch.c -- see native_launch.h
 */
#include "engine/native/run/native_launch.h"

#include <string.h>

#include "ir/program.h"

/* From 0 on, index and mask of updates that have a result; from 2 on, index, mask and
 * the value to compare with (native_call.c). */
const uint32_t native_launch_extra[] = { 3, 4, 4, 5, 2 };

static void begin_frame(const NativeCode *code, NativeFrame *frame,
                        const uint64_t *args, uint32_t worker)
{
    char *memory = (char *) frame;
    for (uint32_t i = 0; i < NATIVE_HELPER_SLOTS; ++i)
        frame->slot[i] = frame->operands[i];
    frame->slot[NATIVE_LOCAL_SLOT] = memory + code->locals;
    frame->slot[NATIVE_AREA_SLOT] = memory + code->areas;
    frame->rows = memory + code->row_area;
    frame->steps = code->steps;
    const void **values =
        (const void **) (void *) (memory + code->row_area +
                                  code->rows * (size_t) NATIVE_HELPER_BYTES);
    for (uint32_t i = 0; i < code->rows; ++i)
        values[i] = memory + code->row_area + i * (size_t) NATIVE_HELPER_BYTES;
    frame->lanes = (LaneFrame){ .regs = frame->slot,
                                .args = args,
                                .extra = native_launch_extra,
                                .values = values,
                                .lanes = LANE_GROUP,
                                .worker = worker };
    if (code->report != PROGRAM_NONE)
        frame->lanes.reports = (CheckReport *) (uintptr_t) args[code->report];
    if (code->log != PROGRAM_NONE)
        frame->lanes.log = (PrintLog *) (uintptr_t) args[code->log];
}

/* Of the first packet: other packets have theirs a vector behind. */
static void set_valid_packet(const NativeCode *code, uint32_t *valid, uint64_t *wide,
                             uint32_t count)
{
    if (code->mask_bits) {
        *valid = (1u << count) - 1;
        return;
    }
    for (uint32_t i = 0; i < code->lanes; ++i)
        valid[i] = i < count ? UINT32_MAX : 0;
    for (uint32_t i = 0; i < code->vector_bytes / sizeof *wide; ++i)
        wide[i] = i < count ? UINT64_MAX : 0;
}

static void set_valid(const NativeCode *code, NativeFrame *frame, uint32_t count)
{
    frame->lanes.count = count;
    for (uint32_t k = 0; k < code->packets; ++k) {
        size_t behind = k * code->vector_bytes;
        uint32_t lanes = count < code->lanes ? count : code->lanes;
        set_valid_packet(code, frame->valid + behind / sizeof(uint32_t),
                         frame->valid_wide + behind / sizeof(uint64_t), lanes);
        count -= lanes;
    }
}

/* The address of an output, which may be marked if it can be CPU_STREAMED: no other has
 * to be aligned. */
static char *output_address(const NativeCode *code, const uint64_t *args, uint32_t slot)
{
    uintptr_t address = (uintptr_t) args[slot];
    if (slot < CPU_STREAMS && code->cpu.streams >> slot & 1)
        address &= ~(uintptr_t) CPU_STREAMED;
    return (char *) address;
}

/* What is left over takes its outputs, and inputs as well where several packets are
 * computed at a time, elsewhere; what is valid is copied. */
static void launch_tail(const NativeCode *code, const uint64_t *args, uint32_t begin,
                        uint32_t end, NativeFrame *frame)
{
    char *tail = (char *) frame + code->tail;
    size_t size = native_launch_tail_bytes(code), first = begin, count = end - begin;
    uint64_t *own = (uint64_t *) (void *) (tail + code->array_count * size);
    memcpy(own, args, code->param_count * sizeof(uint64_t));
    for (uint32_t i = 0; i < code->array_count; ++i) {
        const NativeArray *a = &code->arrays[i];
        char *place = tail + i * size;
        own[a->slot] = (uint64_t) (uintptr_t) place - (uint64_t) begin * a->size;
        if (i >= code->output_count)
            memcpy(place, (char *) (uintptr_t) args[a->slot] + first * a->size,
                   count * a->size);
    }
    set_valid(code, frame, end - begin);
    code->entry(begin, end, own, frame, code->pool);
    for (uint32_t i = 0; i < code->output_count; ++i) {
        const NativeArray *a = &code->arrays[i];
        char *whole = output_address(code, args, a->slot);
        memcpy(whole + first * a->size, tail + i * size, count * a->size);
    }
}

void native_launch(const CpuCode *cpu, const uint64_t *args, uint32_t begin,
                   uint32_t end, uint32_t worker, uint32_t requests, void *scratch)
{
    const NativeCode *code = (const NativeCode *) (const void *) cpu;
    if (begin >= end)
        return;
    NativeFrame *frame = scratch;
    begin_frame(code, frame, args, worker);
    frame->interrupt = (Interrupt){ &interrupt_count, requests };
    uint32_t step = code->lanes * code->packets;
    uint32_t whole = begin + (end - begin) / step * step;
    if (whole > begin) {
        set_valid(code, frame, step);
        code->entry(begin, whole, args, frame, code->pool);
    }
    if (whole < end)
        launch_tail(code, args, whole, end, frame);
}
