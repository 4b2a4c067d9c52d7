// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// In libriesz_cuda.so's place: a library of another version, of another build, which lacks functions, or of
// other headers.

extern "C" __attribute__((visibility("default"))) const char* riesz_cuda_version();
const char* riesz_cuda_version() { return RIESZ_ANOTHER_VERSION; }
#ifdef RIESZ_ANOTHER_DIGEST
extern "C" __attribute__((visibility("default"))) const char* riesz_cuda_digest();
const char* riesz_cuda_digest() { return RIESZ_ANOTHER_DIGEST; }
#endif
