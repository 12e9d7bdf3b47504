/*
 * stack.h -- calls that need a deep stack
 */
#ifndef OS_STACK_H
#define OS_STACK_H

#include <stdbool.h>
#include <stddef.h>

/** Return function(argument), called where at least half of 8 MiB of stack are left: in
 *  this thread, or else in one of 8 MiB that is made for it, blocks all signals and has
 *  ended on return. An error it records is this thread's. False with an error recorded
 *  also if there can be no such thread. */
bool stack_call(bool (*function)(void *argument), void *argument);
/** Call function(argument) with these bytes, aligned to 16, as the stack. */
void stack_switch(void *bytes, size_t size, void (*function)(void *argument),
                  void *argument);

#endif
