/*
 * test_export_name.c -- texts of users as identifiers and in comments
 */
#include "test_util.h"

#include "export/export_name.h"

typedef void (*Put)(Text *out, const char *text);

static void check(Put put, const char *text, const char *expected)
{
    Text out = { 0 };
    put(&out, text);
    assert_string_equal(text_get(&out), expected);
    text_free(&out);
}

static void test_fields(void **state)
{
    static const char *const rows[][2] = {
        { "x", "x" }, { "d[layers/*/w]", "d_layers_w" }, { "", "" }, { "*/", "" },
        { "0[1]", "n0_1" }, { "_x__y_", "x_y" }, { "W", "W" }, { "X2", "X2" },
        { "T_max", "T_max" }, { "int", "int_" }, { "NULL", "NULL_" },
        { "M_PIf", "M_PIf_" }, { "M_inverse", "M_inverse" }, { "A[0]", "A_0" },
        { "F_H", "F_H_" }, { "size_t", "size_t_" }, { "gr\xc3\xb6\xc3\x9f" "e", "gr_e" }
    };
    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
        check(export_name_put_field, rows[i][0], rows[i][1]);
    char text[1000];
    for (size_t i = 0; i < sizeof(text); ++i)
        text[i] = i % 2 ? 'k' : '-';
    text[sizeof(text) - 1] = 0;
    Text out = { 0 };
    export_name_put_field(&out, text);
    assert_true(out.size <= 64);
    text_free(&out);
}

static void test_comments(void **state)
{
    static const char *const rows[][2] = {
        { "d[a b].c", "d[a b].c" }, { "*/", "*\\/" }, { "/*", "/\\*" },
        { "*/*/", "*\\/\\*\\/" }, { "**//", "**\\//" }, { "\\", "\\\\" },
        { "*\\\n/", "*\\\\\\n/" }, { "\?\?/", "?\\?/" }, { "\?\?\?\?", "?\\?\\?\\?" },
        { "\r\t\x7f", "\\x0d\\x09\\x7f" },
        { "\xc3\xa9", "\\u00e9" }, { "\xe2\x82\xac", "\\u20ac" },
        { "\xf0\x9f\x98\x80", "\\U0001f600" },
        /* no UTF-8: alone, cut off, longer than need be, too large, surrogates are */
        { "\x80", "\\x80" }, { "\xc3", "\\xc3" }, { "\xc3(", "\\xc3(" },
        { "\xe2\x82", "\\xe2\\x82" }, { "\xc0\x80", "\\xc0\\x80" },
        { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, { "\xff", "\\xff" },
        { "\xed\xa0\x80", "\\ud800" }
    };
    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
        check(export_name_put_comment, rows[i][0], rows[i][1]);
    char text[1000];
    memset(text, 'k', sizeof(text));
    text[sizeof(text) - 1] = 0;
    Text out = { 0 };
    export_name_put_comment(&out, text);
    assert_string_equal(text_get(&out) + 200, "...");
    text_free(&out);
}

static void test_functions(void **state)
{
    static const char *const good[] = { "f", "_f", "step_2", "RELU", "__call__" };
    static const char *const bad[] = { "", "9", "a b", "a*/", "a\n", "_Bool", "double",
                                       "size_t", "../a", "\xc3\xa9", "a-b", "main",
                                       "NULL" };
    (void) state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); ++i)
        assert_true(export_name_is_function(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); ++i)
        assert_false(export_name_is_function(bad[i]));
}

int main(void)
{
    const struct CMUnitTest list[] = { TEST(test_fields), TEST(test_comments),
                                       TEST(test_functions) };
    return cmocka_run_group_tests(list, NULL, NULL);
}
