/*
 * interrupt.h -- Ctrl-C ends what the main thread waits for
 *
 * The handler of SIGINT is wrapped: it calls the one that Python or the program has
 * installed and, while the main thread waits, jit_interrupt(). signal.signal() puts
 * Python's handler back in its place, so a thread of the package looks now and then
 * whether the wrapper is still there: a system call at each wait would cost a fifth of
 * a small launch. The thread sleeps while nothing is waited for.
 */
#ifndef PYTHON_INTERRUPT_H
#define PYTHON_INTERRUPT_H

/** A thread begins to wait, and has waited. Waits may be nested. */
void interrupt_begin_wait(void);
void interrupt_end_wait(void);

#endif
