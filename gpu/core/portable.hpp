// Functions marked GPUHIST_HD are compiled for the host and, in CUDA files, for the device: one formula, both engines.
#pragma once

#ifdef __CUDACC__
#define GPUHIST_HD __host__ __device__
#else
#define GPUHIST_HD
#endif
