/*
 * math_special_tables.h -- written by tables_special.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef LOWER_MATH_MATH_SPECIAL_TABLES_H
#define LOWER_MATH_MATH_SPECIAL_TABLES_H

/* erf(sqrt(x)) / sqrt(x) for x in [0.0, 1.0], error 2^-29.62: x^0, x^1, x^2,
 * x^3, x^4, x^5, x^6. */
static const double erf_near_single[] = {
    0x1.20dd74fe491f5p0, -0x1.81273de983c3dp-2, 0x1.ce2cf748088aap-4,
    -0x1.b7f90d7e548c8p-6, 0x1.5405b4e21b2fbp-8, -0x1.a3f712ac38771p-11,
    0x1.496a5bee4954fp-14,
};

/* erf(sqrt(x)) / sqrt(x) for x in [0.0, 1.26562], error 2^-63.99: x^0, x^1, x^2,
 * x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13. */
static const double erf_near_double[] = {
    0x1.20dd750429b6dp0, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b9fp-4,
    -0x1.b82ce31287678p-6, 0x1.565bcd0e33dc2p-8, -0x1.c02db3f593c9ep-11,
    0x1.f9a3259df3ebp-14, -0x1.f4d23e207f919p-17, 0x1.b9e4f71853f7bp-20,
    -0x1.5f602f9dee58p-23, 0x1.fb8f940a4f8e7p-27, -0x1.4b5370d3b14c7p-30,
    0x1.6f898defe9033p-34, -0x1.06cff31ee153cp-38,
};

/* What these lack. */
static const double erf_near_double_low[] = {
    0x1.19c79a517eef4p-56, -0x1.b8758f692178ep-56,
};

/* erfc(x + 2.5) for x in [-1.5, 1.45], error 2^-31.06: x^0, x^1, x^2, x^3, x^4,
 * x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13, x^14, x^15, x^16. */
static const double erfc_single[] = {
    0x1.aab86d416a709p-12, -0x1.1d82f4a25e209p-9, 0x1.64e38a596e52ap-8,
    -0x1.119e611a25a4cp-7, 0x1.1a8b84f14fc07p-7, -0x1.90de4bd8a8959p-8,
    0x1.6eaee48469915p-9, -0x1.1d4525f21fb55p-11, -0x1.0f409a79a3dcfp-12,
    0x1.0931874c83e49p-12, -0x1.54a32ea81af28p-14, -0x1.f21851aec77cep-18,
    0x1.0968dc498709cp-16, -0x1.df7b6bf802f88p-19, -0x1.f2fe12a815593p-21,
    0x1.88a029b1aee1fp-22, 0x1.8cd3be10cc815p-28,
};

/* exp(y^2) erfc(y), y = 1 / (x + 3/16) - 3 for x in [-0.0763889, 0.0549242],
 * error 2^-58.66: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11. */
static const double erfc_double[] = {
    0x1.ca9b799d212a7p-3, 0x1.2f8f98c4cc6aap1, 0x1.6417817c366fcp3, 0x1.482e78d1f8772p5,
    0x1.c76e18fe45762p6, 0x1.a881a576b9864p7, 0x1.3bd3f8f079fp7, -0x1.6fee923e7cd3p8,
    -0x1.f7d21325b5cdap9, 0x1.9d535d37f9429p8, 0x1.294842941f89bp12,
    -0x1.222678972c99p12,
};

/* The number below. */
static const double erfinv_middle_single[] = {
    0x1.4ccp0,
};

/* erfinv(t) / t, t^2 = 1 - exp(x - 1.2998046875) for x in [-2.7002, 1.2998],
 * error 2^-29.53: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9. */
static const double erfinv_near_single[] = {
    0x1.33b5eep0, -0x1.ff7e9p-3, 0x1.1d5b96p-9, 0x1.238e4cp-9, 0x1.3d0f2cp-13,
    -0x1.f099e8p-16, -0x1.5a82b2p-18, 0x1.f9ce52p-23, 0x1.0e4c6ap-23, 0x1.4718c8p-27,
};

/* erfinv'(0) in parts. */
static const double erfinv_slope_single[] = {
    0x1.c5bf8ap-1, -0x1.c96212p-26,
};

/* erfinv(t) / t beyond for x in [-1.0, 1.1], error 2^-31.95: x^0, x^1, x^2, x^3,
 * x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12. */
static const double erfinv_far_single[] = {
    0x1.6a9efcp1, 0x1.006dcap0, 0x1.358344p-7, -0x1.f4f2eep-8, 0x1.748774p-8,
    -0x1.d261bep-9, 0x1.8625d4p-10, -0x1.3d621ap-13, -0x1.352ed6p-12, 0x1.bb25b2p-13,
    -0x1.0518bep-15, -0x1.0289bp-15, 0x1.a0dd3cp-17,
};

/* What these lack. */
static const double erfinv_far_single_low[] = {
    -0x1.5797fep-26, 0x1.0b9c22p-25,
};

/* The number below. */
static const double erfinv_middle_double[] = {
    0x1.86p0,
};

/* erfinv(t) / t, t^2 = 1 - exp(x - 1.5234375) for x in [-4.72656, 1.52344],
 * error 2^-58.92: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11,
 * x^12, x^13, x^14, x^15, x^16, x^17, x^18, x^19, x^20, x^21, x^22, x^23, x^24,
 * x^25. */
static const double erfinv_near_double[] = {
    0x1.4207d7ace96b9p0, -0x1.0068ec046f2d7p-2, 0x1.806d54e4b3678p-11,
    0x1.100bbada0c5c5p-9, 0x1.7a3adec864b04p-13, -0x1.7a06030fd22efp-16,
    -0x1.6928021b9adbap-18, 0x1.72ac90d3a05cap-25, 0x1.f2c4e571e19dp-24,
    0x1.0872d114d8dedp-27, -0x1.0ac18f9034ef2p-29, -0x1.537fb5f165d7dp-32,
    0x1.6463cdb3ec52p-36, 0x1.237941e5620bdp-37, 0x1.484cb5c7d74b1p-43,
    -0x1.89c828e5c2743p-43, -0x1.1dad49b445be2p-46, 0x1.9e51b8262e082p-49,
    0x1.59e9728a31c88p-51, -0x1.74188f73667a7p-56, -0x1.5c9d421c8128ep-56,
    -0x1.814bf1f24221p-59, -0x1.349602ddd46dcp-63, 0x1.63afd7fb60d2p-68,
    0x1.0566d9495376ep-70, 0x1.2723198b4d828p-75,
};

/* erfinv'(0) in parts. */
static const double erfinv_slope_double[] = {
    0x1.c5bf891b4ef6bp-1, -0x1.618f13eb7ca89p-55,
};

/* erfinv(t) / t beyond for x in [-1.75, 1.77], error 2^-57.19: x^0, x^1, x^2,
 * x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13, x^14, x^15, x^16,
 * x^17, x^18, x^19, x^20, x^21, x^22, x^23, x^24, x^25, x^26, x^27, x^28, x^29. */
static const double erfinv_far_double[] = {
    0x1.05e6fd13251afp2, 0x1.028defb613f9p0, 0x1.75afae951d19cp-11,
    -0x1.3eb627bd716d9p-11, 0x1.bcf78169d737p-13, -0x1.0e322e251d15ep-14,
    0x1.70c3ef5aff742p-16, -0x1.562d4c3f89c59p-17, 0x1.85b80b1995bccp-18,
    -0x1.aefd2b09d4121p-19, 0x1.9004ccdd35146p-20, -0x1.14a44903b4555p-21,
    0x1.9098726cbacb4p-24, 0x1.b8ac79ce5950bp-26, -0x1.02b79c3cc99ap-25,
    0x1.cc4f4fbfc83ddp-27, -0x1.a83b0f11f6bfep-29, -0x1.5e41fdd0a8e69p-33,
    0x1.0482d337d3eafp-31, -0x1.bdfcd566a815ap-33, 0x1.020f304f54121p-35,
    0x1.28b15f17486aep-37, -0x1.8d00705a546d2p-39, 0x1.1deaea8f37dcbp-43,
    -0x1.30b7fbdb2d65bp-41, 0x1.f3f80113290e4p-43, 0x1.05b68c82344ccp-44,
    -0x1.21e4ea74c59c6p-45, -0x1.3bd8169b4a3f3p-50, 0x1.686144e529fc2p-50,
};

/* What these lack. */
static const double erfinv_far_double_low[] = {
    -0x1.0b2dc2c5b871cp-52, 0x1.eddf04748c411p-54,
};

#endif
