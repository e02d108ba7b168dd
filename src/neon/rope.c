#include "neon/vec.h"

#include "kernels/rope.inc.h"
