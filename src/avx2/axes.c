#include "avx2/vec.h"

#include "kernels/axes.inc.h"
