/*
 * math_gamma_tables.h -- written by tables_gamma.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef LOWER_MATH_MATH_GAMMA_TABLES_H
#define LOWER_MATH_MATH_GAMMA_TABLES_H

/* log(1 + x) / x for x in [-0.034, 0.034], error 2^-43.15: x^0, x^1, x^2, x^3,
 * x^4, x^5, x^6. */
static const double log_short[] = {
    0x1.ffffffffffff3p-1, -0x1.000000002e858p-1, 0x1.555555560781fp-2,
    -0x1.ffffec5a178d3p-3, 0x1.99998177a9bc4p-3, -0x1.55da11d6ad9cep-3,
    0x1.25173d7f1c15fp-3,
};

/* log(gamma(y)) / ((y - 1) (y - 2)), y = x + 1.75 for x in [-0.75, 0.75], error
 * 2^-35.26: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12,
 * x^13, x^14. */
static const double gamma_factor_single[] = {
    0x1.ccf151e09290bp-2, -0x1.e965863f1d7fap-4, 0x1.6cb6255f0f219p-5,
    -0x1.382e087965d0ap-6, 0x1.1f955ecfbc0c6p-7, -0x1.14fc2cd8ba523p-8,
    0x1.12b361b9b416ap-9, -0x1.15741bbbfb4d1p-10, 0x1.1cbcd16c09fd1p-11,
    -0x1.3270c24d771f5p-12, 0x1.4532e3d57d719p-13, -0x1.ec339e9ba846cp-15,
    0x1.e420e1398f5c9p-16, -0x1.6868986c8cb76p-15, 0x1.96adb47513e8fp-16,
};

/* y times what Stirling's formula lacks, x = 1 / y^2 for x in [0.0, 0.16], error
 * 2^-32.94: x^0, x^1, x^2, x^3, x^4, x^5. */
static const double stirling_rest_single[] = {
    0x1.55555554a3b5fp-4, -0x1.6c16977c7a2e1p-9, 0x1.9fe6416871834p-11,
    -0x1.32131bdafb262p-11, 0x1.634d1eef5aec6p-11, -0x1.4be4092069bbfp-11,
};

/* y times what Stirling's formula lacks, x = 1 / y^2 for x in [0.0, 0.16], error
 * 2^-58.05: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11. */
static const double stirling_rest_double[] = {
    0x1.5555555555347p-4, -0x1.6c16c1666401cp-9, 0x1.a019f5d56371fp-11,
    -0x1.381049dea1bbp-11, 0x1.b8c825a7d731p-11, -0x1.eef48704dfd2dp-10,
    0x1.7cc0e3ef2b155p-8, -0x1.4d4c38631d8f6p-6, 0x1.103f01dbb1b5fp-4,
    -0x1.5be21de7b6923p-3, 0x1.223a62aaf0a81p-2, -0x1.cba9371abd891p-3,
};

/* log(gamma(y)) / ((y - 1) (y - 2)), y = x + 1.75 for x in [-0.75, 0.75], error
 * 2^-59.62: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12,
 * x^13, x^14, x^15, x^16, x^17, x^18, x^19, x^20, x^21, x^22, x^23, x^24, x^25. */
static const double gamma_factor[] = {
    0x1.ccf151e09cde8p-2, -0x1.e96586307946ep-4, 0x1.6cb62517118d8p-5,
    -0x1.382e176f60a1p-6, 0x1.1f9587fa21bap-7, -0x1.14f7c58ebd332p-8,
    0x1.12aa72f52a83ep-9, -0x1.1605626961314p-10, 0x1.1daed676fe0cdp-11,
    -0x1.28f268da4a7f8p-12, 0x1.377642ec03a14p-13, -0x1.4917729ade4f2p-14,
    0x1.5ddb910538407p-15, -0x1.75d725465da09p-16, 0x1.90d5c628ef349p-17,
    -0x1.afa5fbd4aa8d8p-18, 0x1.d807b2a541bc9p-19, -0x1.00e1c70b4dcd9p-19,
    0x1.f9886d9a26808p-21, -0x1.0c832c2d45ac2p-21, 0x1.d3c6382065bbfp-22,
    -0x1.0f72ac6c8100ap-22, -0x1.24a791fa1ecc2p-25, 0x1.e1e0733222dc2p-26,
    0x1.884944e5627b5p-24, -0x1.c6e3fdf4627b6p-25,
};

/* What these lack. */
static const double gamma_factor_low[] = {
    0x1.0d27ff366afa5p-56, -0x1.b795c6914be62p-61,
};

/* y times what Stirling's formula lacks, x = 1 / y^2 for x in [0.0, 0.16], error
 * 2^-61.41: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12,
 * x^13, x^14, x^15, x^16. */
static const double stirling_rest[] = {
    0x1.5555555555555p-4, -0x1.6c16c16c16b21p-9, 0x1.a01a019f7e203p-11,
    -0x1.3813809a96fafp-11, 0x1.b9518e4014156p-11, -0x1.f69d2397eaa68p-10,
    0x1.a354f65f9e091p-8, -0x1.dc56d6a03e8d3p-6, 0x1.521b2a09dc5ddp-3,
    -0x1.0b190bc7b9a3cp0, 0x1.9e633c110e5e9p2, -0x1.1c17abc857a04p5,
    0x1.3d975802f8814p7, -0x1.0e17d07267b94p9, 0x1.431162caa8b79p10,
    -0x1.e03095b32a61ap10, 0x1.4bfb69953902bp10,
};

/* What these lack. */
static const double stirling_rest_low[] = {
    0x1.53532fbbbd17p-58, -0x1.3c8afe1d7e878p-63,
};

/* (sin(pi f) / (pi f) - 1) / x, x = f^2 for x in [0.0, 0.25], error 2^-71.92:
 * x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9. */
static const double sine_factor[] = {
    -0x1.a51a6625307d3p0, 0x1.9f9cb402bc46cp-1, -0x1.86a8e4720db67p-3,
    0x1.ac6805cf35101p-6, -0x1.33816aa4652p-9, 0x1.374719fe839e8p-13,
    -0x1.d4249c45e1ffdp-18, 0x1.0fca709ae537fp-22, -0x1.f6686ae1def64p-28,
    0x1.818761d3d57c4p-33,
};

/* What these lack. */
static const double sine_factor_low[] = {
    -0x1.1873d4bd594c9p-55, 0x1.486ef9907f8fdp-55,
};

/* (log(2 pi) - 1) / 2. */
static const double stirling_constant[] = {
    0x1.acfe390c97d69p-2, 0x1.3494bc9001442p-56,
};

/* Argument and value, of two parts each. */
static const double gamma_minimum[] = {
    0x1.762d86356be3fp0, 0x1.b86a722197829p-54, -0x1.f19b9bcc38a42p-4,
    0x1.f095c88d5a6c1p-59,
};

/* (log(gamma(y)) - value) / x^2. */
static const double gamma_minimum_series[] = {
    0x1.ef72bc8ee38acp-2, -0x1.2e4278dc6bc24p-3, 0x1.08b4294d50381p-4,
    -0x1.0c9a8df513153p-5, 0x1.266e797a0a272p-6, -0x1.51f9f95020de9p-7,
    0x1.8fce02b239ca7p-8, -0x1.e2f1a3ef6348cp-9,
};

/* log |gamma(x - 2.625)| without its zeros for x in [-0.165, 0.205], error
 * 2^-57.71: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12,
 * x^13, x^14, x^15, x^16, x^17, x^18, x^19, x^20, x^21, x^22, x^23, x^24, x^25,
 * x^26. */
static const double gamma_between[] = {
    0x1.6cf28fef7a25ep2, -0x1.3875a0ed7d357p2, 0x1.d2d39b623a3adp3,
    -0x1.8c7f65449f30ep4, 0x1.fbd253dee5975p5, -0x1.0bc46b6364baap7,
    0x1.48e5d010482a1p8, -0x1.7ae3f157a289ap9, 0x1.cf693b7bd4adcp10,
    -0x1.1620849de53d3p12, 0x1.566b2c1803b51p13, -0x1.a41fcf39bea6bp14,
    0x1.04dc1ecb8b072p16, -0x1.444eacb59c91dp17, 0x1.95b030fa10f1ep18,
    -0x1.fe05c571477cfp19, 0x1.4394d56d416c9p21, -0x1.936a0117f4a7ap22,
    0x1.e33b3d1d941afp23, -0x1.45c43ed845b8fp25, 0x1.0b241b2948d7fp27,
    -0x1.357a3983953ffp28, 0x1.0524d8e965ffbp27, -0x1.7aed3bb32a0a9p27,
    0x1.1955cedc252afp33, -0x1.048a6e710ab4dp35, 0x1.2244afd9594edp35,
};

/* What these lack. */
static const double gamma_between_low[] = {
    0x1.8dbea3ee9b87ep-52, 0x1.5b10a9ba5ea45p-54,
};

/* The first two zeros of log |gamma(x)| below -2. */
static const double gamma_first_zeros[] = {
    -0x1.3a7fc9600f86cp1, -0x1.55f64f98af8dp-55, -0x1.5fb410a1bd901p1,
    0x1.a19a96d2e6f85p-54,
};

/* Rows: bound, zero (2 numbers), first coefficient (2 numbers), others. */
static const double gamma_zeros[] = {
    -0x1.790a7635d1958p1, -0x1.9260dbc9e59afp1, -0x1.f717cd335a7b3p-53,
    0x1.f20a65f2fac55p2, -0x1.1d258e4b0be84p-53, 0x1.9d4d2977150efp4,
    0x1.c1137124d5c5bp6, 0x1.267203d776b0ep9, 0x1.99a6337da39ddp11,
    0x1.293c3f78d3bdbp14, 0x1.bb97aa0b71e45p16, 0x1.51ea3345f5349p19,
    0x1.057f65c64b21bp22, 0x1.99c8650e3a38bp24, -0x1.c653f888d44cap1,
    -0x1.fa471547c2fe5p1, -0x1.70d4561291237p-56, -0x1.4b99d966c5647p4,
    0x1.9cba2450afff3p-50, 0x1.f76deae0436bep7, -0x1.d25359d4b2f38p11,
    0x1.e8f829f141aa5p15, -0x1.116f7806d26d3p20, 0x1.3e8f3ab9fc1f4p24,
    -0x1.7dbbe062ffd9ep28, 0x1.d2f76de7bd027p32, -0x1.2225fe4f8493dp37,
    0x1.6d12ae1936a57p41, -0x1.ffa872297ad73p1, -0x1.0284e78599581p2,
    0x1.e78c1e9e43cfep-53, 0x1.aca5cf4921642p4, 0x1.a46a2e0d8fe1p-51,
    0x1.44415cd813f8ep8, 0x1.559b11b2a9c7cp12, 0x1.96d18e21aebdbp16,
    0x1.0261eb5732e4p21, 0x1.55e3dbf99eb3dp25, 0x1.d14fe49c4e437p29,
    0x1.433dce282da6ep34, 0x1.c8399c7588cdp38, 0x1.45fbe666d9402p43,
    -0x1.20fd2f964403fp2, -0x1.3f7577a6eeafdp2, 0x1.5de5eab7f12cfp-53,
    -0x1.d224a3ef9e41fp6, -0x1.9be272a13babcp-48, 0x1.b533c678a3956p12,
    -0x1.0d3f7fee65d34p19, 0x1.752a6f5ac2726p25, -0x1.13d5d163bd3f7p32,
    0x1.a8c5c53458ca5p38, -0x1.5068b3ed69409p45, 0x1.0ffa575ea7fe9p52,
    -0x1.bec12dd78a14bp58, 0x1.7382570f089d4p65, -0x1.3ffe0e92fd0ebp2,
    -0x1.4086a57f0b6d9p2, -0x1.95262b72ca9cap-55, 0x1.ed72e0829ae02p6,
    -0x1.fdc1859aea473p-50, 0x1.cecc32ec22f9bp12, 0x1.253d8563f7264p19,
    0x1.a225df2da6e63p25, 0x1.3e01773762671p32, 0x1.f7d8d5bdcb186p38,
    0x1.9a8d00c77a92cp45, 0x1.557fd8c490b4bp52, 0x1.209221a6240ap59,
    0x1.edc98d3bbb5dap65, -0x1.6037ea6c15573p2, -0x1.7fe92f591f40dp2,
    -0x1.7dd4ed62cbd32p-52, -0x1.661f6a43a5e12p9, -0x1.0c437b83bc0e6p-45,
    0x1.f79dcb794f26fp17, -0x1.d6e8088a19ffep26, 0x1.ef5d308dbfc97p35,
    -0x1.15ea6b0ab529ep45, 0x1.44d54e9fe2397p54, -0x1.8684e40cebb3dp63,
    0x1.df44c1d81c723p72, -0x1.2ac3053f4ee19p82, 0x1.79226ae04a7a4p91,
    -0x1.7ffff0d8db84dp2, -0x1.8016b25897c8dp2, 0x1.27e0f49a4ba72p-54,
    0x1.69de49e3af2aap9, 0x1.954b690943b33p-47, 0x1.fce23484cfd1p17,
    0x1.de503a3c37c4p26, 0x1.f9c7b52558abbp35, 0x1.1d3d50714416ap45,
    0x1.4f21e2fb9e06p54, 0x1.9500994cd8a9ep63, 0x1.f3a2c23c19d79p72,
    0x1.39152652eb3abp82, 0x1.8d45f8be8912ep91, -0x1.a009b8e7a81bep2,
    -0x1.bffcbf76b86fp2, 0x1.853b29347b806p-57, -0x1.3abf7a5cea91bp12,
    -0x1.8257b8abd0511p-42, 0x1.8349a2550422dp23, -0x1.3d91dadc98428p35,
    0x1.24f3d636f3339p47, -0x1.20427df1b3492p59, 0x1.2775e857fb69cp71,
    -0x1.377e70b463c13p83, 0x1.4f3d28edba5cdp95, -0x1.6e8557168cf8ep107,
    0x1.95bb17ce4279bp119, -0x1.bfffffaacc287p2, -0x1.c0033fdedfe1fp2,
    0x1.20bb7d2324678p-52, 0x1.3b407aa387bd1p12, 0x1.da1e57343b1efp-43,
    0x1.83e85daafbad6p23, 0x1.3e552b5e3c226p35, 0x1.25e42a45e905bp47,
    0x1.216a3560743eep59, 0x1.28e1c70ef5313p71, 0x1.393e2bc330081p83,
    0x1.5164141f5ae6ap95, 0x1.712b3a86e1bep107, 0x1.98fd36b906d52p119,
    -0x1.e0016beb7abf7p2, -0x1.ffff97f8159cfp2, -0x1.e54f415a91586p-55,
    -0x1.3af76fe4c2fabp15, -0x1.7cc92f0b996a5p-40, 0x1.838e76caaf123p29,
    -0x1.3de68b3256526p44, 0x1.255c052530c71p59, -0x1.20c2a8418126ap74,
    0x1.28139342cefp89, -0x1.384066c322246p104, 0x1.502bc4dad47d3p119,
    -0x1.6faadfece0e2fp134, 0x1.9724323c8991ep149, -0x1.fffffffe960e1p2,
    -0x1.000034028b3f9p3, -0x1.f60cb3cec1cedp-52, 0x1.3b088fed67718p15,
    -0x1.505613ba29a31p-39, 0x1.83a3893550edcp29, 0x1.3e0078db8ada4p44,
    0x1.257bec9464251p59, 0x1.20e9ea0755a47p74, 0x1.2843e1313c83bp89,
    0x1.387bd6a785478p104, 0x1.5074e788de77p119, 0x1.7004dd990d7d9p134,
    0x1.9792ed5f6dfc9p149, -0x1.1000171d87fe5p3, -0x1.1ffffa3884bdp3,
    -0x1.ff90c9d2ae925p-53, -0x1.625edfc63db2fp18, 0x1.da7fc3ed69467p-37,
    0x1.ea8c150480a7ap35, -0x1.c4b30e4bc55c1p53, 0x1.d5fe468dbbf03p71,
    -0x1.043d21bc24decp90, 0x1.2c334ae535e1dp108, -0x1.64314b431cd64p126,
    0x1.af6ed589b3a86p144, -0x1.096e446edcfb3p163, 0x1.4aaf49e713c02p181,
    -0x1.1ffffffffda66p3, -0x1.200005c7768fbp3, -0x1.b5b610ffb70d4p-54,
    0x1.626120391944p18, 0x1.7d5e8272cda81p-38, 0x1.ea8f32fb7f586p35,
    0x1.c4b75ee68e2bap53, 0x1.d6043fa1ffaa5p71, 0x1.04414411db7f4p90,
    0x1.2c3903ec9c90cp108, 0x1.64393744bb9bdp126, 0x1.af79ccdc71d33p144,
    0x1.0975db7d71fc6p163, 0x1.4ab9cba1e346ep181, -0x1.30000299c205dp3,
    -0x1.3fffff6c0d7cp3, 0x1.197cea8c42d7dp-51, -0x1.baf7da5f3795dp21,
    -0x1.16a79518c8122p-33, 0x1.7f3e8791fa0d2p42, -0x1.ba18befcaaa63p63,
    0x1.1ede14765dc0cp85, -0x1.8d1a9ab5a505p106, 0x1.1e4d8c35d22ccp128,
    -0x1.a8a191db109p149, 0x1.4174f65ff868p171, -0x1.ee6d90f2332c5p192,
    0x1.80fd3420fba1dp214, -0x1.3ffffffffff9bp3, -0x1.40000093f2777p3,
    -0x1.927b45d95e154p-52, 0x1.baf825a0c63b2p21, -0x1.20323f10165f2p-35,
    0x1.7f3ec8ae05f2ep42, 0x1.ba192fa62a5c8p63, 0x1.1ede75ef431bp85,
    0x1.8d1b435ece20fp106, 0x1.1e4e1e218c99cp128, 0x1.a8a28e596cccep149,
    0x1.4175d0d35b3d4p171, 0x1.ee6f0af10b983p192, 0x1.80fe7b2913e7cp214,
    -0x1.500000433faa6p3, -0x1.5ffffff28cdd4p3, 0x1.c9924a65aa486p-53,
    -0x1.308a7d8eadb7cp25, 0x1.a95a609877977p-31, 0x1.6a4938065bfd2p49,
    -0x1.1f51f646980c5p74, 0x1.005993b17e047p99, -0x1.e7ee7dccf100cp123,
    0x1.e3b550a815c55p148, -0x1.ed38daa0d4c2cp173, 0x1.00b346bb02a7dp199,
    -0x1.0f71919049fbdp224, 0x1.229f2440f731ep249, -0x1.5ffffffffffffp3,
    -0x1.6000000d7322ap3, -0x1.8aecb2d37ff52p-51, 0x1.308a82715245p25,
    -0x1.1233b372bfd9ep-29, 0x1.6a493dd62402ep49, 0x1.1f51fd307a7cdp74,
    0x1.00599beaf8731p99, 0x1.e7ee915e59f9p123, 0x1.e3b567ef58977p148,
    0x1.ed38f6520c29fp173, 0x1.00b35733b93d4p199, 0x1.0f71a5288c1c1p224,
    0x1.229f3b905f98p249, -0x1.700000062a1a9p3, -0x1.7ffffffee1127p3,
    -0x1.ce1f7906b30f5p-54, -0x1.c8cfbfaf2b0c8p28, 0x1.7e94018c6c78dp-27,
    0x1.97926203e98acp56, -0x1.e4da54ebc6dacp84, 0x1.447163ae314a4p113,
    -0x1.cf2769e629665p141, 0x1.585bdc3e1a1ep170, -0x1.075951fd3e6e6p199,
    0x1.9b2f368a135bap227, -0x1.4619ae6d212bep256, 0x1.05dadf39fe06dp285, -0x1.8p3,
    -0x1.800000011eed9p3, 0x1.19d5307e1fb5ep-53, 0x1.c8cfc050d4f38p28,
    -0x1.7ef0726d4e7acp-26, 0x1.9792629426754p56, 0x1.e4da55ed2869fp84,
    0x1.44716493d49d4p113, 0x1.cf276b7feead7p141, 0x1.585bddabb4165p170,
    0x1.075953436fe86p199, 0x1.9b2f38d024339p227, 0x1.4619b074745a5p256,
    0x1.05dae10956d5p285, -0x1.90000000846dap3, -0x1.9fffffffe9edcp3,
    0x1.84f40342d001cp-51, -0x1.7328cbfacb4e5p32, -0x1.eae875d913775p-24,
    0x1.0d0fa2e06b2f1p64, -0x1.04105bec453b2p96, 0x1.1ac9dd401f2e4p128,
    -0x1.47ffb069fc5a3p160, 0x1.8c49d9a550bffp192, -0x1.ec79de0e58f55p224,
    0x1.38615a9e729aap257, -0x1.929453f57ff5ep289, 0x1.06a78089cd9f2p322, -0x1.ap3,
    -0x1.a000000016124p3, -0x1.84e03341ee8ddp-51, 0x1.7328cc0534b1bp32,
    -0x1.f63c3a52c12bfp-24, 0x1.0d0fa2e7f760fp64, 0x1.04105bf7369b6p96,
    0x1.1ac9dd4ffcbb2p128, 0x1.47ffb080fcf49p160, 0x1.8c49d9c6aa4a2p192,
    0x1.ec79de3eb3092p224, 0x1.38615ac17fba5p257, 0x1.929454285190cp289,
    0x1.06a780aea48d7p322, -0x1.b00000000a3f5p3, -0x1.bffffffffe6c7p3,
    0x1.d2a30f3dae0fbp-51, -0x1.44c3b27faa6bcp36, -0x1.1972c0b160b2bp-21,
    0x1.9bfff16cfee53p71, -0x1.5c71eb305bbbap107, 0x1.4b87e88b6aa31p143,
    -0x1.50778e66e783p179, 0x1.63b46f95b59ebp215, -0x1.82c962042fed7p251,
    0x1.ad58bb7f9c093p287, -0x1.e427911e97b22p323, 0x1.14644886639ffp360, -0x1.cp3,
    -0x1.c000000001939p3, -0x1.d2a2f4a73af63p-51, 0x1.44c3b28055944p36,
    -0x1.198d430af8ae5p-21, 0x1.9bfff16dd8075p71, 0x1.5c71eb316f30cp107,
    0x1.4b87e88cc815ep143, 0x1.50778e68a2d38p179, 0x1.63b46f97e8037p215,
    0x1.82c96206f962dp251, 0x1.ad58bb8325232p287, 0x1.e427912313eaep323,
    0x1.146448893bf2bp360, -0x1.d000000000bc5p3, -0x1.dfffffffffe52p3,
    0x1.fcf9ccfd8867ep-51, -0x1.30777757fa84ap40, 0x1.86558a534b1cdp-14,
    0x1.6a1bf33124eddp79, -0x1.1f1c1dba9251p119, 0x1.0019876a17ea6p159,
    -0x1.e7562019511d5p198, 0x1.e300149e44802p238, -0x1.ec6148051096fp278,
    0x1.0033115fea2e8p319, -0x1.0ed9119b5a477p359, 0x1.21e9bf781864p399, -0x1.ep3,
    -0x1.e0000000001aep3, -0x1.fcf9ccde8721p-51, 0x1.30777758057b6p40,
    0x1.865586b64d417p-14, 0x1.6a1bf33131f8p79, 0x1.1f1c1dbaa1d33p119,
    0x1.0019876a2a5c3p159, 0x1.e75620197cfcep198, 0x1.e300149e78ae1p238,
    0x1.ec6148054ea5dp278, 0x1.003311600f15dp319, 0x1.0ed9119b862b6p359,
    0x1.21e9bf784c973p399, -0x1.f0000000000cap3, -0x1.fffffffffffe5p3,
    -0x1.80c18cc43ea26p-53, -0x1.30777757ffa65p44, 0x1.9865588a24e58p-10,
    0x1.6a1bf3312b084p87, -0x1.1f1c1dba99933p131, 0x1.0019876a208c6p175,
    -0x1.e756201965a62p218, 0x1.e300149e5cec2p262, -0x1.ec6148052da29p306,
    0x1.0033115ffb743p351, -0x1.0ed9119b6ed25p395, 0x1.21e9bf7830d28p439, -0x1p4,
    -0x1.000000000000dp4, -0x1.cfe7ce6768509p-50, 0x1.307777580059bp44,
    0x1.9865588674a06p-10, 0x1.6a1bf3312bddap87, 0x1.1f1c1dba9a91p131,
    0x1.0019876a21ba3p175, 0x1.e756201968742p218, 0x1.e300149e60421p262,
    0x1.ec614805319a3p306, 0x1.0033115ffdd02p351, 0x1.0ed9119b71a09p395,
    0x1.21e9bf783428bp439, -0x1.0800000000006p4, -0x1.0ffffffffffffp4,
    -0x1.ab4e23f3d49f1p-51, -0x1.437eeecd7ffa4p48, -0x1.9ef222eff1e74p-6,
    0x1.98c98d8a82058p95, -0x1.5860a968a2643p143, 0x1.466188ec8819dp191,
    -0x1.49f2502d33c5cp239, 0x1.5b72f0d68641cp287, -0x1.7855662fb1671p335,
    0x1.a01c8de3771d1p383, -0x1.d365a4a778f0ep431, 0x1.09c872a5ea86dp480, -0x1.1p4,
    -0x1.1000000000001p4, 0x1.ab4e23f3d4bbcp-51, 0x1.437eeecd8005cp48,
    -0x1.9ef222eff5716p-6, 0x1.98c98d8a8214p95, 0x1.5860a968a2767p143,
    0x1.466188ec8830fp191, 0x1.49f2502d33e2fp239, 0x1.5b72f0d68666ap287,
    0x1.7855662fb195bp335, 0x1.a01c8de37757fp383, 0x1.d365a4a7793b5p431,
    0x1.09c872a5eab5dp480, -0x1.18p4, -0x1.2p4, 0x1.6827863b97d9ap-53,
    -0x1.6beecca72fffap52, -0x1.50500b7a70397p-3, 0x1.02af8b91a64bdp104,
    -0x1.ea55a1357b43fp155, 0x1.05664db1b069ap208, -0x1.294984ff8a674p260,
    0x1.603077a9f1971p312, -0x1.ad26c963dfeafp364, 0x1.0ae9c34e52e46p417,
    -0x1.51494975895bep469, 0x1.af8a96a391775p521,
};

/* digamma(y) / (y - zero), y = x + 1.75 for x in [-0.75, 0.75], error 2^-32.33:
 * x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13,
 * x^14. */
static const double digamma_factor_single[] = {
    0x1.b763ca66dd8c6p-1, -0x1.4e15b1a94d5fcp-2, 0x1.41c8316cd5807p-3,
    -0x1.510a79c49d9e8p-4, 0x1.6eff320d0890ep-5, -0x1.97dcaa804a95dp-6,
    0x1.ca66375c26cc6p-7, -0x1.022a2a538b73p-7, 0x1.24c4beef389dap-8,
    -0x1.608f94e64546cp-9, 0x1.9648a5ca4811fp-10, -0x1.1c2cf6ae73671p-11,
    0x1.2e102bd3680dfp-12, -0x1.2ada459bbe487p-11, 0x1.60c2b2e5f7724p-12,
};

/* (digamma(w + 1/2) - log(w)) / x, x = 1 / w^2 for x in [0.0, 0.25], error
 * 2^-34.76: x^0, x^1, x^2, x^3, x^4, x^5. */
static const double digamma_rest_single[] = {
    0x1.55554bd83f1ep-5, -0x1.ddc8191dca337p-8, 0x1.f36469620866dp-9,
    -0x1.e2b35025be178p-9, 0x1.0abad72ca2f4ep-8, -0x1.6a8c41a029f15p-9,
};

/* (digamma(w + 1/2) - log(w)) / x, x = 1 / w^2 for x in [0.0, 0.25], error
 * 2^-61.82: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12,
 * x^13, x^14, x^15, x^16, x^17. */
static const double digamma_rest_double[] = {
    0x1.555555555548fp-5, -0x1.dddddddd0694dp-8, 0x1.f7df7ca0afacbp-9,
    -0x1.0eeea6fcae8a9p-8, 0x1.ef713a2a4e778p-8, -0x1.5897f21d32dd8p-6,
    0x1.4e8e02f124833p-4, -0x1.9ba26d200d79ap-2, 0x1.1c6f0bec8f2c2p1,
    -0x1.8770d26a3fc23p3, 0x1.e88e2978a8c14p5, -0x1.033906733d6dcp8,
    0x1.be79c76a7fb37p9, -0x1.2b919c9d934aap11, 0x1.2b1a060c967dcp12,
    -0x1.a01001fc5c806p12, 0x1.66a3b542616cp12, -0x1.1fdf681c897aap11,
};

/* digamma(y) / (y - zero), y = x + 1.75 for x in [-0.75, 0.75], error 2^-60.29:
 * x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13,
 * x^14, x^15, x^16, x^17, x^18, x^19, x^20, x^21, x^22, x^23, x^24, x^25, x^26,
 * x^27. */
static const double digamma_factor[] = {
    0x1.b763ca67112ap-1, -0x1.4e15b17372db3p-2, 0x1.41c830a3206f3p-3,
    -0x1.510ab0e548b95p-4, 0x1.6effaf57e43fcp-5, -0x1.97cc6e105ac27p-6,
    0x1.ca494723ac0ebp-7, -0x1.0335d25c30bacp-7, 0x1.266020b524224p-8,
    -0x1.4f1c28790373fp-9, 0x1.7e0ad2519a3f5p-10, -0x1.b3f1f530de5ep-11,
    0x1.f1bae3e9c00dfp-12, -0x1.1c3d761b6e75ep-12, 0x1.44cefd6703384p-13,
    -0x1.73266172928d7p-14, 0x1.a68b1b9a18cbbp-15, -0x1.e26f7cee59b52p-16,
    0x1.1d3c6c072faedp-16, -0x1.47e7da53d6ap-17, 0x1.24533c73a857dp-18,
    -0x1.4206734fcd03ap-19, 0x1.ab850eaebb8d7p-19, -0x1.007e7d76d9ef6p-19,
    -0x1.62a48eb94f68dp-21, 0x1.cf23b39fb7cc3p-22, 0x1.92daf4323682dp-21,
    -0x1.dba38245922e5p-22,
};

/* What these lack. */
static const double digamma_factor_low[] = {
    -0x1.1b69115b4ee36p-57, 0x1.5c9204363fbaap-56, 0x1.9e5b34cf39758p-58,
    -0x1.b2b84ff3dccaep-58,
};

/* (1/f - pi cot(pi f)) / f, x = f^2 for x in [0.0, 0.25], error 2^-64.25: x^0,
 * x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13, x^14,
 * x^15, x^16. */
static const double cotangent[] = {
    0x1.a51a6625307d3p1, 0x1.151322ac7d847p1, 0x1.0470984c0936dp1, 0x1.010b36af7b4cap1,
    0x1.00412e3707689p1, 0x1.0010200370a65p1, 0x1.00041794f5374p1, 0x1.fffe95188153ap0,
    0x1.001b1536dd29fp1, 0x1.fd97c4b10526ap0, 0x1.0a3b71ac7d31bp1, 0x1.7f0f42234114fp0,
    0x1.154e8d7570ed4p2, -0x1.71856c1c66a38p2, 0x1.3da14cd58faadp4,
    -0x1.7e8cd3995cff4p4, 0x1.532c08ef47edap4,
};

/* What these lack. */
static const double cotangent_low[] = {
    0x1.192538dc3786p-54, 0x1.be5cc61235d81p-53, 0x1.4aa6d143ccd4ap-53,
    0x1.63d8510b2b9ap-53, -0x1.c06ada46dd65ap-54,
};

/* Columns: the first 8 zeros of digamma(x) below 0 (2 numbers), coefficients of
 * the series around each (the first one: 2 numbers). */
static const double digamma_zeros[] = {
    -0x1.02172b05ee26p-1, -0x1.92d0cbc289d4ap0, -0x1.4e2c19f679e5ap1,
    -0x1.d1514b041b2a8p1, -0x1.29cea5c1ccbdp2, -0x1.6ab2ca18e6ce3p2,
    -0x1.ab6b34398a4ffp2, -0x1.ec04b952a5368p2, -0x1.2cd704405bff6p-57,
    -0x1.2262d144a30e4p-56, 0x1.c7b999bd14f47p-54, 0x1.f71449c2a5446p-55,
    -0x1.25e92119a56a9p-52, -0x1.da7ecae62c5bdp-59, 0x1.9027e5b26e237p-52,
    -0x1.37a62af51caacp-53, 0x1.1e12d46d5ae28p3, 0x1.3e20e129a441ep3,
    0x1.5b2582701b783p3, 0x1.74d47ec7ac492p3, 0x1.8bd4130f4ee75p3, 0x1.a0af5c72c8e84p3,
    0x1.b3cda28232d1dp3, 0x1.c57b9f5a07e4bp3, 0x1.0cbb010bd488ap-51,
    -0x1.944a31365ee6bp-52, -0x1.ec1f096d4fce9p-51, 0x1.3f8f2b994019ap-52,
    0x1.6694df3df9964p-55, -0x1.9182932a0c24p-51, -0x1.9b5988bba0e08p-51,
    -0x1.684294a03cb36p-51, -0x1.9e6287497864p-1, -0x1.f35db31e6a1d4p2,
    -0x1.98a9c8ee5f509p3, -0x1.0f036e4ba3313p4, -0x1.4a31244049061p4,
    -0x1.802c5fd17ebafp4, -0x1.b23832f615893p4, -0x1.e11ef4f9ada39p4,
    0x1.02118e3b13c53p5, 0x1.3f4b97e4daf9dp5, 0x1.99bd233efef94p5, 0x1.f94be5ed016a7p5,
    0x1.2cab056653a93p6, 0x1.5c36bb2d63c1fp6, 0x1.8b0670f67aaabp6, 0x1.b9023ac7297c5p6,
    -0x1.6168d467b7402p1, -0x1.b6914540decf3p5, -0x1.90d084fd9da4bp6,
    -0x1.22e76b78caa89p7, -0x1.7e65c96ef39f6p7, -0x1.dad61b9bf194dp7,
    -0x1.1bfd2aea82f86p8, -0x1.4acaf56b4899fp8, 0x1.008bfe27eb6dcp7,
    0x1.84e00f75fe9aap7, 0x1.32d7d4249df8ap8, 0x1.b860d0e008d82p8, 0x1.262456802f976p9,
    0x1.758eb5765a7d8p9, 0x1.c95613f471f4bp9, 0x1.1059b203d2a57p10,
    -0x1.d69d76e6af355p3, -0x1.549402ed1b1c1p8, -0x1.615a4578547a6p9,
    -0x1.1d54b28db03dp10, -0x1.99c868b893754p10, -0x1.1220824e14074p11,
    -0x1.5d9477813c5d8p11, -0x1.ae946bad0b96p11, 0x1.00a29e87b803bp9,
    0x1.f3719c2aca759p9, 0x1.e70574fc6e0cap10, 0x1.94149c680d122p11,
    0x1.2cdc522fb8dep12, 0x1.a093003102771p12, 0x1.11ec9107caffdp13,
    0x1.5ac5aefaa2744p13, -0x1.2d820c764049fp6, -0x1.f21ff9832a761p10,
    -0x1.2b2c93553761fp12, -0x1.0fe6461a69bbcp13, -0x1.ada51a54ac1fbp13,
    -0x1.37194b99c076fp14, -0x1.a84cd401cd7b8p14, -0x1.14f1dcc3ec0f1p15,
    0x1.00f1248d61324p11, 0x1.4a0e83f636ea3p12, 0x1.8b62fb17fde5dp13,
    0x1.78c399d4eaf1ep14, 0x1.3758a1c1bbbd8p15, 0x1.d4af8e8c1c40dp15,
    0x1.4a7106b333e0cp16, 0x1.bc0c5e04d47bbp16, -0x1.70940ec54d8e2p8,
    -0x1.61bcc21406f6fp13, -0x1.f2bcea70c0f1fp14, -0x1.00b0bc0225625p16,
    -0x1.bfb6c4124d303p16, -0x1.5f88c0640e108p17, -0x1.00abb3ac5da71p18,
    -0x1.635fe2b843832p18, 0x1.015556381b62fp13, 0x1.bba31d10b493ap14,
    0x1.4405df896e12p16, 0x1.61270772d8572p17, 0x1.433f7ec20f4aap18,
    0x1.083b623e98908p19, 0x1.8f3c29ca153dap19, 0x1.1ca1c71a4b136p20,
    -0x1.b3d755c06e49fp10, -0x1.eedb3df42f5e8p15, -0x1.9d21b772f6e79p17,
    -0x1.e32f33a175699p18, -0x1.d1bcd02fd8edp19, -0x1.8ccc034fa3993p20,
    -0x1.364f2e7116fddp21, -0x1.c7c7eb9fb57abp21,
};

/* (digamma(w + 1/2) - log(w)) / x, x = w^-2 for x in [0.0, 0.0177778], error
 * 2^-109.1: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12,
 * x^13, x^14, x^15, x^16, x^17, x^18, x^19. */
static const double digamma_rest_exact[] = {
    0x1.5555555555555p-5, -0x1.ddddddddddddep-8, 0x1.f7df7df7df7dfp-9,
    -0x1.0eeeeeeeeeeefp-8, 0x1.ef83e0f83e0f5p-8, -0x1.596a66a66a3a7p-6,
    0x1.554aaaaa8e2a3p-4, -0x1.c5e25a0d22dcap-2, 0x1.86e7341ba2c4bp1,
    -0x1.a74c2a4098124p4, 0x1.19725d7ffb23fp8, -0x1.c2ae362e0f2b4p11,
    0x1.aa5a8e7721858p15, -0x1.cfdb2bdaf8019p19, 0x1.13f27783cd387p24,
    -0x1.4a70634c003b5p28, 0x1.655c4f445e187p32, -0x1.340eaae59f9b3p36,
    0x1.683d13c5a7c1cp39, -0x1.a0cadeaacf3bp41,
};

/* What these lack. */
static const double digamma_rest_exact_low[] = {
    0x1.5555555555552p-59, 0x1.111111139d0abp-63, 0x1.f7df3083d3bbfp-63,
    0x1.184f9282b762fp-64, 0x1.85b0c976b26c5p-62, 0x1.6c8b92bd8995p-60,
    0x1.f15a9ff4e9ab6p-59, 0x1.c55a8afd9ea44p-56, 0x1.3d088a9314237p-53,
    0x1.c6f225ea4b59ep-51,
};

/* ((1/f - pi cot(pi f)) / f - pi^2 / 3) / x, x = f^2 for x in [0.0, 0.1], error
 * 2^-102.8: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12,
 * x^13, x^14, x^15, x^16, x^17, x^18, x^19. */
static const double cotangent_exact[] = {
    0x1.151322ac7d848p1, 0x1.0470984c09245p1, 0x1.010b36af86397p1, 0x1.00412e33a5bb9p1,
    0x1.001020a5b2cd3p1, 0x1.00040392bcad4p1, 0x1.00010064cdeabp1, 0x1.0000400b26797p1,
    0x1.000010013411dp1, 0x1.000004018b2eep1, 0x1.000000d14c067p1, 0x1.000004ee80391p1,
    0x1.ffff4588218e1p0, 0x1.0005a4c694a8ap1, 0x1.ff78ed9181f1dp0, 0x1.02688eb5c578bp1,
    0x1.df39b371d3a5ep0, 0x1.4fcd3d796abf8p1, -0x1.0ed32745340a6p-6,
    0x1.6b2bea1ce9016p2,
};

/* What these lack. */
static const double cotangent_exact_low[] = {
    0x1.b5f91211196dcp-54, -0x1.c209343d23246p-53, -0x1.741a641194191p-55,
    0x1.f860a5345ce14p-53, 0x1.001b7dceba272p-57, -0x1.a7ab26045a6f1p-53,
    -0x1.811ad9743caacp-54, -0x1.3481882ba5ecbp-53, 0x1.414f4d7644e1bp-53,
    0x1.f5c7a4387606fp-53,
};

/* pi^2 / 3. */
static const double cotangent_first[] = {
    0x1.a51a6625307d3p1, 0x1.1873d8912200cp-54, -0x1.4c68528ddc956p-108,
};

/* trigamma(y), y = x + 1.75 for x in [-0.75, 0.75], error 2^-36.71: x^0, x^1,
 * x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13, x^14, x^15,
 * x^16, x^17, x^18. */
static const double trigamma_low_single[] = {
    0x1.87385c3c04fc8p-1, -0x1.1fb05ede97131p-1, 0x1.99c76b472b5b7p-2,
    -0x1.1c205cfccb56dp-2, 0x1.81403f352e625p-3, -0x1.004abe3e7dfd8p-3,
    0x1.4f98be2122b46p-4, -0x1.b1771a0044d5ap-5, 0x1.14ca50059f4bcp-5,
    -0x1.5f0bc99f5604p-6, 0x1.b7c89b95c513fp-7, -0x1.08333e59cc0b1p-7,
    0x1.49021a8993a03p-8, -0x1.fce058b791062p-9, 0x1.2f77fac64fd46p-9,
    -0x1.e27e038c0dc17p-14, 0x1.0beacf1355f83p-13, -0x1.42eef64cde51fp-10,
    0x1.797c5e8a5dd9ep-11,
};

/* trigamma(y), y = x + 1.75 for x in [-0.75, 0.75], error 2^-61.85: x^0, x^1,
 * x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13, x^14, x^15,
 * x^16, x^17, x^18, x^19, x^20, x^21, x^22, x^23, x^24, x^25, x^26, x^27, x^28,
 * x^29, x^30. */
static const double trigamma_low[] = {
    0x1.87385c3c034c4p-1, -0x1.1fb05edd1d43fp-1, 0x1.99c76b4940002p-2,
    -0x1.1c205e39b3626p-2, 0x1.81403f3f526a7p-3, -0x1.004a70c39c00bp-3,
    0x1.4f989698abbdfp-4, -0x1.b188346999c6bp-5, 0x1.14d0b62e8885fp-5,
    -0x1.5e083725aca1ap-6, 0x1.b6e16b5b6f975p-7, -0x1.112261228b604p-7,
    0x1.51d00c2a9d494p-8, -0x1.9f7f5bebfac08p-9, 0x1.fc8ed90fefd96p-10,
    -0x1.35db2ffa8f827p-10, 0x1.7834767e0395ap-11, -0x1.c7f4c0c3e409dp-12,
    0x1.12e4e4f18d74dp-12, -0x1.45542bf8ddf89p-13, 0x1.878e629246b6bp-14,
    -0x1.05a769cc94652p-14, 0x1.3417b73b0ce07p-15, -0x1.4fc7ac31760f9p-17,
    0x1.c0765dfaebc26p-18, -0x1.426916712d9f2p-16, 0x1.68fa1de9fc504p-17,
    0x1.bc00e962ce181p-18, -0x1.dfc3c3d827d15p-19, -0x1.2d9ee68693feep-18,
    0x1.59502efa720c6p-19,
};

/* What these lack. */
static const double trigamma_low_low[] = {
    0x1.f02d45c8caedcp-55, 0x1.ad149e4c2c767p-56, -0x1.49e9f2dd6922p-58,
    -0x1.84f58ae7299efp-56,
};

/* (w trigamma(w + 1/2) - 1) / x, x = 1 / w^2 for x in [0.0, 0.25], error
 * 2^-36.35: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7. */
static const double trigamma_rest_single[] = {
    -0x1.555554637a187p-4, 0x1.dddb6b9b4129p-6, -0x1.7964882a8a7cdp-6,
    0x1.083c5b05763f1p-5, -0x1.02625716a6a61p-4, 0x1.015cd9b444a7dp-3,
    -0x1.77aa48810f777p-3, 0x1.0be600b2e71e5p-3,
};

/* (w trigamma(w + 1/2) - 1) / x, x = 1 / w^2 for x in [0.0, 0.25], error
 * 2^-63.29: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12,
 * x^13, x^14, x^15, x^16, x^17, x^18, x^19, x^20, x^21. */
static const double trigamma_rest_double[] = {
    -0x1.555555555554dp-4, 0x1.ddddddddd342bp-6, -0x1.79e79e6a08e5bp-6,
    0x1.0eeee92c98fdbp-5, -0x1.35b12ec666909p-4, 0x1.02f909161f115p-2,
    -0x1.2976e60e00c5p0, 0x1.ba5a4c6c5e556p2, -0x1.8abfc0816cb61p5, 0x1.804fe17c7b377p8,
    -0x1.73b4d84a6859p11, 0x1.4c3c75d1374b9p14, -0x1.055518dc7811ep17,
    0x1.5e3c5550972e4p19, -0x1.86804894f192ep21, 0x1.62d1712f94663p23,
    -0x1.01040ebe4196bp25, 0x1.20c0a8ddc4753p26, -0x1.e3ceba946b152p26,
    0x1.1bf30d8fa5ef6p27, -0x1.a01b3fc500631p26, 0x1.1e2d59d2e9cb3p25,
};

/* (pi / sin(pi f))^2 - 1 / x, x = f^2 for x in [0.0, 0.25], error 2^-36.99: x^0,
 * x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10. */
static const double cosecant_single[] = {
    0x1.a51a66253db3bp1, 0x1.9f9cb3e93dc6fp2, 0x1.458cc6702fc59p3, 0x1.c1d1a5c5106a8p3,
    0x1.2068dc8ca5328p4, 0x1.5dd076cfa17b8p4, 0x1.b9dac4cfc6dcdp4, 0x1.2693d46d2edb4p4,
    0x1.58143b104d288p6, -0x1.8e81529b473cep6, 0x1.bc0c5e4b78857p7,
};

/* (pi / sin(pi f))^2 - 1 / x, x = f^2 for x in [0.0, 0.25], error 2^-59.19: x^0,
 * x^1, x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13, x^14,
 * x^15, x^16. */
static const double cosecant[] = {
    0x1.a51a6625307d3p1, 0x1.9f9cb402bc45fp2, 0x1.458cbe5f0c0d8p3, 0x1.c1d39fb2cb171p3,
    0x1.2049540923889p4, 0x1.60162a09346d2p4, 0x1.a006e0f059759p4, 0x1.dffa01c9bc30ap4,
    0x1.103e95f6932bdp5, 0x1.2d2e4ca577a4fp5, 0x1.6824c4312f068p5, 0x1.adc4aba3a021dp4,
    0x1.164719f89250cp7, -0x1.e89d90e48792fp7, 0x1.747090d8097b4p9,
    -0x1.d374b5fee644ap9, 0x1.8ff6ef24e13c5p9,
};

/* What these lack. */
static const double cosecant_low[] = {
    0x1.2f82dc70c943dp-54, 0x1.ddde5a93a90b2p-54,
};

#endif
