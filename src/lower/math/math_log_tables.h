/*
 * math_log_tables.h -- written by tables_log.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef LOWER_MATH_MATH_LOG_TABLES_H
#define LOWER_MATH_MATH_LOG_TABLES_H

/* Near the inverses of the numbers in 8 intervals. */
static const double log_inverse_single[] = {
    0x1.5p0, 0x1.4p0, 0x1.2p0, 0x1.1p0, 0x1p0, 0x1.cp-1, 0x1.ap-1, 0x1.7p-1,
};

/* Where these begin. */
static const double log_least_single[] = {
    0x1.7p-1,
};

/* -log of these inverses, multiples of 2^-17. */
static const double log_center_single[] = {
    -0x1.1676p-2, -0x1.c9p-3, -0x1.e27p-4, -0x1.f0ap-5, 0x0p0, 0x1.1178p-3, 0x1.a94p-3,
    0x1.522ap-2,
};

/* What these lack. */
static const double log_center_single_low[] = {
    0x1.aa2a2cp-21, 0x1.070cacp-20, -0x1.db8abcp-22, -0x1.86008cp-20, 0x0p0,
    0x1.d044fcp-20, -0x1.2c3752p-19, 0x1.c0e714p-19,
};

/* -log2 of them, multiples of 2^-16. */
static const double log2_center_single[] = {
    -0x1.91bcp-2, -0x1.49a8p-2, -0x1.5cp-3, -0x1.664p-4, 0x0p0, 0x1.8a88p-3, 0x1.32cp-2,
    0x1.e7ep-2,
};

/* What these lack. */
static const double log2_center_single_low[] = {
    0x1.5db83ap-20, 0x1.ed0cbap-20, -0x1.a39fbep-19, 0x1.20a6dep-21, 0x0p0,
    0x1.80abfcp-19, -0x1.1c8f12p-22, -0x1.40358ep-19,
};

/* 2^-23 ln 2; the first part is as short. */
static const double log_octave_single[] = {
    0x1.62e4p-24, 0x1.7f7d1cp-43,
};

/* 1 / ln 2. */
static const double log2_e_single[] = {
    0x1.715476p0, 0x1.4ae0cp-26,
};

/* log(1 + x) = x + x^2 times this polynomial; for x in [-0.0703125, 0.0664062],
 * error 2^-35.65: x^0, x^1, x^2, x^3, x^4, x^5. */
static const double log_tail_single[] = {
    -0x1p-1, 0x1.555556p-2, -0x1.ffff56p-3, 0x1.9991d6p-3, -0x1.570174p-3,
    0x1.2c7b66p-3,
};

/* log2(1 + x) = x / ln 2 + x^2 times this polynomial; for x in [-0.0703125,
 * 0.0664062], error 2^-33.25: x^0, x^1, x^2, x^3, x^4, x^5. */
static const double log2_tail_single[] = {
    -0x1.715476p-1, 0x1.ec709ep-2, -0x1.715654p-2, 0x1.276f68p-2, -0x1.eb7486p-3,
    0x1.ba9c48p-3,
};

/* log(1 + x) = x - x^2 / 2 + x^3 times this polynomial; for x in [-0.0703125,
 * 0.0664062], error 2^-38.13: x^0, x^1, x^2, x^3, x^4, x^5. */
static const double log_exact_single[] = {
    0x1.555556p-2, -0x1p-2, 0x1.9994f4p-3, -0x1.5558ap-3, 0x1.28c79ep-3, -0x1.f76764p-4,
};

/* Near the inverses of the numbers in 16 intervals. */
static const double log_inverse_double[] = {
    0x1.6p0, 0x1.58p0, 0x1.48p0, 0x1.38p0, 0x1.3p0, 0x1.28p0, 0x1.18p0, 0x1.1p0,
    0x1.08p0, 0x1p0, 0x1.ep-1, 0x1.c8p-1, 0x1.bp-1, 0x1.98p-1, 0x1.88p-1, 0x1.7p-1,
};

/* Where these begin. */
static const double log_least_double[] = {
    0x1.68p-1,
};

/* -log of these inverses, multiples of 2^-43. */
static const double log_center_double[] = {
    -0x1.4618bc21c6p-2, -0x1.2e8e2bae12p-2, -0x1.fb9186d5e4p-3, -0x1.9525a9cf45p-3,
    -0x1.5ff3070a79p-3, -0x1.29552f81ffp-3, -0x1.6f0d28ae56p-4, -0x1.f0a30c0118p-5,
    -0x1.f829b0e78p-6, 0x0p0, 0x1.08598b59e4p-4, 0x1.da72763844p-4, 0x1.5bf406b544p-3,
    0x1.d1037f2656p-3, 0x1.1178e8227e8p-2, 0x1.522ae0738ap-2,
};

/* What these lack. */
static const double log_center_double_low[] = {
    0x1.3d82f484c84ccp-46, 0x1.67b1e99b72bd8p-45, 0x1.d572aab993c87p-47,
    -0x1.ad1d904c1d4e3p-45, -0x1.e9e439f105039p-46, -0x1.48d301771c408p-45,
    -0x1.69737c93373dap-45, 0x1.d599e83368e91p-45, -0x1.980267c7e09e4p-45, 0x0p0,
    -0x1.7e5dd7009902cp-46, 0x1.a89401fa71733p-46, -0x1.27023eb68981cp-46,
    -0x1.84a7e75b6f6e4p-47, -0x1.c210e63a5f01cp-45, 0x1.ebe708164c759p-45,
};

/* What both lack. */
static const double log_center_double_rest[] = {
    0x1.c65df511a65b6p-101, -0x1.03679bdbbd6b8p-99, -0x1.34b282480b089p-101,
    0x1.da62766be8258p-101, -0x1.23bafe6aae39bp-103, 0x1.20b2ef60436f9p-100,
    -0x1.9b640ce50c1efp-100, 0x1.4cd0ece597166p-101, 0x1.0dd605151051fp-100, 0x0p0,
    0x1.9b96097e362c8p-103, 0x1.8beaafb9d7407p-106, 0x1.0316d2c2a0e1dp-102,
    0x1.a21f01fe115ecp-101, -0x1.a42fc38895c05p-99, 0x1.a1a888231891bp-99,
};

/* -log2 of them, multiples of 2^-42. */
static const double log2_center_double[] = {
    -0x1.d6753e032fp-2, -0x1.b47ebf7388p-2, -0x1.6e221cd9d1p-2, -0x1.24407ab0ep-2,
    -0x1.fbc16b9026p-3, -0x1.acf5e2db4ep-3, -0x1.08c588cda8p-3, -0x1.663f6fac9p-4,
    -0x1.6bad3758fp-5, 0x0p0, 0x1.7d60496cfcp-4, 0x1.563dc29ffap-3, 0x1.f5fd8a9064p-3,
    0x1.4f6fbb2cecp-2, 0x1.8a8980abfcp-2, 0x1.e7df5fe539p-2,
};

/* What these lack. */
static const double log2_center_double_low[] = {
    0x1.7c407050799bfp-44, -0x1.50520a377c7ecp-45, 0x1.90d43956fa5d8p-45,
    -0x1.ce60916e52e91p-44, -0x1.0144751b3314fp-44, -0x1.927dfc23d978p-44,
    0x1.871a7610e40bdp-45, -0x1.3167ccc538261p-44, 0x1.3c6764fc87b4ap-48, 0x0p0,
    -0x1.2ce6312ebb81dp-46, 0x1.964190e41bca7p-44, -0x1.cb6f70109b0f1p-47,
    0x1.661e393a16b95p-44, -0x1.66cccab240e9p-45, -0x1.532c412ba94dbp-44,
};

/* 2^-52 ln 2; the first part is as short. */
static const double log_octave_double[] = {
    0x1.62e42fefa38p-53, 0x1.ef35793c7673p-97, 0x1.f97b57a079a19p-155,
};

/* 1 / ln 2. */
static const double log2_e_double[] = {
    0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56,
};

/* log(1 + x) = x + x^2 times this polynomial; for x in [-0.0341797, 0.03125],
 * error 2^-61.93: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8. */
static const double log_tail_double[] = {
    -0x1p-1, 0x1.55555555554dfp-2, -0x1.ffffffffff2ccp-3, 0x1.9999999bdfaacp-3,
    -0x1.5555556d657a8p-3, 0x1.24922eb87a2ddp-3, -0x1.fffe89fae4dd8p-4,
    0x1.c80b9e6728c29p-4, -0x1.9d36ab068f62ep-4,
};

/* log2(1 + x) = x / ln 2 + x^2 times this polynomial; for x in [-0.0341797,
 * 0.03125], error 2^-61.86: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8. */
static const double log2_tail_double[] = {
    -0x1.71547652b82fep-1, 0x1.ec709dc3a036p-2, -0x1.71547652b7e4ap-2,
    0x1.2776c5108d34dp-2, -0x1.ec709de108251p-3, 0x1.a6173d4ae5309p-3,
    -0x1.71537aecd78fep-3, 0x1.48f6375ff2266p-3, -0x1.29fd09b63910ap-3,
};

/* log(1 + x) = x - x^2 / 2 + x^3 times this polynomial; for x in [-0.0341797,
 * 0.03125], error 2^-70.48: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9. */
static const double log_exact_double[] = {
    0x1.5555555555555p-2, -0x1.fffffffffffffp-3, 0x1.999999999b17bp-3,
    -0x1.55555555584f7p-3, 0x1.2492491551eb5p-3, -0x1.000000049fbf4p-3,
    0x1.c71cdbdb5f404p-4, -0x1.9997b247f6705p-4, 0x1.7441e55052db4p-4,
    -0x1.5b5fdd3eb98b6p-4,
};

/* (log(1 + x) - x) / x^2 for x in [-0.034, 0.034], error 2^-109.1: x^0, x^1,
 * x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13, x^14, x^15,
 * x^16, x^17. */
static const double log_second[] = {
    -0x1p-1, 0x1.5555555555555p-2, -0x1p-2, 0x1.999999999999ap-3, -0x1.5555555555555p-3,
    0x1.2492492492492p-3, -0x1p-3, 0x1.c71c71c71c71cp-4, -0x1.99999999999a7p-4,
    0x1.745d1745d175fp-4, -0x1.555555554d66ep-4, 0x1.3b13b13b071fep-4,
    -0x1.249249520ae2fp-4, 0x1.1111114e21631p-4, -0x1.fffed03380496p-5,
    0x1.e1e07e2df2107p-5, -0x1.c93f7295d4c1bp-5, 0x1.b1643ee46476p-5,
};

/* What these lack. */
static const double log_second_low[] = {
    -0x1.d5bc8fa3c50e6p-110, 0x1.555555555555dp-56, 0x1.f5e8ef31eb81ap-93,
    -0x1.9999999a4bf6ep-57, -0x1.5555606026179p-57, 0x1.24926f3b0b9fp-57,
    0x1.7f13e24f9cb89p-65, 0x1.bface3d84dd07p-58, 0x1.98086738afca7p-58,
};

#endif
