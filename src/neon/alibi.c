#include "neon/vec.h"

#include "kernels/alibi.inc.h"
