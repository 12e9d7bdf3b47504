/*
 * streams.h -- k arrays read, one written, from 64 kB to 256 MB
 */
#ifndef BENCH_STREAMS_H
#define BENCH_STREAMS_H

/* Prints the rate of traced programs, and of both kinds of C loops with as many threads
 * (see harness.h). The argument is unused. */
void streams_run(const char *unused);

#endif
