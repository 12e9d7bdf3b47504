/*
 * stack.c -- calls that need a deep stack
 *
 * Programs may give their threads small stacks. libLLVM recurses, and nobody can tell
 * how deep it will go: it gets 8 MiB, which is what the main thread of a process has,
 * and what compilers are tested with. What generated code needs is known, so it only
 * needs a piece of memory.
 */
#include "os/stack.h"

#include <pthread.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/error.h"
#include "os/threads.h"

enum { STACK = 8 << 20, ENOUGH = STACK / 2 };

typedef struct Call {
    bool (*function)(void *);
    void *argument;
    bool result;
    ErrorRecord error;
} Call;

/* Bytes between here and the end of this thread's stack; 0 if that cannot be found out,
 * or if the program has put another stack in its place. */
static size_t bytes_left(void)
{
    static _Thread_local uintptr_t begin, size;
    uintptr_t here = (uintptr_t) __builtin_frame_address(0);
    pthread_attr_t attributes;
    if (!size && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *address;
        size_t bytes;
        if (pthread_attr_getstack(&attributes, &address, &bytes) == 0) {
            begin = (uintptr_t) address;
            size = bytes;
        }
        pthread_attr_destroy(&attributes);
    }
    return here > begin && here - begin < size ? here - begin : 0;
}

static void *run(void *data)
{
    Call *call = data;
    call->result = call->function(call->argument);
    error_save(&call->error);
    return NULL;
}

bool stack_call(bool (*function)(void *argument), void *argument)
{
    pthread_t thread;
    if (bytes_left() >= ENOUGH)
        return function(argument);
    Call call = { .function = function, .argument = argument };
    if (!threads_start(&thread, STACK, run, &call))
        return error_set(JIT_ERROR_SYSTEM, "the stack of this thread is too small for "
                         "libLLVM, and no other thread can be started");
    pthread_join(thread, NULL);
    if (!call.result)
        error_restore(&call.error);
    return call.result;
}

/* What makecontext() starts has int arguments only. */
typedef struct Switch {
    void (*function)(void *);
    void *argument;
} Switch;

static void start(unsigned high, unsigned low)
{
    const Switch *s = (const Switch *) ((uintptr_t) high << 16 << 16 | low);
    s->function(s->argument);
}

void stack_switch(void *bytes, size_t size, void (*function)(void *argument),
                  void *argument)
{
    ucontext_t here, there;
    Switch s = { function, argument };
    uintptr_t address = (uintptr_t) &s;
    getcontext(&there); /* cannot fail, nor can the exchange below */
    there.uc_stack.ss_sp = bytes;
    there.uc_stack.ss_size = size;
    there.uc_link = &here;
    makecontext(&there, (void (*)(void)) start, 2, (unsigned) (address >> 16 >> 16),
                (unsigned) address);
    swapcontext(&here, &there);
}
