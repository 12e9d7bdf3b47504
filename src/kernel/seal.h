/*
 * seal.h -- the cryptography of the disk cache: random keys, keyed authentication codes
 */
#ifndef KERNEL_SEAL_H
#define KERNEL_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL_KEY_SIZE = 32, SEAL_CODE_SIZE = 32 };

/** Load libsodium unless that was done. False: error recorded, tried again by the next
 *  call. Of several threads, one at a time. The functions below need it. */
bool seal_load(void);
/** Fill a new key. */
void seal_new_key(uint8_t key[SEAL_KEY_SIZE]);
/** Authentication code (BLAKE2b) of two pieces, one after the other. */
void seal_compute(const uint8_t key[SEAL_KEY_SIZE], const void *first,
                  size_t first_size, const void *second, size_t second_size,
                  uint8_t code[SEAL_CODE_SIZE]);
/** Compare two codes, in a time that does not depend on where they differ. */
bool seal_equal(const uint8_t a[SEAL_CODE_SIZE], const uint8_t b[SEAL_CODE_SIZE]);

#endif
