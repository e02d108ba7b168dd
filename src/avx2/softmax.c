#include "avx2/vec.h"

#include "kernels/softmax.inc.h"
