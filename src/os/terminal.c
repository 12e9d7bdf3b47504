/*
 * terminal.c -- see terminal.h
 */
#include "os/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is_stderr(void) { return isatty(STDERR_FILENO); }

bool terminal_is_busy(void)
{
    const pid_t foreground = tcgetpgrp(STDERR_FILENO);
    return foreground != -1 && foreground != getpgrp();
}

size_t terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
