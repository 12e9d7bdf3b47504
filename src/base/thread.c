/*
 * thread.c -- see thread.h
 */
#include "base/thread.h"

_Thread_local Thread thread_self;
