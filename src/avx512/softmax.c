#include "avx512/vec.h"

#include "kernels/softmax.inc.h"
