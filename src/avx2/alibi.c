#include "avx2/vec.h"

#include "kernels/alibi.inc.h"
