#include "neon/vec.h"

#include "kernels/softmax.inc.h"
