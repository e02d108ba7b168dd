#include "avx512/vec.h"

#include "kernels/norm.inc.h"
