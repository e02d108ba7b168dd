/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Interruption ---- */

static const char *volatile unfinished;

static void remove_unfinished(int number) {
    if (unfinished != NULL)
        unlink(unfinished);
    raise(number); /* its action is the default one again */
}

static void watch_for_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ, SIGXCPU};
    const struct sigaction action = {.sa_handler = remove_unfinished, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction old;
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) /* nohup has it ignored */
            sigaction(numbers[i], &action, NULL);
    }
}

/* ---- The file ---- */

/* What errno says of a name, and how to put it right. */
static const char *explained(int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR: return "there is no such folder: make it first";
    case EISDIR: return "this is a folder: name a file in it";
    case EACCES: return "it may not be written to: give another name";
    case ENAMETOOLONG: return "the name is too long: give a shorter one";
    default: return strerror(error);
    }
}

static const char *open_stdout(output *o) {
    if (isatty(STDOUT_FILENO))
        return "standard output is a terminal: send it to a file or a program, or give -o a name";
    o->file = stdout;
    return NULL;
}

/* A file beside this one, of a name that is no longer than file systems allow. NULL: out of memory. */
static char *name_beside(const char *path) {
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash + 1 - path) : 0;
    size_t size = (size_t)folder + 48; /* room for the process */
    char *name = malloc(size);
    if (name != NULL)
        snprintf(name, size, "%.*sposenc-%ld.part", folder, path, (long)getpid());
    return name;
}

/* Who may read and write the old file may do so with the new one. Without that there is to be none. */
static const char *take_over_mode(output *o, const struct stat *old) {
    if (fchmod(fileno(o->file), old->st_mode & 07777) == 0)
        return NULL;
    const char *wrong = strerror(errno);
    fclose(o->file);
    remove(o->part);
    return wrong;
}

/* The name may be that of a link: what it leads to is replaced, not the link. old: what is there, or NULL. */
static const char *open_part(output *o, const char *path, const struct stat *old) {
    char *target = realpath(path, NULL);
    o->path = target != NULL ? target : strdup(path);
    o->part = o->path != NULL ? name_beside(o->path) : NULL;
    if (o->part == NULL)
        return strerror(ENOMEM);
    unfinished = o->part; /* before there is such a file, or a signal may come in between */
    watch_for_signals();
    o->file = fopen(o->part, "wbx");
    if (o->file == NULL)
        return errno == EACCES ? "its folder may not be written to: give a name elsewhere" : explained(errno);
    return old != NULL ? take_over_mode(o, old) : NULL;
}

static void free_names(output *o) {
    unfinished = NULL;
    free(o->part);
    free(o->path);
}

const char *output_open(output *o, const char *path) {
    *o = (output){NULL, NULL, NULL};
    if (strcmp(path, "-") == 0)
        return open_stdout(o);
    struct stat status, link;
    int exists = stat(path, &status) == 0;
    const char *wrong = NULL;
    if (!exists && lstat(path, &link) == 0) {
        wrong = "this link leads to no file: remove it, or name the file itself";
    } else if (exists && access(path, W_OK) != 0) {
        wrong = explained(errno);
    } else if (exists && !S_ISREG(status.st_mode)) {
        o->file = fopen(path, "wb");
        wrong = o->file == NULL ? explained(errno) : NULL;
    } else {
        wrong = open_part(o, path, exists ? &status : NULL);
    }
    if (wrong != NULL)
        free_names(o);
    return wrong;
}

const char *output_close(output *o, const char *wrong) {
    int failed = o->file == stdout ? fflush(stdout) : fclose(o->file);
    if (failed != 0 && wrong == NULL)
        wrong = strerror(errno);
    if (o->part != NULL && wrong == NULL && rename(o->part, o->path) != 0)
        wrong = strerror(errno);
    if (o->part != NULL && wrong != NULL)
        remove(o->part);
    free_names(o);
    return wrong;
}
