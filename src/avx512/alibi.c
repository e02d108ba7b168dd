#include "avx512/vec.h"

#include "kernels/alibi.inc.h"
