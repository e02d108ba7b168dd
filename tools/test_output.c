/* SPDX-License-Identifier: MIT */
/* Files that commands write, where the system does not let them finish: nothing is left beside the name. */
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the place of the system's: as on a file system that has no modes. */
int fchmod(int descriptor, mode_t mode) {
    (void)descriptor;
    (void)mode;
    errno = EPERM;
    return -1;
}

static int files_in(const char *path) {
    int n = 0;
    DIR *directory = opendir(path);
    const struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        n += entry->d_name[0] != '.';
    if (directory != NULL)
        closedir(directory);
    return n;
}

/* Of this process, as far as small numbers go. */
static int open_files(void) {
    int n = 0;
    for (int i = 0; i < 64; i++)
        n += lseek(i, 0, SEEK_CUR) >= 0 || errno != EBADF;
    return n;
}

int main(void) {
    char directory[] = "/tmp/posenc-output-XXXXXX", path[64];
    int failures = 0;
    output out;
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/old", directory);
    FILE *old = fopen(path, "wb");
    if (old == NULL || fclose(old) != 0)
        return 1;
    int n_open = open_files();
    if (output_open(&out, path) == NULL && ++failures)
        printf("FAILED: a mode that cannot be set is no error\n");
    if (files_in(directory) != 1 && ++failures)
        printf("FAILED: %d files, not the old one alone\n", files_in(directory));
    if (open_files() != n_open && ++failures)
        printf("FAILED: a file stays open\n");
    if (failures == 0) {
        unlink(path);
        rmdir(directory);
    }
    printf("%d failures\n", failures);
    return failures > 0;
}
