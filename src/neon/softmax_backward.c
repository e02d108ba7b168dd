#include "neon/vec.h"

#include "kernels/softmax_backward.inc.h"
