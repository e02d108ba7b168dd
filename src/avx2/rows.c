#include "avx2/vec.h"

#include "kernels/rows.inc.h"
