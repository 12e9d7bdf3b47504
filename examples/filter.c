/*
 * filter.c -- blur, sharpen or outline a picture
 *
 *     filter INPUT.png OUTPUT.png blur    [--radius R]
 *     filter INPUT.png OUTPUT.png sharpen [--radius R] [--amount A]
 *     filter INPUT.png OUTPUT.png edges
 *
 * Every pixel is one entry of the arrays. A neighbour is read with a gather whose row
 * and column are clamped to the picture, so that the border repeats. The Gaussian blur
 * is separable: one kernel along the rows, one along the columns. Colors are squared on
 * loading and rooted on storing, because light adds up in linear and not in stored
 * values.
 */
#include "common.h"
#include "expr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Mode { MODE_BLUR, MODE_SHARPEN, MODE_EDGES } Mode;

typedef struct Options {
    const char *input, *output;
    Mode mode;
    double radius, amount;
} Options;

/* Row and column of every pixel, and the size of the picture. */
typedef struct Grid {
    Value row, column;
    uint32_t width, height;
} Grid;

static Grid make_grid(const Picture *picture) {
    const size_t count = (size_t) picture->width * picture->height;
    Grid grid = { .width = picture->width, .height = picture->height };
    const Value pixel = expr_own(jit_var_counter(JitBackendLLVM, count));
    grid.row = v_div(pixel, v_u(picture->width));
    grid.column = v_sub(pixel, v_mul(grid.row, v_u(picture->width)));
    return grid;
}

/* a + offset, kept within 0 ... size - 1. */
static Value shift_clamped(Value a, int offset, uint32_t size) {
    const Value moved = v_add(v_cast(a, VarTypeInt32),
                              v_cast(v_u((uint32_t) offset), VarTypeInt32));
    const Value last = v_cast(v_u(size - 1), VarTypeInt32);
    const Value zero = v_cast(v_u(0), VarTypeInt32);
    return v_cast(v_min(v_max(moved, zero), last), VarTypeUInt32);
}

/* The pixel some columns and rows away. */
static Value neighbour(const Grid *grid, Value source, int columns, int rows) {
    const Value row = rows ? shift_clamped(grid->row, rows, grid->height) : grid->row;
    const Value column = columns ? shift_clamped(grid->column, columns, grid->width)
                                 : grid->column;
    return v_gather(source, v_fma(row, v_u(grid->width), column));
}

static Value3 neighbour3(const Grid *grid, Value3 source, int columns, int rows) {
    return (Value3) { neighbour(grid, source.x, columns, rows),
                      neighbour(grid, source.y, columns, rows),
                      neighbour(grid, source.z, columns, rows) };
}

/* Linear color planes of packed pixels. */
static Value3 unpack(Value packed) {
    Value channel[3];
    for (uint32_t k = 0; k < 3; ++k) {
        const Value byte = v_and(v_shr(packed, v_u(8 * k)), v_u(255));
        channel[k] = v_square(v_mul(v_cast(byte, VarTypeFloat32), v_f(1.0 / 255)), 1);
    }
    return (Value3) { channel[0], channel[1], channel[2] };
}

/* Weighted sum of the neighbours along one axis; three standard deviations each way. */
static Value3 blur_axis(const Grid *grid, Value3 source, double radius, bool rows) {
    const int reach = (int) ceil(3 * radius);
    double total = 0;
    for (int k = -reach; k <= reach; ++k)
        total += exp(-0.5 * k * k / (radius * radius));

    Value3 sum = v3_f(0, 0, 0);
    for (int k = -reach; k <= reach; ++k) {
        const double weight = exp(-0.5 * k * k / (radius * radius)) / total;
        sum = v3_fma(neighbour3(grid, source, rows ? 0 : k, rows ? k : 0), v_f(weight),
                     sum);
    }
    return sum;
}

static Value3 blur(const Grid *grid, Value3 source, double radius) {
    return blur_axis(grid, blur_axis(grid, source, radius, false), radius, true);
}

/* Unsharp mask: exaggerate the difference to a blurred copy. */
static Value3 sharpen(const Grid *grid, Value3 source, const Options *options) {
    const Value3 detail = v3_sub(source, blur(grid, source, options->radius));
    return v3_fma(detail, v_f(options->amount), source);
}

/* Length of Sobel's gradient of the brightness, dark lines on white. */
static Value3 edges(const Grid *grid, Value3 source) {
    const Value light = v_sqrt(v3_dot(source, v3_f(0.2126, 0.7152, 0.0722)));
    Value across = v_f(0), down = v_f(0);
    for (int row = -1; row <= 1; ++row) {
        for (int column = -1; column <= 1; ++column) {
            if (row == 0 && column == 0)
                continue;
            const Value there = neighbour(grid, light, column, row);
            across = v_fma(there, v_f(column * (2 - abs(row))), across);
            down = v_fma(there, v_f(row * (2 - abs(column))), down);
        }
    }
    const Value length = v_sqrt(v_fma(across, across, v_mul(down, down)));
    const Value paper = v_square(v_sub(v_f(1), v_clamp(length, 0, 1)), 1);
    return (Value3) { paper, paper, paper };
}

static bool filter(const Picture *input, const Options *options) {
    Report report;
    report_start(&report);
    const size_t count = (size_t) input->width * input->height;
    const Grid grid = make_grid(input);
    const Value packed = expr_own(jit_var_mem_map(JitBackendLLVM, VarTypeUInt32,
                                                  input->pixels, count, 0));
    const Value3 source = unpack(packed);
    Value3 result;
    switch (options->mode) {
        case MODE_BLUR: result = blur(&grid, source, options->radius); break;
        case MODE_SHARPEN: result = sharpen(&grid, source, options); break;
        default: result = edges(&grid, source); break;
    }
    const Value stored = v3_pixels(result);
    report_traced(&report);
    if (!stored)
        return false;

    void *pixels = NULL;
    const Value data = expr_own(jit_var_data(stored, &pixels));
    if (!data)
        return false;
    report_print(&report, options->output);
    const Picture output = { input->width, input->height, pixels };
    return picture_write(&output, options->output);
}

/* ------------------------------------------------------------ command line */

static bool parse_mode(const char *text, Mode *mode) {
    static const char *const names[] = { "blur", "sharpen", "edges" };
    for (int i = 0; i < 3; ++i) {
        if (strcmp(text, names[i]) == 0) {
            *mode = (Mode) i;
            return true;
        }
    }
    fprintf(stderr, "expected blur, sharpen or edges, found '%s'\n", text);
    return false;
}

static bool parse_options(int argc, char **argv, Options *options) {
    *options = (Options) { .radius = 4, .amount = 1.5 };
    if (argc < 4) {
        fprintf(stderr, "usage: filter INPUT.png OUTPUT.png blur|sharpen|edges "
                "[--radius R] [--amount A]\n");
        return false;
    }

    options->input = argv[1];
    options->output = argv[2];
    if (!parse_mode(argv[3], &options->mode))
        return false;
    for (int i = 4; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--radius") == 0) {
            if (!parse_number(value, "--radius", 0.1, 50, &options->radius))
                return false;
        } else if (strcmp(argv[i], "--amount") == 0) {
            if (!parse_number(value, "--amount", 0, 20, &options->amount))
                return false;
        } else {
            fprintf(stderr, "expected --radius or --amount, found '%s'\n", argv[i]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    Options options;
    Picture picture;
    if (!parse_options(argc, argv, &options) || !picture_read(&picture, options.input))
        return 2;

    bool ok = jit_init(JitBackendLLVM) || report_error("filter");
    ok = ok && filter(&picture, &options);
    expr_end();
    const uint32_t leaks = jit_shutdown(0);
    free(picture.pixels);
    return ok && leaks == 0 ? 0 : 1;
}
