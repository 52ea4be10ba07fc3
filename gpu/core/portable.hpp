// Functions marked GPUHIST_HD are compiled for the host and, in CUDA files, for the device: one formula, both engines.
// GPUHIST_HD_CALLED: not inlined there, since fetching the instructions takes longest of what runs once per launch.
#pragma once

#ifdef __CUDACC__
#define GPUHIST_HD __host__ __device__
#define GPUHIST_HD_CALLED GPUHIST_HD __noinline__
#else
#define GPUHIST_HD
#define GPUHIST_HD_CALLED
#endif
