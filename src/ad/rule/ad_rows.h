/*
 * ad_rows.h -- rows of math.def as rows of ad_rules.def
 *
 * A file that expands both tables defines RULE for both, and includes this for MATH.
 */
#ifndef AD_RULE_AD_ROWS_H
#define AD_RULE_AD_ROWS_H

/* They have one derivative or two. */
#define MATH_2(name, first, second)  \
    RULE(name, a, D_TIMES(g, first)) \
    RULE(name, b, D_TIMES(g, second))
#define MATH_1(name, first) RULE(name, a, D_TIMES(g, first))
#define PICK(first, second, macro, ...) macro
#define MATH(name, function, ...) PICK(__VA_ARGS__, MATH_2, MATH_1, )(name, __VA_ARGS__)

#endif
