#include "avx512/vec.h"

#include "kernels/angles.inc.h"
