// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// In libriesz_cuda.so's place: a library of another version, or of another build, which lacks functions.

extern "C" __attribute__((visibility("default"))) const char* riesz_cuda_version();
const char* riesz_cuda_version() { return RIESZ_ANOTHER_VERSION; }
