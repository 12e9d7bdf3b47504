/*
 * test_progress.c -- the line about long work: on a terminal, and nowhere else
 *
 * Each case is a child process whose stderr is a pseudoterminal or a pipe. What comes
 * out is interpreted as a terminal would: what can be seen at the end, and whether a
 * line about work was there on the way.
 */
#include "test_util.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/log.h"
#include "watch/progress.h"

enum { ROOM = 1 << 16 };

static char output[ROOM]; /* all that was written */
static char visible[ROOM]; /* what a terminal shows in the end, lines with their \n */

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec) { ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* A terminal knows \r, \n, and here \033[K. */
static void interpret(void)
{
    size_t line = 0, at = 0, end = 0;
    for (const char *c = output; *c; ++c) {
        if (strncmp(c, "\033[K", 3) == 0) {
            end = at;
            c += 2;
        } else if (*c == '\r') {
            at = line;
        } else if (*c == '\n') {
            visible[end++] = '\n';
            line = at = end;
        } else {
            visible[at++] = *c;
            end = at > end ? at : end;
        }
    }
    visible[end] = 0;
}

/* Run a function in a child; its stderr is a terminal of this many columns, or (0)
 * a pipe. */
static void run(int columns, const char *delay, const char *terminal,
                void (*function)(void))
{
    int ends[2];
    if (columns) {
        ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
        assert_true(ends[0] >= 0 && !grantpt(ends[0]) && !unlockpt(ends[0]));
        ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
        assert_true(ends[1] >= 0);
        ioctl(ends[1], TIOCSWINSZ, &(struct winsize) { .ws_row = 24, .ws_col =
                                                       (unsigned short) columns });
    } else {
        assert_int_equal(pipe(ends), 0);
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("DRJIT_PROGRESS", delay, 1);
        setenv("TERM", terminal, 1);
        function();
        _exit(0);
    }
    close(ends[1]);
    size_t size = 0;
    ssize_t got; /* the end of a terminal is an error */
    while ((got = read(ends[0], output + size, ROOM - 1 - size)) > 0)
        size += (size_t) got;
    output[size] = 0;
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    interpret();
}

static uint32_t count(const char *part)
{
    uint32_t result = 0;
    for (const char *c = output; (c = strstr(c, part)); ++c)
        ++result;
    return result;
}

/* ------------------------------------------------------------------- cases */

static void work(void)
{
    Progress progress;
    progress_begin(&progress, "counting %s", "sheep");
    sleep_ms(350);
    progress_end(&progress);
}

static void short_work(void)
{
    Progress progress;
    for (int i = 0; i < 50; ++i) {
        progress_begin(&progress, "counting %d", i);
        progress_end(&progress);
    }
}

static void work_and_error(void)
{
    work();
    fprintf(stderr, "no sheep\n");
}

static void work_and_log(void)
{
    Progress progress;
    progress_begin(&progress, "counting sheep");
    sleep_ms(150);
    log_write(LogLevelError, "a wolf");
    sleep_ms(250);
    progress_end(&progress);
}

static void not_allowed(void)
{
    progress_allow(false);
    work();
    progress_allow(true);
    log_set_stderr_level(LogLevelNone);
    work();
}

static void two_at_once(void)
{
    Progress first, second;
    progress_begin(&first, "counting sheep");
    sleep_ms(150);
    progress_begin(&second, "counting goats");
    sleep_ms(250);
    progress_end(&first);
    sleep_ms(250);
    progress_end(&second);
}

UNUSED static void begin_in_child(void)
{
    Progress progress;
    progress_begin(&progress, "counting sheep");
    sleep_ms(150);
    pid_t child = fork();
    if (!child) {
        work(); /* of a process that has no watcher */
        _exit(0);
    }
    waitpid(child, NULL, 0);
    progress_end(&progress);
}

/* ------------------------------------------------------------------- tests */

static void test_line(void **unused)
{
    (void) unused;
    run(80, "20", "xterm", work);
    assert_int_equal(strncmp(output, "\r\033[Kdrjit: counting sheep ... 0.", 31), 0);
    assert_true(count("sheep") >= 2); /* the time goes on */
    assert_string_equal(visible, "");
    run(80, "20", "xterm", work_and_error);
    assert_true(count("sheep ...") >= 1);
    assert_string_equal(visible, "no sheep\n");
    run(80, "20", "xterm", work_and_log);
    assert_true(count("sheep") >= 2);
    assert_string_equal(visible, "a wolf\n");
}

static void test_nothing(void **unused)
{
    (void) unused;
    run(80, "200", "xterm", short_work);
    assert_string_equal(output, "");
    run(0, "20", "xterm", work);
    assert_string_equal(output, "");
    run(80, "20", "dumb", work);
    assert_string_equal(output, "");
    run(80, "20", "", work);
    assert_string_equal(output, "");
    run(80, "0", "xterm", work);
    assert_string_equal(output, "");
    run(80, "20", "xterm", not_allowed);
    assert_string_equal(output, "");
    run(80, "", "xterm", work); /* a second has not passed */
    assert_string_equal(output, "");
}

static void test_width(void **unused)
{
    (void) unused;
    run(16, "20", "xterm", work);
    assert_true(count("\r\033[Kdrjit: counting\r") >= 1); /* 15 columns */
    assert_string_equal(visible, "");
}

static void test_several(void **unused)
{
    (void) unused;
    run(80, "20", "xterm", two_at_once);
    const char *goats = strstr(output, "goats");
    assert_true(count("sheep") >= 2 && goats != NULL);
    assert_null(strstr(goats, "sheep")); /* one after the other */
    assert_string_equal(visible, "");
#if !defined(__SANITIZE_THREAD__) /* which allows no threads after a fork */
    run(80, "20", "xterm", begin_in_child);
    assert_string_equal(visible, "");
#endif
}

static void test_bad_number(void **unused)
{
    (void) unused;
    run(80, "soon", "xterm", work);
    assert_int_equal(count("DRJIT_PROGRESS is 'soon', expected milliseconds"), 1);
    assert_int_equal(count("using 1000"), 1);
    assert_int_equal(count("sheep"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),    cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_width),   cmocka_unit_test(test_several),
        cmocka_unit_test(test_bad_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
