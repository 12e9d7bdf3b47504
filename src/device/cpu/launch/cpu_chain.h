/*
 * cpu_chain.h -- commands that are run on some lanes, one after the other, before any
 * of them is run on the next
 *
 *     one by one           a chain
 *     A A A A B B B B      A B A B A B A B
 *
 * What a command has written is in the cache then when the next one reads it; and what
 * nobody else is ever going to read is written to no memory but that of a worker.
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_CHAIN_H
#define DEVICE_CPU_LAUNCH_CPU_CHAIN_H

#include "device/cpu/cpu_job.h"

enum { CPU_CHAIN = 8 /* commands, at most */ };

/** Can launches of these numbers of lanes be a chain worth having? Short ones are over
 *  before. */
bool cpu_chain_pays(uint64_t lanes, uint64_t next);
/** A command's turn has come. Of the 'ready' commands that could begin with it, have
 *  its job run as many as can be: Command.joined. Without memory these are none. With
 *  the lock of the streams held. */
void cpu_chain_begin(CpuJob *job, uint32_t ready);

#endif
