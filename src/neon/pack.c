#include "neon/vec.h"

#include "kernels/pack.inc.h"
