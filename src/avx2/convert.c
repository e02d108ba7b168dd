#include "avx2/vec.h"

#include "kernels/convert.inc.h"
