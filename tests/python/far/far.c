/*
 * far.c -- a core whose backend CUDA is a far device (c/far_device.h)
 *
 * With this library, and a row more in backends.def, the Python package has a second
 * backend, drjit.cuda, whose memory the host cannot touch: a test that passes there
 * does not assume the CPU (DRJIT_TEST_FAR in conftest.py).
 */
#define FAR_CPU_CODE /* the engines are the library's */
#include "c/far_device.h"

__attribute__((constructor)) static void make_known(void)
{
    far_register();
    far_set_delay(&far_states[0], 0);
}
