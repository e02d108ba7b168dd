#include "avx2/vec.h"

#include "kernels/angles.inc.h"
