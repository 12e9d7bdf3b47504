/*
 * legalise_rules.h -- which rule expands which operation
 */
#ifndef LOWER_LEGALISE_RULES_H
#define LOWER_LEGALISE_RULES_H

#include "lower/build.h"

/** Emit what replaces the instruction; its position, PROGRAM_NONE (error recorded) on
 *  failure. */
typedef uint32_t (*Rule)(Build *build, const BuildInst *inst);

/** The rule for an operation on these types, NULL if there is none. */
Rule legalise_rules_find(const BuildInst *inst);

#endif
