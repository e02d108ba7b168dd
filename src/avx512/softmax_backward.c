#include "avx512/vec.h"

#include "kernels/softmax_backward.inc.h"
