/*
 * forms_rows.h -- the words in which forms_rows.def and forms_casts.def are written
 *
 * Both tables are there once and are included by each target, which says before what
 * is its own:
 *
 *     OWN(name)        its emit function of that name
 *     WIDE(...)        cells of AVX-512 only; nothing for others
 *     NARROW(...)      cells of AVX2 only; nothing for others
 *     PICK(a, b)       a for AVX-512, b for AVX2
 */
#ifndef ENGINE_NATIVE_X86_FORMS_ROWS_H
#define ENGINE_NATIVE_X86_FORMS_ROWS_H

/* Cells for one type or several. */
#define ROW(type, ...) [VarType##type] = { .emit = __VA_ARGS__ }
#define EACH_8(...) ROW(Int8, __VA_ARGS__), ROW(UInt8, __VA_ARGS__)
#define EACH_16(...) ROW(Int16, __VA_ARGS__), ROW(UInt16, __VA_ARGS__)
#define EACH_32(...) ROW(Int32, __VA_ARGS__), ROW(UInt32, __VA_ARGS__)
#define EACH_64(...) ROW(Int64, __VA_ARGS__), ROW(UInt64, __VA_ARGS__)
#define EACH_8_16(...) EACH_8(__VA_ARGS__), EACH_16(__VA_ARGS__)
#define UNSIGNED_32(...)                               \
    ROW(UInt8, __VA_ARGS__), ROW(UInt16, __VA_ARGS__), \
        ROW(UInt32, __VA_ARGS__)
#define SIGNED_32(...) \
    ROW(Int8, __VA_ARGS__), ROW(Int16, __VA_ARGS__), ROW(Int32, __VA_ARGS__)
#define FLOATS(function, single, double_) \
    ROW(Float32, function, single), ROW(Float64, function, double_)
/* Those whose entries have at least 32 bits; and all types. */
#define WORDS(...)                                                     \
    EACH_32(__VA_ARGS__), EACH_64(__VA_ARGS__),                        \
        ROW(Pointer, __VA_ARGS__), ROW(Float32, __VA_ARGS__),          \
        ROW(Float64, __VA_ARGS__)
#define SHORT(...) \
    EACH_8_16(__VA_ARGS__), ROW(Bool, __VA_ARGS__), ROW(Float16, __VA_ARGS__)
#define EVERY(...) { SHORT(__VA_ARGS__), WORDS(__VA_ARGS__) }

#define WHOLE FORMS_WHOLE
#define EXTEND FORMS_EXTEND

#endif
