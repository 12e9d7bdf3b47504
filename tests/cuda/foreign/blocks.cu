/*
 * blocks.cu -- what threads do together: shared memory, barriers, shuffles, votes,
 * atomic operations, results that are passed from block to block
 *
 * test_foreign.c computes the same in a loop. Blocks have THREADS threads.
 */
#include <stdint.h>

enum { THREADS = 128, WARPS = THREADS / 32, TILE = 16 };
#define ALL 0xffffffffu
#define KERNEL extern "C" __global__ void

__device__ static uint32_t index()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

/* Sum of each block by halving in shared memory. */
KERNEL block_sum(const uint32_t *in, uint32_t *sums, uint32_t n)
{
    __shared__ uint32_t part[THREADS];
    part[threadIdx.x] = index() < n ? in[index()] : 0;
    for (uint32_t step = THREADS / 2; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = part[0];
}

/* Maximum of each warp by shuffles, then of the block through shared memory. */
KERNEL block_max(const int32_t *in, int32_t *result, uint32_t n)
{
    __shared__ int32_t part[WARPS];
    int32_t value = index() < n ? in[index()] : INT32_MIN;
    for (int step = 16; step; step /= 2)
        value = max(value, __shfl_xor_sync(ALL, value, step));
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < WARPS; ++i)
            value = max(value, part[i]);
        result[blockIdx.x] = value;
    }
}

/* Inclusive prefix sums of each warp; what the last lane and lane 5 have. */
KERNEL warp_scan(const uint64_t *in, uint64_t *out, uint32_t n)
{
    const uint32_t lane = threadIdx.x % 32;
    uint64_t value = index() < n ? in[index()] : 0;
    for (int step = 1; step < 32; step *= 2) {
        const uint64_t before = __shfl_up_sync(ALL, value, step);
        if (lane >= step)
            value += before;
    }
    const uint64_t last = __shfl_sync(ALL, value, 31),
                   next = __shfl_down_sync(ALL, value, 1);
    if (index() < n)
        out[index()] =
            value * 3 + (last ^ __shfl_sync(__activemask(), value, 5, 8)) + next;
}

/* Votes, and which lanes have the same key. */
KERNEL votes(const uint32_t *in, uint32_t *out, uint32_t n)
{
    const uint32_t x = in[index()];
    const uint32_t odd = __ballot_sync(ALL, x & 1);
    const uint32_t peers = __match_any_sync(ALL, x % 5);
    out[index()] = odd ^ peers * 3 + __any_sync(ALL, x == 7) +
                             2 * __all_sync(ALL, x != 9) +
                             __popc(odd & ((1u << threadIdx.x % 32) - 1));
    (void) n;
}

/* Counts in shared memory, added to those of the grid. */
KERNEL histogram_of_bytes(const uint32_t *in, uint32_t *bins, uint32_t n)
{
    __shared__ uint32_t count[256];
    for (uint32_t i = threadIdx.x; i < 256; i += THREADS)
        count[i] = 0;
    __syncthreads();
    if (index() < n)
        for (int k = 0; k < 4; ++k)
            atomicAdd(&count[in[index()] >> 8 * k & 255], 1);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 256; i += THREADS)
        if (count[i])
            atomicAdd(&bins[i], count[i]);
}

/* One word for each atomic operation. */
KERNEL atomics(const uint32_t *in, uint32_t *words, uint64_t *wide, uint32_t n)
{
    if (index() >= n)
        return;
    const uint32_t x = in[index()];
    atomicMin(&words[0], x);
    atomicMax((int32_t *) &words[1], (int32_t) x);
    atomicAnd(&words[2], x | 0xff00ff);
    atomicOr(&words[3], x & 0x10101010u << x % 4);
    atomicXor(&words[4], x);
    atomicInc(&words[5], 1000);
    atomicAdd((unsigned long long *) &wide[0], (unsigned long long) x << 20);
    atomicMax((unsigned long long *) &wide[1], (unsigned long long) x * x);
    /* What is written has to have been read: a sum of squares by compare-and-swap. */
    unsigned long long *const sum = (unsigned long long *) &wide[2];
    unsigned long long seen = *(volatile unsigned long long *) sum, old;
    do {
        old = seen;
        seen = atomicCAS(sum, old, old + (unsigned long long) x * x);
    } while (seen != old);
    /* A permutation: every thread takes a number. */
    words[6 + atomicAdd(&words[5 + n + 1], 1)] = index();
}

/* A matrix of TILE columns and rows to a block, transposed. */
KERNEL transpose(const float *in, float *out, uint32_t width)
{
    __shared__ float tile[TILE][TILE + 1];
    const uint32_t x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE;
    for (uint32_t j = threadIdx.y; j < TILE; j += blockDim.y)
        tile[j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    for (uint32_t j = threadIdx.y; j < TILE; j += blockDim.y)
        out[(blockIdx.x * TILE + j) * gridDim.y * TILE + y + threadIdx.x] =
            tile[threadIdx.x][j];
}

/* Which blocks came before: each waits for the sum of its predecessor. Blocks take
 * numbers in the order in which they start. */
KERNEL chained_sums(const uint32_t *in, volatile uint32_t *sums,
                    volatile uint32_t *ready, uint32_t *ticket, uint32_t n)
{
    __shared__ uint32_t number, total;
    if (threadIdx.x == 0) {
        number = atomicAdd(ticket, 1);
        total = 0;
    }
    __syncthreads();
    const uint32_t i = number * THREADS + threadIdx.x;
    if (i < n)
        atomicAdd(&total, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t before = 0;
        if (number) {
            while (!ready[number - 1])
                ;
            __threadfence();
            before = sums[number - 1];
        }
        sums[number] = before + total;
        __threadfence();
        ready[number] = 1;
    }
}
