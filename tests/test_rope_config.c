/* x */
#include "truth.h"
int main(void) {
    return 0;
}
