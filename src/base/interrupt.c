/*
 * interrupt.c -- see interrupt.h
 */
#include "base/interrupt.h"

_Atomic uint32_t interrupt_count;

void interrupt_raise(void)
{
    atomic_fetch_add(&interrupt_count, 1);
}
