#include "avx512/vec.h"

#include "kernels/axes.inc.h"
