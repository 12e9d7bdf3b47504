/*
 * process.c -- see process.h
 */
#include "os/process.h"

#include <sys/auxv.h>
#include <unistd.h>

uint32_t process_id(void) { return (uint32_t) getpid(); }

bool process_is_setuid(void)
{
    return getauxval(AT_SECURE) != 0 || geteuid() != getuid() || getegid() != getgid();
}
