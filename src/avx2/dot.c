#include "avx2/vec.h"

#include "kernels/dot.inc.h"
