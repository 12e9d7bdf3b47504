/*
 * common.h -- what the example programs share: pictures, timing, command lines
 *
 * Pictures are read and written through libpng as 32-bit pixels, red in the lowest
 * byte. A Report measures one piece of work: call report_start() before tracing,
 * report_traced() when the operations are recorded (report_resume() before recording
 * more of them), and report_print() at the end. Where the rest of the time went is
 * taken from the library's kernel history.
 */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A picture; 'pixels' holds width * height numbers, row by row from the top. */
typedef struct Picture {
    uint32_t width, height;
    uint32_t *pixels;
} Picture;

/** Read a PNG file. On failure a message is printed and false returned. The caller
 *  releases the pixels with free(). */
bool picture_read(Picture *picture, const char *path);
/** Write a PNG file, without its alpha channel. On failure a message is printed. */
bool picture_write(const Picture *picture, const char *path);

/** Seconds on a clock that never goes back. */
double clock_seconds(void);

/** Times of one piece of work, in seconds. */
typedef struct Report {
    double start;  /**< clock at report_start() */
    double resume; /**< clock at the start of the current tracing */
    double trace;  /**< spent on tracing so far; 0 without report_traced() */
} Report;

/** Start the clock, and the recording of launches. */
void report_start(Report *report);
/** Tracing is done for now: what follows is evaluation. */
void report_traced(Report *report);
/** Tracing goes on. */
void report_resume(Report *report);
/** Wait for the work and print the table: trace, compile, run. */
void report_print(const Report *report, const char *title);

/** Parse a whole number from 'low' to 'high'; prints a message that names 'what'. */
bool parse_count(const char *text, const char *what, long low, long high,
                 uint32_t *out);
/** Parse a finite number from 'low' to 'high'; prints a message that names 'what'. */
bool parse_number(const char *text, const char *what, double low, double high,
                  double *out);

/** Print "what: <last message of the library>" to stderr; returns false. */
bool report_error(const char *what);

#endif
