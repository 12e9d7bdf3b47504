/*
 * interrupt.c -- see interrupt.h
 */
#include "base/interrupt.h"

_Atomic uint32_t interrupt_word;
_Atomic uint32_t interrupt_count;

void interrupt_raise(void)
{
    atomic_fetch_add(&interrupt_count, 1);
    atomic_store(&interrupt_word, 1);
}

void interrupt_clear(void)
{
    atomic_store_explicit(&interrupt_word, 0, memory_order_relaxed);
}
