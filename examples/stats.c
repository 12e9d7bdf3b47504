/*
 * stats.c -- statistics of the columns of a CSV file
 *
 *     stats TABLE.csv [--bins N] [--column NAME]
 *
 * The first line names the columns; an empty field is a missing value. For every
 * column: count, mean, standard deviation, minimum, quartiles, maximum; then the
 * correlations of all pairs, and a histogram of each column (or the named one).
 *
 * Everything is computed in double precision. Missing values are a mask, which selects
 * neutral entries before each reduction. Quartiles are exact: the column is sorted by
 * four stable counting sorts of 16 bits each. The histogram is a scatter with addition.
 */
#include "common.h"
#include "expr.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 32, LINE = 4096 };

/* A column as read: missing values are NaN. */
typedef struct Table {
    char names[COLUMNS][32];
    double *values[COLUMNS];
    size_t columns, rows, capacity;
} Table;

/* A column as an array, and which of its entries there are. */
typedef struct Column {
    Value value, present;
} Column;

typedef struct Summary {
    double count, mean, deviation, quartile[5]; /* minimum ... median ... maximum */
} Summary;

/* -------------------------------------------------------------- the CSV file */

static void table_release(Table *table) {
    for (size_t i = 0; i < table->columns; ++i)
        free(table->values[i]);
}

static bool table_grow(Table *table) {
    if (table->rows < table->capacity)
        return true;
    const size_t capacity = table->capacity ? 2 * table->capacity : 1024;
    for (size_t i = 0; i < table->columns; ++i) {
        double *grown = realloc(table->values[i], capacity * sizeof(double));
        if (!grown) {
            fprintf(stderr, "out of memory\n");
            return false;
        }
        table->values[i] = grown;
    }
    table->capacity = capacity;
    return true;
}

/* Cut the next field off a line; NULL after the last one. */
static char *next_field(char **rest) {
    char *field = *rest;
    if (!field)
        return NULL;
    char *end = field + strcspn(field, ",\r\n");
    *rest = *end == ',' ? end + 1 : NULL;
    *end = '\0';
    return field;
}

static bool parse_names(Table *table, char *line, const char *path) {
    char *rest = line;
    for (const char *name; (name = next_field(&rest));) {
        if (table->columns == COLUMNS || !*name ||
            strlen(name) >= sizeof(table->names[0])) {
            fprintf(stderr, "%s:1: expected up to %d column names of 1 to %zu letters, "
                    "found '%s'\n", path, COLUMNS, sizeof(table->names[0]) - 1, name);
            return false;
        }
        strcpy(table->names[table->columns++], name);
    }
    return true;
}

static bool parse_row(Table *table, char *line, const char *path) {
    if (!table_grow(table))
        return false;
    char *rest = line;
    size_t column = 0;
    for (const char *field; (field = next_field(&rest)); ++column) {
        char *end = NULL;
        const double value = *field ? strtod(field, &end) : nan("");
        if (column >= table->columns || (*field && (*end || !isfinite(value)))) {
            fprintf(stderr, "%s:%zu: expected %zu numbers, found '%s' as number %zu\n",
                    path, table->rows + 2, table->columns, field, column + 1);
            return false;
        }
        table->values[column][table->rows] = value;
    }
    if (column < table->columns) {
        fprintf(stderr, "%s:%zu: expected %zu fields, found %zu\n", path,
                table->rows + 2, table->columns, column);
        return false;
    }
    ++table->rows;
    return true;
}

static bool table_read(Table *table, const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "cannot read the table '%s': %s\n", path, strerror(errno));
        return false;
    }

    char line[LINE];
    bool ok = true;
    while (ok && fgets(line, sizeof(line), file)) {
        if (strlen(line) == sizeof(line) - 1) {
            fprintf(stderr, "%s: expected lines shorter than %d letters\n", path,
                    LINE - 1);
            ok = false;
        } else if (table->columns == 0) {
            ok = parse_names(table, line, path);
        } else {
            ok = parse_row(table, line, path);
        }
    }
    fclose(file);
    if (ok && table->rows == 0) {
        fprintf(stderr, "%s: expected at least one row of numbers\n", path);
        ok = false;
    }
    return ok;
}

/* --------------------------------------------------------------- statistics */

static Value v_d(double value) {
    return expr_own(jit_var_f64(JitBackendLLVM, value));
}

static Value reduce(Value a, ReduceOp op) {
    return a ? expr_own(jit_var_reduce(a, op)) : 0;
}

/* Sum of the entries that are there. */
static Value sum_where(Value mask, Value a) {
    return reduce(v_select(mask, a, v_d(0)), ReduceOpAdd);
}

static Value count_where(Value mask) {
    return reduce(v_select(mask, v_d(1), v_d(0)), ReduceOpAdd);
}

static Column load_column(const Table *table, size_t index) {
    Column column;
    column.value = expr_own(jit_var_mem_copy(JitBackendLLVM, VarTypeFloat64,
                                             table->values[index], table->rows));
    column.present = v_op2(JitOpEq, column.value, column.value);
    return column;
}

static bool read_double(Value a, double *out) {
    return a && (jit_var_read(a, 0, out) || report_error("reading a result"));
}

/* Keys whose order as integers is that of the numbers: negative ones have all bits
 * flipped, others only the sign. Missing values come last. */
static Value sort_key(Column column) {
    const Value bits = expr_own(jit_var_cast(column.value, VarTypeUInt64, 1));
    const uint64_t top = (uint64_t) 1 << 63, ones = UINT64_MAX;
    const Value sign = expr_own(jit_var_u64(JitBackendLLVM, top));
    const Value all = expr_own(jit_var_u64(JitBackendLLVM, ones));
    const Value negative = v_lt(column.value, v_d(0));
    const Value key = v_xor(bits, v_select(negative, all, sign));
    return v_select(column.present, key, all);
}

/* One pass of the sort: positions ordered by 16 bits of the key, ties as they were. */
static Value sort_pass(Value key, Value order, uint32_t shift, uint32_t rows) {
    const Value by = expr_own(jit_var_u64(JitBackendLLVM, shift));
    const Value low = expr_own(jit_var_u64(JitBackendLLVM, 65535));
    const Value digit = v_cast(v_and(v_shr(v_gather(key, order), by), low),
                               VarTypeUInt32);
    if (!digit)
        return 0;

    void *digits = NULL;
    const Value stored = expr_own(jit_var_data(digit, &digits));
    uint32_t *places = malloc(rows * sizeof(*places));
    bool ok = stored && places;
    if (ok)
        jit_block_mkperm(JitBackendLLVM, digits, rows, rows, 65536, places, NULL, &ok);
    if (!ok) {
        free(places);
        report_error("sorting");
        return 0;
    }
    const Value permuted = expr_own(jit_var_mem_copy(JitBackendLLVM, VarTypeUInt32,
                                                     places, rows));
    free(places);
    return v_gather(order, permuted);
}

/* Positions of the entries from small to large. */
static Value sort_order(Column column, uint32_t rows) {
    const Value key = sort_key(column);
    Value order = expr_own(jit_var_counter(JitBackendLLVM, rows));
    for (uint32_t shift = 0; order && shift < 64; shift += 16)
        order = sort_pass(key, order, shift, rows);
    return order;
}

/* Minimum, quartiles and maximum, interpolated between neighbours. */
static bool find_quartiles(Column column, uint32_t rows, Summary *summary) {
    const Value sorted = v_gather(column.value, sort_order(column, rows));
    if (!sorted)
        return false;
    void *data = NULL;
    const Value stored = expr_own(jit_var_data(sorted, &data));
    if (!stored)
        return false;
    const double *values = data;
    const size_t last = (size_t) summary->count - 1;
    for (size_t k = 0; k < 5; ++k) {
        const double position = 0.25 * (double) (k * last);
        const size_t below = (size_t) position;
        const size_t above = below < last ? below + 1 : last;
        const double t = position - (double) below;
        summary->quartile[k] = values[below] + t * (values[above] - values[below]);
    }
    return true;
}

static bool summarize(Column column, uint32_t rows, Summary *summary) {
    const Value count = count_where(column.present);
    const Value mean = v_div(sum_where(column.present, column.value), count);
    const Value away = v_sub(column.value, mean);
    const Value spread = sum_where(column.present, v_mul(away, away));
    const Value deviation = v_sqrt(v_div(spread, v_max(v_sub(count, v_d(1)), v_d(1))));
    return read_double(count, &summary->count) && read_double(mean, &summary->mean) &&
           read_double(deviation, &summary->deviation) &&
           (summary->count == 0 || find_quartiles(column, rows, summary));
}

/* Pearson's correlation over the rows in which both columns have a value. */
static Value correlate(Column a, Column b) {
    const Value both = v_and(a.present, b.present);
    const Value count = count_where(both);
    const Value da = v_sub(a.value, v_div(sum_where(both, a.value), count));
    const Value db = v_sub(b.value, v_div(sum_where(both, b.value), count));
    const Value covariance = sum_where(both, v_mul(da, db));
    const Value va = sum_where(both, v_mul(da, da)), vb = sum_where(both,
                                                                    v_mul(db, db));
    return v_div(covariance, v_sqrt(v_mul(va, vb)));
}

/* Count the values of each of 'bins' equal parts of minimum ... maximum. */
static bool count_bins(Column column, const Summary *summary, uint32_t bins,
                       uint32_t *out) {
    const double low = summary->quartile[0], high = summary->quartile[4];
    const double scale = high > low ? bins / (high - low) : 0;
    const Value at = v_mul(v_sub(column.value, v_d(low)), v_d(scale));
    const Value bin = v_min(v_cast(at, VarTypeUInt32), v_u(bins - 1));
    const uint32_t zero = 0;
    const Value empty = expr_own(jit_var_literal(JitBackendLLVM, VarTypeUInt32, &zero,
                                                 bins, 1));
    if (!bin || !empty)
        return false;

    const Value counts = expr_own(jit_var_scatter(empty, v_u(1), bin, column.present,
                                                  ReduceOpAdd, ReduceModeAuto));
    void *data = NULL;
    const Value stored = counts ? expr_own(jit_var_data(counts, &data)) : 0;
    if (!stored)
        return false;
    memcpy(out, data, bins * sizeof(*out));
    return true;
}

/* ------------------------------------------------------------------ output */

static void print_summary(const char *name, const Summary *s) {
    if (s->count == 0) {
        printf("%-14s %6d\n", name, 0);
        return;
    }
    printf("%-14s %6.0f %10.5g %10.5g %10.5g %10.5g %10.5g %10.5g %10.5g\n", name,
           s->count, s->mean, s->deviation, s->quartile[0], s->quartile[1],
           s->quartile[2], s->quartile[3], s->quartile[4]);
}

static void print_bars(const char *name, const Summary *summary, const uint32_t *counts,
                       uint32_t bins) {
    uint32_t most = 1;
    for (uint32_t i = 0; i < bins; ++i)
        most = counts[i] > most ? counts[i] : most;
    printf("\n%s\n", name);
    const double low = summary->quartile[0];
    const double step = (summary->quartile[4] - low) / bins;
    for (uint32_t i = 0; i < bins; ++i) {
        printf("  %10.4g %6u ", low + step * i, counts[i]);
        const uint32_t length = (uint32_t) ((50ull * counts[i] + most - 1) / most);
        for (uint32_t k = 0; k < length; ++k)
            putchar('#');
        putchar('\n');
    }
}

static bool print_correlations(const Table *table, const Column *columns) {
    printf("\n%-14s", "correlation");
    for (size_t j = 0; j < table->columns; ++j)
        printf(" %10.10s", table->names[j]);
    printf("\n");
    for (size_t i = 0; i < table->columns; ++i) {
        printf("%-14s", table->names[i]);
        for (size_t j = 0; j <= i; ++j) {
            double value = 0;
            if (!read_double(correlate(columns[i], columns[j]), &value))
                return false;
            if (isnan(value)) /* a column without variation, or without common rows */
                printf(" %10s", "-");
            else
                printf(" %10.3f", value);
        }
        printf("\n");
    }
    return true;
}

static bool analyze(const Table *table, uint32_t bins, const char *only) {
    Column columns[COLUMNS];
    Summary summaries[COLUMNS] = { { 0 } };
    const uint32_t rows = (uint32_t) table->rows;
    Report report;
    report_start(&report);

    printf("%zu rows\n\n%-14s %6s %10s %10s %10s %10s %10s %10s %10s\n", table->rows,
           "column", "count", "mean", "deviation", "minimum", "25%", "median", "75%",
           "maximum");
    for (size_t i = 0; i < table->columns; ++i) {
        columns[i] = load_column(table, i);
        if (!summarize(columns[i], rows, &summaries[i]))
            return false;
        print_summary(table->names[i], &summaries[i]);
    }
    if (!print_correlations(table, columns))
        return false;

    for (size_t i = 0; i < table->columns; ++i) {
        uint32_t counts[200];
        if ((only && strcmp(only, table->names[i]) != 0) || summaries[i].count == 0)
            continue;
        if (!count_bins(columns[i], &summaries[i], bins, counts))
            return false;
        print_bars(table->names[i], &summaries[i], counts, bins);
    }
    printf("\n");
    report_print(&report, "time");
    return true;
}

/* ------------------------------------------------------------ command line */

static bool has_column(const Table *table, const char *name) {
    for (size_t i = 0; i < table->columns; ++i)
        if (strcmp(table->names[i], name) == 0)
            return true;
    fprintf(stderr, "--column: the table has no column '%s'\n", name);
    return false;
}

static bool parse_options(int argc, char **argv, uint32_t *bins, const char **only) {
    *bins = 16;
    *only = NULL;
    for (int i = 2; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--bins") == 0) {
            if (!parse_count(value, "--bins", 1, 200, bins))
                return false;
        } else if (strcmp(argv[i], "--column") == 0 && value) {
            *only = value;
        } else {
            fprintf(stderr, "expected --bins N or --column NAME, found '%s'\n",
                    argv[i]);
            return false;
        }
    }
    if (argc < 2)
        fprintf(stderr, "usage: stats TABLE.csv [--bins N] [--column NAME]\n");
    return argc >= 2;
}

int main(int argc, char **argv) {
    static Table table;
    uint32_t bins;
    const char *only;
    if (!parse_options(argc, argv, &bins, &only))
        return 2;
    if (!table_read(&table, argv[1]) || (only && !has_column(&table, only))) {
        table_release(&table);
        return 2;
    }

    bool ok = jit_init(JitBackendLLVM) || report_error("stats");
    ok = ok && analyze(&table, bins, only);
    expr_end();
    table_release(&table);
    return jit_shutdown(0) == 0 && ok ? 0 : 1;
}
