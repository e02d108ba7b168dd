#include "avx2/vec.h"

#include "kernels/norm.inc.h"
