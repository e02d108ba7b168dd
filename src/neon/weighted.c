#include "neon/vec.h"

#include "kernels/weighted.inc.h"
