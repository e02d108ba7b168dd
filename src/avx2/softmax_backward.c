#include "avx2/vec.h"

#include "kernels/softmax_backward.inc.h"
