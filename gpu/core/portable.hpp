// GPUHIST_HD marks functions that are compiled for the host and, in CUDA files, for the device: one formula for both
// engines. GPUHIST_HD_CALLED functions are not inlined there: for code that runs once per launch, fetching the
// instructions takes most of the time.
#pragma once

#ifdef __CUDACC__
#define GPUHIST_HD __host__ __device__
#define GPUHIST_HD_CALLED GPUHIST_HD __noinline__
#else
#define GPUHIST_HD
#define GPUHIST_HD_CALLED
#endif
