#!/bin/sh
# make.sh -- compile the .cu files of this folder to PTX anew, to be reviewed and
# committed
#
# NVCC names the compiler if it is not in PATH or in /usr/local/cuda/bin. Comments, of
# which one tells its version, stay. Nothing of NVIDIA's libraries gets into the files:
# they call no function of these.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
for name in elementwise blocks; do
    "$nvcc" -ptx -O3 -arch=compute_80 -fmad=false "$name.cu" -o "$name.ptx"
done
