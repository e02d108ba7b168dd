#include "avx512/vec.h"

#include "kernels/convert.inc.h"
