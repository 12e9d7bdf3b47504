/*
 * outcome.h -- what decides whether a command is performed, and what becomes of that
 */
#ifndef DEVICE_OUTCOME_H
#define DEVICE_OUTCOME_H

#include "device/command.h"

/** Why a command whose turn has come will not be performed; NULL: it will. */
const ErrorRecord *outcome_cause(const Command *command);
/** Why what it reads is unusable; NULL: it is not. */
const ErrorRecord *outcome_spoiled(const Command *command);
/** Has somebody asked for work to stop since it was made? */
bool outcome_is_interrupted(const Command *command);
/** What it was to write is unusable, for this reason. */
void outcome_fail(const Command *command, const ErrorRecord *error);
/** Bytes that it writes. */
uint64_t outcome_bytes(const Command *command);

#endif
