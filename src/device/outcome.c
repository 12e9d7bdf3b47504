/*
 * outcome.c -- see outcome.h
 *
 * Nothing is performed that was interrupted, nor what reads the results of something
 * that was not performed. Host functions and events have their turn in any case.
 */
#include "device/outcome.h"

#include "base/interrupt.h"

bool outcome_is_interrupted(const Command *c)
{
    return c->interrupts != interrupt_requests();
}

const ErrorRecord *outcome_spoiled(const Command *c)
{
    if (c->kind == COMMAND_HOST || c->kind == COMMAND_EVENT)
        return NULL;
    const Slot *slots = c->slots;
    for (uint32_t i = 0, count = c->slot_count; i < count; i++) {
        const ErrorRecord *failure =
            slots[i].access & SLOT_READ ? buffer_failure(slots[i].buffer) : NULL;
        if (failure)
            return failure;
    }
    return NULL;
}

const ErrorRecord *outcome_cause(const Command *c)
{
    if (c->kind == COMMAND_HOST || c->kind == COMMAND_EVENT)
        return NULL;
    for (uint32_t i = 0; c->again && i < c->slot_count; i++) {
        if (c->slots[i].access & SLOT_WRITE) /* who read it before is through */
            buffer_forgive(c->slots[i].buffer);
    }
    if (c->stale)
        return &buffer_lost;
    if (outcome_is_interrupted(c))
        return &buffer_interrupted;
    return outcome_spoiled(c);
}

void outcome_fail(const Command *c, const ErrorRecord *error)
{
    for (uint32_t i = 0; i < c->slot_count; i++) {
        if (c->slots[i].access & SLOT_WRITE && c->slots[i].buffer)
            buffer_fail(c->slots[i].buffer, error);
    }
}

uint64_t outcome_bytes(const Command *c)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->slot_count; i++) {
        if (c->slots[i].access & SLOT_WRITE)
            bytes += c->slots[i].bytes;
    }
    return bytes;
}
