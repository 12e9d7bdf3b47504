/*
 * sim_special.h -- special registers
 */
#ifndef CUDA_SIM_SIM_SPECIAL_H
#define CUDA_SIM_SIM_SPECIAL_H

/* name, PTX, bytes. Those from the clock on are filled in as they are read. */
#define SPECIAL_REGISTERS(X)                 \
    X(TID_X, "%tid.x", 4)                    \
    X(TID_Y, "%tid.y", 4)                    \
    X(TID_Z, "%tid.z", 4)                    \
    X(NTID_X, "%ntid.x", 4)                  \
    X(NTID_Y, "%ntid.y", 4)                  \
    X(NTID_Z, "%ntid.z", 4)                  \
    X(CTAID_X, "%ctaid.x", 4)                \
    X(CTAID_Y, "%ctaid.y", 4)                \
    X(CTAID_Z, "%ctaid.z", 4)                \
    X(NCTAID_X, "%nctaid.x", 4)              \
    X(NCTAID_Y, "%nctaid.y", 4)              \
    X(NCTAID_Z, "%nctaid.z", 4)              \
    X(LANEID, "%laneid", 4)                  \
    X(WARPID, "%warpid", 4)                  \
    X(NWARPID, "%nwarpid", 4)                \
    X(SMID, "%smid", 4)                      \
    X(NSMID, "%nsmid", 4)                    \
    X(GRIDID, "%gridid", 8)                  \
    X(LANEMASK_EQ, "%lanemask_eq", 4)        \
    X(LANEMASK_LE, "%lanemask_le", 4)        \
    X(LANEMASK_LT, "%lanemask_lt", 4)        \
    X(LANEMASK_GE, "%lanemask_ge", 4)        \
    X(LANEMASK_GT, "%lanemask_gt", 4)        \
    X(DYNAMIC_SMEM, "%dynamic_smem_size", 4) \
    X(TOTAL_SMEM, "%total_smem_size", 4)     \
    X(CLOCK, "%clock", 4)                    \
    X(CLOCK_HI, "%clock_hi", 4)              \
    X(CLOCK64, "%clock64", 8)                \
    X(TIMER, "%globaltimer", 8)              \
    X(TIMER_LO, "%globaltimer_lo", 4)

enum {
#define SPECIAL_ENUM(id, text, size) SPECIAL_##id,
    SPECIAL_REGISTERS(SPECIAL_ENUM)
#undef SPECIAL_ENUM
        SPECIAL_COUNT,
    SPECIAL_BYTES = 256 /* of one */
};

#endif
