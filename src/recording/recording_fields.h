/*
 * recording_fields.h -- what a recording consists of, as tables of fields
 *
 * To extend a struct of recording.h, add a row to its table. A struct that has grown
 * without does not compile. Recordings are written (recording_file.h) and compared
 * (recording_same.h) by these tables.
 */
#ifndef RECORDING_RECORDING_FIELDS_H
#define RECORDING_RECORDING_FIELDS_H

#include "recording/fields.h"
#include "recording/recording.h"

/** A list of a recording, and what numbers of its elements are. */
typedef struct RecordingList {
    size_t list, count, capacity, element; /* offsets in Recording; bytes */
    const Field *fields;
    size_t field_count;
    FieldSpace space; /* OF_NUMBERS: nothing refers to them */
    const char *type, *name; /* of an element; of the list */
} RecordingList;

enum {
    RECORDING_TERMS, RECORDING_GUARDS, RECORDING_ARRAYS, RECORDING_USES,
    RECORDING_COMMANDS, RECORDING_READS, RECORDING_CONTENTS, RECORDING_LOOPS,
    RECORDING_STATES, RECORDING_BOUNDS, RECORDING_EXTENTS, RECORDING_LISTS
};
extern const RecordingList recording_lists[RECORDING_LISTS];

/** Parameters of a kind of command. */
typedef struct RecordingKind {
    const Field *fields;
    size_t field_count;
} RecordingKind;
extern const RecordingKind recording_kinds[COMMAND_COUNT];
/** Can commands of this kind, with this many arrays, be saved? */
bool recording_can_keep(CommandKind kind, uint32_t count);

/** How many elements a list has; one of them. */
uint32_t recording_count(const Recording *r, size_t list);
void *recording_element(const Recording *r, size_t list, uint32_t number);

#endif
