// How PyTorch says what it was built with: none of these libraries is one that extensions may call through us.
#pragma once

#define AT_PARALLEL_OPENMP 1
#define AT_PARALLEL_NATIVE 0
#define AT_MKL_ENABLED() 0
#define AT_MKLDNN_ENABLED() 0
#define AT_CUDNN_ENABLED() 0
