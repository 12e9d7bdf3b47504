/*
 * terminal.h -- the terminal that stderr may be
 */
#ifndef OS_TERMINAL_H
#define OS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/** Is stderr a terminal? */
bool terminal_is_stderr(void);
/** Is it for another process in its foreground? What runs in the background leaves it
 *  to that one. */
bool terminal_is_busy(void);
/** Its width in characters; 0: it does not know. */
size_t terminal_columns(void);

#endif
