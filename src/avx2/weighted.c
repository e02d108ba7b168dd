#include "avx2/vec.h"

#include "kernels/weighted.inc.h"
