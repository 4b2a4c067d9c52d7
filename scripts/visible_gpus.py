#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The GPUs that a program sees on this host. It asks as programs do: libcuda.so.1 is loaded from wherever the loader has it,
and the driver obeys CUDA_VISIBLE_DEVICES.

Prints a line for each: its compute capability, without the point, and its name, such as "90 NVIDIA H200". Without any it says
what is missing, and what to do, and returns 1."""
import ctypes
import sys

DRIVER = 13000  # CUDA 13.0, of which LibTorch is built
MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_…


def fail(text):
    sys.exit(text)


def opened():
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        fail(f"this host has no driver of NVIDIA: {error}; install it, or in a container let it in "
             "(apptainer --nv, docker --gpus all)")


def number(call, *arguments):
    """What a function of the driver writes to its first argument."""
    result = ctypes.c_int()
    status = call(ctypes.byref(result), *arguments)
    if status != 0:
        fail(f"the driver of NVIDIA answers {call.__name__} with error {status}")
    return result.value


def main():
    cuda = opened()
    status = cuda.cuInit(0)
    count = number(cuda.cuDeviceGetCount) if status == 0 else 0
    if count == 0:
        fail(f"the driver of NVIDIA sees no GPU (cuInit returns {status}); look at what hides them (CUDA_VISIBLE_DEVICES)")
    version = number(cuda.cuDriverGetVersion)
    if version < DRIVER:
        fail(f"the driver of NVIDIA is for CUDA {version // 1000}.{version % 1000 // 10}, and LibTorch needs 13.0; "
             "install a driver of version 580 or newer")
    for i in range(count):
        device = number(cuda.cuDeviceGet, i)
        name = ctypes.create_string_buffer(256)
        cuda.cuDeviceGetName(name, len(name), device)
        capability = 10 * number(cuda.cuDeviceGetAttribute, MAJOR, device)
        print(capability + number(cuda.cuDeviceGetAttribute, MINOR, device), name.value.decode())


if __name__ == "__main__":
    main()
