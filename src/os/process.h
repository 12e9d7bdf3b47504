/*
 * process.h -- what the library asks about the process it is in
 */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/** The number by which the system knows the process: another one after a fork. */
uint32_t process_id(void);
/** Is it running with other privileges than its real user (setuid)? */
bool process_is_setuid(void);

#endif
