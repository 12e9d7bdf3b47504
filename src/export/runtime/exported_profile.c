/*
 * exported_profile.c -- an exported library has no timeline: nobody listens
 */
#include "watch/profile.h"

_Atomic int profile_state = PROFILE_NOBODY;

bool profile_open(void) { return false; }

bool profile_begin_if(const char *format, ...)
{
    (void) format;
    return false;
}

void profile_end(void) {}
