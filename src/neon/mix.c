#include "neon/vec.h"

#include "kernels/mix.inc.h"
